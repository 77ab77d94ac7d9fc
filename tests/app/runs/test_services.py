"""Servers and programs as the retrievers of a config."""

from __future__ import annotations

import json

import pytest
import yaml

from tests.evaluation.remote_retrievers.test_command import FOUND, LOOP, pytestmark as needs_perl
from tests.local_server import serving

KEY = "tok-5f2a9c1e7d40"


@pytest.fixture
def write(here, jsonl):
    """Write a config with these retrievers beside a gold set of two questions."""
    gold = [
        {"query_id": f"q{number}", "query": text, "gold": [{"text": f"about {text}"}]}
        for number, text in enumerate(["rivers", "hills"])
    ]
    jsonl(*gold, name="gold.jsonl")

    def config(**retrievers):
        plain = {
            "dataset": "gold.jsonl",
            "retrievers": retrievers,
            "match": "exact",
            "metrics": ["hit_rate@1"],
            "output": "out",
        }
        (here / "kragx.yaml").write_text(yaml.safe_dump(plain))
        return here / "kragx.yaml"

    return config


def answer(request):
    """A document about the question."""
    return {"hits": [{"body": f"about {request.json['q']}", "no": 1}]}


def http(server, **more):
    """A server as a config has it."""
    headers = {"Authorization": "Bearer ${SEARCH_KEY}"}
    options = {"json": {"q": "{query}"}, "headers": headers, "documents": "$.hits", "text": "body"}
    return {"http": {"url": f"{server.url}/q", **options, **more}}


def test_a_server(write, kragx, here, monkeypatch):
    """A server answers; its key comes from the environment, and nothing written has it."""
    monkeypatch.setenv("SEARCH_KEY", KEY)
    with serving(answer) as server:
        config = write(search={**http(server), "concurrency": 2})
        outcome = kragx("run", config)
        assert outcome.code == 0, outcome.err
        assert {own.headers["Authorization"] for own in server.requests} == {f"Bearer {KEY}"}
    report = json.loads((here / "out" / "report.json").read_text())
    assert "1.0" in json.dumps(report)
    assert "Bearer ${SEARCH_KEY}" in (here / "out" / "config.yaml").read_text()
    for path in here.rglob("*"):
        assert path.is_dir() or KEY.encode() not in path.read_bytes()
    # The folder alone is enough for the report, without server and key.
    monkeypatch.delenv("SEARCH_KEY")
    assert kragx("report", "out").code == 0


def test_a_failure_names_no_key(write, kragx, here, monkeypatch):
    """A server that refuses fails its questions with exit code 5, and its key is not told."""
    monkeypatch.setenv("SEARCH_KEY", KEY)
    with serving(
        lambda request: {"error": f"bad key {request.headers['Authorization']}"}
    ) as server:
        outcome = kragx("run", write(search=http(server)))
    assert outcome.code == 5
    assert "no field 'hits'" in outcome.out
    assert KEY not in outcome.out + outcome.err
    for path in here.rglob("*"):
        assert path.is_dir() or KEY.encode() not in path.read_bytes()


@needs_perl
def test_a_program(write, kragx, here):
    """A program beside the config is started in the config's folder, wherever kragx is."""
    (here / "search.pl").write_text(LOOP + FOUND.replace('"$q"', '"about $q"'))
    config = write(search={"command": ["perl", "search.pl"]})
    (here / "elsewhere").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(here / "elsewhere")
        outcome = kragx("run", config)
    assert outcome.code == 0, outcome.err
    (line, _) = (here / "out" / "results" / "search.jsonl").read_text().splitlines()
    assert json.loads(line)["retrieved"][0]["text"] == "about rivers"


@pytest.mark.integration
@needs_perl
def test_an_edited_program_is_asked_again(write, kragx, here):
    """What a program answered is kept after an interruption while its file stays the same."""
    dies = LOOP + 'if ($q eq "hills") { exit 1 } '
    (here / "search.pl").write_text(dies + FOUND.replace('"$q"', '"about $q"'))
    config = write(search={"command": ["perl", "search.pl"], "on_error": "stop"})
    assert kragx("run", config).code == 5
    kept = kragx("run", config)
    assert "1 of 2 answers" in kept.err
    (here / "search.pl").write_text(LOOP + FOUND)
    assert "something has changed since: file search.pl" in kragx("run", config).err


@pytest.mark.parametrize(
    ("retriever", "problem"),
    [
        ({"http": {"urll": "http://x"}}, "retrievers.a.http.urll: unknown key; perhaps you meant"),
        ({"http": {"json": "{query}"}}, "retrievers.a.http.url: missing; it is required"),
        (
            {"http": {"url": "http://x/{query}", "text": "a..b"}},
            "retrievers.a.http.text: 'a..b' is no path",
        ),
        ({"http": {"url": "http://x/"}}, "retrievers.a.http: {query} stands nowhere"),
        ({"command": []}, "retrievers.a.command.command: a list of texts is expected, not []"),
        ({"command": ["./gone"]}, "retrievers.a.command: there is no program"),
        ({"command": ["sh"], "args": {"a": 1}}, "'args' belongs to 'class'; 'command' takes none"),
        ({"command": ["sh"], "http": {"url": "http://x/{query}"}}, "give either 'class', 'http'"),
        ({"timeout": 3}, "give either 'class', 'http', 'command', 'results' or 'run'"),
    ],
)
def test_mistakes(write, kragx, retriever, problem):
    """A mistake is told with its path in the config, before anything is asked."""
    outcome = kragx("run", write(a=retriever))
    assert outcome.code == 2
    assert problem in outcome.err


def test_a_variable_that_is_not_set(write, kragx, monkeypatch):
    """A key that nobody has set is an error with the place that needs it."""
    monkeypatch.delenv("SEARCH_KEY", raising=False)
    with serving(answer) as server:
        outcome = kragx("run", write(search=http(server)))
        assert server.requests == []
    assert outcome.code == 2
    assert "'SEARCH_KEY' is not set" in outcome.err
    assert "retrievers.search.http.headers.Authorization" in outcome.err
