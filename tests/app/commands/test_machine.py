"""When the machine fails, or kragx itself: one line, the right exit code, nothing lost."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests import children
from tests.waiting import PATIENCE, wait_until

GOOD = {"query_id": "q1", "gold": [{"text": "a b c"}], "retrieved": [{"text": "a b c"}]}

posix = pytest.mark.skipif(sys.platform == "win32", reason="Windows has other streams and signals")


def run(*args, closed=(), **options):
    """The command in a process of its own, with standard streams closed by their numbers."""
    return subprocess.run(
        children.closing(closed, [sys.executable, "-m", "kragx", *map(str, args)]),
        capture_output=not options.keys() & {"stdout"},
        text=True,
        encoding="utf-8",
        check=False,
        timeout=60,
        **options,
    )


def fail(error):
    """What raises an error wherever it is put."""

    def raising(*_, **__):
        raise error

    return raising


def test_a_mistake_in_kragx(kragx, jsonl, monkeypatch):
    """What nobody expected exits 70 with one line, and the traceback is in the file it names."""
    monkeypatch.setattr("kragx.app.commands.score.show", None)
    code, out, err = kragx("score", jsonl(GOOD))
    assert (code, out) == (70, "")
    assert re.match(
        r"kragx: score\.py:\d+: TypeError: 'NoneType' object is not callable; "
        r"this is a mistake in kragx, please report it; the traceback is in \S+\n$",
        err,
    )
    file = Path(re.search(r"the traceback is in (\S+)\n", err)[1])
    assert "Traceback (most recent call last)" in file.read_text(encoding="utf-8")
    file.unlink()


MATCHER = """
class Mine:
    threshold = 0.5
    settings = {}
    def scores(self, items, notes):
        yield [][0]
"""


@pytest.mark.parametrize(
    ("place", "args"),
    [
        ("app.commands.explain.show", ("explain", "{}", "-q", "q1")),
        ("app.commands.score.write_records", ("match", "{}")),
        ("app.commands.threshold.show", ("threshold", "sweep", "{}")),
        ("matchers.base.BaseMatcher._shaped", ("score", "{}", "--match", "my_matcher:Mine")),
        ("workshop.commands.gold.show", ("gold", "validate", "{}")),
    ],
)
def test_a_mistake_in_each_command(kragx, jsonl, module, monkeypatch, place, args):
    """It is one line and a file, neither with a secret; a matcher of the user's is not blamed."""
    module("my_matcher", MATCHER.replace("yield [][0]", "for _ in items: yield [[1]]"))
    monkeypatch.setenv("KRAGX_API_KEY", "not-for-anybody-1")
    code = "def wrong(*args, **options): raise ZeroDivisionError(os.environ['KRAGX_API_KEY'])"
    names = {"__name__": "builtins", "os": os}
    exec(compile(code, "<of no file>", "exec"), names)
    monkeypatch.setattr(f"kragx.{place}", names["wrong"])
    code, out, err = kragx(*(arg.format(jsonl(GOOD)) for arg in args))
    assert (code, out) == (70, "")
    assert re.match(r"kragx: \w+\.py:\d+: ZeroDivisionError: \$\{KRAGX_API_KEY\}; .*\n$", err)
    file = Path(re.search(r"the traceback is in (\S+)\n", err)[1])
    assert "not-for-anybody-1" not in file.read_text(encoding="utf-8")
    file.unlink()


CLIENT = """
from kragx.testing import ScriptedClient
def make():
    return ScriptedClient(lambda request: 2)
"""


