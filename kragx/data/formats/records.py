"""One record, one query: the fields of each format, read so that every mistake is found.

| format       | its fields                                                                     |
|--------------|--------------------------------------------------------------------------------|
| `gold`       | query_id, query, gold: [{id, text, grade, alternatives, metadata}], ...        |
| `goldset`    | query_id, query, query_type, expected_doc_types, relevant_chunk_ids (grade 1), |
|              | highly_relevant_chunk_ids (2), irrelevant_chunk_ids (0), metadata              |
| `autorag`    | qid, query, retrieval_gt (outer and, inner or), generation_gt                  |
| `ragas`      | user_input, reference_contexts or reference_context_ids, reference, ...        |
| `science-qa` | eval_id, refs                                                                  |

An element of a list of ids may itself be a list, AutoRAG's way to say that any of them serves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import date
from typing import Any

from kragx.data.documents import Doc, as_docs, clean_id
from kragx.data.formats.jsonl import QUERY_FIELDS, RESULT_FIELDS
from kragx.data.formats.problems import Report
from kragx.data.gold import Gold, Query, as_golds
from kragx.data.runs import Retrieved
from kragx.data.text import Mender
from kragx.errors import DataError, nearest, shorten

Read = tuple[Query, Retrieved | None]
Reader = Callable[["Fields"], Read | None]

GRADES = {"highly_relevant_chunk_ids": 2.0, "relevant_chunk_ids": 1.0, "irrelevant_chunk_ids": 0.0}
"""The grade of the ids in each list of the schema."""


class Fields:
    """The fields of one record; what is wrong with them is reported, not raised."""

    def __init__(self, record: Mapping[str, Any], report: Report, mender: Mender, row: int) -> None:
        self.record = record
        self.report = report
        self.mender = mender
        self.row = row

    def only(self, known: Iterable[str]) -> None:
        """Report every field that is not among the known ones."""
        for name in self.record:
            if name not in known:
                hint = nearest(str(name), known)
                self.report(str(name), f"unknown field; {hint} (all else belongs under metadata)")

    def id(self, name: str, *, needed: bool = True) -> str | None:
        """An id."""
        try:
            found = clean_id(self.record.get(name), self.mender)
        except DataError as error:
            self.report(name, str(error))
            return None
        if found is not None and not found.strip():
            found = None
        if found is None and needed:
            self.report(name, "missing; each query needs an id of its own")
        return found

    def text(self, name: str, *, needed: bool = False) -> str | None:
        """A text."""
        value = self.record.get(name)
        if value is None or (isinstance(value, str) and not value.strip()):
            if needed:
                self.report(name, "missing; a question needs its text")
            return None
        if not isinstance(value, str):
            self.report(name, f"must be a text, not {shorten(value)}")
            return None
        return self.mender.mend(value)

    def texts(self, name: str) -> list[str]:
        """A list of texts; a single text is one."""
        value = self.record.get(name)
        if value is None:
            return []
        if isinstance(value, str):
            return [self.mender.mend(value)]
        if not isinstance(value, list):
            self.report(name, f"must be a list of texts, not {shorten(value)}")
            return []
        found = []
        for at, each in enumerate(value):
            if isinstance(each, str) and each.strip():
                found.append(self.mender.mend(each))
            else:
                self.report(f"{name}[{at}]", f"must be a text, not {shorten(each)}")
        return found

    def flag(self, name: str) -> bool | None:
        """True or false."""
        value = self.record.get(name)
        if value is None or isinstance(value, bool):
            return value
        self.report(name, f"must be true or false, not {shorten(value)}")
        return None

    def metadata(self, **more: Any) -> dict[str, Any]:
        """The metadata, a copy; with what the format keeps under other names."""
        value = self.record.get("metadata")
        if value is not None and not isinstance(value, Mapping):
            self.report("metadata", f"must be an object, not {shorten(value)}")
            value = None
        return {**{name: each for name, each in more.items() if each}, **(value or {})}

    def id_groups(self, name: str) -> list[tuple[str, ...]]:
        """A list of ids, or of lists of ids of which any one serves."""
        value = self.record.get(name)
        if value is None:
            return []
        if isinstance(value, str) or not isinstance(value, list):
            self.report(name, f"must be a list of ids, not {shorten(value)}; put one into a list")
            return []
        groups = []
        for at, each in enumerate(value):
            members = each if isinstance(each, list) else [each]
            ids = []
            for member in members:
                try:
                    found = clean_id(member, self.mender)
                except DataError as error:
                    self.report(f"{name}[{at}]", str(error))
                    continue
                if found is None or not found.strip():
                    self.report(f"{name}[{at}]", "the id is empty; remove it or fill it in")
                else:
                    ids.append(found)
            if ids:
                groups.append(tuple(dict.fromkeys(ids)))
            elif isinstance(each, list) and not each:
                self.report(f"{name}[{at}]", "an empty list; it should hold the ids that serve")
        return groups

    def golds(self, name: str = "gold") -> list[Gold]:
        """Gold items as in a gold file; the broken ones are reported and left out."""
        value = self.record.get(name)
        if value is None:
            return []
        if not isinstance(value, list):
            self.report(name, f"must be a list, not {shorten(value)}")
            return []
        found: list[Gold] = []
        for at, item in enumerate(value):
            if isinstance(item, str):
                # In Python a string is a text; in a file it may as well be meant as an id.
                self.report(
                    f"{name}[{at}]",
                    f'write {{"id": ...}} or {{"text": ...}}, not the string {shorten(item)}',
                )
                continue
            try:
                found += as_golds([item], self.mender, "")
            except DataError as error:
                self.report(f"{name}[{at}]", str(error).removeprefix(", gold 1: "))
        return found

    def retrieved(self, name: str, docs: object) -> Retrieved | None:
        """A ranked list of documents."""
        if docs is None:
            return None
        if not isinstance(docs, list):
            self.report(name, f"must be a list, not {shorten(docs)}")
            return None
        try:
            return Retrieved(as_docs(docs, self.mender, name))
        except DataError as error:
            self.report(name, str(error).removeprefix(f"{name}, "))
            return None


def _gold(fields: Fields) -> Read | None:
    fields.only(RESULT_FIELDS if "retrieved" in fields.record else (*QUERY_FIELDS, "error"))
    query_id = fields.id("query_id")
    query = Query(
        id=query_id or "",
        text=fields.text("query"),
        gold=tuple(fields.golds()),
        query_type=fields.text("query_type"),
        expected_doc_types=tuple(fields.texts("expected_doc_types")),
        answerable=fields.flag("answerable"),
        reference=fields.text("reference"),
        metadata=fields.metadata(),
    )
    found = fields.retrieved("retrieved", fields.record.get("retrieved"))
    return None if query_id is None else (query, found)


GOLDSET_FIELDS = (
    "query_id",
    "query",
    "query_type",
    "expected_doc_types",
    *reversed(GRADES),
    "metadata",
    "gold",
    "gold_texts",
    "answerable",
    "reference",
)


def _goldset(fields: Fields) -> Read | None:
    fields.only(GOLDSET_FIELDS)
    query_id = fields.id("query_id")
    text = fields.text("query", needed=True)
    if not any(name in fields.record for name in (*GRADES, "gold", "gold_texts")):
        fields.report("relevant_chunk_ids", "missing; write [] where a query has no gold")
    query_type = fields.text("query_type")
    if query_type is None and "query_type" not in fields.record:
        fields.report("query_type", "missing; the summary by type leaves it out", "warning")
    metadata = fields.metadata()
    _check_created(metadata, fields)
    query = Query(
        id=query_id or "",
        text=text,
        gold=_graded(fields),
        query_type=query_type,
        expected_doc_types=tuple(fields.texts("expected_doc_types")),
        answerable=fields.flag("answerable"),
        reference=fields.text("reference"),
        metadata=metadata,
    )
    return None if query_id is None else (query, None)


def _check_created(metadata: Mapping[str, Any], fields: Fields) -> None:
    created = metadata.get("created_at")
    if created is None:
        return
    try:
        date.fromisoformat(str(created)[:10])
    except ValueError:
        fields.report(
            "metadata.created_at", f"{created!r} is no date; write it as 2026-01-31", "warning"
        )


def _graded(fields: Fields) -> tuple[Gold, ...]:
    """The ids of the three lists with their grades, and the texts that `gold` adds to them."""
    items = fields.golds()
    texts: dict[str | None, Gold] = {item.id: item for item in items if item.id is not None}
    for item in items:
        texts.update({other.id: Gold(other.id, other.text) for other in item.alternatives})
    where: dict[str, str] = {}
    golds: list[Gold] = []
    for name, grade in GRADES.items():
        for at, group in enumerate(fields.id_groups(name)):
            for each in group:
                before = where.setdefault(each, name)
                if before != name:
                    fields.report(
                        f"{name}[{at}]",
                        f"id {each!r} also stands in {before}; an id has one grade: keep one",
                    )
                elif any(each in _ids(other) for other in golds):
                    fields.report(f"{name}[{at}]", f"id {each!r} stands twice", "warning")
            kept = [each for each in group if where[each] == name]
            kept = [each for each in kept if all(each not in _ids(other) for other in golds)]
            if kept:
                golds.append(_with_texts(kept, grade, texts))
    listed = {each for gold in golds for each in _ids(gold)}
    for at, item in enumerate(items):
        if item.id is None or item.id not in listed:
            golds.append(item)
        elif item.grade not in (1.0, _grade_of(item.id, golds)):
            fields.report(
                f"gold[{at}].grade", f"contradicts the list in which {item.id!r} stands: keep one"
            )
    golds += [Gold(text=text) for text in fields.texts("gold_texts")]
    return tuple(golds)


def _ids(gold: Gold) -> set[str | None]:
    return {gold.id, *(other.id for other in gold.alternatives)}


def _grade_of(query_id: str, golds: Iterable[Gold]) -> float:
    return next(gold.grade for gold in golds if query_id in _ids(gold))


def _with_texts(ids: list[str], grade: float, texts: Mapping[str | None, Gold]) -> Gold:
    first, *others = (texts.get(each, Gold(id=each)) for each in ids)
    alternatives = tuple(Doc(other.id, other.text, other.metadata) for other in others)
    return replace(first, grade=grade, alternatives=alternatives)


def _autorag(fields: Fields) -> Read | None:
    known = ("qid", "query", "retrieval_gt", "generation_gt", "answerable", "metadata")
    extra = _extra(fields, known)
    query_id = fields.id("qid")
    answers = fields.texts("generation_gt")
    if "retrieval_gt" not in fields.record:
        fields.report("retrieval_gt", "missing; write [] where a question has no gold")
    groups = fields.id_groups("retrieval_gt")
    query = Query(
        id=query_id or "",
        text=fields.text("query", needed=True),
        gold=tuple(_with_texts(list(group), 1.0, {}) for group in groups),
        answerable=fields.flag("answerable"),
        reference=answers[0] if answers else None,
        metadata=fields.metadata(**extra, other_references=answers[1:]),
    )
    return None if query_id is None else (query, None)


_RAGAS = (
    "user_input",
    "reference_contexts",
    "reference_context_ids",
    "retrieved_contexts",
    "retrieved_context_ids",
    "reference",
    "response",
    "answerable",
    "query_id",
    "metadata",
)


def _ragas(fields: Fields) -> Read | None:
    extra = _extra(fields, _RAGAS)
    # ragas has no ids of queries; rows are numbered, which joins nothing but this very file.
    query_id = fields.id("query_id", needed=False) or f"q{fields.row}"
    if isinstance(fields.record.get("user_input"), list):
        fields.report("user_input", "a conversation; kragx evaluates single questions")
        return None
    texts, ids = fields.texts("reference_contexts"), fields.id_groups("reference_context_ids")
    if not texts and not ids and "reference_contexts" not in fields.record:
        fields.report("reference_contexts", "missing; they are the gold", "warning")
    if texts and ids and len(texts) != len(ids):
        fields.report(
            "reference_context_ids", f"{len(ids)} ids for {len(texts)} contexts; give one for each"
        )
        ids = []
    rows = max(len(texts), len(ids))
    gold = tuple(
        Gold(id=ids[at][0] if at < len(ids) else None, text=texts[at] if at < len(texts) else None)
        for at in range(rows)
    )
    found = fields.texts("retrieved_contexts")
    found_ids = [group[0] for group in fields.id_groups("retrieved_context_ids")]
    named = len(found_ids) == len(found)
    docs: list[Doc] | None = None
    if "retrieved_contexts" in fields.record:
        docs = [Doc(id=found_ids[at] if named else None, text=t) for at, t in enumerate(found)]
    elif "retrieved_context_ids" in fields.record:
        docs = [Doc(id=each) for each in found_ids]
    query = Query(
        id=query_id,
        text=fields.text("user_input", needed=True),
        gold=gold,
        answerable=fields.flag("answerable"),
        reference=fields.text("reference"),
        metadata=fields.metadata(**extra, response=fields.text("response")),
    )
    return query, fields.retrieved("retrieved_contexts", docs)


def _science_qa(fields: Fields) -> Read | None:
    fields.only(("eval_id", "refs", "msg", "query"))
    query_id = fields.id("eval_id")
    if "refs" not in fields.record:
        fields.report("refs", "missing; write [] where a question has no gold")
    groups = fields.id_groups("refs")
    gold = tuple(_with_texts(list(group), 1.0, {}) for group in dict.fromkeys(groups))
    # The competition's way to say that nothing should be found.
    answerable = False if fields.record.get("refs") == [] else None
    query = Query(query_id or "", fields.text("query"), gold, answerable=answerable)
    return None if query_id is None else (query, None)


def _extra(fields: Fields, known: Iterable[str]) -> dict[str, Any]:
    """What another tool's rows hold besides: kept under metadata."""
    return {name: value for name, value in fields.record.items() if name not in known}


READERS: Mapping[str, Reader] = {
    "gold": _gold,
    "goldset": _goldset,
    "autorag": _autorag,
    "ragas": _ragas,
    "science-qa": _science_qa,
}
"""The reader of each format whose rows are queries."""

_MARKS = {
    "retrieval_gt": "autorag",
    "qid": "autorag",
    "user_input": "ragas",
    "reference_contexts": "ragas",
    "eval_id": "science-qa",
    **dict.fromkeys(GRADES, "goldset"),
    "gold_texts": "goldset",
    "gold": "gold",
    "retrieved": "gold",
}


def format_of(record: Mapping[str, Any]) -> str | None:
    """The format whose fields a record has; None if it has no format's own."""
    return next((name for mark, name in _MARKS.items() if mark in record), None)
