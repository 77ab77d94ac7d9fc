"""Korean amounts in figures, where a unit settles what they are: `numbers: alike` of matchers.

| as it may be written                                         | as it is read         |
|--------------------------------------------------------------|-----------------------|
| 3,000,000원, 300만원, 300만 원, 삼백만 원, ₩3,000,000           | 3000000원             |
| 2천5백만원, 이천오백만 원; 1억 2천만 원; 3.5억원                  | 25000000원; ...       |
| 삼십 일, 삼십일 이내 (동안, 간, 전, 후, 만에); 삼월 삼십일          | 30일 이내; 3월 30일     |
| 제삼조 제이항, 제 3 조                                          | 제3조 제2항, 제3조      |
| 10 %, 십 퍼센트; 5%p                                           | 10퍼센트; 5퍼센트포인트   |
| 5 kg, 5㎏, 5킬로그램; 육개월, 6 개월; 세 명, 두 시간, 열 살        | 5kg; 6개월; 3명, ...   |

What no unit settles stays: 삼십일 alone (30 days, or 31), 삼백만, and words such as 이상, 사이,
오일, 만일, 만원, 천만에, 구원, 일원, 십일조. So do Hanja numerals, figures read one by one
(이공이사년), dates without units (2024-03-15), and 오전 and 오후.
"""

import re
import unicodedata
from collections.abc import Iterable
from decimal import Decimal

from kragx.data.korean import PARTICLES

RULES = 1
"""The version of these rules; it goes up whenever some text is read otherwise."""

_ONES = {syllable: Decimal(n) for n, syllable in enumerate("일이삼사오육칠팔구", 1)}
_PLACES = {"십": 10, "백": 100, "천": 1000}
_GROUPS = {"만": 10**4, "억": 10**8, "조": 10**12}
_NATIVE = {
    word: n * place
    for words, place in (
        ("한 두 세 네 다섯 여섯 일곱 여덟 아홉", 1),
        ("열 스물 서른 마흔 쉰 예순 일흔 여든 아흔", 10),
    )
    for n, word in enumerate(words.split(), 1)
} | {"스무": 20}


def _units(spellings: str) -> dict[str, str]:
    """What each unit is read as; where that is another spelling, it stands behind a colon."""
    pairs = (spelling.partition(":") for spelling in spellings.split())
    return {unit.replace("_", " "): read or unit for unit, _, read in pairs}


_MONEY = _units("원 달러 유로")
# Behind one syllable, too, nothing but an amount: 십 퍼센트, 육개월.
_CLEAR = _units(
    "달러 유로 개월 년 퍼센트 퍼센트포인트 퍼센트_포인트:퍼센트포인트 킬로그램:kg 그램:g "
    "밀리그램:mg 킬로미터:km 미터:m 센티미터:cm 밀리미터:mm 리터:l 밀리리터:ml"
)
_COUNTED = _units("일 명 개 건 회 주간 주 시간 분 초 세 권 대 층")
_BEHIND_FIGURES = _units(
    "%p:퍼센트포인트 %포인트:퍼센트포인트 %:퍼센트 월 시 살:세 kg g mg km m cm mm l L:l ml mL:ml"
)
_UNITS = _MONEY | _CLEAR | _COUNTED | _BEHIND_FIGURES
_CURRENCIES = {"₩": "원", "$": "달러", "€": "유로"}


def _any(words: Iterable[str]) -> str:
    """The longest of some words that stands there."""
    return "|".join(sorted(words, key=len, reverse=True))


_SYLLABLE = f"[{''.join((*_ONES, *_PLACES, *_GROUPS))}]"
# Whole figures, and not too many of them: else a long row of digits takes long.
_FIGURES = r"(?<!\d)(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?!,?\d)"
_PART = re.compile(rf"{_FIGURES}|{_SYLLABLE}")
_RUN = rf"(?:{_FIGURES}|{_SYLLABLE}){{1,30}}"
_NUMBER = rf"{_RUN}(?:(?<=[백천만억조])\s{_RUN}){{0,6}}"
_LASTS = "이내|동안|간|전|후|만에"
# Here a word ends, or goes on with what goes on behind an amount.
_END = (
    rf"(?:이상|이하|미만|초과|이전|이후|정|정도|가량|당|씩|짜리|대|내|안|{_LASTS})?"
    rf"(?:{PARTICLES})?(?![가-힣a-zA-Z\d])"
)
_BEGIN = r"(?:(?<![\w.,])|(?<=\b[금약총])|(?<=\b일금)|(?<=\b최대)|(?<=[가-힣])(?=\d))"

