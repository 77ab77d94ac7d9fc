"""Gold sets: what should be found for each query."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import chain, count, zip_longest
from math import isfinite
from operator import attrgetter
from types import MappingProxyType
from typing import Any

from kragx.data.documents import (
    TEXT_FIELDS,
    Doc,
    as_doc,
    clean_each,
    clean_fields,
    clean_metadata,
    clean_number,
    clean_text,
    named,
    needed_id,
    refuse_unknown,
)
from kragx.data.forbidden import FORBIDDEN, Forbidden, all_forbidden, check_versions
from kragx.data.foreign import foreign_fields
from kragx.data.lists import Floats
from kragx.data.pages import page_gold
from kragx.data.rules import RuleSet
from kragx.data.text import SurrogateRepair
from kragx.data.weights import INCLUSION, WEIGHT, clean_asks, unequal, weights_of
from kragx.ground.errors import DataError, UsageError, inside, shorten
from kragx.ground.messages import Message
from kragx.ground.printing import Line, Part, Shown, message, visible


@dataclass(frozen=True, slots=True)
class Gold:
    """One thing that should be found. The items of a query are an AND, the alternatives an OR.

    Attributes:
        id: the id of the gold document or passage.
        text: its text.
        grade: how relevant it is. Above 0 it is gold; at or below 0 it is judged non-relevant.
        alternatives: other documents that serve as well; the item is found when any of them is.
        metadata: whatever else is known of it, for example a parent id to match by.

    Examples:
        >>> from kragx import Doc, Gold, GoldDataset, Query, evaluate
        >>> either = Gold(text="Seoul", alternatives=(Doc(text="서울"),))
        >>> dataset = GoldDataset((Query("q1", gold=(either,)),))
        >>> evaluate(dataset, [["부산", "서울"]], match="exact", metrics=["mrr@5"])["mrr@5"]
        0.5
    """

    id: str | None = None
    text: str | None = None
    grade: float = 1.0
    alternatives: tuple[Doc, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        grade = self.grade  # nearly all are floats, for which a look is enough
        if not isfinite(grade) if type(grade) is float else clean_number(grade, "grade") is None:
            raise DataError("'grade' must be a finite number, not {grade!r}", grade=grade)
        if self.alternatives and not {*map(type, self.alternatives)} <= {Doc}:
            docs = _alternatives(self.alternatives, SurrogateRepair(), strings=True)
            object.__setattr__(self, "alternatives", docs)


def gold_place(query_id: str, number: int) -> Message:
    """Where a gold item stands, for a message; numbers begin with 1."""
    return message("query {query!r}, gold {n}", query=query_id, n=number)


def rank_place(query_id: str, rank: int) -> Message:
    """Where a retrieved document stands."""
    return message("query {query!r}, rank {n}", query=query_id, n=rank)


def named_items(position: int, gold: Gold) -> Iterator[tuple[str, Gold | Doc]]:
    """A gold item and its alternatives, each with its field."""
    yield f"gold[{position}]", gold
    for number, alternative in enumerate(gold.alternatives):
        yield f"gold[{position}].alternatives[{number}]", alternative


_OF_TURNS = dict.fromkeys(("role", "content")).keys()
_ROLES = {"human": "user", "ai": "assistant"}
"""What LangChain calls them, in its own words."""


@dataclass(frozen=True, slots=True)
class Turn:
    """What one side said.

    Attributes:
        role: ``user``, ``assistant``, ``system`` or another word for who spoke.
        content: what was said.
    """

    role: str
    content: str

    def to_dict(self) -> dict[str, str]:
        """As files, chat models and LangChain's prompts have it."""
        return {"role": self.role, "content": self.content}


