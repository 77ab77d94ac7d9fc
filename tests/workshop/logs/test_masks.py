"""Personal data in logs: what is masked, what is not, and the file of patterns."""

from __future__ import annotations

import time
import unicodedata

import pytest

from kragx.errors import ConfigError
from kragx.workshop.logs import Masker, read_masks
from tests.thoroughness import all_cases

PERSONAL = {
    "email": (
        *("kim.cs@naver.com", "hong_gd@daum.net으로", "a+b@mail.example.co.kr", "josé@correo.es"),
        *("ｋｉｍ＠ｎａｖｅｒ．ｃｏｍ", "kim(at)gmail.com", "abc [at] example [dot] org"),
        *("kim골뱅이naver.com", "john at gmail dot com", "kim @ naver.com", "kim%40naver.com"),
        *("홍길동@naver.com", "hong@회사.kr", "mailto:kim@naver.com", "kim at gmail.com"),
        *("(kim @ naver . com)", "hong @ 도메인.한국"),
    ),
    "phone": (
        *("010-1234-5678", "01012345678로", "010.1234.5678", "010 1234 5678", "(010) 1234-5678"),
        *("010 - 1234 - 5678", "010–1234–5678", "０１０－１２３４－５６７８", "011-234-5678"),
        *("+82 10-1234-5678", "+821012345678", "82-10-1234-5678", "HP010-1234-5678"),
        *("02-123-4567", "02)123-4567", "(02) 123-4567", "031-123-4567", "070-1234-5678"),
        *("공일공 일이삼사 오육칠팔", "전화번호 0212345678", "(555) 123-4567", "555-123-4567"),
        *("1-800-555-0199", "+1 555 123 4567", "+44 20 7946 0958", "07700 900123"),
        *("415 555 0142", "0044 20 7946 0958", "02079460958", "local 555-0142"),
        *("call 555-0123", "my number is 555 123 4567", "rang me from 212 555 0134"),
        *("contact: 2125550134", '{"phone": "2125550134"}', "(020) 7946 0134", "T.053-123-4567"),
        *("photo_01012345678.jpg", "kim,01012345678,seoul", "010_1234_5678", "010 12 34 5678"),
    ),
    "resident": ("900101-1234567", "900101 - 1234567", "9001011234567로", "900101-1******"),
    "ssn": (
        *("123-45-6789", "123–45–6789", "SSN 123456789", "SS# 912 - 34 - 5678"),
        *("912-34-5678 is my SSN", '{"ssn": "123456789"}'),
    ),
    "card": (
        *("4111 1111 1111 1111", "4111-1111-1111-1111", "5500005555555559", "3782 822463 10005"),
        *("카드번호 1234-5678-9012-3456", "4111 - 1111 - 1111 - 1111"),
        *("4111 1111 1111 1111 12/27", "４２２２－２２２２－２２２２－２", "41111111 11111111"),
    ),
}  # fmt: skip

CLEAN = (
    *("제750조는 무엇인가요", "민법 제750조 제1항", "2023가합1234567", "사건번호 2019다12345"),
    *("ISBN 978-89-374-6044-9", "ISBN 979-11-6050-443-1", "9788937460449", "9780306406157"),
    *("ISBN 0-306-40615-2", "ISSN 1234-5678", "주문번호 20240315-1234567", "order 240315-1234567"),
    *("order #113-1234567-1234567", "주문번호는 2024031512345678입니다", "ORD-01012345678"),
    *("version 1.2.3.4567", "python 3.11.12", "kernel 5.15.0-1053-azure", "react@18.2.0"),
    *("2024-03-15 12:30:45", "2024.03.15 ~ 2024.04.15", "192.168.10.200", "127.0.0.1:8080"),
    *("아이콘 cart@2x.webp로", "1Z843A9A0433824048 hasn't moved"),
    *("serial 1234-5678-9012-3456", "송장번호 6123-4567-8901", "tracking 1Z999AA10123456784"),
    *("1,234,567,890원", "250 300 4500원", "우편번호 06236", "사업자번호 123-45-67890"),
    "1588-1234",
    *("git clone git@github.com:org/repo", "@username hello", "CVE-2024-12345", "RTX-4090-24GB"),
    *("icon@2x.png", "use @app.route here", "9400 1000 0000 0000 0000 00", "user@localhost"),
    *("ISBN-10: 0-306-40615-2", "ISBN-10: 0306406152", "ABC-010-1234-5678", "37.5665, 126.9780"),
    *("drawing no. 123-45-6789", "도면번호 415-555-0142", "banner@1.5x.png", "icon@3x.jpg"),
    *("batch job id 1234567812345678", "look at example.com"),
    *("쿠폰 코드 2345678901", "weights @ np.where(x)", "shared=3313664, text=2310144"),
    *("IMEI 356938035643809", "SKU-010-1234-5678", "ticket 2024-555-123-4567", "20 2020 2020"),
)  # fmt: skip


@all_cases("kind", PERSONAL)
def test_masked(kind):
    """Each form is masked under its kind, in a Korean and an English sentence, and nothing else."""
    masker = read_masks()
    for value in PERSONAL[kind]:
        for text in (f"제 정보는 {value} 입니다", f"please use {value} today"):
            masked = masker.text(text)
            assert f"[{kind} " in masked, text
            assert {*masker.counts} == {kind}, text
            assert masked[:3] == text[:3]
            assert masked[-3:] == text[-3:]


