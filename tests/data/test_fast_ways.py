"""The fast ways of reading give what the careful ones give, or leave the work to them."""

from __future__ import annotations

import json
import unicodedata
from contextlib import suppress
from dataclasses import asdict, replace
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import jiter
import pytest
from hypothesis import example, given, strategies as st
from langchain_core.documents import Document

from kragx.data import Forbidden, Reading, batch
from kragx.data.documents import Doc, as_docs
from kragx.data.formats import jsonl
from kragx.data.formats.jsonl import json_value
from kragx.data.gold import Gold, Query, query_hash
from kragx.data.problems import Problem
from kragx.data.text import SurrogateRepair, normalise
from kragx.errors import DataError
from tests.thoroughness import all_cases, examples


def _refuse(raw: bytes, **_: Any) -> None:
    raise ValueError


SLOW = SimpleNamespace(from_json=_refuse)
"""In the place of `jiter`: nothing is read fast."""

TEXT = st.text(st.characters(exclude_categories=())) | st.sampled_from(["", " ", "한글", "\u2028"])
VALUE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)


@st.composite
def json_bytes(draw: st.DrawFn) -> bytes:
    """JSON of any value, escaped or not, a piece of it doubled, changed or lost."""
    text = json.dumps(draw(VALUE), ensure_ascii=draw(st.booleans()))
    raw = text.encode("utf-8", "surrogatepass")
    start, end = sorted(draw(st.tuples(*[st.integers(0, len(raw))] * 2)))
    return raw[:start] + raw[start:end] * draw(st.sampled_from([1, 1, 1, 0, 2])) + raw[end:]


@examples(300)
@given(raw=json_bytes())
@example(raw=b'{"a": 1, "\\u0061": 2}')
@example(raw=b'{"a": {"b": 1, "b": 2}}')
@example(raw=b'{"a": "\\ud800"}')
@example(raw=b'{"a": "\xed\xa0\x80"}')
@example(raw=b'{"a": ' + b"1" * 5000 + b"}")
@example(raw=b"[" * 500 + b"]" * 500)
def test_json_is_read_once_or_carefully(raw: bytes) -> None:
    """What the fast decoder takes is what the careful one reads, without anything to mend."""
    with suppress(ValueError):
        value = jiter.from_json(raw, catch_duplicate_keys=True)
        repair = SurrogateRepair()
        with patch.object(jsonl, "jiter", SLOW):
            assert repr(value) == repr(json_value(raw, repair))
        assert repair.surrogates == 0


@all_cases("raw", [b'{"a": 1, "a": 1}', b'{"a": "\\udc00"}', b"", b"{", b"\xff"])
def test_what_is_not_plain_is_not_taken(raw: bytes) -> None:
    """Keys that stand twice, half surrogates and broken lines are left to the careful decoder."""
    with pytest.raises(ValueError, match=r".+"):
        jiter.from_json(raw, catch_duplicate_keys=True)


ODD: dict[str, st.SearchStrategy[Any]] = {
    "id": st.none() | TEXT | st.integers() | st.booleans() | st.floats(),
    "text": st.none() | TEXT | st.integers(),
    "page_content": st.none() | TEXT,
    "score": st.none() | st.floats() | st.integers() | st.sampled_from(["Infinity", "1", True]),
    "grade": st.none() | st.floats() | st.integers() | st.just("1"),
    "metadata": st.none() | st.dictionaries(TEXT, VALUE, max_size=2) | st.lists(TEXT, max_size=1),
    "more": TEXT,
}
PLAIN: dict[str, st.SearchStrategy[Any]] = {
    "id": st.text("abc", min_size=1, max_size=3),
    "text": st.text("가나 \n", max_size=4),
    "score": st.floats(0, 1) | st.integers(0, 3),
    "grade": st.floats(0, 3) | st.integers(0, 3),
    "metadata": st.dictionaries(TEXT, VALUE, max_size=2),
}


