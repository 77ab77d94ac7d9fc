"""`Batch`: some thousand questions as arrays, the one form in which every source of data arrives.

Files, tables, lists in Python and what a retriever answered all become batches (`Batch.of` of
objects, `gathering.Records` of what was read from a file, `Scored` of qrels and a run as mappings).
Whoever looks at a question or a document has it made (`Batch.rows`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from itertools import chain, repeat
from math import isinf, isnan, nan
from typing import Any, Literal, Protocol, Self, TypeGuard, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from kragx.data.entries import (
    NO_TEXT,
    Entries,
    Floats,
    numbered,
)
from kragx.data.forbidden import FORBIDDEN, Forbidden
from kragx.data.gold import Query, query_hash
from kragx.data.known import known_texts
from kragx.data.lists import Lists
from kragx.data.runs import Retrieved, Status
from kragx.data.search_lists import SearchLists
from kragx.data.searches import Search
from kragx.data.weights import INCLUSION, WEIGHT, weights_said
from kragx.errors import DataError, shorten

Row = tuple[int | None, Query, Retrieved | None]
"""The line on which a question begins, the question, and what was retrieved for it."""

AT_ONCE = 1 << 10
"""Questions of a batch of objects: enough for numpy's calls to take no time beside the work."""


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
        more: further fields of a `Query` by name, of each question.
        forbidden_texts: of the items that are forbidden for them, in the list of texts in which
            those of documents stand; None where nobody says that anything is.
        searches: those of questions that have any; None where all have lists alone.
        queries_made, answers_made: the questions and answers, where they were objects before.
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
    queries_made: Sequence[Query] = ()
    answers_made: Sequence[Retrieved | None] = ()
    searches: SearchLists | None = None

    @classmethod
    def of(cls, rows: Sequence[Row]) -> Self:
        """That of questions and answers that are objects."""
        known_texts().make_room()
        lines = [line for line, _, _ in rows]
        queries = [query for _, query, _ in rows]
        answers = [answer for _, _, answer in rows]
        docs = [() if not answer or answer.error else answer.documents for answer in answers]
        more = _more(queries)
        statuses: list[Status] = [
            "missing" if answer is None else "answered" if answer.error is None else "failed"
            for answer in answers
        ]
        return cls(
            lines=lines,
            query_ids=[query.id for query in queries],
            questions=[query.text for query in queries],
            golds=Entries.of(
                [*chain.from_iterable([query.gold for query in queries])],
                [len(query.gold) for query in queries],
                "grade",
            ),
            docs=Entries.of([*chain.from_iterable(docs)], [*map(len, docs)], "score"),
            statuses=statuses,
            seconds=[None if answer is None else answer.seconds for answer in answers],
            errors={
                position: answer.error
                for position, answer in enumerate(answers)
                if answer is not None and answer.error is not None
            },
            more=more,
            forbidden_texts=forbidden_texts_of(more.get(FORBIDDEN)),
            queries_made=queries,
            answers_made=answers,
            searches=SearchLists.of(answers),
        )

    def __len__(self) -> int:
        return len(self.query_ids)

    @property
    def have_texts(self) -> bool:
        """Whether each gold item and document has a text, and no gold item has alternatives."""
        of_searches = self.searches is None or self.searches.docs.have_texts
        have_texts = self.golds.have_texts and self.docs.have_texts and of_searches
        return self.golds.alternatives is None and have_texts

    @property
    def answered(self) -> NDArray[np.bool_]:
        """Which questions the retriever answered, if only with nothing."""
        return np.array([status == "answered" for status in self.statuses], bool)

    @property
    def may_contradict(self) -> bool:
        """Whether it takes a look at the questions to see that none contradicts itself."""
        texts = self.golds.texts
        is_plain = self.golds.alternatives is None and bool((self.grades == 1).all())
        if not is_plain or self.unanswerable.any():
            return True
        # An empty text stands in every document; those of records are refused before.
        numbers = texts.numbers.tolist() if self.queries_made else ()
        return not all(number == NO_TEXT or texts.known[number].strip() for number in numbers)

    @property
    def grades(self) -> Floats:
        """Of all gold items."""
        grades = self.golds.values
        return np.where(np.isnan(grades), 1.0, grades)

    @property
    def unanswerable(self) -> NDArray[np.bool_]:
        """Of which questions the gold set says that nothing answers them."""
        flags = self.more.get("answerable") or [None] * len(self)
        return np.array([flag is False for flag in flags], bool)

    @property
    def forbidden(self) -> Sequence[tuple[Forbidden, ...] | None] | None:
        """What must not come for each question; None where nobody says so of any."""
        return self.more.get(FORBIDDEN)

    @property
    def weights(self) -> Floats | None:
        """How many asks each question stands for, weight over inclusion; None where all are 1."""
        sure = [1.0] * len(self)
        asks, inclusion = (self.more.get(name, sure) for name in (WEIGHT, INCLUSION))
        return None if asks is inclusion else weights_said(asks, inclusion)

    @property
    def metadata(self) -> Sequence[Mapping[str, Any]]:
        """Those of the questions."""
        if self.queries_made:
            return [query.metadata for query in self.queries_made]
        return self.more.get("metadata") or [{}] * len(self)

    def queries(self) -> Sequence[Query]:
        """The questions with their gold."""
        if self.queries_made:
            return self.queries_made
        fields = zip(self.query_ids, self.questions, self.golds.golds())
        if not self.more:
            return [Query(query_id, text, gold) for query_id, text, gold in fields]
        rows = (dict(zip(self.more, values)) for values in zip(*self.more.values()))
        return [Query(*first, **further) for first, further in zip(fields, rows)]

    def answers(self) -> Sequence[Retrieved | None]:
        """What was retrieved for each question; None where nothing says so."""
        if self.answers_made:
            return self.answers_made
        nothing: Iterable[tuple[Search, ...]] = repeat(())
        searches = nothing if self.searches is None else self.searches.by_answer()
        has_list = repeat(True) if self.searches is None else self.searches.has_list.tolist()
        columns = zip(self.docs.documents(), self.statuses, self.seconds, searches, has_list)
        return [
            None
            if status == "missing"
            else Retrieved(docs, seconds, self.errors.get(position), (), made, is_list)
            for position, (docs, status, seconds, made, is_list) in enumerate(columns)
        ]

    def rows(self) -> Iterator[Row]:
        """The questions one by one, as objects."""
        return zip(self.lines, self.queries(), self.answers())

    def hashes(self) -> list[bytes]:
        """`query_hash` of each question."""
        return [*map(query_hash, self.queries())]


