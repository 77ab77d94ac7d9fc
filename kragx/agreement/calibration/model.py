"""What a calibration found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import yaml

By = Literal["kappa", "f1"]


@dataclass(frozen=True)
class Estimate:
    """A value with its interval: 95 %, bootstrap over queries; None where it does not exist."""

    value: float | None
    low: float | None
    high: float | None


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

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "match": self.match,
            "agreement": vars(self.agreement),
            "apparent": self.apparent,
            "kappa": self.kappa,
            "f1": self.f1,
            "precision": self.precision,
            "recall": self.recall,
            "thresholds": None if self.thresholds is None else list(self.thresholds),
            "behind": vars(self.behind),
            "tied": self.tied,
        }


@dataclass(frozen=True)
class Calibration:
    """What was chosen, from what, and how much to believe it.

    Attributes:
        by: ``kappa`` or ``f1``.
        chosen: the first of the candidates, simplest first, that cannot be told from the best.
        honest: the agreement to expect of new queries: the whole choice repeated in each fold.
        candidates: all of them, best first.
        folds: how many.
        n_queries, n_pairs, n_matches: labelled queries, pairs, and pairs labelled a match.
        n_unused: labels of pairs that the results do not hold.
        cautions: what to know before trusting it.
    """

    by: By
    chosen: Candidate
    honest: Estimate
    candidates: tuple[Candidate, ...]
    folds: int
    n_queries: int
    n_pairs: int
    n_matches: int
    n_unused: int
    cautions: tuple[str, ...] = ()

    @property
    def match(self) -> dict[str, Any]:
        """The spec of what was chosen, for `evaluate(..., match=...)`."""
        return dict(self.chosen.match)

    def to_yaml(self) -> str:
        """The `match:` block of a config, with where it comes from as comments."""
        own, honest = self.chosen.agreement, self.honest
        lines = [
            f"# Chosen by kragx threshold calibrate from {self.n_pairs} labelled pairs of "
            f"{self.n_queries} queries.",
            f"# {self.by} on queries it was not chosen on: {_shown(own)}; of the whole choice "
            f"{_shown(honest)}.",
            *(f"# Caution: {each}." for each in self.cautions),
        ]
        plain = yaml.safe_dump({"match": self.match}, allow_unicode=True, sort_keys=False)
        return "\n".join([*lines, plain])

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "by": self.by,
            "match": self.match,
            "chosen": self.chosen.to_dict(),
            "honest": vars(self.honest),
            "folds": self.folds,
            "n_queries": self.n_queries,
            "n_pairs": self.n_pairs,
            "n_matches": self.n_matches,
            "n_unused": self.n_unused,
            "cautions": list(self.cautions),
            "candidates": [each.to_dict() for each in self.candidates],
        }


def _shown(estimate: Estimate) -> str:
    if estimate.value is None:
        return "none"
    if estimate.low is None or estimate.high is None:
        return f"{estimate.value:.3f}"
    return f"{estimate.value:.3f} [{estimate.low:.3f}, {estimate.high:.3f}]"
