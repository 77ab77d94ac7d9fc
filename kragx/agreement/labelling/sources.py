"""The pairs that could be labelled: what was retrieved, or what a judge was asked."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from kragx.agreement.labelling.sample import PairToLabel
from kragx.agreement.labels import Pair, asked_in, document_name, gold_texts
from kragx.data.documents import Doc
from kragx.data.gold import GoldDataset
from kragx.data.runs import Run
from kragx.errors import DataError


def from_run(
    dataset: GoldDataset, run: Run, depth: int, *, asks: str = "relevance"
) -> list[PairToLabel]:
    """What a run retrieved, down to a rank.

    Args:
        dataset: the queries.
        run: what was retrieved for them.
        depth: the last rank.
        asks: ``relevance``; or ``support``, where documents are labelled against the query's gold
            texts instead of the question, and queries without any are left out.

    Raises:
        DataError: a query or a document has no text.
    """
    pairs: dict[Pair, PairToLabel] = {}
    for query in dataset:
        result = run.results.get(query.id)
        docs = result.documents[:depth] if result else ()
        texts = gold_texts(query) if asks == "support" else [query.text or ""]
        against = "\n\n".join(dict.fromkeys(texts))
        if docs and not against:
            if asks == "support":
                continue
            raise DataError(
                f"query {query.id!r} has no text, and nobody can judge relevance to it; add "
                "'query' to the results file"
            )
        for rank, doc in enumerate(docs, start=1):
            if doc.text is None:
                raise DataError(
                    f"query {query.id!r}, document {doc.id!r} has no text to read; a results file "
                    "with texts is needed, a TREC run has none"
                )
            pair = PairToLabel(query.id, document_name(doc), against, doc.text, rank)
            pairs.setdefault(pair.ids, pair)
    return list(pairs.values())


def from_store(
    path: str | Path,
    *,
    asks: str | None = None,
    model: str | None = None,
    rubric: str | None = None,
) -> list[PairToLabel]:
    """What a judge was asked, with its grade; what failed has none and may be drawn all the same.

    Raises:
        DataError: the store holds no such question.
        UsageError: an option does not fit, or the store holds grades of several kinds.
    """
    from kragx.judging import Store
    from kragx.judging.exchange import grades

    documents: dict[Pair, str] = {}
    against: dict[Pair, dict[str, None]] = {}  # in order, each text once
    with Store(path) as store:
        asks = asks or asked_in(store)
        known = grades(store, asks=asks, model=model, rubric=rubric, human=False)
        for record in store.records():
            question = record["question"]
            if question is None or question["asks"] != asks:
                continue
            text = question["query"] if asks == "relevance" else question["gold"]
            for pair in map(tuple, record["pairs"]):
                documents.setdefault(pair, question["document"])
                against.setdefault(pair, {})[text or ""] = None
    return [
        PairToLabel(*pair, "\n\n".join(against[pair]), document, grade=known.get(pair))
        for pair, document in documents.items()
    ]


def with_grades(pairs: Iterable[PairToLabel], graded: Iterable[PairToLabel]) -> list[PairToLabel]:
    """Pairs with the grades that a store has for them: by ids, else by their text."""
    grades: dict[Pair, int | None] = {}
    for pair in graded:
        grades[pair.ids] = grades[_by_text(pair)] = pair.grade
    return [replace(pair, grade=grades.get(pair.ids, grades.get(_by_text(pair)))) for pair in pairs]


def _by_text(pair: PairToLabel) -> Pair:
    return pair.query_id, document_name(Doc(text=pair.document))
