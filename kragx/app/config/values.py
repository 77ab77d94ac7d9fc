"""Values of the command line, and `${...}` put in."""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from kragx.app.config.retrievers import SHORT, source_of
from kragx.data.yaml_text import Loader, yaml_problem
from kragx.ground.errors import UsageError, shorten
from kragx.ground.plugins import FromVariable, each_text, variables, with_variables
from kragx.ground.secrets import texts_in
from kragx.metrics import KRAGX, profile


def override(raw: Mapping[str, Any], settings: Iterable[str]) -> dict[str, Any]:
    """A config with values of the command line: ``retrievers.bm25.args.k=5``, values as in YAML.

    Raises:
        UsageError: a setting is no ``path=value``, or its path leads through a value.
    """
    changed: Any = raw
    for setting in settings:
        path, equals, text = setting.partition("=")
        keys = path.strip().split(".")
        if not equals or not all(keys):
            raise UsageError(
                "--set {setting}: write path=value, for example match.threshold=0.4",
                setting=setting,
            )
        try:
            if path.startswith("match.") and not (changed.get("match") or changed.get("matchers")):
                # An option of the matcher that is meant where none is named.
                changed = {**changed, "match": profile(changed.get("profile") or KRAGX).match}
            # As YAML, so that 5 is a number, and [1, 2] a list, as they are in the file.
            changed = _with(changed, keys, yaml.load(text, Loader=Loader))
        except yaml.YAMLError as error:
            raise UsageError(
                "--set {setting}: {yaml_problem}", setting=setting, yaml_problem=yaml_problem(error)
            ) from None
        except UsageError as error:
            raise error.within(path=f"--set {setting}") from None
    return dict(changed)


def _with(place: Any, keys: Sequence[str], value: Any, parents: tuple[str, ...] = ()) -> Any:
    """What stands at the path `parents`, with a value at the path `keys` within it."""
    if not keys:
        return value
    key, *rest = keys
    path = (*parents, key)
    match _long_form(place, parents):
        case dict() as mapping:
            return {**mapping, key: _with(mapping.get(key), rest, value, path)}
    raise UsageError(
        "{names} is {place}, which has no parts", names=".".join(parents), place=shorten(place)
    )


def _long_form(value: Any, parents: Sequence[str]) -> Any:
    """A short form spelt out: ``match: overlap`` is a method, ``dataset: gold.jsonl`` a path."""
    match (value, *parents):
        case (None, *_):
            return {}
        case (str(), "match" | "facts_match" | "relevance_match") | (str(), "matchers", _):
            key = "method"
        case (str(), "dataset"):
            key = "path"
        case (str(), "judge"):
            key = "model"
        case (str(), "judge", "examples"):
            key = "labels"
        case (str(), "retrievers", _):
            key = source_of(value)
        case (str() | list(), "retrievers", _, "http" | "command"):
            key = SHORT[parents[-1]]
        case _:
            return value
    return {key: value}


FACTS, RELEVANCE = "", " "
"""Under these names stand the matchers of facts and of judged relevance."""

# What keeps variables as they are until they are used, so that no result holds a secret.
_LATE = re.compile(
    r"(?:retrievers\.|judge|match|facts_match|relevance_match).*"
    r"\.(?:args|fingerprint|extra_body|headers|http|command)(?:[.\[]|$)"
)


def fill(
    value: Any,
    folder: Path,
    path: str,
    unset: list[UsageError],
    *,
    late: bool = False,
    keep: bool = False,
) -> Any:
    """`value` with ``${...}`` replaced in every string.

    Args:
        value: of a config.
        folder: what ``${here}`` is.
        path: where the value stands.
        unset: is given an error for each variable that is not set.
        late: leave variables as they are.
        keep: leave those that are not set as they are; else nothing stands in their place.
    """

    def read(text: str, place: str, _: str) -> str:
        def replacement(variable: re.Match[str]) -> str:
            name = variable[1]
            if name == "here":
                return str(folder)
            if name not in os.environ:
                unset.append(
                    UsageError(
                        "the environment variable {name!r} is not set", field=place, name=name
                    )
                )
            if late or _LATE.match(place):
                return variable[0]
            return os.environ.get(name, variable[0] if keep else "")

        return with_variables(text, replacement)

    return each_text(value, read, path)


def filled(value: Any, *, keep: bool = False) -> Any:
    """`value` with environment variables put in, `keep` as of `fill`: what ``args`` stand for.

    Texts that came of variables are told apart from others (`FromVariable`).
    """

    def read(text: str, *_: str) -> str:
        # Such a text is masked wherever it turns up, and hashed where it is a key.
        new = fill(text, Path(), "args", [], keep=keep)
        return FromVariable(new, text) if variables(text) else text

    return each_text(value, read)


def variables_in(value: Any) -> set[str]:
    """The environment variables that stand in a value which was read with `late`."""
    return {name for _, _, text in texts_in(value) for name in variables(text)}
