"""Result folders are whole, of one run, and hold nothing that is not kragx's to replace."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kragx.app import config
from kragx.app.result_folder.atomic_folder import locked, publish
from kragx.app.result_folder.opened import opened
from kragx.app.result_folder.written import claimed
from kragx.errors import DataError, UsageError
from tests.app.runs.dying import Changes, Killed
from tests.thoroughness import some

GOLD = [
    {"query_id": f"q{number}", "query": f"question {number}", "gold": [{"text": f"text {number}"}]}
    for number in range(1, 7)
]
RETRIEVERS = """
import os, time
from pathlib import Path

def good(question):
    return [question.replace("question", "text")]

def half(question):
    return good(question) if question[-1] in "135" else []

def slow(question):
    Path("asked.txt").touch()
    time.sleep(60)
"""
CONFIG = """
dataset: gold.jsonl
retrievers: {a: {class: 'toy_whole:NAME'}, b: {class: 'toy_whole:half'}}
metrics: [mrr@5]
statistics: {resamples: 100}
html: false
output: out
"""
posix = pytest.mark.skipif(os.name != "posix", reason="of POSIX")


@pytest.fixture
def write(jsonl, module, here, monkeypatch):
    """Write the config that asks a retriever; gives the folder of results."""
    monkeypatch.syspath_prepend(str(here))
    jsonl(*GOLD, name="gold.jsonl")
    module("toy_whole", RETRIEVERS)

    def call(name="good", text=CONFIG):
        (here / "run.yaml").write_text(text.replace("NAME", name), encoding="utf-8")
        return here / "out"

    return call


@pytest.fixture(scope="module")
def results_of(tmp_path_factory):
    """The folders that runs have written once, by their configs."""
    return {}, tmp_path_factory.mktemp("results")


@pytest.fixture
def ran(write, kragx, results_of):
    """As `write`, and the folder has results; each config runs once for all tests."""

    def call(name="good", text=CONFIG):
        out, (known, place) = write(name, text), results_of
        if (name, text) not in known:
            assert kragx("run", "run.yaml").code == 0
            known[name, text] = shutil.copytree(out, place / str(len(known)))
        else:
            shutil.copytree(known[name, text], out)
        return out

    return call


def files(folder: Path) -> dict[str, bytes]:
    """What a folder holds."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def numbers(kragx, folder="out"):
    """What `kragx report` says of a folder."""
    return kragx("report", folder, "--format", "json").json()["evaluations"]


def started(here, *options):
    """`kragx run` in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(here), *sys.path])}
    command = [sys.executable, "-m", "kragx", "run", "run.yaml", *options]
    return subprocess.Popen(command, stderr=subprocess.PIPE, env=environment, text=True)


def test_the_current_folder_is_left_alone(write, kragx, here):
    """`output: .` would replace the user's gold.jsonl: nothing is written, and it is said why."""
    write(text=CONFIG.replace("output: out", "output: ."))
    before = files(here)
    outcome = kragx("run", "run.yaml")
    assert outcome.code == 2
    assert "has not written (gold.jsonl, run.yaml and toy_whole.py)" in outcome.err
    assert files(here) == before


def test_a_folder_with_a_manifest_of_another_program(write, kragx, here):
    """A manifest.json that is not kragx's does not make the folder kragx's."""
    write()
    (here / "out").mkdir()
    (here / "out" / "manifest.json").write_text('{"name": "My page", "files": {}}')
    outcome = kragx("run", "run.yaml")
    assert (outcome.code, "has not written (manifest.json)" in outcome.err) == (2, True)
    outcome = kragx("report", "out")
    assert (outcome.code, "not a manifest that kragx wrote" in outcome.err) == (3, True)


def test_files_of_a_user_stay(ran, write, kragx):
    """What no manifest names is neither replaced nor removed; results of who is gone are."""
    out = ran()
    (out / "notes.txt").write_text("mine")
    (out / "results" / "c.jsonl").write_text("mine too")
    write(text=CONFIG.replace("b: {", "d: {"))
    assert kragx("run", "run.yaml").code == 0
    assert (out / "notes.txt").read_text() == "mine"
    assert (out / "results" / "c.jsonl").read_text() == "mine too"
    assert sorted(path.stem for path in out.glob("results/*.jsonl")) == ["a", "c", "d"]
    write(text=CONFIG.replace("b: {", "c: {"))
    before = files(out)
    outcome = kragx("run", "run.yaml")
    assert outcome.code == 2
    assert "results/c.jsonl: there already, and not written by kragx run" in outcome.err
    assert files(out) == before


