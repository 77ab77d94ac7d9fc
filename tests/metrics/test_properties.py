"""What holds for every match matrix, whatever its size, grades and ties."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import assume, given, strategies as st

from kragx.metrics import parse

from .support import (
    POSITIVE_GRADES,
    TINY,
    Ranking,
    compute,
    metric_strings,
    quick,
    rankings,
    score,
    table,
)

CUTS = [1, 2, 3, 5, 20, None]
EVERY = metric_strings(CUTS)
NEVER_LOWER = [
    *metric_strings(CUTS, names=["hit_rate", "mrr", "recall", "ndcg"]),
    *(name for name in metric_strings(CUTS, names=["map"]) if "hits" not in name),
]
"""Finding more, or earlier, never lowers these (MAP over the hits is not among them)."""

with_gold = rankings(min_docs=1, min_gold=1)
without_repeats = rankings(min_docs=1, min_gold=1, repeats=False)


@given(st.lists(rankings(), min_size=1, max_size=4), st.sampled_from(["skip", "zero", "abstain"]))
@quick
def test_values_lie_between_0_and_1(queries: list[Ranking], no_gold: str) -> None:
    """Every value, mean and micro average is at least 0 and at most 1, without a tolerance."""
    for result in compute(table(*queries), [parse(text) for text in EVERY], no_gold):
        defined = result.values[~np.isnan(result.values)]
        assert ((defined >= 0) & (defined <= 1)).all(), result.spec
        assert result.mean is None or 0 <= result.mean <= 1
        assert result.micro is None or 0 <= result.micro <= 1


@given(with_gold)
@quick
def test_a_deeper_look_finds_no_less(query: Ranking) -> None:
    """Hit rate, MRR and recall never fall as k grows, and end at the uncut value."""
    for name in ("hit_rate", "hit_rate{}(need=all)", "mrr", "recall", "recall{}(rel=2)"):
        pattern = name if "{}" in name else name + "{}"
        by_k = score(query, *(pattern.format(f"@{k}") for k in range(1, 9)), pattern.format(""))
        assert by_k == sorted(by_k) or np.isnan(by_k).all()
        np.testing.assert_equal(by_k[-1], by_k[-2])


@given(with_gold, st.data())
@quick
def test_another_match_never_lowers(query: Ranking, data: st.DataObject) -> None:
    """One match more never lowers hit rate, MRR, recall, MAP or nDCG at any k."""
    row = data.draw(st.integers(0, len(query.scores) - 1))
    column = data.draw(st.integers(0, len(query.grades) - 1))
    assert_not_lower(query, query.with_score(row, column, 1.0))


@given(without_repeats, st.data())
@quick
def test_an_earlier_match_never_lowers(query: Ranking, data: st.DataObject) -> None:
    """A match moved to an earlier document never lowers hit rate, MRR, recall, MAP or nDCG."""
    matches = [
        (row, column)
        for row, scores in enumerate(query.scores)
        for column, of_pair in enumerate(scores)
        if row and of_pair >= 0.5
    ]
    assume(matches)
    row, column = data.draw(st.sampled_from(matches))
    earlier = data.draw(st.integers(0, row - 1))
    assert_not_lower(query, query.with_score(row, column, 0.0).with_score(earlier, column, 1.0))


@given(without_repeats, st.data())
@quick
def test_earlier_documents_never_lower(query: Ranking, data: st.DataObject) -> None:
    """Swapping a document with the one before never lowers, if it matches all that one does."""
    row = data.draw(st.integers(0, len(query.scores) - 1))
    better = tuple(max(pair) for pair in zip(query.scores[row], query.scores[row - 1]))
    assume(row)
    rows = list(query.scores)
    rows[row] = better
    before = replace(query, scores=tuple(rows))
    rows[row - 1], rows[row] = rows[row], rows[row - 1]
    assert_not_lower(before, replace(query, scores=tuple(rows)))


def assert_not_lower(before: Ranking, after: Ranking) -> None:
    """No metric that may not fall is lower than before."""
    for metric, old, new in zip(
        NEVER_LOWER, score(before, *NEVER_LOWER), score(after, *NEVER_LOWER)
    ):
        assert not new < old - TINY, metric


@given(with_gold, st.data())
@quick
def test_the_order_of_gold_does_not_matter(query: Ranking, data: st.DataObject) -> None:
    """Gold items in another order give the same values."""
    order = data.draw(st.permutations(range(len(query.grades))))
    permuted = replace(
        query,
        scores=tuple(tuple(row[column] for column in order) for row in query.scores),
        grades=tuple(query.grades[column] for column in order),
    )
    values = score(permuted, *EVERY)
    np.testing.assert_allclose(values, score(query, *EVERY), rtol=0, atol=TINY)


@given(with_gold, st.floats(-5, 0))
@quick
def test_judged_non_relevant_items_do_not_matter(query: Ranking, grade: float) -> None:
    """An item of grade 0 or below, matched by every document, changes no value."""
    more = replace(
        query,
        scores=tuple((*row, 1.0) for row in query.scores),
        grades=(*query.grades, grade),
    )
    np.testing.assert_allclose(score(more, *EVERY), score(query, *EVERY), rtol=0, atol=TINY)


@given(with_gold, st.data())
@quick
def test_what_a_repeated_document_matches_does_not_matter(
    query: Ranking, data: st.DataObject
) -> None:
    """A repeated document keeps its rank, and nothing else of it counts."""
    repeated = [row for row, flag in enumerate(query.repeated) if flag]
    assume(repeated)
    row = data.draw(st.sampled_from(repeated))
    other = query.with_score(row, data.draw(st.integers(0, len(query.grades) - 1)), 1.0)
    np.testing.assert_array_equal(score(other, *EVERY), score(query, *EVERY))


@given(st.lists(POSITIVE_GRADES, min_size=1, max_size=6), st.data())
@quick
def test_a_perfect_ranking_is_exactly_1(grades: list[float], data: st.DataObject) -> None:
    """Gold by falling grade, one a document or several, has nDCG 1.0 at every k, not nearly 1."""
    grades = sorted(grades, reverse=True)
    # Where each document begins: rank 1 at the first gold item, then at most one rank a gold item.
    steps = [data.draw(st.booleans()) for _ in grades[1:]]
    rows = np.cumsum([0, *steps])
    more = data.draw(st.integers(0, 3))
    columns = data.draw(st.permutations(range(len(grades))))
    scores = np.zeros((rows[-1] + 1 + more, len(grades)))
    scores[rows, columns] = 1.0
    shuffled = [0.0] * len(grades)
    for column, grade in zip(columns, grades):
        shuffled[column] = grade
    query = Ranking(tuple(map(tuple, scores.tolist())), tuple(shuffled))
    names = metric_strings([1, 2, 3, 4, 9, None], names=["ndcg"])
    assert score(query, *names) == [1.0] * len(names)
    assert score(query, "map", "recall", "mrr", "hit_rate(need=all)") == [1.0] * 4


@given(st.lists(POSITIVE_GRADES, min_size=2, max_size=5, unique=True))
@quick
def test_a_worse_order_is_below_1(grades: list[float]) -> None:
    """Gold of different grades by rising grade has an nDCG below 1, so 1.0 says something."""
    grades = sorted(grades)
    assume(grades[-1] - grades[0] > 1e-6)
    size = range(len(grades))
    query = Ranking(
        tuple(tuple(float(row == column) for column in size) for row in size), tuple(grades)
    )
    assert score(query, "ndcg")[0] < 1.0


@given(with_gold)
@quick
def test_uncut_is_cut_at_what_there_is(query: Ranking) -> None:
    """Uncut precision is cut at n, uncut nDCG at max(n, m), and the rest at any deep k."""
    n, m = len(query.scores), sum(grade > 0 for grade in query.grades)
    for name in metric_strings([None], names=["hit_rate", "mrr", "recall", "map", "redundancy"]):
        deep = name.replace("(", "@50(") if "(" in name else f"{name}@50"
        np.testing.assert_allclose(*score(query, name, deep), rtol=0, atol=TINY)
    for name, k in (("precision", n), ("f1", n), ("ndcg", max(n, m))):
        np.testing.assert_allclose(*score(query, name, f"{name}@{k}"), rtol=0, atol=TINY)


@given(st.lists(rankings(), min_size=1, max_size=4), st.sampled_from([0.2, 0.5, 0.9]))
@quick
def test_a_table_decided_anew(queries: list[Ranking], threshold: float) -> None:
    """A table decided at another threshold gives the values of one made at that threshold."""
    specs = [parse(text) for text in EVERY]
    anew = compute(table(*queries, threshold=0.5).at_threshold(threshold), specs)
    for old, new in zip(compute(table(*queries, threshold=threshold), specs), anew):
        np.testing.assert_array_equal(old.values, new.values)
        assert old.pooled == new.pooled


@given(st.lists(rankings(), min_size=2, max_size=5))
@quick
def test_a_value_depends_on_no_other_question(queries: list[Ranking]) -> None:
    """To the last bit, a question has the values among others that it has alone."""
    whole = compute(table(*queries), [parse(text) for text in EVERY])
    alone = [compute(table(query), [own.spec for own in whole]) for query in queries]
    for number, of_all in enumerate(whole):
        of_each = [own[number].values[0] for own in alone]
        np.testing.assert_array_equal(of_all.values, of_each, str(of_all.spec))
