"""Profile krag of the embedding class against the real K-RAG (see record_krag_embedding.py)."""

from __future__ import annotations

import json
import sys
import types
from pathlib import Path
from typing import Any, ClassVar

import pytest
from langchain_core.embeddings import Embeddings

from examples.ngram_embeddings import NgramEmbeddings
from kragx import EmbeddingRougeOfflineRetrievalEvaluators, UsageError, evaluate
from tests.evaluation.profiles.support import StoredTokens
from tests.thoroughness import some_cases

from .test_krag_goldens import check

RECORDED = json.loads(Path(__file__).with_name("krag_embedding_goldens.json").read_text("utf-8"))
TEXTS: list[str] = RECORDED["texts"]
CASES: list[dict[str, Any]] = RECORDED["cases"]
TOKENS: dict[str, dict[str, list[str]]] = {
    name: {TEXTS[int(position)]: tokens for position, tokens in stored.items()}
    for name, stored in RECORDED["tokens"].items()
}

pytestmark = pytest.mark.filterwarnings(
    "ignore::kragx.matchers.items.MatchWarning", "ignore::kragx.metrics.engine.MetricWarning"
)


def evaluator(case: dict[str, Any], **changed: Any) -> EmbeddingRougeOfflineRetrievalEvaluators:
    """The kragx evaluator of a recorded case."""
    documents = (
        [[TEXTS[position] for position in of_query] for of_query in case[side]]
        for side in ("actual", "predicted")
    )
    options: dict[str, Any] = {
        "match_method": case["match_method"],
        "averaging_method": case["averaging"],
        "matching_criteria": case["criteria"],
        "rouge_threshold": case["rouge_threshold"],
        "similarity_threshold": case["similarity_threshold"],
        "tokenizer": StoredTokens(TOKENS[case["tokenizer"]]),
        "embeddings": NgramEmbeddings(),
        "profile": "krag",
    }
    return EmbeddingRougeOfflineRetrievalEvaluators(*documents, **options | changed)


@some_cases("case", CASES, 14)
def test_every_number_is_that_of_krag(case: dict[str, Any]):
    """Keys and values are K-RAG's within 1e-12, for every metric at every k."""
    check(case, evaluator(case))


@pytest.mark.integration
def test_the_recording_covers_what_it_should():
    """Both tokenizers, every method, thresholds that do and do not bind, and nDCG above 1."""
    seen = {(case["match_method"], case["tokenizer"]) for case in CASES}
    assert len(seen) == 6
    assert len({(c["rouge_threshold"], c["similarity_threshold"]) for c in CASES}) == 5
    ndcg = [metrics["ndcg"]["ndcg"] for case in CASES for metrics in case["results"].values()]
    assert sum(value > 1 for value in ndcg) > 20
    assert sum(0 < value < 1 for value in ndcg) > 500
    # The filter matters: without it (as ROUGE alone) some decision would be another.
    filtered = [
        case
        for case in CASES
        if evaluator(case).calculate_recall()
        != evaluator(case, similarity_threshold=1e-9).calculate_recall()
    ]
    assert len(filtered) > 15


def test_the_defaults_are_those_of_krag(monkeypatch: pytest.MonkeyPatch):
    """Thresholds, method, and what each kind of embeddings is made with."""
    made_with: dict[str, Any] = {}

    def package(kind: str, module: str, name: str) -> None:
        class Noting(NgramEmbeddings):
            def __init__(self, **options: Any) -> None:
                super().__init__()
                made_with[kind] = options

        found = types.ModuleType(module)
        setattr(found, name, Noting)
        monkeypatch.setitem(sys.modules, module, found)

    package("huggingface", "langchain_huggingface", "HuggingFaceEmbeddings")
    package("openai", "langchain_openai", "OpenAIEmbeddings")
    package("ollama", "langchain_ollama", "OllamaEmbeddings")
    for kind in ("huggingface", "openai", "ollama"):
        made = EmbeddingRougeOfflineRetrievalEvaluators(
            [["a b"]], [["a b"]], embedding_type=kind, tokenizer="whitespace"
        )
        assert made.calculate_mrr(1) == {"mrr": 1.0}
    defaults = RECORDED["defaults"]
    assert made_with == defaults["embeddings"]
    assert made.rouge_threshold == defaults["thresholds"]["rouge"]
    assert made.similarity_threshold == defaults["thresholds"]["similarity"]
    assert made.match_method == defaults["match_method"]


