"""How much of the gold text stands in what was retrieved (docs/coverage.md)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kragx.evaluation.spans import Reader
from kragx.metrics.measures.base import Described, Evidence, MeasureScores, MeasureSpec, mean_of
from kragx.metrics.measures.span_options import OPTIONS, Reading
from kragx.metrics.spans.cover import Floats, Spread
from kragx.metrics.table import Ints


class Spans:
    """The spans of one evaluation: read once for each way of reading, for every measure and k."""

    def __init__(self) -> None:
        self._spreads: dict[Reading, Spread] = {}
        self._settings: dict[Reading, dict[str, Any]] = {}

    def of(self, evidence: Evidence, how: Reading) -> Spread:
        """Where the gold of every query is covered."""
        if how not in self._spreads:
            reader = Reader(evidence, how)
            self._spreads[how] = Spread.of(reader.parts())
            self._settings[how] = reader.settings()
            reader.warn()
        return self._spreads[how]

    @property
    def settings(self) -> list[dict[str, Any]]:
        """How texts were read, for every way that was used."""
        return list(self._settings.values())


def _measured(
    of: Callable[[Spread, Ints], Floats],
) -> Callable[[Evidence, MeasureSpec], MeasureScores]:
    def compute(evidence: Evidence, spec: MeasureSpec) -> MeasureScores:
        how = Reading.of(spec)
        spread = evidence.spans.of(evidence, how)
        values = of(spread, evidence.read(spec.k, spread))
        return MeasureScores(spec, values, mean_of(values))

    return compute


COVERAGE = Described(
    name="coverage",
    question="How much of the gold text do the top k hold together?",
    formula="gold tokens that stand in a run shared with the top k / gold tokens; mean over the "
    "gold items (docs/coverage.md)",
    function=_measured(Spread.coverage),
    options=OPTIONS,
    budgets=True,
    check=Reading.of,
)
DENSITY = Described(
    name="density",
    question="How much of what was retrieved is gold?",
    formula="covered gold tokens / those and the retrieved tokens beside the point, repetitions "
    "counted once",
    function=_measured(Spread.density),
    options=OPTIONS,
    budgets=True,
    check=Reading.of,
)
IOU = Described(
    name="iou",
    question="How closely do the top k fit the gold text?",
    formula="covered gold tokens / all gold tokens and the retrieved tokens beside the point",
    function=_measured(Spread.iou),
    options=OPTIONS,
    budgets=True,
    check=Reading.of,
)
