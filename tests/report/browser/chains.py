"""A report on chains of several stages, which lose gold at random."""

from __future__ import annotations

import random
from pathlib import Path

from kragx import Doc, GoldDataset, Run, evaluate
from kragx.data import Retrieved, Stage
from kragx.evaluation.stage_losses import has_stages, stage_losses
from kragx.report.html_page.page import write_html

NAMES = ("bm25+재순위화", "dense-only-retriever-with-a-long-name", "hybrid")
IDS = [f"문서{number:03}" for number in range(60)]


def write_chains(path: Path, n_retrievers: int, n_stages: int) -> None:
    """Write the report: 30 questions, each with two gold items."""
    drawn = random.Random(3)
    gold = {f"q{n:02}": [{"id": IDS[n]}, {"id": IDS[n + 20]}] for n in range(30)}
    texts = [f"{n}번 질문: 환불 규정은 무엇인가요?" for n in range(30)]
    dataset = GoldDataset.from_documents(gold, queries=texts)
    runs = {}
    for number in range(n_retrievers):
        name = f"{NAMES[number % 3]}{'' if number < 3 else f' {number}'}"
        answers = {
            query_id: answer(drawn, [item["id"] for item in items], n_stages)
            for query_id, items in gold.items()
        }
        runs[name] = Run(answers, name=name)
    evaluations = [
        evaluate(dataset, run, match="id", metrics=["recall@5"]) for run in runs.values()
    ]
    losses = [
        stage_losses(dataset, run, match="id", k=5) for run in runs.values() if has_stages(run)
    ]
    write_html(evaluations, path, dataset=dataset, runs=runs, losses=losses)


def answer(drawn: random.Random, gold: list[str], n_stages: int) -> Retrieved:
    """Two searches and their fusion, then by turns a reranker and a filter."""

    def found(share: float) -> list[str]:
        others = drawn.sample(IDS, 12)
        for item in gold:
            if drawn.random() < share and item not in others:
                others.insert(drawn.randrange(8), item)
        return others

    lists = [found(0.7)]
    stages = [Stage("bm25", (), docs(lists[0]), 0.004)]
    if n_stages > 2:
        lists.append(found(0.5))
        stages.append(Stage("dense/VectorStoreRetriever", (), docs(lists[1]), 0.03))
        fused = [item for pair in zip(*lists) for item in pair]
        lists.append(list(dict.fromkeys(fused))[:12])
        members = tuple(stage.name for stage in stages)
        stages.append(Stage("EnsembleRetriever", members, docs(lists[2]), 0.035))
    while len(stages) < n_stages:
        last, before = lists[-1], stages[-1].name
        if len(stages) % 2:
            name, kept = f"rerank {len(stages)}", drawn.sample(last, len(last))
        else:
            name, kept = f"Filter {len(stages)}", [one for one in last if drawn.random() < 0.9]
        lists.append(kept)
        stages.append(Stage(name, (before,), docs(kept), 0.1))
    return Retrieved(docs(lists[-1][:8] if n_stages > 1 else lists[-1]), 0.2, stages=tuple(stages))


def docs(ids: list[str]) -> tuple[Doc, ...]:
    """A document for each id."""
    return tuple(map(Doc, ids))
