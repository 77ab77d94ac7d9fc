"""`stages: true`: from a config to the folder, its reports, and back."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from kragx import Doc, GoldDataset, Query, Retrieved, Stage
from kragx.app import config, pipeline
from kragx.app.result_folder.written import claimed
from kragx.app.retrieving.retrieve_all import partial_answers
from kragx.data import Turn

RETRIEVERS = '''
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda, RunnableParallel

class Fixed(BaseRetriever):
    """Finds the gold of odd questions, third."""

    def _get_relevant_documents(self, query, *, run_manager):
        number = int(query.split()[1])
        gold = [Document(f"the gold text number {number}", id=f"g{number}")] * (number % 2)
        return [Document(f"some other {n} thing", id=f"o{n}") for n in "ab"] + gold

def hybrid():
    fuse = RunnableLambda(lambda lists: lists["one"] + lists["two"][:1], name="fuse")
    keep = RunnableLambda(lambda docs: [doc for doc in docs if "gold" not in doc.page_content])
    return RunnableParallel(one=Fixed(), two=Fixed()) | fuse | keep.with_config(run_name="keep")

def plain(question):
    return ["some other thing"]
'''
CONFIG = """
dataset: gold.jsonl
stages: true
retrievers:
  hybrid: {class: 'stage_runs:hybrid'}
  plain: {class: 'stage_runs:plain'}
match: MATCH
metrics: [recall@5, ndcg@5]
output: out
"""


@pytest.fixture
def folder(request, tmp_path, monkeypatch):
    """What a run leaves behind, under the matcher that the test names."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    texts = {f"q{n}": f"the gold text number {n}" for n in range(1, 5)}
    lines = [
        {"query_id": name, "query": f"question {name[1:]}", "gold": [{"text": text}]}
        for name, text in texts.items()
    ]
    Path("gold.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    Path("stage_runs.py").write_text(RETRIEVERS, encoding="utf-8")
    Path("kragx.yaml").write_text(CONFIG.replace("MATCH", request.param), encoding="utf-8")
    return pipeline.run(config.load(Path("kragx.yaml")), progress=False)


@pytest.mark.integration
@pytest.mark.parametrize("folder", ["exact"], indirect=True)
def test_from_config_to_folder_and_back(folder, tmp_path):
    """The stage that loses the gold is named on the screen and in each report; the folder, read
    without asking or trusting anything, says the same.
    """
    report = folder
    (losses,) = report.losses
    assert [loss.reason for loss in losses.losses] == ["cut", "never_retrieved"]
    assert losses.losses[0].stage == "keep"
    assert losses.losses[0].query_ids == ("q1", "q3")
    assert [own.name for own in losses.stages] == ["one", "two", "fuse", "keep"]
    assert "0 of 4 gold items within 5; lost: 2 cut (keep), 2 never retrieved" in str(report)
    assert "Where the gold is lost" in report.to_markdown()
    plain = report.to_dict()
    assert plain["losses"][0]["losses"][0]["n"] == 2
    with claimed(tmp_path / "out", report.config) as write:
        write(report)
    again = pipeline.recompute(tmp_path / "out")
    assert again.losses == report.losses


@pytest.mark.parametrize("folder", ["exact"], indirect=True)
def test_for_some_retrievers(folder):
    """What a retriever says of itself wins over what is said for all; a file has no stages."""
    text = CONFIG.replace("hybrid'}", "hybrid', stages: false}").replace("MATCH", "exact")
    text = text.replace("plain: {class: 'stage_runs:plain'}", "plain: {results: gold.jsonl}")
    Path("other.yaml").write_text(text, encoding="utf-8")
    loaded = config.load(Path("other.yaml"))
    assert [own.options.get("stages") for own in loaded.retrievers.values()] == [False, None]


def test_an_interrupted_run_keeps_stages_and_histories(tmp_path):
    """Answers that are kept have their stages; one to another history is asked anew."""
    fingerprint = {"class": "1"}
    path = tmp_path / "answers.jsonl"
    query = Query("q1", "and then?", history=(Turn("user", "first?"),))
    stages = (Stage("search", (), (Doc("a"), Doc("b"))), Stage("cut", ("search",), (Doc("a"),)))
    answer = Retrieved((Doc("a"),), 0.5, stages=stages)
    with partial_answers(path, fingerprint, GoldDataset((query,))) as answers:
        answers.keep(query, answer)
        assert answers.as_read == {query.id: answer}
    with partial_answers(path, fingerprint, GoldDataset((query,))) as answers:
        assert answers.known == {"q1": answer}
    other = replace(query, history=(Turn("user", "another?"),))
    with partial_answers(path, fingerprint, GoldDataset((other,))) as answers:
        assert answers.known == {}
