// Words that gold and document share. Computed when a question is opened, so that the file holds
// each text once, and not again for each pair. Words are those of the tokenizer `unicode`.

// As kragx/data/words.py has it, with where each word stands in the text; a test holds the two together.
const IGNORED = /[\p{Cf}\u034F\uFE00-\uFE0F\u{E0100}-\u{E01EF}]/u;
// What is composed as a whole: Hangul, of which a Mac's texts have the pieces, and a letter with its marks.
const PIECE = /[\u1100-\u11FF\u3131-\u318E\uA960-\uA97F\uAC00-\uD7FF\uFFA0-\uFFDC]+\p{M}*|\P{M}?[\p{M}\uFF9E\uFF9F]+|[^]/gu;
const HAN = "\u3400-\u4DBF\u4E00-\u9FFF\u{20000}-\u{3FFFF}";
// Thai, Lao, Burmese, Khmer, Han, Kana: their blocks without their digits. There a character is a word.
const UNSPACED = `\u0E00-\u0E4F\u0E5A-\u0ECF\u0EDA-\u0EFF\u1000-\u103F\u104A-\u108F\u109A-\u109F\u1780-\u17DF\u17EA-\u17FF\u2E80-\u2FDF\u3005-\u3007\u3021-\u30FF\u31F0-\u31FF\uA9E0-\uA9EF\uA9FA-\uA9FF\uAA60-\uAA7F\uF900-\uFAFF\u{1AFF0}-\u{1B16F}${HAN}`;
const WORD = new RegExp(`(?=[${UNSPACED}])[\\p{L}\\p{N}\\p{M}]\\p{M}*|(?:(?![${UNSPACED}])[\\p{L}\\p{N}\\p{M}\u0001-\u0003])+`, "gu");
const THOUSANDS = /^\p{Nd}{1,3}(?:,\p{Nd}{3})+(?:\.\p{Nd}+)?$/u;
const DECIMAL_COMMA = /^(?:\p{Nd}+,\p{Nd}{1,2}|0,\p{Nd}+|\p{Nd}{1,3}(?:\.\p{Nd}{3})+,\p{Nd}+)$/u;
// What stays within a word though it is no letter stands as a control character until the words are cut.
const KEPT = { "\u0001": ".", "\u0002": "+", "\u0003": "#" };
// Arabic signs of numbers; and control characters of the text's own, which are no such thing.
const PLAIN = { "\u066B": ".", "\u066C": ",", "\u0001": " ", "\u0002": " ", "\u0003": " " };

/** The letters of a text, each with where it stands: [[letter, from, to], ...]. */
function lettersOf(text) {
  let at = 0;
  return Array.from(text, (letter) => [letter, at, (at += letter.length)]);
}

const textOf = (letters) => letters.map(([letter]) => letter).join("");

/** For each place in the text of some letters, which letter stands there. */
const positions = (letters) => letters.flatMap(([letter], position) => Array(letter.length).fill(position));

/** The letters in NFKC and case folded: what is composed stands where its pieces stood. */
function folded(letters) {
  const text = textOf(letters), positionAt = positions(letters);
  return [...text.matchAll(PIECE)].flatMap(({ 0: piece, index }) => {
    const from = letters[positionAt[index]][1], to = letters[positionAt[index + piece.length - 1]][2];
    const whole = Array.from(piece.normalize("NFKC"), (own) => (own === "ı" ? own : own.toUpperCase().toLowerCase())).join("");
    return Array.from(whole, (letter) => [letter, from, to]);
  });
}

/** The letters with another in place of what a pattern finds: `change` takes [letter, place in what was found]. */
function changed(letters, pattern, change) {
  const made = [], positionAt = positions(letters);
  let done = 0;
  for (const found of textOf(letters).matchAll(pattern)) {
    const first = positionAt[found.index], last = positionAt[found.index + found[0].length - 1];
    made.push(...letters.slice(done, first), ...change(letters.slice(first, last + 1), found[0]));
    done = last + 1;
  }
  return done ? [...made, ...letters.slice(done)] : letters;
}

const asLetter = (from, to) => (letters) => letters.map(([letter, ...place]) => [letter === from ? to : letter, ...place]);

/** Digits with points and commas: one number, or several that commas part. */
function numberKept(letters, digits) {
  let own = letters;
  if (THOUSANDS.test(digits)) own = own.filter(([letter]) => letter !== ",");
  else if (DECIMAL_COMMA.test(digits)) own = asLetter(",", ".")(own.filter(([letter]) => letter !== "."));
  return asLetter(".", "\u0001")(own);
}

