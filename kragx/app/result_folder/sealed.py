"""A folder whose files belong together: all of them are there or none, whoever is killed.

``manifest.json`` names each file with its size and its SHA-256. New files are written in
``.unfinished/new`` within the folder, the manifest last. Once all are on the disk, one renaming to
``.unfinished/complete`` makes them the folder's content, and they are moved into place. If that is
cut short, the next one who reads or writes the folder moves the rest first.

Nothing but files is renamed in the folder itself, so it may be the current folder, a link or where
a disk is mounted; and what no manifest names is a user's own, and stays.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from kragx.app.result_folder.lock import locked
from kragx.data.formats.jsonl import flush, read_object, refused, write_bytes
from kragx.data.text import folded
from kragx.ground.errors import DataError, KragxError, UsageError
from kragx.report.record import UNFINISHED

MANIFEST = "manifest.json"

_NAMED = 5
"""So many files are named in an error; of the others it is said how many they are."""

FOR_PEOPLE = (".html", ".md", ".csv", ".parquet")
"""How files end that kragx writes and never reads: a page may be drawn anew, a note be added."""


class ManifestEntry(NamedTuple):
    """What a manifest says of a file."""

    size: int
    sha256: str


Manifest = Mapping[str, ManifestEntry]
"""The files of a folder by their names, in which ``/`` parts folders."""


@dataclass(frozen=True)
class Sealed:
    """A folder as it is read.

    Attributes:
        folder: the folder.
        manifest: what belongs to it; empty where no run has ended.
        trust: whether links in it may lead anywhere.
    """

    folder: Path
    manifest: Manifest
    trust: bool = False

    def path(self, name: str) -> Path:
        """Where a file stands.

        Raises:
            DataError: the manifest does not name it; or it is no plain file.
        """
        if name not in self.manifest:
            raise DataError(f"{self.folder}: {name} does not belong to it, says its {MANIFEST}")
        return inside(self.folder, self.folder / name, trust=self.trust)

    def has(self, name: str) -> bool:
        """Whether a file belongs to it."""
        return name in self.manifest

    def check(self, names: Collection[str] | None = None) -> None:
        """See to it that the files are those that the manifest names.

        Args:
            names: the files to look at; None for all that kragx reads.

        Raises:
            DataError: with the names of those that are missing, and of those that are others.
        """
        wanted = [
            name
            for name in self.manifest
            if (not name.endswith(FOR_PEOPLE) if names is None else name in names)
        ]
        missing = [name for name in wanted if not self.path(name).is_file()]
        there = [name for name in wanted if name not in missing]
        changed = [name for name in there if not _fits(self.path(name), self.manifest[name])]
        groups = {"missing": missing, "changed since": changed}
        problems = [f"{problem}: {listed(group)}" for problem, group in groups.items() if group]
        if problems:
            raise DataError(
                f"{self.folder}: not as kragx run has written it ({'; '.join(problems)})",
                remedy="put back what it was, or let kragx run write it anew",
            )


def inside(folder: Path, path: Path, *, trust: bool = False) -> Path:
    """A file of a folder that somebody may have made: a plain one, and no link that leads out.

    Raises:
        DataError: it is something else; that it is not there is no error.
    """
    try:
        if not trust and not path.resolve().is_relative_to(folder.resolve()):
            remedy = "if you trust its author, --trust follows it"
            raise DataError("leads out of the folder", path=str(path), remedy=remedy)
        if path.exists() and not stat.S_ISREG(path.stat().st_mode):
            raise DataError("no plain file", path=str(path))
    except (OSError, RuntimeError) as error:  # RuntimeError: links in a circle
        raise DataError(f"cannot be read: {error}", path=str(path)) from None
    return path


@contextmanager
def reading(folder: Path, *, trust: bool = False) -> Iterator[Sealed]:
    """A folder to read: checked first, and what is read is all of one writing.

    Args:
        folder: the folder.
        trust: whether links in it may lead anywhere.

    Raises:
        DataError: it does not fit its manifest, or was written anew in the meantime.
        UsageError: another one is just writing it, or it must be and cannot.
    """
    files = _finished(folder, trust=trust)
    problem = None
    try:
        files.check()
        yield files
    except KragxError as error:
        problem = error
    if (manifest_of(folder) or {}) != files.manifest:
        raise DataError(f"{folder}: was written anew while it was read; read it again")
    if problem is not None:
        raise problem


def _finished(folder: Path, *, trust: bool = False) -> Sealed:
    """A folder once what is complete stands in its place."""
    if (folder / UNFINISHED / "complete").is_dir():
        with locked(inside(folder, folder / UNFINISHED / "lock")):
            finish(folder)
        tidy(folder)
    return Sealed(folder, manifest_of(folder) or {}, trust)


def checked_file(folder: Path, name: str) -> Path | None:
    """A file of a folder that was found to be what the manifest says; the others are not looked at.

    Returns:
        None if it is not there, as a run has not ended.

    Raises:
        DataError: it is another, or does not belong to the folder.
    """
    files = _finished(folder)
    files.check({name})
    return files.path(name) if files.manifest else None


@contextmanager
def as_written(path: Path | str, kind: str) -> Iterator[None]:
    """Around the reading of a file that may be anybody's: whatever is wrong is a `DataError`."""
    try:
        yield
    except DataError:
        raise
    except (KragxError, LookupError, TypeError, AttributeError, ValueError, OverflowError) as error:
        reason = str(error) if isinstance(error, KragxError) else repr(error)
        raise DataError(f"not {kind} that kragx wrote: {reason}", path=str(path)) from None