def test_clean():
    """Articles of laws, ISBNs, numbers of orders and versions stay as they are."""
    masker = read_masks()
    assert [masker.text(line) for line in CLEAN] == [*CLEAN]
    assert not masker.counts


def test_whole():
    """The whole of a value is masked, and no more: neither its last part nor a full stop stays."""
    masker = read_masks()
    assert masker.text("to a.b@mail.example.co.uk. See me.") == "to [email 1]. See me."
    assert masker.text("4111 1111 1111 1111, 123") == "[card 1], 123"
    assert masker.text("+82 10-1234-5678번") == "[phone 1]번"


@pytest.mark.parametrize("part", ["0-", "a.", "漢", "가", "1234 ", "a at b."])
def test_long_texts(part):
    """A text of 20,000 characters of one kind takes no time that grows with its square."""
    began = time.process_time()
    read_masks().text(part * (20_000 // len(part)) + "@ 1234567")
    assert time.process_time() - began < 2


def test_the_same_value():
    """One value has one number, however it is written; another has another; each find counts."""
    masker = read_masks()
    assert masker.text("010-1234-5678, 01012345678, +82 10 1234 5678") == (
        "[phone 1], [phone 1], [phone 1]"
    )
    assert masker.text("KIM@naver.com 010-1111-2222") == "[email 1] [phone 2]"
    assert masker.within({"a": ["kim@naver.com", 3], "b": None}) == {
        "a": ["[email 1]", 3],
        "b": None,
    }
    assert masker.counts == {"phone": 4, "email": 2}


SAME = (
    ("212-555-0100", "+1 (212) 555-0100", "(212) 555-0100", "1-212-555-0100"),
    ("020 7946 0958", "+44 20 7946 0958", "0044 20 7946 0958", "02079460958"),
    ("010-1234-5678", "공일공 일이삼사 오육칠팔", "+82 (0)10-1234-5678", "82-10-1234-5678"),
    ("02-123-4567", "+82 2 123 4567", "02)123-4567"),
    ("kim@example.com", "kim (at) example (dot) com", "kim%40example.com", "KIM @ example . com"),
    ("kim@gmail.com", "kim at gmail dot com", "kim at gmail.com", "kim골뱅이gmail.com"),
)


@all_cases("forms", SAME)
def test_however_it_is_written(forms):
    """The forms of one value have one mask, and another value has another."""
    masker = read_masks()
    first = masker.text(f"call {forms[0]}")
    assert {masker.text(f"call {form}") for form in forms} == {first}
    assert masker.text("call 822-123-4567, mail lee@example.com") == (
        f"call [phone {2 - ('@' in forms[0])}], mail [email {1 + ('@' in forms[0])}]"
    )


def test_side_by_side():
    """Numbers that a slash or comma joins are masked each; so is one behind that of a list."""
    masker = read_masks()
    for mark in "/,":
        joined = f"010-1234-5678{mark}010-2345-6789{mark}010-1234-5678"
        assert masker.text(joined) == f"[phone 1]{mark}[phone 2]{mark}[phone 1]"
    assert masker.text("3.010-1234-5678") == "3.[phone 1]"


def test_decomposed():
    """Hangul by its letters, as file names of macOS have it, is read as that of syllables."""
    text = unicodedata.normalize("NFD", "전화번호 0212345678, kim골뱅이naver.com")
    assert read_masks().text(text) == "전화번호 [phone 1], [email 1]"


def test_resident_numbers():
    """13 digits with a day of birth that was, but for barcodes and moments, which have one, too."""
    masker = read_masks()
    for text in ("9001011234567", "0412313123456", "9203052234561"):
        assert masker.text(f"번호 {text} 확인").startswith("번호 [resident "), text
    for text in (
        *("9002301234567", "9001017234567", "9913013234567"),  # no such day, or not yet
        *("1709123456780", "1767225600000"),  # moments in milliseconds
    ):
        assert masker.text(f"번호 {text} 확인") == f"번호 {text} 확인"
    assert masker.text("8801062628469 바코드") == "8801062628469 바코드"


def test_a_file(tmp_path):
    """Where there is none it is written; a pattern that is added masks, one left out does not."""
    path = tmp_path / "masks.yaml"
    assert [mask.as_ for mask in read_masks(path).masks] == [
        mask.as_ for mask in read_masks().masks
    ]
    assert path.read_text("utf-8").startswith("# What is masked")
    path.write_text(r"staff: {pattern: '사번\s?\d{6}'}")
    assert read_masks(path).text("사번 123456, 010-1234-5678") == "[staff 1], 010-1234-5678"
    assert Masker(()).text("010-1234-5678") == "010-1234-5678"


def test_mistakes(tmp_path):
    """Each mistake of a file is named with its place, and a near name."""
    path = tmp_path / "masks.yaml"
    path.write_text(
        "a: {pattern: '('}\nb: {patern: x}\nc: {pattern: x, check: crd}\n"
        "d: {pattern: x, contxt: [y]}\ne: {pattern: x, not_after: 5}\n"
        "f: {pattern: x, context: abc}\ng: {pattern: x*}\nh: x\ni: {pattern: x, check: [card]}\n"
    )
    with pytest.raises(ConfigError) as raised:
        read_masks(path)
    assert [problem.partition(":")[0] for problem in raised.value.problems] == [
        *("a.pattern", "b.patern", "b.pattern", "c.check", "d.contxt"),
        *("e.not_after", "f.context", "g.pattern", "h", "i.check"),
    ]
    assert "perhaps you meant 'card'?" in str(raised.value)
