"""Equal ids: the matcher `id`, and the same straight from qrels and runs as mappings.

From mappings no document object is made. Only the ranks of the gold documents matter, so a run of
a million scores is never sorted: a gold document's rank is one more than the number of documents
of its query that stand before it.
"""

import re
import struct
import unicodedata
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice, repeat
from numbers import Integral
from typing import Annotated, Any, Self, TypeGuard

import numpy as np

from kragx.data import Doc, look_alikes, told_apart, value_at
from kragx.errors import DataError
from kragx.matchers.base import ID_AND_METADATA, IdsMatcher, MatchItem, Target
from kragx.matchers.matching import starts
from kragx.matchers.notes import Notes
from kragx.metrics import Bools, Floats, Ints, MatchTable
from kragx.plugins import fitting, is_text, optional
from kragx.printing import phrase

IdKey = Annotated[
    str | None,
    optional(fitting(is_text, "{!r} is not a metadata key or path such as 'metadata.parent_id'")),
]
ALIKE = "n_queries_ids_alike"
"""Counts questions with gold and retrieved ids that differ only by white space or Unicode form."""
APART = "n_queries_ids_apart"
"""Counts questions with ids to compare, where no id that was retrieved is any gold item's."""

_OWN = ("id", "metadata.id")  # where an id is, if no key says so


@dataclass
class Alike:
    """Questions with ids that only look equal: the first of them with its ids, and how many."""

    query: str = ""
    ids: tuple[str, str] = ("", "")
    n: int = 0

    def add(self, query: str, ids: tuple[str, str]) -> None:
        """Add one."""
        if not self.n:
            self.query, self.ids = query, ids
        self.n += 1

    def merge(self, later: Self) -> None:
        """Add those after these."""
        self.n += later.n

    def problem(self) -> str:
        """How many there are."""
        return phrase(
            "ids of gold and documents that only look equal in 1 question: {example}"
            if self.n == 1
            else "ids of gold and documents that only look equal in {n} questions: {example}",
            n=self.n,
            example=phrase("in {query!r} {ids}", query=self.query, ids=told_apart(*self.ids)),
        )


@dataclass
class Apart:
    """Whether any id that was retrieved, for whichever question, is a gold item's.

    Where none is, these are ids of two kinds rather than misses: a retriever that finds nothing
    still returns documents that are gold elsewhere.

    Attributes:
        n: how many questions have ids to compare.
        gold: those of gold items, until one is met.
        retrieved: those of documents.
        met: whether an id is both, if only to the eye (`Alike`).
        example: one of either, and its question.
    """

    n: int = 0
    gold: set[str] = field(default_factory=set)
    retrieved: set[str] = field(default_factory=set)
    met: bool = False
    example: Mapping[str, str] = field(default_factory=dict)

    def add(self, query: str, docs: Sequence[str], golds: Sequence[str], keys: str = "") -> None:
        """Add a question with the ids of its documents and gold items.

        Args:
            query: its id.
            docs: those of documents; at least one.
            golds: those of gold items; at least one.
            keys: the metadata that the first document has.
        """
        if not self.met:
            example = {"query": query, "id": docs[0], "keys": keys, "gold": golds[0]}
            self.merge(type(self)(1, {*golds}, {*docs}, example=example))

    def merge(self, later: Self) -> None:
        """Add those after these."""
        self.met = (
            self.met
            or later.met
            or not (
                # Those here are disjoint; of two sets the smaller one is looked through.
                later.gold.isdisjoint(later.retrieved)
                and self.gold.isdisjoint(later.retrieved)
                and later.gold.isdisjoint(self.retrieved)
            )
        )
        if self.met:  # nobody asks further, and there may be millions
            self.gold, self.retrieved = set(), set()
            return
        self.n += later.n
        self.example = self.example or later.example
        self.gold |= later.gold
        self.retrieved |= later.retrieved

    @property
    def made(self) -> bool:
        """Whether these are ids that a vector store made when documents were put into it."""
        return all(map(_is_uuid, self.retrieved)) and not any(map(_is_uuid, self.gold))

    def problem(self) -> str:
        """How many there are; nothing of a single miss."""
        if self.met or self.n < (1 if self.made else 2):
            return ""
        return phrase(
            "no retrieved id is any gold id (questions compared: {n}): a vector store gives a "
            "UUID to each document that is added without an id, and no gold item has one: "
            "{example}; add "
            "documents with your ids, name the metadata key that holds yours with 'id_key', or "
            "compare texts: match 'overlap' or 'text'"
            if self.made
            else "no retrieved id is any gold id (questions compared: {n}): {example}; if the "
            "corpus was chunked anew, compare texts: match 'overlap', 'rouge2' or 'text'; if your "
            "ids stand elsewhere, name their metadata key with 'id_key' or 'gold_id_key'",
            n=self.n,
            example=phrase(
                "in {query!r} {id!r}{keys} was retrieved, {gold!r} is gold", **self.example
            ),
        )


