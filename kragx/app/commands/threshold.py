"""Thresholds: sweep, calibrate."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import typer

from kragx.agreement import calibration, read_labels
from kragx.app import config as configs
from kragx.app.commands import options as opt
from kragx.app.commands.match_options import MatchSpec, listed
from kragx.app.commands.output import show, written
from kragx.app.config import match_spec
from kragx.app.pipeline import evaluate_folder
from kragx.comparison import Failures
from kragx.comparison.flips import all_flips
from kragx.comparison.plateaus import Plateau, plateaus
from kragx.data import TOKENIZERS
from kragx.errors import RetrieverError, UsageError
from kragx.evaluation.criteria import Criteria
from kragx.evaluation.evaluate import evaluate_run
from kragx.evaluation.evaluation import Evaluation
from kragx.evaluation.sweep import Sweep, sweep as sweep_thresholds
from kragx.printing import Part, joined, phrase, put, say, warning
from kragx.report.csv_files import sweeps_csv, write_text
from kragx.report.figures.sweep import sweep_figure

threshold: opt.Commands = opt.group("threshold", __doc__)

FIRST, LAST, STEP = 0.01, 1.0, 0.01
"""The thresholds of a sweep, where none are named."""


@threshold.command()
def sweep(
    results: opt.Results,
    metric: opt.Metrics = None,
    match: MatchSpec = None,
    corpus: opt.Corpus = None,
    trust: opt.Trust = False,
    workers: opt.Workers = None,
    engine: opt.Engine = None,
    address: opt.Address = None,
    from_: Annotated[float, typer.Option("--from", help="The least threshold.")] = FIRST,
    to: Annotated[float, typer.Option(help="The greatest threshold.")] = LAST,
    step: Annotated[float, typer.Option(help="From one threshold to the next.")] = STEP,
    every_score: Annotated[
        bool, typer.Option("--every-score", help="Every distinct score instead of steps.")
    ] = False,
    tolerance: Annotated[
        float, typer.Option(help="How far from its value a metric may be and count as stable.")
    ] = 0.01,
    plot: Annotated[
        Path | None, typer.Option(help="Also draw it: a file .png, .svg or .pdf.")
    ] = None,
    format: opt.TableJsonOrCsv = "table",  # noqa: A002
) -> None:
    """Show metrics against the threshold, and where values and order of retrievers hold."""
    if not tolerance >= 0:
        raise UsageError(f"--tolerance: {tolerance!r} is below 0")
    spec = match_spec(match)
    who = opt.shared(workers, engine, address)
    of_all = _evaluations(results, spec, metric, corpus, trust=trust, workers=who)
    # A results file is no comparison; what failed in it counts as empty lists, and is said.
    lost = _failed(results, of_all) if results.is_dir() else {}
    evaluations = _varying([own for own in of_all if own.name not in lost])
    grid = None if (from_, to, step) == (FIRST, LAST, STEP) else _grid(from_, to, step)

    sweeps = [
        sweep_thresholds(evaluation, thresholds=thresholds, tolerance=tolerance)
        for retrievers in _by_matcher(evaluations)
        for thresholds in [_thresholds(retrievers, grid, every_score=every_score)]
        for evaluation in retrievers
    ]
    show(
        format,
        lambda: _parts(sweeps, evaluations),
        lambda: {
            "sweeps": [result.to_dict() for result in sweeps],
            "plateaus": [plateau.to_dict() for plateau in _plateaus(sweeps)],
        },
        csv=lambda: sweeps_csv(sweeps),
    )
    if plot is not None:
        sweep_figure(sweeps, plot)
        written([plot])
    if lost:
        raise typer.Exit(RetrieverError.exit_code)


def _failed(folder: Path, evaluations: Iterable[Evaluation]) -> dict[str, Failures]:
    """The retrievers of a folder that are no result, as they failed; each is said.

    Raises:
        RetrieverError: all of them are.
    """
    max_failed = configs.load(folder / "config.yaml", trust=False).max_failed
    failures = {evaluation.name: Failures.of(evaluation, max_failed) for evaluation in evaluations}
    lost = {name: failure for name, failure in failures.items() if not failure.tolerated}
    if len(lost) == len(failures):
        raise RetrieverError("; ".join(f"{name} {own.text}" for name, own in lost.items()))
    for name, own in lost.items():
        text = phrase("{retriever} {failed}, and is left out", retriever=name, failed=own.text)
        say(joined(": ", ["kragx", text]))
    return lost


def _evaluations(
    results: Path,
    spec: object,
    metrics: list[str] | None,
    corpus: Path | None,
    *,
    trust: bool,
    workers: object,
) -> list[Evaluation]:
    """The evaluations of a results file, or of a folder, by another matcher if one is named."""
    if not results.is_dir():
        if trust:
            raise UsageError("--trust: belongs to a folder; a results file names no code")
        criteria = Criteria.of(match=spec, metrics=metrics)
        return [evaluate_run(str(results), None, criteria, corpus=corpus, workers=workers)]
    return list(
        evaluate_folder(
            results, match=spec, metrics=metrics, corpus=corpus, trust=trust, workers=workers
        )
    )


def _varying(evaluations: list[Evaluation]) -> list[Evaluation]:
    """Those with a threshold to vary, where some have one; the others are named."""
    has_one = {
        evaluation.match_name: "threshold" in evaluation.settings["match"]
        for evaluation in evaluations
    }
    if not any(has_one.values()):
        return evaluations  # sweeping them says why it cannot
    for name, varies in has_one.items():
        if not varies:
            text = phrase("{match!r} decides yes or no: no threshold to sweep", match=name)
            say(joined(": ", ["kragx", text]))
    return [evaluation for evaluation in evaluations if has_one[evaluation.match_name]]


def _by_matcher(evaluations: Iterable[Evaluation]) -> Iterator[list[Evaluation]]:
    for _, retrievers in groupby(evaluations, lambda evaluation: evaluation.match_name):
        yield list(retrievers)


def _thresholds(
    retrievers: Sequence[Evaluation], grid: list[float] | None, *, every_score: bool
) -> list[float] | None:
    """Where to look under one matcher, the same for all, so that their order can be seen."""
    chosen = float(retrievers[0].table.threshold)
    if every_score:
        scores = np.concatenate([retriever.table.pair_score for retriever in retrievers])
        return [float(score) for score in np.unique([*scores[scores > 0], chosen])]
    if grid is None or "top" in retrievers[0].settings["match"]:
        return None
    return [*grid, *([chosen] if grid[0] <= chosen <= grid[-1] else [])]


def _grid(first: float, last: float, step: float) -> list[float]:
    if not (0 < first <= last <= 1):
        raise UsageError(f"--from {first:g} --to {last:g}: thresholds lie above 0 and at most at 1")
    if not step > 0:
        raise UsageError(f"--step: {step!r} is not above 0")
    count = int((last - first) / step + 1e-9) + 1
    return [round(first + number * step, 10) for number in range(count)]


def _plateaus(sweeps: list[Sweep]) -> Iterator[Plateau]:
    """Of the retrievers under each matcher."""
    for _, retrievers in groupby(sweeps, lambda swept: swept.match_name):
        yield from plateaus(list(retrievers))


def _parts(sweeps: list[Sweep], evaluations: list[Evaluation]) -> Iterator[Part]:
    """The sweeps, and where the order of retrievers depends on the threshold."""
    for part in (*sweeps, *_plateaus(sweeps)):
        yield from part.describe()
    for retrievers in _by_matcher(evaluations):
        for flips in all_flips(retrievers).values():
            if line := flips.warning():
                yield warning(line)


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
            help="Labelled pairs: JSON Lines, CSV, TREC qrels, or a judgement store. Default: the "
            "places in sources that the results' metadata name."
        ),
    ] = None,
    labels_format: Annotated[
        str | None,
        typer.Option(help="pairs, matrix, offsets, qrels, store or gold (default: recognised)."),
    ] = None,
    model: opt.Model = None,
    rubric: opt.RubricId = None,
    examples: opt.ExamplesName = None,
    positive: Annotated[
        float | None,
        typer.Option(help="The least label that is a match (default: 1, or a rubric's cut)."),
    ] = None,
    by: Annotated[Literal["kappa", "f1"], typer.Option(help="What is to be greatest.")] = "kappa",
    folds: Annotated[int, typer.Option(help="Of cross-validation, by query.")] = 5,
    tokenizer: Annotated[
        list[str] | None,
        typer.Option(
            "--tokenizer", help=f"{listed(TOKENIZERS)}; repeat for more (default: unicode, char)."
        ),
    ] = None,
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
        labels
        and read_labels(
            labels, format=labels_format, model=model, rubric=rubric, examples=examples
        ),
        positive=positive,
        by=by,
        folds=folds,
        more=[match_spec(candidate) for candidate in match or ()],
        corpus=corpus,
        **opt.given(tokenizers=tokenizer),
    )
    if out is not None:
        write_text(out, calibrated.to_yaml())
    show(format, calibrated.describe, calibrated.to_dict)
    if format == "table":
        put(calibrated.to_yaml())
    if out is not None:
        written([out])
