"""`kragx gold start` and `kragx workshop`, as processes."""

import http.client
import json
import re
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager

import pytest

from tests.workshop.serving import CORPUS, written

KRAGX = [sys.executable, "-m", "kragx"]


@pytest.fixture
def shop(tmp_path, kragx):
    """A folder that the command has made, with a retriever that cannot be loaded."""
    corpus = written(tmp_path / "c.jsonl", ({"id": k, "text": t} for k, t in CORPUS.items()))
    questions = written(tmp_path / "q.jsonl", [{"query_id": "q1", "query": "환불은?", "gold": []}])
    config = tmp_path / "config.yaml"
    config.write_text("dataset: gold.jsonl\nretrievers: {mine: 'no_such_module:Mine'}\nmatch: id\n")
    files = ("--corpus", corpus, "--config", config, "--questions", questions)
    made = kragx("gold", "start", tmp_path / "w", *files)
    assert made.code == 0, made.err
    assert "next: read" in made.out
    return tmp_path / "w"


@contextmanager
def serving_links(*arguments):
    """A command that serves a workshop: its links by name, and the process."""
    command = [*KRAGX, *map(str, arguments), "--no-browser"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8"
    )
    links = {}
    try:
        for line in process.stdout:
            if match := re.fullmatch(r"(.+): http://127\.0\.0\.1:(\d+)/#(\S+)\n", line):
                links[match[1]] = (int(match[2]), match[3])
            if line.startswith("Ctrl-C"):
                break
        yield links, process
    finally:
        process.kill()
        process.communicate()


def ask(link, path, body=None):
    """What a link's holder is answered."""
    port, token = link
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        headers = {"X-Kragx-Token": token, "Content-Type": "application/json"}
        sent = None if body is None else json.dumps(body)
        connection.request("GET" if body is None else "POST", path, sent, headers)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


@pytest.mark.integration
def test_links_lead_in_and_ctrl_c_ends(shop):
    """A link for each; a retriever that cannot be loaded stops nothing; it ends with 0."""
    with serving_links("workshop", shop, "--annotator", "지민") as (links, process):
        assert list(links) == ["owner", "지민"]
        assert [ask(link, "/api/me")[0] for link in links.values()] == [200, 200]
        said = iter(process.stderr.readline, "")
        err = next(line for line in said if "no_such_module" in line)
        process.send_signal(signal.SIGINT)
        out, rest = process.communicate(timeout=60)
    err += rest
    assert (process.returncode, out) == (0, f"closed; all is in {shop}\n")
    assert "Traceback" not in err
    assert all(token not in err for _, token in links.values())


def test_a_taken_port(shop, kragx):
    """One that is named must be free."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        answer = kragx("workshop", shop, "--port", taken.getsockname()[1], "--no-browser")
    assert answer.code == 2
    assert "in use" in answer.err
    assert "--port" in answer.err


def test_others_must_know_its_name(shop, kragx):
    """Beyond the loopback it is said what others call this machine."""
    answer = kragx("workshop", shop, "--host", "0.0.0.0", "--no-browser")
    assert (answer.code, "--called" in answer.err) == (2, True)


def test_no_workshop_there(tmp_path, kragx):
    """Whoever names another folder is told how one is made."""
    answer = kragx("workshop", tmp_path, "--no-browser")
    assert answer.code == 3
    assert "kragx gold start" in answer.err


def test_a_form_is_named_by_the_ending(shop, kragx):
    """No sheet is written under a name that a spreadsheet does not open it by."""
    answer = kragx("gold", "export", shop, "--out", shop / "sheet.xlsx")
    assert (answer.code, "end it in .csv" in answer.err) == (2, True)
    assert not (shop / "sheet.xlsx").exists()
    assert kragx("gold", "export", shop, "--out", shop / "one.qrels").code == 0
    assert not (shop / "one.qrels").read_text("utf-8").startswith("\ufeff")


def test_every_command_reads_what_the_folder_keeps_beside(shop, kragx, monkeypatch):
    """A variable in workshop.yaml that only the folder's .env sets."""
    monkeypatch.setenv("SHOP_DATABASE", "")
    monkeypatch.delenv("SHOP_DATABASE")
    with (shop / "workshop.yaml").open("a", encoding="utf-8") as file:
        file.write("database: '${SHOP_DATABASE}'\n")
    (shop / ".env").write_text(f"SHOP_DATABASE={shop / 'workshop.sqlite'}\n", "utf-8")
    out = shop / "out.jsonl"
    exported = kragx("gold", "export", shop, "--out", out)
    assert exported.code == 0, exported.err
    records = map(json.loads, out.read_text("utf-8").splitlines())
    assert [record["record"] for record in records].count("question") == 1
    assert "nothing new" in kragx("gold", "import", shop, out).out
