"""What a person's grade is in a gold file, and back."""

import pytest

from kragx.workshop.pairs.standing import gold_grade, people_grade


@pytest.mark.parametrize(
    ("top", "grades"), [(3, [0, 0, 1, 2]), (1, [0, 1]), (2, [0, 1, 2]), (4, [0, 1, 2, 3, 4])]
)
def test_by_hand(top, grades):
    """Of 0 to 3 a 1 is no answer, so no gold; of another scale all but 0 is."""
    assert [gold_grade(grade, top) for grade in range(top + 1)] == grades


@pytest.mark.parametrize("top", [1, 2, 3, 4])
def test_back(top):
    """What a gold file has comes back as what it was made from, but for what is not relevant."""
    for grade in range(top + 1):
        back = people_grade(gold_grade(grade, top), top)
        assert back == (grade if gold_grade(grade, top) else 0)
    assert people_grade(-1.0, top) == 0
    assert people_grade(0.5, top) is None
    assert people_grade(top + 1.0, top) is None
