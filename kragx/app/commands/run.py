"""`kragx run`, `report`, `compare`, `history`: from a config to its folder, what folders say."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from kragx.app import config as configs, pipeline
from kragx.app.commands import options as opt
from kragx.app.commands.command import not_read
from kragx.app.commands.output import end, show, written
from kragx.app.compare_folders import Compared, compare_folders
from kragx.app.result_folder.atomic_folder import MANIFEST, inside
from kragx.app.result_folder.written import claimed, write_baseline
from kragx.app.run_report import RunReport
from kragx.app.run_summary import judging_plan
from kragx.comparison import failed
from kragx.evaluation.evaluation import Evaluation
from kragx.evaluation.leaks import leak_texts
from kragx.ground import printing
from kragx.ground.entry_points import declared
from kragx.ground.errors import UsageError
from kragx.ground.printing import joined, message
from kragx.report.csv_files import means_csv, write_text
from kragx.report.findings import summary_markdown


def run(
    config: Annotated[Path, opt.argument(metavar="CONFIG.yaml", help="Config file.")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Folder for JSON and CSV; wins over the config's."),
    ] = None,
    settings: opt.Settings = None,
    dry_run: opt.DryRun = False,
    max_failed: opt.MaxFailed = None,
    earlier: opt.Earlier = None,
    anyway: opt.Anyway = False,
    fresh: opt.Fresh = False,
    workers: opt.Workers = None,
    engine: opt.Engine = None,
    address: opt.Address = None,
    summary: opt.Summary = None,
    junit: opt.Junit = None,
    save_baseline: Annotated[
        Path | None,
        typer.Option(
            help="Write the numbers into one file to commit, for 'earlier'; unless a gate fails.",
            rich_help_panel=opt.IN_CI,
        ),
    ] = None,
    full: opt.Full = False,
) -> None:
    """Evaluate and compare the retrievers of a config file.

    Ends with 5 if a retriever failed, and else with 1 if a gate fails.
    """
    tolerating = [] if max_failed is None else [f"max_failed={max_failed}"]
    loaded = configs.load(config, [*(settings or ()), *tolerating])
    if earlier is not None:
        loaded = replace(loaded, earlier=earlier.absolute())
    if output is not None:
        loaded = replace(loaded, output=output.absolute())
    if (sharing := opt.shared(workers, engine, address)) is not None:
        named: dict[str, Any] = {"workers": None, "engine": None}
        loaded = replace(loaded, **named | {"engine" if engine else "workers": sharing})
    if dry_run and loaded.has_grid and loaded.judge is None:
        printing.show(pipeline.grid_plan(loaded))
        return
    folder = None if dry_run else loaded.output
    sources = [path for retriever in loaded.retrievers.values() for path in retriever.files]
    read = [config, loaded.dataset.path, loaded.dataset.corpus, folder, sources]
    for path in (summary, junit, save_baseline):
        not_read(path, *read)
    if save_baseline is not None and save_baseline.suffix != ".json":
        raise UsageError(
            "--save-baseline: {save_baseline} must end with .json", save_baseline=save_baseline
        )
    if full:
        printing.put(loaded.to_yaml())  # what will be done, before any work
    replaces = folder is not None and (folder / MANIFEST).exists()
    # Before the work, lest it be done for nothing.
    with nullcontext() if folder is None else claimed(folder, loaded) as write:
        with nullcontext() if folder is None else _going_on():
            outcome = pipeline.run(
                loaded,
                dry_run=dry_run,
                folder=folder,
                fresh=fresh,
                anyway=anyway,
                say=lambda problem: printing.say(joined(": ", ["kragx", problem])),
            )
        if write is not None:
            write(outcome)  # before anything is shown: what was retrieved is not lost
    if dry_run:
        printing.show(judging_plan(outcome.plans))
        return
    printing.show(outcome.describe(full=full))
    if folder is not None:
        place = message(
            "written to {folder}, in place of the run that was there"
            if replaces
            else "written to {folder}",
            folder=_short(folder),
        )
        page = message("open {page}", page=_short(folder / "report.html")) if loaded.html else ""
        printing.say(joined("; ", [place, page]))
    if save_baseline is not None and (outcome.failures or failed(outcome.gates)):
        # The next run should not be held against such numbers.
        why = message(
            "baseline not saved: a retriever or gate failed; to save these numbers all the same: "
            "--set earlier=null --set gates=null"
        )
        printing.say(why)
    elif save_baseline is not None:
        write_baseline(outcome, save_baseline)
        written([save_baseline])
    _end(summary, junit, outcome, outcome.evaluations)


@contextmanager
def _going_on() -> Iterator[None]:
    """Within this, Ctrl-C says that nothing is lost."""
    try:
        yield
    except KeyboardInterrupt as error:
        if type(error) is not KeyboardInterrupt:  # a signal, which has its own word
            raise
        raise KeyboardInterrupt(
            message("interrupted; the same command goes on with the answers that it has")
        ) from None


def report(
    folder: Annotated[
        Path, opt.argument(metavar="FOLDER", help="A folder that kragx run has written.")
    ],
    max_failed: opt.MaxFailed = None,
    earlier: opt.Earlier = None,
    anyway: opt.Anyway = False,
    trust: opt.Trust = False,
    summary: opt.Summary = None,
    junit: opt.Junit = None,
    figures: Annotated[
        Path | None, typer.Option(help="Also draw figures into this folder, as PNG and SVG.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Of html: the file (default: FOLDER/report.html)."),
    ] = None,
    format: Annotated[  # noqa: A002
        Literal["table", "json", "csv", "markdown", "html"], typer.Option(help="How to print.")
    ] = "table",
    full: opt.Full = False,
) -> None:
    """Compute a result folder's numbers again, without retrieving.

    Ends as kragx run does.
    """
    if out is not None and format != "html":
        raise UsageError("--out: belongs to --format html")
    outcome = pipeline.recompute(
        folder, earlier=earlier, anyway=anyway, max_failed=max_failed, trust=trust
    )
    if format == "html":
        page = out or inside(folder, folder / "report.html", trust=trust)
        outcome.to_html(page)
        written([page])
    else:
        show(
            format,
            lambda: outcome.describe(full=full),
            outcome.to_dict,
            csv=lambda: means_csv(outcome.evaluations, outcome.comparisons),
            markdown=outcome.to_markdown,
        )
    if figures is not None:
        written(outcome.draw(figures))
    _end(summary, junit, outcome, outcome.evaluations)


def compare(
    folders: Annotated[
        list[Path],
        opt.argument(
            metavar="FOLDER",
            help="Folders that kragx run, or kragx score --out, has written, or baselines: an "
            "earlier and a later one; one, of which two retrievers are compared; or several, the "
            "best against the others.",
        ),
    ],
    retriever: Annotated[
        list[str] | None,
        typer.Option(
            help="Which; two of them: that of the earlier folder, then the one set against it."
        ),
    ] = None,
    gate: Annotated[
        list[str] | None,
        typer.Option(
            help="A condition on the last folder, besides its config's: 'recall@3: no worse than "
            "earlier'."
        ),
    ] = None,
    slice_by: Annotated[
        list[str] | None,
        typer.Option(
            "--slice",
            help="A field to compare within (default: those of the last folder's config).",
        ),
    ] = None,
    max_failed: opt.MaxFailed = None,
    anyway: opt.Anyway = False,
    trust: opt.Trust = False,
    summary: opt.Summary = None,
    junit: opt.Junit = None,
    format: opt.TableJsonOrMarkdown = "table",  # noqa: A002
) -> None:
    """Say what got better and what got worse.

    By metric and by query, between two result folders or two retrievers of one; of more folders
    which retriever is best. Without gold kragx diff says what differs. Ends with 5 if one of them
    failed, and else with 1 if a gate fails.
    """
    compared = compare_folders(
        folders,
        retrievers=retriever or (),
        gates=gate or (),
        slices=slice_by,
        anyway=anyway,
        max_failed=max_failed,
        trust=trust,
    )
    show(
        format,
        compared.describe,
        compared.to_dict,
        markdown=compared.to_markdown,
    )
    _end(summary, junit, compared)


def _end(
    summary: Path | None,
    junit: Path | None,
    outcome: RunReport | Compared,
    evaluations: Sequence[Evaluation] = (),
) -> None:
    """Write the summaries that files are named for, and say by the exit code what went wrong."""
    if summary is not None:
        write_text(summary, summary_markdown(outcome.findings))
    if junit is not None:
        leaks = leak_texts([evaluation.leak_report for evaluation in evaluations])
        write_text(junit, declared("parts", "junit")(outcome.gates, outcome.failures, leaks=leaks))
        if not (outcome.gates or outcome.failures or leaks):
            # Readers take a report without tests for a job that has gone wrong.
            printing.say(message("{file} has no test, as there are no gates", file=junit))
    end(outcome.failures, failed(outcome.gates))


def _short(path: Path) -> str:
    """A path as a reader recognises it: relative, where it lies below the current folder."""
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)
