"""A folder whose files belong together: all of them are there or none, whoever is killed.

``manifest.json`` names each file with its size and its SHA-256. New files are written beside the
folder, in ``FOLDER.unfinished/new``, the manifest last. Once all are on the disk the folder that
was there is renamed to ``FOLDER.unfinished/old``, and the new one to ``FOLDER``. If a kill comes
between, the next one who reads or writes the folder does the rest, as long as ``old`` stands there.

What no manifest names is a user's own, and is in the new folder as it was in the old one.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from kragx.data.formats.jsonl import flush, read_object, refused, write_bytes
from kragx.ground.caller_warnings import warn
from kragx.ground.errors import DataError, KragxError, UsageError
from kragx.ground.printing import joined, listed, message
from kragx.report.record import UNFINISHED

if sys.platform == "win32":
    import msvcrt

    def _set(number: int, *, is_locked: bool) -> None:
        # Behind all content, as nobody else can read what is locked.
        os.lseek(number, 1 << 30, os.SEEK_SET)
        msvcrt.locking(number, msvcrt.LK_NBLCK if is_locked else msvcrt.LK_UNLCK, 1)
        os.lseek(number, 0, os.SEEK_SET)
else:
    import fcntl

    def _set(number: int, *, is_locked: bool) -> None:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB if is_locked else fcntl.LOCK_UN)


MANIFEST = "manifest.json"

FOR_PEOPLE = (".html", ".md", ".csv", ".parquet")
"""How files end that kragx writes and never reads: a page may be drawn anew, a note be added."""


Manifest = Mapping[str, Mapping[str, Any]]
"""``size`` and ``sha256`` of a folder's files by their names, in which ``/`` parts folders."""


def beside(folder: Path) -> Path:
    """The folder in which a run keeps what it has not finished, where a folder really stands."""
    return Path(f"{os.path.realpath(folder)}{UNFINISHED}")  # `Path.resolve` raises at a circle


def inside(folder: Path, path: Path, *, trust: bool = False) -> Path:
    """A file of a folder that somebody may have made: a plain one, and no link that leads out.

    Raises:
        DataError: it is something else; that it is not there is no error.
    """
    try:
        if not trust and not path.resolve().is_relative_to(folder.resolve()):
            raise DataError(
                "leads out of the folder",
                path=str(path),
                remedy="if you trust its author, --trust follows it",
            )
        if path.exists() and not stat.S_ISREG(path.stat().st_mode):
            raise DataError("no plain file", path=str(path))
    except (OSError, RuntimeError) as error:  # RuntimeError: links in a circle
        raise DataError("cannot be read: {error}", path=str(path), error=error) from None
    return path


def finished_manifest(folder: Path) -> Manifest:
    """The manifest of a folder, empty where no run has ended; what was cut short is ended first.

    Raises:
        DataError: what is there is no manifest that kragx has written.
        UsageError: another one is just writing the folder.
    """
    if _is_cut_short(folder):
        with locked(beside(folder) / "lock"):
            finish(folder)
        tidy(folder)
    return manifest_of(folder) or {}


def check_files(
    folder: Path, manifest: Manifest, names: Collection[str] | None = None, *, trust: bool = False
) -> None:
    """See to it that the files of a folder are those that its manifest names.

    Args:
        folder: the folder.
        manifest: its own.
        names: the files to look at; None for all that kragx reads.
        trust: whether links in it may lead anywhere.

    Raises:
        DataError: with the names of those that are missing, and of those that are others.
    """
    missing, changed = list[str](), list[str]()
    for name, entry in manifest.items():
        if name.endswith(FOR_PEOPLE) if names is None else name not in names:
            continue
        if not (path := inside(folder, folder / name, trust=trust)).is_file():
            missing.append(name)
        elif path.stat().st_size != entry["size"] or _entry(path) != entry:
            changed.append(name)
    problems = {message("not there"): missing, message("changed since"): changed}
    texts = [joined(": ", [text, listed(group)]) for text, group in problems.items() if group]
    if texts:
        raise DataError(
            "{folder}: not as kragx run has written it ({names})",
            remedy="put back what it was, or let kragx run write it anew",
            folder=folder,
            names=joined("; ", texts),
        )


@contextmanager
def as_written(path: Path | str, kind: str) -> Iterator[None]:
    """Around the reading of a file that may be anybody's: whatever is wrong is a `DataError`."""
    try:
        yield
    except DataError:
        raise
    except (KragxError, LookupError, TypeError, AttributeError, ValueError, OverflowError) as error:
        reason = str(error) if isinstance(error, KragxError) else repr(error)
        raise DataError(
            "not {kind} that kragx wrote: {reason}", path=str(path), kind=kind, reason=reason
        ) from None


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
        return {
            name: {"size": int(entry["size"]), "sha256": str(entry["sha256"])}
            for name, entry in value["files"].items()
        }


