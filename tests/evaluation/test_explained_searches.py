"""Explaining a query with searches: its documents once, and each search by what it brought."""

from __future__ import annotations

import json

import pytest

from kragx import Doc, GoldDataset, Retrieved, Run, Search, explain, write_results
from kragx.ground.printing import as_markdown, speaking

GOLD = GoldDataset.from_documents(
    {
        "q1": [
            {"text": "In winter the museum opens at eleven."},
            {"text": "A ticket costs nine euros on all days."},
        ]
    },
    queries=["museum in winter, and what does it cost?"],
)
STREET = Doc("c1", "The museum is in Mill Street, by the river.")
WINTER = Doc("c2", "In winter the museum opens at eleven.")
TICKET = Doc("c3", "A ticket costs nine euros on all days.")
SEARCHES = (
    Search("museum", (STREET,), tool="handbook", step=1, tokens=1200),
    Search("museum winter", (STREET, WINTER), step=2, seconds=0.25, read=("c2",)),
    Search("ticket price", (TICKET, WINTER), tool="web", step=2),
    Search("price", (TICKET,), tool="web", step=3),
    Search("sum of prices", None, tool="sql", step=4),
    Search("price again", tool="web", step=5, error="TimeoutError"),
    Search(None, (), step=6),
)


def explained(answer: Retrieved):
    """The explanation of the one question."""
    return explain(GOLD, Run({"q1": answer}, name="agent"), query_id="q1", panel={})


def test_by_hand():
    """Numbers are of the documents, each once; gold is new in the step that first brought it."""
    explanation = explained(Retrieved(searches=SEARCHES, has_list=False))
    assert [doc.id for doc in explanation.retrieved] == ["c1", "c2", "c3"]
    assert [
        (search.step, search.documents, search.finds, search.again)
        for search in explanation.searches
    ] == [
        (1, (1,), (), ()),
        (2, (1, 2), (1,), ()),
        (2, (3, 2), (1, 2), ()),
        (3, (3,), (), (2,)),
        (4, None, (), ()),
        (5, None, (), ()),
        (6, (), (), ()),
    ]
    assert explanation.read == (2,)


def test_what_is_printed():
    """Step by step; where gold was found is a step; in Korean as well."""
    explanation = explained(Retrieved(searches=SEARCHES, has_list=False))
    printed = str(explanation)
    for line in (
        "gold 1: found by step 2",
        "step 1: “museum” [handbook]\n   documents 1; no gold; 1,200 tokens",
        "step 2, beside 1 more: “museum winter”\n   documents 1, 2; new: gold 1; 0.25 s",
        "step 3: “price” [web]\n   documents 3; again: gold 2",
        "gave no documents: not measured",
        "failed: TimeoutError",
        "step 6: words not known\n   found nothing",
        "read: documents 2",
    ):
        assert line in printed
    assert "rank" not in printed.replace("likely", "")
    with speaking("ko"):
        assert "2단계, 다른 1개와 나란히" in str(explanation)


def test_a_search_that_was_tried_again():
    """It is beside those of other words alone, and called a retry."""
    retried = (
        Search("museum", step=1, error="TimeoutError"),
        Search("museum", (WINTER,), step=1),
        Search("price", step=2, error="TimeoutError"),
        Search("price", (TICKET,), step=2),
        Search("street", (STREET,), step=2),
    )
    explanation = explained(Retrieved(searches=retried, has_list=False))
    lines = map(str.strip, str(explanation).splitlines())
    heads = [line for line in lines if line.startswith("step ")]
    assert heads == [
        "step 1: “museum”",
        "step 1, tried again: “museum”",
        "step 2, beside 1 more: “price”",
        "step 2, beside 1 more, tried again: “price”",
        "step 2, beside 1 more: “street”",
    ]


@pytest.mark.parametrize(("read", "text"), [(None, "not known"), ((), "nothing was read")])
def test_what_was_read(read, text):
    """Nothing is another thing than that nobody says."""
    explanation = explained(Retrieved(searches=(Search("a", (STREET,), read=read),)))
    assert text in str(explanation)


def test_one_that_failed():
    """What it searched before is shown, and that it failed."""
    explanation = explained(Retrieved(searches=SEARCHES[:2], error="limit of 2 steps"))
    assert explanation.status == "failed"
    assert "the retriever failed at this query: limit of 2 steps" in str(explanation)
    assert explanation.to_dict()["error"] == "limit of 2 steps"
    assert [search.finds for search in explanation.searches] == [(), (1,)]
    assert explanation.read is None


def test_a_file_and_a_list_alone(tmp_path):
    """A file gives the same; a list alone has nothing of searches in its JSON."""
    run = Run({"q1": Retrieved(searches=SEARCHES, has_list=False)}, name="agent")
    write_results(GOLD, run, tmp_path / "agent.jsonl")
    explanation = explain(tmp_path / "agent.jsonl", query_id="q1", panel={})
    in_memory = explain(GOLD, run, query_id="q1", panel={})
    assert explanation.searches == in_memory.searches
    assert json.loads(json.dumps(explanation.to_dict()))["read"] == [2]
    alone = explained(Retrieved((WINTER,)))
    assert {"searches", "read", "error"}.isdisjoint(alone.to_dict())
    assert "found at rank 1" in str(alone)


def test_of_many_documents_those_that_matter():
    """What matches, or was read, is told; --full tells all."""
    others = tuple(Doc(f"o{at}", f"other text number {at}") for at in range(12))
    searches = (Search("a", others), Search("b", (WINTER, STREET), read=("o3",)))
    explanation = explained(Retrieved(searches=searches, has_list=False))
    printed = str(explanation)
    assert "13. [c2] matches gold 1" in printed
    assert "4. [o3] no match" in printed
    assert "[o4]" not in printed
    assert "left out: 12 (--full)" in printed
    full = as_markdown([*explanation.describe(full=True)])
    assert "o4" in full
    assert "left out" not in full
