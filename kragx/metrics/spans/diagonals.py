"""Where to look: places in a gold text and in its stream that have a few tokens in common."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from kragx.data.lists import Ints
from kragx.metrics.spans.grams import Grams, joined
from kragx.metrics.spans.rows import Least, TokenRows

CELLS = 1 << 22
"""Tokens that are compared for a gold text at most, and at once."""


@dataclass(frozen=True)
class Diagonals:
    """Places in a gold text and in its stream that are as far apart all along.

    Attributes:
        row: the gold text.
        shift: the place in the stream less the place in the gold.
        first, length: the places in the gold of which there is one in the stream.
    """

    row: Ints
    shift: Ints
    first: Ints
    length: Ints

    def take(self, positions: Ints) -> Diagonals:
        """Those at some positions."""
        return Diagonals(*(column[positions] for column in vars(self).values()))

    def portions(self) -> Iterator[Diagonals]:
        """All of them, in portions of a size that fits into memory."""
        portion = np.cumsum(self.length) // CELLS
        for number in np.unique(portion):
            yield self.take(np.flatnonzero(portion == number))


def diagonals(
    golds: TokenRows,
    streams: TokenRows,
    stream_of: Ints,
    minimum_size: Least,
    seed: int,
    beside: int = 0,
) -> Diagonals:
    """Where gold texts and their streams may have a run that counts.

    A run that counts holds `seed` tokens in a row, or the few at the gold text's end that are
    enough there. Of a short gold text it holds all tokens, or all but the outermost, which may be
    parts of words. What is bridged goes on `beside` places aside, also in fewer tokens than a seed.
    """
    lengths, start = golds.lengths, golds.start[:-1]
    seeds = {seed: golds.fit(seed)}
    for length, place in (
        (minimum_size.at_start, start),
        (minimum_size.at_end, golds.start[1:] - minimum_size.at_end),
        (np.where(lengths < seed, lengths, 0), start),
        (np.where(lengths == 3, 2, 0), start),
        (np.where(lengths == 3, 2, 0), start + 1),
        (np.where(lengths > 3, lengths - 2, 0), start + 1),
    ):
        for n in set(length[(length > 0) & (length < seed)].tolist()):
            begins = seeds.setdefault(n, np.zeros(len(golds.tokens), bool))
            begins[place[length == n]] = True
    in_gold, in_streams = Grams(golds, stream_of), Grams(streams, np.arange(len(streams.start)))
    # No shift is as large as this, so that row and shift fit into one whole number, and one sort
    # orders both.
    span = len(streams.tokens) + len(golds.tokens) + 1
    counts = [(np.empty(0, np.int64), np.empty(0, np.int64))]
    for n in sorted(seeds):
        places = np.flatnonzero(seeds[n])
        gold_rows, stream = joined(in_gold.of(n)[places], in_streams.of(n), streams.fit(n))
        gold = places[gold_rows]
        key = golds.row[gold] * (2 * span) + stream - gold + span
        # Of a row of seeds on the same diagonal nearly all fall out here, before sorting.
        new = np.flatnonzero((np.diff(gold, prepend=-2) != 1) | (np.diff(key, prepend=-1) != 0))
        counts.append((key[new], np.diff(np.append(new, len(key)))))
    keys, times = map(np.concatenate, zip(*counts))
    if beside:
        # Diagonals aside count no seeds of their own: they are compared, and rank last where there
        # are too many.
        aside = np.arange(-beside, beside + 1)
        keys, times = (keys[:, None] + aside).ravel(), (times[:, None] * (aside == 0)).ravel()
    keys, gold_rows = np.unique(keys, return_inverse=True)
    row, shift = keys // (2 * span), keys % (2 * span) - span
    streams_of_rows = stream_of[row]
    first = np.maximum(golds.start[row], streams.start[streams_of_rows] - shift)
    last = np.minimum(golds.start[row + 1], streams.start[streams_of_rows + 1] - shift)
    diagonals = Diagonals(row, shift, first, np.maximum(last - first, 0))
    return _bounded(diagonals, np.bincount(gold_rows, times, len(keys)).astype(np.int64))


def _bounded(diagonals: Diagonals, seeds: Ints) -> Diagonals:
    """Those with the most seeds, if a gold text has more of them than can be compared."""
    row, length = diagonals.row, diagonals.length
    if not row.size or np.bincount(row, length).max() <= CELLS:
        return diagonals
    order = np.lexsort((-length, -seeds, row))
    total = np.cumsum(length[order])
    begins = np.flatnonzero(np.diff(row[order], prepend=-1))
    # What the gold texts before a diagonal's own take up of the total.
    before = np.repeat((total - length[order])[begins], np.diff(np.append(begins, len(row))))
    return diagonals.take(np.sort(order[(total - length[order]) - before < CELLS]))
