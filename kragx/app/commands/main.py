"""The command `kragx`. Arguments are read here; the work is done elsewhere."""

from __future__ import annotations

import os
import sys
import warnings
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from kragx.app.commands import agreement as cli_agreement
from kragx.app.commands import compare as cli_compare
from kragx.app.commands import goldsets as cli_goldsets
from kragx.app.commands import thresholds as cli_thresholds
from kragx.app.commands.compare import Anyway, Earlier, Summary
from kragx.app.commands.judgements import judgements
from kragx.errors import KragxError, UsageError

if TYPE_CHECKING:
    from kragx.evaluation.evaluation import Evaluation


class _Command(TyperGroup):
    """Every expected error becomes one line and its exit code."""

    def invoke(self, ctx: Any) -> Any:
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except KragxError as error:
            _fail(str(error), error.exit_code)
        except KeyboardInterrupt:
            _fail("interrupted", 130)
        except BrokenPipeError:
            # The reader (head, less) went away; there is nobody left to tell.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise SystemExit(0) from None
        return result


app = typer.Typer(
    name="kragx",
    cls=_Command,
    help="Evaluate retrievers for RAG: which one finds the evidence, how sure are we, and why.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


class Format(StrEnum):
    """How results are written."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"


ResultsFile = Annotated[
    Path,
    typer.Argument(
        metavar="FILE.jsonl",
        help="Results file: JSON Lines with query_id, gold and retrieved; - is standard input.",
        show_default=False,
    ),
]
Match = Annotated[
    str,
    typer.Option(
        help="id, exact, text, contains, rouge1, rouge2, rougeL, overlap, span, "
        "or package.module:name."
    ),
]
Measure = Annotated[
    str | None, typer.Option(help="Of ROUGE: fmeasure (default), precision, recall or overlap.")
]
Threshold = Annotated[
    float | None, typer.Option(help="Least score that is a match, in (0, 1] (default 0.5).")
]
TokenizerName = Annotated[
    str | None,
    typer.Option(
        "--tokenizer", help="unicode (default), rouge, whitespace, char, kiwi, or an import path."
    ),
]
IdKey = Annotated[str | None, typer.Option(help="Of id: metadata key or path of a document's id.")]
GoldIdKey = Annotated[
    str | None, typer.Option(help="Of id: the same for gold (default: as --id-key).")
]
Direction = Annotated[
    str | None,
    typer.Option(help="Of contains: either (default), gold_in_document or document_in_gold."),
]
Casefold = Annotated[
    bool | None,
    typer.Option("--casefold", help="Of exact, text and contains: ignore case."),
]


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        from kragx import __version__

        typer.echo(f"kragx {__version__}")
        raise typer.Exit


@app.command()
def run(
    config: Annotated[
        Path, typer.Argument(metavar="CONFIG.yaml", help="Config file.", show_default=False)
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Folder for JSON and CSV; wins over the config's."),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="A value that wins over the file's: match.threshold=0.4."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Count the judge's calls and tokens; ask nothing.")
    ] = False,
    budget: Annotated[
        float | None, typer.Option(help="The most that judging may cost, in the prices' currency.")
    ] = None,
    max_calls: Annotated[
        int | None, typer.Option(help="The most calls that judging may take.")
    ] = None,
    max_missing: Annotated[
        float | None, typer.Option(help="The share of judgements that may be missing (default 0).")
    ] = None,
    earlier: Earlier = None,
    anyway: Anyway = False,
    summary: Summary = None,
) -> None:
    """Evaluate and compare the retrievers of a config file.

    Ends with 1 if a gate fails.
    """
    from kragx.app import config as configs
    from kragx.app import pipeline
    from kragx.app.commands.goldsets import print_config, print_dataset
    from kragx.data.formats.jsonl import make_folder
    from kragx.report.text import console, print_plan

    limits = {"cost": budget, "calls": max_calls}
    given = {name: limit for name, limit in limits.items() if limit is not None}
    options = {"dry_run": dry_run or None, "budget": given or None, "max_missing": max_missing}
    judging = {name: option for name, option in options.items() if option is not None}
    loaded = configs.load(config, settings or ())
    if earlier is not None:
        loaded = configs.with_earlier(loaded, earlier)
    if output is not None:
        loaded = loaded.model_copy(update={"output": output.absolute()})
    folder = loaded.output
    if folder is not None and not dry_run:
        make_folder(folder / "results")  # before the work, lest it be done for nothing
    print_config(loaded)
    report = pipeline.run(
        loaded, judging=judging, folder=None if dry_run else folder, anyway=anyway
    )
    print_dataset(report)
    if dry_run:
        print_plan(report.evaluations, console())
        return
    if folder is not None:
        report.write(folder)  # before anything is shown: what was retrieved is not lost
    cli_compare.show(report)
    if folder is not None:
        console(stderr=True).print(f"written to {_short(folder)}", markup=False)
    cli_compare.write_summary(report, summary)
    cli_compare.end(report.gates)


@app.command()
def score(
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FILE.jsonl]",
            help="Results file: JSON Lines with query_id, gold and retrieved; - is standard "
            "input. With --profile science-qa the gold file.",
            show_default=False,
        ),
    ] = None,
    submission: Annotated[
        Path | None,
        typer.Argument(
            metavar="[SUBMISSION]",
            help="With --profile science-qa: the submission.",
            show_default=False,
        ),
    ] = None,
    qrels: Annotated[
        Path | None, typer.Option(help="TREC qrels (also .gz), instead of FILE.")
    ] = None,
    run: Annotated[  # the field's word for it; the command `run` is not called from here
        list[Path] | None,
        typer.Option(help="TREC run (also .gz) for --qrels; repeat to compare several."),
    ] = None,
    match: Annotated[
        str | None,
        typer.Option(
            help="id, exact, text, contains, rouge1, rouge2, rougeL, overlap, or "
            "package.module:name (default: overlap; id for qrels)."
        ),
    ] = None,
    measure: Measure = None,
    threshold: Threshold = None,
    tokenizer: TokenizerName = None,
    id_key: IdKey = None,
    gold_id_key: GoldIdKey = None,
    direction: Direction = None,
    casefold: Casefold = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            "--metric",
            "-m",
            help="For example ndcg@10 or trec_eval's ndcg_cut_10; repeat for more (see: kragx "
            "metrics).",
        ),
    ] = None,
    profile: Annotated[
        str | None,
        typer.Option(help="Whose numbers: kragx (default), trec, krag or science-qa."),
    ] = None,
    no_gold: Annotated[
        str | None, typer.Option(help="Queries without gold: skip, zero, error or abstain.")
    ] = None,
    per_query: Annotated[bool, typer.Option("--per-query", help="Also each query.")] = False,
    format: Annotated[Format, typer.Option(help="How to print.")] = Format.TABLE,  # noqa: A002
) -> None:
    """Score a results file, TREC runs or a competition's file."""
    from kragx.data.formats.trec import read_qrels, read_runs
    from kragx.evaluation.evaluate import evaluate, evaluate_submission

    options = {
        "measure": measure,
        "threshold": threshold,
        "tokenizer": tokenizer,
        "id_key": id_key,
        "gold_id_key": gold_id_key,
        "direction": direction,
        "casefold": casefold,
    }
    _check_sources(file, submission, qrels, run, profile)
    if submission is not None:
        evaluations = [evaluate_submission(str(file), submission, metrics=metric)]
    else:
        sources: list[tuple[object, object]] = (
            [(str(file), None)]
            if qrels is None
            else [(read_qrels(qrels), each) for each in read_runs(run or [])]
        )
        default = None if qrels is None else "id"
        evaluations = [
            evaluate(
                dataset,
                found,
                match=_spec(default if match is None else match, profile, **options),
                metrics=metric,
                profile=profile,
                no_gold=no_gold,  # type: ignore[arg-type]  # evaluate checks it
            )
            for dataset, found in sources
        ]
    _print(evaluations, format, per_query=per_query)


@app.command()
def match(
    file: ResultsFile,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Where to write (default: standard output)."),
    ] = None,
    match: Match = "overlap",
    measure: Measure = None,
    threshold: Threshold = None,
    tokenizer: TokenizerName = None,
    id_key: IdKey = None,
    gold_id_key: GoldIdKey = None,
    direction: Direction = None,
    casefold: Casefold = None,
) -> None:
    """Write every pair's score and decision.

    JSON Lines, a line for each query.
    """
    from kragx.data.formats.jsonl import write_records
    from kragx.evaluation.evaluate import match_pairs

    spec = _spec(
        match,
        None,
        measure=measure,
        threshold=threshold,
        tokenizer=tokenizer,
        id_key=id_key,
        gold_id_key=gold_id_key,
        direction=direction,
        casefold=casefold,
    )
    write_records(match_pairs(str(file), match=spec), out or "-")


