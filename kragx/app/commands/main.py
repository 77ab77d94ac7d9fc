"""The command `kragx`. Arguments are read here; the work is done elsewhere."""

import os
import sys
import warnings
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from kragx.app.commands import agree, compare, explain, gold, judge, lists, run, score, threshold
from kragx.app.commands.options import Command
from kragx.errors import KragxError


class _Kragx(TyperGroup):
    """Every expected error becomes one line and its exit code; the help shows the road."""

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

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """The commands under the heads that they were added with."""
        limit = formatter.width - 6 - max(map(len, self.commands))
        sections: dict[str, list[tuple[str, str]]] = {}
        for name, command in self.commands.items():
            head = str(getattr(command, "rich_help_panel", ""))
            sections.setdefault(head, []).append((name, command.get_short_help_str(limit)))
        for head, rows in sections.items():
            with formatter.section(head):
                formatter.write_dl(rows)


app = typer.Typer(
    name="kragx",
    cls=_Kragx,
    help="Evaluate retrievers for RAG: which one finds the evidence, how sure are we, and why.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        from kragx import __version__

        typer.echo(f"kragx {__version__}")
        raise typer.Exit


ROAD = "The road"
UNDER = "What the numbers rest on"
LOOK_UP = "To look up"

# In this order they stand in the help.
for head, command in (
    (ROAD, lists.init),
    (ROAD, run.run),
    (ROAD, score.score),
    (ROAD, run.report),
    (ROAD, explain.explain),
    (ROAD, compare.compare),
    (UNDER, score.match),
    (UNDER, agree.agree),
    (LOOK_UP, lists.metrics),
    (LOOK_UP, lists.schema),
):
    app.command(cls=Command, rich_help_panel=head)(command)
for group in (gold.group, threshold.group, judge.group):
    app.add_typer(group, rich_help_panel=UNDER)


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
