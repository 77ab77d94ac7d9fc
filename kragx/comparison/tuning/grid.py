"""Grids: from lists of values to the settings that they make."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import prod
from typing import Annotated, Any

from kragx.ground.errors import UsageError, shorten
from kragx.ground.options import a_text, check_options, optional, whole
from kragx.ground.printing import joined, message, plural

GRID = "grid"
"""Under this key a grid stands beside the options that it varies."""

MAX_SETTINGS = 100
"""So many settings are tried unless told otherwise."""


@dataclass(frozen=True)
class GridSettings:
    """What becomes of grids.

    Attributes:
        metric: by which settings are compared; default: the first of metrics
        max_settings: of all grids together; more are an error
    """

    metric: Annotated[str | None, optional(a_text)] = None
    max_settings: Annotated[int, whole(1)] = MAX_SETTINGS

    def __post_init__(self) -> None:
        check_options(self)


@dataclass(frozen=True)
class Setting:
    """One point of a grid.

    Attributes:
        of: what the grid belongs to, a retriever or a matcher.
        values: for each axis the value, in the grid's order; none for what has no grid.
        places: for each axis the place of the value in its list: the first is the simplest.
    """

    of: str
    values: Mapping[str, Any] = field(default_factory=dict)
    places: tuple[int, ...] = ()

    @property
    def name(self) -> str:
        """``bm25[chunk_size=300, k=10]``; without a grid the plain name."""
        options = ", ".join(f"{axis}={value_label(value)}" for axis, value in self.values.items())
        return f"{self.of}[{options}]" if options else self.of


def value_label(value: Any) -> str:
    """A value as YAML writes it within a line: ``300``, ``kiwi``, ``{name: char, n: 2}``."""
    match value:
        case None | bool():
            return {None: "null", True: "true", False: "false"}[value]
        case Mapping():
            return f"{{{', '.join(f'{key}: {value_label(item)}' for key, item in value.items())}}}"
        case list() | tuple():
            return f"[{', '.join(map(value_label, value))}]"
    return str(value)


def read_grid(grid: object, fixed: Mapping[str, Any] | None = None) -> dict[str, list[Any]]:
    """The axes of a grid as a config has them.

    Args:
        grid: for each axis a list of values.
        fixed: the options that stand beside it.

    Raises:
        UsageError: it is no grid, an axis has no value or the same twice, or stands beside it too.
    """
    if not isinstance(grid, Mapping) or not grid:
        remedy: str = message("write {{chunk_size: [150, 300]}}, not {grid}", grid=shorten(grid))
        raise UsageError("for each axis a list of values is expected", field=GRID, remedy=remedy)
    for axis, values in grid.items():
        path = f"{GRID}.{axis}"
        if not isinstance(values, list) or not values:
            remedy = message(
                "write [{value}]", value=value_label(values) if values != [] else "at least one"
            )
            raise UsageError("a list of values is expected", field=path, remedy=remedy)
        # By labels, as 1 and True are equal to Python and two settings to a reader.
        labels = Counter(map(value_label, values))
        if max(labels.values()) > 1:
            raise UsageError(
                "{repeated} stands there twice",
                field=path,
                remedy="leave one out",
                repeated=labels.most_common(1)[0][0],
            )
        if axis in (fixed or {}):
            raise UsageError(
                "{axis!r} has a value beside the grid too",
                field=path,
                remedy="leave out one of the two",
                axis=axis,
            )
    return {str(axis): values for axis, values in grid.items()}


def settings(name: str, axes: Mapping[str, Sequence[Any]]) -> list[Setting]:
    """Every combination of the axes' values, the last axis changing first; one without axes."""
    numbered = [list(enumerate(values)) for values in axes.values()]
    return [
        Setting(
            name, dict(zip(axes, (value for _, value in point))), tuple(place for place, _ in point)
        )
        for point in product(*numbered)
    ]


def size(axes: Mapping[str, Sequence[Any]]) -> str:
    """How many settings axes make, and why: ``12 settings (chunk_size 3 x k 4)``."""
    count = prod(len(values) for values in axes.values())
    sizes = " x ".join(f"{axis} {len(values)}" for axis, values in axes.items())
    total = plural(count, "1 setting", "{n:,} settings")
    return joined(" ", [total, f"({sizes})" if sizes else ""])


def has_grid(options: object) -> bool:
    """Whether a grid stands among options."""
    return isinstance(options, Mapping) and GRID in options


def spread(options: Mapping[str, Any], name: str) -> list[tuple[Setting, dict[str, Any]]]:
    """Options with a grid among them, once for each of its settings; without one as they are.

    Raises:
        UsageError: as of `read_grid`.
    """
    fixed = {key: value for key, value in options.items() if key != GRID}
    axes = read_grid(options[GRID], fixed) if GRID in options else {}
    return [(setting, {**fixed, **setting.values}) for setting in settings(name, axes)]
