"""`kragx run` and `pipeline.run`: retrievers by import path or results file, side by side."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kragx.app import config, pipeline
from kragx.errors import DataError, UsageError

GOLD = (
    {
        "query_id": "q1",
        "query": "what does the fox do?",
        "gold": [{"id": "g1", "text": "the quick brown fox jumps"}],
    },
    {
        "query_id": "q2",
        "query": "what does the dog do?",
        "gold": [{"id": "g2", "text": "a lazy dog sleeps all day"}],
    },
)
RETRIEVERS = '''
TEXTS = {
    "fox": {"id": "g1", "text": "see the quick brown fox jumps"},
    "dog": {"id": "g2", "text": "a lazy dog sleeps all day"},
}

class Finder:
    """Finds what the question names, up to k documents."""

    def __init__(self, k, word=None):
        if k < 1:
            raise RuntimeError("the index is empty")
        self.k, self.word = k, word

    def invoke(self, question):
        if self.word and self.word in question:
            raise TimeoutError("too late")
        return [doc for name, doc in TEXTS.items() if name in question][: self.k]

    @classmethod
    def small(cls):
        return cls(1)

    @classmethod
    def made(cls, k):
        return cls(k)

class NoRetriever:
    """Cannot be asked."""

def fox(question):
    return [TEXTS["fox"]]

async def slowly(question):
    return [TEXTS["dog"]]

def other(question):
    return ["something else"]


def nothing(question):
    return []

def wrong(question):
    return "a string is no list"

def make():
    return fox

def make_k(k=1):
    return Finder(k)

def both(index, k):
    return Finder(k)

def needs_k(question, k):
    return Finder(k).invoke(question)

def anything(*args, **kwargs):
    return fox(*args)
'''


@pytest.fixture
def run(here, jsonl, module):
    """Run a config (dataset and output aside) in the test's own folder."""
    jsonl(*GOLD, name="gold.jsonl")
    module("toy_retrievers", RETRIEVERS)

    def call(text):
        (here / "run.yaml").write_text("dataset: gold.jsonl\n" + text, encoding="utf-8")
        return pipeline.run(config.load(here / "run.yaml"))

    return call


@pytest.fixture(autouse=True)
def _importable(here, monkeypatch):
    """The current folder is importable, as `kragx run` makes it."""
    monkeypatch.syspath_prepend(str(here))


@pytest.mark.parametrize(
    ("retriever", "mrr"),
    [
        ("{class: 'toy_retrievers:Finder', args: {k: 1}}", 1.0),
        ("{class: 'toy_retrievers:fox'}", 0.5),
        ("{class: 'toy_retrievers:slowly'}", 0.5),
        ("{class: 'toy_retrievers:nothing'}", 0.0),
        ("{class: 'toy_retrievers:Finder', args: {k: 1}, concurrency: 4}", 1.0),
        ("{class: 'toy_retrievers:make'}", 0.5),
        ("{class: 'toy_retrievers:make', args: {}}", 0.5),
        ("{class: 'toy_retrievers:fox', args: {}}", 0.5),
        ("{class: 'toy_retrievers:make_k', args: {k: 1}}", 1.0),
        ("{class: 'toy_retrievers:both', args: {index: 7, k: 1}}", 1.0),
    ],
)
def test_retriever_by_import_path(run, retriever, mrr):
    """A class is made, a function that takes the question asked, one without parameters called.

    Empty arguments change nothing.
    """
    (evaluation,) = run(f"retrievers: {{mine: {retriever}}}").evaluations
    assert evaluation.name == "mine"
    assert evaluation["mrr@10"] == mrr
    assert evaluation.counts["n_failed"] == 0


@pytest.mark.parametrize("args", ["", ", args: {}", ", args: {k: 1}"])
def test_method_that_makes_a_retriever(run, args):
    """A method that makes a retriever is called to make one, with arguments or without."""
    method = "made" if "k" in args else "small"
    (evaluation,) = run(
        f"retrievers: {{mine: {{class: 'toy_retrievers:Finder.{method}'{args}}}}}"
    ).evaluations
    assert evaluation.counts["n_failed"] == 0
    assert evaluation["mrr@10"] == 1.0


