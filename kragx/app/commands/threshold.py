"""See what a threshold decides, and choose one by labels."""

from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from kragx.agreement import calibration, read_labels
from kragx.api.files import evaluate_files
from kragx.app import config as configs
from kragx.app.commands import options as opt
from kragx.app.commands.command import Commands, group
from kragx.app.commands.match_options import MatchSpec
from kragx.app.commands.output import show, written
from kragx.app.config import match_spec
from kragx.app.pipeline import evaluate_folder
from kragx.comparison import RetrieverScores
from kragx.comparison.advice import failures_of
from kragx.comparison.threshold_study import sweep as sweep_thresholds
from kragx.data import read_dataset
from kragx.evaluation.criteria import Criteria
from kragx.evaluation.evaluation import Evaluation
from kragx.ground.errors import RetrieverError, UsageError
from kragx.ground.printing import joined, message, put, say
from kragx.report.csv_files import sweeps_csv, write_text
from kragx.report.figures.comparison import sweep_figure
from kragx.report.findings import by_matcher

threshold: Commands = group("threshold", __doc__)


@threshold.command()
def sweep(
    results: Annotated[
        list[Path],
        opt.argument(
            metavar="RESULTS",
            help="Results files (- is standard input), or a folder that kragx run has written.",
        ),
    ],
    gold: opt.Gold = None,
    metric: opt.Metrics = None,
    match: MatchSpec = None,
    corpus: opt.Corpus = None,
    trust: opt.Trust = False,
    workers: opt.Workers = None,
    engine: opt.Engine = None,
    address: opt.Address = None,
    plot: opt.Plot = None,
    format: opt.TableJsonOrCsv = "table",  # noqa: A002
) -> None:
    """Show metrics by threshold, and where the order holds."""
    spec = match_spec(match)
    engine_or_count = opt.shared(workers, engine, address)
    failed: dict[str, str] = {}
    evaluations: Sequence[Evaluation]
    file, *others = results
    if file.is_dir() and (others or gold is not None):
        raise UsageError("a folder has its gold and all its retrievers; name it alone")
    if file.is_dir():
        options: dict[str, Any] = {"trust": trust, "workers": engine_or_count}
        evaluations = evaluate_folder(file, match=spec, metrics=metric, **options)
        max_failed = configs.load(file / "config.yaml", trust=False).max_failed
        failed = _failed(evaluations, max_failed)
    elif trust:
        raise UsageError("--trust: belongs to a folder; a results file names no code")
    else:
        criteria = Criteria.of(match=spec, metrics=metric)
        sharing: dict[str, Any] = {"corpus": corpus, "workers": engine_or_count}
        dataset = None if gold is None else read_dataset(gold, role="gold")
        evaluations = [*evaluate_files(results, criteria, gold=dataset, **sharing).values()]
        # One is no comparison; what failed in it counts as empty lists, and is said.
        failed = _failed(evaluations, 0.0) if others else {}
    left = [evaluation for evaluation in evaluations if evaluation.name not in failed]
    # Without any with a threshold, sweeping them says why it cannot.
    swept = [evaluation for evaluation in left if "threshold" in evaluation.settings["match"]]
    sweeps = [*map(sweep_thresholds, by_matcher(swept or left))]
    show(
        format,
        lambda: chain.from_iterable(result.describe() for result in sweeps),
        lambda: {"sweeps": [result.to_dict() for result in sweeps]},
        csv=lambda: sweeps_csv(sweeps),
    )
    if plot is not None:
        sweep_figure(sweeps, plot)
        written([plot])
    if failed:
        raise typer.Exit(RetrieverError.exit_code)


def _failed(evaluations: Iterable[Evaluation], max_failed: float) -> dict[str, str]:
    """The retrievers that are no result, as they failed, and how; each is said.

    Raises:
        RetrieverError: all of them are.
    """
    scores = {evaluation.name: RetrieverScores.of(evaluation) for evaluation in evaluations}
    failures = failures_of([*scores.values()], max_failed)
    texts = {failure.retriever: failure.text for failure in failures if failure.failed}
    if len(texts) == len(scores):
        raise RetrieverError(joined("; ", [joined(" ", pair) for pair in texts.items()]))
    for name, text in texts.items():
        remark = message("{retriever} {failed}, and is left out", retriever=name, failed=text)
        say(joined(": ", ["kragx", remark]))
    return texts


@threshold.command()
def calibrate(
    results: Annotated[
        Path,
        opt.argument(
            metavar="RESULTS.jsonl",
            help="Results file whose pairs are labelled; - is standard input.",
        ),
    ],
    labels: Annotated[
        str | None,
        typer.Option(
            help="Labels: what kragx match wrote, CSV, TREC qrels, or a judgement store. Default: "
            "the places in sources that the results' metadata name."
        ),
    ] = None,
    model: opt.Model = None,
    rubric: opt.RubricId = None,
    examples: opt.ExamplesName = None,
    positive: Annotated[
        float | None,
        typer.Option(help="The least label that is a match (default: 1, or a rubric's cut)."),
    ] = None,
    by: Annotated[Literal["kappa", "f1"], typer.Option(help="What is to be greatest.")] = "kappa",
    match: Annotated[
        list[str] | None,
        typer.Option(
            "--match", help="A further candidate, as a method or mapping; repeat for more."
        ),
    ] = None,
    corpus: opt.Corpus = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write the match block to this YAML file.")
    ] = None,
    format: opt.TableOrJson = "table",  # noqa: A002
) -> None:
    """Choose matcher and threshold by labelled pairs."""
    calibrated = calibration.calibrate(
        str(results),
        labels and read_labels(labels, model=model, rubric=rubric, examples=examples),
        positive=positive,
        by=by,
        more=[match_spec(candidate) for candidate in match or ()],
        corpus=corpus,
    )
    if out is not None:
        write_text(out, calibrated.to_yaml())
    show(format, calibrated.describe, calibrated.to_dict)
    if format == "table":
        put(calibrated.to_yaml())
    if out is not None:
        written([out])
