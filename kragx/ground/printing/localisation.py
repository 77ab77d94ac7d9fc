"""Messages said in the language that results are shown in, and descriptions made of them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from kragx.ground.errors import UsageError, nearest
from kragx.ground.messages import (
    LANGUAGES,
    NAMED,
    VARIABLE,
    Message,
    catalogue,
    code_of,
    joined,
    message,
    translate,
)
from kragx.ground.printing.parts import Cell, Part, Table


def listed(names: Sequence[str], limit: int = 8, n: int | None = None) -> Message:
    """Names in a sentence, ``a, b and c``, the first of `n`."""
    if len(names) > limit:
        first, n_more = joined(", ", names[:limit]), (n or len(names)) - limit
        return message("{names} and {n} more", names=first, n=n_more)
    if len(names) < 2:
        return joined("", names)
    return message("{names} and {last}", names=joined(", ", names[:-1]), last=names[-1])


def language(named: str | None = None) -> str:
    """The language to show results in: the one asked for, else English.

    Raises:
        UsageError: there is no such language.
    """
    return asked_language(named) or "en"


def asked_language(named: str | None = None) -> str | None:
    """The language that is named, else `speaking`'s, else `VARIABLE`'s; None where nobody asks.

    Raises:
        UsageError: there is no such language.
    """
    variable = os.environ.get(VARIABLE, "")
    language = named or NAMED.get() or variable
    if not language:
        return None
    code = code_of(language)
    if code not in LANGUAGES:
        field = VARIABLE if language == variable else "language"
        raise UsageError(
            "unknown value {language!r}; {hint}",
            field=field,
            language=language,
            hint=nearest(language, LANGUAGES),
        )
    return code


@contextmanager
def speaking(named: str | None) -> Iterator[None]:
    """Within it, results are shown in this language; None changes nothing."""
    token = NAMED.set(language(named) if named else NAMED.get())
    try:
        yield
    finally:
        NAMED.reset(token)


def in_language(value: str, named: str | None = None) -> str:
    """A text in a language, None for the one results are shown in; what is no message as it is."""
    return str(translate(value, language(named)))


def translated(text: str) -> str:
    """A text that is no message, as a help's is, in the language of results; else as it is."""
    return text if language() == "en" else catalogue(language()).get(text, text)


def spoken(parts: Iterable[Part], named: str | None = None) -> Iterable[Part]:
    """A description in a language; None for the one results are shown in."""
    if language(named) == "en":
        return parts
    return (_part(part, language(named)) for part in parts)


def _part(part: Part, named: str) -> Part:
    if isinstance(part, Table):
        return _table(part, named)
    return replace(part, text=in_language(part.text, named))


def _table(table: Table, named: str) -> Table:
    return Table(
        [in_language(head, named) for head in table.columns],
        [[_cell(cell, named) for cell in row] for row in table.rows],
        table.words,
        table.narrow and _table(table.narrow, named),
        in_language(table.note, named),
    )


def _cell(cell: str | Cell, named: str) -> str | Cell:
    if not isinstance(cell, Cell):
        return in_language(cell, named)
    return replace(cell, text=in_language(cell.text, named), below=in_language(cell.below, named))
