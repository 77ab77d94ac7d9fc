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
from kragx.workshop.moving.index import STEP, Index, once_of, portions
from kragx.workshop.moving.letters import GRAM, Bools, Codes, Hashes, Known
from kragx.workshop.moving.probes import GoldProbe, content, key_of

FINE = 8
"""Letters in a row by which a gold text and a chunk are laid beside each other."""

LEAST = 5
"""Letters in a row that count as the same beside longer ones."""

_SHORT = 64  # letters; of more, some grams are found in any case
_CROWD = 256  # places that are looked at for one gold text
_DIAGONALS = 48
_SIDE = 3  # letters on either side of a place that a gram over it has at least
_CELLS = 1 << 21
_SALT = np.uint64(0xBF58476D1CE4E5B9)


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


class SharedRun(NamedTuple):
    """Letters in a row that a gold text and a chunk share.

    Attributes:
        first, last: in the probe.
        other: where they begin in the chunk.
        before, after: other letters follow than in the probe, and those stood there in the old
            corpus as well: where another text like it was.
    """

    first: int
    last: int
    other: int
    before: bool = False
    after: bool = False


@dataclass(slots=True)
class Overlap:
    """A gold text and a chunk that share letters.

    Attributes:
        chunk: its number in the corpus.
        runs: in the order of the gold text.
        is_gold: the chunk may have letters of the text itself, not only of what is around.
    """

    chunk: int
    runs: list[SharedRun]
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
    result = MoveSearch(
        [[] for _ in probes], {}, {}, set(), once_of(probes, gram_counts), gram_counts.step
    )
    index = Index(probes, gram_counts)
    gram_counts.forget_times()
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
    is_short = np.diff(index.start) < GRAM
    crowded = (n_places > _CROWD) | ((index.n_grams == 0) & ~is_short)
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
    latest = np.maximum.reduceat(begin[order], first) + np.diff(index.start)[probe]
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
    for pair, runs in _runs(index, block, probe, row):
        number, chunk_row = int(probe[pair]), int(row[pair])
        wanted_probe = probes[number]
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
    is_known = is_counted & gram_counts.has(block.stream_hashes)
    # Sums up to each place, so that the grams over a place are counted by one subtraction.
    places = np.arange(len(is_counted) + 1)
    first, last = np.maximum(places - GRAM + _SIDE, 0), np.maximum(places - _SIDE + 1, 0)
    n, n_known = (
        sums[last] - sums[first]
        for sums in (np.concatenate(([0], np.cumsum(mask))) for mask in (is_counted, is_known))
    )
    return np.asarray((2 * n_known >= n) & (n_known > 1))


def _with_edges(
    block: Block, is_old: Bools, row: int, runs: list[SharedRun], probe: GoldProbe
) -> list[SharedRun]:
    """Runs that say what stands before and behind them."""
    stream, codes, begin = block.stream, probe.codes, int(block.row[row])
    edged = []
    for run in runs:
        first, last = begin + run.other, begin + run.other + run.last - run.first
        before = run.first > 0 and first > 0 and stream[first - 1] != codes[run.first - 1]
        after = run.last < len(codes) and last < len(stream) and stream[last] != codes[run.last]
        edged.append(
            run._replace(before=bool(before and is_old[first]), after=bool(after and is_old[last]))
        )
    return edged


def _keep(
    result: MoveSearch, block: Block, number: int, row: int, runs: list[SharedRun], probe: GoldProbe
) -> None:
    chunk, doc = block.first + row, block.docs[row]
    size = int(block.letters.start[row + 1] - block.letters.start[row])
    # What is edited at the end of a text may be in a chunk beside what is around it.
    is_gold = any(run.last > probe.low and run.first < probe.high for run in runs)
    is_gold |= not runs or not (
        (runs[0].first >= probe.high and not runs[0].other)
        or (runs[-1].last <= probe.low and runs[-1].other + runs[-1].last - runs[-1].first == size)
    )
    chunk_text = result.chunks.get(chunk)
    if chunk_text is None or (is_gold and chunk_text.text is None):
        source, start = origin_of(doc)
        text = doc.text if is_gold else None
        result.chunks[chunk] = Chunk(str(doc.id), size, block.place[row], source, start, text)
    result.meetings[number].append(Overlap(chunk, runs, is_gold))


def _between(
    block: Block, row: int, runs: list[SharedRun], probe: GoldProbe
) -> Iterator[tuple[int, SharedRun]]:
    """What is too short to be looked up: between runs, at the chunk's ends, in short neighbours."""
    size = len(block.letters.of(row))
    for before, after in pairwise(runs):
        expected = before.other + before.last - before.first
        if 0 < after.other - expected <= _SHORT and 0 < after.first - before.last <= _SHORT:
            yield from _few(block, row, (expected, after.other), probe, (before.last, after.first))
    last, current_row = max(runs, key=lambda run: run.last), row
    begin = last.other + last.last - last.first
    gold = last.last
    n = size - begin
    while gold < probe.high and n <= _SHORT:
        n = min(n, probe.high - gold)
        if n > 0 and gold + n > probe.low:
            yield from _few(block, current_row, (begin, begin + n), probe, (gold, gold + n))
        gold, current_row = gold + max(n, 0), current_row + 1
        if current_row >= len(block.docs) or not block.follows[current_row]:
            break
        begin = block.overlap[current_row]
        n = min(len(block.letters.of(current_row)) - begin, probe.high - gold)
    first, current_row = min(runs), row
    end, gold = first.other, first.first
    n = end
    while gold > probe.low and n <= _SHORT:
        n = min(n, gold - probe.low)
        if n > 0 and gold - n < probe.high:
            yield from _few(block, current_row, (end - n, end), probe, (gold - n, gold))
        gold -= max(n, 0)
        if current_row == 0 or not block.follows[current_row]:
            break
        current_row -= 1
        end = len(block.letters.of(current_row)) - block.overlap[current_row + 1]
        n = min(end, gold - probe.low)


