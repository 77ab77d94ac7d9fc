"""Evaluations with values that a test chooses."""

from __future__ import annotations

from dataclasses import replace

from kragx import Gold, GoldDataset, Query, Run, evaluate

METRICS = ("mrr@10", "recall@10")


def gold_set(n, **fields):
    """A gold set of n queries with one gold item each; `fields` are functions of the number."""
    own = {name: fields.pop(name) for name in ("query_type", "answerable") if name in fields}
    return GoldDataset(
        tuple(
            Query(
                id=f"q{i}",
                text=f"question {i}",
                gold=(Gold(id=f"g{i}"),),
                metadata={name: value(i) for name, value in fields.items() if value(i) is not ...},
                **{name: value(i) for name, value in own.items()},
            )
            for i in range(n)
        )
    )


def evaluation(dataset, name, rank, *, metrics=METRICS, match="id", seconds=None, **options):
    """An evaluation in which query i finds its gold at rank ``rank(i)``, or not for None."""
    lists = {}
    queries = [*dataset]
    for i, query in enumerate(queries):
        docs = [{"id": f"other{at}", "text": f"text {at}"} for at in range(10)]
        if rank(i) is not None:
            docs.insert(rank(i) - 1, {"id": query.gold[0].id, "text": "gold"})
        elif queries[i - 1].gold and len(queries) > 1:  # of the same corpus, and wrong
            docs[-1]["id"] = queries[i - 1].gold[0].id
        lists[query.id] = docs
    run = replace(Run.from_documents(lists), name=name)
    if seconds is not None:
        results = {
            query_id: replace(found, seconds=seconds(i))
            for i, (query_id, found) in enumerate(run.results.items())
        }
        run = replace(run, results=results)
    return evaluate(dataset, run, match=match, metrics=list(metrics), **options)
