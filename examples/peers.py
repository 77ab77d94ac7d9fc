"""The same seven questions to several tools: ``python examples/peers.py``.

Average precision and nDCG at 4, where the right value is beyond dispute. Tools that compare texts
are given the texts. Tools that go by ids are given what their users have after the corpus was
chunked anew: for a chunk that contains a gold passage a new id, and, for three such chunks, the
gold's id three times, where the tool admits that.

A tool that is not installed is left out. ragas, AutoRAG and K-RAG each need an environment of their
own, without kragx: run this file with the Python of each.
"""

from __future__ import annotations

import asyncio
import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

os.environ.setdefault("RAGAS_DO_NOT_TRACK", "true")
os.environ.setdefault("MPLBACKEND", "Agg")

GOLD = (
    "opened software can be returned within 14 days if the key is still covered",
    "a refund is paid to the account that the order was paid from",
    "parcels abroad are insured up to 500 euros without extra cost",
    "a repair under warranty takes at most three weeks, else the goods are replaced",
)
LONGER = (
    f"Returns: {GOLD[0]}. Clothes can be returned within 30 days if they were not worn. Food "
    "cannot be returned. Send the parcel to the address on the slip; we pay the postage. Gift "
    "cards do not expire, and shipping is free above 30 euros."
)
THREE = tuple(f"{start}: {GOLD[0]}." for start in ("Returns", "Software", "Keys"))
OTHERS = ("Gift cards can be returned unused.", "Shops open at nine.", "Shoes run small this year.")
KOREAN = "개봉한 소프트웨어는 반품할 수 없습니다"
WITHIN_30_DAYS = "반품은 30일 안에 신청하세요"
ABOVE_30_EUROS = "주문 금액이 30유로를 넘으면 배송비가 없습니다"


@dataclass(frozen=True)
class Case:
    """What was found for one question, as texts and as ids.

    Attributes:
        right: average precision and nDCG, both.
    """

    name: str
    gold: tuple[str, ...]
    found: tuple[str, ...]
    gold_ids: tuple[str, ...]
    found_ids: tuple[str, ...]
    right: tuple[float, float]


CASES = (
    Case("longer", GOLD[:1], (LONGER,), ("g1",), ("n1",), (1.0, 1.0)),
    Case("three", GOLD[:1], THREE, ("g1",), ("g1", "g1", "g1"), (1.0, 1.0)),
    Case("none", GOLD[:1], OTHERS, ("g1",), ("n1", "n2", "n3"), (0.0, 0.0)),
    Case(
        *("one of four", GOLD, (GOLD[0], *OTHERS)),
        *(("g1", "g2", "g3", "g4"), ("g1", "n1", "n2", "n3"), (1 / 4, 0.3903800)),
    ),
    Case("both of two", GOLD[:2], GOLD[:2], ("g1", "g2"), ("g1", "g2"), (1.0, 1.0)),
    Case("same Korean", (KOREAN,), (KOREAN,), ("g1",), ("n1",), (1.0, 1.0)),
    Case("share 30", (WITHIN_30_DAYS,), (ABOVE_30_EUROS,), ("g1",), ("n1",), (0.0, 0.0)),
)

Values = tuple[float | None, float | None]
"""Average precision and nDCG; None where the tool has no such metric or cannot take the case."""


def by_kragx(case: Case) -> Values:
    """From the texts, with kragx's default matcher."""
    from kragx import evaluate  # noqa: PLC0415

    mean = evaluate([list(case.gold)], [list(case.found)], metrics=["map@4", "ndcg@4"]).mean
    return mean["map@4"], mean["ndcg@4"]


def by_krag_text(case: Case) -> Values:
    """K-RAG, which looks for gold texts in documents."""
    import krag.evaluators as krag  # noqa: PLC0415

    return _by_krag(case, krag.OfflineRetrievalEvaluators)


def by_krag_rouge(case: Case) -> Values:
    """K-RAG, ROUGE-2 with its threshold."""
    import krag.evaluators as krag  # noqa: PLC0415

    by_rouge = partial(krag.RougeOfflineRetrievalEvaluators, match_method="rouge2")
    return _by_krag(case, by_rouge)


def _by_krag(case: Case, evaluator: Callable[..., Any]) -> Values:
    from krag.document import KragDocument  # noqa: PLC0415

    docs = [
        [[KragDocument(page_content=text) for text in side]] for side in (case.gold, case.found)
    ]
    made = evaluator(*docs)
    return made.calculate_map(4)["map"], made.calculate_ndcg(4)["ndcg"]


def by_ragas(case: Case) -> Values:
    """ragas, texts: Levenshtein's distance of the whole texts, the default."""
    from ragas.metrics import NonLLMContextPrecisionWithReference  # noqa: PLC0415

    return _by_ragas(case, NonLLMContextPrecisionWithReference())


def by_ragas_rouge(case: Case) -> Values:
    """ragas, texts: its ROUGE score in the place of the distance."""
    from ragas.metrics import NonLLMContextPrecisionWithReference, RougeScore  # noqa: PLC0415

    return _by_ragas(case, NonLLMContextPrecisionWithReference(distance_measure=RougeScore()))


