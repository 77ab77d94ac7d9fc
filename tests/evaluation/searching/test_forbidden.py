"""What must not come, and comes by a later search."""

import pytest

from kragx import evaluate


def row(query_id, *searches, **more):
    """A question for which `secret` must not come."""
    lists = [{"query": "words", "retrieved": [{"id": doc} for doc in docs]} for docs in searches]
    forbidden = [{"id": "secret"}]
    return {"query_id": query_id, "gold": [{"id": "a"}], "forbidden": forbidden} | {
        "searches": lists,
        **more,
    }


ROWS = [
    row("late", ["b"], ["a", "secret"]),
    row("twice", ["secret"], ["secret"]),
    row("clean", ["a"], ["b"]),
    row("handed on", ["b"], ["secret"], retrieved=[{"id": "a"}]),
]


@pytest.mark.parametrize("basis", ["first", "retrieved"])
@pytest.mark.parametrize("options", [{}, {"workers": 2}], ids=["here", "workers"])
def test_a_leak_of_any_search_is_one(basis, options):
    """Whatever list other metrics are about; its rank is that among all, by turns."""
    rows = [{**one, "retrieved": [{"id": "a"}]} for one in ROWS] if basis == "retrieved" else ROWS
    result = evaluate(rows, match="id", metrics=["leak", "leak@2", "leaked", "mrr"], **options)
    assert result.settings["searches"]["basis"] == basis
    by_query = {name: [*values.values()][:3] for name, values in result.queries.items()}
    assert by_query == {
        "late": [1.0, 0.0, 1 / 3],
        "twice": [1.0, 1.0, 1.0],
        "clean": [0.0, 0.0, 0.0],
        "handed on": [1.0, 1.0, 0.5],
    }
    found = {(leak.query_id, leak.rank, leak.document) for leak in result.leaks}
    assert found == {("late", 3, "secret"), ("twice", 1, "secret"), ("handed on", 2, "secret")}


def test_what_no_search_measured_is_open():
    """A question of which nobody knows what came is never clean, and one that failed neither."""
    unknown = {**row("sql"), "searches": [{"query": "count them"}]}
    failed = row("failed", ["b"], error="Limit: too many")
    result = evaluate([*ROWS, unknown, failed], match="id", metrics=["leak"])
    assert result["leak"] is None
    assert result.bounds["leak"] == (3 / 6, 5 / 6)
