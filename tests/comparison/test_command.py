"""`kragx run`, `report` and `compare`: comparisons, gates, exit codes and reports on disk."""

from __future__ import annotations

import json
import re
import sys

import pytest

from kragx.app import config, pipeline
from kragx.app.pytest import assert_gates
from kragx.data import read_dataset
from tests.report.test_page import parts
from tests.sealing import reseal
from tests.thoroughness import all_cases

GATES = "gates: {mrr@5: '>= 0.8', recall@5: no worse than baseline by 0.02}"
AGAINST_EARLIER = "gates: {retrievers: {mine: {mrr@5: no worse than earlier by 0.02}}}"


def test_run_shows_the_comparison(run):
    """Means with intervals, the difference from the baseline, slices and advice: with --full."""
    outcome = run("new", "--full")
    assert outcome.code == 0
    for text in (
        "Compared with other",
        "95% interval",
        "corrected for all that is looked at",
        "By query_type",
        "lookup (n = 12)",
        "▲ better",
        "? The data does not say which retriever is best in mrr@5: mine has the best value",
    ):
        assert text in outcome.out


def test_one_retriever_has_its_micro_averages(run):
    """Alone, a retriever has intervals and micro averages, and nothing it is compared with."""
    outcome = run("new", "--set", "retrievers={mine: 'toy_compared:new'}", "--set", "baseline=mine")
    assert outcome.code == 0
    assert "micro" in outcome.out
    assert "[0.8620, 1.0000]" in outcome.out  # Wilson: 24 of 24
    assert "difference" not in outcome.out
    assert "? There is one retriever" in outcome.out


def test_one_retriever_that_failed_has_no_micro_averages(run):
    """What failed has no number at all, not a micro average of 0 beside its dashes."""
    answer = json.dumps({"id": "1", "documents": []})
    program = [sys.executable, "-c", "import sys; input(); print(sys.argv[1])", answer]
    broken = json.dumps({"mine": {"command": program}})  # it answers one question, and ends
    outcome = run("new", "--set", f"retrievers={broken}", "--set", "baseline=mine")
    assert (outcome.code, "✗" in outcome.out, "micro" in outcome.out) == (5, True, False)


@pytest.mark.integration
def test_report_gives_the_same_again(run, here, kragx):
    """`kragx report` finds the very same comparison, changes and gates in the folder."""
    run("old")
    run("new", "--earlier", "old", more=GATES)
    written = json.loads((here / "new" / "report.json").read_text(encoding="utf-8"))
    again = kragx("report", "new", "--format", "json")
    assert again.code == 1
    found = json.loads(again.out)
    for name in ("comparisons", "changes", "gates"):
        assert found[name] == written[name]
    markdown = kragx("report", "new", "--format", "markdown")
    assert markdown.out == (here / "new" / "report.md").read_text(encoding="utf-8")


@pytest.mark.integration
def test_gates_end_with_1_and_a_table(run, here):
    """A gate that fails ends the command with 1, after everything was written and shown."""
    outcome = run("old", "--summary", "summary.md", more="gates: {mrr@5: '>= 0.8'}")
    assert outcome.code == 1
    assert "gates: 2 of 2 failed" in outcome.out
    assert "mrr@5 >= 0.8" in outcome.out
    assert (here / "old" / "report.json").exists()
    summary = (here / "summary.md").read_text(encoding="utf-8")
    assert summary.startswith("## kragx: ❌ 2 of 2 gates failed")
    assert "| ❌ | mrr@5 &gt;= 0.8 | mine |" in summary
    passing = run("new", "--summary", "summary.md", more="gates: {recall@5: '>= 1'}")
    assert passing.code == 0
    assert "gates: all 2 passed" in passing.out
    assert "✅ every gate passed" in (here / "summary.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ("gates: {mrr@10: '> 0'}", "gates.mrr@10: mrr@10 is not computed; add it to 'metrics'"),
        ("gates: {mrr@5: 1}", "gates.mrr@5: 1 is no condition"),
        (
            "gates: {mrr@10: ['> 0', '< 1']}",
            "1 problem\n  gates.mrr@10: mrr@10 is not computed",
        ),
        ("gates: {retrievers: {min: {mrr@5: '> 0'}}}", "perhaps you meant 'mine'?"),
        (AGAINST_EARLIER, "gates.retrievers.mine.mrr@5: 'no worse than earlier' needs earlier re"),
        (
            "gates: {slices: {query_type: {lokup: {mrr@5: '> 0'}}}}",
            "gates.slices.query_type.lokup.mrr@5: no query has the value 'lokup'; perhaps you "
            "meant 'lookup'?",
        ),
        (
            "gates:\n  mrr@5: >= 0.5",
            'a value that begins with > or | needs quotes, for example ">=',
        ),
        ("gates:\n  mrr@5: > 0.5", "needs quotes"),
        ("gates: {mrr@5: >= 0.5}", "needs quotes"),
    ],
)
def test_gates_that_cannot_be_checked(run, here, more, problem):
    """A gate on what will not be there ends with 2 before anything is asked."""
    outcome = run("new", more=more)
    assert outcome.code == 2
    assert problem in outcome.err
    assert list((here / "new").rglob("*.jsonl")) == []


