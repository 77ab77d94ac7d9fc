"""`kragx diff`: files, folders and a config's retrievers, gates and exit codes."""

from __future__ import annotations

import json

import pytest

from tests.report.test_page import parts

QUESTIONS = [{"query_id": f"q{n}", "query": f"question {n}"} for n in range(4)]
SEARCH = '''
calls = []

def steady(question):
    """The same for each question."""
    return [{"id": question, "text": question}, {"id": "z", "text": "z"}]

def reordered(question):
    """One question of four in another order."""
    answer = steady(question)
    return answer[::-1] if question.endswith("3") else answer

def moody(question):
    """Another answer from the sixth time on."""
    calls.append(question)
    return steady(question)[: 1 if len(calls) > 6 else 2]

def broken(question):
    """Fails on the first question."""
    if question.endswith("0"):
        raise ValueError("no index")
    return steady(question)
'''


def rows(*lists):
    """A results file's records, without gold."""
    return [
        {**question, "retrieved": [{"id": name, "text": f"text {name}"} for name in names]}
        for question, names in zip(QUESTIONS, lists)
    ]


@pytest.fixture
def files(jsonl):
    """Two versions, of which one question in four has another list."""
    old = jsonl(*rows("abc", "abc", "abc", "abc"), name="v1.jsonl")
    return old, jsonl(*rows("abc", "abc", "abc", "xab"), name="v2.jsonl")


@pytest.fixture
def config(tmp_path, jsonl, monkeypatch):
    """A config of four retrievers whose gold set has no gold."""
    (tmp_path / "diffed_search.py").write_text(SEARCH)
    monkeypatch.syspath_prepend(tmp_path)
    jsonl(*QUESTIONS, name="questions.jsonl")
    path = tmp_path / "kragx.yaml"
    names = "".join(
        f"  {name}: {{class: 'diffed_search:{name}'}}\n"
        for name in ("steady", "reordered", "moody", "broken")
    )
    path.write_text(f"dataset: questions.jsonl\nretrievers:\n{names}metrics: [precision@2]\n")
    return path


def test_files(kragx, files):
    """A table by depth, the question that changed, and where to go with gold."""
    out = kragx("diff", *files).out
    assert "v1 → v2: 4 of 4 questions have two lists; documents are the same by id and text" in out
    assert "75.0%" in out
    assert "question 3" in out
    assert "'kragx compare' says where there is gold" in out


def test_json_and_markdown(kragx, files):
    """The means by name, and the same tables."""
    assert kragx("diff", *files, "--format", "json").json()["mean"]["unchanged@5"] == 0.75
    assert "| lists that are the same | 75.0% |" in kragx("diff", *files, "--format=markdown").out


def test_gate(kragx, files):
    """A gate that fails ends with 1, one that passes with 0; the colon may be left out."""
    assert kragx("diff", *files, "--gate", "unchanged@5: >= 0.8").code == 1
    assert kragx("diff", *files, "--gate", "unchanged@5 >= .75").code == 0
    outcome = kragx("diff", *files, "--gate", "ndcg@5 >= .75")
    assert (outcome.code, "write for example unchanged@5: >= 0.8" in outcome.err) == (2, True)


def test_page(kragx, files, tmp_path):
    """The page holds both lists of the questions that changed, and no others."""
    page = tmp_path / "diff.html"
    assert kragx("diff", *files, "--out", page, "--gate", "rbo > .1").code == 0
    index = parts(page)["index"]
    assert [question["id"] for question in index["questions"]] == ["q3"]
    assert [entry[0] for entry in index["questions"][0]["new"]] == [3, 0, 1]
    assert index["mean"]["unchanged@5"] == 0.75
    assert kragx("diff", *files, "--out", tmp_path / "diff.json").code == 2


def test_korean(kragx, files):
    """In Korean, too."""
    assert "같은 목록" in kragx("--language", "ko", "diff", *files).out


def test_live(kragx, config):
    """Retrievers of a config are asked, on its questions or on others."""
    asked = kragx("diff", "steady", "reordered", "--config", config, "--format", "json").json()
    assert (asked["mean"]["unchanged@5"], asked["mean"]["jaccard@5"]) == (0.75, 1.0)
    questions = config.parent / "others.jsonl"
    questions.write_text(json.dumps({"query_id": "x", "query": "question 3"}) + "\n")
    options = ("--config", config, "--questions", questions, "--format", "json")
    assert kragx("diff", "steady", "reordered", *options).json()["mean"]["unchanged@1"] == 0.0
    outcome = kragx("diff", "steady", "reorderd", "--config", config)
    assert (outcome.code, "perhaps you meant 'reordered'" in outcome.err) == (2, True)


def test_named_twice(kragx, config):
    """One that is named twice is asked twice: what differs is its noise."""
    twice = kragx("diff", "moody", "moody", "--config", config, "--format", "json").json()
    assert (twice["new"], twice["mean"]["unchanged@5"]) == ("moody (again)", 0.5)


def test_failures(kragx, config):
    """One that failed ends with 5, and no gate passes; a tolerated failure is left out."""
    options = ("diff", "steady", "broken", "--config", config, "--gate", "unchanged@5 >= .1")
    outcome = kragx(*options)
    assert outcome.code == 5
    assert "not comparable, as failed: broken" in outcome.err
    assert "1 of 1 failed" in outcome.out
    tolerated = kragx(*options, "--max-failed", ".25", "--format", "json").json()
    assert (tolerated["mean"]["unchanged@5"], tolerated["counts"]["n_compared"]) == (1.0, 3)


def test_folders(kragx, config, tmp_path):
    """Folders of kragx run have their retrievers' lists; metadata are read that are named."""
    gold = [{**question, "gold": [{"text": question["query"]}]} for question in QUESTIONS]
    lines = "".join(json.dumps(row) + "\n" for row in gold)
    (tmp_path / "questions.jsonl").write_text(lines)
    metrics = "metrics=['source_diversity@2(key=page)', precision@2]"
    folder = tmp_path / "out"
    kragx("run", config, "-o", folder, "--set", metrics, "--max-failed", 1)
    ambiguous = kragx("diff", folder, folder)
    assert (ambiguous.code, "name one: --retriever steady" in ambiguous.err) == (2, True)
    both = ("--retriever", "steady", "--retriever", "reordered", "--format", "json")
    both += ("--metadata", "page")
    plain = kragx("diff", folder, folder, *both).json()
    assert (plain["old"], plain["new"]) == ("out/steady", "out/reordered")
    assert plain["mean"]["unchanged@5"] == 0.75
    assert plain["identity"]["fields"] == ["page"]
    assert kragx("diff", folder, tmp_path / "questions.jsonl", *both).code == 2


def test_wrong_use(kragx, files, config):
    """Options that belong elsewhere are refused with their place."""
    assert "belongs to a folder" in kragx("diff", *files, "--retriever", "a").err
    options = ("--config", config, "--retriever", "steady")
    assert "belongs to folders" in kragx("diff", "steady", "steady", *options).err
    missing = kragx("diff", files[0], "nowhere.jsonl")
    assert (missing.code, "nowhere.jsonl" in missing.err) == (3, True)
