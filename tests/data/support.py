"""Short ways to write files, and values that Hypothesis draws."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from hypothesis import strategies as st

from kragx import Doc, Gold, GoldDataset, Query, Run
from kragx.data.source import contradictions

# No surrogates: `st.text` leaves them out, as no file can hold them.
names = st.text(min_size=1, max_size=6).filter(str.strip)
texts = st.text(max_size=12)
passages = texts.filter(str.strip)
numbers = st.floats(allow_nan=False, allow_infinity=False)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | numbers | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)
metadata = st.dictionaries(texts, json_values, max_size=3)


def one_of_id_and_text(kind: type, **fields: st.SearchStrategy) -> st.SearchStrategy:
    """Values of `kind` that have an id, a text or both."""
    maybe = {"id": st.none() | names, "text": st.none() | passages}
    return st.one_of(
        st.builds(kind, **(maybe | fields | {"id": names})),
        st.builds(kind, **(maybe | fields | {"text": passages})),
    )


docs = one_of_id_and_text(Doc, score=st.none() | numbers, metadata=metadata)
golds = one_of_id_and_text(
    Gold,
    grade=numbers,
    alternatives=st.lists(docs, max_size=2).map(tuple),
    metadata=metadata,
)
queries = st.builds(
    Query,
    id=names,
    text=st.none() | texts,
    gold=st.lists(golds, max_size=3).map(tuple),
    query_type=st.none() | texts,
    expected_doc_types=st.lists(texts, max_size=2).map(tuple),
    answerable=st.none() | st.booleans(),
    reference=st.none() | texts,
    metadata=metadata,
).filter(lambda query: not any(contradictions(query)))
query_lists = st.lists(queries, min_size=1, max_size=4, unique_by=lambda query: query.id)
datasets = query_lists.map(lambda drawn: GoldDataset(tuple(drawn)))


def written(folder: Path, *lines: object, name: str = "file.jsonl") -> Path:
    """A file of lines: strings as they are, anything else as JSON."""
    path = folder / name
    encoded = (line if isinstance(line, str) else json.dumps(line) for line in lines)
    path.write_text("".join(line + "\n" for line in encoded), encoding="utf-8", newline="\n")
    return path


def write_run(run: Run, path: Path) -> None:
    """A TREC run, gzipped by its ending; lists without scores get falling ones."""
    lines = []
    for query_id, answer in run.results.items():
        n = len(answer.documents)
        for rank, doc in enumerate(answer.documents, start=1):
            score = float(n + 1 - rank) if doc.score is None else doc.score
            lines.append(f"{query_id} Q0 {doc.id} {rank} {score!r} {run.name}\n")
    data = "".join(lines).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
