"""`precision_judged@k`: how relevant documents are to their questions, whatever the gold."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from kragx import DataError, Gold, GoldDataset, Query, Run, UsageError, evaluate
from kragx.adapters.batches import Submission
from kragx.app import config as configs, pipeline
from kragx.errors import JudgingError
from kragx.ground.secrets import Secrets
from kragx.judging import Failure, Judge
from kragx.testing import ScriptedClient
from tests.app.commands.conftest import here, jsonl, kragx
from tests.judging.support import judge_of
from tests.thoroughness import examples

__all__ = ["here", "jsonl", "kragx"]

GOLD = "the ferry leaves at nine"


def by_document(request):
    """The grade that the document names; `grade-x` is refused."""
    grade = re.search(r"grade-(.)", request.messages[-1][1]).group(1)
    return Failure("refusal") if grade == "x" else int(grade)


@pytest.fixture
def client():
    """A client that grades by the document."""
    return ScriptedClient(by_document)


@pytest.fixture
def judge(client, store):
    """Its judge."""
    return judge_of(client, store, max_missing=0.5)


def questions(*names, **unanswerable):
    """Those that begin with g have gold; others have none."""
    return GoldDataset(
        tuple(Query(n, f"{n}?", (Gold(text=GOLD),) if n[0] == "g" else ()) for n in names)
        + tuple(Query(n, f"{n}?", answerable=False) for n in unanswerable)
    )


def measured(judge, dataset, run, *metrics, **options):
    """An evaluation by overlap, with that judge of relevance."""
    match = {"method": "llm", "judge": judge}
    run = Run.from_documents(run)
    return evaluate(dataset, run, metrics=metrics, relevance_match=match, **options)


RUN = {
    "g": [f"grade-1 {GOLD}", "grade-3 b"],
    "n": ["grade-2 c", "grade-0 d"],
    "e": [],
    "u": ["grade-3 z"],
}


def test_by_hand(judge, client):
    """With and without gold, an empty list is 0, of what nothing answers nothing is asked."""
    names = ["precision_judged@1", "precision_judged@2", "precision_judged@2(rel=1)", "recall@2"]
    result = measured(judge, questions("g", "n", "e", u=False), RUN, *names)
    assert list(result.mean.values()) == pytest.approx([1 / 3, 1 / 3, 0.5, 1.0])
    assert [own["precision_judged@2"] for own in result.queries.values()] == [0.5, 0.5, 0, None]
    assert result.micro["precision_judged@2"] == 0.5
    assert len(client.requests) == 4
    assert any(own.startswith("relevance: judged: 4 of 4") for own in result.remarks)
    assert not any("precision_judged" in remark for remark in result.remarks)


def test_only_what_metrics_look_at_is_asked(judge, client):
    """The greatest k is how far down lists are judged; a second evaluation asks nothing."""
    for calls in (2, 2):
        result = measured(judge, questions("g", "n"), RUN, "precision_judged@1")
        assert len(client.requests) == calls
    with pytest.raises(UsageError, match="for the first 1 documents"):
        result.with_metrics(["precision_judged@2"])
    plain = evaluate(questions("g"), Run.from_documents(RUN), metrics=["coverage@1"])
    with pytest.raises(UsageError, match="was not judged"):
        plain.with_metrics(["precision_judged@1"])


def test_missing_is_neither_relevant_nor_not(judge):
    """A refusal leaves bounds, and is told of beside the gold's own numbers."""
    run = {"g": ["grade-x a", "grade-3 b"], "n": ["grade-0 c", "grade-2 d"]}
    result = measured(judge, questions("g", "n"), run, "precision_judged@2", "recall@2")
    assert result.bounds == {"precision_judged@2": (0.5, 0.75)}
    assert 0.5 < result["precision_judged@2"] < 0.75
    assert any("relevance: missing: 1 (1 refusal)" in remark for remark in result.remarks)


def test_too_much_missing_ends_it(client, store):
    """As of every judge: above max_missing there is no number."""
    with pytest.raises(JudgingError):
        measured(judge_of(client, store), questions("n"), {"n": ["grade-x"]}, "precision_judged@1")


