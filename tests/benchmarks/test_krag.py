"""A whole evaluation with K-RAG's interface: seven metrics at 10 by ROUGE-2 of 120-word texts."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from nltk.stem.porter import PorterStemmer
from rouge_score.rouge_scorer import RougeScorer

from kragx import RAGEvaluator
from kragx.adapters.krag.evaluators import RougeOfflineRetrievalEvaluators
from kragx.data.tokenizers import (
    KiwiTokenizer,
    KragTokenizer,
    UnicodeTokenizer,
    WhitespaceTokenizer,
)

from . import krag_side
from .support import once, sides, take, turns
from .workloads import SIZE, TextWorkload, langchain, texts

TINY = 1e-12


def evaluation(workload: TextWorkload, profile: str, tokenizer: Any, method: str = "rouge2") -> Any:
    """All seven metrics at 10; nothing is kept from an earlier call but Kiwi's model."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # under profile krag MAP can exceed 1, which warns
        return RougeOfflineRetrievalEvaluators(
            workload.gold, workload.docs, method, tokenizer=tokenizer, profile=profile
        ).evaluate_all(10)


@cache
def kiwi() -> KiwiTokenizer:
    """One Kiwi for all, its model loaded."""
    pytest.importorskip("kiwipiepy", reason="kiwipiepy is not installed (extra korean)")
    loaded = KiwiTokenizer()
    list(loaded.tokens(["안녕하세요"]))
    return loaded


@cache
def krag_kiwi() -> KragTokenizer:
    """K-RAG's tokens by Kiwi, its model loaded."""
    loaded = KragTokenizer("kiwi")
    list(loaded.tokens(["안녕하세요"]))
    return loaded


def measure(benchmark: Any, group: str, workload: TextWorkload, tokenizer: str) -> None:
    """Measure K-RAG, which times itself."""
    if krag_side.PYTHON is None:
        pytest.skip(krag_side.WHY_NOT)
    answer = take(benchmark, group, lambda: krag_side.ask(workload, "rouge2", tokenizer), rounds=1)
    benchmark.extra_info.update(seconds=answer["seconds"], krag=answer["version"])


def stem(workload: TextWorkload) -> None:
    """Each text split and each distinct word stemmed, once."""
    words = {word for text in workload.distinct for word in text.lower().split()}
    stemmer = PorterStemmer()
    for word in words:
        if len(word) > 3:
            stemmer.stem(word)


PEER_QUERIES = 60
"""Of the LangChain documents so many lists are rouge-score's; its time is scaled up."""


def by_rouge_score(method: str, n_queries: int) -> list[float]:
    """The F of every document and the gold of its query, by rouge-score."""
    gold, docs = langchain()
    scorer = RougeScorer([method])
    return [
        scorer.score(own.page_content, doc.page_content)[method].fmeasure
        for (own,), of_query in zip(gold[:n_queries], docs)
        for doc in of_query
    ]


@sides("kragx", "floor")
@turns
def test_evaluate_all_by_default(benchmark: Any, side: str, turn: int) -> None:
    """The same by the default match, which tells siblings apart; the floor tokenises."""
    gold, docs = langchain()
    distinct = [*dict.fromkeys(doc.page_content for own in docs for doc in own)]
    work: dict[str, Callable[[], object]] = {
        "kragx": lambda: RAGEvaluator(match_method="overlap").evaluate_all(gold, docs),
        "floor": lambda: [*UnicodeTokenizer().tokens(distinct)],
    }
    take(benchmark, "evaluate-all-overlap", work[side])


@pytest.mark.parametrize("method", ["rouge2", "rougeL"])
@sides("kragx", "floor", "peer-rouge-score")
@turns
def test_evaluate_all(benchmark: Any, side: str, method: str, turn: int) -> None:
    """`RAGEvaluator.evaluate_all` on LangChain documents that come back for many queries."""
    gold, docs = langchain()
    distinct = [*dict.fromkeys(doc.page_content for own in docs for doc in own)]
    work: dict[str, Callable[[], object]] = {
        "kragx": lambda: RAGEvaluator(match_method=method).evaluate_all(gold, docs),
        "floor": lambda: [*UnicodeTokenizer().tokens(distinct)],
        "peer-rouge-score": lambda: by_rouge_score(method, PEER_QUERIES),
    }
    is_peer = side.startswith("peer")
    if is_peer:
        benchmark.extra_info["scale"] = len(docs) / PEER_QUERIES
    take(benchmark, f"evaluate-all-{method}", work[side], **({"rounds": 1} if is_peer else {}))