@dataclass(frozen=True)
class IdMatcher(IdsMatcher):
    """Equal ids.

    Attributes:
        id_key: where a retrieved document keeps its id: a metadata key, or a path such as
            ``metadata.parent_id`` (so that a parent or a page is the unit). Default: the
            document's own id, else ``metadata.id``.
        gold_id_key: the same for gold. Default: as `id_key`, else the gold item's own id.
    """

    id_key: IdKey = None
    gold_id_key: IdKey = None
    name = "id"
    yes_or_no = True
    looks_at = ID_AND_METADATA

    def scores(self, items: Iterable[MatchItem], notes: Notes) -> Iterator[Floats]:
        """Yield 1 where the ids are equal, else 0; note those that only look so, or none are."""
        settings = self.settings
        apart = notes.finding(settings, APART, Apart)
        for item in items:
            if not (item.docs and item.targets):
                yield np.zeros(item.shape)
                continue
            docs, golds = self._doc_ids(item), self._gold_ids(item)
            wanted = [*filter(None, golds)]
            if not apart.met:
                apart.add(item.query.id, docs, wanted, _keys(item.docs[0]))
            if not _is_plain("".join(chain(docs, wanted))):
                alike = look_alikes(_not_found(item, docs, golds), docs)
                notes[ALIKE] += bool(alike)
                apart.met = apart.met or bool(alike)  # which is said by itself
                for pair in [*alike.items()][-1:]:
                    of_all = notes.finding(settings, ALIKE, Alike)
                    of_all.add(item.query.id, pair)
            yield equal(docs, golds)

    def check(self, notes: Notes) -> None:
        """Count the questions where no id of any is a gold item's, for whoever reads results."""
        apart = notes.finding(self.settings, APART, Apart)
        notes.update({APART: apart.n} if apart.problem() else {})

    def _doc_ids(self, item: MatchItem) -> list[str]:
        paths = _OWN if self.id_key is None else (self.id_key,)
        ids: list[str] = []
        for rank, doc in enumerate(item.docs, start=1):
            try:
                doc_id = _lookup(doc, paths)
            except DataError as error:
                raise error.within(path=f"query {item.query.id!r}, rank {rank}") from None
            if doc_id is None:
                names = _names(doc)
                raise DataError(
                    phrase(
                        "query {query!r}, rank {rank}: the document has no {key}; name the "
                        "metadata key that holds it with 'id_key' (it has: {names}), or compare "
                        "texts: match 'overlap' or 'text'"
                        if names
                        else "query {query!r}, rank {rank}: the document has no {key}; name the "
                        "metadata key that holds it with 'id_key', or compare texts: match "
                        "'overlap' or 'text'",
                        query=item.query.id,
                        rank=rank,
                        key=self.id_key or "id",
                        names=names,
                    )
                )
            ids.append(doc_id)
        return ids

    def _gold_ids(self, item: MatchItem) -> list[str | None]:
        key = self.gold_id_key or self.id_key
        own = _OWN if self.gold_id_key is None else ()
        paths = own if key is None else (key, *own)
        ids: list[str | None] = []
        for target in item.targets:
            try:
                ids.append(_lookup(target, paths))
            except DataError as error:
                place = f"query {item.query.id!r}, gold {target.gold + 1}"
                raise error.within(path=place) from None
        with_id = {target.gold for target, id_ in zip(item.targets, ids) if id_ is not None}
        for position in range(len(item.query.gold)):
            if position not in with_id:
                raise DataError(
                    phrase(
                        "query {query!r}, gold {n}: the gold item has no {key}; add it, name the "
                        "metadata key that holds it with 'gold_id_key', or compare texts: match "
                        "'overlap' or 'text'",
                        query=item.query.id,
                        n=position + 1,
                        key=key or "id",
                    )
                )
        return ids


_is_uuid = re.compile("[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}").fullmatch


def _names(doc: Doc) -> str:
    """The first metadata keys of a document."""
    return ", ".join(sorted(map(str, doc.metadata))[:8])


def _keys(doc: Doc) -> str:
    """The same in brackets."""
    names = _names(doc)
    return f" (it has: {names})" if names else ""


def _is_plain(ids: str) -> bool:
    """Whether no id of some, written one behind the other, can be another one to the eye."""
    return ids.split() == [ids] and unicodedata.is_normalized("NFC", ids)


def _not_found(item: MatchItem, docs: Sequence[str], golds: Sequence[str | None]) -> Iterator[str]:
    """The ids of gold items of which no id was retrieved."""
    retrieved = set(docs)
    found = {target.gold for target, own in zip(item.targets, golds) if own in retrieved}
    for target, own in zip(item.targets, golds):
        if own is not None and target.gold not in found:
            yield own