_PRICE = re.compile(rf"([₩$€])\s?({_NUMBER})(?![\da-zA-Z])")
_ARTICLE = re.compile(
    rf"(?:(?<![가-힣])|(?<=[조항]))제\s?(\d+|{_SYLLABLE}+)\s?([조항호])(?=제|의|{_END})"
)
_DATE = re.compile(
    rf"(?<![가-힣])({_SYLLABLE}{{1,2}}|유|시)월\s?({_SYLLABLE}{{1,4}})\s?일(?={_END})"
)
_COUNT = re.compile(
    rf"(?<![가-힣])({_any(word for word, n in _NATIVE.items() if n > 9)})?"
    rf"({_any(word for word, n in _NATIVE.items() if n < 10)})?\s?(시간|명|개|살)(?={_END})"
)
_AMOUNT = re.compile(
    rf"{_BEGIN}(?P<number>{_NUMBER})(?P<space>\s?)(?P<unit>{_any(_UNITS)})(?P<ends>(?={_END}))?"
    rf"(?:(?=\s?(?P<lasts>{_LASTS})(?:{PARTICLES})?(?![가-힣])))?"
)


def in_figures(text: str) -> str:
    """A text, in NFKC, with its amounts in figures, each in one word with its unit.

    Examples:
        >>> in_figures("삼백만 원을 삼십일 이내에 지급한다.")
        '3000000원을 30일 이내에 지급한다.'
        >>> in_figures("만일 오일이 삼십일 이상 새면")
        '만일 오일이 삼십일 이상 새면'
    """
    text = text if text.isascii() else unicodedata.normalize("NFKC", text)
    text = _PRICE.sub(lambda price: f"{price[2]}{_CURRENCIES[price[1]]}", text)
    for pattern, read in _READINGS.items():
        text = pattern.sub(read, text)
    return text


def _article(match: re.Match[str]) -> str:
    number = _value(match[1])
    return f"제{number}{match[2]}" if number else match[0]


def _date(match: re.Match[str]) -> str:
    month, day = {"유": "6", "시": "10"}.get(match[1]) or _value(match[1]), _value(match[2])
    is_date = month and day and int(month) <= 12 and int(day) <= 31
    return f"{month}월 {day}일" if is_date else match[0]


def _count(match: re.Match[str]) -> str:
    number = sum(_NATIVE[word] for word in match.group(1, 2) if word)
    return f"{number}{_UNITS[match[3]]}" if number else match[0]


def _amount(match: re.Match[str]) -> str:
    written, unit = match["number"], match["unit"]
    if written[0].isdecimal():  # 300만원이었다, but not 30 일반
        is_amount = match["ends"] is not None or not match["space"]
    else:
        is_amount = match["ends"] is not None and _is_settled(match)
    is_amount &= "조" not in written or unit in _MONEY
    number = _value(written) if is_amount else None
    return f"{number}{_UNITS[unit]}" if number else match[0]


def _is_settled(match: re.Match[str]) -> bool:
    """Whether syllables before a unit are an amount, and no words that are written the same."""
    written, unit, has_space = match["number"], match["unit"], bool(match["space"])
    if unit in _BEHIND_FIGURES or written in _GROUPS:
        return False
    if len(written) == 1 and unit != "일":
        return unit in _CLEAR and not (written == "이" and has_space)
    if unit == "일":
        if has_space or (len(written) > 1 and written[-1] in _ONES):  # 삼십 일, 삼십일일
            return len(written) > 1 and not _GROUPS.keys() & {*written}
        lasts = match["lasts"]  # else 삼십일 may be 31, and 오일 no number at all
        return lasts in ("이내", "동안", "간") if len(written) == 1 else lasts is not None
    # 만일 건이 (if there is one), 백이 대 (one with its particle), 만 십팔 세 (full 18 years).
    is_word = len(written) == 2 and written[0] != "십" and written[1] in "이일"
    return not (has_space and is_word) and written[:2] != "만 "


def _value(written: str) -> str | None:
    """The figures of a number; None for what is none, such as 이삼 (two or three)."""
    total = group = Decimal(0)
    digit: Decimal | None = None
    least_group, least_place = 10**16, 10**4
    for part in _PART.findall(written):
        place, size = _PLACES.get(part), _GROUPS.get(part)
        if place and place < least_place:
            group, digit, least_place = group + (digit or 1) * place, None, place
        elif size and size < least_group:
            total += (group + (digit or 0) or 1) * size
            group, digit, least_group, least_place = Decimal(0), None, size, 10**4
        elif place or size or digit is not None:
            return None
        else:
            digit = _ONES.get(part) or Decimal(part.replace(",", ""))
            if digit >= (least_place if least_place < 10**4 else least_group):
                return None
    return f"{(total + group + (digit or 0)).normalize():f}"


_READINGS = {_ARTICLE: _article, _DATE: _date, _COUNT: _count, _AMOUNT: _amount}
