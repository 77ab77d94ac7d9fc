"""`Batch`: some thousand questions as arrays, the one form in which every source of data arrives.

Files, tables, lists in Python and what a retriever answered all become batches (`Batch.of` of
objects, `Records` of what was read from a file, `Scored` of qrels and a run as mappings).
Whoever looks at a question or a document has it made (`Batch.rows`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import chain, islice, repeat
from math import isinf, isnan, nan
from operator import attrgetter, itemgetter
from types import NoneType
from typing import Any, Literal, Protocol, Self, TypeGuard, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from kragx.data.columns import NotPlainError, columns
from kragx.data.documents import Doc, chunk_of, clean_seconds
from kragx.data.forbidden import FORBIDDEN, Forbidden, all_forbidden
from kragx.data.gold import Gold, Query, plain_gold_json, plain_query_hash, query_hash
from kragx.data.known import KnownTexts, NoTextError, known_texts
from kragx.data.lists import Lists
from kragx.data.runs import Retrieved, Status
from kragx.data.text import Mender
from kragx.errors import DataError, shorten

Floats = NDArray[np.float64]
Row = tuple[int | None, Query, Retrieved | None]
"""The line on which a question begins, the question, and what was retrieved for it."""

NO_TEXT = -1
"""Stands for the text of an entry that has none."""

AT_ONCE = 1 << 10
"""Questions of a batch of objects: enough for numpy's calls to take no time beside the work."""


