"""The config around a run: `.env`, `--set`, schema, starter, what is printed first."""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import pytest
import yaml
from jsonschema import Draft202012Validator

from kragx import UsageError
from kragx.app import starter
from kragx.app.config import load, override
from kragx.app.config.editor_schema import config_schema
from kragx.app.environment import load_env
from kragx.app.pipeline import run
from kragx.errors import ConfigError, DataError
from kragx.ground import plugins
from tests.docs.support import ROOT
from tests.thoroughness import all_cases

GOOD = "dataset: gold.jsonl\nretrievers: {mine: {results: r.jsonl}}\n"


@cache
def validator():
    """Of configs, by the JSON Schema that `kragx schema` prints."""
    return Draft202012Validator(config_schema())


@pytest.fixture
def written(tmp_path):
    """A config file."""

    def call(text):
        (tmp_path / "c.yaml").write_text(text, encoding="utf-8")
        return tmp_path / "c.yaml"

    return call


def test_env_file(written, tmp_path, monkeypatch):
    """Variables of a .env beside the config are there; what is set already wins."""
    for name in ("KRAGX_A", "KRAGX_B"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("KRAGX_B", "set")
    (tmp_path / ".env").write_text("KRAGX_A=one\nKRAGX_B=two\n", encoding="utf-8")
    config = load(written(GOOD + "output: ${KRAGX_A}/${KRAGX_B}"))
    monkeypatch.delitem(os.environ, "KRAGX_A")
    assert config.output == tmp_path.resolve() / "one" / "set"


@all_cases(
    ("line", "value"),
    [
        ("A=b", "b"),
        ("export A=b", "b"),
        ("A = 'b # c'", "b # c"),
        ('A="b\\nc"', "b\nc"),
        ("A=b # a comment", "b"),
        ("A=b#c", "b#c"),
        ("A=", ""),
    ],
)
def test_env_lines(line, value):
    """Lines as people write them; what sets no variable is passed over."""
    with TemporaryDirectory() as folder, patch.dict(os.environ):
        Path(folder, ".env").write_text(f"# first\n\n{line}\nsecret\n")
        os.environ.pop("A", None)
        load_env(Path(folder))
        assert os.environ["A"] == value


URL = "http://127.0.0.1/{query}"


@all_cases(
    ("setting", "where", "value"),
    [
        ("match.threshold=0.4", ("match",), {"method": "overlap", "threshold": 0.4}),
        ("dataset.name=mine", ("dataset",), {"path": "g", "name": "mine"}),
        ("retrievers.a.args.k=5", ("retrievers", "a", "args"), {"k": 5}),
        ("metrics=[mrr@1]", ("metrics",), ["mrr@1"]),
        ("output=", ("output",), None),
        ("retrievers.b.timeout=3", ("retrievers", "b"), {"class": "m:y", "timeout": 3}),
        ("retrievers.c.run=x.run", ("retrievers", "c"), {"results": "c.jsonl", "run": "x.run"}),
        ("matchers.loose.threshold=1", ("matchers", "loose"), {"method": "rouge2", "threshold": 1}),
        ("judge.store=s", ("judge",), {"model": "m", "store": "s"}),
        ("retrievers.d.http.text=t", ("retrievers", "d", "http"), {"url": URL, "text": "t"}),
        (
            "retrievers.e.command.cwd=.",
            ("retrievers", "e", "command"),
            {"command": ["s"], "cwd": "."},
        ),
        ("facts_match.casefold=true", ("facts_match",), {"method": "text", "casefold": True}),
    ],
)
def test_set(setting, where, value):
    """A value of the command line wins, at any depth; short forms make way."""
    raw = {
        "dataset": "g",
        "retrievers": {
            "a": {"class": "m:x", "args": {"k": 1}},
            "b": "m:y",
            "c": "c.jsonl",
            "d": URL,
            "e": {"command": ["s"]},
        },
        "judge": "m",
        "match": "overlap",
        "matchers": {"loose": "rouge2"},
        "facts_match": "text",
        "metrics": ["ndcg@1", "ndcg@2"],
    }
    found = override(raw, [setting])
    for key in where:
        found = found[key]
    assert found == value
    assert raw["match"] == "overlap"


@pytest.mark.parametrize(
    ("raw", "match"),
    [({}, "overlap"), ({"match": None}, "overlap"), ({"profile": "krag"}, "text")],
)
def test_set_an_option_of_the_matcher_that_nobody_names(raw, match):
    """The example of the help works in a config without ``match``: of the profile's own matcher."""
    found = override(raw, ["match.threshold=0.4"])
    assert found["match"] == {"method": match, "threshold": 0.4}
    assert "match" not in override({"matchers": {"a": "text"}}, ["matchers.a.casefold=true"])


def test_a_mere_text_is_a_server_or_a_model(written):
    """An address is asked over HTTP, a judge is its model, and a file of code is refused."""
    config = load(written(f"{{dataset: g, retrievers: {{a: '{URL}', b: 'mine.py:b'}}, judge: m}}"))
    assert config.judge == {"model": "m"}
    assert config.retrievers["a"].http["url"] == URL
    with pytest.raises(UsageError, match=r"'mine.py:b' is a file, .* write 'mine:b'"):
        plugins.load(config.retrievers["b"].class_)


@all_cases("setting", ["x", "=1", "a..b=1", "metrics.9=x", "profile.x=1", "a=[1"])
def test_wrong_settings(setting):
    """A setting that leads nowhere says how to write one."""
    with pytest.raises(UsageError, match="--set"):
        override({"metrics": ["mrr"], "profile": "kragx"}, [setting])


def test_set_is_checked_like_the_file(written):
    """A mistake in a setting is a mistake of the config."""
    with pytest.raises(ConfigError, match=r"match\.treshold"):
        load(written(GOOD), ["match.method=overlap", "match.treshold=1"])


@pytest.mark.parametrize(
    ("text", "path", "hint"),
    [
        ("dataset: {path: g, targets: {query_typ: {}}}", "dataset.targets", "'query_type'"),
        ("dataset: {path: g, format: autorg}", "dataset.format", "autorag"),
        ("retrievers: {a: {run: x, results: y}}", "retrievers.a", "either"),
        ("retrievers: {a: {run: x, timeout: 1}}", "retrievers.a", "'timeout' belongs to 'class'"),
        ("retrievers: {a: {class: 'm:x', timeout: 0}}", "retrievers.a.timeout", "above 0"),
        ("retrievers: {a: {class: 'm:x', on_error: stp}}", "retrievers.a.on_error", "stop"),
        ("retrievers: {a: {class: 'm:x', timeot: 1}}", "retrievers.a.timeot", "'timeout'"),
        ("retrievers: [{class: 'm:x'}]", "retrievers", "a mapping as {name: value} is expected"),
        ("retrievers: {a: {class: 'm:x', input: {x: 1}}}", "retrievers.a.input.x", "a text"),
        ("retrievers: {a: {command: {command: [x], cwd: 3}}}", "retrievers.a.command.cwd", "path"),
        (
            "retrievers: {a: {command: s --k 1}}",
            "retrievers.a.command.command",
            "['s', '--k', '1']",
        ),
        ("""retrievers: {a: {command: "s 'x"}}""", "retrievers.a.command.command", "a list"),
        (
            "retrievers: {a: localhost:80/search, b: {http: [1]}}",
            "retrievers.b.http.url",
            "http://",
        ),
        ("judge: {client: 'm:x', args: x}", "judge.args", "a mapping"),
        ("judge: [x]", "judge", "a mapping"),
        ("facts_match: overlp", "facts_match", "'overlap'"),
        ("{match: id, metrics: [context_completeness@5]}", "facts_match", "facts_match: text"),
        (
            "{facts_match: {method: id}, metrics: [context_completeness]}",
            "facts_match",
            "have no ids",
        ),
        ("metrics: [source_diversty@5]", "metrics[0]", "'source_diversity'"),
    ],
)
def test_mistakes(written, text, path, hint):
    """Mistakes in the new keys are named by path, with the nearest name or the remedy."""
    raw = {**yaml.safe_load(GOOD), **yaml.safe_load(text)}
    with pytest.raises(ConfigError) as caught:
        load(written(yaml.safe_dump(raw)))
    hits = [each for each in caught.value.problems if each.startswith(f"{path}:") and hint in each]
    assert len(hits) == 1, caught.value.problems


@pytest.mark.integration
@pytest.mark.parametrize("name", sorted(path.name for path in (ROOT / "configs").glob("*.yaml")))
def test_schema_accepts_the_configs(name):
    """The JSON Schema is one, and accepts every config of the project."""
    schema = config_schema()
    Draft202012Validator.check_schema(schema)
    raw = yaml.safe_load((ROOT / "configs" / name).read_text(encoding="utf-8"))
    Draft202012Validator(schema).validate(raw)


@all_cases(
    "text",
    [
        "dataset: g\nretrievers: {a: 'm:x'}\nmetrics: mrr",
        "dataset: {path: g, version: 1}\nretrievers: {a: {results: r}}\nmatch: {method: id}",
        "dataset: g\nretrievers: {a: r}\nslices: query_type\nmatchers: {x: exact, y: 'm:x'}",
        "dataset: g\nretrievers: {a: r}\nmatch: {method: 'm:x', args: {k: 1}}\nfacts_match: text",
        "dataset: g\nretrievers: {a: r}\njudge: {model: x}\n"
        "match: {cascade: [{method: overlap, accept: 0.8}, {any: [id, {method: llm}]}]}",
        "dataset: {path: g, targets: {difficulty: {easy: 1}}}\nretrievers: {a: r}",
        "dataset: g\nretrievers: {a: r}\nmatch: {method: rouge2, grid: {threshold: [0.4, 0.6]}}",
        "dataset: g\nretrievers: {a: {class: 'm:x', args: {grid: {k: [5, 10]}}}}\n"
        "tuning: {max_settings: 20}",
        f"dataset: g\nretrievers: {{a: {{http: '{URL}'}}, b: '{URL}', c: {{command: [s]}}}}\n"
        "judge: m",
    ],
)
def test_schema_accepts_short_forms(text):
    """The short forms are in the schema."""
    validator().validate(yaml.safe_load(text))


@all_cases(
    "text",
    [
        "dataset: g",
        GOOD + "metrcs: [mrr]",
        GOOD + "profile: 5",
        GOOD + "match: overlp",
        GOOD + "match: {method: rouge2, treshold: 0.5}",
        GOOD + "match: {method: id, threshold: 0.5}",
        GOOD + "match: {any: [id, {method: overlap, accept: 0.5}]}",
        GOOD + "matchers: {a: {cascade: [id]}}",
        GOOD + "judge: {modl: x}",
        GOOD + "facts_match: {method: rouge2, grid: {threshold: [0.4]}}",
        GOOD + "match: {method: rouge2, grid: {threshold: 0.4}}",
        GOOD + "tuning: {halfing: true}",
        "dataset: {path: g, targets: {dificulty: {easy: 1}}}\nretrievers: {a: r}",
    ],
)
def test_schema_refuses_mistakes(text):
    """What an editor can see, it marks."""
    assert list(validator().iter_errors(yaml.safe_load(text)))


def test_schema_command(kragx):
    """`kragx schema` prints it."""
    assert kragx("schema").json() == json.loads(json.dumps(config_schema()))


def test_the_starters_say_the_same():
    """The config that `kragx init` writes differs between languages in its comments alone."""
    configs = [
        yaml.safe_load(path.read_text(encoding="utf-8"))
        for path in Path(starter.__file__).parent.glob("*/kragx.yaml")
    ]
    assert len(configs) == 2
    assert configs[0] == configs[1]


@pytest.mark.integration
@pytest.mark.parametrize("language", ["en", "ko"])
def test_init_runs(kragx, here, language):
    """`kragx init` writes a config that runs as it is, and replaces nothing."""
    assert kragx("--language", language, "init").code == 0
    outcome = kragx("run", "kragx.yaml", "--full")
    assert outcome.code == 0, outcome.err
    assert outcome.out.startswith("dataset: {path: ")  # the config, as it was understood
    assert "Gold set starter version 1, sha256 " in outcome.out
    assert kragx("gold", "validate", "kragx.yaml").code == 0
    again = kragx("init")
    assert again.code == 2
    assert "already there" in again.err
    validator().validate(yaml.safe_load((here / "kragx.yaml").read_text(encoding="utf-8")))


def test_ids_alone_mean_ids(written, tmp_path):
    """Qrels and a run need no 'match', and that is said; one that is written is kept."""
    (tmp_path / "g.qrels").write_text("q1 0 d1 1\nq2 0 d2 1\n", encoding="utf-8")
    (tmp_path / "r.run").write_text("q1 Q0 d1 1 2 r\nq2 Q0 d1 1 2 r\n", encoding="utf-8")
    text = "dataset: g.qrels\nretrievers: {mine: {results: r.run}}\nmetrics: [RR@5]\n"
    said: list[str] = []
    report = run(load(written(text)), say=said.append)
    assert said[0] == "matched by id: gold has ids and no text"
    assert (report.evaluations[0].mean["RR@5"], report.config.match) == (0.5, "id")
    with pytest.raises(DataError, match=r"have no text.*match by 'id'"):
        run(load(written(text + "match: overlap\n")))
