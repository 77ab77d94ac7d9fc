"""Logs as they are read: fields by usual names, tables, what is broken by line and field."""

from __future__ import annotations

import gzip
import json

import pytest

from kragx.errors import DataError, UsageError
from kragx.workshop.logs.reading import Logs


def _write(path, *lines, encoding="utf-8"):
    path.write_bytes("\n".join(lines).encode(encoding))
    return path


def _asked(path, **options):
    return [*Logs([path], **options).questions()]


def test_json_lines(tmp_path):
    """Every field by its usual names, in English and Korean; what is absent is unknown."""
    full = {
        "query": "Where?",
        "timestamp": "2026-01-31T09:30:00+09:00",
        "documents": [{"id": "d1", "text": "Here", "score": 0.5}],
        "response": "Here.",
        "feedback": "👍",
        "clicked": ["d1"],
        "session_id": 7,
        "history": [{"role": "user", "content": "Hello"}],
    }
    korean = {
        "질문": "어디인가요?",
        "시각": 1769851800000,
        "평가": "싫어요",
        "검색결과": ["d1", "d2"],
    }
    rows = (full, korean, {"question": "Bare"})
    first, second, bare = _asked(_write(tmp_path / "a.jsonl", *map(json.dumps, rows)))
    assert (first.text, first.time, first.answer, first.thumbs) == (
        "Where?",
        1769819400,
        "Here.",
        1,
    )
    assert [(doc.id, doc.text, doc.score) for doc in first.retrieved] == [("d1", "Here", 0.5)]
    assert (first.clicks, first.session) == (("d1",), "7")
    assert [turn.content for turn in first.history] == ["Hello"]
    assert (second.text, second.time, second.thumbs) == ("어디인가요?", 1769851800, -1)
    assert [(doc.id, doc.text) for doc in second.retrieved] == [("d1", None), ("d2", None)]
    assert (bare.time, bare.retrieved, bare.answer, bare.thumbs, bare.clicks) == (None,) * 4 + ((),)


def test_messages(tmp_path):
    """Of messages the user's last is the question, and what was said before its history."""
    said = [["system", "Be kind"], ["human", "One?"], ["ai", "1"], ["human", "Two?"]]
    nested = {"input": json.dumps({"messages": [{"role": "user", "content": "One?"}]})}
    rows = ({"messages": said}, nested, {"input": {"question": "Q", "chat_history": said[1:3]}})
    chat, inner, both = _asked(_write(tmp_path / "a.jsonl", *map(json.dumps, rows)))
    assert chat.text == "Two?"
    turns = [("user", "One?"), ("assistant", "1")]
    assert [(turn.role, turn.content) for turn in chat.history] == turns
    assert (inner.text, inner.history) == ("One?", ())
    assert (both.text, [(turn.role, turn.content) for turn in both.history]) == ("Q", turns)


def test_what_an_api_answered(tmp_path):
    """The answer stands in the message of what an API's response is, as logs of calls have it."""
    answered = {"role": "assistant", "content": "2"}
    forms = ({"choices": [{"message": answered}]}, {"messages": [answered]}, answered, "2")
    rows = ({"messages": [{"role": "user", "content": "One?"}], "response": own} for own in forms)
    asked = _asked(_write(tmp_path / "a.jsonl", *map(json.dumps, rows)))
    assert [question.answer for question in asked] == ["2"] * len(forms)


@pytest.mark.parametrize("encoding", ["utf-8", "cp949"])
def test_csv(tmp_path, encoding):
    """Tables in each encoding; lists stand in cells as JSON or apart by marks."""
    lines = (
        "질문,시각,documents",
        '환불은?,2026-01-31 09:30,"d1; d2"',
        '배송은?,,"[{""text"": ""글""}]"',
    )
    path = _write(tmp_path / "a.csv", *lines, encoding=encoding)
    if encoding == "cp949":
        with pytest.warns(UserWarning, match="cp949"):
            first, second = _asked(path)
    else:
        first, second = _asked(path)
    assert (first.text, [doc.id for doc in first.retrieved]) == ("환불은?", ["d1", "d2"])
    assert (second.time, [doc.text for doc in second.retrieved]) == (None, ["글"])


def test_columns(tmp_path):
    """A field stands where somebody says, by a name or a path, in texts of JSON too."""
    row = {"payload": json.dumps({"ask": {"words": "Where?"}}), "query": "no"}
    path = _write(tmp_path / "a.jsonl", json.dumps(row))
    (question,) = _asked(path, columns={"question": "payload.ask.words"})
    assert question.text == "Where?"
    with pytest.raises(
        UsageError, match=r"--column qestion=x: unknown field; perhaps you meant 'question'"
    ):
        Logs([path], {"qestion": "x"})
    with pytest.raises(
        DataError, match=r"a\.jsonl:1: question: there is no 'qury'; perhaps you meant 'query'"
    ):
        _asked(path, columns={"question": "qury"})
    said = r"a\.jsonl:1: thumbs: no line has 'payload\.vote'; look how"
    with pytest.raises(DataError, match=said):
        _asked(path, columns={"question": "query", "thumbs": "payload.vote"})


