"""A baseline: a run's numbers in one file, against which later runs are held."""

import json
import shutil

import pytest

GOLD = [
    {"query_id": f"q{n}", "query": f"question {n}", "gold": [{"id": f"g{n}"}]} for n in range(40)
]
CONFIG = """
dataset: gold.jsonl
retrievers: {one: one.jsonl}
match: id
metrics: [mrr@5, hit_rate@5]
statistics: {resamples: 200}
output: out
"""
HELD = CONFIG + "earlier: base.json\ngates: {mrr@5: surely no worse than earlier by 0.1}\n"


@pytest.fixture
def run(jsonl, here, kragx):
    """Run a config whose retriever finds the gold of all questions but some."""

    def run(*args, lost=(), gold=GOLD, config=CONFIG):
        jsonl(*gold, name="gold.jsonl")
        answers = [
            {**query, "retrieved": [{"id": "x" if query["query_id"] in lost else gold[0]["id"]}]}
            for query in gold
            for gold in [query["gold"]]
        ]
        jsonl(*answers, name="one.jsonl")
        (here / "run.yaml").write_text(config)
        return kragx("run", "run.yaml", *args)

    return run


def test_the_file(run, here):
    """It holds each question's values, no texts, and no path of here."""
    assert run("--save-baseline", "base.json", lost=("q3",)).code == 0
    text = (here / "base.json").read_text()
    assert "question 3" not in text
    assert str(here) not in text
    value = json.loads(text)
    (evaluation,) = value["evaluations"]
    assert evaluation["settings"]["dataset"]["hash"]
    assert evaluation["queries"]["q3"] == {"mrr@5": 0.0, "hit_rate@5": 0.0}
    assert evaluation["mean"] == {"mrr@5": 0.975, "hit_rate@5": 0.975}
    again = text.replace(value["record"]["date"], "")
    assert run("--save-baseline", "base.json", lost=("q3",)).code == 0
    value = json.loads((here / "base.json").read_text())
    text = (here / "base.json").read_text().replace(value["record"]["date"], "")
    assert [line for line in text.splitlines() if '"seconds"' not in line] == [
        line for line in again.splitlines() if '"seconds"' not in line
    ]


@pytest.mark.integration
@pytest.mark.parametrize(
    ("lost", "code", "verdict"), [(20, 1, "; worse"), (0, 0, "nothing changed: one")]
)
def test_held_against_it(run, here, kragx, lost, code, verdict):
    """It says the same, and gates end the same, as against the folder it was made from."""
    assert run("--save-baseline", "base.json").code == 0
    shutil.move("out", "before")
    outcome = run(lost=[f"q{n}" for n in range(lost)], config=HELD)
    assert outcome.code == code, outcome.err
    assert verdict in outcome.out
    folders = [
        kragx("compare", earlier, "out", "--format", "json") for earlier in ("base.json", "before")
    ]
    of_file, of_folder = (json.loads(own.out)["changes"] for own in folders)
    assert of_file == of_folder
    # The folder keeps the baseline, and needs it no more.
    (here / "base.json").unlink()
    again = kragx("report", "out")
    assert (again.code, verdict in again.out) == (code, True), again.err


@pytest.mark.integration
def test_a_worse_run_is_no_baseline(run, here):
    """Numbers that fail a gate do not replace those that they were held against."""
    run("--save-baseline", "base.json")
    before = (here / "base.json").read_bytes()
    outcome = run("--save-baseline", "base.json", lost=[q["query_id"] for q in GOLD], config=HELD)
    assert outcome.code == 1
    way = "to save these numbers all the same: --set earlier=null --set gates=null"
    assert f"baseline not saved: a retriever or gate failed; {way}" in outcome.err
    assert (here / "base.json").read_bytes() == before
    # With what was named as the way on it does, and one that passes does.
    lost = [q["query_id"] for q in GOLD]
    options = way.split(": ")[1].split()
    assert run(*options, "--save-baseline", "low.json", lost=lost, config=HELD).code == 0
    assert (here / "low.json").exists()
    point = HELD.replace("surely ", "")
    assert run("--save-baseline", "base.json", lost=("q1",), config=point).code == 0
    assert (here / "base.json").read_bytes() != before


def test_another_gold_set(run, kragx):
    """Refused before anything is asked; not with --anyway."""
    run("--save-baseline", "base.json")
    changed = [*GOLD[1:], {"query_id": "n1", "query": "new", "gold": [{"id": "g"}]}]
    changed[3] = {**changed[3], "gold": [{"id": "other"}]}
    outcome = run(gold=changed, config=HELD)
    assert outcome.code == 2
    assert "base.json cannot be compared with this config: " in outcome.err
    assert run("--anyway", gold=changed, config=HELD).code == 0
    compared = kragx("compare", "base.json", "out")
    assert (compared.code, "--anyway" in compared.err) == (2, True)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            None,
            "base.json: there is no such baseline; to make the first one: kragx run CONFIG.yaml ",
        ),
        ("", "base.json"),
        ("[]", "base.json"),
        ("{}", "no baseline that this version of kragx reads; kragx run CONFIG.yaml --save-basel"),
        ('{"kragx_baseline": 1}', "not a baseline that kragx wrote"),
        (
            '{"kragx_baseline": 1, "evaluations": [], "record": null, "better": {}}',
            "evaluations: has no results",
        ),
        (
            '{"kragx_baseline": 1, "evaluations": [{"settings": {}, "counts": {"n_failed": 0}}], '
            '"record": null, "better": {}}',
            "not what kragx writes",
        ),
    ],
)
def test_no_baseline(run, here, text, said):
    """A file that is none is named, with what to do."""
    if text is not None:
        (here / "base.json").write_text(text)
    outcome = run(config=HELD)
    assert outcome.code == 3, outcome.err
    assert said in outcome.err


def test_the_first_one(run, here):
    """A config that is held against a baseline makes its first one with both left out."""
    first = ("--set", "earlier=null", "--set", "gates=null", "--save-baseline", "base.json")
    assert run(*first, config=HELD).code == 0
    assert run(config=HELD).code == 0


def test_misplaced(run, here):
    """Other files are not lost."""
    for name in ("gold.jsonl", "run.yaml", "base.txt"):
        before = (here / name).read_bytes() if (here / name).exists() else None
        assert run("--save-baseline", name).code == 2
        assert before is None or (here / name).read_bytes()
    run()
    outcome = run("--save-baseline", "out/report.json")
    assert (outcome.code, "is read, and would be lost" in outcome.err) == (2, True)


def test_the_verdict_of_one_retriever(run, here):
    """Alone it is told what can be set against it; beside earlier results those speak."""
    alone = run("--save-baseline", "base.json").out
    assert "another, or earlier results (--earlier), can be set against it" in alone
    beside = run(lost=("q3",), config=CONFIG + "earlier: base.json\n").out
    said, changed = "There is one retriever", "queries: 0 better, 1 worse"
    assert (said in alone, said in beside, changed in beside) == (True, False, True)
    report = (here / "out" / "report.md").read_text("utf-8")
    assert report.index(said) < report.index("1 worse")
