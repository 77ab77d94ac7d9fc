"""Folders that somebody else has made: read as data, with the numbers of the run."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import sys
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
import yaml

from kragx.app import config, pipeline
from kragx.app.result_folder.written import claimed
from tests.sealing import reseal

pytestmark = pytest.mark.filterwarnings("ignore:gold of one template")

GOLD = [
    {
        "query_id": f"q{number}",
        "query": f"question {number}",
        "gold": [
            {"id": f"g{number}", "text": f"the gold text number {number} is here"},
            {"text": "another one", "alternatives": [{"text": f"text {number}"}]},
        ],
        "metadata": {"facts": [f"number {number}", "nothing of it"]},
    }
    for number in range(1, 7)
]
CODE = '''
import json
import random
from kragx.judging import Answer, Failure, Usage

def one(question):
    number = question.split()[1]
    return [f"the gold text number {n} is here, said {n} times" for n in (number, 3, number, 9)]

def two(question):
    return [f"another text {n} of the gold" for n in range(int(question.split()[1]))]

class Lottery:
    """Never says the same twice, and looks at the whole list."""
    threshold = 0.25
    may_not_know = True

    def scores(self, items, notes):
        for item in items:
            notes["n_drawn"] += 1
            n, t = item.shape
            yield [[random.choice((0.0, float("nan"), random.random())) for _ in range(t)]
                   for _ in range(n)]

def letters(text):
    return [letter for letter in text if letter.isalnum()]

class Vectors:
    def embed_documents(self, texts):
        return [[text.count(letter) / 3 for letter in "aeiou6"] for text in texts]

class Client:
    settings = {"provider": "toy", "base_url": None, "model": "toy"}

    async def ask(self, request):
        text = request.messages[-1][1]
        if text.count("3") > 2:
            return Failure("refusal", "not three")
        return Answer(json.dumps({"reason": f"{len(text)} long", "grade": len(text) % 4}), Usage(9))
'''
CONFIG = """
dataset: gold.jsonl
retrievers: {one: 'toy_foreign:one', two: 'toy_foreign:two'}
judge: {client: 'toy_foreign:Client', max_missing: 1, progress: false}
metrics: ['recall@5(rel=1)', ndcg@3, context_completeness@2]
statistics: {resamples: 100}
output: out
"""


def blocks(folder):
    """What the page of a folder holds, block by block."""
    text = (folder / "report.html").read_text(encoding="utf-8")
    packed = re.findall(r'<script type="application/octet-stream" id="(.*?)">(.*?)</script>', text)
    return {name: json.loads(zlib.decompress(base64.b64decode(block))) for name, block in packed}


@pytest.fixture
def finished(jsonl, module, here, kragx):
    """Run a config with a matcher, and forget all that it was made with."""

    def run(match):
        jsonl(*GOLD, name="gold.jsonl")
        module("toy_foreign", CODE)
        (here / "run.yaml").write_text(f"{CONFIG}\n{match}", encoding="utf-8")
        outcome = kragx("run", "run.yaml")
        assert outcome.code == 0, outcome.err
        return here / "out"

    return run


@pytest.fixture
def forget(here):
    """Remove all that a run was made with."""

    def call():
        for name in ("toy_foreign.py", "gold.jsonl", "run.yaml", ".kragx/judgements.sqlite"):
            (here / name).unlink(missing_ok=True)
        sys.modules.pop("toy_foreign", None)

    return call


@pytest.mark.integration
def test_figures_are_the_runs(finished, forget, kragx):
    """Report and page come out as the run wrote them, without all that it was made with."""
    folder = finished("match: overlap")
    forget()
    page = blocks(folder)
    before = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    assert kragx("report", folder, "--format", "json").json() == before
    assert kragx("report", folder, "--format", "html").code == 0
    assert blocks(folder) == page
    assert "toy_foreign" not in sys.modules


@pytest.mark.integration
@pytest.mark.parametrize(
    ("match", "source"),
    [
        (
            "match: {method: embedding, embeddings: 'toy_foreign:Vectors', threshold: 0.98}",
            "toy_foreign:Vectors",
        ),
        ("match: {any: [exact, {method: overlap, tokenizer: 'toy_foreign:letters'}]}", "letters"),
        ("match: {cascade: [{method: overlap, accept: 0.9, reject: 0.2}, llm]}", "a judge"),
        ("match: {method: llm, mode: relevance}", "a judge"),
        ("match: exact\nfacts_match: llm", "facts_match: its scores come from a judge"),
    ],
)
def test_code_and_models_need_trust(finished, kragx, match, source):
    """Without --trust what the scores come from is named, and what helps; with it all is equal."""
    folder = finished(match)
    before = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    for call in (
        ("report", folder),
        ("threshold", "sweep", folder),
        ("explain", folder, "-q", "q1"),
    ):
        code, _, err = kragx(*call)
        if call[0] == "report" or "facts" not in match:
            assert (code, source in err, "--trust" in err) == (2, True, True)
    assert kragx("explain", folder, "-q", "q1", "--match", "overlap").code == 0
    after = kragx("report", folder, "--trust", "--format", "json").json()
    means = [[row["mean"] for row in report["evaluations"]] for report in (before, after)]
    assert means[0] == means[1]
    assert kragx("compare", folder, "--retriever", "one", "--retriever", "two").code == 0


@pytest.mark.integration
def test_what_the_user_names_is_his_own(finished, kragx):
    """An import path at the command line is loaded; a folder's metric or tokenizer is not."""
    folder = finished("match: overlap")
    mine = ("threshold", "sweep", folder, "--match", "toy_foreign:Lottery", "-m", "recall@2")
    assert kragx(*mine).code == 0
    config = folder / "config.yaml"
    text = config.read_text(encoding="utf-8")
    for change, name in {
        "metrics: ['toy_metric:RBP@5']": "toy_metric:RBP",
        "budget_tokenizer: 'toy_foreign:letters'": "toy_foreign:letters",
    }.items():
        sys.modules.pop("toy_foreign")
        raw = {**yaml.safe_load(text), **yaml.safe_load(change), "metrics": ["ndcg@9tokens"]}
        raw |= yaml.safe_load(change)
        config.write_text(yaml.safe_dump(raw), encoding="utf-8")
        reseal(folder)
        code, _, err = kragx("report", folder)
        assert code == 2
        assert f"{name} is code" in err
        assert "toy_foreign" not in sys.modules
        assert kragx(*mine).code == (0 if "metrics" in change else 2)


