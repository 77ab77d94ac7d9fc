"""Duplicates in logs: what is folded, and what never is."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from kragx.workshop.logs.folding import Ask, fold, key_of
from kragx.workshop.wording import exact, gist, joined
from tests.thoroughness import all_cases

ALIKE = (
    ("How do I reset my password?", "how can i reset my password", "How to reset my password"),
    ("How do I reset my password?", "Hi, can you tell me how to reset my password, please?"),
    ("What is the refund policy?", "what's the refund policy"),
    ("What is the refund policy?", "Please tell me what the refund policy is"),
    ("I can't log in", "I cannot log in", "i can not log in!"),
    ("Do I need an e-mail account?", "do i need an email account"),
    ("Could you please list all invoices", "list all invoices, thanks!"),
    ("환불 어떻게 하나요?", "환불 어떻게 해요", "안녕하세요, 환불 어떻게 합니까"),
    ("환불 방법 알려줘", "환불 방법을 알려주세요!", "환불 방법이 궁금합니다"),
    ("환불 방법 알려줘", "환불방법 문의드립니다"),
    ("배송 언제 되나요?", "배송 언제 됩니까", "배송 언제 돼요"),
    ("가격 얼마예요?", "가격 얼마인가요", "가격 얼마죠"),
    ("환불 규정이 뭐예요", "환불 규정은 무엇인가요?"),
    ("손해배상 청구권 기간", "손해 배상 청구권기간"),
    ("연차가 15일 이상이면", "연차가 15 일 이상이면", "연차가 １５일 이상이면"),
    ("1,000원 환불", "1000원 환불"),
    ("문서를 요약해 줘", "문서를 요약해주세요"),
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
    ("임대인은 임차인을 고소하나요", "임대인을 임차인은 고소하나요"),
    ("임대인은 임차인 고소하나요", "임대인 임차인은 고소하나요"),
    ("고양이는 먹나요", "고양이를 먹나요"),
    ("판매가 얼마예요", "판매는 얼마예요"),
    ("화면 보여요", "화면 보나요"),
    ("상인은 되팔나요", "상인을 되팔나요"),
    ("who are we", "who are you"),
    ("what is my address", "what is your address"),
    ("when do i need to apply", "when can i apply"),
    ("when is it paid", "when it paid"),
    ("what does a notary do", "what is a notary"),
    ("hepatitis a vaccine", "hepatitis vaccine"),
    ("in valid form", "invalid form"),
    ("hello kitty price", "kitty price"),
)

SIGNS = (
    ("밤 -5도에서 낮 10도", "밤 5도에서 낮 -10도"),
    ("5% of 20", "5 of 20%"),
    ("$5 for 3", "5 for $3"),
    ("점수＞60", "점수＜60"),
    *(
        ("５％", "5"),
        ("－5도", "5도"),
        ("–5도", "5도"),
        ("- 5도", "5도"),
        ("기온 5 -10도", "기온 5-10도"),
    ),
    *(("≥ 70", "≤ 70"), ("x != 5", "x = 5"), ("▲5억", "▼5억"), ("√2", "2"), ("5¢", "5")),
    *(("3×4", "3÷4"), ("3/4", "3 4"), ("B-", "B"), ("B-형", "B형"), ("Rh-", "Rh")),
    *(("Rh(-)", "Rh"), ("Rh(-)", "Rh(+)"), ("1e-3", "1e3"), ("금리-0.5%", "금리0.5%")),
    *(("1½ 컵", "11/2 컵"), ("5²", "52"), ("1,2항", "1.2항"), ("9:30", "9 30"), ("~5월", "5월~")),
    *(("5!", "5"), (".5", "5"), ("2(3+4)", "2 3+4"), ("✅ 가능", "❌ 가능"), ("C++", "C")),
    *(("if (!ready)", "if (ready)"), ("is .NET free", "is net free"), ("2ⁿ", "2n")),
)

SPELT = (
    *(("진주시 맛집", "전주시 맛집"), ("nitrite limits", "nitrate limits"), ("임금액", "입금액")),
    *(("the employee pays", "the employer pays"), ("김민주 번호", "김민수 번호")),
    *(("may they proscribe it", "may they prescribe it"), ("발신지 변경", "발신자 변경")),
)


def _fold(texts, times=None, values=None, around=None, masked=None):
    """Fold texts that were asked so often, with what is masked in them and what stands around."""
    n = len(texts)
    around = around or [0] * n
    rows = zip(texts, times or [1] * n, values or [0] * n, around, masked or around)
    return fold(
        Ask(0, text, text, value, beside, beside_masked)
        for text, n_asks, value, beside, beside_masked in rows
        for _ in range(n_asks)
    )


def _keys(*args, **options):
    return {question.key for question in _fold(*args, **options)[0]}


@all_cases("texts", ALIKE)
def test_alike(texts):
    """Wordings of one question are one, with their sum, by the words of the most frequent."""
    (question,), _ = _fold(texts, [*range(1, len(texts) + 1)])
    assert len(question.asks) == sum(range(1, len(texts) + 1))
    assert question.text == texts[-1]


@all_cases("pair", [*APART, *SIGNS])
def test_apart(pair):
    """What differs in a number, a date, a negation or a sign, or who does what is two questions."""
    questions, n_exact = _fold(pair)
    assert (len(questions), n_exact) == (2, 2)


def test_another_word():
    """A word a letter off another, that many have, is another word: no misspelling is guessed."""
    for a, b in SPELT:
        assert len(_keys([a, b, f"{b}?", *(f"{b} {n}" for n in range(30))])) == 32


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
    assert sum(len(_keys(pair)) == 1 for pair in pairs) == 0


def test_around():
    """What stands around a question parts it: history, kept fields; exact ones are counted."""
    texts = ["환불 되나요", "환불 되나요?", "환불 되나요"]
    questions, n_exact = _fold(texts, [3, 2, 4], around=[0, 0, key_of("history")])
    assert (sorted(len(question.asks) for question in questions), n_exact) == ([4, 5], 2)


def test_masked_values():
    """Two values are two questions, and neither enters a key; the first has that of none."""
    text = "whose is [phone 1]?"
    (alone,) = _keys([text], values=[11])
    keys = _keys([text, text, text], values=[11, 12, 11])
    assert len(keys) == 2
    assert alone in keys
    assert keys == _keys([text, text], values=[12, 11])
    assert keys == _keys([text, text], values=[501, 77])
    assert _keys([text], values=[99]) == {alone}
    assert _keys([text], around=[21], masked=[5]) == _keys([text], around=[22], masked=[5])


_WORDS = st.sampled_from(
    ["환불", "환불은", "환불이", "방법", "언제", "되나요", "됩니까", "안", "3일", "3", "일", "how",
     "do", "i", "the", "reset", "password", "-5", "%", "not", "can't", "please", "?"]
)  # fmt: skip


@given(
    st.lists(st.tuples(st.lists(_WORDS, min_size=1, max_size=5), st.integers(0, 1)), max_size=40)
)
def test_reference(rows):
    """As one by one: equal words that tell apart, beside equal surroundings; asks are kept."""
    asks = [(" ".join(words), side) for words, side in rows]
    questions, n_exact = _fold(
        [text for text, _ in asks], around=[12345 * side for _, side in asks]
    )
    groups = defaultdict(Counter)
    for text, side in asks:
        groups[joined(gist(text)), side][text] += 1
    folded = [Counter(ask.text for ask in question.asks) for question in questions]
    assert sorted(map(sorted, folded)) == sorted(map(sorted, groups.values()))
    assert sum(map(Counter.total, folded)) == len(rows)
    assert n_exact == len({(exact(text), side) for text, side in asks})
    for question, times in zip(questions, folded):
        assert times[question.text] == max(times.values())


_AT_SCALE = """
import random, re, time
from pathlib import Path
from kragx.workshop.logs.folding import Ask, fold
rng = random.Random(1)
about, done = "환불 배송 교환 결제 계정 쿠폰".split(), "신청 조회 변경 취소 규정".split()
nouns = [a + b for a in about for b in done]
ends = ["어떻게 하나요?", "어떻게 해요", "알려줘", "되나요", "됩니까"]
texts = list(dict.fromkeys(
    f"{rng.choice(nouns)}{rng.choice(['', '은'])} {rng.choice(nouns)} {k % 99} {rng.choice(ends)}"
    for k in range(100_000)))
began = time.process_time()
n = len(texts)
questions, _ = fold([Ask(number, text, text) for number, text in enumerate(texts)])
# Of this program alone: what getrusage says is that of whoever started it, too.
status = Path("/proc/self/status").read_text()
megabytes = int(re.search(r"VmHWM:\\s+(\\d+) kB", status)[1]) / 1024
print(time.process_time() - began, megabytes, n, len(questions))
"""


@pytest.mark.integration
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="Linux tells a peak of memory")
def test_at_scale():
    """100,000 questions take less than a tenth of what 1,000,000 may: 10 minutes and 2 GB."""
    command = [sys.executable, "-c", _AT_SCALE]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    seconds, megabytes, n, n_folded = map(float, out.split())
    assert seconds < 60
    assert megabytes < 500  # some 100 of it are Python's and numpy's
    assert 0.5 * n < n_folded < 0.98 * n
