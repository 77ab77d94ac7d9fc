"""The languages in which people are spoken to, and their catalogues.

They stand below the errors, whose texts are said in one of them.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Any

from kragx.ground.messages import Message

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
    return catalogue(named).get(value.template, value.template).format_map(values)


def spoken_text(text: str) -> str:
    """A message in the language that is asked for; as it is where none is, or none of that name.

    A language that does not exist is for whoever shows results to say, and not for an error's text.
    """
    code = code_of(NAMED.get() or os.environ.get(VARIABLE, ""))
    is_translated = code in LANGUAGES and code != "en"
    return str(translate(text, code)) if is_translated else text