@pytest.mark.parametrize(
    "place",
    ["judging.calls.judged", "judging.queue.WorkQueue.keep", "judging.forms.answer_object"],
)
def test_a_mistake_in_a_worker_of_the_judge(kragx, jsonl, module, monkeypatch, place):
    """It ends the command with 70, and is no failed judgement."""
    module("my_client", CLIENT)
    config = jsonl(name="kragx.yaml")
    config.write_text(
        f"dataset: {jsonl(GOOD)}\nretrievers: {{mine: {{results: {jsonl(GOOD)}}}}}\nmatch: llm\n"
        "judge: {client: 'my_client:make', store: judgements.sqlite}\n"
    )
    assert kragx("run", config, "--dry-run")[0] == 0
    monkeypatch.setattr(f"kragx.{place}", None)
    code, _, err = kragx("run", config)
    assert code == 70
    assert re.search(r"^kragx: \w+\.py:\d+: TypeError: .*; this is a mistake in kragx", err, re.M)
    Path(re.search(r"the traceback is in (\S+)\n", err)[1]).unlink()


def test_no_file_for_the_traceback(kragx, jsonl, monkeypatch):
    """On a full disk the traceback is printed instead."""
    monkeypatch.setattr("kragx.app.commands.score.show", None)
    monkeypatch.setattr("tempfile.NamedTemporaryFile", fail(OSError(28, "No space left")))
    code, _, err = kragx("score", jsonl(GOOD))
    assert code == 70
    assert "Traceback" in err
    assert "the traceback is in the lines above" in err.splitlines()[-1]


def test_a_mistake_in_code_of_the_user(kragx, jsonl, module):
    """What a user's own matcher raises is not called a mistake in kragx: exit code 2, its line."""
    module("my_broken_matcher", MATCHER)
    code, _, err = kragx("score", jsonl(GOOD), "--match", "my_broken_matcher:Mine")
    assert code == 2
    assert err.startswith("kragx: my_broken_matcher.py:6: IndexError: ")
    assert "raised by code that is not kragx's" in err
    Path(re.search(r"the traceback is in (\S+)\n", err)[1]).unlink()


WRONG = """
from kragx.matchers import BaseMatcher

class Signature(BaseMatcher):
    threshold = 0.5
    def scores(self, items):
        yield []

class Nothing(BaseMatcher):
    threshold = 0.5
    def scores(self, items, notes):
        return None

class Lacking(BaseMatcher):
    threshold = None
    def scores(self, items, notes):
        return None

class Tokenizer:
    def __call__(self):
        return []

class Tokens:
    def __call__(self, text):
        return None
"""


@pytest.mark.parametrize(
    ("name", "spec", "said"),
    [
        ("Signature", "{}", r"TypeError: .*scores\(\) takes 2 .* 3 were given"),
        ("Nothing", "{}", "TypeError: 'NoneType' object is not iterable"),
        ("Lacking", "{}", "TypeError: .* 'NoneType'"),
        ("Tokenizer", "{{method: overlap, tokenizer: '{}'}}", r"TypeError: .*__call__\(\) takes 1"),
        ("Tokens", "{{method: rouge1, tokenizer: '{}'}}", "TypeError: 'NoneType' object"),
    ],
)
def test_wrong_code_of_the_user(kragx, jsonl, module, name, spec, said):
    """What has a wrong signature or type is named, though no line of it fails: exit code 2."""
    module("my_wrong_code", WRONG)
    code, _, err = kragx("score", jsonl(GOOD), "--match", spec.format(f"my_wrong_code:{name}"))
    assert code == 2
    expected = (
        rf"kragx: \w+\.py:\d+: {said}.*; raised with my_wrong_code\.{name}, which is not kragx's; "
    )
    assert re.match(expected, err), err
    Path(re.search(r"the traceback is in (\S+)\n", err)[1]).unlink()


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError(28, "No space left on device", "somewhere"), "somewhere: No space left on device"),
        (OSError(36, "File name too long", "a" * 300), f"{'a' * 300}: File name too long"),
        (PermissionError(13, "Permission denied", "secret"), "secret: Permission denied"),
        (OSError(28, "No space left on device"), "standard output: No space left on device"),
        (OSError(24, "Too many open files", "a.txt"), "a.txt: Too many open files"),
        (MemoryError(), "the memory is used up; try a part of the data"),
    ],
)
def test_refused_by_the_machine(kragx, jsonl, monkeypatch, error, said):
    """What the machine refuses is no mistake of kragx: one line, exit code 2."""
    monkeypatch.setattr("kragx.app.commands.process.let_go", lambda file: None)
    monkeypatch.setattr("kragx.app.commands.score.evaluate", fail(error))
    assert kragx("score", jsonl(GOOD)) == (2, "", f"kragx: {said}\n")


