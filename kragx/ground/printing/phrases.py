"""Phrases said in the language that results are shown in: which it is, and its catalogue."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar, overload

from kragx.ground.errors import UsageError, nearest
from kragx.ground.messages import Phrase, joined, phrase
from kragx.ground.printing.parts import Cell, Part, Table

_CATALOGUES = files("kragx.ground.printing")

LANGUAGES = (
    "en",
    *sorted(Path(entry.name).stem for entry in _CATALOGUES.iterdir() if ".json" in entry.name),
)
"""The languages in which results are shown: English, and those that a catalogue stands here for.

JSON is always in English. Other texts are said as far as the catalogue goes.
"""

VARIABLE = "KRAGX_LANG"
"""The environment variable that names one."""


def listed(names: Sequence[str], limit: int = 8, n: int | None = None) -> Phrase:
    """Names in a sentence, ``a, b and c``, the first of `n`."""
    if len(names) > limit:
        first, n_more = joined(", ", names[:limit]), (n or len(names)) - limit
        return phrase("{names} and {n} more", names=first, n=n_more)
    if len(names) < 2:
        return joined("", names)
    return phrase("{names} and {last}", names=joined(", ", names[:-1]), last=names[-1])


_NAMED = ContextVar[str | None]("language", default=None)


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
    language = named or _NAMED.get() or variable
    if not language:
        return None
    code = re.split(r"[-_.]", language)[0].lower()  # ko_KR.UTF-8, ko-KR
    if code not in LANGUAGES:
        field = VARIABLE if language == variable else "language"
        raise UsageError(f"unknown value {language!r}; {nearest(language, LANGUAGES)}", field=field)
    return code


@contextmanager
def speaking(named: str | None) -> Iterator[None]:
    """Within it, results are shown in this language; None changes nothing."""
    token = _NAMED.set(language(named) if named else _NAMED.get())
    try:
        yield
    finally:
        _NAMED.reset(token)


_Text = TypeVar("_Text")


@overload
def in_language(value: str, named: str | None = None) -> str: ...
@overload
def in_language(value: _Text, named: str | None = None) -> _Text: ...
def in_language(value: Any, named: str | None = None) -> Any:
    """A text in a language, None for the one results are shown in; what is no phrase as it is."""
    if language(named) == "en":
        return str(value) if isinstance(value, Phrase) else value
    return _translate(value, catalogue(language(named)))


def in_any_language(text: str) -> str:
    """A phrase in the language that results are shown in; as it is where nobody asks for another.

    A language that does not exist is for whoever shows results to say, and no error's own text.
    """
    with suppress(UsageError):
        if asked_language() not in (None, "en"):
            return in_language(text)
    return text


@cache
def catalogue(named: str) -> Mapping[str, str]:
    """The sentences of a language by their English templates; of English, which they are, none.

    Korean particles do not follow what is filled in, as nobody knows how a retriever's name ends.
    """
    if named == "en":
        return {}
    sentences: dict[str, str] = json.loads(
        _CATALOGUES.joinpath(f"{named}.json").read_text(encoding="utf-8")
    )
    return sentences


def _translate(value: Any, sentences: Mapping[str, str]) -> Any:
    if not isinstance(value, Phrase):
        return value
    if value.pieces:
        return value.separator.join(_translate(piece, sentences) for piece in value.pieces)
    values = {name: _translate(entry, sentences) for name, entry in value.values.items()}
    # What somebody has added to the source, and to no catalogue, is English.
    return sentences.get(value.template, value.template).format_map(values)


def translated(text: str) -> str:
    """A text that is no phrase, as a help's is, in the language of results; else as it is."""
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
