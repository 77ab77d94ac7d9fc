"""What must not be found, in runs of a config and in what they leave in a folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kragx import ConfigError
from kragx.app import config
from kragx.app.pipeline import recompute, run

CORPUS = [
    {"id": "a1", "text": "The fee is 10.", "metadata": {"tenant": "A", "source": "a.md"}},
    {"id": "b1", "text": "The fee is 20.", "metadata": {"tenant": "B", "source": "b.md"}},
    {
        "id": "old",
        "text": "The fee was 5.",
        "metadata": {"tenant": "A", "source": "a.md", "superseded_by": "mid"},
    },
    {"id": "mid", "text": "The fee was 8.", "metadata": {"tenant": "A", "superseded_by": "a1"}},
    {"id": "x1", "text": "A page from afar.", "metadata": {"tenant": "A", "source": "x.md"}},
    {"id": "unused", "text": "Nobody ever asks for it.", "metadata": {"tenant": "A"}},
]
GOLD = [
    {
        "query_id": "q1", "query": "What is the fee?", "gold": [{"id": "a1"}],
        "metadata": {"tenant": "A"}, "forbidden": [{"id": "x1", "why": "poison"}],
    },
    {
        "query_id": "q2", "query": "And the other fee?", "gold": [{"id": "b1"}],
        "metadata": {"tenant": "B"}, "forbidden": [{"source": "x.md", "why": "poison"}],
    },
]  # fmt: skip
RESULTS = [
    {"query_id": "q1", "retrieved": [{"id": "a1"}, {"id": "old"}, {"id": "b1"}]},
    {"query_id": "q2", "retrieved": [{"id": "old"}, {"id": "b1"}]},
]
CONFIG = """
dataset: {path: gold.jsonl, corpus: corpus.jsonl}
retrievers: {one: {results: results.jsonl}}
match: id
metrics: [recall@2, leak@3, leak@3(kind=poison), leak@1, stale_first@2]
forbidden: {tenant: {metadata.tenant: {not: {query: metadata.tenant}}}}
output: out
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a config and its files."""
    for name, rows in {"corpus": CORPUS, "gold": GOLD, "results": RESULTS}.items():
        lines = [json.dumps(row) + "\n" for row in rows]
        (tmp_path / f"{name}.jsonl").write_text("".join(lines))
    (tmp_path / "kragx.yaml").write_text(CONFIG)
    return tmp_path


def test_a_run_and_its_folder(folder: Path, kragx: Any) -> None:
    """Metadata come from the corpus by id, and the folder has all that its numbers rest on."""
    (evaluation,) = run(config.load(folder / "kragx.yaml"), progress=False).evaluations
    assert kragx("run", str(folder / "kragx.yaml")).code == 0
    means = {"recall@2": 1.0, "leak@3": 1.0, "leak@3(kind=poison)": 0.0, "leak@1": 0.5}
    assert evaluation.mean == means | {"stale_first@2": 0.5}
    assert evaluation.bounds == {}
    (again,) = recompute(folder / "out").evaluations
    assert (again.mean, again.bounds) == (evaluation.mean, {})
    assert again.counts == evaluation.counts
    assert again.settings["forbidden"] == evaluation.settings["forbidden"]
    lines = (folder / "out" / "corpus.jsonl").read_text().splitlines()
    kept = [json.loads(line)["id"] for line in lines]
    assert sorted(kept) == ["a1", "b1", "mid", "old", "x1"]


def test_rules_are_checked_with_the_config(folder: Path) -> None:
    """A rule that is none is a problem of the config, with its path; dates may be bare."""
    text = CONFIG.replace("{not:", "{nott:")
    (folder / "kragx.yaml").write_text(text)
    with pytest.raises(ConfigError, match=r"forbidden\.tenant\.metadata\.tenant\.nott: unknown"):
        config.load(folder / "kragx.yaml")
    rule = "forbidden: {stale: {metadata.until: {before: 2026-01-31}}}\n"
    (folder / "kragx.yaml").write_text(CONFIG.replace(CONFIG.splitlines()[5], rule))
    loaded = config.load(folder / "kragx.yaml")
    assert loaded.forbidden == {"stale": {"metadata.until": {"before": "2026-01-31"}}}
