// Words that gold and document share. Computed when a question is opened, so that the file holds
// each text once, and not again for each pair. Words are those of the tokenizer `unicode`.

const WORD = /[\p{L}\p{N}][\p{L}\p{N}\p{M}]*/gu;

/** The words of a text with where they stand. */
function words(text) {
  return [...text.matchAll(WORD)].map((found) => ({
    word: found[0].normalize("NFC").toLowerCase(),
    from: found.index,
    to: found.index + found[0].length,
  }));
}

const pairOf = (one, other) => `${one}\u0000${other}`;

/** The words and pairs of neighbouring words of some texts. */
function vocabulary(texts) {
  const known = { words: new Set(), pairs: new Set() };
  for (const text of texts) {
    const listed = words(text);
    listed.forEach(({ word }, at) => {
      known.words.add(word);
      if (at) known.pairs.add(pairOf(listed[at - 1].word, word));
    });
  }
  return known;
}

/** A text as nodes with what it shares marked: runs of shared pairs, lightly single words. */
function marked(text, known) {
  if (!known) return shown(text);
  const listed = words(text);
  const counts = new Map();
  for (const { word } of listed) counts.set(word, (counts.get(word) || 0) + 1);
  const pair = listed.map(({ word }, at) => at > 0 && known.pairs.has(pairOf(listed[at - 1].word, word)));
  const runs = [];
  listed.forEach(({ word, from, to }, at) => {
    if (pair[at] || pair[at + 1]) {
      const last = runs[runs.length - 1];
      if (pair[at] && last && last.strong) last.to = to;
      else runs.push({ from, to, strong: true });
    } else if (known.words.has(word) && counts.get(word) <= 3 && (/[^\u0000-\u024F]/.test(word) ? word.length > 1 : word.length > 3)) {
      runs.push({ from, to, strong: false });
    }
  });
  const nodes = [];
  let from = 0;
  for (const run of runs) {
    nodes.push(shown(text.slice(from, run.from)));
    nodes.push(el(run.strong ? "mark" : "mark.light", {}, shown(text.slice(run.from, run.to))));
    from = run.to;
  }
  nodes.push(shown(text.slice(from)));
  return nodes;
}

/** The share of the smaller text's word pairs that both have, as the matcher `overlap` counts it. */
function overlap(one, other) {
  const count = (text) => {
    const listed = words(text), counts = new Map();
    listed.forEach(({ word }, at) => {
      if (!at) return;
      const pair = pairOf(listed[at - 1].word, word);
      counts.set(pair, (counts.get(pair) || 0) + 1);
    });
    return { counts, total: Math.max(0, listed.length - 1) };
  };
  const a = count(one), b = count(other);
  if (!a.total || !b.total) return 0;
  let shared = 0;
  for (const [pair, times] of a.counts) shared += Math.min(times, b.counts.get(pair) || 0);
  return shared / Math.min(a.total, b.total);
}
