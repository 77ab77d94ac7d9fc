"""A whole evaluation with K-RAG's interface: seven metrics at 10 by ROUGE-2 of 120-word texts."""

from __future__ import annotations

import json
import warnings
from functools import cache
from typing import Any

import pytest
from nltk.stem.porter import PorterStemmer

from kragx.data.tokenizers import KiwiTokenizer, KragTokenizer, WhitespaceTokenizer
from kragx.krag.evaluators import RougeOfflineRetrievalEvaluators

from . import krag_side
from .support import once, sides, take, turns
from .workloads import SIZE, TextWorkload, texts

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