UNDECIDABLE = """gates:
  recall@5: [surely >= 0.95, no worse than baseline by 0.02]
  mrr@5: surely no worse than baseline by 0.02
  slices: {query_type: {why: {recall@5: surely >= 0.8}}}"""
FEW = (
    "gates.recall@5: 'surely >= 0.95' cannot be decided with 24 questions: even 1.0000 on each "
    "would only be surely at least 0.8575; 73 questions can"
)


def test_what_cannot_be_decided_is_said_before_anything_is_asked(run, here):
    """Each gate that so few questions cannot decide, of a slice by its own; then nothing runs."""
    outcome = run("missing", more=UNDECIDABLE)
    assert outcome.code == 2
    assert "toy_compared" in outcome.err
    lines = outcome.err.splitlines()
    assert lines[:3] == [
        f"kragx: {FEW}",
        "kragx: gates.mrr@5: 'surely no worse than baseline by 0.02' cannot be decided with 24 "
        "questions unless it is better: even no difference on any would only be surely at least "
        "-0.1425; 189 questions can",
        "kragx: gates.slices.query_type.why.recall@5: 'surely >= 0.8' cannot be decided with 12 "
        "questions: even 1.0000 on each would only be surely at least 0.7354; 17 questions can",
    ]
    korean = run("missing", more=UNDECIDABLE, language="ko").err.splitlines()[0]
    assert korean.startswith("kragx: gates.recall@5: 'surely >= 0.95' 질문 24개로는 판단할 수 없음")


@pytest.mark.integration
def test_what_cannot_be_decided_fails_and_says_so(run, here, kragx):
    """On the screen, in the summary and in Markdown; a point estimate is called one everywhere."""
    outcome = run("new", "--summary", "summary.md", more=UNDECIDABLE)
    assert outcome.code == 1
    assert FEW in outcome.err
    said = FEW.partition("' ")[2]
    shown = " ".join(outcome.out.split())
    assert said in shown
    for text in (
        (here / "summary.md").read_text(encoding="utf-8"),
        kragx("report", "new", "--format", "markdown").out,
    ):
        assert said in text
    assert "against baseline (point estimate)" in (here / "new" / "report.md").read_text("utf-8")


def test_few_questions_decide_nothing_between_retrievers(run, jsonl, here):
    """The least p that five questions can reach is .0625: said first, once, and in the report."""
    outcome = run("new", "--set", "dataset.path=few.jsonl", "--set", "metrics=[mrr@5]")
    assert "few.jsonl" in outcome.err  # not there yet
    records = [
        {"query_id": f"q{i}", "query": f"question {i}", "query_type": "why", "gold": [{"id": "g1"}]}
        for i in range(5)
    ]
    jsonl(*records, name="few.jsonl")
    outcome = run("new", "--set", "dataset.path=few.jsonl", "--set", "metrics=[mrr@5]")
    line = (
        "differences between retrievers cannot be decided with 5 questions: the least p that they "
        "can reach is .063; 6 questions can, if all of them agree; some "
        "fifty are a start"
    )
    assert outcome.err.startswith(f"kragx: {line}\n")
    assert "cannot be decided" not in outcome.out
    assert line in (here / "new" / "report.md").read_text("utf-8")
    korean = run("newer", "--set", "dataset.path=few.jsonl", language="ko")
    assert korean.err.startswith("kragx: 질문 5개로는 검색기 간의 차이를 판단할 수 없습니다")


