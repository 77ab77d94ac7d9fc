"""Anything document-shaped is read, nothing of the caller's is changed, nonsense is refused."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable

import numpy as np
import pytest
from langchain_core.documents import Document

from kragx import DataError, Doc, Gold, GoldDataset, Run, evaluate
from tests.thoroughness import all_cases


def read(document: object) -> Doc:
    """A retrieved document as kragx reads it."""
    return Run.from_documents([[document]])["q1"].documents[0]


def read_gold(document: object) -> Gold:
    """A gold item as kragx reads it."""
    return GoldDataset.from_documents([[document]])["q1"].gold[0]


@all_cases(
    ("value", "expected"),
    [
        ("한라산", Doc(text="한라산")),
        ("", Doc(text="")),
        ({"id": "d1"}, Doc(id="d1")),
        ({"text": "한라산"}, Doc(text="한라산")),
        ({"page_content": "한라산"}, Doc(text="한라산")),
        (
            {"id": "d1", "text": "한라산", "score": 2, "metadata": {"page": 3}},
            Doc("d1", "한라산", {"page": 3}, 2.0),
        ),
        ({"id": None, "text": "한라산", "score": None, "metadata": None}, Doc(text="한라산")),
        (Document(page_content="한라산"), Doc(text="한라산")),
        (
            Document(id="d1", page_content="한라산", metadata={"page": 3}),
            Doc("d1", "한라산", {"page": 3}),
        ),
        (Doc("d1", "한라산", {"page": 3}, 0.5), Doc("d1", "한라산", {"page": 3}, 0.5)),
    ],
)
def test_every_shape_of_a_document_is_read(value: object, expected: Doc) -> None:
    """A string is a text; the other shapes give id, text, metadata and score."""
    assert read(value) == expected


@all_cases(
    ("value", "expected"),
    [
        ("한라산", Gold(text="한라산")),
        ({"id": "d1"}, Gold(id="d1")),
        ({"id": "d1", "grade": 3}, Gold(id="d1", grade=3.0)),
        ({"id": "d1", "grade": 0}, Gold(id="d1", grade=0.0)),
        ({"page_content": "한라산", "metadata": {"p": 1}}, Gold(text="한라산", metadata={"p": 1})),
        (
            {"alternatives": ["백록담", {"id": "d2"}, Document(page_content="한라산")]},
            Gold(alternatives=(Doc(text="백록담"), Doc(id="d2"), Doc(text="한라산"))),
        ),
        (
            Document(id="d1", page_content="한라산", metadata={"p": 1}),
            Gold("d1", "한라산", metadata={"p": 1}),
        ),
        (Gold("d1", grade=2.0), Gold("d1", grade=2.0)),
    ],
)
def test_every_shape_of_a_gold_item_is_read(value: object, expected: Gold) -> None:
    """Gold comes in the same shapes, with grade and alternatives."""
    assert read_gold(value) == expected


@pytest.mark.parametrize(("given", "expected"), [(7, "7"), (0, "0"), (-1, "-1"), ("07", "07")])
def test_a_whole_number_id_is_its_digits(given: object, expected: str) -> None:
    """Ids from a database are whole numbers and become strings; strings stay as they are."""
    assert read({"id": given}).id == read_gold({"id": given}).id == expected


@all_cases("bad", [1.0, True, ["d1"], {"id": "d1"}, b"d1"])
@all_cases("read_one", [read, read_gold])
def test_other_ids_are_refused(read_one: Callable[[object], object], bad: object) -> None:
    """A float, boolean, list, mapping or bytes is not silently turned into an id."""
    with pytest.raises(DataError, match="an id must be a string or a whole number"):
        read_one({"id": bad})


@all_cases("bad", [5, ["한", "글"], {"ko": "한글"}, b"text", True])
@all_cases("read_one", [read, read_gold])
def test_a_text_that_is_no_string_is_refused(
    read_one: Callable[[object], object], bad: object
) -> None:
    """Content that is no text, such as a message's list of parts, is not turned into one."""
    with pytest.raises(DataError, match=r"'q1', (rank|gold) 1: a text must be a string"):
        read_one({"text": bad})


