"""Documents, retrievers and tables of other libraries: by their shapes, and with the libraries."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from kragx import GoldDataset, UsageError, aretrieve, evaluate, read_dataset, retrieve

QUESTIONS = ["capital of Korea", "port of Korea"]
TEXTS = {"d1": "Seoul is the capital of Korea", "d2": "Busan is a port of Korea"}
GOLD = GoldDataset.from_documents(
    [[{"id": "d1", "text": TEXTS["d1"]}], [{"id": "d2", "text": TEXTS["d2"]}]], queries=QUESTIONS
)


# -- shapes -------------------------------------------------------------------------------------


class Node:
    """A node as LlamaIndex has it."""

    def __init__(self, node_id, text, **metadata):
        self.node_id, self.metadata, self._text = node_id, metadata, text

    def get_content(self):
        """Its text."""
        return self._text


def scored(node, score):
    """A node with a score."""
    return SimpleNamespace(node=node, score=score)


def document(doc_id, text, score=None, **meta):
    """A document as Haystack has it."""
    return SimpleNamespace(id=doc_id, content=text, score=score, meta=meta)


def test_documents_by_shape():
    """Nodes with and without a score, and Haystack's documents, have id, text, score, metadata."""
    answer = [
        scored(Node("a", "가", page=1), 0.5),
        Node("b", "나"),
        document("c", "다", 2.0, page=3),
    ]
    run = retrieve(lambda question: answer, GOLD)
    found = [(d.id, d.text, d.score, d.metadata) for d in run["q1"].documents]
    assert found == [
        ("a", "가", 0.5, {"page": 1}),
        ("b", "나", None, {}),
        ("c", "다", 2.0, {"page": 3}),
    ]


def test_as_gold():
    """They are gold documents as well."""
    gold = [[Node("a", "the text")], [document("b", "other text")]]
    result = evaluate(gold, [["the text"], ["other text"]], match="exact", metrics=["hit_rate@1"])
    assert result["hit_rate@1"] == 1.0


def test_a_document_without_text():
    """An image, whose content is None, is known by its id; without either it is an error."""
    run = retrieve(lambda question: [document("a", None)], GOLD)
    assert run["q1"].documents[0].text is None
    run = retrieve(lambda question: [document(None, None)], GOLD)
    assert "needs 'id' or 'text'" in run["q1"].error


class Retrieving:
    """A retriever as LlamaIndex has it."""

    def retrieve(self, question):
        """Nodes."""
        return [scored(Node("d1", TEXTS["d1"]), 1.0)]


def test_what_retrieves():
    """An object with `retrieve` is asked; its class by itself is not taken for one."""
    assert evaluate(GOLD, Retrieving(), metrics=["hit_rate@1"])["hit_rate@1"] == 0.5
    run = asyncio.run(aretrieve(Retrieving(), GOLD))
    assert (run.name, run["q2"].error) == ("Retrieving", None)


class Pipe:
    """A pipeline as Haystack has it."""

    def __init__(self, inputs, answer=None):
        self._inputs = inputs
        self._answer = answer or {"r": {"documents": [document("d1", TEXTS["d1"])]}}
        self.data = []

    def inputs(self):
        """What it needs."""
        kinds = {"str": str, "any": Any, "list": list}
        return {
            component: {
                name.rstrip("?"): {"type": kinds[kind], "is_mandatory": not name.endswith("?")}
                for name, kind in names.items()
            }
            for component, names in self._inputs.items()
        }

    def outputs(self):
        """What it gives."""

    def run(self, data):
        """Its answer."""
        self.data.append(data)
        return self._answer


def test_the_question_goes_where_texts_must_be_given():
    """Each mandatory text of a pipeline gets the question; what may be left out is."""
    pipe = Pipe(
        {"e": {"text": "str"}, "r": {"query": "str", "k?": "list"}, "p": {"question": "any"}}
    )
    assert retrieve(pipe, GOLD)["q1"].documents[0].id == "d1"
    question = QUESTIONS[0]
    assert pipe.data[0] == {
        "e": {"text": question},
        "r": {"query": question},
        "p": {"question": question},
    }


@pytest.mark.parametrize(
    ("inputs", "problem"),
    [
        ({"r": {"query": "str", "files": "list"}}, "needs r.files, so where.*lambda question"),
        ({"r": {"query?": "str"}}, "has no input that must be a text"),
        ({"p": {"template": "any"}}, "needs p.template"),
    ],
)
def test_a_pipeline_that_needs_more(inputs, problem):
    """A pipeline whose inputs leave open where the question goes is an error with the remedy."""
    with pytest.raises(UsageError, match=problem):
        retrieve(Pipe(inputs), GOLD)


def test_a_pipeline_with_two_answers():
    """Documents of two components, or of none, are the question's failure, which names them."""
    documents = {"documents": [document("a", "b")]}
    for answer, problem in (
        ({"one": documents, "two": documents}, "one, two all do"),
        ({"llm": {"replies": ["x"]}}, "none does (there are llm)"),
    ):
        run = retrieve(Pipe({"r": {"query": "str"}}, answer), GOLD)
        assert problem in run["q1"].error


