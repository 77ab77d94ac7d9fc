"""What a format is: the fields of its records, what they hold, and how a record is read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, TypeVar

from kragx.data.documents import (
    Doc,
    as_docs,
    clean_id,
    clean_metadata,
    clean_seconds,
    doc_record,
    needed_id,
    present,
    unknown_field,
)
from kragx.data.forbidden import FORBIDDEN, Forbidden, all_forbidden
from kragx.data.gold import Gold, Query, as_gold, as_turns
from kragx.data.problems import Level, Problems
from kragx.data.runs import Retrieved
from kragx.data.search_records import (
    SEARCHES,
    NumberedDocs,
    as_searches,
    as_stages,
    search_records,
    stage_records,
)
from kragx.data.text import SurrogateRepair
from kragx.data.weights import ASKS
from kragx.ground.errors import DataError, shorten
from kragx.ground.printing import message

FORBIDDEN_IDS = "forbidden_chunk_ids"
"""The field that lists ids of what must not come, as a cell of a table does."""

Question = tuple[Query, Retrieved | None]
"""A query with what a record says was retrieved; an id "" has been reported."""

Read = Iterator[Question]

_Cleaned = TypeVar("_Cleaned")


Kind = Literal[
    "text",
    "word",
    "flag",
    "number",
    "json",
    "texts",
    "passages",
    "ids",
    "gold texts",
    "gold ids",
]
"""What a field holds, so that the cells of tables can be read: a ``word`` is a text without white
space around it; ``texts`` are a list, in a cell a line each; ``passages`` a list, or one text with
all its lines; ``ids`` may be separated by commas as well; an empty cell of the two of gold says
that there is none."""

STANDS_FOR: Mapping[str, Kind] = dict.fromkeys(ASKS, "number")
"""The fields that say what a question stands for."""

QUESTION_FIELDS: dict[str, Kind] = {
    "query_id": "word",
    "query": "text",
    "gold": "json",
    "query_type": "word",
    "expected_doc_types": "ids",
    "answerable": "flag",
    "reference": "text",
    "history": "json",
    "metadata": "json",
    FORBIDDEN: "json",
    FORBIDDEN_IDS: "gold ids",
    **STANDS_FOR,
}
"""The fields of a question in kragx's own formats, in the order in which they are written."""

RESULT_FIELDS: dict[str, Kind] = {
    "retrieved": "json",
    "retrieved_chunk_ids": "ids",
    "seconds": "number",
    "error": "text",
    "stages": "json",
    SEARCHES: "json",
}
"""Those of what was retrieved for it."""


@dataclass(frozen=True)
class Format:
    """A format whose records say what queries there are.

    A new one is a file beside this one, and its line in `kragx.data.formats`.

    Attributes:
        name: how commands and configs call it.
        fields: every field that its records may have, and what it holds.
        marks: fields that only this format has.
        read: what a record says: as a rule one query; its mistakes are reported to its `Fields`.
        key: the field that holds the query's id.
        looks: what else tells a record of this format.
        common: fields whose names other tables use for other things: where columns are mapped, such
            a column is this field only if it is mapped to it.
    """

    name: str
    fields: Mapping[str, Kind]
    marks: tuple[str, ...]
    read: Callable[[Fields], Read]
    key: str = "query_id"
    looks: Callable[[Mapping[str, Any]], bool] | None = None
    common: tuple[str, ...] = ()

    def recognises(self, record: Mapping[str, Any]) -> bool:
        """Whether a record is of this format, and of no other."""
        is_marked = not record.keys().isdisjoint(self.marks)
        return is_marked or (self.looks is not None and self.looks(record))


