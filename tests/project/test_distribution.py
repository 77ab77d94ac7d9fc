"""Wheel and sdist: what they hold, and that the wheel works away from the source."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.integration


def run(*command: object, cwd: Path, **variables: str) -> str:
    """What a command prints, which has to succeed."""
    outcome = subprocess.run(
        [*map(str, command)],
        cwd=cwd,
        env={**os.environ, **variables},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr
    return outcome.stdout


@pytest.fixture(scope="module")
def dist(tmp_path_factory) -> Path:
    """A folder with the sdist, and the wheel that is built from it."""
    pytest.importorskip("build", reason="pip install 'kragx[integration]'")
    pytest.importorskip("hatchling", reason="pip install 'kragx[integration]'")
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT, cwd=folder)
    return folder


@pytest.fixture(scope="module")
def sdist(dist: Path) -> Path:
    """The sdist's one folder, unpacked."""
    (file,) = dist.glob("kragx-*.tar.gz")
    with tarfile.open(file) as archive:
        # As the argument `filter`, which 3.11 has from 3.11.4 on.
        archive.extraction_filter = getattr(tarfile, "data_filter", None)
        archive.extractall(dist / "unpacked")
    (folder,) = (dist / "unpacked").iterdir()
    return folder


def test_wheel_holds_the_package_and_nothing_else(dist: Path):
    """All of kragx/ (templates, scripts, rubrics, starter files, py.typed), no tests, no caches."""
    (file,) = dist.glob("kragx-*.whl")
    names = {name for name in zipfile.ZipFile(file).namelist() if ".dist-info/" not in name}
    source = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "kragx").rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    assert names == source
    for part in ("py.typed", "report/html_page/template.html", "app/starter/ko/kragx.yaml"):
        assert f"kragx/{part}" in names


def test_metadata(dist: Path):
    """The wheel names its licence, its addresses, and each extra that the docs tell users of."""
    (file,) = dist.glob("kragx-*.whl")
    archive = zipfile.ZipFile(file)
    (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
    lines = archive.read(name).decode().split("\n\n")[0].splitlines()
    extras = {line.partition(": ")[2] for line in lines if line.startswith("Provides-Extra")}
    docs = "".join(
        path.read_text("utf-8") for path in [ROOT / "README.md", *ROOT.glob("docs/*.md")]
    )
    told = {x for part in re.findall(r'"\.\[([a-z0-9,]+)\]"', docs) for x in part.split(",")}
    assert {"bm25", "korean"} <= told <= extras
    assert "License-Expression: MIT" in lines
    assert any(line.startswith("Project-URL: Changelog") for line in lines)


def test_sdist_holds_what_its_tests_and_the_readme_need(sdist: Path):
    """Every file of the repository that the README links, and tests, configs and examples."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    linked = {link for link in re.findall(r"\]\(([^)#:]+)", text) if "//" not in link}
    assert "docs/start.md" in linked
    for name in (*linked, "tests/conftest.py", ".ci/run", "CITATION.cff", "examples/data"):
        assert (sdist / name).exists(), name


def test_wheel_runs_the_readme_away_from_the_source(dist: Path, sdist: Path, tmp_path: Path):
    """The README's main command, with the wheel's kragx and the configs of the sdist."""
    (wheel,) = dist.glob("kragx-*.whl")
    site, work = tmp_path / "site", tmp_path / "work"
    zipfile.ZipFile(wheel).extractall(site)  # as pip does with what needs no building
    work.mkdir()
    for name in ("configs", "examples"):
        (sdist / name).rename(work / name)
    readme = (sdist / "README.md").read_text(encoding="utf-8")
    (config,) = re.findall(r"^python3 -m venv .*kragx run (\S+)$", readme, re.MULTILINE)
    kragx = (sys.executable, "-c", "from kragx.app.commands.main import main; main()")
    where = "import kragx; print(kragx.__file__)"
    assert str(site) in run(sys.executable, "-c", where, cwd=work, PYTHONPATH=str(site))
    assert "ndcg@10" in run(*kragx, "run", config, cwd=work, PYTHONPATH=str(site))
    assert (work / "results" / Path(config).stem / "report.html").stat().st_size > 10_000
    run(*kragx, "init", "new", cwd=work, PYTHONPATH=str(site))
    assert "mrr" in run(*kragx, "run", "kragx.yaml", cwd=work / "new", PYTHONPATH=str(site))
