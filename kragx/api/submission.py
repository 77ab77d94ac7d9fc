"""`evaluate_submission`: rows of the Korean science QA competition, scored as it does."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from kragx.data import read_dataset
from kragx.data.formats.other_tools import read_submission
from kragx.evaluation.criteria import Criteria
from kragx.evaluation.evaluate_run import evaluate_run
from kragx.evaluation.evaluation import Evaluation
from kragx.metrics import MetricLike


def evaluate_submission(
    gold: str | Path,
    submission: str | Path,
    *,
    metrics: MetricLike | Iterable[MetricLike] | None = None,
) -> Evaluation:
    """Score a submission of the Korean science QA competition as the competition does.

    Args:
        gold: the gold file (`kragx.data.formats.other_tools`).
        submission: the submission; its rows are what is scored.
        metrics: metric strings; None for the competition's ``map@3``.

    Returns:
        An evaluation of the profile science-qa with a query for each row; gold queries without a
        row are left out of it and counted as ``n_missing``.
    """
    dataset, run, left_out = read_submission(submission, read_dataset(gold, "science-qa"))
    evaluation = evaluate_run(dataset, run, Criteria.of(metrics=metrics, profile="science-qa"))
    # They are no questions of the set that is evaluated, so only the reader of rows knows of them.
    return replace(evaluation, counts={**evaluation.counts, "n_missing": len(left_out)})
