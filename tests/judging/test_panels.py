"""Panels: several judges' votes on one question, what they decide, and how far judges agree."""

from __future__ import annotations

import base64
import itertools
import json
import re
import zlib

import numpy as np
import pytest
from hypothesis import given, strategies as st

from kragx import GoldDataset, evaluate
from kragx.adapters.krag.rag_evaluator import RAGEvaluator
from kragx.agreement import agree, probe
from kragx.app.commands.main import main
from kragx.app.pipeline import recompute
from kragx.app.run_summary import judging_plan
from kragx.errors import JudgingError, UsageError
from kragx.evaluation.pools import pooled
from kragx.judging import RUBRICS, Failure, Judge, Panel, Question, Store, read_judge
from kragx.judging.clients.scripted import ScriptedClient
from kragx.judging.panel import alpha, repeated
from kragx.judging.question import decided, n_needed, settled_grade
from kragx.judging.store.qrels import grades as grades_of
from kragx.metrics import KRAGX, MatchTable, Votes, compute, parse_all
from tests.judging.support import ask, judge_of
from tests.thoroughness import all_cases, examples, some

RULES = ("median", "majority", "mean")
GRADES = st.lists(st.integers(0, 3), min_size=1, max_size=5)


def voter(name, place):
    """A client that gives a document the grade at its place in ``grades-310``; x is a refusal."""

    def grade(request):
        letter = request.messages[1][1].rsplit("grades-", 1)[1][place]
        return Failure("refusal") if letter == "x" else int(letter)

    return ScriptedClient(grade, model=name)


def panel_of(store, n=3, names="abcde", **options):
    """A panel of so many voters."""
    clients = [voter(names[place], place) for place in range(n)]
    given = {"panel": clients, "store": store, "progress": False, "attempts": 1, **options}
    return read_judge(given), clients


def grades(judged):
    """The grades alone."""
    return [judgement.grade for judgement in judged.judgements]


# -- what votes decide -------------------------------------------------------------------------


@all_cases(
    ("votes", "median", "majority", "mean"),
    [
        ([3, 3, 1], 3, 3, 7 / 3),
        ([0, 2, 3], 2, 2, 5 / 3),
        ([0, 0, 3, 3], 0, 0, 1.5),
        ([1, 1, 2, 3, 3], 2, 1, 2.0),
        ([2, 3], 2, 2, 2.5),
        ([1], 1, 1, 1),
    ],
)
def test_by_hand(votes, median, majority, mean):
    """The lower middle; the most frequent, of several the median of these; the mean."""
    assert [decided(votes, rule) for rule in RULES] == [median, majority, pytest.approx(mean)]


@examples(200)
@given(votes=GRADES, cut=st.integers(1, 3))
def test_the_median_is_a_match_where_more_than_half_of_the_votes_are(votes, cut):
    """At whatever cut, also for an even number."""
    share = sum(vote >= cut for vote in votes) / len(votes)
    assert (decided(votes, "median") >= cut) == (share > 0.5)


@examples(200)
@given(votes=GRADES, n_open=st.integers(0, 3), rule=st.sampled_from(RULES))
def test_what_is_settled_no_further_vote_changes(votes, n_open, rule):
    """Against all votes that there may be; a median is settled exactly where none changes it."""
    further = itertools.product(range(4), repeat=n_open)
    possible = {decided([*votes, *more], rule) for more in further}
    grade = settled_grade(votes, n_open, rule, 3)
    if grade is not None:
        assert possible == {grade}
    elif rule != "majority":
        assert len(possible) > 1


@all_cases("rule", RULES)
@all_cases("n", range(2, 7))
def test_how_many_are_needed(rule, n):
    """So many of one mind decide, whichever grade they give, and no fewer do for all of them."""
    enough = n_needed(n, rule)
    assert all(settled_grade([grade] * enough, n - enough, rule, 3) == grade for grade in range(4))
    fewer = [settled_grade([grade] * (enough - 1), n - enough + 1, rule, 3) for grade in range(4)]
    assert None in fewer


