"""A sample of pairs to label, judged in a workshop, in the terminal and in the page alike."""

import io
import json
import unicodedata
from dataclasses import replace

import pytest
from rich.console import Console

from kragx.agreement import PairToLabel, Sample, Scale
from kragx.errors import DataError, UsageError
from kragx.workshop.exchange import export_file, person_of
from kragx.workshop.exchange.rows import Source
from kragx.workshop.folder.folder import Workshop, start
from kragx.workshop.labelling import label, sheet
from kragx.workshop.state.records import Judgement
from kragx.workshop.state.state import State

PAIRS = (("q1", "d1"), ("q1", "d2"), ("q2", "d1"))
SAMPLE = Sample(
    tuple(PairToLabel(*pair, f"{pair[0]}은 무엇인가요?", f"{pair[1]}의 글") for pair in PAIRS),
    {"asks": "relevance", "scale": "0-3"},
)

SCALE = Scale(0, 3)


@pytest.fixture
def sample(tmp_path):
    """The file of a sample."""
    file = tmp_path / "human.qrels.sample.jsonl"
    SAMPLE.write(file)
    return file


def test_a_sample_becomes_a_workshop(sample, tmp_path):
    """Its questions, documents and pairs, and nothing of judge, rank or retriever."""
    started = start(tmp_path / "set", sample=sample)
    assert (started.documents, started.questions, started.judgements) == (2, 2, 0)
    workshop = Workshop.open(tmp_path / "set")
    assert workshop.settings.scale.keys() == {0, 1, 2, 3}
    assert {name: doc.text for name, doc in workshop.documents.items()} == {
        "d1": "d1의 글",
        "d2": "d2의 글",
    }
    with workshop.store() as store:
        state = State(store)
    assert [(one, doc) for one, docs in state.candidates.items() for doc in docs] == list(PAIRS)
    assert {
        row.rank for docs in state.candidates.values() for rows in docs.values() for row in rows
    } == {None}
    with pytest.raises(UsageError, match="either --corpus or --sample"):
        start(tmp_path / "other")


def by_keys(folder, path, keys, sample=SAMPLE, scale=SCALE):
    """What 지민 labels in the terminal with these keys, in a workshop; how it ended."""
    with sheet(path, sample, scale, Workshop.open(folder), "지민") as own:
        ended = label(own, iter(keys), Console(file=io.StringIO()))
        return ended, own.grades, (own.of_file, own.of_store)


def by_page(folder, *rows):
    """What 지민 says in the page of it."""
    with Workshop.open(folder).store() as store:
        state = State(store)
        uid = person_of(state, "지민")
        state.add([Judgement(question=q, document=d, person=uid, **own) for q, d, own in rows])


def test_terminal_and_page_are_one(sample, tmp_path):
    """Labels of the file go in, those of the page come out, and nothing is shown twice."""
    path, folder = tmp_path / "human.qrels", tmp_path / "set"
    start(folder, sample=sample)
    path.write_text("q1 0 d1 3\nother 0 x 2\n")
    ended, grades, news = by_keys(folder, path, "1q")
    assert (grades, news) == ({PAIRS[0]: 3, PAIRS[1]: 1}, (1, 0))
    assert path.read_text() == "other 0 x 2\nq1 0 d1 3\nq1 0 d2 1\n"
    assert (ended.done, ended.total) == (2, 3)
    by_page(folder, ("q1", "d1", {"grade": 0}), ("q2", "d1", {"kind": "unusable"}))
    ended, grades, news = by_keys(folder, path, "")
    assert (grades, news) == ({PAIRS[1]: 1, PAIRS[0]: 0}, (0, 1))
    assert path.read_text() == "other 0 x 2\nq1 0 d2 1\nq1 0 d1 0\n"
    assert str(ended) == f"2 of 3 labelled, in {path}; 1 unusable"
    _, grades, _ = by_keys(folder, path, "uuq")  # also what was said in the page, newest first
    assert grades == {PAIRS[1]: 1}
    workshop = Workshop.open(folder)
    with workshop.store() as store:
        state = State(store)
        uid = person_of(state, "지민")
        source = Source("set", state, workshop.documents, workshop.settings.scale, uid)
        export_file(source, "qrels", tmp_path / "back.qrels")
    assert path.read_text() == "other 0 x 2\n" + (tmp_path / "back.qrels").read_text()


