"""Files: several of what was retrieved, compared; and a submission to the Korean competition."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from kragx.api.evaluate import check_gold
from kragx.data import GoldDataset, as_corpus, names_apart, read_dataset, read_rows, read_runs
from kragx.data.formats.other_tools import read_submission
from kragx.evaluation.criteria import Criteria
from kragx.evaluation.evaluate_run import evaluate_run, for_all
from kragx.evaluation.evaluation import Evaluation
from kragx.ground.caller_warnings import about
from kragx.ground.errors import DataError, inside
from kragx.metrics import MetricLike
from kragx.report.record import Clock

if TYPE_CHECKING:
    # It loads the statistics, which a submission does without
    from kragx.api.evaluations import Evaluations


def evaluate_files(
    paths: Sequence[str | Path],
    criteria: Criteria,
    *,
    gold: GoldDataset | None = None,
    reading: Mapping[str, Any] = MappingProxyType({}),
    corpus: object = None,
    workers: object = None,
    max_failed: float = 0.0,
    anyway: bool = False,
) -> "Evaluations":
    """Results files, each of what one retriever returned, compared.

    Each has gold, unless there is one gold set for all. Of files whose questions, or whose gold,
    are not all the same, those questions are compared that are; the result says which the others
    are. Retrievers are named by their files.

    Args:
        paths: of the files.
        criteria: by which they are evaluated.
        gold: the gold set of files that say only what was retrieved.
        reading: options of `kragx.read_rows`; with `gold` those of `kragx.read_run`.
        corpus: as for `kragx.evaluate`.
        workers: as for `kragx.evaluate`.
        max_failed: as for `kragx.compare`.
        anyway: as for `kragx.compare`.

    Raises:
        DataError: a file has mistakes, or lacks gold, or what was retrieved.
        UsageError: a file is named twice; or no question is the same in all of them.
    """
    from kragx.api.evaluations import Evaluations

    clock = Clock()
    corpus_texts, evaluations, names = as_corpus(corpus), [], names_apart(paths)
    # All are read before any is matched: a mistake in the last one shows at once.
    if gold is not None:
        runs = {run.name: run for run in read_runs(paths, gold, **reading)}
        datasets = dict.fromkeys(runs, gold)
    else:
        rows = {name: read_rows(path, **reading) for name, path in zip(names, paths)}
        datasets = {name: dataset for name, (dataset, _) in rows.items()}
        runs = {name: replace(run, name=name) for name, (_, run) in rows.items()}
        # Where files say other gold of a question it is not compared, and either will do.
        queries = {query.id: query for dataset in datasets.values() for query in dataset}
        gold = GoldDataset((*queries.values(),))
    for dataset in datasets.values():
        check_gold(dataset, criteria)
    criteria = for_all(criteria, gold, runs.values(), corpus_texts)
    for path, (name, run) in zip(paths, runs.items()):
        with about(name), inside(path=str(path), kind=DataError):
            evaluations.append(
                evaluate_run(datasets[name], run, criteria, corpus=corpus_texts, workers=workers)
            )
    record, options = clock.record(), {"max_failed": max_failed, "anyway": anyway}
    return Evaluations.of(
        evaluations, runs=runs, corpus=corpus_texts, criteria=criteria, record=record, **options
    )


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