@pytest.mark.parametrize("method", ["rouge2", "rougeL"])
def test_evaluate_all_is_rouge_score(method: str) -> None:
    """What is measured is what rouge-score says: each query's precision at 10 is its share."""
    gold, docs = (lists[:5] for lists in langchain())
    result = RAGEvaluator(match_method=method).evaluate_all(gold, docs)
    shares = np.mean([score >= 0.5 for score in by_rouge_score(method, 5)])
    assert result["precision"]["macro_precision"] == pytest.approx(shares)
    assert shares > 0


@sides("kragx", "kragx-as-krag", "floor", "floor-stems", "peer-krag")
@turns
def test_english(benchmark: Any, side: str, turn: int) -> None:
    """English, split at white space, in both profiles; K-RAG's own also stems every word.

    The floors split each text once, and split and stem it. K-RAG gets at most 1,000 pairs, so that
    its cache holds all of them (its best case).
    """
    workload = texts(SIZE.krag_queries, 2)
    if side == "peer-krag":
        measure(benchmark, "krag-english", workload, "whitespace")
        return
    work = {
        "kragx": lambda: evaluation(workload, "kragx", "whitespace"),
        "kragx-as-krag": lambda: evaluation(workload, "krag", KragTokenizer("whitespace")),
        "floor": lambda: list(WhitespaceTokenizer().tokens(workload.distinct)),
        "floor-stems": lambda: stem(workload),
    }
    take(benchmark, "krag-english", work[side], rounds=5)


@sides("kragx", "kragx-as-krag", "floor")
@turns
def test_korean(benchmark: Any, side: str, turn: int) -> None:
    """Korean by Kiwi, in both profiles; the floor is Kiwi itself on each distinct text once."""
    workload = texts(SIZE.kiwi_queries, 2, "korean")
    ours, theirs = kiwi(), krag_kiwi()
    work = {
        "kragx": lambda: evaluation(workload, "kragx", ours),
        "kragx-as-krag": lambda: evaluation(workload, "krag", theirs),
        "floor": lambda: [None for _ in ours.kiwi.tokenize(workload.distinct)],
    }
    take(benchmark, "krag-korean", work[side], rounds=1)


@sides("peer-krag")
@once
def test_korean_by_krag(benchmark: Any, side: str, turn: int) -> None:
    """The same by K-RAG with the Kiwi that it requires, an older one."""
    measure(benchmark, "krag-korean", texts(SIZE.kiwi_queries, 2, "korean"), "kiwi")


@pytest.mark.integration
@pytest.mark.parametrize("method", krag_side.METHODS)
def test_values_equal_those_of_krag(method: str) -> None:
    """Profile krag gives what the real K-RAG gave for texts of the benchmark."""
    recorded = json.loads(krag_side.RECORDED.read_text(encoding="utf-8"))
    assert recorded["version"] == "0.0.32"
    found = evaluation(
        krag_side.recorded_workload(), "krag", KragTokenizer("whitespace"), method=method
    )
    assert found.keys() == recorded["values"][method].keys()
    for name, values in recorded["values"][method].items():
        assert found[name] == pytest.approx(values, abs=TINY)


@pytest.mark.skipif(krag_side.PYTHON is None, reason=krag_side.WHY_NOT)
def test_the_recorded_values_are_krags() -> None:
    """K-RAG, asked again, says what was recorded."""
    recorded = json.loads(krag_side.RECORDED.read_text(encoding="utf-8"))
    answer = krag_side.ask(krag_side.recorded_workload(), "rouge2", "whitespace")
    assert answer["values"] == recorded["values"]["rouge2"]
