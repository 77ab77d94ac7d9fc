"""ragas' rows: ``{"user_input", "reference_contexts", "retrieved_contexts", "reference", ...}``."""

from __future__ import annotations

from itertools import zip_longest

from kragx.data.documents import Doc
from kragx.data.formats.format import Fields, Format, Read
from kragx.data.gold import Gold, Query
from kragx.data.runs import Retrieved


def _read(fields: Fields) -> Read:
    """Its query, and what was retrieved for it; what else it holds goes to the metadata."""
    if isinstance(fields.record.get("user_input"), list):
        fields.report("user_input", "a conversation; kragx evaluates single questions")
        return
    texts, ids = fields.texts("reference_contexts"), fields.ids("reference_context_ids")
    if not texts and not ids and "reference_contexts" not in fields.record:
        fields.report("reference_contexts", "missing; they are the gold", "warning")
    if texts and ids and len(texts) != len(ids):
        fields.report(
            "reference_context_ids",
            f"{len(ids)} ids for {len(texts)} contexts; give one for each",
        )
        ids = []
    # ragas has no ids of queries; rows are numbered, which joins nothing but this very file.
    numbered = fields.record.get("query_id") in (None, "")
    query = Query(
        id=f"q{fields.number}" if numbered else fields.id("query_id"),
        text=fields.text("user_input", needed=True),
        gold=tuple(Gold(doc_id, text) for doc_id, text in zip_longest(ids, texts)),
        answerable=fields.flag("answerable"),
        reference=fields.text("reference"),
        metadata=fields.metadata(**fields.rest(), response=fields.text("response")),
    )
    yield query, _retrieved(fields)


def _retrieved(fields: Fields) -> Retrieved | None:
    texts, ids = fields.texts("retrieved_contexts"), fields.ids("retrieved_context_ids")
    if "retrieved_contexts" in fields.record:
        named = ids if len(ids) == len(texts) else [None] * len(texts)
        return Retrieved(tuple(map(Doc, named, texts)))
    if "retrieved_context_ids" in fields.record:
        return Retrieved(tuple(map(Doc, ids)))
    return None


RAGAS = Format(
    "ragas",
    fields={
        "user_input": "text",
        "reference_contexts": "gold texts",
        "reference_context_ids": "gold ids",
        "retrieved_contexts": "texts",
        "retrieved_context_ids": "ids",
        "reference": "text",
        "response": "text",
        "answerable": "flag",
        "query_id": "word",
        "metadata": "json",
    },
    marks=("user_input", "reference_contexts"),
    read=_read,
)
"""The format of ragas' evaluation datasets, of single turns."""