@pytest.mark.parametrize(
    ("retriever", "hints"),
    [
        ("{class: 'toy_retrievers:Finder', args: {kk: 1}}", ("unknown argument 'kk'", "'k'")),
        ("{class: 'toy_retrievers:Finder'}", ("missing", "'k'")),
        ("{class: 'toy_retrievers:Finder', args: {k: 0}}", ("RuntimeError", "the index is empty")),
        ("{class: 'toy_retrievers:NoRetriever'}", ("NoRetriever", "cannot be asked")),
        ("{class: 'toy_retrievers:TEXTS'}", ("cannot be asked",)),
        ("{class: 'toy_retrievers:TEXTS', args: {k: 1}}", ("takes no arguments",)),
        ("{class: 'toy_retrievers:Findr'}", ("'Findr'", "'Finder'")),
        ("'toy_retrievers:both'", ("toy_retrievers:both: missing", "'index'")),
        ("{class: 'toy_retrievers:needs_k', args: {k: 1}}", ("missing", "'question'")),
        ("{class: 'no_such_module_here:x'}", ("cannot import", "no_such_module_here")),
        ("{class: 'toy_retrievers'}", ("package.module:name",)),
        ("{class: 'toy_retrievers:'}", ("package.module:name",)),
        ("./toy_retrievers.py", ("package.module:name",)),
    ],
)
def test_retriever_that_cannot_be_made(run, retriever, hints):
    """A retriever that cannot be made is wrong use, named by its place in the config."""
    with pytest.raises(UsageError) as caught:
        run(f"retrievers: {{mine: {retriever}}}")
    message = str(caught.value)
    assert message.startswith("retrievers.mine: ")
    for hint in hints:
        assert hint in message


def test_a_function_by_its_dotted_name(run):
    """A text that is no import path is a file; without one it is said how a path is written."""
    with pytest.raises(DataError) as caught:
        run("retrievers: {mine: toy_retrievers.small}")
    message = str(caught.value)
    assert message.startswith("retrievers.mine.results: ")
    assert message.endswith("a class or function is written module:name")
    with pytest.raises(DataError, match=r"No such file or directory$"):
        run("retrievers: {mine: small.jsonl}")


def test_arguments_are_named_once(run):
    """What a class of pydantic takes stands in its signature and among its fields."""
    with pytest.raises(UsageError, match=r"valid: name, tags, metadata, documents, k, tokenizer$"):
        run("retrievers: {mine: {class: 'kragx.retrievers:BM25Retriever', args: {corpus: c}}}")


@pytest.mark.parametrize("source", ["1 / 0\n", "x = (\n", "raise RuntimeError('no key')\n"])
def test_module_that_raises_on_import(run, module, source):
    """A module that raises while it is imported is wrong use, named by its place in the config."""
    module("toy_broken", source)
    with pytest.raises(UsageError, match=r"^retrievers\.mine: toy_broken:x: "):
        run("retrievers: {mine: {class: 'toy_broken:x'}}")


def test_results_files(run, jsonl):
    """Results files stand in for retrievers; queries join by id, whatever their order."""
    answer = {"id": "g2", "text": "a lazy dog sleeps all day"}
    jsonl(
        {"query_id": "q9", "retrieved": []},
        {"query_id": "q2", "retrieved": [{"text": "nothing like it"}, answer]},
        name="old.jsonl",
    )
    report = run("retrievers: {old: {results: old.jsonl}}\nmetrics: [mrr@10]")
    (evaluation,) = report.evaluations
    assert evaluation.name == "old"
    assert evaluation.queries == {"q1": {"mrr@10": 0.0}, "q2": {"mrr@10": 0.5}}
    assert (evaluation.counts["n_missing"], evaluation.counts["n_extra"]) == (1, 1)