@dataclass(frozen=True)
class Entries:
    """The documents, or the gold items, of some questions, one question after the other.

    Attributes:
        texts: of each question, by number among the known ones; `NO_TEXT` for none.
        ids: None where no entry has one, and so below.
        numbers: scores, or grades.
        metadata: a mapping for each entry.
        alternatives: of gold items.
        are_distinct: whether it is known that all have ids, and none stands twice in a list.
    """

    texts: Lists
    ids: Sequence[str | None] | None = None
    numbers: Sequence[float | None] | Floats | None = None
    metadata: Sequence[Mapping[str, Any] | None] | None = None
    alternatives: Sequence[tuple[Doc, ...]] | None = None
    are_distinct: bool = False

    @classmethod
    def of(cls, items: Sequence[Doc] | Sequence[Gold], n: Sequence[int], number: str) -> Self:
        """Those of objects, n of each question; `number` names their score, or grade."""
        names = ("id", number, "metadata", "alternatives")
        ids, numbers, metadata, alternatives = (_column(items, name) for name in names)
        return cls(numbered([item.text for item in items], n), ids, numbers, metadata, alternatives)

    @cached_property
    def values(self) -> Floats:
        """The numbers as an array; NaN where there is none."""
        if self.numbers is None:
            return np.full(len(self.texts.numbers), nan)
        return np.asarray(self.numbers, np.float64)

    @cached_property
    def have_texts(self) -> bool:
        """Whether none is without."""
        return bool((self.texts.numbers >= 0).all())

    def part(self, queries: slice) -> Self:
        """Those of some questions in a row."""
        texts = self.texts.part(queries)
        first = int(self.texts.n_texts[: queries.start].sum())
        entries = slice(first, first + len(texts.numbers))
        return type(self)(
            texts,
            None if self.ids is None else self.ids[entries],
            None if self.numbers is None else self.numbers[entries],
            None if self.metadata is None else self.metadata[entries],
            None if self.alternatives is None else self.alternatives[entries],
            self.are_distinct,
        )

    def ranked(self) -> Self:
        """The documents of each question by score, ties by id descending (as UTF-8 bytes).

        A list without scores stays as it is; of another one each document has one.
        """
        if self.numbers is None:
            return self
        query, places = self.texts.of_text, np.arange(len(self.values))
        scores = np.where(np.isnan(self.values), -places, self.values)
        if ((scores[1:] < scores[:-1]) | (query[1:] > query[:-1])).all():
            return self
        narrow = query.astype(np.min_scalar_type(len(self.texts)))  # is sorted by its digits
        order = np.lexsort((-scores, narrow))  # equal ones stay in their order
        ordered = scores[order]
        is_tied = (ordered[1:] == ordered[:-1]) & (query[1:] == query[:-1])
        ids, ends = self.ids or [None] * len(order), np.cumsum(self.texts.n_texts)
        for row in {*query[1:][is_tied].tolist()}:
            of_list = slice(int(ends[row] - self.texts.n_texts[row]), int(ends[row]))
            order[of_list] = sorted(
                range(of_list.start, of_list.stop),
                key=lambda place: (scores[place], _bytes(ids[place])),
                reverse=True,
            )
        return self if (order == places).all() else self._in_order(order)

    def _in_order(self, order: NDArray[np.int64]) -> Self:
        """The same entries in another order within each list."""
        places = order.tolist()

        def column(values: Any) -> Any:
            if values is None or isinstance(values, np.ndarray):
                return values if values is None else values[order]
            return [*map(values.__getitem__, places)]

        return replace(
            self,
            texts=self.texts.by(self.texts.numbers[order]),
            ids=column(self.ids),
            numbers=column(self.numbers),
            metadata=column(self.metadata),
            alternatives=column(self.alternatives),
        )

    def rows(
        self,
    ) -> Iterator[tuple[str | None, str | None, float | None, Mapping[str, Any] | None]]:
        """Id, text, number and metadata of each entry."""
        interned = self.texts.known
        texts = [None if number < 0 else interned[number] for number in self.texts.numbers.tolist()]
        nothing = repeat(None)
        return zip(
            nothing if self.ids is None else self.ids,
            texts,
            nothing if self.numbers is None else self._plain_numbers,
            nothing if self.metadata is None else self.metadata,
        )

    @property
    def _plain_numbers(self) -> Iterable[float | None]:
        """The numbers as Python has them."""
        numbers = self.numbers
        return numbers.tolist() if isinstance(numbers, np.ndarray) else numbers or ()

    def golds(self) -> list[tuple[Gold, ...]]:
        """The gold items of each question."""
        alternatives = repeat(()) if self.alternatives is None else self.alternatives
        return self._by_question(
            Gold(gold_id, text, 1.0 if grade is None else grade, alternative, metadata or {})
            for (gold_id, text, grade, metadata), alternative in zip(self.rows(), alternatives)
        )

    def documents(self) -> list[tuple[Doc, ...]]:
        """The documents of each question; those with the same text and nothing else are one."""
        is_text_alone = self.ids is None and self.numbers is None and self.metadata is None
        if is_text_alone and self.have_texts:
            interned = self.texts.known
            return self._by_question(
                chunk_of(interned[number]) for number in self.texts.numbers.tolist()
            )
        return self._by_question(
            Doc(doc_id, text, metadata or {}, score)
            for doc_id, text, score, metadata in self.rows()
        )

    def _by_question(self, entries: Iterator[Any]) -> list[tuple[Any, ...]]:
        return [tuple(islice(entries, n)) for n in self.texts.n_texts.tolist()]


def _bytes(doc_id: str | None) -> bytes:
    return (doc_id or "").encode("utf-8", "surrogatepass")


def _column(items: Sequence[Any], name: str) -> list[Any] | None:
    """A field of all items; None where it says nothing, or they have none."""
    if not items or not hasattr(items[0], name):
        return None
    values = [*map(attrgetter(name), items)]
    is_said = {*map(type, values)} != {NoneType} if name in _SCALARS else any(values)
    return values if is_said else None


_SCALARS = frozenset(("id", "score", "grade"))  # of which 0 and an empty text say something


