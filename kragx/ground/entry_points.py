"""What installed packages add to kragx: names for import paths, which their metadata declare.

    [project.entry-points."kragx.matchers"]
    starts_with = "my_package.matchers:StartsWith"

Such a name stands wherever its import path may. kragx's own names come first, so that no package
changes what they mean.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal

_NAME = re.compile(r"[\w-]+")
"""Of a path or an import path nobody need look whether it is a plugin's name."""

Group = Literal["matchers", "metrics", "formats", "judges", "retrievers", "commands"]


@dataclass(frozen=True)
class Plugin:
    """What a package adds.

    Attributes:
        name: by which it is known.
        path: its import path.
        package: that declares it.
    """

    name: str
    path: str
    package: str


@cache  # what is installed stays while a process runs, and a look at all of it takes a while
def plugins(group: Group) -> Mapping[str, Plugin]:
    """What installed packages add to a group, by name; none of them is imported."""
    from importlib.metadata import entry_points

    points = sorted(entry_points(group=f"kragx.{group}"), key=lambda point: point.name)
    return {
        point.name: Plugin(
            point.name,
            f"{point.module}:{point.attr}",
            "" if point.dist is None else point.dist.name,
        )
        for point in points
    }


def import_path(group: Group, name: str) -> str:
    """The import path that a name stands for; whatever is no plugin's name stands for itself."""
    plugin = plugins(group).get(name) if _NAME.fullmatch(name) else None
    return name if plugin is None else plugin.path
