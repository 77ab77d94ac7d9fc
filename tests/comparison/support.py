"""Evaluations with values that a test chooses."""

from __future__ import annotations

from dataclasses import replace

from kragx import Doc, Gold, GoldDataset, Query, Retrieved, Run, evaluate

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


OTHERS = tuple(Doc(f"other{at}", f"text {at}") for at in range(10))


def evaluation(dataset, name, rank, *, metrics=METRICS, match="id", seconds=None, **options):
    """An evaluation in which query i finds its gold at rank ``rank(i)``, or not for None."""
    results = {}
    queries = [*dataset]
    for i, query in enumerate(queries):
        docs = [*OTHERS]
        if rank(i) is not None:
            docs.insert(rank(i) - 1, Doc(query.gold[0].id, "gold"))
        elif queries[i - 1].gold and len(queries) > 1:  # of the same corpus, and wrong
            docs[-1] = replace(docs[-1], id=queries[i - 1].gold[0].id)
        results[query.id] = Retrieved(tuple(docs), None if seconds is None else seconds(i))
    run = Run(results, name=name)
    return evaluate(dataset, run, match=match, metrics=list(metrics), **options)