@pytest.mark.integration
@posix
@pytest.mark.parametrize("closed", [(1,), (0, 1, 2)])
def test_closed_streams(jsonl, closed, tmp_path):
    """Closed standard streams are as good as empty: the same file is written, exit code 0."""
    out = tmp_path / "pairs.jsonl"
    done = run("match", jsonl(GOOD), "--out", out, closed=closed)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert out.read_text(encoding="utf-8").startswith('{"query_id": "q1"')


@pytest.mark.integration
@posix
def test_nothing_is_read_of_a_closed_stream(jsonl):
    """Standard input that is closed holds no query."""
    done = run("score", "-", closed=(0,))
    assert done.returncode == 3
    assert done.stderr.startswith("kragx: -: the file holds no query; a line for each: ")


GATE = """
dataset: gold.jsonl
match: id
retrievers: {mine: {class: "retriever_of_one:ask"}}
metrics: [mrr@1]
gates: {mrr@1: ">= 1"}
output: out
"""


@pytest.fixture
def one_retriever(here, jsonl):
    """A config that a gate fails, unless other code makes a retriever right; and its runs."""
    jsonl({"query_id": "q1", "query": "which?", "gold": [{"id": "d1"}]}, name="gold.jsonl")
    (here / "gate.yaml").write_text(GATE, encoding="utf-8")

    def runs(body, *args, **options):
        source = f"import os, sys\n\n{body}\n"
        (here / "retriever_of_one.py").write_text(source, encoding="utf-8")
        return run("run", "gate.yaml", *args, **options)

    return runs


WRONG_ANSWER = "def ask(question): return [{'id': 'd2'}]"


@pytest.mark.integration
@posix
def test_nobody_reads_to_the_end(one_retriever):
    """Where the reader of a table has gone (head) a gate that fails ends with 1 all the same."""
    read, write = os.pipe()
    os.close(read)
    done = one_retriever(WRONG_ANSWER, stdout=write, stderr=subprocess.PIPE)
    os.close(write)
    assert (done.returncode, done.stderr) == (1, "written to out; open out/report.html\n")


@pytest.mark.integration
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device")
def test_nobody_can_be_told(one_retriever, here):
    """What standard error does not take changes neither what is written nor the exit code."""
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        done = one_retriever(WRONG_ANSWER, stdout=subprocess.PIPE, stderr=full)
    assert done.returncode == 1
    assert "mrr@1" in done.stdout
    assert (here / "out" / "report.html").exists()


@pytest.mark.integration
@posix
@pytest.mark.parametrize(
    "line",
    [
        "print('a word')",
        "os.write(1, b'a word')",
        "os.system('echo a word')",
        "sys.stdout.write('a word'); sys.stdout.close()",
        "sys.stdout.write('a word'); sys.stdout = None",
    ],
)
def test_what_a_retriever_prints(one_retriever, line):
    """It goes to standard error, whoever prints it and how; standard output has results alone."""
    done = one_retriever(f"def ask(question):\n    {line}\n    return [{{'id': 'd1'}}]")
    assert done.returncode == 0, done.stderr
    assert "a word" not in done.stdout
    assert "a word" in done.stderr
    assert "mrr@1" in done.stdout


@pytest.mark.integration
@posix
def test_what_a_matcher_prints(jsonl, module):
    """JSON on standard output is JSON, whatever a matcher prints."""
    module("printing_matcher", PRINTING)
    done = run("score", jsonl(GOOD), "--match", "printing_matcher:Mine", "--format", "json")
    assert json.loads(done.stdout)["mean"]["mrr@10"] == 1
    assert done.stderr == "a word\n"


