"""Duplicates in logs: what is folded, and what never is."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given, strategies as st

from kragx.workshop.logs.folding import fold, key_of
from kragx.workshop.logs.wording import exact, gist, is_misspelling, joined

ALIKE = (
    ("How do I reset my password?", "how can i reset the password", "How to reset password"),
    ("How do I reset my password?", "Hi, can you tell me how to reset my password, please?"),
    ("What is the refund policy?", "what's the refund policy"),
    ("What is the refund policy?", "Please tell me what the refund policy is"),
    ("I can't log in", "I cannot login", "can not log in!"),
    ("Do I need an e-mail account?", "do we need an email account"),
    ("환불은 어떻게 하나요?", "환불 어떻게 해요", "안녕하세요, 환불 어떻게 합니까"),
    ("환불 방법 알려줘", "환불 방법을 알려주세요!", "환불 방법이 궁금합니다"),
    ("환불 방법 알려줘", "환불방법 문의드립니다"),
    ("배송이 언제 되나요?", "배송은 언제 됩니까", "배송 언제 돼요"),
    ("가격이 얼마예요?", "가격은 얼마인가요", "가격 얼마죠"),
    ("환불 규정이 뭐예요", "환불 규정은 무엇인가요?"),
    ("손해배상 청구권 기간", "손해 배상 청구권기간"),
    ("연차가 15일 이상이면", "연차가 15 일 이상이면", "연차가 １５일 이상이면"),
    ("1,000원 환불", "1000원 환불"),
)  # fmt: skip

APART = (
    ("연차가 15일인가요", "연차가 16일인가요"),
    ("is it free after 3.5 hours", "is it free after 35 hours"),
    ("무료 배송은 3만원부터인가요", "무료 배송은 5만원부터인가요"),
    ("이십이 일 안에 환불", "이십일 안에 환불"),
    ("한 달 이내 환불", "두 달 이내 환불"),
    ("삼월부터 적용되나요", "사월부터 적용되나요"),
    ("영수증 없이 환불되나요", "영수증으로 환불되나요"),
    ("환불이 되나요", "환불이 안 되나요"),
    ("환불되나요", "환불 안되나요"),
    ("가입할 수 있나요", "가입할 수 없나요"),
    ("신청하지 못하나요", "신청하나요"),
    ("제750조는 무엇인가요", "제751조는 무엇인가요"),
    ("Can I return it", "Can't I return it"),
    ("can i return it with a receipt", "can i return it without a receipt"),
    ("is shipping free", "is shipping not free"),
    ("is shipping free", "isnt shipping free"),
    ("all items except shoes", "all items shoes"),
    ("open on Monday", "open on Sunday"),
    ("report of June", "report of July"),
    ("two adults", "three adults"),
    ("World War I", "World War"),
    ("World War I", "World War II"),
    ("vitamin A dosage", "vitamin dosage"),
    ("-5도에서 보관", "5도에서 보관"),
    ("5% off", "5 off"),
    ("$100 fee", "€100 fee"),
    ("flights from Seoul to Busan", "flights from Busan to Seoul"),
    ("9 am opening", "9 pm opening"),
    ("오늘 배송되나요", "내일 배송되나요"),
    ("고양이 병원", "고양 병원"),
    ("notable case", "not able case"),
    ("개가 사람을 물면", "사람이 개를 물면"),
)


def _fold(texts, asks=None):
    n = len(texts)
    counts = np.array(asks or [1] * n)
    return fold(texts, np.arange(n), np.zeros(n, np.uint64), counts)


@pytest.mark.parametrize("texts", ALIKE, ids=lambda texts: texts[0])
def test_alike(texts):
    """Wordings of one question are one, with their sum, by the words of the most frequent."""
    folded = _fold(texts, [*range(1, len(texts) + 1)])
    assert folded.asks.tolist() == [sum(range(1, len(texts) + 1))]
    assert folded.wordings.tolist() == [len(texts) - 1]


@pytest.mark.parametrize("pair", APART, ids=lambda pair: pair[1])
def test_apart(pair):
    """What differs in a number, a date, a negation or who does what stays two questions."""
    assert len(_fold(pair).keys) == 2


_COUNTED = (
    *("환불은 {}일 안에 되나요", "{}만원 이상이면 무료인가요", "제{}조를 알려줘"),
    *("{}월 {}일에 배송되나요", "refund within {} days?", "what does article {} say"),
    *("is {}% enough", "order {} status"),
)
_DENIED = (
    *(("{}이 되나요", "{}이 안 되나요"), ("{}을 할 수 있나요", "{}을 할 수 없나요")),
    *(("{} 있이 되나요", "{} 없이 되나요"), ("{}을 신청했나요", "{}을 신청하지 못했나요")),
    *(("can i get {}", "can't i get {}"), ("does it come with {}", "does it come without {}")),
    *(("is {} included", "is {} not included"), ("everything and {}", "everything except {}")),
)
_NOUNS = (
    "환불",
    "배송",
    "교환",
    "쿠폰",
    "보증서",
    "영수증",
    "a refund",
    "shipping",
    "a receipt",
    "insurance",
)


def test_500_pairs():
    """Of 500 pairs that differ in one number, date or negation at most 5 are folded: none is."""
    pairs = [
        (form.format(n, n), form.format(n + step, n))
        for form in _COUNTED
        for n in range(1, 22)
        for step in (1, 9)
    ]
    pairs += [(a.format(noun), b.format(noun)) for a, b in _DENIED for noun in _NOUNS]
    days = ("오늘", "내일", "어제", "월요일", "화요일", "3월", "4월", "작년", "올해", "내년")
    pairs += [(f"{a} 매출", f"{b} 매출") for a in days for b in days if a != b]
    assert len(pairs) >= 500
    assert sum(len(_fold(pair).keys) == 1 for pair in pairs) == 0


def test_misspellings():
    """A word that few have, one letter off one that many have, is that one; not a number's word."""
    common = [f"password reset {place}" for place in range(12)]
    folded = _fold([*common, "pasword reset 3", "password rest 4"])
    assert len(folded.keys) == 12 + 1  # rest is too short a word to be sure of
    assert folded.groups[12] == folded.groups[3]
    assert is_misspelling("비밀번허", "비밀번호")
    assert is_misspelling("recieve", "receive")
    for pair in (("seventen", "seventeen"), ("사월부터", "삼월부터"), ("tuesday", "thursday")):
        assert not is_misspelling(*pair)
    assert not is_misspelling("불가능한", "가능한가")
    assert not is_misspelling("inactive", "active")


