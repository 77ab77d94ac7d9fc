"""BM25Retriever: a small baseline that any user can run without a model."""

from __future__ import annotations

import json
import re
import sys

import pytest
from langchain_core.documents import Document
from pydantic import ValidationError

from kragx.data import Doc
from kragx.evaluation.retrievers import BM25Retriever, read_corpus
from kragx.ground.errors import DataError, KragxError, MissingExtraError, UsageError, installing
from tests.thoroughness import all_cases

TEXTS = {
    "fridge": "냉장고 교환은 사흘 안에 신청한다",
    "phone": "휴대전화 수리는 이레가 걸린다",
    "washer": "세탁기 교환은 열흘 안에 신청한다",
}


def retriever(texts=TEXTS, **options):
    """A retriever over texts by id."""
    documents = [
        Document(id=key, page_content=text, metadata={"n": at})
        for at, (key, text) in enumerate(texts.items())
    ]
    return BM25Retriever(documents=documents, **options)


def ids(found):
    """The ids of what was found."""
    return [document.id for document in found]


@pytest.fixture
def corpus(tmp_path):
    """Write a corpus file."""

    def write(*lines):
        path = tmp_path / "corpus.jsonl"
        text = "".join((x if isinstance(x, str) else json.dumps(x)) + "\n" for x in lines)
        path.write_text(text, encoding="utf-8")
        return str(path)

    return write


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("냉장고는 언제 바꾸나요?", ["fridge"]),
        ("휴대전화", ["phone"]),
        ("세탁기 교환", ["washer", "fridge"]),
        ("교환을 신청", ["fridge", "washer"]),
    ],
)
def test_shared_bigrams(question, expected):
    """Documents that share character bigrams are found, best first, ties in their own order."""
    assert ids(retriever().invoke(question)) == expected


@all_cases("question", ["", "   ", "?!", "자동차", "zebra"])
def test_nothing_shared(question):
    """A question that shares no token with any document finds nothing."""
    assert retriever().invoke(question) == []


@pytest.mark.parametrize(("k", "n"), [(1, 1), (2, 2), (3, 3), (10, 3)])
def test_k(k, n):
    """At most k documents are returned, ties in the order of the documents."""
    texts = dict.fromkeys("abc", "the same words")
    assert ids(retriever(texts, k=k).invoke("same words")) == list("abc")[:n]


@pytest.mark.parametrize("k", [0, -1])
def test_bad_k(k):
    """K below 1 is refused."""
    with pytest.raises((ValidationError, UsageError), match="k"):
        retriever(k=k)


def test_score_and_metadata():
    """Each document found carries its score, highest first, beside its own metadata."""
    mine = retriever()
    documents = mine.invoke("세탁기 교환")
    scores = [document.metadata["score"] for document in documents]
    assert scores == sorted(scores, reverse=True)
    assert min(scores) > 0
    assert [document.metadata["n"] for document in documents] == [2, 0]
    assert all("score" not in document.metadata for document in mine.documents)


def test_from_documents():
    """Made as LangChain's is, of documents of any kind: its own, kragx's, mappings, texts."""
    documents = [Document(page_content=text, id=key) for key, text in TEXTS.items()]
    kinds = (
        documents,
        [Doc(key, text) for key, text in TEXTS.items()],
        [{"id": key, "text": text} for key, text in TEXTS.items()],
    )
    expected = retriever(k=2).invoke("세탁기 교환")
    for kind in kinds:
        assert ids(BM25Retriever.from_documents(kind, k=2).invoke("세탁기 교환")) == ids(expected)
    found = BM25Retriever.from_documents([*TEXTS.values()], k=2).invoke("세탁기 교환")
    assert [doc.page_content for doc in found] == [doc.page_content for doc in expected]
    with pytest.raises(ValidationError, match="int 5 is not a document"):
        BM25Retriever.from_documents([5])


def test_tokenizer():
    """The tokenizer decides what is shared: whole words find less than bigrams."""
    assert ids(retriever(tokenizer="char").invoke("냉장고를")) == ["fridge"]
    assert ids(retriever(tokenizer="whitespace").invoke("냉장고를")) == []
    assert ids(retriever(tokenizer={"name": "char", "n": 3}).invoke("냉장고를")) == ["fridge"]


def test_unknown_tokenizer():
    """An unknown tokenizer is refused, and the nearest name is given."""
    with pytest.raises(ValueError, match="'unicode'"):
        retriever(tokenizer="unicod")


@pytest.mark.parametrize("options", [{}, {"chunk_size": 12, "chunk_overlap": 4}])
def test_offsets_point_into_the_corpus(corpus, options):
    """Every chunk's offsets cut it out of its document again."""
    docs = {"d1": "first words here\n\nmore first words", "d2": "second words\n\nand a last one"}
    path = corpus(*({"id": key, "text": text} for key, text in docs.items()))
    documents = BM25Retriever.from_corpus(path, **options).invoke("first second words last")
    assert {document.metadata["source"] for document in documents} == {"d1", "d2"}
    for document in documents:
        at = document.metadata
        assert docs[at["source"]][at["start"] : at["end"]] == document.page_content


@pytest.mark.parametrize(
    ("lines", "hint"),
    [
        ((), "corpus is empty"),
        (("",), "corpus is empty"),
        (({"id": "d"},), r"corpus\.jsonl:1: .*'id' and 'text'"),
        (({"text": "t"},), r"corpus\.jsonl:1: .*'id' and 'text'"),
        (({"id": "d", "text": "t"}, {"id": "e", "txt": "t"}), r"corpus\.jsonl:2: .*'text'"),
        (({"id": "d", "text": "t"}, "{"), r"corpus\.jsonl:2: not valid JSON"),
    ],
)
def test_bad_corpus(corpus, lines, hint):
    """An empty corpus, or a document without id or text, is bad data with file and line."""
    with pytest.raises(DataError, match=hint):
        BM25Retriever.from_corpus(corpus(*lines))


def test_ids_that_stand_twice(corpus):
    """Two documents of a corpus with one id are bad data: their chunks could not be told apart."""
    path = corpus({"id": "d", "text": "one text"}, {"id": "d", "text": "another"})
    with pytest.raises(DataError, match="twice"):
        read_corpus(path)


def test_missing_corpus():
    """A corpus file that does not exist is bad data."""
    with pytest.raises(DataError, match="cannot be read"):
        BM25Retriever.from_corpus("no_such_corpus.jsonl")


@pytest.mark.parametrize("texts", [{}, {"blank": " "}, {"marks": "?!"}])
def test_nothing_to_search(texts):
    """Documents that hold no token at all are refused, or nothing is found: never a crash."""
    try:
        documents = retriever(texts).invoke("a question")
    except (KragxError, ValidationError):
        return
    assert documents == []


def test_bad_chunk_size(corpus):
    """A chunk size that cannot be is refused."""
    path = corpus({"id": "d", "text": "some text"})
    with pytest.raises(UsageError, match="size 0"):
        BM25Retriever.from_corpus(path, chunk_size=0)


def test_missing_extra(monkeypatch):
    """Without bm25s the error says how to install it."""
    monkeypatch.setitem(sys.modules, "bm25s", None)
    with pytest.raises(MissingExtraError, match=re.escape(installing("bm25"))):
        retriever().invoke("냉장고")