@pytest.mark.parametrize(
    ("record", "hint"),
    [
        ({"query_id": "other", "retrieved": []}, "none of its"),
        ({"id": "q1"}, "its fields are 'id'"),
    ],
)
def test_bad_results_file(run, jsonl, record, hint):
    """A results file of other queries, or of another shape, is bad data."""
    jsonl(record, name="old.jsonl")
    with pytest.raises(DataError, match=hint):
        run("retrievers: {old: {results: old.jsonl}}")


def test_several_matchers(run):
    """Several matchers stand side by side: one evaluation for each matcher and retriever."""
    report = run(
        """
retrievers:
  finder: {class: 'toy_retrievers:Finder', args: {k: 1}}
  fox: {class: 'toy_retrievers:fox'}
matchers: {strict: exact, loose: overlap, id: id}
metrics: mrr@10
"""
    )
    assert [
        (evaluation.match_name, evaluation.name, evaluation["mrr@10"])
        for evaluation in report.evaluations
    ] == [
        ("strict", "finder", 0.5),
        ("strict", "fox", 0.0),
        ("loose", "finder", 1.0),
        ("loose", "fox", 0.5),
        ("id", "finder", 1.0),
        ("id", "fox", 0.5),
    ]


@pytest.mark.parametrize(
    ("retriever", "n_failed", "error"),
    [
        ("{class: 'toy_retrievers:Finder', args: {k: 1, word: dog}}", 1, "TimeoutError: too late"),
        ("{class: 'toy_retrievers:wrong'}", 2, "returned str"),
    ],
)
def test_failing_queries(run, kragx, retriever, n_failed, error):
    """A query at which the retriever fails is counted, kept with its reason and shown.

    It is scored 0, but for a retriever that never answered: then nothing has a value.
    """
    report = run(f"retrievers: {{mine: {retriever}}}\nmetrics: [mrr@10]\noutput: out")
    (evaluation,) = report.evaluations
    assert evaluation.counts["n_failed"] == n_failed
    assert evaluation.queries["q2"] == {"mrr@10": None if n_failed == 2 else 0.0}
    assert error in report.runs["mine"]["q2"].error
    outcome = kragx("run", "run.yaml")
    assert outcome.code == 5
    assert f"mine failed on {n_failed} of 2 questions, so it is not comparable" in outcome.out


@pytest.mark.parametrize("more", ["", "no_gold: zero", "metrics: [mrr@3, seconds_mean]"])
def test_no_gold_at_all(run, jsonl, kragx, more):
    """Nobody is asked where no metric could have a value; where one could, the run goes on."""
    jsonl({"query_id": "q1", "query": "a cow?", "gold": []}, name="gold.jsonl")
    retrievers = f"retrievers: {{f: {{class: 'toy_retrievers:fox'}}}}\n{more}"
    if more:
        assert run(retrievers).evaluations[0].counts["n_no_gold"] == 1
        return
    with pytest.raises(DataError, match="the question has no gold, so no metric has a value"):
        run(retrievers)
    outcome = kragx("run", "run.yaml")
    assert outcome.code == 3
    assert "say in each question's 'gold' what should be found" in outcome.err


def test_no_gold_and_profile_are_passed_on(run, jsonl):
    """`no_gold` and `metrics` of the config reach the evaluation."""
    jsonl(GOLD[0], {"query_id": "q3", "query": "a cow?", "gold": []}, name="gold.jsonl")
    (evaluation,) = run(
        "retrievers: {f: {class: 'toy_retrievers:fox'}}\nno_gold: zero\nmetrics: [mrr@3]"
    ).evaluations
    assert evaluation.mean == {"mrr@3": 0.5}
    assert evaluation.settings["deviations"] == {"no_gold": "zero"}


def test_name_of_the_dataset(run, here):
    """A data set has its file's name, or the one the config gives it."""
    plain = run("retrievers: {f: {class: 'toy_retrievers:fox'}}")
    text = (here / "run.yaml").read_text(encoding="utf-8")
    named = text.replace("dataset: gold.jsonl", "dataset: {path: gold.jsonl, name: animals}")
    (here / "run.yaml").write_text(named, encoding="utf-8")
    again = pipeline.run(config.load(here / "run.yaml"))
    assert plain.evaluations[0].settings["dataset"]["name"] == "gold"
    assert again.evaluations[0].settings["dataset"]["name"] == "animals"


