"""kragx's own formats: gold files, results files and managed gold sets.

A gold file's line:

    {"query_id", "query"?, "gold": [{"id"?, "text"?, "grade"?, "source"?, "start"?,
     "end"?, "share"?, "alternatives"?, "metadata"?}],
     "query_type"?, "expected_doc_types"?, "answerable"?, "reference"?, "metadata"?,
     "history"?: [{"role", "content"}], "weight"?, "inclusion"?,
     "forbidden"?: [{"id"? | "text"? | "source"?, "start"?, "end"?, "why"?, "superseded_by"?}]}

Where ids are enough, ``"forbidden_chunk_ids"`` lists what is forbidden. The rules of a gold set
(`kragx.data.rules`) stand on its first line: ``{"forbidden": {"tenant": {...}}}``.

A results file's line is the same with ``"retrieved": [{"id"?, "text"?, "score"?, "metadata"?}]``
and optionally ``"seconds"``, ``"error"`` and ``"stages"`` (`Stage`). Beside or instead
of ``retrieved`` there may be ``searches`` (`kragx.data.search_records`). Without either
the query is missing (or failed, when there is an ``error``); ``[]`` says that the
retriever found nothing. Where ids are enough, ``"retrieved_chunk_ids"``
lists them.

A managed gold set holds the ids of chunks, in a list for each grade:

    {"query_id", "query", "query_type", "expected_doc_types", "relevant_chunk_ids" (grade 1),
     "highly_relevant_chunk_ids" (2), "irrelevant_chunk_ids" (0), "gold"?, "gold_texts"?, ...}

An element of a list may itself be a list: any of its ids serves. A highly relevant chunk may stand
among the relevant ones too, as whoever lists all relevant chunks writes it; its grade is 2.
"""

from collections.abc import Mapping
from dataclasses import replace

from kragx.data.documents import Doc
from kragx.data.formats.format import (
    QUESTION_FIELDS,
    RESULT_FIELDS,
    Fields,
    Format,
    Kind,
    Read,
)
from kragx.data.gold import Gold
from kragx.data.search_records import SEARCHES
from kragx.ground.printing import message

_IRRELEVANT = "irrelevant_chunk_ids"
_GRADES = {"highly_relevant_chunk_ids": 2.0, "relevant_chunk_ids": 1.0, _IRRELEVANT: 0.0}
"""The grade of the ids in each list of the schema."""

_LISTS: Mapping[str, Kind] = {
    **dict.fromkeys(reversed(_GRADES), "gold ids"),
    "gold_texts": "gold texts",
}


def _read(fields: Fields) -> Read:
    """Its query, and what was retrieved for it, if it says so."""
    fields.only()
    query_id = fields.id("query_id")
    is_goldset = fields.format is GOLDSET
    text = fields.text("query", is_required=is_goldset)
    if is_goldset and fields.record.keys().isdisjoint((*_LISTS, "gold")):
        problem = message("missing; write [] where a query has no gold")
        fields.report("relevant_chunk_ids", problem)
    yield fields.query(query_id, text, _graded(fields)), fields.retrieved()


GOLD = Format(
    "gold",
    fields=QUESTION_FIELDS | RESULT_FIELDS,
    marks=("gold", "retrieved", SEARCHES),
    read=_read,
)
"""The format of gold and results files."""

GOLDSET = replace(
    GOLD, name="goldset", fields={**QUESTION_FIELDS, **_LISTS, **RESULT_FIELDS}, marks=tuple(_LISTS)
)
"""The same where chunks stand in a list for each grade: managed gold sets."""


def _graded(fields: Fields) -> tuple[Gold, ...]:
    """The ids of the three lists with their grades, and the texts that `gold` adds to them."""
    items = fields.golds()
    texts: dict[str | None, Gold] = {item.id: item for _, item in items}
    texts |= {
        doc.id: Gold(doc.id, doc.text, metadata=doc.metadata)
        for _, item in items
        for doc in item.alternatives
    }
    golds: list[Gold] = []
    lists: dict[str | None, str] = {}  # in which list an id stands first
    # The best list first: an id that stands in two of them has the better grade.
    for name, grade in _GRADES.items():
        for position, group in fields.id_groups(name).items():
            new = [doc_id for doc_id in group if doc_id not in lists]
            for doc_id in group if new or name == _IRRELEVANT else ():
                if (before := lists.get(doc_id, name)) != name:
                    problem = message(
                        "id {doc_id!r} also stands in {list}; an id has one grade: keep one",
                        doc_id=doc_id,
                        list=before,
                    )
                    fields.report(f"{name}[{position}]", problem)
            if new:
                first, *others = (texts.get(doc_id, Gold(doc_id)) for doc_id in new)
                docs = tuple(Doc(gold.id, gold.text, gold.metadata) for gold in others)
                golds.append(replace(first, grade=grade, alternatives=docs))
            lists.update(dict.fromkeys(new, name))
    for position, item in items:
        if item.id not in lists:
            golds.append(item)
        elif item.grade not in (1.0, _GRADES[lists[item.id]]):
            fields.report(
                f"gold[{position}].grade",
                message("contradicts the list in which {id!r} stands: keep one", id=item.id),
            )
    golds += [Gold(text=text) for text in fields.texts("gold_texts")]
    return tuple(golds)
