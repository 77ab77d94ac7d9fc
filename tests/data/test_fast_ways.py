"""The fast ways of reading give what the careful ones give, or leave the work to them."""

from __future__ import annotations

import json
import unicodedata
from contextlib import suppress
from dataclasses import asdict
from hashlib import sha256
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import jiter
import pytest
from hypothesis import example, given, strategies as st

from kragx.data import documents
from kragx.data.documents import Doc
from kragx.data.formats import jsonl
from kragx.data.formats.jsonl import json_value
from kragx.data.gold import Gold, Query, query_hash
from kragx.data.text import Mender, normalise
from tests.thoroughness import examples


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
        mender = Mender()
        with patch.object(jsonl, "jiter", SLOW):
            assert repr(value) == repr(json_value(raw, mender))
        assert mender.surrogates == 0


@pytest.mark.parametrize("raw", [b'{"a": 1, "a": 1}', b'{"a": "\\udc00"}', b"", b"{", b"\xff"])
def test_what_is_not_plain_is_not_taken(raw: bytes) -> None:
    """Keys that stand twice, half surrogates and broken lines are left to the careful decoder."""
    with pytest.raises(ValueError, match=r".+"):
        jiter.from_json(raw, catch_duplicate_keys=True)


def test_texts_are_forgotten_in_the_end() -> None:
    """What is remembered of texts stays within its characters."""
    remembered = documents.Remembered(str.upper)
    with patch.object(documents, "_MOST_CHARACTERS", 100):
        for number in range(1000):
            assert remembered[f"text {number}"] == f"TEXT {number}"
            assert sum(map(len, remembered)) <= 120


def slow_hash(query: Query) -> bytes:
    """The same, of the whole query as plain values; it has no history without one."""
    fields = asdict(query)
    if not fields["history"]:
        del fields["history"]
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
    )
)
def test_a_hash_is_of_the_whole_query(query: Query) -> None:
    """A query's hash, put together field by field, is that of its JSON with sorted keys."""
    assert query_hash(query) == slow_hash(query)
