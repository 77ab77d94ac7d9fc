"""Texts made from one template: told apart by `siblings: apart`, and warned of without it."""

from __future__ import annotations

import runpy
import unicodedata
import warnings
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from kragx import evaluate, matcher
from kragx.matchers import MatchWarning
from tests.matchers.support import decided, scored
from tests.thoroughness import examples, some

APART = {"method": "overlap", "siblings": "apart"}
SCRIPT = Path(__file__).parents[2] / "examples" / "template_corpora.py"
GOLD = "Goods of Blue Mart can be sent back within 14 days of their delivery free of charge"
WORDS = st.lists(st.sampled_from([f"w{number}" for number in range(40)]), min_size=6, max_size=40)


@pytest.fixture(scope="module")
def corpora() -> dict[str, Any]:
    """The names of examples/template_corpora.py."""
    return runpy.run_path(str(SCRIPT), run_name="example")


@pytest.mark.parametrize(
    ("doc", "score"),
    [
        (GOLD, 1.0),
        (f"Our terms follow here in full. {GOLD}. Food is not taken back.", 1.0),
        (GOLD.replace("14", "30"), 0.0),
        (GOLD.replace("Blue", "Red Star"), 0.0),
        (GOLD.replace(" free", ", seals unbroken, free"), 15 / 16),  # a pair is torn
        (GOLD.replace("delivery", "de livery"), 14 / 16),
        (f"oods {GOLD.split(' ', 1)[1]}", 15 / 16),  # a chunk's end cut the first word
        (f"Sods {GOLD.split(' ', 1)[1]}", 0.0),
        ("", 0.0),
        ("delivery", 0.0),
    ],
)
@pytest.mark.filterwarnings("ignore::kragx.matchers.MatchWarning")
def test_by_hand(doc: str, score: float) -> None:
    """Other words between the same words make it no match; more words, or a cut one, do not."""
    assert scored(matcher(APART), [doc], [GOLD])[0, 0] == pytest.approx(score)


def test_korean() -> None:
    """Names and numbers in one word with their particles; NFD is the same text."""
    gold = "한빛마트는 상품을 받은 날부터 14일 안에 반품을 신청하면 배송비를 돌려 드립니다"
    docs = [
        unicodedata.normalize("NFD", gold),
        gold.replace("14", "30"),
        gold.replace("한빛", "미래"),
    ]
    assert decided(APART, docs, [gold]) == [[True], [False], [False]]


@examples(100)
@given(WORDS, WORDS, st.data())
def test_a_chunk_of_the_same_text_scores_as_much_as_it_shares(
    before: list[str], after: list[str], data: st.DataObject
) -> None:
    """Cut from one text of distinct words, the score is the overlap; it never exceeds that."""
    text = [f"{word}x{place}" for place, word in enumerate([*before, *after])]
    a = data.draw(st.integers(0, len(text) - 6))
    b = data.draw(st.integers(0, len(text) - 6))
    gold, doc = " ".join(text[a : a + 12]), " ".join(text[b : b + 9])
    overlap = {"method": "overlap"}
    assert scored(matcher(APART), [doc], [gold]) == pytest.approx(
        scored(matcher(overlap), [doc], [gold])
    )
    loose = " ".join(before), " ".join(after)
    apart = scored(matcher(APART), [loose[0]], [loose[1]])
    assert apart <= scored(matcher(overlap), [loose[0]], [loose[1]]) + 1e-12


def test_no_company_and_no_order() -> None:
    """A pair's score is the same alone and among others, in any order."""
    docs = [GOLD, GOLD.replace("14", "30"), "something else about cars and trains", GOLD * 100]
    golds = [GOLD, GOLD.replace("Blue", "Red"), GOLD.replace("delivery", "order")]
    together = scored(matcher(APART), docs, golds)
    backwards = scored(matcher(APART), docs[::-1], golds[::-1])
    assert (backwards[::-1, ::-1] == together).all()
    for row, doc in enumerate(docs):
        for column, gold in enumerate(golds):
            assert scored(matcher(APART), [doc], [gold])[0, 0] == together[row, column]


def test_many_and_repeated() -> None:
    """The same text a hundred times, and one of ten thousand words, are read in no time."""
    long = " ".join(f"{word} {number % 7}" for number in range(400) for word in GOLD.split())
    scores = scored(matcher(APART), [*[GOLD] * 100, long, GOLD * 500], [GOLD, long])
    assert (scores[:100, 0] == 1).all()
    assert scores[100, 1] == 1


@pytest.mark.parametrize(
    "kind", some(["policies, Korean", "policies, English", "products, English"], 3)
)
def test_templates_are_found_out(corpora: dict[str, Any], kind: str) -> None:
    """One warning that names the option; with the option F1 is above .8 and no warning comes."""
    made = corpora["retrieval"](kind, 600, 300)
    with pytest.warns(MatchWarning, match="made from templates.*siblings: apart") as caught:
        evaluate(made.gold, made.retrieved)
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        said = list(corpora["decided"](made, APART))
    pairs = [pair for a, t in zip(said, made.truth) for pair in zip(a, t)]
    assert corpora["agreement"](pairs)[2] > 0.8


def test_other_texts_are_not() -> None:
    """Neither texts of their own nor edited ones make a warning."""
    golds = [" ".join(f"{word}{number}" for word in GOLD.split()) for number in range(40)]
    edited = [" ".join("xyz" if i == 8 else w for i, w in enumerate(g.split())) for g in golds]
    for docs in (golds, edited):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            evaluate([[gold] for gold in golds], [[doc, "another text of cars"] for doc in docs])


@pytest.mark.integration
def test_every_corpus_and_size(corpora: dict[str, Any]) -> None:
    """F1 of at least .80 in each corpus at each size, and MRR within .1 of the truth."""
    for kind in corpora["CORPORA"]:
        for size in corpora["SIZES"]:
            made = corpora["retrieval"](kind, *size)
            said = list(corpora["decided"](made, APART))
            pairs = [pair for a, t in zip(said, made.truth) for pair in zip(a, t)]
            assert corpora["agreement"](pairs)[2] >= 0.8, (kind, size)
            assert corpora["mrr"](said) == pytest.approx(corpora["mrr"](made.truth), abs=0.1)
