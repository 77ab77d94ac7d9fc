"""Where the letters of gold texts stand in a corpus: one pass over it, an index of gold alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from kragx.data import Doc
from kragx.data.tokens import Ints
from kragx.metrics.spans.rows import ranges
from kragx.workshop.folder.places import origin_of
from kragx.workshop.moving.blocks import NEIGHBOURS, Block, blocks
from kragx.workshop.moving.index import STEP, Index, once_of
from kragx.workshop.moving.letters import GRAM, Bools, Codes, Known, whole_grams
from kragx.workshop.moving.probes import GoldProbe, content, key_of
from kragx.workshop.moving.runs import LetterRun

FINE = 8
"""Letters in a row by which a gold text and a chunk are laid beside each other."""

LEAST = 5
"""Letters in a row that count as the same beside longer ones."""

_SHORT = 64  # letters; of more, some grams are found in any case
_CROWD = 256  # places that are looked at for one gold text
_DIAGONALS = 48
_SIDE = 3  # letters on either side of a place that a gram over it has at least


class Chunk(NamedTuple):
    """What is kept of a chunk in which some gold may stand.

    Attributes:
        id, size, place: its id, its letters, and where it begins in the corpus, in letters.
        source, start: of its text, where metadata say so.
        text: its text, where a meeting `is_gold`.
    """

    id: str
    size: int
    place: int
    source: str | None
    start: int | None
    text: str | None

    @property
    def end(self) -> int:
        """Where it ends in the corpus, in letters."""
        return self.place + self.size


@dataclass(slots=True)
class Overlap:
    """A gold text and a chunk that share letters.

    Attributes:
        chunk: its number in the corpus.
        runs: in the order of the gold text, by their places in the corpus.
        is_gold: the chunk may have letters of the text itself, not only of what is around.
    """

    chunk: int
    runs: list[LetterRun]
    is_gold: bool


@dataclass
class MoveSearch:
    """What a corpus has of gold texts.

    Attributes:
        meetings: of each probe.
        chunks: by their number in the corpus.
        same: for probes whose chunk is there unchanged, under its id: that id, as it is written.
        crowded: probes that stand in so many places that not all were looked at.
        unique: for each probe its letters from which on a gram stands once in the old corpus.
        step: 1, or 8 where of the old corpus an eighth of the grams is known.
        n_chunks: how many there are.
    """

    meetings: list[list[Overlap]]
    chunks: dict[int, Chunk]
    same: dict[int, str]
    crowded: set[int]
    unique: list[Ints]
    step: int
    n_chunks: int = 0


def search(probes: Sequence[GoldProbe], gram_counts: Known, corpus: Iterable[Doc]) -> MoveSearch:
    """Read the corpus to which gold moves, once.

    Args:
        probes: what is looked for.
        gram_counts: the grams of the corpus that they are of.
        corpus: the documents of the new one.
    """
    unique = [once_of(probe, gram_counts) for probe in probes]
    result = MoveSearch([[] for _ in probes], {}, {}, set(), unique, gram_counts.step)
    index = Index(probes, gram_counts)
    same: defaultdict[str, list[int]] = defaultdict(list)
    for number, probe in enumerate(probes):
        if probe.chunk is not None:
            same[key_of(probe.doc)].append(number)
    n_places = np.zeros(len(probes), np.int64)
    for block in blocks(corpus, banners=gram_counts.banners):
        for row in block.own:
            doc = block.docs[row]
            for number in same.get(key_of(doc), ()):
                if content(doc.text or "") == probes[number].chunk:
                    result.same[number] = str(doc.id)
        result.n_chunks += len(block.own)
        _search_block(block, index, gram_counts, probes, n_places, result)
    crowded = (n_places > _CROWD) | ((index.n_grams == 0) & (index.lengths >= GRAM))
    result.crowded = set(np.flatnonzero(crowded).tolist())
    return result


def _search_block(
    block: Block,
    index: Index,
    gram_counts: Known,
    probes: Sequence[GoldProbe],
    n_places: Ints,
    result: MoveSearch,
) -> None:
    """Add what a block has of gold."""
    probe, letter, place = index.hits(block.hashes, block.whole_grams())
    if not probe.size:
        return
    n_rows = len(block.docs)
    row = np.searchsorted(block.letters.start, place, side="right") - 1
    begin = block.row[row] + place - block.letters.start[row] - letter
    order = np.argsort(probe * n_rows + row, kind="stable")
    pairs, first, times = np.unique(
        (probe * n_rows + row)[order], return_index=True, return_counts=True
    )
    probe, row = np.divmod(pairs, n_rows)
    earliest = np.minimum.reduceat(begin[order], first)
    latest = np.maximum.reduceat(begin[order], first) + index.lengths[probe]
    # One gram alone, four words, is often an accident.
    is_kept = times >= np.minimum(2, index.n_grams[probe])
    n_places += np.bincount(probe[is_kept], minlength=len(n_places))
    is_kept &= n_places[probe] <= _CROWD
    first_row, n = block.rows(row[is_kept], earliest[is_kept], latest[is_kept])
    probe, row = np.divmod(
        np.unique(np.repeat(probe[is_kept] * n_rows + first_row, n) + ranges(n)), n_rows
    )
    is_old = _old(block, gram_counts)
    before = -1, 0
    for number, chunk_row in zip(probe.tolist(), row.tolist()):
        wanted_probe = probes[number]
        runs = _shared_runs(wanted_probe.codes, block.letters.of(chunk_row))
        if not runs:
            continue
        # Chunks between two that a gold text meets may hold what of it was edited, and are kept as
        # well.
        if before[0] == number and chunk_row - before[1] <= NEIGHBOURS:
            for empty in range(before[1] + 1, chunk_row):
                _keep(result, block, number, empty, [], wanted_probe)
        before = number, chunk_row
        edged = _with_edges(block, is_old, chunk_row, runs, wanted_probe)
        _keep(result, block, number, chunk_row, edged, wanted_probe)
        for neighbour, ends in _between(block, chunk_row, runs, wanted_probe):
            edged = _with_edges(block, is_old, neighbour, [ends], wanted_probe)
            _keep(result, block, number, neighbour, edged, wanted_probe)


def _old(block: Block, gram_counts: Known) -> Bools:
    """At which letters of the stream what is before and behind stood together in the old corpus."""
    is_counted = block.is_text & gram_counts.sampled(block.stream_hashes)
    is_known = is_counted & (gram_counts.of(block.stream_hashes) > 0)
    # Sums up to each place, so that the grams over a place are counted by one subtraction.
    places = np.arange(len(is_counted) + 1)
    first, last = np.maximum(places - GRAM + _SIDE, 0), np.maximum(places - _SIDE + 1, 0)
    n, n_known = (
        sums[last] - sums[first]
        for sums in (np.concatenate(([0], np.cumsum(mask))) for mask in (is_counted, is_known))
    )
    return np.asarray((2 * n_known >= n) & (n_known > 1))


def _with_edges(
    block: Block, is_old: Bools, row: int, runs: list[LetterRun], probe: GoldProbe
) -> list[LetterRun]:
    """Runs that say what stands before and behind them."""
    stream, codes, begin = block.stream, probe.codes, int(block.row[row])
    edged = []
    for run in runs:
        first, last = begin + run.place, begin + run.end
        before = run.first > 0 and first > 0 and stream[first - 1] != codes[run.first - 1]
        after = run.last < len(codes) and last < len(stream) and stream[last] != codes[run.last]
        edged.append(
            run._replace(before=bool(before and is_old[first]), after=bool(after and is_old[last]))
        )
    return edged


def _keep(
    result: MoveSearch, block: Block, number: int, row: int, runs: list[LetterRun], probe: GoldProbe
) -> None:
    chunk, doc, begin = block.first + row, block.docs[row], block.place[row]
    size = int(block.letters.start[row + 1] - block.letters.start[row])
    # What is edited at the end of a text may be in a chunk beside what is around it.
    is_gold = any(run.is_in(probe) for run in runs)
    is_gold |= not runs or not (
        (runs[0].first >= probe.high and not runs[0].place)
        or (runs[-1].last <= probe.low and runs[-1].end == size)
    )
    chunk_text = result.chunks.get(chunk)
    if chunk_text is None or (is_gold and chunk_text.text is None):
        source, start = origin_of(doc)
        text = doc.text if is_gold else None
        result.chunks[chunk] = Chunk(str(doc.id), size, begin, source, start, text)
    runs = [run._replace(place=begin + run.place) for run in runs]
    result.meetings[number].append(Overlap(chunk, runs, is_gold))


def _between(
    block: Block, row: int, runs: list[LetterRun], probe: GoldProbe
) -> Iterator[tuple[int, LetterRun]]:
    """What is too short to be looked up: between runs, at the chunk's ends, in short neighbours."""
    for before, after in pairwise(runs):
        chunk_span, golds = (before.end, after.place), (before.last, after.first)
        if all(0 < high - low <= _SHORT for low, high in (chunk_span, golds)):
            yield from _few(block, row, chunk_span, probe, golds)
    yield from _beyond(block, row, max(runs, key=lambda run: run.last), probe, step=1)
    yield from _beyond(block, row, min(runs), probe, step=-1)


