"""Searches in files, in Python and in batches: what is read is what was said, whatever its form."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import example, given, strategies as st

from kragx import (
    DataError,
    Doc,
    GoldDataset,
    Retrieved,
    Run,
    Search,
    Searches,
    Stage,
    evaluate,
    read_results,
    retrieve,
    write_results,
)
from kragx.data import Reading, batch as batch_module, source
from kragx.data.batch import Batch
from kragx.data.entries import SearchLists
from kragx.data.search_records import SEARCHES
from kragx.data.searches import ListName, in_steps
from tests.thoroughness import all_cases, examples

GOLD = {"gold": [{"text": "정답"}]}
A, B, C = {"id": "a", "text": "가"}, {"id": "b"}, {"text": "다"}


def read(record: Mapping[str, Any], folder: Path) -> Retrieved | None:
    """What a line of a results file says."""
    path = folder / "results.jsonl"
    path.write_text(json.dumps({"query_id": "q1", **GOLD, **record}), encoding="utf-8")
    return read_results(path)[1].results.get("q1")


def test_a_line(tmp_path: Path) -> None:
    """Numbers are of distinct documents: the list's first, then those that searches add."""
    searches = [
        {"query": "x", "retrieved": [B, C], "read": [1, "b", "zz"]},
        {"query": "y", "retrieved": [0, {"same": 2, "score": 0.5}], "tool": "t", "seconds": 0.25},
        {"query": "sum", "tokens": 12},
        {"query": "z", "retrieved": [], "read": []},
    ]
    answer = read({"retrieved": [A, A], "searches": searches}, tmp_path)
    a, b, c = Doc("a", "가"), Doc("b"), Doc(text="다")
    assert answer == Retrieved(
        (a, a),
        searches=(
            Search("x", (b, c), step=1, read=(b, b, "zz")),
            Search("y", (a, replace(c, score=0.5)), "t", 2, 0.25),
            Search("sum", None, step=3, tokens=12),
            Search("z", (), step=4, read=()),
        ),
    )
    assert [search.is_measured for search in answer.searches] == [True, True, False, True]
    assert answer.of("retrieved") == (a, a)
    assert answer.of("first") == (b, c)
    assert answer.of("last") == ()
    assert answer.of("all") == (b, a, c)
    assert answer.of("all", "chain") == (b, c, a)
    assert answer.of("read") == (b, Doc("zz"))


def test_without_a_list(tmp_path: Path) -> None:
    """Where nothing was handed on, the documents are those of the first measured search."""
    searches = [{"query": "x"}, {"retrieved": [C, B]}, {"retrieved": [A]}]
    answer = read({"searches": searches}, tmp_path)
    assert answer is not None
    assert not answer.has_list
    assert answer.documents == (Doc(text="다"), Doc("b"))
    assert answer.of("retrieved") is None
    assert answer.of("read") is None
    assert answer.of("first") == answer.documents
    unmeasured = read({"searches": [{"query": "x"}]}, tmp_path)
    assert unmeasured == Retrieved(searches=(Search("x", None),), has_list=False)
    assert unmeasured.documents == ()
    assert unmeasured.of("all") is None


NOTHING: list[tuple[dict[str, Any], Retrieved | None]] = [
    ({}, None),
    ({"searches": None}, None),
    ({"searches": []}, Retrieved(has_list=False)),
    ({"searches": [], "retrieved": [B]}, Retrieved((Doc("b"),))),
    ({"searches": None, "retrieved": [B]}, Retrieved((Doc("b"),))),
    ({"searches": [], "error": "limit"}, Retrieved(error="limit")),
    (
        {"searches": [{}], "error": "limit"},
        Retrieved(error="limit", searches=(Search(None, None),)),
    ),
    ({"searches": [{}], "error": " "}, Retrieved(searches=(Search(None, None),), has_list=False)),
    (
        {"searches": [{"retrieved": [7 - 7, 1]}], "retrieved_chunk_ids": [7, "b"]},
        Retrieved((Doc("7"), Doc("b")), searches=(Search(documents=(Doc("7"), Doc("b"))),)),
    ),
    (
        {"searches": [{"retrieved": None, "read": None, "step": None, "query": None}]},
        Retrieved(searches=(Search(documents=None),), has_list=False),
    ),
    (
        {"searches": [{"retrieved": [], "error": "late", "step": 7.0}, {"step": 3, "error": ""}]},
        Retrieved(
            searches=(Search(documents=None, step=1), Search(error="late", step=2)), has_list=False
        ),
    ),
]


