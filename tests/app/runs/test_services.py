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
            "retrievers.a.http.text: 'a..b': '..b' is no part of a path",
        ),
        ({"http": {"url": "http://x/"}}, "retrievers.a.http: {query} stands nowhere"),
        ({"command": []}, "retrievers.a.command: a list of texts is expected, not []"),
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


@pytest.mark.integration
def test_a_grid_of_a_server(write, kragx, here, monkeypatch):
    """Values stand where their names do, of their own type alone in a text."""
    monkeypatch.setenv("SEARCH_KEY", KEY)

    def found(request):
        hits = [{"body": f"about {request.json['q']}", "no": n} for n in range(request.json["k"])]
        return {"hits": hits if request.json["model"] == "big-v2" else []}

    body = {"q": "{query}", "k": "{k}", "model": "{size}-v2"}
    grid = {"size": ["small", "big"], "k": [1, 3]}
    with serving(found) as server:
        own = http(server, json=body, grid=grid)
        config = write(search=own)
        planned = kragx("run", config, "--dry-run").out
        assert "grid of search: 4 settings (k 2 x size 2) x " in planned
        assert "- search[k=1, size=big]" in planned
        assert server.requests == []
        assert kragx("run", config).code == 0
        assert sorted(own.json["k"] for own in server.requests) == [1] * 4 + [3] * 4
    report = json.loads((here / "out" / "report.json").read_text())
    means = {own["retriever"]: own["mean"]["hit_rate@1"] for own in report["evaluations"]}
    assert means == {
        "search[k=1, size=small]": 0.0,
        "search[k=3, size=small]": 0.0,
        "search[k=1, size=big]": 1.0,
        "search[k=3, size=big]": 1.0,
    }


@pytest.mark.integration
@needs_perl
def test_a_grid_of_a_program(write, kragx, here):
    """A program gets texts; each setting is a program of its own."""
    code = "my $k = shift; " + LOOP + "next unless $k; " + FOUND.replace("$q", "about $q")
    command = {"command": ["perl", "-e", code, "{k}"], "grid": {"k": [0, 1]}}
    assert kragx("run", write(search={"command": command, "timeout": 1})).code == 5
    report = json.loads((here / "out" / "report.json").read_text())
    means = {own["retriever"]: own["mean"]["hit_rate@1"] for own in report["evaluations"]}
    assert means == {"search[k=0]": None, "search[k=1]": 1.0}


@pytest.mark.parametrize(
    ("retriever", "said"),
    [
        (
            {"command": {"command": ["search"], "grid": {"k": [1]}}},
            "retrievers.search.command: grid.k: {k} stands nowhere in command, env; write it",
        ),
        (
            {"http": {"url": "http://127.0.0.1/{query}", "grid": {"query": [1]}}},
            "retrievers.search.http: grid.query: {query} is what the question gets; take another",
        ),
        (
            {"http": {"url": "http://127.0.0.1/{query}"}, "args": {"grid": {"k": [1]}}},
            "it stands under http, and its values where their names stand in braces: http: {url",
        ),
    ],
)
def test_a_grid_in_the_wrong_place(write, kragx, retriever, said):
    """The message names the field and how it is written."""
    outcome = kragx("run", write(search=retriever))
    assert outcome.code == 2
    assert said in outcome.err