def as_turns(values: object, repair: SurrogateRepair) -> tuple[Turn, ...]:
    """The earlier turns of a question: mappings with role and content.

    Raises:
        DataError: they are none; the error's field says which.
    """
    if not isinstance(values, (list, tuple)):
        raise DataError(
            "must be a list of earlier turns, not {values}",
            remedy='write [{{"role": "user", "content": ...}}, {{"role": "assistant", ...}}]',
            values=shorten(values),
        )

    def turn(value: object) -> Turn:
        if isinstance(value, Turn):
            return value
        if not isinstance(value, Mapping):
            raise DataError("must have role and content, not {value}", value=shorten(value))
        refuse_unknown(value, _OF_TURNS)
        texts = []
        for name in _OF_TURNS:
            with inside(name):
                texts.append(clean_text(value.get(name), repair))
            if not texts[-1].strip():
                problem = message("nothing was said" if name == "content" else "must say who spoke")
                raise DataError(problem, field=name, remedy="leave the turn out")
        role, content = texts
        return Turn(_ROLES.get(role, role), content)

    return clean_each(values, turn)


@dataclass(frozen=True, slots=True)
class Query:
    """One question with its gold.

    Attributes:
        id: joins the query with the results of a run.
        text: the question itself; needed to ask a retriever, not to score results.
        gold: what should be found (`Gold`, or what `GoldDataset.from_documents` takes); may be
            empty (see `no_gold`).
        answerable: False marks a query that has no gold on purpose.
        reference: a reference answer, for judges that take one.
        query_type, expected_doc_types, metadata: to slice results by.
        history: what was said before in the same conversation, the earliest first.
        forbidden: what must not come (`Forbidden`, or mappings as in a gold file); empty where
            somebody has looked, None where nobody has.
        weight: how many asks it stands for, 0 or more: means count it so many times.
        inclusion: its chance of having been drawn from more questions, above 0 and at most 1, fixed
            before anybody judged it: means count it as weight / inclusion asks.

    Examples:
        >>> from kragx import Gold, Query
        >>> query = Query("q1", "Which city is the capital?", gold=(Gold(text="Seoul", grade=2.0),))
        >>> query.gold[0].grade
        2.0
    """

    id: str
    text: str | None = None
    gold: tuple[Gold, ...] = ()
    query_type: str | None = None
    expected_doc_types: tuple[str, ...] = ()
    answerable: bool | None = None
    reference: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    history: tuple[Turn, ...] = ()
    forbidden: tuple[Forbidden, ...] | None = None
    weight: float = 1.0
    inclusion: float = 1.0

    def __post_init__(self) -> None:
        if type(self.id) is not str:
            object.__setattr__(self, "id", needed_id(self.id, SurrogateRepair()))
        # In Python mappings are items, too, and documents and texts are gold.
        if type(self.gold) is not tuple or not {*map(type, self.gold)} <= {Gold}:
            golds = as_golds(self.gold, SurrogateRepair(), f"query {self.id!r}")
            object.__setattr__(self, "gold", golds)
        if self.forbidden is not None:
            items = all_forbidden(self.forbidden, SurrogateRepair())
            object.__setattr__(self, FORBIDDEN, items)
        # Nearly all are 1.0, which needs no check.
        if type(self.weight) is not float or self.weight != 1.0:
            object.__setattr__(self, WEIGHT, clean_asks(WEIGHT, self.weight))
        if type(self.inclusion) is not float or self.inclusion != 1.0:
            object.__setattr__(self, INCLUSION, clean_asks(INCLUSION, self.inclusion))

    @property
    def turn(self) -> int:
        """Which question of the user's in its conversation this is, from 1."""
        return 1 + sum(turn.role == "user" for turn in self.history)


_ID, _FORBIDDEN, _ASKS = attrgetter("id"), attrgetter(FORBIDDEN), attrgetter(WEIGHT, INCLUSION)


def cut(text: str, longest: int) -> str:
    """A text in one line, of so many characters at most."""
    line = visible(text)
    return line if len(line) <= longest else f"{line[:longest]}…"


