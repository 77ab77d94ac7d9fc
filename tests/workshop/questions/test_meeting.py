"""Where a question's words stand in a text."""

from __future__ import annotations

import sys
import unicodedata

import pytest

from kragx.workshop.questions.words import _placed, content_words, word_places
from tests.thoroughness import all_cases

TEXT = "소비자는 물건을 받은 날부터 7일 안에 청약철회를 할 수 있다. 환불은 사흘 뒤에 한다."


@pytest.fixture
def no_kiwi(monkeypatch):
    """As where kiwipiepy is not installed."""
    monkeypatch.setitem(sys.modules, "kiwipiepy", None)
    for cached in (content_words, _placed):
        cached.cache_clear()
    yield
    for cached in (content_words, _placed):
        cached.cache_clear()


def places(question, text):
    """The stretches themselves."""
    return [text[start:end] for start, end in word_places(question, text)]


@pytest.mark.parametrize(
    ("question", "text", "stretches"),
    [
        ("청약을 철회하면 환불은 언제인가요?", TEXT, ["청약", "철회", "환불"]),
        ("어떻게 하나요?", TEXT, []),
        ("청약을 철회하고 싶어요", unicodedata.normalize("NFD", "청약을 철회"), ["청약을", "철회"]),
        ("환불 B2B", "B2B 환불 😀 환불", ["B", "2", "B", "환불", "환불"]),
    ],
)
def test_korean_by_hand(question, text, stretches):
    """The word alone without its particle, in every place; who merely asks has none."""
    own = [unicodedata.normalize("NFC", one) for one in places(question, text)]
    assert own == stretches


@all_cases(
    ("question", "text", "stretches"),
    [
        ("May I return an opened box?", "Opened boxes are returned, or BOX by box.", 5),
        ("When was it cancelled?", "To cancel, call us: cancelling is free.", 2),
        ("Are charges refunded?", "We charge nothing, and refunds are charged to us.", 3),
        ("What is in C++ 3.5?", "C++ 3.5, not C++ 35.", 3),
        ("May I have it?", "It is what you may have.", 0),
    ],
)
def test_english_by_hand(question, text, stretches):
    """Plurals and the commonest endings meet; words that everybody uses do not count."""
    assert len(places(question, text)) == stretches


def test_without_kiwi_a_word_with_its_particle(no_kiwi):
    """The whole word is underlined."""
    assert places("청약을 환불과 철회", TEXT) == ["환불은"]
    assert places("소비자가 환불을", TEXT) == ["소비자는", "환불은"]
