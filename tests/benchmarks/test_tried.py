"""What was tried and does not pay, so it is not in kragx; measured, so that this stays true."""

from __future__ import annotations

import os
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from itertools import chain, count
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from rapidfuzz.distance import LCSseq
from rapidfuzz.process import cdist

from kragx.data.tokenizers import UnicodeTokenizer
from kragx.matchers import Diagnostics, RougeMatcher

from .support import sides, take, turns
from .workloads import SIZE, TextWorkload, texts


def tokenise(part: list[str]) -> list[list[str]]:
    """The tokens of some texts."""
    return list(UnicodeTokenizer().tokens(part))


def in_processes(pool: ProcessPoolExecutor, all_texts: list[str]) -> list[list[str]]:
    """The same by as many processes as there are cores; a chunk of 256 texts at a time."""
    chunks = [all_texts[at : at + 256] for at in range(0, len(all_texts), 256)]
    return list(chain.from_iterable(pool.map(tokenise, chunks)))


@sides("kragx", "tried")
@turns
def test_processes_for_tokenising(benchmark: Any, side: str, turn: int) -> None:
    """Tokenising in processes, which are there already and idle, beside doing it here."""
    all_texts = texts(SIZE.rouge_queries).distinct
    if side == "kragx":
        take(benchmark, "tried-processes", lambda: tokenise(all_texts))
        return
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        in_processes(pool, all_texts[:512])
        take(benchmark, "tried-processes", lambda: in_processes(pool, all_texts))


Encoded = tuple[list[NDArray[np.int64]], list[NDArray[np.int64]]]
"""The token numbers of a query's documents and gold texts."""


def encoded(workload: TextWorkload) -> list[Encoded]:
    """Every text as numbers that stand for distinct tokens."""
    numbers: defaultdict[str, int] = defaultdict(count().__next__)

    def numbered(some: list[str]) -> list[NDArray[np.int64]]:
        return [np.array([numbers[token] for token in tokens]) for tokens in tokenise(some)]

    return [(numbered(docs), numbered(golds)) for docs, golds in zip(workload.docs, workload.gold)]


def subsequences(queries: list[Encoded]) -> list[np.ndarray]:
    """The longest common subsequence of every pair."""
    return [
        cdist(
            [_string(doc) for doc in docs],
            [_string(gold) for gold in golds],
            scorer=LCSseq.similarity,
            dtype=np.int64,
        )
        for docs, golds in queries
    ]


def bounds(queries: list[Encoded]) -> list[np.ndarray]:
    """For every pair a number that its longest common subsequence cannot exceed.

    It is what shared tokens allow, the cheapest bound that ever excludes a pair of equal length.
    """
    found = []
    for docs, golds in queries:
        size = 1 + max(int(each.max()) for each in (*docs, *golds))
        doc_counts = np.array([np.bincount(each, minlength=size) for each in docs])
        gold_counts = np.array([np.bincount(each, minlength=size) for each in golds])
        wanted = np.flatnonzero(gold_counts.any(axis=0))
        doc_counts, gold_counts = doc_counts[:, wanted], gold_counts[:, wanted]
        found.append(np.minimum(doc_counts[:, None], gold_counts[None]).sum(axis=2))
    return found


def _string(tokens: NDArray[np.int64]) -> str:
    return tokens.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")


@sides("kragx", "tried")
@turns
def test_bounds_for_rouge_l(benchmark: Any, side: str, turn: int) -> None:
    """The bounds alone take longer than every longest common subsequence that they could save."""
    queries = encoded(texts(min(SIZE.rouge_queries, 300)))
    work = subsequences if side == "kragx" else bounds
    take(benchmark, "tried-bounds", lambda: work(queries))


@pytest.mark.integration
def test_processes_give_the_same_tokens() -> None:
    """Tokens from processes equal those from here, in order."""
    all_texts = texts(4).distinct
    with ProcessPoolExecutor(2) as pool:
        assert in_processes(pool, all_texts) == tokenise(all_texts)


def test_bounds_hold() -> None:
    """No longest common subsequence exceeds its bound, and ROUGE-L is made of these."""
    workload = texts(4)
    queries = encoded(workload)
    matrices = RougeMatcher("rougeL", "recall").scores(workload.items, Diagnostics())
    for lengths, most, matrix, (_, golds) in zip(
        subsequences(queries), bounds(queries), matrices, queries, strict=True
    ):
        assert (lengths <= most).all()
        assert (matrix == lengths / np.array([len(gold) for gold in golds])).all()