def test_an_object_whose_content_is_no_text_is_refused() -> None:
    """An object with `page_content` is held to the same rule as a mapping."""

    class Parts:
        page_content = ("가", "나")

    with pytest.raises(DataError, match="a text must be a string, not tuple"):
        read(Parts())


@all_cases("bad", [{}, {"metadata": {"id": "d1"}}, {"score": 1.0}, {"id": None}, Doc()])
def test_a_document_needs_id_or_text(bad: object) -> None:
    """A document with neither id nor text is refused, with query and rank."""
    with pytest.raises(DataError, match="'q1', rank 2: a document needs 'id' or 'text'"):
        Run.from_documents([["글", bad]])


@pytest.mark.parametrize("bad", [{}, {"grade": 1}, {"alternatives": []}])
def test_a_gold_item_needs_id_text_or_alternatives(bad: object) -> None:
    """A gold item with nothing to match is refused, with query and place."""
    with pytest.raises(DataError, match="'q1', gold 2: a gold item needs"):
        GoldDataset.from_documents([["글", bad]])


@all_cases(
    ("field", "hint"),
    [("txt", "perhaps you meant 'text'"), ("ID", "perhaps you meant 'id'"), ("page", "metadata")],
)
@all_cases("read_one", [read, read_gold])
def test_an_unknown_field_is_refused(
    read_one: Callable[[object], object], field: str, hint: str
) -> None:
    """A field that kragx does not know names the nearest one and says where others belong."""
    with pytest.raises(DataError, match=f"{field}: unknown field.*{hint}"):
        read_one({"id": "d1", field: "x"})


@all_cases("bad", [None, 5, 1.5, b"text", object(), ["글"]])
def test_what_is_no_document_is_refused(bad: object) -> None:
    """Other values name their type, the query and the rank, and what to pass instead."""
    named = "None" if bad is None else f"{type(bad).__name__} .+"
    with pytest.raises(
        DataError, match=rf"'q1', rank 1: {named} is not a document; pass a document of Lang"
    ):
        read(bad)


@all_cases("bad", [math.nan, "0.5", "infinity", True, [1], 10**400])
def test_a_score_must_be_a_number(bad: object) -> None:
    """A score that is NaN, or no number, is refused with query and rank."""
    with pytest.raises(DataError, match="'q1', rank 1: score: must be a number"):
        read({"id": "d1", "score": bad})


@all_cases("bad", [math.nan, math.inf, -math.inf, "3", True, [1]])
def test_a_grade_must_be_a_finite_number(bad: object) -> None:
    """A grade that is not finite, or no number, is refused with query and place."""
    with pytest.raises(DataError, match="'q1', gold 1: grade: must be a finite number"):
        read_gold({"id": "d1", "grade": bad})


@pytest.mark.parametrize("bad", [Doc(text=5), Doc(id=1.5), Doc(id="d1", score=math.nan)], ids=repr)
def test_a_doc_is_held_to_the_same_rules(bad: Doc) -> None:
    """A `Doc` with a text, id or score that a mapping may not have is refused as well."""
    with pytest.raises(DataError, match="'q1', rank 1"):
        read(bad)


@all_cases("score", [np.float32(0.5), np.float64(0.5), np.int64(1), 1, -2.5])
def test_numbers_of_numpy_are_numbers(score: float) -> None:
    """Scores as vector stores give them are read as plain floats."""
    assert read({"id": "d1", "score": score}).score == float(score)
    assert type(read({"id": "d1", "score": score}).score) is float


@pytest.mark.parametrize("bad", [[], "page 3", 3])
def test_metadata_must_be_a_mapping(bad: object) -> None:
    """Metadata that is no mapping is refused."""
    with pytest.raises(DataError, match="metadata: must be a mapping"):
        read({"id": "d1", "metadata": bad})


