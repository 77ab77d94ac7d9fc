"""A prompt of the user's own: a Jinja2 template around the texts that are judged.

The template never sees a text. It is rendered with a mark in the place of each one, and the fenced
texts take the place of the marks. So no template opens a fence, cuts a text or decides by what it
says, and nothing in a text is read as a template. It is rendered in Jinja2's sandbox, as it may be
somebody else's.
"""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from kragx.data.formats.jsonl import read_text
from kragx.ground.errors import UsageError, nearest
from kragx.ground.printing import message

TEXTS: Mapping[str, tuple[str, ...]] = {
    "relevance": ("query", "document", "reference"),
    "support": ("gold", "document"),
}
"""The texts that a prompt of the user's own for a question shows; all of them but `MAY`."""
MAY = frozenset({"reference"})
"""What a question may have, and a prompt may show."""
_WORDS = ("instruction", "grades")
_MARK = "\0"  # which nobody types: what stands between two is the name of a text


def read_prompt(source: object) -> str:
    """A template: a text with ``{{`` in it is one, any other names the file that holds it.

    Raises:
        DataError: the file cannot be read.
        UsageError: there is no template.
    """
    if not isinstance(source, (str, Path)) or not str(source).strip():
        raise UsageError(
            "{source!r} is no prompt", remedy="name a file with a Jinja2 template", source=source
        )
    if isinstance(source, str) and "{{" in source:
        return source
    text = read_text(source)
    if "{{" not in text:
        remedy = message("write {{{{ document }}}} and the like where the texts belong")
        raise UsageError("a prompt that shows no text", path=str(source), remedy=remedy)
    return text


def check_prompt(prompt: str, asks: str, words: Mapping[str, str]) -> None:
    """Raise a `UsageError` unless a template shows what its question is made of, and as it is.

    Args:
        prompt: the template.
        asks: the question.
        words: ``instruction`` and ``grades`` as the rubric has them; empty where it leaves them to
            the prompt.
    """
    if asks not in TEXTS:
        remedy = message("leave it out, or ask for {names}", names=" or ".join(TEXTS))
        problem = message("{asks} are asked for in kragx's own words alone", asks=asks)
        raise UsageError(problem, remedy=remedy)
    texts, names = TEXTS[asks], names_in(prompt)
    for name in sorted(names.difference(texts, _WORDS)):
        hint = nearest(name, [*texts, *_WORDS])
        raise UsageError(
            "{name!r} is nothing that {asks} has; {hint}", name=name, asks=asks, hint=hint
        )
    for name in _WORDS:
        if words[name] and name not in names:
            raise UsageError(
                "{name!r} of the rubric is not shown",
                remedy="write {{{{ {name} }}}} in it; or, if it says so in its own words, name a "
                "rubric of your own without an instruction and with grades: 0-3",
                name=name,
            )
    # What depends on `MAY` is all that a template can decide by.
    for absent in (frozenset[str](), MAY):
        parts(prompt, tuple(sorted(words.items())), tuple(n for n in texts if n not in absent))


@lru_cache(maxsize=64)
def parts(
    prompt: str, words: tuple[tuple[str, str], ...], texts: tuple[str, ...]
) -> tuple[tuple[str, str], ...]:
    """A rendered template: words, and the name of the text that comes after them (or nothing).

    Args:
        prompt: the template.
        words: ``instruction`` and ``grades``.
        texts: the names of those that a question has.

    Raises:
        UsageError: it cannot be rendered, or does not show a text as it is.
    """
    marks = {name: _Mark(name) for name in texts}
    absent = dict.fromkeys(MAY.difference(texts), "")
    try:
        rendered = environment().from_string(prompt).render({**dict(words), **absent, **marks})
    except Exception as error:  # whatever the expressions of a template may raise
        raise UsageError("cannot be rendered: {error}", error=error) from None
    pieces = rendered.split(_MARK)
    names = pieces[1::2]
    for name in texts:
        is_asked_for = name not in MAY or name in names_in(prompt)
        if is_asked_for and (name not in names or not marks.keys() >= set(names)):
            raise UsageError(
                "{name!r} is not shown as it is",
                remedy="write {{{{ {name} }}}} in it, without a filter",
                name=name,
            )
    return tuple(zip(pieces[::2], [*pieces[1::2], ""], strict=True))


class _Mark:
    """What a template has in the place of a text: it can be written, and nothing else."""

    __slots__ = ("_text",)

    def __init__(self, name: str) -> None:
        self._text = f"{_MARK}{name}{_MARK}"

    def __str__(self) -> str:
        return self._text


@lru_cache(maxsize=64)
def names_in(prompt: str) -> frozenset[str]:
    """The names that a template takes from outside."""
    from jinja2 import TemplateSyntaxError, meta

    try:
        return frozenset(meta.find_undeclared_variables(environment().parse(prompt)))
    except TemplateSyntaxError as error:
        raise UsageError(
            "line {lineno}: {message}", lineno=error.lineno, message=error.message
        ) from None


def environment() -> Any:
    """Jinja2's sandbox, in which a name that nobody has given is an error."""
    from jinja2 import StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    return ImmutableSandboxedEnvironment(undefined=StrictUndefined, keep_trailing_newline=True)
