"""How retrievers are asked: timeouts, retries, failures, warm-up, repeats, callbacks."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from kragx import GoldDataset, MissingExtraError, RetrieverError, UsageError, aretrieve, retrieve
from kragx.evaluation import retrieve as retrieval
from tests import children
from tests.waiting import PATIENCE, wait_until

INTERRUPTED = "kragx: interrupted; the same command goes on with the answers that it has\n"
DATASET = GoldDataset.from_documents([[], [], []], queries=["one", "two", "three"])


def through_a_loop(retriever, **options):
    """The same question asked by the asynchronous twin."""
    return asyncio.run(aretrieve(retriever, DATASET, **options))


def plainly(retriever, **options):
    """Asked by `retrieve`."""
    return retrieve(retriever, DATASET, **options)


both = pytest.mark.parametrize("ask", [plainly, through_a_loop])


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch):
    monkeypatch.setattr(retrieval, "FIRST_PAUSE", 0)


@pytest.mark.integration  # the others are to be in time on a busy machine, too
@both
@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("concurrency", [1, 3])
def test_timeout(ask, is_async, concurrency):
    """A question that takes too long has failed and says so; the others are answered."""
    release = threading.Event()

    def slow(question):
        if question == "two":
            release.wait(60)
        return [question]

    async def aslow(question):
        if question == "two":
            await asyncio.sleep(60)
        return [question]

    run = ask(aslow if is_async else slow, timeout=2, concurrency=concurrency)
    release.set()
    assert run["q2"].error == "TimeoutError: no answer within 2 s"
    assert [run[name].error for name in ("q1", "q3")] == [None, None]


@both
def test_the_retrievers_own_timeout_keeps_its_words(ask):
    """A TimeoutError that the retriever raises is not taken for ours."""

    async def late(question):
        raise TimeoutError("the index is late")

    run = ask(late, timeout=5)
    assert run["q1"].error == "TimeoutError: the index is late"


@both
def test_retries(ask):
    """A question is asked again after an error, as often as allowed and no more."""
    asked = Counter()

    def flaky(question):
        asked[question] += 1
        if asked[question] < {"one": 1, "two": 3, "three": 9}[question]:
            raise OSError("not yet")
        return [question]

    run = ask(flaky, retries=2)
    assert [run[name].error for name in ("q1", "q2", "q3")] == [None, None, "OSError: not yet"]
    assert asked == {"one": 1, "two": 3, "three": 3}


@both
def test_attempts_add_up(ask):
    """A question that was answered at the second attempt took the time of both."""

    def late_first(question):
        if question not in asked:
            asked.add(question)
            time.sleep(0.05)
            raise TimeoutError("late")
        return [question]

    asked = set()
    run = ask(late_first, retries=1)
    assert all(answer.error is None and answer.seconds >= 0.05 for answer in run.results.values())


@both
def test_stop_at_the_first_failure(ask):
    """`on_error: stop` ends the run with query and reason."""

    def broken(question):
        raise OSError("no index")

    with pytest.raises(RetrieverError, match="query 'q1': broken failed: OSError: no index"):
        ask(broken, on_error="stop")
    assert ask(broken)["q3"].error == "OSError: no index"


@both
def test_warm_up_and_repeats(ask):
    """Warm-up questions are asked first, each question then as often as told; one answer counts."""
    asked = []

    def counting(question):
        asked.append(question)
        return [f"{question} {len(asked)}"]

    run = ask(counting, warmup=4, repeat=3, concurrency=1)
    assert asked[:4] == ["one", "two", "three", "one"]
    assert asked[4:] == ["one"] * 3 + ["two"] * 3 + ["three"] * 3
    assert run["q1"].documents[0].text == "one 5"


def test_median_of_repeats(monkeypatch):
    """A query's time is the median of its repeats."""
    clock = iter([0, 0, 9, 10, 10, 11, 12, 12, 14])  # of an attempt, and of the call within it
    monkeypatch.setattr(retrieval.time, "perf_counter", lambda: next(clock))
    one = GoldDataset.from_documents([[]], queries=["one"])
    assert retrieve(lambda question: [], one, repeat=3)["q1"].seconds == 2


