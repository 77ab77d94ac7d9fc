"""What GitHub reads: workflows, forms, the action and the citation, and the shell in them.

That they run on GitHub's machines cannot be tried here.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
FORMS = sorted(
    path for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml") if path.stem != "config"
)
SCHEMAS = {
    "github-workflows": WORKFLOWS,
    "github-issue-forms": FORMS,
    "github-issue-config": [ROOT / ".github" / "ISSUE_TEMPLATE" / "config.yml"],
    "github-actions": [ROOT / "action.yml"],
    "citation-file-format": [ROOT / "CITATION.cff"],
}


def read(path: Path) -> dict[str, object]:
    """A file of YAML."""
    return yaml.load(path.read_text(encoding="utf-8"), yaml.BaseLoader)  # `on` is no boolean


def steps(path: Path) -> list[dict[str, object]]:
    """All steps of all jobs of a workflow."""
    return [step for job in read(path)["jobs"].values() for step in job["steps"]]


@pytest.mark.integration
@pytest.mark.parametrize("schema", SCHEMAS)
def test_schema(schema: str):
    """Each file is what its schema, a copy of GitHub's or CFF's, admits."""
    pytest.importorskip("check_jsonschema", reason="pip install 'kragx[integration]'")
    assert SCHEMAS[schema]
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}"]
    outcome = subprocess.run(
        [*command, *map(str, SCHEMAS[schema])], capture_output=True, text=True, check=False
    )
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr


@pytest.mark.integration
@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_shell_steps(path: Path, tmp_path: Path):
    """ShellCheck has nothing to say of the steps."""
    shellcheck = shutil.which("shellcheck", path=Path(sys.executable).parent)
    if shellcheck is None:
        pytest.skip("pip install 'kragx[integration]'")
    for place, step in enumerate(steps(path)):
        if "run" in step:
            file = tmp_path / f"{place}.sh"
            file.write_text(f"#!/usr/bin/env bash\nset -euo pipefail\n{step['run']}\n", "utf-8")
            outcome = subprocess.run(
                [shellcheck, file], capture_output=True, text=True, check=False
            )
            assert outcome.returncode == 0, outcome.stdout


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_steps_are_safe(path: Path):
    """No script is made of expressions, rights are those to read, and every job ends."""
    workflow = read(path)
    assert workflow["permissions"] == {"contents": "read"}
    for job in workflow["jobs"].values():
        assert int(job["timeout-minutes"]) <= 90
    for step in steps(path):
        assert "${{" not in step.get("run", "")
        if step.get("uses", "").startswith("actions/checkout"):
            assert step["with"] == {"persist-credentials": "false"}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_scripts_exist(path: Path):
    """The scripts that steps start are in the repository, and can be started."""
    for step in steps(path):
        for name in re.findall(r"\.ci/\w+", str(step.get("run", ""))):
            assert (ROOT / name).stat().st_mode & 0o100, name


def test_publishing_needs_no_token():
    """Only the job that publishes may ask for an identity, and no workflow reads a secret."""
    assert not any("secrets." in path.read_text(encoding="utf-8") for path in WORKFLOWS)
    jobs = read(ROOT / ".github" / "workflows" / "release.yml")["jobs"]
    asking = [name for name, job in jobs.items() if "id-token" in job.get("permissions", {})]
    assert asking == ["publish"]


def test_every_extra_that_a_workflow_installs_exists():
    """What steps install of kragx are extras of pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    texts = [path.read_text(encoding="utf-8") for path in WORKFLOWS]
    extras = {
        name
        for text in texts
        for part in re.findall(r'"\.\[(.+?)\]"', text)
        for name in part.split(",")
    }
    assert extras
    assert extras <= {*project["optional-dependencies"]}
