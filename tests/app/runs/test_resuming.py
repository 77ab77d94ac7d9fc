"""Interrupted runs: which answers the next one takes over, and what it says of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest
import yaml

from kragx import GoldDataset
from kragx.app import pipeline
from kragx.app.config import RetrieverConfig
from kragx.app.retrieving import fingerprint
from kragx.app.retrieving.fingerprint import Fingerprints
from kragx.app.retrieving.resuming import partial_answers
from kragx.data import Doc, Query, Retrieved, Search
from tests.thoroughness import some

GOLD = [
    {"query_id": f"q{n}", "query": f"question {n}", "gold": [{"id": f"g{n}"}]} for n in range(1, 7)
]
CORPUS = [{"id": f"g{n}", "text": f"text {n}"} for n in range(1, 7)]
RETRIEVER = """
import json
from pathlib import Path
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.runnables import RunnableLambda

def make(path, note="", files=()):
    from toy_package.search import search

    documents = [json.loads(line) for line in Path(path).read_text().splitlines()]

    def ask(question):
        if question == "question 4" and not Path("revived").exists():
            raise KeyboardInterrupt
        with Path("asked.txt").open("a") as file:
            file.write(question[9:] + " ")
        return search(documents, question)

    return RunnableLambda(ask)
"""
SEARCH = """
from . import words

def search(documents, question):
    return [doc for doc in documents if words.number(doc["id"]) == words.number(question)]
