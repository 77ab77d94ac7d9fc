"""How a run came about: when, how long it took, from which state of its folder, whether resumed."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

from kragx.ground.errors import UsageError, shorten
from kragx.ground.printing import Line, Result, duration, joined, message, visible, warning

if TYPE_CHECKING:
    from kragx.comparison import Results

UNFINISHED = ".unfinished"
"""How the folder's name ends, beside that of results, in which a run keeps what is unfinished."""

_PATIENCE = 10.0
"""Seconds within which git must answer: what it has to say is worth no more."""

_RESULTS = {"config.yaml", "gold.jsonl", "report.json"}
"""Files that tell a result folder: what a run has written is no change of what it was made from."""


_CACHES = ("__pycache__", ".kragx")


@dataclass(frozen=True)
class Checkout:
    """The git repository in which a config, or whoever evaluates in Python, stands.

    Attributes:
        commit: the hash of the commit that is checked out; None before the first one.
        branch: what is checked out; None for a commit by itself.
        n_changed: how many files differ from the commit or are not in it, what is ignored, caches
            of Python and result folders left out; None if git could not tell.
    """

    commit: str | None
    branch: str | None
    n_changed: int | None

    also_plain: ClassVar[tuple[str, ...]] = ("dirty",)

    @property
    def dirty(self) -> bool | None:
        """Whether the run may rest on something that the commit does not hold; None: not known."""
        if self.commit is None:
            return True
        return None if self.n_changed is None else self.n_changed > 0

    @property
    def text(self) -> str:
        """The commit, and what differs from it, in a line."""
        commit = (
            message("no commit yet")
            if self.commit is None
            else message("commit {hash}", hash=self.commit[:12])
        )
        if self.branch is not None:
            commit = message("{commit} on {branch}", commit=commit, branch=visible(self.branch))
        changes = message(
            "uncommitted changes not known"
            if self.n_changed is None
            else "with uncommitted changes ({n})"
            if self.n_changed
            else "no uncommitted changes",
            n=self.n_changed,
        )
        return joined(", ", [commit, changes])


@dataclass(frozen=True)
class Kept:
    """Answers that a run took over from one that was interrupted.

    Attributes:
        n_answers: how many.
        n_queries: of how many questions.
        begun: when the interrupted run began to ask.
    """

    n_answers: int
    n_queries: int
    begun: str

    @property
    def number(self) -> str:
        """How many, and of when."""
        return message(
            "{n} of {of} answers are kept from an interrupted run that began on {date}",
            n=self.n_answers,
            of=self.n_queries,
            date=day_and_time(self.begun),
        )

    @property
    def rest(self) -> str:
        """What of the questions is asked for all the same: the others, or none."""
        return message(
            "nothing is asked for now (--fresh asks for all)"
            if self.n_answers == self.n_queries
            else "only the others are asked for now (--fresh asks for all)"
        )


@dataclass(frozen=True)
class Record(Result):
    """How a run came about.

    Attributes:
        config: the name of its config file; None if it came from none.
        date: when it began, as ISO 8601 with the offset from UTC.
        seconds: how long asking, matching and measuring took; of a resumed run this last part.
        git: the repository in which the config stands, or without one the current folder; None if
            there is none, or no git.
        kept: of a resumed run the answers that it did not ask for again, by retriever.
    """

    config: str | None
    date: str
    seconds: float
    git: Checkout | None = None
    kept: Mapping[str, Kept] = field(default_factory=dict)

    also_plain: ClassVar[tuple[str, ...]] = ("resumed",)

    @property
    def resumed(self) -> bool:
        """Whether answers of an interrupted run were taken over."""
        return bool(self.kept)

    @classmethod
    def read(cls, value: Mapping[str, Any] | None) -> Self | None:
        """Of its plain values; None of none.

        Raises:
            UsageError: they are none.
        """
        # Which nobody needs who evaluates in Python.
        from pydantic import TypeAdapter, ValidationError

        try:
            return None if value is None else TypeAdapter(cls).validate_python(value)
        except ValidationError as error:
            first = error.errors()[0]
            field = ".".join(map(str, first["loc"]))
            raise UsageError(
                "{value} is of the wrong kind", field=field, value=shorten(first["input"])
            ) from None

    def describe(self) -> Iterator[Line]:
        """When and from what, then what was not asked for again."""
        git = message("no git repository known") if self.git is None else self.git.text
        yield Line(
            message(
                "Run on {date}, took {duration}, {resumed}; git: {git}."
                if self.config is None
                else "Run on {date}, took {duration}, {resumed}; config {config}; git: {git}.",
                date=day_and_time(self.date),
                duration=duration(self.seconds),
                resumed=message("resumed" if self.resumed else "not resumed"),
                config=visible(self.config or ""),
                git=git,
            )
        )
        yield from self.resumption()

    def resumption(self) -> Iterator[Line]:
        """Which answers were not asked for again, a line for each retriever."""
        for name, counts in self.kept.items():
            yield warning(message("{names}: {remark}", names=visible(name), remark=counts.number))


