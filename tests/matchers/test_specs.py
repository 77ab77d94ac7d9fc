"""How a match is named: names, mappings, objects, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from kragx import UsageError, matcher
from kragx.data.tokenizers import AutoTokenizer, CharTokenizer, UnicodeTokenizer
from kragx.matchers import (
    METHODS,
    ContainsMatcher,
    ExactMatcher,
    IdMatcher,
    RougeMatcher,
    TextMatcher,
    method_class,
)
from kragx.matchers.overlap import OverlapMatcher
from tests.thoroughness import all_cases

UNICODE = {"name": "unicode", "version": UnicodeTokenizer().version, "casefold": True}
AUTO = {"name": "auto", "version": AutoTokenizer.version}


@all_cases(
    ("spec", "expected"),
    [
        ("id", IdMatcher()),
        ("exact", ExactMatcher()),
        ("text", TextMatcher()),
        ("contains", ContainsMatcher()),
        ("rouge1", RougeMatcher("rouge1", "fmeasure", 0.5)),
        ("rouge2", RougeMatcher("rouge2", "fmeasure", 0.5)),
        ("rougeL", RougeMatcher("rougeL", "fmeasure", 0.5)),
        ("overlap", OverlapMatcher(0.5, 5)),
        ({"method": "id", "id_key": "page", "gold_id_key": "id"}, IdMatcher("page", "id")),
        ({"method": "exact", "casefold": True}, ExactMatcher(casefold=True)),
        (
            {"method": "rouge2", "measure": "recall", "threshold": 0.6, "tokenizer": "char"},
            RougeMatcher("rouge2", "recall", 0.6, CharTokenizer()),
        ),
        (
            {"method": "overlap", "threshold": 1, "tokenizer": {"name": "char", "n": 3}},
            OverlapMatcher(1.0, tokenizer=CharTokenizer(3)),
        ),
    ],
)
def test_a_name_or_mapping_makes_its_matcher(spec: object, expected: object) -> None:
    """Every built-in name, and a mapping with its options, makes the matcher it says."""
    assert matcher(spec) == expected


# What asks needs to know whom.
@all_cases("name", [name for name in METHODS if not method_class(name).asks])
def test_a_mapping_without_options_is_the_name(name: str) -> None:
    """`{method: x}` is the same as `x`."""
    assert matcher({"method": name}) == matcher(name)


def test_a_matcher_is_taken_as_it_is() -> None:
    """An object with `threshold` and `scores` is used itself."""
    chosen = RougeMatcher("rouge1")
    assert matcher(chosen) is chosen


def test_the_mapping_is_not_changed() -> None:
    """Making a matcher leaves the caller's mapping as it was."""
    spec = {"method": "overlap", "threshold": 0.6, "tokenizer": {"name": "char", "n": 3}}
    matcher(spec)
    assert spec == {"method": "overlap", "threshold": 0.6, "tokenizer": {"name": "char", "n": 3}}


@all_cases(
    ("spec", "message"),
    [
        ("rouge3", "perhaps you meant 'rouge"),
        ("ROUGEL", "perhaps you meant 'rougeL'"),
        ("bertscore", "unknown method 'bertscore'; valid: id, exact, text, contains, rouge1"),
        ({"method": "overlp"}, "perhaps you meant 'overlap'"),
        ({"threshold": 0.5}, "is not a matcher"),
        ({}, "is not a matcher"),
        ({"method": 5}, "is not a matcher"),
        (None, "None is not a matcher"),
        (0.5, "0.5 is not a matcher"),
        (["overlap"], "is not a matcher"),
    ],
)
def test_an_unknown_method_is_an_error_with_a_remedy(spec: object, message: str) -> None:
    """What names no matcher is refused, with the nearest name or what to write."""
    with pytest.raises(UsageError) as caught:
        matcher(spec)
    assert message in str(caught.value)


