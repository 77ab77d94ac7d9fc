"""Where Parquet files are: a file, several, a folder, a pattern, or an address such as s3://.

A file is known by its name alone, as it stands in messages, so that other processes can open it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kragx.data.formats.jsonl import replacing
from kragx.ground.errors import DataError, UsageError, needing
from kragx.ground.printing import phrase

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem

ENDING = ".parquet"
_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")
_NAMED = re.compile(rf"^{_ADDRESS.pattern}|\{ENDING}(\?[^?/]*=[^?]*)?$", re.IGNORECASE)
_ROOT = re.compile(r"[^/]+//[^/]*/?")
_PATTERN = re.compile(r"[*\[]")
_QUERY = re.compile(r"\?[^?/]*=[^?]*$")
_LONGEST = 300  # characters of what a library says
_PATIENCE = "retry_limit_seconds"  # of gs://: a wrong name would be tried for 15 minutes
_S3 = (
    "log in as for the AWS command line (AWS_PROFILE, or AWS_ACCESS_KEY_ID and "
    "AWS_SECRET_ACCESS_KEY; AWS_DEFAULT_REGION), and see that bucket and path are right"
)
_GS = (
    "log in as for Google's command line (gcloud auth application-default login, or "
    "GOOGLE_APPLICATION_CREDENTIALS), and see that bucket and path are right"
)
_NAME = "name a file, a folder or a pattern of files"
_REMEDIES = {"s3": _S3, "gs": _GS, "gcs": _GS}


def is_address(path: object) -> bool:
    """Whether a path is an address: ``s3://bucket/results``."""
    return isinstance(path, str) and _ADDRESS.match(path) is not None


def is_parquet(path: object) -> bool:
    """Whether a path's name says that it is a Parquet file."""
    return _QUERY.sub("", str(path)).lower().endswith(ENDING)


def is_located(source: object) -> bool:
    """Whether a source names Parquet files: by how it is written, or as it is a folder."""
    if isinstance(source, (list, tuple)):
        # The first is looked at alone, as lists of documents come by here, too.
        are_names = bool(source) and isinstance(source[0], (str, Path))
        return are_names and all(isinstance(p, (str, Path)) and is_located(p) for p in source)
    if not isinstance(source, (str, Path)):
        return False
    # A text may be too long for a file's name, which `isdir` forgives.
    return _NAMED.search(str(source)) is not None or os.path.isdir(source)  # noqa: PTH112


def located_name(source: object) -> str:
    """What names a data set that is read from there: the file, the folder, or what they share."""
    if isinstance(source, (list, tuple)):
        return located_name(source[0])
    path = Path(_QUERY.sub("", str(source)))
    names = (path.name.removesuffix(ENDING), *(folder.name for folder in path.parents))
    stems = (_PATTERN.split(name)[0].rstrip("-_. ") for name in names)
    return next(filter(None, stems), "results")


def files_of(source: object) -> list[str]:
    """The names of all files, sorted within a folder or pattern.

    Of a folder also those in folders within, but for what begins with ``.`` or ``_``: so tools
    call what is no data.

    Raises:
        DataError: there is none, or an address cannot be read.
    """
    if isinstance(source, (list, tuple)):
        return list(dict.fromkeys(name for part in source for name in files_of(part)))
    name = str(source)
    place, query = _parts(name)
    pattern = _PATTERN.search(place)
    base = f"{place}/" if pattern is None else place[: place.rfind("/", 0, pattern.start()) + 1]
    within = "**/" if pattern is None else place[len(base) :]
    with readable(name):
        from pyarrow.fs import FileSelector, FileType

        system, path = _system(name)
        kind = system.get_file_info(path).type
        is_missing = kind == FileType.NotFound and pattern is None and not is_address(name)
        if kind == FileType.File or is_missing:  # which whoever opens it says
            return [name]
        folder = _system(f"{base}{query}")[1].rstrip("/") or ("/" if base else ".")
        selector = FileSelector(folder, allow_not_found=True, recursive="/" in within)
        infos = [info for info in system.get_file_info(selector) if info.type == FileType.File]
    ends = [info.path.removeprefix(folder).removeprefix("/") for info in infos]
    fits = re.compile(_as_regex(within) if pattern else rf"(?i:.*\{ENDING})")
    names = [
        base.removeprefix("./") + end + query
        for end in ends
        # What begins so is no data, whatever stands before the folder.
        if fits.fullmatch(end) and not any(part.startswith((".", "_")) for part in end.split("/"))
    ]
    if not names:
        reason = "no such file" if pattern or is_address(name) else f"no {ENDING} file in it"
        raise DataError(
            phrase("cannot be read: {reason}", reason=reason), path=shown(name), remedy=_NAME
        )
    return sorted(names)


