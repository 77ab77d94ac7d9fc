"""Exact spans: where metadata says from which place of which source a text was taken."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby, pairwise
from operator import itemgetter
from typing import Any

import numpy as np

from kragx.data import value_at
from kragx.data.lists import Ints
from kragx.data.words import unspaced
from kragx.metrics.spans.align import Cells
from kragx.metrics.spans.reading import SpanOptions, inside
from kragx.metrics.spans.rows import NEVER

_WORD = re.compile(r"[^\W_]+")

Piece = tuple[int, int, int]
"""Where a word, or a part of one, begins and ends in its source, and which one it is."""


@dataclass(frozen=True)
class PlacedText:
    """A text whose place is known: the source, and where each of its words begins and ends."""

    source: str
    words: tuple[tuple[int, int], ...]


def placed(
    text: str | None, metadata: Mapping[str, Any], options: SpanOptions
) -> PlacedText | None:
    """The words of a text in its source; None if its metadata do not say where it stands.

    A wrapper around the text takes no place in the source. Text and places that do not fit one
    another in length say nothing.
    """
    source, start = _at(metadata, options.source), _at(metadata, options.start)
    if text is None or source is None or not _is_place(start):
        return None
    inner = inside(text)
    end = _at(metadata, options.end)
    if _is_place(end) and end - start != len(inner):
        return None
    return PlacedText(str(source), tuple((start + a, start + b) for a, b in _words(inner)))


def _words(text: str) -> list[tuple[int, int]]:
    """Where each word begins and ends; a character where words are not written apart."""
    words = [word.span() for word in _WORD.finditer(text)]
    single = set(filter(unspaced, set(text)))
    if not single:
        return words
    cuts = {place + step for place, char in enumerate(text) if char in single for step in (0, 1)}
    parts = ([a, *(cut for cut in range(a + 1, b) if cut in cuts), b] for a, b in words)
    return [part for cut in parts for part in pairwise(cut)]


def _is_place(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and value is not True and bool(value >= 0)


def _at(metadata: Mapping[str, Any], keys: str) -> Any:
    values = (value_at(metadata, path) for path in keys.split("|"))
    return next((value for value in values if value is not None), None)


def locate(golds: Sequence[PlacedText], docs: Sequence[PlacedText]) -> tuple[Cells, Ints, Ints]:
    """The words of gold texts in the words of retrieved texts, by their places.

    A word is covered where retrieved words, or parts of it, hold all of its characters together.

    Args:
        golds: the gold texts of one query.
        docs: its retrieved texts, by rank; their words in a row are the stream.

    Returns:
        The aligned words, as `align` gives them (places from 0 for this query); for each word of
        the stream the place up to which one has to read to know it said before, or a part of a
        word of gold; and for each gold word the first one that is the same, or a part of it.
    """
    stream, of_gold = _by_source(docs), _by_source(golds)
    repeats = np.full(sum(len(doc.words) for doc in docs), NEVER)
    twin = np.arange(sum(len(gold.words) for gold in golds))
    cells: list[tuple[int, int, int]] = []
    for group in (group for words in of_gold.values() for group in _overlapping(words)):
        places = [place for *_, place in group]
        twin[places] = min(places)
    for source, pieces in stream.items():
        for group in _overlapping(pieces):
            _mark_repeats(group, repeats)
        # Pieces are in order of their beginnings; the longest says how far back one may begin.
        reach = max(end - begin for begin, end, _ in pieces)
        for begin, end, word in of_gold.get(source, ()):
            first = bisect_left(pieces, (begin - reach, 0, 0))
            last = bisect_left(pieces, (end, 0, 0), first)
            parts = [piece for piece in pieces[first:last] if piece[1] > begin]
            places = [place for *_, place in parts]
            repeats[places] = places  # a part of a gold word is not beside the point
            if parts:
                cells.append((word, min(places), _covered(begin, end, parts)))
    return Cells(*np.array(cells, np.int64).reshape(-1, 3).T), repeats, twin


def _by_source(texts: Sequence[PlacedText]) -> dict[str, list[Piece]]:
    """The words of each source, in its order; they are counted over all texts."""
    words = [(text.source, *word) for text in texts for word in text.words]
    pieces = sorted((source, begin, end, place) for place, (source, begin, end) in enumerate(words))
    return {
        source: [(begin, end, place) for _, begin, end, place in group]
        for source, group in groupby(pieces, itemgetter(0))
    }


def _overlapping(pieces: Sequence[Piece]) -> Iterator[Sequence[Piece]]:
    """Pieces in the order of their source, in groups that do not overlap one another."""
    begins, ends, _ = zip(*pieces)
    # The farthest end so far, as a long piece may reach over several that begin behind it.
    reached = accumulate(ends, max)
    gaps = [n for n, (begin, end) in enumerate(zip(begins[1:], reached), 1) if begin >= end]
    for first, last in pairwise([0, *gaps, len(pieces)]):
        yield pieces[first:last]


def _mark_repeats(pieces: Sequence[Piece], repeats: Ints) -> None:
    """Of pieces of the same word let one count; they are the same from where they overlap."""
    merged: list[Piece] = []
    for piece in sorted(pieces, key=lambda piece: piece[2]):
        begin, end, place = piece
        touched = [piece for piece in merged if piece[0] < end and begin < piece[1]]
        begins, ends, places = zip(piece, *touched)
        *repeated, first = places
        repeats[repeated] = place
        whole = (min(begins), max(ends), first)
        merged = [*(piece for piece in merged if piece not in touched), whole]


def _covered(begin: int, end: int, pieces: Sequence[Piece]) -> int:
    """The place in the stream at which pieces hold every character from `begin` to `end`."""
    missing = set(range(begin, end))
    for first, last, place in sorted(pieces, key=lambda piece: piece[2]):
        missing.difference_update(range(first, last))
        if not missing:
            return place
    return NEVER