@dataclass(frozen=True)
class GoldDataset(Shown):
    """The queries of a gold set, each with a different id.

    Attributes:
        queries: in the order of the source.
        name: names the set in results.
        n_replaced_surrogates: lone surrogates replaced by U+FFFD while reading.
        version: the user's own word for its state, for example a date; None if it has none.
        encoding: of its file, where it had to be guessed.
        forbidden: rules by name that forbid documents (`kragx.data.rules`).

    Raises:
        DataError: there is no query, one has an empty id, or two have the same; or documents take
            each other's place in a circle.
        UsageError: a rule is none.

    Examples:
        >>> from kragx import GoldDataset
        >>> dataset = GoldDataset.from_documents([["Seoul"], ["1919"]], queries=["Where?", "When?"])
        >>> len(dataset), dataset["q2"].gold[0].text
        (2, '1919')
    """

    queries: tuple[Query, ...]
    name: str = "gold"
    n_replaced_surrogates: int = 0
    version: str | None = None
    encoding: str | None = None
    forbidden: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.forbidden:
            with inside(FORBIDDEN):
                RuleSet.of(self.forbidden)
        if not self.queries:
            raise DataError(
                "{name}: the gold set holds no query; at least one is needed", name=self.name
            )
        if {*map(type, self.queries)} != {Query}:
            raise UsageError(
                "GoldDataset: {value} is no Query",
                remedy="GoldDataset.from_documents(...) takes lists of gold, "
                "read_dataset(...) rows",
                value=shorten(next(query for query in self.queries if type(query) is not Query)),
            )
        check_unique(map(_ID, self.queries), self.name)
        # A circle may lead through several questions, each of which is right by itself.
        if forbidden := [*filter(None, map(_FORBIDDEN, self.queries))]:
            check_versions(chain.from_iterable(forbidden))
        # Asked for here, so that weights by which nothing counts are refused with the gold set.
        _ = self.weights

    @cached_property
    def weights(self) -> Floats | None:
        """(q) how many asks of all traffic each question stands for: weight over inclusion.

        None where all are alike, so that every number is the one without weights.
        """
        if {*map(_ASKS, self.queries)} == {(1.0, 1.0)}:
            return None
        return unequal(weights_of(self.queries), self.name)

    @cached_property
    def may_forbid(self) -> bool:
        """Whether it says of any question what must not come, or has rules that do."""
        items = [*map(_FORBIDDEN, self.queries)]
        return bool(self.forbidden) or items.count(None) < len(items)

    def __len__(self) -> int:
        return len(self.queries)

    def __iter__(self) -> Iterator[Query]:
        return iter(self.queries)

    def __getitem__(self, query_id: str) -> Query:
        return self._by_id[query_id]

    def __contains__(self, query_id: object) -> bool:
        return query_id in self._by_id

    @cached_property
    def content_hash(self) -> str:
        """What the queries say, in 64 hexadecimal digits; see `hash_of`."""
        return hash_of(map(query_hash, self.queries), self.forbidden)

    @cached_property
    def settings(self) -> dict[str, Any]:
        """What a result records of the set: name, version and content hash."""
        guessed = {} if self.encoding is None else {"encoding": self.encoding}
        return {"name": self.name, "version": self.version, "hash": self.content_hash, **guessed}

    @cached_property
    def _by_id(self) -> dict[str, Query]:
        return dict(zip(map(_ID, self.queries), self.queries))

    def describe(self) -> Iterator[Part]:
        """How many questions and gold items there are."""
        n_items = sum(len(query.gold) for query in self)
        yield Line(
            message(
                "gold set {name}: {n} questions, {items} gold items",
                name=self.name,
                n=len(self),
                items=n_items,
            )
        )

    @classmethod
    def from_documents(
        cls,
        gold: Sequence[Sequence[object]] | Mapping[str, Sequence[object] | Mapping[str, float]],
        queries: Sequence[str] | Mapping[str, str] | None = None,
        *,
        unanswerable: Collection[str] = (),
        name: str = "gold",
    ) -> GoldDataset:
        """Make a gold set from Python values; they are not changed.

        Args:
            gold: for each query a list of gold items (LangChain documents, mappings as in a gold
                file, strings or `Gold`); or a mapping from query id to such a list, or to
                ``{document id: grade}``. Queries in a plain list are named q1, q2, ...
            queries: the questions, in the order of `gold`; or a mapping from query id to question.
            unanswerable: ids of the queries that nothing answers; they have no gold.
            name: names the set in results.
        """
        repair = SurrogateRepair()
        by_id = numbered(gold)
        for query_id, items in by_id:
            if type(items) is not list and foreign_fields(items) is not None:
                raise UsageError(
                    "gold: a list of gold is expected for query {query_id!r}, not {items}",
                    remedy="put it in brackets: [[document], [document]] has one for each query",
                    query_id=query_id,
                    items=named(items),
                )
        if isinstance(queries, Mapping):
            check_unique(map(str, queries), "queries")
            questions = dict(numbered(queries))
            if alone := questions.keys() ^ {query_id for query_id, _ in by_id}:
                raise UsageError(
                    "queries: {query_id!r} is the id of a question or of gold alone; "
                    "give both the same ids",
                    query_id=min(alone),
                )
            queries = [questions[query_id] for query_id, _ in by_id]
        if queries is not None and len(queries) != len(by_id):
            raise UsageError(
                "queries: {n_queries} questions for {n_by_id} lists of gold; pass one for each",
                n_queries=len(queries),
                n_by_id=len(by_id),
            )
        texts = clean_each(
            () if queries is None else queries,  # columns of tables have no truth value
            lambda text: clean_text(text, repair),
            field="queries",
        )
        rows = list[Query]()
        for (query_id, items), text in zip_longest(by_id, texts):
            golds = as_golds(items, repair, f"query {query_id!r}")
            answerable = False if query_id in unanswerable else None
            rows.append(Query(query_id, text, golds, answerable=answerable))
        if unknown := {*unanswerable}.difference(map(_ID, rows)):
            raise UsageError("unanswerable: no query has the id {value!r}", value=min(unknown))
        for query in rows:
            if query.answerable is False and any(gold.grade > 0 for gold in query.gold):
                raise UsageError(
                    "unanswerable: query {id!r} has gold; keep one of the two", id=query.id
                )
        return cls(tuple(rows), name=name, n_replaced_surrogates=repair.surrogates)


