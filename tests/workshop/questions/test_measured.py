"""The word leak of a gold set."""

from __future__ import annotations

from kragx import GoldDataset
from kragx.data.documents import Doc
from kragx.data.gold import Gold, Query
from kragx.workshop.questions import word_leak

DATASET = GoldDataset(
    (
        Query("a", "old ferry", (Gold(text="The ferry"),), metadata={"difficulty": "easy"}),
        Query(
            "b", "old ferry", (Gold(id="x", alternatives=(Doc(text="old"),)), Gold(text="ferry"))
        ),
        Query("c", "old ferry", (Gold(text="old ferry", grade=0.0),)),
        Query("d", "why?", (Gold(text="ferry"),), metadata={"difficulty": "hard"}),
        Query("e", "old ferry", (Gold(id="x"),), metadata={"difficulty": "easy"}),
    )
)


def test_by_hand():
    """Of relevant texts together, alternatives too; unknown where there is no word or no text."""
    result = word_leak(DATASET)
    assert result.queries == {"a": 0.5, "b": 1.0, "c": None, "d": None, "e": None}
    assert result.mean == 0.75
    assert result.to_dict()["mean"] == 0.75


def test_described():
    """The mean says of how many questions it is; difficulties have a row each."""
    shown = str(word_leak(DATASET))
    assert "75% of the content words of 2 questions" in shown
    assert "3 questions have none" in shown
    rows = [line.replace("│", " ").split() for line in shown.splitlines()]
    assert ["easy", "2", "50%"] in rows