@examples(100)
@given(
    rows=st.lists(
        st.lists(st.sampled_from([None, "refusal", 0, 1, 2, 3]), min_size=3, max_size=3),
        min_size=2,
        max_size=12,
    )
)
def test_alpha_is_krippendorffs(rows):
    """As the package has it, with missing votes; None where it has no value."""
    krippendorff = pytest.importorskip("krippendorff")
    counts = {}
    for row in rows:
        counts[tuple(row)] = counts.get(tuple(row), 0) + 1
    data = np.array(
        [[vote if isinstance(vote, int) else np.nan for vote in row] for row in rows], float
    ).T
    compared = data[:, (~np.isnan(data)).sum(0) > 1]
    if len(np.unique(compared[~np.isnan(compared)])) < 2:
        assert alpha(counts) is None
    else:
        expected = krippendorff.alpha(data, level_of_measurement="ordinal")
        assert alpha(counts) == pytest.approx(expected)


# -- being asked -------------------------------------------------------------------------------


def test_votes_are_kept_and_shown(store):
    """Each vote is a stored judgement; the verdict says who voted how, and a second run is free."""
    panel, clients = panel_of(store)
    questions = [ask("grades-331"), ask("grades-000")]
    judged = panel.judge(questions)
    assert grades(judged) == [3, 0]
    first = judged.judgements[0]
    assert first.reason == "2 of 3 said 3 (a 3, b 3, c 1). a: as scripted"
    assert (first.reach, first.votes) == ((1, 3), (3, 3, 1))
    assert judged.tally.n_calls == 6
    assert judged.tally.votes == {(3, 3, 1): 1, (0, 0, 0): 1}
    with Store(store) as opened:
        models = sorted(record["question"]["client"]["model"] for record in opened.records())
    assert models == ["a", "a", "b", "b", "c", "c"]
    again, _ = panel_of(store)
    assert [own.reason for own in again.stored(questions)] == [
        own.reason for own in judged.judgements
    ]
    assert again.judge(questions).tally.n_calls == 0
    assert len(clients[0].requests) == 2


def test_the_third_only_where_two_differ(store):
    """The cheapest order: whoever cannot change what is decided is not asked."""
    panel, clients = panel_of(store, ask="needed")
    judged = panel.judge([ask("grades-330"), ask("grades-203"), ask("grades-111")])
    assert [len(client.requests) for client in clients] == [3, 3, 1]
    assert grades(judged) == [3, 2, 1]
    assert judged.judgements[0].reason.startswith("2 of 2 said 3 (a 3, b 3, c not needed)")
    summary = panel.summary(judged.tally)["panel"]
    assert summary["alpha_of"] == ["a", "b"]  # c was asked where they differ: no fair sample
    everywhere, _ = panel_of(store.with_name("all.sqlite"))
    assert grades(everywhere.judge([ask("grades-331"), ask("grades-203"), ask("grades-111")])) == [
        *grades(judged)
    ]


def test_of_five_the_fourth_and_fifth_only_while_undecided(store):
    """Three of one mind decide; else the fourth, and the fifth if that is not enough."""
    panel, clients = panel_of(store, 5, ask="needed")
    assert grades(panel.judge([ask("grades-22200"), ask("grades-33130"), ask("grades-01230")])) == [
        *(2, 3, 1)
    ]
    assert [len(client.requests) for client in clients] == [3, 3, 3, 2, 1]


def test_a_vote_that_failed_is_no_grade(store):
    """It is never 0: where it could change the verdict there is none, elsewhere it does not matter.

    A mean needs every vote.
    """
    panel, _ = panel_of(store)
    judged = panel.judge([ask("grades-33x"), ask("grades-30x")])
    assert grades(judged) == [3, None]
    assert judged.judgements[0].reason.startswith("2 of 2 said 3 (a 3, b 3, c refusal)")
    assert judged.judgements[1].failure == "refusal"
    assert judged.judgements[1].detail.startswith("undecided (a 3, b 0, c refusal)")
    assert (judged.tally.n_judgements, judged.tally.n_missing) == (2, 1)
    mean, _ = panel_of(store, decide="mean")
    assert grades(mean.judge([ask("grades-33x"), ask("grades-30x")])) == [None, None]


def test_repeats(store):
    """One judge asked three times: the first vote has the key of old, and serves its old grade."""
    judge_of(ScriptedClient([3]), store).judge([ask("x")])
    client = ScriptedClient([0, 0])
    panel = read_judge({"client": client, "store": store, "progress": False, "repeats": 3})
    judged = panel.judge([ask("x")])
    assert (grades(judged), judged.judgements[0].votes) == ([0], (3, 0, 0))
    assert panel.model == "median of 3 repeats of scripted"
    with Store(store) as opened:
        assert [record["question"]["repeat"] for record in opened.records()] == [0, 1, 2]
    assert read_judge({"client": client, "repeats": 1}) == Judge(client)


