"""ROUGE of whole corpora, beside rouge-score and beside merely tokenising each text once."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from rouge_score.rouge_scorer import RougeScorer

from kragx.data.tokenizers import Tokenizer, UnicodeTokenizer
from kragx.data.tokens import TokenCorpus
from kragx.matchers import RougeMatcher
from kragx.matchers.base import Diagnostics
from kragx.matchers.overlap import OverlapMatcher

from .support import sides, take, turns
from .workloads import SIZE, Language, TextWorkload, texts

LANGUAGES: tuple[Language, ...] = ("english", "korean")


def matrices(workload: TextWorkload, *methods: str) -> Iterator[list[np.ndarray]]:
    """For each method the scores of every query; the matchers share one corpus."""
    corpora: dict[Tokenizer, TokenCorpus] = {}
    for method in methods:
        matcher = RougeMatcher(method).sharing(corpora)
        yield list(matcher.scores(workload.items, Diagnostics()))


def by_rouge_score(workload: TextWorkload, *methods: str) -> list[list[list[dict[str, float]]]]:
    """For each query, document and gold text the F of each method, by rouge-score."""
    scorer = RougeScorer(list(methods))
    return [
        [
            [
                {name: score.fmeasure for name, score in scorer.score(gold, doc).items()}
                for gold in golds
            ]
            for doc in docs
        ]
        for golds, docs in zip(workload.gold, workload.docs)
    ]


def tokenise(workload: TextWorkload) -> None:
    """Each distinct text once, and the tokens forgotten."""
    for _ in UnicodeTokenizer().tokens(workload.distinct):
        pass


def tokenise_by_pattern(workload: TextWorkload) -> None:
    """The same by one regular expression, as the bar of 2.5 was set; kragx's own is faster."""
    find = re.compile(r"[^\W_]+").findall
    for text in workload.distinct:
        find(unicodedata.normalize("NFC", text).lower())


def measure(benchmark: Any, group: str, side: str, *methods: str) -> None:
    """Measure one side; rouge-score gets a part of the queries, and its time is scaled up."""
    workload = texts(SIZE.rouge_queries)
    workload.items, workload.distinct  # noqa: B018  # made before the clock starts
    part = texts(SIZE.rouge_peer_queries)
    if side == "kragx":
        take(benchmark, group, lambda: list(matrices(workload, *methods)))
    elif side == "floor":
        take(benchmark, group, lambda: tokenise(workload))
    elif side == "floor-pattern":
        take(benchmark, group, lambda: tokenise_by_pattern(workload))
    else:
        benchmark.extra_info["scale"] = SIZE.rouge_queries / SIZE.rouge_peer_queries
        take(benchmark, group, lambda: by_rouge_score(part, *methods), rounds=1)


@sides("kragx", "peer-rouge-score", "floor", "floor-pattern")
@turns
def test_rouge_1_and_2(benchmark: Any, side: str, turn: int) -> None:
    """ROUGE-1 and ROUGE-2 of the same texts, all distinct."""
    measure(benchmark, "rouge-1-2", side, "rouge1", "rouge2")


@sides("kragx", "peer-rouge-score", "floor", "floor-pattern")
@turns
def test_rouge_l(benchmark: Any, side: str, turn: int) -> None:
    """ROUGE-L of texts that are all distinct."""
    measure(benchmark, "rouge-l", side, "rougeL")


@pytest.mark.parametrize("language", LANGUAGES)
@sides("kragx", "floor-pattern")
@turns
def test_tokens(benchmark: Any, side: str, language: Language, turn: int) -> None:
    """The words of each distinct text."""
    workload = texts(SIZE.rouge_queries, language=language)
    workload.distinct  # noqa: B018  # made before the clock starts
    work = tokenise if side == "kragx" else tokenise_by_pattern
    take(benchmark, f"tokens-{language}", lambda: work(workload))


@pytest.mark.parametrize("language", LANGUAGES)
@sides("kragx", "floor-rouge2")
@turns
def test_default(benchmark: Any, side: str, language: Language, turn: int) -> None:
    """The default matcher: markup left out, short gold, broken texts and templates looked for."""
    workload = texts(SIZE.rouge_queries, language=language)
    workload.items  # noqa: B018  # made before the clock starts

    def scores() -> None:
        bare = RougeMatcher("rouge2", measure="overlap")
        matcher = OverlapMatcher() if side == "kragx" else bare
        for _ in matcher.scores(workload.items, Diagnostics()):
            pass

    take(benchmark, f"default-{language}", scores)


@pytest.mark.integration
def test_sharing_a_corpus_changes_nothing() -> None:
    """ROUGE-1 and ROUGE-2 from one shared corpus equal those from a corpus each."""
    workload = texts(4)
    for method, together in zip(
        ("rouge1", "rouge2"), matrices(workload, "rouge1", "rouge2"), strict=True
    ):
        (alone,) = matrices(workload, method)
        assert all(np.array_equal(*pair) for pair in zip(alone, together, strict=True))


@pytest.mark.integration
@pytest.mark.parametrize("method", ["rouge1", "rouge2", "rougeL"])
def test_scores_equal_rouge_score(method: str) -> None:
    """Every score of the benchmark's texts equals rouge-score's, to the last bit."""
    workload = texts(4)
    expected = by_rouge_score(workload, method)
    (found,) = matrices(workload, method)
    for scores, rows in zip(found, expected, strict=True):
        assert scores.tolist() == [[pair[method] for pair in row] for row in rows]
    every = np.concatenate(found)
    assert every.min() < 0.5 < every.max()


@pytest.mark.integration
def test_texts_are_distinct() -> None:
    """No text of the workload stands twice, so nothing is saved by interning."""
    workload = texts(SIZE.rouge_peer_queries)
    assert len(workload.distinct) == SIZE.rouge_peer_queries * 13
