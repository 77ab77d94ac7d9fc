"""A description as Markdown."""

import re
from collections.abc import Iterable
from html import escape
from itertools import groupby

from kragx.printing.parts import Cell, Heading, Part, Table, visible


def as_markdown(parts: Iterable[Part]) -> str:
    """A description as Markdown, in which every text is shown to the letter."""
    blocks = map(_markdown, parts)
    return (
        "\n\n".join(
            block
            for is_item, group in groupby(blocks, lambda block: block.startswith("- "))
            for block in (["\n".join(group)] if is_item else group)
        )
        + "\n"
    )


def _markdown(part: Part) -> str:
    if isinstance(part, Table):
        return _markdown_table(part)
    text = escaped(part.text)
    if isinstance(part, Heading):
        return f"{'#' * part.level} {text}"
    if part.item or part.style == "yellow":
        return f"- {'**?** ' if part.item == '?' else ''}{text}"
    return text


def _markdown_table(table: Table) -> str:
    def cell(value: Cell) -> str:
        text = f"`{value.text}`" if value.code else escaped(value.text)
        return f"{f'**{text}**' if 'bold' in value.style else text} {escaped(value.below)}".strip()

    rules = ["---" if column < table.words else "---:" for column in range(len(table.columns))]
    rows = [map(escaped, table.columns), rules, *(map(cell, row) for row in table.cells())]
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([*lines, *(["", escaped(table.note)] if table.note else [])])


_MARKDOWN = re.compile(r"([\\`*_\[\]|~$]|(?<!\w)@|(?<=:)//|^[#+=-]+(?=\s|$)|^\d+(?=[.)](?:\s|$)))")


def escaped(text: str) -> str:
    """A text from data as Markdown shows it to the letter.

    White space and line ends become one space, controls visible; what Markdown, HTML in it, or
    GitHub's mentions, links and formulas would read is escaped.
    """
    return _MARKDOWN.sub(lambda match: _escape(match[0]), escape(visible(text), quote=False))


def _escape(special: str) -> str:
    # A backslash before a digit is a backslash; a number that begins a list is written otherwise.
    return f"&#{ord(special[0])};{special[1:]}" if special[0].isdecimal() else f"\\{special}"
