"""The judgement store: every attempt, in one SQLite file or PostgreSQL database that only grows.

Several processes may use one store at once, and none of them asks what another is asking. Attempts
are committed within milliseconds of their answers, so that whatever ends a run, a killed process
too, loses only what was in flight.
"""

import asyncio
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, replace
from operator import attrgetter
from pathlib import Path
from typing import Any, Self, TypeVar

from kragx.data.databases import Address, NoStoreError, StoreFailedError, is_url
from kragx.ground.errors import DataError, inside, shorten
from kragx.judging.client import words_of
from kragx.judging.judgement_counts import Spent
from kragx.judging.question import Judgement, now
from kragx.judging.rubric import LISTED, RUBRICS, Rubric, canonical_json, key_of

__all__ = [
    "Address",
    "NoStoreError",
    "Store",
    "StoreFailedError",
    "exported",
    "is_url",
    "record",
]

_TOKENS = ("prompt_tokens", "completion_tokens", "cached_tokens")
_QUESTION = ("key", "material")
_PAIR = ("key", "query_id", "document_id")
_LABEL = ("query_id", "document_id", "grade", "at", "origin")
_Result = TypeVar("_Result")

COLUMNS = tuple(field.name for field in fields(Judgement))
VALUES = attrgetter(*COLUMNS)
_WHOLE = (
    *("grade", "prompt_tokens", "completion_tokens", "cached_tokens", "reasoning_tokens"),
    "output_limit",
)
_KINDS: Mapping[str, tuple[type, ...]] = {
    **dict.fromkeys(COLUMNS, (str, type(None))),
    **dict.fromkeys(_WHOLE, (int, type(None))),
    **dict.fromkeys(("seconds", "expected"), (float, int, type(None))),
}
_MOST = 2**63


def attempt_of(values: Any, path: str = "") -> Judgement:
    """The attempt that has these values; a `DataError` where one is of another kind, or cannot be.

    A number cannot be that is below zero, not finite, or beyond 64 bits.
    """
    for (name, kinds), value in zip(_KINDS.items(), values):
        is_number = value is not None and str not in kinds
        if type(value) not in kinds or (is_number and not 0 <= value < _MOST):
            raise DataError(
                "not a judgement: {name!r} is {value}", path=path, name=name, value=shorten(value)
            )
    return Judgement(*values)


Exported = tuple[Judgement, str, list[tuple[str, str, str]]]
"""An attempt, its question as canonical JSON, and the (key, query id, document id) it is about."""


def record(
    attempt: Judgement, question: Mapping[str, Any] | None, pairs: Mapping[str, list[list[str]]]
) -> dict[str, Any]:
    """An attempt as it is exported, with its question and the (query, document) ids of each key."""
    values = zip(COLUMNS, VALUES(attempt))
    attempt_values = {name: value for name, value in values if value is not None}
    return attempt_values | {"question": question, "pairs": pairs.get(attempt.key, [])}


def exported(records: Iterable[Mapping[str, Any]]) -> list[Exported]:
    """Attempts as `Store.records` gives them.

    Raises:
        DataError: a record lacks what it needs.
    """
    return [_read_record(record, number) for number, record in enumerate(records, start=1)]


def _read_record(record: Mapping[str, Any], number: int) -> Exported:
    try:
        material = canonical_json(record["question"])
        required = ("key", "uid", "at")
        attempt = Judgement(
            **{name: record[name] for name in COLUMNS if name in required or name in record}
        )
        pairs = [(attempt.key, str(q), str(d)) for q, d in record.get("pairs", ())]
        rubric = RUBRICS.get(record["question"]["rubric"]["id"])
        for name, kind in (("asks", str), ("facts", list)):
            if not isinstance(record["question"].get(name, kind()), kind):
                raise TypeError(f"question.{name} is {shorten(record['question'][name])}")
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(
            "record {number}: not a judgement as 'kragx judge store export' writes it ({error!r})",
            number=number,
            error=error,
        ) from None
    with inside(f"record {number}"):
        attempt_of(VALUES(attempt))
        _check_grades(attempt, record["question"], rubric)
        if (attempt.grade is None) == (record.get("failure") is None):
            raise DataError("a judgement has a grade, or a failure without one")
    if key_of(material) != attempt.key:
        raise DataError(
            "record {number}: its key is not that of its question; the question was changed, and "
            "the grade belongs to another one",
            number=number,
        )
    return attempt, material, pairs


