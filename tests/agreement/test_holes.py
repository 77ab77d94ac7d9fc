"""Holes: people win, the judge fills, and each label says whose it is."""

from __future__ import annotations

import pytest

from kragx import Run
from kragx.agreement import fill

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
    assert filled.counts == {"human": 2, "judge": 3}
    assert (filled.n_overruled, filled.n_out_of_scale) == (1, 1)
    gold = {item.id: item.metadata["label"] for item in filled.dataset["q1"].gold}
    assert gold == {"a": "human", "b": "human", "c": "judge"}


def test_side_by_side(filled):
    """Both means are over the same three queries, with the labelled share of either."""
    assert filled.human_only[0].mean == {"precision@2": 0}
    assert filled.filled[0].mean["precision@2"] == pytest.approx((1 / 2 + 1 / 2 + 0) / 3)
    plain = filled.to_dict(labels=True)
    assert plain["systems"]["mine"]["judged@2"] == {"human_only": 0.25, "filled": 0.75}
    assert len(plain["labels"]) == 5
    assert "labels" not in filled.to_dict()
