"""AutoRAG's questions: ``{"qid", "query", "retrieval_gt", "generation_gt"}``.

`retrieval_gt` is a list of ids, or of lists of ids of which any one serves.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from kragx.data.documents import Doc
from kragx.data.formats.format import Fields, Format, Kind, Read
from kragx.data.gold import Gold, Query


class AutoragFormat(Format):
    """The format of AutoRAG's ``qa.parquet``."""

    name = "autorag"
    fields: ClassVar = {
        "qid": Kind.WORD,
        "query": Kind.TEXT,
        "retrieval_gt": Kind.GOLD_IDS,
        "generation_gt": Kind.TEXTS,
        "answerable": Kind.FLAG,
        "metadata": Kind.JSON,
    }
    marks = ("retrieval_gt", "qid")
    key = "qid"

    def read(self, fields: Fields) -> Read:
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
            metadata=fields.metadata(**fields.rest(self.fields), other_references=answers[1:]),
        )
        yield query, None


def any_of(groups: Iterable[Sequence[str]]) -> tuple[Gold, ...]:
    """A gold item for each group of ids, of which any one serves."""
    return tuple(Gold(first, alternatives=tuple(map(Doc, rest))) for first, *rest in groups)