def test_what_was_said_last_counts(sample, tmp_path):
    """A file that was edited by hand is right; one that is older than the page's answers is not."""
    path, folder = tmp_path / "human.qrels", tmp_path / "set"
    start(folder, sample=sample)
    by_keys(folder, path, "12q")
    path.write_text(path.read_text().replace("q1 0 d1 1", "q1 0 d1 3"))
    assert by_keys(folder, path, "")[1:] == ({PAIRS[1]: 2, PAIRS[0]: 3}, (1, 0))
    by_page(folder, ("q1", "d1", {"grade": 0}))
    assert by_keys(folder, path, "")[1:] == ({PAIRS[1]: 2, PAIRS[0]: 0}, (0, 1))
    assert sorted(path.read_text().splitlines()) == ["q1 0 d1 0", "q1 0 d2 2"]
    path.unlink()  # and what is stored is there without a file
    by_keys(folder, path, "")
    assert sorted(path.read_text().splitlines()) == ["q1 0 d1 0", "q1 0 d2 2"]


def test_what_was_taken_back_in_the_page_stays_so(sample, tmp_path):
    """A label that the page took back, or made unusable, leaves an older file, and is told."""
    path, folder = tmp_path / "human.qrels", tmp_path / "set"
    start(folder, sample=sample)
    by_keys(folder, path, "12q")
    by_page(folder, ("q1", "d1", {"kind": "undone"}), ("q1", "d2", {"kind": "unusable"}))
    with sheet(path, SAMPLE, SCALE, Workshop.open(folder), "지민") as own:
        assert (own.grades, own.of_file, own.of_store, own.taken_back) == ({}, 0, 0, 2)
    assert path.read_text() == ""
    path.write_text("q1 0 d1 3\n")  # and given again by hand it is there again
    assert by_keys(folder, path, "")[1:] == ({PAIRS[0]: 3}, (1, 0))


def test_who_labels(sample, tmp_path):
    """One name is one person in any Unicode form; none, a long one and the owner's are refused."""
    path, folder = tmp_path / "human.qrels", tmp_path / "set"
    start(folder, sample=sample)
    by_keys(folder, path, "1q")
    opened = Workshop.open(folder)
    apart = unicodedata.normalize("NFD", "지민")
    with sheet(path, SAMPLE, SCALE, opened, f" {apart}") as own:
        assert own.grades == {PAIRS[0]: 1}
        assert person_of(own.state, apart) == person_of(own.state, "지민")
    for name in ("", "  ", "x" * 101, "owner"):
        with (
            pytest.raises(UsageError, match="--person: '"),
            sheet(path, SAMPLE, SCALE, opened, name),
        ):
            raise AssertionError
    with opened.store() as store:
        names = [one.name for one in State(store).people.values()]
        assert names == ["human.qrels.sample.jsonl", "지민"]


def test_a_workshop_of_something_else(sample, tmp_path):
    """Labels that mean nothing there, or something else, are refused before the first."""
    folder, path = tmp_path / "set", tmp_path / "human.qrels"
    start(folder, sample=sample)
    first, *others = SAMPLE.items
    other = replace(SAMPLE, items=(replace(first, document="another text"), *others))
    with pytest.raises(UsageError, match=r"1 of the sample's 3 pairs are not in it.*'q1' and 'd1'"):
        by_keys(folder, path, "1q", other)
    with pytest.raises(
        UsageError, match="its grades are 0 to 3, and the sample is labelled 0 to 2"
    ):
        by_keys(folder, path, "1q", scale=Scale(0, 2))
    assert not path.exists()


def test_samples_that_no_workshop_can_have(sample, tmp_path):
    """A scale that begins elsewhere, and an id with two texts: nothing is made."""
    lines = sample.read_text().splitlines()
    head = {"sample": {"asks": "relevance", "scale": "1-4"}}
    sample.write_text("\n".join([json.dumps(head), *lines[1:]]))
    with pytest.raises(UsageError, match="begin with 0"):
        start(tmp_path / "set", sample=sample)
    sample.write_text("\n".join([*lines, lines[-1].replace("d1의", "다른")]))
    with pytest.raises(DataError, match="'d1' has two texts"):
        start(tmp_path / "set", sample=sample)
    assert not (tmp_path / "set").exists()
