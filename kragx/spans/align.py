"""Aligned runs of tokens: where a gold text and a stream of retrieved tokens say the same.

A *run* is a stretch of the gold text that stands in the stream, token by token; with bridging it
may have gaps of a few tokens on either side. It counts if it is too long to be an accident:

* ``run`` tokens, or the whole gold text if that is shorter;
* less, if it holds the first or the last token of the gold text, because there a chunk's end has
  cut off the rest: `EDGE` tokens, or two that hold `SYLLABLES` syllables of Hangul, kana or Chinese
  characters, each of which says more than a Latin letter.

Where one retrieved text ends and the next begins makes no difference, so cutting a chunk in two
changes nothing. A gold text that was itself cut within a word begins or ends with a part of it;
such a part is found in the whole word beside `EDGE` equal tokens (`SEED` with bridging), or where
with it a run of two equal tokens or more is the whole gold text.

Everything here is arrays: tokens are numbers, and texts are rows of one long array.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Tokens = NDArray[np.int32]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Hashes = NDArray[np.uint64]

RUN = 8
EDGE = 6
SYLLABLES = 7
SEED = 3
"""Tokens in a row that a bridged run has somewhere."""

NEVER = np.iinfo(np.int64).max
"""A place that is never reached."""

SEPARATOR = -1
"""A token that equals no other: no run reaches over it."""

_BASE = np.uint64(0x9E3779B97F4A7C15)
_STREAM = np.uint64(0xD6E8FEB86659FD93)
_OFTEN, _PAIRS = 8, 512  # an n-gram that stands so often in a gold text has so many pairs at most
_CELLS = 1 << 22  # tokens that are compared for a gold text at most, and at once
_SLOTS = 22  # bits; the table that most n-grams of the streams are dismissed by takes 4 MB


@dataclass(frozen=True)
class Rows:
    """Texts as one array of tokens; row i is ``tokens[start[i]:start[i + 1]]``."""

    tokens: Tokens
    start: Ints

    @classmethod
    def of(cls, texts: Sequence[Tokens]) -> Rows:
        """Join texts."""
        lengths = np.fromiter(map(len, texts), np.int64, len(texts))
        tokens = np.concatenate(texts) if len(texts) else np.empty(0, np.int32)
        return cls(tokens, np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths))))

    @property
    def lengths(self) -> Ints:
        """How many tokens each row has."""
        return np.diff(self.start)

    @cached_property
    def row(self) -> Ints:
        """The row of each token."""
        return np.repeat(np.arange(len(self.start) - 1), self.lengths)


@dataclass(frozen=True)
class Cells:
    """Aligned tokens, one for each place of a run that counts (c of them).

    Attributes:
        gold: (c) the place in the gold tokens.
        stream: (c) the place in the stream tokens that it is aligned with.
        known: (c) the place in the stream tokens up to which one has to read to know it.
        equal: (c) whether the tokens are the same; False in a gap that is bridged.
    """

    gold: Ints
    stream: Ints
    known: Ints
    equal: Bools


@dataclass(frozen=True)
class Words:
    """What numbers of tokens stand for.

    Attributes:
        texts: the token of each number.
    """

    texts: Sequence[str]

    def syllables(self, tokens: Tokens) -> Ints:
        """For each token how many characters of Hangul, kana or Chinese it has."""
        numbers, which = np.unique(tokens, return_inverse=True)
        words = [self.texts[number] for number in numbers.tolist()]
        counts = [
            0 if word.isascii() else sum(character >= "\u1100" for character in word)
            for word in words
        ]
        return np.array(counts, np.int64)[which]


def align(
    golds: Rows,
    streams: Rows,
    stream_of: Ints,
    words: Words,
    *,
    run: int = RUN,
    bridge: int = 0,
    apart: bool = False,
) -> Cells:
    """Find every run that counts between each gold text and its stream.

    Args:
        golds: a row for each gold text.
        streams: a row for each stream.
        stream_of: for each gold text the row of its stream.
        words: what the tokens stand for.
        run: the least run, in tokens.
        bridge: the longest gap that is bridged, in tokens.
        apart: `SEPARATOR` stands before and after each retrieved text, and a run at the gold text's
            end counts only if it is the retrieved text's end that cuts it off.
    """
    least = _Least.of(golds, words, run)
    seed = min(SEED if bridge else EDGE, run)
    diagonals = _diagonals(golds, streams, stream_of, least, seed)
    parts = _Parts.joined(_parts(golds, streams, each, bridge) for each in diagonals.portions())
    parts = _with_cut_words(parts, golds, streams, stream_of, words, seed)
    order, chain = _chains(parts, bridge)
    cells, chain, row = _cells(parts, order, chain)
    return _counted(cells, chain, row, golds, streams, least, apart=apart)


@dataclass(frozen=True)
class _Least:
    """How many tokens of each gold text a run needs: anywhere, at its start, at its end."""

    anywhere: Ints
    at_start: Ints
    at_end: Ints

    @classmethod
    def of(cls, golds: Rows, words: Words, run: int) -> _Least:
        lengths = golds.lengths
        first, last = golds.start[:-1], golds.start[1:] - 1

        def edge(outermost: Ints, step: int) -> Ints:
            need = np.full(len(lengths), min(EDGE, run))
            held = np.zeros(len(lengths), np.int64)
            done = np.zeros(len(lengths), bool)
            for n in range(1, min(EDGE, run)):
                inside = lengths >= n
                place = outermost[inside] + step * (n - 1)
                held[inside] += words.syllables(golds.tokens[place])
                enough = inside & ~done & (n > 1) & (held >= SYLLABLES)
                need[enough], done = n, done | enough
            least: Ints = np.minimum(need, lengths)
            return least

        return cls(np.minimum(run, lengths), edge(first, 1), edge(last, -1))


# -- where to look ---------------------------------------------------------------------------


@dataclass(frozen=True)
class _Diagonals:
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

    def at(self, chosen: Ints) -> _Diagonals:
        """Some of them."""
        return _Diagonals(*(each[chosen] for each in vars(self).values()))

    def portions(self) -> Iterator[_Diagonals]:
        """All of them, in portions of a size that fits into memory."""
        portion = np.cumsum(self.length) // _CELLS
        for each in np.unique(portion):
            yield self.at(np.flatnonzero(portion == each))


def _diagonals(golds: Rows, streams: Rows, stream_of: Ints, least: _Least, seed: int) -> _Diagonals:
    """Where gold texts and their streams may have a run that counts.

    A run that counts holds `seed` tokens in a row, or the few at the gold text's end that are
    enough there. Of a short gold text it holds all tokens, or all but the outermost, which may be
    parts of words.
    """
    lengths, start = golds.lengths, golds.start[:-1]
    seeds = {seed: np.arange(len(golds.tokens)) + seed <= golds.start[golds.row + 1]}
    for needed, place in (
        (least.at_start, start),
        (least.at_end, golds.start[1:] - least.at_end),
        (np.where(lengths < seed, lengths, 0), start),
        (np.where(lengths == 3, 2, 0), start),
        (np.where(lengths == 3, 2, 0), start + 1),
        (np.where(lengths > 3, lengths - 2, 0), start + 1),
    ):
        for n in set(needed[(needed > 0) & (needed < seed)].tolist()):
            at = seeds.setdefault(n, np.zeros(len(golds.tokens), bool))
            at[place[needed == n]] = True
    in_gold, in_streams = _Grams(golds, stream_of), _Grams(streams, np.arange(len(streams.start)))
    span = len(streams.tokens) + len(golds.tokens) + 1
    found = [(np.empty(0, np.int64), np.empty(0, np.int64))]
    for n in sorted(seeds):
        places = np.flatnonzero(seeds[n])
        which, stream = _joined(in_gold.of(n)[places], in_streams.of(n), in_streams.fit(n))
        gold = places[which]
        key = golds.row[gold] * (2 * span) + stream - gold + span
        # Of a row of seeds on the same diagonal nearly all fall out here, before sorting.
        new = np.flatnonzero((np.diff(gold, prepend=-2) != 1) | (np.diff(key, prepend=-1) != 0))
        found.append((key[new], np.diff(np.append(new, len(key)))))
    keys, times = (np.concatenate(each) for each in zip(*found))
    keys, which = np.unique(keys, return_inverse=True)
    row, shift = keys // (2 * span), keys % (2 * span) - span
    of = stream_of[row]
    first = np.maximum(golds.start[row], streams.start[of] - shift)
    last = np.minimum(golds.start[row + 1], streams.start[of + 1] - shift)
    diagonals = _Diagonals(row, shift, first, np.maximum(last - first, 0))
    return _bounded(diagonals, np.bincount(which, times, len(keys)).astype(np.int64))


def _bounded(diagonals: _Diagonals, seeds: Ints) -> _Diagonals:
    """Those with the most seeds, if a gold text has more of them than can be compared."""
    row, length = diagonals.row, diagonals.length
    if not row.size or np.bincount(row, length).max() <= _CELLS:
        return diagonals
    order = np.lexsort((-length, -seeds, row))
    total = np.cumsum(length[order])
    begins = np.flatnonzero(np.diff(row[order], prepend=-1))
    before = np.repeat((total - length[order])[begins], np.diff(np.append(begins, len(row))))
    return diagonals.at(np.sort(order[(total - length[order]) - before < _CELLS]))


class _Grams:
    """Hashes of n tokens in a row, made longer token by token."""

    def __init__(self, texts: Rows, stream_of: Ints) -> None:
        self._texts = texts
        self._n = 0
        # Equal tokens of different streams have different hashes.
        self._hashes = stream_of[texts.row].astype(np.uint64) * _STREAM
        self._tokens = texts.tokens.astype(np.uint64) + np.uint64(2)

    def of(self, n: int) -> Hashes:
        """For each token the hash of it and the n - 1 after it; n must not fall."""
        while self._n < n:
            ahead = self._tokens[self._n :]
            self._hashes = self._hashes * _BASE
            self._hashes[: len(ahead)] += ahead
            self._n += 1
        return self._hashes

    def fit(self, n: int) -> Bools:
        """For each token whether n - 1 more follow in its row."""
        start, end = self._texts.start[:-1], self._texts.start[1:]
        fits = np.ones(len(self._hashes), bool)
        for back in range(1, n):
            at = end - back
            fits[at[at >= start]] = False
        return fits


def _joined(wanted: Hashes, hashes: Hashes, usable: Bools) -> tuple[Ints, Ints]:
    """Every pair of places (in `wanted`, in `hashes`) with the same hash."""
    shift = np.uint64(64 - _SLOTS)
    table = np.zeros(1 << _SLOTS, bool)
    # The high bits of a product depend on every bit of its factors.
    table[(wanted * _BASE) >> shift] = True
    there = np.flatnonzero(table[(hashes * _BASE) >> shift] & usable)
    order = np.argsort(wanted, kind="stable")
    ordered = wanted[order]
    seen = hashes[there]
    if not ordered.size:
        return order, order
    first = np.minimum(np.searchsorted(ordered, seen), len(ordered) - 1)
    begins = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    times = np.repeat(0, len(ordered))
    times[begins] = np.diff(np.append(begins, len(ordered)))
    count = np.where(ordered[first] == seen, times[first], 0)
    _thin_out(count, seen)
    np.minimum(count, _PAIRS, out=count)
    at = np.repeat(first, count) + ranges(count)
    return order[at], np.repeat(there, count)


def _thin_out(count: Ints, hashes: Hashes) -> None:
    """Forget later places of n-grams that a gold text repeats very often, as `count` says.

    Text that goes on repeating itself would give as many diagonals as it has pairs of places.
    """
    often = np.flatnonzero(count > _OFTEN)
    if not often.size:
        return
    order = np.argsort(hashes[often], kind="stable")
    ordered = hashes[often][order]
    begins = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    earlier = np.empty(len(often), np.int64)
    earlier[order] = ranges(np.diff(np.append(begins, len(ordered))))
    count[often[earlier >= np.maximum(_PAIRS // count[often], 1)]] = 0


# -- what is there ---------------------------------------------------------------------------


@dataclass(frozen=True)
class _Parts:
    """Stretches on one diagonal each, that begin and end with equal tokens."""

    row: Ints
    gold: Ints
    stream: Ints
    length: Ints
    equal: Bools
    """For every token of every part, one after another."""

    @classmethod
    def joined(cls, portions: Iterable[_Parts]) -> _Parts:
        """All parts of several portions."""
        empty = np.empty(0, np.int64)
        none = cls(empty, empty, empty, empty, np.empty(0, bool))
        columns = (vars(each).values() for each in (none, *portions))
        return cls(*map(np.concatenate, zip(*columns)))


def _parts(golds: Rows, streams: Rows, diagonals: _Diagonals, bridge: int) -> _Parts:
    row, shift, length = diagonals.row, diagonals.shift, diagonals.length
    diagonal = np.repeat(np.arange(len(row)), length)
    at = diagonals.first[diagonal] + ranges(length)
    same = golds.tokens[at] == streams.tokens[at + shift[diagonal]]
    places = np.flatnonzero(same)
    if not places.size:
        return _Parts.joined(())
    gap = np.diff(places) - 1
    ends = (gap > bridge) | (np.diff(diagonal[places]) != 0)
    begin = places[np.concatenate(([True], ends))]
    end = places[np.concatenate((ends, [True]))] + 1
    # One or two equal tokens on their own are no part of anything.
    counts = np.concatenate(([0], np.cumsum(same)))
    whole = (end - begin) == length[diagonal[begin]]
    kept = (counts[end] - counts[begin] > 1) | whole
    begin, end = begin[kept], end[kept]
    size = end - begin
    inside = np.repeat(begin, size) + ranges(size)
    return _Parts(
        row[diagonal[begin]], at[begin], at[begin] + shift[diagonal[begin]], size, same[inside]
    )


def _with_cut_words(
    parts: _Parts, golds: Rows, streams: Rows, stream_of: Ints, words: Words, seed: int
) -> _Parts:
    """Lengthen parts by the gold text's first or last token where the stream has it in a word.

    Of `seed` equal tokens, or of two or more that become the whole gold text.
    """
    of = stream_of[parts.row]
    first, last = golds.start[parts.row], golds.start[parts.row + 1] - 1
    end_gold, end_stream = parts.gold + parts.length, parts.stream + parts.length
    starts = np.concatenate(([0], np.cumsum(parts.length)))
    counts = np.concatenate(([0], np.cumsum(parts.equal)))
    equals = np.diff(counts[starts])
    whole = (parts.gold <= first + 1) & (end_gold >= last)
    long = (equals >= seed) | (whole & (equals > 1))
    before = np.flatnonzero(long & (parts.gold == first + 1) & (parts.stream > streams.start[of]))
    behind = np.flatnonzero(long & (end_gold == last) & (end_stream < streams.start[of + 1]))
    text = words.texts

    def word(rows: Rows, place: int) -> str:
        number = int(rows.tokens[place])
        return "" if number < 0 else text[number]

    longer_before = np.zeros(len(parts.row), bool)
    longer_behind = np.zeros(len(parts.row), bool)
    for at in before.tolist():
        longer_before[at] = word(streams, parts.stream[at] - 1).endswith(word(golds, first[at]))
    for at in behind.tolist():
        longer_behind[at] = word(streams, end_stream[at]).startswith(word(golds, last[at]))
    equal = np.insert(
        parts.equal,
        np.concatenate((starts[:-1][longer_before], starts[1:][longer_behind])),
        True,
    )
    return _Parts(
        parts.row,
        parts.gold - longer_before,
        parts.stream - longer_before,
        parts.length + longer_before + longer_behind,
        equal,
    )


def _chains(parts: _Parts, bridge: int) -> tuple[Ints, Ints]:
    """The parts in the order of their chains, and for each the number of its chain.

    A part is followed by the nearest one that begins at most `bridge` tokens after its end, in the
    gold text and in the stream: a word was put in or left out between them.
    """
    n = len(parts.row)
    if not bridge or n < 2:
        return np.arange(n), np.arange(n)
    order = np.lexsort((parts.gold, parts.stream, parts.row))
    row, gold, stream = parts.row[order], parts.gold[order], parts.stream[order]
    end_gold, end_stream = gold + parts.length[order], stream + parts.length[order]
    follower = np.full(n, -1)
    taken = np.zeros(n, bool)
    for ahead in range(1, 4):
        left, right = np.arange(n - ahead), np.arange(ahead, n)
        for_gold, for_stream = gold[right] - end_gold[left], stream[right] - end_stream[left]
        fits = (row[left] == row[right]) & (follower[left] < 0) & ~taken[right]
        for gap in (for_gold, for_stream):
            fits &= (gap >= 0) & (gap <= bridge)
        follower[left[fits]] = right[fits]
        taken[right[fits]] = True
    root = np.arange(n)
    leads = follower >= 0
    root[follower[leads]] = np.flatnonzero(leads)
    while (further := root[root] != root).any():
        root[further] = root[root[further]]
    by_chain = np.argsort(root, kind="stable")
    return order[by_chain], root[by_chain]


def _cells(parts: _Parts, order: Ints, chain: Ints) -> tuple[Cells, Ints, Ints]:
    """Every token of every part in that order, gaps between them included; its chain and row."""
    starts = np.concatenate(([0], np.cumsum(parts.length)))
    length = parts.length[order]
    within = ranges(length)
    of = np.repeat(np.arange(len(order)), length)
    gold, stream = parts.gold[order][of] + within, parts.stream[order][of] + within
    equal = parts.equal[starts[order][of] + within]
    joint = np.flatnonzero(chain[1:] == chain[:-1])  # between this part and the next
    if joint.size:
        end_gold = (parts.gold + parts.length)[order][joint]
        end_stream = (parts.stream + parts.length)[order][joint]
        gap_gold = parts.gold[order][joint + 1] - end_gold
        gap_stream = parts.stream[order][joint + 1] - end_stream
        size = np.maximum(gap_gold, gap_stream)
        step = ranges(size)
        # A gap that is longer on one side stays at its last token on the other.
        more_gold = np.repeat(end_gold, size) + np.minimum(step, np.repeat(gap_gold, size) - 1)
        more_stream = np.repeat(end_stream, size) + np.minimum(
            step, np.repeat(gap_stream, size) - 1
        )
        at = np.repeat(np.cumsum(length)[joint], size)
        gold, stream = np.insert(gold, at, more_gold), np.insert(stream, at, more_stream)
        equal, of = np.insert(equal, at, False), np.insert(of, at, np.repeat(joint, size))
    return Cells(gold, stream, stream, equal), chain[of], parts.row[order][of]


# -- what counts -----------------------------------------------------------------------------


def _counted(
    cells: Cells, chain: Ints, row: Ints, golds: Rows, streams: Rows, least: _Least, *, apart: bool
) -> Cells:
    if not chain.size:
        return cells
    begin = np.flatnonzero(np.diff(chain, prepend=-1))
    end = np.append(begin[1:], len(chain))
    of = np.repeat(np.arange(len(begin)), end - begin)
    row = row[begin]
    matched = np.concatenate(([0], np.cumsum(cells.equal)))
    total = matched[end] - matched[begin]
    at_start = (cells.gold[begin] == golds.start[row]) & (total >= least.at_start[row])
    at_end = (cells.gold[end - 1] == golds.start[row + 1] - 1) & (total >= least.at_end[row])
    if apart:
        # The chunk's end may have left a part of one more word.
        near = streams.tokens == SEPARATOR
        last, first = cells.stream[end - 1], cells.stream[begin]
        at_start &= near[last + 1] | near[np.minimum(last + 2, len(near) - 1)]
        at_end &= near[first - 1] | near[np.maximum(first - 2, 0)]
    need = np.full(len(begin), NEVER)
    need[at_end] = total[at_end]
    long = total >= least.anywhere[row]
    need[long] = least.anywhere[row[long]]
    need[at_start] = np.minimum(need[at_start], least.at_start[row[at_start]])
    counts = at_start | at_end | long
    # The place of the token with which the run has as many as it needs.
    places = np.flatnonzero(cells.equal)
    enough = np.zeros(len(begin), np.int64)
    enough[counts] = cells.stream[places[matched[begin[counts]] + need[counts] - 1]]
    # A gap is bridged once the token behind it has been read.
    read = cells.stream[places[matched[:-1]]]
    kept = counts[of]
    known = np.maximum(read, enough[of])[kept]
    return Cells(cells.gold[kept], cells.stream[kept], known, cells.equal[kept])


def repetitions(streams: Rows, run: int = RUN) -> Ints:
    """For each token of a stream the place up to which one has to read to know it said before.

    A token is said before if it stands in `run` tokens in a row that stand earlier in the stream;
    for others the place is beyond every stream.
    """
    known = np.full(len(streams.tokens), NEVER)
    again, _ = _repeated(_Grams(streams, np.arange(len(streams.start))), run)
    for step in range(run):  # what is known first is written last
        known[again + step] = again + run - 1
    return known


def twins(golds: Rows, stream_of: Ints, run: int = RUN) -> Ints:
    """For each token of gold the first of the same stream's gold texts that says the same.

    Tokens say the same in `run` tokens in a row, or in a whole gold text that is shorter, that both
    stand in; a token without another is its own.
    """
    lengths = golds.lengths
    twin = np.arange(len(golds.tokens))
    grams = _Grams(golds, stream_of)
    for n in sorted({run, *lengths[(lengths > 0) & (lengths < run)].tolist()}):
        again, first = _repeated(grams, n)
        if n < run:
            hashes = grams.of(n)
            kept = np.isin(hashes[again], hashes[golds.start[:-1][lengths == n]])
            again, first = again[kept], first[kept]
        for step in range(n):
            twin[again + step] = np.minimum(twin[again + step], first + step)
    while ((root := twin[twin]) != twin).any():
        twin = root
    return twin


def _repeated(grams: _Grams, n: int) -> tuple[Ints, Ints]:
    """Where n tokens stand that stand earlier in the same stream, and the first place there."""
    hashes, usable = grams.of(n), grams.fit(n)
    bits = min(_SLOTS, len(hashes).bit_length() + 2)
    slots = ((hashes * _BASE) >> np.uint64(64 - bits)).astype(np.int64)
    often = np.bincount(slots[usable], minlength=1 << bits) > 1
    at = np.flatnonzero(often[slots] & usable)
    _, first, which = np.unique(hashes[at], return_index=True, return_inverse=True)
    earlier = at[first[which]]
    again = earlier < at
    return at[again], earlier[again]


def ranges(lengths: Ints) -> Ints:
    """0, 1, ... for each length, one after another."""
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if ends.size else 0
    return np.arange(total) - np.repeat(ends - lengths, lengths)
