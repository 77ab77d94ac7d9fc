"""Explaining a query with searches: its documents once, by search and rank."""

from __future__ import annotations

from kragx import Doc, GoldDataset, Retrieved, Run, Search, explain

GOLD = GoldDataset.from_documents(
    {"q1": [{"text": "In winter the museum opens at eleven."}]}, queries=["museum in winter?"]
)
STREET = Doc("c1", "The museum is in Mill Street, by the river.")
WINTER = Doc("c2", "In winter the museum opens at eleven.")
SEARCHES = (Search("museum", (STREET,)), Search("museum winter", (STREET, WINTER)))


def test_documents_of_all_searches():
    """Each stands once, with why it matches; also of one that failed in the end."""
    for answer in (
        Retrieved(searches=SEARCHES, has_list=False),
        Retrieved(searches=SEARCHES, error="limit of 2 steps"),
    ):
        explanation = explain(GOLD, Run({"q1": answer}, name="agent"), query_id="q1")
        assert [doc.id for doc in explanation.retrieved] == ["c1", "c2"]
        assert [doc.matches for doc in explanation.retrieved] == [(), (1,)]
    assert explanation.status == "failed"
    assert "the retriever failed at this query: limit of 2 steps" in str(explanation)
    assert explanation.to_dict()["error"] == "limit of 2 steps"