def test_human_labels_win_and_are_no_votes(store):
    """A person's label decides, counts once, and raises no agreement among the judges."""
    panel, clients = panel_of(store)
    with Store(store) as opened:
        opened.add_labels([("q1", "d1", 0)], "labels")
    labelled, other = (
        Question(RUBRICS["relevance-en-1"], text, query="q", query_id="q1", document_id=name)
        for text, name in (("grades-333", "d1"), ("grades-312", "d2"))
    )
    judged = panel.judge([labelled, other])
    assert grades(judged) == [0, 2]
    assert judged.tally.n_human == 1
    assert judged.tally.votes == {(3, 1, 2): 1}
    assert [len(client.requests) for client in clients] == [1, 1, 1]


def test_a_judge_that_cannot_be_asked(store):
    """A wrong key of the second stops the panel at once; what the first said is not asked again."""
    wrong = ScriptedClient([Failure("api_error", "wrong key", fatal=True)], model="b")
    clients = [voter("a", 0), wrong, voter("c", 2)]
    panel = read_judge({"panel": clients, "store": store, "progress": False})
    with pytest.raises(JudgingError, match="wrong key"):
        panel.judge([ask("grades-331"), ask("grades-000")])
    assert [len(client.requests) for client in clients] == [2, 1, 0]
    mended, clients = panel_of(store)
    assert grades(mended.judge([ask("grades-331"), ask("grades-000")])) == [3, 0]
    assert [len(client.requests) for client in clients] == [0, 2, 2]


@pytest.mark.parametrize("per", ["run", "total"])
def test_one_budget_for_all(per, store):
    """Five calls are five of the panel, not of each of its judges, and a new run goes on."""
    panel, clients = panel_of(store, budget={"calls": 5, "per": per})
    questions = [ask(f"grades-{n}{n}{n}") for n in range(4)]
    with pytest.raises(JudgingError, match="5 of 5 calls"):
        panel.judge(questions)
    assert sum(len(client.requests) for client in clients) == 5
    more, _ = panel_of(store, budget={"calls": 7 if per == "run" else 12, "per": per})
    assert grades(more.judge(questions)) == [0, 1, 2, 3]


def test_a_dry_run(store):
    """Calls of each judge, of the later ones at most."""
    panel, _ = panel_of(store, ask="needed", dry_run=True, budget={"calls": 5})
    panel.judge([ask("grades-331"), ask("grades-000")])
    assert [plan.about.n_calls for plan in panel.plans] == [2, 2, 2]
    assert [plan.at_most for plan in panel.plans] == [False, False, True]


@all_cases(
    ("options", "problem"),
    [
        ({"panel": ["a"]}, "judge.panel: a list of at least two judges is needed"),
        ({"panel": "a"}, "judge.panel: a list of at least two judges is needed"),
        ({"panel": ["a", "a"]}, r"judge.panel\[1\]: 'a' stands there twice"),
        (
            {"panel": ["a", {"model": "b", "budget": 3}]},
            r"\[1\]: judge.budget: belongs to the",
        ),
        ({"panel": ["a", "b"], "model": "c"}, "judge.model: belongs to a judge of the panel"),
        ({"panel": ["a", "b"], "repeats": 2}, "judge.repeats: belongs to a judge of the panel"),
        ({"panel": ["a", "b"], "decide": "best"}, "judge.decide: "),
        ({"panel": ["a", "b"], "decide": "mean", "ask": "needed"}, "judge.ask: a mean needs every"),
        ({"model": "a", "decide": "mean"}, "judge.decide: belongs to several votes"),
        ({"model": "a", "repeats": 0}, "judge.repeats: "),
        (
            {"panel": ["a", {"model": "b", "temprature": 1}]},
            r"\[1\]: judge.temprature: unknown",
        ),
        (
            {"panel": ["a", "b"], "budget": 3, "prices": {"a": {"input": 1, "output": 1}}},
            r"panel\[1\]: judge.budget: no price of 'b'",
        ),
    ],
)
def test_wrong_options(options, problem):
    """What cannot be is said with its place."""
    with pytest.raises(UsageError, match=problem):
        read_judge(options)


def test_judges_that_differ_in_what_they_share(store):
    """In Python as well: one store, one rubric, one budget."""
    judges = [judge_of(voter("a", 0), store), judge_of(voter("b", 1), store.with_name("b.sqlite"))]
    with pytest.raises(UsageError, match="store: the judges of a panel share it"):
        Panel(judges)


