"""The whole path: `kragx score` from a results file to JSON, each in a process of its own."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from kragx import evaluate, read_results, write_results

from .support import child, once, sides, take
from .workloads import SIZE, Language, write_results_file

KINDS: dict[str, tuple[bool, Language]] = {
    "corpus": (False, "english"),
    "korean": (False, "korean"),
    "distinct": (True, "english"),
}
"""Whether each document is a text of its own, or one of 20,000 chunks that come back; in what."""

BY_WORDS = "{method: overlap, tokenizer: {name: auto, passages: words}}"
"""How the default compares texts in other scripts than Hangul."""

PARQUET = "parquet"
"""The first of these as Parquet, a row a question."""

_FOLDER = tempfile.TemporaryDirectory(prefix="kragx-benchmarks-")


@cache
def results_file(n_queries: int, kind: str) -> Path:
    """A results file, written once; it goes when the tests end."""
    if kind == PARQUET:
        path = Path(_FOLDER.name) / f"{n_queries}.parquet"
        write_results(*read_results(results_file(n_queries, "corpus")), path)
        return path
    path = Path(_FOLDER.name) / f"{kind}-{n_queries}.jsonl"
    distinct, language = KINDS[kind]
    write_results_file(path, n_queries, distinct=distinct, language=language)
    return path


@pytest.mark.parametrize("n_queries", SIZE.file_queries)
@sides("kragx", "floor")
@pytest.mark.parametrize("kind", [*KINDS, PARQUET])
@once
def test_score_a_file(benchmark: Any, kind: str, side: str, n_queries: int, turn: int) -> None:
    """`kragx score` with 20 documents a query; the floor decodes each line and forgets it.

    That of Parquet decodes the same rows as JSON Lines.
    """
    work = "score" if side == "kragx" else "read"
    path = results_file(n_queries, "corpus" if (kind, work) == (PARQUET, "read") else kind)
    _take(benchmark, kind, n_queries, work, path)


@pytest.mark.parametrize("n_queries", SIZE.file_queries)
@pytest.mark.parametrize("side", ["floor-words"])
@once
def test_score_korean_by_words(benchmark: Any, side: str, n_queries: int, turn: int) -> None:
    """The Korean file by words: what three characters cost is the other one's time over this."""
    path = results_file(n_queries, "korean")
    _take(benchmark, "korean", n_queries, "score", path, BY_WORDS)


def _take(benchmark: Any, kind: str, n_queries: int, *arguments: str | Path) -> None:
    """Measure a piece of work in processes of their own."""
    answers: list[dict[str, Any]] = []
    rounds = 3 if n_queries <= 10_000 else 1
    take(
        benchmark,
        f"file-{kind}-{n_queries}",
        lambda: answers.append(child(*arguments)),
        rounds=rounds,
    )
    best = min(answers, key=lambda answer: answer["seconds"])
    benchmark.extra_info.update({name: best[name] for name in ("seconds", "peak") if name in best})


@pytest.mark.integration
# Gold of several questions is one passage's beginning, with a number of its own.
@pytest.mark.filterwarnings("ignore:gold of one template")
@pytest.mark.parametrize("kind", [*KINDS, PARQUET])
def test_streamed_equals_read_at_once(kind: str) -> None:
    """The command on a file gives what evaluate gives for the same file read into memory."""
    path = results_file(30, kind)
    answer = child("score", path)
    assert answer["mean"] == evaluate(*read_results(path)).mean
    assert 0 < answer["mean"]["recall@10"] < 1