def test_unknown_slices_are_told_before_anything_is_asked(run, here):
    """Fields that no query has are all named, and no retriever answers in vain."""
    outcome = run("new", "--set", "slices=[query_typ, nothing]")
    assert outcome.code == 2
    assert "no query has a value of 'query_typ'; perhaps you meant 'query_type'?" in outcome.err
    assert "no query has a value of 'nothing'" in outcome.err
    assert list((here / "new").rglob("*.jsonl*")) == []


def test_all_mistakes_of_the_new_keys_at_once(kragx, here, gold):
    """Baseline, slices and statistics are checked like the rest, each with its path."""
    (here / "bad.yaml").write_text(
        "dataset: gold.jsonl\nretrievers: {mine: {results: gold.jsonl}}\nbaseline: mind\n"
        "slices: []\nstatistics: {confidence: 95, resample: 3, correction: bonferroni}\n",
        encoding="utf-8",
    )
    code, _, err = kragx("run", "bad.yaml")
    assert code == 2
    for part in (
        "baseline: 'mind' is no retriever; perhaps you meant 'mine'?",
        "slices: is empty",
        "statistics.confidence: ",
        "statistics.resample: unknown key; perhaps you meant 'resamples'?",
        "statistics.correction: ",
    ):
        assert part in err


@pytest.mark.integration
def test_the_first_metric_is_that_of_the_present_run(run, kragx):
    """What was first in earlier results, or in other folders, decides nothing now."""
    first = "metrics=[recall@5, mrr@5]"
    run("old")
    now = run("new", "--set", first, "--earlier", "old")
    assert "\nmine: recall@5: now against earlier: " in now.out
    assert kragx("compare", "old", "new", "--format", "json").json()["changes"][0]["comparison"][
        "metrics"
    ] == ["recall@5", "mrr@5"]
    run("old", folder="older")
    (several,) = kragx("compare", "old", "older", "new", "--format", "json").json()["comparisons"]
    assert several["metrics"] == ["recall@5", "mrr@5"]


def test_earlier_results_gate(run):
    """A retriever that got worse than it was fails; one that got better passes."""
    run("old")
    run("new")
    assert run("new", "--earlier", "old", more=AGAINST_EARLIER, folder="a").code == 0
    worse = run("old", "--earlier", "new", more=AGAINST_EARLIER, folder="b")
    assert worse.code == 1
    assert "against earlier" in worse.out
    assert run("old", more=AGAINST_EARLIER + "\nearlier: new", folder="c").code == 1


def test_the_folder_itself_is_no_earlier_result(run):
    """A run that would overwrite what it compares with is refused before it begins."""
    run("old")
    outcome = run("new", "--earlier", "old", folder="old")
    assert outcome.code == 2
    assert "is the folder that this run writes" in outcome.err


@pytest.mark.integration
def test_compare_two_folders(run, kragx):
    """What got better and worse, by metric and by query, with the texts that changed most."""
    run("old")
    run("new")
    outcome = kragx("compare", "old", "new", "--retriever", "mine")
    assert outcome.code == 0
    assert "mine: now against earlier" in outcome.out
    assert "queries: 8 better, 4 worse" in outcome.out
    assert "<script>alert(1)</script> | *bold* ‹U+202E› 질문 3" in outcome.out
    assert "\u202e" not in outcome.out
    plain = kragx("compare", "old", "new", "--format", "json").json()
    mine, other = plain["changes"]
    assert other["better"] == other["worse"] == []
    assert {each["query_id"] for each in mine["better"]} == {f"q{i}" for i in range(0, 24, 3)}
    first = mine["better"][0]
    assert first["by"] == 0.75
    assert first["before"] == {"mrr@5": 0.25, "recall@1": 0.0}
    assert first["after"] == {"mrr@5": 1.0, "recall@1": 1.0}
    assert [each["by"] for each in mine["worse"]] == [-0.5] * 4
    back = kragx("compare", "new", "old", "--format", "json").json()["changes"][0]
    assert {each["query_id"] for each in back["worse"]} == {e["query_id"] for e in mine["better"]}


@pytest.mark.integration
def test_compare_in_a_narrow_window(run, kragx, monkeypatch):
    """In 80 columns nothing is cut."""
    run("old")
    run("new")
    monkeypatch.setenv("COLUMNS", "80")
    out = kragx("compare", "old", "new", "--retriever", "mine").out
    assert "…" not in out
    tables = [line for line in out.splitlines() if ": Run on " not in line]  # prose wraps
    assert max(map(len, tables)) <= 80
    cells = [re.split(r" *│ *", line)[2:-1] for line in out.splitlines() if "│ mrr@5 " in line]
    assert cells[0][:3] == ["0.7500", "0.8750", "+0.1250"]
    assert any(cell.startswith("[") for row in cells for cell in row)


