"""LlamaIndex's evaluation sets: one JSON object ``{"queries", "corpus", "relevant_docs"}``.

What `EmbeddingQAFinetuneDataset.save_json` writes: the questions by id, the texts by id, and
for each question the ids of the texts that answer it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kragx.data.formats.format import Fields, Format, Place, Read
from kragx.data.gold import Gold, Query
from kragx.errors import shorten


def _read(fields: Fields) -> Read:
    """Its queries; gold has the id and, where the corpus holds it, the text."""

    def report(message: str, *place: str) -> None:
        fields.line = fields.lines.get(place)
        fields.query_id = place[1] if place[1:] else None
        fields.report(".".join(place), message)

    parts: dict[str, Mapping[str, Any]] = {}
    for name in fields.format.fields:
        part = fields.record.get(name, {})
        if not isinstance(part, Mapping):
            report(f"must be an object by id, not {shorten(part)}", name)
            part = {}
        parts[name] = part
    questions, corpus, relevant = parts.values()
    for query_id in relevant:
        if query_id not in questions:
            report("no question has this id", "relevant_docs", query_id)
    for query_id, text in questions.items():
        if not isinstance(text, str):
            report(f"must be a text, not {shorten(text)}", "queries", query_id)
            continue
        ids = relevant.get(query_id, [])
        if not isinstance(ids, list):
            report(f"must be a list of ids, not {shorten(ids)}", "relevant_docs", query_id)
            ids = []
        gold = []
        for doc_id in map(str, ids):
            if corpus and doc_id not in corpus:
                report(f"id {doc_id!r} is not in the corpus", "relevant_docs", query_id)
            known = corpus.get(doc_id)
            gold.append(Gold(doc_id, fields.mender.mend(known) if isinstance(known, str) else None))
        place: Place = ("queries", query_id)
        fields.line = fields.lines.get(place)
        yield Query(str(query_id), fields.mender.mend(text), tuple(gold)), None


LLAMAINDEX = Format(
    "llamaindex",
    fields=dict.fromkeys(("queries", "corpus", "relevant_docs"), "json"),
    marks=("relevant_docs",),
    read=_read,
)
"""The format of `EmbeddingQAFinetuneDataset`: all queries in one record."""
