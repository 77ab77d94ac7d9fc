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
changes nothing.

Everything here is arrays: tokens are numbers, and texts are rows of one long array.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from kragx.data import TokenCorpus
from kragx.data.lists import Bools, Ints, ranges
from kragx.data.phrases import SHORT, Phrases, are_short
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
    minimum_size = Least.of(long, corpus, run)
    seed = min(SEED if bridge else EDGE, run)
    runs = Cells.of_phrases(())
    for portion in diagonals(long, streams, stream_of[is_long], minimum_size, seed).portions():
        parts = _parts(long, streams, portion, bridge)
        runs = runs.joined(_runs(parts, long, streams, corpus, minimum_size, apart))
    place = np.flatnonzero(is_long[golds.row])
    return Cells(place[runs.gold], runs.stream, runs.known).joined(phrases)


def _runs(
    parts: _Parts,
    golds: TokenRows,
    streams: TokenRows,
    corpus: TokenCorpus,
    minimum_size: Least,
    apart: bool,
) -> Cells:
    """The parts that are runs that count."""
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
    known = np.maximum(read, minimum[part_of])
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


def _parts(golds: TokenRows, streams: TokenRows, diagonals: Diagonals, bridge: int) -> _Parts:
    row, shift, length = diagonals.row, diagonals.shift, diagonals.length
    diagonal = np.repeat(np.arange(len(row)), length)
    gold = ranges(diagonals.first, length)
    stream = gold + shift[diagonal]
    equal = golds.tokens[gold] == streams.tokens[stream]
    places = np.flatnonzero(equal)
    # What is far from the equal token before, or the first of a diagonal, begins a part.
    begins = np.diff(places, prepend=-2 - bridge) > bridge + 1
    begins |= np.diff(diagonal[places], prepend=-1) != 0
    # The first begins one: moved back by a place, it says that the last ends one.
    begin, end = places[begins], places[np.roll(begins, -1)] + 1
    # One or two equal tokens on their own are no part of anything.
    counts = np.concatenate(([0], np.cumsum(equal)))
    whole = (end - begin) == length[diagonal[begin]]
    is_counted = (counts[end] - counts[begin] > 1) | whole
    begin, end = begin[is_counted], end[is_counted]
    size = end - begin
    return _Parts(
        row[diagonal[begin]], gold[begin], stream[begin], size, equal[ranges(begin, size)]
    )