@pytest.mark.integration
def test_changes_in_markdown_show_both_numbers(run, kragx):
    """What a retriever had before and has now stands beside the difference."""
    run("old")
    run("new")
    out = kragx("compare", "old", "new", "--retriever", "mine", "--format", "markdown").out
    assert "| metric | earlier | now | difference | interval |" in out
    assert "| `mrr@5` | 0.7500 | 0.8750 | +0.1250 |" in out


def test_what_did_not_change_is_one_line(run, kragx, here):
    """Not a table of zeros for each retriever; what did change has its table, and only that."""
    run("old", folder="before")
    earlier = ("--earlier", "before", "--summary", "s.md")
    again = run("old", *earlier)
    said = "nothing changed: mine and other; each of 24 queries has the values that it had"
    assert again.out.count("nothing changed") == again.out.count(said) == 1
    summary = (here / "s.md").read_text("utf-8").replace("\\", "")
    assert summary.count(said) == 1
    assert "against earlier" not in summary
    assert "달라진 것 없음: mine, other" in run("old", *earlier, language="ko").out
    run("new", *earlier)
    summary = (here / "s.md").read_text("utf-8")
    assert summary.count("nothing changed: other; each of 24") == 1
    assert "mine: now against earlier" in summary
    assert "other: now against earlier" not in summary


def test_compare_two_retrievers_of_one_folder(run, kragx):
    """Two retrievers are named; the second is set against the first."""
    run("new")
    outcome = kragx("compare", "new", "--retriever", "other", "--retriever", "mine")
    assert outcome.code == 0
    assert "mine: mine against other" in outcome.out
    assert "8 better, 4 worse" in outcome.out
    alone = kragx("compare", "new")
    assert alone.code == 2
    assert "--retriever mine --retriever other" in alone.err


@pytest.mark.integration
def test_compare_across_versions_of_the_gold(run, kragx, jsonl, here):
    """Questions that are not the same are named and left out, wherever the comparison is read."""
    run("old")
    records = [json.loads(line) for line in (here / "gold.jsonl").read_text("utf-8").splitlines()]
    records[0]["gold"].append({"id": "another"})
    records[1]["reference"] = "judges read it"
    records[2]["metadata"] = {"note": "a label is not read by metrics"}
    jsonl(*records[:20], {**records[20], "query_id": "new"}, name="gold.jsonl")
    run("new")
    told = kragx("compare", "old", "new")
    assert told.code == 0
    text = (
        "7 questions are not the same (2 changed, 1 only in the later, 4 only in the earlier: "
        "q0, q1, new, q20, q21 and 2 more), left out here; 18 are the same, and compared"
    )
    assert re.search(
        r"the gold sets differ \(gold version 1, sha256 .*\): " + re.escape(text), told.out
    )
    assert told.out.count("the gold sets differ") == 1  # for both retrievers
    assert "as before or mixed" in told.out
    assert "left out of the comparison" not in told.out  # nothing but that
    assert text in kragx("compare", "old", "new", "--format", "markdown").out.replace("\\", "")
    (change,) = kragx("compare", "old", "new", "--format", "json").json()["changes"][:1]
    (gold,) = change["comparison"]["gold"]
    assert gold["changed"] == ["q0", "q1"]
    assert gold["only_earlier"] == ["q20", "q21", "q22", "q23"]
    assert (gold["only_later"], gold["n_same"]) == (["new"], 18)
    assert change["comparison"]["n_queries"] == 18
    anyway = kragx("compare", "old", "new", "--anyway")
    assert "compared all the same: the gold sets differ" in anyway.out
    assert "7 questions are not the same (2 changed" in anyway.out
    assert "left out of the comparison: 4" in anyway.out


