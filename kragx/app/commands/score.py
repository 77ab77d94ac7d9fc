"""`kragx score` and `match`: the numbers of files, and every pair's score and decision."""

from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kragx.api.evaluate import evaluate
from kragx.api.files import evaluate_files, evaluate_submission
from kragx.api.pairs import match_pairs
from kragx.app.commands import match_options as by, options as opt
from kragx.app.commands.output import show
from kragx.app.result_folder.atomic_folder import MANIFEST
from kragx.data import read_dataset, read_run
from kragx.data.formats.jsonl import ending, write_records
from kragx.data.formats.parquet import is_located
from kragx.data.reading import nothing_to_find
from kragx.evaluation.criteria import Criteria, ids_alone
from kragx.evaluation.part_tables import evaluate_in_parts
from kragx.ground.errors import RetrieverError, UsageError
from kragx.ground.printing import Heading, Part, Table, joined, number, say
from kragx.metrics import NO_GOLD, PROFILES, profile as profile_named
from kragx.report.csv_files import means_csv, queries_csv

if TYPE_CHECKING:
    from kragx.api.evaluations import Evaluations
    from kragx.comparison import Failures
    from kragx.evaluation.evaluation import Evaluation


def score(
    files: Annotated[
        list[str] | None,
        opt.argument(
            metavar="FILE",
            help="Results: JSON Lines with query_id, gold and retrieved (- is standard input), or "
            "Parquet: files, a folder, a pattern ('data/*.parquet') or s3:// and gs:// addresses. "
            "With --profile science-qa the gold file and the submission. "
            "Several of JSON Lines are compared.",
        ),
    ] = None,
    gold: opt.Gold = None,
    qrels: Annotated[
        Path | None,
        typer.Option(help="Qrels of TREC (also .gz), BEIR, ranx or ir_measures, as gold."),
    ] = None,
    run: Annotated[  # the field's word for it; the command `run` is not called from here
        list[str] | None,
        typer.Option(help="TREC run (also .gz), as FILE; repeat to compare several."),
    ] = None,
    match: by.Match = None,
    threshold: by.Threshold = None,
    column: opt.Columns = None,
    roles: opt.Roles = None,
    corpus: opt.Corpus = None,
    metric: opt.Metrics = None,
    profile: Annotated[
        str | None, typer.Option(help=f"Whose numbers: {', '.join(PROFILES)} (default: kragx).")
    ] = None,
    no_gold: Annotated[
        str | None, typer.Option(help=f"Queries without gold: {', '.join(NO_GOLD)}.")
    ] = None,
    max_failed: opt.MaxFailed = None,
    anyway: opt.Anyway = False,
    workers: opt.Workers = None,
    engine: opt.Engine = None,
    address: opt.Address = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="Folder for the values of each query as Parquet, a table for each part of the "
            "results; what stands there of the same content and settings is not computed again.",
        ),
    ] = None,
    per_query: Annotated[bool, typer.Option("--per-query", help="Also each query.")] = False,
    format: opt.TableJsonOrCsv = "table",  # noqa: A002
) -> None:
    """Score results, TREC runs or a competition's file; compare them.

    Ends with 5 if the results say that a retriever failed.
    """
    files = [*(run or ()), *(files or ())]
    is_submission = profile == "science-qa" and qrels is None
    _check_sources(files, gold, qrels, is_submission=is_submission)
    several = not is_submission and len(files) > 1 and (bool(run) or not is_located(files))
    if out is not None and (qrels or gold or several or is_submission):
        raise UsageError(
            "--out: writes tables of one set of results files, which hold their gold",
            remedy="several become folders for kragx compare; for JSON or CSV write --format",
        )
    named = opt.columns(column or [])
    dataset = None
    if qrels is not None:
        # What other tools save; all else is TREC's or BEIR's, with its errors.
        is_other = ending(qrels) in (".json", ".csv", ".parquet", ".xlsx")
        dataset = read_dataset(qrels, None if is_other else "qrels", named, role="gold")
    elif gold is not None:
        dataset = read_dataset(gold, columns=named, role=opt.said(roles, "gold"))
    if match is None and (qrels or (dataset and corpus is None and ids_alone(dataset, ()))):
        match = "id"
    measures: dict[str, Any] = {
        "match": _spec(match, profile, threshold),
        "metrics": metric,
        "profile": profile,
        "no_gold": no_gold,
    }
    shared: dict[str, Any] = {"corpus": corpus, "workers": opt.shared(workers, engine, address)}
    if anyway and not several:
        raise UsageError("--anyway: belongs to several files that are compared")
    if several:
        compared = evaluate_files(
            files,
            Criteria.of(**measures),
            gold=dataset,
            reading={"columns": named, "role": opt.said(roles, "results" if dataset else None)},
            max_failed=max_failed or 0.0,
            anyway=anyway,
            **shared,
        )
        _show_several(compared, format, per_query=per_query)
        return
    if out is not None:
        in_parts = evaluate_in_parts(_source(files), out, **measures, **shared)
        say(in_parts.remark)
        evaluation = in_parts.evaluation
    elif is_submission:
        evaluation = evaluate_submission(*files, metrics=metric)
    elif dataset is None:
        rows, answers = opt.rows(_source(files), column, roles)
        evaluation = evaluate(rows, answers, **measures, **shared)
    else:
        role = opt.said(roles, "results")
        system = read_run(_source(files), dataset, named, role=role)
        evaluation = evaluate(dataset, system, **measures, **shared)
    show(
        format,
        # Not made where nobody asks: of a million questions it is most of the memory.
        lambda: chain([_queries_table(evaluation)] if per_query else [], evaluation.describe()),
        lambda: evaluation.to_dict(queries=per_query),
        csv=lambda: queries_csv([evaluation]) if per_query else means_csv([evaluation]),
    )
    if evaluation.failures:
        # Which most results files do without.
        from kragx.comparison import RetrieverScores
        from kragx.comparison.advice import failures_of

        _end(failures_of([RetrieverScores.of(evaluation)], max_failed or 0.0))


