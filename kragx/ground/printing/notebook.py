"""A description as HTML for a notebook: what `_repr_html_` of every result gives."""

from collections.abc import Iterable
from html import escape
from itertools import count

from kragx.ground.printing.parts import Cell, Line, Part, inert
from kragx.ground.printing.phrases import spoken


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
