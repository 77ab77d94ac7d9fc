"""Particles and articles beside words that are filled in."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, strategies as st

from kragx import UsageError
from kragx.workshop.questions.templates import josa
from tests.thoroughness import all_cases

PAIRS = ("은/는", "이/가", "을/를", "과/와", "으로/로", "이랑/랑", "이라고/라고")


@all_cases(
    ("word", "forms"),
    [
        ("환불", "환불은 환불이 환불을 환불과 환불로 환불이랑 환불이라고"),
        ("배송", "배송은 배송이 배송을 배송과 배송으로 배송이랑 배송이라고"),
        ("구매", "구매는 구매가 구매를 구매와 구매로 구매랑 구매라고"),
        ("서울", "서울은 서울이 서울을 서울과 서울로 서울이랑 서울이라고"),
        ("제3", "제3은 제3이 제3을 제3과 제3으로 제3이랑 제3이라고"),
        ("제7", "제7은 제7이 제7을 제7과 제7로 제7이랑 제7이라고"),
        ("A4", "A4는 A4가 A4를 A4와 A4로 A4랑 A4라고"),
        ("100", "100은 100이 100을 100과 100으로 100이랑 100이라고"),
        ("SMS", "SMS는 SMS가 SMS를 SMS와 SMS로 SMS랑 SMS라고"),
        ("URL", "URL은 URL이 URL을 URL과 URL로 URL이랑 URL이라고"),
        ("GSM", "GSM은 GSM이 GSM을 GSM과 GSM으로 GSM이랑 GSM이라고"),
        ("반(가)", "반(가)은 반(가)이 반(가)을 반(가)과 반(가)으로 반(가)이랑 반(가)이라고"),
        ("‘구독’", "‘구독’은 ‘구독’이 ‘구독’을 ‘구독’과 ‘구독’으로 ‘구독’이랑 ‘구독’이라고"),
    ],
)
def test_by_hand(word, forms):
    """The form follows the last sound that is spoken: of syllables, digits, letters' names."""
    assert [josa(word, pair) for pair in PAIRS] == forms.split(" ")


def test_nobody_knows():
    """After what has no Korean reading here both forms stand."""
    assert (josa("猫", "은/는"), josa("猫", "으로/로"), josa("?", "이/가")) == (
        "猫은(는)",
        "猫으로(로)",
        "?이(가)",
    )


@given(st.characters(min_codepoint=0xAC00, max_codepoint=0xD7A3), st.booleans())
def test_every_syllable(syllable, decomposed):
    """As the jamo of its decomposition say, in NFD too: three of them are a final consonant."""
    jamo = unicodedata.normalize("NFD", syllable)
    final = jamo[2] if len(jamo) == 3 else ""
    word = "가" + (jamo if decomposed else syllable)
    assert josa(word, "은/는")[-1] == ("은" if final else "는")
    assert josa(word, "으로/로")[2:] == ("으로" if final not in ("", "ᆯ") else "로")


@all_cases("pair", ["은", "은는", "은/", "eun/neun", ""])
def test_no_pair(pair):
    """A single form is an error that shows how both are written."""
    with pytest.raises(UsageError, match="write both forms"):
        josa("환불", pair)
