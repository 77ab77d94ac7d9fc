"""The GitHub Action: its steps as a runner takes them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the runner's bash")

GOLD = '{"query_id": "q1", "query": "a?", "gold": [{"id": "g"}]}\n'
CONFIG = """
dataset: gold.jsonl
retrievers: {one: one.jsonl}
match: id
metrics: [mrr@5]
gates: {mrr@5: "GATE"}
"""


@dataclass
class Runner:
    """What a runner of GitHub does with a composite action, as far as this one uses it."""

    folder: Path
    inputs: dict[str, str]
    outputs: dict[str, dict[str, str]] = field(default_factory=dict)
    uploaded: list[dict[str, str]] = field(default_factory=list)
    log: str = ""
    code: int = 0

    def filled(self, text: str) -> str:
        """A text with its expressions evaluated; a step that was not reached has no outputs."""

        def value(match: re.Match) -> str:
            kind, _, name = match[1].partition(".")
            if kind == "inputs":
                return self.inputs[name]
            step, _, output = name.partition(".outputs.")
            return self.outputs.get(step, {}).get(output, "")

        return re.sub(r"\$\{\{ ([\w.-]+) \}\}", value, str(text))

    def holds(self, condition: str) -> bool:
        """Whether a condition of ``&&`` holds."""
        for part in condition.split(" && "):
            if part == "always()":
                continue
            left, sign, right = part.partition(" != ")
            assert (sign, right) == (" != ", "''")
            if not self.filled("${{ " + left + " }}"):
                return False
        return True

    def run(self) -> Runner:
        """Take all steps; after one that failed only those that always run."""
        for step in ACTION["runs"]["steps"]:
            condition = step.get("if", "")
            if (self.code and "always()" not in condition) or not self.holds(
                condition or "always()"
            ):
                continue
            if "uses" in step:
                assert step["uses"] == "actions/upload-artifact@v4"
                self.uploaded.append({k: self.filled(v) for k, v in step["with"].items()})
            else:
                assert "${{" not in step["run"]  # an input would be part of the script
                self.code = self._script(step) or self.code
        return self

    def _script(self, step) -> int:
        out = self.folder / "output.txt"
        out.write_text("")
        script = self.folder / "step.sh"
        script.write_text(step["run"])
        env = {
            **os.environ,
            **{name: self.filled(value) for name, value in step.get("env", {}).items()},
            "PYTHONPATH": str(ROOT),
            "GITHUB_ACTION_PATH": str(ROOT),
            "GITHUB_OUTPUT": str(out),
            "GITHUB_STEP_SUMMARY": str(self.folder / "summary.md"),
            "RUNNER_TEMP": str(self.folder / "temp"),
        }
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", script],
            check=False,
            cwd=self.folder / "work",
            env=env,
            capture_output=True,
            text=True,
        )
        self.log += done.stdout + done.stderr
        if "id" in step:
            lines = out.read_text().splitlines()
            self.outputs[step["id"]] = dict(line.split("=", 1) for line in lines)
        return done.returncode


@pytest.fixture
def runner(tmp_path):
    """A runner in a checkout with a config; its Python notes what pip is asked to install."""
    work = tmp_path / "work"
    for folder in (work, tmp_path / "temp"):
        folder.mkdir()
    (work / "gold.jsonl").write_text(GOLD)
    (work / "one.jsonl").write_text(GOLD.replace('"gold"', '"retrieved": [{"id": "g"}], "gold"'))
    python = tmp_path / "python"
    python.write_text(
        "#!/bin/bash\n"
        f'if [ "$2" = pip ]; then printf "%s|" "$@" >> "{tmp_path}/pip.txt"; exit; fi\n'
        f'exec "{sys.executable}" "$@"\n'
    )
    python.chmod(0o755)

    def start(gate=">= 0.5", **inputs):
        (work / "kragx.yaml").write_text(CONFIG.replace("GATE", gate))
        (tmp_path / "summary.md").write_text("before\n")
        defaults = {name: own.get("default", "") for name, own in ACTION["inputs"].items()}
        needed = {"config": "kragx.yaml", "python": str(python)}
        assert not inputs.keys() - defaults.keys()
        return Runner(tmp_path, {**defaults, **needed, **inputs}).run()

    return start


@pytest.mark.integration
def test_gates_that_pass(runner, tmp_path):
    """It installs kragx and what is asked for, adds the summary, and keeps the result folder."""
    done = runner(install="-r requirements.txt", junit="gates.xml")
    assert (done.code, done.outputs["evaluate"]["code"]) == (0, "0"), done.log
    installed = (tmp_path / "pip.txt").read_text()
    assert installed == f"-m|pip|install|--disable-pip-version-check|{ROOT}|-r|requirements.txt|"
    summary = (tmp_path / "summary.md").read_text()
    assert summary.startswith("before\n## kragx: ✅ every gate passed")
    assert done.uploaded == [
        {"name": "kragx", "path": "kragx-results", "if-no-files-found": "ignore"}
    ]
    for name in ("kragx-results/report.html", "gates.xml"):
        assert (tmp_path / "work" / name).is_file()


@pytest.mark.integration
def test_a_gate_that_fails(runner, tmp_path):
    """The job fails, and has the summary and the results all the same; compared with a baseline."""
    assert runner(gate="<= 0.5", artifact="").uploaded == []
    done = runner(gate="<= 0.5", earlier="kragx-results", output="now")
    assert (done.code, done.outputs["evaluate"]["code"]) == (1, "1"), done.log
    assert "::error title=kragx::kragx run ended with 1" in done.log
    assert "1 of 1 gates failed" in (tmp_path / "summary.md").read_text()
    assert "nothing changed" in (tmp_path / "summary.md").read_text()
    assert len(done.uploaded) == 1


@pytest.mark.integration
def test_a_config_that_is_wrong(runner, tmp_path):
    """Without results the job fails with the command's code, and what inputs hold is no command."""
    done = runner(config="$(touch stolen); kragx.yaml", install="; touch stolen")
    assert (done.code, done.outputs["evaluate"]["code"]) == (3, "3"), done.log
    assert "ended with 3 before there were results" in (tmp_path / "summary.md").read_text()
    assert not (tmp_path / "work" / "stolen").exists()


def test_inputs_are_described():
    """Every input is described in docs/ci.md, and is used by some step."""
    text = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
    steps = yaml.safe_dump(ACTION["runs"])
    for name in ACTION["inputs"]:
        assert f"inputs.{name}" in steps
        assert f"`{name}`" in text