@pytest.mark.integration
def test_a_page_is_replaced_by_the_page_of_the_next_run(ran, kragx):
    """A page that is drawn again does not make the folder another; the next run replaces it."""
    out = ran(text=CONFIG.replace("html: false", "html: true"))
    assert kragx("report", "out", "--format", "html").code == 0
    (out / "report.md").write_text("a note")
    (out / "queries.csv").unlink()
    assert kragx("report", "out").code == 0
    assert kragx("run", "run.yaml").code == 0
    assert (out / "report.md").read_text() != "a note"


@pytest.mark.parametrize(
    ("change", "name"),
    some(
        [
            ("not there", "config.yaml"),
            ("not there", "results/a.jsonl"),
            ("changed since", "gold.jsonl"),
            ("changed since", "report.json"),
        ],
        4,
    ),
)
def test_a_folder_that_does_not_fit_its_manifest(ran, kragx, name, change):
    """Whatever reads folders refuses one in which a file is missing, or another one than it was."""
    out = ran()
    if change == "not there":
        (out / name).unlink()
    else:
        text = (out / name).read_text(encoding="utf-8")
        (out / name).write_text(text[:-2] + text[:-3:-1], encoding="utf-8")  # of the same size
    for command in (
        ["report", "out"],
        ["compare", "out", "out"],
        ["explain", "out", "--query", "q1"],
        ["threshold", "sweep", "out"],
        ["run", "run.yaml", "-o", "new", "--earlier", "out"],
    ):
        outcome = kragx(*command)
        assert outcome.code == 3, command
        said = f"out: not as kragx run has written it ({change}: {name}); put back"
        assert said in outcome.err
    korean = {"not there": "없는 파일", "changed since": "그 뒤 바뀐 파일"}[change]
    assert f"({korean}: {name})" in kragx("--language", "ko", "report", "out").err
    assert kragx("run", "run.yaml").code == 0
    assert kragx("report", "out").code == 0


def test_a_folder_may_be_moved(ran, kragx, here):
    """Nothing in a manifest depends on where the folder stands."""
    ran()
    before = numbers(kragx)
    (here / "out").rename(here / "moved")
    assert numbers(kragx, "moved") == before


@posix
@pytest.mark.parametrize("kind", some(["link", "empty"], 2))
def test_where_a_folder_may_be(write, kragx, here, kind):
    """A link to a folder and an empty one are written to, and stay that."""
    write()
    (here / "real").mkdir()
    (here / "real" / ".gitkeep").touch()
    place = here / "real"
    if kind == "link":
        place = here / "link"
        place.symlink_to(here / "real")
    for _ in range(2):
        assert kragx("run", here / "run.yaml", "-o", place).code == 0
    assert place.is_symlink() == (kind == "link")
    assert {"manifest.json", ".gitkeep"} <= {path.name for path in (here / "real").iterdir()}
    assert kragx("report", here / "real").code == 0


@pytest.mark.parametrize("place", ["out", "out/results"])
def test_the_current_folder_is_not_replaced(ran, write, kragx, here, place, monkeypatch):
    """Whoever stands in a folder would stand in none: that is said before anything is asked."""
    ran()
    write("slow")
    monkeypatch.chdir(here / place)
    outcome = kragx("run", here / "run.yaml")
    assert outcome.code == 2
    assert "the current folder and a mounted disk cannot be replaced; name a folder" in outcome.err
    assert not (here / "asked.txt").exists()
    assert not (here / "out.unfinished").exists()


def test_where_no_folder_can_be(write, kragx, here):
    """A file, and a place below one, are refused before anything is asked."""
    write("slow")
    for place in ("gold.jsonl", "gold.jsonl/out"):
        outcome = kragx("run", "run.yaml", "-o", place)
        assert outcome.code == 2
        assert "gold.jsonl" in outcome.err
    assert not (here / "asked.txt").exists()


def test_nothing_is_left_of_a_run_that_does_not_begin(write, kragx, here):
    """A mistake in the config leaves no folder."""
    write("none")
    assert kragx("run", "run.yaml").code == 2
    assert not (here / "out").exists()


# ---- one at a time


def test_two_runs_at_once(write, kragx):
    """The second refuses; the first is not disturbed."""
    out = write()
    with claimed(out, config.load("run.yaml")):
        outcome = kragx("run", "run.yaml")
    assert outcome.code == 2
    assert "out: in use by another run" in outcome.err
    assert not out.exists()
    assert kragx("run", "run.yaml").code == 0


