"""The answers of a retriever as they come, kept so that an interrupted run goes on from them."""

import hashlib
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kragx.app.config import RetrieverConfig
from kragx.app.record import UNFINISHED, now
from kragx.data import GoldDataset, Mender, Query, Retrieved, as_docs
from kragx.data.formats.gold import answer_record
from kragx.data.formats.jsonl import make_folder, open_log, read_records, to_json, write_records
from kragx.data.problems import Problems
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
    text = json.dumps([own, questions], sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def partial_path(folder: Path, file: str) -> Path:
    """Where the answers of a retriever are kept while it is asked."""
    return folder / UNFINISHED / "answers" / f"{file}.jsonl"


@dataclass(frozen=True)
class PartialAnswers:
    """The answers that were kept, and what keeps one more.

    Attributes:
        known: those that were kept, by query id.
        begun: when the first of them was asked for; None if that is not known.
        keep: keeps one more before the next one is waited for.
    """

    known: Mapping[str, Retrieved]
    begun: str | None
    keep: Callable[[Query, Retrieved], None]


@contextmanager
def partial_answers(path: Path, key: str) -> Iterator[PartialAnswers]:
    """The answers of a retriever as they come, in a file that a next run picks up.

    The first line holds the hash of what the answers depend on; a file with another one is begun
    anew. A last line that was cut off when the process was killed is passed over, and so are
    failures: what failed is asked again.

    Args:
        path: the file.
        key: the hash.

    """
    begun, known = _read(path, key)
    lock = threading.Lock()
    make_folder(path.parent)
    # Written anew, so that nothing stands behind a line that was cut off.
    header = {"partial": key, "begun": begun if known else now()}
    write_records((header, *(_record(*answer) for answer in known.items())), path)
    with open_log(path) as file:

        def keep(query: Query, retrieved: Retrieved) -> None:
            with lock:
                file.write(to_json(_record(query.id, retrieved)) + "\n")
                file.flush()

        yield PartialAnswers(known, begun, keep)


def _read(path: Path, key: str) -> tuple[str | None, dict[str, Retrieved]]:
    """When a file was begun, and the answers that it holds.

    There are none if there is no such file, or it has another key.
    """
    begun = None
    known: dict[str, Retrieved] = {}
    with suppress(DataError):
        records = (record for _, record in read_records(path, Problems(str(path))))
        header = next(records, {})
        if header.get("partial") == key:
            begun = header.get("begun")
            for record in records:
                with suppress(DataError, KeyError, TypeError):  # of a failure
                    docs = as_docs(record["retrieved"], Mender(), "retrieved")
                    known[record["query_id"]] = Retrieved(docs, record["seconds"])
    return begun, known


def _record(query_id: str, retrieved: Retrieved) -> dict[str, Any]:
    return {"query_id": query_id, "seconds": None, **answer_record(retrieved)}
