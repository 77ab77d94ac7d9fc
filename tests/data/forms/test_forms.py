"""The table of 45 forms: what people have gives the numbers of the same content in JSON Lines."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.docs.test_ragas import PAGE, TWIN, rows, table
from tests.environments import ROOT

from .content import Form
from .table import FORMS

ELSEWHERE = (
    *("ragas>=0.4", "langchain-community<0.4", "deepeval>=4", "python-terrier>=1.0"),
    *("weaviate-client>=4.9", "elasticsearch>=9", "pinecone>=8"),
)
"""Packages that no extra of kragx has: ragas holds openai back, which others want newer."""

HERE = [form for form in FORMS if find_spec(form.package) is not None]
AWAY = [form for form in FORMS if form not in HERE]

pytestmark = pytest.mark.filterwarnings("ignore")  # those of the packages


def test_there_are_45() -> None:
    """Nine of information retrieval and 36 of RAG tools; all but two are evaluated."""
    assert len({form.name for form in FORMS}) == 45
    assert sum(form.is_ir for form in FORMS) == 9
    assert sum(bool(form.says) for form in FORMS) == 2


@pytest.mark.integration
@pytest.mark.parametrize("form", HERE, ids=lambda form: form.name)
def test_a_form(form: Form, tmp_path: Path) -> None:
    """Alone and side by side it gives the values and counts of JSON Lines, or says what to do."""
    assert form.problem(tmp_path) == ""


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python that has the other packages before those of this one; KRAGX_FORMS names a ready one.

    Without a network it cannot be made, and its forms are skipped.
    """
    if ready := os.environ.get("KRAGX_FORMS"):
        return Path(ready)
    folder = tmp_path_factory.mktemp("forms") / "venv"
    venv.create(folder, symlinks=True)
    (library,) = folder.glob("lib/python*/site-packages")
    here = [path for path in sys.path if path.endswith("-packages")]
    (library / "here.pth").write_text("\n".join(here), encoding="utf-8")
    base = getattr(sys, "_base_executable", sys.executable)  # an environment may be without pip
    # Ten thousand modules, of which two tests import some: those alone are compiled.
    options = ("-q", "--no-compile", "--disable-pip-version-check")
    command = [base, "-m", "pip", "--python", str(folder), "install", *options, *ELSEWHERE]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"the packages of others cannot be installed: {done.stderr[-300:]}")
    return folder / "bin" / "python"


@pytest.mark.integration
def test_the_forms_of_other_packages(elsewhere: Path) -> None:
    """The same of those whose packages are in an environment of their own."""
    silent = {"DEEPEVAL_TELEMETRY_OPT_OUT": "1", "RAGAS_DO_NOT_TRACK": "true", "DO_NOT_TRACK": "1"}
    done = subprocess.run(
        [str(elsewhere), "-W", "ignore", "-m", "tests.data.forms", *(form.name for form in AWAY)],
        cwd=ROOT,
        env=os.environ | silent | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert not done.returncode, done.stderr[-3000:]
    problems = [line for line in done.stdout.splitlines() if line.startswith(_NAMES)]
    assert not problems, "\n".join(problems)


@pytest.mark.integration
def test_the_values_of_ragas_are_the_pages(elsewhere: Path) -> None:
    """The real package, on the rows of docs/ragas.md, gives the values of its second column."""
    script = ROOT / "tests" / "docs" / "ragas_values.py"
    done = subprocess.run(
        [str(elsewhere), "-W", "ignore", script],
        input=json.dumps(rows()),
        capture_output=True,
        text=True,
        check=True,
    )
    measured = json.loads(done.stdout.splitlines()[-1])
    for document in (PAGE, TWIN):
        shown = {name.split("`")[1]: theirs for name, theirs, _, _ in table(document) if name}
        assert measured == shown


_NAMES = tuple(form.name for form in FORMS)
"""Packages print things of their own."""
