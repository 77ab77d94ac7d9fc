"""The 36 forms of RAG tools: questions with texts, as frameworks and evaluators hold them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from .content import FOUND, GOLD, QUESTIONS, TEXTS, Form, Given

NO_MISSING = frozenset({"missing"})
STORED = frozenset({"missing", "empty"})
"""What is asked answers every question; a store always finds something."""


def dataset() -> Any:
    """The gold set, with its questions."""
    from kragx import read_dataset

    golds = {q: [{"text": TEXTS[name]} for name in names] for q, names in GOLD.items()}
    rows = [{"query_id": q, "query": QUESTIONS[q], "gold": gold} for q, gold in golds.items()]
    return read_dataset(rows)


def _found(question: str) -> Sequence[tuple[str, float]]:
    """What is found for a question, by its text."""
    return FOUND.get(next(q for q, text in QUESTIONS.items() if text == question), ())


def by_question(answer: Callable[[Sequence[tuple[str, float]]], Any]) -> Callable[[Path], Given]:
    """Answers by query id, as somebody has kept them."""
    return lambda folder: Given(dataset(), {q: answer(own) for q, own in FOUND.items()})


def asked(make: Callable[[], Any], **options: Any) -> Callable[[Path], Given]:
    """What is asked the questions."""
    return lambda folder: Given(dataset(), make(), options)


# -- LangChain ------------------------------------------------------------------------------------


def _document(name: str) -> Any:
    from langchain_core.documents import Document

    return Document(TEXTS[name], id=name)


def _langchain(folder: Path) -> Given:
    golds = {q: [_document(name) for name in names] for q, names in GOLD.items()}
    return Given(golds, {q: [_document(name) for name, _ in own] for q, own in FOUND.items()})


def _langchain_retriever() -> Any:
    from langchain_core.runnables import RunnableLambda

    return RunnableLambda(lambda question: [_document(name) for name, _ in _found(question)])


def _vector(text: str) -> list[float]:
    """Letters counted: texts that are alike are near."""
    counts = [float(text.lower().count(letter)) for letter in "abcdefghijklmnopqrstuvwxyz가를"]
    return [*counts, 1.0]


def _langchain_store(folder: Path) -> Given:
    from langchain_core.embeddings import Embeddings
    from langchain_core.vectorstores import InMemoryVectorStore

    class Letters(Embeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [_vector(text) for text in texts]

        def embed_query(self, text: str) -> list[float]:
            return _vector(text)

    store = InMemoryVectorStore(Letters())
    store.add_texts([*TEXTS.values()])
    lists = {
        q: [doc.page_content for doc in store.similarity_search(text)]
        for q, text in QUESTIONS.items()
    }
    return Given(dataset(), store, lists=lists)


# -- LlamaIndex -----------------------------------------------------------------------------------


def _node(name: str, score: float | None = None) -> Any:
    from llama_index.core.schema import NodeWithScore, TextNode

    return NodeWithScore(node=TextNode(text=TEXTS[name], id_=name), score=score)


def _llama(folder: Path) -> Given:
    golds = {q: [_node(name) for name in names] for q, names in GOLD.items()}
    return Given(golds, {q: [_node(*entry) for entry in own] for q, own in FOUND.items()})


def _llama_retriever() -> Any:
    from llama_index.core.retrievers import BaseRetriever

    class Own(BaseRetriever):
        def _retrieve(self, query_bundle: Any) -> list[Any]:
            return [_node(*entry) for entry in _found(query_bundle.query_str)]

    return Own()


def _llama_index(answers: Callable[[Any], Any], **options: Any) -> Callable[[Path], Given]:
    def given(folder: Path) -> Given:
        from llama_index.core import VectorStoreIndex
        from llama_index.core.embeddings import BaseEmbedding
        from llama_index.core.schema import TextNode

        class Letters(BaseEmbedding):
            def _get_query_embedding(self, query: str) -> list[float]:
                return _vector(query)

            async def _aget_query_embedding(self, query: str) -> list[float]:
                return _vector(query)

            def _get_text_embedding(self, text: str) -> list[float]:
                return _vector(text)

        nodes = [TextNode(text=text, id_=name) for name, text in TEXTS.items()]
        index = VectorStoreIndex(nodes, embed_model=Letters())
        retriever = index.as_retriever()
        lists = {
            q: [node.get_content() for node in retriever.retrieve(text)]
            for q, text in QUESTIONS.items()
        }
        return Given(dataset(), answers(index), lists=lists)

    return given


def _query_engine(index: Any) -> Any:
    from llama_index.core.llms import MockLLM

    return index.as_query_engine(llm=MockLLM())


# -- Haystack -------------------------------------------------------------------------------------


def _haystack_document(name: str, score: float | None = None) -> Any:
    from haystack import Document

    return Document(id=name, content=TEXTS[name], score=score)


def _haystack(folder: Path) -> Given:
    golds = {q: [_haystack_document(name) for name in names] for q, names in GOLD.items()}
    found = {q: [_haystack_document(*entry) for entry in own] for q, own in FOUND.items()}
    return Given(golds, found)


def _haystack_store() -> Any:
    from haystack.document_stores.in_memory import InMemoryDocumentStore

    store = InMemoryDocumentStore()
    store.write_documents([_haystack_document(name) for name in TEXTS])
    return store


def _haystack_pipeline(folder: Path) -> Given:
    from haystack import Pipeline
    from haystack.components.retrievers.in_memory import InMemoryBM25Retriever

    pipeline = Pipeline()
    pipeline.add_component("bm25", InMemoryBM25Retriever(_haystack_store(), top_k=3))
    lists = {
        q: [
            document.content
            for document in pipeline.run({"bm25": {"query": text}})["bm25"]["documents"]
        ]
        for q, text in QUESTIONS.items()
    }
    return Given(dataset(), pipeline, lists=lists)


# -- ragas, DeepEval, LangSmith -------------------------------------------------------------------


def _rows(old: bool = False) -> list[dict[str, Any]]:
    """The content as ragas' rows; what is missing stands as None."""
    names = ("question", "ground_truth_contexts", "contexts") if old else RAGAS
    return [
        {
            names[0]: QUESTIONS[q],
            names[1]: [TEXTS[name] for name in golds],
            names[2]: [TEXTS[name] for name, _ in FOUND[q]] if q in FOUND else None,
        }
        for q, golds in GOLD.items()
    ]


