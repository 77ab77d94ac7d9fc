"""Retrievers that are programs: in Perl and sh, as any language may be."""

from __future__ import annotations

import json
import os
import shutil
import time
from contextlib import suppress

import pytest

from kragx import DataError, GoldDataset, RetrieverError, UsageError, evaluate, retrieve
from kragx.evaluation.remote_retrievers import command as module
from kragx.retrievers import CommandRetriever
from tests.thoroughness import all_cases

pytestmark = pytest.mark.skipif(
    shutil.which("perl") is None or not hasattr(os, "killpg"), reason="no Perl, or no POSIX"
)

LOOP = 'use utf8; $| = 1; while (<STDIN>) { my ($id, $q) = /"id": "(\\d+)", "query": "(.*)"/; '
FOUND = r'print qq({"id": "$id", "documents": [{"id": "d$id", "text": "$q", "score": 2}]}\n); }'


@pytest.fixture
def perl(monkeypatch):
    """A retriever of a Perl program, ended at the end."""
    monkeypatch.setattr(module, "GRACE", 0.05)
    started = []

    def make(code, **options):
        started.append(CommandRetriever(["perl", "-e", code], **{"timeout": 20} | options))
        return started[-1]

    yield make
    for own in started:
        own.close()


def test_documents(perl):
    """One process answers line by line; Korean goes there and back."""
    search = perl(LOOP + FOUND)
    found = [search.invoke(question)[0] for question in ("수도는?", "항구는?")]
    assert [(doc.id, doc.text, doc.score) for doc in found] == [
        ("d1", "수도는?", 2.0),
        ("d2", "항구는?", 2.0),
    ]
    assert search.name == "perl"
    assert search.run_settings == {"command": ["perl", "-e", LOOP + FOUND]}


def test_half_an_emoji_is_replaced_and_counted(perl):
    """A lone surrogate in an answer becomes U+FFFD, and the run counts it."""
    search = perl(LOOP + r'print qq({"id": "$id", "documents": [{"text": "a \\ud83d"}]}\n); }')
    run = retrieve(search, GoldDataset.from_documents([["a"], ["b"]], queries=["a", "b"]))
    assert run["q1"].documents[0].text == "a \ufffd"
    assert run.n_replaced_surrogates == 2


SH = r"""#!/bin/sh
while read -r line; do
  id=${line#*\"id\": \"}; id=${id%%\"*}
  query=${line#*\"query\": \"}; query=${query%\"\}}
  echo "{\"id\": $id, \"documents\": [{\"id\": \"$query-$KIND\"}]}"
done
"""


def test_a_script_beside_the_config(tmp_path):
    """A script of sh is started in a folder, with its environment; its ids may be numbers."""
    script = tmp_path / "search"
    script.write_text(SH)
    script.chmod(0o755)
    options = {"cwd": tmp_path, "env": {"KIND": "a"}, "timeout": 20}
    with CommandRetriever(["./search"], **options) as search:
        assert [doc.id for doc in search.invoke("why")] == ["why-a"]


def test_what_was_said_before(perl):
    """A question of a conversation has its history in its line; another one has none."""
    code = r"""$| = 1; while (<STDIN>) { my $said = /"history": \[(.*)\]/ ? length $1 : 0;
        /"id": "(\d+)"/; print qq({"id": $1, "documents": [{"id": "$said"}]}\n) }"""
    search = perl(code)
    turns = [{"role": "user", "content": "hello"}]
    assert search.takes_history
    assert search.invoke("a", history=turns)[0].id == str(len(json.dumps(turns)) - 2)
    assert search.invoke("a")[0].id == "0"


def test_answers_in_any_order(perl):
    """Questions that are asked at once are told apart by their ids."""
    code = """$| = 1; my @ids; while (<STDIN>) { /"id": "(\\d+)", "query": "(.*)"/;
        push @ids, [$1, $2]; next if @ids < 3;
        print qq({"id": $_->[0], "documents": [{"text": "$_->[1]"}]}\\n) for reverse @ids; }"""
    questions = ["a", "b", "c"]
    gold = GoldDataset.from_documents([[text] for text in questions], queries=questions)
    run = retrieve(perl(code), gold, concurrency=3)
    assert [run[query.id].documents[0].text for query in gold] == questions


ODD = {
    "its own error": (b'{"id": "ID", "error": "index is locked"}', RetrieverError, "is locked"),
    "no JSON": (b"loading the index", DataError, "no answer to a question: 'loading the index'"),
    "no id": (b'{"documents": []}', DataError, "with the id of its question"),
    "another id": (b'{"id": "99", "documents": []}', DataError, "no answer to a question"),
    "no list": (b'{"id": "ID", "hits": []}', DataError, "no field 'documents' in the answer"),
    "no document": (b'{"id": "ID", "documents": [{"body": "a"}]}', DataError, "body: unknown"),
    "a text": (b'{"id": "ID", "documents": ["a"]}', DataError, "an object is expected"),
    "a key twice": (
        b'{"id": "ID", "documents": [], "documents": []}',
        DataError,
        "the key 'documents' stands twice in one object",
    ),
    "a number too large": (
        b'{"id": "ID", "documents": [{"text": "a", "score": 1e999}]}',
        DataError,
        "answered, but: 1e999 is too large a number",
    ),
    "no UTF-8": (b"\xff\xfe", DataError, "no answer to a question"),
}