@posix
@pytest.mark.integration
def test_a_run_that_was_killed_holds_nothing(ran, write, kragx, here):
    """While it runs others are refused and old results read; after a kill the next run goes on."""
    out = ran()
    before = numbers(kragx)
    write("slow")
    with started(here) as process:
        while not (here / "asked.txt").exists():
            time.sleep(0.05)
        outcome = kragx("run", "run.yaml")
        assert (outcome.code, "in use by another run" in outcome.err) == (2, True)
        assert numbers(kragx) == before
        process.kill()
    assert numbers(kragx) == before
    write()
    assert kragx("run", "run.yaml").code == 0
    assert not out.with_name("out.unfinished").exists()


@posix
def test_a_forked_child_does_not_hold_the_lock(tmp_path):
    """A worker that outlives the run that forked it does not keep the folder from others."""
    path = tmp_path / "folder" / "lock"
    read, write = os.pipe()
    with locked(path):
        child = os.fork()
        if child == 0:  # waits until this process has tried
            os.read(read, 1)
            os._exit(0)
    try:
        with locked(path):
            pass
    finally:
        os.write(write, b".")
        os.waitpid(child, 0)
        os.close(read)
        os.close(write)


# ---- killed


@pytest.fixture
def old_and_new(ran, write, kragx, here):
    """An existing folder, kept aside, and the numbers before and after it is written anew."""
    out = ran("half")
    old = numbers(kragx)
    shutil.copytree(out, here / "kept")
    write("good")
    with Changes().counted() as changes:
        assert kragx("run", "run.yaml").code == 0
    new = numbers(kragx)
    assert old != new

    def again():
        shutil.rmtree(out)
        shutil.copytree(here / "kept", out)

    return old, new, changes.n, again


@pytest.mark.integration
def test_killed_at_any_write(old_and_new, kragx, here):
    """Wherever an existing folder is left, it has the old numbers or the new ones, exactly."""
    old, new, n, again = old_and_new
    # The last ones move what is complete into place.
    seen = []
    for deadly in (n // 2, *range(n - 24, n + 1, 8)):
        again()
        with pytest.raises(Killed), Changes(deadly).counted():
            kragx("run", "run.yaml")
        seen.append(numbers(kragx))
        assert seen[-1] in (old, new), deadly
    assert old in seen
    assert new in seen
    assert kragx("run", "run.yaml").code == 0
    assert numbers(kragx) == new
    assert not (here / "out.unfinished").exists()


@posix
@pytest.mark.integration
def test_killed_at_a_hundred_random_writes(old_and_new, here):
    """The same for processes that really end, at 100 random changes of the file system."""
    old, new, n, _ = old_and_new
    # Many of them where it matters most: from when the new results are nearly complete.
    draw = random.Random(20260131)
    places = {*draw.sample(range(1, n - 40), 60), *draw.sample(range(n - 40, n + 1), 40)}
    program = f"from tests.app.runs.dying import kill_at; kill_at(*{sorted(places)})"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(here), *sys.path])}
    killed = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, check=False
    )
    assert killed.returncode == 0, killed.stderr

    def said(name):
        return json.loads((here / "said" / f"{name}.json").read_text("utf-8"))["evaluations"]

    assert len(places) == 100
    assert all(said(place) in (old, new) for place in places)
    assert {said(place) == new for place in places} == {True, False}
    assert all(said(f"{place}-next") == new for place in sorted(places)[::5])


