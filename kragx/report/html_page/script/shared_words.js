// Words that gold and document share. Computed when a question is opened, so that the file holds
// each text once, and not again for each pair. Words are those of the tokenizer `unicode`.

const WORD = /[\p{L}\p{N}][\p{L}\p{N}\p{M}]*/gu;

/** The words of a text with where they stand, each with the pair that it makes with the one before. */
function words(text) {
  let before = null;
  return [...text.matchAll(WORD)].map((found) => {
    const word = found[0].normalize("NFC").toLowerCase(), pair = before === null ? null : `${before}\u0000${word}`;
    before = word;
    return { word, pair, from: found.index, to: found.index + found[0].length };
  });
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
