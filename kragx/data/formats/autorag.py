"""AutoRAG's questions: ``{"qid", "query", "retrieval_gt", "generation_gt"}``.

`retrieval_gt` is a list of ids, or of lists of ids of which any one serves.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kragx.data.documents import Doc
from kragx.data.formats.format import Fields, Format, Read
from kragx.data.gold import Gold, Query


def _read(fields: Fields) -> Read:
    """Its query; what else it holds goes to the metadata."""
    answers = fields.texts("generation_gt")
    if "retrieval_gt" not in fields.record:
        fields.report("retrieval_gt", "missing; write [] where a question has no gold")
    query = Query(
        id=fields.id("qid"),
        text=fields.text("query", needed=True),
        gold=any_of(fields.id_groups("retrieval_gt")),
        answerable=fields.flag("answerable"),
        reference=answers[0] if answers else None,
        metadata=fields.metadata(**fields.rest(), other_references=answers[1:]),
    )
    yield query, None


AUTORAG = Format(
    "autorag",
    fields={
        "qid": "word",
        "query": "text",
        "retrieval_gt": "gold ids",
        "generation_gt": "texts",
        "answerable": "flag",
        "metadata": "json",
    },
    marks=("retrieval_gt", "qid"),
    read=_read,
    key="qid",
)
"""The format of AutoRAG's ``qa.parquet``."""


def any_of(groups: Iterable[Sequence[str]]) -> tuple[Gold, ...]:
    """A gold item for each group of ids, of which any one serves."""
    return tuple(Gold(first, alternatives=tuple(map(Doc, rest))) for first, *rest in groups)