PRINTING = """
from kragx.matchers import BaseMatcher

class Mine(BaseMatcher):
    threshold = 0.5
    def scores(self, items, notes):
        print("a word")
        for item in items:
            yield [[1.0]]
"""


@pytest.mark.integration
@posix
def test_a_retriever_that_goes_elsewhere(one_retriever, here, tmp_path_factory):
    """What is written stays where it was named, though a retriever changes the current folder."""
    away = tmp_path_factory.mktemp("away")
    body = f"def ask(question):\n    os.chdir({str(away)!r})\n    return [{{'id': 'd1'}}]"
    done = one_retriever(body, "--summary", "summary.md")
    assert (done.returncode, done.stderr) == (0, "written to out; open out/report.html\n")
    assert (here / "summary.md").exists()
    assert not [*away.iterdir()]


POOL = """
from multiprocessing import get_context

def length(text):
    return len(text)

def ask(question):
    for _ in range(5):
        with get_context("fork").Pool(2) as pool:
            pool.map(length, ["a", "b"])
    return [{"id": "d1"}]
"""


@pytest.mark.integration
@posix
def test_a_pool_that_is_forked(one_retriever):
    """The processes of a pool that a retriever forks end as it ends them, without a word."""
    done = one_retriever(POOL)
    assert (done.returncode, done.stderr) == (0, "written to out; open out/report.html\n")


LEFT = """
from concurrent.futures import ThreadPoolExecutor
from threading import Event

def ask(question):
    ThreadPoolExecutor(1, "the index").submit(Event().wait)
    return [{"id": "d1"}]
"""


@pytest.mark.integration
def test_a_thread_that_never_ends(one_retriever):
    """A thread that Python would wait for is named, and does not keep the command for ever."""
    done = one_retriever(LEFT)
    assert done.returncode == 0
    assert done.stderr.endswith("kragx: done; what does not end is not waited for: the index_0\n")