@st.composite
def lists_of_records(draw: st.DrawFn, number: str) -> list[Any]:
    """Some documents or gold items: all plain and alike as a rule, now and then one that is odd."""
    names = draw(st.sets(st.sampled_from(["id", "text", number, "metadata"])))
    plain = {name: PLAIN[name] for name in names}
    values: list[Any] = draw(st.lists(st.fixed_dictionaries(plain), max_size=4))
    if draw(st.booleans()):
        odd = st.fixed_dictionaries({}, optional=ODD) | TEXT | st.none() | st.lists(TEXT)
        values.insert(draw(st.integers(0, len(values))), draw(odd))
    return values


@st.composite
def lines(draw: st.DrawFn) -> bytes:
    """A results file of some lines; each may be odd, and lack or double anything."""
    records = []
    for number in range(draw(st.integers(1, 4))):
        record: dict[str, Any] = {"query_id": draw(st.sampled_from([f"q{number}", "q0", 1, ""]))}
        record["gold"] = draw(lists_of_records("grade"))
        record["retrieved"] = draw(lists_of_records("score"))
        for name in draw(st.sets(st.sampled_from([*SELDOM]), max_size=3)):
            record[name] = draw(SELDOM[name])
        records.append(json.dumps(record, ensure_ascii=draw(st.booleans())))
    return "\n".join(records).encode("utf-8", "surrogatepass")


SELDOM: dict[str, st.SearchStrategy[Any]] = {
    "query": TEXT | st.none() | st.integers(),
    "query_type": st.sampled_from(["a", None, 1]),
    "expected_doc_types": st.sampled_from([["faq"], [], None, "faq", [1]]),
    "answerable": st.sampled_from([True, False, None, "no"]),
    "reference": st.sampled_from(["a", None, 1]),
    "metadata": st.none()
    | st.dictionaries(TEXT, VALUE, max_size=2)
    | st.sampled_from([[1], [], "", 0]),
    "error": st.sampled_from(["TimeoutError", "", None, 1]),
    "seconds": st.sampled_from([0.5, None, -1, "1"]),
    "retrieved_chunk_ids": st.sampled_from([["a"], [], None, "a", ["a", "b"]]),
    "searches": st.none()
    | st.just({"retrieved": []})
    | st.lists(
        st.sampled_from(
            [
                {},
                1,
                {"retrieved": [0]},
                {"retrieved": [{"text": "a"}], "read": [0, "b"], "step": 1},
                {"query": "\ud800", "retrieved": [{"text": "\ud800"}], "error": ""},
                {"error": "a", "retrieved": None},
                {"more": 1},
            ]
        ),
        max_size=2,
    ),
    "gold": st.none() | st.just("a"),
    "retrieved": st.none() | st.just({"text": "a"}),
    "more": TEXT,
}
NULLS = ("query", "query_type", "expected_doc_types", "answerable", "reference", "metadata")


def read(raw: bytes, *, strict: bool = False) -> tuple[list[str], list[Problem], int]:
    """Every query and answer of a file, what is wrong with it, and how much was mended."""
    rows: list[str] = []
    with TemporaryDirectory() as folder:
        path = Path(folder, "results.jsonl")
        path.write_bytes(raw)
        reading = Reading(path, "gold", strict=strict)
        try:
            rows.extend(map(repr, reading))
        except DataError as error:
            rows.append(str(error).replace(folder, ""))
        problems = [replace(problem, file="") for problem in reading.problems.found]
        return rows, problems, reading.problems.repair.surrogates


@pytest.mark.integration
@examples(200)
@given(raw=lines(), strict=st.booleans())
@example(
    raw=b'{"query_id": "q", "gold": [], "retrieved": [{"text": "a", "text": "b"}]}', strict=True
)
@example(
    raw=b'{"query_id": "q", "gold": [{"text": "a"}], "retrieved": [{"text": "\\ud800"}]}',
    strict=True,
)
@example(raw=b'{"query_id": 1}\n{"query_id": 2}\n{"query_id": 3}\n{"query_id": 2}', strict=True)
@example(raw=b'{"query_id": 1}\n{"query_id": 2}\n{"query_id": 3}\n{"query_id"', strict=True)
def test_plain_lines_are_lines(raw: bytes, strict: bool) -> None:
    """A file read fast holds what it holds read carefully, with the same problems at each place.

    Where the first mistake ends the reading, the same lines come before it.
    """
    fast = read(raw, strict=strict)
    with (
        patch.object(jsonl, "jiter", SLOW),
        patch.object(batch, "plain_columns", lambda *_, **__: None),
    ):
        assert fast == read(raw, strict=strict)


