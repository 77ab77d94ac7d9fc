"""Printing is one door: a result describes itself plainly, and this shows it to people.

A result describes itself as `Line`s and `Table`s; they are printed in a terminal, shown as HTML in
a notebook and written as Markdown from the same description. Numbers have one form everywhere.
Sentences are `message`s, which are English texts, and said in another language where one is asked
for (`language`).
"""

from kragx.ground.messages import (
    Name as Name,
    joined as joined,
    message as message,
    plural as plural,
)
from kragx.ground.printing.localisation import (
    in_language as in_language,
    language as language,
    listed as listed,
    speaking as speaking,
    spoken as spoken,
)
from kragx.ground.printing.markdown import as_html, as_markdown
from kragx.ground.printing.parts import (
    Cell,
    Heading,
    Line,
    Part,
    Table,
    at_most as at_most,
    between as between,
    counted as counted,
    duration as duration,
    inert as inert,
    interval as interval,
    limits as limits,
    number,
    percent,
    possible as possible,
    probability as probability,
    signed as signed,
    visible as visible,
    warning as warning,
)
from kragx.ground.printing.progress import progress_bar as progress_bar
from kragx.ground.printing.result import Result, Shown
from kragx.ground.printing.terminal import as_text, console as console, put as put, say as say, show

__all__ = [
    "Cell",
    "Heading",
    "Line",
    "Part",
    "Result",
    "Shown",
    "Table",
    "as_html",
    "as_markdown",
    "as_text",
    "number",
    "percent",
    "show",
]
