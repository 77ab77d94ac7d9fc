"""Which questions choose and which are held out."""

from collections import Counter

from hypothesis import given, strategies as st

from kragx.comparison.tuning.choosing import drawn, halved
from tests.thoroughness import examples


@examples(100)
@given(st.lists(st.sampled_from("abc"), max_size=60), st.integers(0, 9))
def test_each_question_is_in_one_half_and_each_stratum_in_both(strata, seed):
    """Halves share nothing, leave nothing out, and differ by one at most, as each stratum does."""
    order = drawn(strata, seed)
    one, other = halved(order, strata)
    assert sorted([*one, *other]) == list(range(len(strata)))
    assert 0 <= len(one) - len(other) <= 1
    counts = [Counter(strata[row] for row in rows) for rows in (one, other)]
    assert all(abs(counts[0][name] - counts[1][name]) <= 1 for name in "abc")


def test_every_beginning_has_its_share_of_a_stratum():
    """Of 90 and 10 the first 50 have 45 and 5, one more or less."""
    strata = ["a"] * 90 + ["b"] * 10
    order = drawn(strata, 3)
    assert abs(sum(strata[row] == "b" for row in order[:50]) - 5) <= 1


def test_the_seed_decides():
    """The same seed draws the same, another one another."""
    assert drawn([0] * 30, 1).tolist() == drawn([0] * 30, 1).tolist()
    assert drawn([0] * 30, 1).tolist() != drawn([0] * 30, 2).tolist()
