"""Where two texts come to lie side by side: the offsets at which most of their pairs meet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from kragx.data import TokenCorpus
from kragx.data.stretches import counted, parts, ranges, starts
from kragx.metrics import Ints

OFFSETS = 3
"""At how many offsets two texts are laid side by side: those at which most pairs meet."""

_MOST_PLACES = 32
"""So many places of a pair of words in the gold text are looked at, so that a sentence repeated a
thousand times does not meet itself a million times."""

_SLOT_BITS = 20
_ODD = np.uint64(0x9E3779B97F4A7C15)  # Knuth's multiplier

_AT_ONCE = 1 << 12  # pairs of texts: a number holds which of them, and two tokens

Offsets = Sequence[tuple[int, int]]
"""Where the gold's first word comes to stand in the document, and how many pairs meet then."""


def best_offsets(docs: Ints, golds: Ints, corpus: TokenCorpus) -> Iterator[Offsets]:
    """The best offsets of each document and gold text, the first ones that meet before equal ones.

    Args:
        docs: (n) the documents' rows in the corpus.
        golds: (n) those of the gold texts.
        corpus: where they stand.
    """
    n_tokens = corpus.lengths[docs] + corpus.lengths[golds]
    for first in range(0, len(docs), _AT_ONCE):
        stop = min(first + _AT_ONCE, len(docs))
        for part in parts(n_tokens[first:stop]):
            rows = slice(first + part.start, first + part.stop)
            yield from _of_part(docs[rows], golds[rows], corpus)


def _of_part(docs: Ints, golds: Ints, corpus: TokenCorpus) -> Iterator[Offsets]:
    doc, place, grams = _grams(docs, corpus)
    _, gold_place, of_golds = _grams(golds, corpus)
    # Most pairs of words of documents meet none of the gold, and need not be looked for.
    is_taken = np.zeros(1 << _SLOT_BITS, bool)
    is_taken[_slots(of_golds)] = True
    may_meet = is_taken.take(_slots(grams)).nonzero()[0]
    doc, place, grams = doc[may_meet], place[may_meet], grams[may_meet]
    order = np.argsort(of_golds, kind="stable")
    of_golds, gold_place = of_golds[order], gold_place[order]
    index = np.searchsorted(of_golds, grams)
    is_met = index < len(of_golds)
    is_met[is_met] = of_golds[index[is_met]] == grams[is_met]
    doc, place, grams, index = doc[is_met], place[is_met], grams[is_met], index[is_met]
    n_meetings = np.minimum(np.searchsorted(of_golds, grams, side="right") - index, _MOST_PLACES)
    doc, place = np.repeat(doc, n_meetings), np.repeat(place, n_meetings)
    offset = place - gold_place[ranges(index, n_meetings)]
    low = int(offset.min(initial=0))
    span = int(offset.max(initial=0)) - low + 1
    of_offset, first, times = counted(doc * span + (offset - low))
    doc, offset = of_offset // span, of_offset % span + low
    best = np.lexsort((first, -times, doc))
    offsets = [*zip(offset[best].tolist(), times[best].tolist())]
    n_found = np.bincount(doc, minlength=len(docs))
    for start, n in zip(starts(n_found).tolist(), np.minimum(n_found, OFFSETS).tolist()):
        yield offsets[start : start + n]


def _slots(grams: Ints) -> NDArray[np.intp]:
    """A slot for each pair of words, the same for the same."""
    mixed = grams.astype(np.uint64) * _ODD
    return (mixed >> np.uint64(64 - _SLOT_BITS)).astype(np.intp)


def _grams(rows: Ints, corpus: TokenCorpus) -> tuple[Ints, Ints, Ints]:
    """The pairs of neighbouring words of texts: which text's, at which place, which pair.

    Those of different texts are different ones.
    """
    sizes = np.maximum(corpus.lengths[rows] - 1, 0)
    place = ranges(corpus.starts[rows], sizes)
    n = corpus.n_distinct_tokens
    text = np.repeat(np.arange(len(rows)), sizes)
    grams = (text * n + corpus.tokens.take(place)) * n + corpus.tokens.take(place + 1)
    return text, ranges(np.zeros_like(sizes), sizes), grams
