"""How one way to match did."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from kragx.comparison import Estimate

By = Literal["kappa", "f1"]


@dataclass(frozen=True)
class Candidate:
    """How one way to match did.

    Attributes:
        match: its spec, with the threshold that suits all labelled pairs best.
        agreement: kappa or F1 of decisions on queries that its threshold was not chosen on.
        apparent: the same with the final threshold on the pairs it was chosen on: optimistic.
        kappa, f1, precision, recall: of the decisions behind `agreement`.
        thresholds: the least and greatest threshold that a fold chose; None where there is none
            to choose.
        behind: how far it is behind the best candidate, paired over queries.
        tied: whether it cannot be told from the best: the interval of how far it is behind holds 0,
            and it is behind by no more than one standard error of that difference, or .01.
    """

    match: dict[str, Any]
    agreement: Estimate
    apparent: float | None
    kappa: float | None
    f1: float | None
    precision: float | None
    recall: float | None
    thresholds: tuple[float, float] | None
    behind: Estimate
    tied: bool

    @property
    def name(self) -> str:
        """The way to match, without its threshold."""
        if "method" not in self.match:
            return str(self.match)
        options = (
            str(value) if name == "measure" else f"{name} {value}"
            for name, value in self.match.items()
            if name not in ("method", "threshold")
        )
        return " ".join((str(self.match["method"]), *options))
