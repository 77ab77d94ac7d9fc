"""Measure matchers on every case: how often they are right, and what errors of metrics follow."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from kragx import match_pairs
from kragx.matchers import MatchWarning

from .case import Case

MATCHERS: dict[str, object] = {
    "overlap": "overlap",
    "phrase": "phrase",
    "rouge2 f .5": {"method": "rouge2", "threshold": 0.5},
    "text": "text",
    "contains": "contains",
    "span": "span",
}
"""The columns of the card, the default first."""


@dataclass(frozen=True)
class Measured:
    """How well a matcher's decisions agree with the truth of a case.

    Attributes:
        precision: the share of the pairs called matches that are.
        recall: the share of the true matches that are called so.
        f1: their harmonic mean.
        recall_error: recall@5 by the matcher, less that by the truth.
        mrr_error: MRR by the matcher, less that by the truth.
        wrong: the mean of the absolute error of recall@5, question by question.
    """

    precision: float
    recall: float
    f1: float
    recall_error: float
    mrr_error: float
    wrong: float


def ranks(decisions: Iterable[Iterable[bool]]) -> np.ndarray:
    """The first rank at which each question's gold is found; infinite if never."""
    found = ([rank for rank, yes in enumerate(of_query, 1) if yes] for of_query in decisions)
    return np.array([of_query[0] if of_query else np.inf for of_query in found])


def measure(case: Case, match: object) -> Measured:
    """Ask a matcher about each pair of a case."""
    questions = case.questions
    with warnings.catch_warnings():
        # That rouge2 can do nothing with one token is what the card shows.
        warnings.simplefilter("ignore", MatchWarning)
        gold, docs = [[each.gold] for each in questions], [list(each.docs) for each in questions]
        answered = list(match_pairs(gold, docs, match=match))
    decided = [[row[0] for row in of_query["matched"]] for of_query in answered]
    said = np.concatenate([np.array(each, bool) for each in decided])
    true = np.concatenate([np.array(each.truth, bool) for each in questions])
    both = int((said & true).sum())
    by_matcher, by_truth = ranks(decided), ranks(each.truth for each in questions)
    at_five = (by_matcher <= 5).astype(float) - (by_truth <= 5)
    return Measured(
        precision=both / max(1, int(said.sum())),
        recall=both / max(1, int(true.sum())),
        f1=2 * both / max(1, int(said.sum() + true.sum())),
        recall_error=float(at_five.mean()),
        mrr_error=float((1 / by_matcher - 1 / by_truth).mean()),
        wrong=float(np.abs(at_five).mean()),
    )


def lines(cases: Iterable[Case], matchers: dict[str, object]) -> Iterator[str]:
    """The card as a Markdown table: everything of the first matcher, F1 of the others.

    Where a case has an option, a row has everything with that option.
    """
    first, *others = matchers
    head = ["case", "language", "pairs", f"{first} P", "R", "F1", "recall@5", "MRR", *others]
    yield "| " + " | ".join(head) + " |"
    yield "|---|---|" + "--:|" * (len(head) - 2)
    for case in cases:
        own = _cells(case, case.name, matchers[first])
        behind = [short(measure(case, matchers[other]).f1) for other in others]
        yield "| " + " | ".join((*own, *behind)) + " |"
        if case.option is not None:
            name, match = case.option
            own = _cells(case, f"the same, `{name}`", match)
            yield "| " + " | ".join((*own, *("" for _ in others))) + " |"


def _cells(case: Case, name: str, match: object) -> list[str]:
    """What the card says of a case and the matcher that a row is about."""
    own = measure(case, match)
    n_pairs = sum(len(question.docs) for question in case.questions)
    return [
        *(name, case.language, f"{n_pairs:,}"),
        *(short(value) for value in (own.precision, own.recall)),
        f"**{short(own.f1)}**",
        *(f"{value:+.3f}".replace("0.", ".") for value in (own.recall_error, own.mrr_error)),
    ]


def short(value: float) -> str:
    """Three digits, without a zero before the point."""
    return f"{value:.3f}".removeprefix("0")
