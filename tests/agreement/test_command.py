"""The commands: output, JSON, exit codes, and what they refuse."""

from __future__ import annotations

import json

import pytest

from kragx.judging import Failure, Judge, Question, Store
from kragx.judging.clients.scripted import ScriptedClient
from kragx.judging.rubric import RUBRICS, read_rubric
from kragx.workshop.folder.folder import Workshop
from kragx.workshop.state.records import Judgement
from kragx.workshop.state.state import State

HUMAN = {f"q{q}": {f"d{d}": (q + d) % 4 for d in range(6)} for q in range(24)}
JUDGE = {
    query: {f"d{d}": min(3, docs[f"d{d}"] + (d + len(query)) % 2) for d in range(6)}
    for query, docs in HUMAN.items()
}


@pytest.fixture
def files(qrels, tmp_path):
    """Both label files and two runs; their paths."""
    qrels("human.qrels", HUMAN, "\t")
    qrels("judge.qrels", {**JUDGE, "q99": {"x": 1}})
    for name, order in (("up", 1), ("down", -1)):
        lines = [
            f"{query} Q0 {doc} 0 {order * at} {name}\n"
            for query in JUDGE
            for at, doc in enumerate(JUDGE[query])
        ]
        (tmp_path / f"{name}.run").write_text("".join(lines))
    return [tmp_path / name for name in ("human.qrels", "judge.qrels", "up.run", "down.run")]


def test_agree(kragx, files):
    """The table has the figures, the confusion matrix, tau beside kappa, and what is missing."""
    human, judge, *runs = files
    done = kragx("agree", human, judge, "--runs", *runs)
    assert done.code == 0, done.err
    for part in ("kappa, quadratic weights", "human \\ judge", "tau-b of 2 systems", "q99 x"):
        assert part in done.out
    plain = kragx(
        "agree", human, judge, "--runs", runs[0], "--runs", runs[1], "--format", "json"
    ).json()
    assert plain["pairs"] == 144
    assert plain["missing"]["human"] == [["q99", "x"]]
    assert len(plain["systems"]["human"]) == 2
    low, high = plain["intervals"]["kappa"]
    assert low < plain["values"]["kappa"] < high


def test_labels_come_through_a_pipe(kragx, files, tmp_path):
    """Qrels and a gold set on standard input are told apart as those in a file are."""
    human, judge, *_ = files
    gold = tmp_path / "gold.jsonl"
    records = (
        {"query_id": query, "gold": [{"id": doc, "grade": grade} for doc, grade in docs.items()]}
        for query, docs in HUMAN.items()
    )
    gold.write_text("".join(json.dumps(record) + "\n" for record in records))
    of_files = kragx("agree", human, judge, "--format", "json").json()
    for args, piped in ((("-", judge), human), ((human, "-"), judge), (("-", judge), gold)):
        options = ("--format", "json")
        done = kragx("agree", *args, *options, stdin=piped.read_text()).json()
        assert (done["values"], done["pairs"]) == (of_files["values"], 144)


def test_agree_refusals(kragx, files, tmp_path):
    """Exit codes 2 and 3, each with the remedy."""
    human, judge, run, _ = files
    third = kragx("agree", human, judge, run)
    assert (third.code, "--runs" in third.err) == (2, True)
    assert kragx("agree", human, judge, "--scale", "x").code == 2
    assert kragx("agree", human, judge, "--format", "csv").code == 2
    assert kragx("agree", human, tmp_path / "none").code == 3
    both = tmp_path / "both.qrels"
    both.write_text("q1 0 a 1\nq1 0 a 2\nq1 0 b 1\nq1 0 b 0\n")
    conflict = kragx("agree", both, judge)
    assert conflict.code == 3
    assert ":2: document 'a' of query 'q1' has grade 2 here and 1 before" in conflict.err


def test_agree_with_a_store(kragx, files, tmp_path):
    """A store is the judge; its failures are pairs without a label, never 0."""
    client = ScriptedClient([1, Failure("refusal"), 3])
    asked = [
        Question(RUBRICS["relevance-en-1"], doc, query="?", query_id="q1", document_id=doc)
        for doc in ("d0", "d1", "d2")
    ]
    Judge(client, store=tmp_path / "j.sqlite", concurrency=1).judge(asked)
    plain = kragx("agree", files[0], tmp_path / "j.sqlite", "--format", "json").json()
    assert plain["pairs"] == 2
    assert ["q1", "d1"] in plain["missing"]["judge"]
    with Store(tmp_path / "j.sqlite") as store:
        assert len(list(store.records())) == 3  # and nothing was asked again


