"""The help of commands in the language of results; its texts stand in the catalogue as written."""

import re
from collections.abc import Callable
from typing import Any
from unicodedata import east_asian_width

from typer.core import TyperCommand

from kragx.ground.printing.localisation import translated

_PAD = "\u2060"  # a word joiner, which is no space; it stands behind what is two columns wide


class Helping:
    """A command, or a group of them, whose help follows the language."""

    name: str | None
    help: str | None

    def get_help(self, ctx: Any) -> str:
        """The whole help."""
        return _written(ctx, self.format_help)  # type: ignore[attr-defined]  # of typer's classes

    def get_usage(self, ctx: Any) -> str:
        """The line above what is wrong with the arguments."""
        return _written(ctx, self.format_usage)  # type: ignore[attr-defined]  # of typer's classes

    def get_short_help_str(self, limit: int = 45) -> str:
        """The line about it in a list of commands."""
        plain = TyperCommand(self.name, help=translated(self.help or ""))
        return plain.get_short_help_str(limit)


def translated_record(text: str) -> str:
    """What a help says of an option: its text, and behind it in brackets what typer adds."""
    about, gap, extra = text.partition("  [")
    for word in ("default", "required"):
        extra = extra.replace(word, translated(word))
    return translated(about) + gap + extra


class _Formatter:
    """A formatter of typer that writes heads and texts in the language of results.

    It wraps by the number of characters, and some take two columns: these come with a pad.
    """

    def __init__(self, formatter: Any) -> None:
        self._formatter = formatter

    def __getattr__(self, name: str) -> Any:
        return getattr(self._formatter, name)

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        plain = args.replace("{", "").replace("}", "")  # around what is required
        self._formatter.write_usage(prog, plain, f"{translated('Usage')}: ")

    def section(self, name: str) -> Any:
        return self._formatter.section(translated(name))

    def write_text(self, text: str) -> None:
        self._formatter.write_text(_padded(translated(text)))

    def write_dl(self, rows: Any, *spacing: Any) -> None:
        # What is repeated is no list where it is written.
        names = [re.sub(r"<list\[(.+)\]>", lambda kind: f"<{kind[1].lower()}>", n) for n, _ in rows]
        texts = [_padded(translated_record(text)) for _, text in rows]
        self._formatter.write_dl([*zip(names, texts)], *spacing)


def _written(ctx: Any, write: Callable[[Any, Any], None]) -> str:
    formatter = _Formatter(ctx.make_formatter())
    write(ctx, formatter)
    return str(formatter.getvalue()).rstrip("\n").replace(_PAD, "")


def _padded(text: str) -> str:
    return "".join(char + _PAD * (east_asian_width(char) in "WF") for char in text)
