"""What could turn a verdict stands in it, wherever it is read."""

import json
import random
import subprocess
import sys
import warnings

import pytest
import yaml

from examples.broken_texts import ocr
from kragx import Retrieved, Run, compare, evaluate, read_dataset
from kragx.judging import Judge
from kragx.matchers import MatchWarning
from kragx.testing import ScriptedClient
from tests.matchers.gold_of_templates import TEMPLATES, digit_ko, name_en, siblings_of
from tests.thoroughness import all_cases

SAID, SAID_KO = "gold of one template", "정답 텍스트가 한 틀에서 나왔습니다"
pytestmark = pytest.mark.filterwarnings(f"ignore:{SAID}", "ignore:texts of one", "ignore:.*broken")


def codes(result):
    """Of the verdict's cautions."""
    return [own.code for own in result.recommendations[0].cautions]


def of_templates(template=name_en, n=30, true=0):
    """One retriever that finds siblings of the gold alone, or nearly, and one that finds others."""
    golds = [*map(template, range(n))]
    right = [["another text, of rivers and hills", gold] for gold in golds]
    runs = {"wrong": siblings_of(golds, true=true), "right": right}
    return evaluate([[own] for own in golds], runs, match="rouge2", metrics=["mrr@5", "recall@5"])


@pytest.mark.parametrize("true", [0, 4])
def test_siblings_alone(true, tmp_path):
    """Who finds siblings alone wins, and the verdict says what that is worth, on every page."""
    result = of_templates(true=true)
    comparison = result.comparison
    verdict = comparison.recommendations[0]
    assert (verdict.kind, comparison.best, codes(comparison)) == ("winner", "wrong", ["siblings"])
    assert verdict.cautions[0].values["n"] == 30
    assert verdict.to_dict()["cautions"][0]["code"] == "siblings"
    assert result.verdict.startswith("Use wrong")
    assert SAID in result.verdict
    lines = str(result).splitlines()
    at = next(place for place, line in enumerate(lines) if "Use wrong" in line)
    assert lines[at + 1].startswith(f"Caution: {SAID}")
    assert str(result).count(SAID) == str(comparison).count(SAID) == 1
    assert SAID in result.to_markdown()
    result.report(tmp_path / "page.html")


@all_cases(("n", "first"), [(24, 110), (12, 150)])
@all_cases("template", TEMPLATES)
def test_siblings_that_are_nobodys_gold(template, n, first):
    """Whose names stand nowhere else cannot be told from misreadings; the verdict says so."""
    golds, others = ([*map(TEMPLATES[template], range(at, at + n))] for at in (0, first))
    runs = {
        "wrong": [[own] for own in others],
        "right": [["another text, of rivers and hills", own] for own in golds],
    }
    result = evaluate([[own] for own in golds], runs, metrics=["mrr@5"])
    is_right = result["wrong"]["mrr@5"] < 0.1 and result.verdict.startswith("Use right")
    assert is_right or codes(result.comparison) == ["siblings"]


@pytest.mark.integration
@pytest.mark.parametrize("share", [0.03, 0.1])
@pytest.mark.parametrize("template", TEMPLATES)
def test_siblings_that_are_misread(template, share):
    """Where more than a few of them are found the verdict says that they cannot be told."""
    rng, broken = random.Random(0), ocr(share)
    golds = [*map(TEMPLATES[template], range(60))]
    misread = [["".join(broken(text, rng)) for text in own] for own in siblings_of(golds)]
    result = evaluate([[own] for own in golds], {"wrong": misread, "none": [[]] * 60})
    assert result["wrong"]["hit_rate@10"] < 0.1 or codes(result.comparison) == ["siblings"]


def test_in_korean(monkeypatch):
    """The same in Korean."""
    monkeypatch.setenv("KRAGX_LANG", "ko")
    result = of_templates(digit_ko)
    assert SAID_KO in result.verdict
    assert f"주의: {SAID_KO}" in str(result)


def test_one_retriever():
    """Alone its caution stands beside its numbers, and in what a comparison says of it."""
    golds = [*map(name_en, range(10))]
    one = evaluate(
        [[own] for own in golds], siblings_of(golds), match="rouge2", metrics=["mrr@5"], name="one"
    )
    assert str(one).count(SAID) == 1
    comparison = compare([one], resamples=100)
    assert comparison.recommendations[0].kind == "one_retriever"
    assert codes(comparison) == ["siblings"]


GOLD = [[f"water{n} mill{n} of{n} the{n} village{n}"] for n in range(30)]


def test_failures():
    """Failures that are tolerated score as empty lists; who failed is named in the verdict."""
    dataset = read_dataset(GOLD)
    one = Run.from_documents(GOLD, name="one")
    failing = {**one.results, "q1": Retrieved(error="down"), "q2": Retrieved(error="down")}
    runs = {"one": one, "two": Run(failing, "two"), "three": one}
    result = evaluate(dataset, runs, metrics=["mrr@5"])
    assert codes(result.comparison) == ["failed"]
    assert "Caution: two failed on 2 of 30 questions, so it is not comparable." in result.verdict
    tolerant = result.compared(max_failed=0.1)
    assert "two failed on 2 of 30 questions, which score as empty lists." in tolerant.verdict


