"""The encoding of a CSV file: a guess is said, and refused where it makes nonsense."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kragx import DataError, evaluate, read_dataset, validate
from kragx.data.formats.encodings import looks_korean
from kragx.data.problems import DataWarning
from tests.app.commands.conftest import here, kragx
from tests.thoroughness import some

__all__ = ["here", "kragx"]

HEAD = "query_id,query,query_type,relevant_chunk_ids,retrieved_chunk_ids\n"
UNSPACED = Path(__file__).parents[2] / "examples/data/unspaced"
KOREAN = (
    "환불은 며칠 안에 하나요? 개봉한 소프트웨어는 받은 날부터 십사 일 안에 돌려보낼 수 있습니다. "
    "배송비는 물건에 흠이 있으면 가게가 내고, 마음이 바뀌었으면 산 사람이 냅니다. "
    "겨울에는 섬으로 가는 배가 바람 때문에 자주 뜨지 못해 나흘까지 걸립니다. "
    "열람실은 평일 아침 아홉 시에 열고 저녁 여섯 시에 닫으며 공휴일에는 쉽니다. "
    "세금 계산서는 주문한 다음 날 전자 우편으로 보내 드리니 주소를 꼭 확인해 주세요. "
    "보증 기간은 이 년이지만 물에 젖거나 떨어뜨려 깨진 것은 고쳐 드리지 않습니다."
)
FRENCH = "Où achète-t-on des billets à l’avance ? Le musée est fermé le lundi, sauf l’été. "
ENGLISH = "Don’t open the box before you’ve read “Returns”. It’s the shop’s, isn’t it? "


def foreign() -> Iterator[tuple[str, str]]:
    """Texts and encodings that Windows elsewhere saves CSV in."""
    japanese = (UNSPACED / "ja.txt").read_text(encoding="utf-8")
    chinese = (UNSPACED / "zh.txt").read_text(encoding="utf-8")
    yield japanese, "cp932"
    yield japanese, "euc_jp"
    yield chinese, "gbk"
    yield chinese, "gb18030"
    yield FRENCH * 4, "cp1252"
    yield ENGLISH * 4, "cp1252"


def stretches(text: str, n_letters: int) -> list[str]:
    """A hundred stretches of a text that hold so many letters beside ASCII."""
    drawn = random.Random(7)
    text = " ".join(text.split())
    found = []
    for _ in range(100):
        start = end = drawn.randrange(len(text) // 2)
        while end < len(text) and sum(letter > "\x7f" for letter in text[start:end]) < n_letters:
            end += 1
        found.append(text[start:end])
    return found


@pytest.mark.parametrize("n_letters", some([10, 30, 100], 3))
def test_no_other_language_passes_for_korean(n_letters: int) -> None:
    """Of what can be decoded as cp949 at all nothing from 10 letters on is taken for Korean."""
    taken = decodable = 0
    for text, encoding in foreign():
        for stretch in stretches(text, n_letters):
            try:
                misread = stretch.encode(encoding, "ignore").decode("cp949")
            except UnicodeDecodeError:
                continue
            decodable += 1
            taken += looks_korean(misread)
    assert decodable > 30
    assert taken == 0


@pytest.mark.parametrize("n_letters", [2, 5, 10, 30, 100])
def test_korean_passes(n_letters: int) -> None:
    """Stretches of Korean of any length do, also with Hanja in it and beside ASCII."""
    assert sum(map(looks_korean, stretches(KOREAN, n_letters))) >= 98
    assert looks_korean("ids and ASCII alone")
    assert looks_korean("번호,질문,정답")
    assert looks_korean(f"{KOREAN[:60]} 民法 제1조 日·中")


def saved(folder: Path, question: str, encoding: str) -> Path:
    """A CSV file in an encoding."""
    path = folder / "set.csv"
    path.write_bytes(f"{HEAD}q1,{question},a,c1,c1\n".encode(encoding))
    return path


def test_a_guess_is_said(kragx: Any, here: Path) -> None:
    """On standard error, and in the settings of the result; a named encoding is no guess."""
    path = saved(here, "환불은 며칠 안에 하나요?", "cp949")
    score = kragx("score", "set.csv", "--match", "id", "--metric", "mrr@5", "--format", "json")
    message = "set.csv: not UTF-8, so it is read as cp949; if that is wrong, save it as UTF-8"
    assert score.err == f"kragx: warning: {message}\n"
    assert score.json()["settings"]["dataset"]["encoding"] == "cp949"
    assert message in kragx("gold", "validate", "set.csv").err
    with pytest.warns(DataWarning, match="is read as cp949"):
        assert read_dataset(path).settings["encoding"] == "cp949"
    assert read_dataset(path, encoding="cp949").encoding is None
    with pytest.warns(DataWarning, match="is read as cp949"):
        evaluation = evaluate(path, path, match="id", metrics=["mrr@5"])
    assert evaluation.settings["dataset"]["encoding"] == "cp949"
    assert "encoding" not in read_dataset(saved(here, "환불은?", "utf-8-sig")).settings


@pytest.mark.parametrize(("text", "encoding"), [*foreign()])
def test_what_was_guessed_wrong_is_refused(
    kragx: Any, here: Path, text: str, encoding: str
) -> None:
    """A file of another language is refused by every command; its encoding can be named."""
    question = text.splitlines()[0].replace(",", " ").replace('"', "")[:60]
    path = saved(here, question, encoding)
    message = "set.csv: neither UTF-8 nor Korean in cp949; save it as UTF-8, or name its encoding"
    for args in (("score", path, "--match", "id"), ("gold", "validate", path)):
        code, _, err = kragx(*args)
        assert (code, message in err) == (3, True)
    assert read_dataset(path, encoding=encoding)["q1"].text == question.strip()


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_a_mark_says_the_encoding(tmp_path: Path, encoding: str) -> None:
    """Tables with a mark are read, in silence; JSON Lines and qrels are to be saved as UTF-8."""
    path = saved(tmp_path, "환불은 며칠 안에 하나요?", encoding)
    assert read_dataset(path)["q1"].text == "환불은 며칠 안에 하나요?"
    for name in ("set.jsonl", "set.qrels", "set.json"):
        other = tmp_path / name
        other.write_bytes('{"query_id": "q1", "gold": []}\n'.encode(encoding))
        with pytest.raises(DataError, match=rf"{name}:1: {encoding.upper()}; save the file as UTF"):
            read_dataset(other)
        assert len([p for p in validate(str(other)).problems if p.level == "error"]) == 1


def test_without_a_mark_utf_16_is_refused(tmp_path: Path) -> None:
    """ASCII text in it is valid UTF-8, full of NUL."""
    path = tmp_path / "set.csv"
    path.write_bytes(f"{HEAD}q1,why?,a,c1,c1\n".encode("utf-16-le"))
    with pytest.raises(DataError, match="holds NUL bytes, as UTF-16 without a mark does"):
        read_dataset(path)
    assert read_dataset(path, encoding="utf-16-le")["q1"].text == "why?"
