"""Runs and gold sets made in Python, and how they join."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pandas
import pytest
from hypothesis import given, strategies as st
from langchain_core.documents import Document

from kragx import DataError, Gold, GoldDataset, Run, UsageError, evaluate
from tests.data.support import names
from tests.thoroughness import all_cases


def ids(run: Run, query_id: str) -> list[str | None]:
    """The ids that one query got, in order."""
    return [doc.id for doc in run[query_id].documents]


def test_lists_are_named_by_their_place() -> None:
    """Queries in plain lists are q1, q2, ... on both sides, and keep their order."""
    run = Run.from_documents([["하나"], [], ("둘", "셋")], name="bm25")
    assert (list(run), run.name) == (["q1", "q2", "q3"], "bm25")
    assert [[doc.text for doc in run[query].documents] for query in run] == [
        ["하나"],
        [],
        ["둘", "셋"],
    ]
    dataset = GoldDataset.from_documents(
        [["하나"], []], queries=["물음 하나", "물음 둘"], name="gs"
    )
    assert [(query.id, query.text) for query in dataset] == [("q1", "물음 하나"), ("q2", "물음 둘")]
    assert dataset.name == "gs"


def test_mappings_keep_their_query_ids() -> None:
    """A mapping from query id to a list keeps ids and order; whole-number ids become digits."""
    run = Run.from_documents({"나": ["글"], 7: [{"id": "a"}, {"id": "b"}]})
    assert list(run) == ["나", "7"]
    assert ids(run, "7") == ["a", "b"]
    dataset = GoldDataset.from_documents({"나": ["글"], 7: [{"id": "b"}]})
    assert [query.id for query in dataset] == ["나", "7"]


def test_a_list_is_ranked_by_its_order() -> None:
    """The order of a list is its ranking, whatever the scores say."""
    run = Run.from_documents([[{"id": "a", "score": 0.1}, {"id": "b", "score": 0.9}]])
    assert ids(run, "q1") == ["a", "b"]


def test_a_mapping_of_scores_is_ranked_by_score() -> None:
    """``{document id: score}`` is ranked by score, and ties by id descending."""
    run = Run.from_documents({"q": {"b": 1, "z": 0.5, "a": 1.0, "c": np.float32(2.5), "y": -3}})
    assert ids(run, "q") == ["c", "b", "a", "z", "y"]
    assert [doc.score for doc in run["q"].documents] == [2.5, 1.0, 1.0, 0.5, -3.0]


def test_ties_are_broken_by_utf8_bytes() -> None:
    """Ids of equal score descend by their UTF-8 bytes, so 10 stands below 9 and 🙂 above 한."""
    tied = dict.fromkeys(["d10", "d9", "D9", "한", "z", "🙂", "\uffee"], 1.0)
    assert ids(Run.from_documents({"q": tied}), "q") == [
        "🙂",
        "\uffee",
        "한",
        "z",
        "d9",
        "d10",
        "D9",
    ]


@given(st.dictionaries(names, st.sampled_from([0.0, -0.0, 1.0, 2.5])))
def test_file_order_does_not_matter_to_a_ranking_by_score(scores: dict[str, float]) -> None:
    """Whatever order the scores come in, the ranking is the same, and it is the sorted one."""
    shuffled = list(scores.items())
    random.Random(1).shuffle(shuffled)
    ranked = ids(Run.from_documents({"q": scores}), "q")
    assert ranked == ids(Run.from_documents({"q": dict(shuffled)}), "q")
    keys = [(scores[each], each.encode()) for each in ranked]
    assert keys == sorted(keys, reverse=True)


@pytest.mark.parametrize("bad", [float("nan"), "1.0", True])
def test_a_score_that_is_no_number_is_refused(bad: object) -> None:
    """A mapping of scores names the query and the document whose score cannot be ranked."""
    with pytest.raises(DataError, match="query 'q': the score of 'b': must be a number"):
        Run.from_documents({"q": {"a": 1.0, "b": bad}})


@all_cases("bad", ["", " ", None, True, 1.0])
def test_an_id_that_is_none_is_refused_as_a_key(bad: object) -> None:
    """Of gold and of what was retrieved, whether or not the mappings are read as arrays."""
    good = {"q": {"a": 1.0}}
    for gold, run in (({"q": {bad: 1.0}}, good), (good, {"q": {bad: 1.0, 1: 0.5}})):
        with pytest.raises(DataError, match="query 'q'"):
            evaluate(gold, run, match="id")
    with pytest.raises(DataError, match="query 'q'"):
        evaluate({"q": {"": 1}}, {"q": {"": 1.0}}, match="id")


def test_a_blank_query_id_is_refused() -> None:
    """Also of mappings that are read as arrays."""
    with pytest.raises(DataError, match="the id of query 1 is empty"):
        evaluate({"": {"a": 1}}, {"": {"a": 1.0}}, match="id")


def test_whole_numbers_of_numpy_are_ids() -> None:
    """As keys, as ids and in metadata, like any whole number; its booleans and floats are not."""
    five = np.int64(5)
    document = Document("x", metadata={"n": five})
    by_key = {"method": "id", "id_key": "metadata.n", "gold_id_key": "id"}
    for docs, match in (({five: 1.0}, "id"), ([{"id": five}], "id"), ([document], by_key)):
        evaluation = evaluate({"q": [{"id": five}]}, {"q": docs}, match=match, metrics=["mrr"])
        assert evaluation["mrr"] == 1
    for bad in (np.bool_(True), np.float64(5)):
        with pytest.raises(DataError, match="an id must be a string or a whole number"):
            Run.from_documents({"q": [{"id": bad}]})


def test_grades_come_as_a_mapping() -> None:
    """``{document id: grade}`` makes one gold item of each, grades at or below 0 included."""
    dataset = GoldDataset.from_documents({"q": {"d1": 2, "d2": 0}})
    assert dataset["q"].gold == (Gold(id="d1", grade=2.0), Gold(id="d2", grade=0.0))


@all_cases("bad", ["글", b"text", 5, None, Document(page_content="글")])
def test_what_one_query_got_must_be_a_list(bad: object) -> None:
    """A single document that is not in a list is refused, not taken apart."""
    with pytest.raises(DataError, match=r"'q': retrieved must be a list .* put a single one"):
        Run.from_documents({"q": bad})


@pytest.mark.parametrize("bad", ["글", b"text", 5, None])
def test_the_gold_of_one_query_must_be_a_list(bad: object) -> None:
    """A single gold text that is not in a list is refused, not taken apart into characters."""
    with pytest.raises(DataError, match=r"'q': gold must be a list .* put a single one"):
        GoldDataset.from_documents({"q": bad})


@pytest.mark.parametrize("nothing", [[], {}])
def test_a_gold_set_without_queries_is_refused(nothing: object) -> None:
    """A gold set needs a query."""
    with pytest.raises(DataError, match="holds no query"):
        GoldDataset.from_documents(nothing)


@pytest.mark.parametrize("make", [GoldDataset.from_documents, Run.from_documents])
def test_ids_that_become_equal_are_refused(make: object) -> None:
    """The query ids 1 and "1" would be the same query; neither is dropped silently."""
    with pytest.raises(DataError, match=r"'1'.* twice"):
        make({1: [{"id": "a"}], "1": [{"id": "b"}]})  # type: ignore[operator]


@pytest.mark.parametrize("queries", [[], ["하나"], ["하나", "둘", "셋"]])
def test_questions_must_be_as_many_as_gold_lists(queries: list[str]) -> None:
    """A question too few or too many is an error, never a shift."""
    with pytest.raises(UsageError, match=rf"queries: {len(queries)} questions for 2 lists"):
        GoldDataset.from_documents([["가"], ["나"]], queries=queries)


@pytest.mark.parametrize("gold", [[["가"], ["나"]], {"q1": ["가"], "q2": ["나"]}])
def test_questions_by_id_join_by_id(gold: Any) -> None:
    """A mapping's questions go to the gold of their ids, in any order; an id alone is named."""
    dataset = GoldDataset.from_documents(gold, {"q2": "둘", "q1": "하나"})
    assert {query.id: query.text for query in dataset} == {"q1": "하나", "q2": "둘"}
    with pytest.raises(UsageError, match="queries: 'q2' is the id of a question or of gold alone"):
        GoldDataset.from_documents(gold, {"q1": "하나", "q3": "둘"})
    with pytest.raises(DataError, match="queries: query id '1' stands twice"):
        GoldDataset.from_documents({"1": ["가"]}, {1: "하나", "1": "둘"})


