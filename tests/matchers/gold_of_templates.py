# ruff: noqa: E501
"""Gold made from templates: 10 to 300 items that differ in one digit, one name or one subject."""

import random
from collections.abc import Callable, Sequence

FIRST_KO = "김이박최정강조윤장임한오서신권황안송류전"
LAST_KO = (
    "민수",
    "서연",
    "지훈",
    "하은",
    "도윤",
    "예린",
    "우진",
    "수빈",
    "태현",
    "나래",
    "가온",
    "미르",
)
FIRST_EN = ("Dana", "Robin", "Alex", "Kim", "Jo", "Mina", "Tara", "Ivo", "Nils", "Ruth", "Olga")
LAST_EN = (
    "Weaver",
    "Okafor",
    "Lindt",
    "Moreau",
    "Sato",
    "Novak",
    "Birch",
    "Hale",
    "Quist",
    "Reyes",
)
THINGS_EN = (
    "kettle",
    "drill",
    "ladder",
    "printer",
    "tent",
    "mixer",
    "lamp",
    "radio",
    "heater",
    "sofa",
)
KINDS_EN = (
    "small",
    "folding",
    "red",
    "outdoor",
    "used",
    "heavy",
    "quiet",
    "spare",
    "rented",
    "steel",
)
THINGS_KO = (
    "주전자",
    "전기드릴",
    "사다리",
    "프린터",
    "텐트",
    "믹서",
    "조명",
    "라디오",
    "난로",
    "소파",
)
KINDS_KO = ("소형", "접이식", "빨간", "야외용", "중고", "대형", "저소음", "예비", "대여", "철제")


def name_ko(at: int) -> str:
    """One of 240 Korean names."""
    return FIRST_KO[at % 20] + LAST_KO[at // 20 % 12]


def digit_en(at: int) -> str:
    """An English rule with a number of its own."""
    return (
        f"Order {4100 + at} may be returned within fourteen days of delivery if it is unused and "
        "in its packaging. The customer pays for the return, and the amount is paid back within "
        "ten working days to the card that was used."
    )


def name_en(at: int) -> str:
    """An English rule with a name of its own."""
    first, last = FIRST_EN[at % 11], LAST_EN[at // 11 % 10]
    third = "" if at < 110 else f" {'ABCDEF'[at // 110]}."
    return (
        f"Requests for leave of more than five days are answered by {first}{third} {last} within "
        "three working days. Whoever falls ill during their leave sends a certificate to the "
        "office, and the days are credited to the next year."
    )


def subject_en(at: int) -> str:
    """An English rule with a subject of its own."""
    thing = (
        f"{KINDS_EN[at % 10]} {THINGS_EN[at // 10 % 10]}"
        + " set" * (at >= 100)
        + " box" * (at >= 200)
    )
    return (
        f"The {thing} comes with a guarantee of two years from the day of purchase. Keep the "
        "receipt, as repairs are free of charge only with it. Damage by water or by a fall is not "
        "covered."
    )


def digit_ko(at: int) -> str:
    """A Korean rule with a number of its own."""
    return (
        f"주문 번호 {4100 + at}번 상품은 받은 날부터 열나흘 안에 사용하지 않은 상태로 반품할 수 있습니다. "
        "배송비는 고객이 부담하며, 검사가 끝난 뒤 열흘 안에 결제한 카드로 환불합니다."
    )


def person_ko(at: int) -> str:
    """A Korean rule with a name of its own."""
    more = "" if at < 240 else " 부"
    return (
        f"닷새가 넘는 휴가 신청은{more} 담당자 {name_ko(at)}에게 제출하며 사흘 안에 승인 여부를 알려 드립니다. "
        "휴가 중에 병이 나면 진단서를 사무실로 보내야 하고 그 날짜는 다음 해로 넘어갑니다."
    )


def subject_ko(at: int) -> str:
    """A Korean rule with a subject of its own."""
    thing = (
        f"{KINDS_KO[at % 10]} {THINGS_KO[at // 10 % 10]}"
        + " 세트" * (at >= 100)
        + " 상자" * (at >= 200)
    )
    return (
        f"{thing} 제품은 구입한 날부터 두 해 동안 품질을 보증합니다. 영수증이 있어야 무상으로 수리하므로 잘 "
        "보관하십시오. 물에 젖거나 떨어뜨려 생긴 고장은 보증하지 않습니다."
    )


def code(at: int) -> str:
    """Code with a number and a name of its own."""
    field = f"{KINDS_EN[at % 10]}_{THINGS_EN[at // 10 % 10]}"
    return (
        f"def read_{field}(connection, key, default=None):\n"
        f'    """Give a row of the table {field}."""\n'
        "    with connection.cursor() as cursor:\n"
        f'        cursor.execute("select value from {field} where key = %s limit {at + 1}", [key])\n'
        "        row = cursor.fetchone()\n"
        "    return default if row is None else row[0]\n"
    )


TEMPLATES: dict[str, Callable[[int], str]] = {
    "digit, en": digit_en,
    "name, en": name_en,
    "subject, en": subject_en,
    "digit, ko": digit_ko,
    "name, ko": person_ko,
    "subject, ko": subject_ko,
    "code": code,
}
"""Each makes one text of up to 300."""


def siblings_of(golds: Sequence[str], n: int = 5, *, true: int = 0) -> list[list[str]]:
    """Lists that hold texts of the other questions alone, but for the first `true` of them."""
    rng = random.Random(0)
    lists = []
    for at, gold in enumerate(golds):
        others = rng.sample([*golds[:at], *golds[at + 1 :]], n)
        lists.append([*others, gold] if at < true else others)
    return lists