@pytest.mark.integration
@examples(100)
@given(raw=lines())
@example(raw=b'{"query_id": "q", "gold": [], "retrieved": [], "seconds": 0.5}')
@example(raw=b'{"query_id": "q", "gold": [], "answerable": false}')
def test_what_is_not_there_is_nothing(raw: bytes) -> None:
    """A field that a line lacks says what null says, though it is not looked at."""
    records = [
        json_value(line, SurrogateRepair())
        for line in raw.decode("utf-8", "surrogatepass").split("\n")
    ]
    nulls = [
        dict.fromkeys((*NULLS, "error", "seconds", "retrieved_chunk_ids", "searches")) | r
        for r in records
    ]
    bare, full = (read("\n".join(map(json.dumps, some)).encode()) for some in (records, nulls))
    assert bare == full


def test_a_text_is_held_once() -> None:
    """Documents of one text hold one string, whatever stands beside it."""
    records = (
        [{"text": "강이 " + "바다"}],
        [{"id": "d", "text": "강이" + " 바다"}],
        [Document("강이 바다")],
    )
    (first,), *others = (
        as_docs(own, SurrogateRepair(), "", strings=own is records[2]) for own in records
    )
    assert all(doc.text is first.text for (doc,) in others)


def slow_hash(query: Query) -> bytes:
    """The same, of the whole query as plain values; without a history, and what is forbidden."""
    fields = asdict(query)
    if fields["forbidden"] is None:
        del fields["forbidden"]
    else:
        fields["forbidden"] = [item.to_dict() for item in query.forbidden or ()]
    if not fields["history"]:
        del fields["history"]
    for name in ("weight", "inclusion"):
        if fields[name] == 1:
            del fields[name]
    for item in fields["gold"]:
        item["grade"] = float(item["grade"])
    text = json.dumps(
        fields, sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=str
    )
    return sha256(text.encode("utf-8", "surrogatepass")).digest()


def test_white_space_is_what_split_takes() -> None:
    """A text of one line is looked at whole, and every white space is found in it."""
    spaces = [chr(code) for code in range(0x110000) if chr(code).isspace()]
    assert len(spaces) > 20
    for space in (*spaces, "\u200b", "\ufeff", "가"):
        text = f"a{space}b"
        assert normalise(text) == " ".join(unicodedata.normalize("NFC", text).split())
    for text in ("", " ", "a ", " a", "a  b", "a b"):
        assert normalise(text) == " ".join(text.split())


METADATA = st.dictionaries(TEXT, VALUE | st.dates(), max_size=2)
DOC = st.builds(Doc, TEXT | st.none(), TEXT | st.none(), METADATA, st.none() | st.floats())
GRADE = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-3, 3)
ITEM = st.builds(
    Gold, TEXT | st.none(), TEXT | st.none(), GRADE, st.tuples() | st.tuples(DOC, DOC), METADATA
)


@examples(200)
@given(
    query=st.builds(
        Query,
        id=TEXT,
        text=st.none() | TEXT,
        gold=st.tuples() | st.tuples(ITEM) | st.tuples(ITEM, ITEM),
        query_type=st.none() | TEXT,
        expected_doc_types=st.tuples() | st.tuples(TEXT, TEXT),
        answerable=st.none() | st.booleans(),
        reference=st.none() | TEXT,
        metadata=METADATA,
        forbidden=st.none() | st.lists(st.builds(Forbidden, id=st.just("a") | st.just("b"))),
        weight=st.just(1.0) | st.floats(0, 1e6),
        inclusion=st.just(1.0) | st.floats(1e-6, 1),
    )
)
def test_a_hash_is_of_the_whole_query(query: Query) -> None:
    """A query's hash, put together field by field, is that of its JSON with sorted keys."""
    assert query_hash(query) == slow_hash(query)
