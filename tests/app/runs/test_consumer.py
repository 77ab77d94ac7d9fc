"""configs/consumer.yaml runs offline, and its table holds a value of each measure."""

from __future__ import annotations

import socket

import pytest

from kragx import read_gold, validate
from kragx.app import config, pipeline
from kragx.data.text import normalise
from kragx.evaluation.retrievers import read_corpus
from kragx.metrics import METRICS
from tests.docs.support import ROOT

DATA = ROOT / "examples" / "data" / "consumer_ko"
NAMES = ("bm25", "tfidf", "hybrid")


@pytest.fixture
def offline(monkeypatch):
    """Any attempt to reach a network fails the test; the repository is importable."""

    def refuse(*args, **kwargs):
        raise AssertionError("the network was asked for")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.syspath_prepend(str(ROOT))


@pytest.mark.integration
def test_it_runs_and_makes_sense(offline):
    """Six retrievers on 150 questions, 12 without an answer; expansion completes what the best
    five chunks hold.
    """
    pytest.importorskip("bm25s")
    loaded = config.load(
        ROOT / "configs" / "consumer.yaml",
        [f"retrievers.{name}{more}.repeat=1" for name in NAMES for more in ("", "+context")],
    )
    report = pipeline.run(loaded)
    found = {each.name: each for each in report.evaluations}
    n_paragraphs = sum(doc.text.count("\n\n") + 1 for doc in read_corpus(DATA / "corpus.jsonl"))
    assert list(found) == [*NAMES, *(f"{name}+context" for name in NAMES)]
    for name, evaluation in found.items():
        assert evaluation.counts["n_scored"] == 138
        assert evaluation.counts["n_failed"] == evaluation.counts["n_duplicates"] == 0
        for metric, value in evaluation.mean.items():
            if metric == "context_relevance" and "+context" not in name:
                assert value is None
            else:
                assert value is not None
                assert value > 0
        # Twenty times what five random paragraphs hold: the questions use few of the texts' words.
        assert evaluation["recall@5"] > 20 * 5 / n_paragraphs
    asked = {name.partition("@")[0] for name in found["hybrid"].mean}
    # Coverage, density and IoU are for gold that shares no ids with the chunks; the others need
    # questions that nothing answers, something forbidden, searches, or a judge.
    elsewhere = {"coverage", "density", "iou", "abstention", "false_abstention", "precision_judged"}
    elsewhere |= {
        name
        for name, metric in METRICS.items()
        if metric.reads_forbidden or metric.from_searches is not None
    }
    of_evidence = {name for name, metric in METRICS.items() if metric.from_matches is None}
    assert of_evidence - elsewhere <= asked


def test_the_gold_set_is_valid():
    """The converted gold set has no problem against its corpus and targets."""
    dataset = config.load(ROOT / "configs" / "consumer.yaml").dataset
    found = validate(str(dataset.path), corpus=str(dataset.corpus), targets=dataset.targets)
    assert found.problems == ()


def test_the_gold_set_is_that_of_the_texts(monkeypatch):
    """Each chunk named in the gold set holds gold text of its question; facts are gold text."""
    monkeypatch.syspath_prepend(str(ROOT))
    from examples.retrievers import paragraphs
    from kragx import read_dataset

    texts = {doc.id: normalise(doc.page_content) for doc in paragraphs(str(DATA / "corpus.jsonl"))}
    by_text = read_gold(DATA / "gold.jsonl")
    by_id = read_dataset(DATA / "goldset.jsonl")
    assert [query.id for query in by_id] == [query.id for query in by_text]
    for query in by_id:
        source = by_text[query.id]
        assert (query.text, query.expected_doc_types) == (source.text, source.expected_doc_types)
        passages = [
            normalise(each.text or "")
            for gold in source.gold
            for each in (gold, *gold.alternatives)
        ]
        for gold in query.gold:
            for each in (gold, *gold.alternatives):
                held = any(passage in texts[each.id] for passage in passages)
                assert held is (gold.grade > 0), (query.id, each.id)
        for fact in query.metadata.get("facts", ()):
            assert any(normalise(fact) in passage for passage in passages)
