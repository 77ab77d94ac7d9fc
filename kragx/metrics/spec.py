"""Metric strings: ``ndcg@10(gain=exp2)`` parsed into a value, and printed back canonically."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from typing import Any, Literal

from kragx.data.text import plain_number
from kragx.errors import UsageError, nearest, shorten


@dataclass(frozen=True)
class Budget:
    """A cut-off by the length of what was retrieved: ``500tokens``, ``2000chars``."""

    n: int
    unit: Literal["tokens", "chars"]

    def __str__(self) -> str:
        return f"{self.n}{self.unit}"


Cut = int | Budget | None
"""Where a list is cut: after k documents, where a budget is spent, or not at all."""


@dataclass(frozen=True)
class MetricSpec:
    """One metric with its cut-off and every option resolved; `str` gives its canonical name.

    The canonical name says what differs from the defaults below and nothing else, so that the
    same name always means the same number, whatever the profile.

    Attributes:
        name: the metric, for example ``ndcg``.
        k: the cut-off, a number of documents or a budget; None for the whole list.
        over: what precision divides by: ``k``, or ``retrieved`` (min(k, n)).
        norm: what MAP divides by: ``m`` (all gold), ``hits`` (found gold) or ``cut`` (min(m, k)).
        need: how much gold a hit needs: ``any`` or ``all``.
        gain: from grade to gain: ``linear`` or ``exp2`` (2^grade - 1).
        gain_from: whose grade is the gain: the ``gold`` item's, or the ``judge``'s best grade of it
            so far (for the matcher `llm`).
        rel: the least grade that counts as gold; None for any grade above 0.
        credit: what MAP credits: each ``gold`` item once, or every matching ``document``.
        ideal: what nDCG divides by: the best order of the ``gold``, each credited once; or, with
            every document credited, ``ones``, as many gains of 1 as there is gold; or
            ``retrieved``, the best order of what was retrieved.
        macro: what macro F1 is: the mean of the ``queries``, or taken from the ``means`` of
            precision and recall.

    The last three, and ``gain=score`` (2^score - 1), exist to reproduce other tools; profiles set
    them, metric strings cannot.
    """

    name: str
    k: Cut = None
    over: str = "k"
    norm: str = "m"
    need: str = "any"
    gain: str = "linear"
    gain_from: str = "gold"
    rel: float | None = None
    credit: str = "gold"
    ideal: str = "gold"
    macro: str = "queries"

    @property
    def rank(self) -> int | None:
        """The cut-off as a rank.

        Raises:
            UsageError: it is a budget, which concerns texts.
        """
        if isinstance(self.k, Budget):
            raise UsageError(
                f"metric {str(self)!r}: a budget is cut where the texts are known; use evaluate"
            )
        return self.k

    def __str__(self) -> str:
        cut = "" if self.k is None else f"@{self.k}"
        options = [
            f"{field.name}={_shown(getattr(self, field.name))}"
            for field in fields(self)
            if field.name not in ("name", "k") and getattr(self, field.name) != field.default
        ]
        return f"{self.name}{cut}" + (f"({', '.join(options)})" if options else "")


CHOICES: dict[str, tuple[str, ...]] = {
    "over": ("k", "retrieved"),
    "norm": ("m", "hits", "cut"),
    "need": ("any", "all"),
    "gain": ("linear", "exp2"),
    "gain_from": ("gold", "judge"),
}
"""The values of each option that has a fixed set of them; `rel` takes any number above 0."""

PROFILE_CHOICES: dict[str, tuple[str, ...]] = {"gain": ("score",)}
"""Values that profiles may set and metric strings may not."""

_PATTERN = re.compile(
    r"""\s* (?P<name> [A-Za-z_][\w-]*) \s*
        (?: @ \s* (?P<k> [^()\s]* (?: \s+ [A-Za-z]+ )?) \s* )?
        (?: \( (?P<options> [^()]*) \) \s* )?""",
    re.VERBOSE,
)


def split(text: str) -> tuple[str, Cut, dict[str, str]]:
    """The name, cut-off and options of a metric string, as written.

    Raises:
        UsageError: it is not of the form ``name@k(option=value, ...)``, or k is neither a whole
            number above 0 nor a budget.
    """
    found = _PATTERN.fullmatch(text)
    if found is None:
        raise UsageError(
            f"metric {text!r}: not of the form name@k(option=value), for example "
            "'ndcg@10(gain=exp2)'"
        )
    options: dict[str, str] = {}
    for part in filter(str.strip, (found["options"] or "").split(",")):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not (key and equals and value):
            raise UsageError(f"metric {text!r}: {part.strip()!r} is not of the form option=value")
        if key in options:
            raise UsageError(f"metric {text!r}: the option {key!r} stands twice")
        options[key] = value
    return found["name"].lower().replace("-", "_"), _cut(found["k"], text), options


_NUMBER_AND_UNIT = re.compile(r"(?P<n>0*[1-9][0-9]{0,8})(?P<unit>[A-Za-z]*)")


def _cut(k: str | None, text: str) -> Cut:
    if k is None:
        return None
    found = _NUMBER_AND_UNIT.fullmatch(k)
    if found is None:
        raise UsageError(
            f"metric {shorten(text)}: k must be a whole number from 1 to 999999999, or a budget "
            f"such as 500tokens or 2000chars, not {shorten(k)}; leave '@k' out for the whole list"
        )
    match found["unit"].lower():
        case "":
            return int(found["n"])
        case "tokens" | "chars" as unit:
            return Budget(int(found["n"]), unit)
    raise UsageError(
        f"metric {shorten(text)}: a budget counts tokens or chars, not {found['unit']!r}; "
        f"{nearest(found['unit'], ('tokens', 'chars'))}"
    )


def _shown(value: Any) -> str:
    return plain_number(value) if isinstance(value, float) else str(value)