@pytest.mark.parametrize(("record", "answer"), NOTHING)
def test_what_is_little(record: dict[str, Any], answer: Retrieved | None, tmp_path: Path) -> None:
    """No searches, no list, no documents, an error beside searches: each says one thing."""
    assert read(record, tmp_path) == answer


WRONG = [
    ({"query": "x"}, r"searches: must be a list of searches"),
    ("x", r"searches: must be a list of searches"),
    (["x"], r"searches\[0\]: must be an object with 'query' and 'retrieved'"),
    ([{}, {"retrieved": [{"text": 3}]}], r"searches\[1\]\.retrieved\[0\]: a text must be a string"),
    ([{}, {"retrieved": ["a"]}], r"searches\[1\]\.retrieved\[0\]: an object is expected"),
    ([{"retrieved": {"id": "a"}}], r"searches\[0\]\.retrieved: must be a list of documents"),
    ([{"retrieved": [1]}], r"searches\[0\]\.retrieved\[0\]: there is no document 1 before it"),
    ([{"retrieved": [-1]}], r"searches\[0\]\.retrieved\[0\]: there is no document -1"),
    ([{"retrieved": [1, B]}], r"searches\[0\]\.retrieved\[0\]: there is no document 1 before it"),
    ([{"retrieved": [True]}], r"searches\[0\]\.retrieved\[0\]"),
    ([{"retrieved": [{"same": "a"}]}], r"searches\[0\]\.retrieved\[0\]\.same: must be a document"),
    ([{"retrieved": [B, B], "read": [2]}], r"searches\[0\]\.read\[0\]: there is no document 2"),
    ([{"read": "a"}], r"searches\[0\]\.read: must be a list of ids"),
    ([{"read": [" "]}], r"searches\[0\]\.read\[0\]: the id is empty"),
    ([{"read": [0.5]}], r"searches\[0\]\.read\[0\]: must be an id, or the number"),
    ([{"documents": []}], r"searches\[0\]\.documents: unknown field"),
    ([{"query": 3}], r"searches\[0\]\.query: a text must be a string"),
    ([{"seconds": -1}], r"searches\[0\]\.seconds: must be how long"),
    ([{"seconds": 1e9}], r"searches\[0\]\.seconds: must be how long"),
    ([{"tokens": -1}], r"searches\[0\]\.tokens: must be a whole number, 0 to"),
    ([{"tokens": 0.5}], r"searches\[0\]\.tokens: must be a whole number"),
    ([{"tokens": True}], r"searches\[0\]\.tokens: must be a whole number"),
    ([{"tokens": 1e13}], r"searches\[0\]\.tokens: must be a whole number"),
    ([{"step": "1"}], r"searches\[0\]\.step: must be a whole number"),
    ([{"step": 1}, {}, {"step": 2}], r"searches\[1\]\.step: is missing"),
    ([{"error": "x", "retrieved": [B]}], r"searches\[0\]\.retrieved: stands beside 'error'"),
    ([{"stages": [{}]}], r"searches\[0\]\.stages\[0\]\.name: must be the name"),
]


@pytest.mark.parametrize(("searches", "message"), WRONG)
def test_mistakes(searches: object, message: str, tmp_path: Path) -> None:
    """A wrong search is an error with file, line and field."""
    with pytest.raises(DataError, match=rf"results.jsonl:1: {message}"):
        read({"retrieved": [A], "searches": searches}, tmp_path)


def test_a_line_that_was_cut_off(tmp_path: Path) -> None:
    """A half-written line is named; those before it are read."""
    path = tmp_path / "results.jsonl"
    line = json.dumps({"query_id": "q1", **GOLD, "searches": [{"retrieved": [A]}]})
    path.write_text(line + "\n" + line[:-20], encoding="utf-8")
    reading = Reading(path)
    assert [query.id for _, query, _ in reading] == ["q1"]
    assert [problem.line for problem in reading.problems.found] == [2]


