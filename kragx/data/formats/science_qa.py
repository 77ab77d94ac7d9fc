"""The files of the Korean science QA competition.

A submission is JSON Lines, whatever its ending, with ``eval_id`` and ``topk`` (ids) a line; the
gold is JSON Lines of ``{"eval_id", "refs": [ids]}``, or one JSON object ``{eval_id: [ids]}``. A
query without refs should be answered with an empty list, and is read as not answerable.
"""

from collections.abc import Mapping
from dataclasses import replace
from itertools import chain, count
from pathlib import Path
from typing import Any

from kragx.data.documents import Doc
from kragx.data.formats.format import Fields, Format, Read
from kragx.data.formats.jsonl import file_name, read_records
from kragx.data.formats.libraries import any_of
from kragx.data.gold import GoldDataset, Query
from kragx.data.problems import Problems
from kragx.data.runs import Retrieved, Run
from kragx.errors import DataError


def _is_by_id(record: Mapping[str, Any]) -> bool:
    """Whether a record is lists by eval_id."""
    lists = all(isinstance(refs, list) for refs in record.values())
    return bool(record) and "query_id" not in record and lists


def _read(fields: Fields) -> Read:
    """Its query; of lists by eval_id all of them."""
    if "eval_id" in fields.record or "refs" in fields.record:
        fields.only()
        if "refs" not in fields.record:
            fields.report("refs", "missing; write [] where a question has no gold")
        yield _query(fields, fields.id("eval_id"), "refs"), None
        return
    for eval_id in fields.record:
        fields.line, fields.query_id = fields.lines.get((eval_id,), fields.line), eval_id
        yield _query(fields, eval_id, eval_id), None


def _query(fields: Fields, query_id: str, name: str) -> Query:
    golds = any_of(dict.fromkeys(fields.id_groups(name).values()))
    # The competition's way to say that nothing should be found.
    answerable = False if fields.record.get(name) == [] else None
    return Query(query_id, fields.text("query"), golds, answerable=answerable)


SCIENCE_QA = Format(
    "science-qa",
    fields={
        "eval_id": "word",
        "refs": "gold ids",
        "msg": "json",
        "query": "text",
    },
    marks=("eval_id",),
    read=_read,
    key="eval_id",
    looks=_is_by_id,
)
"""The format of the competition's gold."""


def read_submission(path: str | Path, gold: GoldDataset) -> tuple[GoldDataset, Run, list[str]]:
    """Read a submission as the competition scores it: by its rows.

    Returns:
        A gold set with one query for each row (a second row of an eval_id gets the id
        ``<eval_id>#2``), what the rows retrieved, and the eval_ids of `gold` that have no row.

    Raises:
        DataError: a broken line or value, a row whose eval_id has no gold, or an empty file.
    """
    problems = Problems(str(path), strict=True)
    seen: set[str] = set()
    queries: list[Query] = []
    results: dict[str, Retrieved] = {}
    for line, record in read_records(path, problems):
        fields = Fields(record, SCIENCE_QA, problems, line)
        eval_id = fields.id("eval_id")
        if eval_id not in gold:
            problems.add(line, None, f"eval_id {eval_id!r} is not in the gold set {gold.name!r}")
        if "topk" not in record:
            fields.report("topk", "missing; write [] where nothing is retrieved")
        seen.add(eval_id)
        ids = chain([eval_id], (f"{eval_id}#{number}" for number in count(2)))
        row_id = next(new for new in ids if new not in results)
        queries.append(replace(gold[eval_id], id=row_id))
        results[row_id] = Retrieved(tuple(map(Doc, fields.ids("topk"))))
    if not queries:
        raise DataError(f"{path}: the file holds no row; one JSON object a line is expected")
    dataset = GoldDataset(tuple(queries), gold.name, problems.mender.surrogates)
    left_out = [query.id for query in gold if query.id not in seen]
    return dataset, Run(results, name=file_name(path)), left_out