# -- in use ------------------------------------------------------------------------------------

GOLD = [["the cat sat on the mat"], ["a dog in the fog"]]
FOUND = [["grades-331 one", "grades-100 two"], ["grades-000 three", "grades-023 four"]]


@pytest.mark.parametrize(
    ("rule", "mrr"), some([("median", 0.75), ("mean", 0.5), ("majority", 0.75)], 3)
)
def test_evaluate(rule, mrr, store):
    """The verdicts decide, in a matcher, in a combination and in K-RAG's evaluator."""
    panel, _ = panel_of(store, decide=rule)
    spec = {"method": "llm", "judge": panel}
    result = evaluate(GOLD, FOUND, match=spec, metrics=["mrr@5"])
    assert result["mrr@5"] == mrr  # 0, 2, 3: a mean of 1.67 is no match
    assert result.settings["match"]["model"] == f"{rule} of a, b, c"
    assert result.counts["judging"]["panel"]["n_disputed"] == 3
    mixed = evaluate(GOLD, FOUND, match={"any": ["text", spec]}, metrics=["mrr@5"])
    assert mixed["mrr@5"] == mrr
    krag = RAGEvaluator(match_method="llm", judge=panel, profile="kragx")
    assert krag.evaluate_all(GOLD, FOUND, k=5)["mrr"]["mrr"] == mrr


def test_a_pool(store):
    """Without gold the verdicts on relevance are the gold."""
    panel, clients = panel_of(store, ask="needed")
    spec = {"method": "llm", "judge": panel}
    queries = GoldDataset.from_documents([[], []], queries=["where is it?", "who is it?"])
    deciding = pooled(queries, [FOUND], match=spec)
    result = evaluate(queries, FOUND, match=deciding, metrics=["mrr@5", "ndcg@2"])
    assert result["mrr@5"] == 0.75
    assert len(clients[2].requests) == 2


def content(page):
    """What the blocks of a page hold, as one text."""
    blocks = re.findall(r'<script[^>]*type="[^"]*"[^>]*>([A-Za-z0-9+/=]{20,})</script>', page)
    return "".join(zlib.decompress(base64.b64decode(block)).decode() for block in blocks)


@pytest.mark.integration
def test_bounds_by_hand(store):
    """A pair that some judge calls a match and another does not moves the metric, and no other.

    Votes of 3, 3, 1 at rank 1 and of 0, 2, 3 at rank 2: MRR is (1 + 1/2) / 2 at most, 0 at least.
    """
    panel, _ = panel_of(store)
    spec = {"method": "llm", "judge": panel}
    result = evaluate(GOLD, FOUND, match=spec, metrics=["mrr@5", "precision@1"])
    assert result.bounds == {}  # nothing is missing
    assert result.vote_bounds == {"mrr@5": (0.0, 0.75), "precision@1": (0.0, 0.5)}
    assert "by the strictest and the most lenient vote on each pair: mrr@5 0.0000 to 0.7500" in (
        "\n".join(result.remarks)
    )
    assert result.to_dict()["vote_bounds"]["mrr@5"] == [0.0, 0.75]
    agreed = evaluate(GOLD[:1], [["grades-333"]], match=spec, metrics=["mrr@5"])
    assert agreed.vote_bounds == {"mrr@5": (1.0, 1.0)}
    strict = evaluate(GOLD, FOUND, match={**spec, "threshold": 1}, metrics=["mrr@5"])
    assert result.at_threshold(1).vote_bounds["mrr@5"] == strict.vote_bounds["mrr@5"]
    mixed = evaluate(GOLD, FOUND, match={"any": ["text", spec]}, metrics=["mrr@5"])
    assert mixed.vote_bounds == {"mrr@5": (0.0, 0.75)}
    sure = [[FOUND[0][0]], [FOUND[1][1]]]
    mixed = evaluate(sure, FOUND, match={"any": ["text", spec]}, metrics=["mrr@5"])
    assert mixed.vote_bounds == {"mrr@5": (0.75, 0.75)}  # what `text` decides no vote can change


