"""What all commands do alike: help by panels, files that stay."""

from collections.abc import Callable
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup

from kragx.app.commands.arguments import unknown_command
from kragx.app.commands.help import Helping, translated_record
from kragx.ground.entry_points import plugins
from kragx.ground.errors import UsageError
from kragx.ground.printing.terminal import results_alone

_Function = TypeVar("_Function", bound=Callable[..., Any])

_WRITTEN = {"out", "plot", "summary", "dropped", "junit"}
"""The parameters of commands that name a file to write."""


class _Command(Helping, TyperCommand):
    """Does not write over what it reads; its help has the common options first."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Arguments, then options by their panels."""
        panels: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            if (record := param.get_help_record(ctx)) is not None:
                if param.name == "match" and (added := plugins("matchers")):
                    record = (record[0], f"{', '.join(added)}, {translated_record(record[1])}")
                is_argument = param.param_type_name == "argument"
                head = getattr(param, "rich_help_panel", None) or "Options"
                panels.setdefault("Arguments" if is_argument else head, []).append(record)
        for head, records in panels.items():
            with formatter.section(head):
                formatter.write_dl(records)

    def invoke(self, ctx: Any) -> Any:
        read = [param for name, param in ctx.params.items() if name not in _WRITTEN]
        for out in filter(None, map(ctx.params.get, _WRITTEN)):
            not_read(Path(out), *read)  # typer makes a path of a text only for the function
        is_own = str(getattr(self.callback, "__module__", "")).startswith("kragx.")
        with results_alone() if is_own else nullcontext():  # others print as they do
            return super().invoke(ctx)


class Commands(typer.Typer):
    """Commands that do not write over what they read."""

    def command(self, name: str | None = None, **options: Any) -> Callable[[_Function], _Function]:
        """As of `typer.Typer`."""
        return super().command(name, **{"cls": _Command, **options})


class CommandGroup(Helping, TyperGroup):
    """A group of commands."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that is named first, and the arguments behind it."""
        if not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            raise unknown_command(ctx, args)
        return super().resolve_command(ctx, args)


def group(name: str, about: str | None) -> Commands:
    """A group of commands."""
    return Commands(
        name=name,
        cls=CommandGroup,
        help=about,
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
    )


def not_read(out: Path | None, *read: Any) -> None:
    """Refuse to write over a file that is read, by itself or with its folder: it would be lost.

    Args:
        out: the file to write; None for none.
        read: files and folders, one or several at a time; what is neither is passed over.

    Raises:
        UsageError: it is one of them, or one in them.
    """
    if out is None or not out.is_file():
        return
    for value in read:
        for path in value if isinstance(value, list | tuple) else [value]:
            if isinstance(path, str | Path) and _is_lost(out, Path(path)):
                raise UsageError("{out} is read, and would be lost; name another file", out=out)


def _is_lost(out: Path, read: Path) -> bool:
    """Whether what is read is a file that is to be written, or a folder that holds it."""
    # Takes longer than reading the command line.
    from kragx.app.result_folder.atomic_folder import FOR_PEOPLE, MANIFEST

    with suppress(OSError, ValueError):  # no path at all, as texts are that name no file
        if read.is_file():
            return read.samefile(out)
        inside = read.is_dir() and any(map(read.samefile, out.resolve().parents))
        # Of a result folder, pages and tables are only written.
        return inside and not ((read / MANIFEST).exists() and out.suffix in FOR_PEOPLE)
    return False