def test_numbers_of_stages(tmp_path: Path) -> None:
    """Stages count behind all searches, those of the question behind those of its searches."""
    stages = [{"name": "bm25", "retrieved": [1, {"text": "라"}]}]
    searches = [{"retrieved": [B], "stages": stages}, {"retrieved": [C]}]
    last = [{"name": "rerank", "retrieved": [2, 3]}]
    answer = read({"retrieved": [A], "searches": searches, "stages": last}, tmp_path)
    assert answer is not None
    assert answer.searches[0].stages == (Stage("bm25", (), (Doc("b"), Doc(text="라"))),)
    assert answer.stages == (Stage("rerank", (), (Doc(text="다"), Doc(text="라"))),)


# -- steps ---------------------------------------------------------------------------------------


def test_steps() -> None:
    """Steps are numbered from 1 on; a failed search and the same words again are one."""
    failed = Search("한국어", error="late")
    again = Search(unicodedata.normalize("NFD", "한국어"), (Doc("a"),))
    steps = [search.step for search in in_steps([failed, again, again, Search("x")])]
    assert steps == [1, 1, 2, 3]
    placed = in_steps([Search("c", step=9), Search("b", step=-2), Search("a", step=9)])
    assert [(search.query, search.step) for search in placed] == [("b", 1), ("a", 2), ("c", 2)]
    assert in_steps(placed) == placed


def test_lanes() -> None:
    """What failed and was tried again is one lane; what worked twice side by side is two."""
    failed, worked = Search("a", error="late", step=1), Search("a", (Doc("a"),), step=1)
    answer = Retrieved(searches=(worked, failed, Search("b", step=1), worked, failed))
    lists = SearchLists.of([None, Retrieved(), answer])
    assert lists is not None
    assert lists.n.tolist() == [0, 0, 5]
    assert lists.failed.tolist() == [True, True, False, False, False]
    assert lists.lane.tolist() == [0, 0, 0, 1, 2]


DOCS = [Doc("a", "가"), Doc("b"), Doc(text="다"), Doc("a", "다른 글"), Doc("b", score=0.5)]
PARALLEL = st.lists(
    st.builds(
        Search,
        query=st.sampled_from(["x", "y", None]),
        documents=st.none() | st.lists(st.sampled_from(DOCS), max_size=3).map(tuple),
        tool=st.sampled_from(["t", None]),
        step=st.integers(1, 2),
        seconds=st.sampled_from([None, 0.1, 0.2, 0.3]),
        error=st.sampled_from([None, None, "late"]),
        read=st.none() | st.lists(st.sampled_from(["a", "b", "zz", *DOCS]), max_size=3).map(tuple),
    ),
    max_size=4,
)


@examples(200)
@given(PARALLEL)
def test_order_of_a_log(searches: list[Search]) -> None:
    """In whatever order searches that ran side by side were logged, an answer is the same."""
    answers = [Retrieved(searches=order, has_list=False) for order in permutations(searches)]
    assert all(answer == answers[0] for answer in answers)


# -- written and read ------------------------------------------------------------------------------

DOC = st.sampled_from(
    [Doc("a"), Doc("a", "가"), Doc("b", "나", {"쪽": 1}), Doc(text="다"), Doc("b", "나", {}, 0.5)]
)
LISTS = st.lists(DOC, max_size=4).map(tuple)
STAGES = LISTS.map(lambda docs: (Stage("bm25", (), docs, 0.25),)) | st.just(())


@st.composite
def answers(draw: st.DrawFn) -> Retrieved:
    """Answers of whoever searches, or does not."""
    n, has_steps = draw(st.integers(0, 4)), draw(st.booleans())
    searches = [
        Search(
            draw(st.none() | st.sampled_from(["", "질문", "x"])),
            draw(st.none() | LISTS),
            draw(st.sampled_from([None, "t"])),
            draw(st.integers(1, 3)) if has_steps else None,
            draw(st.sampled_from([None, 0.0, 1.5])),
            draw(st.sampled_from([None, 0, 7])),
            read=draw(st.none() | st.lists(DOC | st.sampled_from("abz"), max_size=3).map(tuple)),
            stages=draw(STAGES),
        )
        for _ in range(n)
    ]
    failed = draw(st.lists(st.booleans(), min_size=n, max_size=n))
    searches = [
        replace(search, error="late", documents=()) if fails else search
        for search, fails in zip(searches, failed)
    ]
    error = draw(st.sampled_from([None, None, "limit"]))
    docs, has_list = () if error else draw(LISTS), draw(st.booleans()) or error is not None
    return Retrieved(docs, 0.5, error, draw(STAGES), tuple(searches), has_list)


