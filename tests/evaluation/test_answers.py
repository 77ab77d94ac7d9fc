"""Paths into what a server answers with."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from kragx import DataError, UsageError
from kragx.evaluation.answers import steps_of, value_at
from tests.thoroughness import all_cases, examples

ANSWER = {
    "took": 3,
    "hits": {"hits": [{"_id": "a", "_source": {"a.b": "가"}}, {"_id": "b", "_source": {}}]},
    "none": None,
}


@all_cases(
    ("path", "value"),
    [
        ("$", ANSWER),
        ("took", 3),
        ("$.took", 3),
        ("$['took']", 3),
        ("$.hits.hits[0]._id", "a"),
        ("hits.hits[*]._id", ["a", "b"]),
        ("$.hits.hits[0]._source['a.b']", "가"),
        ('hits["hits"][ 1 ]._id', "b"),
        ("none", None),
    ],
)
def test_by_hand(path, value):
    """A path leads to one value, or with [*] to those of each entry."""
    assert value_at(path, ANSWER) == value


@all_cases(
    ("path", "problem"),
    [
        ("$.hit", "no field 'hit' in the answer, which is an object with 'took', 'hits', 'none'"),
        ("hits.hits[2]", r"no entry \[2\] in hits.hits, which is a list of 2"),
        ("hits[*]", "no list in hits, which is an object with 'hits'"),
        ("took.x", "no field 'x' in took, which is 3"),
        ("none[*]", "no list in none, which is null"),
        ("hits.hits[*]._source['a.b']", r"in hits.hits\[1\]._source, which is an object without"),
    ],
)
def test_what_is_there_instead(path, problem):
    """Where nothing stands at a path the error says how far it led, and what is there."""
    with pytest.raises(DataError, match=problem):
        value_at(path, ANSWER)


@all_cases("path", ["", "  ", "$..a", "a[?(@.x)]", "a[-1]", "a[1:2]", "a.", "a b", 3])
def test_no_path(path):
    """What is no path, or JSONPath beyond the part that is known, is refused with what is known."""
    with pytest.raises(UsageError, match=r"\$\.hits"):
        steps_of(path)


NAMES = st.text(st.characters(exclude_characters="'", exclude_categories=["Cs"]), max_size=5)


@examples(60)
@given(st.lists(NAMES | st.integers(0, 3), max_size=5), st.integers())
def test_every_place_can_be_named(steps, value):
    """Whatever the names of fields, what is laid at a path in brackets is found there."""
    nested = value
    for step in reversed(steps):
        nested = {step: nested} if isinstance(step, str) else [None] * step + [nested]
    text = "$" + "".join(f"['{step}']" if isinstance(step, str) else f"[{step}]" for step in steps)
    assert value_at(text, nested) == value