def equal(docs: Sequence[str], targets: Sequence[str | None]) -> Floats:
    """1 where a document's key equals a target's, else 0; None equals nothing."""
    scores = np.zeros((len(docs), len(targets)))
    columns: dict[str, list[int]] = {}
    for column, key in enumerate(targets):
        if key is not None:
            columns.setdefault(key, []).append(column)
    for row, key in enumerate(docs):
        for column in columns.get(key, ()):
            scores[row, column] = 1.0
    return scores


def _lookup(source: Doc | Target, paths: tuple[str, ...]) -> str | None:
    """The id at the first path of a document or gold item that has one, None if none has.

    ``id`` and ``metadata.<key>`` start at the document; any other path is a metadata key.
    """
    for path in paths:
        value = source.id if path == "id" else value_at(source.metadata, path)
        if isinstance(value, str) and not value.strip():  # all such would be one document
            raise DataError(f"id_key {path!r}: the id is empty; remove it or fill it in")
        if not isinstance(value, bool) and isinstance(value, (str, Integral)):
            return str(value)
        if value is not None:
            raise DataError(
                f"id_key {path!r}: {value!r} is not an id; it must be a string or whole number"
            )
    return None


# -- qrels and runs as mappings ----------------------------------------------------------------

Scores = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True)
class IdArrays:
    """Qrels and a run as arrays, for q queries with d documents and g gold items.

    Attributes:
        qrels, run: the mappings that they are made of.
        doc_start: (q + 1) where each query's documents begin.
        gold_start: (q + 1) the same for gold items.
        score: (d) the documents' scores, as they stand in the run.
        gold: for each query the ids of its gold items.
        grade: (g) their grades.
        own: (g) the score of each gold item's document; NaN where it was not retrieved.
        answered: (q) whether the run has the query.
    """

    qrels: Scores
    run: Scores
    doc_start: Ints
    gold_start: Ints
    score: Floats
    gold: tuple[tuple[str, ...], ...]
    grade: Floats
    own: Floats
    answered: Bools