RAGAS = ("user_input", "reference_contexts", "retrieved_contexts")


def of_ragas(view: Callable[[Any], Any]) -> Callable[[Path], Given]:
    """An `EvaluationDataset` of ragas, looked at in some way; it is gold and results."""

    def given(folder: Path) -> Given:
        from ragas import EvaluationDataset, SingleTurnSample

        samples = [SingleTurnSample(**row) for row in _rows()]
        whole = EvaluationDataset(samples=samples)
        return Given(view(whole), view(whole))

    return given


def _ragas_frame(old: bool) -> Callable[[Path], Given]:
    def given(folder: Path) -> Given:
        import pandas

        return Given(pandas.DataFrame(_rows(old)), pandas.DataFrame(_rows(old)))

    return given


def _hugging_face(folder: Path) -> Given:
    import datasets

    return Given(*[datasets.Dataset.from_list(_rows(old=True)) for _ in range(2)])


def _deepeval(**of_case: Any) -> Iterator[dict[str, Any]]:
    for question, golds, found in (row.values() for row in _rows()):
        yield {"input": question, "context": golds, "retrieval_context": found, **of_case}


def _test_cases(folder: Path) -> Given:
    from deepeval.test_case import LLMTestCase

    cases = [LLMTestCase(**case) for case in _deepeval(actual_output="")]
    return Given(cases, cases)


def _goldens() -> Any:
    from deepeval.dataset import EvaluationDataset, Golden

    return EvaluationDataset(goldens=[Golden(**case) for case in _deepeval()])


def _deepeval_json(folder: Path) -> Given:
    _goldens().save_as(file_type="json", directory=str(folder), file_name="goldens")
    path = str(folder / "goldens.json")
    return Given(path, path)


