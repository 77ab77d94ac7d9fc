"""Holes: people win, the judge fills, and each label says whose it is."""

from __future__ import annotations

import pytest

from kragx import Run, evaluate
from kragx.agreement import fill
from kragx.errors import UsageError

HUMAN = {"q1": {"a": 2, "b": 0}, "q2": {"a": 1.5}}
JUDGE = {"q1": {"b": 2, "c": 2, "a": 2}, "q2": {"a": 1}, "q3": {"x": 2}}
RUN = Run.from_documents(
    {"q1": [{"id": "c"}, {"id": "b"}], "q2": [{"id": "a"}], "q3": [{"id": "y"}]}, name="mine"
)


@pytest.fixture
def filled():
    """The three queries above, by precision@2."""
    return fill(HUMAN, JUDGE, [RUN], metrics=["precision@2"], scale="0-2")


def test_provenance(filled):
    """A human label stays; the judge's stands where there is none, or none on the scale."""
    rows = {(row["query_id"], row["document_id"]): row for row in filled.rows()}
    assert {pair: (row["grade"], row["source"]) for pair, row in rows.items()} == {
        ("q1", "a"): (2, "human"),
        ("q1", "b"): (0, "human"),
        ("q1", "c"): (2, "judge"),
        ("q2", "a"): (1, "judge"),
        ("q3", "x"): (2, "judge"),
    }
    assert filled.n_labels == {"human": 2, "judge": 3}
    assert (filled.n_overruled, filled.n_out_of_scale) == (1, 1)
    gold = {item.id: item.metadata["label"] for item in filled.dataset["q1"].gold}
    assert gold == {"a": "human", "b": "human", "c": "judge"}


def test_side_by_side(filled):
    """Both means are over the same three queries, with the labelled share of either."""
    assert filled.human_only[0].mean == {"precision@2": 0}
    assert filled.filled[0].mean["precision@2"] == pytest.approx((1 / 2 + 1 / 2 + 0) / 3)
    plain = filled.to_dict(labels=True)
    systems = plain["systems"]["mine"]
    judged = {side: means["judged@2"] for side, means in systems.items()}
    assert judged == pytest.approx({"human_only": (1 / 2 + 0 + 0) / 3, "filled": (1 + 1 + 0) / 3})
    # What the measure of that name says of the same gold set.
    measured = evaluate(filled.dataset, RUN, match="id", metrics=["judged@2"]).scores[0]
    assert judged["filled"] == pytest.approx(measured.mean)
    assert plain["n_without_human"] == 2
    assert len(plain["labels"]) == 5
    assert "labels" not in filled.to_dict()


def test_labels_from_one_on():
    """On a scale from 1 on the lowest label is no relevance, and what that does to rel is said."""
    found = fill({"q1": {"a": 1, "b": 3}}, {"q1": {"c": 2}}, [RUN], metrics=["precision@2(rel=2)"])
    assert found.filled[0].mean["precision@2(rel=2)"] == pytest.approx(1 / 2)
    assert found.notes == (
        "in metrics the labels 1 to 3 count as grades 0 to 2: the lowest is no relevance, and "
        "rel=2 means a label of 3 or more",
    )


def test_measures_are_refused():
    """What labels do not decide is no metric here."""
    with pytest.raises(UsageError, match="'judged@2' is not made of labels"):
        fill(HUMAN, JUDGE, [RUN], metrics=["ndcg@2", "judged@2"])