@app.command()
def metrics(
    format: Annotated[Format, typer.Option(help="How to print.")] = Format.TABLE,  # noqa: A002
) -> None:
    """List the metrics: what each answers, range and options."""
    from kragx.report.metrics import metrics_csv, metrics_json, print_metrics
    from kragx.report.text import console

    match format:
        case Format.TABLE:
            print_metrics(console())
        case Format.JSON:
            typer.echo(metrics_json())
        case Format.CSV:
            typer.echo(metrics_csv(), nl=False)


def _spec(method: str | None, profile: str | None, **options: Any) -> object:
    """The match spec of a command line; None where nothing is said, for the profile's own."""
    given = {name: value for name, value in options.items() if value is not None}
    if method is None:
        if not given:
            return None
        from kragx.metrics import profile as profile_named

        method = str(profile_named(profile or "kragx").match)
    if ":" in method:
        return {"method": method, "args": given}
    return {"method": method, **given}


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


def _print(
    evaluations: list[Evaluation],
    format: Format,  # noqa: A002
    *,
    per_query: bool,
) -> None:
    from kragx.data.formats.jsonl import to_json
    from kragx.report.files import means_csv, queries_csv
    from kragx.report.text import console, print_evaluations, print_queries

    match format:
        case Format.JSON:
            plain = [each.to_dict(queries=per_query) for each in evaluations]
            typer.echo(to_json(plain[0] if len(plain) == 1 else {"runs": plain}, indent=2))
        case Format.CSV:
            typer.echo(queries_csv(evaluations) if per_query else means_csv(evaluations), nl=False)
        case Format.TABLE:
            if per_query:
                for each in evaluations:
                    print_queries(each, console())
            print_evaluations(evaluations, console())


def _short(path: Path) -> str:
    """A path as a reader recognises it: relative, where it lies below the current folder."""
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)


# In this order they stand in the help, after those above.
cli_compare.register(app)
cli_goldsets.register(app)
cli_thresholds.register(app)
app.add_typer(judgements, name="judgements")
cli_agreement.register(app)


def main() -> None:
    """Run the command."""
    if not sys.stdout.isatty() and hasattr(sys.stdout, "reconfigure"):
        # A pipe on Windows would otherwise take the local code page, which not all text fits.
        sys.stdout.reconfigure(encoding="utf-8")
    # A user's own retrievers and matchers are found in the folder where kragx was started.
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    warnings.showwarning = _show_warning
    app()


def _fail(message: str, code: int) -> NoReturn:
    sys.stderr.write(f"kragx: {message}\n")
    raise SystemExit(code)


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    sys.stderr.write(f"kragx: warning: {message}\n")


if __name__ == "__main__":
    main()