BAIT = """
from pathlib import Path
Path({marker!r}).write_text("imported")
class Evil:
    threshold = 0.5
    def scores(self, items, notes): raise SystemExit
    def embed_documents(self, texts): raise SystemExit
"""
EVIL = {
    "match": {"match": "bait:Evil"},
    "any": {"match": {"any": ["id", "bait:Evil"]}},
    "tokenizer": {"match": {"method": "overlap", "tokenizer": "bait:Evil"}},
    "embedding": {"match": {"method": "embedding", "embeddings": "bait:Evil", "threshold": 0.5}},
    "llm": {"match": "llm"},
    "client": {"match": "llm", "judge": {"client": "bait:Evil"}},
    "facts": {"facts_match": "bait:Evil", "metrics": ["context_completeness"]},
    "metric": {"metrics": ["recall@5", "bait:Evil@5"]},
    "gate": {"gates": {"bait:Evil@5": ">= 0"}},
    "budget": {"budget_tokenizer": "bait:Evil", "metrics": ["ndcg@9tokens"]},
    "callback": {"retrievers": {"one": {"class": "bait:Evil", "callbacks": ["bait:Evil"]}}},
    "variable": {"dataset": {"path": "gold.jsonl", "name": "${KRAGX_SECRET}"}},
    "nothing": {},
}
READING = [
    ("report", "theirs"),
    ("compare", "mine", "theirs"),
    ("explain", "theirs", "-q", "q1"),
    ("threshold", "sweep", "theirs"),
    ("gold", "validate", "theirs/config.yaml"),
]
MORE = [
    ("report", "theirs", "--format", "html"),
    ("report", "theirs", "--format", "markdown"),
    ("compare", "theirs", "--retriever", "one", "--retriever", "two"),
    ("gold", "validate", "theirs/gold.jsonl"),
]