def read_id_arrays(qrels: object, run: object) -> IdArrays | None:
    """Read ``{query: {document: grade}}`` and ``{query: {document: score}}``.

    Everything about a query is read at once, while it is near: a million scores lie scattered in
    memory, and to come back to them costs more than to look at them.

    Returns:
        The arrays; None if these are no such mappings, or some key is no id.

    Raises:
        DataError: a grade is not a finite number, or a score no number.
    """
    if not (_nested(qrels) and _nested(run)):
        return None
    if "" in qrels or " " in qrels:
        return None
    scores, grades, ids, own = [], [], [], array("d")
    unknown = repeat(np.nan)
    empty: Mapping[str, float] = {}
    try:
        # The fastest way to see that all keys are strings.
        "".join(qrels)
        "".join(run)
        for query, golds in qrels.items():
            ranking = run.get(query, empty)
            if "" in golds or "" in ranking or " " in golds or " " in ranking:
                return None  # where documents are made blank ids are refused
            ids.append(tuple(golds))
            "".join(ids[-1])
            "".join(ranking)
            scores.append(struct.pack(f"{len(ranking)}d", *ranking.values()))
            grades.append(struct.pack(f"{len(golds)}d", *golds.values()))
            own.extend(map(ranking.get, golds, unknown))
    except TypeError:
        return None
    except (struct.error, OverflowError):
        _refuse(qrels, run)
        raise DataError("the numbers of a run or qrels must be finite and fit a float") from None
    read = IdArrays(
        qrels=qrels,
        run=run,
        doc_start=starts([len(packed) // 8 for packed in scores]),
        gold_start=starts([len(packed) // 8 for packed in grades]),
        score=np.frombuffer(b"".join(scores)),
        gold=tuple(ids),
        grade=np.frombuffer(b"".join(grades)),
        own=np.array(own),
        answered=np.fromiter(map(run.__contains__, qrels), bool, len(qrels)),
    )
    # True and False have passed for 1 and 0, and so has an array of one, before numpy 2.4.
    kinds = set(map(type, chain.from_iterable(golds.values() for golds in qrels.values())))
    kinds.update(_kinds_near_bools(read))
    valid = np.isfinite(read.grade).all() and not np.isnan(read.score).any()
    if not valid or kinds & {bool, np.bool_, np.ndarray}:
        _refuse(qrels, run)
    return read


def note_apart(read: IdArrays, notes: Notes) -> None:
    """Note whether any id that was retrieved is a gold item's, as the matcher does."""
    if not np.isnan(read.own).all():  # as a rule
        return
    apart = notes.finding(IdMatcher().settings, APART, Apart)
    for query, golds in zip(read.qrels, read.gold):
        if golds and read.run.get(query):
            apart.add(query, [*read.run[query]], golds)


def _nested(value: Any) -> TypeGuard[Scores]:
    return (
        isinstance(value, Mapping)
        and bool(value)
        and all(issubclass(kind, Mapping) for kind in set(map(type, value.values())))
    )


def _kinds_near_bools(read: IdArrays) -> set[type]:
    """The types of each query's scores from the first 0 or 1 to the last; no bool is elsewhere."""
    near = np.flatnonzero((read.score == 0) | (read.score == 1))
    first = np.searchsorted(near, read.doc_start)
    rows = np.flatnonzero(first[1:] > first[:-1])
    begin = near[first[rows]] - read.doc_start[rows]
    end = near[first[rows + 1] - 1] + 1 - read.doc_start[rows]
    queries = list(read.qrels)
    kinds: set[type] = set()
    for row, start, stop in zip(rows.tolist(), begin.tolist(), end.tolist()):
        kinds.update(map(type, islice(read.run[queries[row]].values(), start, stop)))
    return kinds


def _refuse(qrels: Scores, run: Scores) -> None:
    """Raise a `DataError` about the first value that is no number, or a grade that is not finite.

    There may be none.
    """
    for source, what, finite in ((qrels, "grade", "finite "), (run, "score", "")):
        for query, of_query in source.items():
            for document, value in of_query.items():
                is_number = not isinstance(value, (bool, np.bool_)) and isinstance(
                    value, (int, float, np.integer, np.floating)
                )
                # A whole number may be too great for a float, so numpy is not asked about it.
                if not is_number or (value - value and (finite or abs(value) != np.inf)):
                    raise DataError(
                        f"query {query!r}: the {what} of {document!r} must be a {finite}number, "
                        f"not {value!r}"
                    )


def match_id_arrays(read: IdArrays) -> MatchTable:
    """The match table of qrels and a run; a pair with equal ids is a match.

    A query's documents are ranked by score, ties by id descending (as UTF-8 bytes). The rows of the
    table are the queries of the qrels, in their order.
    """
    gold = np.flatnonzero(~np.isnan(read.own))
    n_queries = len(read.qrels)
    query = np.repeat(np.arange(n_queries), np.diff(read.gold_start))[gold]
    before, tied = _before(read.score, read.doc_start, query, read.own[gold])
    if tied.any():
        queries = list(read.qrels)
        documents = list(chain.from_iterable(read.gold))
        for pair in np.flatnonzero(tied):
            before[pair] += _tied_before(read.run[queries[query[pair]]], documents[gold[pair]])
    doc = read.doc_start[query] + before
    order = np.lexsort((gold, doc))
    return MatchTable(
        doc_start=read.doc_start,
        gold_start=read.gold_start,
        grade=read.grade,
        answered=read.answered,
        repeated=np.zeros(len(read.score), bool),
        pair_doc=doc[order].astype(np.int32),
        pair_gold=gold[order].astype(np.int32),
        pair_score=np.ones(len(gold)),
        threshold=1.0,
    )


def _before(scores: Floats, doc_start: Ints, query: Ints, own: Floats) -> tuple[Ints, Bools]:
    """How many of its query's scores are greater than each score `own`, and whether one ties."""
    ascending = -scores  # so that the best score stands first, and a row can be searched
    falls = np.zeros(len(scores) + 1, np.int64)  # how often scores rose, up to each document
    np.cumsum(ascending[1:] < ascending[:-1], out=falls[2:])
    # A row's first document is compared with the row before, which says nothing.
    starts = np.minimum(doc_start[:-1] + 1, doc_start[1:])
    for row in np.flatnonzero(falls[doc_start[1:]] > falls[starts]):
        ascending[doc_start[row] : doc_start[row + 1]].sort()
    first, last = doc_start[query], doc_start[query + 1]
    place = _bisect(ascending, first, last, -own)
    behind = np.minimum(place + 1, len(scores) - 1)
    return place - first, (place + 1 < last) & (ascending[behind] == -own)


def _bisect(values: Floats, first: Ints, last: Ints, own: Floats) -> Ints:
    """Where each `own` belongs in its sorted stretch of `values`: binary searches, all at once."""
    first, last = first.copy(), last.copy()
    while (first < last).any():
        middle = (first + last) // 2
        # Where a search has ended (first == last), the middle may lie beyond the last value.
        right = (first < last) & (values[np.minimum(middle, len(values) - 1)] < own)
        first = np.where(right, middle + 1, first)
        last = np.where(right, last, middle)
    return first


def _tied_before(ranking: Mapping[str, float], document: str) -> int:
    own = document.encode("utf-8", "surrogatepass")
    score = ranking[document]
    return sum(
        other == score and name.encode("utf-8", "surrogatepass") > own
        for name, other in ranking.items()
        if name != document
    )
