"""A description as Markdown, and as the HTML that `_repr_html_` of every result gives."""

import re
from collections.abc import Iterable
from html import escape
from itertools import count, groupby

from kragx.ground.printing.localisation import spoken
from kragx.ground.printing.parts import Cell, Heading, Line, Part, Table, inert, visible


def as_markdown(parts: Iterable[Part], *, language: str | None = None) -> str:
    """A description as Markdown, in which every text is shown to the letter."""
    blocks = map(_markdown, spoken(parts, language))
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


# What Markdown reads, links among it; then what begins a list, a heading, a rule or, in comments of
# GitLab, a command.
_MARKDOWN = re.compile(
    r"[\\`*_\[\]|~$]|(?<=:)//|(?i:(?<=\bwww))\.|^[#+=-]+(?=\s|$)|^\d+(?=[.)](?:\s|$))|^/"
)
# What GitHub looks for in the text that Markdown has made, where no backslash is left: mentions,
# addresses, issues and emojis. Nothing here looks far more than once at a text: one may be long.
_GITHUB = re.compile(
    r"(?<!\w)@(?=\w)|(?<=[\w.+-])@(?=\S{0,255}\.[A-Za-z_])|#(?=\d)|\bGH(?=-\d)"
    r"|:(?=[\w+-]*:)(?=[^A-Za-z+:]*[A-Za-z+])"
)


def escaped(text: str) -> str:
    """A text from data as Markdown shows it to the letter.

    White space and line ends become one space, controls visible; what Markdown, HTML in it, or
    GitHub's mentions, links and formulas would read is escaped.
    """
    parted = _GITHUB.sub(lambda match: f"{match[0]}\u200b", visible(text))
    escaped = _MARKDOWN.sub(lambda match: _escape(match[0]), escape(parted, quote=False))
    return escaped.replace("\u200b", "&#8203;")


def _escape(special: str) -> str:
    # A backslash before a digit is a backslash; a number that begins a list is written otherwise.
    return f"&#{ord(special[0])};{special[1:]}" if special[0].isdecimal() else f"\\{special}"


def as_html(parts: Iterable[Part]) -> str:
    """A description as HTML for a notebook."""
    return "".join(map(_html, spoken(parts)))


def _html(part: Part) -> str:
    if isinstance(part, Line):
        pieces = (
            f"<mark>{escape(piece)}</mark>" if marked else escape(piece)
            for piece, marked in part.pieces()
        )
        return f"<p>{''.join(pieces)}</p>"

    def data(cell: Cell, column: int) -> str:
        text = "<br>".join(escape(inert(line)) for line in (cell.text, cell.below) if line)
        align = " style='text-align:left'" if column < part.words else ""
        return f"<td{align}>{f'<b>{text}</b>' if 'bold' in cell.style else text}</td>"

    heads = "".join(f"<th>{escape(inert(head))}</th>" for head in part.columns)
    rows = "".join(f"<tr>{''.join(map(data, row, count()))}</tr>" for row in part.cells())
    note = f"<p>{escape(inert(part.note))}</p>" if part.note else ""
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>{note}"
