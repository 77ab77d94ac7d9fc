"""Slices: by any field of a query, each with its own n, intervals and decision."""

from __future__ import annotations

import unicodedata
from dataclasses import replace

import pytest

from kragx import Run, UsageError, compare, evaluate
from tests.thoroughness import all_cases

from .support import evaluation, gold_set

DIFFICULTY = ("쉬움", "어려움", "보통")


def compared(dataset, *fields, worse=lambda i: None):
    """Two retrievers, of which the second is worse where `worse` says at which rank."""
    pair = [evaluation(dataset, "a", lambda i: 1), evaluation(dataset, "b", worse)]
    return compare(pair, slices=fields)


def ranked(dataset, *fields, metrics=("mrr@10",)):
    """Two retrievers with ten documents each, whether there is gold or not."""
    lists = {query.id: [{"id": "other"}, *({"id": g.id} for g in query.gold)] for query in dataset}
    pair = [
        evaluate(dataset, Run.from_documents(lists, name=name), match="id", metrics=list(metrics))
        for name in "ab"
    ]
    return compare(pair, slices=fields)


def test_each_slice_has_its_queries_and_numbers():
    """A slice holds the queries with its value; its means are over them."""
    dataset = gold_set(30, query_type=lambda i: "even" if i % 2 == 0 else "odd")
    found = compared(dataset, "query_type", worse=lambda i: 1 if i % 2 == 0 else 2)
    even, odd = found.slices
    assert [(each.value, each.n) for each in (even, odd)] == [("even", 15), ("odd", 15)]
    assert even.query_ids == tuple(f"q{i}" for i in range(0, 30, 2))
    assert even.means["b"]["mrr@10"].value == 1.0
    assert odd.means["b"]["mrr@10"].value == 0.5
    assert odd.leaders["mrr@10"].best == "a"
    assert odd.leaders["mrr@10"].decided
    assert not even.leaders["mrr@10"].decided


def test_small_slices_are_named():
    """What was asked for is said of every slice, of a small one that it is in no table."""
    dataset = gold_set(24, query_type=lambda i: "large" if i < 18 else "small" if i < 22 else None)
    text = compared(dataset, "query_type").to_text()
    assert "large (n = 18)" in text
    assert "fewer than 10 queries, and so in no table: small (4) and (no value) (2)" in text
    none_is_large = compared(gold_set(12, query_type=lambda i: str(i % 2)), "query_type")
    assert "in no table: 0 (6) and 1 (6)" in none_is_large.to_text()


def unanswerable_too(n=20):
    """40 questions in two slices; of `x`, 12 of n have no answer, and so no mrr."""
    dataset = gold_set(
        40, part=lambda i: "x" if i < n else "y", answerable=lambda i: None if i >= 12 else False
    )
    bare = [
        replace(query, gold=()) if query.answerable is False else query for query in dataset.queries
    ]
    return replace(dataset, queries=tuple(bare))


def test_n_is_of_the_questions_that_a_value_is_over():
    """A question without an answer is counted beside no mean that it is not in."""
    found = ranked(unanswerable_too(), "part", "answerable")
    x, y = found.by("part")
    assert [part.scored("mrr@10") for part in (x, y)] == [8, 20]
    assert found.slices_table("part").columns[1:] == ["y (n = 20)"]  # eight say nothing
    whole = ranked(unanswerable_too(22), "part")
    assert whole.slices_table("part").columns[1:] == ["x (n = 10)", "y (n = 18)"]
    assert x.p_worse is None


def test_a_metric_of_other_questions_has_its_own_n():
    """Where a slice has another n in another metric, that stands beside the value."""
    metrics = ["mrr@10", "abstention"]
    found = ranked(unanswerable_too(22), "part", metrics=metrics)
    rows = [[str(cell.text) for cell in row] for row in found.slices_table("part").rows]
    assert "(n = 12)" in rows[1][1]
    assert "(n =" not in rows[0][1] + rows[1][2]


def test_slice_means_equal_an_evaluation_of_the_slice_alone():
    """The interval of a slice is that of its queries alone."""
    dataset = gold_set(30, part=lambda i: "x" if i < 12 else "y")
    found = compared(dataset, "part", worse=lambda i: 1 + i % 3)
    only = gold_set(12)
    alone = compare(
        [evaluation(only, "a", lambda i: 1), evaluation(only, "b", lambda i: 1 + i % 3)]
    )
    part = next(each for each in found.slices if each.value == "x")
    assert part.means == alone.overall.means
    uncorrected = [replace(each, p_adjusted=each.p) for each in part.differences]
    assert uncorrected == [replace(each, p_adjusted=each.p) for each in alone.overall.differences]


