"""Label files of every kind, and what is wrong in them."""

from __future__ import annotations

import gzip
import random

import pytest

from kragx import GoldDataset, Run, read_gold
from kragx.agreement import Scale, agree, correct, from_store, read_labels
from kragx.agreement.labels import read_scale
from kragx.errors import DataError, UsageError
from kragx.judging import Failure, Judge, Question, Store
from kragx.judging.clients.scripted import ScriptedClient
from kragx.judging.rubric import RUBRICS, key_of
from tests.thoroughness import all_cases


@pytest.mark.parametrize(
    "text",
    [
        "q1 0 d1 2\nq1 0 d2 0\n",
        "q1\t0\td1\t2\nq1\t0\td2\t0\n",
        "q1 Q0  d1\t2.0\r\n\r\nq1 Q0 d2 0.0\r\n",
        "\ufeff# made by hand\nq1 0 d1 2e0\nq1 0 d2 -0",
    ],
    ids=["spaces", "tabs", "floats", "comment"],
)
def test_qrels_as_they_come(text, tmp_path):
    """Spaces, tabs, floats that are whole numbers, empty lines, CRLF, a byte order mark."""
    path = tmp_path / "labels.qrels"
    path.write_bytes(text.encode("utf-8"))
    assert read_labels(path).grades == {("q1", "d1"): 2, ("q1", "d2"): 0}
    packed = tmp_path / "labels.qrels.gz"
    packed.write_bytes(gzip.compress(text.encode("utf-8")))
    assert read_labels(packed).grades == {("q1", "d1"): 2, ("q1", "d2"): 0}


@pytest.mark.integration
def test_large_files(tmp_path):
    """Qrels and runs of several megabytes are read, and a kappa comes out of them."""
    rng = random.Random(0)
    rows = [(f"q{query}", f"doc-{query}-{doc}") for query in range(400) for doc in range(250)]
    lines = [(*row, grade) for row in rows for grade in (rng.randint(0, 3),)]
    for name, change in (("human", 0), ("judge", 0.2)):
        (tmp_path / f"{name}.qrels").write_text(
            "".join(
                f"{q}\t0\t{d}\t{float(rng.randint(0, 3) if rng.random() < change else grade)}\n"
                for q, d, grade in lines
            )
        )
    run = "".join(f"{q} Q0 {d} {at} {1 / at!r} big\n" for at, (q, d) in enumerate(rows, start=1))
    (tmp_path / "big.run").write_text(run)
    assert len(run) > 4_000_000
    found = agree(tmp_path / "human.qrels", tmp_path / "judge.qrels", scale="0-3", resamples=100)
    assert found.pairs == 100_000
    assert found["kappa"] == pytest.approx(0.8, abs=0.02)


def test_two_labels_of_a_pair_are_an_error(tmp_path):
    """A pair with two labels is named, of qrels and tables, which are read as everywhere."""
    path = tmp_path / "labels.qrels"
    path.write_text("q2 0 b 0\nq2 0 b 0\nq3 0 c 1\nq3 0 c 1\nq3 0 c 3\n")
    with pytest.raises(DataError, match=r":5: document 'c' of query 'q3' has grade 3 here and 1"):
        read_labels(path)
    path = tmp_path / "labels.csv"
    path.write_text("query_id,doc_id,label\nq1,a,1\nq1,a,1\nq1,b,0\nq1,b,2\n")
    with pytest.raises(DataError, match=r":5: label: 2 here, and 0 on line 4 for the same doc"):
        read_labels(path)


def test_labels_of_queries_and_documents(tmp_path):
    """Rows of document ids serve as any labels do; matches by place only to calibrate."""
    path = tmp_path / "labels.csv"
    path.write_text("query_id,doc_id,label\nq1,a,1\nq1,b,0\n")
    assert read_labels(path, "human").grades == {("q1", "a"): 1, ("q1", "b"): 0}
    path = tmp_path / "labels.jsonl"
    path.write_text('{"query_id": "q1", "matched": [[true, null], [0, 2.0]]}\n')
    matches = {("q1", 1, 1): 1, ("q1", 2, 1): 0, ("q1", 2, 2): 2}
    assert read_labels(path).of_gold == matches
    with pytest.raises(DataError, match="by rank or by text"):
        read_labels(path, "human")


def test_equal_repeats_count_once(tmp_path):
    """A pair that stands twice with one label counts once."""
    path = tmp_path / "labels.qrels"
    path.write_text("q1 0 a 1\nq1 0 a 1.0\nq1 0 b 0\nq1 0 a 1\n")
    assert len(read_labels(path)) == 2


def test_results_file_with_graded_gold(jsonl):
    """A results file's gold is labels: by id, an alternative's too, else by its text's hash."""
    path = jsonl(
        {
            "query_id": "q1",
            "gold": [
                {"id": "a", "grade": 3, "alternatives": [{"id": "a2"}]},
                {"text": "a text", "grade": 0},
            ],
            "retrieved": [{"id": "a"}],
        }
    )
    name = f"text-{key_of('a text')[:16]}"
    expected = {("q1", "a"): 3, ("q1", "a2"): 3, ("q1", name): 0}
    assert read_labels(path).grades == expected
    assert read_labels(read_gold(path)).grades == expected
    assert isinstance(read_gold(path), GoldDataset)


