"""Sentences that can be said in another language: English texts that know how they were made.

Whatever a person reads is made of these, from the errors of the ground to the tables of results;
`kragx.ground.printing` says them. The languages and their catalogues stand below the errors,
whose texts are said in one of them.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Any


class Message(str):
    """An English text, with what it takes to say the same in another language.

    It is a plain text wherever nobody asks: in JSON, in comparisons, in errors.

    Attributes:
        english: the sentence, with names in braces; empty of what is only put together.
        template: by which catalogues have it: the same, but of one thing that of several.
        values: what stands in their places; messages among them are said in that language, too.
        separator: of what is put together, what stands between its `pieces`.
        pieces: of what is put together, the texts.
    """

    english: str = ""
    template: str = ""
    values: Mapping[str, Any] = {}
    separator: str = ""
    pieces: tuple[str, ...] = ()


class Name(str):
    """A name that stands in a text or a table, and says what it names.

    A plain text wherever nobody asks; the page links and marks it.

    Attributes:
        kind: ``retriever``, ``metric``, ``question``, or ``code``, as configs have it.
    """

    kind: str

    def __new__(cls, text: str, kind: str = "") -> Name:
        """As a text, which cannot be given anything later; pickle gives the kind by itself."""
        name = super().__new__(cls, text)
        name.kind = kind
        return name


def message(template: str, /, **values: object) -> Message:
    """A text to be said in any language.

    The template is the key of the catalogues (``ko.json``): it stands in the source as
    a literal, and a test holds that each catalogue has it, with the same names in braces.
    """
    return _filled(template, values)


def _filled(english: str, values: Mapping[str, object], template: str = "") -> Message:
    result = Message(english.format_map(values))
    result.english, result.template, result.values = english, template or english, values
    return result


def plural(n: float, one: str, several: str, /, **values: object) -> Message:
    """A text about n things, ``{n}`` in it: in English one of two.

    The catalogues have the second alone: neither Korean nor Japanese tells one from several.
    """
    return _filled(one if n == 1 else several, {"n": n, **values}, several)


def sentence(text: str, values: Mapping[str, object]) -> str:
    """What an error says, as a message: a literal of the source, with values in its braces if any.

    A message stays what it is. Without values braces stand for themselves.
    """
    if not text or isinstance(text, Message):
        return text
    return _filled(text if values else text.replace("{", "{{").replace("}", "}}"), values)


def joined(separator: str, pieces: Iterable[str]) -> Message:
    """Texts put together, empty ones left out; each stays what it is in another language."""
    texts = tuple(filter(None, pieces))
    result = Message(separator.join(texts))
    result.separator, result.pieces = separator, texts
    return result


_CATALOGUES = Path(__file__).parent / "printing"

LANGUAGES = ("en", *sorted(path.stem for path in _CATALOGUES.glob("*.json")))
"""The languages in which results are shown: English, and those that a catalogue stands there for.

JSON is always in English. Other texts are said as far as the catalogue goes.
"""

VARIABLE = "KRAGX_LANG"
"""The environment variable that names one."""

NAMED = ContextVar[str | None]("language", default=None)
"""The one that `kragx.ground.printing.speaking` names, before the variable's."""


def code_of(language: str) -> str:
    """The code of a language, however it is named: ``ko_KR.UTF-8``, ``ko-KR``."""
    return re.split(r"[-_.]", language)[0].lower()


@cache
def catalogue(named: str) -> Mapping[str, str]:
    """The sentences of a language by their English templates; of English, which they are, none.

    Korean particles do not follow what is filled in, as nobody knows how a retriever's name ends.
    """
    if named == "en":
        return {}
    sentences: dict[str, str] = json.loads((_CATALOGUES / f"{named}.json").read_text("utf-8"))
    return sentences


def translate(value: Any, named: str) -> Any:
    """A message in a language; whatever is none as it is."""
    if not isinstance(value, Message):
        return value
    if value.pieces:
        return value.separator.join(translate(piece, named) for piece in value.pieces)
    if named == "en":
        return str(value)
    values = {name: translate(entry, named) for name, entry in value.values.items()}
    # What somebody has added to the source, and to no catalogue, is English.
    return catalogue(named).get(value.template, value.english).format_map(values)


def spoken_text(text: str) -> str:
    """A message in the language that is asked for; as it is where none is, or none of that name.

    A language that does not exist is for whoever shows results to say, and not for an error's text.
    """
    code = code_of(NAMED.get() or os.environ.get(VARIABLE, ""))
    is_translated = code in LANGUAGES and code != "en"
    return str(translate(text, code)) if is_translated else text
