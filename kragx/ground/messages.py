"""Sentences that can be said in another language: English texts that know how they were made.

Whatever a person reads is made of these, from the errors of the ground to the tables of results;
`kragx.ground.printing` says them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


class Message(str):
    """An English text, with what it takes to say the same in another language.

    It is a plain text wherever nobody asks: in JSON, in comparisons, in errors.

    Attributes:
        template: in English, with names in braces; empty of what is only put together.
        values: what stands in their places; messages among them are said in that language, too.
        separator: of what is put together, what stands between its `pieces`.
        pieces: of what is put together, the texts.
    """

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

    def __new__(cls, text: str, kind: str) -> Name:
        """As a text, which cannot be given anything later."""
        name = super().__new__(cls, text)
        name.kind = kind
        return name

    def __reduce__(self) -> tuple[type[Name], tuple[str, str]]:
        return type(self), (str(self), self.kind)


def message(template: str, /, **values: object) -> Message:
    """A text to be said in any language.

    The template is the key of the catalogues (``ko.json``): it stands in the source as
    a literal, and a test holds that each catalogue has it, with the same names in braces.
    """
    return _filled(template, values)


def _filled(template: str, values: Mapping[str, object]) -> Message:
    result = Message(template.format_map(values))
    result.template, result.values = template, values
    return result


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