@pytest.mark.integration
def test_compare_where_matchers_read_gold_differently(run, kragx, jsonl, here):
    """Gold with the same text under another id: each matcher says which questions it compares."""
    both = "matchers: {strict: id, loose: exact}"
    records = [json.loads(line) for line in (here / "gold.jsonl").read_text("utf-8").splitlines()]
    run("old", "--set", "match=", more=both)
    records[0]["gold"][0]["id"] = "another"
    jsonl(*records, name="gold.jsonl")
    run("new", "--set", "match=", more=both)
    told = kragx("compare", "old", "new").out
    strict, loose = re.findall(r"match (?:strict|loose): the gold sets differ .*", told)
    assert "1 question is not the same (1 changed: q0), left out here; 23 are the same" in strict
    assert "no question differs in what metrics read" in loose


def test_results_name_the_release(run, kragx, here, gold):
    """A release's version stands in terminal, JSON, Markdown, and in what `kragx report` makes."""
    beside = {"file": "gold.jsonl", "name": "manuals", "version": "v2"}
    beside["hash"] = read_dataset(gold).content_hash
    (here / "gold.release.json").write_text(json.dumps(beside), encoding="utf-8")
    outcome = run("new", "--set", "dataset.version=")
    assert outcome.code == 0
    assert "dataset: manuals version v2, 24 of 24 queries scored" in outcome.out
    report = json.loads((here / "new" / "report.json").read_text(encoding="utf-8"))
    assert report["evaluations"][0]["settings"]["dataset"]["version"] == "v2"
    assert "Gold set manuals version v2" in (here / "new" / "report.md").read_text("utf-8")
    (here / "gold.release.json").unlink()
    gold.unlink()
    assert "dataset: manuals version v2" in kragx("report", "new").out


@pytest.mark.integration
def test_compare_refuses_other_gold(run, kragx, jsonl):
    """Gold sets without a question that is the same are refused, unless told otherwise."""
    run("old")
    records = [
        {"query_id": f"q{i}", "query": f"question {i}", "gold": [{"id": f"other{i}"}]}
        | ({"query_type": "why"})
        for i in range(20)
    ]
    jsonl(*records, name="gold.jsonl")
    run("new")
    refused = kragx("compare", "old", "new")
    assert refused.code == 2
    assert "mine: 'earlier' and 'now' cannot be compared: the gold sets differ (" in refused.err
    assert "and 19 more), none is the same (" in refused.err
    assert "--anyway" in refused.err
    allowed = kragx("compare", "old", "new", "--anyway")
    assert allowed.code == 0
    assert "compared all the same: the gold sets differ" in allowed.out
    assert "left out of the comparison: 4" in allowed.out


@pytest.mark.integration
def test_compare_with_gates(run, kragx):
    """Gates of the command line are held against the later results, or one of two retrievers."""
    run("old")
    run("new")
    gate = ("--gate", "mrr@5: no worse than earlier by 0.02", "--retriever", "mine")
    assert kragx("compare", "old", "new", *gate).code == 0
    failing = kragx("compare", "new", "old", *gate)
    assert failing.code == 1
    assert "gates: 1 of 1 failed" in failing.out
    for wrong in ("mrr@5", "mrr@5: great"):
        assert kragx("compare", "old", "new", "--gate", wrong).code == 2


@pytest.fixture
def beside(run, here):
    """Two result folders, and beside them what is none."""
    run("old")
    run("new")
    (here / "run.jsonl").write_text("{}", encoding="utf-8")
    (here / "folder").mkdir()
    (here / "broken").mkdir()
    (here / "broken" / "report.json").write_text('{"evaluations": [1]}', encoding="utf-8")


@pytest.mark.usefixtures("beside")
@all_cases(
    ("options", "code", "message"),
    [
        (("old", "nowhere"), 3, "nowhere: no result folder, as it has no manifest.json"),
        (("old", "run.jsonl"), 3, "run.jsonl: a file, and no result folder; results files are"),
        (("folder", "old"), 3, "folder: no result folder, as it has no manifest.json"),
        (
            ("old", "new", "--retriever", "mind"),
            2,
            "old has no retriever 'mind'; perhaps you meant 'mine'",
        ),
        (("old", "new", "--format", "yaml"), 2, "--format: "),
        (("old", "new", "--slice", "query_typ"), 2, "no query has a value of 'query_typ'"),
        (("old", "broken"), 3, "broken: no result folder, as it has no manifest.json"),
    ],
)
def test_compare_with_wrong_arguments(kragx, options, code, message):
    """Folders, retrievers and formats that are not there are named."""
    outcome = kragx("compare", *options)
    assert outcome.code == code
    assert message in outcome.err


