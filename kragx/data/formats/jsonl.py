"""JSON, whole or in lines, and files in general: opened, read, and written.

``-`` is standard input or output; a file whose name ends with .gz is unpacked.
"""

import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from math import isfinite
from pathlib import Path
from typing import IO, Any

from kragx.data.problems import Problems
from kragx.data.text import Mender
from kragx.errors import DataError, UsageError, shorten

Place = tuple[str | int, ...]
"""The keys and positions that lead to a part of a JSON value: ``("queries", "q1")``."""

Part = tuple[int, Any, Mapping[Place, int]]
"""A value, the line on which it begins, and those on which its own parts do."""

_TOKENS = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s"{}\[\],:]+|\n')


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """For `json.loads`: a JSON object whose keys differ; JSON itself silently keeps the last.

    Raises:
        DataError: a key stands twice.
    """
    record = dict(pairs)
    if len(record) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(f"the key {twice!r} stands twice in one object; keep one")
    return record


def read_records(
    path: str | Path, mender: Mender, problems: Problems | None = None
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield each JSON object of a JSON Lines file with its line number (from 1); skip blank lines.

    Lone surrogates are replaced in every string of the object, keys and metadata included.

    A line that is not UTF-8 or not a JSON object, or in which a key stands twice, is reported to
    `problems`, and passed over.

    Raises:
        DataError: the file cannot be read; or, without `problems`, a line is broken.
    """
    problems = problems or Problems(str(path), strict=True)
    # Surrogates encoded as bytes are let through, to be replaced and counted.
    for number, line in read_lines(path, problems, "surrogatepass"):
        try:
            record = _record(line, mender) if line and not line.isspace() else None
        except DataError as error:
            problems.add(number, None, str(error))
        else:
            if record is not None:
                yield number, record


def read_lines(
    path: str | Path, problems: Problems, errors: str = "strict"
) -> Iterator[tuple[int, str]]:
    """Yield each line of a text with its number (from 1); one that is not UTF-8 is reported.

    Raises:
        DataError: the file cannot be read.
    """
    with open_bytes(path) as lines:
        for number, raw in enumerate(lines, start=1):
            try:
                line = raw.decode("utf-8-sig" if number == 1 else "utf-8", errors)
            except UnicodeDecodeError as error:
                place = f"byte {error.start + 1} of the line"
                problems.add(number, None, f"not UTF-8 ({place}); save the file as UTF-8")
            else:
                yield number, line


def _record(line: str, mender: Mender) -> dict[str, Any]:
    try:
        record = _loaded(line, mender)
        if not isinstance(record, dict):
            raise DataError(
                f"a JSON object is expected, not {shorten(record)}; each line must hold one query"
            )
    except RecursionError:
        raise DataError("JSON nested too deeply") from None
    except DataError:  # a ValueError as well
        raise
    except ValueError as error:
        message = f"not valid JSON: {error}; each line must hold one whole JSON object"
        raise DataError(message) from None
    return record


def read_whole(path: str | Path, first: str, mender: Mender, *, lines: bool) -> list[Part] | None:
    """A file that is one JSON value: an object, or the items of a list.

    None if it is JSON Lines, also if those are broken.

    Args:
        path: the file.
        first: its first line.
        mender: replaces lone surrogates.
        lines: whether its name says that it holds JSON Lines.

    Raises:
        DataError: it is neither one value nor JSON Lines.
    """
    lines = lines and not first.startswith("[")
    if lines and _is_json(first):
        return None  # read as a stream
    with open_bytes(path) as file:
        raw = file.read()
    try:
        text = raw.decode("utf-8-sig", "surrogatepass")
        value = _loaded(text, mender)
    except UnicodeDecodeError:
        return None  # reading line by line will name the line
    except DataError as error:
        raise error.within(path=str(path)) from None
    except (ValueError, RecursionError) as error:
        if lines or _is_json(first):
            return None
        line, reason = getattr(error, "lineno", 1), getattr(error, "msg", "nested too deeply")
        raise DataError(f"not valid JSON: {reason}", path=f"{path}:{line}") from None
    places = lines_of(text)
    if isinstance(value, list):
        return [(places[number,], item, {}) for number, item in enumerate(value)]
    return [(1, value, places)]


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def lines_of(text: str, depth: int = 2) -> dict[Place, int]:
    """The line (from 1) of every part of a valid JSON text, down to a depth.

    A part of an object begins with its key. Of a key that stands twice the last one counts, as for
    `json.loads`.
    """
    lines: dict[Place, int] = {}
    path: list[str | int] = []  # a key or position for each object or list that is open
    line, key_next = 1, False
    for match in _TOKENS.finditer(text):
        token = match.group()
        if token == "\n":
            line += 1
            continue
        if token in "}]":
            path.pop()
        elif token == ",":
            key_next = isinstance(path[-1], str)
            if not key_next:
                path[-1] = int(path[-1]) + 1
        elif token == ":":
            key_next = False
        elif key_next:
            path[-1] = json.loads(token)
            if len(path) <= depth:
                lines[tuple(path)] = line
        else:
            if path and not isinstance(path[-1], str) and len(path) <= depth:
                lines[tuple(path)] = line
            if token in "{[":
                path.append("" if token == "{" else 0)
                key_next = token == "{"
    return lines


def _loaded(text: str, mender: Mender) -> Any:
    """The value of a JSON text, its keys unique, without lone surrogates (in keys neither)."""
    value = json.loads(text, object_pairs_hook=unique_keys)
    # They come as \\udXXX escapes or as bytes that strict UTF-8 would refuse; rare, so the whole
    # value is walked only where one may be.
    with suppress(UnicodeEncodeError):
        text.encode()
        if "\\ud" not in text and "\\uD" not in text:
            return value
    return _mended(value, mender)


def _mended(value: Any, mender: Mender) -> Any:
    match value:
        case str():
            return mender.mend(value)
        case list():
            return [_mended(item, mender) for item in value]
        case dict():
            return {mender.mend(key): _mended(item, mender) for key, item in value.items()}
    return value


@contextmanager
def open_bytes(path: str | Path) -> Iterator[IO[bytes]]:
    """Open a file for reading, or standard input for ``-``; what ends with .gz is unpacked.

    Raises:
        DataError: it cannot be opened, or not be unpacked.
    """
    if str(path) == "-":
        yield sys.stdin.buffer
        return
    try:
        file = Path(path).open("rb")  # noqa: SIM115  # closed below; only opening may fail here
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from None
    with file:
        if not str(path).endswith(".gz"):
            yield file
            return
        import gzip
        import zlib

        try:
            with gzip.GzipFile(fileobj=file) as unpacked:
                yield unpacked  # type: ignore[misc]  # it is no IO by name, but has all of one
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise DataError(f"{path}: not a whole gzip file: {error}") from None


def write_records(records: Iterable[Mapping[str, Any]], path: str | Path) -> None:
    """Write JSON Lines in UTF-8 (``-`` is standard output).

    What JSON lacks becomes a string, a NaN or infinity null.

    Raises:
        UsageError: the file cannot be written.
    """
    with nullcontext(sys.stdout) if str(path) == "-" else open_text(path) as file:
        for record in records:
            file.write(Mender().mend(to_json(record)) + "\n")


def to_json(value: Any, indent: int | None = None) -> str:
    """JSON as kragx writes it: Korean as it is, no NaN."""
    try:
        return json.dumps(value, ensure_ascii=False, indent=indent, default=str, allow_nan=False)
    except ValueError:
        return to_json(_finite(value), indent)


def _finite(value: Any) -> Any:
    match value:
        case float():
            return value if isfinite(value) else None
        case Mapping():
            return {key: _finite(item) for key, item in value.items()}
        case list() | tuple():
            return [_finite(item) for item in value]
    return value


def open_text(path: str | Path, encoding: str = "utf-8") -> IO[str]:
    """Open a file for writing; a `UsageError` says why it cannot."""
    with _refused(path, "written"):
        return Path(path).open("w", encoding=encoding, errors="replace", newline="")


def write_bytes(path: str | Path, data: bytes) -> None:
    """Write a file; a `UsageError` says why it cannot be written."""
    with _refused(path, "written"):
        Path(path).write_bytes(data)


def make_folder(path: Path) -> None:
    """Make a folder and those above it; a `UsageError` says why it cannot."""
    with _refused(path, "made"):
        path.mkdir(parents=True, exist_ok=True)


@contextmanager
def _refused(path: str | Path, what: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UsageError(f"{path}: cannot be {what}: {error.strerror or error}") from None


def file_name(path: str | Path) -> str:
    """What names a data set or run that was read from this file."""
    return "stdin" if str(path) == "-" else Path(str(path).removesuffix(".gz")).stem