@pytest.fixture(scope="module")
def asked():
    """A server that counts who comes, and where it listens."""
    came = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            came.append(self.path)
            self.send_error(500)

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    yield came, f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def plain_folder(tmp_path_factory):
    """A result folder that a run of plain matchers has left."""
    here = tmp_path_factory.mktemp("plain")
    records = "".join(json.dumps(record) + "\n" for record in GOLD)
    (here / "gold.jsonl").write_text(records, encoding="utf-8")
    (here / "toy_plain.py").write_text(CODE, encoding="utf-8")
    text = CONFIG.replace("toy_foreign", "toy_plain") + "match: rouge1\nhtml: false"
    (here / "run.yaml").write_text(text, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(here))
        loaded = config.load(here / "run.yaml")
        report = pipeline.run(loaded, progress=False)
    with claimed(here / "out", loaded) as write:
        write(report)
    return here / "out"


@pytest.fixture
def baited(plain_folder, here, asked, monkeypatch):
    """Two copies of it; one has a config of somebody's with what must not be touched."""
    _, url = asked
    monkeypatch.setenv("OPENAI_API_KEY", "sk-mine")
    monkeypatch.setenv("KRAGX_SECRET", "sk-of-mine")
    monkeypatch.delenv("KRAGX_JUDGE_MODEL", raising=False)
    monkeypatch.delenv("KRAGX_OF_FOLDER", raising=False)
    marker, theirs = here / "marker", here / "theirs"
    for name in ("mine", "theirs"):
        shutil.copytree(plain_folder, here / name)
    os.mkfifo(here / "fifo")
    for folder in (here, theirs):  # where kragx is started, and beside the config
        for name in ("bait", "matplotlib", "openai", "pyarrow"):
            text = BAIT.format(marker=str(marker))
            (folder / f"{name}.py").write_text(text, encoding="utf-8")
        (folder / ".env").write_text("KRAGX_OF_FOLDER=1\n", encoding="utf-8")

    def write(changes):
        raw = yaml.safe_load((theirs / "config.yaml").read_text(encoding="utf-8"))
        judge = {"model": "m", "base_url": url, "store": str(here / "elsewhere.sqlite")}
        raw |= {"judge": judge, "output": str(here / "written")}
        raw["dataset"]["corpus"] = str(here / "fifo")
        (theirs / "config.yaml").write_text(yaml.safe_dump(raw | changes), encoding="utf-8")
        reseal(theirs)
        return theirs

    yield write
    for name in ("bait", "matplotlib", "openai", "pyarrow"):
        if str(here) in str(getattr(sys.modules.get(name), "__file__", "")):
            del sys.modules[name]


LONGER = ("any", "tokenizer", "embedding", "llm", "facts", "budget", "gate", "callback", "nothing")


@pytest.mark.parametrize(
    ("evil", "calls"),
    [
        *(
            pytest.param(n, READING, marks=[pytest.mark.integration] * (n in LONGER), id=n)
            for n in EVIL
        ),
        pytest.param("variable", MORE, marks=pytest.mark.integration, id="variable, more"),
    ],
)
def test_nothing_of_a_folder_is_run(baited, here, kragx, asked, evil, calls):
    """No import, no variable of .env, no request, no file elsewhere, whatever its config says."""
    baited(EVIL[evil])
    before = sorted(here.rglob("*"))
    for call in calls:
        outcome = kragx(*call)
        refuses = evil not in ("callback", "variable", "nothing")
        allowed = {0, 2} if refuses else {0}
        assert outcome.code in ({0, 3} if call[0] == "gold" else allowed), (call, outcome.err)
        assert "sk-" not in outcome.out + outcome.err
    page = here / "theirs" / "report.html"
    if page.exists():
        assert "sk-" not in str(blocks(page.parent))
        page.unlink()
    assert not (here / "marker").exists()
    assert "bait" not in sys.modules
    assert "KRAGX_OF_FOLDER" not in os.environ
    assert not asked[0]
    assert sorted(here.rglob("*")) == before