def test_questions_may_be_a_column() -> None:
    """A column of a table of pandas goes in as a list does."""
    table = pandas.DataFrame(
        {"question": ["하나", "둘"], "passage": [["가"], ["나"]]}, index=[7, 3]
    )
    dataset = GoldDataset.from_documents(table["passage"], table["question"])
    assert [(query.id, query.text) for query in dataset] == [("q1", "하나"), ("q2", "둘")]


@pytest.mark.parametrize("bad", [5, ["물음"]])
def test_a_question_must_be_a_string(bad: object) -> None:
    """A question that is no string is refused with a `KragxError`, as every wrong text is."""
    with pytest.raises((DataError, UsageError), match=r"q2|must be a string"):
        GoldDataset.from_documents([["가"], ["나"]], queries=["하나", bad])


@pytest.mark.parametrize("retrieved", [[], [["가"]], [["가"], ["나"], ["다"]]])
def test_lists_of_different_length_are_refused(retrieved: list[list[str]]) -> None:
    """A list too few or too many says how many there are, and what an unanswered query needs."""
    with pytest.raises(UsageError, match=rf"run: {len(retrieved)} lists .* 2 queries.*empty list"):
        evaluate([["가"], ["나"]], retrieved, match="exact")


def test_an_empty_list_is_an_answer() -> None:
    """An empty list is answered with nothing, which is not missing and not failed."""
    result = evaluate([["가"], ["나"]], [[], ["나"]], match="exact", metrics=["recall@1"])
    assert result.queries == {"q1": {"recall@1": 0.0}, "q2": {"recall@1": 1.0}}
    assert (result.counts["n_missing"], result.counts["n_failed"]) == (0, 0)


