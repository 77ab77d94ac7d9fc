"""Documents that stood earlier in their list: of many lists at once as of each alone."""

from __future__ import annotations

from itertools import chain

import pytest
from hypothesis import example, given, strategies as st

from kragx.data import Doc
from kragx.data.entries import Entries
from kragx.matchers.items import repeated
from tests.thoroughness import examples

# The second is the first in NFD, the third has more white space.
TEXTS = st.sampled_from(["강 가", "\u1100\u1161\u11bc \u1100\u1161", " 강  가", "a", "b", "c"])
DOCS = st.builds(Doc, text=TEXTS) | st.builds(Doc, st.sampled_from("ab"), TEXTS | st.none())


def repeats(*lists: list[Doc]) -> list[bool]:
    """Whether each document of each list stood earlier in it."""
    docs = Entries.of([*chain.from_iterable(lists)], [*map(len, lists)], "score")
    return repeated(docs).tolist()


def expected(docs: list[Doc]) -> list[bool]:
    """The same of one list, by what each document is."""
    seen = [doc.identity for doc in docs]
    return [one is not None and one in seen[:rank] for rank, one in enumerate(seen)]


@pytest.mark.integration
@examples(200)
@given(st.lists(st.lists(st.lists(st.builds(Doc, text=TEXTS) | DOCS, max_size=5), max_size=4)))
@example([[[Doc(text="a"), Doc(text="a")], [], [Doc(text="a"), Doc(text="b"), Doc(text=" a")]]])
@example([[[Doc("a"), Doc("a")], [Doc(text="a"), Doc("a")]]])
def test_many_lists_as_each_alone(batches: list[list[list[Doc]]]) -> None:
    """Whatever the documents have, ids or texts, in batch after batch."""
    for lists in batches:
        docs = Entries.of([*chain.from_iterable(lists)], [*map(len, lists)], "score")
        assert repeated(docs).tolist() == [*chain.from_iterable(map(expected, lists))]


def test_by_hand() -> None:
    """Texts are the same in any Unicode form and with any white space; ids count before texts."""
    forms = [Doc(text="강 가"), Doc(text="\u1100\u1161\u11bc  \u1100\u1161"), Doc(text="a")]
    assert repeats(forms) == [False, True, False]
    assert repeats([Doc("x", "a"), Doc("y", "a"), Doc("x", "b")]) == [False, False, True]