def _few(
    block: Block, row: int, chunk_span: tuple[int, int], probe: GoldProbe, golds: tuple[int, int]
) -> Iterator[tuple[int, SharedRun]]:
    """The runs of a few letters of a chunk and those of gold that should be the same."""
    (begin, end), (low, high) = chunk_span, golds
    chunk_codes, codes = block.letters.of(row)[begin:end], probe.codes[low:high]
    if len(codes) == len(chunk_codes) and (codes == chunk_codes).all():
        yield row, SharedRun(low, high, begin)
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
            yield row, SharedRun(low + first, low + last, begin + position)


def _runs(
    index: Index, block: Block, probe: Ints, row: Ints
) -> Iterator[tuple[int, list[SharedRun]]]:
    """What gold texts and rows share, in runs; by the number of the pair."""
    sizes = np.diff(index.start)[probe] + np.diff(block.letters.start)[row]
    for begin, end in portions(sizes, _CELLS):
        yield from _runs_of(index, block, probe[begin:end], row[begin:end], begin)


def _runs_of(
    index: Index, block: Block, probe: Ints, row: Ints, begin: int
) -> Iterator[tuple[int, list[SharedRun]]]:
    pair, diagonal = _diagonals(index, block, probe, row)
    start, rows = index.start, block.letters.start
    first = np.maximum(start[probe[pair]], rows[row[pair]] - diagonal)
    last = np.minimum(start[probe[pair] + 1], rows[row[pair] + 1] - diagonal)
    for a, b in portions(last - first, _CELLS):
        lengths = (last - first)[a:b]
        pair_of = np.repeat(np.arange(a, b), lengths)
        place = first[pair_of] + ranges(lengths)
        equal = index.codes[place] == block.letters.codes[place + diagonal[pair_of]]
        inside = np.concatenate(([False], equal, [False]))
        new = np.concatenate(([True], np.diff(pair_of) != 0, [True]))
        # A stretch begins where letters are the same that were not, or on the next diagonal.
        begins = np.flatnonzero(inside[1:-1] & (~inside[:-2] | new[:-1]))
        ends = np.flatnonzero(inside[1:-1] & (~inside[2:] | new[1:])) + 1
        long = ends - begins >= LEAST
        begins, ends = begins[long], ends[long]
        pair_index = pair_of[begins]
        chunk_place = place[begins] + diagonal[pair_index] - rows[row[pair[pair_index]]]
        gold_place = place[begins] - start[probe[pair[pair_index]]]
        order = np.lexsort((gold_place, pair[pair_index]))
        columns = (pair[pair_index], gold_place, gold_place + ends - begins, chunk_place)
        group: list[SharedRun] = []
        before = -1
        for number, *run in zip(*(column[order].tolist() for column in columns)):
            if number != before and group:
                yield begin + before, group
                group = []
            before = number
            group.append(SharedRun(*run))
        if group:
            yield begin + before, group


def _diagonals(index: Index, block: Block, probe: Ints, row: Ints) -> tuple[Ints, Ints]:
    """On which diagonals each pair shares `FINE` letters in a row, the best of them."""
    gold_place, own_pair = _laid_out(index.codes, index.start, probe, STEP)
    chunk_place, other_pair = _laid_out(block.letters.codes, block.letters.start, row, 1)
    own_keys = _fine(index.codes, gold_place) ^ (own_pair.astype(np.uint64) * _SALT)
    other_keys = _fine(block.letters.codes, chunk_place) ^ (other_pair.astype(np.uint64) * _SALT)
    order = np.argsort(own_keys, kind="stable")
    gold_place, own_pair, own_keys = gold_place[order], own_pair[order], own_keys[order]
    first = np.searchsorted(own_keys, other_keys)
    # Four places of one gram at most: text that repeats itself would give as many diagonals as
    # pairs of places.
    times = np.minimum(np.searchsorted(own_keys, other_keys, side="right") - first, 4)
    hit = np.repeat(first, times) + ranges(times)
    # Pair and diagonal in one whole number; a diagonal may be negative, so half of the lower 40
    # bits is added to it.
    keys = own_pair[hit] << 40 | (np.repeat(chunk_place, times) - gold_place[hit] + (1 << 39))
    keys, support = np.unique(keys, return_counts=True)
    pair, diagonal = keys >> 40, (keys & ((1 << 40) - 1)) - (1 << 39)
    # By pair, and of a pair those first that share the most grams.
    rank = np.lexsort((-support, pair))
    number = np.empty(len(rank), np.int64)
    number[rank] = ranges(np.bincount(pair, minlength=len(probe)))
    is_kept = number < _DIAGONALS
    return pair[is_kept], diagonal[is_kept]


def _laid_out(codes: Codes, start: Ints, rows: Ints, step: int) -> tuple[Ints, Ints]:
    """Every so many letters of some texts from which a gram begins, and which text it is."""
    n = np.maximum((np.diff(start)[rows] - FINE) // step + 1, 0)
    pair = np.repeat(np.arange(len(rows)), n)
    return start[rows][pair] + step * ranges(n), pair


def _fine(codes: Codes, places: Ints) -> Hashes:
    hashes = np.zeros(len(places), np.uint64)
    for step in range(FINE):
        hashes *= np.uint64(0x9E3779B97F4A7C15)
        hashes += codes[places + step]
    hashes ^= hashes >> np.uint64(32)
    hashes *= np.uint64(0xD6E8FEB86659FD93)
    return hashes ^ (hashes >> np.uint64(29))