def _parts(name: str) -> tuple[str, str]:
    """A name without what an address says of its file system, and that: ``?region=x``."""
    query = _QUERY.search(name) if is_address(name) else None
    place = name if query is None else name[: query.start()]
    return place.rstrip("/") or name, "" if query is None else query[0]


def _as_regex(pattern: str) -> str:
    """A pattern of files as a regular expression: ``*`` within a folder's name, ``**`` over any."""
    kinds = {"**/": "(?:.*/)?", "*": "[^/]*"}
    parts = re.split(r"(\*\*/|\*|\[[^\]/]+\])", pattern)
    return "".join(
        kinds.get(part) or (part if part.startswith("[") else re.escape(part)) for part in parts
    )


@contextmanager
def opened(name: str, folder: str = "") -> Iterator[Any]:
    """A file as pyarrow reads it; a `DataError` says why it, or what is in it, cannot be read.

    Args:
        name: of the file, also in messages.
        folder: where a relative path starts; empty for the working directory.
    """
    with readable(name):
        system, path = _system(place_of(name, folder))
        with system.open_input_file(path) as file:
            yield file


@contextmanager
def written_at(path: str | Path) -> Iterator[Any]:
    """A stream whose content becomes a file, or one at an address, once the block has ended well.

    Raises:
        UsageError: it cannot be written.
    """
    if not is_address(path):
        with replacing(path) as place, place.open("wb") as file:
            yield file
        return
    import pyarrow

    address, sink = str(path), pyarrow.BufferOutputStream()
    yield sink  # what is uploaded as it comes is there in part
    try:
        system, key = _system(address)
        system.create_dir(key.rpartition("/")[0], recursive=True)
        with system.open_output_stream(key) as stream:
            stream.write(sink.getvalue())
    except (OSError, pyarrow.ArrowException) as error:
        problem = f"cannot be written: {' '.join(str(error).split())[:_LONGEST]}"
        raise UsageError(problem, path=shown(address), remedy=_remedy(address)) from None


def place_of(name: str, folder: str) -> str:
    """A file as every process finds it, wherever it works; an address is that already."""
    return name if is_address(name) else str(Path(folder, name))


def shown(name: str) -> str:
    """A name as messages have it: without what an address may hold of keys and passwords."""
    return re.sub(r"(?<=://)[^/@]*:[^/@]*@", "", _QUERY.sub("", name)) if is_address(name) else name


@contextmanager
def readable(name: str) -> Iterator[None]:
    """Around the work with a file: a `DataError` says why it cannot be read."""
    with needing("parquet", "reading Parquet files"):
        from pyarrow import ArrowException
    try:
        yield
    except (OSError, ArrowException, UnicodeDecodeError) as error:  # names of columns are texts
        number = getattr(error, "errno", None)
        text = " ".join((os.strerror(number) if number else str(error)).split())
        problem = f"cannot be read{'' if number else ' as Parquet'}: {text[:_LONGEST]}"
        raise DataError(problem, path=shown(name), remedy=_remedy(name)) from None


def _remedy(name: str) -> str:
    """What to do where the files of somebody else's machine cannot be had."""
    scheme = _ADDRESS.match(name)
    return _REMEDIES.get(scheme[1].lower(), "") if scheme else ""


def _system(name: str) -> tuple[FileSystem, str]:
    """The file system that has a file, and what the file is called there."""
    if not is_address(name):
        from pyarrow.fs import LocalFileSystem

        return LocalFileSystem(), name
    place, query = _parts(name)
    root = _ROOT.match(place)[0]  # type: ignore[index]  # as of any address
    system, path = _folder_at(root, query)
    return system, f"{path.rstrip('/')}/{place[len(root) :]}"


@lru_cache(maxsize=64)  # to ask where a bucket is takes a request
def _folder_at(folder: str, query: str) -> tuple[FileSystem, str]:
    """The file system of an address, and what the folder is called there."""
    from pyarrow.fs import FileSystem

    if folder.startswith(("gs://", "gcs://")) and _PATIENCE not in query:
        query += f"{'&' if query else '?'}{_PATIENCE}=30"
    try:
        system, path = FileSystem.from_uri(f"{folder}{query}")
    except (ValueError, NotImplementedError, ImportError) as error:  # one of them Arrow's too
        problem = f"no address that pyarrow can read here: {' '.join(str(error).split())}"
        remedy = "write s3://bucket/path, gs://bucket/path, or a path of this machine"
        raise DataError(problem, path=shown(folder).rstrip("/"), remedy=remedy) from None
    return system, path