@pytest.mark.integration
def test_markdown_shows_data_to_the_letter(run, here, kragx):
    """Markup, markers of direction and pipes in a question are shown and do nothing."""
    run("old")
    run("new", "--earlier", "old")
    for text in (
        (here / "new" / "report.md").read_text(encoding="utf-8"),
        kragx("compare", "old", "new", "--format", "markdown").out,
    ):
        assert "<script>" not in text
        assert "&lt;script&gt;alert(1)&lt;/script&gt; \\| \\*bold\\* ‹U+202E› 질문 3" in text
        assert "\u202e" not in text


@pytest.mark.integration
def test_markdown_report_has_its_sections(run, here):
    """Recommendations, metrics, the baseline, slices, earlier results and gates."""
    run("old")
    run("new", "--earlier", "old", more=GATES)
    text = (here / "new" / "report.md").read_text(encoding="utf-8")
    headings = [line for line in text.splitlines() if line.startswith("#")]
    assert headings == [
        "# gold",
        "## Recommendations",
        "## Metrics by retriever",
        "## Compared with other",
        "## By query\\_type",
        "### lookup: 12 queries",
        "### why: 12 queries",
        "## Compared with the earlier results",
        "### mine: now against earlier",
        "## Gates",
    ]
    assert "nothing changed: other; each of 24" in text


def test_several_matchers(run, here):
    """Each matcher has a comparison of its own, and gates say under which one they failed."""
    matchers = "matchers: {loose: id, strict: exact}"
    text = f"{matchers}\ngates: {{matchers: {{strict: {{mrr@5: '>= 0.8'}}}}}}"
    (here / "both.yaml").write_text("", encoding="utf-8")
    outcome = run("new", "--set", "match=null", more=text)
    assert outcome.code == 1
    report = json.loads((here / "new" / "report.json").read_text(encoding="utf-8"))
    assert [each["match"] for each in report["comparisons"]] == ["loose", "strict"]
    assert {each["match"] for each in report["gates"]} == {"strict"}


@pytest.mark.integration
def test_assert_gates_runs_a_config_and_reads_a_folder(run, here):
    """The pytest helper takes a config, a folder, or the report of a run."""
    run("new", more="gates: {retrievers: {mine: {mrr@5: '>= 0.8'}}}")
    assert len(assert_gates("run.yaml")) == len(assert_gates("new")) == 1
    report = pipeline.run(config.load("run.yaml"))
    assert len(assert_gates(report)) == 1
    with pytest.raises(AssertionError, match="1 of 1 gates failed"):
        assert_gates(report, {"retrievers": {"other": {"mrr@5": ">= 0.8"}}})
    run("old", folder="older")
    worse = {"retrievers": {"mine": {"mrr@5": "no worse than earlier"}}}
    with pytest.raises(AssertionError, match="against earlier"):
        assert_gates("older", worse, earlier="new")


def test_narrow_terminal(run, monkeypatch):
    """In 60 columns no number is cut: tables are split, and intervals are left to the files."""
    monkeypatch.setenv("COLUMNS", "60")
    outcome = run("new", "--set", "retrievers.third.class=toy_compared:new", more="")
    assert outcome.code == 0
    assert "…" not in outcome.out
    table = [line for line in outcome.out.splitlines() if line[:1] in "┏┃┡│└"]
    assert max(map(len, table)) <= 60
    assert "│ mrr@5    │ 0.8750 = │ 0.7500 ≈ │ 0.8750 = │" in outcome.out


