"""LlamaIndex's evaluation sets: one JSON object ``{"queries", "corpus", "relevant_docs"}``.

What `EmbeddingQAFinetuneDataset.save_json` writes: the questions by id, the texts by id, and
for each question the ids of the texts that answer it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeGuard

from kragx.data.formats.positions import Place
from kragx.data.formats.problems import Problems
from kragx.data.gold import Gold, Query
from kragx.data.text import Mender
from kragx.errors import shorten


def is_llamaindex(value: object) -> TypeGuard[Mapping[str, Any]]:
    """Whether a JSON value is such a set."""
    return isinstance(value, Mapping) and {"queries", "relevant_docs"} <= set(value)


def read_whole(
    value: Mapping[str, Any], lines: Mapping[Place, int], problems: Problems, mender: Mender
) -> list[tuple[int | None, Query]]:
    """The queries of a set; gold has the id and, where the corpus holds it, the text.

    `lines` says where each part stands (`kragx.data.formats.positions`).
    """

    def report(name: str, message: str, query_id: str | None = None) -> None:
        place = (name,) if query_id is None else (name, query_id)
        problems.at(lines.get(place), query_id)(".".join(place), message)

    parts: dict[str, Mapping[str, Any]] = {}
    for name in ("queries", "relevant_docs", "corpus"):
        part = value.get(name, {})
        if not isinstance(part, Mapping):
            report(name, f"must be an object by id, not {shorten(part)}")
            part = {}
        parts[name] = part
    for query_id in parts["relevant_docs"]:
        if query_id not in parts["queries"]:
            report("relevant_docs", "no question has this id", query_id)
    queries: list[tuple[int | None, Query]] = []
    for query_id, text in parts["queries"].items():
        if not isinstance(text, str):
            report("queries", f"must be a text, not {shorten(text)}", query_id)
            continue
        ids = parts["relevant_docs"].get(query_id, [])
        if not isinstance(ids, list):
            report("relevant_docs", f"must be a list of ids, not {shorten(ids)}", query_id)
            ids = []
        gold = []
        for each in ids:
            found = parts["corpus"].get(str(each))
            if found is None and parts["corpus"]:
                report("relevant_docs", f"id {each!r} is not in the corpus", query_id)
            known = mender.mend(found) if isinstance(found, str) else None
            gold.append(Gold(id=str(each), text=known))
        query = Query(str(query_id), mender.mend(text), tuple(gold))
        queries.append((lines.get(("queries", query_id)), query))
    return queries
