"""Matching by containment: `text` and `contains`."""

from __future__ import annotations

import unicodedata

import pytest

from kragx import DataError, matcher
from tests.thoroughness import all_cases

from .support import decided, scored

GOLD = "울릉도는 화산섬이다"
LONGER = "동해의 울릉도는 화산섬이다. 눈이 많이 온다."
SHORTER = "울릉도는 화산섬"
OTHER = "울릉도는 눈의 섬이다"
SPECS = ["text", *({"method": "contains", "direction": d} for d in ("gold_in_document", "either"))]


@all_cases(
    ("spec", "longer", "shorter"),
    [
        ("text", True, False),
        ("contains", True, True),
        ({"method": "contains", "direction": "either"}, True, True),
        ({"method": "contains", "direction": "gold_in_document"}, True, False),
        ({"method": "contains", "direction": "document_in_gold"}, False, True),
    ],
)
def test_the_direction_decides(spec: object, longer: bool, shorter: bool) -> None:
    """Equal texts always match, longer and shorter documents as the direction says."""
    docs = [GOLD, LONGER, SHORTER, OTHER]
    assert decided(spec, docs, [GOLD]) == [[True], [longer], [shorter], [False]]


@all_cases("spec", SPECS)
@all_cases(
    "document",
    [
        "동해의  울릉도는\n화산섬이다 .",
        unicodedata.normalize("NFD", LONGER),
        "\u3000울릉도는\u00a0화산섬이다",
    ],
)
def test_form_and_white_space_do_not_matter(spec: object, document: str) -> None:
    """A gold text is found across line breaks, other spaces and in decomposed text."""
    assert decided(spec, [document], [GOLD]) == [[True]]


@pytest.mark.parametrize("method", ["text", "contains"])
def test_case_matters_unless_told_otherwise(method: str) -> None:
    """Case is kept by default and folded with `casefold`."""
    docs, golds = ["The KTX line opened in 2004."], ["ktx Line"]
    assert decided(method, docs, golds) == [[False]]
    assert decided({"method": method, "casefold": True}, docs, golds) == [[True]]


@all_cases("spec", [*SPECS, {"method": "contains", "direction": "document_in_gold"}])
@all_cases("empty", ["", " ", "\n\u3000"])
def test_an_empty_gold_text_is_an_error(spec: object, empty: str) -> None:
    """An empty gold text stands in every document, so it is refused, with query and place."""
    with pytest.raises(DataError, match="'q1', gold 1: the gold text is empty"):
        scored(matcher(spec), [LONGER], [empty])


def test_an_empty_alternative_is_an_error() -> None:
    """An empty alternative would match everything just as an empty gold text would."""
    with pytest.raises(DataError, match="gold 1: the gold text is empty"):
        scored(matcher("text"), [LONGER], [{"text": GOLD, "alternatives": [{"text": ""}]}])


@all_cases("spec", [*SPECS, {"method": "contains", "direction": "document_in_gold"}])
@all_cases("empty", ["", " ", "\n\u3000"])
def test_an_empty_document_never_matches(spec: object, empty: str) -> None:
    """An empty document carries nothing and matches nothing, though it stands in every text."""
    assert decided(spec, [empty, GOLD], [GOLD]) == [[False], [True]]


@pytest.mark.parametrize("spec", SPECS)
def test_alternatives_serve(spec: object) -> None:
    """A gold item is matched if the document holds its text or that of any alternative."""
    gold = {"text": GOLD, "alternatives": [{"text": "눈의 섬"}, {"id": "no-text"}]}
    docs = [LONGER, OTHER, "제주도는 바람의 섬이다"]
    assert decided(spec, docs, [gold]) == [[True], [True], [False]]


def test_a_chunk_over_two_golds_matches_both() -> None:
    """One large chunk matches every gold text that it contains."""
    assert decided("text", [LONGER], [GOLD, "눈이 많이 온다", OTHER]) == [[True, True, False]]


@all_cases(
    ("document", "gold", "expected"),
    [
        (LONGER, GOLD, True),
        ("울릉도는  화산섬이다", GOLD, False),
        (unicodedata.normalize("NFD", LONGER), GOLD, False),
        (LONGER, "", True),
        ("", "", True),
    ],
)
def test_text_as_it_is(document: str, gold: str, expected: bool) -> None:
    """With `normalised: false` texts are compared as they are, an empty gold text included."""
    assert decided({"method": "text", "normalised": False}, [document], [gold]) == [[expected]]
