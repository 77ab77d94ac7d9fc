"""What could turn a verdict, and so stands in it wherever that is read; and what else to know.

What must not be found, texts of one template, failures, missing judgements, ids that never meet,
and an order that a small change of the threshold turns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kragx.comparison.advice import Caution
from kragx.comparison.comparison import Comparison
from kragx.comparison.estimates import definition_of
from kragx.comparison.gold_versions import left_out
from kragx.comparison.orders import orders_warning
from kragx.comparison.power import too_few_questions
from kragx.comparison.scores import RetrieverScores
from kragx.comparison.verdict import leak_of
from kragx.ground.printing import joined, listed, message, number
from kragx.matchers.gold_siblings import siblings_remarks
from kragx.matchers.ids import APART
from kragx.matchers.siblings import SIBLINGS

_NAMED = 3
"""Of so many retrievers it is said how often they leak, the best one first."""

_MANY_MISSING = 10
"""From a tenth of the questions on their absence may turn a verdict."""


def cautions(comparison: Comparison, scores: Sequence[RetrieverScores]) -> Iterator[Caution]:
    """What could turn the verdict of a comparison, the worst first.

    Args:
        comparison: of the retrievers, before there is a verdict.
        scores: those that are compared.
    """
    yield from _leaks(comparison)
    # The gold set and the matcher are everybody's; where texts are misread differs.
    remarks = ((score, [*siblings_remarks(score.counts, score.match)]) for score in scores)
    if told := next(((score, texts) for score, texts in remarks if texts), None):
        yield Caution("siblings", told[1][0], told[0].counts[SIBLINGS])
    yield from _failed(comparison)
    yield from _missing_questions(scores)
    yield from _missing_judgements(comparison.primary, scores)
    apart = {score.name: score.counts.get(APART) for score in scores}
    if n_apart := {name: n for name, n in apart.items() if n}:
        text = message(
            "none of the ids that {names} retrieved is any gold id, so nothing can match by id",
            names=listed(list(n_apart)),
        )
        yield Caution("ids_apart", text, n_apart)
    yield from _threshold(comparison)


def _leaks(comparison: Comparison) -> Iterator[Caution]:
    """Who finds what must not be found, the best one first."""
    # False sorts first, and sorting is stable: the best, then the others as they were named.
    names = sorted(comparison.retrievers, key=lambda name: name != comparison.best)
    if leaks := {name: leak for name in names if (leak := leak_of(comparison, name))}:
        means = {name: comparison.overall.means[name][leak] for name, leak in leaks.items()}
        texts = [
            message("{name} leaks, {metric} is {value}", name=name, metric=leak, value=mean.text)
            for (name, leak), mean in zip(leaks.items(), means.values())
        ]
        if len(texts) > _NAMED:
            texts[_NAMED:] = [message("and {n} more", n=len(texts) - _NAMED)]
        values = {name: mean.value for name, mean in means.items()}
        yield Caution("leaks", joined("; ", texts), values)


def _failed(comparison: Comparison) -> Iterator[Caution]:
    """Who failed, unless the verdict is about that."""
    is_told = len(comparison.retrievers) < 2
    if failures := [failure for failure in comparison.failures if failure.tolerated or not is_told]:
        texts = [
            message(
                "{retriever} {failed}, which score as empty lists"
                if failure.tolerated
                else "{retriever} {failed}, so it is not comparable",
                retriever=failure.retriever,
                failed=failure.text,
            )
            for failure in failures
        ]
        n_failed = {failure.retriever: failure.n_failed for failure in failures}
        yield Caution("failed", joined("; ", texts), n_failed)


def _missing_questions(scores: Sequence[RetrieverScores]) -> Iterator[Caution]:
    """Whose results lack many questions."""
    if lacking := {score.name: n for score in scores if (n := _n_lacking(score))}:
        texts = [
            message(
                "{retriever} has no results for {n} of {of} questions, which score as empty lists",
                retriever=score.name,
                n=lacking[score.name],
                of=score.counts["n_queries"],
            )
            for score in scores
            if score.name in lacking
        ]
        yield Caution("missing_questions", joined("; ", texts), lacking)


def _missing_judgements(metric: str, scores: Sequence[RetrieverScores]) -> Iterator[Caution]:
    """Between what values may become once all judgements are there."""
    bounds = {score.name: [*score.bounds[metric]] for score in scores if metric in score.bounds}
    if bounds and not definition_of(metric).reads_forbidden:
        ranges = [
            message("{low} to {high} ({name})", low=number(low), high=number(high), name=name)
            for name, (low, high) in bounds.items()
        ]
        text = message(
            "judgements are missing, and once they are known {metric} may be {ranges}",
            metric=metric,
            ranges=listed(ranges),
        )
        yield Caution("missing_judgements", text, bounds)


def _threshold(comparison: Comparison) -> Iterator[Caution]:
    """That the best is not the best at a threshold nearby."""
    metric = comparison.primary
    order = next((order for order in comparison.orders if order.metric == metric), None)
    is_turned = order and any(comparison.best in pair for pair in order.swapped)
    if order and is_turned and comparison.leader is not None:
        yield Caution("threshold", order.warning() or "", {"metric": metric})


def _n_lacking(scores: RetrieverScores) -> int:
    """How many questions score 0 as they are not in the results; 0 if those are few."""
    n_missing: int = scores.counts.get("n_missing", 0)
    scored = scores.settings["profile"]["missing"] == "empty"
    is_many = n_missing * _MANY_MISSING >= scores.counts.get("n_queries", 0)
    return n_missing if scored and is_many else 0


def warnings_of(
    comparison: Comparison, scores: Sequence[RetrieverScores], *, every_metric: bool
) -> Iterator[str]:
    """Of several what is not compared though some have it, and what makes the rest less sure."""
    metrics = dict.fromkeys(metric for score in scores for metric in score.means)
    not_compared = [metric for metric in metrics if metric not in comparison.metrics]
    if every_metric and not_compared:
        yield message(
            "not compared, as not all have it: {metrics}", metrics=", ".join(not_compared)
        )
    if n_queries := _n_of_all(comparison, scores) - comparison.n_queries:
        yield message("queries that not all have, left out of the comparison: {n}", n=n_queries)
    if too_few := too_few_questions(comparison):
        yield too_few
    if warning := orders_warning(comparison.orders):
        yield warning


def _n_of_all(comparison: Comparison, scores: Sequence[RetrieverScores]) -> int:
    """How many questions are the same for all, though some retriever may lack them."""
    # What differs between gold sets is told by itself, and is nobody's gap.
    out = left_out(comparison.gold)
    return max(
        len(score.query_ids) - (len(out.intersection(score.query_ids)) if out else 0)
        for score in scores
    )
