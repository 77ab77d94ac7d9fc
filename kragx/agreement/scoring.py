"""Systems scored by labels: labels as a gold set, documents called as labels call them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from kragx.agreement.labels import Labels, Pair, Scale, document_name
from kragx.data.gold import Gold, GoldDataset, Query
from kragx.data.runs import Run
from kragx.errors import UsageError
from kragx.evaluation.evaluate import evaluate
from kragx.evaluation.evaluation import Evaluation


def systems(runs: Sequence[Run]) -> list[Run]:
    """The runs with a name for each document that has no id, as labels call it.

    Raises:
        UsageError: there is no run, or two have one name.
    """
    if not runs:
        raise UsageError("runs: there is no system to score; name at least one")
    if len({run.name for run in runs}) != len(runs):
        raise UsageError("runs: two have the same name; name each differently")
    return [
        replace(
            run,
            results={
                query: replace(
                    result,
                    documents=tuple(
                        doc if doc.id is not None else replace(doc, id=document_name(doc))
                        for doc in result.documents
                    ),
                )
                for query, result in run.results.items()
            },
        )
        for run in runs
    ]


def as_gold(
    labels: Labels,
    scale: Scale,
    queries: Sequence[str],
    sources: Mapping[Pair, str] | None = None,
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


def lowest_is_zero(scale: Scale) -> tuple[str, ...]:
    """What a reader must know of grades on a scale from 1 on, as `as_gold` makes them."""
    if scale.low <= 0:
        return ()
    return (
        f"in metrics the labels {scale} count as grades 0 to {scale.high - scale.low}: the lowest "
        f"is no relevance, and rel=2 means a label of {scale.low + 2} or more",
    )


def not_used(n_out_of_scale: int, scale: Scale) -> tuple[str, ...]:
    """What a reader must know of labels off the scale; nothing if there are none."""
    if not n_out_of_scale:
        return ()
    inferred = (
        f"; the scale, {scale}, was taken from the human labels: name it (--scale 0-3) if they "
        "belong to it"
    )
    return (
        f"out of scale, not used: {n_out_of_scale} labels" + (inferred if scale.inferred else ""),
    )


def scored_by(dataset: GoldDataset, run: Run, metrics: Sequence[str]) -> Evaluation:
    """An evaluation by ids in which every query counts: one without a relevant label scores 0.

    Raises:
        UsageError: a metric does not exist, or is not made of labels.
    """
    evaluation = evaluate(dataset, run, match="id", metrics=metrics, no_gold="zero")
    for spec in evaluation.specs:
        if spec.needs_evidence:
            raise UsageError(
                f"metric {str(spec)!r} is not made of labels; name one that is, such as ndcg@10"
            )
    return evaluation


def deepest(evaluation: Evaluation) -> int | None:
    """The greatest cut of an evaluation's metrics; None if one looks at whole lists."""
    cuts = [score.spec.k for score in evaluation.scores]
    known = [k for k in cuts if isinstance(k, int)]
    return max(known) if len(known) == len(cuts) else None


def judged_share(evaluation: Evaluation) -> float | None:
    """judged@k at the deepest cut, as the measure has it; None if nothing was retrieved."""
    k, judged = deepest(evaluation), evaluation.table.judged
    lists = (labelled[:k] for labelled in np.split(judged, evaluation.table.doc_start[1:-1]))
    shares = [labelled.mean() for labelled in lists if labelled.size]
    return float(np.mean(shares)) if shares else None