@dataclass
class Fields:
    """The fields of one record; what is wrong with them is reported, not raised.

    Attributes:
        record: the fields' values.
        format: of the record.
        problems: is told of every mistake, and mends texts.
        line: where the record begins.
        number: the record's number, from 1.
    """

    record: Mapping[str, Any]
    format: Format
    problems: Problems
    line: int | None = None
    number: int = 1

    @property
    def repair(self) -> SurrogateRepair:
        """Mends texts."""
        return self.problems.repair

    def report(
        self, name: str, message: str, level: Level = "error", *, of: Query | None = None
    ) -> None:
        """Report what is wrong with a field, of one of the record's questions if it has several."""
        query_id = self.record.get(self.format.key) if of is None else of.id
        query_id = None if query_id is None else str(query_id)
        self.problems.add(self.line, name, message, level, query_id)

    def only(self) -> None:
        """Report every field that is not the format's."""
        for name in self.rest():
            error = unknown_field(str(name), self.format.fields)
            self.report(error.field, error.problem_and_remedy)

    def query(self, query_id: str, text: str | None, gold: Iterable[Gold]) -> Query:
        """The query, with the fields that all of kragx's own formats have."""
        history = () if self.record.get("history") is None else self.record["history"]
        return Query(
            id=query_id,
            text=text,
            gold=tuple(gold),
            query_type=self.text("query_type"),
            expected_doc_types=tuple(self.texts("expected_doc_types", single=False)),
            answerable=self.flag("answerable"),
            reference=self.text("reference"),
            metadata=self.metadata(),
            history=self._cleaned("history", as_turns, history, self.repair) or (),
            forbidden=self.forbidden(),
            **self.stands_for(),
        )

    def stands_for(self) -> dict[str, Any]:
        """How many asks the question stands for, and its chance of having been drawn."""
        return {
            name: number
            for name, clean in ASKS.items()
            if (number := self._cleaned("", clean, self.record.get(name))) is not None
        }

    def rest(self) -> dict[str, Any]:
        """What a record holds besides the format's fields."""
        return {
            name: value for name, value in self.record.items() if name not in self.format.fields
        }

    def id_or_number(self) -> str:
        """The query's id; of rows without one their number, which joins nothing but this file."""
        if self.record.get("query_id") not in (None, ""):
            return self.id("query_id")
        self.problems.n_numbered += 1
        return f"q{self.number}"

    def id(self, name: str) -> str:
        """The query's id; empty where it is missing, which is reported."""
        value = self.record.get(name)
        if value is None or (isinstance(value, str) and not value.strip()):
            self.report(name, message("missing; each query needs an id of its own"))
            return ""
        return self._cleaned(name, clean_id, value, self.repair) or ""

    def text(self, name: str, *, is_required: bool = False) -> str | None:
        """A text."""
        value = self._of_type(name, str, message("a text"))
        if is_required and not (value or "").strip() and self.record.get(name) in (None, value):
            self.report(name, message("missing; a question needs its text"))
        return None if value is None else self.repair.text(value)

    def texts(self, name: str, *, single: bool = True) -> list[str]:
        """A list of texts; `single`: a single text is one."""
        value = self.record.get(name)
        if single and isinstance(value, str):
            value = [value]
        else:
            value = self._list(name, message("a list of texts"))
        return [text for _, text in self._each(name, _text, value)]

    def flag(self, name: str) -> bool | None:
        """True or false."""
        return self._of_type(name, bool, message("true or false"))

    def metadata(self, **fields: Any) -> dict[str, Any]:
        """The metadata, a copy; with what the format keeps under other names."""
        metadata = self._cleaned("", clean_metadata, self.record.get("metadata")) or {}
        return {**{name: value for name, value in fields.items() if value}, **metadata}

    def ids(self, name: str) -> list[str]:
        """A list of ids."""
        entries = self._list(name, message("a list of ids"))
        return [doc_id for _, doc_id in self._each(name, needed_id, entries)]

    def id_groups(self, name: str) -> dict[int, tuple[str, ...]]:
        """A list of ids, or of lists of ids of which any one serves, by position."""
        groups = {}
        for position, entry in enumerate(self._list(name, message("a list of ids"))):
            place = f"{name}[{position}]"
            if entry == []:
                self.report(place, message("an empty list; it should hold the ids that serve"))
            members = entry if isinstance(entry, list) else [entry]
            ids = [self._cleaned(place, needed_id, member, self.repair) for member in members]
            if group := tuple(dict.fromkeys(filter(None, ids))):
                groups[position] = group
        return groups

    def golds(self) -> list[tuple[int, Gold]]:
        """Gold items as in a gold file, with their positions; the broken ones are reported."""
        entries = self._list("gold", message("a list of gold items"), null=False)
        return [*self._each("gold", partial(as_gold, strings=False), entries)]

    def forbidden(self) -> tuple[Forbidden, ...] | None:
        """What must not come: items as in a gold file, or their ids; None where nobody says."""
        items = self._cleaned("", all_forbidden, self.record.get(FORBIDDEN), self.repair)
        if self.record.get(FORBIDDEN_IDS) is None:
            return items
        return (items or ()) + tuple(map(Forbidden, self.ids(FORBIDDEN_IDS)))

    def retrieved(self) -> Retrieved | None:
        """What was retrieved as a results file says it: documents, or their ids, or an error."""
        record, error = self.record, self.text("error")
        seconds = self._cleaned("", clean_seconds, record.get("seconds"))
        lists = [name for name in ("retrieved", "retrieved_chunk_ids") if record.get(name)]
        if error is not None and not error.strip() and (lists or record.get(SEARCHES)):
            error = None  # some write "" for none
        docs: tuple[Doc, ...] | None = None  # where no list was handed on
        if error is not None:
            docs = ()
            if lists:
                problem = message("stands beside 'error', which says otherwise; keep one")
                self.report(lists[0], problem)
        elif "retrieved" in record:
            values = self._list("retrieved", message("a list of documents"), null=False)
            docs = self._cleaned("retrieved", as_docs, values, self.repair, "", False) or ()
        elif record.get("retrieved_chunk_ids") is not None:
            docs = tuple(map(Doc, self.ids("retrieved_chunk_ids")))
        elif record.get(SEARCHES) is None:
            return None
        has_list, docs = docs is not None, docs or ()
        readers: dict[str, Callable[..., Any]] = {SEARCHES: as_searches, "stages": as_stages}
        made: dict[str, Any] = {}
        # Their numbers mean the documents of the question first.
        numbered = NumberedDocs(docs, self.repair)
        for name, read in readers.items():
            if record.get(name) is not None:
                made[name] = self._cleaned(name, read, record[name], numbered) or ()
        answer = partial(Retrieved, docs, seconds, error, made.pop("stages", ()))
        # Searches that contradict each other are reported; what came is kept without them.
        return self._cleaned("", partial(answer, has_list=has_list, **made)) or answer()

    def _of_type(self, name: str, kind: type[_Cleaned], kind_text: str) -> _Cleaned | None:
        """A value of a type of JSON; None where there is none."""
        value = self.record.get(name)
        if value is None or isinstance(value, kind):
            return value
        problem = message("must be {kind}, not {value}", kind=kind_text, value=shorten(value))
        self.report(name, problem)
        return None

    def _list(self, name: str, kind: str, *, null: bool = True) -> list[Any]:
        """A list, empty where there is none; `null`: whether a null says so too."""
        if not null and name in self.record and self.record[name] is None:
            problem = message(
                "must be {kind}, not None; leave the field out if it is unknown, write [] if it is "
                "empty",
                kind=kind,
            )
            self.report(name, problem)
        return self._of_type(name, list, kind) or []

    def _each(
        self,
        name: str,
        clean: Callable[[Any, SurrogateRepair], _Cleaned | None],
        entries: list[Any],
    ) -> Iterator[tuple[int, _Cleaned]]:
        """What `clean` makes of the entries of a list, with their positions, of those it takes."""
        for position, entry in enumerate(entries):
            value = self._cleaned(f"{name}[{position}]", clean, entry, self.repair)
            if value is not None:
                yield position, value

    def _cleaned(self, name: str, clean: Callable[..., _Cleaned], *args: Any) -> _Cleaned | None:
        """What `clean` makes of a value; None if it refuses it, which is reported."""
        try:
            return clean(*args)
        except DataError as error:
            self.report(error.within(name).field, error.problem_and_remedy)
            return None


