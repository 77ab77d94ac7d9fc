"""KragDocument: a LangChain document that takes its arguments as K-RAG's does."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
from langchain_core.documents import Document

from kragx.document import KragDocument, KragDocument as Reexported
from tests.thoroughness import all_cases


def test_positional_arguments() -> None:
    """Text and metadata may be positional, and the result is a LangChain document."""
    document = KragDocument("교환은 사흘 안에", {"source": "안내문"})
    assert isinstance(document, Document)
    assert document.page_content == "교환은 사흘 안에"
    assert document.metadata == {"source": "안내문"}
    assert document.id is None


def test_named_arguments() -> None:
    """The same by name, and an id besides."""
    document = KragDocument(page_content="a text", metadata={"n": 1}, id="d7")
    assert (document.page_content, document.metadata, document.id) == ("a text", {"n": 1}, "d7")


def test_one_class() -> None:
    """`kragx.data.documents.KragDocument` is the same class, not another of its name."""
    assert Reexported is KragDocument


def test_default_metadata_is_not_shared() -> None:
    """What is written into one document's metadata does not appear in another's."""
    first, second = KragDocument("one"), KragDocument("two")
    first.metadata["seen"] = True
    assert second.metadata == {}
    assert KragDocument("three").metadata == {}


def test_given_metadata_is_not_shared() -> None:
    """A document has its own copy of the metadata that it was given."""
    given: dict[str, Any] = {"n": 1}
    first, second = KragDocument("one", given), KragDocument("two", given)
    first.metadata["n"] = 2
    assert given == {"n": 1}
    assert second.metadata == {"n": 1}


@all_cases(
    ("text", "summary"),
    [
        ("", ""),
        ("짧은 글", "짧은 글"),
        ("가" * 100, "가" * 100),
        ("나" * 101, "나" * 100 + "..."),
        ("x" * 99 + "yz", "x" * 99 + "y" + "..."),
    ],
)
def test_summary(text: str, summary: str) -> None:
    """A summary is the first 100 characters, with three dots only where something is cut off."""
    assert KragDocument(text).get_summary() == summary


@pytest.mark.parametrize("again", [lambda each: pickle.loads(pickle.dumps(each)), copy.deepcopy])
def test_pickling(again: Any) -> None:
    """A document that was pickled or copied is equal, of the same class, and independent."""
    document = KragDocument("보관할 글", {"tags": ["a"]}, id="d1")
    twin = again(document)
    assert type(twin) is KragDocument
    assert twin == document
    assert twin.get_summary() == "보관할 글"
    twin.metadata["tags"].append("b")
    assert document.metadata == {"tags": ["a"]}


@pytest.mark.parametrize("arguments", [(), (7,), ("text", ["not a mapping"])])
def test_wrong_types(arguments: tuple[Any, ...]) -> None:
    """A missing text, a number for a text and a list for metadata are refused."""
    with pytest.raises((TypeError, ValueError)):
        KragDocument(*arguments)
