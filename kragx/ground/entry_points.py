"""What installed packages add to kragx: names for import paths, which their metadata declare.

    [project.entry-points."kragx.matchers"]
    starts_with = "my_package.matchers:StartsWith"

Such a name stands wherever its import path may. kragx declares its heavy parts in the same way, so
that nothing else imports them; its names come first, so that no package changes what they mean.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, Literal

from kragx.ground.errors import UsageError, nearest
from kragx.ground.plugins import load

_NAME = re.compile(r"[\w-]+")
"""Of a path or an import path nobody need look whether it is a plugin's name."""

Group = Literal[
    "matchers",
    "metrics",
    "formats",
    "judges",
    "retrievers",
    "commands",
    "engines",
    "parts",
]


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

    @property
    def is_own(self) -> bool:
        """Whether it is a part of kragx."""
        return self.path.startswith("kragx.")

    def load(self) -> Any:
        """What it is.

        Raises:
            UsageError, UntrustedError: as `kragx.ground.plugins.load`.
        """
        if not self.is_own:
            return load(self.path)
        # The folder where kragx was started stays off Python's path, as with any import of kragx's.
        module, _, name = self.path.partition(":")
        return getattr(import_module(module), name)


@cache  # what is installed stays while a process runs, and a look at all of it takes a while
def _scanned() -> Any:
    from importlib.metadata import entry_points

    return entry_points()


@cache
def plugins(group: Group) -> Mapping[str, Plugin]:
    """What installed packages and kragx itself add to a group, by name; none is imported."""
    added = [
        Plugin(
            point.name,
            f"{point.module}:{point.attr}",
            "" if point.dist is None else point.dist.name,
        )
        for point in _scanned().select(group=f"kragx.{group}")
    ]
    # Of equal names the last one stays.
    return {plugin.name: plugin for plugin in sorted(added, key=lambda p: (p.is_own, p.name))}


def declared(group: Group, name: str) -> Any:
    """What a name of a group stands for.

    Raises:
        UsageError: there is none of that name, or it cannot be imported.
    """
    if (plugin := plugins(group).get(name)) is None:
        raise UsageError(
            "unknown value {value!r}", remedy=nearest(name, plugins(group)), value=name
        )
    return plugin.load()


def import_path(group: Group, name: str) -> str:
    """The import path that a name stands for; whatever is no plugin's name stands for itself."""
    plugin = plugins(group).get(name) if _NAME.fullmatch(name) else None
    return name if plugin is None else plugin.path
