"""`--corpus` and `dataset.corpus`: gold and results named by ids are matched by their texts."""

from __future__ import annotations

import json

import pytest
import yaml

CORPUS = [
    {"id": "c1", "text": "the ferry leaves the old harbour at nine"},
    {"id": "c2", "text": "tickets are sold on board by the crew"},
    {"id": "c3", "text": "dogs must stay on the upper deck"},
]
RESULTS = [
    {
        "query_id": "q1",
        "query": "When?",
        "gold": [{"id": "c1"}],
        "retrieved": [
            {"id": "new-1", "text": "Timetable: the ferry leaves the old harbour at nine daily"}
        ],
    },
    {
        "query_id": "q2",
        "query": "Where?",
        "gold": [{"id": "c2", "alternatives": [{"id": "c3"}]}],
        "retrieved": [{"id": "c1"}, {"id": "c3"}],
    },
]


@pytest.fixture
def corpus(jsonl):
    """The corpus as a file."""
    return jsonl(*CORPUS, name="corpus.jsonl")


def test_score(kragx, jsonl, corpus):
    """`score --corpus` gives gold and documents their texts; without it ids alone are compared."""
    path = jsonl(*RESULTS)
    args = ("score", path, "-m", "recall@1", "-m", "recall@2", "--format", "json")
    assert kragx(*args, "--corpus", corpus).json()["mean"] == {"recall@1": 0.5, "recall@2": 1.0}
    code, _, err = kragx(*args, "--match", "overlap")
    assert code == 3
    assert "gold: 3 ids have no text: 'c1' (query 'q1', gold 1)" in err
    by_id = kragx(*args).json()
    assert by_id["mean"] == kragx(*args, "--match", "id").json()["mean"]
    assert by_id["mean"] == {"recall@1": 0.0, "recall@2": 0.5}
    assert by_id["settings"]["match_from"] == "ids alone"


def test_qrels_and_runs(kragx, here, corpus):
    """TREC files hold ids alone; with a corpus any matcher compares their texts."""
    (here / "gold.qrels").write_text("q1 0 c1 1\n", encoding="utf-8")
    (here / "a.run").write_text("q1 Q0 c2 1 2.0 a\nq1 Q0 c1 2 1.0 a\n", encoding="utf-8")
    args = ("score", "--qrels", "gold.qrels", "--run", "a.run", "-m", "mrr@5", "--format", "json")
    by_text = kragx(*args, "--match", "overlap", "--corpus", corpus).json()
    assert by_text["mean"] == kragx(*args).json()["mean"] == {"mrr@5": 0.5}
    assert kragx(*args, "--match", "overlap").code == 3


def test_match_writes_texts(kragx, jsonl, corpus, here):
    """`match` writes question and texts beside the decisions; `--no-texts` leaves them out."""
    path = jsonl(*RESULTS)
    first, second = kragx("match", path, "--corpus", corpus).lines()
    assert first["query"] == "When?"
    assert first["gold_texts"] == [[CORPUS[0]["text"]]]
    assert first["retrieved_texts"] == [RESULTS[0]["retrieved"][0]["text"]]
    assert second["gold_texts"] == [[CORPUS[1]["text"], CORPUS[2]["text"]]]
    bare = kragx("match", path, "--corpus", corpus, "--no-texts").lines()
    kept = ("query_id", "retrieved_ids", "gold_ids", "scores", "matched")
    assert bare == [{name: line[name] for name in kept} for line in (first, second)]


def test_what_match_wrote_is_read_as_labels(kragx, jsonl, corpus, here):
    """The file with texts, corrected by hand, is labels for `threshold calibrate`."""
    path = jsonl(*RESULTS)
    assert kragx("match", path, "--corpus", corpus, "--out", "labels.jsonl").code == 0
    lines = [json.loads(line) for line in (here / "labels.jsonl").read_text("utf-8").splitlines()]
    lines[1]["matched"] = [[True], [False]]
    labels = jsonl(*lines, name="labels.jsonl")
    args = ("threshold", "calibrate", path, "--labels", labels, "--format", "json")
    calibrated = kragx(*args, "--corpus", corpus).json()
    assert (calibrated["n_pairs"], calibrated["n_matches"]) == (3, 2)