def _more(queries: Sequence[Query]) -> dict[str, Sequence[Any]]:
    """Fields of questions that are looked at before somebody has the questions made."""
    forbidden = [query.forbidden for query in queries]
    more: dict[str, Sequence[Any]] = {"answerable": [query.answerable for query in queries]}
    if any(items is not None for items in forbidden):
        more[FORBIDDEN] = forbidden
    for name in (WEIGHT, INCLUSION):
        column = [getattr(query, name) for query in queries]
        if column.count(1.0) < len(column):
            more[name] = column
    return more


def forbidden_texts_of(lists: Sequence[Sequence[Forbidden] | None] | None) -> Lists | None:
    """The texts of the items of each question, by their numbers among the known ones."""
    if lists is None:
        return None
    texts = [item.text for items in lists for item in items or ()]
    return numbered(texts, [len(items or ()) for items in lists])


@runtime_checkable
class InBatches(Protocol):
    """A source of questions that gives many at once."""

    def batches(self) -> Iterator[Batch]:
        """The questions."""
        ...


def batched(rows: Iterable[Row], size: int = AT_ONCE) -> Iterator[Batch]:
    """Questions and answers that are objects in batches; of a mistake what stands before it."""
    stream, batch = iter(rows), list[Row]()
    try:
        for row in stream:
            batch.append(row)
            if len(batch) == size:
                yield Batch.of(batch)
                batch = []
    except DataError:
        if batch:
            yield Batch.of(batch)
        raise
    if batch:
        yield Batch.of(batch)


def batches_of(rows: Iterable[Row]) -> Iterator[Batch]:
    """Questions in batches, as a source has them, or made of objects."""
    return rows.batches() if isinstance(rows, InBatches) else batched(rows)


# -- a stream that is looked at before it passes ---------------------------------------------------


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


def in_rows(batches: Iterable[Batch]) -> Iterator[Row]:
    """The questions of batches one by one."""
    return chain.from_iterable(batch.rows() for batch in batches)


_HEAVY, _MOST_KNOWN = 8, 2


def _room(batch: Batch) -> int:
    """How much room some questions take, in entries that are texts alone."""
    docs = batch.docs
    is_light = docs.ids is None and docs.metadata is None and not batch.answers_made
    n = len(docs.texts.numbers)
    if batch.searches is not None:
        n += len(batch.searches.docs.texts.numbers)
    return n * (1 if is_light else _HEAVY)


# -- from qrels and a run as mappings --------------------------------------------------------------

