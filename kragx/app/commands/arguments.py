"""What is wrong with a command's arguments, said as all else that is wrong, in one's language.

typer says it in English, partly in sentences of pydantic's. What kind of mistake it is and where
stands in its errors, from which it is said anew.
"""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kragx.ground.errors import UsageError, near, nearest
from kragx.ground.printing import inert, message, say


@contextmanager
def reading_arguments() -> Iterator[None]:
    """Around what reads a command line: what typer finds wrong becomes a `UsageError`.

    Above it stands how the command is used. Its errors are known by their names, as its modules
    for them are private.
    """
    try:
        yield
    except Exception as error:
        if not hasattr(error, "format_message") or type(error).__name__ == "NoArgsIsHelpError":
            raise
        if (ctx := getattr(error, "ctx", None)) is not None:
            say(ctx.get_usage())
        raise _mistake(error, ctx) from None


def _mistake(error: Any, ctx: Any) -> UsageError:
    param: Any = getattr(error, "param", None)
    kind = type(error).__name__
    field = getattr(error, "option_name", "") or (param.get_error_hint() if param else "")
    extra = re.fullmatch(r"Got unexpected extra argument.*? \((.*)\)", error.message)
    remedy, problem = "", inert(error.message)  # of commands that packages add
    if kind == "NoSuchOption":
        names = [name for param in ctx.command.get_params(ctx) for name in param.opts]
        remedy = nearest(field, [name for name in names if name.startswith("-")])
        problem = message("unknown option")
    elif kind == "MissingParameter":
        problem = message("missing; it is required")
    elif kind == "BadOptionUsage":
        problem = message(
            "a value is expected after it" if "requires" in error.message else "it takes no value"
        )
    elif kind == "BadParameter" and hasattr(error.__cause__, "errors"):
        problem = _wrong_value(error.__cause__.errors()[0], param.type_descriptor.choices)
    elif extra:
        problem, field = message("more than the command takes"), extra[1]
    return UsageError(problem, field=inert(field.replace("'", "")), remedy=remedy)


def _wrong_value(mistake: Mapping[str, Any], choices: Sequence[Any] | None) -> str:
    """What pydantic finds wrong with a value, of the kinds that options are made of."""
    value, limits = mistake["input"], mistake.get("ctx", {})
    if choices:
        hint = nearest(str(value), (str(getattr(choice, "value", choice)) for choice in choices))
        return message("unknown value {value!r}; {hint}", value=value, hint=hint)
    sentences = {
        "greater_than_equal": message(
            "{value} is less than {lowest}", value=value, lowest=limits.get("ge")
        ),
        "less_than_equal": message(
            "{value} is more than {highest}", value=value, highest=limits.get("le")
        ),
        "int_parsing": message("{value!r} is not a whole number", value=value),
        "float_parsing": message("{value!r} is not a number", value=value),
    }
    return sentences.get(mistake["type"], inert(mistake["msg"]))


def unknown_command(ctx: Any, args: Sequence[str]) -> UsageError:
    """What was meant by what is no command: one of a name like it, or one that does it."""
    name, *rest = args
    remedy = nearest(name, ctx.command.commands)
    if near(name, ctx.command.commands) is None and (command := _meant(ctx, name)):
        remedy = message("perhaps you meant {name!r}?", name=inert(shlex.join([*command, *rest])))
    return UsageError("there is no such command", field=inert(name), remedy=remedy)


def _meant(ctx: Any, name: str) -> list[str] | None:
    path = Path(name)
    if path.suffix or path.is_dir():
        of_file = "run" if path.suffix in (".yaml", ".yml") else "score"
        return ["kragx", "report" if path.is_dir() else of_file, name]
    # Only then those of other groups, as their modules are imported for it.
    abouts = dict(_described(ctx.find_root().command, ("kragx",)))
    by_name = {command[-1]: command for command in reversed(abouts)}
    if (command := near(name, by_name)) is not None:
        return [*by_name[command]]
    word = re.compile(rf"\b{re.escape(name)}", re.IGNORECASE)
    return next(([*command] for command, about in abouts.items() if word.search(about)), None)


def _described(group: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Each command of a group and of those within, with what it says of itself."""
    for name, command in group.commands.items():
        yield (*path, name), (command.help or "").partition("\n")[0]
        if hasattr(command, "commands"):
            yield from _described(command, (*path, name))
