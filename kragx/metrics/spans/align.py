"""Aligned runs of tokens: where a gold text and a stream of retrieved tokens say the same.

A *run* is a stretch of the gold text that stands in the stream, token by token; with bridging a few
tokens between may be others. It counts if it is too long to be an accident:

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
        bridge: how many changed tokens in a row are bridged.
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
    portions = diagonals(golds, streams, stream_of, minimum_size, seed).portions()
    parts = _Parts.joined(_parts(golds, streams, portion, bridge) for portion in portions)
    parts, sure = _with_cut_words(parts, golds, streams, stream_of, corpus.words, seed)
    row, first, behind = parts.row, parts.stream, parts.stream + parts.length
    gold, stream = ranges(parts.gold, parts.length), ranges(first, parts.length)
    end = np.cumsum(parts.length)
    begin = end - parts.length
    matched = np.concatenate(([0], np.cumsum(parts.equal)))
    total = matched[end] - matched[begin]
    at_start = (parts.gold == golds.start[row]) & (total >= minimum_size.at_start[row])
    at_end = parts.gold + parts.length == golds.start[row + 1]
    at_end &= total >= minimum_size.at_end[row]
    if apart:
        # The chunk's end may have left a part of one more word.
        near = streams.tokens == SEPARATOR
        at_start &= near[behind] | near[np.minimum(behind + 1, len(near) - 1)]
        at_end &= near[first - 1] | near[np.maximum(first - 2, 0)]
    # The weights of equal tokens, added up, say how long a run is and where it is long enough.
    places = np.flatnonzero(parts.equal)
    sums = np.cumsum(np.append(0, weights(golds.tokens, corpus)[gold[places]]))
    before = sums[matched[begin]]
    long = sums[matched[end]] - before >= minimum_size.anywhere[row]
    need = np.searchsorted(sums, before + minimum_size.anywhere[row]) - matched[begin]
    need = np.where(long, need, np.where(at_end, total, NEVER))
    need = np.where(at_start, np.minimum(need, minimum_size.at_start[row]), need)
    counts = at_start | at_end | long
    minimum = np.zeros(len(row), np.int64)
    minimum[counts] = stream[places[matched[begin[counts]] + need[counts] - 1]]
    part_of = np.repeat(np.arange(len(row)), parts.length)
    # A gap is bridged once the token behind it has been read.
    read = stream[places[matched[:-1]]]
    known = np.maximum(read, np.maximum(minimum, sure)[part_of])
    return Cells(gold, stream, known).where(counts[part_of])


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
        # With an empty one, as of no portion at all nothing could be joined.
        nothing = cls(empty, empty, empty, empty, np.empty(0, bool))
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
    return _Parts(
        row[diagonal[begin]], gold[begin], stream[begin], size, equal[ranges(begin, size)]
    )


def _with_cut_words(
    parts: _Parts,
    golds: TokenRows,
    streams: TokenRows,
    stream_of: Ints,
    words: Sequence[str],
    seed: int,
) -> tuple[_Parts, Ints]:
    """Lengthen parts by the gold text's first or last token where the stream has it in a word.

    Of `seed` equal tokens, or of two or more that become the whole gold text. Beside the parts
    stands the place in the stream up to which one has to read to know each.
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
    rest = np.where(whole, parts.stream + np.maximum(last - 1 - parts.gold, 1), NEVER)
    sure = np.where(longer_before, np.minimum(minimum, rest), parts.stream)
    equal = np.insert(
        parts.equal,
        np.concatenate((starts[:-1][longer_before], starts[1:][longer_behind])),
        True,
    )
    lengths = parts.length + longer_before + longer_behind
    longer = _Parts(
        parts.row, parts.gold - longer_before, parts.stream - longer_before, lengths, equal
    )
    return longer, sure
