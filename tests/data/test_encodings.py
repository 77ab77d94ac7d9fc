"""The encoding of a CSV file: a guess is said."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kragx import DataError, evaluate, read_dataset
from kragx.data.problems import DataWarning
from tests.app.commands.conftest import here, kragx

__all__ = ["here", "kragx"]

HEAD = "query_id,query,query_type,relevant_chunk_ids,retrieved_chunk_ids\n"
UNSPACED = Path(__file__).parents[2] / "examples/data/unspaced"
FRENCH = "Où achète-t-on des billets à l’avance ? Le musée est fermé le lundi, sauf l’été. "
ENGLISH = "Don’t open the box before you’ve read “Returns”. It’s the shop’s, isn’t it? "


def foreign() -> Iterator[tuple[str, str]]:
    """Texts in encodings of elsewhere that are no cp949."""
    japanese = (UNSPACED / "ja.txt").read_text(encoding="utf-8")
    chinese = (UNSPACED / "zh.txt").read_text(encoding="utf-8")
    yield japanese, "euc_jp"
    yield chinese, "gbk"
    yield chinese, "gb18030"
    yield FRENCH * 4, "cp1252"
    yield ENGLISH * 4, "cp1252"


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
    """What is not cp949 either is refused by every command; its encoding can be named."""
    question = text.splitlines()[0].replace(",", " ").replace('"', "")[:60]
    path = saved(here, question, encoding)
    message = "set.csv: neither UTF-8 nor Korean in cp949; save it as UTF-8, or name its encoding"
    for args in (("score", path, "--match", "id"), ("gold", "validate", path)):
        code, _, err = kragx(*args)
        assert (code, message in err) == (3, True)
    assert read_dataset(path, encoding=encoding)["q1"].text == question.strip()


def test_utf_16_is_refused_unless_it_is_named(tmp_path: Path) -> None:
    """ASCII text in it is valid UTF-8, full of NUL."""
    path = tmp_path / "set.csv"
    path.write_bytes(f"{HEAD}q1,why?,a,c1,c1\n".encode("utf-16-le"))
    with pytest.raises(DataError, match="holds NUL bytes, as UTF-16 does"):
        read_dataset(path)
    assert read_dataset(path, encoding="utf-16-le")["q1"].text == "why?"