@pytest.mark.parametrize(("second", "said"), [("river {n}", True), ("mill {n}, river {n}", False)])
def test_missing_judgements(tmp_path, second, said):
    """What missing judgements leave open stands in the verdict; one value is nothing open."""
    client = ScriptedClient(lambda request: "no" if "river 7" in str(request.messages) else 3)
    options = {"store": tmp_path / "store.sqlite", "max_missing": 1.0, "attempts": 1}
    judge = Judge(client, progress=False, **options)
    runs = {
        name: [texts.format(n=n).split(", ") for n in range(30)]
        for name, texts in {"one": "mill {n}", "two": second}.items()
    }
    match = {"method": "llm", "mode": "support", "judge": judge}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = evaluate(GOLD, runs, match=match, metrics=["mrr@5"])
    assert result["two"].counts["judging"]["n_missing"] == 1
    assert codes(result.comparison) == ["missing_judgements"] * said
    caution = "Caution: judgements are missing, and once they are known mrr@5 may be"
    assert (caution in result.verdict) == said


def test_ids_that_never_meet():
    """That no id of a retriever is any gold id."""
    gold = [{f"d{n}": 1} for n in range(30)]
    runs = {
        name: [[{"id": f"{start}{n}", "text": ""}] for n in range(30)]
        for name, start in {"one": "d", "two": "other-"}.items()
    }
    with pytest.warns(MatchWarning, match="is any"):
        result = evaluate(gold, runs, match="id", metrics=["mrr@5"])
    assert codes(result.comparison) == ["ids_apart"]
    assert "none of the ids that two retrieved is any gold id" in result.verdict


@pytest.mark.parametrize(("n_missing", "is_said"), [(2, False), (3, True), (28, True)])
def test_questions_that_the_results_lack(n_missing, is_said):
    """From a tenth of the questions on, that a run lacks them stands in the verdict."""
    gold = {f"q{n}": [f"mill {n}"] for n in range(30)}
    runs = {
        "whole": Run.from_documents(gold),
        "part": Run.from_documents(dict([*gold.items()][n_missing:])),
    }
    result = evaluate(gold, runs, metrics=["mrr@5"])
    assert codes(result.comparison) == ["missing_questions"] * is_said
    caution = f"part has no results for {n_missing} of 30 questions, which score as empty lists"
    assert (caution in result.verdict) == is_said
    left_out = evaluate(gold, Run.from_documents(gold), metrics=["mrr@5"])
    assert "no results" not in str(left_out)


def test_no_gold_at_all():
    """Where no question has gold, and another metric a value, the verdict says why it has none."""
    runs = {"one": [["a b"], ["c d"]], "two": [["e f"], ["g h"]]}
    verdict = evaluate([[], []], runs, metrics=["mrr@5", "judged@5"]).verdict
    assert "mrr@5 has no value by which retrievers differ" in verdict
    assert "look whether the questions have gold" in verdict


def test_an_order_that_the_threshold_turns():
    """Said in the verdict where it is about the best, and not once more below."""
    golds = [[f"{word}{n}" for word in "abcdefghijklmno"] for n in range(30)]
    near = [[" ".join(gold[: 10 if n < 20 else 4])] for n, gold in enumerate(golds)]
    far = [[" ".join(gold[:9])] for gold in golds]
    gold = [[" ".join(own)] for own in golds]
    match = {"method": "rouge1", "measure": "recall", "threshold": 0.6}
    result = evaluate(gold, {"near": near, "far": far}, match=match, metrics=["mrr@5"])
    assert codes(result.comparison) == ["threshold"]
    said = "the order depends on the threshold"
    assert said in result.verdict
    assert str(result).count(said) == str(result.comparison).count(said) == 1


def test_nothing_to_be_said():
    """Without any of it a verdict is as it was."""
    runs = {"one": GOLD, "two": [["another text", own] for (own,) in GOLD]}
    result = evaluate(GOLD, runs, match="text", metrics=["mrr@5"])
    assert codes(result.comparison) == []
    assert result.verdict == result.comparison.recommendations[0].text


@pytest.mark.integration
def test_a_run_of_the_command(tmp_path):
    """Screen, report.md, report.json, summary, comparison of folders and `score` say it."""
    golds = [*map(name_en, range(30))]
    rows = [
        {"query_id": f"q{at}", "query": "?", "gold": [{"text": own}]}
        for at, own in enumerate(golds)
    ]
    lists = {"wrong": siblings_of(golds), "right": [["another text", own] for own in golds]}
    for name, own in lists.items():
        full = [{**row, "retrieved": [{"text": t} for t in texts]} for row, texts in zip(rows, own)]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in full))
    (tmp_path / "gold.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    config = {
        "dataset": "gold.jsonl",
        "retrievers": {name: {"results": f"{name}.jsonl"} for name in lists},
        "matchers": {"strict": "exact", "loose": "rouge2"},
        "metrics": ["mrr@5"],
        "output": "results",
    }

    def kragx(*args):
        command = [sys.executable, "-m", "kragx", *args]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert not done.returncode, done.stderr
        return done

    for matchers in (config["matchers"], {"loose": "rouge2"}):
        (tmp_path / "kragx.yaml").write_text(
            yaml.safe_dump({**config, "matchers": matchers}, sort_keys=False)
        )
        done = kragx("run", "kragx.yaml")
        assert f"Caution: {SAID}" in done.stdout
        folder = tmp_path / "results"
        assert SAID in (folder / "report.md").read_text()
        report = json.loads((folder / "report.json").read_text())
        told = report["comparisons"][-1]["recommendations"][0]
        assert [own["code"] for own in told["cautions"]] == ["siblings"]
    assert f"Caution: {SAID}" in kragx("report", "results").stdout
    assert SAID in kragx("score", "wrong.jsonl", "--match", "rouge2").stdout
    assert (
        f"Caution: {SAID}"
        in kragx("score", "wrong.jsonl", "right.jsonl", "--match", "rouge2").stdout
    )
