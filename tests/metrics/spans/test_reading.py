"""What is read of a text, and what is taken for a wrapper."""

from __future__ import annotations

import unicodedata

from hypothesis import given, strategies as st

from kragx.metrics.spans.reading import inside, reading
from tests.thoroughness import all_cases


@all_cases(
    "text",
    [
        "<Document>the body</Document>",
        '<document index="1">\n<source>a.pdf</source>\n<document_content>\nthe body\n'
        "</document_content>\n</document>",
        "<documents><doc id='1'>the body</doc></documents>",
        "<document><source>a.pdf</source><page>3</page><content>the body</content></document>",
        "<context>\nthe body\n</context>",
        "[Document 3]\nthe body",
        "Document #3: the body",
        "[문서 2]\n출처: 약관.pdf\n페이지: 3\nthe body",
        "Passage 7\nTitle: Returns\nthe body",
        "page_label: 3\nfile_path: data/a.pdf\n\nthe body",
        "<Document>\\n\\nThe Body\\n</Document>",
        "the body</Document>",
    ],
)
def test_wrappers_are_removed(text):
    """What a pipeline puts around a text is taken off, its source and page with it."""
    assert reading(text).strip() == "the body"


@all_cases(
    "text",
    [
        "a <document> in the middle",
        "source: the well of all things",
        "title: a\nbody without a blank line",
        "name: x\nprice: 3\n\nrows of a table",
        "documents 3 and 4 are attached",
        "document 3 is attached",
        "<b>bold</b>",
        "<기생충>",
        "<source>a.pdf</source> is how sources are written",
        "see page 3: it is there",
    ],
)
def test_what_only_looks_like_a_wrapper_stays(text):
    """Text within, single lines, tables and other tags are no wrappers."""
    assert reading(text, markup=True) == text


def test_one_form():
    """NFC and lower case, written-out line ends as white space."""
    text = unicodedata.normalize("NFD", "환불 Été\\r\\n끝")
    assert reading(text).split() == ["환불", "été", "끝"]


def test_places_are_kept():
    """What stands inside keeps its place, so that offsets can be counted in it."""
    text = "[Document 3]\nOne\\ntwo</doc>"
    assert inside(text) == "One \ntwo"


@given(st.text(alphabet="ab<>/ :\n3document[]", max_size=40))
def test_any_text_can_be_read(text):
    """Whatever is given, a part of it is read, and nothing else is made of it."""
    assert inside(text) in text
    letters = iter(text.lower())
    # In order; tags within are left out, or a space stands for them.
    assert all(letter in letters for letter in "".join(reading(text).split()))
