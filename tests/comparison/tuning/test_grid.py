"""Grids: what they make, what they are called, and what is wrong with them."""

import pytest

from kragx.comparison.tuning import read_grid, settings, size, spread, value_label
from kragx.errors import UsageError
from tests.thoroughness import all_cases


def test_the_product_in_order_with_readable_names():
    """The last axis changes first; a name says each value as YAML would."""
    axes = {"tokenizer": ["kiwi", {"name": "char", "n": 2}], "k": [5, 10]}
    assert [own.name for own in settings("bm25", axes)] == [
        "bm25[tokenizer=kiwi, k=5]",
        "bm25[tokenizer=kiwi, k=10]",
        "bm25[tokenizer={name: char, n: 2}, k=5]",
        "bm25[tokenizer={name: char, n: 2}, k=10]",
    ]
    assert settings("bm25", axes)[3].places == (1, 1)
    assert size(axes) == "4 settings (tokenizer 2 x k 2)"
    assert size({"k": [5]}) == "1 setting (k 1)"


@all_cases(
    ("value", "label"),
    [
        (None, "null"),
        (True, "true"),
        (0.5, "0.5"),
        (1, "1"),
        ("한국어", "한국어"),
        ([1, "a"], "[1, a]"),
    ],
)
def test_values_are_written_as_in_yaml(value, label):
    """No Python spelling reaches a reader of results."""
    assert value_label(value) == label


def test_a_grid_beside_what_stays_the_same():
    """Options without their grid stand in every setting; without a grid there is one, as it is."""
    assert [args for _, args in spread({"corpus": "c", "grid": {"k": [1, 2]}}, "r")] == [
        {"corpus": "c", "k": 1},
        {"corpus": "c", "k": 2},
    ]
    [(setting, args)] = spread({"k": 3}, "r")
    assert (setting.name, args) == ("r", {"k": 3})


@all_cases(
    ("grid", "said"),
    [
        ({}, "for each axis a list"),
        ([1], "for each axis a list"),
        ({"k": 5}, "write [5]"),
        ({"k": "5"}, "write [5]"),
        ({"k": []}, "write [at least one]"),
        ({"k": [5, 5]}, "5 stands there twice"),
        ({"k": [5, "5"]}, "5 stands there twice"),
        ({"corpus": ["a"]}, "beside the grid too"),
    ],
)
def test_what_is_no_grid(grid, said):
    """An error names the axis, the value and what to write."""
    with pytest.raises(UsageError) as caught:
        read_grid(grid, {"corpus": "c"})
    assert said in str(caught.value)