def test_corrected(kragx, files):
    """Plain and corrected stand side by side; too few labelled queries are refused."""
    human, judge, *runs = files
    done = kragx(
        "judge", "corrected", human, judge, "--runs", *runs, "-m", "ndcg@5", "-m", "precision@3"
    )
    assert done.code == 0, done.err
    for part in ("judge alone", "corrected", "people alone", "24 of 25"):
        assert part in done.out
    plain = kragx(
        "judge", "corrected", human, judge, "--runs", runs[0], "-m", "ndcg@5", "--format", "json"
    ).json()
    found = plain["systems"]["up"]["metrics"]["ndcg@5"]
    assert found["interval"][0] < found["value"] < found["interval"][1]
    few = kragx("judge", "corrected", human, judge, "--runs", runs[0], "--least", 25)
    assert (few.code, "at least 25" in few.err) == (3, True)
    assert kragx("judge", "corrected", human, judge).code == 2


def test_corrected_means_of_traffic(kragx, jsonl, qrels, here):
    """Weights come from the first results file, or --questions; a page of it can be written."""
    rows = [
        {
            "query_id": f"q{at}",
            "query": "?",
            "gold": [],
            "weight": 1 + at % 3,
            "retrieved": [{"id": "d", "text": "t"}],
        }
        for at in range(30)
    ]
    path = jsonl(*rows)
    grades = {f"q{at}": {"d": 3 * (at % 3 > 0)} for at in range(30)}
    people = qrels("people.qrels", dict([*grades.items()][:21]))
    judge = qrels("judge.qrels", grades)
    command = ("judge", "corrected", people, judge, "-m", "precision@1", "--runs", path)
    done = kragx(*command, "--out", "page.html")
    assert done.code == 0, done.err
    assert "over 60 asks, by people's labels of 21 questions and the judge's of 30" in done.out
    page = (here / "page.html").read_text(encoding="utf-8")
    assert "over 60 asks" in page
    assert "실제 질문 60건" in page
    (system,) = kragx(*command, "--format", "json").json()["systems"].values()
    assert system["metrics"]["precision@1"]["plain"] == pytest.approx(5 / 6)
    gold = here / "gold.jsonl"
    gold.write_text("".join(f'{{"query_id": "q{at}", "gold": []}}\n' for at in range(30)))
    (system,) = kragx(*command, "--questions", gold, "--format", "json").json()["systems"].values()
    assert system["metrics"]["precision@1"]["plain"] == pytest.approx(2 / 3)
    wrong = kragx(*command, "--out", "page.txt")
    assert (wrong.code, ".html" in wrong.err) == (2, True)


def test_corrected_from_standard_input(kragx, qrels, here):
    """Labels or a run may come through a pipe, which is read once."""
    grades = {f"q{at}": {"d": 3 * (at % 3 > 0)} for at in range(30)}
    people = qrels("people.qrels", dict([*grades.items()][:21]))
    judge = qrels("judge.qrels", grades)
    run = here / "mine.run"
    run.write_text("".join(f"{query} Q0 d 1 1.0 mine\n" for query in grades))
    command = ("judge", "corrected", "-m", "precision@1", "--format", "json")
    files = kragx(*command, people, judge, "--runs", run).json()["systems"]["mine"]
    piped = kragx(*command, "-", judge, "--runs", run, stdin=people.read_text())
    assert piped.json()["systems"]["mine"] == files
    piped = kragx(*command, people, judge, "--runs", "-", stdin=run.read_text())
    assert [*piped.json()["systems"].values()] == [files]


def test_label_draws_by_weight(label, jsonl, here):
    """Whole queries are drawn by their asks, and each one's chance stands in the sample."""
    rows = [
        {
            "query_id": f"q{at}",
            "query": "?",
            "gold": [],
            "weight": 50 if at == 3 else 1,
            "retrieved": [{"id": "d", "text": "t"}],
        }
        for at in range(12)
    ]
    done = label("my.qrels", "--results", jsonl(*rows), "--queries", 3)
    assert done.code == 0, done.err
    first = (here / "my.qrels.sample.jsonl").read_text(encoding="utf-8").splitlines()[0]
    chances = json.loads(first)["sample"]["chances"]
    assert chances["q3"] == 1
    assert sorted(chances.values()) == pytest.approx([2 / 11, 2 / 11, 1])


