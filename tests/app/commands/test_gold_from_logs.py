"""`kragx gold from-logs`: from logs to a gold file or a workshop."""

from __future__ import annotations

import re

import pytest

from kragx import read_dataset

LOG = (
    {
        "question": "How do I reset it?",
        "time": "2026-01-03",
        "retrieved": [{"id": "d", "text": "T"}],
    },
    {"question": "How can I reset it", "time": "2026-01-09", "thumbs": "down"},
    {"question": "010-1234-5678로 환불 되나요?", "time": "2026-01-05", "click": "d"},
)


def test_file(kragx, jsonl, here):
    """The file is a gold set with weights; what was masked is counted; nothing is written over."""
    log = jsonl(*LOG, name="log.jsonl")
    code, out, _ = kragx("gold", "from-logs", log, "-o", "gold.jsonl")
    assert code == 0
    assert "3 asks, 3 different questions; 2 once near duplicates are folded" in out
    assert "masked: phone 1" in out
    assert "of 3 asks from 2026-01-03 to 2026-01-09" in out
    assert [(query.weight, query.gold) for query in read_dataset("gold.jsonl")] == [
        (2, ()),
        (1, ()),
    ]
    result = kragx("gold", "validate", "gold.jsonl", "--format", "json").json()
    assert result["n_errors"] == 0
    code, _, problem = kragx("gold", "from-logs", log, "-o", "gold.jsonl")
    assert (code, "gold.jsonl exists" in problem) == (2, True)


def test_workshop(kragx, jsonl, here):
    """A workshop is made on what was retrieved, and says what comes next."""
    code, out, _ = kragx("gold", "from-logs", jsonl(*LOG), "--workshop", "shop")
    assert code == 0
    assert "with 1 documents, 2 questions and 0 judgements" in out
    assert (here / "shop" / "workshop.yaml").exists()
    code, _, problem = kragx("gold", "from-logs", "absent.jsonl", "--workshop", "shop")
    assert (code, "there is a workshop already" in problem) == (2, True)  # before logs are read


def test_counted(kragx, jsonl, here):
    """Without a place to write it is counted; JSON has the counts and the sentence."""
    plain = kragx("gold", "from-logs", jsonl(*LOG), "-n", "1", "--format", "json").json()
    assert (plain["n_questions"], plain["n_drawn"], plain["n_down"]) == (2, 1, 1)
    assert plain["design"] == {
        "n": 1,
        "random": 0.5,
        "towards": ["complaints"],
        "by": None,
        "seed": 0,
    }
    assert plain["scope"].startswith("numbers will be of 3 asks")
    log = jsonl({"question": "Who?", "retrieved": [{"id": "d", "text": "a@b.kr"}]})
    _, out, _ = kragx("gold", "from-logs", log)
    assert "masked: email 1" in out


def test_broken(kragx, jsonl, here):
    """A half-written line ends it with its place."""
    log = jsonl(*LOG)
    log.write_text(log.read_text() + '{"question": "How')
    code, _, problem = kragx("gold", "from-logs", log)
    assert code == 3
    assert "results.jsonl:4: not valid JSON" in problem


def test_no_column(kragx, jsonl, here):
    """A field can be left unread."""
    code, out, _ = kragx("gold", "from-logs", jsonl(*LOG), "--column", "thumbs=")
    assert (code, "thumbs" in out) == (0, False)


def test_masks(kragx, jsonl, here):
    """Patterns are written where there is no file; --no-masks leaves all as it is."""
    log = jsonl(*LOG)
    assert kragx("gold", "from-logs", log, "--masks", "masks.yaml").code == 0
    assert "resident:" in (here / "masks.yaml").read_text("utf-8")
    assert kragx("gold", "from-logs", log, "--no-masks", "-o", "gold.jsonl").code == 0
    assert "010-1234-5678" in (here / "gold.jsonl").read_text("utf-8")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--out", "a.jsonl", "--workshop", "b"), "--out and --workshop: name one of them"),
        (("--corpus", "c"), "--corpus: belongs to --workshop"),
        (("--masks", "m.yaml", "--no-masks"), "name one of them"),
        (("--slice", "lang"), "--slice: decides what is drawn; say how many with -n"),
        (("--random", "0", "-n", "1"), "--random: 0.0 is out of range"),
        (("--column", "question"), "write field=column"),
        (("--column", "qestion=x"), "perhaps you meant 'question'"),
    ],
)
def test_refused(kragx, jsonl, here, options, said):
    """What does not fit is wrong use, with what to do."""
    code, _, problem = kragx("gold", "from-logs", jsonl(*LOG), *options)
    assert (code, said in problem) == (2, True), problem


def test_korean(kragx, jsonl, here, monkeypatch):
    """Every sentence is said in Korean."""
    monkeypatch.setenv("KRAGX_LANG", "ko")
    log = jsonl(*LOG, *({"question": f"질문 {k}", "lang": "ko"} for k in range(5)))
    options = ("-n", "3", "--slice", "lang")
    for more in ((), ("--gold-from", "clicks"), ("--gold-from", "thumbs")):
        log.write_text(log.read_text().replace('"thumbs": "down"', '"thumbs": "up", "docs": ["d"]'))
        code, out, _ = kragx("gold", "from-logs", log, *options, *more)
        assert code == 0
        assert "실제 질문" in out
        assert not {"asks", "drawn", "numbers", "biased", "phone"} & {*re.findall("[a-z]+", out)}


def test_korean_errors(kragx, jsonl, here, monkeypatch):
    """What is wrong in a log is said in Korean too, with what to do."""
    monkeypatch.setenv("KRAGX_LANG", "ko")
    code, _, problem = kragx("gold", "from-logs", jsonl({"question": 3}))
    assert code == 3
    assert "question: 있어야 할 값: 텍스트 또는 메시지 목록. 실제 값: 3" in problem
    log = jsonl({"question": "Q", "time": "soon"})
    _, _, problem = kragx("gold", "from-logs", log)
    assert "시각. 실제 값: 'soon'" in problem
    assert "--column time=" in problem
    _, _, problem = kragx("gold", "from-logs", log, "--column", "time=", "--keep", "x")
    assert "--keep: 어느 줄에도 'x' 필드가 없습니다" in problem