@pytest.mark.integration
def test_a_first_run_that_was_killed(write, kragx, here):
    """Before there are results a folder has none, and the next run goes on."""
    out = write()
    with Changes().counted() as changes:
        assert kragx("run", "run.yaml").code == 0
    for deadly in (changes.n // 4, changes.n // 2):
        shutil.rmtree(out)
        with pytest.raises(Killed), Changes(deadly).counted():
            kragx("run", "run.yaml")
        outcome = kragx("report", "out")
        assert outcome.code == 3
        assert "no results yet, as a run was cut short here; kragx run goes on" in outcome.err
        assert kragx("run", "run.yaml").code == 0
        assert kragx("report", "out").code == 0


@pytest.fixture(params=["there", "moved aside", "in place"])
def cut_short(request, ran, write, kragx, here):
    """A folder whose new results were on their way when a kill came; its numbers."""
    out, unfinished = ran("half"), here / "out.unfinished"
    (out / "notes.txt").write_text("mine")
    write("good")
    shutil.copytree(out, here / "new")
    assert kragx("run", "run.yaml", "-o", "new").code == 0
    (unfinished / "answers").mkdir(parents=True)
    if request.param == "there":
        shutil.rmtree(out)
        (unfinished / "old").mkdir()  # there were none before
    else:
        out.rename(unfinished / "old")
    shutil.copytree(here / "new", out if request.param == "in place" else unfinished / "new")
    return out, numbers(kragx, "new")


@posix
def test_complete_results_come_into_place_first(cut_short, kragx):
    """Whoever reads them moves them there; while another one has the folder, that is said."""
    out, new = cut_short
    unfinished = out.with_name("out.unfinished")
    before = files(unfinished)
    with locked(unfinished / "lock"):
        outcome = kragx("report", "out")
        assert (outcome.code, "in use by another run" in outcome.err) == (2, True)
    assert files(unfinished) == before
    assert numbers(kragx) == new
    assert not unfinished.exists()
    assert files(out) == files(out.with_name("new"))
    assert (out / "notes.txt").read_text() == "mine"


@posix
def test_another_folder_in_the_place_of_what_was_moved_aside(ran, kragx, here):
    """Whoever makes the folder anew after a kill loses neither that nor what the run has left."""
    out, unfinished = ran("half"), here / "out.unfinished"
    unfinished.mkdir()
    shutil.copytree(out, unfinished / "new")
    out.rename(unfinished / "old")
    (out / "mine").mkdir(parents=True)
    outcome = kragx("report", "out")
    assert (outcome.code, "out: cannot be written: " in outcome.err) == (2, True)
    assert (out / "mine").is_dir()
    assert files(unfinished / "old") == files(unfinished / "new") != {}


def test_a_folder_that_cannot_be_moved(ran, write, kragx, monkeypatch):
    """As on Windows one that a spreadsheet has a file open of: old results and answers stay."""
    out = ran("half")
    before, rename = files(out), Path.rename
    write("good")

    def refusing(self, target):
        if self == out:
            raise PermissionError(13, "in use")
        return rename(self, target)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "rename", refusing)
        outcome = kragx("run", "run.yaml")
    assert (outcome.code, "out: cannot be written: in use" in outcome.err) == (2, True)
    assert files(out) == before
    assert "6 of 6 answers are kept" in kragx("run", "run.yaml").err


def test_written_anew_while_it_is_read(ran, write, kragx):
    """Who reads a folder that is replaced meanwhile is told, and gets no mixture."""
    out = ran("half")
    write("good")
    with pytest.raises(DataError, match="was written anew while it was read"), opened(out):
        assert kragx("run", "run.yaml").code == 0


@pytest.mark.parametrize("name", ["../victim", "/victim", "results/../../victim", "a\\..\\b", ""])
def test_names_that_lead_elsewhere(ran, kragx, here, name):
    """A manifest of somebody else's cannot have files read, moved or removed outside its folder."""
    out = ran()
    (here / "victim").write_text("mine")
    manifest = {"written_by": "kragx", "files": {name: {"size": 0, "sha256": ""}}}
    (out / "manifest.json").write_text(json.dumps(manifest))
    assert kragx("report", "out").code == 3
    kragx("run", "run.yaml")
    (here / "out.unfinished" / "old").mkdir(parents=True)
    kragx("report", "out")
    assert (here / "victim").read_text() == "mine"


@posix
def test_links_that_lead_elsewhere(ran, write, kragx, here):
    """Nor can a link within the folder."""
    out = ran()
    shutil.move(out / "results", here / "elsewhere")
    (out / "results").symlink_to(here / "elsewhere")
    before = files(here / "elsewhere")
    assert kragx("report", "out").code == 3
    assert kragx("report", "out", "--trust").code == 0
    write(text=CONFIG.replace("b: {", "d: {"))
    outcome = kragx("run", "run.yaml")
    assert (outcome.code, "out: results: there already, and not written" in outcome.err) == (
        2,
        True,
    )
    assert files(here / "elsewhere") == before


def test_writing_that_fails_leaves_the_old_results(ran, here):
    """A disk that is full while new results are written costs neither these nor the answers."""
    out = ran("half")
    before = files(out)

    def failing(folder):
        (folder / "gold.jsonl").write_text("new")
        raise OSError(28, "No space left on device")

    with claimed(out, config.load("run.yaml")), pytest.raises(UsageError, match="No space left"):
        publish(out, failing)
    assert files(out) == before


def test_a_folder_without_its_manifest(ran, kragx):
    """It is none: nothing is read of it, and nothing is written over what stands there."""
    out = ran()
    (out / "manifest.json").unlink()
    before = files(out)
    for command in (["report", "out"], ["compare", "out", "out"]):
        outcome = kragx(*command)
        assert (outcome.code, "as it has no manifest.json" in outcome.err) == (3, True)
    outcome = kragx("run", "run.yaml")
    assert (outcome.code, "holds what kragx run has not written" in outcome.err) == (2, True)
    assert files(out) == before