@pytest.mark.parametrize("bad", ["d2", {"id": "d2"}, 5])
def test_alternatives_must_be_a_list(bad: object) -> None:
    """A single alternative that is not in a list is refused."""
    with pytest.raises(DataError, match="alternatives: must be a list"):
        read_gold({"id": "d1", "alternatives": bad})


@pytest.mark.parametrize(
    "value",
    [
        "반쪽 \ud83d",
        {"text": "반쪽 \ud83d"},
        {"page_content": "반쪽 \ud83d"},
        Doc(text="반쪽 \ud83d"),
    ],
    ids=["string", "text", "page_content", "Doc"],
)
def test_a_lone_surrogate_in_a_text_is_replaced_and_counted(value: object) -> None:
    """Half an emoji becomes U+FFFD, in a run and in a gold set, and both count it."""
    run = Run.from_documents([[value, "온전한 🙂 글"]])
    assert [doc.text for doc in run["q1"].documents] == ["반쪽 \ufffd", "온전한 🙂 글"]
    assert run.n_replaced_surrogates == 1
    dataset = GoldDataset.from_documents([[value]], queries=["물음 \udc00\udc00"])
    assert dataset["q1"].gold[0].text == "반쪽 \ufffd"
    assert dataset["q1"].text == "물음 \ufffd\ufffd"
    assert dataset.n_replaced_surrogates == 3


@pytest.mark.parametrize(
    "value",
    [
        {"id": "d\ud800"},
        Document.model_construct(id="d\ud800", page_content="글", metadata={}),
        Doc(id="d\ud800"),
    ],
)
def test_a_lone_surrogate_in_an_id_is_replaced_and_counted(value: object) -> None:
    """An id with half a pair is mended just as a text is, in every shape of a document."""
    run = Run.from_documents([[value]])
    assert (run["q1"].documents[0].id, run.n_replaced_surrogates) == ("d\ufffd", 1)


def test_replaced_surrogates_are_counted_in_the_evaluation() -> None:
    """The result adds what was replaced in the gold set and in the run."""
    result = evaluate([["반쪽 \ud83d 글"]], [["반쪽 \udc00 글", "\udc00\udc00"]], match="exact")
    assert result.counts["n_replaced_surrogates"] == 4
    assert result["recall@10"] == 1.0


def caller_owned() -> tuple[object, ...]:
    """Gold and retrieved values of every mutable shape."""
    gold = {
        "a": [{"id": "1", "alternatives": [{"id": "2", "metadata": {"k": [1]}}], "metadata": {}}],
        "b": [Document(id="3", page_content="글 \ud800", metadata={"id": "x", "n": {"m": 1}})],
        "c": {"d2": 1, "d1": 2.0},
    }
    retrieved = {
        "b": [Document(id="3", page_content="글 \ud800"), {"id": 4, "text": "글", "metadata": {}}],
        "a": [{"id": "2"}, {"id": "2"}, {"id": "1"}],
        "c": {"d1": 0.5, "d2": 0.9},
    }
    return gold, retrieved, ["물음 \ud800", "둘", "셋"]


def test_the_callers_values_are_not_changed() -> None:
    """Reading, mending, ranking and evaluating leave lists, mappings and documents as they were."""
    gold, retrieved, queries = caller_owned()
    before = copy.deepcopy((gold, retrieved, queries))
    dataset = GoldDataset.from_documents(gold, queries=queries)
    evaluate(dataset, Run.from_documents(retrieved), match="id")
    evaluate(gold, retrieved, match="id")
    assert (gold, retrieved, queries) == before
    assert [list(value) for value in (gold, retrieved)] == [list(value) for value in before[:2]]


def test_later_changes_of_the_caller_do_not_reach_kragx() -> None:
    """A run that was made keeps its documents when the caller's lists change."""
    metadata = {"page": 1}
    docs = [{"id": "d1", "metadata": metadata}]
    run = Run.from_documents([docs])
    docs.clear()
    metadata["page"] = 2
    assert run["q1"].documents == (Doc(id="d1", metadata={"page": 1}),)