def asked_of(jsonl, n=12):
    """Results of questions that say no weights, and a file that does: the fourth is asked most."""
    names = [f"q{at}" for at in range(n)]
    lists = [{"query_id": name, "query": "?", "retrieved": [{"id": "d"}]} for name in names]
    for row in lists:
        row["retrieved"][0]["text"] = "t"
    asks = [{"query_id": name, "gold": [], "weight": 50 if name == "q3" else 1} for name in names]
    return jsonl(*lists, name="mine.jsonl"), jsonl(*asks, name="asked.jsonl")


def test_label_draws_by_the_weights_of_questions(label, jsonl, here):
    """--questions says what results do not."""
    mine, asked = asked_of(jsonl)
    source = ("--results", mine, "--queries", 3)
    done = label("by.qrels", *source, "--questions", asked)
    assert done.code == 0, done.err
    sample = json.loads((here / "by.qrels.sample.jsonl").read_text().splitlines()[0])["sample"]
    assert sample["chances"]["q3"] == 1
    assert sample["weights"] == {f"q{at}": 50 if at == 3 else 1 for at in range(12)}
    assert label("pairs.qrels", "--results", mine, "--questions", asked).code == 2
    (here / "less.jsonl").write_text('{"query_id": "q3", "gold": [], "weight": 2}\n')
    less = label("less.qrels", *source, "--questions", "less.jsonl")
    assert (less.code, "less.jsonl: lacks 11 of the 12 questions to" in less.err) == (3, True)
    assert not (here / "less.qrels.sample.jsonl").exists()


def test_label_of_results_that_say_different_weights(label, jsonl, here):
    """What one file says and another does not is refused, and --questions settles it."""
    mine, asked = asked_of(jsonl)
    rows = [json.loads(line) for line in mine.read_text().splitlines()]
    weighted = jsonl(*({**row, "weight": 7} for row in rows), name="weighted.jsonl")
    source = ("--results", weighted, "--results", mine, "--queries", 3)
    done = label("my.qrels", *source)
    assert (done.code, "'q0' has weight 7 in a results file and 1" in done.err) == (3, True)
    assert label("my.qrels", *source, "--questions", asked).code == 0


def results(jsonl):
    """A results file with Korean texts."""
    return jsonl(
        *(
            {
                "query_id": f"q{at}",
                "query": f"질문 {at}",
                "gold": [],
                "retrieved": [
                    {"id": f"d{at}{rank}", "text": f"문서 {at} {rank}"} for rank in range(3)
                ],
            }
            for at in range(5)
        )
    )


@pytest.fixture
def label(kragx, monkeypatch):
    """`kragx judge label`, in whose workshop the owner gives some pairs these grades, in order."""

    def call(*arguments, grades=()):
        def served(opened, port=None, *, browser):
            with opened.store() as store:
                state = State(store)
                pairs = [(name, doc) for name, docs in state.candidates.items() for doc in docs]
                left = [pair for pair in pairs if not state.judgements.get(pair)]
                person = state.owner().uid
                state.add(
                    Judgement(question=question, document=document, person=person, grade=grade)
                    for (question, document), grade in zip(left, grades)
                )

        monkeypatch.setattr("kragx.workshop.commands.label.serve", served)
        return kragx("judge", "label", *arguments)

    return call


def test_label(label, jsonl, here):
    """Labels of a workshop; the same command goes on without naming a source again."""
    path = results(jsonl)
    done = label("my.qrels", "--results", path, "--pairs", 4, grades=[3, 1])
    assert done.code == 0, done.err
    assert "2 of 4 labelled, in my.qrels; run again to go on" in done.err
    again = label("my.qrels", grades=[0, 2])
    assert "going on with the sample" in again.err
    assert "4 of 4 labelled" in again.err
    grades = [line.split()[-1] for line in (here / "my.qrels").read_text().splitlines()]
    assert sorted(grades) == ["0", "1", "2", "3"]
    words = Workshop.open(here / "my.qrels.workshop").settings.scale
    assert words[3] == "질문에 직접, 빠짐없이 답한다."  # the Korean rubric, for Korean texts


