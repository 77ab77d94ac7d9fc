"""A sample of pairs to label, judged in a workshop, in the terminal and in the page alike."""

import io
import json

import pytest
from rich.console import Console

from kragx.agreement import LabelFile, PairToLabel, Sample, Scale, label
from kragx.errors import DataError, UsageError
from kragx.workshop.exchange import export_file, person_of
from kragx.workshop.exchange.rows import Source
from kragx.workshop.folder.folder import Workshop, start
from kragx.workshop.state.state import State
from kragx.workshop.terminal import terminal

PAIRS = (("q1", "d1"), ("q1", "d2"), ("q2", "d1"))
SAMPLE = Sample(
    tuple(PairToLabel(*pair, f"{pair[0]}은 무엇인가요?", f"{pair[1]}의 글") for pair in PAIRS),
    {"asks": "relevance", "scale": "0-3"},
)


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


def test_what_is_said_in_the_terminal_is_in_the_workshop(sample, tmp_path):
    """Each label at once, one taken back and those of earlier sessions too; qrels come out."""
    path, out = tmp_path / "human.qrels", Console(file=io.StringIO())
    label(SAMPLE, LabelFile(path, Scale(0, 3)), iter("3q"), out)
    said = []

    def keys():
        for key in "21u0":
            yield key
            said.append(
                {pair: newest.grade for pair in PAIRS if (newest := state.newest(pair, uid))}
            )

    with terminal(tmp_path / "set", sample, "지민") as keep:
        state = keep._state
        uid = person_of(state, "지민")
        file = LabelFile(path, Scale(0, 3), also=keep)
        for pair, grade in file.grades.items():
            keep(pair, grade)
        label(SAMPLE, file, keys(), out)
        first, second, third = PAIRS
        assert said[-2:] == [{first: 3, second: 2}, {first: 3, second: 2, third: 0}]
        workshop = Workshop.open(tmp_path / "set")
        source = Source("set", state, workshop.documents, workshop.settings.scale, uid)
        export_file(source, "qrels", tmp_path / "back.qrels")
    assert (tmp_path / "back.qrels").read_text() == path.read_text()
    with terminal(tmp_path / "set", sample, "지민") as keep:  # nothing is said twice
        n_rows = len(list(keep._state.store.after({})))
        keep(PAIRS[0], 3)
        assert len(list(keep._state.store.after({}))) == n_rows


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
