"""Where the letters of gold texts stand in a corpus: one pass over it, an index of gold alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from kragx.data import Doc
from kragx.data.lists import Ints, ranges
from kragx.ground.printing import message
from kragx.workshop.moving.alignment import STEP, align
from kragx.workshop.moving.blocks import (
    GRAM,
    MANY,
    MARGIN,
    Block,
    GramCounts,
    Hashes,
    blocks,
    whole_grams,
)
from kragx.workshop.moving.choosing import MoveOption, choose
from kragx.workshop.moving.places import Place
from kragx.workshop.moving.probes import GoldProbe, content, key_of

_CROWD = 256  # places that are looked at for one gold text
_COMMON, _RARE = 16, 4  # places of a gram in the old corpus; grams of a text that may have more


def search(
    probes: Sequence[GoldProbe], gram_counts: GramCounts, corpus: Iterable[Doc]
) -> tuple[list[MoveOption], int]:
    """Read the corpus to which gold moves, once.

    Args:
        probes: what is looked for.
        gram_counts: the grams of the corpus that they are of.
        corpus: the documents of the new one.

    Returns:
        What became of each gold text, and how many chunks there are.
    """
    index = Index(probes, gram_counts)
    places_of: list[list[Place]] = [[] for _ in probes]
    n_windows = [0] * len(probes)
    # The chunks of the new corpus that have ids of gold, and what is in them.
    ids, contents = {key_of(probe.doc) for probe in probes}, set()
    n_chunks = 0
    # A place lies in one block as a whole, half as much put in and signs between its letters too.
    margin = max(MARGIN, 3 * max((len(probe.codes) for probe in probes), default=0))
    for block in blocks(corpus, gram_counts.banners, margin=margin):
        n_chunks += len(block.interior)
        for doc in block.docs[block.interior.start : block.interior.stop]:
            if (key := key_of(doc)) in ids:
                contents.add((key, content(doc.text or "")))
        for number, bounds, shifts in index.windows(block):
            probe = probes[number]
            n_windows[number] += 1
            if n_windows[number] > _CROWD:
                continue
            rows = block.rows(max(0, shifts[0]), shifts[1] + len(probe.codes))
            chunks = [(int(block.row[row]), int(block.end[row])) for row in rows]
            runs = align(probe, block.stream, bounds, shifts, chunks)
            if any(run.last > probe.low and run.first < probe.high for run in runs):
                places_of[number].append(Place(probe, runs, block))
    options: list[MoveOption] = []
    for number, probe in enumerate(probes):
        places, places_of[number] = places_of[number], []  # forgotten, as they are large
        is_common = len(probe.codes) >= GRAM and not index.n_grams[number]
        if probe.text is None:
            reason = message("the corpus that it is of does not have it")
            options.append(MoveOption(probe, "lost", reason=reason))
        elif (key_of(probe.doc), probe.chunk) in contents:
            options.append(MoveOption(probe, "same"))
        else:
            is_crowded = bool(is_common or n_windows[number] > _CROWD)
            options.append(choose(probe, places, is_crowded=is_crowded))
    return options, n_chunks


class Index:
    """The grams of gold texts that are looked up in a corpus.

    Args:
        probes: the gold texts.
        gram_counts: how often their grams stand in the corpus that they are of. Those that stand in
            many places are looked up for no text that has others.

    Attributes:
        n_grams: how many of each text are looked up.
    """

    def __init__(self, probes: Sequence[GoldProbe], gram_counts: GramCounts) -> None:
        # So many letters that were put into a gold text do not make two places of it.
        lengths = np.array([probe.high - probe.low for probe in probes], np.int64)
        self._slack: Ints = np.maximum(64, lengths // 2)
        hashes = [whole_grams(probe.codes) if probe.low < probe.high else _NONE for probe in probes]
        looked_up = [_looked_up(of_text, gram_counts) for of_text in hashes]
        self.n_grams: Ints = np.array([*map(len, looked_up)], np.int64)
        every_hash = np.concatenate([_NONE, *map(np.take, hashes, looked_up)])
        order = np.argsort(every_hash, kind="stable")
        self._hashes = every_hash[order]
        self._letters = np.concatenate([np.empty(0, np.int64), *looked_up])[order].astype(np.int32)
        self._probes = np.repeat(np.arange(len(probes), dtype=np.int32), self.n_grams)[order]
        # Eight slots a gram or more: most grams of the corpus are dismissed without a search.
        bits = min(27, max(12, (8 * len(every_hash)).bit_length()))
        self._shift = np.uint64(64 - bits)
        self._some = np.zeros(1 << bits, bool)
        self._some[every_hash >> self._shift] = True

    def windows(self, block: Block) -> Iterator[tuple[int, tuple[int, int], tuple[int, int]]]:
        """The probes that have grams in the own rows of a block which would begin about one letter.

        Yields:
            The probe, the source in the block's stream, the least and the most letter of it where
            the probe may begin.
        """
        probe, letter, place = self._hits(block.hashes)
        source, shift = np.searchsorted(block.bounds, place, side="right"), place - letter
        order = np.lexsort((shift, source, probe))
        probe, source, shift, place = (array[order] for array in (probe, source, shift, place))
        slack = self._slack[probe]
        is_other = (np.diff(probe, prepend=-1) != 0) | (np.diff(source, prepend=-1) != 0)
        away = np.where(is_other, 2 * slack + 1, np.diff(shift, prepend=shift[:1]))
        first = np.flatnonzero(away > slack)
        if not first.size:
            return
        times, last = np.diff(first, append=len(probe)), np.append(first[1:], len(probe)) - 1
        place = np.minimum.reduceat(place, first)
        # What lies between two places is looked at for the nearer one.
        half = np.append(np.minimum(slack, away // 2), slack[-1])
        lowest = shift[first] - half[first]
        highest = shift[last] + np.where(
            np.append(is_other, True)[last + 1], slack[last], half[last + 1]
        )
        # One gram alone, four words, is often an accident. What begins in a margin is another
        # block's.
        interior = block.interior_letters
        is_kept = times >= np.minimum(2, self.n_grams[probe[first]])
        is_kept &= (place >= interior.start) & (place < interior.stop)
        for row in np.flatnonzero(is_kept).tolist():
            bounds = block.source(int(place[row]))
            yield int(probe[first[row]]), bounds, (int(lowest[row]), int(highest[row]))

    def _hits(self, hashes: Hashes) -> tuple[Ints, Ints, Ints]:
        """Every pair of a probe and a place in `hashes` that have the same gram.

        Returns:
            The probes, the letters of them where the gram begins, and the places.
        """
        hits = np.flatnonzero(self._some[hashes >> self._shift])
        first = np.searchsorted(self._hashes, hashes[hits])
        times = np.searchsorted(self._hashes, hashes[hits], side="right") - first
        grams_hit = ranges(first, times)
        probe, letter = (
            array[grams_hit].astype(np.int64) for array in (self._probes, self._letters)
        )
        return probe, letter, np.repeat(hits, times)


_NONE = np.empty(0, np.uint64)


def _looked_up(hashes: Hashes, gram_counts: GramCounts) -> Ints:
    """Which grams of a text are looked up, by the letter where they begin.

    Every fourth; of a large corpus those that are counted, as long as the text has some of them. Of
    these all that stand in few places of the old corpus, and of a text that has not even a few of
    them the rarest.
    """
    number = np.arange(len(hashes))
    spaced = (number % STEP == 0) | (number == len(hashes) - 1)
    is_counted = gram_counts.sampled(hashes) if gram_counts.step > 1 else spaced
    letters = np.flatnonzero(is_counted if is_counted.sum() >= _RARE else is_counted | spaced)
    times = gram_counts.of(hashes[letters])
    # The rarest grams first, the earlier of those that are as rare.
    rank = np.argsort(np.argsort(times, kind="stable"))
    return letters[(times <= _COMMON) | ((times < MANY) & (rank < _RARE))]