def test_a_component_that_takes_no_query():
    """A component for embeddings says that an embedder has to stand before it."""

    class ByEmbedding:
        __haystack_input__ = ()

        def run(self, query_embedding):
            """Nothing."""

    with pytest.raises(UsageError, match="takes query_embedding, and no query; put it into a Pipe"):
        retrieve(ByEmbedding(), GOLD)


# -- the libraries ------------------------------------------------------------------------------

RECORDS = [
    {"query_id": "q1", "query": QUESTIONS[0], "gold": [{"id": "d1", "text": TEXTS["d1"]}],
     "retrieved": [{"id": "d1", "text": TEXTS["d1"], "score": 1.0}]},
    {"query_id": "q2", "query": QUESTIONS[1], "gold": [{"id": "d2", "text": TEXTS["d2"]}],
     "retrieved": [{"id": "d1", "text": TEXTS["d1"], "score": 0.5}]},
]  # fmt: skip


@pytest.mark.integration
@pytest.mark.filterwarnings("default")
def test_llama_index():
    """LlamaIndex' own nodes are gold and answers, and its retrievers are asked, awaited too."""
    schema = pytest.importorskip("llama_index.core.schema")
    base = pytest.importorskip("llama_index.core.retrievers").BaseRetriever
    nodes = [
        schema.TextNode(text=text, id_=name, metadata={"n": name}) for name, text in TEXTS.items()
    ]

    class First(base):
        def _retrieve(self, query_bundle):
            assert query_bundle.query_str in QUESTIONS
            return [schema.NodeWithScore(node=node, score=0.5) for node in nodes[:1]]

    for run in (retrieve(First(), GOLD), asyncio.run(aretrieve(First(), GOLD))):
        (found,) = run["q1"].documents
        assert (found.id, found.text, found.score) == ("d1", TEXTS["d1"], 0.5)
        assert found.metadata == {"n": "d1"}
    result = evaluate([[nodes[0]], [nodes[1]]], [[nodes[0]], [nodes[0]]], match="id")
    assert result["hit_rate@10"] == 0.5


@pytest.mark.integration
@pytest.mark.filterwarnings("default")
def test_haystack():
    """Haystack's documents, a retriever by itself, and pipelines, also with several texts."""
    haystack = pytest.importorskip("haystack")
    from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
    from haystack.document_stores.in_memory import InMemoryDocumentStore

    store = InMemoryDocumentStore()
    store.write_documents([haystack.Document(id=i, content=text) for i, text in TEXTS.items()])
    retriever = InMemoryBM25Retriever(store, top_k=1)
    pipeline = haystack.Pipeline()
    pipeline.add_component("bm25", InMemoryBM25Retriever(store, top_k=1))
    for asked in (retriever, pipeline):
        result = evaluate(GOLD, asked, match="id", metrics=["hit_rate@1"])
        assert result["hit_rate@1"] == 1.0
    pipeline.add_component("other", InMemoryBM25Retriever(store, top_k=1))
    assert "bm25, other all do" in retrieve(pipeline, GOLD)["q1"].error


def frames(records):
    """The same rows as each library holds them."""
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    datasets = pytest.importorskip("datasets")
    dataset = datasets.Dataset.from_list(records)
    return {
        "pandas": pandas.DataFrame(records),
        "polars": polars.DataFrame(records),
        "datasets": dataset,
    }


@pytest.mark.integration
@pytest.mark.filterwarnings("default")
def test_frames():
    """Rows of pandas, Polars and datasets are results, gold and run, as in JSON Lines."""
    for name, frame in frames(RECORDS).items():
        assert evaluate(frame, match="id", metrics=["hit_rate@1"])["hit_rate@1"] == 0.5, name
        gold = read_dataset(frame)
        assert [query.gold[0].id for query in gold] == ["d1", "d2"]
        run = frames(RECORDS)["polars"]
        assert evaluate(gold, run, match="id", metrics=["hit_rate@1"])["hit_rate@1"] == 0.5
    both = evaluate(gold, {"one": run, "other": run}, match="id", metrics=["hit_rate@1"])
    assert list(both) == ["one", "other"]


@pytest.mark.integration
@pytest.mark.filterwarnings("default")
def test_frames_with_columns():
    """Columns are named as in CSV, also by `columns`; a gap is no text "None"."""
    records = [
        {"no": "q1", "question": QUESTIONS[0], "ids": ["d1"], "hard": None},
        {"no": "q2", "question": QUESTIONS[1], "ids": ["d2"], "hard": "yes"},
    ]
    columns = {"query_id": "no", "query": "question", "relevant_chunk_ids": "ids"}
    for name, frame in frames(records).items():
        gold = read_dataset(frame, columns=columns)
        assert [query.gold[0].id for query in gold] == ["d1", "d2"], name
        assert [query.metadata for query in gold] == [{}, {"hard": "yes"}], name
