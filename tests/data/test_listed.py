"""Lists of documents in Python: in blocks where they are plain, with the results of any others."""

from __future__ import annotations

import warnings
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, strategies as st
from langchain_core.documents import Document

from kragx import DataError, Doc, Gold, GoldDataset, Run, evaluate
from kragx.data import listed as module
from kragx.data.block import Block
from kragx.data.listed import Listed
from tests.thoroughness import examples

WORDS = [
    "sea",
    "the sea",
    "big red bus",
    "The  sea",
    "바다",
    "\u1107\u1161\u1103\u1161",
    "그 바다 위",
    "",
    "-",
]
TEXTS = st.sampled_from(WORDS)
GOLD_TEXTS = TEXTS.filter(str.strip)
IDS = st.none() | st.sampled_from(["a", "b"])
METADATA = st.sampled_from([{}, {"page": 1}])
KINDS: list[st.SearchStrategy[Any]] = [
    TEXTS,
    st.builds(Document, TEXTS, id=IDS, metadata=METADATA),
    st.fixed_dictionaries(
        {"text": TEXTS}, optional={"id": st.sampled_from("ab"), "score": st.floats(0, 1)}
    ),
]
MATCHES = ["rouge1", "rouge2", "rougeL", "overlap", "phrase", "exact"]
QUESTIONS = st.sampled_from(KINDS).flatmap(
    lambda kind: st.lists(
        st.tuples(st.lists(GOLD_TEXTS, max_size=2), st.lists(kind, max_size=4)),
        min_size=1,
        max_size=5,
    )
)


def said(golds: Any, run: Any, match: str) -> tuple[Any, ...]:
    """All that an evaluation says, or its error, and what it warns of."""
    metrics = ["recall@2", "ndcg@3", "precision", "hit_rate"]
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            result = evaluate(golds, run, match=match, metrics=metrics)
        except DataError as error:
            return ("error", str(error))
    return result.query_ids, result.to_dict(queries=True), {str(own.message) for own in warned}


def by_query(lists: list[Any]) -> dict[str, Any]:
    """Lists under the ids that questions have in a plain list."""
    return {f"q{number}": own for number, own in enumerate(lists, start=1)}


@pytest.mark.integration
@examples(200)
@given(
    questions=QUESTIONS, match=st.sampled_from(MATCHES), at_once=st.sampled_from([1, 2, 1 << 10])
)
def test_lists_say_what_a_run_of_them_says(questions: Any, match: str, at_once: int) -> None:
    """Lists are evaluated as a `Run` made of them is, whose documents are objects.

    In the order of the gold set or by query id, with repeats, ids, scores, empty lists, gold of one
    word, other Unicode forms and questions without gold, however many questions a block has.
    """
    golds, lists = (list(own) for own in zip(*questions, strict=True))
    with patch.object(module, "_AT_ONCE", at_once):
        of_lists = said(golds, lists, match)
        by_id = said(by_query(golds), by_query(lists), match)
    assert of_lists == by_id == said(golds, Run.from_documents(lists), match)


def test_scores_are_read_where_a_profile_orders_by_them() -> None:
    """Under trec a list goes by its scores, also where it came as plain mappings."""
    lists = [[{"id": "a", "text": "x", "score": 0.1}, {"id": "b", "text": "y", "score": 0.9}]]
    result = evaluate([["y"]], lists, match="exact", profile="trec", metrics=["recip_rank"])
    assert result["recip_rank"] == 1.0


DATASET = GoldDataset.from_documents([["sea"]])


def test_blocks_hold_the_questions_in_order() -> None:
    """Each block has so many questions; their texts are numbers of known ones."""
    dataset = GoldDataset.from_documents([["sea"], [], ["bus", "sea"]])
    lists = [["sea", "red"], ["sea"], []]
    with patch.object(module, "_AT_ONCE", 2):
        listed = Listed.of(dataset, lists)
        assert listed is not None
        blocks = [*listed.blocks()]
        rows = [*listed]
    assert [own.query_ids for own in blocks] == [["q1", "q2"], ["q3"]]
    assert [own.docs.texts[0] for own in blocks] == [["sea", "red"], []]
    assert [own.golds.texts[0] for own in blocks] == [["sea"], ["bus", "sea"]]
    assert all(isinstance(own, Block) for own in blocks)
    assert [query for _, query, _ in rows] == [*dataset]
    assert [[doc.text for doc in own.documents] for _, _, own in rows if own] == lists


@pytest.mark.parametrize(
    ("lists", "gold"),
    [
        pytest.param([], [], id="a list too few"),
        pytest.param({"q2": ["sea"]}, [], id="another question"),
        pytest.param([{"sea": 1.0}], [], id="scores by id"),
        pytest.param(["sea"], [], id="a text in place of a list"),
        pytest.param([[{"id": "a"}]], [], id="an id alone"),
        pytest.param([[Doc(text="sea")]], [], id="documents of kragx"),
        pytest.param([["sea", Document("sea")]], [], id="two kinds"),
        pytest.param([[("sea", 0.5)]], [], id="pairs with a score"),
        pytest.param([["\ud800"]], [], id="something to mend"),
        pytest.param([[{"text": "sea", "metadata": 5}]], [], id="metadata that is none"),
        pytest.param([["sea"]], [Gold(id="a")], id="gold without a text"),
        pytest.param([["sea"]], [Gold(text="a", alternatives=(Doc(text="b"),))], id="alternatives"),
    ],
)
def test_what_is_not_plain_is_left_to_others(lists: Any, gold: list[Gold]) -> None:
    """What takes more than a look at each field, or is an error, makes no blocks."""
    dataset = GoldDataset.from_documents([gold]) if gold else DATASET
    assert Listed.of(dataset, lists) is None


def test_documents_may_change_afterwards() -> None:
    """What was evaluated stays what it was when a document of the caller changes."""
    document = Document("the big sea")
    result = evaluate([["the big sea"]], [[document]], match="rouge2", metrics=["recall@1"])
    document.page_content = "bus"
    assert result.queries == {"q1": {"recall@1": 1.0}}
