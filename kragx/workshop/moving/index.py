"""The grams of gold texts, as they are looked up in a corpus."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kragx.data.tokens import Ints
from kragx.metrics.spans.rows import ranges
from kragx.workshop.moving.letters import MANY, Bools, Codes, Hashes, Known, whole_grams
from kragx.workshop.moving.probes import GoldProbe

STEP = 4
"""Of the grams of gold every fourth is looked up; of the corpus all."""

_COMMON, _RARE = 16, 4  # places of a gram in the old corpus; grams of a text that may have more


def once_of(probe: GoldProbe, gram_counts: Known) -> Ints:
    """The letters of a probe from which on a gram stands once in the corpus it is of."""
    hashes = whole_grams(probe.codes)
    times = gram_counts.of(hashes)
    # What reaches over the end of a chunk is in none, however common it is.
    is_once = (times == 1) | ((times == 0) & (probe.chunk is None))
    return np.flatnonzero(is_once & gram_counts.sampled(hashes)).astype(np.int32)


class Index:
    """The grams of gold texts.

    Args:
        probes: the gold texts.
        gram_counts: how often their grams stand in the corpus that they are of. Those that stand in
            many places are looked up for no text that has others.

    Attributes:
        lengths: of the probes, in letters.
        n_grams: how many grams of each are looked up.
    """

    def __init__(self, probes: Sequence[GoldProbe], gram_counts: Known) -> None:
        self.lengths: Ints = np.array([len(probe.codes) for probe in probes], np.int64)
        places, hashes = [np.empty(0, np.int32)], [np.empty(0, np.uint64)]
        for probe in probes:
            of_probe, its_hashes = _looked_up(probe.codes, gram_counts)
            places.append(of_probe)
            hashes.append(its_hashes)
        self.n_grams: Ints = np.array([*map(len, places[1:])], np.int64)
        every_hash = np.concatenate(hashes)
        order = np.argsort(every_hash, kind="stable")
        self._hashes = every_hash[order]
        self._places = np.concatenate(places)[order]
        self._probes = np.repeat(np.arange(len(probes), dtype=np.int32), self.n_grams)[order]
        # Eight slots a gram or more: most grams of the corpus are dismissed without a search.
        bits = min(27, max(12, (8 * len(every_hash)).bit_length()))
        self._shift = np.uint64(64 - bits)
        self._some = np.zeros(1 << bits, bool)
        self._some[every_hash >> self._shift] = True

    def hits(self, hashes: Hashes, usable: Bools) -> tuple[Ints, Ints, Ints]:
        """Every pair of a probe and a place in `hashes` that have the same gram.

        Returns:
            The probes, the letters of them where the gram begins, and the places.
        """
        hits = np.flatnonzero(self._some[hashes >> self._shift] & usable)
        first = np.searchsorted(self._hashes, hashes[hits])
        times = np.searchsorted(self._hashes, hashes[hits], side="right") - first
        grams_hit = np.repeat(first, times) + ranges(times)
        probe, letter = (of[grams_hit].astype(np.int64) for of in (self._probes, self._places))
        return probe, letter, np.repeat(hits, times)


def _looked_up(codes: Codes, gram_counts: Known) -> tuple[NDArray[np.int32], Hashes]:
    """Which grams of a text are looked up, by the letter where they begin, and their hashes.

    Every fourth; of a large corpus those that are counted, as long as the text has some of them. Of
    these all that stand in few places of the old corpus, and of a text that has not even a few of
    them the rarest.
    """
    hashes = whole_grams(codes)
    number = np.arange(len(hashes))
    spaced = (number % STEP == 0) | (number == len(hashes) - 1)
    is_counted = gram_counts.sampled(hashes) if gram_counts.step > 1 else spaced
    places = np.flatnonzero(is_counted if is_counted.sum() >= _RARE else is_counted | spaced)
    times = gram_counts.of(hashes[places])
    # The rarest grams first, the earlier of those that are as rare.
    order = np.argsort(times, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    places = places[(times <= _COMMON) | ((times < MANY) & (rank < _RARE))]
    return places.astype(np.int32), hashes[places]
