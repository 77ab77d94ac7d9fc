"""Printing is one door: a result describes itself plainly, and this shows it to people.

A result describes itself as `Line`s and `Table`s; they are printed in a terminal, shown as HTML in
a notebook and written as Markdown from the same description. Numbers have one form everywhere.
"""

from kragx.printing.markdown import as_markdown
from kragx.printing.notebook import as_html
from kragx.printing.numbers import (
    counted,
    duration,
    interval,
    number,
    percent,
    possible,
    probability,
    signed,
)
from kragx.printing.parts import Cell, Heading, Line, Part, Table, inert, visible, warning
from kragx.printing.result import Result
from kragx.printing.terminal import as_text, console, progress_bar, put, say, show

__all__ = [
    "Cell",
    "Heading",
    "Line",
    "Part",
    "Result",
    "Table",
    "as_html",
    "as_markdown",
    "as_text",
    "console",
    "counted",
    "duration",
    "inert",
    "interval",
    "number",
    "percent",
    "possible",
    "probability",
    "progress_bar",
    "put",
    "say",
    "show",
    "signed",
    "visible",
    "warning",
]