const cuts = new Map(); // the words of texts that were cut lately: a text stands in many lists

/** The words of a text with where they stand, each with the pair that it makes with the one before. */
function words(text) {
  if (cuts.size > 400) cuts.clear();
  if (!cuts.has(text)) {
    let before = null;
    cuts.set(text, (cutAsItStands(text) ?? cutLetterByLetter(text)).map(({ word: kept, from, to }) => {
      const word = kept.replace(/[\u0001-\u0003]/g, (own) => KEPT[own]), pair = before === null ? null : `${before}\u0000${word}`;
      before = word;
      return { word, pair, from, to };
    }));
  }
  return cuts.get(text);
}

const LONG_WAY = /[\p{Cf}\u034F\uFE00-\uFE0F\u{E0100}-\u{E01EF}\u0001-\u0003\u066B\u066Cıς]|\p{Nd},\p{Nd}|[Cc]\+\+|[CcFfJj]#/u;

/** The same at once, for most texts: those whose letters stay in their places. Null for the others. */
function cutAsItStands(text) {
  if (LONG_WAY.test(text) || text.normalize("NFKC") !== text) return null;
  const same = text.toUpperCase().toLowerCase().replaceAll("ς", "σ");
  if (same.length !== text.length || same.normalize("NFKC") !== same) return null;
  const kept = same.replace(/(?<=\p{Nd})\.(?=\p{Nd})/gu, "\u0001");
  return [...kept.matchAll(WORD)].map(({ 0: word, index }) => ({ word, from: index, to: index + word.length }));
}

function cutLetterByLetter(text) {
  let letters = folded(lettersOf(text)).map(([letter, ...place]) => [PLAIN[letter] ?? letter, ...place]);
  letters = changed(letters, /\p{Nd}+(?:[.,]\p{Nd}+)+/gu, numberKept);
  letters = changed(letters, /(?<![\p{L}\p{N}_])c\+\+/gu, asLetter("+", "\u0002"));
  letters = changed(letters, /(?<![\p{L}\p{N}_])[cfj]#/gu, asLetter("#", "\u0003"));
  // What was parted by what nobody sees is composed now.
  letters = folded(letters.filter(([letter]) => !IGNORED.test(letter)));
  const positionAt = positions(letters);
  return [...textOf(letters).matchAll(WORD)].map(({ 0: word, index }) => ({ word, from: letters[positionAt[index]][1], to: letters[positionAt[index + word.length - 1]][2] }));
}

/** How often each value occurs. */
function counts(values) {
  const times = new Map();
  for (const value of values) times.set(value, (times.get(value) || 0) + 1);
  return times;
}

const pairsOf = (text) => words(text).slice(1).map(({ pair }) => pair);

/** The words and pairs of neighbouring words of some texts. */
const vocabulary = (texts) => ({
  words: new Set(texts.flatMap((text) => words(text).map(({ word }) => word))),
  pairs: new Set(texts.flatMap(pairsOf)),
});

/** A text as nodes with what it shares marked: runs of shared pairs, lightly single words. */
function marked(text, shared) {
  if (!shared) return shown(text);
  const listed = words(text), times = counts(listed.map(({ word }) => word));
  const isShared = listed.map(({ pair }) => shared.pairs.has(pair));
  const runs = [];
  listed.forEach(({ word, from, to }, position) => {
    const last = runs[runs.length - 1];
    if (isShared[position] && last?.strong) last.to = to;
    else if (isShared[position] || isShared[position + 1]) runs.push({ from, to, strong: true });
    else if (shared.words.has(word) && times.get(word) <= 3 && word.length > (/[^\u0000-\u024F]/.test(word) ? 1 : 3)) {
      runs.push({ from, to, strong: false });
    }
  });
  const nodes = [];
  let from = 0;
  for (const run of runs) {
    nodes.push(shown(text.slice(from, run.from)), el(run.strong ? "mark" : "mark.light", {}, shown(text.slice(run.from, run.to))));
    from = run.to;
  }
  return [...nodes, shown(text.slice(from))];
}

/** The share of the smaller text's word pairs that both have, as the matcher `overlap` counts it. */
function overlap(one, other) {
  const [pairs, others] = [pairsOf(one), pairsOf(other)];
  if (!pairs.length || !others.length) return 0;
  const available = counts(others);
  let shared = 0;
  for (const [pair, times] of counts(pairs)) shared += Math.min(times, available.get(pair) || 0);
  return shared / Math.min(pairs.length, others.length);
}
