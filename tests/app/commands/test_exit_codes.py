"""Exit codes: 0 fine, 2 wrong use, 3 bad data, 130 interrupted; and one line that says why."""

from __future__ import annotations

import os
import subprocess
import sys
from unicodedata import normalize

import pytest

from kragx.ground.errors import installing
from tests import children
from tests.thoroughness import some
from tests.waiting import PATIENCE, wait_until

GOOD = {
    "query_id": "q1",
    "gold": [{"id": "g1", "text": "the quick brown fox jumps"}],
    "retrieved": [{"id": "d1", "text": "the quick brown fox jumps over"}],
}


def assert_one_line(err):
    """Standard error is one line of kragx's own."""
    assert err.startswith("kragx: ")
    assert err.endswith("\n")
    assert err.count("\n") == 1


def test_fine(kragx, jsonl):
    """A good file exits 0 and leaves standard error empty."""
    code, out, err = kragx("score", jsonl(GOOD))
    assert (code, err) == (0, "")
    assert out


@pytest.mark.parametrize(
    ("options", "hints"),
    some(
        [
            (("-m", "ndgc@10"), ("'ndgc'", "'ndcg'")),
            (("-m", "ndcg@10(gian=exp2)"), ("'gian'", "'gain'")),
            (("-m", "ndcg@10(gain=exp)"), ("'exp'", "'exp2'")),
            (("-m", "recall@0"), ("'recall@0'", "k must be")),
            (("-m", "recall@five"), ("'five'", "k must be")),
            (("-m", ""), ("metric ''", "name@k")),
            (("--match", "overlp"), ("'overlp'", "'overlap'")),
            (("--match", "rougel"), ("'rougel'", "'rougeL'")),
            (("--match", ""), ("match", "rouge2")),
            (
                ("--match", "{method: rouge2, measure: recal}"),
                ("match.measure", "'recal'", "'recall'"),
            ),
            (("--match", "{method: contains, direction: eiter}"), ("match.direction", "'either'")),
            (
                ("--match", "{method: overlap, tokenizer: unicod}"),
                ("tokenizer", "'unicod'", "'unicode'"),
            ),
            (("--profile", "kragxx"), ("profile", "'kragx'")),
            (("--no-gold", "skp"), ("no_gold", "'skip'")),
            (("--threshold", "1.5"), ("match.threshold", "1.5", "at most 1")),
            (("--threshold", "0"), ("match.threshold", "above 0")),
            (("--threshold", "-0.1"), ("match.threshold", "above 0")),
            (("--threshold", "nan"), ("match.threshold", "nan")),
            (("--match", "id", "--threshold", "0.5"), ("match.threshold", "'id'", "rouge1")),
            (("--match", "exact", "--threshold", "0.5"), ("match.threshold", "'exact'")),
            (("--match", "{method: text, measure: recall}"), ("match.measure", "'text'")),
            (("--match", "{method: id, casefold: true}"), ("match.casefold", "'id'")),
            (("--match", "{method: rouge1, id_key: x}"), ("match.id_key", "'rouge1'")),
            (("--match", "no_such_module_here:Name"), ("no_such_module_here", "install")),
            (("--match", "json:Nam"), ("'json'", "'Nam'")),
        ],
        4,
    ),
)
def test_wrong_use(kragx, jsonl, options, hints):
    """Wrong use exits 2 with one line that names the field, the value and the nearest remedy."""
    code, out, err = kragx("score", jsonl(GOOD), *options)
    assert (code, out) == (2, "")
    assert_one_line(err)
    for hint in hints:
        assert hint in err


@pytest.mark.parametrize(
    ("args", "hint"),
    [
        (("score", "FILE", "--treshold", "0.5"), "--threshold"),
        (("score", "FILE", "--format", "jsn"), "json"),
        (("score", "FILE", "--threshold", "half"), "--threshold"),
        (("score",), "results file"),
        (("scor", "FILE"), "'score'"),
        (("run",), "CONFIG.yaml"),
        (("match", "FILE", "--per-query"), "--per-query"),
    ],
)
def test_wrong_arguments(kragx, jsonl, args, hint):
    """An argument that the command does not have exits 2 and names what is valid or missing."""
    path = str(jsonl(GOOD))
    code, out, err = kragx(*(path if arg == "FILE" else arg for arg in args))
    assert (code, out) == (2, "")
    assert hint in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("command", "meant"),
    [
        ("evaluate x.yaml", "kragx run x.yaml"),
        ("x.yaml --full", "kragx run x.yaml --full"),
        ("results.jsonl", "kragx score results.jsonl"),
        (".", "kragx report ."),
        ("validate gold.jsonl", "kragx gold validate gold.jsonl"),
        ("lable", "kragx judge label"),
        ("gold store", "kragx judge store"),
    ],
)
def test_no_command(kragx, here, command, meant):
    """What is no command says what to write: by a command's name, what it says, or the file."""
    code, out, err = kragx(*command.split())
    assert (code, out) == (2, "")
    assert_one_line(err)
    assert f"there is no such command; perhaps you meant '{meant}'?" in err


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("", "dataset"),
        ("dataset: [", "not valid YAML"),
        ("dataset: g.jsonl\nretriever: {}\n", "'retrievers'"),
        ("dataset: g.jsonl\nretrievers: {a: {class: 'json:loads'}}\nprofile: [1]\n", "profile"),
    ],
)
def test_config_errors(kragx, tmp_path, text, hint):
    """A config file with mistakes exits 2 and names the file and the mistake, without traceback."""
    path = tmp_path / "bad.yaml"
    path.write_text(text, encoding="utf-8")
    code, out, err = kragx("run", path)
    assert (code, out) == (2, "")
    assert err.startswith(f"kragx: {path}: ")
    assert hint in err


