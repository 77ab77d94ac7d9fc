"""`Batch`: some thousand questions as arrays, the one form in which every source of data arrives.

A `BatchBuilder` fills it: with records that are plain field by field, with any other questions as
objects. Whoever looks at a question or a document has it made (`Batch.rows`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, repeat, starmap
from types import NoneType
from typing import Any

import numpy as np

from kragx.data.documents import clean_seconds
from kragx.data.entries import (
    Entries,
    EntriesBuilder,
    SearchLists,
    are_whole,
    numbered,
    plain_columns,
)
from kragx.data.forbidden import FORBIDDEN, Forbidden
from kragx.data.gold import Query, query_hash
from kragx.data.lists import Bools, Floats, Lists, interned_texts
from kragx.data.runs import Retrieved, Status, status_of
from kragx.data.searches import Search, Stage
from kragx.data.weights import INCLUSION, WEIGHT, weights_said
from kragx.ground.errors import DataError

Row = tuple[int | None, Query, Retrieved | None]
"""The line on which a question begins, the question, and what was retrieved for it."""

AT_ONCE = 1 << 10
"""Questions of a batch: enough for numpy's calls to take no time beside the work."""

_MORE: Mapping[str, Any] = {
    "query_type": None,
    "expected_doc_types": (),
    "answerable": None,
    "reference": None,
    "metadata": {},
    "history": (),
    FORBIDDEN: None,
    WEIGHT: 1.0,
    INCLUSION: 1.0,
}
"""What few questions say, and what it is of the others."""