def test_no_chain():
    """Of three words each a letter apart from the next, the ends are not folded together."""
    texts = [*(f"lending page {n}" for n in range(120)), *(f"landing page {n}" for n in range(11))]
    folded = _fold([*texts, "landng page 3"])
    assert len(folded.keys) == 120 + 11  # landing is no misspelling: 11 questions have it
    assert folded.groups[-1] == folded.groups[120 + 3]


def test_around():
    """What stands around a question parts it: history, kept fields; exact ones are counted."""
    around = np.array([0, 0, key_of("history")], np.uint64)
    folded = fold(["환불 되나요", "환불 되나요?"], np.array([0, 1, 0]), around, np.array([3, 2, 4]))
    assert (sorted(folded.asks.tolist()), folded.n_exact) == ([4, 5], 2)


_WORDS = st.sampled_from(
    ["환불", "환불은", "환불이", "방법", "언제", "되나요", "됩니까", "안", "3일", "3", "일", "how",
     "do", "i", "the", "reset", "password", "pasword", "not", "can't", "please", "?"]
)  # fmt: skip


@given(
    st.lists(st.tuples(st.lists(_WORDS, min_size=1, max_size=5), st.integers(0, 1)), max_size=40)
)
def test_reference(rows):
    """As one by one: equal words that tell apart, beside equal surroundings; asks are kept."""
    texts = [*dict.fromkeys(" ".join(words) for words, _ in rows)]
    forms = Counter((" ".join(words), side) for words, side in rows)
    if not forms:
        return
    folded = fold(
        texts,
        np.array([texts.index(text) for text, _ in forms]),
        np.array([side * 12345 for _, side in forms], np.uint64),
        np.array([*forms.values()]),
    )
    known = {word for text in texts for word in exact(text).split()}
    groups = defaultdict(set)
    for text, side in forms:
        groups[joined(gist(text, known)), side].add((text, side))
    misspelt = sum(1 for text in texts if "pasword" in text)
    if not misspelt:
        found = defaultdict(set)
        for form, group in zip(forms, folded.groups.tolist()):
            found[group].add(form)
        assert sorted(map(sorted, found.values())) == sorted(map(sorted, groups.values()))
    assert folded.asks.sum() == len(rows)
    assert folded.n_exact == len({(exact(text), side) for text, side in forms})
    for text, group in zip(forms, folded.groups.tolist()):
        assert folded.asks[group] >= forms[text]


_AT_SCALE = """
import random, resource, time
import numpy as np
from kragx.workshop.logs.folding import fold
rng = random.Random(1)
about, done = "환불 배송 교환 결제 계정 쿠폰".split(), "신청 조회 변경 취소 규정".split()
nouns = [a + b for a in about for b in done]
ends = ["어떻게 하나요?", "어떻게 해요", "알려줘", "되나요", "됩니까"]
texts = list(dict.fromkeys(
    f"{rng.choice(nouns)}{rng.choice(['', '은'])} {rng.choice(nouns)} {k % 99} {rng.choice(ends)}"
    for k in range(100_000)))
began = time.process_time()
n = len(texts)
folded = fold(texts, np.arange(n), np.zeros(n, np.uint64), np.ones(n, np.int64))
megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(time.process_time() - began, megabytes, n, len(folded.keys))
"""


@pytest.mark.integration
def test_at_scale():
    """100,000 questions take less than a tenth of what 1,000,000 may: 10 minutes and 2 GB."""
    command = [sys.executable, "-c", _AT_SCALE]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    seconds, megabytes, n, n_folded = map(float, out.split())
    assert seconds < 60
    assert megabytes < 500  # some 100 of it are Python's and numpy's
    assert 0.5 * n < n_folded < 0.95 * n
