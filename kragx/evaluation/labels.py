"""Matchers and profiles in one line, from what results record of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def match_label(match: Mapping[str, Any], name: str) -> str:
    """How matches were decided: the method, with the name under which it was asked for."""
    label = method_label(match)
    return label if name == match["method"] or _is_combination(match) else f"{name}: {label}"


def method_label(match: Mapping[str, Any]) -> str:
    """A matcher as results record it."""
    options = dict(match)
    method = options.pop("method")
    if _is_combination(match):
        own = f", threshold {match['threshold']}" if "threshold" in match else ""
        return f"{method} of {'; '.join(map(method_label, match['of']))}{own}"
    shown = ", ".join(
        f"{name} {_shown(value)}" for name, value in options.items() if value is not False
    )
    return f"{method} ({shown})" if shown else str(method)


def _is_combination(match: Mapping[str, Any]) -> bool:
    return isinstance(match.get("of"), (list, tuple))  # a span's `of` is a word


def _shown(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return " ".join(str(value[key]) for key in ("name", "version") if key in value)


def profile_label(settings: Mapping[str, Any]) -> str:
    """The profile of some settings and what deviates from it."""
    name = str(settings["profile"]["name"])
    changed = [
        f"{option}={value}" if isinstance(value, str) else option
        for option, value in settings["deviations"].items()
    ]
    return f"{name}, with {', '.join(changed)}" if changed else name
