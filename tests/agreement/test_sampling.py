"""Drawing a sample: strata, whole queries, the same for the same seed, and nothing to peek at."""

from __future__ import annotations

import json
import random
from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given, settings, strategies as st

from kragx.agreement import PairToLabel, draw, from_run, from_store
from kragx.agreement.sample import drawn_in_proportion, read_sample, with_grades
from kragx.data.reading import read_results
from kragx.errors import DataError, UsageError
from kragx.judging import Failure, Judge, Question
from kragx.judging.clients.scripted import ScriptedClient
from kragx.judging.rubric import RUBRICS, key_of


def candidates(n_queries=20, n_docs=10):
    """Mostly graded 0; every tenth 3, and one in forty 2."""
    return [
        PairToLabel(
            f"q{query}",
            f"d{rank}",
            f"question {query}",
            f"text {query} {rank}",
            rank,
            3 if rank == 1 else 2 if (query, rank) in ((0, 5), (1, 9)) else 0,
        )
        for query in range(n_queries)
        for rank in range(1, n_docs + 1)
    ]


def test_rare_grades_and_all_ranks_are_drawn():
    """Strata get the same numbers as far as they have them, from as many queries as can be."""
    pool = {each.ids: each for each in candidates()}
    sample = draw(list(pool.values()), 30)
    drawn = [pool[each.ids] for each in sample.items]
    assert len(set(sample.items)) == 30
    assert Counter(each.grade for each in drawn)[2] == 2  # all there are
    strata = Counter((each.grade, (each.rank > 1) + (each.rank > 3)) for each in drawn)
    assert max(strata.values()) - min(strata[key] for key in strata if key[0] != 2) <= 1
    assert len({each.query_id for each in drawn}) >= 18


def test_whole_queries():
    """Whole queries hold every pair of each, one query after the other."""
    sample = draw(candidates(), queries=4)
    ids = [each.query_id for each in sample.items]
    assert Counter(ids) == Counter(dict.fromkeys(dict.fromkeys(ids), 10))
    assert len(set(ids)) == 4
    assert ids == sorted(ids, key=ids.index)


def test_whole_queries_by_their_asks():
    """The chance of each is recorded: alike without weights, else in proportion to these."""
    plain = draw(candidates(), queries=4).settings["chances"]
    assert [*plain.values()] == [0.2] * 4
    weights = {f"q{query}": 11.0 if query == 3 else 1.0 for query in range(20)}
    sample = draw(candidates(), queries=4, weights=weights)
    chances = sample.settings["chances"]
    assert chances.keys() == {each.query_id for each in sample.items}
    assert chances["q3"] == 1
    assert sorted(chances.values()) == pytest.approx([3 / 19] * 3 + [1])


@given(st.lists(st.integers(0, 30), min_size=1, max_size=12), st.integers(1, 8), st.booleans())
@settings(deadline=None)
def test_drawn_in_proportion(sizes, n, in_strata):
    """So many distinct units, chances min(1, c size) of that sum; of strata but for rounding."""
    strata = [row % 3 for row in range(len(sizes))] if in_strata else None
    drawn, chances = drawn_in_proportion(sizes, n, random.Random(0), strata=strata)
    n_sized = sum(size > 0 for size in sizes)
    assert len(drawn) == len({*drawn}) == min(n, n_sized)
    assert all(sizes[row] for row in drawn)
    assert sum(chances) == pytest.approx(min(n, n_sized))
    ratios = {round(c / s, 9) for c, s in zip(chances, sizes) if s and c < 1}
    assert len(ratios) <= 1
    assert all(s * ratio > 1 - 1e-6 for ratio in ratios for c, s in zip(chances, sizes) if c == 1)
    for stratum in range(3 if in_strata else 0):
        share = sum(chance for chance, own in zip(chances, strata) if own == stratum)
        assert abs(sum(strata[row] == stratum for row in drawn) - share) < 1 + 1e-9


@pytest.mark.parametrize("n", [2_000, pytest.param(20_000, marks=pytest.mark.integration)])
@pytest.mark.parametrize("strata", [None, [0, 0, 1, 1, 1]])
def test_chances_are_what_comes_out(strata, n):
    """Of many drawings each unit is in as many as its chance says, and each pair in some."""
    rng, sizes = random.Random(1), [1, 2, 3, 4, 30]
    counts, pairs = Counter(), set()
    for _ in range(n):
        drawn, chances = drawn_in_proportion(sizes, 3, rng, strata=strata)
        counts.update(drawn)
        pairs |= {frozenset(pair) for pair in combinations(drawn, 2)}
    for row, chance in enumerate(chances):
        assert counts[row] / n == pytest.approx(chance, abs=1.7 / n**0.5)
    assert chances == pytest.approx([0.2, 0.4, 0.6, 0.8, 1])
    assert len(pairs) == (10 if strata is None else 9)