LINES = {
    "broken line": ('{"query_id": "q1", "gold": [', "results.jsonl:2: not valid JSON"),
    "no object": ("[1, 2]", "results.jsonl:2: a JSON object"),
    "no query id": ('{"gold": []}', "results.jsonl:2: query_id: missing"),
    "unknown field": ('{"query_id": "q2", "retreived": []}', "'retrieved'"),
    "duplicate id": ('{"query_id": "q1"}', "results.jsonl:2: query_id: 'q1' stands twice"),
    "text as gold": ('{"query_id": "q2", "gold": ["some text"]}', 'write {"id": ...}'),
    "NaN score": ('{"query_id": "q2", "retrieved": [{"id": "d", "score": NaN}]}', "not nan"),
    "no gold text": (
        '{"query_id": "q2", "gold": [{"id": "g"}], "retrieved": []}',
        "gold: 1 id has no text: 'g' (query 'q2', gold 1)",
    ),
    "no document text": (
        '{"query_id": "q2", "gold": [{"text": "some text"}], "retrieved": [{"id": "d"}]}',
        "retrieved: 1 id has no text: 'd' (query 'q2', rank 1)",
    ),
}


@pytest.mark.parametrize(("line", "hint"), LINES.values(), ids=LINES)
@pytest.mark.parametrize("command", ["score", "match"])
def test_bad_data(kragx, jsonl, command, line, hint):
    """Bad data exits 3 with one line that says where it stands and what is wrong."""
    path = jsonl(GOOD)
    with path.open("a", encoding="utf-8") as file:
        file.write(line + "\n")
    code, out, err = kragx(command, path)
    assert (code, out) == (3, "")
    assert_one_line(err)
    assert hint in err


@pytest.mark.parametrize("command", ["score", "match", "run"])
@pytest.mark.parametrize("name", ["no_such_file.jsonl", "."])
def test_unreadable_file(kragx, here, command, name):
    """A file that is missing or a folder exits 3 and is named."""
    code, out, err = kragx(command, name)
    assert (code, out) == (3, "")
    assert_one_line(err)
    assert f"{name}: cannot be read" in err


@pytest.mark.parametrize("text", ["", "\n \n"])
def test_empty_file(kragx, here, text):
    """A file without any query exits 3 and says so."""
    (here / "empty.jsonl").write_text(text, encoding="utf-8")
    code, out, err = kragx("score", "empty.jsonl")
    assert (code, out) == (3, "")
    assert_one_line(err)
    assert "holds no query" in err


def test_not_utf8(kragx, here):
    """A file in a Korean code page exits 3, naming the line and the remedy."""
    (here / "cp949.jsonl").write_bytes('{"query_id": "질문"}\n'.encode("cp949"))
    code, out, err = kragx("score", "cp949.jsonl")
    assert (code, out) == (3, "")
    assert_one_line(err)
    assert "cp949.jsonl:1: not UTF-8" in err


def test_gold_file_without_retrieved(kragx, jsonl):
    """`score` on a gold file exits 3 and says that there is nothing to score."""
    gold = {"query_id": "q1", "query": "which fox?", "gold": GOOD["gold"]}
    code, out, err = kragx("score", jsonl(gold))
    assert (code, out) == (3, "")
    assert_one_line(err)
    assert "'retrieved'" in err
    assert "gold file" in err


@pytest.mark.parametrize("side", ["gold", "retrieved"])
def test_id_without_ids_points_to_a_text_matcher(kragx, jsonl, side):
    """The id matcher on texts without ids exits 3 and mentions a matcher that compares texts."""
    code, out, err = kragx("score", jsonl(GOOD | {side: [{"text": "a text"}]}), "--match", "id")
    assert (code, out) == (3, "")
    assert_one_line(err)
    assert "'overlap'" in err


