"""The options that several metrics share, and that a profile fixes."""

from kragx.errors import UsageError
from kragx.metrics.spec import Option


def _above_0(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise UsageError(f"must be a number above 0, not {text!r}")
    return number


OVER = Option("k", ("k", "retrieved"), by_profile=True)
"""What precision divides by: k, or what was retrieved of it (min(k, n))."""

NORM = Option("m", ("m", "hits", "cut"), by_profile=True)
"""What MAP divides by: all gold (m), the found gold (hits), or min(m, k) (cut)."""

NEED = Option("any", ("any", "all"), by_profile=True)
"""How much gold a hit needs."""

GAIN = Option("linear", ("linear", "exp2"), by_profile=True)
"""From grade to gain: the grade, or 2^grade - 1. Profiles also set ``score``: 2^score - 1."""

GAIN_FROM = Option("gold", ("gold", "judge"), by_profile=True)
"""Whose grade is the gain: the gold item's, or the judge's best grade of it so far (`llm`)."""

REL = Option(None, read=_above_0, by_profile=True)
"""The least grade that counts as gold; None for any grade above 0."""

# These exist to reproduce other tools.

CREDIT = Option("gold", by_profile=True, settable=False)
"""What MAP credits: each ``gold`` item once, or every matching ``document``."""

IDEAL = Option("gold", by_profile=True, settable=False)
"""What nDCG divides by.

The best order of the ``gold``, each credited once; or, with every document credited, ``ones``, as
many gains of 1 as there is gold; or ``retrieved``, the best order of what was retrieved.
"""

MACRO = Option("queries", by_profile=True, settable=False)
"""What macro F1 is: the mean of the queries, or taken from the ``means`` of P and R."""