@dataclass(frozen=True)
class Batch:
    """Some questions, and what was retrieved for each.

    Attributes:
        lines: on which they begin.
        query_ids: theirs.
        questions: their texts.
        golds: their gold items.
        docs: what was retrieved for them.
        statuses: whether each was answered.
        seconds: how long that took.
        errors: why the retriever failed, by the position of the question.
        more: further fields of a `Query` by name, of each question; those that any of them says.
        forbidden_texts: of the items that are forbidden for them, in the list of texts in which
            those of documents stand; None where nobody says that anything is.
        searches: those of questions that have any; None where all have lists alone.
        stages: what the steps of chains returned, by the position of the question.
    """

    lines: Sequence[int | None]
    query_ids: Sequence[str]
    questions: Sequence[str | None]
    golds: Entries
    docs: Entries
    statuses: Sequence[Status]
    seconds: Sequence[float | None]
    errors: Mapping[int, str] = field(default_factory=dict)
    more: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    forbidden_texts: Lists | None = None
    searches: SearchLists | None = None
    stages: Mapping[int, tuple[Stage, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, rows: Iterable[Row]) -> Batch:
        """That of questions and answers that are objects."""
        builder = BatchBuilder()
        for row in rows:
            builder.add(*row)
        return builder.batch()

    def __len__(self) -> int:
        return len(self.query_ids)

    @property
    def have_texts(self) -> bool:
        """Whether each gold item and document has a text, and no gold item has alternatives."""
        of_searches = self.searches is None or self.searches.docs.have_texts
        have_texts = self.golds.have_texts and self.docs.have_texts and of_searches
        return self.golds.alternatives is None and have_texts

    @property
    def answered(self) -> Bools:
        """Which questions the retriever answered, if only with nothing."""
        answered: Bools = np.array(self.statuses, "U8") == "answered"
        return answered

    @property
    def grades(self) -> Floats:
        """Of all gold items."""
        grades = self.golds.values
        return np.where(np.isnan(grades), 1.0, grades)

    @property
    def unanswerable(self) -> Bools:
        """Of which questions the gold set says that nothing answers them."""
        if "answerable" not in self.more:
            return np.zeros(len(self), bool)
        return np.array([flag is False for flag in self.more["answerable"]], bool)

    @property
    def forbidden(self) -> Sequence[tuple[Forbidden, ...] | None] | None:
        """What must not come for each question; None where nobody says so of any."""
        return self.more.get(FORBIDDEN)

    @property
    def weights(self) -> Floats | None:
        """How many asks each question stands for, weight over inclusion; None where all are 1."""
        if self.more.keys().isdisjoint((WEIGHT, INCLUSION)):
            return None
        return weights_said(self._column(WEIGHT), self._column(INCLUSION))

    @property
    def metadata(self) -> Sequence[Mapping[str, Any]]:
        """Those of the questions."""
        return self._column("metadata")

    def _column(self, name: str) -> Sequence[Any]:
        return self.more.get(name) or [_MORE[name]] * len(self)

    def queries(self) -> Sequence[Query]:
        """The questions with their gold."""
        more = zip(*self.more.values()) if self.more else repeat(())
        queries = list[Query]()
        fields = zip(self.query_ids, self.questions, self.golds.golds(), more)
        for query_id, text, golds, values in fields:
            queries += [Query(query_id, text, golds, **dict(zip(self.more, values)))]
        return queries

    def answers(self) -> Sequence[Retrieved | None]:
        """What was retrieved for each question; None where nothing says so."""
        searches: Iterable[tuple[Search, ...]] = repeat(())
        has_list: Iterable[bool] = repeat(True)
        if self.searches is not None:
            searches, has_list = self.searches.of_answers, self.searches.has_list.tolist()
        columns = zip(self.docs.documents(), self.statuses, self.seconds, searches, has_list)
        return [
            None
            if status == "missing"
            else Retrieved(
                docs,
                seconds,
                self.errors.get(position),
                self.stages.get(position, ()),
                of_answer,
                is_list,
            )
            for position, (docs, status, seconds, of_answer, is_list) in enumerate(columns)
        ]

    def rows(self) -> Iterator[Row]:
        """The questions one by one, as objects."""
        return zip(self.lines, self.queries(), self.answers())

    def hashes(self) -> list[bytes]:
        """`query_hash` of each question."""
        return [*map(query_hash, self.queries())]


class BatchBuilder:
    """Fills batches question by question."""

    def __init__(self) -> None:
        # Each a question's line, id, text, what few say, and the answer.
        self._rows: list[tuple[Any, ...]] = []
        self._n_before = 0

    def batches(self, added: Iterable[int | None]) -> Iterator[Batch]:
        """Batches of what is added meanwhile; of a mistake what stands before it.

        Args:
            added: says, each time that something may have been added, how many questions are a
                batch, or nothing, which is as many as usual; those with some million characters of
                new texts are one, too.
        """
        try:
            for said in added:
                size = said or AT_ONCE
                is_large = interned_texts().n_characters - self._n_before > _MOST_NEW
                if self._rows and (len(self._rows) >= size or is_large):
                    yield self.batch()
        except DataError:
            if self._rows:
                yield self.batch()
            raise
        if self._rows:
            yield self.batch()

    def _entries(self) -> tuple[EntriesBuilder, EntriesBuilder]:
        """What gold items and documents of the next question are added to."""
        if not self._rows:  # not before: who takes a batch may have the texts forgotten meanwhile
            interned_texts().make_room()
            self._n_before = interned_texts().n_characters
            self._builders = EntriesBuilder("grade"), EntriesBuilder("score")
        return self._builders

    def add(self, line: int | None, query: Query, answer: Retrieved | None) -> None:
        """Add a question and what was retrieved for it."""
        more: dict[str, Any] = {}
        for name, unsaid in _MORE.items():
            if (value := getattr(query, name)) != unsaid:
                more[name] = value
        golds, docs = self._entries()
        try:
            golds.add(query.gold)
            docs.add(() if answer is None or answer.error is not None else answer.documents)
        except DataError as error:
            for entries in (golds, docs):
                entries.cut(len(self._rows))
            raise error.within(path=f"query {query.id!r}") from None
        self._rows.append((line, query.id, query.text, more, answer))

    def add_record(
        self, line: int | None, record: Mapping[str, Any], *, mended: bool
    ) -> str | None:
        """Add a record of a gold or results file, if it is as plain as most are, and say its id.

        None of any other: it is for the checks of one field after the other (`formats.format`),
        which say what is wrong.

        Args:
            line: on which it begins.
            record: its fields.
            mended: as of `plain_columns`.
        """
        if not _PLAIN.issuperset(record):
            return None
        lists = record.get("gold", []), record.get("retrieved", [])
        golds = plain_columns(lists[0], "grade", mended=mended)
        docs = plain_columns(lists[1], "score", mended=mended)
        metadata = record.get("metadata")
        query_id, text, query_type = map(record.get, _TEXTS)
        # Not `isinstance`: True is a whole number to it, and no id.
        if type(query_id) is int:
            query_id = str(query_id)
        if not (
            golds is not None
            and docs is not None
            and type(query_id) is str
            and query_id.strip()
            and {type(text), type(query_type)} <= {str, NoneType}
            and (mended or are_whole((query_id, text, query_type)))
            and type(metadata) in (dict, NoneType)
            and _agree(golds)
        ):
            return None
        seconds = record.get("seconds")
        try:
            # What is wrong is for the checks to say, which name the line and the field.
            seconds = None if seconds is None else clean_seconds(seconds)
        except DataError:
            return None
        more = {} if query_type is None else {"query_type": query_type}
        more |= {"metadata": {**metadata}} if metadata else {}
        for entries, values, columns in zip(self._entries(), lists, (golds, docs)):
            entries.add_columns(len(values), columns)
        answer = Retrieved(seconds=seconds) if "retrieved" in record else None
        self._rows.append((line, query_id, text, more, answer))
        return query_id

    def batch(self) -> Batch:
        """What was added; from here on it begins anew."""
        golds, docs = map(EntriesBuilder.entries, self._entries())
        rows, self._rows = self._rows, []
        lines, query_ids, questions, mores, answers = [*zip(*rows)] or [()] * 5
        seconds, errors = [None] * len(rows), dict[int, str]()
        stages, are_searched = dict[int, tuple[Stage, ...]](), False
        for n, answer in enumerate(answers):
            if answer is None:
                continue
            seconds[n] = answer.seconds
            are_searched |= bool(answer.searches) or not answer.has_list
            if answer.error is not None:
                errors[n] = answer.error
            if answer.stages:
                stages[n] = answer.stages
        more, forbidden_texts = dict[str, list[Any]](), None
        for name in set[str]().union(*mores):
            more[name] = [of_query.get(name, _MORE[name]) for of_query in mores]
        if FORBIDDEN in more:
            lists = [items or () for items in more[FORBIDDEN]]
            texts = [item.text for item in chain.from_iterable(lists)]
            forbidden_texts = numbered(texts, [*map(len, lists)])
        return Batch(
            lines=lines,
            query_ids=query_ids,
            questions=questions,
            golds=golds,
            docs=docs,
            statuses=[*map(status_of, answers)],
            seconds=seconds,
            errors=errors,
            more=more,
            forbidden_texts=forbidden_texts,
            searches=SearchLists.of(answers) if are_searched else None,
            stages=stages,
        )


_MOST_NEW = 1 << 23
_TEXTS = ("query_id", "query", "query_type")
_PLAIN = frozenset((*_TEXTS, "gold", "retrieved", "seconds", "metadata"))


def _agree(golds: Mapping[str, Sequence[Any]]) -> bool:
    """Whether no gold item is empty, or can contradict another, as two grades of one text do."""
    grades, ids = {*golds.get("grade", ())}, golds.get("id", ())
    n_grades = len(grades) - (grades >= {None, 1.0})  # which are one
    are_apart = n_grades < 2 or (bool(ids) and None not in ids and len({*ids}) == len(ids))
    return are_apart and all(map(str.strip, golds.get("text", ())))


def batches_of(rows: Iterable[Row]) -> Iterator[Batch]:
    """Questions in batches, as a source has them (`batches`), or made of objects.

    Of a mistake among these there is what stands before it.
    """
    batches: Callable[[], Iterator[Batch]] | None = getattr(rows, "batches", None)
    builder = BatchBuilder()
    return builder.batches(starmap(builder.add, rows)) if batches is None else batches()


def in_rows(batches: Iterable[Batch]) -> Iterator[Row]:
    """The questions of batches one by one."""
    return chain.from_iterable(batch.rows() for batch in batches)


class BufferedRows:
    """A stream of which somebody looks at the beginning before it passes: that is kept.

    Args:
        stream: can be read once.

    Attributes:
        is_whole: whether all of it is kept.
    """

    def __init__(self, stream: Iterator[Batch]) -> None:
        self._stream = stream
        self._kept: list[Batch] = []
        self._error: DataError | None = None
        self.is_whole: bool = False

    def ahead(self, n_whole: float, room: float) -> Iterator[Batch]:
        """The stream, until what was kept of it has taken the room; a mistake is kept, too.

        Whoever looks again sees what was kept once more, and what follows.

        Args:
            n_whole: so many questions are kept, whatever room they take.
            room: for how many entries that are texts alone; another takes that of `_HEAVY`.
        """
        n, text_lists = 0, set()
        try:
            for batch in chain([*self._kept], self._kept_now()):
                yield batch
                n += len(batch)
                room -= _room(batch)
                text_lists.add(id(batch.docs.texts.known))  # another list holds as many characters
                if n >= n_whole and (room <= 0 or len(text_lists) > _MOST_KNOWN):
                    return
        except DataError as error:
            self._error = error
        self._stream, self.is_whole = iter(()), True

    def _kept_now(self) -> Iterator[Batch]:
        for batch in self._stream:
            self._kept.append(batch)
            yield batch

    def batches(self) -> Iterator[Batch]:
        """All of it.

        Raises:
            DataError: what was kept ends with a mistake.
        """
        yield from self._kept
        if self._error is not None:
            raise self._error
        yield from self._stream

    def __iter__(self) -> Iterator[Row]:
        return in_rows(self.batches())


_HEAVY, _MOST_KNOWN = 8, 2


def _room(batch: Batch) -> int:
    """How much room some questions take, in entries that are texts alone."""
    docs, searches = batch.docs, batch.searches
    is_light = docs.ids is None and docs.metadata is None and searches is None
    n = len(docs.texts.numbers) + (0 if searches is None else len(searches.docs.texts.numbers))
    return n * (1 if is_light else _HEAVY)