def _langsmith(folder: Path) -> Given:
    import uuid

    from langsmith.schemas import Example

    ids = {q: uuid.uuid5(uuid.NAMESPACE_OID, q) for q in GOLD}
    examples = [
        Example(
            id=ids[q],
            dataset_id=uuid.UUID(int=1),
            inputs={"question": QUESTIONS[q]},
            outputs={"documents": [TEXTS[name] for name in names]},
        )
        for q, names in GOLD.items()
    ]
    found = {str(ids[q]): [TEXTS[name] for name, _ in own] for q, own in FOUND.items()}
    return Given(examples, found)


# -- what needs no package ------------------------------------------------------------------------


def _contents(own: Sequence[tuple[str, float]]) -> list[Mapping[str, Any]]:
    return [{"id": name, "content": TEXTS[name], "score": score} for name, score in own]


class Searching:
    """An index of somebody's own."""

    def search(self, query: str, k: int = 10) -> list[Mapping[str, Any]]:
        """What is found."""
        return _contents(_found(query)[:k])


def _nested(question: str) -> list[Any]:
    """Hits of an own class."""
    return [
        SimpleNamespace(content=TEXTS[name], doc={"id": name}, score=score)
        for name, score in _found(question)
    ]


PATHS = {"text": "content", "id": "doc.id", "score": "score"}

LANGCHAIN, LLAMA, HAYSTACK = "langchain_core", "llama_index", "haystack"

RAG = [
    Form("documents of LangChain", LANGCHAIN, _langchain),
    Form(
        "LangChain's pairs of document and score",
        LANGCHAIN,
        by_question(lambda own: [(_document(name), score) for name, score in own]),
    ),
    Form("a retriever of LangChain", LANGCHAIN, asked(_langchain_retriever), NO_MISSING),
    Form("a vector store of LangChain", LANGCHAIN, _langchain_store, STORED),
    Form(
        "answers of LangChain's chains",
        LANGCHAIN,
        by_question(
            lambda own: {"input": "", "context": [_document(name) for name, _ in own], "answer": ""}
        ),
    ),
    Form("nodes of LlamaIndex", LLAMA, _llama),
    Form("a retriever of LlamaIndex", LLAMA, asked(_llama_retriever), NO_MISSING),
    Form("an index of LlamaIndex", LLAMA, _llama_index(lambda index: index), STORED),
    Form("a query engine of LlamaIndex", LLAMA, _llama_index(_query_engine), STORED),
    Form("documents of Haystack", HAYSTACK, _haystack),
    Form("a pipeline of Haystack", HAYSTACK, _haystack_pipeline, STORED),
    Form("a store of Haystack", HAYSTACK, asked(_haystack_store), says="pass a retriever"),
    Form("EvaluationDataset of ragas", "ragas", of_ragas(lambda whole: whole)),
    Form("samples of ragas", "ragas", of_ragas(lambda whole: whole.samples)),
    Form("rows of ragas", "ragas", of_ragas(lambda whole: whole.to_list())),
    Form("ragas' dataset of Hugging Face", "ragas", of_ragas(lambda whole: whole.to_hf_dataset())),
    Form("a frame of ragas", "ragas", of_ragas(lambda whole: whole.to_pandas())),
    Form("a frame with ragas' old columns", "pandas", _ragas_frame(old=True)),
    Form("a dataset with ragas' old columns", "datasets", _hugging_face),
    Form("test cases of DeepEval", "deepeval", _test_cases),
    Form("a dataset of DeepEval", "deepeval", lambda folder: Given(*[_goldens() for _ in "12"])),
    Form("JSON of DeepEval", "deepeval", _deepeval_json),
    Form("examples of LangSmith", "langsmith", _langsmith),
    Form("mappings with content", "kragx", by_question(_contents)),
    Form("what searches", "kragx", asked(Searching), NO_MISSING),
    Form("a function with paths", "kragx", asked(lambda: _nested, **PATHS), NO_MISSING),
]