def test_missing_and_extra_queries_are_counted() -> None:
    """A query that the run lacks scores 0 and is missing; one that the gold set lacks is extra."""
    result = evaluate(
        {"a": ["가"], "b": ["나"]}, {"b": ["나"], "c": ["다"]}, match="exact", metrics=["mrr"]
    )
    assert result["mrr"] == 0.5
    assert (result.counts["n_missing"], result.counts["n_extra"]) == (1, 1)


GOLD = {f"q{n}": [{"id": f"d{n}"}, {"id": f"d{n + 1}"}] for n in range(8)}
RETRIEVED = {f"q{n}": [{"id": f"d{n * 3 % 8}"}, {"id": f"d{n}"}, {"id": "x"}] for n in range(8)}


def test_queries_join_by_id() -> None:
    """A shuffled run, or a shuffled gold set, gives the same number for every query."""
    expected = evaluate(GOLD, RETRIEVED, match="id")
    assert 0 < expected["ndcg@10"] < 1
    for seed in range(5):
        order = random.Random(seed)
        gold = dict(order.sample(list(GOLD.items()), len(GOLD)))
        retrieved = dict(order.sample(list(RETRIEVED.items()), len(RETRIEVED)))
        shuffled = evaluate(gold, Run.from_documents(retrieved), match="id")
        assert shuffled.queries == expected.queries
        assert shuffled.mean == pytest.approx(expected.mean, abs=1e-12)


def test_no_common_id_is_an_error() -> None:
    """Without a single common query id the error shows one of each side."""
    with pytest.raises(DataError, match=r"none of its 8 query ids.*'Q0'.*'q0'.*join by id"):
        evaluate(GOLD, {key.upper(): docs for key, docs in RETRIEVED.items()}, match="id")


def test_lists_join_the_ids_of_the_gold_set() -> None:
    """Plain lists of retrieved documents follow the order of the gold set's queries."""
    by_id = evaluate(GOLD, RETRIEVED, match="id")
    by_place = evaluate(GOLD, list(RETRIEVED.values()), match="id")
    assert by_place.queries == by_id.queries


def test_nothing_to_evaluate_is_an_error() -> None:
    """Gold documents without a run say what to pass."""
    with pytest.raises(UsageError, match="run: nothing to evaluate"):
        evaluate(GOLD)


@pytest.mark.parametrize("bad", [5, 1.5, object()])
def test_what_is_no_run_or_gold_set_is_refused(bad: object) -> None:
    """Other values name their type and what to pass instead."""
    with pytest.raises(UsageError, match="is no run; pass"):
        evaluate(GOLD, bad)
    with pytest.raises(UsageError, match="is not a gold set; pass"):
        evaluate(bad, RETRIEVED)
