"""The ranked lists behind the rows of an evaluation, and what became of each gold item in them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from kragx.data import Doc, Gold, GoldDataset, Run
from kragx.evaluation.arranging import match_item
from kragx.evaluation.evaluation import Evaluation
from kragx.ground.errors import UsageError
from kragx.metrics import Bools, Floats, Ints, RankedList, TextBudget


def lists_behind(
    evaluation: Evaluation, dataset: GoldDataset | None, runs: Mapping[str, Run]
) -> list[RankedList] | None:
    """What each query got, row by row: from the run of that name, else what the evaluation keeps.

    Raises:
        UsageError: the gold set or the run is not the one that was evaluated.
    """
    if dataset is not None and evaluation.name in runs:
        return lists_of_run(evaluation, dataset, runs[evaluation.name])
    if evaluation.evidence is None:
        return None
    n_docs = evaluation.table.n_docs.tolist()
    return [
        replace(ranked, docs=ranked.docs[:n])
        for ranked, n in zip(evaluation.evidence.lists, n_docs, strict=True)
    ]


def lists_of_run(evaluation: Evaluation, dataset: GoldDataset, run: Run) -> list[RankedList]:
    """What each query got in a run, in the evaluation's order of queries and documents.

    Raises:
        UsageError: the gold set or the run is not the one that was evaluated.
    """
    lists: list[RankedList] = []
    for query_id, n in zip(evaluation.query_ids, evaluation.table.n_docs.tolist(), strict=True):
        if query_id not in dataset:
            raise UsageError(
                "dataset: {name!r} has no query {query_id!r}, which {name_2!r} "
                "was evaluated on; pass the gold set of the evaluation",
                name=dataset.name,
                query_id=query_id,
                name_2=evaluation.name,
            )
        answer = run.results.get(query_id)
        ranked = match_item(dataset[query_id], answer, evaluation.profile, evaluation.basis)
        if len(ranked.docs) < n:
            raise UsageError(
                "run {name!r}: query {query_id!r} has {n_docs} documents, and "
                "{name_2!r} was evaluated on {n}; pass the run of the evaluation",
                name=run.name,
                query_id=query_id,
                n_docs=len(ranked.docs),
                name_2=evaluation.name,
                n=n,
            )
        # A pool is cut at its depth, so a table may hold less than was retrieved.
        lists.append(replace(ranked, docs=ranked.docs[:n]))
    return lists


def budget_ranks(evaluation: Evaluation) -> dict[str, Ints]:
    """For each metric with a budget, the rank (q) at which each list is cut.

    A metric sees the documents that fit whole; one that reads text token by token, also the
    document in which the budget ends. Nothing where the evaluation did not keep its texts.
    """
    evidence = evaluation.evidence
    if evidence is None:
        return {}
    return {
        str(spec): evidence.sizes.depths(evidence.lists, spec.k, begun=spec.metric.cuts_budgets)
        for spec in evaluation.specs
        if isinstance(spec.k, TextBudget)
    }


@dataclass(frozen=True)
class GoldOutcome:
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


def gold_outcome(evaluation: Evaluation) -> GoldOutcome:
    """First ranks and highest scores of the gold items of an evaluation."""
    table, rel = evaluation.table, evaluation.profile.rel
    gold, score = table.pair_gold, table.pair_score
    ranks = table.pair_doc - table.doc_start[table.gold_query[gold]] + 1

    def first_rank(pairs: Bools) -> Ints:
        """(g) the first rank of each gold item in some pairs; 0 for one that is in none."""
        first = np.zeros(len(table.grade), np.int64)
        # Pairs stand in the order of documents: the first of a gold item is written last.
        first[gold[pairs][::-1]] = ranks[pairs][::-1]
        return first

    best = np.zeros(len(table.grade))
    np.fmax.at(best, gold, score)  # fmax: a score that is not known is less than any
    first, best_rank = first_rank(table.matched), first_rank(score == best[gold])
    unknown = np.isin(np.arange(len(best)), gold[np.isnan(score)]) & (first == 0)
    relevant = (table.grade > 0) & (table.grade >= (0.0 if rel is None else rel))
    return GoldOutcome(relevant, first, best, best_rank, unknown)


def missed_rows(evaluation: Evaluation) -> list[int]:
    """The rows without any match, nor one that may yet be known."""
    table, outcome = evaluation.table, gold_outcome(evaluation)
    hits = table.gold_query[outcome.relevant & ((outcome.first > 0) | outcome.unknown)]
    rows: list[int] = np.setdiff1d(np.arange(table.n_queries), hits).tolist()
    return rows


def pool_gold(of_match: Sequence[tuple[Evaluation, Sequence[RankedList]]]) -> list[list[Gold]]:
    """The gold of a pool, row by row: each pooled text with the judge's grade.

    Evaluations of one pool share its documents; each retriever found some of them, so that
    together they have the text of every one.
    """
    table = of_match[0][0].table
    golds = [Gold(text="")] * len(table.grade)
    # The first retriever that found a document has the word: it is written last.
    for evaluation, lists in reversed(of_match):
        docs, found = [doc for ranked in lists for doc in ranked.docs], evaluation.table
        # A gold item's grade is a number; 0 stands where the judge gave none.
        grades = np.nan_to_num(found.grade).tolist()
        pairs = zip(found.pair_doc.tolist(), found.pair_gold.tolist())
        for position, number in reversed([*pairs]):
            doc, grade = docs[position], grades[number]
            golds[number] = Gold(id=doc.id, text=doc.text, grade=grade)
    return [golds[first:last] for first, last in pairwise(table.gold_start.tolist())]


def texts_by_id(docs: Iterable[Doc], corpus: Mapping[str, str | Doc]) -> dict[str, str]:
    """The texts of ids, for gold named by its id alone: a corpus's, then what was retrieved."""
    texts = [(id_, doc.text if isinstance(doc, Doc) else doc) for id_, doc in corpus.items()]
    texts += [(doc.id, doc.text) for doc in docs if doc.id is not None]
    # The first text of an id has the word: it is written last.
    return {id_: text for id_, text in reversed(texts) if text is not None}
