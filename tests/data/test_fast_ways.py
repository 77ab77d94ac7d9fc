"""The fast ways of reading give what the careful ones give, or leave the work to them."""

from __future__ import annotations

import json
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import example, given, strategies as st

from kragx.data import documents
from kragx.data.documents import Doc, as_doc
from kragx.data.formats.jsonl import _plain_json, json_value
from kragx.data.text import Mender
from kragx.errors import DataError
from tests.thoroughness import examples

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
def test_plain_json_is_json(raw: bytes) -> None:
    """What the fast decoder takes is what `json_value` reads, without anything to mend."""
    value = _plain_json(raw)
    if value is not None:
        mender = Mender()
        assert repr(value) == repr(json_value(raw.decode(), mender))
        assert mender.surrogates == 0


@pytest.mark.parametrize("raw", [b'{"a": 1, "a": 1}', b'{"a": "\\udc00"}', b"", b"{", b"\xff"])
def test_what_is_not_plain_is_left_to_json_value(raw: bytes) -> None:
    """Keys that stand twice, half surrogates and broken lines are not taken."""
    assert _plain_json(raw) is None


FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "id": st.none() | TEXT | st.integers() | st.booleans() | st.floats(),
    "text": st.none() | TEXT | st.integers(),
    "page_content": st.none() | TEXT,
    "score": st.none() | st.floats() | st.integers() | st.sampled_from(["Infinity", "1", True]),
    "metadata": st.none() | st.dictionaries(TEXT, VALUE, max_size=2) | st.lists(TEXT, max_size=1),
    "more": TEXT,
}


def read(record: dict[str, Any]) -> tuple[Doc | str, int]:
    """The document of a file's record, or why there is none; and how much was mended."""
    mender = Mender()
    try:
        return as_doc(record, mender, strings=False), mender.surrogates
    except DataError as error:
        return str(error), 0


@examples(300)
@given(record=st.fixed_dictionaries({}, optional=FIELDS))
def test_plain_documents_are_documents(record: dict[str, Any]) -> None:
    """A plain document is the one that the checks make, and is refused where they refuse it."""
    plain = read(record)
    with patch.object(documents, "_plain_doc", lambda fields, mender: None):
        assert repr(plain) == repr(read(record))
    assert read(record) == plain or "nan" in repr(plain)  # remembered or not


def test_a_text_is_held_once() -> None:
    """Documents of one text hold one string, whatever stands beside it."""
    first = as_doc({"text": "강이 " + "바다"}, Mender(), strings=False)
    other = as_doc({"id": "d", "text": "강이 " + "바다"}, Mender(), strings=False)
    assert first.text is other.text


def test_texts_are_forgotten_in_the_end() -> None:
    """What is remembered of texts stays within its characters."""
    remembered = documents._Remembered(str.upper)
    with patch.object(documents, "_MOST_CHARACTERS", 100):
        for number in range(1000):
            assert remembered[f"text {number}"] == f"TEXT {number}"
            assert sum(map(len, remembered)) <= 120