def test_explain_and_sweep(kragx, jsonl, corpus):
    """`explain` shows the texts, and `threshold sweep` varies a threshold over them."""
    path = jsonl(*RESULTS)
    plain = kragx("explain", path, "-q", "q2", "--corpus", corpus, "--format", "json").json()
    assert plain["gold"][0]["text"] == CORPUS[1]["text"]
    assert plain["retrieved"][1]["text"] == CORPUS[2]["text"]
    swept = kragx("threshold", "sweep", path, "-m", "recall@2", "--corpus", corpus)
    assert swept.code == 0


@pytest.fixture
def config(here, jsonl, corpus):
    """A config whose gold and one of whose runs name ids alone."""
    jsonl(*({k: v for k, v in row.items() if k != "retrieved"} for row in RESULTS), name="g.jsonl")
    jsonl(*RESULTS, name="r.jsonl")

    def write(**changes):
        text = yaml.safe_dump(
            {
                "dataset": {"path": "g.jsonl", "corpus": "corpus.jsonl"},
                "retrievers": {"one": {"results": "r.jsonl"}},
                "metrics": ["recall@1", "recall@2"],
                "output": "out",
                **changes,
            }
        )
        (here / "kragx.yaml").write_text(text, encoding="utf-8")
        return here / "kragx.yaml"

    return write


def means(kragx, *args):
    """The means of the only evaluation of a report."""
    (row,) = kragx(*args, "--format", "json").json()["evaluations"]
    return row["mean"]


def test_run_and_its_folder(kragx, config, here):
    """A run with `dataset.corpus` leaves a folder that holds the texts and needs no corpus."""
    assert kragx("run", config()).code == 0
    (here / "corpus.jsonl").unlink()
    assert means(kragx, "report", "out") == {"recall@1": 0.5, "recall@2": 1.0}
    explained = kragx("explain", "out", "-q", "q1", "--format", "json").json()
    assert explained["gold"][0]["text"] == CORPUS[0]["text"]
    assert kragx("threshold", "sweep", "out").code == 0


def test_a_run_by_id_holds_ids(kragx, config, here, corpus):
    """By id gold and results hold ids alone; another matcher finds the texts beside them."""
    assert kragx("run", config(match="id")).code == 0
    assert "harbour" not in (here / "out" / "gold.jsonl").read_text("utf-8")
    args = ("explain", "out", "-q", "q1", "--match", "overlap", "--format", "json")
    assert kragx(*args).json()["gold"][0]["found_at"] == 1
    elsewhere = corpus.rename(here / "moved.jsonl")
    assert kragx(*args).json()["gold"][0]["found_at"] == 1
    assert kragx(*args, "--corpus", elsewhere).json()["gold"][0]["found_at"] == 1


def test_what_the_corpus_lacks_is_said_before_anything_is_asked(kragx, config, jsonl, module):
    """Gold without a text ends the run with 3 before a retriever is asked."""
    module("asked", "def search(question):\n    raise SystemExit('asked')\n")
    jsonl(CORPUS[0], name="corpus.jsonl")
    code, _, err = kragx("run", config(retrievers={"one": {"class": "asked:search"}}))
    assert code == 3
    assert "g.jsonl: gold: 2 ids have no text and are not in the corpus" in err
    code, _, err = kragx("run", config(dataset={"path": "g.jsonl", "corpus": "lost.jsonl"}))
    assert code == 3
    assert "dataset.corpus" in err


def test_retrieved_ids_that_the_corpus_lacks(kragx, config, jsonl):
    """Retrieved ids without a text are counted under their retriever's name."""
    rows = [row | {"retrieved": [{"id": "x1"}, {"id": "x2"}]} for row in RESULTS]
    config_file = config()
    jsonl(*rows, name="r.jsonl")
    code, _, err = kragx("run", config_file)
    assert code == 3
    assert "retrievers.one.retrieved: 2 ids have no text" in err
