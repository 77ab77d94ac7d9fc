"""The tree of commands. Arguments are read here; the work is done elsewhere."""

import ast
import pkgutil
import sys
from collections import UserDict
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from kragx.app.commands.options import Commands
from kragx.app.commands.process import ending
from kragx.ground.entry_points import plugins
from kragx.ground.plugins import load
from kragx.ground.printing import inert, put, speaking
from kragx.ground.printing.phrases import asked_language

_SECTIONS = {
    "The road": {
        "init": "lists",
        "run": "run",
        "score": "score",
        "report": "run",
        "explain": "explain",
        "compare": "run",
        "diff": "diff",
        "history": "history",
    },
    "What the numbers rest on": {
        "match": "score",
        "agree": "agree",
        "gold": "gold",
        "workshop": "workshop",
        "threshold": "threshold",
        "convert": "convert",
        "judge": "judge",
    },
    "To look up": {"metrics": "lists", "schema": "lists"},
}
"""Every command with the module that holds it, as they stand in the help."""


class _Commands(UserDict[str, Any]):
    """The commands by name; a command's module, and what that needs, is imported with it.

    Behind kragx's own come those that installed packages add (`kragx.commands`).
    """

    def __contains__(self, name: object) -> bool:
        return name in self.data or name in plugins("commands")

    def __getitem__(self, name: str) -> Any:
        if name in self.data:
            command = getattr(import_module(f"kragx.app.commands.{self.data[name]}"), name)
        else:
            command = load(plugins("commands")[name].path)
        if isinstance(command, typer.Typer):
            return get_command(command)
        app = Commands(add_completion=False, rich_markup_mode=None)
        app.command()(command)
        return get_command(app)


def _about(name: str, module: str) -> str | None:
    """What a command says of itself, read from its module: importing them all takes long.

    A command is a function, and a group is described by its module.
    """
    source = ast.parse(pkgutil.get_data("kragx.app.commands", f"{module}.py") or b"")
    functions = {node.name: node for node in source.body if isinstance(node, ast.FunctionDef)}
    return ast.get_docstring(functions.get(name, source))


class _Kragx(TyperGroup):
    """Whatever goes wrong becomes one line and its exit code; the help shows the road."""

    def __init__(self, **options: Any) -> None:
        modules = {name: file for names in _SECTIONS.values() for name, file in names.items()}
        super().__init__(**{**options, "commands": _Commands(modules)})

    def make_context(self, *args: Any, **options: Any) -> Any:
        with _inert():
            return super().make_context(*args, **options)

    def invoke(self, ctx: Any) -> Any:
        with ending(), _inert():
            result = super().invoke(ctx)
            sys.stdout.flush()
            return result

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """The commands under their heads, each with a line about it."""
        limit = formatter.width - 6 - max(map(len, self.commands))
        for head, names in _SECTIONS.items():
            rows = [
                (name, TyperCommand(name, help=_about(name, module)).get_short_help_str(limit))
                for name, module in names.items()
            ]
            with formatter.section(head):
                formatter.write_dl(rows)
        if added := plugins("commands"):
            with formatter.section("Of installed packages"):
                formatter.write_dl([(name, plugin.package) for name, plugin in added.items()])


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
            help="Of results: en or ko, here or after the command (default: KRAGX_LANG, else en)."
        ),
    ] = None,
) -> None:
    context.with_resource(speaking(asked_language(language)))  # a wrong one before any work
    if version:
        from kragx import __version__

        put(f"kragx {__version__}\n")
        raise typer.Exit


@contextmanager
def _inert() -> Iterator[None]:
    """Around what reads a command line: its errors quote what stood there, and steer nothing."""
    try:
        yield
    except Exception as error:
        text = getattr(error, "message", None)  # of typer's own, which some versions have of click
        if isinstance(text, str):
            error.message = inert(text)  # type: ignore[attr-defined]
        raise
