"""docs/comparing.md, docs/ci.md: configs, gates and CI job are what kragx and YAML read."""

from __future__ import annotations

import pytest
import yaml
from typer.main import get_command

from kragx.app import config
from kragx.app.commands.root import app
from kragx.comparison import parse_gates
from tests.docs.support import Document
from tests.thoroughness import all_cases

PAGES = [Document("docs/comparing.md"), Document("docs/ci.md")]
BLOCKS = {
    next(iter(content)): content
    for page in PAGES
    for block in page.blocks
    if block.language == "yaml" and isinstance(content := yaml.safe_load(block.text), dict)
}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_config(page, tmp_path):
    """The config at the top holds no mistake, and its gates are gates."""
    (block,) = (block for block in page.blocks if block.name.endswith(".yaml"))
    (tmp_path / "docs.yaml").write_text(block.text, encoding="utf-8")
    loaded = config.load(tmp_path / "docs.yaml")
    assert len(loaded.parsed_gates) >= 2


def test_the_gates():
    """The example of gates holds no mistake."""
    problems = []
    gates = parse_gates(BLOCKS["gates"]["gates"], problems)
    assert problems == []
    assert [gate.path.removeprefix("gates.") for gate in gates] == [
        "ndcg@10",
        "recall@3",
        "seconds_p95",
        "seconds_p95",
        "n_failed",
        "max_failed",
        "retrievers.hybrid.ndcg@10",
        "slices.metadata.difficulty.hard.recall@3",
        "matchers.strict.ndcg@10",
    ]


@all_cases(
    "line",
    [
        line.split("#")[0].removeprefix("- run: ").split()
        for page in PAGES
        for block in page.blocks
        for line in map(str.strip, block.text.splitlines())
        if line.removeprefix("- run: ").startswith("kragx ")
    ],
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
