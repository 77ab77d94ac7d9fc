"""Where the letters of gold texts stand in a corpus: one pass over it, an index of gold alone."""

from __future__ import annotations

from collections import defaultdict
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
    Bools,
    Hashes,
    Known,
    blocks,
    whole_grams,
)
from kragx.workshop.moving.choosing import MoveOption, choose
from kragx.workshop.moving.places import Chunk, Place
from kragx.workshop.moving.probes import GoldProbe, content, key_of

_CROWD = 256  # places that are looked at for one gold text
_COMMON, _RARE = 16, 4  # places of a gram in the old corpus; grams of a text that may have more


def search(
    probes: Sequence[GoldProbe], gram_counts: Known, corpus: Iterable[Doc]
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
    unchanged: set[int] = set()
    n_chunks = 0
    by_key: defaultdict[str, list[int]] = defaultdict(list)
    for number, probe in enumerate(probes):
        if probe.chunk is not None:
            by_key[key_of(probe.doc)].append(number)
    n_places = np.zeros(len(probes), np.int64)
    # A place lies in one block as a whole, half as much put in and signs between its letters too.
    margin = max(MARGIN, 3 * int(index.lengths.max(initial=0)))
    for block in blocks(corpus, margin=margin, banners=gram_counts.banners):
        for row in block.interior:
            doc = block.docs[row]
            for number in by_key.get(key_of(doc), ()):
                if content(doc.text or "") == probes[number].chunk:
                    unchanged.add(number)
        n_chunks += len(block.interior)
        chunks: dict[int, Chunk] = {}
        for number, bounds, shifts in _where(block, index, n_places):
            probe = probes[number]
            gold = probe.low, probe.high
            rows = slice(*block.rows(max(0, shifts[0]), shifts[1] + len(probe.codes)))
            chunks_there = [*zip(block.row[rows].tolist(), block.end[rows].tolist())]
            runs = align(
                probe.codes, gold, block.stream, bounds, shifts, chunks_there, probe.is_own
            )
            if any(run.last > probe.low and run.first < probe.high for run in runs):
                places_of[number].append(Place(probe, runs, block, chunks))
    crowded = (n_places > _CROWD) | ((index.n_grams == 0) & (index.lengths >= GRAM))
    choices: list[MoveOption] = []
    for number, probe in enumerate(probes):
        places, places_of[number] = places_of[number], []  # forgotten, as they are large
        if probe.text is None:
            reason = message("the corpus that it is of does not have it")
            choices.append(MoveOption(probe, "lost", reason=reason))
        elif number in unchanged:
            choices.append(MoveOption(probe, "same"))
        else:
            choices.append(choose(probe, places, is_crowded=bool(crowded[number])))
    return choices, n_chunks


class Index:
    """The grams of gold texts that are looked up in a corpus.

    Args:
        probes: the gold texts.
        gram_counts: how often their grams stand in the corpus that they are of. Those that stand in
            many places are looked up for no text that has others.

    Attributes:
        lengths: of the probes, in letters.
        gold_lengths: of their gold texts alone.
        n_grams: how many grams of each are looked up.
    """

    def __init__(self, probes: Sequence[GoldProbe], gram_counts: Known) -> None:
        self.lengths: Ints = np.array([len(probe.codes) for probe in probes], np.int64)
        self.gold_lengths: Ints = np.array([probe.high - probe.low for probe in probes], np.int64)
        looked_up = [_looked_up(whole_grams(probe.codes), gram_counts) for probe in probes]
        self.n_grams: Ints = np.array([*map(len, looked_up)], np.int64)
        hashes = [whole_grams(probe.codes)[rows] for probe, rows in zip(probes, looked_up)]
        every_hash = np.concatenate([np.empty(0, np.uint64), *hashes])
        order = np.argsort(every_hash, kind="stable")
        self._hashes = every_hash[order]
        self._letters = np.concatenate([np.empty(0, np.int64), *looked_up])[order].astype(np.int32)
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
        grams_hit = ranges(first, times)
        probe, letter = (
            array[grams_hit].astype(np.int64) for array in (self._probes, self._letters)
        )
        return probe, letter, np.repeat(hits, times)


def _looked_up(hashes: Hashes, gram_counts: Known) -> Ints:
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


def _where(
    block: Block, index: Index, n_places: Ints
) -> Iterator[tuple[int, tuple[int, int], tuple[int, int]]]:
    """The probes that have grams in the own rows of a block which would begin about one letter.

    Yields:
        The probe, the source in the block's stream, the least and the most letter of it where the
        probe may begin.
    """
    probe, letter, place = index.hits(block.hashes, block.is_text)
    if not probe.size:
        return
    source = np.searchsorted(block.bounds, place, side="right")
    shift = place - letter
    order = np.lexsort((shift, source, probe))
    probe, source, shift, place = (array[order] for array in (probe, source, shift, place))
    # So many letters that were put into a gold text do not make two places of it.
    slack = np.maximum(64, index.gold_lengths[probe] // 2)
    is_other = (np.diff(probe, prepend=-1) != 0) | (np.diff(source, prepend=-1) != 0)
    away = np.where(is_other, 2 * slack + 1, np.diff(shift, prepend=shift[:1]))
    first = np.flatnonzero(away > slack)
    times = np.diff(first, append=len(probe))
    # What lies between two places is looked at for the nearer one.
    half = np.minimum(slack, away // 2)[first]
    other_half = np.where(is_other[first], slack[first], half)
    probe, slack, place = probe[first], slack[first], np.minimum.reduceat(place, first)
    lowest = shift[first] - half
    highest = np.maximum.reduceat(shift, first) + np.append(other_half[1:], slack[-1:])
    # One gram alone, four words, is often an accident. What begins in a margin is another block's.
    interior = block.interior_letters
    is_kept = times >= np.minimum(2, index.n_grams[probe])
    is_kept &= (place >= interior.start) & (place < interior.stop)
    n_places += np.bincount(probe[is_kept], minlength=len(n_places))
    for row in np.flatnonzero(is_kept & (n_places[probe] <= _CROWD)).tolist():
        bounds = block.source(int(place[row]), int(place[row]))
        yield int(probe[row]), bounds, (int(lowest[row]), int(highest[row]))