@pytest.mark.parametrize("field", ["metadata.difficulty", "difficulty"])
def test_metadata_with_and_without_its_name(field):
    """A metadata field is named with or without 'metadata.'; larger slices stand first."""
    dataset = gold_set(31, difficulty=lambda i: DIFFICULTY[i % 3])
    found = compared(dataset, field)
    assert [each.value for each in found.slices] == ["쉬움", "보통", "어려움"]
    assert [each.n for each in found.slices] == [11, 10, 10]


def test_one_text_in_two_unicode_forms_is_one_slice():
    """Decomposed Korean, as macOS types it, is the same value."""
    nfd = unicodedata.normalize("NFD", "어려움")
    dataset = gold_set(10, difficulty=lambda i: nfd if i % 2 else " 어려움 ")
    assert [each.value for each in compared(dataset, "difficulty").slices] == ["어려움"]


def test_paths_numbers_and_truth_values():
    """A dotted path goes into mappings; numbers and truth values are written as in JSON."""
    dataset = gold_set(
        12,
        source=lambda i: {"page": i % 2, "good": i % 3 == 0},
        answerable=lambda i: i % 4 == 0,
    )
    found = compared(dataset, "metadata.source.page", "source.good", "answerable")
    assert [(each.field, each.value) for each in found.slices] == [
        ("metadata.source.page", "0"),
        ("metadata.source.page", "1"),
        ("source.good", "false"),
        ("source.good", "true"),
        ("answerable", "false"),
        ("answerable", "true"),
    ]


def test_a_list_puts_a_query_into_several_slices():
    """Each value of a list is a slice; a value that stands twice counts once."""
    dataset = gold_set(9, tags=lambda i: ["all", "all", "third"] if i % 3 == 0 else ["all"])
    found = {each.value: each.n for each in compared(dataset, "tags").slices}
    assert found == {"all": 9, "third": 3}


@all_cases("nothing", [..., None, "", "  ", []])
def test_no_value_is_a_slice_of_its_own(nothing):
    """Queries without a value are a slice named so, and the last one."""
    dataset = gold_set(10, kind=lambda i: nothing if i < 7 else "known")
    found = compared(dataset, "kind").slices
    assert [(each.value, each.label, each.n) for each in found] == [
        ("known", "known", 3),
        (None, "(no value)", 7),
    ]


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ("difficlty", "no query has a value of 'difficlty'; perhaps you meant 'metadata.difficult"),
        ("query_type", "no query has a value of 'query_type'; valid: metadata.difficulty"),
        ("source", "'source' holds a mapping; name one of its values: source.page"),
        ("number", "'number' has 120 different values, and at most 100 make slices"),
    ],
)
def test_fields_that_make_no_slices(field, message):
    """A field that nobody has, that holds mappings or too many values is refused by name."""
    dataset = gold_set(
        120, difficulty=lambda i: "x", source=lambda i: {"page": 1}, number=lambda i: i
    )
    with pytest.raises(UsageError) as raised:
        compared(dataset, field)
    assert message in str(raised.value)


def test_one_field_needs_no_list():
    """A text is one field, and not its letters; where there is none at all the error says so."""
    pair = [evaluation(gold_set(10, kind=lambda i: "x"), name, lambda i: 1) for name in "ab"]
    assert compare(pair, slices="kind").fields == ("kind",)
    for dataset in (gold_set(10), gold_set(10, kind=lambda i: None)):
        bare = [evaluation(dataset, name, lambda i: 1) for name in "ab"]
        with pytest.raises(UsageError, match="of 'kind'; they have no field to slice by"):
            compare(bare, slices="kind")


def test_results_files_keep_no_gold_set(tmp_path):
    """Where the gold set was not kept the message asks for it; given, it serves."""
    from kragx import evaluate

    path = tmp_path / "results.jsonl"
    line = '{"query_id": "q0", "gold": [{"id": "g0"}], "retrieved": [{"id": "g0"}]}\n'
    path.write_text(line, encoding="utf-8")
    streamed = evaluate(path, match="id", metrics=["mrr@5"])
    with pytest.raises(UsageError, match="pass it as dataset="):
        compare([streamed], slices=["query_type"])
    given = compare([streamed], slices=["difficulty"], dataset=gold_set(1, difficulty=lambda i: 1))
    assert [each.value for each in given.slices] == ["1"]


@pytest.mark.integration
def test_no_chance_decision_in_small_slices():
    """Of 100 seeded slices of two equal retrievers at most a few are decided."""
    import numpy as np

    rng = np.random.default_rng(5)
    ranks = rng.integers(1, 6, (2, 2000)).tolist()
    dataset = gold_set(2000, part=lambda i: i % 100)
    pair = [
        evaluation(dataset, name, ranks[which].__getitem__, metrics=["mrr@10"])
        for which, name in enumerate("ab")
    ]
    found = compare(pair, slices=["part"], resamples=2000).slices
    assert len(found) == 100
    assert sum(each.leaders["mrr@10"].decided for each in found) <= 10