def numbered(texts: Sequence[str | None], n: Sequence[int]) -> Lists:
    """Texts, n of each question, by their numbers among the known ones."""
    interned = known_texts()
    numbers = np.full(len(texts), NO_TEXT, np.int64)
    have_text = [text is not None for text in texts]
    numbers[have_text] = interned.numbers([text for text in texts if text is not None])
    return Lists(interned.texts, numbers, np.array(n, np.int64))


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
            forbidden_texts=_forbidden_texts(more.get(FORBIDDEN)),
            queries_made=queries,
            answers_made=answers,
        )

    def __len__(self) -> int:
        return len(self.query_ids)

    @property
    def have_texts(self) -> bool:
        """Whether each gold item and document has a text, and no gold item has alternatives."""
        return self.golds.alternatives is None and self.golds.have_texts and self.docs.have_texts

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
        return [
            None if status == "missing" else Retrieved(docs, seconds, self.errors.get(position))
            for position, (docs, status, seconds) in enumerate(
                zip(self.docs.documents(), self.statuses, self.seconds)
            )
        ]

    def rows(self) -> Iterator[Row]:
        """The questions one by one, as objects."""
        return zip(self.lines, self.queries(), self.answers())

    def hashes(self) -> list[bytes]:
        """`query_hash` of each question."""
        golds, kinds = self.golds, self.more.get("query_type", repeat(None))
        rarer = (golds.metadata, golds.alternatives)
        plain = {"query_type", FORBIDDEN, "metadata"}
        if self.queries_made or rarer != (None, None) or not self.more.keys() <= plain:
            return [*map(query_hash, self.queries())]
        items = iter(
            [
                plain_gold_json(gold_id, text, 1.0 if grade is None else grade)
                for gold_id, text, grade, _ in golds.rows()
            ]
        )
        n_golds = golds.texts.n_texts.tolist()
        further = self.forbidden or repeat(None), self.metadata
        fields = zip(self.query_ids, self.questions, kinds, n_golds, *further)
        return [
            plain_query_hash(query_id, text, kind, islice(items, n), forbidden, metadata)
            for query_id, text, kind, n, forbidden, metadata in fields
        ]


def _more(queries: Sequence[Query]) -> dict[str, Sequence[Any]]:
    """Fields of questions that are looked at before somebody has the questions made."""
    forbidden = [query.forbidden for query in queries]
    more: dict[str, Sequence[Any]] = {"answerable": [query.answerable for query in queries]}
    if any(items is not None for items in forbidden):
        more[FORBIDDEN] = forbidden
    return more


def _forbidden_texts(lists: Sequence[Sequence[Forbidden] | None] | None) -> Lists | None:
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


# -- from records of files ----------------------------------------------------------------------

_RARER = frozenset((FORBIDDEN, "metadata"))
_FIELDS = frozenset(("query_id", "query", "gold", "retrieved", "seconds", *_RARER))
_TEXT = itemgetter("text")
_MOST_NEW = 1 << 23


class Records:
    """Gathers records of gold and results files that have no other fields than most.

    Each text is looked up while its record is at hand. What is not plain, and so whatever makes an
    error, is for the checks of one field after the other (`formats.format.Fields`).

    Args:
        mended: whether lone surrogates were replaced already, as in what was read as JSON.
    """

    def __init__(self, *, mended: bool) -> None:
        self._mended = mended
        # (line, query id, question, whether anything was retrieved, seconds)
        self._rows: list[tuple[int | None, str, str | None, bool, float | None]] = []
        self._more: dict[str, list[Any]] = {}

    def _begin(self) -> None:
        self._known = known_texts()
        self._known.make_room()
        self._n_before = self._known.n_characters
        self._golds, self._docs = _Gathered(self._known), _Gathered(self._known)

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
        is_answered = "retrieved" in record
        rarer = [name for name in _RARER if name in record]
        try:
            more = self._read_rarer(record) if rarer else {}
            golds, gold_texts = _read(record.get("gold", []), "grade")
            docs, doc_texts = _read(record["retrieved"] if is_answered else [], "score")
            if not all(map(str.strip, gold_texts)):
                return False  # an empty one stands in every document, which is an error
            texts = [*gold_texts, *doc_texts]
            if not self._mended:
                f"{query_id}{question}{''.join(texts)}".encode()
            numbers = self._known.numbers(texts)
            seconds = clean_seconds(record["seconds"]) if "seconds" in record else None
        except (NotPlainError, NoTextError, KeyError, TypeError, UnicodeEncodeError, DataError):
            return False
        self._golds.add(numbers[: len(gold_texts)], golds)
        self._docs.add(numbers[len(gold_texts) :], docs)
        if more or self._more:
            self._add_more(more)
        self._rows.append((line, query_id, question, is_answered, seconds))
        return True

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
        }

    def _add_more(self, more: Mapping[str, Any]) -> None:
        for name, unsaid in (("metadata", {}), (FORBIDDEN, None)):
            column = self._more.setdefault(name, [unsaid] * len(self._rows))
            column.append(more.get(name, unsaid))

    def batches(self) -> Iterator[Batch]:
        """What was gathered, if anything was; from here on it gathers anew."""
        if not self._rows:
            return
        lines, query_ids, questions, answered, seconds = zip(*self._rows)
        golds, docs = self._golds.entries(), self._docs.entries()
        more = {name: column for name, column in self._more.items() if any(map(_says, column))}
        self._rows, self._more = [], {}
        statuses: list[Status] = ["answered" if flag else "missing" for flag in answered]
        texts = _forbidden_texts(more.get(FORBIDDEN))  # known from here on, as the others are
        columns = (lines, query_ids, questions, golds, docs, statuses, seconds)
        yield Batch(*columns, more=more, forbidden_texts=texts)