def test_the_bait_would_be_taken(baited, here, kragx, monkeypatch):
    """With --trust all of it happens, so that the test above could fail."""
    baited({"match": "bait:Evil", "dataset": {"path": "gold.jsonl"}})
    monkeypatch.setenv("KRAGX_OF_FOLDER", "")
    monkeypatch.delenv("KRAGX_OF_FOLDER")
    kragx("explain", "theirs", "-q", "q1", "--trust")
    assert (here / "marker").exists()
    assert os.environ.pop("KRAGX_OF_FOLDER") == "1"


def test_a_judge_of_theirs_is_asked_when_trusted(baited, here, kragx, asked):
    """The endpoint of a folder's config gets requests with --trust, and only then."""
    judge = {"model": "m", "base_url": asked[1], "store": str(here / "s.sqlite"), "attempts": 1}
    baited({"match": "llm", "judge": judge, "dataset": {"path": "gold.jsonl"}})
    assert kragx("threshold", "sweep", "theirs").code == 2
    assert kragx("threshold", "sweep", "theirs", "--match", "llm").code == 2
    assert not asked[0]
    assert not (here / "s.sqlite").exists()
    assert kragx("report", "theirs", "--trust").code == 4
    assert set(asked[0]) == {"/v1/chat/completions"}
    asked[0].clear()


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"statistics": {"resamples": 10**12}}, "is more than 1000000"),
        ({"statistics": {"confidence": 1 - 1e-16}}, "is not between 0.5 and 0.9999"),
        ({"metrics": ["recall@1000000000"]}, "from 1 to 999999999"),
        ({"match": {"method": "overlap", "short": 10**9}}, "is more than 1000"),
    ],
)
def test_a_config_keeps_nobody_busy(baited, kragx, changes, problem):
    """Numbers out of all proportion are refused before anything is computed."""
    baited(changes)
    code, _, err = kragx("report", "theirs")
    assert code == 2
    assert problem in err


@pytest.mark.parametrize("name", ["report.json", "manifest.json"])
@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[" * 100_000, "nested too deeply"),
        ('{"written_by": "kragx", "files": {}, "files": {}}', "the key 'files' stands twice"),
        ("[]", "no JSON object"),
    ],
)
def test_json_of_kragxs_own_that_is_none(baited, kragx, name, text, problem):
    """A key twice, depth without end, another value: bad data by its name, never a mistake."""
    theirs = baited({})
    (theirs / name).write_text(text, encoding="utf-8")
    if name != "manifest.json":
        reseal(theirs)
    code, _, err = kragx("report", "theirs")
    assert code == 3
    assert problem in err
    assert name in err


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("record", "seconds"), [1]),
        (("evaluations", 0, "counts", "n_failed"), 1e400),
        (("evaluations", 0, "settings", "profile"), [1]),
        (("evaluations", 0, "settings", "versions"), 1),
    ],
)
def test_report_json_with_other_values(baited, kragx, place, value):
    """Values of another kind than kragx writes are bad data, or are told nothing of."""
    theirs = baited({})
    report = json.loads((theirs / "report.json").read_text(encoding="utf-8"))
    part = report
    for key in place[:-1]:
        part = part[key]
    part[place[-1]] = value
    (theirs / "report.json").write_text(json.dumps(report), encoding="utf-8")
    reseal(theirs)
    assert kragx("compare", "mine", "theirs").code == 3


