"""Values as the page reads them: descriptions in every language, short numbers, packed texts.

A text is a string where all languages have it alike, else a mapping of the languages; in either
stand pieces in the place of one string where it names something that the page links or marks:
``["Use ", {"name": "bm25", "is": "retriever"}, ": ..."]``.

Values are JSON, compressed, in base64, which knows neither ``<`` nor quotes: nothing that data hold
can end the element they stand in. The page inflates a block when it is looked at, so a large report
opens as fast as a small one.
"""

import base64
import zlib
from collections.abc import Iterable, Iterator
from itertools import accumulate, groupby
from math import floor, isnan
from string import Formatter
from typing import Any

from kragx.data import SurrogateRepair
from kragx.data.formats.jsonl import to_json
from kragx.ground.messages import LANGUAGES, Message, Name, catalogue
from kragx.ground.printing import Cell, Part, Table
from kragx.metrics.threshold import matches

_BLOCK_CHARACTERS = 100_000


def packed(value: Any) -> str:
    """A value as the page reads it; lone surrogates, which UTF-8 cannot hold, become U+FFFD."""
    text = SurrogateRepair().text(to_json(value))
    return base64.b64encode(zlib.compress(text.encode(), 6)).decode("ascii")


class TextTable:
    """Numbers for texts: each distinct text is stored once, however many lists it stands in.

    Attributes:
        starts: the number of the first text of each block, once `blocks` has been gone through.
    """

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self.starts: list[int] = []

    def number(self, text: str | None) -> int:
        """The number of a text; -1 where there is none."""
        return -1 if text is None else self._numbers.setdefault(text, len(self._numbers))

    def __len__(self) -> int:
        """How many distinct texts there are."""
        return len(self._numbers)

    def blocks(self) -> Iterator[list[str]]:
        """Texts in order, in blocks of some size."""
        ends = accumulate(map(len, self._numbers))
        pairs = zip(self._numbers, ends)
        start = 0
        for _, group in groupby(pairs, lambda pair: pair[1] // _BLOCK_CHARACTERS):
            block = [text for text, _ in group]
            self.starts.append(start)
            start += len(block)
            yield block


# -- numbers short enough to send, which still say the same --------------------------------------


def short(value: Any) -> Any:
    """Plain values with six digits a number, which is more than anyone reads; None for NaN."""
    match value:
        case float():
            return None if isnan(value) else float(f"{value:.6g}")
        case dict():
            return {key: short(entry) for key, entry in value.items()}
        case list():
            return list(map(short, value))
    return value


def rounded_score(score: float, threshold: float) -> float | None:
    """A score of four decimals that stands on the same side of the threshold; None if unknown."""
    if isnan(score):
        return None
    rounded = round(score, 4)
    is_match = matches(score, threshold)
    if matches(rounded, threshold) != is_match:
        # Rounding led over the threshold: the page would show a match where there is none, or none
        # where there is one.
        return threshold if is_match else floor(score * 10_000) / 10_000
    return rounded


def described(parts: Iterable[Part]) -> list[dict[str, Any]]:
    """Parts as the page renders them."""
    return [
        _table(part)
        if isinstance(part, Table)
        else {"text": text_of(part.text), "style": part.style, "item": part.item}
        for part in parts
    ]


def text_of(text: str) -> Any:
    """A text in every language."""
    texts = {name: _joined(_pieces(text, name)) for name in LANGUAGES}
    # Most cells are numbers and names, which need not be sent once for each language.
    first = texts[LANGUAGES[0]]
    return first if all(own == first for own in texts.values()) else texts


def _table(table: Table) -> dict[str, Any]:
    return {
        "columns": list(map(text_of, table.columns)),
        "rows": [list(map(_cell, row)) for row in table.cells()],
        "words": table.words,
        "note": text_of(table.note),
    }


def _cell(cell: Cell) -> dict[str, Any]:
    """A cell without what is empty, as there are many."""
    values = {"style": cell.style, "below": text_of(cell.below), "code": cell.code}
    return {"text": text_of(cell.text), **{name: value for name, value in values.items() if value}}


def _pieces(text: object, language: str) -> Iterator[str | dict[str, str]]:
    """A text in a language as strings and names, which an f-string would have made strings."""
    if isinstance(text, Name):
        yield {"name": str(text), "is": text.kind}
    elif not isinstance(text, Message):
        yield str(text)
    elif not text.template:
        for place, piece in enumerate(text.pieces):
            yield text.separator if place else ""
            yield from _pieces(piece, language)
    else:
        # Filled in piece by piece, as `format_map` would turn the names in it into mere text.
        template = catalogue(language).get(text.template, text.english)
        formatter = Formatter()
        for literal, field, form, conversion in formatter.parse(template):
            yield literal
            if field is not None:
                value = formatter.convert_field(text.values[field], conversion)
                is_text = isinstance(value, str)
                yield from _pieces(value if is_text else format(value, form or ""), language)


def _joined(pieces: Iterable[str | dict[str, str]]) -> Any:
    """Neighbouring strings as one; a string alone as itself."""
    joined: list[Any] = []
    for piece in filter(None, pieces):
        if joined and isinstance(piece, str) and isinstance(joined[-1], str):
            # Phrases within phrases would leave a sentence in crumbs.
            joined[-1] += piece
        else:
            joined.append(piece)
    is_plain = all(isinstance(piece, str) for piece in joined)
    return "".join(joined) if is_plain else joined