QUICK = """
dataset: gold.jsonl
retrievers:
  baseline:
    class: kragx.retrievers:BM25Retriever.from_corpus
    args: {corpus: corpus.jsonl}
"""


@pytest.mark.parametrize("package", ["bm25s", "kiwipiepy"])
def test_missing_extra(kragx, jsonl, here, monkeypatch, package):
    """A missing optional package exits 2 with the line that installs it."""
    monkeypatch.setitem(sys.modules, package, None)
    if package == "bm25s":
        jsonl({"query_id": "q1", "query": "which fox?", "gold": GOOD["gold"]}, name="gold.jsonl")
        jsonl({"id": "d1", "text": "a fox"}, name="corpus.jsonl")
        (here / "quick.yaml").write_text(QUICK, encoding="utf-8")
        code, out, err = kragx("run", "quick.yaml")
        extra = "bm25"
    else:
        code, out, err = kragx(
            "score", jsonl(GOOD), "--match", "{method: overlap, tokenizer: kiwi}"
        )
        extra = "korean"
    assert (code, "┏" in out) == (2, False)
    assert_one_line(err)
    assert installing(extra) in err


def _interrupt(*_, **__):
    raise KeyboardInterrupt


def test_interrupted(kragx, jsonl, monkeypatch):
    """Ctrl-C exits 130 and says so in one line."""
    monkeypatch.setattr("kragx.app.commands.score.evaluate", _interrupt)
    code, out, err = kragx("score", jsonl(GOOD))
    assert (code, out) == (130, "")
    assert "Traceback" not in err
    assert err == "kragx: interrupted\n"


SLOW = """
import time
from pathlib import Path

def ask(question):
    Path("asked").touch()
    time.sleep(600)
    return []
"""


@pytest.mark.integration
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for one process")
def test_interrupted_for_real(jsonl, here):
    """SIGINT while a retriever sleeps ends the command with 130 and no traceback."""
    import signal

    jsonl({"query_id": "q1", "query": "which fox?", "gold": GOOD["gold"]}, name="gold.jsonl")
    (here / "slow_retriever.py").write_text(SLOW, encoding="utf-8")
    (here / "slow.yaml").write_text(
        "dataset: gold.jsonl\nretrievers: {slow: {class: 'slow_retriever:ask'}}\n",
        encoding="utf-8",
    )
    with subprocess.Popen(
        children.heeding([sys.executable, "-m", "kragx", "run", "slow.yaml", "--full"]),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        wait_until((here / "asked").exists, process)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert out.startswith("dataset: {path: ")  # what will be done, before it is done
    assert "┏" not in out
    assert "Traceback" not in err


@pytest.mark.integration
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no broken pipes")
@pytest.mark.parametrize("args", [("metrics",), ("metrics", "--format", "json"), ("match", "FILE")])
def test_broken_pipe(jsonl, args):
    """A reader that goes away, such as head, ends the command quietly and without a failure."""
    path = str(jsonl(GOOD))
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "kragx", *(path if arg == "FILE" else arg for arg in args)],
            stdout=writing,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    finally:
        os.close(writing)
    assert done.stderr == ""
    assert done.returncode == 0


@pytest.mark.parametrize("place", ["{}.jsonl", "{}/results.jsonl"])
def test_a_name_in_another_form(kragx, jsonl, here, place):
    """A name that is not there is said to look like one that is, as macOS writes Hangul."""
    apart, whole = (normalize(form, place.format("설정 파일")) for form in ("NFD", "NFC"))
    path = here / apart
    path.parent.mkdir(exist_ok=True)
    jsonl(GOOD).rename(path)
    if (here / whole).exists():
        pytest.skip("this file system takes both for one name")
    code, _, err = kragx("score", whole)
    assert code == 3
    assert "No such file or directory; one there has this name in another Unicode form" in err
    assert kragx("score", apart).code == 0
    assert kragx("score", "설정.jsonl").err.endswith(": No such file or directory\n")


def test_a_folder_of_a_run_is_not_scored(kragx, jsonl, here):
    """A folder that kragx run has written is none of Parquet files: what computes it is named."""
    jsonl(GOOD)
    config = "dataset: results.jsonl\nretrievers: {mine: results.jsonl}\noutput: out\n"
    (here / "run.yaml").write_text(config, encoding="utf-8")
    assert kragx("run", "run.yaml").code == 0
    code, _, err = kragx("score", "out")
    assert code == 2
    assert "kragx report computes its numbers again; or name a file in out/results" in err
    assert kragx("score", "out/results/mine.jsonl").code == 0
