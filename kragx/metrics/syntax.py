"""Metric strings: the parts of ``name@k(option=value)``."""

import re
from dataclasses import dataclass
from typing import Literal

from kragx.errors import UsageError, nearest, shorten


@dataclass(frozen=True)
class TextBudget:
    """A cut-off by the length of what was retrieved: ``500tokens``, ``2000chars``."""

    n: int
    unit: Literal["tokens", "chars"]

    def __str__(self) -> str:
        return f"{self.n}{self.unit}"


Cut = int | TextBudget | None
"""Where a list is cut: after k documents, where a budget is spent, or not at all."""

_PATTERN = re.compile(
    r"""\s* (?P<name> [^\W\d][\w.]*:[^\W\d][\w.]* | [A-Za-z_][\w-]*) \s*
        (?: @ \s* (?P<k> [^()\s]* (?: \s+ [A-Za-z]+ )?) \s* )?
        (?: \( (?P<options> [^()]*) \) \s* )?""",
    re.VERBOSE,
)
_NUMBER_AND_UNIT = re.compile(r"(?P<n>0*[1-9][0-9]{0,8})(?P<unit>[A-Za-z]*)")


def split(text: str) -> tuple[str, Cut, dict[str, str]]:
    """The name, cut-off and options of a metric string; the name as kragx writes it, or a path.

    >>> split("Hit-Rate@5(need = all)")
    ('hit_rate', 5, {'need': 'all'})

    Raises:
        UsageError: it is not of the form ``name@k(option=value, ...)``, or k is neither a whole
            number above 0 nor a budget.
    """
    match = _PATTERN.fullmatch(text)
    if match is None:
        raise UsageError("not of the form name@k(option=value), for example 'ndcg@10(gain=exp2)'")
    options: dict[str, str] = {}
    for part in filter(str.strip, (match["options"] or "").split(",")):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not (key and equals and value):
            raise UsageError(f"{part.strip()!r} is not of the form option=value")
        if key in options:
            raise UsageError(f"the option {key!r} stands twice")
        options[key] = value
    name = match["name"]
    if ":" not in name:
        name = name.lower().replace("-", "_")
    return name, _cut(match["k"]), options


def _cut(k: str | None) -> Cut:
    if k is None:
        return None
    number = _NUMBER_AND_UNIT.fullmatch(k)
    if number is None:
        raise UsageError(
            "k must be a whole number from 1 to 999999999, or a budget such as 500tokens or "
            f"2000chars, not {shorten(k)}",
            remedy="leave '@k' out for the whole list",
        )
    match number["unit"].lower():
        case "":
            return int(number["n"])
        case "tokens" | "chars" as unit:
            return TextBudget(int(number["n"]), unit)
    raise UsageError(
        f"a budget counts tokens or chars, not {number['unit']!r}",
        remedy=nearest(number["unit"], ("tokens", "chars")),
    )