Scores = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True)
class Scored:
    """Qrels and a run, ``{query: {document: grade}}`` and ``{query: {document: score}}``, copied.

    Documents are ranked by score, ties by id descending (as UTF-8 bytes). The questions are those
    of the qrels, in their order.

    Attributes:
        query_ids: of the questions.
        golds, docs: their gold items and documents.
        is_answered: whether the run has each question.
        n_extra: how many questions of the run are none of these.
    """

    query_ids: tuple[str, ...]
    golds: Entries
    docs: Entries
    is_answered: tuple[bool, ...]
    n_extra: int

    @classmethod
    def of(cls, qrels: object, run: object) -> Self | None:
        """These; None of whatever is no such mapping, or has keys that are no ids.

        Raises:
            DataError: a grade is no finite number, or a score is none; or grades stand for the run,
                and scores for the qrels.
        """
        if not (are_scores(qrels) and are_scores(run)):
            return None
        query_ids, nothing = tuple(qrels), dict[str, float]()
        rankings = {query_id: run.get(query_id, nothing) for query_id in query_ids}
        extra = {query_id: run[query_id] for query_id in run.keys() - qrels.keys()}
        golds, docs = _entries(qrels, "grade"), _entries(rankings, "score")
        _entries(extra, "score")
        if docs.values.size and _are_whole(docs.values) and not _are_whole(golds.values):
            raise DataError(
                "the gold set holds fractions, as scores are, and the run whole numbers, as grades "
                "are; pass the gold set first, then the run"
            )
        is_answered = tuple(map(run.__contains__, query_ids))
        return cls(query_ids, golds, docs.ranked(), is_answered, len(extra))

    def __iter__(self) -> Iterator[Row]:
        return in_rows(self.batches())

    def batches(self) -> Iterator[Batch]:
        """The questions, many at once."""
        for first in range(0, len(self.query_ids), AT_ONCE):
            part = slice(first, first + AT_ONCE)
            query_ids = self.query_ids[part]
            nothing = [None] * len(query_ids)
            yield Batch(
                lines=nothing,
                query_ids=query_ids,
                questions=nothing,
                golds=self.golds.part(part),
                docs=self.docs.part(part),
                statuses=["answered" if flag else "missing" for flag in self.is_answered[part]],
                seconds=nothing,
            )


def are_scores(value: object) -> TypeGuard[Scores]:
    """Whether a value is a mapping of mappings, all of whose keys are ids; lists are no scores."""
    if not (isinstance(value, Mapping) and value):
        return False
    mappings = value.values()
    if not all(issubclass(kind, Mapping) for kind in {*map(type, mappings)}):
        return False
    kinds = {*map(type, chain.from_iterable([mapping.values() for mapping in mappings]))}
    if not all(hasattr(kind, "__float__") or kind in (str, type(None)) for kind in kinds):
        return False  # answers of chains, or of databases; a text or None is a mistake in a score
    return _are_ids([*value]) and _are_ids([*chain.from_iterable(mappings)])


def _are_ids(keys: list[Any]) -> bool:
    """Whether all keys are texts that are not blank."""
    try:
        joined = "".join(keys)  # the fastest way to see that all are texts
    except TypeError:
        return False
    has_spaces = bool(joined) and joined.split() != [joined]
    return all(map(str.strip, keys)) if has_spaces else "" not in keys


def _entries(scores: Scores, field: Literal["grade", "score"]) -> Entries:
    """Documents, or gold items, that are ids with numbers.

    Raises:
        DataError: one is no number, or a grade is not finite.
    """
    mappings = scores.values()
    numbers = [*chain.from_iterable([mapping.values() for mapping in mappings])]
    kinds = {*map(type, numbers)}
    if not kinds <= {int, float}:
        _check(scores, field)
    try:
        values = np.array(numbers if kinds <= {int, float} else [*map(float, numbers)], np.float64)
    except OverflowError:
        _check(scores, field)
        raise
    if np.isnan(values).any() or (field == "grade" and not np.isfinite(values).all()):
        _check(scores, field)
    sizes = np.fromiter(map(len, mappings), np.int64, len(mappings))
    textless = Lists(known_texts().texts, np.full(len(numbers), NO_TEXT, np.int64), sizes)
    return Entries(textless, [*chain.from_iterable(mappings)], values, are_distinct=True)


def _are_whole(values: Floats) -> bool:
    return bool((np.floor(values) == values).all())


_NUMBERS = (int, float, np.integer, np.floating, Fraction, Decimal)


def _check(scores: Scores, field: Literal["grade", "score"]) -> None:
    """Refuse the first value that is no number, or a grade that is not finite."""
    kind = "finite number" if field == "grade" else "number"
    for query_id, numbers in scores.items():
        for document, value in numbers.items():
            try:
                number = float(value) if isinstance(value, _NUMBERS) else nan
            except OverflowError:
                number = nan
            if isinstance(value, bool) or isnan(number) or (field == "grade" and isinf(number)):
                raise DataError(
                    f"query {query_id!r}: the {field} of {document!r} must be a {kind}, not "
                    f"{shorten(value)}"
                )