SIDE_BY_SIDE = Retrieved(
    searches=tuple(Search(None, (Doc("a"),), step=1, read=read) for read in (None, (), ("a",))),
    has_list=False,
)
"""In one step, and apart by what was read of them alone."""


@examples(200)
@given(st.lists(answers(), min_size=1, max_size=3), st.sampled_from(["jsonl", "parquet"]))
@example([SIDE_BY_SIDE], "jsonl")
def test_written_and_read(
    tmp_path_factory: pytest.TempPathFactory, made: list[Retrieved], ending: str
) -> None:
    """What is written is read back, as JSON Lines and Parquet, and resolved alike again."""
    run = Run({f"q{i}": answer for i, answer in enumerate(made)})
    dataset = GoldDataset.from_documents({query_id: ["글"] for query_id in run})
    path = tmp_path_factory.mktemp("searches") / f"results.{ending}"
    write_results(dataset, run, path)
    read_again = read_results(path)[1].results
    # What was read without an id is a document of the question, or nobody's.
    assert read_again == run.results


# -- the fast way and the careful one --------------------------------------------------------------

WRITTEN = st.sampled_from([A, B, C, {"id": "a"}, {**A, "score": 1}, {**C, "metadata": {"쪽": 1}}])
SAME = st.fixed_dictionaries(
    {"same": st.integers(-1, 3)},
    optional={
        "score": st.sampled_from([None, 0.5, 2, "Infinity", "x"]),
        "metadata": st.sampled_from([None, {}, {"쪽": 2}, 3]),
        "more": st.none(),
    },
)
ENTRY = WRITTEN | WRITTEN | st.integers(-1, 4) | SAME | st.sampled_from([True, "a", None])
PLAIN = st.integers(0, 1) | WRITTEN
ENTRIES = st.lists(WRITTEN, max_size=3) | st.lists(PLAIN, max_size=3) | st.lists(ENTRY, max_size=3)
STEPS = st.sampled_from([None, 1, 2, 3])
SEARCH = st.fixed_dictionaries(
    {},
    optional={
        "query": st.sampled_from([None, "x", "y", "각", unicodedata.normalize("NFD", "각")]),
        "retrieved": ENTRIES | st.none(),
        "tool": st.sampled_from([None, "t"]),
        "step": STEPS,
        "seconds": st.sampled_from([None, 0, 0.5, -1]),
        "tokens": st.sampled_from([None, 0, 7, 1.5]),
        "error": st.sampled_from([None, "", "late"]),
        "read": st.none() | st.lists(st.sampled_from([0, 1, 2, "a", "b", "z", " "]), max_size=3),
    },
)
LINE = st.fixed_dictionaries(
    {"searches": st.lists(SEARCH, max_size=4) | st.none()},
    optional={
        "retrieved": st.lists(WRITTEN, max_size=3),
        "seconds": st.just(1.5),
        "error": st.sampled_from([None, "limit"]),
    },
)


def all_read(path: Path) -> tuple[list[object], list[object]]:
    """All that batches of a file say, and what is wrong with it."""
    reading = Reading(path)
    batches = [*reading.batches()]
    rows = [row for batch in batches for row in batch.rows()]
    columns = [column for batch in batches for column in of_batch(batch)]
    problems = [
        (problem.line, problem.field, problem.message) for problem in reading.problems.found
    ]
    return [*rows, *columns], [*problems]


