"""Word leak: how much of a question stands in its source."""

from __future__ import annotations

import sys
import unicodedata

import pytest
from hypothesis import given, strategies as st

from kragx.workshop.questions import leak, mean_leak
from kragx.workshop.questions.words import content_words
from tests.thoroughness import examples

SOURCE = "인터넷으로 물건을 산 소비자는 7일 안에 청약을 철회할 수 있다. 운송인의 책임도 같다."


@pytest.fixture
def no_kiwi(monkeypatch):
    """As where kiwipiepy is not installed."""
    monkeypatch.setitem(sys.modules, "kiwipiepy", None)
    content_words.cache_clear()
    yield
    content_words.cache_clear()


@pytest.mark.parametrize(
    ("question", "words", "share"),
    [
        # 소비자, 청약, 철회 are there; 알리다 merely asks.
        ("소비자의 청약 철회를 알려 주세요", {"소비자", "청약", "철회"}, 1.0),
        ("소비자가 마음을 바꾸면 어떻게 되나요?", {"소비자", "마음", "바꾸"}, 1 / 3),
        ("환불", {"환불"}, 0.0),
        ("어떻게 하나요?", set(), None),
    ],
)
def test_korean_by_hand(question, words, share):
    """Of nouns and verbs, whatever stands behind them; a question of none has no leak."""
    assert content_words(question) == words
    assert leak(question, [SOURCE]) == share


def test_english_by_hand():
    """The commonest words count nowhere, case and the plural of a word do not matter."""
    source = "Opened boxes, the prepaid LABEL and two policies."
    assert content_words(source) == {"opened", "box", "prepaid", "label", "two", "policy"}
    assert leak("Could you tell me about labels, please?", [source]) == 1.0
    assert leak("Which policy is about my label and my invoice?", [source]) == 2 / 3


def test_several_sources():
    """What any source has counts: half from each is all of it copied."""
    assert leak("the ferry and the gift card", ["A ferry.", "A gift card."]) == 1.0
    assert leak("the ferry and the gift card", ["A ferry."]) == 1 / 3
    assert leak("the ferry", []) == 0.0


def test_cut_in_another_way():
    """A word that Kiwi cuts up in the text alone is in the text."""
    assert leak("운송인의 책임", [SOURCE]) == 1.0


def test_forms_of_unicode():
    """A text in NFD, and with more white space, is the same text."""
    decomposed = unicodedata.normalize("NFD", SOURCE).replace(" ", "\n ")
    assert leak("운송인의 책임, 청약", [decomposed]) == 1.0
    assert leak(unicodedata.normalize("NFD", "운송인의 책임, 청약"), [SOURCE]) == 1.0


def test_without_kiwi(no_kiwi):
    """Words lose the particle or ending that they end in, if two syllables are left."""
    assert content_words("소비자는 청약을 철회했나요") == {"소비자", "청약", "철회"}
    assert leak("소비자의 청약에 세금이", [SOURCE]) == 2 / 3


@given(st.lists(st.sampled_from(("ferry", "boat", "card", "label", "box", "배송", "환불"))))
def test_slow_reference(chosen):
    """The share of the distinct words that stand in the source."""
    source = "The ferry, a label; 배송 and a policy"
    distinct = {*chosen}
    expected = (
        len(distinct & {"ferry", "label", "배송", "policy"}) / len(distinct) if chosen else None
    )
    assert leak(" ".join(chosen), [source]) == pytest.approx(expected)


@examples(60)
@given(st.text(), st.lists(st.text(), max_size=2))
def test_any_text(question, sources):
    """A share or nothing; the question itself as a source has all of it."""
    share = leak(question, sources)
    assert share is None or 0 <= share <= 1
    assert leak(question, [*sources, question]) == (None if share is None else 1.0)


def test_mean():
    """Of those that are known."""
    assert (mean_leak([0.5, None, 1.0]), mean_leak([None]), mean_leak([])) == (0.75, None, None)