def _says(value: Any) -> bool:
    """Whether a field says something: that nothing is forbidden is something."""
    return value not in (None, {})


_Others = tuple[int, Mapping[str, list[Any]]]
"""How many entries a list has, and what stands in these beside texts."""


def _read(entries: Any, number: str) -> tuple[_Others, Sequence[str]]:
    """What stands in a list, and its texts; none of them, if the entries have none.

    Args:
        entries: of the list.
        number: the name of the one field that is a number.

    Raises:
        NotPlainError, KeyError, TypeError: they are not plain.
    """
    if type(entries) is not list:
        raise NotPlainError
    n = len(entries)
    if not n:
        return (0, {}), ()
    if {*map(len, entries)} == {1} and "text" in entries[0]:  # each is a text alone
        return (n, {}), [*map(_TEXT, entries)]
    read = columns(entries, number, strings=False, keep=lambda texts: texts)
    if read is None:
        raise NotPlainError
    beside = {"ids": read.ids, "numbers": read.numbers, "metadata": read.metadata}
    fields = {name: [*column] for name, column in beside.items() if column is not None}
    return (n, fields), read.texts or ()


class _Gathered:
    """The documents, or the gold items, that were gathered."""

    def __init__(self, interned: KnownTexts) -> None:
        self._known = interned.texts
        self._n: list[int] = []
        self._texts: list[int] = []
        self._columns: dict[str, list[Any]] = {}

    def add(self, texts: list[int], entries: _Others) -> None:
        """Add a list that was read."""
        n, columns = entries
        if columns or self._columns:
            for name in {**self._columns, **columns}:
                column = self._columns.setdefault(name, [None] * len(self._texts))
                column += columns.get(name) or [None] * n
        self._texts += texts or [NO_TEXT] * n
        self._n.append(n)

    def entries(self) -> Entries:
        """All of them."""
        numbers, n = np.array(self._texts, np.int64), np.array(self._n, np.int64)
        return Entries(Lists(self._known, numbers, n), **self._columns)  # type: ignore[arg-type]


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

        Args:
            n_whole: so many questions are kept, whatever room they take.
            room: for how many entries that are texts alone; another takes that of `_HEAVY`.
        """
        n, text_lists = 0, set()
        try:
            for batch in self._stream:
                self._kept.append(batch)
                yield batch
                n += len(batch)
                room -= _room(batch)
                text_lists.add(id(batch.docs.texts.known))  # another list holds as many characters
                if n >= n_whole and (room <= 0 or len(text_lists) > _MOST_KNOWN):
                    return
        except DataError as error:
            self._error = error
        self._stream, self.is_whole = iter(()), True

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
    return len(docs.texts.numbers) * (1 if is_light else _HEAVY)


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
