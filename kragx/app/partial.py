"""The answers of a retriever as they come, kept so that an interrupted run goes on from them."""

from __future__ import annotations

import hashlib
import json
import threading
from pathlib import Path
from types import TracebackType
from typing import Any

from kragx.app.config import RetrieverConfig
from kragx.data import GoldDataset, Mender, Query, Retrieved, as_docs
from kragx.data.formats.gold import answer_record
from kragx.data.formats.jsonl import open_text, to_json
from kragx.errors import DataError

_OF_FAILURES = {"timeout", "retries", "on_error"}
"""Options of a retriever on which no answer depends that it has given."""


def answers_hash(config: RetrieverConfig, dataset: GoldDataset) -> str:
    """What an answer and its time depend on: the retriever's part of the config, the questions.

    Matchers and metrics are no part of it, so an interrupted run goes on although they changed;
    nor is what only decides how a question fails: whoever raises a timeout loses no answer.
    """
    questions = [(query.id, query.text) for query in dataset]
    own = config.model_dump(mode="json", by_alias=True, exclude=_OF_FAILURES)
    plain = [own, questions]
    text = json.dumps(plain, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def partial_path(folder: Path, file: str) -> Path:
    """Where the answers of a retriever are kept while it is asked."""
    return folder / "results" / f"{file}.partial.jsonl"


class PartialAnswers:
    """The answers of a retriever as they come, in a file that a next run picks up.

    The first line holds the hash of what the answers depend on; a file with another one is begun
    anew. A last line that was cut off when the process was killed is passed over, and so are
    failures: what failed is asked again.

    Args:
        path: the file.
        key: the hash.
    """

    def __init__(self, path: Path, key: str) -> None:
        self._path, self._key = path, key
        self._lock = threading.Lock()
        self.known = self._read()

    def _read(self) -> dict[str, Retrieved]:
        try:
            first, *lines = self._path.read_text(encoding="utf-8").splitlines()
            if json.loads(first)["partial"] != self._key:
                return {}
        except (OSError, ValueError, KeyError, TypeError):
            return {}
        known: dict[str, Retrieved] = {}
        for line in lines:
            try:
                record = json.loads(line)
                docs = as_docs(record["retrieved"], Mender(), "retrieved")
                known[record["query_id"]] = Retrieved(docs, record["seconds"])
            except (ValueError, KeyError, TypeError, DataError):
                continue  # cut off, or a failure
        return known

    def __enter__(self) -> PartialAnswers:
        # Written anew, so that nothing stands behind a line that was cut off.
        self._file = open_text(self._path)
        self._write({"partial": self._key})
        for query_id, retrieved in self.known.items():
            self._write(_record(query_id, retrieved))
        self._file.flush()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()

    def add(self, query: Query, retrieved: Retrieved) -> None:
        """Keep an answer, before the next one is waited for."""
        with self._lock:
            self._write(_record(query.id, retrieved))
            self._file.flush()

    def _write(self, record: dict[str, Any]) -> None:
        self._file.write(to_json(record) + "\n")


def _record(query_id: str, retrieved: Retrieved) -> dict[str, Any]:
    return {"query_id": query_id, "seconds": None, **answer_record(retrieved)}
