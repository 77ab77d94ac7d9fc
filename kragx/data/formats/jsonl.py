"""JSON, whole or in lines, and files in general: opened, read, and written.

``-`` is standard input or output; a file whose name ends with .gz is packed and unpacked.
"""

import codecs
import gzip
import io
import json
import os
import re
import secrets
import shutil
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from math import isfinite
from pathlib import Path
from typing import IO, Any
from unicodedata import normalize

import jiter

from kragx.data.problems import Problems
from kragx.data.text import SurrogateRepair
from kragx.ground.errors import DataError, UsageError, inside, shorten
from kragx.ground.printing import inert, message
from kragx.ground.printing.terminal import output

MOST_UNPACKED = 512 << 20
"""Bytes that any packed file may unpack to."""

MOST_RATIO = 200
"""How many times its size a larger one may unpack to; texts unpack to 3 to 20 times theirs."""

LARGEST_TEXT = 10 << 20
"""Bytes of a text that people write by hand, as a config is."""

_DEEPEST = 100

BUFFER = 1 << 18
"""Bytes read at once: a line of a results file has some ten thousand."""

_GAP = re.compile(r"[\s,]*")


def read_records(
    path: str | Path,
    problems: Problems | None = None,
    lines: Iterable[tuple[int, bytes]] | None = None,
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield each JSON object of a JSON Lines file with its line number (from 1); skip blank lines.

    Lone surrogates are replaced in every string of the object, keys and metadata included.

    A line that is not UTF-8 or not a JSON object, or in which a key stands twice, is reported to
    `problems`, and passed over. `lines` are those to read (`raw_lines`); None for all of the file.

    Raises:
        DataError: the file cannot be read; or, without `problems`, a line is broken.
    """
    problems = problems or Problems(str(path), strict=True)
    for number, raw in raw_lines(path) if lines is None else lines:
        if not raw.strip():
            continue
        try:
            record = json_value(raw, problems.repair)
            if isinstance(record, dict):
                yield number, record
                continue
            wording: str = message(
                "a JSON object is expected, not {value}; each line must hold one query",
                value=shorten(record),
            )
        except DataError as error:
            wording = error.problem_and_remedy
        except UnicodeDecodeError as error:
            wording = not_utf_8(error)
        except (ValueError, RecursionError) as error:
            wording = message(
                "not valid JSON: {reason}; each line must hold one whole JSON object",
                reason=_reason(error),
            )
        problems.add(number, None, wording)


def not_utf_8(error: UnicodeDecodeError) -> str:
    """What is wrong with a line."""
    return message(
        "not UTF-8 (byte {place} of the line); save the file as UTF-8", place=error.start + 1
    )


def raw_lines(path: str | Path) -> Iterator[tuple[int, bytes]]:
    """Each line as bytes with its number; the mark at the beginning of a file is left out."""
    with open_bytes(path) as file:
        for number, raw in enumerate(file, start=1):
            yield number, raw.removeprefix(codecs.BOM_UTF8) if number == 1 else raw


def first_line(path: str | Path) -> str:
    """The first line of a file that says something; of standard input, as far as it has come."""
    with open_bytes(path) as file:
        # Standard input is looked at, not read: whoever reads it after this gets all of it.
        is_stream = str(path) == "-"
        for line in getattr(file, "peek", bytes)().splitlines() if is_stream else file:
            text = line.removeprefix(codecs.BOM_UTF8).strip()
            if text and not text.startswith(b"#"):
                return text.decode("utf-8", "replace")
    return ""


def read_whole(
    path: str | Path, first: str, repair: SurrogateRepair
) -> Iterable[tuple[int, Any]] | None:
    """The JSON value that a file is as a whole, or the entries of a list, each with its line.

    None if it is JSON Lines, also if those are broken.

    Args:
        path: the file.
        first: its first line.
        repair: replaces lone surrogates.

    Raises:
        DataError: it is neither one value nor JSON Lines.
    """
    is_lines = ending(path) != ".json" and not first.startswith("[")
    is_whole = False
    with suppress(ValueError, RecursionError):
        json.loads(first)
        is_whole = True
    if not first or str(path) == "-" or (is_lines and is_whole):
        return None  # read as a stream
    with open_bytes(path) as file:
        raw = file.read()
    try:
        text = raw.decode("utf-8-sig", "surrogatepass")
        with inside(path=str(path)):
            value = json_value(text, repair)
    except DataError:
        raise
    except (ValueError, RecursionError) as error:
        # Reading line by line will name the line.
        if is_lines or is_whole or isinstance(error, UnicodeDecodeError):
            return None
        raise DataError(
            "not valid JSON: {reason}",
            path=f"{path}:{getattr(error, 'lineno', 1)}",
            reason=getattr(error, "msg", _reason(error)),
        ) from None
    return zip(entry_lines(text), value) if isinstance(value, list) else [(1, value)]


def entry_lines(text: str) -> list[int]:
    """The line (from 1) on which each entry of a valid JSON list begins."""
    decode, lines = json.JSONDecoder().raw_decode, list[int]()
    place = _GAP.match(text, text.index("[") + 1).end()  # type: ignore[union-attr]  # it may be empty
    line, counted = 1, 0
    while text[place] != "]":
        line, counted = line + text.count("\n", counted, place), place
        lines.append(line)
        place = _GAP.match(text, decode(text, place)[1]).end()  # type: ignore[union-attr]
    return lines


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """For `json.loads`: a JSON object whose keys differ; JSON itself silently keeps the last.

    Raises:
        DataError: a key stands twice.
    """
    record = dict(pairs)
    if len(record) < len(pairs):
        (key, _), *_ = Counter(name for name, _ in pairs).most_common(1)
        raise DataError("the key {key!r} stands twice in one object; keep one", key=key)
    return record


def json_value(raw: str | bytes, repair: SurrogateRepair) -> Any:
    """The value of a JSON text, its keys unique, without lone surrogates (in keys neither).

    Raises:
        DataError: a key stands twice.
        ValueError, RecursionError: it is no JSON.
    """
    data = raw if isinstance(raw, bytes) else raw.encode("utf-8", "surrogatepass")
    try:  # a fraction of the time of `suppress`
        return jiter.from_json(data, catch_duplicate_keys=True)
    except ValueError:
        pass
    # Read once more, to say what is wrong with it, or to mend it: surrogates come as escapes, or as
    # bytes that strict UTF-8 refuses.
    value = json.loads(data.decode("utf-8", "surrogatepass"), object_pairs_hook=unique_keys)
    text = json.dumps(value, ensure_ascii=False)
    mended = repair.text(text)
    if mended == text:
        return value
    return json.loads(mended, object_pairs_hook=unique_keys)  # two keys may have become one


def foreign_json(text: str, *, strict: bool) -> Any:
    """The value of a JSON text of whatever made it, of 100 levels at most.

    Args:
        text: the whole of it.
        strict: whether keys must be unique and numbers finite: NaN is none of JSON's, and what
            is too large for one (1e999) would become infinite.

    Raises:
        ValueError: it is none (a `DataError` where a key stands twice).
    """
    try:
        hooks = {
            "object_pairs_hook": unique_keys,
            "parse_constant": _finite,
            "parse_float": _finite,
        }
        value = json.loads(text, **(hooks if strict else {}))  # type: ignore[arg-type]
    except RecursionError:
        raise ValueError("nested too deeply") from None
    # What is nested almost too deeply to be read is too deep to be shown or written elsewhere.
    depth, level = 0, [value]
    while level := [part for node in level for part in _parts(node)]:
        depth += 1
        if depth > _DEEPEST:
            raise ValueError("nested too deeply")
    return value


def _finite(text: str) -> float:
    if isfinite(number := float(text)):  # which NaN and Infinity are as well
        return number
    is_name = text in ("NaN", "Infinity", "-Infinity")
    raise ValueError(f"{text} is " + ("no number of JSON's" if is_name else "too large a number"))


def _parts(value: Any) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def read_object(path: Path, kind: str) -> dict[str, Any]:
    """The JSON object of a file that kragx itself has written, its keys unique.

    Args:
        path: the file.
        kind: what it is, for the message.

    Raises:
        FileNotFoundError: there is none.
        DataError: it holds something else.
    """
    try:
        value = json_value(path.read_bytes(), SurrogateRepair())
        if isinstance(value, dict):
            return value
        reason = "no JSON object"
    except FileNotFoundError:
        raise
    except (OSError, ValueError, RecursionError) as error:
        reason = _reason(error)
    raise DataError(
        "not a {kind} that kragx wrote: {reason}", path=str(path), kind=kind, reason=reason
    )


@contextmanager
def open_bytes(path: str | Path) -> Iterator[IO[bytes]]:
    """Open a file for reading, or standard input for ``-``; what ends with .gz is unpacked.

    Raises:
        DataError: it cannot be opened, or not be unpacked, or is small and unpacks without end.
    """
    if str(path) == "-":
        yield sys.stdin.buffer
        return
    place = Path(path)
    if place.exists() and not (place.is_file() or place.is_dir()):
        raise DataError(
            "a pipe or device, which cannot be read twice; save it as a file, or name - for "
            "standard input",
            path=str(path),
        )
    try:
        packed = place.open("rb", BUFFER)
    except (OSError, ValueError) as error:  # of a name that holds NUL
        raise DataError(  # the path stands in the problem: a field of a config is said before it
            "{file}: cannot be read: {reason}", file=path, reason=_reason(error)
        ) from None
    is_packed = str(path).endswith(".gz")
    with (
        packed,
        io.BufferedReader(_Unpacked(packed, path), BUFFER) if is_packed else packed as file,
    ):
        try:
            yield file
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise DataError(
                "{place}: not a whole gzip file: {error}", place=path, error=error
            ) from None


def _reason(error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        if error.filename is not None and _has_twin(Path(error.filename)):
            return message(
                "No such file or directory; one there has this name in another Unicode form, as "
                "macOS writes it: complete the name with Tab, or rename it"
            )
        return message("No such file or directory")
    if isinstance(error, RecursionError):
        return message("nested too deeply")
    return (isinstance(error, OSError) and error.strerror) or str(error)


def _has_twin(path: Path) -> bool:
    """Whether there is what looks like a path that is not there: in Hangul as letters, or whole."""
    place = next((place for place in (path, *path.parents) if place.parent.is_dir()), path)
    name = normalize("NFC", place.name)
    with suppress(OSError):
        return any(normalize("NFC", other) == name for other in os.listdir(place.parent))  # noqa: PTH208  # names alone
    return False


def read_text(path: str | Path) -> str:
    """A text that people write by hand: a config, a rubric, a ``.env`` file; a pipe may hold it.

    Raises:
        DataError: it cannot be read, is not UTF-8, or is larger than `LARGEST_TEXT`, as a device
            is that has no end.
    """
    try:
        with Path(path).open("rb") as file:
            raw = file.read(LARGEST_TEXT + 1)
        if len(raw) > LARGEST_TEXT:
            raise DataError("larger than {value} MB", path=str(path), value=LARGEST_TEXT >> 20)
        return raw.decode("utf-8-sig")
    except OSError as error:
        raise DataError("cannot be read: {reason}", path=str(path), reason=_reason(error)) from None
    except UnicodeDecodeError:
        raise DataError("not UTF-8; save the file as UTF-8", path=str(path)) from None


def check_unpacked(path: str | Path, n_bytes: int, packed: int, limit: int = 0) -> None:
    """Raise a `DataError` if a file of `packed` bytes unpacks to `n_bytes`, out of proportion.

    Any file may unpack to `limit` bytes; where none are named, to `MOST_UNPACKED`.
    """
    limit = limit or MOST_UNPACKED
    if n_bytes > max(limit, MOST_RATIO * packed):
        raise DataError(
            "unpacks to more than {value} MB and to more than {most_ratio} times "
            "its size; if that is meant, unpack it first",
            path=str(path),
            value=limit >> 20,
            most_ratio=MOST_RATIO,
        )


class _Unpacked(io.RawIOBase):
    """What a gzip file holds, unpacked as it is read, so long as it is not out of proportion."""

    def __init__(self, packed: IO[bytes], path: str | Path) -> None:
        self._file, self._path = gzip.GzipFile(fileobj=packed), path
        self._size = os.fstat(packed.fileno()).st_size

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read what fits into a buffer; 0 at the end."""
        data = self._file.read(len(buffer))
        check_unpacked(self._path, self._file.tell(), self._size)
        buffer[: len(data)] = data
        return len(data)


def write_records(records: Iterable[Mapping[str, Any]], path: str | Path) -> None:
    """Write JSON Lines in UTF-8 (``-`` is standard output).

    What JSON lacks becomes a string, a NaN or infinity null.

    Raises:
        UsageError: the file cannot be written.
    """
    with nullcontext(output()) if str(path) == "-" else open_text(path) as file:
        for record in records:
            file.write(SurrogateRepair().text(to_json(record)) + "\n")


def to_json(value: Any, indent: int | None = None) -> str:
    """JSON as kragx writes it: Korean as it is, what terminals obey by its number, no NaN."""
    try:
        text = json.dumps(value, ensure_ascii=False, indent=indent, default=str, allow_nan=False)
    except ValueError:  # there is one, or an infinity: null
        copy = json.loads(
            json.dumps(value, ensure_ascii=False, default=str), parse_constant=lambda name: None
        )
        return to_json(copy, indent)
    # Half a pair is no text: JSON of other languages refuses it even by its number.
    return text if text.isprintable() else inert(SurrogateRepair().text(text), "\\u{:04x}")


@contextmanager
def open_text(path: str | Path, encoding: str = "utf-8") -> Iterator[IO[str]]:
    """A file to write in: what is written takes the place of what was there when the block ends.

    If it ends with an error, or the process does, what was there stays as it was. One whose name
    ends with .gz is packed.

    Raises:
        UsageError: the file cannot be written.
    """
    opener: Callable[..., IO[str]] = gzip.open if str(path).endswith(".gz") else open
    with (
        replacing(path) as place,
        opener(place, "wt", encoding=encoding, errors="replace", newline="") as file,
    ):
        yield file


@contextmanager
def open_log(path: str | Path) -> Iterator[IO[str]]:
    """A file to add lines at its end; a `UsageError` says why it cannot be opened or closed."""
    with refused(path, "written"):
        file = Path(path).open("a", encoding="utf-8", errors="replace", newline="")  # noqa: SIM115
    try:
        yield file
    finally:  # errors of what is done meanwhile are others
        with refused(path, "written"):
            file.close()


def write_bytes(path: str | Path, data: bytes) -> None:
    """Write a file, whole or not at all; a `UsageError` says why it cannot be written."""
    with replacing(path) as place:
        place.write_bytes(data)


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """Where to write what takes a file's place once the block has ended well.

    A link is followed, and permissions stay. A device or a pipe is written to as it stands there.
    """
    with refused(path, "written"):
        target = Path(os.path.realpath(path))
        is_there = target.exists()  # a name that is too long is an error of its own
        # Behind /dev/stdout stands a file that the shell goes on writing to.
        is_device = Path(path).is_relative_to("/dev") or not (target.is_file() or target.is_dir())
        if is_there and is_device:
            yield Path(path)
            return
        if is_there:
            target.open("r+b").close()  # what is read-only is not replaced, nor is a folder
        # A name of its own: the file's may be as long as names can be.
        part = target.with_name(f".kragx-{secrets.token_hex(6)}.part")
        try:
            part.touch(exist_ok=False)  # before the work, lest it be done for nothing
            if is_there:  # at once: what is private is never open to others
                shutil.copymode(target, part)
            yield part
            flush(part)
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)


def flush(path: Path) -> None:
    """See to it that a file's content is on the disk, and survives a power cut."""
    with path.open("r+b") as file:
        os.fsync(file.fileno())


def make_folder(path: Path) -> None:
    """Make a folder and those above it; a `UsageError` says why it cannot."""
    with refused(path, "made"):
        path.mkdir(parents=True, exist_ok=True)


@contextmanager
def refused(path: str | Path, verb: str) -> Iterator[None]:
    """Around work with a file or folder: a `UsageError` says why it cannot be done."""
    try:
        yield
    except OSError as error:
        raise UsageError(
            "{place}: cannot be {verb}: {value}",
            place=path,
            verb=verb,
            value=error.strerror or error,
        ) from None


def file_name(path: str | Path) -> str:
    """What names a data set or run that was read from this file."""
    return "stdin" if str(path) == "-" else Path(str(path).removesuffix(".gz")).stem


def ending(path: str | Path) -> str:
    """The ending of a file's name (``.csv``), in lower case; the one before ``.gz``."""
    return Path(str(path).lower().removesuffix(".gz")).suffix
