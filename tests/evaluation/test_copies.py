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


def quoted(question):
    """Each text stands in the terms and in the FAQ, which their ids say."""
    return [
        {**doc, "id": f"{source}-{doc['id'][1:]}"}
        for doc in once(question)
        for source in ("terms", "faq")
    ]


def of_sources(question):
    """The same where metadata say it, and ids nothing."""
    return [
        {**doc, "id": f"{number}{doc['id']}", "metadata": {"source": source, "chunk": number}}
        for doc in once(question)
        for number, source in enumerate(("terms.pdf", "faq.pdf"))
    ]


def banners(question):
    """Two of a list's eight texts stand under two ids, which say nothing."""
    others = [{"id": f"x{at}", "text": f"{question} {at}"} for at in range(2)]
    return [*once(question), *others, *twice(question)[:4]]


@pytest.mark.parametrize(
    "retriever",
    [
        some(3),
        filler,
        without_ids,
        lambda question: twice(question)[:3],
        quoted,
        of_sources,
        banners,
    ],
)
def test_what_is_no_sign_of_it(retriever):
    """Texts that stand in several places, repeats that are known as such, short lists."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        retrieve(retriever, GOLD)


def test_copies_with_metadata():
    """Whatever was made anew with the second filling, source and page are the same in both."""

    def filled(question):
        return [
            {
                "id": f"{doc['id']}{copy}",
                "text": doc["text"],
                "metadata": {"source": "terms.pdf", "page": int(doc["id"][1:]) // 2, "uid": copy},
            }
            for doc in once(question)
            for copy in (f"{doc['id']}x", f"{doc['id']}y")
        ]

    with pytest.warns(CopiesWarning):
        retrieve(filled, GOLD)


def test_few_questions():
    """Two answers may have copies by chance."""
    few = GoldDataset.from_documents([[text] for text in TEXTS[:2]], queries=TEXTS[:2])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        retrieve(twice, few)