def manifest_of(folder: Path) -> Manifest | None:
    """The manifest of a folder; None if it has none.

    Raises:
        DataError: what is there is none that kragx has written.
    """
    path = inside(folder, folder / MANIFEST)
    if not path.exists():
        return None
    with as_written(path, "a manifest"):
        value = read_object(path, "manifest")
        if value["written_by"] != "kragx":
            raise ValueError("kragx did not write it")
        files = {
            name: ManifestEntry(int(entry["size"]), str(entry["sha256"]))
            for name, entry in value["files"].items()
        }
    for name in files:
        pure = PurePosixPath(name)
        if (
            pure.is_absolute()
            or not pure.name
            or {"..", UNFINISHED} & {*pure.parts}
            or "\\" in name
        ):
            raise DataError(f"{path}: {name!r} is no file of a result folder")
    return files


def publish(folder: Path, write: Callable[[Path], None], allowed: Manifest) -> None:
    """Make what a function writes the content of a folder, whose lock is held.

    Args:
        folder: the folder.
        write: writes every file into the folder that it is given.
        allowed: the files that may be replaced.

    Raises:
        UsageError: it cannot be written, or a file of a user's stands in the way.
    """
    # Within the folder, as a rename is one step on one file system alone.
    new = folder / UNFINISHED / "new"
    shutil.rmtree(new, ignore_errors=True)
    try:
        with refused(folder, "written"):
            new.mkdir(parents=True)
            write(new)
            _seal(new, lambda names: check_free(folder, names, allowed))
            # In one step: whoever comes after a crash finds all of it, or none.
            new.rename(new.with_name("complete"))
    finally:
        shutil.rmtree(new, ignore_errors=True)
    finish(folder)


def _seal(new: Path, check: Callable[[Iterable[str]], None]) -> None:
    """Write the manifest of what a folder holds, once its names are checked and all is on disk."""
    paths = sorted(path for path in new.rglob("*") if path.is_file())
    files = {path.relative_to(new).as_posix(): path for path in paths}
    entries = {name: _entry(path)._asdict() for name, path in files.items()}
    check(files)
    for path in paths:
        flush(path)
    manifest = {"written_by": "kragx", "files": entries}
    text = json.dumps(manifest, ensure_ascii=False, indent=2)
    write_bytes(new / MANIFEST, text.encode())