@pytest.mark.integration
def test_earlier_results_are_checked_before_anything_is_asked(run, here, kragx, jsonl):
    """Other gold or other retrievers are told at once, not when every question was answered."""
    run("old")
    records = [json.loads(line) for line in (here / "gold.jsonl").read_text("utf-8").splitlines()]
    jsonl(*records[:20], name="gold.jsonl")
    told = run("new", "--earlier", "old", folder="told", more=AGAINST_EARLIER)
    assert told.code == 0
    assert "4 questions are not the same (4 only in the earlier: q20, q21, q22, q23)" in told.out
    assert "left out here; 20 are the same, and compared" in told.out
    page = (here / "told" / "report.md").read_text(encoding="utf-8")
    assert "4 questions are not the same" in page
    assert kragx("report", "told", "--format", "html", "--out", "again.html").code == 0
    for path in (here / "told" / "report.html", here / "again.html"):
        index = json.dumps(parts(path)["index"], ensure_ascii=False)
        assert "4 questions are not the same (4 only in the earlier: q20, q21, q22, q23)" in index
        assert "left out here; 20 are the same, and compared" in index
    for record in records:
        record["gold"] = [{"id": "another"}]
    jsonl(*records, name="gold.jsonl")
    outcome = run("new", "--earlier", "old", folder="other")
    assert outcome.code == 2
    assert "cannot be compared with this config: the gold sets differ" in outcome.err
    assert not (here / "other").exists()
    anyway = run("new", "--earlier", "old", "--anyway", folder="anyway")
    assert anyway.code == 0
    assert "compared all the same: the gold sets differ" in anyway.out
    path = here / "old" / "report.json"
    plain = json.loads(path.read_text(encoding="utf-8"))
    for each in plain["evaluations"]:
        each["retriever"] = f"was {each['retriever']}"
    path.write_text(json.dumps(plain), encoding="utf-8")
    reseal(here / "old")
    renamed = run("new", "--earlier", "old", folder="renamed")
    assert renamed.code == 2
    assert "old has no retriever of this config; it has was mine, was other" in renamed.err


@pytest.mark.integration
@pytest.mark.parametrize(
    ("without", "code", "message"),
    [
        (("settings", "deviations"), 0, ""),
        (("settings", "versions"), 0, "computed by different versions of kragx (None and"),
        (("settings", "dataset", "hash"), 0, "has no content hash"),
        (("settings", "profile", "rel"), 0, ""),
        (("settings", "profile", "over"), 2, "the profiles differ (over None and 'k')"),
        (("settings", "match"), 3, "evaluations: not what kragx writes: KeyError('match')"),
        (("mean",), 3, "not what kragx writes"),
    ],
)
def test_a_report_that_lacks_something(run, here, kragx, without, code, message):
    """What an older version did not write is unknown, and said; what is needed is an error."""
    run("old")
    run("new")
    path = here / "old" / "report.json"
    plain = json.loads(path.read_text(encoding="utf-8"))
    for each in plain["evaluations"]:
        part = each
        for key in without[:-1]:
            part = part[key]
        del part[without[-1]]
    path.write_text(json.dumps(plain), encoding="utf-8")
    reseal(here / "old")
    outcome = kragx("compare", "old", "new")
    assert outcome.code == code
    assert message in outcome.out + outcome.err


@pytest.mark.integration
def test_compare_several_folders(run, kragx):
    """The best first, every other one against it, p corrected over every two; names of folders."""
    run("old")
    for folder in ("new", "third"):
        run("new" if folder == "new" else "old", folder=folder)
    outcome = kragx("compare", "old", "new", "third", "--retriever", "mine")
    assert outcome.code == 0
    assert "Compared with mine (new)" in outcome.out
    record = kragx(
        "compare", "old", "new", "third", "--retriever", "mine", "--format", "json"
    ).json()
    (comparison,) = record["comparisons"]
    assert record["changes"] == []
    assert comparison["retrievers"] == ["mine (new)", "mine (old)", "mine (third)"]
    assert comparison["baseline"] == "mine (new)"
    n_pairs = 3
    assert comparison["n_tests"] == n_pairs
    everybody = kragx("compare", "old", "new", "third", "--format", "json").json()
    assert len(everybody["comparisons"][0]["retrievers"]) == 6
    assert "mine (new)" in kragx("compare", "old", "new", "third", "--format", "markdown").out


@pytest.mark.integration
def test_several_folders_have_no_earlier_one(run, kragx):
    """Gates hold for each; one on earlier results, unknown retrievers, a folder twice do not."""
    for folder in ("old", "new", "third"):
        run("old" if folder == "third" else folder, folder=folder)
    folders = ("old", "new", "third", "--retriever", "mine")
    gated = kragx("compare", *folders, "--gate", "mrr@5: no worse than baseline by 0.02")
    assert gated.code == 1
    assert "mine (old)" in gated.out
    refused = kragx("compare", *folders, "--gate", "mrr@5: no worse than earlier")
    assert refused.code == 2
    assert "of more than two folders none is the earlier one" in refused.err
    assert kragx("compare", "old", "new", "third", "--retriever", "nobody").code == 2
    twice = kragx("compare", "old", "new", "old")
    assert twice.code == 2
    assert "old is named twice" in twice.err
