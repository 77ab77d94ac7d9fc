"""The grams of gold texts, as they are looked up in a corpus."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from kragx.data.tokens import Ints
from kragx.metrics.spans.rows import ranges
from kragx.workshop.moving.letters import GRAM, MANY, Bools, Codes, Hashes, Known, grams
from kragx.workshop.moving.probes import GoldProbe

STEP = 4
"""Of the grams of gold every fourth is looked up; of the corpus all."""

_COMMON, _RARE = 16, 4  # places of a gram in the old corpus; grams of a text that may have more


def once_of(probes: Sequence[GoldProbe], gram_counts: Known) -> list[Ints]:
    """For each probe its letters from which on a gram stands once in the corpus it is of."""
    unique: list[Ints] = []
    lengths = np.fromiter((len(probe.codes) for probe in probes), np.int64, len(probes))
    for first, last in portions(lengths, 1 << 20):
        codes = np.concatenate([probe.codes for probe in probes[first:last]])
        hashes, sizes = grams(codes), lengths[first:last]
        start = np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes)))
        n_left = np.repeat(start[1:], sizes) - np.arange(len(codes))
        places = np.flatnonzero((n_left >= GRAM) & gram_counts.sampled(hashes))
        times = gram_counts.of(hashes[places])
        # What reaches over the end of a chunk is in none, however common it is.
        alone = np.array([probe.chunk is None for probe in probes[first:last]], bool)
        is_alone = np.repeat(alone, sizes)[places]
        unique_places = places[(times == 1) | (is_alone & (times == 0))]
        cuts = np.searchsorted(unique_places, start).tolist()
        unique.extend(
            (unique_places[a:b] - base).astype(np.int32)
            for a, b, base in zip(cuts[:-1], cuts[1:], start[:-1].tolist())
        )
    return unique


class Index:
    """The grams of gold texts, whose codes become views into those of the index.

    Args:
        probes: the gold texts.
        gram_counts: how often their grams stand in the corpus that they are of. Those that stand in
            many places are looked up for no text that has others.
    """

    def __init__(self, probes: Sequence[GoldProbe], gram_counts: Known) -> None:
        lengths = np.fromiter((len(probe.codes) for probe in probes), np.int64, len(probes))
        self.start: Ints = np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths)))
        self.codes: Codes = np.empty(self.start[-1], np.uint32)
        for probe, a, b in zip(probes, self.start[:-1].tolist(), self.start[1:].tolist()):
            self.codes[a:b] = probe.codes
            probe.codes = self.codes[a:b]  # held once, while they are put together as well
        self.n_grams: Ints = np.zeros(len(probes), np.int64)
        hashes, places = [np.empty(0, np.uint64)], [np.empty(0, np.uint32)]
        for first, last in portions(lengths, 1 << 20):
            begin, end = self.start[[first, last]].tolist()
            of_portion = grams(self.codes[begin:end])
            looked_up = _looked_up(of_portion, lengths[first:last], gram_counts)
            probe = np.searchsorted(self.start, looked_up + begin, side="right") - 1
            self.n_grams += np.bincount(probe, minlength=len(probes))
            hashes.append(of_portion[looked_up])
            places.append((looked_up + begin).astype(np.uint32))
        every_hash, every_place = np.concatenate(hashes), np.concatenate(places)
        del hashes, places
        order = np.argsort(every_hash, kind="stable")
        self.hashes: Hashes = every_hash[order]
        self._places = every_place[order]
        del every_hash, every_place, order
        # Eight slots a gram or more: most grams of the corpus are dismissed without a search.
        bits = min(27, max(12, (8 * len(self.hashes)).bit_length()))
        self._shift = np.uint64(64 - bits)
        self._some = np.zeros(1 << bits, bool)
        for first in range(0, len(self.hashes), 1 << 20):
            self._some[self.hashes[first : first + (1 << 20)] >> self._shift] = True

    def hits(self, hashes: Hashes, usable: Bools) -> tuple[Ints, Ints, Ints]:
        """Every pair of a probe and a place in `hashes` that have the same gram.

        Returns:
            The probes, the letters of them where the gram begins, and the places.
        """
        hits = np.flatnonzero(self._some[hashes >> self._shift] & usable)
        first = np.searchsorted(self.hashes, hashes[hits])
        last = np.searchsorted(self.hashes, hashes[hits], side="right")
        times = last - first
        place = self._places[np.repeat(first, times) + ranges(times)].astype(np.int64)
        probe = np.searchsorted(self.start, place, side="right") - 1
        return probe, place - self.start[probe], np.repeat(hits, times)


def _looked_up(hashes: Hashes, lengths: Ints, gram_counts: Known) -> Ints:
    """Which grams of some texts, that stand one after another, are looked up.

    Every fourth; of a large corpus those that are counted, as long as a text has some of them. Of
    these all that stand in few places of the old corpus, and of a text that has not even a few of
    them the rarest.
    """
    text = np.repeat(np.arange(len(lengths)), lengths)
    number = ranges(lengths)
    n_left = lengths[text] - number
    spaced = (n_left == GRAM) | ((n_left > GRAM) & (number % STEP == 0))
    is_counted = (n_left >= GRAM) & gram_counts.sampled(hashes) if gram_counts.step > 1 else spaced
    is_rare = np.bincount(text[is_counted], minlength=len(lengths)) < _RARE
    places = np.flatnonzero(is_counted | (spaced & is_rare[text]))
    times = gram_counts.of(hashes[places])
    # Text by text, and of one text the rarest grams first, the earlier of those that are as rare.
    places = places[order := np.lexsort((places, times, text[places]))]
    rank = ranges(np.bincount(text[places], minlength=len(lengths)))
    is_kept = (times[order] <= _COMMON) | ((times[order] < MANY) & (rank < _RARE))
    return np.sort(places[is_kept])


def portions(lengths: Ints, limit: int) -> Iterator[tuple[int, int]]:
    """Stretches of a list whose lengths add up to `limit`, or of one alone."""
    ends = np.cumsum(lengths)
    first = 0
    while first < len(lengths):
        before = int(ends[first - 1]) if first else 0
        last = max(first + 1, int(np.searchsorted(ends, before + limit, side="right")))
        yield first, last
        first = last