def test_a_human_label_wins(judge, client, store, kragx):
    """What a person has said of a question's document is not asked, and counts as in a pool."""
    run = {"n": [{"id": "d1", "text": "grade-3 a"}, {"id": "d2", "text": "grade-3 b"}]}
    labels = store.with_name("labels.qrels")
    labels.write_text("n 0 d1 0\n", encoding="utf-8")
    assert kragx("judge", "store", "import", labels, "--store", store).code == 0
    result = measured(judge, questions("n"), run, "precision_judged@2")
    assert result["precision_judged@2"] == 0.5
    assert len(client.requests) == 1
    assert result.settings["relevance"]["pool"]["labels"] == {"human": 1, "judge": 1, "missing": 0}


def test_a_repeated_document_is_relevant_once(judge):
    """As for precision."""
    doc = {"id": "d", "text": "grade-3 a"}
    result = measured(judge, questions("n"), {"n": [doc, doc]}, "precision_judged@2")
    assert result["precision_judged@2"] == 0.5


@pytest.mark.integration
@given(st.lists(st.lists(st.integers(0, 3), max_size=4), min_size=1, max_size=4), st.integers(1, 4))
@examples(20)
def test_as_the_slow_reference(tmp_path_factory, grades, k):
    """Relevant documents of the top k over k, by a loop; and precision in a pool is the same."""
    store = tmp_path_factory.getbasetemp() / "judgements.sqlite"  # one for all examples
    judge = Judge(ScriptedClient(by_document), store=store, progress=False)
    run = {
        f"n{row}": [f"grade-{grade} document {row} {at}" for at, grade in enumerate(of)]
        for row, of in enumerate(grades)
    }
    slow = [sum(grade >= 2 for grade in of[:k]) / k for of in grades]
    result = measured(judge, questions(*run), run, f"precision_judged@{k}")
    assert [own[f"precision_judged@{k}"] for own in result.queries.values()] == slow
    assert result.mean[f"precision_judged@{k}"] == pytest.approx(sum(slow) / len(slow))


def test_the_matchs_own_judge_is_asked(judge, client):
    """Where a judge decides matches, it judges relevance too; by a pool nothing is asked twice."""
    match = {"method": "llm", "judge": judge}
    run = Run.from_documents({"n": RUN["n"]})
    metrics = ["precision@2", "precision_judged@2"]
    result = evaluate(questions("n"), run, match=match, metrics=metrics)
    assert list(result.mean.values()) == [0.5, 0.5]
    assert len(client.requests) == 2


@pytest.mark.parametrize(
    ("spec", "said"),
    [("overlap", "is no LLM judge"), ({"method": "llm", "mode": "support"}, None)],
)
def test_who_can_judge(judge, spec, said):
    """Another matcher is refused; a judge of anything judges relevance here."""
    if isinstance(spec, dict):
        spec = {**spec, "judge": judge}
    run = Run.from_documents({"n": RUN["n"]})
    options = {"metrics": ["precision_judged@2"], "relevance_match": spec}
    if said is None:
        assert evaluate(questions("n"), run, **options)["precision_judged@2"] == 0.5
    else:
        with pytest.raises(UsageError, match=said):
            evaluate(questions("n"), run, **options)


def test_what_cannot_be_judged(judge):
    """A question without its text, and documents that are ids alone."""
    with pytest.raises(DataError, match="has no text, and relevance"):
        measured(judge, GoldDataset((Query("n"),)), {"n": ["grade-1"]}, "precision_judged@1")
    with pytest.raises(DataError, match="text"):
        measured(judge, questions("n"), {"n": [{"id": "d"}]}, "precision_judged@1", match="id")


# -- config, folder, page --------------------------------------------------------------------------


def config_client():
    """The client that the config below names."""
    return ScriptedClient(by_document)


