"""Batches of records of files: most are plain, and are read without an object for each document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kragx.data.batch import Batch, forbidden_texts_of
from kragx.data.columns import NotPlainError
from kragx.data.documents import clean_seconds
from kragx.data.entries_gathered import Gathered, read_entries
from kragx.data.forbidden import FORBIDDEN, all_forbidden
from kragx.data.known import NoTextError, known_texts
from kragx.data.runs import Status
from kragx.data.search_records import SEARCHES
from kragx.data.searches_gathered import (
    GatheredSearches,
    Listed,
    PlacedSearches,
    PlainSearches,
)
from kragx.data.text import Mender
from kragx.data.weights import INCLUSION, WEIGHT, clean_inclusion, clean_weight
from kragx.errors import DataError

_UNSAID: Mapping[str, Any] = {"metadata": {}, FORBIDDEN: None, WEIGHT: 1.0, INCLUSION: 1.0}
"""What few records have, and what it is of the others."""
_FIELDS = frozenset(
    ("query_id", "query", "gold", "retrieved", "seconds", "error", SEARCHES, *_UNSAID)
)
_MOST_NEW = 1 << 23
_NOT_PLAIN = (
    NotPlainError,
    NoTextError,
    KeyError,
    IndexError,
    TypeError,
    UnicodeEncodeError,
    DataError,
)


class Records:
    """Gathers records of gold and results files that have no other fields than most.

    Each text is looked up while its record is at hand. What is not plain, and so whatever makes an
    error, is for the checks of one field after the other (`formats.format.Fields`).

    Args:
        mended: whether lone surrogates were replaced already, as in what was read as JSON.
    """

    def __init__(self, *, mended: bool) -> None:
        self._mended = mended
        # (line, query id, question, status, seconds)
        self._rows: list[tuple[int | None, str, str | None, Status, float | None]] = []
        self._errors: dict[int, str] = {}
        self._more: dict[str, list[Any]] = {}

    def _begin(self) -> None:
        self._known = known_texts()
        self._known.make_room()
        self._n_before = self._known.n_characters
        self._golds, self._docs = Gathered(self._known), Gathered(self._known)
        self._searches: GatheredSearches | None = None

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def is_full(self) -> bool:
        """Whether it has some million characters of texts that were not known before."""
        return self._known.n_characters - self._n_before > _MOST_NEW

    def add(self, line: int | None, record: Mapping[str, Any]) -> bool:
        """Add a record, if it is plain."""
        query_id, question = record.get("query_id"), record.get("query")
        if type(query_id) is int:
            query_id = str(query_id)
        if not (
            record.keys() <= _FIELDS
            and type(query_id) is str
            and query_id.strip()
            and (question is None or type(question) is str)
        ):
            return False
        if not self._rows:  # not before: who takes a batch may have the texts forgotten meanwhile
            self._begin()
        has_list, error = "retrieved" in record, record.get("error")
        rarer = [name for name in _UNSAID if name in record]
        try:
            more = self._read_rarer(record) if rarer else {}
            golds, gold_texts = read_entries(record.get("gold", []), "grade")
            docs, doc_texts = read_entries(record["retrieved"] if has_list else [], "score")
            searches = self._read_searches(record)
            if not all(map(str.strip, gold_texts)):
                return False  # an empty one stands in every document, which is an error
            texts = [*gold_texts, *doc_texts]
            if searches is not None:
                texts += searches.texts
            if not self._mended:
                words = "" if searches is None else searches.words
                f"{query_id}{question}{error}{words}{''.join(texts)}".encode()
            numbers = self._known.numbers(texts)
            doc_numbers = numbers[len(gold_texts) : len(gold_texts) + len(doc_texts)]
            placed = None
            if searches is not None:
                of_searches = numbers[len(gold_texts) + len(doc_texts) :]
                placed = searches.placed(of_searches, Listed.of(docs, doc_numbers))
            seconds = clean_seconds(record["seconds"]) if "seconds" in record else None
            status = _status(record)
        except _NOT_PLAIN:
            return False
        if placed is not None and not has_list and error is None:
            docs, doc_numbers = (len(placed.first.texts), placed.first.columns), placed.first.texts
        self._golds.add(numbers[: len(gold_texts)], golds)
        self._docs.add(doc_numbers, docs)
        has_list = has_list or status != "answered"
        if placed is not None or not has_list or self._searches is not None:
            self._add_searches(placed, has_list=has_list)
        if more or self._more:
            self._add_more(more)
        if error is not None:
            self._errors[len(self._rows)] = error
        self._rows.append((line, query_id, question, status, seconds))
        return True

    def _read_searches(self, record: Mapping[str, Any]) -> PlainSearches | None:
        """The searches of a record, if it has any."""
        if SEARCHES not in record:
            return None
        values = record[SEARCHES]
        return None if values in (None, []) else PlainSearches(values)

    def _add_searches(self, placed: PlacedSearches | None, *, has_list: bool) -> None:
        if self._searches is None:
            self._searches = GatheredSearches(self._known)
        self._searches.add(placed, len(self._rows), has_list=has_list)

    def _read_rarer(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """What few records have.

        Raises:
            NotPlainError, DataError: it is not plain.
        """
        metadata = record.get("metadata", {})
        if not self._mended or type(metadata) is not dict:
            raise NotPlainError
        return {
            "metadata": metadata,
            FORBIDDEN: all_forbidden(record.get(FORBIDDEN), Mender()),
            WEIGHT: clean_weight(record.get(WEIGHT)),
            INCLUSION: clean_inclusion(record.get(INCLUSION)),
        }

    def _add_more(self, more: Mapping[str, Any]) -> None:
        for name, unsaid in _UNSAID.items():
            column = self._more.setdefault(name, [unsaid] * len(self._rows))
            column.append(more.get(name, unsaid))

    def batches(self) -> Iterator[Batch]:
        """What was gathered, if anything was; from here on it gathers anew."""
        if not self._rows:
            return
        lines, query_ids, questions, statuses, seconds = zip(*self._rows)
        golds, docs = self._golds.entries(), self._docs.entries()
        more = {
            name: column
            for name, column in self._more.items()
            if column.count(_UNSAID[name]) < len(column)
        }
        gathered = self._searches
        searches = None if gathered is None else gathered.lists(len(self._rows))
        errors = self._errors
        self._rows, self._more, self._errors = [], {}, {}
        texts = forbidden_texts_of(more.get(FORBIDDEN))  # known from here on, as the others are
        columns = (lines, query_ids, questions, golds, docs, statuses, seconds)
        yield Batch(*columns, errors, more, texts, searches=searches)


def _status(record: Mapping[str, Any]) -> Status:
    """Whether a record says that its question was answered.

    Raises:
        NotPlainError: it says so, and that the retriever failed.
    """
    if record.get("error") is None:
        is_answered = "retrieved" in record or record.get(SEARCHES) is not None
        return "answered" if is_answered else "missing"
    error = record["error"]
    if type(error) is not str or not error.strip() or record.get("retrieved"):
        raise NotPlainError
    return "failed"