@pytest.mark.integration
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device")
@pytest.mark.parametrize("args", [["metrics"], ["--help"]])
def test_full_output(args):
    """Output that cannot be written is one line on standard error, and no success."""
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        done = run(*args, stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 2
    assert done.stderr == "kragx: standard output: No space left on device\n"


@pytest.mark.integration
@posix
@pytest.mark.parametrize(
    ("unbuffered", "args"),
    [
        ("", ("score", "--format", "csv")),
        ("1", ("score", "--format", "csv")),
        ("1", ("score",)),
        ("1", ("match", "--out", "-")),
    ],
)
def test_output_that_fills_a_disk_in_the_middle(jsonl, tmp_path, unbuffered, args):
    """Output of which a part is written is no success either, whatever buffers Python has."""
    name, *rest = args
    command = [sys.executable, "-B", "-m", "kragx", name, str(jsonl(GOOD)), *rest]
    path = tmp_path / "out"
    with path.open("w", encoding="utf-8") as out:
        done = subprocess.run(
            children.limited(10, command),
            stdout=out,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            timeout=60,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        )
    assert (done.returncode, done.stderr) == (2, "kragx: standard output: File too large\n")
    assert path.stat().st_size == 10


@pytest.mark.integration
@posix
@pytest.mark.parametrize("encoding", ["ascii", "cp949"])
def test_what_a_terminal_cannot_print(jsonl, encoding):
    """A character that the terminal lacks is replaced; where it has Korean the columns are in line.

    One that has none shows one question mark for two columns.
    """
    records = [GOOD | {"query_id": query_id} for query_id in ("한글", "≈", "é", "q")]
    done = subprocess.run(
        [sys.executable, "-m", "kragx", "score", str(jsonl(*records)), "--per-query"],
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": encoding},
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    lines = done.stdout.decode(encoding).splitlines()
    rows = [line for line in lines[:8] if line.startswith("|")]
    assert len(rows) >= 4
    wide = str.maketrans({"한": "xx", "글": "xx"})
    widths = {len(row.translate(wide)) for row in rows if "??" not in row}
    assert len(widths) == 1


@posix
@pytest.mark.parametrize("width", [1, 20])
def test_narrow_terminals(kragx, jsonl, monkeypatch, width):
    """However narrow the terminal, the numbers are printed."""
    monkeypatch.setenv("COLUMNS", str(width))
    code, out, err = kragx("score", jsonl(GOOD))
    assert (code, err) == (0, "")
    assert out


SLOW = """
import time
from pathlib import Path

def ask(question):
    if Path("asked").exists():
        time.sleep(600)
    Path("asked").touch()
    return [{"id": "d1"}]
"""


@pytest.mark.integration
@posix
@pytest.mark.parametrize(
    ("number", "said"),
    [(15, "terminated"), (1, "the terminal is gone")],
    ids=["TERM", "HUP"],
)
def test_told_to_end(here, jsonl, number, said):
    """SIGTERM and SIGHUP end the command as an interrupt does; what was answered is kept."""
    if signal.getsignal(number) is signal.SIG_IGN:
        pytest.skip("the tests run under nohup, and what they start ignores the signal, too")
    gold = [{"query_id": f"q{n}", "query": f"which {n}?", "gold": [{"id": "d1"}]} for n in (1, 2)]
    jsonl(*gold, name="gold.jsonl")
    (here / "slow_answers.py").write_text(SLOW, encoding="utf-8")
    (here / "slow.yaml").write_text(
        "dataset: gold.jsonl\nmatch: id\nretrievers: {slow: {class: 'slow_answers:ask'}}\n"
        "output: out\n",
        encoding="utf-8",
    )

    def kept():
        return [
            path.read_text(encoding="utf-8") for path in (here / "out.unfinished").rglob("*.jsonl")
        ]

    command = [sys.executable, "-m", "kragx", "run", "slow.yaml"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        wait_until(lambda: any('"q1"' in text for text in kept()), process)
        process.send_signal(number)
        _, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, err) == (128 + number, f"kragx: {said}\n")
    (here / "slow_answers.py").write_text(SLOW.replace("600", "0"), encoding="utf-8")
    assert any('"q1"' in text for text in kept())


COMPILED = """
import numpy as np
from scipy import fft

SIGNAL = np.random.default_rng(0).random((1500, 1500))

def ask(question):
    while True:
        fft.fft2(SIGNAL)
"""


@pytest.mark.integration
def test_compiled_code_that_hangs(one_retriever):
    """A retriever that is left in compiled code, as faiss or torch, does not abort the process."""
    done = one_retriever(COMPILED, "--set", "retrievers.mine.timeout=1")
    assert done.returncode == 5
    assert done.stderr.endswith("not comparable, as failed: mine\n")


LARGE = """
from pathlib import Path

def ask(question):
    with Path("asked").open("a") as file:
        file.write(question[-1])
    return [{"id": "d1", "text": "a long text " * 400}]
"""


@pytest.mark.integration
@posix
def test_full_disk_while_answers_are_kept(here, jsonl):
    """The file that takes no more is named; with room again only what was lost is asked again."""
    import resource

    questions = [
        {"query_id": q, "query": f"which {q}?{q}", "gold": [{"id": "d1"}]} for q in "abcdef"
    ]
    jsonl(*questions, name="gold.jsonl")
    (here / "large_answers.py").write_text(LARGE, encoding="utf-8")
    (here / "large.yaml").write_text(
        "dataset: gold.jsonl\nmatch: id\nretrievers: {large: {class: 'large_answers:ask'}}\n"
        "output: out\n",
        encoding="utf-8",
    )

    def command(most):
        return subprocess.run(
            children.limited(most, [sys.executable, "-B", "-m", "kragx", "run", "large.yaml"]),
            capture_output=True,
            text=True,
            check=False,
        )

    done = command(16_000)
    assert (done.returncode, done.stdout) == (2, "")
    assert re.match(r"kragx: .*large\.jsonl: cannot be written: File too large\n$", done.stderr)
    asked = (here / "asked").read_text()
    assert asked == "abcdef"[: len(asked)]
    assert 1 < len(asked) < 6
    done = command(resource.RLIM_INFINITY)
    assert done.returncode == 0, done.stderr
    assert (here / "asked").read_text() == asked + "abcdef"[len(asked) - 1 :]


DATABASES = {
    "workshop": ["gold", "start", "shop", "--corpus", "corpus.jsonl"],
    "judgements": ["run", "judged.yaml"],
    "vectors": ["run", "embedded.yaml"],
}
STORED = """
from kragx.testing import ScriptedClient
from langchain_core.embeddings import DeterministicFakeEmbedding

def client():
    return ScriptedClient(lambda request: 2)

def embeddings():
    return DeterministicFakeEmbedding(size=256)
"""
STORES = {
    "judged": "{method: llm, judge: {client: 'stored:client', store: j.sqlite}}",
    "embedded": (
        "{method: embedding, threshold: 0.5, embeddings: 'stored:embeddings', cache: v.sqlite}"
    ),
}


@pytest.mark.integration
@posix
@pytest.mark.parametrize("args", DATABASES.values(), ids=DATABASES)
def test_full_disk_of_a_database(here, jsonl, args):
    """A disk that takes no database, or no more of one, ends with 2, as files that it takes not."""
    jsonl({"id": "d1", "text": "Gift cards do not expire."}, name="corpus.jsonl")
    jsonl(GOOD, name="results.jsonl")
    (here / "stored.py").write_text(STORED, encoding="utf-8")
    for name, match in STORES.items():
        (here / f"{name}.yaml").write_text(
            f"dataset: results.jsonl\nretrievers: {{a: {{results: results.jsonl}}}}\n"
            f"match: {match}\nmetrics: [mrr@5]\noutput: out\n",
            encoding="utf-8",
        )
    done = subprocess.run(
        children.limited(9_000, [sys.executable, "-B", "-m", "kragx", *args]),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    assert re.search(r"sqlite: .*(disk is full|disk I/O error)", done.stderr)


@posix
def test_interrupted_while_it_starts():
    """An interrupt while modules are imported is one line as well."""
    script = (
        "import builtins, os, signal\n"
        "plain = builtins.__import__\n"
        "def importing(name, *args):\n"
        "    if name == 'typer': os.kill(os.getpid(), signal.SIGINT)\n"
        "    return plain(name, *args)\n"
        "builtins.__import__ = importing\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "import kragx.__main__\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stderr) == (130, "kragx: interrupted\n")


@pytest.mark.parametrize("number", [15, 1], ids=["TERM", "HUP"])
def test_told_to_end_while_arguments_are_read(kragx, monkeypatch, number):
    """It ends with the signal's code and a line, as it does later."""
    from kragx.app.commands.process import _Ended

    monkeypatch.setattr("typer.core.TyperGroup.make_context", fail(_Ended(number)))
    code, out, err = kragx("metrics")
    assert (code, out) == (128 + number, "")
    assert err in ("kragx: terminated\n", "kragx: the terminal is gone\n")


@pytest.mark.integration
@posix
def test_a_folder_that_is_gone(jsonl, tmp_path):
    """Started in a folder that was removed, the command works on files elsewhere."""
    gone = tmp_path / "gone"
    gone.mkdir()
    script = f"cd {gone} && rmdir {gone} && exec {sys.executable} -m kragx score {jsonl(GOOD)}"
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    done = subprocess.run(
        ["/bin/sh", "-c", script], capture_output=True, text=True, check=False, env=environment
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "hit_rate@10" in done.stdout


def test_an_error_while_answers_are_kept_is_its_own(here, jsonl, monkeypatch):
    """What fails beside the file of answers is not called a fault of that file."""
    from kragx.app.retrieving.retrieve_all import partial_answers
    from kragx.data import GoldDataset, Query

    path = here / "answers.jsonl"
    with (
        pytest.raises(ConnectionResetError, match="of the index"),
        partial_answers(path, {}, GoldDataset([Query("q", "q", ())])),
    ):
        raise ConnectionResetError("of the index")
