"""Seeded workloads: texts from a Zipf vocabulary, matches as arrays and as dicts, results files.

The same size always gives the same workload. Nothing is measured here.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Literal

import numpy as np
from langchain_core.documents import Document
from numpy.typing import NDArray

from kragx.data.documents import Doc
from kragx.data.gold import Gold, Query
from kragx.matchers import MatchItem
from kragx.metrics import MetricSpec, parse_all
from kragx.metrics.match_table import MatchTable

Language = Literal["english", "korean"]
Texts = list[list[str]]
Documents = list[list[Document]]
Ints = NDArray[np.int64]

_VOCABULARY = 20_000
_ONSETS = (
    "b",
    "br",
    "c",
    "ch",
    "d",
    "f",
    "g",
    "gr",
    "h",
    "l",
    "m",
    "n",
    "p",
    "r",
    "s",
    "st",
    "t",
    "v",
)
_VOWELS = ("a", "e", "i", "o", "u", "ai", "ea", "ou")
_NOUNS = (
    "가격가방가을가족감독강의거리건강건물겨울결과경기경제계약계절고객공기공원과학관리광고교실교육구매국가"
    "규칙기록기술기업기차날씨내용노래농업대학도시도로도서동물마을마음매장목표문서문제문화물건바다발표방법"
    "방송배송병원보고보험부모분석비용사건사회산업상품생활서류선수설명설비세계소득소비수업수출시간시장시험"
    "신문실험아침약속언어업무여행역사연구예산온도운동위원은행음식음악의견의사이름인구일정자료자연작업장소"
    "재료저녁전기전화점심정보정부제도제품조건주문주민지역직원질문창고채소책임"
)
_PARTICLES = (
    "은",
    "는",
    "이",
    "가",
    "을",
    "를",
    "에",
    "의",
    "도",
    "에서",
    "으로",
    "까지",
    "부터",
    "하고",
)
_SENTENCE = 12


@dataclass(frozen=True)
class Size:
    """How large each workload is.

    Attributes:
        rouge_queries: queries with 3 gold texts and 10 documents of 120 words, all distinct.
        rouge_peer_queries: how many of them rouge-score gets; its time is scaled up linearly.
        metric_queries: queries with 100 documents, 10 of them gold, as arrays and as dicts.
        array_queries: queries with 10 documents, as arrays alone.
        krag_queries: queries of a whole K-RAG evaluation, 2 gold texts and 10 documents each.
        kiwi_queries: the same in Korean, by Kiwi.
        file_queries: queries of each results file, 20 documents each.
        moved_chunks: chunks of the corpus to which gold moves; a tenth as many gold items.
        page_chunks: chunks of the corpus of a workshop in whose page people judge.
        turns: how often each measurement is taken, in turn with those that it is compared with.
    """

    rouge_queries: int
    rouge_peer_queries: int
    metric_queries: int
    array_queries: int
    krag_queries: int
    kiwi_queries: int
    file_queries: tuple[int, ...]
    moved_chunks: int
    page_chunks: int
    turns: int


SIZES = {
    "small": Size(100, 10, 1_000, 50_000, 20, 5, (100, 1_000), 6_000, 1_000, 3),
    "medium": Size(300, 30, 3_000, 200_000, 50, 20, (1_000, 10_000), 60_000, 50_000, 3),
    "full": Size(
        1_000, 100, 10_000, 1_000_000, 50, 50, (1_000, 5_000, 100_000), 1_000_000, 50_000, 3
    ),
}
"""By name; the benchmarks run in the size that the environment variable KRAGX_BENCH_SIZE names."""

SIZE_NAME = os.environ.get("KRAGX_BENCH_SIZE", "small")
SIZE = SIZES[SIZE_NAME]

KS = (1, 3, 5, 10, 100)
METRICS = ("hit_rate", "mrr", "precision", "recall", "f1", "map", "ndcg")
NAMES = [f"{metric}@{k}" for metric in METRICS for k in KS]
"""Seven metrics at five cut-offs."""


def specs() -> tuple[MetricSpec, ...]:
    """The metrics of every metric workload."""
    return parse_all(NAMES)


class Writer:
    """Writes texts whose words follow Zipf's law, as those of a language do."""

    def __init__(self, language: Language, seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        self._korean = language == "korean"
        self._words = np.array(_korean_words() if self._korean else _english_words(), object)
        weights = 1.0 / np.arange(1, len(self._words) + 1)
        self._cumulated = np.cumsum(weights) / weights.sum()

    def words(self, n: int) -> list[str]:
        """`n` words, drawn one by one."""
        drawn = np.searchsorted(self._cumulated, self._rng.random(n))
        words: list[str] = self._words[drawn].tolist()
        if self._korean:
            particles = self._rng.integers(len(_PARTICLES), size=n).tolist()
            words = [word + _PARTICLES[at] for word, at in zip(words, particles)]
        return words

    def mixed(self, words: list[str], source: list[str]) -> list[str]:
        """`words`, of which one stretch, none to all of it, is replaced by that of `source`."""
        share = self._rng.choice([0.0, 0.3, 0.6, 0.9])
        length = int(share * len(words))
        start = int(self._rng.integers(len(words) - length + 1))
        return words[:start] + source[start : start + length] + words[start + length :]

    def text(self, words: list[str]) -> str:
        """The words as sentences."""
        end = " 있습니다" if self._korean else ""
        sentences = (words[at : at + _SENTENCE] for at in range(0, len(words), _SENTENCE))
        return " ".join(f"{' '.join(part).capitalize()}{end}." for part in sentences)


def _english_words() -> list[str]:
    """Distinct words of two or three syllables, in an arbitrary but fixed order."""
    syllables = [onset + vowel for onset in _ONSETS for vowel in _VOWELS]
    rng = np.random.default_rng(7)
    words: dict[str, None] = {}
    while len(words) < _VOCABULARY:
        drawn = rng.integers(len(syllables), size=3)
        words["".join(syllables[at] for at in drawn[: rng.integers(2, 4)])] = None
    return list(words)


def _korean_words() -> list[str]:
    """Nouns of two syllables, then compounds of two nouns."""
    nouns = [_NOUNS[at : at + 2] for at in range(0, len(_NOUNS), 2)]
    compounds = [first + second for first in nouns for second in nouns if first != second]
    return [*nouns, *np.random.default_rng(7).permutation(compounds)[:2000].tolist()]


@dataclass(frozen=True)
class TextWorkload:
    """Gold texts and ranked documents of some queries."""

    gold: Texts
    docs: Texts

    @cached_property
    def distinct(self) -> list[str]:
        """Each distinct text once."""
        lists = (*self.gold, *self.docs)
        return list(dict.fromkeys(text for texts in lists for text in texts))

    @cached_property
    def items(self) -> list[MatchItem]:
        """The queries as a matcher gets them."""
        return [
            MatchItem(
                Query(f"q{number}", gold=tuple(Gold(text=text) for text in golds)),
                tuple(Doc(text=text) for text in docs),
            )
            for number, (golds, docs) in enumerate(zip(self.gold, self.docs), start=1)
        ]


@cache
def texts(n_queries: int, n_gold: int = 3, language: Language = "english") -> TextWorkload:
    """`n_queries` with `n_gold` gold texts and 10 documents of 120 words; all texts are distinct.

    Each document shares a stretch of 0, 30, 60 or 90 % with a gold text of its query.
    """
    writer = Writer(language, seed=11)
    gold: Texts = []
    docs: Texts = []
    for _ in range(n_queries):
        golds = [writer.words(120) for _ in range(n_gold)]
        gold.append([writer.text(words) for words in golds])
        docs.append(
            [writer.text(writer.mixed(writer.words(120), golds[at % n_gold])) for at in range(10)]
        )
    return TextWorkload(gold, docs)


@cache
def match_table(n_queries: int, n_docs: int, n_gold: int) -> MatchTable:
    """Each gold item is matched by one document of its query, or (3 in 10) by none."""
    rng = np.random.default_rng(13)
    ranks = np.argsort(rng.random((n_queries, n_docs)), axis=1)[:, :n_gold].astype(np.int64)
    n_gold = ranks.shape[1]
    found = rng.random((n_queries, n_gold)) < 0.7
    docs = (ranks + np.arange(n_queries)[:, None] * n_docs)[found]
    golds = np.arange(n_queries * n_gold).reshape(n_queries, n_gold)[found]
    order = np.argsort(docs)
    return MatchTable(
        doc_start=np.arange(n_queries + 1, dtype=np.int64) * n_docs,
        gold_start=np.arange(n_queries + 1, dtype=np.int64) * n_gold,
        grade=rng.integers(1, 4, n_queries * n_gold).astype(np.float64),
        answered=np.ones(n_queries, bool),
        repeated=np.zeros(n_queries * n_docs, bool),
        pair_doc=docs[order].astype(np.int32),
        pair_gold=golds[order].astype(np.int32),
        pair_score=np.ones(len(docs)),
        threshold=1.0,
        unanswerable=np.zeros(n_queries, bool),
    )


@dataclass(frozen=True)
class IdWorkload:
    """A match table as qrels and a run, ``{query: {document: grade or score}}``."""

    qrels: dict[str, dict[str, int]]
    run: dict[str, dict[str, float]]


@cache
def ids(n_queries: int, n_docs: int = 100, n_gold: int = 10) -> IdWorkload:
    """The qrels and the run of `match_table` with the same arguments."""
    table = match_table(n_queries, n_docs, n_gold)
    names = dict(zip(table.pair_gold.tolist(), table.pair_doc.tolist()))
    grades = table.grade.astype(int).tolist()
    qrels: dict[str, dict[str, int]] = {}
    run: dict[str, dict[str, float]] = {}
    for query in range(n_queries):
        golds = range(int(table.gold_start[query]), int(table.gold_start[query + 1]))
        docs = range(int(table.doc_start[query]), int(table.doc_start[query + 1]))
        qrels[f"q{query}"] = {
            f"d{names[gold]}" if gold in names else f"lost{gold}": grades[gold] for gold in golds
        }
        run[f"q{query}"] = {f"d{doc}": float(n_docs - at) for at, doc in enumerate(docs)}
    return IdWorkload(qrels, run)


class ReadyScores:
    """A matcher whose scores are there already: what is left is building the table."""

    threshold = 0.5

    def __init__(self, n_docs: int, n_gold: int) -> None:
        self._scores = np.random.default_rng(23).random((64, n_docs, n_gold)) + 0.01

    def scores(
        self, items: Iterable[MatchItem], notes: Counter[str]
    ) -> Iterator[NDArray[np.float64]]:
        """Yield scores above 0 for every pair."""
        for number, _ in enumerate(items):
            yield self._scores[number % len(self._scores)]


def scored_stream(
    n_queries: int, n_docs: int = 100, n_gold: int = 10
) -> tuple[Iterator[MatchItem], ReadyScores]:
    """Queries as a stream, and a matcher that scores every pair above 0 at once."""
    docs = tuple(Doc(id=f"d{at}") for at in range(n_docs))
    golds = tuple(Gold(id=f"g{at}") for at in range(n_gold))
    items = (MatchItem(Query(f"q{number}", gold=golds), docs) for number in range(n_queries))
    return items, ReadyScores(n_docs, n_gold)


def write_results_file(
    path: Path, n_queries: int, *, distinct: bool, language: Language = "english"
) -> None:
    """A results file: 20 documents of 60 words and 2 gold texts of 20, cut from these, a query.

    Args:
        path: where it is written.
        n_queries: how many lines.
        distinct: whether every document is a text of its own; else they come from a corpus of
            20,000 chunks, or so many less that each is retrieved 5 times on average.
        language: of the texts.
    """
    with path.open("w", encoding="utf-8") as file:
        for record in _records(n_queries, distinct=distinct, language=language):
            file.write(json.dumps(record, ensure_ascii=False) + "\n")


def _records(n_queries: int, *, distinct: bool, language: Language) -> Iterator[dict[str, object]]:
    writer = Writer(language, seed=17)
    rng = np.random.default_rng(19)
    n_chunks = min(20_000, 4 * n_queries)
    chunks = [writer.text(writer.words(60)) for _ in range(n_chunks)]
    beginnings = [" ".join(chunk.split(" ", 20)[:20]) for chunk in chunks]
    for query in range(n_queries):
        drawn = rng.integers(n_chunks, size=20).tolist()
        found = rng.integers(20, size=2).tolist()
        retrieved = [
            {"text": f"{chunks[at]} q{query}d{rank}" if distinct else chunks[at]}
            for rank, at in enumerate(drawn)
        ]
        gold = [{"text": f"{beginnings[drawn[rank]]}. g{query}"} for rank in found]
        yield {"query_id": f"q{query}", "gold": gold, "retrieved": retrieved}


@cache
def langchain(n_queries: int = 600, n_texts: int = 850) -> tuple[Documents, Documents]:
    """Gold and retrieved LangChain documents: 10 of 850 chunks of 60 words, one of them gold."""
    writer = Writer("english", seed=17)
    rng = np.random.default_rng(19)
    chunks = [writer.text(writer.words(60)) for _ in range(n_texts)]

    def document(number: int) -> Document:
        return Document(chunks[number], metadata={"source": f"s{number}"})

    drawn = [rng.choice(n_texts, size=10, replace=False).tolist() for _ in range(n_queries)]
    gold = [[document(own[int(rng.integers(10))])] for own in drawn]
    return gold, [[*map(document, own)] for own in drawn]


def write_corpora(folder: Path, n_chunks: int) -> None:
    """Documents of 2,000 Korean words, cut into chunks of 130 and of 80 words; gold is by id."""
    rng = np.random.default_rng(0)
    syllables = [chr(code) for code in range(0xAC00, 0xAC00 + 3000)]
    words = ["".join(rng.choice(syllables, rng.integers(1, 5))) for _ in range(20_000)]
    frequency = 1 / np.arange(10, 10 + len(words))
    frequency /= frequency.sum()
    with (
        (folder / "old.jsonl").open("w", encoding="utf-8") as old,
        (folder / "new.jsonl").open("w", encoding="utf-8") as new,
        (folder / "gold.jsonl").open("w", encoding="utf-8") as gold,
    ):
        counts = {80: 0, 130: 0}
        for _ in range(n_chunks // 25):
            document = [words[n] for n in rng.choice(len(words), 2_000, p=frequency).tolist()]
            for size, file in ((130, old), (80, new)):
                for begin in range(0, 2_000, size):
                    number = counts[size]
                    counts[size] += 1
                    record = {"id": f"c{number}", "text": " ".join(document[begin : begin + size])}
                    file.write(json.dumps(record, ensure_ascii=False) + "\n")
                    if size == 130 and number % 6 == 0 and 60 * number < 36 * n_chunks:
                        query = {"query_id": f"q{number}", "gold": [{"id": f"c{number}"}]}
                        gold.write(json.dumps(query) + "\n")
