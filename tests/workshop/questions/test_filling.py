"""What documents give to templates: language, heading, metadata, noun phrases."""

from __future__ import annotations

import sys
import unicodedata

from kragx.data.documents import Doc
from kragx.data.korean import is_korean
from kragx.workshop.questions.documents import fillings
from tests.thoroughness import all_cases


def of(text="x.", **metadata):
    """What one document gives."""
    (one,) = fillings([Doc("d", text, metadata)])
    return one


@all_cases(
    ("text", "language"),
    [
        ("환불은 7일", "ko"),
        (unicodedata.normalize("NFD", "환불은 7일"), "ko"),
        ("The refund of 환불", "en"),
        ("API 요청의 timeout 설정", "ko"),
        ("", "en"),
        ("123 !?", "en"),
    ],
)
def test_language(text, language):
    """Korean where a quarter of the letters is Hangul, in either form of Unicode."""
    assert is_korean(text) == (language == "ko")


@all_cases(
    ("text", "metadata", "heading"),
    [
        ("x.", {"title": "Gift cards"}, "Gift cards"),
        ("x.", {"title": "All", "Header 1": "Cards", "Header 2": "Gift cards"}, "Gift cards"),
        ("x.", {"제목": unicodedata.normalize("NFD", "환불")}, "환불"),
        ("# Gift *cards* #\n\nThey expire.", {}, "Gift cards"),
        ("3.1 Gift cards\nThey expire.", {}, "Gift cards"),
        ("2024 Budget\nIt is large.", {}, "2024 Budget"),
        ("Gift cards expire.\nSo they do.", {}, None),
        ("Gift cards", {}, "Gift cards"),
        ("Do they expire?\nThey do.", {"title": "Do they expire?"}, None),
        ("x.", {"title": "Case file: a dented box"}, "Case file: a dented box"),
        (
            "배송.",
            {"title": "유료로 고친 식기세척기가 다시 고장 난 사례"},
            "유료로 고친 식기세척기가 다시 고장 난 사례",
        ),
        (
            "배송.",
            {"title": "마음이 바뀌어 반품할 때 자주 묻는 질문"},
            "마음이 바뀌어 반품할 때 자주 묻는 질문",
        ),
        ("x.", {"title": "w" * 10_000}, None),
        ("x.", {"title": "ab\x1b[31m\u202ecd"}, "ab [31m cd"),
        ("x.", {"title": "-- !"}, None),
        ("x.", {"title": ["a"]}, None),
        ("x.", {"title": None}, None),
    ],
)
def test_heading(text, metadata, heading):
    """The narrowest of the metadata, a Markdown heading or a first line, without its number."""
    assert of(text, **metadata).values.get("heading") == heading


def test_metadata():
    """Short texts and numbers, by name; nothing that is no word of a question."""
    metadata = {
        "kind": " faq\n",
        "year": 2024,
        "on": True,
        "tags": ["a"],
        "long": "w" * 81,
        "no": "",
    }
    assert of("x.", **metadata).values == {"kind": "faq", "year": "2024"}


def test_korean_nouns():
    """Nouns in a row as Kiwi finds them, what the heading names first; of one word that word."""
    text = "반품 접수를 하면 반품 접수 뒤 3일 안에 환급한다. 운송장을 보낸다. 운송장은 필요하다."
    nouns = of(text, title="운송장").nouns
    assert nouns[0] == "운송장"
    assert "반품 접수" in nouns
    assert "반품 접수 뒤" not in nouns
    assert of("환불").nouns == ("환불",)
    assert of(unicodedata.normalize("NFD", "환불")).nouns == ("환불",)


def test_korean_without_kiwi(monkeypatch):
    """Nobody knows its noun phrases; its heading is there."""
    monkeypatch.setitem(sys.modules, "kiwipiepy", None)
    filling = of("운송장을 보낸다. 운송장의 번호를 적는다.", title="운송장")
    assert (filling.nouns, filling.values["heading"]) == ((), "운송장")


def test_english_nouns():
    """Between a determiner and what can follow a noun; the last word stands alone somewhere."""
    text = (
        "The prepaid label is sent. A label of ours, the kettle works at once, and the drop-off "
        "point. Refunds: the refund of the label, the refund is paid."
    )
    assert set(of(text).nouns) == {"prepaid label", "label", "refund"}
    assert of("The kettle is here.").nouns == ()


def test_telling():
    """What many documents have comes after what few have."""
    docs = [
        Doc(f"d{n}", f"The shop is open. The shop is near. The box {n}, the box of ours, the box.")
        for n in range(9)
    ]
    docs[0] = Doc("d0", "The shop is open. The shop is near. The ferry is fast. The ferry is big.")
    assert fillings(docs)[0].nouns == ("ferry", "shop")
