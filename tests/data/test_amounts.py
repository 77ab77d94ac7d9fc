"""Korean amounts are read alike where a unit settles them, and nothing else is."""

from __future__ import annotations

import unicodedata

from hypothesis import given, strategies as st

from kragx.data.amounts import in_figures
from tests.thoroughness import all_cases

ALIKE = {
    "3000000원": "3,000,000원|300만원|300만 원|삼백만 원|삼백만원|₩3,000,000|3백만 원|３００만원",
    "25000000원": "2천5백만원|2천 5백만 원|이천오백만 원|이천오백만원|25,000,000 원|2500만 원",
    "120000000원": "1억 2천만 원|1억2천만원|1억2,000만 원|일억이천만 원|1.2억원",
    "123456원": "12만 3,456원|12만3456원",
    "12000원": "만이천원|만이천 원|1만 2천 원|1만2천원",
    "1200000000000원": "1조 2천억 원|1조2,000억원|일조이천억 원",
    "100달러": "$100|100 달러|백 달러|100달러",
    "30일 이내": "삼십일 이내|삼십 일 이내|30 일 이내",
    "30일간": "삼십일간|삼십 일간|30 일간",
    "5일 이내": "오일 이내|5 일 이내",
    "31일 이내": "삼십일일 이내|31 일 이내",
    "3월 30일": "삼월 삼십일|삼월 삼십 일|03월 30일|3 월 30 일",
    "3월 31일부터": "삼월 삼십일일부터|3월 31 일부터",
    "6월 6일": "유월 육일",
    "2024년 10월 3일": "이천이십사년 시월 삼일|2024 년 10 월 3 일",
    "제3조": "제삼조|제 3 조|제3조",
    "제12조제2항": "제십이조제이항|제12조제2항",
    "10퍼센트": "10%|10 %|10％|십 퍼센트|십퍼센트|10 퍼센트|10.0%",
    "3.5퍼센트포인트": "3.5%p|3.5 퍼센트 포인트|3.5%포인트",
    "5kg": "5 kg|5㎏|5킬로그램|오 킬로그램",
    "500ml": "500 mL|500㎖|500밀리리터|오백 밀리리터",
    "6개월": "육개월|6 개월|육 개월",
    "2년": "이년|2 년",
    "12명": "열두 명|12 명|십이 명|십이명",
    "3시간": "세 시간|3 시간|3시간",
    "21세": "스물한 살|21살|21 세|이십일 세",
}

WORDS = """
이상 사이 오일 만일 만원 천만에 구원 일원 이원 사원 오원 삼원 이주 사주 일주 이명 사명 오명
일회 이회 사회 이사회 일대 사대 오대 일세 이세 삼세 백세 만세 천세 일층 구층 사건 이건 일건
조건 오분 칠분 이분 십분 백분 삼초 백일 천일 만년 백만장자 천만다행 억만장자 십일조 오십견
십이지장 팔만대장경 사천왕 육십갑자 십중팔구 구사일생 삼십일 이십일 오십일에 사십일은 삼백만
제일 제이 제삼자 제사조차 제사장 문제삼조 일사분기 이삼일 삼사년 오륙십
"""
SENTENCES = (
    "만일 건이 있으면",
    "만일 개를 키우면",
    "만일 원인이 그러하면",
    "이만 일을 마치고",
    "이삼일 이내에",
    "삼사십 명이",
    "오륙 개월",
    "만 십팔 세 이상",
    "이 년 놈들",
    "이 개월수를",
    "이 달러가 강하다",
    "삼십일 이상 무단으로 쉬면",
    "점수가 삼십일까지 오르면",
    "일조 시간이 길다",
    "너만이 원하는",
    "백이 대답했다",
    "한 개인의 일",
    "네 명의로 빌린 돈",
    "오일 전쟁",
    "30 일반 항목",
    "3 개념",
    "5 회사",
    "300만 원한다",
    "5만 먹었다",
    "형법 1조 2항",
    "2024-03-15",
    "사이 원만한 합의",
)


@all_cases("amount", ALIKE)
def test_an_amount_is_read_alike_however_it_is_written(amount: str) -> None:
    """Figures, commas, 만 and 억, syllables, spaces, signs; decomposed, too, and in a sentence."""
    for written in ALIKE[amount].split("|"):
        assert in_figures(written) == amount
        assert (
            in_figures(unicodedata.normalize("NFD", f"모두 {written}, 끝")) == f"모두 {amount}, 끝"
        )


@all_cases("particle", ["", "은", "을", "에", "까지", "으로", "이라고", ".", " 이상"])
def test_what_goes_on_behind_an_amount_stays(particle: str) -> None:
    """Particles and what else follows an amount stand behind it as they did."""
    assert in_figures(f"약 삼백만 원{particle}") == f"약 3000000원{particle}"


@all_cases("text", [*WORDS.split(), *SENTENCES])
def test_what_no_unit_settles_stays(text: str) -> None:
    """Words that are written as a number with a unit is, and numbers of which a unit says too
    little: 삼십일 is 30 days or 31, 이삼일 two or three.
    """
    assert in_figures(text) == text
    assert in_figures(f"그것은 {text}") == f"그것은 {text}"


def spelt(n: int) -> str:
    """A number in syllables, place by place."""
    places, groups = ("", "십", "백", "천"), ("", "만", "억", "조")
    word = ""
    for place, figure in enumerate(reversed(str(n))):
        group, within = divmod(place, 4)
        if within == 0 and n // 10**place % 10**4:
            word = groups[group] + word
        if figure != "0":
            word = ("" if figure == "1" and within else " 일이삼사오육칠팔구"[int(figure)]) + (
                places[within] + word
            )
    return word.replace(" ", "")


@given(st.integers(11, 10**15), st.sampled_from(["", " "]))
def test_any_number_is_read_as_it_is_spelt(n: int, space: str) -> None:
    """A sum of money in syllables is the one in figures, with commas or without."""
    amount = f"{n}원을"
    ends_like_a_word = n in (101, 102, 1001, 1002)  # 백이, 천일
    if not (space and ends_like_a_word) and n not in (100, 1000):
        assert in_figures(f"{spelt(n)}{space}원을") == amount
    assert in_figures(f"{n:,}{space}원을") == in_figures(f"{n}{space}원을") == amount


@given(st.text(alphabet="일이삼십백만억조원일년개월 제조항한두세시간명0123456789.,%을이내kg"))
def test_reading_twice_is_reading_once(text: str) -> None:
    """What was read is an amount in figures, which stays."""
    once = in_figures(text)
    assert in_figures(once) == once


@all_cases("row", ["1", "일", "1,", "1.", "1천", "1만 ", "1일", "백 ", "1 ", "$1", "제1"])
def test_long_rows_take_no_longer_for_each_of_their_letters(row: str) -> None:
    """Text that looks like one number, to the end, is read in a time by its length."""
    text = row * (20_000 // len(row)) + "!"
    assert len(in_figures(text)) <= 3 * len(text)