def numbered(values: Sequence[Any] | Mapping[str, Any]) -> list[tuple[str, Any]]:
    """What Python values say of each query, by its id; those of a plain list are q1, q2, ..."""
    if isinstance(values, Mapping):
        return [*zip(map(str, values), values.values())]
    return [*zip(map("q{}".format, count(1)), values)]


def query_hash(query: Query) -> bytes:
    """The SHA-256 of a query as canonical JSON: every field, keys sorted, no spaces, UTF-8.

    A question without a history has no field of that name, nor has one of which nobody says what
    is forbidden, or that stands for one ask, drawn for sure.
    """
    record = dict(zip(Query.__slots__, attrgetter(*Query.__slots__)(query)))
    record["metadata"] = dict(query.metadata)
    for name, unsaid in _UNSAID:
        if record[name] == unsaid:
            del record[name]
    # Gold from Python may hold half a pair, which strict UTF-8 refuses.
    return hashlib.sha256(_CANONICAL(record).encode("utf-8", "surrogatepass")).digest()


_UNSAID = ("history", ()), (FORBIDDEN, None), (WEIGHT, 1.0), (INCLUSION, 1.0)


def _plain(value: object) -> Any:
    """What JSON lacks: parts of a query; a date in metadata as the text that stands for it."""
    match value:
        case Doc() | Gold():
            record = dict(zip(value.__slots__, attrgetter(*value.__slots__)(value)))
            grade = {"grade": float(value.grade)} if isinstance(value, Gold) else {}
            return record | {"metadata": dict(value.metadata)} | grade
        case Forbidden() | Turn():
            return value.to_dict()
    return str(value)


_CANONICAL = json.JSONEncoder(
    sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=_plain
).encode


def hash_of(queries: Iterable[bytes], forbidden: Mapping[str, Any] = MappingProxyType({})) -> str:
    """The content hash of a gold set: the SHA-256 of its queries' hashes, sorted.

    Sorted, because the order of a file's lines means nothing; of hashes, because a set may be
    read as a stream. Behind them stands the hash of its rules, where it has any.
    """
    digest = hashlib.sha256(b"".join(sorted(queries)))
    if forbidden:
        rules = _CANONICAL(dict(forbidden)).encode("utf-8", "surrogatepass")
        digest.update(hashlib.sha256(rules).digest())
    return digest.hexdigest()


