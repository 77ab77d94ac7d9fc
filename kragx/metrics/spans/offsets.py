"""Exact spans: where metadata says from which place of which source a text was taken."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from kragx.data import value_at
from kragx.data.lists import Ints
from kragx.data.words import unspaced
from kragx.metrics.spans.align import Cells
from kragx.metrics.spans.reading import SpanOptions, inside
from kragx.metrics.spans.rows import NEVER

_WORD = re.compile(r"[^\W_]+")

Character = tuple[str, int]
"""A place in a source."""


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
    source, start = value_of(metadata, options.source), value_of(metadata, options.start)
    if text is None or source is None or not is_place(start):
        return None
    inner = inside(text)
    end = value_of(metadata, options.end)
    if is_place(end) and end - start != len(inner):
        return None
    return PlacedText(str(source), tuple((start + a, start + b) for a, b in _words(inner)))


def _words(text: str) -> list[tuple[int, int]]:
    """Where each word begins and ends; a character where words are not written apart."""
    words = [word.span() for word in _WORD.finditer(text)]
    single = set(filter(unspaced, set(text)))
    cuts = {place + step for place, char in enumerate(text) if char in single for step in (0, 1)}
    parts = ([a, *(cut for cut in range(a + 1, b) if cut in cuts), b] for a, b in words)
    return [part for cut in parts for part in pairwise(cut)]


def is_place(value: Any) -> bool:
    """Whether a value is the place of a character in a source."""
    return isinstance(value, (int, np.integer)) and value is not True and bool(value >= 0)


def value_of(metadata: Mapping[str, Any], keys: str) -> Any:
    """What metadata have under the first of some keys, parted by ``|``, that is there."""
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
    of_gold, stream = _characters(golds), _characters(docs)
    owner: dict[Character, int] = {}  # the first word of gold that has it
    twin = np.arange(len(of_gold))
    for word, characters in enumerate(of_gold):
        twin[word] = min(twin[owner.setdefault(char, word)] for char in characters)
    holder: dict[Character, int] = {}  # the first word of the stream that has it
    repeats = np.full(len(stream), NEVER)
    for place, characters in enumerate(stream):
        is_new = {holder.setdefault(char, place) for char in characters} == {place}
        # A part of a gold word is not beside the point.
        if not (is_new and owner.keys().isdisjoint(characters)):
            repeats[place] = place
    cells: list[tuple[int, int, int]] = []
    for word, characters in enumerate(of_gold):
        held = [holder[char] for char in characters if char in holder]
        if held:
            is_covered = len(held) == len(characters)
            cells.append((word, min(held), max(held) if is_covered else NEVER))
    return Cells(*np.array(cells, np.int64).reshape(-1, 3).T), repeats, twin


def _characters(texts: Sequence[PlacedText]) -> list[list[Character]]:
    """The characters of each word of all texts."""
    return [
        [(text.source, place) for place in range(begin, end)]
        for text in texts
        for begin, end in text.words
    ]
