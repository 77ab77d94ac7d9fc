"""What a matcher gives back is checked before it becomes a number."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import islice

import numpy as np
import pytest

from kragx import DataError, match_pairs
from kragx.matchers import MatchItem
from tests.thoroughness import all_cases

GOLD = {"a": ["하나", "둘"], "b": ["셋"], "c": ["넷"]}
RETRIEVED = {"a": ["하나", "둘", "셋"], "b": ["셋"], "c": ["넷"]}

Answer = Callable[[Iterable[MatchItem]], Iterator[object]]


class Given:
    """A matcher that answers as it is told."""

    threshold = 0.5

    def __init__(self, answer: Answer) -> None:
        self.answer = answer

    def scores(self, items: Iterable[MatchItem], notes: Counter[str]) -> Iterator[object]:
        """Yield the answers."""
        return self.answer(items)


def zeros(item: MatchItem) -> np.ndarray:
    """The right shape without a match."""
    return np.zeros((len(item.docs), len(item.targets)))


def first_wrong(matrix: object) -> Answer:
    """Answer the first query with `matrix` and the others as they should be."""

    def answer(items: Iterable[MatchItem]) -> Iterator[object]:
        for position, item in enumerate(items):
            yield zeros(item) if position else matrix

    return answer


def pairs(answer: Answer) -> list[dict[str, object]]:
    """What the user gets from a matcher that answers so."""
    return list(match_pairs(GOLD, RETRIEVED, match=Given(answer)))


@all_cases(
    "matrix",
    [
        np.zeros((2, 3)),
        np.zeros((3, 1)),
        np.zeros(6),
        np.zeros((3, 2, 1)),
        [],
        0.5,
    ],
)
def test_a_wrong_shape_is_an_error(matrix: object) -> None:
    """Anything but n documents x m targets names the matcher, the query and what was expected."""
    with pytest.raises(DataError, match=r"Given\.scores, query 'a': .*3 documents x 2 targets"):
        pairs(first_wrong(matrix))


@pytest.mark.parametrize(
    "matrix", [None, "none", [[0.0, 0.0], [0.0], [0.0, 0.0]], [["x", "y"]] * 3], ids=repr
)
def test_what_is_no_array_of_numbers_is_an_error(matrix: object) -> None:
    """Ragged lists, texts and None name the matcher and the query, as a wrong shape does."""
    with pytest.raises(DataError, match=r"Given\.scores, query 'a'"):
        pairs(first_wrong(matrix))


@pytest.mark.parametrize("bad", [np.nan, -0.1, np.inf, -np.inf])
def test_a_score_must_be_finite_and_not_below_zero(bad: float) -> None:
    """NaN, infinite and negative scores name the matcher and the query."""
    with pytest.raises(DataError, match=r"Given\.scores, query 'a': .*finite"):
        pairs(first_wrong([[0.0, 0.0], [0.0, bad], [1.0, 1.0]]))


def skip_last(items: Iterable[MatchItem]) -> Iterator[object]:
    """Read every query and answer all but the last."""
    for item in items:
        if item.query.id != "c":
            yield zeros(item)


def stop_early(items: Iterable[MatchItem]) -> Iterator[object]:
    """Answer the first query and do not even read the others."""
    yield zeros(next(iter(items)))


def read_only(items: Iterable[MatchItem]) -> Iterator[object]:
    """Read every query and answer none."""
    yield from [() for _ in items if False]


@pytest.mark.parametrize("answer", [skip_last, stop_early, read_only, lambda _: iter(())])
def test_too_few_answers_are_an_error(answer: Answer) -> None:
    """A query without an answer is never left out silently, whether it was read or not."""
    with pytest.raises(DataError, match=r"Given\.scores .*one array for each"):
        pairs(answer)


def twice(items: Iterable[MatchItem]) -> Iterator[object]:
    """Answer each query twice."""
    for item in items:
        yield zeros(item)
        yield zeros(item)


def one_more(items: Iterable[MatchItem]) -> Iterator[object]:
    """Answer every query, then once more."""
    yield from map(zeros, items)
    yield np.zeros((1, 1))


@pytest.mark.parametrize("answer", [twice, one_more, lambda _: iter([np.zeros((3, 2))])])
def test_too_many_answers_are_an_error(answer: Answer) -> None:
    """An answer to no query is refused, instead of shifting the answers of the others."""
    with pytest.raises(DataError, match=r"Given\.scores.* (each of 3 queries|is expected)"):
        pairs(answer)


@pytest.mark.parametrize("ahead", [1, 2, 3, 100])
def test_a_matcher_may_read_ahead(ahead: int) -> None:
    """However many queries a matcher reads before it answers, each answer reaches its query."""
    marks = {"a": 1.0, "b": 2.0, "c": 3.0}

    def answer(items: Iterable[MatchItem]) -> Iterator[object]:
        stream = iter(items)
        while batch := list(islice(stream, ahead)):
            yield from (zeros(item) + marks[item.query.id] for item in batch)

    assert [pair["scores"] for pair in pairs(answer)] == [[[1.0, 1.0]] * 3, [[2.0]], [[3.0]]]


@pytest.mark.parametrize("kind", [np.bool_, np.int8, np.float32, list])
def test_any_array_of_numbers_serves(kind: type) -> None:
    """Booleans, whole numbers, 32-bit floats and plain lists are scores."""

    def answer(items: Iterable[MatchItem]) -> Iterator[object]:
        for item in items:
            ones = zeros(item) + 1
            yield ones.tolist() if kind is list else ones.astype(kind)

    assert pairs(answer)[0]["matched"] == [[True, True]] * 3


def test_a_grade_above_one_is_a_score() -> None:
    """Scores may be grades, so they are not bounded by 1."""
    assert pairs(lambda items: (zeros(item) + 3 for item in items))[1]["scores"] == [[3.0]]