def test_the_seed_decides():
    """The order of the candidates does not matter, the seed does."""
    pool = candidates()
    assert draw(pool, 20).items == draw(pool[::-1], 20).items
    assert draw(pool, 20).items != draw(pool, 20, seed=1).items
    assert len(draw(pool, 10_000).items) == len(pool)


def test_blind(tmp_path):
    """Neither the sample nor its file has a grade or rank; the file reads back as the same."""
    sample = draw(candidates(), 20)
    assert {(each.grade, each.rank) for each in sample.items} == {(None, None)}
    path = tmp_path / "sample.jsonl"
    sample.write(path)
    records = list(map(json.loads, path.read_text(encoding="utf-8").splitlines()))
    assert set(records[1]) == {"query_id", "document_id", "query", "document"}
    assert read_sample(path) == sample


def test_broken_sample_file(tmp_path):
    """A file that is no sample is refused with its line."""
    path = tmp_path / "sample.jsonl"
    path.write_text('{"query_id": "q"}\n')
    with pytest.raises(DataError, match=r"sample.jsonl:1: not a sample"):
        read_sample(path)
    path.write_text('{"sample": {}}\n{"query_id": "q"}\n')
    with pytest.raises(DataError, match=r"sample.jsonl:2: 'document_id' is missing"):
        read_sample(path)
    path.write_text('{"sample": {}}\n')
    with pytest.raises(DataError, match="the sample is empty"):
        read_sample(path)


def test_from_results(jsonl):
    """A results file gives questions and texts; for support, the gold texts; a repeat once."""
    path = jsonl(
        {
            "query_id": "q1",
            "query": "why?",
            "gold": [{"text": "because"}, {"text": "not this", "grade": 0}],
            "retrieved": [{"id": "a", "text": "A"}, {"text": "B"}, {"id": "a", "text": "A"}],
        },
        {"query_id": "q2", "query": "who?", "gold": [], "retrieved": [{"id": "c", "text": "C"}]},
        {"query_id": "q3", "query": "how?", "gold": []},
    )
    dataset, run = read_results(path)
    found = from_run(dataset, run, 10)
    named = f"text-{key_of('B')[:16]}"
    assert [(*each.ids, each.query, each.rank) for each in found] == [
        ("q1", "a", "why?", 1),
        ("q1", named, "why?", 2),
        ("q2", "c", "who?", 1),
    ]
    assert [each.query for each in from_run(dataset, run, 10, asks="support")] == ["because"] * 2
    assert len(from_run(dataset, run, 1)) == 2


def test_without_texts(jsonl):
    """Nobody can label without a question or a text."""
    for record, what in (
        ({"query_id": "q", "retrieved": [{"id": "a", "text": "A"}]}, "query 'q' has no text"),
        ({"query_id": "q", "query": "?", "retrieved": [{"id": "a"}]}, "'a' has no text"),
    ):
        with pytest.raises(DataError, match=what):
            from_run(*read_results(jsonl({**record, "gold": []})), 10)


def test_from_store(store):
    """A store gives what was asked and its grades, failures without one; golds of a pair as one."""
    judge = Judge(ScriptedClient([3, Failure("refusal"), 1, 2]), store=store, concurrency=1)
    judge.judge(
        [
            Question(RUBRICS["relevance-en-1"], "A", query="why?", query_id="q1", document_id="a"),
            Question(RUBRICS["relevance-en-1"], "B", query="why?", query_id="q1"),
        ]
    )
    relevance = {each.document: (each.query, each.grade) for each in from_store(store)}
    assert relevance == {"A": ("why?", 3), "B": ("why?", None)}
    judge.judge(
        [
            Question(RUBRICS["support-en-1"], "A", gold=gold, query_id="q1", document_id="a")
            for gold in ("one", "two")
        ]
    )
    with pytest.raises(UsageError, match="--asks"):
        from_store(store)
    (support,) = from_store(store, asks="support")
    assert (support.query, support.grade) == ("one\n\ntwo", 2)


def test_grades_join_by_id_or_text():
    """A run's documents get the judge's grade by id, else by the text that was judged."""
    asked = [
        PairToLabel("q", "a", "?", "A", grade=1),
        PairToLabel("q", f"text-{key_of('B')[:16]}", "?", "B", grade=2),
    ]
    found = [
        PairToLabel("q", name, "?", text, 1) for name, text in (("a", "A"), ("b", "B"), ("c", "C"))
    ]
    assert [each.grade for each in with_grades(found, asked)] == [1, 2, None]


@pytest.mark.parametrize("name", ["with space", "", "tab\t"])
def test_ids_that_qrels_cannot_hold(name):
    """They are refused before anybody labels."""
    with pytest.raises(DataError, match="cannot stand in qrels"):
        draw([PairToLabel("q", name, "?", "text")], 5)


def test_refusals():
    """Nothing to draw from, or nothing to draw."""
    with pytest.raises(DataError, match="no pair to label"):
        draw([], 5)
    for options in ({"pairs": 0}, {"queries": 0}, {"pairs": True}):
        with pytest.raises(UsageError, match="not a whole number of at least 1"):
            draw(candidates(), **options)