def match(
    file: Annotated[
        str,
        opt.argument(
            metavar="FILE.jsonl",
            help="Results file: JSON Lines with query_id, gold and retrieved; - is standard input. "
            "Or Parquet, as of kragx score.",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Where to write (default: standard output)."),
    ] = None,
    gold: opt.Gold = None,
    match: by.Match = None,
    threshold: by.Threshold = None,
    corpus: opt.Corpus = None,
    workers: opt.Workers = None,
    engine: opt.Engine = None,
    address: opt.Address = None,
    column: opt.Columns = None,
    roles: opt.Roles = None,
    texts: Annotated[
        bool, typer.Option("--texts/--no-texts", help="Write question and texts beside decisions.")
    ] = True,
) -> None:
    """Write every pair's score and decision, with the texts.

    JSON Lines, a line for each query; correct "matched" by hand, and it holds labels.
    """
    pairs = match_pairs(
        *opt.rows(file, column, roles, gold=gold),
        match=_spec("overlap" if match is None else match, None, threshold),
        corpus=corpus,
        texts=texts,
        workers=opt.shared(workers, engine, address),
    )
    write_records(_of_gold(pairs, file), out or "-")


def _of_gold(pairs: Iterable[dict[str, Any]], file: str) -> Iterator[dict[str, Any]]:
    """The same, which are of nothing where no question has gold."""
    n, has_gold = 0, False
    for n, pair in enumerate(pairs, start=1):  # noqa: B007  # how many there are
        has_gold = has_gold or bool(pair["gold_ids"])
        yield pair
    if not has_gold:
        raise nothing_to_find(n, file)


def _spec(text: str | None, profile: str | None, threshold: float | None) -> object:
    """The match spec of a command line; None where nothing is said, for the profile's own."""
    if text is None and threshold is None:
        return None
    spec: object = str(profile_named(profile or "kragx").match) if text is None else text
    if text is not None and (text.strip().startswith("{") or text.endswith((".yaml", ".yml"))):
        from kragx.app.config import match_spec  # which loads what a name does without

        spec = match_spec(text)
    if threshold is None:
        return spec
    options = {"threshold": threshold}
    if isinstance(spec, dict):
        return {**spec, **options}
    return {"method": spec, "args": options} if ":" in str(spec) else {"method": spec, **options}


def _check_sources(
    files: list[str], gold: Path | None, qrels: Path | None, *, is_submission: bool
) -> None:
    """Refuse a command line from which it is not clear what to score."""
    if not files:
        raise UsageError("name results files, or runs (--run)")
    if gold is not None and (qrels is not None or is_submission):
        raise UsageError(
            "--gold: the gold is there already (--qrels, or the first file of a submission)"
        )
    if is_submission and len(files) != 2:
        raise UsageError("kragx score --profile science-qa GOLD SUBMISSION takes two files")
    for file in files:
        if all((Path(file) / name).exists() for name in (MANIFEST, "report.json")):
            raise UsageError(
                "{file} is a folder of kragx run, which has several results",
                remedy="kragx report computes its numbers again; or name a file in {file}/results",
                file=file,
            )


def _source(files: list[str]) -> str | list[str]:
    return files[0] if len(files) == 1 else files


def _show_several(result: "Evaluations", format: str, *, per_query: bool) -> None:  # noqa: A002
    """Show what several files came to."""
    evaluations = list(result.evaluations.values())
    # Of means over other questions than are compared, the intervals are their own.
    comparisons = [result.comparison] if result.of_all else []

    def parts() -> Iterator[Part]:
        for evaluation in evaluations if per_query else ():
            yield Heading(evaluation.name)
            yield _queries_table(evaluation)
        yield from result.describe()

    show(
        format,
        parts,
        lambda: {
            "runs": [run.to_dict(queries=per_query, intervals=False) for run in evaluations],
            "comparison": result.comparison.to_dict(),
        },
        csv=lambda: queries_csv(evaluations) if per_query else means_csv(evaluations, comparisons),
    )
    _end(result.comparison.failures)


def _end(failures: "Iterable[Failures]") -> None:
    """Leave with 5 where a retriever failed on more questions than is tolerated."""
    if bad := [failure for failure in failures if failure.failed]:
        say(joined("; ", (joined(" ", [failure.retriever, failure.text]) for failure in bad)))
        raise typer.Exit(RetrieverError.exit_code)


def _queries_table(evaluation: "Evaluation") -> Table:
    """The values of each query, metrics across."""
    rows = [[name, *map(number, row.values())] for name, row in evaluation.queries.items()]
    return Table(["query_id", *evaluation.mean], rows)