GOOD = json.dumps({"question": "Where?"})


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ((GOOD, GOOD[:12]), r"a\.jsonl:2: not valid JSON"),
        ((GOOD, '{"answer": "x"}'), r"a\.jsonl:2: question: missing"),
        (
            ('{"frage": "x"}',),
            r"a\.jsonl:1: question: no field has a usual name .* there are frage",
        ),
        ((GOOD, '{"question": "x", "history": 3}', "{"), r"a\.jsonl:2: history"),
        (
            (GOOD, '{"question": 3}'),
            r"a\.jsonl:2: question: a text, or messages is expected, not 3",
        ),
        (("[1, 2]",), r"a\.jsonl:1: a JSON object is expected"),
        (("",), r"a\.jsonl: the file holds no record"),
    ],
)
def test_broken(tmp_path, lines, said):
    """What is wrong is said by line and field, with what to do."""
    with pytest.raises(DataError, match=said):
        _asked(_write(tmp_path / "a.jsonl", *lines))


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("time", "01/31/2026 9:30", "time: a time as .* not '01/31/2026 9:30'"),
        ("time", 0.53, "time: a time as .* not 0.53"),
        ("feedback", "틀렸어요", "feedback: up or down, 1 or -1, true or false is expected"),
        ("retrieved", 3, "retrieved: a list of documents or ids is expected, not 3"),
        ("retrieved", [{"score": 1}], r"retrieved\[0\].*neither"),
    ],
)
def test_not_understood(tmp_path, field, value, said):
    """A field that holds something else is refused by its line, with how to leave it out."""
    path = _write(tmp_path / "a.jsonl", GOOD, json.dumps({"question": "x", field: value}), GOOD)
    with pytest.raises(DataError, match=rf"a\.jsonl:2: {said}"):
        _asked(path)


def test_left_unread(tmp_path):
    """A field that is named empty is not read; the question has to be."""
    path = _write(tmp_path / "a.jsonl", json.dumps({"question": "x", "vote": "maybe"}))
    with pytest.raises(DataError, match=r"a\.jsonl:1: vote: up or down.*--column thumbs="):
        _asked(path)
    logs = Logs([path], {"thumbs": "", "session": ""})
    assert [question.thumbs for question in logs.questions()] == [None]
    with pytest.raises(UsageError, match="--column question=: write question=column"):
        Logs([path], {"question": ""})


def test_encoding(tmp_path):
    """A line in another encoding is named, and how to save the file."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(GOOD.encode() + b"\n" + '{"question": "환불"}'.encode("cp949") + b"\n")
    with pytest.raises(DataError, match=r"a\.jsonl:2: not UTF-8 \(byte 17 of the line\); save"):
        _asked(path)


def test_utf_16(tmp_path):
    """A log in another encoding than UTF-8 is refused with its line."""
    with pytest.raises(DataError, match=r"a\.jsonl:1: not UTF-8 .*; save the file as UTF-8"):
        _asked(_write(tmp_path / "a.jsonl", GOOD, encoding="utf-16"))


def test_packed(tmp_path):
    """A log may be packed."""
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(GOOD.encode() + b"\n"))
    assert [question.text for question in _asked(path)] == ["Where?"]


def test_rows_of_tables(tmp_path):
    """A row of other columns than the header, and a table without the question, are named."""
    rows = ("question,answer", "Where?,1", "How?,2,3")
    with pytest.raises(DataError, match=r"a\.csv:3: 3 cells, the header has 2"):
        _asked(_write(tmp_path / "a.csv", *rows))
    with pytest.raises(DataError, match=r"a\.csv:2: question: .* there are frage, zeit"):
        _asked(_write(tmp_path / "a.csv", "frage,zeit", "Wo?,1"))


def test_parquet(tmp_path):
    """Parquet has the same fields."""
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    table = pa.table({"question": ["Where?"], "time": [1769851800], "thumbs": [True]})
    parquet.write_table(table, tmp_path / "a.parquet")
    (question,) = _asked(tmp_path / "a.parquet")
    assert (question.text, question.time, question.thumbs) == ("Where?", 1769851800, 1)


def test_standard_input():
    """Standard input cannot be read twice, and says so."""
    with pytest.raises(UsageError, match="save standard input as a file"):
        _asked("-")
