"""The labels of a sample, from a workshop to qrels and back; `kragx judge label` as a process."""

import json
import signal

import pytest

from kragx.agreement import PairToLabel, Sample, Scale
from kragx.errors import DataError, UsageError
from kragx.workshop.folder.folder import Workshop, start
from kragx.workshop.labelling import grades_of, labels_in, write_labels
from kragx.workshop.state.records import Judgement
from kragx.workshop.state.state import State
from tests.app.commands.test_workshop import ask, serving_links
from tests.workshop.serving import written

SCALE = Scale(0, 3)
SAMPLE = Sample(
    tuple(PairToLabel(f"q{at}", f"d{at}", f"question {at}", f"passage {at}") for at in range(4)), {}
)


@pytest.fixture
def path(tmp_path):
    """A label file that does not exist yet."""
    return tmp_path / "human.qrels"


@pytest.fixture
def state(tmp_path):
    """What the workshop of the sample holds."""
    SAMPLE.write(tmp_path / "sample.jsonl")
    start(tmp_path / "set", sample=tmp_path / "sample.jsonl")
    with Workshop.open(tmp_path / "set").store() as store:
        yield State(store)


def say(state, number, **judgement):
    """The owner says something of a pair of the sample."""
    pair = {"question": f"q{number}", "document": f"d{number}", "person": state.owner().uid}
    state.add([Judgement(**pair, **judgement)])


def test_what_the_owner_says_is_the_label(state, path):
    """The newest grade counts; unusable, put off and taken back have none; nobody else's do."""
    for grade in (1, 3):
        say(state, 0, grade=grade)
    say(state, 1, grade=2)
    say(state, 1, kind="unusable")
    say(state, 2, kind="later")
    say(state, 3, grade=1)
    say(state, 3, kind="undone")
    state.add([Judgement(question="q2", document="d2", person="another", grade=3)])
    assert write_labels(path, SCALE, SAMPLE, grades_of(state, state.owner().uid)) == 1
    assert path.read_text() == "q0 0 d0 3\n"


def test_other_labels_stay(state, path):
    """Labels of pairs outside the sample are kept; of the sample the workshop's stand."""
    path.write_text("other\t0\tdoc\t2.0\nq1 0 d1 3\n")
    say(state, 1, grade=0)
    write_labels(path, SCALE, SAMPLE, grades_of(state, state.owner().uid))
    assert path.read_text() == "other 0 doc 2\nq1 0 d1 0\n"


def test_contradictions_are_not_settled_silently(path):
    """A file with two labels of a pair is refused; a repeated one is fine."""
    path.write_text("q0 0 d0 2\nq0 0 d0 1\n")
    with pytest.raises(DataError, match=r"document 'd0': 2 \(line 1\), 1 \(line 2\)"):
        labels_in(path, SCALE)
    path.write_text("q0 0 d0 2\nq0 0 d0 2.0\n")
    assert labels_in(path, SCALE) == {("q0", "d0"): 2}


def test_files_that_hold_no_labels_of_the_scale(path):
    """Another scale is not mixed with, and nothing is written into a file that is compressed."""
    path.write_text("q0 0 d0 5\n")
    with pytest.raises(DataError, match=r"human.qrels:1: the label 5 is not on the scale"):
        labels_in(path, SCALE)
    with pytest.raises(UsageError, match=r"without \.gz"):
        labels_in(path.with_name("human.qrels.gz"), SCALE)


@pytest.mark.integration
def test_label(tmp_path):
    """It draws, opens a workshop of the pairs, and writes the labels when Ctrl-C ends it."""
    docs = [{"id": f"d{at}", "text": f"passage {at}"} for at in range(4)]
    row = {"query_id": "q1", "query": "why?", "gold": [], "retrieved": docs}
    written(tmp_path / "results.jsonl", [row])
    path = tmp_path / "my.qrels"
    command = ("judge", "label", path, "--results", tmp_path / "results.jsonl")
    with serving_links(*command) as (links, process):
        for document, grade in (("d1", 2), ("d3", 0)):
            judgement = {"uid": document * 16, "question": "q1", "document": document}
            body = {**judgement, "kind": "grade", "grade": grade}
            assert ask(links["owner"], "/api/judgements", body)[0] == 200
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "2 of 4 labelled" in err
    assert sorted(path.read_text().splitlines()) == ["q1 0 d1 2", "q1 0 d3 0"]
    with serving_links("judge", "label", path) as (links, process):  # goes on, after kill -9 too
        assert ask(links["owner"], "/api/me")[0] == 200
    assert len(path.read_text().splitlines()) == 2
    sample = tmp_path / "my.qrels.sample.jsonl"
    assert json.loads(sample.read_text().splitlines()[0])["sample"]["scale"] == "0-3"