FILES = ("manifest.json", "config.yaml", "gold.jsonl", "report.json", "results/one.jsonl")


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        pytest.param(kind, name, marks=[pytest.mark.integration] * (number not in (0, 3)))
        for kind in ("link", "circle", "pipe", "device")
        for number, name in enumerate(FILES)
    ],
)
def test_files_that_are_none_of_the_folder(baited, here, kragx, name, kind):
    """A link that leads out, a pipe or a device in the place of a file is refused at once."""
    path = baited({}) / name
    path.unlink()
    if kind == "pipe":
        os.mkfifo(path)
    else:
        goals = {"link": here / "mine" / name, "circle": path, "device": "/dev/zero"}
        path.symlink_to(goals[kind])
    code, _, err = kragx("report", "theirs")
    assert code == 3
    assert name in err
    if not name.startswith("results"):
        assert kragx("compare", "mine", "theirs").code == 3


@pytest.mark.parametrize(
    "command", ["report circle", "compare circle mine", "run toy.yaml -o circle"]
)
def test_a_folder_that_is_a_circle(baited, here, kragx, command):
    """A link to itself in a folder's place is a plain error."""
    baited({})
    (here / "circle").symlink_to(here / "circle")
    (here / "toy.yaml").write_text("dataset: g.jsonl\nretrievers: {a: g.jsonl}\n", "utf-8")
    code, _, err = kragx(*command.split())
    assert code in (2, 3)
    assert err.startswith("kragx: ")
    assert "circle" in err


def test_a_lock_that_is_a_link(baited, here, kragx):
    """Finishing what is unfinished beside a folder never writes where a link leads."""
    baited({})
    (here / "precious.txt").write_text("mine", encoding="utf-8")
    (here / "theirs.unfinished" / "old").mkdir(parents=True)
    (here / "theirs.unfinished" / "lock").symlink_to(here / "precious.txt")
    assert kragx("report", "theirs").code == 2
    assert (here / "precious.txt").read_text(encoding="utf-8") == "mine"


def test_a_page_is_not_written_through_a_link(baited, here, kragx):
    """`report --format html` follows no link of the folder to a file of the user's."""
    theirs = baited({})
    (here / "precious.txt").write_text("mine", encoding="utf-8")
    (theirs / "report.html").symlink_to(here / "precious.txt")
    assert kragx("report", "theirs", "--format", "html").code == 3
    assert (here / "precious.txt").read_text(encoding="utf-8") == "mine"


def test_names_that_are_paths(baited, here, kragx):
    """A retriever called ``../../x`` is read and shown within the folder."""
    theirs = baited(
        {"retrievers": {"../../one": "toy:one", "/etc/two": {"results": "/etc/passwd"}}}
    )
    for name in ("one", "two"):
        (theirs / "results" / f"{name}.jsonl").rename(
            theirs / "results" / {"one": "_.._one.jsonl", "two": "_etc_two.jsonl"}[name]
        )
    reseal(theirs)
    outcome = kragx("report", "theirs", "--format", "json")
    assert [row["retriever"] for row in outcome.json()["evaluations"]] == ["../../one", "/etc/two"]


@pytest.mark.integration
def test_the_earlier_run_is_kept(finished, forget, kragx, here):
    """What became of retrievers since an earlier run is reported without that run's folder."""
    finished("match: overlap").rename(here / "before")
    folder = finished("match: overlap\nearlier: before\ngates: {ndcg@3: no worse than earlier}")
    forget()
    before = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    assert before["changes"]
    shutil.rmtree(here / "before")
    folder.rename(here / "moved")
    after = kragx("report", "moved", "--format", "json").json()
    assert after == before
    shutil.rmtree(here / "moved" / "earlier")
    reseal(here / "moved")
    code, _, err = kragx("report", "moved")
    assert code == 2
    assert "earlier: " in err
    assert "--trust" in err