def of_batch(batch: Batch) -> Iterator[object]:
    """What a batch says of each question, and of its searches, as plain values."""
    seconds = [
        None if status == "missing" else took for status, took in zip(batch.statuses, batch.seconds)
    ]
    yield from zip(batch.query_ids, batch.docs.documents(), batch.statuses, seconds)
    lists = batch.searches
    if lists is None:
        yield from [(0, True, None, [])] * len(batch)
        return
    columns = zip(
        lists.step.tolist(),
        lists.lane.tolist(),
        lists.docs.documents(),
        lists.measured.tolist(),
        lists.failed.tolist(),
        map(str, lists.seconds.tolist()),
        map(str, lists.tokens.tolist()),
    )
    of_questions = zip(lists.n.tolist(), lists.has_list.tolist(), lists.reads, lists.of_answers)
    for n, has_list, read, searches in of_questions:
        yield n, has_list, read, searches, [next(columns) for _ in range(n)]


@examples(400)
@given(st.lists(LINE, min_size=1, max_size=3))
def test_fast_and_careful(
    tmp_path_factory: pytest.TempPathFactory, lines: list[dict[str, Any]]
) -> None:
    """Searches read as columns say what they say when each is read carefully."""
    path = tmp_path_factory.mktemp("lines") / "results.jsonl"
    records = [{"query_id": f"q{i}", **GOLD, **line} for i, line in enumerate(lines)]
    path.write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    fast = all_read(path)
    with patch.object(batch_module, "plain_columns", lambda *_, **__: None):
        assert fast == all_read(path)


LOGGED = st.fixed_dictionaries(
    {"step": st.integers(1, 2)},
    optional={
        "query": st.sampled_from(["x", "y"]),
        "retrieved": st.lists(WRITTEN, max_size=2),
        "seconds": st.sampled_from([0.1, 0.2]),
        "read": st.lists(st.sampled_from("abz"), max_size=2),
    },
)


@examples(100)
@given(st.lists(LOGGED, min_size=2, max_size=3), st.booleans())
def test_order_of_a_file(
    tmp_path_factory: pytest.TempPathFactory, searches: list[dict[str, Any]], has_list: bool
) -> None:
    """In whatever order a file has searches that ran side by side, it says the same."""
    path = tmp_path_factory.mktemp("orders") / "results.jsonl"
    handed_on = {"retrieved": [A, B]} if has_list else {}
    said = []
    for order in permutations(searches):
        record = {"query_id": "q1", **GOLD, **handed_on, "searches": order}
        path.write_text(json.dumps(record), encoding="utf-8")
        said.append(all_read(path))
    assert all(of_order == said[0] for of_order in said)


GOOD = st.lists(st.lists(st.integers(0, 3), max_size=3), min_size=1, max_size=4)


@examples(200)
@given(GOOD, st.lists(st.integers(0, 3), max_size=2), st.data())
def test_numbers_by_a_slow_reference(
    tmp_path_factory: pytest.TempPathFactory,
    lists: list[list[int]],
    handed_on: list[int],
    data: st.DataObject,
) -> None:
    """However documents are written, in full or as numbers, the same were retrieved and read.

    The reference goes through a record document by document, and keeps a list of distinct ones.
    """
    pool = [{"id": "a", "text": "가"}, {"id": "a"}, {"text": "나"}, {"id": "b", "text": "가"}]
    distinct = [*dict.fromkeys(handed_on)]
    searches = []
    for numbers in lists:
        entries: list[Any] = []
        for number in numbers:
            is_number = number in distinct and data.draw(st.booleans())
            entries.append(distinct.index(number) if is_number else pool[number])
            if number not in distinct:
                distinct.append(number)
        read = data.draw(
            st.lists(st.integers(0, len(distinct) - 1), max_size=2) if distinct else st.just([])
        )
        searches.append((numbers, entries, [distinct[number] for number in read], read))
    path = tmp_path_factory.mktemp("numbers") / "results.jsonl"
    record = {
        "query_id": "q1",
        **GOLD,
        "retrieved": [pool[number] for number in handed_on],
        "searches": [{"retrieved": entries, "read": read} for _, entries, _, read in searches],
    }
    path.write_text(json.dumps(record), encoding="utf-8")
    answer = read_results(path)[1].results["q1"]
    docs = [Doc(doc.get("id"), doc.get("text")) for doc in pool]
    assert [search.documents for search in answer.searches] == [
        tuple(docs[number] for number in numbers) for numbers, *_ in searches
    ]
    assert [search.read for search in answer.searches] == [
        tuple(docs[number] for number in read) for _, _, read, _ in searches
    ]
    (batch,) = Reading(path).batches()
    assert batch.searches is not None
    order = [*dict.fromkeys([*handed_on, *(number for numbers in lists for number in numbers)])]
    places = dict.fromkeys(number for _, _, read, _ in searches for number in read)
    assert batch.searches.reads == [tuple(order.index(number) for number in places)]


