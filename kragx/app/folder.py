"""Result folders: what a run leaves behind, and what an interrupted one goes on from.

    report.json    config, versions and every number      gold.jsonl  the gold set as it was
    report.md      the report for people                  config.yaml the config, resolved
    means.csv      a line for each retriever and matcher  results/    what each retriever returned
    queries.csv    a line for each query besides          report.html all of it, to look into

With pyarrow (extra `parquet`) queries.parquet and results/*.parquet stand beside them. While a run
goes on, each answer is added to ``results/<retriever>.partial.jsonl`` as it comes.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from kragx.app.config import RetrieverConfig, RunConfig, load
from kragx.data.documents import as_docs
from kragx.data.formats.gold import answer_record
from kragx.data.formats.jsonl import file_name, open_text, to_json
from kragx.data.gold import GoldDataset, Query
from kragx.data.reading import read_gold, read_results
from kragx.data.runs import Retrieved, Run
from kragx.data.text import Mender, file_names
from kragx.errors import DataError
from kragx.evaluation.evaluation import Evaluation

_OF_FAILURES = ("timeout", "retries", "on_error")
"""Options of a retriever on which no answer depends that it has given."""


def asked_hash(config: RetrieverConfig, dataset: GoldDataset) -> str:
    """What an answer and its time depend on: the retriever's part of the config, the questions.

    Matchers and metrics are no part of it, so an interrupted run goes on although they changed;
    nor is what only decides how a question fails: whoever raises a timeout loses no answer.
    """
    questions = [(query.id, query.text) for query in dataset]
    own = config.model_dump(mode="json", by_alias=True, exclude=set(_OF_FAILURES))
    plain = [own, questions]
    text = json.dumps(plain, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class Partial:
    """The answers of a retriever as they come, in a file that a next run picks up.

    The first line holds the hash of what the answers depend on; a file with another one is begun
    anew. A last line that was cut off when the process was killed is passed over, and so are
    failures: what failed is asked again.

    Args:
        path: the file.
        key: the hash.
    """

    def __init__(self, path: Path, key: str) -> None:
        self.path = path
        self._key = key
        self._lock = threading.Lock()
        self._file: IO[str] | None = None
        self.known = self._read()

    def _read(self) -> dict[str, Retrieved]:
        known: dict[str, Retrieved] = {}
        try:
            lines = self.path.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError):
            return {}
        for number, line in enumerate(lines):
            try:
                record = json.loads(line)
                if number == 0:
                    if record["partial"] != self._key:
                        return {}
                    continue
                docs = as_docs(record["retrieved"], Mender(), "retrieved")
                known[record["query_id"]] = Retrieved(docs, record["seconds"])
            except (ValueError, KeyError, TypeError, DataError):
                continue  # cut off, or a failure
        return known

    def __enter__(self) -> Partial:
        # Written anew, so that nothing stands behind a line that was cut off.
        self._file = open_text(self.path)
        self._file.write(to_json({"partial": self._key}) + "\n")
        for query_id, found in self.known.items():
            self._write(query_id, found)
        self._file.flush()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._file is not None:
            self._file.close()

    def add(self, query: Query, found: Retrieved) -> None:
        """Keep an answer, before the next one is waited for."""
        with self._lock:
            self._write(query.id, found)
            if self._file is not None:
                self._file.flush()

    def _write(self, query_id: str, found: Retrieved) -> None:
        record = {"query_id": query_id, "seconds": None, **answer_record(found)}
        if self._file is not None:
            self._file.write(to_json(record) + "\n")


def partial_path(folder: Path, file: str) -> Path:
    """Where the answers of a retriever are kept while it is asked."""
    return folder / "results" / f"{file}.partial.jsonl"


def write_parquet(
    folder: Path,
    dataset: GoldDataset,
    runs: Mapping[str, Run],
    evaluations: Sequence[Evaluation],
) -> None:
    """Write queries.parquet and results/<retriever>.parquet, if pyarrow is installed."""
    if find_spec("pyarrow") is None:
        return
    for file, found in zip(file_names(runs), runs.values(), strict=True):
        _write_table(folder / "results" / f"{file}.parquet", _result_columns(dataset, found))
    metrics = list(dict.fromkeys(name for each in evaluations for name in each.mean))
    columns: dict[str, list[Any]] = {
        name: [] for name in ("query_id", "retriever", "match", *metrics)
    }
    for each in evaluations:
        for query_id, values in each.queries.items():
            row = (query_id, each.name, each.match_name, *(values.get(name) for name in metrics))
            for column, value in zip(columns.values(), row):
                column.append(value)
    _write_table(folder / "queries.parquet", columns, floats=metrics)


def _result_columns(dataset: GoldDataset, run: Run) -> dict[str, list[Any]]:
    """A row for each document retrieved; one without rank for a query that got none."""
    rows: list[tuple[Any, ...]] = []
    for query in dataset:
        found = run.results.get(query.id)
        if found is None or found.error is not None or not found.documents:
            error = "missing" if found is None else found.error
            rows.append((query.id, None, None, None, None, None, found and found.seconds, error))
            continue
        for rank, doc in enumerate(found.documents, start=1):
            metadata = to_json(dict(doc.metadata))
            rows.append(
                (query.id, rank, doc.id, doc.text, doc.score, metadata, found.seconds, None)
            )
    names = ("query_id", "rank", "id", "text", "score", "metadata", "seconds", "error")
    return {name: [row[at] for row in rows] for at, name in enumerate(names)}


def _write_table(
    path: Path, columns: Mapping[str, list[Any]], floats: Sequence[str] = ("score", "seconds")
) -> None:
    import pyarrow
    from pyarrow import parquet

    # Types are named, lest a column without a value have none.
    kinds = {name: pyarrow.float64() for name in floats} | {"rank": pyarrow.int32()}
    arrays = {
        name: pyarrow.array(values, kinds.get(name, pyarrow.string()))
        for name, values in columns.items()
    }
    parquet.write_table(pyarrow.table(arrays), path)


def read_folder(folder: Path) -> tuple[RunConfig, GoldDataset, dict[str, Run]]:
    """What a run left in a folder: its config, its gold set, and what each retriever returned.

    Raises:
        DataError: the folder lacks a file, or one is broken.
    """
    if not (folder / "config.yaml").is_file():
        raise DataError(
            f"{folder}: no result folder, as it has no config.yaml; name one that kragx run has "
            "written (an interrupted run goes on with kragx run)"
        )
    config = load(folder / "config.yaml", needs_env=False)
    name = config.dataset.name or file_name(str(config.dataset.path).removesuffix(".gz"))
    gold = read_gold(folder / "gold.jsonl")
    dataset = replace(gold, name=name, version=config.dataset.version)
    runs = {}
    for file, (name, retriever) in zip(file_names(config.retrievers), config.retrievers.items()):
        found = read_results(folder / "results" / f"{file}.jsonl")[1]
        # Its queries are the gold set's; what was extra is not in the folder.
        runs[name] = replace(found, name=name, settings=retriever.settings)
    return config, dataset, runs


def as_read(folder: Path) -> Callable[[Evaluation], Evaluation]:
    """Adds what was counted while the sources were read, which their copies no longer show."""
    path = folder / "report.json"
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))["evaluations"]
        counted = {
            row["retriever"]: {name: row["counts"][name] for name in _READ_COUNTS} for row in rows
        }
    except FileNotFoundError:
        counted = {}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"{path}: not a report that kragx wrote: {error}") from None

    def with_counts(evaluation: Evaluation) -> Evaluation:
        counts = {**evaluation.counts, **counted.get(evaluation.name, {})}
        return replace(evaluation, counts=counts)

    return with_counts


_READ_COUNTS = ("n_extra", "n_replaced_surrogates")
