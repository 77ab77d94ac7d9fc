"""`kragx validate`, `schema`, `init` and `report`: the commands around a managed gold set."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kragx.app.commands.compare import (
    Anyway,
    Earlier,
    Summary,
    check_format,
    end,
    show,
    write_summary,
)
from kragx.errors import DataError, UsageError

if TYPE_CHECKING:
    from kragx.app.config import RunConfig
    from kragx.app.run_report import RunReport


def register(app: typer.Typer) -> None:
    """Add these commands to the command."""
    for command in (report, validate, init, schema):
        app.command()(command)


def validate(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="A gold set in any format, or a config (.yaml), whose gold set, corpus and "
            "targets are taken.",
            show_default=False,
        ),
    ],
    corpus: Annotated[
        Path | None,
        typer.Option(help="Corpus file from which all gold must come (JSON Lines of id, text)."),
    ] = None,
    gold_format: Annotated[
        str | None, typer.Option("--input-format", help="Of the gold set (default: recognised).")
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(help="Of tables: field=column; repeat, for example query_id=No."),
    ] = None,
    encoding: Annotated[
        str | None, typer.Option(help="Of CSV (default: utf-8, then cp949).")
    ] = None,
    format: Annotated[str, typer.Option(help="table or json.")] = "table",  # noqa: A002
) -> None:
    """Report every problem of a gold set, and what it holds."""
    from kragx.data import validation
    from kragx.data.formats.jsonl import to_json
    from kragx.report.text import console
    from kragx.report.validation import print_validation

    if format not in ("table", "json"):
        raise UsageError(f"--format: {format!r} is neither table nor json")
    given: dict[str, Any] = {"corpus": None if corpus is None else str(corpus)}
    path = file
    if file.suffix in (".yaml", ".yml"):
        from kragx.app.config import load

        dataset = load(file, needs_env=False).dataset
        path = dataset.path
        given = {
            "corpus": given["corpus"] or (dataset.corpus and str(dataset.corpus)),
            "format": dataset.format,
            "columns": dataset.columns,
            "encoding": dataset.encoding,
            "targets": dataset.targets,
        }
    options = {"format": gold_format, "columns": _columns(column), "encoding": encoding}
    given.update({name: value for name, value in options.items() if value})
    found = validation.validate(str(path), **given)
    if format == "json":
        typer.echo(to_json(found.to_dict(), indent=2))
    else:
        print_validation(found, console())
    if found.n_errors:
        raise typer.Exit(DataError.exit_code)


def _columns(given: list[str] | None) -> dict[str, str] | None:
    pairs = [each.partition("=") for each in given or ()]
    for field, equals, column in pairs:
        if not (field and equals and column):
            raise UsageError(f"--column {field}{equals}{column}: write field=column")
    return {field: column for field, _, column in pairs} or None


def schema(
    report: Annotated[
        bool, typer.Option("--report", help="Of the report.json that kragx run writes.")
    ] = False,
) -> None:
    """Print the JSON Schema of config files, for editors."""
    from kragx.app.schema import config_schema, report_schema
    from kragx.data.formats.jsonl import to_json

    typer.echo(to_json(report_schema() if report else config_schema(), indent=2))


def init(
    folder: Annotated[
        Path, typer.Argument(metavar="[FOLDER]", help="Where to write (default: here).")
    ] = Path(),
) -> None:
    """Write a commented config that runs, with a gold set."""
    from kragx.app.starter import write_starter

    for path in write_starter(folder):
        typer.echo(f"written: {path}")
    inside = "" if folder == Path() else f"cd {folder} && "
    typer.echo(f"next: {inside}kragx run kragx.yaml")


def report(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="FOLDER", help="A folder that kragx run has written.", show_default=False
        ),
    ],
    earlier: Earlier = None,
    anyway: Anyway = False,
    summary: Summary = None,
    figures: Annotated[
        Path | None, typer.Option(help="Also draw figures into this folder, as PNG and SVG.")
    ] = None,
    language: Annotated[str | None, typer.Option(help="Of figures: en (default) or ko.")] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Of html: the file (default: FOLDER/report.html)."),
    ] = None,
    max_docs: Annotated[
        int | None, typer.Option(help="Of html: how many documents of each list (default 50).")
    ] = None,
    max_chars: Annotated[
        int | None, typer.Option(help="Of html: how many characters of each text (default: all).")
    ] = None,
    format: Annotated[  # noqa: A002
        str, typer.Option(help="table, json, csv, markdown or html.")
    ] = "table",
) -> None:
    """Compute a result folder's numbers again, without retrieving.

    Ends with 1 if a gate fails.
    """
    from kragx.app import pipeline
    from kragx.data.formats.jsonl import to_json
    from kragx.report.files import means_csv

    check_format(format, ("table", "json", "csv", "markdown", "html"))
    for option, given in {"--out": out, "--max-docs": max_docs, "--max-chars": max_chars}.items():
        if given is not None and format != "html":
            raise UsageError(f"{option}: belongs to --format html")
    if language is not None and figures is None:
        raise UsageError("--language: belongs to --figures")
    found = pipeline.recompute(folder, earlier=earlier, anyway=anyway)
    match format:
        case "json":
            typer.echo(to_json(found.to_dict(), indent=2))
        case "csv":
            typer.echo(means_csv(found.evaluations), nl=False)
        case "markdown":
            typer.echo(found.to_markdown(), nl=False)
        case "html":
            path = folder / "report.html" if out is None else out
            found.to_html(path, max_docs=max_docs, max_chars=max_chars)
            _written(path)
        case _:
            print_dataset(found)
            show(found)
    if figures is not None:
        for path in found.draw(figures, language=language or "en"):
            _written(path)
    write_summary(found, summary)
    end(found.gates)


def _written(path: Path) -> None:
    from kragx.report.text import console

    console(stderr=True).print(f"written: {path}", markup=False, soft_wrap=True)


def print_config(config: RunConfig) -> None:
    """Print what will be done, every default filled in, before any work.

    It is the config as the result folder keeps it, a line for each key, retriever and matcher;
    variables in ``args`` stay names.
    """
    from rich.text import Text

    from kragx.report.text import console

    def line(text: str) -> None:
        console().print(Text(text), soft_wrap=True)

    for key, value in config.resolved().items():
        if key in ("retrievers", "matchers"):
            line(f"{key}:")
            for name, each in value.items():
                line(f"  {_inline(name)}: {_inline(each)}")
        else:
            line(f"{key}: {_inline(value)}")


def print_dataset(found: RunReport) -> None:
    """Print which gold set was used: name, version and the beginning of its hash."""
    from rich.text import Text

    from kragx.report.text import console

    settings = found.dataset.settings
    version = "" if settings["version"] is None else f" version {settings['version']}"
    line = f"dataset: {settings['name']}{version}, {len(found.dataset)} queries, "
    console().print(Text(f"{line}sha256 {settings['hash'][:12]}"), soft_wrap=True)


def _inline(value: Any) -> str:
    """A value as YAML on one line."""
    import yaml

    listed: str = yaml.safe_dump(
        [value], default_flow_style=True, allow_unicode=True, sort_keys=False, width=float("inf")
    )
    return listed.strip()[1:-1]
