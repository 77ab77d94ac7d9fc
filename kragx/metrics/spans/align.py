"""Aligned runs of tokens: where a gold text and a stream of retrieved tokens say the same.

A *run* is a stretch of the gold text that stands in the stream, token by token; with bridging it
may have gaps of a few tokens on either side. It counts if it is too long to be an accident:

* ``run`` tokens, or the whole gold text if that is shorter;
* less, if it holds the first or the last token of the gold text, because there a chunk's end has
  cut off the rest: `EDGE` tokens, or two that hold `SYLLABLES` syllables of Hangul, each of which
  says more than a Latin letter.

In scripts that write without spaces a character is a token, and three of them count as one; seven
are enough at the gold text's end. Short gold texts are looked for as phrases
(`kragx.data.phrases`).

Where one retrieved text ends and the next begins makes no difference, so cutting a chunk in two
changes nothing. A gold text that was itself cut within a word begins or ends with a part of it;
such a part is found in the whole word beside `EDGE` equal tokens (`SEED` with bridging), or where
with it a run of two equal tokens or more is the whole gold text.

Everything here is arrays: tokens are numbers, and texts are rows of one long array.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from kragx.data import TokenCorpus
from kragx.data.lists import Bools, Ints, ranges
from kragx.data.phrases import SHORT, Phrases, are_short
from kragx.data.tokens import Tokens
from kragx.metrics.spans.grams import Diagonals, diagonals
from kragx.metrics.spans.rows import EDGE, NEVER, RUN, SEPARATOR, Least, TokenRows, weights

SEED = 3
"""Tokens in a row that a bridged run has somewhere."""


@dataclass(frozen=True)
class Cells:
    """Aligned tokens, one for each place of a run that counts (c of them).

    Attributes:
        gold: (c) the place in the gold tokens.
        stream: (c) the place in the stream tokens that it is aligned with.
        known: (c) the place in the stream tokens up to which one has to read to know it.
    """

    gold: Ints
    stream: Ints
    known: Ints

    @classmethod
    def of_phrases(cls, phrases: Iterable[tuple[int, int, int]]) -> Cells:
        """Those of phrases that stand whole: where each begins in gold and stream, its length."""
        gold, stream, length = np.array([*phrases], np.int64).reshape(-1, 3).T
        last = np.repeat(stream + length - 1, length)
        return cls(ranges(gold, length), ranges(stream, length), last)

    def where(self, places: Bools | Ints) -> Cells:
        """Those at some places."""
        return Cells(self.gold[places], self.stream[places], self.known[places])

    def joined(self, further: Cells) -> Cells:
        """These and others."""
        return Cells(*map(np.concatenate, zip(vars(self).values(), vars(further).values())))


def align(
    golds: TokenRows,
    streams: TokenRows,
    stream_of: Ints,
    corpus: TokenCorpus,
    *,
    run: int = RUN,
    bridge: int = 0,
    short: int = SHORT,
    apart: bool = False,
) -> Cells:
    """Find every run that counts between each gold text and its stream.

    Args:
        golds: a row for each gold text.
        streams: a row for each stream.
        stream_of: for each gold text the row of its stream.
        corpus: where the token numbers come from.
        run: the least run, in tokens.
        bridge: the longest gap that is bridged, in tokens.
        short: gold texts of at most so many tokens are looked for as phrases.
        apart: `SEPARATOR` stands before and after each retrieved text, and a run at the gold text's
            end counts only if it is the retrieved text's end that cuts it off.
    """
    texts, in_streams = golds.texts(), streams.texts()
    is_long = ~are_short(texts, corpus, short)
    short_texts = [tokens[:0] if long else tokens for tokens, long in zip(texts, is_long)]
    looked_for = Phrases(in_streams if len(is_long) > is_long.sum() else [], short_texts, corpus)
    phrases = Cells.of_phrases(
        (golds.start[row], streams.start[stream_of[row]] + place, golds.lengths[row])
        for row in np.flatnonzero(~is_long).tolist()
        for place in looked_for.tokens(stream_of[row], row)
    )
    long = TokenRows.of([texts[row] for row in np.flatnonzero(is_long)])
    runs = _runs(long, streams, stream_of[is_long], corpus, run, bridge, apart)
    place = np.flatnonzero(is_long[golds.row])
    return Cells(place[runs.gold], runs.stream, runs.known).joined(phrases)


def _runs(
    golds: TokenRows,
    streams: TokenRows,
    stream_of: Ints,
    corpus: TokenCorpus,
    run: int,
    bridge: int,
    apart: bool,
) -> Cells:
    minimum_size = Least.of(golds, corpus, run)
    seed = min(SEED if bridge else EDGE, run)
    portions = diagonals(golds, streams, stream_of, minimum_size, seed, bridge).portions()
    parts = _Parts.joined(_parts(golds, streams, portion, bridge) for portion in portions)
    parts = _with_cut_words(parts, golds, streams, stream_of, corpus.words, seed)
    cells, equal, chain, row = _cells(parts, *_chains(parts, bridge))
    if not chain.size:
        return cells
    begin = np.flatnonzero(np.diff(chain, prepend=-1))
    end = np.append(begin[1:], len(chain))
    row = row[begin]
    matched = np.concatenate(([0], np.cumsum(equal)))
    total = matched[end] - matched[begin]
    at_start = (cells.gold[begin] == golds.start[row]) & (total >= minimum_size.at_start[row])
    at_end = (cells.gold[end - 1] == golds.start[row + 1] - 1) & (total >= minimum_size.at_end[row])
    if apart:
        # The chunk's end may have left a part of one more word.
        near = streams.tokens == SEPARATOR
        last, first = cells.stream[end - 1], cells.stream[begin]
        at_start &= near[last + 1] | near[np.minimum(last + 2, len(near) - 1)]
        at_end &= near[first - 1] | near[np.maximum(first - 2, 0)]
    # The weights of equal tokens, added up, say how long a run is and where it is long enough.
    places = np.flatnonzero(equal)
    sums = np.cumsum(np.append(0, weights(golds.tokens, corpus)[cells.gold[places]]))
    before = sums[matched[begin]]
    long = sums[matched[end]] - before >= minimum_size.anywhere[row]
    need = np.searchsorted(sums, before + minimum_size.anywhere[row]) - matched[begin]
    need = np.where(long, need, np.where(at_end, total, NEVER))
    need = np.where(at_start, np.minimum(need, minimum_size.at_start[row]), need)
    counts = at_start | at_end | long
    minimum = np.zeros(len(begin), np.int64)
    minimum[counts] = cells.stream[places[matched[begin[counts]] + need[counts] - 1]]
    # A gap is bridged once the token behind it has been read.
    read = np.maximum(cells.known, cells.stream[places[matched[:-1]]])
    part_of = np.repeat(np.arange(len(begin)), end - begin)
    place = np.maximum(read, minimum[part_of])
    return Cells(cells.gold, cells.stream, place).where(counts[part_of])


@dataclass(frozen=True)
class _Parts:
    """Stretches on one diagonal each, that begin and end with equal tokens."""

    row: Ints
    gold: Ints
    stream: Ints
    length: Ints
    sure: Ints
    """The place in the stream up to which one has to read to know that it is one."""
    equal: Bools
    """For every token of every part, one after another."""

    @classmethod
    def joined(cls, portions: Iterable[_Parts]) -> _Parts:
        """All parts of several portions."""
        empty = np.empty(0, np.int64)
        # With an empty one, as of no portion at all nothing could be joined.
        nothing = cls(empty, empty, empty, empty, empty, np.empty(0, bool))
        columns = (vars(portion).values() for portion in (nothing, *portions))
        return cls(*map(np.concatenate, zip(*columns)))


def _parts(golds: TokenRows, streams: TokenRows, diagonals: Diagonals, bridge: int) -> _Parts:
    row, shift, length = diagonals.row, diagonals.shift, diagonals.length
    diagonal = np.repeat(np.arange(len(row)), length)
    gold = ranges(diagonals.first, length)
    stream = gold + shift[diagonal]
    equal = golds.tokens[gold] == streams.tokens[stream]
    places = np.flatnonzero(equal)
    if not places.size:
        return _Parts.joined(())
    gap = np.diff(places) - 1
    ends = (gap > bridge) | (np.diff(diagonal[places]) != 0)
    begin = places[np.concatenate(([True], ends))]
    end = places[np.concatenate((ends, [True]))] + 1
    # One or two equal tokens on their own are no part of anything.
    counts = np.concatenate(([0], np.cumsum(equal)))
    whole = (end - begin) == length[diagonal[begin]]
    is_counted = (counts[end] - counts[begin] > 1) | whole
    begin, end = begin[is_counted], end[is_counted]
    size = end - begin
    inside = ranges(begin, size)
    second = places[np.minimum(counts[begin] + 1, counts[end] - 1)]
    return _Parts(
        row[diagonal[begin]],
        gold[begin],
        stream[begin],
        size,
        stream[second],
        equal[inside],
    )


def _with_cut_words(
    parts: _Parts,
    golds: TokenRows,
    streams: TokenRows,
    stream_of: Ints,
    words: Sequence[str],
    seed: int,
) -> _Parts:
    """Lengthen parts by the gold text's first or last token where the stream has it in a word.

    Of `seed` equal tokens, or of two or more that become the whole gold text.
    """
    streams_of_parts = stream_of[parts.row]
    first, last = golds.start[parts.row], golds.start[parts.row + 1] - 1
    end_gold, end_stream = parts.gold + parts.length, parts.stream + parts.length
    starts = np.concatenate(([0], np.cumsum(parts.length)))
    counts = np.concatenate(([0], np.cumsum(parts.equal)))
    equals = np.diff(counts[starts])
    whole = (parts.gold <= first + 1) & (end_gold >= last)
    long = (equals >= seed) | (whole & (equals > 1))
    before = np.flatnonzero(
        long & (parts.gold == first + 1) & (parts.stream > streams.start[streams_of_parts])
    )
    ending = np.flatnonzero(
        long & (end_gold == last) & (end_stream < streams.start[streams_of_parts + 1])
    )

    def texts(tokens: Tokens) -> list[str]:
        return ["" if number < 0 else words[number] for number in tokens.tolist()]

    longer_before, longer_behind = np.zeros((2, len(parts.row)), bool)
    whole_words = texts(streams.tokens[parts.stream[before] - 1])
    cut_words = texts(golds.tokens[first[before]])
    longer_before[before] = [*map(str.endswith, whole_words, cut_words)]
    whole_words = texts(streams.tokens[end_stream[ending]])
    cut_words = texts(golds.tokens[last[ending]])
    longer_behind[ending] = [*map(str.startswith, whole_words, cut_words)]
    # A part of the gold's first word is found once the rest says so: the seed, or the whole text.
    equal_at = np.flatnonzero(parts.equal)
    seed_at = counts[starts[:-1]] + seed - 1
    minimum = np.where(
        equals >= seed,
        parts.stream + equal_at[np.minimum(seed_at, len(equal_at) - 1)] - starts[:-1],
        NEVER,
    )
    rest = np.where(whole, np.maximum(parts.sure, parts.stream + last - 1 - parts.gold), NEVER)
    certain = np.where(longer_before, np.minimum(minimum, rest), parts.sure)
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
        certain,
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
    is_taken = np.zeros(n, bool)
    # In this order what follows a part is the next one, as a rule; a few are looked at.
    for offset in range(1, 4):
        earlier, later = np.arange(n - offset), np.arange(offset, n)
        for_gold, for_stream = gold[later] - end_gold[earlier], stream[later] - end_stream[earlier]
        fits = (row[earlier] == row[later]) & (follower[earlier] < 0) & ~is_taken[later]
        for gap in (for_gold, for_stream):
            fits &= (gap >= 0) & (gap <= bridge)
        follower[earlier[fits]] = later[fits]
        is_taken[later[fits]] = True
    root = np.arange(n)
    leads = follower >= 0
    root[follower[leads]] = np.flatnonzero(leads)
    # Each round halves the way to the first part of a chain.
    while (further := root[root] != root).any():
        root[further] = root[root[further]]
    by_chain = np.argsort(root, kind="stable")
    return order[by_chain], root[by_chain]


def _cells(parts: _Parts, order: Ints, chain: Ints) -> tuple[Cells, Bools, Ints, Ints]:
    """Every token of every part in that order, gaps between them included.

    Also whether the tokens are the same there, and each one's chain and row.
    """
    starts = np.concatenate(([0], np.cumsum(parts.length)))
    length = parts.length[order]
    within = ranges(0, length)
    part_of = np.repeat(np.arange(len(order)), length)
    gold, stream = parts.gold[order][part_of] + within, parts.stream[order][part_of] + within
    equal = parts.equal[starts[order][part_of] + within]
    certain_from = np.maximum(stream, parts.sure[order][part_of])
    joint = np.flatnonzero(chain[1:] == chain[:-1])  # between this part and the next
    if joint.size:
        end_gold = (parts.gold + parts.length)[order][joint]
        end_stream = (parts.stream + parts.length)[order][joint]
        gap_gold = parts.gold[order][joint + 1] - end_gold
        gap_stream = parts.stream[order][joint + 1] - end_stream
        size = np.maximum(gap_gold, gap_stream)
        step = ranges(0, size)
        # A gap that is longer on one side stays at its last token on the other.
        more_gold = np.repeat(end_gold, size) + np.minimum(step, np.repeat(gap_gold, size) - 1)
        more_stream = np.repeat(end_stream, size) + np.minimum(
            step, np.repeat(gap_stream, size) - 1
        )
        # A gap is bridged once the part behind it is one.
        certain_size = np.repeat(parts.sure[order][joint + 1], size)
        gap = np.repeat(np.cumsum(length)[joint], size)
        gold, stream, certain_from, equal, part_of = (
            np.insert(column, gap, values)
            for column, values in (
                (gold, more_gold),
                (stream, more_stream),
                (certain_from, certain_size),
                (equal, False),
                (part_of, np.repeat(joint, size)),
            )
        )
    return Cells(gold, stream, certain_from), equal, chain[part_of], parts.row[order][part_of]