@pytest.fixture
def config(here, jsonl):
    """Two retrievers, a question with gold, one without, one that nothing answers."""
    rows = [
        {"query_id": "g", "query": "when?", "gold": [{"text": GOLD}]},
        {"query_id": "n", "query": "how?", "gold": []},
        {"query_id": "u", "query": "who?", "gold": [], "answerable": False},
    ]
    jsonl(*rows, name="gold.jsonl")
    other = {"g": ["grade-0 x", "grade-3 b"], "n": ["grade-2 c", "grade-1 y"], "u": []}
    for name, run in (("first", RUN), ("second", other)):
        docs = [[{"text": text} for text in run[str(row["query_id"])]] for row in rows]
        jsonl(*({**row, "retrieved": own} for row, own in zip(rows, docs)), name=f"{name}.jsonl")

    def write(**more):
        body = {
            "dataset": "gold.jsonl",
            "retrievers": {name: {"results": f"{name}.jsonl"} for name in ("first", "second")},
            "judge": {"client": f"{__name__}:config_client"},
            "metrics": ["recall@2", "precision_judged@2"],
            "output": "out",
            **more,
        }
        Path("kragx.yaml").write_text(json.dumps(body), encoding="utf-8")
        return "kragx.yaml"

    return write


@pytest.mark.integration
def test_from_the_config(kragx, config):
    """`metrics` and `judge` are enough; all that retrievers share is judged once, and once only."""
    ended = kragx("run", config(), "--full")
    assert ended.code == 0, ended.err
    assert "cannot be decided with 2 questions" in ended.err  # one of which has gold
    assert "relevance: calls: 6" in " ".join(ended.out.split())
    report = json.loads(Path("out/report.json").read_text(encoding="utf-8"))
    first, second = report["evaluations"]
    assert [own["mean"]["precision_judged@2"] for own in (first, second)] == [0.5, 0.5]
    assert first["settings"]["relevance"] == second["settings"]["relevance"]
    assert "relevance: calls: 0" in " ".join(kragx("run", config(), "--full").out.split())


def test_a_folder_is_read_from_the_store(kragx, config):
    """Numbers and the grade of each document are those that the judge has given."""
    assert kragx("run", config()).code == 0
    again = pipeline.recompute(Path("out"), trust=True)
    assert [own["precision_judged@2"] for own in again.evaluations] == [0.5, 0.5]
    assert again._reasons["overlap"]["n", "grade-2 c", ""][0] == 2


def test_dry_run_counts_it(kragx, config):
    """What would be asked is counted once for both retrievers."""
    ended = kragx("run", config(), "--dry-run")
    assert "in all 6 calls to " in " ".join(ended.out.split())


def test_batches_hold_it(config):
    """What would be submitted is what would be asked, each question once."""
    judge = {"model": "m", "base_url": "http://localhost:9/v1", "max_missing": 1}
    outbox = Submission([], Secrets.of())
    pipeline.run(configs.load(Path(config(judge=judge))), outbox=outbox, progress=False)
    assert sum(len(parcel.lines) for parcel in outbox.parcels.values()) == 6


def test_a_wrong_judge_is_said_before_anything(kragx, config):
    """A matcher that is no judge, and one whose rubric asks something else."""
    Path("rubric.yaml").write_text(
        "id: mine-1\nasks: support\ninstruction: Is it there?\ngrades: {0: no, 1: yes}\ncut: 1\n",
        encoding="utf-8",
    )
    ended = kragx("run", config(relevance_match="overlap"))
    assert (ended.code, "is no LLM judge" in ended.err) == (2, True)
    judge = {"client": f"{__name__}:config_client", "rubric": "rubric.yaml"}
    ended = kragx("run", config(judge=judge))
    assert (ended.code, "asks for support" in ended.err) == (2, True)


@pytest.mark.integration
def test_other_judges_are_not_compared(kragx, config):
    """Two folders whose relevance was judged from different grades on are refused."""
    assert kragx("run", config(), "-o", "one").code == 0
    strict = config(relevance_match={"method": "llm", "threshold": 3})
    assert kragx("run", strict, "-o", "two").code == 0
    ended = kragx("compare", "one", "two")
    assert "relevance was judged differently" in ended.err