def check_unique(query_ids: Iterable[str], place: str) -> None:
    """Raise a `DataError` that names the first query id that is empty or stands twice."""
    ids: set[str] = set()
    for position, query_id in enumerate(query_ids, start=1):
        if not query_id or query_id.isspace():
            raise DataError(
                "{place}: the id of query {position} is empty; give each its own",
                place=place,
                position=position,
            )
        if query_id in ids:
            raise DataError(
                "{where}: query id {id!r} stands twice (again at query {position}); queries "
                "are joined by id, so each needs its own",
                where=place,
                id=query_id,
                position=position,
            )
        ids.add(query_id)


def as_golds(items: object, repair: SurrogateRepair, place: str) -> tuple[Gold, ...]:
    """Read the gold items of one query: a list of them, or ``{document id: grade}``."""
    if isinstance(items, Mapping):
        items = [{"id": key, "grade": grade} for key, grade in items.items()]
    if isinstance(items, (str, bytes)) or not isinstance(items, Iterable):
        raise DataError(
            "{place}: gold must be a list of documents, not {kind}; put a single one into a list",
            place=place,
            kind=type(items).__name__,
        )
    return clean_each(items, partial(as_gold, repair=repair), f"{place}, gold")


_PLACE = ("source", "start", "end", "share")
"""Where a gold item stands in its source, and how much of a text it is; kept in its metadata."""

_GOLD_FIELDS = dict.fromkeys(
    ("id", *TEXT_FIELDS, "grade", *_PLACE, "alternatives", "metadata")
).keys()


def as_gold(value: object, repair: SurrogateRepair, strings: bool = True) -> Gold:
    """Read a gold item: a `Gold`, a mapping as in a gold file, or what `as_doc` reads.

    `strings` is False in files, as of `as_doc`.

    Raises:
        DataError: it is none, or has neither id nor text nor alternatives.
    """
    if isinstance(value, Gold):
        return value
    if not isinstance(value, Mapping):
        doc = as_doc(value, repair, strings)
        return Gold(id=doc.id, text=doc.text, metadata=doc.metadata)
    if not value.keys().isdisjoint(("doc", "pages")):
        value = page_gold(value)
    if place := {name: value[name] for name in _PLACE if name in value}:
        value = _with_metadata(value, place)
    doc_id, text, metadata = clean_fields(value, _GOLD_FIELDS, repair, strings)
    grade = clean_number(value.get("grade"), "grade")
    alternatives = value.get("alternatives")
    # Beside an id alone a string may as well be meant as one.
    strings = strings and (doc_id is None or text is not None)
    gold = Gold(
        id=doc_id,
        text=text,
        grade=1.0 if grade is None else grade,
        alternatives=_alternatives(() if alternatives is None else alternatives, repair, strings),
        metadata=metadata,
    )
    if gold.id is None and gold.text is None and not gold.alternatives:
        raise DataError("a gold item needs 'id', 'text' or 'alternatives'; this one has none")
    return gold


def _with_metadata(value: Mapping[str, Any], place: Mapping[str, Any]) -> Mapping[str, Any]:
    """A gold item with its place in the source in its metadata, where kragx keeps it."""
    about = clean_metadata(value.get("metadata"))
    for name in place.keys() & about.keys():
        if about[name] != place[name]:
            raise DataError("metadata says {value}", field=name, value=shorten(about[name]))
    rest = {name: entry for name, entry in value.items() if name not in place}
    return {**rest, "metadata": {**about, **place}}


def _alternatives(values: object, repair: SurrogateRepair, strings: bool) -> tuple[Doc, ...]:
    # A text or a mapping can be gone through as well, letter by letter or key by key.
    if isinstance(values, (str, Mapping)) or not isinstance(values, Iterable):
        raise DataError("must be a list of {'id'?, 'text'?}", field="alternatives")
    return clean_each(values, lambda doc: as_doc(doc, repair, strings), field="alternatives")
