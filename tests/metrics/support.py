"""Match tables built by hand, without documents or a matcher, and random ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from hypothesis import strategies as st

from kragx.metrics import MetricScores, MetricSpec, engine, parse, profile
from kragx.metrics.match_table import MatchTable
from tests.thoroughness import examples

TINY = 1e-12

quick = examples(80)
"""For property tests: enough examples to find a mistake, and no clock."""


@dataclass(frozen=True)
class Ranking:
    """One query: the scores of n documents (rows) against m gold items (columns).

    `repeated` says which documents stood earlier in the list; none by default.
    """

    scores: tuple[tuple[float, ...], ...]
    grades: tuple[float, ...]
    repeated: tuple[bool, ...] = ()
    answered: bool = True

    def __post_init__(self) -> None:
        if not self.repeated:
            object.__setattr__(self, "repeated", (False,) * len(self.scores))
        assert len(self.repeated) == len(self.scores)
        assert all(len(row) == len(self.grades) for row in self.scores)

    def with_score(self, row: int, column: int, score: float) -> Ranking:
        """The same with one other score."""
        rows = [list(scores) for scores in self.scores]
        rows[row][column] = score
        return replace(self, scores=tuple(map(tuple, rows)))


def ranking(
    found: Sequence[str], grades: Sequence[float] | None = None, *, gold: str = ""
) -> Ranking:
    """A ranking from letters: each document is the string of the gold items that it matches.

    >>> ranking(["", "ab"], gold="abc").scores
    ((0.0, 0.0, 0.0), (1.0, 1.0, 0.0))
    """
    letters = gold or "abcdefghijklmnopqrstuvwxyz"[: len(grades or ())]
    return Ranking(
        scores=tuple(tuple(float(letter in document) for letter in letters) for document in found),
        grades=tuple(grades or (1.0,) * len(letters)),
    )


def table(*rankings: Ranking, threshold: float = 0.5) -> MatchTable:
    """The match table of some queries."""
    n_docs = [len(each.scores) for each in rankings]
    n_gold = [len(each.grades) for each in rankings]
    doc_start = np.concatenate(([0], np.cumsum(n_docs, dtype=np.int64))).astype(np.int64)
    gold_start = np.concatenate(([0], np.cumsum(n_gold, dtype=np.int64))).astype(np.int64)
    pairs = [
        (doc_start[query] + row, gold_start[query] + column, score)
        for query, each in enumerate(rankings)
        for row, scores in enumerate(each.scores)
        for column, score in enumerate(scores)
        if score > 0
    ]
    docs, golds, scores = zip(*pairs) if pairs else ((), (), ())
    return MatchTable(
        doc_start=doc_start,
        gold_start=gold_start,
        grade=np.array([grade for each in rankings for grade in each.grades], np.float64),
        answered=np.array([each.answered for each in rankings], bool),
        repeated=np.array([flag for each in rankings for flag in each.repeated], bool),
        pair_doc=np.array(docs, np.int32),
        pair_gold=np.array(golds, np.int32),
        pair_score=np.array(scores, np.float64),
        threshold=threshold,
        unanswerable=np.zeros(len(rankings), bool),
    )


def compute(
    of: MatchTable, specs: Sequence[MetricSpec], no_gold: str = "skip"
) -> tuple[MetricScores, ...]:
    """The engine under profile kragx with that policy."""
    return engine.compute(of, specs, replace(profile("kragx"), no_gold=no_gold))


def score(of: Ranking, *metrics: str) -> list[float]:
    """The metrics of one query that has gold."""
    return [each.values[0] for each in compute(table(of), [parse(metric) for metric in metrics])]


LISTS = ("of", "order")
"""Of somebody who searches several times; these rankings are one list (test_searches.py)."""

OPTIONS: Mapping[str, tuple[str, ...]] = {
    "hit_rate": ("need", "rel", *LISTS),
    "mrr": ("rel", *LISTS),
    "precision": ("over", "rel", *LISTS),
    "recall": ("rel", *LISTS),
    "f1": ("over", "rel", *LISTS),
    "map": ("norm", "rel", *LISTS),
    "ndcg": ("gain", "gain_from", *LISTS),
    "redundancy": ("rel", *LISTS),
}
"""The options of each metric."""

CHOICES: Mapping[str, tuple[str, ...]] = {
    "need": ("any", "all"),
    "over": ("k", "retrieved"),
    "norm": ("m", "hits", "cut"),
    "gain": ("linear", "exp2"),
    "gain_from": ("gold", "judge"),
    "of": ("retrieved", "first", "last", "all", "read"),
    "order": ("turns",),
}
"""The values of each option, the default first; rel takes any number above 0.