@all_cases(
    ("spec", "message"),
    [
        ({"method": "rouge2", "treshold": 0.5}, "match.treshold: .*perhaps you meant 'threshold'?"),
        ({"method": "rouge1", "mesure": "recall"}, "match.mesure: .*perhaps you meant 'measure'?"),
        ({"method": "id", "idkey": "page"}, "match.idkey: .*perhaps you meant 'id_key'?"),
        ({"method": "text", "direction": "either"}, "match.direction: .*valid: casefold"),
        ({"method": "exact", "tokenizer": "char"}, "match.tokenizer: .*valid: casefold"),
        ({"method": "overlap", "measure": "recall"}, "match.measure: "),
        ({"method": "contains", "direction": "both"}, "match.direction: .*'both'"),
        (
            {"method": "contains", "direction": "gold_in_doc"},
            "match.direction: .*perhaps you meant 'gold_in_document'?",
        ),
        ({"method": "rouge2", "measure": "f1"}, "match.measure: .*'f1'.*fmeasure"),
        ({"method": "rouge2", "measure": "presicion"}, "perhaps you meant 'precision'?"),
        ({"method": "rouge2", "tokenizer": "kiwii"}, "tokenizer: .*perhaps you meant 'kiwi'?"),
    ],
)
def test_an_unknown_option_is_an_error_with_its_path(spec: object, message: str) -> None:
    """An option or value that a method does not have is refused with its path and the nearest."""
    with pytest.raises(UsageError, match=message):
        matcher(spec)


@pytest.mark.parametrize("method", ["id", "exact", "text", "contains"])
def test_yes_or_no_has_no_threshold(method: str) -> None:
    """A threshold on a method that decides yes or no is an error, not a number without meaning."""
    with pytest.raises(UsageError, match=r"match\.threshold: .*yes or no"):
        matcher({"method": method, "threshold": 0.5})


@all_cases(
    "threshold", [0, 0.0, -1, -0.1, 1.5, float("nan"), float("inf"), "x", "0.5", True, None, [0.5]]
)
@all_cases("method", ["rouge1", "overlap"])
def test_a_threshold_must_be_above_zero_and_at_most_one(method: str, threshold: object) -> None:
    """A threshold that would match everything, or nothing, or is no number, is refused."""
    with pytest.raises(UsageError, match=r"match\.threshold: .* out of range"):
        matcher({"method": method, "threshold": threshold})


@pytest.mark.parametrize("threshold", [1, 1.0, 1e-9, np.float64(0.25)])
def test_every_threshold_in_range_is_taken(threshold: float) -> None:
    """The ends of (0, 1], whole numbers and numpy's floats are thresholds."""
    made = matcher({"method": "rouge1", "threshold": threshold})
    assert made.threshold == threshold
    assert type(made.threshold) is float


@all_cases(
    ("spec", "expected"),
    [
        ("id", {"method": "id"}),
        (
            {"method": "id", "id_key": "metadata.parent_id"},
            {"method": "id", "id_key": "metadata.parent_id"},
        ),
        ("exact", {"method": "exact", "casefold": False}),
        ("text", {"method": "text", "casefold": False, "normalised": True}),
        ("contains", {"method": "contains", "direction": "either", "casefold": False}),
        (
            "overlap",
            {
                "method": "overlap",
                "threshold": 0.5,
                "short": 5,
                "siblings": "apart",
                "tokenizer": AUTO,
            },
        ),
        (
            {"method": "rougeL", "threshold": 0.7, "tokenizer": {"name": "char", "n": 3}},
            {
                "method": "rougeL",
                "measure": "fmeasure",
                "threshold": 0.7,
                "tokenizer": {
                    "name": "char",
                    "version": UNICODE["version"],
                    "n": 3,
                    "spaces": "kept",
                },
            },
        ),
    ],
)
def test_a_description_says_everything_that_decides(
    spec: object, expected: dict[str, object]
) -> None:
    """What a result records is the method, every option, and the tokenizer with its version."""
    assert matcher(spec).settings == expected