def _check_grades(attempt: Judgement, question: Mapping[str, Any], rubric: Rubric | None) -> None:
    """Raise a `DataError` where an attempt has a grade that its question cannot have."""
    grade = attempt.grade
    grades = [] if grade is None else [grade]
    if question.get("asks") in LISTED:
        grades = [of_entry for of_entry, _ in attempt.entries]
        n_facts = len(question.get("facts", grades))
        if grade is not None and (attempt.answer is None or n_facts != len(grades)):
            raise DataError(
                "{answer} is no answer to it", field="answer", answer=shorten(attempt.answer)
            )
    # Of a rubric of somebody's own the scale is not known here, but that it begins with 0.
    if any(grade < 0 or (rubric is not None and grade > rubric.top) for grade in grades):
        raise DataError("{grades} is no grade of its rubric", field="grade", grades=grades[0])


class Store:
    """A judgement store, to be used as a context manager.

    Args:
        address: the SQLite file, whose folder is made, or the URL of a PostgreSQL database.
        make: whether it is made if it does not exist.

    Attributes:
        read_only: whether there is no right to write; what is stored is served all the same.
        claims: of the keys that one is about to ask.
        batches: what is known of batches.

    Raises:
        NoStoreError: it does not exist and is not to be made.
        DataError: there is no judgement store, or one of a later kragx.
    """

    def __init__(self, address: str | Path | Address, *, make: bool = True) -> None:
        self.address: Address = Address.of(address)
        self._make = make

    def __enter__(self) -> Self:
        from kragx.data.databases.database import Database
        from kragx.judging.store.pending import Claims, Register
        from kragx.judging.store.tables import SCHEMA

        self._database = Database(self.address, SCHEMA, self._make)
        self.read_only: bool = self._database.read_only
        self.claims: Claims = Claims(self._database)
        self.batches: Register = Register(self._database)
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        try:
            with suppress(StoreFailedError):  # then the claims end by themselves
                self.claims.close()
        finally:
            self._database.close()

    # -- writing -----------------------------------------------------------------------------

    def add(self, attempts: Iterable[Judgement], finished: Sequence[str] = ()) -> None:
        """Commit attempts at questions that were noted before.

        Args:
            attempts: what came.
            finished: the keys that nothing more is asked for, whose claims end.
        """
        self._database.insert(attempts=_rows(COLUMNS, map(VALUES, attempts)))
        # After the commit: whoever looks in between sees a claim and an answer, never neither.
        self.claims.ended += finished

    def note(
        self, questions: Iterable[tuple[str, str]], pairs: Iterable[tuple[str, str, str]]
    ) -> None:
        """Remember what is asked, before it is.

        Args:
            questions: (key, canonical JSON).
            pairs: which (key, query id, document id) belong together, for exports.
        """
        self._database.insert(questions=_rows(_QUESTION, questions), pairs=_rows(_PAIR, pairs))

    def add_labels(self, labels: Iterable[tuple[str, str, int]], origin: str) -> int:
        """Add human grades of (query id, document id); the newest of a pair counts."""
        rows = [(*label, now(), origin) for label in labels]
        self._database.insert(labels=_rows(_LABEL, rows))
        return len(rows)

    def add_records(self, records: Iterable[Exported]) -> tuple[int, int]:
        """Add attempts that were exported; returns how many were new, and how many were not.

        Raises:
            DataError: the store refuses one; nothing of the whole is added then.
        """
        records = list(records)
        uids = {attempt.uid for attempt, *_ in records}
        n_known = len(self._database.rows("attempts", ["uid"], "uid", uids))
        self._database.insert(
            questions=_rows(_QUESTION, ((attempt.key, text) for attempt, text, _ in records)),
            pairs=_rows(_PAIR, (pair for *_, pairs in records for pair in pairs)),
            attempts=_rows(COLUMNS, (VALUES(attempt) for attempt, *_ in records)),
        )
        new = len(uids) - n_known
        return new, len(records) - new

    async def aside(self, work: Callable[..., _Result], *args: object) -> _Result:
        """What a piece of work with the store gives; a server's answer holds up no event loop."""
        if self.address.path:
            return work(*args)
        return await asyncio.to_thread(work, *args)

    # -- reading -----------------------------------------------------------------------------

    def stored_answers(self, keys: Sequence[str]) -> dict[str, Judgement]:
        """The attempt that counts for each key that has one; its source is the store.

        The first grade, which stays the same whatever is added; else the newest failure.
        """
        judgements: dict[str, Judgement] = {}
        for values in self._database.rows("attempts", COLUMNS, "key", keys):
            attempt = attempt_of(values, str(self.address))
            if attempt.key not in judgements or judgements[attempt.key].grade is None:
                judgements[attempt.key] = replace(attempt, source="store")
        return judgements

    def last_label(self) -> int:
        """The number of the newest grade that a person gave; 0 if there is none."""
        from sqlalchemy import func, select

        from kragx.judging.store.tables import labels

        query = select(func.max(labels.c.id))
        return self._database.do(lambda db: db.scalars(query).one()) or 0

    def spent(self, *, after: int, but: str = "") -> tuple[int, dict[tuple[str, bool], Spent]]:
        """What attempts took, by the model asked and whether a batch did, and the last's number.

        Of a call without an answer that is the most it can have taken.

        Args:
            after: only attempts with a higher number.
            but: only those whose id does not begin so.
        """
        from sqlalchemy import func, select

        from kragx.judging.store.tables import attempts

        columns = attempts.c
        tokens = (func.coalesce(func.sum(columns[name]), 0) for name in _TOKENS)
        names = (columns.asked_model, columns.source)
        query = select(*names, func.max(columns.id), func.count(), *tokens).group_by(*names)
        query = query.where(columns.id > after)
        if but:  # one's own are counted as they come
            query = query.where(func.substr(columns.uid, 1, len(but)) != but)
        spent: dict[tuple[str, bool], Spent] = {}
        for model, source, last, *counts in self._database.do(lambda db: db.execute(query).all()):
            n, prompt, completion, cached = map(int, counts)
            group = (model or "", source == "batch")
            spent[group] = spent.get(group, Spent()) + Spent(n, 0, 0, prompt, completion, cached)
            after = max(after, last)
        return after, spent

    def labels(self, query_ids: Sequence[str] | None = None) -> dict[tuple[str, str], int]:
        """The newest human grade of each (query id, document id); None for those of all queries."""
        ids = None if query_ids is None else [words_of(query_id) or "" for query_id in query_ids]
        rows = self._database.rows("labels", _LABEL[:3], "query_id", ids)
        return {
            self._checked("ids", str, *pair): self._checked("a grade", int, grade)[0]
            for *pair, grade in rows
        }

    def questions(self, keys: Collection[str]) -> dict[str, dict[str, Any]]:
        """The `material` of each of these questions that the store has."""
        rows = self._database.rows("questions", _QUESTION, "key", keys)
        return {key: self._question(material) for key, material in rows}

    def records(self) -> Iterator[dict[str, Any]]:
        """Every attempt with its question and pairs, oldest first."""
        for page in self._database.pages("attempts", COLUMNS):
            attempts = [attempt_of(values, str(self.address)) for _, *values in page]
            keys = {attempt.key for attempt in attempts}
            questions = self.questions(keys)
            pairs: dict[str, list[list[str]]] = {}
            about = self._database.rows("pairs", _PAIR, "key", keys)
            for key, *ids in sorted(self._checked("ids", str, *row) for row in about):
                pairs.setdefault(key, []).append(ids)
            for attempt in attempts:
                yield record(attempt, questions.get(attempt.key), pairs)

    def _checked(self, noun: str, kind: type, *values: Any) -> tuple[Any, ...]:
        """Values that are of a kind; a `DataError` where somebody has put in others."""
        if not all(isinstance(value, kind) for value in values):
            raise DataError(
                "{noun} that kragx did not write: {values}",
                path=str(self.address),
                noun=noun,
                values=", ".join(map(shorten, values)),
            )
        return values

    def _question(self, material: Any) -> dict[str, Any]:
        try:
            question = json.loads(material)
            if not all(isinstance(question[part], dict) for part in ("client", "rubric")):
                raise TypeError("no client or rubric")
        except (ValueError, TypeError, LookupError) as error:
            raise DataError(
                "a question that kragx did not write, {material}: {error}",
                path=str(self.address),
                material=shorten(material),
                error=error,
            ) from None
        return dict(question)


def _rows(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> list[dict[str, Any]]:
    """Rows as a database takes them."""
    return [
        {
            name: words_of(value) if isinstance(value, str) else value
            for name, value in zip(names, row)
        }
        for row in rows
    ]