@pytest.mark.parametrize("second", ["other", "nothing", "fox"])
def test_best_is_marked_only_when_there_is_one(run, kragx, second):
    """On a terminal the best value is bold and, of two queries, a tie; of equal ones none is.

    Beside one that returned nothing there is none to be better than.
    """
    a, b = "toy_retrievers:fox", f"toy_retrievers:{second}"
    run(f"retrievers: {{a: {{class: '{a}'}}, b: {{class: '{b}'}}}}")
    shown = kragx("run", "run.yaml", terminal=True)
    assert shown.code == 0
    marked = re.search(r"\x1b\[1m *0\.5000 =", shown.out)
    assert marked if second == "other" else "0.5000 =" not in shown.out
    assert "\x1b[1;32m" not in shown.out


def test_single_retriever_is_not_marked(run, kragx):
    """A retriever without a rival is never marked as the best."""
    run("retrievers: {a: {class: 'toy_retrievers:fox'}}")
    shown = kragx("run", "run.yaml", terminal=True)
    assert "0.5000" in shown.out
    assert "\x1b[1;32m" not in shown.out


def test_progress_only_on_a_terminal(run, kragx):
    """Without a terminal standard error says where the output is, and whether a run was there."""
    run("retrievers: {a: {class: 'toy_retrievers:fox'}}\noutput: out")
    assert kragx("run", "run.yaml").err == "written to out; open out/report.html\n"
    replaced = "written to out, in place of the run that was there; open out/report.html\n"
    assert kragx("run", "run.yaml").err == replaced


@pytest.mark.parametrize(
    ("source", "code", "said"),
    [
        ("def search(question):\n    sys.exit(0)\n", 5, "SystemExit: 0"),
        ("def search():\n    sys.exit(0)\n", 2, "leaving:search: SystemExit: 0"),
        ("class search:\n    def __init__(self):\n        sys.exit(0)\n", 2, "SystemExit: 0"),
        ("sys.exit(0)\n", 2, "cannot import 'leaving': SystemExit: 0"),
    ],
)
def test_who_exits_does_not_end_the_run_with_0(kragx, jsonl, module, source, code, said):
    """When it is asked, made or imported: a failure of the question, or of the config."""
    jsonl({"query_id": "q1", "query": "how?", "gold": [{"id": "c1"}]}, name="gold.jsonl")
    module("leaving", f"import sys\n{source}")
    Path("c.yaml").write_text(
        "dataset: gold.jsonl\nmatch: id\nretrievers: {a: {class: 'leaving:search'}}\n",
        encoding="utf-8",
    )
    ended = kragx("run", "c.yaml")
    assert ended.code == code
    assert said in ended.err + ended.out


@pytest.mark.parametrize(
    ("match", "said"),
    [
        ("{method: llm, judge: {model: m}}", "in all 2 calls to m"),
        (
            "{cascade: [{method: text, accept: 1}, {method: llm, judge: {model: m}}]}",
            "in all 1 calls to m",
        ),
        ("overlap", "dry_run: the config has no 'judge' that this could belong to"),
    ],
)
def test_a_dry_run_of_a_matchers_own_judge(kragx, jsonl, here, monkeypatch, match, said):
    """A judge that stands in the matcher alone is counted; where there is none it is said."""
    monkeypatch.delenv("KRAGX_JUDGE_MODEL", raising=False)
    jsonl(*GOLD, name="gold.jsonl")
    docs = [{"text": "the quick brown fox jumps"}, {"text": "a cat"}]
    jsonl({"query_id": "q1", "gold": [], "retrieved": docs}, name="found.jsonl")
    (here / "c.yaml").write_text(
        f"dataset: gold.jsonl\nretrievers: {{one: found.jsonl}}\nmatch: {match}\n", "utf-8"
    )
    outcome = kragx("run", "c.yaml", "--dry-run")
    assert outcome.code == (2 if "no 'judge'" in said else 0)
    assert said in outcome.out + outcome.err
