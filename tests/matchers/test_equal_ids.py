"""Qrels and runs as mappings of numbers: nothing is let through that is none."""

from __future__ import annotations

import json
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from kragx import DataError, GoldDataset, evaluate
from tests.thoroughness import all_cases

GOLD = {"q1": {"a": 1}, "q2": {"b": 2, "c": 0}}
RUN = {"q1": {"x": 1.0, "a": 0.5, "y": 0.0}, "q2": {"b": 3, "z": 2}}

NOT_NUMBERS = [
    True,
    False,
    np.bool_(True),
    "1",
    b"1",
    None,
    [1],
    1j,
    float("nan"),
    10**400,
    np.array([1.0]),
]


@all_cases("bad", NOT_NUMBERS)
@all_cases("document", ["x", "a", "y"])
def test_a_score_that_is_no_number_is_refused(bad: object, document: str) -> None:
    """Wherever it stands among others, also between numbers that it is equal to."""
    run = {"q1": {**RUN["q1"], document: bad}, "q2": RUN["q2"]}
    with pytest.raises(DataError, match=r"must be a number|fit a float"):
        evaluate(GOLD, run, match="id")


@all_cases("bad", [*NOT_NUMBERS, float("inf")])
def test_a_grade_that_is_no_number_is_refused(bad: object) -> None:
    """As a score."""
    with pytest.raises(DataError, match="finite"):
        evaluate({"q1": {"a": bad}, "q2": {"b": 2}}, RUN, match="id")


def test_the_error_names_query_document_and_value() -> None:
    """So that it can be found."""
    with pytest.raises(DataError, match="query 'q2': the score of 'z' must be a number, not True"):
        evaluate(GOLD, {**RUN, "q2": {"b": 3, "z": True}}, match="id")


@all_cases("number", [2, 2.0, np.float32(2), np.int64(2), Fraction(2), Decimal(2)])
def test_every_kind_of_real_number_is_taken(number: float) -> None:
    """Whole numbers, numpy's and exact ones rank as the float that they are."""
    run = {"q1": {"a": number, "x": 1}}
    assert evaluate({"q1": {"a": 1}}, run, match="id", metrics="mrr")["mrr"] == 1.0


def test_the_gold_has_its_content_hash() -> None:
    """It is that of the same gold as a data set, as it was when it was evaluated."""
    gold = {"q1": {"a": 1}, "q2": {"b": 2, "c": 0}}
    result = evaluate(gold, RUN, match="id")
    gold["q1"]["z"] = 1
    assert result.settings["dataset"]["hash"] == GoldDataset.from_documents(GOLD).content_hash
    assert result.to_dict()["settings"]["dataset"] == dict(result.settings["dataset"])
    assert json.loads(json.dumps(result.to_dict()))["settings"]["dataset"]["name"] == "gold"