def _beyond(
    block: Block, row: int, run: LetterRun, probe: GoldProbe, step: int
) -> Iterator[tuple[int, LetterRun]]:
    """What of a gold text is left on one side of a run, as far as the pieces there are short."""
    is_ahead = step > 0
    gold, place = (run.last, run.end) if is_ahead else (run.first, run.place)
    end = probe.high if is_ahead else probe.low
    n = len(block.letters.of(row)) - place if is_ahead else place
    while n <= _SHORT and step * (end - gold) > 0:
        n = max(0, min(n, step * (end - gold)))
        golds, places = sorted((gold, gold + step * n)), sorted((place, place + step * n))
        if n and golds[1] > probe.low and golds[0] < probe.high:
            yield from _few(block, row, (places[0], places[1]), probe, (golds[0], golds[1]))
        gold += step * n
        later = max(row, row + step)
        if not 0 < later < len(block.docs) or not block.follows[later]:
            break
        row += step
        size = len(block.letters.of(row)) - block.overlap[later]
        n, place = min(size, step * (end - gold)), block.overlap[row] if is_ahead else size


def _few(
    block: Block, row: int, chunk_span: tuple[int, int], probe: GoldProbe, golds: tuple[int, int]
) -> Iterator[tuple[int, LetterRun]]:
    """The runs of a few letters of a chunk and those of gold that should be the same."""
    (begin, end), (low, high) = chunk_span, golds
    chunk_codes, codes = block.letters.of(row)[begin:end], probe.codes[low:high]
    if len(codes) == len(chunk_codes) and (codes == chunk_codes).all():
        yield row, LetterRun(low, high, begin)
        return
    from rapidfuzz.distance import LCSseq

    if end - begin == high - low:  # at an end: edits may have moved it by a few letters
        low, high = max(0, low - LEAST), high + LEAST
        codes = probe.codes[low:high]
    pieces = [
        (op.src_start, op.src_end, op.dest_start)
        for op in LCSseq.opcodes(codes.tolist(), chunk_codes.tolist())
        if op.tag == "equal" and op.src_end - op.src_start > 1
    ]
    if (
        sum(last - first for first, last, _ in pieces)
        >= min(len(chunk_codes), golds[1] - golds[0]) / 2
    ):
        for first, last, position in pieces:
            yield row, LetterRun(low + first, low + last, begin + position)


