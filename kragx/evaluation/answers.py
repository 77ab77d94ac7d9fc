"""What each query got, beside the match table: the texts behind the rows of an evaluation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from kragx.data.documents import Doc
from kragx.data.gold import Gold, GoldDataset
from kragx.data.runs import Run, Status
from kragx.errors import UsageError
from kragx.evaluation.evaluation import Evaluation
from kragx.evaluation.source import arranged
from kragx.matchers import MatchItem
from kragx.metrics.evidence import RankedList
from kragx.metrics.table import Bools, Floats, Ints, MatchTable


def answers(evaluation: Evaluation, dataset: GoldDataset, run: Run) -> list[RankedList]:
    """The answers of an evaluation, row by row.

    Raises:
        UsageError: the gold set or the run is not the one that was evaluated.
    """
    in_order = arranged(evaluation.profile)
    n_docs = evaluation.table.n_docs.tolist()
    found: list[RankedList] = []
    for query_id, n in zip(evaluation.query_ids, n_docs, strict=True):
        if query_id not in dataset:
            raise UsageError(
                f"dataset: {dataset.name!r} has no query {query_id!r}, which {evaluation.name!r} "
                "was evaluated on; pass the gold set of the evaluation"
            )
        query = dataset[query_id]
        got = run.results.get(query_id)
        status: Status = "answered"
        if got is None:
            status = "missing"
        elif got.error is not None:
            status = "failed"
        docs = in_order(MatchItem(query, got.documents if got and not got.error else ())).docs
        if len(docs) < n:
            raise UsageError(
                f"run {run.name!r}: query {query_id!r} has {len(docs)} documents, and "
                f"{evaluation.name!r} was evaluated on {n}; pass the run of the evaluation"
            )
        # A pool is cut at its depth, so a table may hold less than was retrieved.
        found.append(
            RankedList(
                query,
                docs[:n],
                status,
                None if got is None else got.seconds,
                None if got is None else got.error,
            )
        )
    return found


def kept_answers(evaluation: Evaluation) -> list[RankedList] | None:
    """The answers that an evaluation keeps for its metrics; None if it keeps none."""
    if evaluation.evidence is None:
        return None
    n_docs = evaluation.table.n_docs.tolist()
    return [
        RankedList(each.query, each.docs[:n], each.status, each.seconds)
        for each, n in zip(evaluation.evidence.lists, n_docs, strict=True)
    ]


@dataclass(frozen=True)
class Found:
    """What became of each gold item of a match table (g of them).

    Attributes:
        relevant: (g) whether it is gold: its grade is above 0, and as high as `rel` asks.
        first: (g) the first rank at which it is matched; 0 if it is not.
        best: (g) its highest score; 0 where nothing was alike.
        best_rank: (g) the first rank with that score; 0 without one.
        unknown: (g) not matched, and a score that could match is not known.
    """

    relevant: Bools
    first: Ints
    best: Floats
    best_rank: Ints
    unknown: Bools


def found(table: MatchTable, rel: float | None = None) -> Found:
    """First ranks and highest scores of a table's gold items, with `rel` as the least grade."""
    n_gold = len(table.grade)
    doc_query = np.repeat(np.arange(table.n_queries), table.n_docs)
    rank = np.arange(len(doc_query)) - table.doc_start[doc_query] + 1
    gold, score = table.pair_gold, table.pair_score
    ranks = rank[table.pair_doc]
    first = np.full(n_gold, np.iinfo(np.int64).max)
    matched = table.matched
    np.minimum.at(first, gold[matched], ranks[matched])
    none = first == np.iinfo(np.int64).max
    best = np.zeros(n_gold)
    np.fmax.at(best, gold, score)
    best_rank = np.full(n_gold, np.iinfo(np.int64).max)
    highest = score == best[gold]
    np.minimum.at(best_rank, gold[highest], ranks[highest])
    best_rank[best_rank == np.iinfo(np.int64).max] = 0
    unknown = np.zeros(n_gold, bool)
    unknown[gold[np.isnan(score)]] = True
    relevant = (table.grade > 0) & (table.grade >= (0.0 if rel is None else rel))
    return Found(relevant, np.where(none, 0, first), best, best_rank, unknown & none)


def pool_gold(of_match: Sequence[tuple[Evaluation, Sequence[RankedList]]]) -> list[list[Gold]]:
    """The gold of a pool, row by row: each pooled text with the judge's grade.

    Evaluations of one pool share its documents; each retriever found some of them, so that
    together they have the text of every one.
    """
    table = of_match[0][0].table
    golds: list[Gold | None] = [None] * len(table.grade)
    for evaluation, answered in of_match:
        docs = [doc for answer in answered for doc in answer.docs]
        own = evaluation.table
        for at_doc, at_gold in zip(own.pair_doc.tolist(), own.pair_gold.tolist()):
            if golds[at_gold] is None:
                doc, grade = docs[at_doc], float(own.grade[at_gold])
                # A gold item's grade is a number; 0 stands where the judge gave none.
                grade = 0.0 if np.isnan(grade) else grade
                golds[at_gold] = Gold(id=doc.id, text=doc.text, grade=grade)
    starts = table.gold_start.tolist()
    blank = Gold(text="")
    return [[gold or blank for gold in golds[first:last]] for first, last in pairwise(starts)]


def texts_by_id(
    of_runs: Sequence[Sequence[RankedList]], corpus: Mapping[str, str | Doc]
) -> dict[str, str]:
    """The texts of ids, for gold named by its id alone: a corpus's, then what was retrieved."""
    given = {id_: each.text if isinstance(each, Doc) else each for id_, each in corpus.items()}
    known = {id_: text for id_, text in given.items() if text is not None}
    for answered in of_runs:
        for answer in answered:
            for doc in answer.docs:
                if doc.id is not None and doc.text is not None:
                    known.setdefault(doc.id, doc.text)
    return known