def publish(folder: Path, write: Callable[[Path], None]) -> None:
    """Make what a function writes the content of a folder, whose lock is held.

    Args:
        folder: the folder; what its manifest does not name stays in it.
        write: writes every file into the folder that it is given.

    Raises:
        UsageError: it cannot be written, or a file of a user's stands in the way.
    """
    place, new = Path(os.path.realpath(folder)), beside(folder) / "new"
    shutil.rmtree(new, ignore_errors=True)
    with refused(folder, "written"):
        try:
            new.mkdir()
            write(new)
            # The manifest comes last, once all that it names is on the disk.
            files = {
                p.relative_to(new).as_posix(): p for p in sorted(new.rglob("*")) if p.is_file()
            }
            for path in files.values():
                flush(path)
            manifest = {name: _entry(path) for name, path in files.items()}
            value = {"written_by": "kragx", "files": manifest}
            write_bytes(new / MANIFEST, json.dumps(value, ensure_ascii=False, indent=2).encode())
            _link_strangers(place, new)
            if place.exists():
                place.rename(new.with_name("old"))
            else:
                new.with_name("old").mkdir()
        finally:
            if not _is_cut_short(folder):
                shutil.rmtree(new, ignore_errors=True)
    finish(folder)


def finish(folder: Path) -> None:
    """Put new results in the place of those that were moved aside, if any; the lock is held.

    Raises:
        UsageError: they cannot be moved; whoever reads or writes the folder next tries again.
    """
    if not _is_cut_short(folder):
        return
    work = beside(folder)
    with refused(folder, "written"):
        if (work / "new").exists():  # which fails where somebody has put another folder there
            (work / "new").rename(os.path.realpath(folder))
        # Answers are in the results now. What was moved aside goes last: as long as it stands
        # there, this begins anew.
        for name in ("answers", "old"):
            with suppress(FileNotFoundError):
                shutil.rmtree(work / name)


def _is_cut_short(folder: Path) -> bool:
    return (beside(folder) / "old").is_dir()


def tidy(folder: Path) -> None:
    """Remove the place of what is unfinished, unless there is something in it."""
    with suppress(OSError):
        beside(folder).rmdir()


def _link_strangers(folder: Path, new: Path) -> None:
    """Give new results the files of a user's that stand beside the old ones, at no cost."""
    of_kragx = {MANIFEST}
    with suppress(DataError):
        of_kragx |= {*(manifest_of(folder) or ())}

    def kragxs(place: str, names: list[str]) -> list[str]:
        top = Path(place).relative_to(folder)
        return [name for name in names if (top / name).as_posix() in of_kragx]

    if folder.exists():
        shutil.copytree(
            folder, new, symlinks=True, ignore=kragxs, copy_function=os.link, dirs_exist_ok=True
        )


def _entry(path: Path) -> dict[str, Any]:
    """What a manifest says of a file."""
    with path.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    return {"size": path.stat().st_size, "sha256": sha256}


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock that a file stands for, which is gone afterwards.

    Raises:
        UsageError: another one holds it, in this process or in another; or the file cannot be made.
    """
    with refused(path, "locked"):
        number = _opened(path)
    try:
        yield
    finally:
        try:
            with suppress(OSError):  # on Windows nobody can remove a file that is open
                path.unlink()
        finally:
            # Not by closing alone: a child that was forked meanwhile has the file open, too.
            with suppress(OSError):
                _set(number, is_locked=False)
            os.close(number)


def _opened(path: Path) -> int:
    """The file, open and locked; a `UsageError` where another one has it."""
    while True:
        path.parent.mkdir(parents=True, exist_ok=True)
        # A link is not followed: what it leads to is not ours to write in.
        try:
            number = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)
        except FileNotFoundError:  # its former holder has just removed the folder
            continue
        try:
            _set(number, is_locked=True)
        except (BlockingIOError, PermissionError):
            os.close(number)
            folder = str(path.parent).removesuffix(UNFINISHED)
            raise UsageError("{folder}: in use by another run", folder=folder) from None
        except OSError as error:
            text = message(
                "this file system knows no locks ({reason}); let no two runs write to one folder",
                reason=error.strerror or error,
            )
            warn(text, UserWarning)
        # Its former holder may have removed the file that was opened here.
        if path.exists() and os.path.samestat(os.fstat(number), path.stat()):
            return number
        os.close(number)
