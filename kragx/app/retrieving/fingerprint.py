"""What a retriever's answers depend on, part by part, so that what has changed can be named."""

import glob
import hashlib
import json
import os
import re
import stat
import sys
import sysconfig
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any

from kragx import __version__
from kragx.app.config import RetrieverConfig, filled, variables_in
from kragx.ground.entry_points import import_path
from kragx.ground.plugins import is_import_path
from kragx.report.record import UNFINISHED, holds_results

OF_FAILURES: Mapping[str, Any] = {
    **dict.fromkeys(("timeout", "retries", "on_error"), True),
    "http": {"timeout", "retries", "most_bytes"},
    "command": {"timeout"},
}
"""Options of a retriever on which no answer depends that it has given."""

OF_TIMES = {"concurrency", "warmup", "repeat"}
"""Options on which an answer's time depends, and not what it is."""

MOST_BYTES = 1 << 30
"""Of a file or folder up to this size the content is read; of a larger one sizes and times."""

MOST_FILES = 200_000
"""So many files of a folder are looked at, the first by name; of more, sizes and times alone."""

MOST_FOLDERS = 10_000
"""So many folders are looked at for the code beside a retriever, which may stand in a home."""

_ELSEWHERE = {"site-packages", "dist-packages", "node_modules"}
_NEVER_READ = {"__pycache__", ".git", ".kragx", UNFINISHED}
_CHUNK = 1 << 20
_LONGEST_PATH = 4096
_SCHEME = re.compile(r"[a-zA-Z][\w+.-]*://")


@dataclass(frozen=True)
class Fingerprint:
    """What answers depend on.

    Attributes:
        answers: by what it is (``args``, ``file corpus.jsonl``, ``code of my_retrievers.py``) the
            state that it is in.
        times: the same of what their times depend on besides.
    """

    answers: dict[str, str]
    times: dict[str, str]

    @property
    def keys(self) -> tuple[str, str]:
        """A hash of all that answers depend on, and of what their times depend on besides."""
        return _hash(self.answers), _hash(self.times)