def _text(value: object, repair: SurrogateRepair) -> str:
    if not isinstance(value, str):
        raise DataError("must be a text, not {value}", value=shorten(value))
    return repair.text(value)


def unique_names(columns: Iterable[str]) -> list[str]:
    """The names of columns; a `DataError` names the first that stands twice."""
    names = list(columns)
    for name, n in Counter(filter(None, names)).items():
        if n > 1:
            raise DataError("the column {name!r} stands twice; keep one", name=name)
    return names


# -- written ---------------------------------------------------------------------------------------

RULES_KEY = b"kragx.forbidden"
"""Under this key of the schema of a Parquet file stand the rules of a gold set, as JSON."""


def question_record(query: Query, answer: Retrieved | None) -> dict[str, Any]:
    """A question as a results file holds it; None where nobody says what was retrieved."""
    return query_record(query) | ({} if answer is None else answer_record(answer))


def query_record(query: Query) -> dict[str, Any]:
    """A query as a gold file holds it."""
    gold = [
        present(
            id=item.id,
            text=item.text,
            grade=None if item.grade == 1.0 else item.grade,
            alternatives=[doc_record(alternative) for alternative in item.alternatives],
            metadata=dict(item.metadata),
        )
        for item in query.gold
    ]
    forbidden, weight = query.forbidden, query.weight
    return {
        "query_id": query.id,
        **present(query=query.text),
        "gold": gold,
        # Empty where somebody looked, and nothing is forbidden.
        **({} if forbidden is None else {FORBIDDEN: [item.to_dict() for item in forbidden]}),
        **present(
            query_type=query.query_type,
            expected_doc_types=list(query.expected_doc_types),
            answerable=query.answerable,
            reference=query.reference,
            history=[turn.to_dict() for turn in query.history],
            metadata=dict(query.metadata),
            # As people write it: a number of asks is whole.
            weight=None if weight == 1.0 else int(weight) if weight.is_integer() else weight,
            inclusion=None if query.inclusion == 1.0 else query.inclusion,
        ),
    }


def rules_record(rules: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The rules of a gold set as the first line of its file holds them; empty of none."""
    return [{FORBIDDEN: dict(rules)}] if rules else []


def answer_record(answer: Retrieved) -> dict[str, Any]:
    """What was retrieved for a query, or why nothing was, as a results file holds it."""
    record: dict[str, Any] = {}
    if answer.error is not None:
        record["error"] = answer.error
    elif answer.has_list:
        record["retrieved"] = [doc_record(doc) for doc in answer.documents]
    docs = NumberedDocs(answer.documents if answer.has_list else ())
    searches = search_records(answer.searches, docs)
    if not (answer.has_list or searches):
        record[SEARCHES] = []
    stages = stage_records(answer.stages, docs)
    return record | present(seconds=answer.seconds, searches=searches, stages=stages)