def check_free(folder: Path, names: Iterable[str], allowed: Manifest) -> None:
    """Refuse to replace files of a user's.

    Raises:
        UsageError: there are files with these names, which are not allowed to be replaced.
    """
    strangers = [name for name in names if name not in allowed and os.path.lexists(folder / name)]
    if strangers:
        raise UsageError(
            f"{folder}: {listed(strangers)}: there already, and not written by kragx run",
            remedy="move it away, or name another folder",
        )


def finish(folder: Path) -> None:
    """Move what is complete into place, in a folder whose lock is held.

    Raises:
        UsageError: a file cannot be moved; whoever reads or writes the folder next tries again.
        DataError: a manifest is broken.
    """
    work = folder / UNFINISHED
    complete = work / "complete"
    if work.is_symlink() or complete.is_symlink() or not complete.is_dir():
        return
    with refused(work / "answers", "removed"), suppress(FileNotFoundError):
        shutil.rmtree(work / "answers")  # they are in the results now
    if (new := manifest_of(complete)) is not None:
        _into_place(complete, new, folder)
    shutil.rmtree(complete, ignore_errors=True)


def _into_place(complete: Path, new: Manifest, folder: Path) -> None:
    """Move files into a folder in place of those that stand there."""
    before: Manifest = {}
    with suppress(DataError):
        before = manifest_of(folder) or {}
    for name in (*before, *new):
        _check_inside(folder, name)
    # Names that a file system may hold for one: what is moved must not be removed.
    names = set(map(folded, new))
    for name in before:
        if folded(name) not in names:
            with refused(folder / name, "removed"):
                (folder / name).unlink(missing_ok=True)
    for name in (*new, MANIFEST):  # this last: as long as it stands there, this begins anew
        # After a crash what was moved before is not there any more.
        if (complete / name).exists():
            _move(complete / name, folder / name, folder)


def tidy(folder: Path) -> None:
    """Remove the place of what is unfinished, unless there is something in it."""
    work = folder / UNFINISHED
    with suppress(OSError):
        if {path.name for path in work.iterdir()} <= {".gitignore"}:
            (work / ".gitignore").unlink(missing_ok=True)
            work.rmdir()


def _move(source: Path, target: Path, folder: Path) -> None:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        source.replace(target)
    except OSError as error:
        raise UsageError(
            f"{target}: cannot be replaced: {error.strerror or error}",
            remedy="the new results are complete; close what has this file open, and kragx report "
            f"{folder} moves them into place",
        ) from None


def _check_inside(folder: Path, name: str) -> None:
    """Refuse a name that a link leads out of the folder."""
    if not (folder / name).parent.resolve().is_relative_to(folder.resolve()):
        raise UsageError(
            f"{(folder / name).parent}: a link that leads out of the folder {folder}",
            remedy="remove it, or name another folder",
        )


def _entry(path: Path) -> ManifestEntry:
    with path.open("rb") as file:
        return ManifestEntry(path.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest())


def _fits(path: Path, entry: ManifestEntry) -> bool:
    """Whether a file is what a manifest says; git may have ended its lines as Windows does."""
    # The size first: a file as large as the manifest says is hashed as it is, any other only
    # without the CR that git may have added.
    if path.stat().st_size == entry.size:
        return _entry(path) == entry
    size, digest = 0, hashlib.sha256()
    with path.open("rb") as file:
        for raw in file:
            line = raw[:-2] + b"\n" if raw.endswith(b"\r\n") else raw
            size += len(line)
            digest.update(line)
    return ManifestEntry(size, digest.hexdigest()) == entry


def listed(names: Iterable[str]) -> str:
    """The first names, and how many more there are."""
    every = list(names)
    n_more = len(every) - _NAMED
    return ", ".join(every[:_NAMED]) + (f" and {n_more} more" if n_more > 0 else "")
