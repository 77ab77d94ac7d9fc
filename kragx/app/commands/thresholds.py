"""`kragx sweep`, `calibrate` and `explain`: the commands around matchers and their thresholds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kragx.errors import DataError, UsageError

if TYPE_CHECKING:
    from kragx.evaluation.evaluation import Evaluation

Results = Annotated[
    Path,
    typer.Argument(
        metavar="RESULTS",
        help="A results file (- is standard input), or a folder that kragx run has written.",
        show_default=False,
    ),
]
Match = Annotated[
    str | None,
    typer.Option(
        help="A method, a mapping as in YAML ('{method: rouge2, measure: recall}'), or a YAML "
        "file with 'match:'. Default: the folder's own, or overlap."
    ),
]


def register(app: typer.Typer) -> None:
    """Add these commands to the command."""
    for command in (sweep, calibrate, explain):
        app.command()(command)


def sweep(
    results: Results,
    metric: Annotated[
        list[str] | None,
        typer.Option("--metric", "-m", help="For example recall@5; repeat for more."),
    ] = None,
    match: Match = None,
    from_: Annotated[float, typer.Option("--from", help="The least threshold.")] = 0.01,
    to: Annotated[float, typer.Option(help="The greatest threshold.")] = 1.0,
    step: Annotated[float, typer.Option(help="From one threshold to the next.")] = 0.01,
    every_score: Annotated[
        bool, typer.Option("--every-score", help="Every distinct score instead of steps.")
    ] = False,
    tolerance: Annotated[
        float, typer.Option(help="How far a metric may change within a plateau.")
    ] = 0.01,
    plot: Annotated[
        Path | None, typer.Option(help="Also draw it: a file .png, .svg or .pdf.")
    ] = None,
    format: Annotated[str, typer.Option(help="table, json or csv.")] = "table",  # noqa: A002
) -> None:
    """Show metrics against the threshold, and where they are stable."""
    from kragx.data.formats.jsonl import to_json
    from kragx.evaluation import sweep as sweeps
    from kragx.report.sweeps import print_sweeps, sweep_figure, sweeps_csv
    from kragx.report.text import console

    _check_format(format, ("table", "json", "csv"))
    if not tolerance >= 0:
        raise UsageError(f"--tolerance: {tolerance!r} is below 0")
    evaluations = _varying(_evaluations(results, _spec(match), metric))
    plain_grid = (from_, to, step) == (0.01, 1.0, 0.01)
    found = []
    for each in evaluations:
        graded = "top" in each.settings["match"]
        at: Any = "scores" if every_score else None
        if not every_score and not graded and not plain_grid:
            at = _grid(from_, to, step)
        found.append(sweeps.sweep(each, thresholds=at, tolerance=tolerance))
    match format:
        case "json":
            typer.echo(to_json({"sweeps": [each.to_dict() for each in found]}, indent=2))
        case "csv":
            typer.echo(sweeps_csv(found), nl=False)
        case _:
            print_sweeps(found, console())
            for line in _flips(evaluations):
                console().print(line, style="yellow", markup=False, soft_wrap=True)
    if plot is not None:
        sweep_figure(found, plot)
        console(stderr=True).print(f"written: {plot}", markup=False)


def _varying(evaluations: list[Evaluation]) -> list[Evaluation]:
    """Those with a threshold to vary, where some have one; the others are named."""
    varying = {each.match_name for each in evaluations if "threshold" in each.settings["match"]}
    if not varying:
        return evaluations  # sweeping them says why it cannot
    for name in dict.fromkeys(each.match_name for each in evaluations):
        if name not in varying:
            typer.echo(f"kragx: {name!r} decides yes or no: no threshold to sweep", err=True)
    return [each for each in evaluations if each.match_name in varying]


def _flips(evaluations: list[Evaluation]) -> list[str]:
    """Where the order of the retrievers of one matcher depends on the threshold."""
    from kragx.comparison.flips import all_flips

    lines = []
    for name in dict.fromkeys(each.match_name for each in evaluations):
        same = [each for each in evaluations if each.match_name == name]
        warnings = (found.warning() for found in all_flips(same).values())
        lines += [each.removesuffix("; see kragx sweep") for each in warnings if each]
    return lines


def calibrate(
    results: Annotated[
        Path,
        typer.Argument(
            metavar="RESULTS.jsonl",
            help="Results file whose pairs are labelled; - is standard input.",
            show_default=False,
        ),
    ],
    labels: Annotated[
        Path | None,
        typer.Option(
            help="Labelled pairs: JSON Lines, CSV, TREC qrels, or a judgement store. Default: the "
            "places in sources that the results' metadata name."
        ),
    ] = None,
    labels_format: Annotated[
        str | None,
        typer.Option(help="pairs, matrix, offsets, qrels, store or gold (default: recognised)."),
    ] = None,
    positive: Annotated[
        float | None,
        typer.Option(help="The least label that is a match (default: 1; of a store 2)."),
    ] = None,
    by: Annotated[str, typer.Option(help="What is to be greatest: kappa or f1.")] = "kappa",
    folds: Annotated[int, typer.Option(help="Of cross-validation, by query.")] = 5,
    tokenizer: Annotated[
        list[str] | None,
        typer.Option("--tokenizer", help="Repeat for more (default: unicode and char)."),
    ] = None,
    match: Annotated[
        list[str] | None,
        typer.Option(
            "--match", help="A further candidate, as a method or mapping; repeat for more."
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write the match block to this YAML file.")
    ] = None,
    format: Annotated[str, typer.Option(help="table or json.")] = "table",  # noqa: A002
) -> None:
    """Choose matcher and threshold by labelled pairs."""
    from kragx.agreement import calibration, read_labels
    from kragx.data.formats.jsonl import to_json
    from kragx.report.calibration import print_calibration
    from kragx.report.files import write_text
    from kragx.report.text import console

    _check_format(format, ("table", "json"))
    if not results.is_file() and str(results) != "-":
        raise DataError(f"{results}: there is no such results file")
    options: dict[str, Any] = {"tokenizers": tokenizer} if tokenizer else {}
    found = calibration.calibrate(
        str(results),
        None if labels is None else read_labels(labels, format=labels_format),
        positive=positive,
        by=by,  # type: ignore[arg-type]  # calibrate checks it
        folds=folds,
        more=[_spec(each) for each in match or ()],
        **options,
    )
    if out is not None:
        write_text(out, found.to_yaml())
    if format == "json":
        typer.echo(to_json(found.to_dict(), indent=2))
    else:
        print_calibration(found, console())
        typer.echo(found.to_yaml(), nl=False)
    if out is not None:
        console(stderr=True).print(f"written: {out}", markup=False)


def explain(
    results: Results,
    query: Annotated[str, typer.Option("--query", "-q", help="The query's id.")],
    match: Match = None,
    retriever: Annotated[
        str | None, typer.Option(help="Of a folder: only this retriever (default: each).")
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="Whole texts, however long.")] = False,
    format: Annotated[str, typer.Option(help="table or json.")] = "table",  # noqa: A002
) -> None:
    """Show why each document of a query matched or did not."""
    from kragx.data.formats.jsonl import to_json
    from kragx.report.explanations import print_explanation
    from kragx.report.text import console

    _check_format(format, ("table", "json"))
    spec = _spec(match)
    if results.is_dir():
        from kragx.app.revisit import explain_folder

        found = explain_folder(results, query, match=spec, retriever=retriever)
    else:
        from kragx.evaluation.explain import explain as explained

        if retriever is not None:
            raise UsageError("--retriever: belongs to a folder; a results file is of one retriever")
        found = [explained(str(results), query_id=query, match=spec)]
    if format == "json":
        plain = [each.to_dict() for each in found]
        typer.echo(to_json(plain[0] if len(plain) == 1 else {"runs": plain}, indent=2))
        return
    out = console()
    for at, each in enumerate(found):
        if at:
            out.rule()
        print_explanation(each, out, full=full)


def _evaluations(results: Path, spec: object, metrics: list[str] | None) -> list[Evaluation]:
    """The evaluations of a results file, or of a folder, by another matcher if one is named."""
    from kragx.app.revisit import evaluations_of
    from kragx.evaluation.evaluate import evaluate

    if not results.is_dir():
        return [evaluate(str(results), match=spec, metrics=metrics)]
    return list(evaluations_of(results, match=spec, metrics=metrics))


def _spec(match: str | None) -> object:
    """What --match means: a method, a mapping as in YAML, or a file with `match:`."""
    if match is None:
        return None
    import yaml

    text = match.strip()
    if text.endswith((".yaml", ".yml")):
        try:
            found = yaml.safe_load(Path(text).read_text(encoding="utf-8-sig"))
        except OSError as error:
            raise UsageError(f"--match {match}: cannot be read: {error.strerror}") from None
        except (UnicodeDecodeError, yaml.YAMLError) as error:
            raise UsageError(f"--match {match}: not YAML: {error}") from None
        if not isinstance(found, dict) or "match" not in found:
            raise UsageError(f"--match {match}: the file has no 'match:'")
        return _filled(found["match"])
    if not text.startswith("{"):
        return text
    try:
        return _filled(yaml.safe_load(text))
    except yaml.YAMLError as error:
        raise UsageError(f"--match {match}: not a mapping as in YAML: {error}") from None


def _filled(spec: object) -> object:
    from kragx.app.config import filled

    return filled(spec)


def _grid(first: float, last: float, step: float) -> list[float]:
    if not (0 < first <= last <= 1):
        raise UsageError(f"--from {first:g} --to {last:g}: thresholds lie above 0 and at most at 1")
    if not step > 0:
        raise UsageError(f"--step: {step!r} is not above 0")
    count = int((last - first) / step + 1e-9) + 1
    return [round(first + at * step, 10) for at in range(count)]


def _check_format(given: str, valid: tuple[str, ...]) -> None:
    if given not in valid:
        raise UsageError(f"--format: {given!r} is neither {' nor '.join(valid)}")