def _by_ragas(case: Case, metric: Any) -> Values:
    from ragas import SingleTurnSample  # noqa: PLC0415

    texts = {"retrieved_contexts": list(case.found), "reference_contexts": list(case.gold)}
    ap = asyncio.run(metric.single_turn_ascore(SingleTurnSample(**texts)))
    return float(ap), None


def by_autorag(case: Case) -> Values:
    """AutoRAG, from ids."""
    from autorag.evaluation.metric import retrieval_map, retrieval_ndcg  # noqa: PLC0415
    from autorag.schema.metricinput import MetricInput  # noqa: PLC0415

    given = MetricInput(
        retrieval_gt=[[gold] for gold in case.gold_ids], retrieved_ids=list(case.found_ids)
    )
    return retrieval_map([given])[0], retrieval_ndcg([given])[0]


def by_llama_index(case: Case) -> Values:
    """LlamaIndex, from ids."""
    from llama_index.core.evaluation.retrieval.metrics import NDCG, AveragePrecision  # noqa: PLC0415

    ids = {"expected_ids": list(case.gold_ids), "retrieved_ids": list(case.found_ids)}
    return AveragePrecision().compute(**ids).score, NDCG().compute(**ids).score


def by_haystack(case: Case) -> Values:
    """Haystack, from texts, which have to be equal."""
    from haystack import Document  # noqa: PLC0415
    from haystack.components.evaluators import (  # noqa: PLC0415
        DocumentMAPEvaluator,
        DocumentNDCGEvaluator,
    )

    given = {
        "ground_truth_documents": [[Document(content=text) for text in case.gold]],
        "retrieved_documents": [[Document(content=text) for text in case.found]],
    }
    ap, ndcg = (tool.run(**given) for tool in (DocumentMAPEvaluator(), DocumentNDCGEvaluator()))
    return ap["score"], ndcg["score"]


def by_ranx(case: Case) -> Values:
    """ranx, from ids; a document stands in a run once."""
    from ranx import Qrels, Run, evaluate  # noqa: PLC0415

    if (run := _scored(case)) is None:
        return None, None
    qrels = Qrels({"q": dict.fromkeys(case.gold_ids, 1)})
    values = evaluate(qrels, Run({"q": run}), ["map@4", "ndcg@4"])
    return float(values["map@4"]), float(values["ndcg@4"])


def by_ir_measures(case: Case) -> Values:
    """ir_measures, from ids; a document stands in a run once."""
    from ir_measures import AP, calc_aggregate, nDCG  # noqa: PLC0415

    if (run := _scored(case)) is None:
        return None, None
    qrels = {"q": dict.fromkeys(case.gold_ids, 1)}
    values = calc_aggregate([AP @ 4, nDCG @ 4], qrels, {"q": run})
    return values[AP @ 4], values[nDCG @ 4]


def _scored(case: Case) -> dict[str, float] | None:
    """The ids with scores that keep their order, or None where one stands there twice."""
    if len(set(case.found_ids)) < len(case.found_ids):
        return None
    return {id_: float(-rank) for rank, id_ in enumerate(case.found_ids)}


TOOLS: Mapping[str, tuple[str, str, Callable[[Case], Values]]] = {
    "kragx": ("kragx", "kragx", by_kragx),
    "K-RAG text": ("krag", "krag", by_krag_text),
    "K-RAG rouge2": ("krag", "krag", by_krag_rouge),
    "ragas Levenshtein": ("ragas", "ragas", by_ragas),
    "ragas ROUGE-L": ("ragas", "ragas", by_ragas_rouge),
    "AutoRAG": ("AutoRAG", "autorag", by_autorag),
    "LlamaIndex": ("llama-index-core", "llama_index", by_llama_index),
    "Haystack": ("haystack-ai", "haystack", by_haystack),
    "ranx": ("ranx", "ranx", by_ranx),
    "ir_measures": ("ir-measures", "ir_measures", by_ir_measures),
}
"""By what is compared: each tool's package, its module, and how it is asked."""


def rows(values: Mapping[str, Mapping[str, Values]], which: int) -> Iterator[str]:
    """The lines of one table: average precision (0) or nDCG (1); `*` marks what is not right."""
    for tool, of_case in values.items():
        if all(value[which] is None for value in of_case.values()):
            continue
        cells = [shown(of_case[case.name][which], case.right[which]) for case in CASES]
        yield f"| {tool}, {version(TOOLS[tool][0])} | {' | '.join(cells)} |"


def shown(value: float | None, right: float) -> str:
    """A value, with `*` where it is not the right one."""
    if value is None:
        return "-"
    return f"{value:.2f}{'' if abs(value - right) < 1e-4 else ' *'}"


def main() -> dict[str, dict[str, Values]]:
    """Print and return what each tool that is installed says of each case."""
    warnings.simplefilter("ignore", DeprecationWarning)
    values = {
        tool: {case.name: ask(case) for case in CASES}
        for tool, (_, module, ask) in TOOLS.items()
        if find_spec(module)
    }
    for which, title in enumerate(("average precision at 4", "nDCG at 4")):
        if lines := list(rows(values, which)):
            print(f"| {title} | {' | '.join(case.name for case in CASES)} |", *lines, "", sep="\n")
    return values


if __name__ == "__main__":
    main()
