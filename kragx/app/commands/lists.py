"""`kragx init`, `metrics` and `schema`: what to start from, and what to look up.

Each imports its own: who writes a first config need not wait for what the others list.
"""

from pathlib import Path
from typing import Annotated

import typer

from kragx.app.commands import options as opt
from kragx.ground.printing import joined, language, message, put


def init(
    folder: Annotated[
        Path, opt.argument(metavar="FOLDER", help="Where to write (default: here).")
    ] = Path(),
) -> None:
    """Write a commented config that runs, with a gold set."""
    from kragx.app.starter import write_starter

    for path in write_starter(folder, language()):
        _print_line(message("written: {path}", path=path))
    inside = "" if folder == Path() else f"cd {folder} && "
    _print_line(message("next: {command}", command=f"{inside}kragx run kragx.yaml"))


def _print_line(line: str) -> None:
    put(joined("", [line, "\n"]))


def metrics(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="METRIC", help="Which to look up (default: the common ones)."),
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="All metrics, not only the common ones.")
    ] = False,
    format: opt.TableOrJson = "table",  # noqa: A002
) -> None:
    """List the metrics: what each answers, range and options.

    JSON has all of them where none is named.
    """
    from kragx.app.commands.output import show
    from kragx.report.metrics_list import metrics_parts, metrics_plain

    show(format, lambda: metrics_parts(names, every=every), lambda: metrics_plain(names))


def schema() -> None:
    """Print the JSON Schema of config files, for editors."""
    from kragx.app.commands.output import show
    from kragx.app.config.editor_schema import config_schema

    show("json", tuple, config_schema)