def _shared_runs(gold: Codes, chunk: Codes) -> list[LetterRun]:
    """The letters in a row that a gold text and a chunk share, in the order of the gold text.

    The two are laid beside each other on those diagonals on which they share `FINE` letters in a
    row, the best of them.
    """
    fine, of_chunk = whole_grams(gold, FINE)[::STEP], whole_grams(chunk, FINE)
    order = np.argsort(fine, kind="stable")
    first = np.searchsorted(fine, of_chunk, sorter=order)
    # Four places of one gram at most: text that repeats itself would give as many diagonals as
    # pairs of places.
    times = np.minimum(np.searchsorted(fine, of_chunk, side="right", sorter=order) - first, 4)
    places = STEP * order[np.repeat(first, times) + ranges(times)]
    hits = np.repeat(np.arange(len(of_chunk)), times)
    diagonals, support = np.unique(hits - places, return_counts=True)
    best = np.sort(diagonals[np.argsort(-support, kind="stable")[:_DIAGONALS]])
    runs: list[LetterRun] = []
    for diagonal in best.tolist():
        begin, end = max(0, -diagonal), min(len(gold), len(chunk) - diagonal)
        equal = gold[begin:end] == chunk[begin + diagonal : end + diagonal]
        # Where letters begin to be the same, and where they end, by turns.
        changes = begin + np.flatnonzero(np.diff(equal, prepend=False, append=False))
        runs += (
            LetterRun(a, b, a + diagonal)
            for a, b in changes.reshape(-1, 2).tolist()
            if b - a >= LEAST
        )
    return sorted(runs, key=lambda run: run.first)
