"""Answers of some words, looked for as a whole, letter by letter, with letters misread.

Half of the pairs of words of a passage say that it is there; half of an answer does not. Where a
chunk's end cuts an answer, it is not in the chunk.
"""

from __future__ import annotations

import numpy as np

from kragx.data import TokenCorpus
from kragx.data.lists import Lists
from kragx.data.tokens import of_pairs
from kragx.metrics import Floats

ANSWER = 12
"""Gold of at most so many words is an answer; three characters are one where none are apart."""

_LEAST_SHARED = 0.15
"""So many of the pairs of words are shared wherever an answer stands, however badly it was read."""

# Of the letters of an answer and of the place where it stands so many are the same: of texts of
# which 3 % of the letters were misread nearly always .85, of other answers of one pattern hardly
# ever. The score is half there, so that the default threshold asks for it, and 0 at the lower end.
_NOTHING, _HALF = 0.7, 0.85


def wholes(docs: Lists, golds: Lists, shared: Floats, corpus: TokenCorpus) -> Floats:
    """How much of each answer stands in each document, in [0, 1]; one half is .85 of its letters.

    Args:
        docs: the documents of each question, by their rows in the corpus.
        golds: its answers.
        shared: the share of pairs of words of each pair of the two.
        corpus: where they stand.
    """
    of_doc, of_gold = of_pairs(docs.n_texts, golds.n_texts)
    scores = np.zeros(len(shared))
    letters: dict[int, str] = {}
    for pair in np.flatnonzero(shared > _LEAST_SHARED).tolist():
        rows = int(docs.numbers[of_doc[pair]]), int(golds.numbers[of_gold[pair]])
        for row in rows:
            if row not in letters:
                (tokens,) = corpus.of_rows(np.array([row]))
                letters[row] = corpus.letters(tokens)
        doc, gold = (letters[row] for row in rows)
        scores[pair] = 1.0 if gold in doc else _score(doc, gold)
    return scores


def _score(doc: str, gold: str) -> float:
    """The score of an answer that does not stand in a document letter by letter."""
    from rapidfuzz.distance import Indel
    from rapidfuzz.fuzz import partial_ratio_alignment

    if len(doc) <= len(gold):
        start, end, alike = 0, len(doc), Indel.normalized_similarity(doc, gold)
    else:
        place = partial_ratio_alignment(gold, doc)
        assert place is not None  # without a score to reach there always is one
        start, end, alike = place.dest_start, place.dest_end, place.score / 100
    if alike <= _NOTHING or _is_cut(doc, gold, start, end):
        return 0.0
    return (alike - _NOTHING) / (_HALF - _NOTHING) / 2


def _is_cut(doc: str, gold: str, start: int, end: int) -> bool:
    """Whether the document begins or ends within the answer, which goes on beyond it."""
    from rapidfuzz.distance import Indel

    if start > 0 and end < len(doc):
        return False
    blocks = Indel.opcodes(gold, doc[start:end]).as_matching_blocks()
    # A letter alone in common is chance, and says nothing of where the answer goes on.
    runs = [block for block in blocks if block.size > 1]
    if not runs:
        return True
    first, last = runs[0], runs[-1]
    head = first.a - first.b
    tail = (len(gold) - last.a - last.size) - (end - start - last.b - last.size)
    return (start == 0 and head > 0) or (end == len(doc) and tail > 0)