class Fingerprints:
    """Makes the fingerprints of the retrievers of one config.

    Args:
        folder: that of the config; None for one that is none.
        written: files and folders that a run writes, or reads for itself alone: where they lie in
            a folder that a retriever is given, they are no part of it.
    """

    def __init__(self, folder: Path | None = None, written: Collection[Path] = ()) -> None:
        self._here = Path.cwd() if folder is None else folder
        self._written = {path.resolve() for path in written}
        self._of_code: dict[str, dict[str, str]] = {}
        self._states: dict[tuple[object, ...], str] = {}

    def of(self, config: RetrieverConfig) -> Fingerprint:
        """The state of all that the answers of a retriever depend on, as far as it can be seen."""
        # Nor does an answer depend on how many runs there are beside its own.
        excluded = {**OF_FAILURES, "runs": True}
        dumped = config.model_dump(mode="json", by_alias=True, exclude=excluded)
        times = {name: _hash(dumped.pop(name)) for name in sorted(OF_TIMES)}
        options = {name: value for name, value in dumped.items() if value is not None}
        # Of a folder that was moved as a whole nothing has changed.
        folder_name = (str(self._here), "${here}")
        parts = {name: _hash(value, folder_name) for name, value in options.items()}
        if names := sorted(variables_in(options)):
            # One hash of them all: each by itself might be found by trying.
            values = [os.environ.get(name) for name in names]
            parts[f"values of {', '.join(names)}"] = _hash(values)
        for text in _texts([config.args, options.get("callbacks"), options.get("command")]):
            parts |= self._files(text)
        parts |= self.code(config)
        return Fingerprint({**parts, "version of kragx": __version__}, times)

    def code(self, config: RetrieverConfig) -> dict[str, str]:
        """The state of the code of a retriever, when this was first called.

        A module is imported once: an edit that comes while another retriever is asked changes no
        answer of this run.
        """
        dumped = config.model_dump(mode="json", include={"factory", "args", "callbacks"})
        parts: dict[str, str] = {}
        paths = (import_path("retrievers", text) for text in _texts([*dumped.values()]))
        for path in filter(is_import_path, paths):
            top = re.split(r"[.:]", path, maxsplit=1)[0]
            if top not in self._of_code:
                self._of_code[top] = {
                    f"code of {self._short(file)}": self._state(file) for file in _local_code(top)
                }
            parts |= self._of_code[top] | self._packages
        return parts

    @cached_property
    def _packages(self) -> dict[str, str]:
        """The versions of all that is installed."""
        # By names of folders alone: to read the metadata of all that is installed takes far longer.
        infos = (info.stem for place in sys.path for info in Path(place).glob("*.dist-info"))
        versions = (info.rpartition("-") for info in sorted(infos, reverse=True))
        return {f"package {name.replace('_', '-')}": version for name, _, version in versions}

    def _files(self, text: str) -> dict[str, str]:
        """The state of the files and folders that a text in ``args`` or a command names, if any."""
        value = str(filled(text))
        if "\n" in value or len(value) > _LONGEST_PATH:  # a prompt, say
            return {}
        bare = _SCHEME.sub("/", value)  # sqlite:///corpus.db
        names = dict.fromkeys([value, bare, bare.lstrip("/")] if bare != value else [value])
        paths: dict[Path, None] = {}
        for name in filter(None, names):
            for folder in (Path.cwd(), self._here):
                with suppress(OSError, ValueError, RuntimeError, NotImplementedError):
                    path = folder / Path(name).expanduser()
                    if path != Path(path.anchor):  # "/" separates something; nobody indexes it all
                        paths |= dict.fromkeys([path] if path.exists() else self._matching(path))
        states = sorted(map(self._state, paths))
        # As it is written: what a variable holds is not told.
        label = text if variables_in(text) else self._short(Path(text))
        return {f"file {label}": _hash(states)} if states else {}

    def _matching(self, path: Path) -> list[Path]:
        """The files of a pattern such as ``docs/*.md``, which a retriever may look for itself."""
        if not glob.has_magic(str(path)):
            return []
        top = Path(path.anchor)
        files = islice(top.glob(str(path.relative_to(top))), MOST_FILES)
        return sorted(filter(self._is_read, files))

    def _short(self, path: Path) -> str:
        """A path as a reader recognises it."""
        return next(
            (
                str(path.relative_to(top))
                for top in (self._here, Path.cwd())
                if path != top and path.is_relative_to(top)
            ),
            str(path),
        )

    def _state(self, path: Path) -> str:
        """The state of a file or folder: its content, if it is not too large."""
        files = [*islice(self._regular(path), MOST_FILES)]
        stats = [(name, status.st_size, status.st_mtime_ns) for name, _, status in files]
        key = (str(path), *stats)
        if key not in self._states:
            size = sum(size for _, size, _ in stats)
            is_read = size <= MOST_BYTES and len(files) < MOST_FILES
            self._states[key] = _hash(
                [(name, _content(file)) for name, file, _ in files] if is_read else stats
            )
        return self._states[key]

    def _regular(self, top: Path) -> Iterator[tuple[str, Path, os.stat_result]]:
        """The files below a path that hold something, by name; of a file itself that one."""
        todo, places = [top], set()
        while todo:
            path = todo.pop()
            with suppress(OSError):
                status = path.stat()
                if stat.S_ISREG(status.st_mode) and status.st_size:
                    yield str(path.relative_to(top)), path, status
                elif stat.S_ISDIR(status.st_mode):
                    # A link may lead back.
                    place = (status.st_dev, status.st_ino)
                    is_left = path != top and holds_results(path)
                    if place not in places and not is_left:
                        todo += sorted(filter(self._is_read, path.iterdir()), reverse=True)
                    places.add(place)

    def _is_read(self, path: Path) -> bool:
        # SQLite leaves the last one beside a file that it has only read.
        return (
            path.name not in _NEVER_READ
            and not path.name.endswith("-shm")
            and Path(os.path.realpath(path)) not in self._written  # of links in a circle, too
        )


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
    archive = next((above for above in place.parents if above.is_file()), None)
    if archive is not None:
        return [archive]
    if not place.is_absolute() or _is_installed(place):
        return []
    files: list[Path] = []
    for folder, below, names in islice(os.walk(place.parent), MOST_FOLDERS):
        below[:] = sorted(
            name
            for name in below
            if not (
                name.startswith(".") or name in _NEVER_READ or _is_installed(Path(folder, name))
            )
        )
        files += [Path(folder, name) for name in sorted(names) if name.endswith(".py")]
    return files[:MOST_FILES]


def _is_installed(place: Path) -> bool:
    """Whether a folder or file is of Python's library, of what was installed, or of another one."""
    is_elsewhere = not _ELSEWHERE.isdisjoint(place.parts) or (place / "pyvenv.cfg").is_file()
    return is_elsewhere or place.is_relative_to(sysconfig.get_path("stdlib"))


def _texts(value: Any) -> Iterator[str]:
    """Every text in a value, keys too."""
    match value:
        case str():
            yield value
        case list():
            for item in value:
                yield from _texts(item)
        case dict():
            for item in (*value, *value.values()):
                yield from _texts(item)


def _content(path: Path) -> str:
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    return digest.hexdigest()


def _hash(value: Any, renamed: tuple[str, str] = ("", "")) -> str:
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    before, after = (json.dumps(name, ensure_ascii=False)[1:-1] for name in renamed)
    text = text.replace(before, after) if before else text
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
