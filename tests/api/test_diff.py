"""`kragx.diff`: what it takes, and gates."""

from __future__ import annotations

import json

import pytest

from kragx import DataError, Doc, GoldDataset, Query, Retrieved, Run, UsageError, diff


@pytest.fixture
def files(tmp_path):
    """Writes results files of lists of ids, by question."""

    def write(name, lists, **fields):
        rows = [
            {"query_id": f"q{n}", "query": f"question {n}", "retrieved": [{"id": i} for i in ids]}
            | {field: value[n] for field, value in fields.items()}
            for n, ids in enumerate(lists)
        ]
        path = tmp_path / name
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return str(path)

    return write


def test_sources_agree(files):
    """Files, runs and lists give the same numbers."""
    lists = ["ab", "cd"], ["ab", "dc"]
    texts = [[[f"text {i}" for i in ids] for ids in side] for side in lists]
    by_path = diff(files("v1.jsonl", lists[0]), files("v2.jsonl", lists[1]))
    assert (by_path.old, by_path.new) == ("v1", "v2")
    runs = [Run.from_documents({f"q{n}": [*ids] for n, ids in enumerate(s)}) for s in texts]
    for outcome in (diff(*texts), diff(*runs)):
        assert outcome.mean == by_path.mean
    assert diff(*texts).old == "old"


def test_a_retriever_asked_twice_shows_its_noise():
    """The second answer is another: half of two questions differ, and their names do, too."""
    calls = []

    def moody(question):
        calls.append(question)
        return ["late"] if len(calls) == 4 else [question]

    rows = GoldDataset((Query("q1", "one"), Query("q2", "two")))
    outcome = diff(moody, moody, questions=rows)
    assert outcome.mean["unchanged@1"] == 0.5
    assert outcome.new == f"{outcome.old} (again)"
    with pytest.raises(UsageError, match="nobody says what"):
        diff(moody, moody)


def test_questions_that_one_file_lacks(files):
    """They join by id; what one side lacks is counted."""
    outcome = diff(files("v1.jsonl", ["a"]), files("v2.jsonl", ["a", "b"]))
    assert (outcome.counts["n_questions"], outcome.counts["n_missing_old"]) == (2, 1)
    assert "1 question is not among the results of v1" in str(outcome)


def test_other_words_under_an_id(files):
    """Such questions are left out and named, whoever asks other words; unknown words are none."""
    old = files("v1.jsonl", ["a", "b", "c"], weight=[1, 2, 1])
    words = ["question 0", "something else", "question  2"]
    new = files("v2.jsonl", ["a", "x", "c"], query=words, weight=[1, 3, 1])
    for outcome in (diff(old, new), diff(old, old, questions=new), diff(new, new, questions=old)):
        assert (outcome.reworded, outcome.counts["n_questions"]) == (("q1",), 2)
        assert outcome.mean["unchanged@1"] == 1.0
        assert "1 question has other words under the same id, and is left out: q1" in str(outcome)
    untold = files("v3.jsonl", ["a", "b", "c"], query=[None] * 3, weight=[1, 2, 1])
    assert diff(old, untold).reworded == ()
    other = files("v4.jsonl", ["a"], query=["another"])
    with pytest.raises(DataError, match="of v4; other words stand under 1 of their ids"):
        diff(files("v5.jsonl", ["a"]), other)


def test_other_turns_under_an_id():
    """A question after other turns is another, where both sources have turns."""

    def rows(*turns):
        history = [[{"role": "user", "content": turn}] if turn else [] for turn in turns]
        return [
            {"query_id": f"q{n}", "query": "And then?", "history": of, "retrieved": [{"id": "a"}]}
            for n, of in enumerate(history)
        ]

    old = rows("Fees?", "Fees?", "Fees?")
    assert diff(old, rows("Fees?", "Hours?", None)).reworded == ("q1", "q2")
    assert diff(old, rows(None, None, None)).reworded == ()


def test_questions_that_nobody_named(files):
    """What the files have beyond `questions` is counted for either, and said."""
    old, new = files("v1.jsonl", ["a", "b", "c"]), files("v2.jsonl", ["a", "b"])
    outcome = diff(old, new, questions=files("asked.jsonl", ["a"]))
    counts = [outcome.counts[f"n_{name}"] for name in ("questions", "extra_old", "extra_new")]
    assert counts == [1, 2, 1]
    assert "2 questions of v1 are none of those named, and are left out" in str(outcome)
    assert "1 question of v2 is none of those named, and is left out" in str(outcome)


def test_rules_of_the_questions():
    """What a rule reads must be the same, without being named; what nobody reads need not."""
    runs = [
        Run({"q1": Retrieved((Doc("a", metadata={"tenant": name, "seen": name}),))}, name=name)
        for name in ("x", "y")
    ]
    rules = {"tenant": {"metadata.tenant": {"not": "x"}}}
    outcome = diff(*runs, questions=GoldDataset((Query("q1"),), forbidden=rules))
    assert outcome.identity.fields == ("metadata.tenant",)
    assert outcome.mean["unchanged@1"] == 0.0
    assert diff(*runs).mean["unchanged@1"] == 1.0


def test_gates(files):
    """A limit on a share, with the colon or without; its depth is looked at."""
    paths = files("v1.jsonl", ["abc", "def"]), files("v2.jsonl", ["abc", "dfe"])
    outcome = diff(*paths, gates=["unchanged@2 >= 0.5", "unchanged@2: > .5", "rbo: >= .9"])
    assert [gate.passed for gate in outcome.gates] == [True, False, True]
    assert outcome.ks == (1, 2, 5)
    for text in ("ndcg@5: >= 1", "unchanged@5: surely >= .5", "unchanged@0 > 1", "unchanged@5: x"):
        with pytest.raises(UsageError, match="is no condition here"):
            diff(*paths, gates=[text])


def test_plain_values(files):
    """JSON has the means by name and what changed, by ranks."""
    plain = diff(files("v1.jsonl", ["ab", "cd"]), files("v2.jsonl", ["ab", "xc"])).to_dict()
    assert plain["mean"]["unchanged@5"] == 0.5
    (changed,) = plain["changed"]
    assert (changed["query_id"], changed["came"], changed["went"], changed["moved"]) == (
        "q1",
        [1],
        [2],
        [[1, 2]],
    )
    json.dumps(plain)
