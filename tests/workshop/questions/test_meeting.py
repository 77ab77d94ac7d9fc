"""Where a question's words stand in a text."""

from __future__ import annotations

import sys
import unicodedata

import pytest
from hypothesis import given, strategies as st

from kragx.workshop.questions.words import WINDOW, Meetings, _densest, _placed, content_words
from tests.thoroughness import all_cases, examples

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


def places(question, text, texts=()):
    """The stretches themselves."""
    return [text[start:end] for start, end in Meetings(texts).of(question, text).spans]


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


def test_what_stands_in_most_texts_is_no_sign():
    """Unless there is nothing else, or there are too few texts to tell."""
    texts = [f"소비자 {number}" for number in range(40)]
    assert places("소비자의 환불", TEXT, texts) == ["환불"]
    assert places("소비자의 냉장고", TEXT, texts) == []
    assert places("소비자", TEXT, texts) == ["소비자"]
    assert places("소비자의 환불", TEXT, texts[:29]) == ["소비자", "환불"]


WORDS = ("apple", "pear", "plum", "zzz " * 20)


@given(st.lists(st.sampled_from(WORDS), max_size=40))
@examples(100)
def test_the_densest_stretch_as_a_slow_search_has_it(parts):
    """Of all stretches that begin with a place the first that has most different words."""
    text = " ".join(parts)
    own = Meetings(()).of("apple pear plum", text)
    counts = [
        len({text[a:b] for a, b in own.spans if start <= a and b <= start + WINDOW})
        for start, _ in own.spans
    ]
    most = max(counts, default=0)
    assert own.densest == (counts.index(most) if most > 1 else None)
    assert [text[a:b] for a, b in own.spans] == [one for one in parts if one in WORDS[:3]]


class Read(list):
    """Counts how many of its items are read."""

    n = 0

    def __getitem__(self, key):
        part = super().__getitem__(key)
        self.n += len(part) if isinstance(key, slice) else 1
        return part


def test_a_long_text_is_read_window_by_window():
    """Of each place only what lies within its stretch is looked at, however long the text is."""
    places = Read((at, at + 5, "apple") for at in range(0, 12_000, 6))
    assert _densest(places) is None
    assert places.n <= len(places) * (WINDOW // 6 + 2)
