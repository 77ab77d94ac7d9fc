"""The page cuts texts into words as the tokenizer `unicode` does."""

from __future__ import annotations

import unicodedata
from importlib.resources import files

import pytest
from hypothesis import given, strategies as st

from kragx.data.words import words
from tests.thoroughness import examples

TEXTS = [
    "환불은 7일 안에 신청할 수 있다[1][2].",
    "1,000원과 3.5%, 3.11.7판과 1.234,5 그리고 813,5 1,00,0",
    "C++ c# F# j# xc++ C+ #c A++",
    "「한국어」 〈제목〉 ‘따옴표’ “인용”³ ①㉠㈜ ﾊﾝｶｸ ＦＵＬＬ ｶﾞ",
    "日本語と中文 ภาษาไทย ພາສາ မြန်မာ ខ្មែរ 한자漢字 mixed글자3월",
    "soft\u00adhyphen zero\u200bwidth e\u0301cole Stra\u00dfe \u03a3\u03af\u03c3\u03c5\u03c2",
    "snake_case don't a.b 1.a ١٢٣٫٤ ١٬٠٠٠ ½ x²",
    "👩‍👩‍👧 이모지 ❤️ 𝔘𝔫𝔦 𠮷野家",
    "ㄱㄴㄷ 가\u11a8 \u1112\u1161\u11ab",
]
ALPHABET = (
    "가나다각힣 aAzZßσς019.,+#cCfF_-[]()「」·é\u0301漢かคำ်က١\u200b\u00ad\u1112\u1161\u11ab²①Ａ"
)


@pytest.fixture(scope="module")
def of_page(chromium):
    """The page's words of texts: of each the word and the place of its letters."""
    source = files("kragx.report.html_page").joinpath("script/shared_words.js").read_text("utf-8")
    page = chromium.new_page()
    page.evaluate(f"void (window.wordsOf = (() => {{ {source}; return words; }})())")

    def ask(texts):
        called = "texts => texts.map((text) => wordsOf(text).map(({word, from, to}) =>"
        return page.evaluate(f"{called} [word, text.slice(from, to)]))", list(texts))

    yield ask
    page.close()


@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKC"])
def test_the_same_words(of_page, form):
    """Hangul in pieces, citation marks, numbers, C++, scripts without spaces, full width."""
    texts = [unicodedata.normalize(form, text) for text in TEXTS]
    for text, found in zip(texts, of_page(texts), strict=True):
        assert [word for word, _ in found] == words(text)


@examples(100)
@given(texts=st.lists(st.text(ALPHABET, max_size=24), min_size=1, max_size=20))
def test_the_same_words_of_any_text(of_page, texts):
    """Of letters, digits, marks and signs in any order."""
    for text, found in zip(texts, of_page(texts), strict=True):
        assert [word for word, _ in found] == words(text), ascii(text)


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_a_word_stands_where_it_is_marked(of_page, form):
    """The letters that are marked make that word, and none of their neighbours."""
    for found in of_page(unicodedata.normalize(form, text) for text in TEXTS[:6]):
        assert found
        for word, letters in found:
            assert words(letters) == [word]
