"""Killed runs, several processes on one store, and a server that refuses every tenth call."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sqlite3
import time
from collections import Counter

import pytest

from kragx import evaluate
from kragx.errors import JudgingError
from kragx.judging import Judge, Store
from tests.judging import killed
from tests.judging.killed import PROCESS
from tests.judging.server import Handler, serving
from tests.judging.support import openai_client

pytestmark = pytest.mark.integration


class Judging:
    """A process that judges, forked from one that has imported what it needs, and nothing else."""

    def __init__(self, *arguments):
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload([killed.__name__])
        self._calls, end = context.Pipe(duplex=False)
        self._process = context.Process(target=killed.main, args=(end, *arguments))
        self._process.start()
        end.close()
        self.pid = self._process.pid
        self.kill = self._process.kill

    @property
    def returncode(self):
        """How it ended; minus the number of a signal, None where it goes on."""
        return self._process.exitcode

    def calls(self):
        """How many calls it made, when it has ended; None where it was ended."""
        try:
            return self._calls.recv()
        except EOFError:
            return None
        finally:
            self._process.join()


def start(server, store, *numbers):
    """A process that judges."""
    return Judging(server.base_url, str(store), *numbers)


def stored(store):
    """How many grades the store has; 0 before it exists."""
    if not store.exists():
        return 0
    db = sqlite3.connect(f"file:{store}?mode=ro", uri=True)
    try:
        return db.execute("SELECT count(*) FROM attempts WHERE grade IS NOT NULL").fetchone()[0]
    except sqlite3.OperationalError:  # the tables are not there yet
        return 0
    finally:
        db.close()


def attempted(store):
    """How many attempts the store has."""
    if not store.exists():
        return 0
    with Store(store) as opened:
        return len(list(opened.records()))


def asked(server):
    """How often each document was asked about."""
    return Counter(body["messages"][1]["content"] for body in server.requests)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no SIGKILL")
def test_killed_run_resumes(store):
    """Killed in the middle of 250 judgements, a run asks only for what is not stored."""
    with serving(delay=0.02) as server:
        process = start(server, store, 250)
        while stored(store) < 75:
            assert process.returncode is None, "it ended before it could be killed"
            time.sleep(0.005)
        process.kill()
        process.calls()
        assert process.returncode == -signal.SIGKILL
        kept = stored(store)
        assert 75 <= kept < 250
        server.requests.clear()
        process = start(server, store, 250)
        calls = process.calls()
        assert process.returncode == 0
        assert calls == 250 - kept == len(server.requests)
        assert max(asked(server).values()) == 1
    with Store(store) as opened:
        records = list(opened.records())
    assert len(records) == 250
    assert len({each["key"] for each in records}) == 250


def test_two_processes_on_one_store(any_store):
    """Two runs at once on a new store lose nothing, and together they ask each question once."""
    with serving(delay=0.01) as server:
        processes = [start(server, any_store, 250) for _ in range(2)]
        calls = [process.calls() for process in processes]
        assert [process.returncode for process in processes] == [0, 0]
        with Store(any_store) as opened:
            records = list(opened.records())
        assert len(records) == sum(calls) == len(server.requests) == 250
        assert len({each["key"] for each in records}) == 250
        third = start(server, any_store, 250)
        assert third.calls() == 0


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no SIGKILL")
def test_one_of_two_processes_is_killed(any_store):
    """The other one asks again what was in flight, and nothing else."""
    askers = []

    class Noting(Handler):
        def body(self):
            body = super().body()  # all of it: the killed one may have sent a part
            askers.append(int(self.headers[PROCESS]))
            return body

    with serving(delay=0.01, handler=Noting) as server:
        one, other = (start(server, any_store, 500) for _ in range(2))
        # Both are at it, however long each took to start.
        while min(Counter(askers)[process.pid] for process in (one, other)) < 50:
            assert one.returncode is other.returncode is None, "it ended before it could be killed"
            time.sleep(0.005)
        one.kill()
        one.calls()
        calls = other.calls()
        assert other.returncode == 0
        assert calls == Counter(askers)[other.pid]
        assert calls <= 500 - (Counter(askers)[one.pid] - 8)
        assert len(server.requests) == len(askers) <= 500 + 8
        assert max(asked(server).values()) <= 2


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no SIGKILL")
def test_killed_ten_times(store):
    """Of 1,000, 64 at once, every tenth with a fault: at most what was in flight is asked again.

    Each document is graded right, and the store has each call that the server counted, but for
    what was in flight.
    """
    at_once, number = 64, 1000
    n_lost = 0
    with serving(delay=0.05) as server:
        for kill in range(1, 11):
            before = attempted(store)
            server.requests.clear()
            process = start(server, store, number, at_once, 10)
            while stored(store) < 80 * kill:
                assert process.returncode is None, "it ended before it could be killed"
                time.sleep(0.005)
            process.kill()
            process.calls()
            lost = len(server.requests) - (attempted(store) - before)
            assert 0 <= lost <= at_once
            n_lost += lost
        before = attempted(store)
        server.requests.clear()
        process = start(server, store, number, at_once, 10)
        calls = process.calls()
        assert process.returncode == 0  # it has seen that each grade is right
        assert calls == len(server.requests) == attempted(store) - before
        assert sum(server.seen.values()) == attempted(store) + n_lost
        assert sum(server.seen.values()) <= number + number // 10 + n_lost
    with Store(store) as opened:
        graded = [record for record in opened.records() if "grade" in record]
    assert len(graded) == len({record["key"] for record in graded}) == number


def test_stored_by_another_process_meanwhile(store):
    """A judgement that appears in the store while a run waits for its turn is not asked again."""
    import asyncio

    from kragx.judging.clients.scripted import ScriptedClient
    from tests.judging.support import ask, judge_of

    other = judge_of(ScriptedClient([2]), store)

    class Slow(ScriptedClient):
        async def ask(self, request):
            await asyncio.to_thread(other.judge, [ask("b")])
            return await super().ask(request)

    judged = judge_of(Slow([1]), store, concurrency=1).judge([ask("a"), ask("b")])
    assert [(each.grade, each.source) for each in judged.judgements] == [
        (1, "judge"),
        (2, "store"),
    ]


METRICS = ["hit_rate@3", "mrr@5", "precision@5", "recall@5", "f1@5", "map@5", "ndcg@5", "ndcg@2"]
GOLD = [[f"gold {query}"] for query in range(10)]
FOUND = [
    [f"document {query}-{rank} grade-{(query * 7 + rank * 3) % 4}" for rank in range(6)]
    for query in range(10)
]


def judged_by(server, store, **options):
    """Those queries, judged through the official client."""
    judge = Judge(openai_client(server.base_url), store=store, progress=False, **options)
    return evaluate(GOLD, FOUND, match={"method": "llm", "judge": judge}, metrics=METRICS)


@pytest.fixture(scope="module")
def truth(tmp_path_factory):
    """The evaluation with all grades."""
    with serving() as server:
        return judged_by(server, tmp_path_factory.mktemp("all") / "judgements.sqlite")


def test_every_tenth_call_refused(truth, store):
    """No metric counts a refusal as 0; the bounds enclose the value with all grades."""
    with serving(every=10) as server:
        # One at a time, so that the same ones are refused every time.
        result = judged_by(server, store, max_missing=0.1, concurrency=1)
    judging = result.counts["judging"]
    assert judging["n_missing"] == 6
    assert judging["failures"] == {"refusal": 6}
    assert judging["coverage"] == pytest.approx(0.9)
    assert not truth.bounds
    for metric in METRICS:
        low, high = result.bounds[metric]
        assert low <= truth[metric] <= high
        if low < high:  # counted as 0 it would be `low`
            assert low < result[metric] < high
        else:
            assert result[metric] == pytest.approx(truth[metric])
    assert sum(low < high for low, high in result.bounds.values()) >= 4
    for metric in ("recall@5", "precision@5", "f1@5"):
        low, high = result.micro_bounds[metric]
        assert low <= truth.micro[metric] <= high
        assert low < result.micro[metric] < high or low == high


def test_every_tenth_call_refused_by_default(store):
    """With max_missing 0 the run ends with an error that counts them, and keeps the rest."""
    with serving(every=10) as server:
        with pytest.raises(JudgingError, match=r"6 of 60 judgements are missing \(6 refusal\)"):
            judged_by(server, store)
        server.every = None
        result = judged_by(server, store, ask_again="all")
        assert result.counts["judging"]["n_calls"] == 6
        assert result.counts["judging"]["coverage"] == 1.0


def test_interrupted_process(store):
    """Ctrl-C ends a run; what was answered is kept."""
    if os.name == "nt":
        pytest.skip("there is no SIGINT to send")
    with serving(delay=0.02) as server:
        process = start(server, store, 250)
        while stored(store) < 50:
            assert process.returncode is None
            time.sleep(0.005)
        os.kill(process.pid, signal.SIGINT)
        process.calls()
        kept = stored(store)
        assert 50 <= kept < 250
        server.requests.clear()
        assert start(server, store, 250).calls() == 250 - kept
