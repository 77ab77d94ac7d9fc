"""The lines of batch files: what goes into them, and what comes back."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from typing import Any

from kragx.printing import phrase

MOST_REQUESTS = 50_000
MOST_BYTES = 190_000_000
"""What OpenAI takes in one file is 200 MB."""

_GOOD = 200
_NOT_RUN = ("batch_expired", "batch_cancelled")
BROKEN = phrase("lines that cannot be read")
UNKNOWN = phrase("lines about what was not asked")


def request_line(key: str, url: str, body: Mapping[str, Any]) -> bytes:
    """A request as a line of a batch file."""
    line = {"custom_id": key, "method": "POST", "url": url, "body": body}
    return json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def in_files(
    lines: Iterable[tuple[str, bytes]], most_requests: int, most_bytes: int = MOST_BYTES
) -> Iterator[dict[str, bytes]]:
    """Lines by key, as many together as one file may hold."""
    file: dict[str, bytes] = {}
    size = 0
    for key, line in lines:
        if file and (len(file) == most_requests or size + len(line) > most_bytes):
            yield file
            file, size = {}, 0
        file[key] = line
        size += len(line)
    if file:
        yield file


@dataclass
class ResultLines:
    """What the files of a batch say, whatever their order.

    Attributes:
        answers: status and body of each request that was answered, by its key; several where lines
            with status 200 differ.
        not_run: the keys of those that were not run before the batch ended.
        odd: how many lines are `BROKEN` or `UNKNOWN`.
        n_lines: how many there are.
        is_cut: whether a file ends within a line.
    """

    answers: dict[str, list[tuple[int, Any]]] = field(default_factory=dict)
    not_run: set[str] = field(default_factory=set)
    odd: Counter[str] = field(default_factory=Counter)
    n_lines: int = 0
    is_cut: bool = False

    def read(self, content: bytes, keys: Set[str]) -> None:
        """Take in a file of a batch that asks for these keys."""
        # Only a line feed ends a line: texts may hold whatever else ends one.
        for line in filter(bytes.strip, content.split(b"\n")):
            self.n_lines += 1
            try:
                record = json.loads(line)
                key = str(record["custom_id"])
                entry = _entry(record)
            except (ValueError, TypeError, LookupError, RecursionError):
                self.odd[BROKEN] += 1
                self.is_cut |= content.endswith(line)
                continue
            if key not in keys:
                self.odd[UNKNOWN] += 1
            elif entry is None:
                self.not_run.add(key)
            else:
                self._answer(key, entry)
        self.not_run -= self.answers.keys()

    def _answer(self, key: str, entry: tuple[int, Any]) -> None:
        """One more line that answers a request: a good one is worth more than an error."""
        entries = self.answers.setdefault(key, [entry])
        if entries[0][0] != _GOOD == entry[0]:
            self.answers[key] = [entry]
        elif entry[0] == _GOOD and entry not in entries:
            entries.append(entry)


def _entry(record: Mapping[str, Any]) -> tuple[int, Any] | None:
    """Status and body of a line; None for a request that was not run."""
    error = record.get("error")
    if error is not None:
        return None if error.get("code") in _NOT_RUN else (0, {"error": error})
    response = record["response"]
    return int(response["status_code"]), response["body"]
