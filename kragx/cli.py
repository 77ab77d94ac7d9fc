"""The command `kragx`. Arguments are read here; the work is done elsewhere."""

from __future__ import annotations

import os
import sys
import warnings
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kragx.errors import KragxError

if TYPE_CHECKING:
    from kragx.evaluation import Evaluation

app = typer.Typer(
    name="kragx",
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
        help="id, exact, text, contains, rouge1, rouge2, rougeL, overlap, or package.module:name."
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
) -> None:
    """Evaluate and compare the retrievers of a config file."""
    # A user's own retrievers and matchers are found in the folder where kragx was started.
    if "" not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    from kragx import config as configs
    from kragx import pipeline
    from kragx.report.text import console, print_evaluations

    loaded = configs.load(config)
    report = pipeline.run(loaded)
    print_evaluations(report.evaluations, console())
    folder = output or loaded.output
    if folder is not None:
        report.write(folder)
        console(stderr=True).print(f"written to {_short(folder)}", markup=False)


@app.command()
def score(
    file: ResultsFile,
    match: Match = "overlap",
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
            "--metric", "-m", help="For example ndcg@10; repeat for more (see: kragx metrics)."
        ),
    ] = None,
    profile: Annotated[str, typer.Option(help="What metric strings leave open.")] = "kragx",
    no_gold: Annotated[
        str | None, typer.Option(help="Queries without gold: skip, zero, error or abstain.")
    ] = None,
    per_query: Annotated[bool, typer.Option("--per-query", help="Also each query.")] = False,
    format: Annotated[Format, typer.Option(help="How to print.")] = Format.TABLE,  # noqa: A002
) -> None:
    """Score a results file."""
    from kragx.evaluation import evaluate

    evaluation = evaluate(
        str(file),
        match=_spec(
            match,
            measure=measure,
            threshold=threshold,
            tokenizer=tokenizer,
            id_key=id_key,
            gold_id_key=gold_id_key,
            direction=direction,
            casefold=casefold,
        ),
        metrics=metric,
        profile=profile,
        no_gold=no_gold,  # type: ignore[arg-type]  # evaluate checks it
    )
    _print(evaluation, format, per_query=per_query)


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
    """Write every pair's score and decision, a line for each query."""
    from kragx.evaluation import match_pairs
    from kragx.formats.jsonl import write_records

    spec = _spec(
        match,
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
    """List the metrics: what each answers, its options, range and direction."""
    from kragx.report.metrics import metrics_csv, metrics_json, print_metrics
    from kragx.report.text import console

    match format:
        case Format.TABLE:
            print_metrics(console())
        case Format.JSON:
            typer.echo(metrics_json())
        case Format.CSV:
            typer.echo(metrics_csv(), nl=False)


def _spec(method: str, **options: Any) -> dict[str, Any]:
    given = {name: value for name, value in options.items() if value is not None}
    if ":" in method:
        return {"method": method, "args": given}
    return {"method": method, **given}


def _print(evaluation: Evaluation, format: Format, *, per_query: bool) -> None:  # noqa: A002
    from kragx.report.files import means_csv, queries_csv, to_json
    from kragx.report.text import console, print_evaluations, print_queries

    match format:
        case Format.JSON:
            typer.echo(to_json(evaluation.to_dict(queries=per_query)))
        case Format.CSV:
            text = queries_csv([evaluation]) if per_query else means_csv([evaluation])
            typer.echo(text, nl=False)
        case Format.TABLE:
            if per_query:
                print_queries(evaluation, console())
            print_evaluations([evaluation], console())


def _short(path: Path) -> str:
    """A path as a reader recognises it: relative, where it lies below the current folder."""
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)


def main() -> None:
    """Run the command; every expected error becomes one line and its exit code."""
    if not sys.stdout.isatty() and hasattr(sys.stdout, "reconfigure"):
        # A pipe on Windows would otherwise take the local code page, which not all text fits.
        sys.stdout.reconfigure(encoding="utf-8")
    warnings.showwarning = _show_warning
    try:
        app()
    except KragxError as error:
        sys.exit(_fail(str(error), error.exit_code))
    except KeyboardInterrupt:
        sys.exit(_fail("interrupted", 130))
    except BrokenPipeError:
        # The reader (head, less) went away; there is nobody left to tell.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)


def _fail(message: str, code: int) -> int:
    sys.stderr.write(f"kragx: {message}\n")
    return code


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    sys.stderr.write(f"kragx: warning: {message}\n")


if __name__ == "__main__":
    main()
