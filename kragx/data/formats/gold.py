"""kragx's own formats: gold files, results files and managed gold sets.

A gold file's line:

    {"query_id", "query"?, "gold": [{"id"?, "text"?, "grade"?, "alternatives"?, "metadata"?}],
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

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain, starmap
from pathlib import Path

from kragx.data.documents import Doc
from kragx.data.forbidden import FORBIDDEN
from kragx.data.formats.format import (
    QUESTION_FIELDS,
    RESULT_FIELDS,
    STANDS_FOR,
    Fields,
    Format,
    Kind,
    Question,
    Read,
    question_record,
    rules_record,
)
from kragx.data.formats.jsonl import write_records
from kragx.data.formats.parquet import is_parquet, write_questions
from kragx.data.gold import Gold, GoldDataset
from kragx.data.runs import Run
from kragx.data.search_records import SEARCHES
from kragx.data.weights import weights_of
from kragx.ground.errors import UsageError
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


def write_gold(dataset: GoldDataset, path: str | Path) -> None:
    """Write a gold file that `read_gold` reads back as the same queries; Parquet by its ending.

    Examples:
        >>> from kragx import GoldDataset, read_gold, write_gold
        >>> dataset = GoldDataset.from_documents([["Seoul"]], queries=["Which city?"])
        >>> write_gold(dataset, "gold.jsonl")
        >>> read_gold("gold.jsonl").queries == dataset.queries
        True
    """
    _write(((query, None) for query in dataset), path, dataset, results=False)


def write_results(dataset: GoldDataset, run: Run, path: str | Path) -> None:
    """Write a results file: the gold set with what the run retrieved; Parquet by its ending.

    Raises:
        UsageError: the run holds several, of which a file has one.

    Examples:
        >>> from kragx import Doc, GoldDataset, Retrieved, Run, evaluate, write_results
        >>> dataset = GoldDataset.from_documents([["Seoul"]])
        >>> run = Run({"q1": Retrieved((Doc(text="Seoul"),))})
        >>> write_results(dataset, run, "results.jsonl")
        >>> evaluate("results.jsonl", metrics=["mrr@5"])["mrr@5"]
        1.0
    """
    if run.reruns:
        raise UsageError(
            "{name!r} was asked {n_every} times, and a file holds the answers of one",
            field="run",
            remedy="write each of run.every; Run.repeated makes one run of what is read of them",
            name=run.name,
            n_every=len(run.every),
        )
    searches = any(answer.searches or not answer.has_list for answer in run.results.values())
    questions = ((query, run.results.get(query.id)) for query in dataset)
    _write(questions, path, dataset, searches=searches)


def _write(
    questions: Iterable[Question],
    path: str | Path,
    dataset: GoldDataset,
    *,
    results: bool = True,
    searches: bool = False,
) -> None:
    if is_parquet(path):
        is_said = {
            FORBIDDEN: any(query.forbidden is not None for query in dataset),
            **dict.fromkeys(STANDS_FOR, weights_of(dataset) is not None),
            SEARCHES: searches,
        }
        beside = [name for name, flag in is_said.items() if flag]
        write_questions(questions, path, results=results, beside=beside, rules=dataset.forbidden)
    else:
        records = starmap(question_record, questions)
        write_records(chain(rules_record(dataset.forbidden), records), path)


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
                golds.append(_item(new, grade, texts))
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


def _item(ids: Sequence[str], grade: float, texts: Mapping[str | None, Gold]) -> Gold:
    first, *golds = (texts.get(doc_id, Gold(doc_id)) for doc_id in ids)
    alternatives = tuple(Doc(gold.id, gold.text, gold.metadata) for gold in golds)
    return replace(first, grade=grade, alternatives=alternatives)
