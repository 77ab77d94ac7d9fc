"""Where two texts share words: spans of characters, for people to look at.

Shared are runs of at least two tokens in a row that stand in both texts, in any place; of a gold
text of one token, that token. This is what `overlap` counts, shown.
"""

from __future__ import annotations

import re
import unicodedata
from itertools import pairwise

_TOKEN = re.compile(r"[^\W_]+")

Spans = tuple[tuple[int, int], ...]


def shown_text(text: str) -> str:
    """The text that spans point into: NFC."""
    return unicodedata.normalize("NFC", text)


def shared_spans(document: str, gold: str) -> tuple[Spans, Spans]:
    """Where a document and a gold text share runs of words, in each of them.

    Returns:
        Spans (start, end) of characters in `shown_text` of the document, and of the gold text;
        ascending, and apart from one another.
    """
    doc, other = _tokens(shown_text(document)), _tokens(shown_text(gold))
    size = min(2, len(other))
    return _spans(doc, _grams(other, size), size), _spans(other, _grams(doc, size), size)


_Token = tuple[str, int, int]


def _tokens(text: str) -> list[_Token]:
    return [(found[0].lower(), found.start(), found.end()) for found in _TOKEN.finditer(text)]


def _grams(tokens: list[_Token], size: int) -> set[tuple[str, ...]]:
    words = [word for word, _, _ in tokens]
    return set(pairwise(words)) if size == 2 else {(word,) for word in words}


def _spans(tokens: list[_Token], grams: set[tuple[str, ...]], size: int) -> Spans:
    if not size:
        return ()
    spans: list[tuple[int, int]] = []
    last = -1  # the token that the last span ends with
    for at in range(len(tokens) - size + 1):
        if tuple(word for word, _, _ in tokens[at : at + size]) not in grams:
            continue
        start, end = tokens[at][1], tokens[at + size - 1][2]
        if at <= last:
            spans[-1] = (spans[-1][0], end)
        else:
            spans.append((start, end))
        last = at + size - 1
    return tuple(spans)
