"""Retrievers of a config that the workers of a Ray cluster ask: as one process does."""

from __future__ import annotations

import os

import pytest
import yaml

from kragx.app import config as configs, pipeline
from kragx.app.retrieving.elsewhere import RetrieverWarning
from kragx.app.retrieving.fingerprint import Fingerprints
from kragx.errors import RetrieverError
from tests.local_cluster import two_workers

pytestmark = pytest.mark.integration

N = 24
RETRIEVER = """
import os
import signal
import time
from pathlib import Path

if "ONLY_HERE" in os.environ:
    NAME = os.environ["ONLY_HERE"]

def note(text):
    with Path("notes.txt").open("a") as file:
        file.write(f"{os.getpid()} {text}\\n")

class Search:
    def __init__(self, path, key="", kill=-1):
        self.texts = Path(path).read_text().splitlines()
        self.kill = kill
        note(f"made {key}")

    def __call__(self, question):
        number = int(question.split()[-1])
        note(f"begin {number}")
        time.sleep(0.02)
        if number == self.kill and not Path("killed").exists():
            Path("killed").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        note(f"end {number}")
        if number % 10 == 3:
            raise ValueError(f"no {number} \\ud800, {os.environ.get('KEY_OF_TEST')}")
        return [{"id": f"d{own}", "text": self.texts[own]} for own in (7, number)]

def of_driver(path):
    NAME
    return Search(path)

async def waiting(question):
    import asyncio
    await asyncio.sleep(0.01)
    return [f"passage {question.split()[-1]}"]
"""


@pytest.fixture(scope="module")
def cluster():
    """Two workers."""
    with two_workers() as ray:
        yield ray


@pytest.fixture
def load(here, jsonl, module, monkeypatch):
    """Loads a config of retrievers; gold set, texts and a module stand beside it."""
    monkeypatch.syspath_prepend(str(here))
    monkeypatch.setenv("KEY_OF_TEST", "sk-a9b8c7d6e5f4a9b8c7d6")
    gold = [{"text": f"passage {n} of {n}", "id": f"d{n}"} for n in range(N)]
    jsonl(
        *({"query_id": f"q{n}", "query": f"what is {n}", "gold": [gold[n]]} for n in range(N)),
        name="gold.jsonl",
    )
    (here / "texts.txt").write_text("".join(own["text"] + "\n" for own in gold), encoding="utf-8")
    module("toy_there", RETRIEVER)

    def loaded(shared=True, **retrievers):
        config = {
            "dataset": "gold.jsonl",
            "retrievers": retrievers,
            "max_failed": 1.0,
            "metrics": ["ndcg@10", "coverage@2"],
            "engine": {"ray": {"address": "auto"}} if shared else None,
        }
        (here / "c.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
        return configs.load(here / "c.yaml")

    return loaded


def search(**options):
    """The class of the module."""
    args = {"path": "texts.txt", "key": "${KEY_OF_TEST}", **options.pop("args", {})}
    return {"class": "toy_there:Search", "args": args, **options}


def notes(here):
    """What was noted so far: process, what, of what; and no more."""
    path = here / "notes.txt"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    path.unlink(missing_ok=True)
    return [line.split(" ") for line in lines]


def plain(report):
    """All that a report says but for times, by retriever."""
    return [
        {
            **own.to_dict(queries=True),
            "run": {
                query_id: (answer.documents, answer.error)
                for query_id, answer in report.runs[own.name].results.items()
            },
            "surrogates": report.runs[own.name].n_replaced_surrogates,
        }
        for own in report.evaluations
    ]


def test_workers_ask_as_one_process_does(cluster, load, here):
    """Equal answers, failures and numbers; made once a worker, 3 at once over both; masked."""
    retrievers = {
        "a": search(concurrency=3),
        "b": {"class": "toy_there:waiting", "concurrency": 4, "repeat": 2},
    }
    alone = pipeline.run(load(shared=False, **retrievers))
    notes(here)
    shared = pipeline.run(load(**retrievers))
    assert plain(shared) == plain(alone)
    assert "sk-a9" not in str(shared.runs["a"].results)
    assert (
        shared.runs["a"].results["q3"].error.startswith("ValueError: no 3 \ufffd, ${KEY_OF_TEST}")
    )
    noted = notes(here)
    made = [process for process, what, _ in noted if what == "made"]
    assert len(made) == len({*made}) == 2
    assert str(os.getpid()) not in {process for process, *_ in noted}
    under_way = most = 0
    for _, what, _ in noted:
        under_way += {"begin": 1, "end": -1}.get(what, 0)
        most = max(most, under_way)
    assert 2 <= most <= 3


def test_one_at_a_time_is_one_worker(cluster, load, here):
    """`concurrency` of 1 is a limit over all workers; each is warmed up by itself."""
    pipeline.run(load(a=search(warmup=2)))
    noted = notes(here)
    assert len({process for process, *_ in noted}) == 1
    asked = [number for _, what, number in noted if what == "begin"]
    assert asked == ["0", "1", *map(str, range(N))]
    assert [what for _, what, _ in noted[1:]] == ["begin", "end"] * (N + 2)


def test_what_was_answered_is_kept(cluster, load, here):
    """A run that ends at a failure leaves its answers; the next one asks for the others alone."""
    config = load(a=search(on_error="stop"))
    with pytest.raises(RetrieverError, match=r"retrievers\.a: query 'q3': a failed: ValueError"):
        pipeline.run(config, folder=here / "out")
    assert len(notes(here)) == 1 + 2 * 4
    config = load(a=search())
    pipeline.run(config, folder=here / "out")
    assert [number for _, what, number in notes(here) if what == "end"][:2] == ["3", "4"]


def test_a_worker_that_dies_is_made_anew(cluster, load, here):
    """And asked once more: no answer is lost, and none is a failure."""
    report = pipeline.run(load(a=search(args={"kill": 11}, concurrency=2)))
    assert (here / "killed").exists()
    alone = pipeline.run(load(shared=False, a=search(args={"kill": 11}, concurrency=2)))
    assert plain(report) == plain(alone)


def test_what_workers_cannot_make_is_asked_here(cluster, load, here, monkeypatch):
    """With a sentence that says why; and what is not the same there is not asked there."""
    monkeypatch.setenv("ONLY_HERE", "x")
    of_driver = {"class": "toy_there:of_driver", "args": {"path": "texts.txt"}}
    with pytest.warns(
        RetrieverWarning, match=r"retriever a is asked from this process.*NAME"
    ) as told:
        pipeline.run(load(a=of_driver))
    assert told[0].filename == __file__
    assert {process for process, *_ in notes(here)} == {str(os.getpid())}


def test_another_file_there_is_seen(cluster, load, here, monkeypatch):
    """Workers that would read other texts are not asked."""
    config = load(a=search())
    real = Fingerprints._files
    monkeypatch.setattr(
        Fingerprints, "_files", lambda own, text: dict.fromkeys(real(own, text), "other")
    )
    with pytest.warns(RetrieverWarning, match=r"not the same there: file texts\.txt$"):
        pipeline.run(config)
    assert {process for process, *_ in notes(here)} == {str(os.getpid())}
