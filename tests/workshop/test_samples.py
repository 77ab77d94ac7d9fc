"""A sample of pairs to label, as what a workshop begins with."""

import json
from dataclasses import replace

import pytest

from kragx.agreement import PairToLabel, Sample
from kragx.agreement.sample import read_sample
from kragx.errors import DataError, UsageError
from kragx.workshop.commands.label import start_labelling
from kragx.workshop.folder.folder import Workshop
from kragx.workshop.state.state import State

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
    start_labelling(tmp_path / "set", read_sample(sample))
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
    assert (len(state.questions), state.judgements) == (2, {})


def test_what_labels_mean(sample, tmp_path):
    """A rubric's words stand with the grades that they are for; without words a grade is itself."""
    settings = {**SAMPLE.settings, "scale": "0-1", "grades": {"1": "answers it"}}
    replace(SAMPLE, settings=settings).write(sample)
    start_labelling(tmp_path / "set", read_sample(sample))
    assert Workshop.open(tmp_path / "set").settings.scale == {0: "0", 1: "answers it"}


def test_samples_that_no_workshop_can_have(sample, tmp_path):
    """A scale that begins elsewhere, and an id with two texts: nothing is made."""
    lines = sample.read_text().splitlines()
    head = {"sample": {"asks": "relevance", "scale": "1-4"}}
    sample.write_text("\n".join([json.dumps(head), *lines[1:]]))
    with pytest.raises(UsageError, match="begin with 0"):
        start_labelling(tmp_path / "set", read_sample(sample))
    sample.write_text("\n".join([*lines, lines[-1].replace("d1의", "다른")]))
    with pytest.raises(DataError, match="'d1' has two texts"):
        start_labelling(tmp_path / "set", read_sample(sample))
    assert not (tmp_path / "set").exists()