def test_a_failure_that_says_nothing() -> None:
    """It stays one: no empty error is stored, which would be none."""
    answer = Retrieved(searches=(Search("a", (Doc("x"),), error=" "),))
    (search,) = answer.searches
    assert (search.error, search.documents) == ("failed without a reason", ())


def test_lists_of_failures() -> None:
    """Searches that all failed gave empty lists; one that is merely unmeasured leaves it open."""
    failed, open_ = Search("a", error="late"), Search("b", None)
    names: tuple[ListName, ...] = ("first", "last", "all", "read")
    all_failed = Retrieved(searches=(failed,), has_list=False)
    assert [all_failed.of(name) for name in (*names, "retrieved")] == [()] * 5
    some_failed = Retrieved(searches=(failed, open_), has_list=False)
    assert [some_failed.of(name) for name in (*names, "retrieved")] == [None] * 5
    assert [Retrieved().of(name) for name in names] == [()] * 4
    assert [Retrieved(has_list=False).of(name) for name in (*names, "retrieved")] == [()] * 5
    assert Retrieved((Doc("a"), Doc("a"))).of("all") == (Doc("a"),)
    assert Retrieved((Doc("a"),)).of("read") is None


def test_without_searches_nothing_is_there(tmp_path: Path) -> None:
    """A batch without searches has no lists of them, and is written as ever."""
    path = tmp_path / "results.jsonl"
    line = {"query_id": "q1", "gold": [{"text": "가"}], "retrieved": [{"text": "가"}]}
    path.write_text(json.dumps(line, ensure_ascii=False) + "\n", encoding="utf-8")
    (batch,) = Reading(path).batches()
    assert batch.searches is None
    assert Batch.of([*batch.rows()]).searches is None
    written = tmp_path / "written.jsonl"
    write_results(*read_results(path), written)
    assert written.read_bytes() == path.read_bytes()


MAY = [
    ("a.jsonl", '{"query_id": "q1", "gold": [], "searches": []}', True),
    ("a.jsonl", '{"query_id": "q1", "gold": [{"text": "it \\"searches\\""}]}', False),
    ("a.csv", "query_id,question,answer_passage\nq1,a,b\n", False),
    ("a.csv", "query_id,gold,searches\nq1,[],[]\n", True),
]


