"""What a retriever's answers depend on, part by part, so that what has changed can be named."""

import hashlib
import json
import os
import re
import sys
import sysconfig
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from importlib.metadata import version
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any

from kragx.app.config import RetrieverConfig, filled, variables_in
from kragx.app.config.retrievers import SERVICES
from kragx.ground.entry_points import import_path
from kragx.ground.plugins import is_import_path
from kragx.ground.secrets import texts_in
from kragx.report.record import UNFINISHED, holds_results

UNRELATED = {"timeout", "retries", "on_error", "runs"}
"""Options of a retriever, a server or a program on which no answer depends that it has given."""

MOST_FILES = 100_000
"""So many files are looked at: a path may be that of a home."""

_ELSEWHERE = {"site-packages", "dist-packages", "node_modules"}
_NEVER_READ = {"__pycache__", ".git", ".kragx"}

Parts = dict[str, str]
"""By what it is (``args``, ``file corpus.jsonl``, ``code of retrievers.py``) the state it is in."""


class Fingerprints:
    """Makes the fingerprints of the retrievers of one config.

    Args:
        folder: that of the config; None for one that is none.
        written: files and folders that a run writes, or reads for itself alone: where they lie in
            a folder that a retriever is given, they are no part of it.
    """

    def __init__(self, folder: Path | None = None, written: Collection[Path] = ()) -> None:
        self._here = Path.cwd() if folder is None else folder
        self._written = {os.path.realpath(path) for path in written}
        self._of_code: dict[str, Parts] = {}
        self._states: dict[Path, str] = {}

    def of(self, config: RetrieverConfig) -> Parts:
        """The state of all that the answers of a retriever depend on, as far as it can be seen."""
        options = _related(config.as_config)
        options |= {key: _related(options[key]) for key in SERVICES if key in options}
        parts = {name: state_of(value) for name, value in options.items()}
        if names := sorted(variables_in(options)):
            # One hash of them all: each by itself might be found by trying.
            values = [os.environ.get(name) for name in names]
            parts[f"values of {', '.join(names)}"] = state_of(values)
        for _, _, text in texts_in([config.args, options.get("command")]):
            parts |= self._files(text)
        return {**parts, **self.code(config), "version of kragx": version("kragx")}

    def code(self, config: RetrieverConfig) -> Parts:
        """The state of the code of a retriever, when this was first called.

        A module is imported once: an edit that comes while another retriever is asked changes no
        answer of this run.
        """
        parts: Parts = {}
        named = [config.class_, config.args, config.callbacks]
        paths = (import_path("retrievers", text) for _, _, text in texts_in(named))
        for path in filter(is_import_path, paths):
            top = re.split(r"[.:]", path, maxsplit=1)[0]
            if top not in self._of_code:
                files = _local_code(top)
                self._of_code[top] = {f"code of {self._short(f)}": self._state(f) for f in files}
            parts |= self._of_code[top] | self._packages
        return parts

    @cached_property
    def _packages(self) -> Parts:
        """The versions of all that is installed."""
        # By names of folders alone: to read the metadata of all that is installed takes far longer.
        infos = (info.stem for place in sys.path for info in Path(place).glob("*.dist-info"))
        versions = (info.rpartition("-") for info in sorted(infos, reverse=True))
        return {f"package {name.replace('_', '-')}": version for name, _, version in versions}

    def _files(self, text: str) -> Parts:
        """The state of the file or folder that a text in ``args`` or a command names, if any."""
        place = os.path.expanduser(str(filled(text)))  # noqa: PTH111  # `Path` raises
        # As it is written: what a variable holds is not told.
        label = text if variables_in(text) else self._short(Path(text))
        with suppress(OSError, ValueError):  # of texts that name no file
            tops = (Path.cwd(), self._here)
            paths = {Path(os.path.realpath(top / place)) for top in tops if place}
            # "/" separates something; nobody indexes it all.
            states = sorted(self._state(p) for p in paths if p.exists() and p != p.parent)
            return {f"file {label}": state_of(states)} if states else {}
        return {}

    def _short(self, path: Path) -> str:
        """A path as a reader recognises it."""
        tops = (top for top in (self._here, Path.cwd()) if path != top and path.is_relative_to(top))
        return str(next((path.relative_to(top) for top in tops), path))

    def _state(self, path: Path) -> str:
        """The state of a file or folder: its content."""
        if path not in self._states:
            files = islice(_walk(path, self._is_left), MOST_FILES)
            contents = [(str(file.relative_to(path)), _content(file)) for file in files]
            self._states[path] = state_of(contents)
        return self._states[path]

    def _is_left(self, path: Path) -> bool:
        # SQLite leaves the first ending beside a file that it has only read, a run the other.
        return (
            path.name in _NEVER_READ
            or path.name.endswith(("-shm", UNFINISHED))
            or os.path.realpath(path) in self._written
            or holds_results(path)
        )


def _related(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: option for name, option in options.items() if name not in UNRELATED}


def _walk(top: Path, is_left: Callable[[Path], bool], ending: str = "") -> Iterator[Path]:
    """The file at a path, or those with an ending below, by name."""
    if top.is_file():
        yield top
    for folder, below, names in os.walk(top):
        below[:] = sorted(name for name in below if not is_left(Path(folder, name)))
        paths = (Path(folder, name) for name in sorted(names) if name.endswith(ending))
        yield from (path for path in paths if path.is_file() and not is_left(path))


def _local_code(module: str) -> list[Path]:
    """The Python files in the folder of a module and below, unless it is installed or kragx.

    Args:
        module: at the top, so that nothing is imported to find it.
    """
    spec = None
    with suppress(ImportError, ValueError):  # of what was imported without one
        spec = None if module == "kragx" else find_spec(module)
    places = [] if spec is None else [*(spec.submodule_search_locations or ()), spec.origin or ""]
    place = Path(next(iter(places), ""))
    if not place.is_absolute() or _is_installed(place):
        return []
    return [*_walk(place.parent, lambda p: p.name.startswith(".") or _is_installed(p), ".py")]


def _is_installed(place: Path) -> bool:
    """Whether a folder or file is of Python's library, of what was installed, or of another one."""
    return (
        not {*_ELSEWHERE, *_NEVER_READ}.isdisjoint(place.parts)
        or (place / "pyvenv.cfg").is_file()
        or place.is_relative_to(sysconfig.get_path("stdlib"))
    )


def _content(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        return f"cannot be read: {error.strerror}"


def state_of(value: Any) -> str:
    """A hash of plain values."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
