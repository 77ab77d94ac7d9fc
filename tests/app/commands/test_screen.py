"""What `kragx run` prints fits one screen: verdict, one table, what to look at."""

from __future__ import annotations

import pytest

HEIGHT, WIDTH = 40, 100


@pytest.fixture
def run(kragx, jsonl, here, monkeypatch):
    """Run retrievers on questions in a window of 100 columns; gives the lines that one sees.

    Each question has one gold item `gN`; a retriever finds it at the rank that its name ends with.
    """
    monkeypatch.setenv("COLUMNS", str(WIDTH))

    def call(*options, names=("a1", "b2"), n=30, kinds=1, text="metrics: [mrr@5, recall@5]"):
        def query(number):
            return {
                "query_id": f"q{number}",
                "query": f"question {number}",
                "query_type": f"kind {number % kinds}",
                "gold": [{"id": f"g{number}", "text": f"text {number}"}],
            }

        jsonl(*map(query, range(n)), name="gold.jsonl")
        for name in names:
            rank = int(name[-1])
            lists = [
                [{"id": f"x{rank}"} for rank in range(1, rank)] + [{"id": f"g{number}"}]
                for number in range(n)
            ]
            records = [{**query(number), "retrieved": docs} for number, docs in enumerate(lists)]
            jsonl(*records, name=f"{name}.jsonl")
        retrievers = ", ".join(f"{name}: {name}.jsonl" for name in names)
        (here / "run.yaml").write_text(
            f"dataset: gold.jsonl\nretrievers: {{{retrievers}}}\nmatch: id\n"
            f"statistics: {{resamples: 500}}\n{text}\n",
            "utf-8",
        )
        outcome = kragx("run", "run.yaml", *options)
        seen = []
        for line in [*outcome.out.splitlines(), *outcome.err.splitlines()]:
            seen += [line[start : start + WIDTH] for start in range(0, len(line) or 1, WIDTH)]
        return outcome, seen

    return call


def order(text, *parts):
    """Whether the parts stand in the text, in this order."""
    places = [text.index(part) for part in parts]
    return places == sorted(places)


def test_the_verdict_stands_first_and_the_report_last(run):
    """Data set, verdict, table and where the report is, in this order, on one screen."""
    outcome, seen = run("-o", "out")
    assert outcome.code == 0
    assert order(outcome.out, "dataset: gold", "- Use a1: in mrr@5 it is better", "┏", "│ recall@5")
    assert outcome.err == "written to out; open out/report.html\n"
    assert len(seen) < HEIGHT


def test_small_slices_fill_no_lines(run, here):
    """13 slices of one or two questions have no line, table or column."""
    outcome, seen = run(n=20, kinds=13, text="metrics: mrr@5\nslices: query_type")
    assert len(seen) < HEIGHT
    assert "query_type" not in outcome.out
    full, _ = run("--full", "-o", "out", n=20, kinds=13, text="metrics: mrr@5\nslices: query_type")
    for text in (full.out, (here / "out" / "report.md").read_text("utf-8").replace("\\", "")):
        assert "By query_type" not in text
        assert "kind 12 (n = 1)" not in text


def test_slices_stand_in_the_report(run):
    """No line of the screen tells how the best does in each slice: that asks for nothing."""
    outcome, _ = run(n=60, kinds=6, text="metrics: mrr@5\nslices: query_type")
    assert "kind 0" not in outcome.out


def test_what_asks_for_nothing_stands_in_the_report(run, module, monkeypatch, here):
    """A few empty lists are no line of the screen, but of the report and of --full."""
    monkeypatch.syspath_prepend(str(here))
    module(
        "toy_few",
        "def few(question):\n    return [{'id': 'g2'}] * (question[-2:] != ' 3')\n",
    )
    options = ("--set", "retrievers.few=toy_few:few", "-o", "out")
    assert "empty list" not in run(*options)[0].out
    assert "few: queries answered with an empty list: " in run(*options, "--full")[0].out
    assert "answered with an empty list" in (here / "out" / "report.md").read_text("utf-8")


@pytest.mark.integration
def test_many_retrievers_and_metrics_fit(run):
    """Twelve retrievers stand below one another, with the first of twenty metrics."""
    names = [f"retriever-with-a-name-{number}-{number % 5 + 1}" for number in range(12)]
    metrics = [f"{name}@{k}" for k in range(1, 6) for name in ("mrr", "recall", "ndcg", "map")]
    outcome, seen = run(names=names, text=f"metrics: [{', '.join(metrics)}]")
    assert outcome.code == 0
    assert len(seen) < HEIGHT
    assert "16 more metrics: --full" in outcome.out
    assert all(f"│ {name} " in outcome.out for name in names)
    assert max(map(len, outcome.out.splitlines()[6:20])) <= WIDTH


