"""Do both label sets rank the systems alike? Kendall's tau-b, overall and among the top."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Any

import numpy as np

from kragx.agreement.labels import Labels, Scale, document_name
from kragx.data.gold import Gold, GoldDataset, Query
from kragx.data.runs import Run
from kragx.errors import DataError, UsageError
from kragx.evaluation.evaluate import evaluate
from kragx.evaluation.evaluation import Evaluation
from kragx.metrics.table import Floats

METRIC = "ndcg@10"
"""What systems are ranked by, unless told otherwise."""


@dataclass(frozen=True)
class SystemAgreement:
    """How alike two label sets rank systems.

    Attributes:
        metric: what they are ranked by.
        human, judge: each system's mean under either label set.
        judged: the share of each system's documents within the cut that either side has labelled,
            as (human, judge): judged@k, the mean over the queries that found something.
        n_queries: the queries that both sides have labels for.
        tau: Kendall's tau-b over all systems; None where it is undefined.
        top: the names of the best systems by the human labels.
        tau_top: tau-b among those.
        undefined: why a tau is None.
    """

    metric: str
    human: Mapping[str, float]
    judge: Mapping[str, float]
    judged: Mapping[str, tuple[float | None, float | None]]
    n_queries: int
    tau: float | None
    top: tuple[str, ...]
    tau_top: float | None
    undefined: Mapping[str, str]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "metric": self.metric,
            "n_systems": len(self.human),
            "n_queries": self.n_queries,
            "tau": self.tau,
            "top": list(self.top),
            "tau_top": self.tau_top,
            "undefined": dict(self.undefined),
            "systems": {
                name: {
                    "human": self.human[name],
                    "judge": self.judge[name],
                    "judged_human": self.judged[name][0],
                    "judged_judge": self.judged[name][1],
                }
                for name in self.human
            },
        }


def rank_systems(
    human: Labels,
    judge: Labels,
    runs: Sequence[Run],
    scale: Scale,
    *,
    metric: str = METRIC,
    top: int | None = None,
) -> SystemAgreement:
    """Score every run under both label sets, over the queries that both have labels for.

    Args:
        human: the human labels; each side's labels are used in full, not only common pairs.
        judge: the judge's.
        runs: at least two, with different names.
        scale: what is no label on it is left out.
        metric: a metric string.
        top: how many systems are the top; None for half of them, ten at most. Systems as good as
            the last of them belong to it too.

    Raises:
        UsageError: fewer than two runs, names that are equal, or a metric that does not exist.
        DataError: no query has labels from both sides.
    """
    names = [run.name for run in runs]
    if len(set(names)) != len(names):
        raise UsageError("runs: two have the same name; name each differently")
    if len(runs) < 2:
        raise UsageError("runs: one system has no ranking; give at least two")
    if top is not None and (isinstance(top, bool) or top < 2):
        raise UsageError(f"top: {top!r} is not a whole number of at least 2")
    common = [query for query in human.queries if query in judge.queries]
    if not common:
        raise DataError("runs: no query has labels from both sides")
    datasets = [as_gold(labels, scale, common) for labels in (human, judge)]
    scored = {
        run.name: [scored_by(dataset, named(run), [metric]) for dataset in datasets] for run in runs
    }
    key = next(iter(scored[names[0]][0].mean))
    means = [np.array([_mean(scored[name][side], key) for name in names], float) for side in (0, 1)]
    # The same values, summed in another order, differ in their last digits: no ranking in that.
    compared = [np.round(each, 12) for each in means]
    limit = min(10, ceil(len(runs) / 2)) if top is None else min(top, len(runs))
    best = np.sort(compared[0])[::-1][max(limit, 2) - 1]
    in_top = compared[0] >= best
    undefined: dict[str, str] = {}
    taus: dict[str, float | None] = {}
    for name, chosen in (("tau", np.ones(len(names), bool)), ("tau_top", in_top)):
        taus[name] = kendall_tau_b(*(each[chosen] for each in compared))
        if taus[name] is None:
            undefined[name] = "one side scores all of these systems the same"
    order = np.argsort(-compared[0], kind="stable")
    return SystemAgreement(
        metric=key,
        human={names[at]: float(means[0][at]) for at in order},
        judge={names[at]: float(means[1][at]) for at in order},
        judged={
            names[at]: (judged_share(scored[names[at]][0]), judged_share(scored[names[at]][1]))
            for at in order
        },
        n_queries=len(common),
        tau=taus["tau"],
        top=tuple(names[at] for at in order if in_top[at]),
        tau_top=taus["tau_top"],
        undefined=undefined,
    )


def kendall_tau_b(first: Floats, second: Floats) -> float | None:
    """Kendall's tau-b of two lists of scores, ties corrected for; None where one is all ties.

    Source: M. Kendall, The treatment of ties in ranking problems, 1945.
    """
    upper = np.triu_indices(len(first), 1)
    one, other = (np.sign(np.subtract.outer(each, each))[upper] for each in (first, second))
    pairs = np.sqrt((one != 0).sum() * float((other != 0).sum()))
    return float((one * other).sum() / pairs) if pairs else None


def as_gold(
    labels: Labels,
    scale: Scale,
    queries: Sequence[str],
    sources: Mapping[tuple[str, str], str] | None = None,
) -> GoldDataset:
    """Labels as a gold set; on a scale from 1 on, its lowest label becomes grade 0.

    Args:
        labels: what is not on the scale is left out.
        scale: of the labels.
        queries: in this order; one without labels has no gold.
        sources: who gave each label, kept as each gold item's ``metadata["label"]``.
    """
    shift = max(0, scale.low)
    return GoldDataset(
        tuple(
            Query(
                query,
                gold=tuple(
                    Gold(
                        id=document,
                        grade=grade - shift,
                        metadata={"label": sources[query, document]} if sources else {},
                    )
                    for document, grade in labels.queries.get(query, {}).items()
                    if grade in scale
                ),
            )
            for query in queries
        ),
        name=labels.name,
    )


def named(run: Run) -> Run:
    """The run with a name for each document that has no id, as labels call it."""
    if all(doc.id is not None for found in run.results.values() for doc in found.documents):
        return run
    return replace(
        run,
        results={
            query: replace(
                found,
                documents=tuple(replace(doc, id=document_name(doc)) for doc in found.documents),
            )
            for query, found in run.results.items()
        },
    )


def scored_by(dataset: GoldDataset, run: Run, metrics: Sequence[str]) -> Evaluation:
    """An evaluation by ids in which every query counts: one without a relevant label scores 0.

    Raises:
        UsageError: a metric does not exist, or is a measure, which labels do not decide.
    """
    found = evaluate(dataset, run, match="id", metrics=metrics, no_gold="zero")
    if found.measures:
        raise UsageError(
            f"metric {str(found.measures[0].spec)!r} is not made of labels; name one that is, such "
            "as ndcg@10"
        )
    return found


def lowest_is_zero(scale: Scale) -> tuple[str, ...]:
    """What a reader must know of grades on a scale from 1 on, as `as_gold` makes them."""
    if scale.low <= 0:
        return ()
    return (
        f"in metrics the labels {scale} count as grades 0 to {scale.high - scale.low}: the lowest "
        f"is no relevance, and rel=2 means a label of {scale.low + 2} or more",
    )


def judged_share(evaluation: Evaluation) -> float | None:
    """judged@k at the deepest cut, as the measure has it; None if nothing was retrieved."""
    table = evaluation.table
    k = deepest(evaluation)
    ranks = np.arange(len(table.repeated)) - np.repeat(table.doc_start[:-1], table.n_docs)
    rows = np.repeat(np.arange(table.n_queries), table.n_docs)
    inside = ranks < (np.inf if k is None else k)
    sizes, labelled = (
        np.bincount(rows[chosen], minlength=table.n_queries)
        for chosen in (inside, inside & table.judged)
    )
    some = sizes > 0
    return float((labelled[some] / sizes[some]).mean()) if some.any() else None


def deepest(evaluation: Evaluation) -> int | None:
    """The greatest cut of an evaluation's metrics; None if one looks at whole lists."""
    cuts = [each.spec.k for each in evaluation.scores]
    known = [k for k in cuts if isinstance(k, int)]
    return max(known) if len(known) == len(cuts) else None


def _mean(evaluation: Evaluation, metric: str) -> float:
    mean = evaluation.mean[metric]
    if mean is None:
        raise UsageError(f"metric {metric!r} has no value for {evaluation.name!r} on any query")
    return mean
