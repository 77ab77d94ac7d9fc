"""Stores that were filled twice: the same texts under different ids."""

from __future__ import annotations

import warnings

import pytest

from kragx import GoldDataset, evaluate, retrieve
from kragx.evaluation.copies import CopiesWarning

TEXTS = [f"{number}번 규정은 {number}일 안에 신청한다" for number in range(6)]
GOLD = GoldDataset.from_documents([[text] for text in TEXTS], queries=TEXTS)


def once(question):
    """The text that is asked for, then three others."""
    place = TEXTS.index(question)
    return [{"id": f"d{at}", "text": TEXTS[at]} for at in range(place, place - 4, -1)]


def twice(question):
    """The same of a store in which each text stands under two ids."""
    return [{**doc, "id": f"{doc['id']}-{copy}"} for doc in once(question) for copy in "ab"]


def test_a_store_that_was_filled_twice():
    """Its ids are shown, what it does to the numbers, and what to do."""
    said = r"twice: in 6 of 6 answers .*'d0-a' and 'd0-b'.*anew"
    with pytest.warns(CopiesWarning, match=said) as warned:
        result = evaluate(GOLD, twice, match="exact", metrics=["precision@2", "recall@2"])
    assert warned[0].filename == __file__  # where it was asked for
    assert result.mean == {"precision@2": 1.0, "recall@2": 1.0}
    assert evaluate(GOLD, once, match="exact", metrics=["precision@2"])["precision@2"] == 0.5


async def _awaited(question):
    return twice(question)


@pytest.mark.parametrize("concurrency", [1, 3])
def test_however_it_is_asked(concurrency):
    """Awaited and in threads as well."""
    for retriever in (twice, _awaited):
        with pytest.warns(CopiesWarning):
            retrieve(retriever, GOLD, concurrency=concurrency)


def some(n):
    """A store that was filled with n of the texts twice."""
    return lambda question: (twice if TEXTS.index(question) < n else once)(question)


def filler(question):
    """One text under many ids, behind what was asked for: a test's, not a store's."""
    return [*once(question)[:1], *({"id": f"n{at}", "text": "비었음"} for at in range(5))]


def without_ids(question):
    """Documents that are known by their texts: the second of two is a repeat, and is counted."""
    return [{"text": doc["text"]} for doc in twice(question)]


@pytest.mark.parametrize(
    "retriever", [some(3), filler, without_ids, lambda question: twice(question)[:3]]
)
def test_what_is_no_sign_of_it(retriever):
    """Texts that stand in several places, repeats that are known as such, short lists."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        retrieve(retriever, GOLD)


def test_few_questions():
    """Two answers may have copies by chance."""
    few = GoldDataset.from_documents([[text] for text in TEXTS[:2]], queries=TEXTS[:2])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        retrieve(twice, few)