None is the default of `of`, and `order` has another value only with ``of=all``.
"""


def option_choices(name: str, rels: Sequence[str] = ("2",)) -> list[str]:
    """Every combination of a metric's options as it stands in a string, "" for none."""
    sides = [
        ["", *(f"{option}={value}" for value in CHOICES.get(option, ("", *rels))[1:])]
        for option in OPTIONS[name]
        if option not in ("gain_from", *LISTS)  # of graded matches alone: test_judged_gain.py
    ]
    combinations = (", ".join(filter(None, combination)) for combination in product(*sides))
    return [f"({inside})" if inside else "" for inside in combinations]


def metric_strings(
    ks: Sequence[int | None], *, names: Sequence[str] = tuple(OPTIONS), rels: Sequence[str] = ("2",)
) -> list[str]:
    """Every metric with every combination of its options at every k, None for uncut."""
    return [
        f"{name}{'' if k is None else f'@{k}'}{inside}"
        for name in names
        for inside in option_choices(name, rels)
        for k in ks
    ]


GRADES = st.sampled_from([1.0, 2.0, 3.0, 0.5, 0.0, -1.0]) | st.floats(0.01, 5.0)
"""Grades with ties, fractions, and judged non-relevant ones."""
POSITIVE_GRADES = st.sampled_from([1.0, 2.0, 3.0, 0.5]) | st.floats(0.01, 5.0)
SCORES = st.sampled_from([0.0, 0.0, 0.3, 0.5, 1.0])


@st.composite
def rankings(
    draw: st.DrawFn,
    *,
    grades: st.SearchStrategy[float] = GRADES,
    scores: st.SearchStrategy[float] = SCORES,
    min_docs: int = 0,
    min_gold: int = 0,
    repeats: bool = True,
) -> Ranking:
    """Any ranking: empty lists, no gold, several gold items to a document and the reverse."""
    n_docs, n_gold = draw(st.integers(min_docs, 6)), draw(st.integers(min_gold, 4))
    rows = st.tuples(*[scores] * n_gold)
    flags = [draw(st.booleans()) if repeats and row else False for row in range(n_docs)]
    return Ranking(
        scores=tuple(draw(rows) for _ in range(n_docs)),
        grades=tuple(draw(st.lists(grades, min_size=n_gold, max_size=n_gold))),
        repeated=tuple(flags),
        answered=bool(n_docs) or draw(st.booleans()),
    )


@st.composite
def one_to_one(draw: st.DrawFn, *, complete: bool = False) -> Ranking:
    """A ranking in which no document matches two gold items and no gold item two documents.

    With `complete`, every gold item is in the list.
    """
    grades = draw(st.lists(POSITIVE_GRADES, min_size=1, max_size=5))
    columns: list[int | None] = [*range(len(grades))]
    if not complete:
        columns = columns[: draw(st.integers(0, len(columns)))]
    columns += [None] * draw(st.integers(0, 4))
    order = draw(st.permutations(columns))
    return Ranking(
        scores=tuple(tuple(float(at == found) for at in range(len(grades))) for found in order),
        grades=tuple(grades),
    )
