"""The same computation by several tools, timed: ``python examples/peers_speed.py``.

Two workloads, drawn with a fixed seed: precision, recall, MRR, MAP and nDCG of 2,000 questions
from 20 ids each; and the average precision of 100 questions from 10 texts of 60 words each, by
ROUGE-L with stems. The mean average precision stands beside the time: it is the same from every
tool, so the same was computed. As in ``peers.py``, run this with each tool's Python.
"""

from __future__ import annotations

import asyncio
import os
import random
import warnings
from collections.abc import Callable, Mapping
from importlib.metadata import version
from importlib.util import find_spec
from statistics import fmean
from time import process_time

os.environ.setdefault("RAGAS_DO_NOT_TRACK", "true")

Lists = list[list[str]]
ROUNDS = 3
"""The least processor time counts: the machine does other things, too."""


def ids(questions: int = 2_000, depth: int = 20) -> tuple[Lists, Lists]:
    """One gold id a question, which stands at one of the ranks or, as often as at any, nowhere."""
    draw = random.Random(0)
    gold = [[f"gold-{number}"] for number in range(questions)]
    found = [[f"doc-{number}-{rank}" for rank in range(depth)] for number in range(questions)]
    for wanted, ranked in zip(gold, found, strict=True):
        if (rank := draw.randrange(depth + 1)) < depth:
            ranked[rank] = wanted[0]
    return gold, found


def texts(questions: int = 100, depth: int = 10, length: int = 60) -> tuple[Lists, Lists]:
    """One gold text a question; one of the texts found is the gold with a third of it replaced."""
    draw = random.Random(0)
    words = ["".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=6)) for _ in range(5_000)]
    gold = [draw.choices(words, k=length) for _ in range(questions)]
    found = [[draw.choices(words, k=length) for _ in range(depth)] for _ in range(questions)]
    for wanted, ranked in zip(gold, found, strict=True):
        rest = length * 2 // 3
        ranked[draw.randrange(depth)] = wanted[:rest] + draw.choices(words, k=length - rest)
    return [[" ".join(one)] for one in gold], [[" ".join(one) for one in many] for many in found]


def ids_by_kragx(gold: Lists, found: Lists) -> float:
    """Precision, recall, MRR, MAP, nDCG, from qrels and a run; returned is MAP, here and below."""
    from kragx import evaluate  # noqa: PLC0415

    qrels = {f"q{n}": dict.fromkeys(wanted, 1.0) for n, wanted in enumerate(gold)}
    run = {
        f"q{n}": {one: float(-rank) for rank, one in enumerate(ranked)}
        for n, ranked in enumerate(found)
    }
    names = [f"{name}@20" for name in ("precision", "recall", "mrr", "map", "ndcg")]
    return evaluate(qrels, run, match="id", metrics=names)["map@20"] or 0.0


def ids_by_autorag(gold: Lists, found: Lists) -> float:
    """Its five functions, one after the other."""
    from autorag.evaluation import metric  # noqa: PLC0415
    from autorag.schema.metricinput import MetricInput  # noqa: PLC0415

    given = [
        MetricInput(retrieval_gt=[wanted], retrieved_ids=ranked)
        for wanted, ranked in zip(gold, found, strict=True)
    ]
    for name in ("precision", "recall", "mrr", "ndcg"):
        getattr(metric, f"retrieval_{name}")(given)
    return fmean(metric.retrieval_map(given))


def ids_by_llama_index(gold: Lists, found: Lists) -> float:
    """Its five classes, question by question."""
    from llama_index.core.evaluation.retrieval.metrics import (  # noqa: PLC0415
        MRR,
        NDCG,
        AveragePrecision,
        Precision,
        Recall,
    )

    others, ap = [metric() for metric in (MRR, NDCG, Precision, Recall)], AveragePrecision()
    values = []
    for wanted, ranked in zip(gold, found, strict=True):
        for metric in others:
            metric.compute(expected_ids=wanted, retrieved_ids=ranked)
        values.append(ap.compute(expected_ids=wanted, retrieved_ids=ranked).score)
    return fmean(values)


def texts_by_kragx(gold: Lists, found: Lists) -> float:
    """ROUGE-L F of .5 or more is a match."""
    from kragx import evaluate  # noqa: PLC0415

    tokenizer = {"name": "rouge", "stemmer": True}
    match = {"method": "rougeL", "threshold": 0.5, "tokenizer": tokenizer}
    return evaluate(gold, found, match=match, metrics=["map@10"])["map@10"] or 0.0


def texts_by_ragas(gold: Lists, found: Lists) -> float:
    """Context precision by its ROUGE score, question by question."""
    from ragas import SingleTurnSample  # noqa: PLC0415
    from ragas.metrics import NonLLMContextPrecisionWithReference, RougeScore  # noqa: PLC0415

    metric = NonLLMContextPrecisionWithReference(distance_measure=RougeScore())

    async def values() -> list[float]:
        return [
            await metric.single_turn_ascore(
                SingleTurnSample(retrieved_contexts=ranked, reference_contexts=wanted)
            )
            for wanted, ranked in zip(gold, found, strict=True)
        ]

    return fmean(asyncio.run(values()))


Asked = Callable[[Lists, Lists], float]
WORK: Mapping[str, tuple[Callable[[], tuple[Lists, Lists]], Mapping[str, tuple[str, Asked]]]] = {
    "five metrics, ids": (
        ids,
        {
            "kragx": ("kragx", ids_by_kragx),
            "AutoRAG": ("autorag", ids_by_autorag),
            "llama-index-core": ("llama_index", ids_by_llama_index),
        },
    ),
    "ROUGE-L, texts": (
        texts,
        {"kragx": ("kragx", texts_by_kragx), "ragas": ("ragas", texts_by_ragas)},
    ),
}
"""Each workload, and by package the module and function that do it."""


def main() -> dict[str, list[float]]:
    """Print each installed tool's least processor time; return what was computed, by workload."""
    warnings.simplefilter("ignore", DeprecationWarning)
    computed = {}
    for work, (made, tools) in WORK.items():
        lists = made()
        for package, (module, asked) in tools.items():
            if not find_spec(module):
                continue
            times = []
            for _ in range(ROUNDS):
                start = process_time()
                value = asked(*lists)
                times.append(process_time() - start)
            computed.setdefault(work, []).append(value)
            print(f"{work:18} {package} {version(package)}: {min(times):.3f} s, MAP {value:.6f}")
    return computed


if __name__ == "__main__":
    main()
