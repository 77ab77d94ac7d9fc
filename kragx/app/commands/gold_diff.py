"""`kragx gold diff`: what changed between two gold sets."""

from pathlib import Path
from typing import Annotated

import typer

from kragx.app.commands import options as opt
from kragx.app.commands.output import show
from kragx.data.gold_diff import diff_files
from kragx.ground.printing import as_markdown


def diff(
    old: Annotated[Path, opt.argument(metavar="OLD", help="A gold set in any format.")],
    new: Annotated[Path, opt.argument(metavar="NEW", help="A later one.")],
    full: Annotated[bool, typer.Option("--full", help="List every question.")] = False,
    format: opt.TableJsonOrMarkdown = "table",  # noqa: A002
) -> None:
    """Say which questions of two gold sets differ, and in what."""
    result = diff_files(old, new)
    show(
        format,
        lambda: result.describe(full=full),
        result.to_dict,
        markdown=lambda: as_markdown(result.describe(full=True)),
    )
