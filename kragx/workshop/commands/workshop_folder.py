"""The folder of a workshop, as every command opens it; and a file that is new."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from kragx.app.environment import load_env
from kragx.ground.errors import UsageError

if TYPE_CHECKING:
    from kragx.workshop.folder.folder import Workshop
    from kragx.workshop.state.state import State


def workshop_of(folder: Path) -> "Workshop":
    """The workshop of a folder, whose `.env` may hold what its database's address names.

    Raises:
        DataError: there is no workshop in it, or a line of `.env` sets no variable.
        ConfigError: its workshop.yaml holds mistakes.
    """
    from kragx.workshop.folder.folder import Workshop

    load_env(folder)
    return Workshop.open(folder)


@contextmanager
def opened(folder: Path) -> Iterator[tuple["Workshop", "State"]]:
    """The workshop of a folder with what its database holds."""
    from kragx.workshop.state.state import State

    workshop = workshop_of(folder)
    with workshop.store() as store:
        yield workshop, State(store)


def check_new(option: str, path: Path | None) -> None:
    """Refuse to write over a file: somebody may have gone over what is in it."""
    if path is not None and path.exists():
        problem = f"{option}: {path} exists, and somebody may have changed it"
        raise UsageError(problem, remedy="name another file")
