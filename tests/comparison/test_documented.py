"""docs/comparison.md, docs/gates.md: configs, gates and CI job are what kragx and YAML read."""

from __future__ import annotations

import pytest
import yaml
from typer.main import get_command

from kragx.app import config
from kragx.app.commands.root import app
from kragx.comparison import parse_gates
from tests.docs.support import Document

PAGES = [Document("docs/comparison.md"), Document("docs/gates.md")]
BLOCKS = {
    next(iter(yaml.safe_load(block.text))): yaml.safe_load(block.text)
    for page in PAGES
    for block in page.blocks
    if block.language == "yaml"
}


def test_the_keys_of_the_config(tmp_path):
    """The keys shown at the top belong into a config as they stand."""
    retrievers = {"bm25": {"results": "a.jsonl"}, "hybrid": {"results": "b.jsonl"}}
    whole = {
        "dataset": "gold.jsonl",
        "retrievers": retrievers,
        "metrics": ["ndcg@10"],
        **BLOCKS["baseline"],
    }
    loaded = config.parse_config(yaml.safe_dump(whole), "docs", tmp_path)
    assert loaded.baseline == "bm25"
    assert loaded.slices == ["query_type", "metadata.difficulty"]
    assert loaded.statistics == config.StatisticsConfig()
    assert loaded.earlier == tmp_path / "results" / "last-week"
    assert len(loaded.parsed_gates) == 1


def test_the_gates():
    """The example of gates holds no mistake."""
    problems = []
    gates = parse_gates(BLOCKS["gates"]["gates"], problems)
    assert problems == []
    assert [gate.path.removeprefix("gates.") for gate in gates] == [
        "ndcg@10",
        "recall@3",
        "p95_seconds",
        "p95_seconds",
        "n_failed",
        "max_failed",
        "retrievers.hybrid.ndcg@10",
        "slices.metadata.difficulty.hard.recall@3",
        "matchers.strict.ndcg@10",
    ]


@pytest.mark.parametrize(
    "line",
    [
        line.split("#")[0].removeprefix("- run: ").split()
        for page in PAGES
        for block in page.blocks
        for line in map(str.strip, block.text.splitlines())
        if line.removeprefix("- run: ").startswith("kragx ")
    ],
    ids=" ".join,
)
def test_the_commands(line):
    """Each command that the page shows exists and has the options that it is given."""
    command = get_command(app).commands[line[1]]
    command.make_parser(ctx=command.make_context(line[1], line[2:], resilient_parsing=True))
    known = {name for parameter in command.params for name in parameter.opts}
    assert {word for word in line if word.startswith("--")} <= known


def test_the_ci_job():
    """The job is a mapping as GitHub reads it; its steps run kragx with a summary."""
    job = BLOCKS["name"]["jobs"]["evaluate"]
    runs = [step["run"] for step in job["steps"] if "run" in step]
    assert any('--summary "$GITHUB_STEP_SUMMARY"' in each for each in runs)
    assert any(step.get("if") == "always()" for step in job["steps"])