@examples(60)
@given(
    votes=st.lists(st.tuples(*[st.integers(0, 3)] * 2), min_size=4, max_size=4),
    lost=st.none() | st.integers(0, 3),
)
def test_bounds_hold_whoever_is_right(votes, lost):
    """Against a table for each way to choose a vote for each pair; reached where a metric rises."""
    specs = parse_all(["mrr", "recall@2", "precision", "map", "ndcg", "redundancy"], KRAGX)

    def table(scores, **options):
        return MatchTable(
            doc_start=np.array([0, 2]),
            gold_start=np.array([0, 2]),
            grade=np.ones(2),
            answered=np.ones(1, bool),
            repeated=np.zeros(2, bool),
            pair_doc=np.array([0, 0, 1, 1], np.int32),
            pair_gold=np.array([0, 1, 0, 1], np.int32),
            pair_score=np.array(scores, float),
            threshold=2.0,
            unanswerable=np.zeros(1, bool),
            top=3.0,
            **options,
        )

    ways = [(0, 3) if place == lost else pair for place, pair in enumerate(votes)]
    lows, highs, scores = (np.array([of(pair) for pair in votes], float) for of in (min, max, min))
    for values in (lows, highs, scores):
        if lost is not None:
            values[lost] = np.nan
    decided_by = table(scores, votes=Votes(lows, highs, np.ones(2), np.ones(2)))
    bounds = [own.vote_bounds for own in compute(decided_by, specs)]
    means = [[own.mean for own in compute(table(one), specs)] for one in itertools.product(*ways)]
    for spec, ends, *values in zip(specs, bounds, *means):
        known = [value for value in values if value is not None]
        if ends is None:
            assert not known
            continue
        low, high = ends
        assert all(low - 1e-9 <= value <= high + 1e-9 for value in known)
        if spec.metric.rises_with_matches is True:
            assert (low, high) == (pytest.approx(min(known)), pytest.approx(max(known)))


CONFIG = """
dataset: {path: gold.jsonl}
retrievers:
  one: {results: one.jsonl}
match: llm
judge:
  panel:
    - {client: "tests.judging.test_panels:client_of", args: {name: a, place: 0}}
    - {client: "tests.judging.test_panels:client_of", args: {name: b, place: 1}}
    - {client: "tests.judging.test_panels:client_of", args: {name: c, place: 2}}
  ask: needed
  store: store.sqlite
metrics: [mrr@5, recall@2]
output: out
"""


def client_of(name, place):
    """A voter for a config."""
    return voter(name, place)


@pytest.fixture
def config(tmp_path, monkeypatch):
    """A folder with a config of a panel, its gold set and what a retriever found."""
    monkeypatch.chdir(tmp_path)
    gold = [
        {"query_id": f"q{n}", "query": f"question {n}", "gold": [{"text": texts[0]}]}
        for n, texts in enumerate(GOLD)
    ]
    found = [
        {**query, "retrieved": [{"id": text[-3:], "text": text} for text in texts]}
        for query, texts in zip(gold, FOUND)
    ]
    for name, rows in (("gold", gold), ("one", found)):
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (tmp_path / f"{name}.jsonl").write_text(text)
    (tmp_path / "kragx.yaml").write_text(CONFIG)
    return tmp_path


def test_repeats_are_one_line_of_a_dry_run(store):
    """What three repeats would ask is one sum, as is what they cost."""
    panel = repeated(judge_of(ScriptedClient([]), store, dry_run=True), 3)
    panel.judge([ask("one"), ask("other")])
    calls, _ = judging_plan(panel.plans)
    assert calls.text.startswith("in all 6 calls to scripted: ")


@pytest.mark.integration
def test_the_command(config, capsys, monkeypatch):
    """`kragx run`: alpha in the terminal, on the page, in Markdown and JSON; a dry run counts."""

    def run(*options):
        monkeypatch.setattr("sys.argv", ["kragx", "run", "kragx.yaml", *options])
        with pytest.raises(SystemExit) as end:
            main()
        assert end.value.code == 0

    run("--dry-run")
    shown = " ".join(capsys.readouterr().out.split())
    assert "in all 4 calls to a" in shown
    assert "in all at most 4 calls to c" in shown
    run("--full")
    words = "alpha (ordinal) among a and b: 0.5565"
    assert words in " ".join(capsys.readouterr().out.split())
    page = content((config / "out" / "report.html").read_text())
    assert words in page
    assert "2 of 2 said 3 (a 3, b 3, c not needed)" in page
    assert words in (config / "out" / "report.md").read_text()
    ((first,), (again,)) = (of(config) for of in (_reported, _recomputed))
    assert first["vote_bounds"] == {"mrr@5": [0.5, 0.75], "recall@2": [0.5, 1.0]}
    assert {name: list(ends) for name, ends in again.vote_bounds.items()} == first["vote_bounds"]


