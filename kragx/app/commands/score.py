"""`kragx score` and `match`: the numbers of files, and every pair's score and decision."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from kragx.app.commands import match_options as by, options as opt
from kragx.app.commands.output import one_or_runs, show
from kragx.data import read_dataset, read_runs
from kragx.data.formats.jsonl import write_records
from kragx.errors import RetrieverError, UsageError
from kragx.evaluation.evaluate import evaluate, evaluate_submission, match_pairs
from kragx.evaluation.evaluation import Evaluation
from kragx.metrics import NO_GOLD, PROFILES, profile as profile_named
from kragx.printing import Part, say
from kragx.report.csv_files import means_csv, queries_csv


def score(
    file: Annotated[
        Path | None,
        opt.argument(
            metavar="[FILE.jsonl]",
            help="Results file: JSON Lines with query_id, gold and retrieved; - is standard "
            "input. With --profile science-qa the gold file.",
        ),
    ] = None,
    submission: Annotated[
        Path | None,
        opt.argument(metavar="[SUBMISSION]", help="With --profile science-qa: the submission."),
    ] = None,
    qrels: Annotated[
        Path | None, typer.Option(help="TREC qrels (also .gz), instead of FILE.")
    ] = None,
    run: Annotated[  # the field's word for it; the command `run` is not called from here
        list[Path] | None,
        typer.Option(help="TREC run (also .gz) for --qrels; repeat to compare several."),
    ] = None,
    match: by.Match = None,
    measure: by.Measure = None,
    threshold: by.Threshold = None,
    tokenizer: by.TokenizerName = None,
    id_key: by.IdKey = None,
    gold_id_key: by.GoldIdKey = None,
    direction: by.Direction = None,
    casefold: by.Casefold = None,
    corpus: opt.Corpus = None,
    metric: opt.Metrics = None,
    profile: Annotated[
        str | None, typer.Option(help=f"Whose numbers: {by.listed(PROFILES)} (default: kragx).")
    ] = None,
    no_gold: Annotated[
        str | None, typer.Option(help=f"Queries without gold: {by.listed(NO_GOLD)}.")
    ] = None,
    max_failed: opt.MaxFailed = None,
    per_query: Annotated[bool, typer.Option("--per-query", help="Also each query.")] = False,
    format: opt.TableJsonOrCsv = "table",  # noqa: A002
) -> None:
    """Score a results file, TREC runs or a competition's file.

    Ends with 5 if the results say that a retriever failed.
    """
    _check_sources(file, submission, qrels, run, profile)
    spec = _spec(
        "id" if match is None and qrels is not None else match,
        profile,
        measure=measure,
        threshold=threshold,
        tokenizer=tokenizer,
        id_key=id_key,
        gold_id_key=gold_id_key,
        direction=direction,
        casefold=casefold,
    )
    if submission is not None:
        evaluations = [evaluate_submission(str(file), submission, metrics=metric)]
    else:
        evaluations = [
            evaluate(
                str(file) if qrels is None else read_dataset(qrels, "qrels"),
                system,
                match=spec,
                metrics=metric,
                profile=profile,
                no_gold=no_gold,  # type: ignore[arg-type]  # evaluate checks it
                corpus=corpus,
            )
            for system in ([None] if qrels is None else read_runs(run or []))
        ]
    show(
        format,
        lambda: _parts(evaluations, per_query=per_query),
        lambda: one_or_runs([result.to_dict(queries=per_query) for result in evaluations]),
        csv=lambda: queries_csv(evaluations) if per_query else means_csv(evaluations),
    )
    if any(evaluation.failures for evaluation in evaluations):
        _end(evaluations, max_failed or 0.0)


def match(
    file: Annotated[
        Path,
        opt.argument(
            metavar="FILE.jsonl",
            help="Results file: JSON Lines with query_id, gold and retrieved; - is standard input.",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Where to write (default: standard output)."),
    ] = None,
    match: by.Match = None,
    measure: by.Measure = None,
    threshold: by.Threshold = None,
    tokenizer: by.TokenizerName = None,
    id_key: by.IdKey = None,
    gold_id_key: by.GoldIdKey = None,
    direction: by.Direction = None,
    casefold: by.Casefold = None,
    corpus: opt.Corpus = None,
    texts: Annotated[
        bool, typer.Option("--texts/--no-texts", help="Write question and texts beside decisions.")
    ] = True,
) -> None:
    """Write every pair's score and decision, with the texts.

    JSON Lines, a line for each query; correct "matched" by hand, and it holds labels.
    """
    spec = _spec(
        "overlap" if match is None else match,
        None,
        measure=measure,
        threshold=threshold,
        tokenizer=tokenizer,
        id_key=id_key,
        gold_id_key=gold_id_key,
        direction=direction,
        casefold=casefold,
    )
    write_records(match_pairs(str(file), match=spec, corpus=corpus, texts=texts), out or "-")


def _spec(method: str | None, profile: str | None, **options: Any) -> object:
    """The match spec of a command line; None where nothing is said, for the profile's own."""
    named = opt.given(**options)
    if method is None:
        if not named:
            return None
        method = str(profile_named(profile or "kragx").match)
    spec = _value(method, "--match")
    if "tokenizer" in named:
        named["tokenizer"] = _value(named["tokenizer"], "--tokenizer")
    if isinstance(spec, dict):
        return {**spec, **named}
    return {"method": spec, "args": named} if ":" in str(spec) else {"method": spec, **named}


def _value(text: str, option: str) -> object:
    """A name as it is; a mapping or a file as a config means it, whose reader is loaded late."""
    if not text.strip().startswith("{") and not text.endswith((".yaml", ".yml")):
        return text
    from kragx.app.config import match_spec

    return match_spec(text, option)


def _check_sources(
    file: Path | None,
    submission: Path | None,
    qrels: Path | None,
    runs: list[Path] | None,
    profile: str | None,
) -> None:
    """Refuse a command line from which it is not clear what to score."""
    if (qrels is None) != (not runs):
        raise UsageError("--qrels and --run belong together; one is missing")
    if (file is None) == (qrels is None):
        raise UsageError("name either a results file, or --qrels and --run")
    if (submission is not None) != (profile == "science-qa" and qrels is None):
        raise UsageError(
            "kragx score --profile science-qa GOLD SUBMISSION takes two files, any other profile "
            "one results file"
        )


def _end(evaluations: list[Evaluation], max_failed: float) -> None:
    """Leave with 5 where a retriever failed on more questions than is tolerated."""
    from kragx.comparison import Failures  # which most results files do without

    failures = (Failures.of(evaluation, max_failed) for evaluation in evaluations)
    if bad := [own for own in failures if not own.tolerated]:
        say("; ".join(f"{own.retriever} {own.text}" for own in bad))
        raise typer.Exit(RetrieverError.exit_code)


def _parts(evaluations: list[Evaluation], *, per_query: bool) -> Iterator[Part]:
    if per_query:
        yield from (evaluation.queries_table() for evaluation in evaluations)
    if len(evaluations) == 1:
        yield from evaluations[0].describe()
    else:
        from kragx.comparison.side_by_side import side_by_side

        yield from side_by_side(evaluations)