@pytest.mark.parametrize(("line", "kind", "problem"), ODD.values(), ids=ODD)
def test_odd_answers(perl, line, kind, problem):
    """Whatever else a program writes fails the question with a quote; the next one is answered."""
    code = 'if ($id == 1) { my $line = $ENV{LINE}; $line =~ s/ID/$id/; print "$line\\n"; next } '
    search = perl(LOOP + code + FOUND, env={"LINE": os.fsdecode(line)})
    with pytest.raises(kind, match=problem):
        search.invoke("a")
    assert search.invoke("b")[0].text == "b"


def test_death(perl):
    """A program that dies fails the question, and those that are left, with its last words."""
    search = perl(
        LOOP + 'if ($id == 2) { print STDERR "disk full\\nat index.c\\n"; exit 3 } ' + FOUND
    )
    questions = ["a", "b", "c"]
    gold = GoldDataset.from_documents([[text] for text in questions], queries=questions)
    result = evaluate(gold, search, metrics=["hit_rate@1"])
    assert (result.counts["n_failed"], result["hit_rate@1"]) == (2, pytest.approx(1 / 3))
    with pytest.raises(
        RetrieverError, match=r"exit code 3.*standard error:\n  disk full\n  at ind"
    ):
        search.invoke("d")


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        ("<STDIN>; exit 0", "exit code 0, though it must go on until its input ends$"),
        ("<STDIN>; kill 'KILL', $$; sleep 9", "was ended by SIGKILL$"),
    ],
)
def test_other_deaths(perl, code, problem):
    """A program that ends after one question, or is killed, is told apart."""
    with pytest.raises(RetrieverError, match=problem):
        perl(code).invoke("a")


def test_no_answer_in_time(perl, tmp_path):
    """A late answer fails its question alone: it is not taken for that of the next."""
    told = tmp_path / "told"
    waits = f"if ($id == 1) {{ select(undef, undef, undef, 0.02) until -e '{told}' }} "
    search = perl(LOOP + waits + FOUND, timeout=0.1)
    with pytest.raises(RetrieverError, match=r"no answer within 0\.1 s; a program must read"):
        search.invoke("slow")
    told.touch()
    assert [doc.text for doc in evaluate_until(search, "quick")] == ["quick"]


def evaluate_until(search, question):
    """The documents for a question, asked until the program has come to it."""
    for _ in range(600):
        with suppress(RetrieverError):
            return search.invoke(question)
    raise AssertionError("no answer at all")


def test_what_reads_nothing_blocks_nobody(perl):
    """A program that never reads holds up no question beyond its time, however long they are."""
    search = perl("sleep 60", timeout=0.05)
    for _ in range(2):
        with pytest.raises(RetrieverError, match="no answer within"):
            search.invoke("x" * 200_000)


@pytest.mark.integration
def test_its_whole_group_is_ended(perl, tmp_path):
    """What the program has started itself ends with it, though both ignore the end of input."""
    pids = tmp_path / "pids"
    search = perl(
        f"""$SIG{{TERM}} = 'IGNORE'; my $child = fork;
        if (!$child) {{ $SIG{{TERM}} = 'IGNORE'; sleep 60; exit }}
        open my $file, '>', '{pids}.new'; print $file "$$ $child"; close $file;
        rename '{pids}.new', '{pids}'; sleep 60""",
        timeout=0.05,
    )
    while not pids.exists():
        with pytest.raises(RetrieverError):
            search.invoke("a")
    search.close()
    for pid in map(int, pids.read_text().split()):
        assert gone(pid)


def gone(pid):
    """Whether a process has ended, within the time that the system takes to bury it."""
    for _ in range(6000):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        with suppress(OSError), open(f"/proc/{pid}/stat") as file:  # noqa: PTH123
            if file.read().rpartition(")")[2].split()[0] == "Z":  # ended; its parent looks away
                return True
        time.sleep(0.01)
    return False


def test_it_ends_with_its_retriever():
    """A retriever that nobody holds any longer leaves no program behind."""
    code = LOOP + 'print qq({"id": $id, "documents": [{"id": "$$"}]}\\n) }'
    search = CommandRetriever(["perl", "-e", code], timeout=20)
    pid = int(search.invoke("a")[0].id)
    del search
    assert gone(pid)


def test_closed_twice_and_asked_again(perl):
    """Closing is harmless; a question after it starts the program anew."""
    search = perl(LOOP + FOUND)
    assert search.invoke("a")[0].id == "d1"
    search.close()
    search.close()
    assert search.invoke("b")[0].id == "d1"


@all_cases(
    ("options", "problem"),
    [
        (
            {"command": "./search --k 10"},
            r"command: a list of texts.*perhaps you meant \['./search', '--k",
        ),
        ({"command": []}, "command: a list of texts is expected"),
        ({"command": ["no-such-program-here"]}, "command: there is no program no-such-program"),
        ({"command": ["./gone"]}, "command: there is no program .*/gone"),
        ({"env": {"A": 1}}, r"env\.A: a text is expected"),
        ({"timeout": -1}, "timeout: -1 is not a number of seconds above 0"),
    ],
)
def test_wrong_options(options, problem):
    """An option that is wrong is an error with its name, before anything is started."""
    with pytest.raises(UsageError, match=problem):
        CommandRetriever(**{"command": ["perl"]} | options)
