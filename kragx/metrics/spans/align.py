"""Aligned runs of tokens: where a gold text and a stream of retrieved tokens say the same.

A *run* is a stretch of the gold text that stands in the stream, token by token. It counts if it is
too long to be an accident:

* ``run`` tokens, or the whole gold text if that is shorter;
* less, if it holds the first or the last token of the gold text, because there a chunk's end has
  cut off the rest: `EDGE` tokens, or two that hold `SYLLABLES` syllables of Hangul, each of which
  says more than a Latin letter.

In scripts that write without spaces a character is a token, and three of them count as one; seven
are enough at the gold text's end. Short gold texts are looked for as phrases
(`kragx.data.phrases`).

Where one retrieved text ends and the next begins makes no difference, so cutting a chunk in two
changes nothing. A gold text that was itself cut within a word begins or ends with a part of it;
such a part is found in the whole word beside `EDGE` equal tokens, or where
with it a run of two equal tokens or more is the whole gold text.

Everything here is arrays: tokens are numbers, and texts are rows of one long array.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from kragx.data import TokenCorpus
from kragx.data.phrases import SHORT, are_short, places
from kragx.data.tokens import Tokens
from kragx.metrics.match_table import Bools, Ints
from kragx.metrics.spans.diagonals import Diagonals, diagonals
from kragx.metrics.spans.rows import EDGE, NEVER, RUN, SEPARATOR, Least, Rows, ranges, weights


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
        step = ranges(length)
        gold, first, last = (np.repeat(x, length) for x in (gold, stream, stream + length - 1))
        return cls(gold + step, first + step, last)

    def where(self, places: Bools | Ints) -> Cells:
        """Those at some places."""
        return Cells(self.gold[places], self.stream[places], self.known[places])

    def joined(self, other: Cells) -> Cells:
        """These and others."""
        return Cells(*map(np.concatenate, zip(vars(self).values(), vars(other).values())))


def align(
    golds: Rows,
    streams: Rows,
    stream_of: Ints,
    corpus: TokenCorpus,
    *,
    run: int = RUN,
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
        short: gold texts of at most so many tokens are looked for as phrases.
        apart: `SEPARATOR` stands before and after each retrieved text, and a run at the gold text's
            end counts only if it is the retrieved text's end that cuts it off.
    """
    texts, in_streams = golds.texts(), streams.texts()
    is_long = ~are_short(texts, corpus, short)
    stream_starts = streams.start[stream_of]
    short_texts = [tokens[:0] if long else tokens for tokens, long in zip(texts, is_long)]
    stream, row, place = places(in_streams, short_texts, corpus)
    row, place = row[stream == stream_of[row]], place[stream == stream_of[row]]
    phrases = Cells.of_phrases(
        zip(golds.start[row], stream_starts[row] + place, golds.lengths[row])
    )
    long = Rows.of([texts[row] for row in np.flatnonzero(is_long)])
    runs = _runs(long, streams, stream_of[is_long], corpus, run, apart)
    place = np.flatnonzero(is_long[golds.row])
    return Cells(place[runs.gold], runs.stream, runs.known).joined(phrases)


def _runs(
    golds: Rows, streams: Rows, stream_of: Ints, corpus: TokenCorpus, run: int, apart: bool
) -> Cells:
    least = Least.of(golds, corpus, run)
    seed = min(EDGE, run)
    portions = diagonals(golds, streams, stream_of, least, seed).portions()
    parts = _Parts.joined(_parts(golds, streams, portion) for portion in portions)
    parts = _with_cut_words(parts, golds, streams, stream_of, corpus.words, seed)
    row, length, end = parts.row, parts.length, np.cumsum(parts.length)
    step = ranges(length)
    gold, stream = np.repeat(parts.gold, length) + step, np.repeat(parts.stream, length) + step
    at_start = (parts.gold == golds.start[row]) & (length >= least.at_start[row])
    at_end = (parts.gold + length == golds.start[row + 1]) & (length >= least.at_end[row])
    if apart and len(row):
        # The chunk's end may have left a part of one more word.
        near = streams.tokens == SEPARATOR
        first, last = parts.stream, parts.stream + length - 1
        at_start &= near[last + 1] | near[np.minimum(last + 2, len(near) - 1)]
        at_end &= near[first - 1] | near[np.maximum(first - 2, 0)]
    # The weights of tokens, added up, say how long a run is and where it is long enough.
    sums = np.cumsum(np.append(0, weights(golds.tokens, corpus)[gold]))
    before = sums[end - length]
    long = sums[end] - before >= least.anywhere[row]
    need = np.searchsorted(sums, before + least.anywhere[row]) - (end - length)
    need = np.where(long, need, length)
    need = np.where(at_start, np.minimum(need, least.at_start[row]), need)
    sure = np.maximum(parts.sure, parts.stream + need - 1)
    cells = Cells(gold, stream, np.maximum(stream, np.repeat(sure, length)))
    return cells.where(np.repeat(at_start | at_end | long, length))


@dataclass(frozen=True)
class _Parts:
    """Stretches of equal tokens."""

    row: Ints
    gold: Ints
    stream: Ints
    length: Ints
    sure: Ints
    """The place in the stream up to which one has to read to know that it is one."""

    @classmethod
    def joined(cls, portions: Iterable[_Parts]) -> _Parts:
        """All parts of several portions."""
        nothing = cls(*[np.empty(0, np.int64)] * 5)
        columns = (vars(portion).values() for portion in (nothing, *portions))
        return cls(*map(np.concatenate, zip(*columns)))


def _parts(golds: Rows, streams: Rows, diagonals: Diagonals) -> _Parts:
    row, shift, length = diagonals.row, diagonals.shift, diagonals.length
    diagonal = np.repeat(np.arange(len(row)), length)
    gold = diagonals.first[diagonal] + ranges(length)
    stream = gold + shift[diagonal]
    places = np.flatnonzero(golds.tokens[gold] == streams.tokens[stream])
    goes_on = (np.diff(places) == 1) & (np.diff(diagonal[places]) == 0)
    begin = places[np.append(True, ~goes_on)[: len(places)]]
    size = places[np.append(~goes_on, True)[: len(places)]] + 1 - begin
    # One equal token on its own is no part of anything.
    is_counted = (size > 1) | (size == length[diagonal[begin]])
    begin, size = begin[is_counted], size[is_counted]
    second = stream[begin] + np.minimum(size, 2) - 1
    return _Parts(row[diagonal[begin]], gold[begin], stream[begin], size, second)


def _with_cut_words(
    parts: _Parts, golds: Rows, streams: Rows, stream_of: Ints, words: Sequence[str], seed: int
) -> _Parts:
    """Lengthen parts by the gold text's first or last token where the stream has it in a word.

    Of `seed` equal tokens, or of two or more that become the whole gold text.
    """
    streams_of_parts = stream_of[parts.row]
    first, last = golds.start[parts.row], golds.start[parts.row + 1] - 1
    end_gold, end_stream = parts.gold + parts.length, parts.stream + parts.length
    whole = (parts.gold <= first + 1) & (end_gold >= last)
    long = (parts.length >= seed) | (whole & (parts.length > 1))
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
    minimum = np.where(parts.length >= seed, parts.stream + seed - 1, NEVER)
    rest = np.where(whole, np.maximum(parts.sure, parts.stream + last - 1 - parts.gold), NEVER)
    return _Parts(
        parts.row,
        parts.gold - longer_before,
        parts.stream - longer_before,
        parts.length + longer_before + longer_behind,
        np.where(longer_before, np.minimum(minimum, rest), parts.sure),
    )