def test_krag_embeds_each_text_as_a_query():
    """Where a model embeds queries and documents differently, profile krag asks as K-RAG does."""

    class TwoSided(Embeddings):
        asked: ClassVar[set[str]] = set()

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            self.asked.add("documents")
            return [[1.0, 0.0] for _ in texts]

        def embed_query(self, text: str) -> list[float]:
            self.asked.add("query")
            return [1.0, 0.0]

    for profile, method in (("krag", "query"), ("kragx", "documents")):
        TwoSided.asked.clear()
        made = EmbeddingRougeOfflineRetrievalEvaluators(
            [["a b"]], [["a b"]], tokenizer="whitespace", embeddings=TwoSided(), profile=profile
        )
        assert made.text_match("a b", ["x", "a b"])
        assert made.calculate_hit_rate(1) == {"hit_rate": 1.0}
        assert TwoSided.asked == {method}


def test_a_corpus_has_the_texts_of_ids():
    """With `corpus=` documents that are named by id alone count as with their texts."""
    texts = {"c1": "선물 카드는 만료되지 않습니다", "c2": "배송은 이틀이 걸립니다"}
    options = {"embeddings": NgramEmbeddings(), "rouge_threshold": 0.5}
    evaluator = EmbeddingRougeOfflineRetrievalEvaluators(
        [[{"id": "c1"}]], [[{"id": "c2"}, {"id": "c1"}]], corpus=texts, **options
    )
    by_text = EmbeddingRougeOfflineRetrievalEvaluators(
        [[texts["c1"]]], [[texts["c2"], texts["c1"]]], **options
    )
    assert evaluator.evaluate_all([1, 2]) == by_text.evaluate_all([1, 2])
    assert evaluator.calculate_mrr() == {"mrr": 0.5}


def test_it_is_the_cascade_of_a_config():
    """The class gives what evaluate gives for the cascade, profile krag included."""
    case = next(case for case in CASES if case["tokenizer"] == "whitespace")
    made = evaluator(case, tokenizer="whitespace")
    spec = {
        "cascade": [
            {
                "method": "embedding",
                "embeddings": "examples.ngram_embeddings:NgramEmbeddings",
                "reject": case["similarity_threshold"],
            },
            {
                "method": case["match_method"],
                "threshold": case["rouge_threshold"],
                "tokenizer": "whitespace",
            },
        ]
    }
    result = evaluate(
        made.actual_docs, made.predicted_docs, match=spec, metrics=["ndcg@3"], profile="kragx"
    )
    own = evaluator(case, tokenizer="whitespace", profile="kragx")
    assert own.calculate_ndcg(3) == {"ndcg": result["ndcg@3"]}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"embedding_type": "openia"}, "embedding_type: .*perhaps you meant 'openai'"),
        ({"embedding_type": "ollama"}, "langchain_ollama.*install its package"),
        (
            {"embeddings": "examples.ngram_embeddings:NgramEmbedding"},
            "perhaps you meant 'NgramEmbeddings'",
        ),
        ({"embeddings": object()}, "has no 'embed_documents'"),
        ({"embeddings": NgramEmbeddings(), "similarity_threshold": 0}, "threshold: 0 is out of"),
        ({"embeddings": NgramEmbeddings(), "rouge_threshold": 2}, "threshold: 2 is out of"),
    ],
)
def test_what_does_not_fit_is_a_usage_error(
    options: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A wrong type, a package that is not there, or a threshold out of range says what to do."""
    monkeypatch.setitem(sys.modules, "langchain_ollama", None)  # as if it were not installed
    with pytest.raises(UsageError, match=message):
        EmbeddingRougeOfflineRetrievalEvaluators(
            [["a"]], [["a"]], tokenizer="whitespace", **options
        ).calculate_mrr()