def store_of(tmp_path, rubric=RUBRICS["relevance-en-1"]):
    """A store with grades 3 and 0, and one failure."""
    path = tmp_path / "judgements.sqlite"
    judge = Judge(ScriptedClient([3, 0, Failure("refusal")]), store=path, concurrency=1)
    judge.judge(
        [
            Question(rubric, text, query="?", query_id="q1", document_id=document)
            for text, document in (("one", "a"), ("two", None), ("three", "c"))
        ]
    )
    return path


def test_store(tmp_path):
    """Of a store: the judge's grades as the judge's side, imported labels as people's."""
    path = store_of(tmp_path)
    name = f"text-{key_of('two')[:16]}"
    assert read_labels(path, "judge").grades == {("q1", "a"): 3, ("q1", name): 0}
    with pytest.raises(DataError, match="no human label"):
        read_labels(path, "human")
    with Store(path) as store:
        store.add_labels([("q1", "a", 1), ("q1", "a", 2), ("q1", "c", 0)], "people.qrels")
    assert read_labels(path, "human").grades == {("q1", "a"): 2, ("q1", "c"): 0}
    # A label by people does not take the place of the judge's own word here.
    assert read_labels(path, "judge").grades["q1", "a"] == 3
    found = agree(path, path, scale="0-3", resamples=10)
    assert found.pairs == 1
    assert found.missing["judge"] == (("q1", "c"),)
    # Whoever graded, a match of a store begins at 2.
    assert {read_labels(path, side).positive for side in (None, "human", "judge")} == {2.0}


def test_store_with_both_questions(tmp_path):
    """Where a judge was asked two things, one must be named; a probe's questions do not count."""
    path = store_of(tmp_path)
    Judge(ScriptedClient([1]), store=path).judge(
        [Question(RUBRICS["support-en-1"], "probe", gold="g")]
    )
    assert len(read_labels(path, "judge")) == 2
    Judge(ScriptedClient([1]), store=path).judge(
        [Question(RUBRICS["support-en-1"], "doc", gold="g", query_id="q1", document_id="d")]
    )
    with pytest.raises(UsageError, match=r"--asks.*relevance and support"):
        read_labels(path, "judge")
    assert read_labels(path, "judge", asks="support").grades == {("q1", "d"): 1}


def test_other_sources():
    """Mappings are labels; anything else, and values that are no numbers, is refused."""
    assert read_labels({"q": {"d": 1}}).grades == {("q", "d"): 1}
    with pytest.raises(UsageError, match="int is not a gold set"):
        read_labels(3)
    with pytest.raises(DataError, match="query 'q': gold must be a list"):
        read_labels({"q": 1})
    for value in ("1", True, float("nan")):
        with pytest.raises(DataError, match="a finite number"):
            read_labels({"q": {"d": value}})
    with pytest.raises(DataError, match="holds no query"):
        read_labels({})


def test_an_argument_that_does_not_exist():
    """Whatever the source is, one with a mistake in its name is never passed over."""
    labels = {"q": {"d": 1}}
    for wrong in (
        lambda: read_labels(labels, modle="a"),
        lambda: agree(labels, labels, modle="a"),
        lambda: correct(labels, labels, [Run.from_documents([["d"]])], modle="a"),
        lambda: from_store("none.sqlite", modle="a"),
    ):
        with pytest.raises(TypeError, match="'modle'; perhaps you meant 'model'"):
            wrong()


@all_cases(
    ("value", "expected"),
    [("0-3", (0, 3)), ("1..5", (1, 5)), ("-2..4", (-2, 4)), ("0:1", (0, 1)), ((0, 2), (0, 2))],
)
def test_scales(value, expected):
    """A scale is written by its ends."""
    scale = read_scale(value, read_labels({"q": {"d": 1}}))
    assert (scale.low, scale.high) == expected
    assert not scale.inferred


@all_cases(
    ("grades", "expected"),
    [
        ((0, 3), (0, 3)),
        ((1, 5, 2.5), (1, 5)),
        ((3, 3), (0, 3)),
        ((0, 0), (0, 1)),
        ((-2, 1), (-2, 1)),
    ],
)
def test_inferred_scales(grades, expected):
    """Inferred, a scale reaches from the least to the greatest whole human label."""
    human = read_labels({"q": {f"d{at}": grade for at, grade in enumerate(grades)}})
    assert read_scale(None, human) == Scale(*expected, inferred=True)


@all_cases("value", ["3", "3-0", "a-b", 3, (0.5, 2), "0-500", "0-99999999999999999999"])
def test_no_scale(value):
    """What is no scale is refused with an example."""
    with pytest.raises(UsageError, match=r"scale: .*0-3"):
        read_scale(value, read_labels({"q": {"d": 1}}))


def test_a_label_beyond_any_scale():
    """A huge whole number among the labels is answered like any scale that is too long."""
    with pytest.raises(UsageError, match=r"scale: 0 to 10+5250.{1,60} has .*name the scale"):
        read_scale(None, read_labels({"q": {"a": 0, "b": 1e300}}))


def test_options_of_a_store_alone(kragx, qrels):
    """What chooses among a store's grades is refused for a file, which has no choice: it would
    look as if it had been obeyed.
    """
    labels = {"q1": {"a": 1, "b": 0}}
    for option in ({"model": "m"}, {"rubric": "r"}, {"examples": "none"}, {"expected": True}):
        with pytest.raises(UsageError, match=f"{next(iter(option))}: belongs to a judgement store"):
            read_labels(labels, "judge", **option)
    human, judge = qrels("human.qrels", labels), qrels("judge.qrels", labels)
    done = kragx("agree", human, judge, "--model", "gpt-4.1-mini")
    assert done.code == 2
    assert "model: belongs to a judgement store" in done.err
