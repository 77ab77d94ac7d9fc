"""What all that people have said of a pair comes to."""

import pytest

from kragx.workshop.pairs.standing import Standing, standing
from kragx.workshop.state.records import Judgement, Person
from kragx.workshop.state.state import State
from kragx.workshop.state.store import RecordStore


def say(person: str, grade: int | str | None, document: str = "d", **fields: object) -> Judgement:
    """A judgement; a string is a kind without a grade."""
    kind = grade if isinstance(grade, str) else "grade"
    number = None if isinstance(grade, str) else grade
    return Judgement(
        question="q", document=document, person=person, kind=kind, grade=number, **fields
    )


@pytest.mark.parametrize(
    ("rows", "state", "grade", "by", "decided"),
    [
        ([], "open", None, "", False),
        ([say("a", 2)], "graded", 2, "a", False),
        ([say("a", 2), say("a", 1)], "graded", 1, "a", False),
        ([say("a", 2), say("b", 2)], "graded", 2, "ab", False),
        ([say("a", 2), say("b", 0)], "conflict", None, "ab", False),
        ([say("a", 2), say("b", 0), say("b", 2)], "graded", 2, "ab", False),
        ([say("a", 2), say("b", "unusable")], "conflict", None, "ab", False),
        ([say("a", "unusable")], "unusable", None, "a", False),
        ([say("a", 2), say("b", 0), say("o", 1, is_decision=True)], "graded", 1, "ab", True),
        ([say("a", 2), say("a", "undone")], "open", None, "", False),
        ([say("a", 2), say("b", 0, "copy")], "conflict", None, "ab", False),
        ([say("a", 2), say("b", 2, "copy")], "graded", 2, "ab", False),
        ([say("a", 2), say("b", 0, "other")], "graded", 2, "a", False),
    ],
)
def test_by_hand(tmp_path, rows, state, grade, by, decided):
    """What agrees counts, what differs is a conflict, what is decided is settled; copies count."""
    with RecordStore(tmp_path / "w.sqlite") as store:
        known = State(store)
        known.add(rows)
        own = standing(known, "q", ("d", "copy"))
    assert (own.state, own.grade, own.by, own.is_decided) == (state, grade, frozenset(by), decided)
    assert own.is_known is (state in ("graded", "unusable"))


@pytest.mark.parametrize(
    ("rows", "least"),
    [
        ([], None),
        ([say("a", 2)], 2),
        ([say("a", 2), say("b", 3)], 2),
        ([say("a", 0), say("b", 3)], 0),
        ([say("a", 3), say("b", "unusable")], None),
        ([say("a", 2), say("b", 0), say("o", 3, is_decision=True)], 3),
    ],
)
def test_the_least_that_anybody_gives(tmp_path, rows, least):
    """The lowest of the grades of those who differ; none if one of them gives no grade."""
    with RecordStore(tmp_path / "w.sqlite") as store:
        known = State(store)
        known.add(rows)
        assert standing(known, "q", ["d"]).least == least


def test_later_is_no_judgement(tmp_path):
    """Who put a pair off has not judged it; of nothing said nothing is known."""
    with RecordStore(tmp_path / "w.sqlite") as store:
        known = State(store)
        assert standing(known, "q", ["d"]) == Standing("open")
        known.add([say("a", 1), say("b", "later")])
        own = standing(known, "q", ["d"])
    assert (own.state, own.by, own.later) == ("graded", {"a"}, {"b"})
    assert known.touched == ["q", "q"]


def test_a_file_counts_until_somebody_has_judged(tmp_path):
    """An imported grade is one as long as it is alone, and no disagreement afterwards."""
    with RecordStore(tmp_path / "w.sqlite") as store:
        known = State(store)
        known.add([Person(uid="f", name="gold.jsonl", role="file"), say("f", 0)])
        before = standing(known, "q", ["d"])
        known.add([say("a", 3)])
        after = standing(known, "q", ["d"])
    assert (before.state, before.grade, before.by) == ("graded", 0, {"f"})
    assert (after.state, after.grade, after.by) == ("graded", 3, {"a"})
