"""Descriptions as the page renders them: the parts of terminal and Markdown, in every language.

A text is a string where all languages have it alike, else a mapping of the languages; in either
stand pieces in the place of one string where it names something that the page links or marks:
``["Use ", {"name": "bm25", "is": "retriever"}, ": ..."]``.
"""

from collections.abc import Iterable, Iterator
from string import Formatter
from typing import Any

from kragx.ground.languages import LANGUAGES, catalogue
from kragx.ground.messages import Name, Phrase
from kragx.ground.printing import Cell, Line, Part, Table


def described(parts: Iterable[Part]) -> list[dict[str, Any]]:
    """Parts as the page renders them."""
    return [_table(part) if isinstance(part, Table) else _line(part) for part in parts]


def text_of(text: str) -> Any:
    """A text in every language."""
    texts = {name: _joined(_pieces(text, name)) for name in LANGUAGES}
    # Most cells are numbers and names, which need not be sent once for each language.
    first = texts[LANGUAGES[0]]
    return first if all(own == first for own in texts.values()) else texts


def _line(line: Line) -> dict[str, Any]:
    return {"text": text_of(line.text), "style": line.style, "item": line.item}


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
    elif not isinstance(text, Phrase):
        yield str(text)
    elif not text.template:
        for place, piece in enumerate(text.pieces):
            yield text.separator if place else ""
            yield from _pieces(piece, language)
    else:
        # Filled in piece by piece, as `format_map` would turn the names in it into mere text.
        template = catalogue(language).get(text.template, text.template)
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