class Past(NamedTuple):
    """The results of a past run; its config and how it came about, as far as they are read."""

    results: Results
    record: Record | None = None
    config: Any = None


def record_lines(record: Record | None, names: str = "") -> list[Line]:
    """What a record says, or that there is none; `names` names whose it is."""
    unknown = message("When and from which commit these results come is not recorded.")
    lines = [Line(unknown)] if record is None else [*record.describe()]
    return [replace(line, text=joined(": ", [visible(names), line.text])) for line in lines]


def day_and_time(date: str) -> str:
    """A date of a record as people read it: ``2026-01-31 14:05 +09:00``."""
    return f"{date[:10]} {date[11:16]} {date[19:]}"


def now() -> str:
    """The time as ISO 8601, with the offset of where this runs."""
    return datetime.now(UTC).astimezone().isoformat(timespec="seconds")


class Clock:
    """Begins when it is made.

    Attributes:
        date: when that was.
    """

    def __init__(self) -> None:
        self.date: str = now()
        self._started = time.perf_counter()

    def record(
        self,
        config: Path | None = None,
        git: Checkout | None = None,
        counts: Mapping[str, Kept] = MappingProxyType({}),
    ) -> Record:
        """The record of a run that began with the clock and ends now."""
        seconds = round(time.perf_counter() - self._started, 3)
        return Record(None if config is None else config.name, self.date, seconds, git, counts)


def checkout(folder: Path, *written: Path) -> Checkout | None:
    """The repository in which a folder stands; None if there is none, or git is not there.

    Args:
        folder: of the config, wherever the run was started from; without a config the current one.
        written: files that runs write.
    """
    top = _git(folder, "rev-parse", "--show-toplevel")
    if top is None:
        return None
    # Each change is its two letters, a space and a path; without any there is an empty one.
    status = _git(folder, "status", "--porcelain", "-z", "--untracked-files=all", "--no-renames")
    lines = None if status is None else filter(None, status.split("\0"))
    changed = None if lines is None else _sources(Path(top), [line[3:] for line in lines], written)
    return Checkout(
        commit=_git(folder, "rev-parse", "--verify", "--quiet", "HEAD"),
        branch=_git(folder, "symbolic-ref", "--short", "--quiet", "HEAD"),
        n_changed=None if changed is None else len(changed),
    )


def _sources(top: Path, paths: list[str], written: tuple[Path, ...]) -> list[str]:
    """Of changed paths below `top` those from which a run is made, not what runs have left."""
    # A store has files of SQLite's beside it.
    endings = ("", "-wal", "-shm", "-journal")
    files = [Path(os.path.realpath(path)) for path in written]
    results = {path.with_name(path.name + ending) for path in files for ending in endings}
    is_result = cache(holds_results)

    def is_left(path: Path) -> bool:
        inside = list(path.parents)[: -len(top.parents) - 1]
        return (
            any(part in _CACHES or part.endswith(UNFINISHED) for part in path.parts)
            or not results.isdisjoint((path, *path.parents))
            or any(map(is_result, inside))
        )

    return [path for path in paths if not is_left(top / path)]


def holds_results(folder: Path) -> bool:
    """Whether a folder is one that a run has written."""
    return all((folder / name).is_file() for name in _RESULTS)


_PLACES = ("DIR", "WORK_TREE", "INDEX_FILE", "PREFIX", "COMMON_DIR", "OBJECT_DIRECTORY")


def _git(folder: Path, *args: str) -> str | None:
    """What git says about a folder; None if it cannot."""
    # Within a hook git names its own repository in the environment, which need not be this one.
    places = {f"GIT_{place}" for place in _PLACES}
    environment = {name: value for name, value in os.environ.items() if name not in places}
    with suppress(OSError, subprocess.SubprocessError):
        process = subprocess.run(
            ["git", "-c", "core.fsmonitor=false", "-C", str(folder), *args],
            capture_output=True,
            check=True,
            timeout=_PATIENCE,
            env={**environment, "GIT_OPTIONAL_LOCKS": "0"},  # so that it changes nothing
            stdin=subprocess.DEVNULL,
        )
        return os.fsdecode(process.stdout).removesuffix("\n")
    return None