def _reported(folder):
    return json.loads((folder / "out" / "report.json").read_text())["evaluations"]


def _recomputed(folder):
    """From what the folder holds: nobody is asked."""
    return recompute(folder / "out", trust=True).evaluations


def test_a_pool_in_a_config(config, monkeypatch, capsys):
    """Without gold votes on a document move what is gold; a folder knows it once more.

    By the strictest vote the second question has no gold, and is left out of the mean or misses.
    """
    rows = [json.loads(line) for line in (config / "gold.jsonl").read_text().splitlines()]
    text = "".join(json.dumps({**row, "gold": []}) + "\n" for row in rows)
    (config / "gold.jsonl").write_text(text)
    monkeypatch.setattr("sys.argv", ["kragx", "run", "kragx.yaml"])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 0
    ((first,), (again,)) = (of(config) for of in (_reported, _recomputed))
    assert first["mean"]["mrr@5(rel=2)"] == 0.75
    assert first["vote_bounds"]["mrr@5(rel=2)"] == [0.5, 1.0]
    assert {name: list(ends) for name, ends in again.vote_bounds.items()} == first["vote_bounds"]
    assert '"alpha": 0.5565' in (config / "out" / "report.json").read_text()


def relevance(document, number):
    """A question of relevance with ids."""
    ids = {"query_id": "q", "document_id": f"d{number}"}
    return Question(RUBRICS["relevance-en-1"], document, query="q", **ids)


def test_grades_of_a_panel_in_a_store(store):
    """Named as results name it: what its votes in the store decide, and what they leave open."""
    panel, _ = panel_of(store, ask="needed")
    panel.judge([relevance(f"grades-{votes}", n) for n, votes in enumerate(("331", "102", "01x"))])
    with Store(store) as opened:
        assert grades_of(opened, model=panel.model) == {("q", "d0"): 3, ("q", "d1"): 1}
        assert grades_of(opened, model="b")["q", "d1"] == 0
        with pytest.raises(UsageError, match="or all: 'median of a, b, c'"):
            grades_of(opened)
        with pytest.raises(UsageError, match="means are no labels"):
            grades_of(opened, model="mean of a, b, c")
        # Of the first only two were asked, and its mean is open.
        assert grades_of(opened, model="mean of a, b, c", expected=True) == {("q", "d1"): 1}
        means = grades_of(opened, model="mean of a, b", expected=True)
        assert means == {("q", "d0"): 3, ("q", "d1"): 0.5, ("q", "d2"): 0.5}
        with pytest.raises(UsageError, match="the panel has 2 judges of 'a'"):
            grades_of(opened, model="median of 2 repeats of a")


def test_grades_of_repeats_in_a_store(store):
    """Of repeats the first counts, unless they are named as those who decide together."""
    client = ScriptedClient([1, 3, 3])
    panel = read_judge({"client": client, "store": store, "progress": False, "repeats": 3})
    panel.judge([relevance("x", 0)])
    with Store(store) as opened:
        assert grades_of(opened) == {("q", "d0"): 1}
        assert grades_of(opened, model=panel.model) == {("q", "d0"): 3}


def test_a_probe_of_a_panel(store):
    """Its judges are asked as one, and what they decide counts."""
    clients = [
        ScriptedClient(lambda _, grade=grade: grade, model=f"m{n}")
        for n, grade in enumerate((0, 0, 1))
    ]
    panel = read_judge({"panel": clients, "store": store, "progress": False})
    queries = GoldDataset.from_documents([["one text"], ["another"]], queries=["who?", "where?"])
    result = probe(panel, queries, passages=2)
    assert result.settings["model"] == "median of m0, m1, m2"
    assert result.baseline.irrelevant == 0


def test_agreement_of_a_panel(store, tmp_path):
    """`agree` compares people with what a panel decides."""
    panel, _ = panel_of(store)
    documents = ("grades-331", "grades-110", "grades-000", "grades-230")
    panel.judge([relevance(votes, n) for n, votes in enumerate(documents)])
    human = {"q": {"d0": 3, "d1": 1, "d2": 0, "d3": 2}}
    assert agree(human, str(store), model=panel.model)["accuracy"] == 1
    assert agree(human, str(store), model="c")["accuracy"] == 0.25