def test_several_matchers_are_one_more_table(run):
    """The first metric under each matcher stands in a second table."""
    text = "metrics: [mrr@5, recall@5]\nmatchers: {by-id: id, by-name: {method: id}}"
    outcome, seen = run("--set", "match=null", text=text)
    assert outcome.code == 0
    assert len(seen) < HEIGHT
    assert "┃ mrr@5 by match ┃" in outcome.out
    assert "│ by-name        │" in outcome.out


def test_failures_come_before_the_verdict(run, module, monkeypatch, here):
    """A retriever that failed is named before anybody is called the best."""
    monkeypatch.syspath_prepend(str(here))
    module("toy_screen", "def broken(question):\n    raise OSError('no index')\n")
    outcome, seen = run("--set", "retrievers.broken=toy_screen:broken")
    failed = "broken failed on 30 of 30 questions, so it is not comparable (max_failed is 0)"
    assert order(outcome.out, failed, "OSError: no index", "Use a1", "┏")
    assert outcome.code == 5
    assert len(seen) < HEIGHT


@pytest.mark.parametrize("names", [("x",), ("x", "y")])
def test_failures_of_all_are_no_tie(run, module, monkeypatch, here, names, kragx):
    """Where every retriever failed at every question, no page of the run calls that a tie."""
    monkeypatch.syspath_prepend(str(here))
    module("toy_down", "def down(question):\n    raise OSError('no index')\n")
    retrievers = ", ".join(f"{name}: 'toy_down:down'" for name in names)
    outcome, _ = run("--set", f"retrievers={{{retrievers}}}", "-o", "out", names=())
    assert outcome.code == 5
    subject = "Every retriever" if len(names) > 1 else "The retriever x"
    verdict = f"{subject} failed, so there is nothing to compare."
    assert order(outcome.out, "x failed on 30 of 30", "OSError: no index", f"? {verdict}", "┏")
    markdown = (here / "out" / "report.md").read_text(encoding="utf-8")
    for text in (outcome.out, markdown, kragx("report", "out", "--full").out):
        assert verdict in text
        for untrue in ("same value for every query", "look at their gold", "nothing to choose"):
            assert untrue not in text


def test_failing_gates_are_lines(run):
    """Each gate that failed is a line with what was found, four at most."""
    gates = ", ".join(f"recall@{k}: '>= 2'" for k in range(2, 8))
    text = f"metrics: [{', '.join(f'recall@{k}' for k in range(2, 8))}]\ngates: {{{gates}}}"
    outcome, seen = run(text=text)
    assert outcome.code == 1
    assert len(seen) < HEIGHT
    assert "gates: 12 of 12 failed" in outcome.out
    assert "- recall@2 >= 2: a1 (id): " in outcome.out
    assert "and 8 more: --full" in outcome.out


def test_what_became_of_each_retriever_is_a_line(run):
    """Against earlier results the first metric's difference and the queries that changed."""
    run("-o", "before", names=("a2",))
    outcome, seen = run("--earlier", "before", "--set", "retrievers.a2=a1.jsonl", names=("a1",))
    assert "a2: mrr@5: now against earlier: difference is +0.5000" in outcome.out
    assert "queries: 30 better, 0 worse" in outcome.out
    assert len(seen) < HEIGHT


def test_report_prints_the_same(run, kragx):
    """`kragx report` on the folder prints the very screen of the run, and all of it with --full."""
    outcome, _ = run("-o", "out")
    assert kragx("report", "out").out == outcome.out
    assert "paired randomisation test" in kragx("report", "out", "--full").out


@pytest.mark.integration
def test_times_stand_with_full(run):
    """Times are no part of the one table, unless the verdict is about one."""
    text = "metrics: [mrr@5, seconds_mean, throughput, source_diversity@5]"
    assert "┃ metric             ┃" in run(text=text)[0].out
    out = run(text=text)[0].out
    assert (
        out.count("seconds_mean") == out.count("seconds_mean: no value for 30 of 30 queries") == 1
    )
    assert "│ seconds_mean" in run("--full", text=text)[0].out
    assert "│ seconds_mean" in run(text="metrics: [seconds_mean, mrr@5]")[0].out