"""
CONFIG = """
dataset: gold.jsonl
retrievers:
  mine:
    class: toy_resumed:make
    args: {path: "${here}/corpus.jsonl", note: "${NOTE}", files: [{in: "${here}/index"}, docs/*.md]}
    fingerprint: {index: "${INDEX}"}
    concurrency: 1
match: id
metrics: [recall@3, seconds_mean]
output: out
"""


@pytest.fixture
def prepared(jsonl, module, here, monkeypatch):
    """Gold set, corpus, config, and a retriever of three modules in the test's own folder."""
    monkeypatch.syspath_prepend(str(here))
    monkeypatch.setenv("NOTE", "a")
    monkeypatch.setenv("INDEX", "1")
    jsonl(*GOLD, name="gold.jsonl")
    jsonl(*CORPUS, name="corpus.jsonl")
    module("toy_resumed", RETRIEVER)
    files = {
        "toy_package/__init__.py": "",
        "toy_package/search.py": SEARCH,
        "toy_package/words.py": "def number(text):\n    return text[-1]\n",
        "index/part/1.bin": "one",
        "docs/a.md": "one",
        "run.yaml": CONFIG,
    }
    for name, text in files.items():
        (here / name).parent.mkdir(parents=True, exist_ok=True)
        (here / name).write_text(text)
    yield here
    for name in [name for name in sys.modules if name.startswith("toy_package")]:
        del sys.modules[name]


@pytest.fixture
def interrupted(prepared, kragx):
    """A run that was interrupted after three of six questions."""
    assert (kragx("run", "run.yaml").code, asked(prepared)) == (130, "1 2 3")
    (prepared / "revived").touch()
    return prepared


def asked(folder: Path) -> str:
    """The questions that were asked since this was last looked up."""
    path = folder / "asked.txt"
    questions = path.read_text().strip() if path.exists() else ""
    path.unlink(missing_ok=True)
    return questions


def edit(path: Path, old: str, new: str) -> None:
    """Change a text in a file."""
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


INTERRUPTED = "kragx: interrupted; the same command goes on with the answers that it has\n"
KEPT = "mine: 3 of 6 answers are kept from an interrupted run that began on "
PACKAGE = ("toy_package/words.py",)  # an empty `__init__.py` is no code
HANDLER = "    callbacks: ['langchain_core.callbacks:BaseCallbackHandler']\n"


@pytest.mark.parametrize(
    ("file", "old", "new", "named"),
    some(
        [
            ("corpus.jsonl", "g1", "x1", "file corpus.jsonl"),
            ("index/part/1.bin", "one", "two", "file index"),
            ("toy_resumed.py", "import json", "import json  #", "code of toy_resumed.py"),
            (
                "toy_package/search.py",
                "import words",
                "import words  #",
                "code of toy_package/search.py",
            ),
            ("toy_package/words.py", "text[-1]", "text[-1:]", "code of toy_package/words.py"),
            ("run.yaml", "{index:", "{version:", "fingerprint"),
            ("run.yaml", ", docs/*.md", "", "args"),
            ("run.yaml", "    fing", f"{HANDLER}    fing", "callbacks"),
            ("gold.jsonl", '"question', '"Question', "questions"),
        ],
        5,
    ),
)
def test_what_has_changed_is_named_and_asked_anew(interrupted, kragx, file, old, new, named):
    """Each ingredient of an answer: changed, no answer is taken over, and the command says why."""
    edit(interrupted / file, old, new)
    outcome = kragx("run", "run.yaml")
    assert outcome.code == 0
    assert asked(interrupted) == "1 2 3 4 5 6"
    assert "mine: not used: 3 answers of an interrupted run that began on " in outcome.err
    assert f"has changed since: {named}; all is asked for now" in outcome.err
    assert "kept" not in outcome.err + outcome.out


@pytest.mark.parametrize("name", some(["NOTE", "INDEX"], 2))
def test_values_of_variables(interrupted, kragx, monkeypatch, name):
    """Another value of a variable in `args` or `fingerprint`: asked anew; no value is written."""
    monkeypatch.setenv(name, "of-another-value")
    assert "changed since: values of INDEX, NOTE; all" in kragx("run", "run.yaml").err
    assert asked(interrupted) == "1 2 3 4 5 6"
    kept = yaml.safe_load((interrupted / "out" / "config.yaml").read_text())["retrievers"]["mine"]
    assert (kept["fingerprint"], kept["args"]["note"]) == ({"index": "${INDEX}"}, "${NOTE}")
    assert not any("of-another" in p.read_text() for p in interrupted.rglob("out/*.[jy]*"))


@pytest.mark.parametrize(
    ("version", "named"), some([("9.9", "version of kragx"), (None, "package langchain-core")], 2)
)
def test_versions(interrupted, kragx, monkeypatch, version, named):
    """Another kragx, or another version of a package that is installed."""
    if version is None:
        real = Fingerprints._packages.func
        packages = property(lambda self: real(self) | {named: "9.9"})
        monkeypatch.setattr(Fingerprints, "_packages", packages)
    else:
        monkeypatch.setattr(fingerprint, "version", lambda name: version)
    assert f"changed since: {named}; all is asked for now" in kragx("run", "run.yaml").err
    assert asked(interrupted) == "1 2 3 4 5 6"


@pytest.mark.integration
def test_the_corpus_was_replaced(prepared, kragx):
    """Killed, the corpus replaced, run again: the numbers are those of the new corpus alone."""
    edit(prepared / "toy_resumed.py", "raise KeyboardInterrupt", "__import__('os')._exit(9)")
    command = [sys.executable, "-m", "kragx", "run", "run.yaml"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(prepared), *sys.path])}
    assert subprocess.run(command, env=environment, timeout=60, check=False).returncode == 9
    (prepared / "revived").touch()
    edit(prepared / "corpus.jsonl", '"g', '"x')
    assert "has changed since: file corpus.jsonl;" in kragx("run", "run.yaml").err
    report = json.loads((prepared / "out" / "report.json").read_text())
    assert report["evaluations"][0]["mean"]["recall@3"] == 0.0


def test_kept_answers_are_said_before_anything_is_asked(interrupted, kragx):
    """How many and from when: on standard error before the rest is asked, and in the report."""
    kept = (interrupted / "out.unfinished" / "answers" / "mine.jsonl").read_text()
    begun = json.loads(kept.splitlines()[0])["begun"]
    (interrupted / "revived").unlink()
    outcome = kragx("run", "run.yaml")
    assert (outcome.code, asked(interrupted)) == (130, "")
    said = f"{KEPT}{begun[:10]} {begun[11:16]} {begun[19:]}; only the others are asked for now"
    assert outcome.err.startswith(f"kragx: {said} (--fresh asks for all)\n")
    (interrupted / "revived").touch()
    outcome = kragx("run", "run.yaml")
    assert said in outcome.err
    assert said.partition(";")[0] in " ".join(outcome.out.split())
    assert asked(interrupted) == "4 5 6"
    assert "kept" not in kragx("run", "run.yaml").err


def test_code_that_is_edited_while_another_retriever_is_asked(prepared, kragx):
    """Answers are those of the code that was imported, however long ago that was."""
    (prepared / "toy_editor.py").write_text(
        "from pathlib import Path\n\ndef ask(question):\n"
        "    path = Path('toy_resumed.py')\n"
        "    path.write_text(path.read_text() + '# edited')\n    return []\n"
    )
    edit(prepared / "run.yaml", "  mine:", "  first: {class: toy_editor:ask}\n  mine:")
    assert kragx("run", "run.yaml").code == 130
    (prepared / "revived").touch()
    outcome = kragx("run", "run.yaml")
    assert "has changed since: code of toy_resumed.py; all is asked for now" in outcome.err
    assert asked(prepared) == "1 2 3 1 2 3 4 5 6"


def test_nothing_is_asked(interrupted, kragx, monkeypatch):
    """Interrupted when all was answered: command, report and Markdown say that nothing is asked."""

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(pipeline, "evaluated", interrupt)
        assert (kragx("run", "run.yaml").code, asked(interrupted)) == (130, "4 5 6")
    outcome = kragx("run", "run.yaml")
    assert asked(interrupted) == ""
    assert "6 of 6 answers are kept" in outcome.err
    assert "nothing is asked for now" in outcome.err
    for text in (outcome.out, (interrupted / "out" / "report.md").read_text()):
        assert "6 of 6 answers are kept" in " ".join(text.split())
        assert "only the others" not in text


@pytest.mark.parametrize(
    ("old", "new", "questions"),
    some(
        [
            ('"begun": "2', '"begun": 5, "x": "', "1 2 3 4 5 6"),
            ('"seconds": ', '"seconds": -', "1 2 3 4 5 6"),
            ('"query_id": "q2"', '"query_id": \0', "2 4 5 6"),
        ],
        3,
    ),
)
def test_lines_that_cannot_be_read(interrupted, kragx, old, new, questions):
    """Whatever somebody has made of the file: what cannot be read is asked for again."""
    path = interrupted / "out.unfinished" / "answers" / "mine.jsonl"
    edit(path, old, new)
    outcome = kragx("run", "run.yaml")
    assert (outcome.code, asked(interrupted)) == (0, questions)


@pytest.mark.integration
def test_fresh(interrupted, kragx):
    """`--fresh` asks for all; interrupted again, its own answers alone are taken over."""
    (interrupted / "revived").unlink()
    assert kragx("run", "run.yaml", "--fresh").err == INTERRUPTED
    assert asked(interrupted) == "1 2 3"
    (interrupted / "revived").touch()
    assert KEPT in kragx("run", "run.yaml").err
    assert asked(interrupted) == "4 5 6"


@pytest.mark.parametrize(("options", "code"), [([], 3), (["--fresh"], 2)])
def test_something_else_stands_where_answers_are_kept(interrupted, kragx, options, code):
    """A folder in place of the file ends the run by its name, before anything is asked."""
    path = interrupted / "out.unfinished" / "answers" / "mine.jsonl"
    path.unlink()
    path.mkdir()
    outcome = kragx("run", "run.yaml", *options)
    assert (outcome.code, asked(interrupted)) == (code, "")
    assert str(path) in outcome.err


def test_questions_one_by_one(interrupted, kragx):
    """An edited question is asked again and a new one is; the others are not."""
    edit(interrupted / "gold.jsonl", "question 2", "question 22")
    gold = (interrupted / "gold.jsonl").read_text()
    (interrupted / "gold.jsonl").write_text(gold + gold.splitlines()[0].replace("q1", "q0"))
    outcome = kragx("run", "run.yaml")
    assert asked(interrupted) == "22 4 5 6 1"
    said = "mine: 2 of 7 answers are kept from an interrupted run that began on "
    assert said in outcome.err


def test_times_are_of_one_way_of_asking(interrupted, kragx):
    """Under another concurrency an answer takes another time: all is asked anew."""
    edit(interrupted / "run.yaml", "concurrency: 1", "concurrency: 3\n    timeout: 9")
    outcome = kragx("run", "run.yaml")
    assert sorted(asked(interrupted).split()) == [*"123456"]
    assert "has changed since: concurrency; all is asked for now" in outcome.err


def test_what_changes_no_answer(interrupted, kragx):
    """What a run leaves, another metric: all answers are kept."""
    edit(interrupted / "run.yaml", "recall@3,", "recall@2,")
    (interrupted / "index" / "__pycache__").mkdir()
    (interrupted / "index" / "__pycache__" / "x.pyc").write_text("x")
    assert KEPT in kragx("run", "run.yaml").err
    assert asked(interrupted) == "4 5 6"


# -- parts of a fingerprint -----------------------------------------------------------------------


def parts_of(here: Path, args: dict, **options) -> dict[str, str]:
    """The parts of the fingerprint of a retriever with these arguments."""
    config = RetrieverConfig.read({"class": "toy_resumed:make", "args": args})
    return Fingerprints(here, **options).of(config)


@pytest.mark.parametrize(
    "text",
    some(
        [
            "corpus.jsonl",
            "{here}/corpus.jsonl",
            "${NOTE}/corpus.jsonl",
        ],
        3,
    ),
)
def test_files_are_found_however_they_are_named(prepared, monkeypatch, text):
    """A path, behind a variable; the variable's value is not told."""
    monkeypatch.setenv("NOTE", str(prepared))
    args = {"deep": [{"in": text.replace("{here}", str(prepared))}]}
    before = parts_of(prepared, args)
    edit(prepared / "corpus.jsonl", "g1", "x1")
    after = parts_of(prepared, args)
    (name,) = [name for name in before if before[name] != after[name]]
    assert name.startswith("file ")
    assert str(prepared) not in name or "://" in text


@pytest.mark.parametrize(
    "text", ["", "/", ".", "/dev/zero", "a\nb", "x" * 5000, "\0", "~nobody/x", "?["]
)
def test_texts_that_name_no_file(prepared, text):
    """No text in `args` is an error, or read without an end; the current folder is one.

    Neither is a link in it that leads to itself. A mere slash separates something.
    """
    (prepared / "circle").symlink_to("circle")
    names = [name for name in parts_of(prepared, {"text": text}) if name.startswith("file ")]
    assert names == (["file ."] if text == "." else ["file /dev/zero"] if "zero" in text else [])


def test_a_folder_without_what_runs_leave(prepared):
    """A folder is its files' content; results, stores and caches are no part."""
    (prepared / "index" / "again").symlink_to(prepared / "index")
    args = {"root": "index"}
    written = [prepared / "index" / "store.sqlite"]
    before = parts_of(prepared, args, written=written)
    for name in (".git/x", ".kragx/x", "a/__pycache__/x", "db-shm", "store.sqlite"):
        path = prepared / "index" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    for name in ("config.yaml", "gold.jsonl", "report.json"):
        (prepared / "index" / "old").mkdir(exist_ok=True)
        (prepared / "index" / "old" / name).write_text("x")
    assert parts_of(prepared, args, written=written) == before
    edit(prepared / "index" / "part" / "1.bin", "one", "two")
    assert parts_of(prepared, args, written=written) != before


def code_of(here: Path, path: str) -> dict[str, str]:
    """The state of the local code of a retriever that is named by its import path."""
    config = RetrieverConfig.read({"class": path})
    code = Fingerprints(here).code(config)
    return {name: state for name, state in code.items() if name.startswith("code of ")}


def test_code_that_lies_beside(prepared):
    """All Python files below count, but for those of hidden folders and of other environments."""
    own = {"toy_resumed.py", "toy_package/__init__.py", "toy_package/search.py", *PACKAGE}
    for name in ("helpers/deep/one.py", ".venv/x.py", "env/lib/x.py", "node_modules/x.py"):
        (prepared / name).parent.mkdir(parents=True)
        (prepared / name).write_text("x = 1")
    (prepared / "env" / "pyvenv.cfg").touch()
    names = {f"code of {name}" for name in (*own, "helpers/deep/one.py")}
    assert names == code_of(prepared, "toy_resumed:make").keys()
    assert names == code_of(prepared, "toy_package.search:search").keys()
    for installed in ("json:loads", "langchain_core.retrievers:X", "kragx.data:Doc", "no_such:x"):
        assert code_of(prepared, installed) == {}


# -- the file in which answers are kept -----------------------------------------------------------

QUESTIONS = GoldDataset.from_documents([[], []], queries=["one", "two"])
STATE = {"args": "1"}


@pytest.mark.parametrize("text", ["a\u2028b\x85c", "a\rb\r\nc", "a\x0b\x0c\x1cb", "\u202e\x1b[2J"])
def test_lines_are_lines(tmp_path, text):
    """Only a line feed ends an answer, whatever its text holds; failures are not kept."""
    path, answer = tmp_path / "mine.jsonl", Retrieved((Doc(text=text),), 0.5)
    with partial_answers(path, STATE, QUESTIONS) as answers:
        assert answers.known == {}
        answers.keep(Query("q1", "one"), answer)
        answers.keep(Query("q2", "two"), Retrieved(error="no index"))
    with partial_answers(path, STATE, QUESTIONS) as answers:
        assert answers.known == {"q1": answer}


def test_searches_are_kept(tmp_path):
    """Answers with searches are taken over whole."""
    path = tmp_path / "mine.jsonl"
    first = Search("a", (Doc("d", "글"),), "tool", 1, 0.5, 7, read=(Doc("d", "글"),))
    searches = first, Search("b", None, step=1)
    alone = Retrieved((), 0.5, searches=searches, has_list=False)
    beside = Retrieved((Doc("e"),), 0.5, searches=searches)
    with partial_answers(path, STATE, QUESTIONS) as answers:
        answers.keep(Query("q1", "one"), alone)
        answers.keep(Query("q2", "two"), beside)
    assert answers.as_read == {"q1": alone, "q2": beside}
    with partial_answers(path, STATE, QUESTIONS) as answers:
        assert answers.known == {"q1": alone, "q2": beside}


def test_an_interruption_changes_no_answer(tmp_path):
    """What JSON has no form for is used as a next run would read it, interrupted or not."""

    class Odd:
        def __eq__(self, other):
            raise ValueError

        __hash__ = None

        def __str__(self):
            return "odd"

    path = tmp_path / "mine.jsonl"
    metadata = {"on": date(2026, 1, 31), "pair": (1, 2), 5: "five", "odd": Odd()}
    with partial_answers(path, STATE, QUESTIONS) as answers:
        answers.keep(Query("q1", "one"), Retrieved((Doc(id="d", metadata=metadata),), 0.5))
        answers.keep(Query("q2", "two"), Retrieved((Doc(id="d", metadata={"page": 5}),), 0.5))
    with partial_answers(path, STATE, QUESTIONS) as again:
        assert answers.as_read == again.known
    plain = {"on": "2026-01-31", "pair": [1, 2], "5": "five", "odd": "odd"}
    assert again.known["q1"].documents[0].metadata == plain


@pytest.mark.integration
def test_numbers_of_numpy_in_metadata(prepared, kragx, jsonl):
    """They are numbers like any others, in a run that was interrupted and in one that was not."""
    edit(prepared / "toy_package" / "search.py", "    return [doc for", "    found = [doc for")
    with (prepared / "toy_package" / "search.py").open("a") as file:
        file.write("    import numpy\n    page = numpy.int64(words.number(question))\n")
        file.write("    return [{**doc, 'metadata': {'page': page}} for doc in found]\n")
    edit(prepared / "run.yaml", "match: id", "match: {method: id, id_key: metadata.page}")
    jsonl(*[{**q, "gold": [{"id": q["query_id"][1:]}]} for q in GOLD], name="gold.jsonl")
    for code, options in ((130, []), (0, []), (0, ["--fresh"])):
        assert kragx("run", "run.yaml", *options).code == code
        (prepared / "revived").touch()
        if not code:
            report = json.loads((prepared / "out" / "report.json").read_text())
            assert report["evaluations"][0]["mean"]["recall@3"] == 1.0


@pytest.mark.parametrize("broken", [0, 1, 2])
def test_a_broken_line_costs_itself_alone(tmp_path, broken):
    """Whichever is broken; without the first, which says their state, no answer is taken over."""
    path = tmp_path / "mine.jsonl"
    answer = Retrieved((Doc(id="d"),), 0.5)
    with partial_answers(path, STATE, QUESTIONS) as answers:
        for query in QUESTIONS:
            answers.keep(query, answer)
    lines = path.read_text().splitlines()
    lines[broken] = lines[broken][: len(lines[broken]) // 2]
    path.write_text("\n".join(lines))  # the last one without its end
    whole = [f"q{line}" for line in (1, 2) if broken not in (0, line)]
    with partial_answers(path, STATE, QUESTIONS) as answers:
        assert list(answers.known) == whole
        answers.keep(Query("q1", "one"), answer)
    with partial_answers(path, STATE, QUESTIONS) as answers:
        assert set(answers.known) == {"q1", *whole}
    with partial_answers(path, {"args": "2"}, QUESTIONS) as answers:
        assert (answers.known, answers.n_unused) == ({}, len({"q1", *whole}))
        assert answers.changed == ("args",)
