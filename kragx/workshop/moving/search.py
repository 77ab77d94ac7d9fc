"""Where the letters of gold texts stand in a corpus: one pass over it, an index of gold alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from kragx.data import Doc
from kragx.data.lists import Bools, Ints, ranges
from kragx.workshop.moving.letters import (
    GRAM,
    MARGIN,
    Block,
    GramCounts,
    Hashes,
    blocks,
    whole_grams,
)
from kragx.workshop.moving.places import Place, align
from kragx.workshop.moving.probes import GoldProbe, content, key_of

_CROWD = 256  # places that are looked at for one gold text
_STEP = 4  # of the grams of gold every fourth is looked up; of the corpus all
_COMMON, _FEW = 16, 4  # places of a gram in the old corpus; counted grams that are enough
_MORE = 32  # letters that may be put in beyond the outermost gram
_SIDE = 3  # letters on either side of a place that a gram over it has at least


@dataclass
class Found:
    """What a corpus has of gold texts.

    Attributes:
        places: of each probe.
        same: the probes whose chunk is there unchanged, under its id.
        crowded: probes that stand in so many places that not all were looked at.
        n_chunks: how many there are.
    """

    places: list[list[Place]]
    same: set[int] = field(default_factory=set)
    crowded: set[int] = field(default_factory=set)
    n_chunks: int = 0


def search(probes: Sequence[GoldProbe], gram_counts: GramCounts, corpus: Iterable[Doc]) -> Found:
    """Read the corpus to which gold moves, once.

    Args:
        probes: what is looked for.
        gram_counts: the grams of the corpus that they are of.
        corpus: the documents of the new one.
    """
    index = _Index(probes, gram_counts)
    found = Found([[] for _ in probes])
    by_key: defaultdict[str, list[int]] = defaultdict(list)
    for number, probe in enumerate(probes):
        if probe.chunk is not None:
            by_key[key_of(probe.doc)].append(number)
    n_places = np.zeros(len(probes), np.int64)
    # A place lies in one block as a whole, half as much put in and signs between its letters too.
    margin = max(MARGIN, 3 * int(index.lengths.max(initial=0)))
    for block in blocks(corpus, gram_counts.banners, margin=margin):
        for doc in block.docs[block.interior.start : block.interior.stop]:
            for number in by_key.get(key_of(doc), ()):
                if content(doc.text or "") == probes[number].chunk:
                    found.same.add(number)
        found.n_chunks += len(block.interior)
        is_old: Bools | None = None
        for number, stretch, shifts in _where(block, index, n_places):
            probe = probes[number]
            positions = align(probe, block, stretch, shifts)
            if (positions[probe.low : probe.high] >= 0).any():
                is_old = _old(block, gram_counts) if is_old is None else is_old
                found.places[number].append(Place(probe, positions, block, is_old))
    crowded = (n_places > _CROWD) | ((index.n_grams == 0) & (index.lengths >= GRAM))
    found.crowded = set(np.flatnonzero(crowded).tolist())
    return found


class _Index:
    """The grams of gold texts that are looked up in a corpus.

    Args:
        probes: the gold texts.
        gram_counts: how often their grams stand in the corpus that they are of. Those that stand in
            many places are not looked up.

    Attributes:
        lengths: of the probes, in letters.
        gold_lengths: of their gold texts alone.
        n_grams: how many grams of each are looked up.
    """

    def __init__(self, probes: Sequence[GoldProbe], gram_counts: GramCounts) -> None:
        self.lengths: Ints = np.array([len(probe.codes) for probe in probes], np.int64)
        self.gold_lengths: Ints = np.array([probe.high - probe.low for probe in probes], np.int64)
        hashes, letters = [np.empty(0, np.uint64)], [np.empty(0, np.int64)]
        for probe in probes:
            of_probe = whole_grams(probe.codes)
            letters.append(_looked_up(of_probe, gram_counts))
            hashes.append(of_probe[letters[-1]])
        self.n_grams: Ints = np.array([*map(len, letters[1:])], np.int64)
        every_hash = np.concatenate(hashes)
        order = np.argsort(every_hash, kind="stable")
        self._hashes = every_hash[order]
        self._letters = np.concatenate(letters)[order].astype(np.int32)
        self._probes = np.repeat(np.arange(len(probes), dtype=np.int32), self.n_grams)[order]
        # Eight slots a gram or more: most grams of the corpus are dismissed without a search.
        bits = min(27, max(12, (8 * len(every_hash)).bit_length()))
        self._shift = np.uint64(64 - bits)
        self._some = np.zeros(1 << bits, bool)
        self._some[every_hash >> self._shift] = True

    def hits(self, hashes: Hashes) -> tuple[Ints, Ints, Ints]:
        """Every pair of a probe and a place in `hashes` that have the same gram.

        Returns:
            The probes, the letters of them where the gram begins, and the places.
        """
        hits = np.flatnonzero(self._some[hashes >> self._shift])
        first = np.searchsorted(self._hashes, hashes[hits])
        times = np.searchsorted(self._hashes, hashes[hits], side="right") - first
        rows = ranges(first, times)
        probe, letter = (array[rows].astype(np.int64) for array in (self._probes, self._letters))
        return probe, letter, np.repeat(hits, times)


def _looked_up(hashes: Hashes, gram_counts: GramCounts) -> Ints:
    """Which grams of a text are looked up, by the letter where they begin.

    Every fourth; of a large corpus those that are counted, as long as the text has some of them. Of
    these all that stand in few places of the old corpus.
    """
    number = np.arange(len(hashes))
    spaced = (number % _STEP == 0) | (number == len(hashes) - 1)
    is_counted = gram_counts.sampled(hashes) if gram_counts.step > 1 else spaced
    letters = np.flatnonzero(is_counted if is_counted.sum() >= _FEW else is_counted | spaced)
    return letters[gram_counts.of(hashes[letters]) <= _COMMON]


def _where(block: Block, index: _Index, n_places: Ints) -> Iterator[tuple[int, range, range]]:
    """The probes that have grams in the interior of a block which would begin about one letter.

    Yields:
        The probe, the stretch of the block's stream that would be it, and the letters where it may
        begin.
    """
    probe, letter, place = index.hits(block.hashes)
    if not probe.size:
        return
    shift = place - letter
    order = np.lexsort((shift, probe))
    probe, shift, place = (array[order] for array in (probe, shift, place))
    # So many letters that were put into a gold text do not make two places of it.
    slack = np.maximum(64, index.gold_lengths[probe] // 2)
    is_other = np.diff(probe, prepend=-1) != 0
    first = np.flatnonzero(is_other | (np.diff(shift, prepend=0) > slack))
    ends, least = np.append(first[1:], len(probe)), np.minimum.reduceat(place, first)
    # One gram alone, four words, is often an accident. What begins in a margin is another block's.
    interior = block.interior_letters
    is_kept = ends - first >= np.minimum(2, index.n_grams[probe[first]])
    is_kept &= (least >= interior.start) & (least < interior.stop)
    n_places += np.bincount(probe[first[is_kept]], minlength=len(n_places))
    for row, end in zip(first[is_kept].tolist(), ends[is_kept].tolist()):
        number, shifts = int(probe[row]), shift[row:end]
        if n_places[number] > _CROWD:
            continue
        # Not far from the middle one, however often a banner beside the text is repeated.
        near = np.abs(shifts - shifts[len(shifts) // 2]) <= slack[row]
        by_letter = np.argsort(place[row:end][near] - shifts[near], kind="stable")
        begin, last = shifts[near][by_letter[[0, -1]]].tolist()
        stretch = range(begin, last + int(index.lengths[number]))
        low, high = shifts[near][[0, -1]].tolist()
        yield number, stretch, range(low - _MORE, high + _MORE + 1)


def _old(block: Block, gram_counts: GramCounts) -> Bools:
    """At which letters of the stream what is before and behind stood together in the old corpus."""
    is_counted = gram_counts.sampled(block.hashes)
    is_known = is_counted & (gram_counts.of(block.hashes) > 0)
    # Sums up to each place, so that the grams over a place are counted by one subtraction.
    places = np.arange(len(is_counted) + 1)
    first, last = np.maximum(places - GRAM + _SIDE, 0), np.maximum(places - _SIDE + 1, 0)
    n, n_known = (
        sums[last] - sums[first]
        for sums in (np.concatenate(([0], np.cumsum(mask))) for mask in (is_counted, is_known))
    )
    return np.asarray((2 * n_known >= n) & (n_known > 1))