def test_a_seed_below_zero(kragx, here):
    """A seed that no generator takes is refused as an option."""
    done = kragx("judge", "label", "human.qrels", "--seed", -1)
    assert (done.code, "--seed" in done.err) == (2, True)


def test_label_keeps_its_scale(label, jsonl, here):
    """Going on needs no --scale again, and another one is refused."""
    path = results(jsonl)
    label("my.qrels", "--results", path, "--scale", "0-4", "--pairs", 3, grades=[1, 2])
    again = label("my.qrels", grades=[4])
    assert "3 of 3 labelled" in again.err
    grades = [line.split()[-1] for line in (here / "my.qrels").read_text().splitlines()]
    assert sorted(grades) == ["1", "2", "4"]
    other = label("my.qrels", "--scale", "0-3")
    assert (other.code, "is being labelled 0-4" in other.err) == (2, True)
    assert label("my.qrels", "--scale", "0..4").code == 0


def test_label_whole_queries(label, jsonl, here):
    """--queries draws every pair of so many queries."""
    label("my.qrels", "--results", results(jsonl), "--queries", 2, grades=[0] * 6)
    lines = (here / "my.qrels").read_text().splitlines()
    assert len(lines) == 6
    assert len({line.split()[0] for line in lines}) == 2


def test_label_what_the_judge_graded(label, jsonl, here):
    """With a store only pairs that its judge has graded are drawn; what is left out is counted."""
    path = results(jsonl)
    asked = [
        Question(
            RUBRICS["relevance-en-1"],
            f"문서 0 {rank}",
            query="질문 0",
            query_id="q0",
            document_id=f"d0{rank}",
        )
        for rank in range(3)
    ]
    Judge(ScriptedClient([0, 3, Failure("refusal")]), store="j.sqlite", concurrency=1).judge(asked)
    done = label("my.qrels", "--results", path, "--store", "j.sqlite", grades=[0, 0])
    assert "2 of 2 labelled" in done.err
    assert label("other.qrels", "--store", "none.sqlite").code == 3


def test_label_by_an_own_rubric(label, jsonl, here):
    """Its file gives scale and words; where only its grades are known, no others are shown."""
    (here / "mine.yaml").write_text(
        "id: mine\nasks: relevance\ninstruction: '?'\ncut: 3\n"
        "grades: {0: w0, 1: w1, 2: w2, 3: w3, 4: in full}\n"
    )
    own = read_rubric(here / "mine.yaml")
    question = Question(own, "문서 0 0", query="질문 0", query_id="q0", document_id="d00")
    Judge(ScriptedClient([4]), store="j.sqlite").judge([question])
    source = ("--results", results(jsonl), "--store", "j.sqlite")
    label("my.qrels", *source, "--rubric", "mine.yaml", grades=[4])
    assert Workshop.open(here / "my.qrels.workshop").settings.scale[4] == "in full"
    assert (here / "my.qrels").read_text() == "q0 0 d00 4\n"
    label("other.qrels", *source, grades=[3])
    scale = Workshop.open(here / "other.qrels.workshop").settings.scale
    assert scale == {0: "0", 1: "1", 2: "2", 3: "3"}


def test_label_another_sample(label, jsonl, here):
    """Drawn anew, a sample of other pairs is not labelled in the workshop of the one before."""
    path = results(jsonl)
    label("my.qrels", "--results", path, "--pairs", 2, grades=[1])
    (here / "my.qrels.sample.jsonl").unlink()
    again = label("my.qrels", "--results", path, grades=[1])
    assert (again.code, "the workshop of a sample that is gone" in again.err) == (2, True)


def test_labels_without_their_workshop_are_not_written_over(label, jsonl, here):
    """A file that holds labels already stays as it is where nobody knows whose they are."""
    (here / "my.qrels").write_text("q0 0 d00 3\n")
    done = label("my.qrels", "--results", results(jsonl), grades=[1])
    assert (done.code, "name another file" in done.err) == (2, True)
    assert (here / "my.qrels").read_text() == "q0 0 d00 3\n"
    assert not (here / "my.qrels.sample.jsonl").exists()