@both
@pytest.mark.parametrize(
    ("option", "hint"),
    [
        ({"timeout": 0}, "above 0"),
        ({"retries": -1}, "at least 0"),
        ({"repeat": 0}, "at least 1"),
        ({"on_error": "stpo"}, "'stop'"),
        ({"timeuot": 1}, "'timeout'"),
    ],
)
def test_wrong_options(ask, option, hint):
    """A wrong option is named with the remedy."""
    with pytest.raises(UsageError, match=hint):
        ask(lambda question: [], **option)


class Native(BaseRetriever):
    """A LangChain retriever."""

    def _get_relevant_documents(self, query, *, run_manager):
        return [Document(query)]


class Trace(BaseCallbackHandler):
    """Writes down what it is told."""

    def __init__(self):
        self.questions = []

    def on_retriever_start(self, serialized, query, **kwargs):
        """Called for every question."""
        self.questions.append(query)


@both
@pytest.mark.parametrize("timeout", [None, 5])
def test_callbacks(ask, timeout):
    """LangChain callbacks hear of every question."""
    trace = Trace()
    ask(Native(), callbacks=[trace], timeout=timeout)
    assert sorted(trace.questions) == ["one", "three", "two"]


@both
def test_callbacks_of_what_knows_none(ask):
    """A plain function with callbacks is refused, with the remedy."""
    with pytest.raises(UsageError, match="RunnableLambda"):
        ask(lambda question: [], callbacks=[Trace()])


HANGING = """
import time
from pathlib import Path

def hangs(question):
    if question == "question 2":
        time.sleep(600)
    Path(f"asked-{question[-1]}").touch()
    return [question]
"""


@pytest.mark.integration
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signals for one process")
@pytest.mark.parametrize("options", ["", ", timeout: 600"])
def test_an_interrupt_does_not_wait_for_what_hangs(jsonl, module, here, options):
    """Ctrl-C ends the run although one of several questions hangs; the other answers are kept."""
    lines = [
        {"query_id": f"q{n}", "query": f"question {n}", "gold": [{"text": f"question {n}"}]}
        for n in (1, 2, 3)
    ]
    jsonl(*lines, name="gold.jsonl")
    module("toy_hangs", HANGING)
    (here / "run.yaml").write_text(
        "dataset: gold.jsonl\nmatch: text\noutput: out\n"
        f"retrievers: {{mine: {{class: 'toy_hangs:hangs', concurrency: 2{options}}}}}",
        encoding="utf-8",
    )
    partial = here / "out.unfinished" / "answers" / "mine.jsonl"
    with subprocess.Popen(
        children.heeding([sys.executable, "-m", "kragx", "run", "run.yaml"]),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(here), *sys.path])},
        text=True,
    ) as process:
        # until the two that do not hang are kept
        wait_until(
            lambda: partial.exists() and partial.read_text(encoding="utf-8").count("\n") == 3,
            process,
        )
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE)  # less than the time for which it hangs
    assert (process.returncode, err) == (130, INTERRUPTED)
    kept = [json.loads(line).get("query_id") for line in partial.read_text().splitlines()]
    assert kept == [None, "q1", "q3"]


@both
def test_answers_of_several_at_once_are_in_order(ask):
    """Whichever answer comes first, each belongs to its question; the first error is raised."""
    released = threading.Event()

    def first_last(question):
        if question == "one":
            released.wait(30)
        released.set()
        return [question]

    run = ask(first_last, concurrency=3)
    assert [run[name].documents[0].text for name in ("q1", "q2", "q3")] == ["one", "two", "three"]

    def fails(question):
        raise MissingExtraError(question, "bm25")

    with pytest.raises(MissingExtraError, match=r"^(one|two|three) needs"):
        ask(fails, concurrency=3)
