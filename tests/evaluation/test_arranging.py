"""What a profile does with lists before they are matched, of many at once as of each alone."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from kragx.data import Doc, Query, Retrieved
from kragx.data.batch import Batch
from kragx.data.documents import rank_by_score
from kragx.errors import DataError
from kragx.evaluation.arranging import arranged_batch, match_item
from kragx.metrics.profiles import profile
from tests.thoroughness import examples

TREC, KRAGX = profile("trec"), profile("kragx")
SCORES = st.sampled_from([float("-inf"), -1.0, 0.0, 0.5, 0.5, 2.0, float("inf")])
IDS = st.none() | st.sampled_from(["a", "b", "ab", "\U0001f600", "\uffff", "가"])


def batch(lists: list[list[Doc]]) -> Batch:
    """Questions with these documents; of an empty list nothing says what was retrieved."""
    rows = [
        (None, Query(f"q{n}"), Retrieved(docs) if docs else None) for n, docs in enumerate(lists)
    ]
    return Batch.of(rows)


@st.composite
def scored_or_not(draw: st.DrawFn) -> list[Doc]:
    """A list all of whose documents have a score, or none."""
    scores = SCORES if draw(st.booleans()) else st.none()
    return draw(st.lists(st.builds(Doc, IDS, st.sampled_from("xyz"), score=scores), max_size=6))


@examples(150)
@given(st.lists(scored_or_not(), max_size=5))
def test_many_lists_as_each_alone(lists: list[list[Doc]]) -> None:
    """By score, ties by id descending as UTF-8 bytes; a list without scores stays as it is."""
    for docs, own in zip(lists, batch(lists).docs.ranked().documents(), strict=True):
        scored = [doc.score is not None for doc in docs]
        assert own == (rank_by_score(docs) if any(scored) else tuple(docs))


def test_a_list_of_which_some_have_scores() -> None:
    """It is refused with the question, the first rank that lacks one, and how many have one."""
    docs = [Doc("a", score=1.0), Doc("b"), Doc("c", score=2.0)]
    with pytest.raises(DataError, match=r"'q1': 2 of the list's 3 documents have"):
        arranged_batch(batch([[Doc("a"), Doc("b")], docs]), TREC)
    with pytest.raises(DataError, match="2 of the list's 3"):
        match_item(Query("q"), Retrieved(docs), TREC)


def test_a_document_that_stands_twice() -> None:
    """A profile that refuses it names the question and the document; kragx's keeps both."""
    lists = [[Doc("a")], [Doc("b", score=1.0), Doc("c", score=3.0), Doc("b", score=2.0)]]
    with pytest.raises(DataError, match=r"query 'q1': document 'b' stands twice, which .* 'trec'"):
        arranged_batch(batch(lists), TREC)
    assert arranged_batch(of := batch(lists), KRAGX) is of


def test_one_question() -> None:
    """Its documents in order, with all that they have; one that failed is left alone."""
    docs = (Doc("a", "x", {"page": 1}, 0.5), Doc("b", "y", {}, 0.75))
    assert match_item(Query("q"), Retrieved(docs), TREC).docs == docs[::-1]
    failed = match_item(Query("q"), Retrieved(docs, error="TimeoutError"), TREC)
    assert (failed.docs, failed.status, failed.error) == ((), "failed", "TimeoutError")