def test_label_documents_of_two_texts(label, jsonl, here):
    """An id that stands for two texts is refused before anything is written."""
    lines = [
        {"query_id": name, "query": name, "retrieved": [{"id": "d", "text": f"text of {name}"}]}
        for name in ("q1", "q2")
    ]
    done = label("my.qrels", "--results", jsonl(*lines), grades=[1])
    assert (done.code, "'d' has two texts" in done.err) == (3, True)
    assert not (here / "my.qrels.sample.jsonl").exists()


def test_label_refusals(label, jsonl, here):
    """Without a source there is nothing to draw from; grades begin with 0, and are a few."""
    assert label("my.qrels").code == 2
    for scale in ("0-30", "1-5"):
        assert label("my.qrels", "--results", results(jsonl), "--scale", scale).code == 2
    assert label("my.qrels", "--results", results(jsonl), "--depth", 0).code == 2
    assert label("no/folder/my.qrels", "--results", results(jsonl)).code == 2
    for name in ("-", "my.qrels.gz"):
        assert label(name, "--results", results(jsonl)).code == 2
        assert not (here / name).exists()
        assert not (here / (name + ".sample.jsonl")).exists()


CLIENT = """
from kragx.judging.clients.scripted import ScriptedClient

def grade(request):
    return 3 * ("why" in request.messages[-1][1].split("<<<document")[1])

def moved():
    return ScriptedClient(grade)
"""

CONFIG = """
dataset: gold.jsonl
retrievers:
  mine: {class: "clients:moved"}
judge: {client: "clients:moved", store: j.sqlite}
"""


@pytest.fixture
def config(here, jsonl, module):
    """A config whose judge looks for the query's word."""
    module("clients", CLIENT)
    jsonl(
        *(
            {"query_id": f"q{at}", "query": f"why {at}", "gold": [{"text": f"because of {at}"}]}
            for at in range(4)
        ),
        name="gold.jsonl",
    )
    path = here / "config.yaml"
    path.write_text(CONFIG)
    return path


@pytest.mark.integration
def test_probe(kragx, config, monkeypatch):
    """The lifts of a config's judge, and a dry run."""
    monkeypatch.syspath_prepend(config.parent)
    dry = kragx("judge", "probe", config, "--passages", 4, "--dry-run")
    assert "in all 44 calls to " in dry.out, dry.err  # 4 (1 + 9), and 4 gold texts
    done = kragx("judge", "probe", config, "--passages", 4)
    assert done.code == 0, done.err
    assert "+3.000" in done.out
    plain = kragx("judge", "probe", config, "--passages", 4, "--format", "json").json()
    lifts = {each["variant"]: each["lift"] for each in plain["lifts"]}
    assert (lifts["query"], lifts["words"], lifts["order-en"], lifts["order-ko"]) == (3, 3, 0, 0)
    assert plain["baseline"]["auc"] is not None
    assert plain["verdict"] == "one grade"  # without the query, 0 to gold texts as well
    assert "gives one grade to everything" in done.out
    assert plain["judging"]["n_calls"] == 0  # all stored by now
    two = kragx(
        "judge", "probe", config, "--passages", 4, "--variant", "query", "--variant", "length"
    )
    assert "length" in two.out
    assert "order-en" not in two.out
    wrong = kragx("judge", "probe", config, "--variant", "lenght")
    assert (wrong.code, "perhaps you meant 'length'" in wrong.err) == (2, True)


def test_probe_that_fails(kragx, config, monkeypatch):
    """Missing judgements above max_missing end with 4, after the report of the rest."""
    monkeypatch.syspath_prepend(config.parent)
    (config.parent / "clients.py").write_text(
        CLIENT.replace("3 * (", "'no JSON' if 'Grade it' in str(request.messages) else 3 * (")
    )
    done = kragx("judge", "probe", config, "--passages", 4)
    assert done.code == 4
    assert "failed judgements: 4 (4 invalid_json)" in done.out
    assert "max_missing 0 allows" in done.err


def test_probe_refusals(kragx, config, monkeypatch):
    """A config without a judge has nothing to probe; options are checked."""
    monkeypatch.syspath_prepend(config.parent)
    assert kragx("judge", "probe", config, "--asks", "relevence").code == 2
    config.write_text("dataset: gold.jsonl\nretrievers: {mine: 'clients:moved'}\n")
    done = kragx("judge", "probe", config)
    assert (done.code, "no 'judge' to ask" in done.err) == (2, True)