@pytest.mark.parametrize("piece", [1, 7, 1 << 20])
@pytest.mark.parametrize(("name", "text", "may"), MAY)
def test_may_search(
    name: str, text: str, may: bool, piece: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether a file may hold searches is known before it is read, whatever pieces it is cut in."""
    monkeypatch.setattr(source, "_PIECE", piece)
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    assert Reading(path).may_hold(SEARCHES) is may


# -- Python ----------------------------------------------------------------------------------------

TEXTS = {"q1": ["The museum opens at ten."], "q2": ["It is in Mill Street."]}
FOUND = Searches(
    [
        {"query": "museum", "retrieved": ["It is in Mill Street."]},
        Search("hours", ({"text": "The museum opens at ten."},), read=(1,)),  # type: ignore[arg-type]
    ]
)
HANDED_ON = Searches([Search("street", documents=None)], retrieved=["It is in Mill Street."])


def test_python_values() -> None:
    """`Searches` by query id, in a list, from a function, or as any mapping: the same answers."""
    by_id = Run.from_documents({"q1": FOUND, "q2": HANDED_ON})
    in_a_list = Run.from_documents([FOUND, HANDED_ON])
    assert by_id.results == in_a_list.results
    first, second = by_id.results.values()
    assert not first.has_list
    assert first.of("all") == (Doc(text=TEXTS["q2"][0]), Doc(text=TEXTS["q1"][0]))
    assert first.of("read") == (Doc(text=TEXTS["q1"][0]),)
    assert second.has_list
    assert second.searches == (Search("street", None, step=1),)
    dataset = GoldDataset.from_documents(TEXTS, queries=["When?", "Where?"])
    of_question = {"When?": FOUND, "Where?": HANDED_ON}
    mappings = {
        question: {"searches": found.searches, "documents": found.retrieved, "answer": "..."}
        for question, found in of_question.items()
    }
    for answer in (of_question, mappings):
        run = retrieve(answer.__getitem__, dataset, progress=False)
        untimed = {name: replace(found, seconds=None) for name, found in run.results.items()}
        assert untimed == by_id.results


def test_evaluated_and_compared() -> None:
    """`evaluate` takes them as it takes lists, alone and in a comparison."""
    at_once = {"searches": [{"retrieved": TEXTS["q2"]}], "documents": TEXTS["q2"]}
    answers = {"q1": FOUND, "q2": Searches([{"retrieved": TEXTS["q2"]}])}
    lists = {"q1": [TEXTS["q2"][0]], "q2": [TEXTS["q2"][0]]}
    expected = evaluate(TEXTS, lists, metrics=["mrr@5"], match="exact").mean
    for run in (answers, [*answers.values()], {"q1": FOUND, "q2": at_once}):
        assert evaluate(TEXTS, run, metrics=["mrr@5"], match="exact").mean == expected
        compared = evaluate(
            TEXTS, {"agent": run, "single": lists}, metrics=["mrr@5"], match="exact"
        )
        assert compared["agent"].mean == compared["single"].mean == expected


def test_failed_in_python() -> None:
    """A run that failed keeps its searches, and is an empty list."""
    failed = Searches(FOUND.searches, error="recursion limit")
    dataset = GoldDataset.from_documents(TEXTS, queries=["When?", "Where?"])
    run = retrieve(lambda question: failed, dataset, progress=False)
    answer = run.results["q1"]
    assert (answer.error, answer.documents, len(answer.searches)) == ("recursion limit", (), 2)
    assert answer.of("all") == answer.of("retrieved") == ()
    mapping = {"searches": [Search("\ud800", error=" ")], "error": TimeoutError("late")}
    raised = Run.from_documents({"q1": mapping})
    assert raised.results["q1"].error == "TimeoutError: late"
    assert raised.results["q1"].searches == (Search("\ufffd", (), step=1),)
    assert raised.n_replaced_surrogates == 1


PYTHON_WRONG = [
    (Searches(["x"]), r"searches\[0\]: must be an object"),  # type: ignore[list-item]
    (Searches([Search(tokens=-1)]), r"searches\[0\]\.tokens: must be a whole number"),
    (Searches([Search(documents=({"id": ""},))]), r"searches\[0\]\.documents.*the id is empty"),  # type: ignore[arg-type]
    (Searches([], retrieved=3), r"retrieved: .*a list of documents is expected"),  # type: ignore[arg-type]
    (Searches([Search(read=(3,))]), r"searches\[0\]\.read\[0\]: there is no document 3"),
]


@all_cases(("answer", "message"), PYTHON_WRONG)
def test_mistakes_in_python(answer: Searches, message: str) -> None:
    """A wrong search in Python is an error with the question and the field."""
    with pytest.raises(DataError, match=rf"query 'q1'.*{message}"):
        Run.from_documents({"q1": answer})


def test_texts_of_ids() -> None:
    """A corpus gives texts to what searches name by id, and to what was read."""
    searches = Searches([Search("x", (Doc("a"), Doc("b")), read=("b",))])
    found = evaluate(TEXTS, {"q1": searches, "q2": []}, corpus={"a": "가", "b": TEXTS["q1"][0]})
    assert found is not None
    from kragx.data import as_corpus

    run = as_corpus({"a": "가", "b": "나"}).run(Run.from_documents({"q1": searches}))
    answer = run.results["q1"]
    assert answer.of("all") == (Doc("a", "가"), Doc("b", "나"))
    assert answer.of("read") == (Doc("b", "나"),)


def test_unknown_numbers_of_a_batch() -> None:
    """What no search returned is counted, each id once, and matches nothing."""
    answer = Retrieved(searches=(Search("x", (Doc("a"),), read=("z", "a", "y", "z")),))
    lists = SearchLists.of([answer])
    assert lists is not None
    assert lists.reads == [(-1, 0, -1)]
    assert np.isnan(lists.tokens).all()
