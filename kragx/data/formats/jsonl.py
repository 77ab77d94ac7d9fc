"""JSON Lines, and files in general: opened, read as a stream, and written.

``-`` is standard input or output; a file whose name ends with .gz is unpacked.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from math import isfinite
from pathlib import Path
from typing import IO, Any

from kragx.data.problems import Problems
from kragx.data.text import Mender
from kragx.errors import DataError, UsageError, shorten


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
    with open_bytes(path) as lines:
        for number, raw in enumerate(lines, start=1):
            try:
                # Surrogates encoded as bytes are let through, to be replaced and counted.
                line = raw.decode("utf-8-sig" if number == 1 else "utf-8", "surrogatepass")
                record = _record(line, mender) if line and not line.isspace() else None
            except UnicodeDecodeError as error:
                place = f"byte {error.start + 1} of the line"
                problems.add(number, None, f"not UTF-8 ({place}); save the file as UTF-8")
            except DataError as error:
                problems.add(number, None, str(error))
            else:
                if record is not None:
                    yield number, record


def _record(line: str, mender: Mender) -> dict[str, Any]:
    try:
        record = mended(json.loads(line, object_pairs_hook=unique_keys), line, mender)
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


def mended(value: Any, text: str, mender: Mender) -> Any:
    """A JSON value without lone surrogates, keys included; `text` is what it was read from."""
    # They come as \\udXXX escapes or as bytes that strict UTF-8 would refuse; rare, so the whole
    # value is walked only where one may be.
    if "\\ud" in text or "\\uD" in text or not _encodable(text):
        return _mended(value, mender)
    return value


def _encodable(line: str) -> bool:
    if line.isascii():
        return True
    try:
        line.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


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


def open_binary(path: str | Path) -> IO[bytes]:
    """Open a file for writing bytes; a `UsageError` says why it cannot."""
    with _refused(path, "written"):
        return Path(path).open("wb")


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
