"""The tree of commands. Arguments are read here; the work is done elsewhere."""

import ast
import pkgutil
import sys
from collections import UserDict
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from typing import Annotated, Any

import typer
from typer.main import get_command

from kragx.app.commands.arguments import reading_arguments
from kragx.app.commands.command import CommandGroup, Commands
from kragx.app.commands.process import ending
from kragx.ground.entry_points import Plugin, plugins
from kragx.ground.printing import put, speaking
from kragx.ground.printing.localisation import asked_language

SECTIONS = {
    "The road": ("init", "run", "score", "report", "explain", "compare", "diff", "history"),
    "What the numbers rest on": (
        *("match", "agree", "gold", "workshop", "threshold", "convert", "judge"),
    ),
    "To look up": ("metrics", "schema"),
}
"""Every command, as they stand in the help."""

_FILES = {"report": "run", "compare": "run", "match": "score"} | dict.fromkeys(
    ("init", "metrics", "schema"), "lists"
)
_HERE = {
    name: Plugin(name, f"kragx.app.commands.{_FILES.get(name, name)}:{name}", "kragx")
    for names in SECTIONS.values()
    for name in names
    if name not in {"gold", "workshop"}
}
"""The commands of this folder."""


class _Commands(UserDict[str, Plugin]):
    """The commands by name; a command's module, and what that needs, is imported with it.

    Beside those of this folder they are declared (`kragx.commands`), by kragx's heavy parts and by
    other packages: one of a group (`kragx judge label`) by both names, with a dot between.
    """

    def __iter__(self) -> Iterator[str]:
        return iter([*self.data, *(name for name in plugins("commands") if "." not in name)])

    def __contains__(self, name: object) -> bool:
        return name in self.data or name in [*self]  # no look at all that is installed but for need

    def __getitem__(self, name: str) -> Any:
        return _command(self.data.get(name) or plugins("commands")[name])


@cache  # what its arguments may be takes typer and pydantic longer than a short command works
def _command(plugin: Plugin) -> Any:
    """A command, or a group with the commands that are declared for it."""
    commands = plugin.load()
    if not isinstance(commands, typer.Typer):
        function, commands = commands, Commands(add_completion=False, rich_markup_mode=None)
        commands.command()(function)
    for declared, added in plugins("commands").items():
        if declared.startswith(f"{plugin.name}."):
            commands.command(declared.removeprefix(f"{plugin.name}."))(added.load())
    return get_command(commands)


def _line(plugin: Plugin, limit: int) -> str:
    """What a command says of itself, read from its module: importing them all takes long.

    A command is a function, and a group is described by its module.
    """
    module, _, name = plugin.path.partition(":")
    package, _, file = module.partition(".")
    source = ast.parse(pkgutil.get_data(package, f"{file.replace('.', '/')}.py") or b"")
    functions = {node.name: node for node in source.body if isinstance(node, ast.FunctionDef)}
    about = ast.get_docstring(functions.get(name, source))
    return CommandGroup(name=name, help=about).get_short_help_str(limit)


class _Kragx(CommandGroup):
    """Whatever goes wrong becomes one line and its exit code; the help shows the road."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{**options, "commands": _Commands(_HERE)})

    def get_help(self, ctx: Any) -> str:
        """The whole help; an option --language that stands before --help is obeyed."""
        with speaking(ctx.params.get("language")):
            return super().get_help(ctx)

    def make_context(self, *args: Any, **options: Any) -> Any:
        with ending(), reading_arguments():
            return super().make_context(*args, **options)

    def invoke(self, ctx: Any) -> Any:
        with ending(), reading_arguments():
            result = super().invoke(ctx)
            with suppress(ValueError):  # a retriever has closed it, once there was nothing to print
                sys.stdout.flush()
            return result

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """The commands under their heads, each with a line about it."""
        added = plugins("commands")
        there = {**added, **_HERE}
        limit = formatter.width - 6 - max(len(name) for name in there if "." not in name)
        others = [name for name, plugin in added.items() if not plugin.is_own]
        for head, names in {**SECTIONS, "Of installed packages": others}.items():
            rows = [
                (name, _line(plugin, limit) if plugin.is_own else plugin.package)
                for name in names
                if (plugin := there.get(name))
            ]
            if rows:
                with formatter.section(head):
                    formatter.write_dl(rows)


app: typer.Typer = typer.Typer(
    name="kragx",
    cls=_Kragx,
    help="Evaluate retrievers: which one finds the evidence, how sure are we, and why.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
    language: Annotated[
        str | None,
        typer.Option(
            is_eager=True,
            help="Of results: en or ko (default: KRAGX_LANG, else en).",
        ),
    ] = None,
) -> None:
    context.with_resource(speaking(asked_language(language)))  # a wrong one before any work
    if version:
        from importlib.metadata import version as version_of  # which takes long to load

        put(f"kragx {version_of('kragx')}\n")
        raise typer.Exit
    if context.invoked_subcommand is None:
        put(f"{context.get_help()}\n")
