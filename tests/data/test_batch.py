"""Batches of objects, of lists in Python, and of scores by id."""

from __future__ import annotations

import warnings
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, strategies as st
from langchain_core.documents import Document

from kragx import DataError, Doc, Gold, GoldDataset, Query, Retrieved, Run, evaluate
from kragx.data import batch as batch_module, scored as module
from kragx.data.batch import batches_of, in_rows
from kragx.data.scored import Scored
from tests.thoroughness import all_cases, examples

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
    word, other Unicode forms and questions without gold, however many questions a batch has.
    """
    golds, lists = (list(own) for own in zip(*questions, strict=True))
    with patch.object(module, "AT_ONCE", at_once):
        of_lists = said(golds, lists, match)
        by_id = said(by_query(golds), by_query(lists), match)
    assert of_lists == by_id == said(golds, Run.from_documents(lists), match)


def test_scores_are_read_where_a_profile_orders_by_them() -> None:
    """Under trec a list goes by its scores, also where it came as plain mappings."""
    lists = [[{"id": "a", "text": "x", "score": 0.1}, {"id": "b", "text": "y", "score": 0.9}]]
    result = evaluate([["y"]], lists, match="exact", profile="trec", metrics=["recip_rank"])
    assert result["recip_rank"] == 1.0


QUERIES = [
    Query("q1", "Where?", (Gold("g", "sea", 2.0), Gold(text="bus"))),
    Query("q2"),
    Query("q3", gold=(Gold(alternatives=(Doc("d", "sea"),)),), answerable=None, reference="x"),
]
ANSWERS = [
    Retrieved((Doc("d", "sea", {"page": 1}, 0.5), Doc(text="red")), 0.1),
    None,
    Retrieved(error="TimeoutError: late"),
]


def test_a_batch_holds_its_questions_in_order() -> None:
    """What it was made of comes out of it; texts are numbers of known ones."""
    rows = [*zip([1, 2, 3], QUERIES, ANSWERS)]
    with patch.object(batch_module, "AT_ONCE", 2):
        batches = [*batches_of(rows)]
    assert [[*batch.query_ids] for batch in batches] == [["q1", "q2"], ["q3"]]
    assert [*in_rows(batches)] == rows
    first, second = batches
    assert first.docs.texts[0] == ["sea", "red"]
    assert first.golds.texts[0] == ["sea", "bus"]
    assert first.docs.ids == ["d", None]
    assert first.statuses == ["answered", "missing"]
    assert second.statuses == ["failed"]
    assert second.errors == {0: "TimeoutError: late"}
    assert not second.have_texts


@given(
    st.dictionaries(
        st.sampled_from(["q1", "q2", "q3"]),
        st.tuples(
            st.dictionaries(st.sampled_from("abcd"), st.integers(-1, 3)),
            st.dictionaries(st.sampled_from("abcde"), st.integers(0, 3) | st.floats(-1, 1)),
        ),
        min_size=1,
    ),
    st.sampled_from([1, 1 << 10]),
)
@examples(100)
def test_scores_by_id_are_a_gold_set_and_a_run(content: Any, at_once: int) -> None:
    """Mappings give the questions and rankings that `GoldDataset` and `Run` make of them."""
    qrels = {query_id: golds for query_id, (golds, _) in content.items()}
    run = {query_id: docs for query_id, (_, docs) in content.items()}
    scored = Scored.of(qrels, run)
    assert scored is not None
    with patch.object(module, "AT_ONCE", at_once):
        rows = [*scored]
    results = Run.from_documents(run).results
    assert [query for _, query, _ in rows] == [*GoldDataset.from_documents(qrels)]
    assert [answer and answer.documents for _, _, answer in rows] == [
        results[query_id].documents for query_id in qrels
    ]


@all_cases(
    ("qrels", "run"),
    [
        ({}, {"q": {"a": 1}}),
        ({"q": {"a": 1}}, {"q": ["a"]}),
        ({"q": {"": 1}}, {"q": {"a": 1}}),
        ({" ": {"a": 1}}, {"q": {"a": 1}}),
        ({1: {"a": 1}}, {1: {"a": 1}}),
    ],
)
def test_what_is_no_score_by_id_is_left_to_others(qrels: Any, run: Any) -> None:
    """What is no mapping of numbers by ids is read with every check, which says what is wrong."""
    assert Scored.of(qrels, run) is None


def test_documents_may_change_afterwards() -> None:
    """What was evaluated stays what it was when a document of the caller changes."""
    document = Document("the big sea")
    result = evaluate([["the big sea"]], [[document]], match="rouge2", metrics=["recall@1"])
    document.page_content = "bus"
    assert result.queries == {"q1": {"recall@1": 1.0}}
