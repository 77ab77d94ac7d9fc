"""Chunks: they cover the text, keep to their size, and remember where they come from."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import example, given, strategies as st

from kragx.data.chunking import Span, paragraphs, windows
from kragx.data.documents import Doc
from kragx.errors import UsageError
from kragx.evaluation.retrievers import chunked
from tests.thoroughness import all_cases

texts = st.text(alphabet=st.sampled_from(list("ab가나. \n\t")), max_size=120)
sizes = st.integers(1, 30).flatmap(lambda size: st.tuples(st.just(size), st.integers(0, size // 2)))


def pieces(text, spans):
    """The stretches of a text that spans stand for."""
    return [text[span.start : span.end] for span in spans]


def covered(text, spans):
    """Whether every character that is no white space lies in some span."""
    inside = {at for span in spans for at in range(span.start, span.end)}
    return all(at in inside or text[at].isspace() for at in range(len(text)))


@all_cases(
    ("text", "expected"),
    [
        ("", []),
        (" \n\n \t", []),
        ("one", ["one"]),
        ("one\ntwo", ["one\ntwo"]),
        ("one\n\ntwo", ["one", "two"]),
        ("one\n \t\n\n\ntwo\n\n", ["one", "two"]),
        ("\n\n가나\n\n다라", ["가나", "다라"]),
        ("one\r\n\r\ntwo", ["one\r", "two"]),
    ],
)
def test_paragraphs(text, expected):
    """Paragraphs are what stands between blank lines; blank ones are left out."""
    found = [piece.strip("\r") for piece in pieces(text, paragraphs(text))]
    assert found == [piece.strip("\r") for piece in expected]


@given(texts)
def test_paragraphs_cover_the_text(text):
    """Paragraphs stand in order, do not overlap, are not blank, and leave no letter out."""
    spans = list(paragraphs(text))
    assert covered(text, spans)
    assert all(piece.strip() for piece in pieces(text, spans))
    assert all(a.end <= b.start for a, b in itertools.pairwise(spans))


@all_cases(
    ("text", "size", "overlap", "expected"),
    [
        ("", 5, 0, []),
        ("   ", 2, 0, []),
        ("abc", 5, 2, ["abc"]),
        ("abcdef", 3, 0, ["abc", "def"]),
        ("abcdefgh", 4, 2, ["abcd", "cdef", "efgh"]),
        ("가나 다라마 바", 6, 0, ["가나 다라마", " 바"]),
        ("one two three", 9, 0, ["one two", " three"]),
        ("a bcdefghij", 6, 0, ["a bcde", "fghij"]),
    ],
)
def test_windows(text, size, overlap, expected):
    """Windows end at white space in their second half, else at their size; each by hand."""
    assert pieces(text, windows(text, size, overlap)) == expected


@given(texts, sizes)
def test_windows_cover_the_text(text, size_and_overlap):
    """Windows leave no letter out, are not blank, keep to their size, and always move on."""
    size, overlap = size_and_overlap
    spans = list(windows(text, size, overlap))
    assert covered(text, spans)
    assert all(piece.strip() for piece in pieces(text, spans))
    assert all(0 < span.end - span.start <= size for span in spans)
    for a, b in itertools.pairwise(spans):
        assert a.start < b.start
        assert a.end <= b.end
        assert a.end - b.start <= overlap


@given(texts, sizes)
@example("aa a", (2, 1))
@example("하나 둘", (4, 2))
def test_every_window_brings_something_new(text, size_and_overlap):
    """No window lies wholly inside the one before it."""
    for a, b in itertools.pairwise(windows(text, *size_and_overlap)):
        assert a.end < b.end


@given(st.integers(1, 20), st.integers(0, 60), st.data())
def test_windows_overlap_as_asked(size, length, data):
    """In a text without white space each window begins exactly `overlap` before the last's end."""
    overlap = data.draw(st.integers(0, size // 2))
    spans = list(windows("가" * length, size, overlap))
    for a, b in itertools.pairwise(spans):
        assert b.start == max(a.end - overlap, a.start + 1)
        assert a.end - a.start == size


@given(st.lists(st.text("abc가", min_size=1, max_size=5), max_size=30), st.integers(12, 40))
def test_words_stay_whole(words, size):
    """Where every word is shorter than half a window, no window without overlap cuts a word."""
    text = " ".join(words)
    found = [word for piece in pieces(text, windows(text, size)) for word in piece.split()]
    assert found == words


@all_cases(("size", "overlap"), [(0, 0), (-1, 0), (10, -1), (10, 6), (10, 10), (1, 1), (3, 2)])
def test_bad_sizes(size, overlap):
    """A size below 1, or an overlap below 0 or above half the size, is wrong use that says so."""
    with pytest.raises(UsageError, match=rf"size {size} with overlap {overlap}"):
        list(windows("some text", size, overlap))


@given(texts, st.none() | sizes)
def test_chunks_point_into_their_source(text, size_and_overlap):
    """A chunk's offsets cut it out of its source again; its id holds them and is unique."""
    size, overlap = size_and_overlap or (None, 0)
    doc = Doc(id="d", text=text, metadata={"title": "t"})
    chunks = chunked(doc, size=size, overlap=overlap)
    for chunk in chunks:
        start, end = chunk.metadata["start"], chunk.metadata["end"]
        assert text[start:end] == chunk.page_content
        assert chunk.id == f"d:{start}-{end}"
        assert (chunk.metadata["source"], chunk.metadata["title"]) == ("d", "t")
    assert len({chunk.id for chunk in chunks}) == len(chunks)


def test_spans_are_values():
    """A span is a frozen value: equal by its numbers, and not to be changed."""
    assert Span(1, 2) == Span(1, 2)
    with pytest.raises(AttributeError):
        Span(1, 2).start = 0
