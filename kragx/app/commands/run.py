"""`kragx run` and `report`: from a config to its result folder, and what a folder says."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from kragx.app.commands import options as opt
from kragx.app.commands.output import end, show, write_summary, written
from kragx.errors import UsageError


def run(
    config: opt.ConfigFile,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Folder for JSON and CSV; wins over the config's."),
    ] = None,
    settings: opt.Settings = None,
    dry_run: opt.DryRun = False,
    budget: Annotated[
        float | None, typer.Option(help="The most that judging may cost, in the prices' currency.")
    ] = None,
    max_calls: opt.MaxCalls = None,
    max_missing: Annotated[
        float | None, typer.Option(help="The share of judgements that may be missing (default 0).")
    ] = None,
    earlier: opt.Earlier = None,
    anyway: opt.Anyway = False,
    summary: opt.Summary = None,
    full: opt.Full = False,
) -> None:
    """Evaluate and compare the retrievers of a config file.

    Ends with 1 if a gate fails.
    """
    from kragx import printing
    from kragx.app import config as configs, pipeline
    from kragx.app.result_folder import write_folder
    from kragx.app.screen import judging_plan
    from kragx.data.formats.jsonl import make_folder
    from kragx.printing import show

    limits = {"cost": budget, "calls": max_calls}
    limits = {name: limit for name, limit in limits.items() if limit is not None}
    judging = {"dry_run": dry_run or None, "budget": limits or None, "max_missing": max_missing}
    judging = {name: option for name, option in judging.items() if option is not None}
    loaded = configs.load(config, settings or ())
    if earlier is not None:
        loaded = configs.with_earlier(loaded, earlier)
    if output is not None:
        loaded = loaded.model_copy(update={"output": output.absolute()})
    folder = loaded.output
    if folder is not None and not dry_run:
        make_folder(folder / "results")  # before the work, lest it be done for nothing
    if full:
        typer.echo(loaded.to_yaml(), nl=False)  # what will be done, before any work
    outcome = pipeline.run(
        loaded, judging=judging, folder=None if dry_run else folder, anyway=anyway
    )
    if dry_run:
        show(judging_plan(outcome.evaluations))
        return
    if folder is not None:
        write_folder(outcome, folder)  # before anything is shown: what was retrieved is not lost
    printing.show(outcome.describe(full=full))
    if folder is not None:
        page = f"; open {_short(folder / 'report.html')}" if loaded.html else ""
        typer.echo(f"written to {_short(folder)}{page}", err=True)
    write_summary(outcome, summary)
    end(outcome.gates)


def report(
    folder: opt.Folder,
    earlier: opt.Earlier = None,
    anyway: opt.Anyway = False,
    summary: opt.Summary = None,
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
        Literal["table", "json", "csv", "markdown", "html"], typer.Option(help="How to print.")
    ] = "table",
    full: opt.Full = False,
) -> None:
    """Compute a result folder's numbers again, without retrieving.

    Ends with 1 if a gate fails.
    """
    from kragx.app import pipeline
    from kragx.report.csv_files import means_csv

    of_html = {"--out": out, "--max-docs": max_docs, "--max-chars": max_chars}
    for option, value in of_html.items():
        if value is not None and format != "html":
            raise UsageError(f"{option}: belongs to --format html")
    if language is not None and figures is None:
        raise UsageError("--language: belongs to --figures")
    outcome = pipeline.recompute(folder, earlier=earlier, anyway=anyway)
    if format == "html":
        page = folder / "report.html" if out is None else out
        outcome.to_html(page, max_docs=max_docs, max_chars=max_chars)
        written([page])
    else:
        show(
            format,
            lambda: outcome.describe(full=full),
            outcome.to_dict,
            csv=lambda: means_csv(outcome.evaluations),
            markdown=outcome.to_markdown,
        )
    if figures is not None:
        written(outcome.draw(figures, language=language or "en"))
    write_summary(outcome, summary)
    end(outcome.gates)


def _short(path: Path) -> str:
    """A path as a reader recognises it: relative, where it lies below the current folder."""
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)
