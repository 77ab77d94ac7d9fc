"""The event loop that stays: everything synchronous runs in it, any number of times."""

from __future__ import annotations

import asyncio
import contextvars
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from kragx import GoldDataset
from kragx.evaluation.retrieve import retrieve
from kragx.ground import event_loop as loop
from kragx.ground.event_loop import run_on_loop, run_sync
from kragx.judging import Question
from kragx.judging.clients.scripted import ScriptedClient
from tests import children
from tests.judging.support import ask, judge_of
from tests.waiting import PATIENCE

CONTEXT = contextvars.ContextVar("CONTEXT", default="outside")
TWO = GoldDataset.from_documents([["a"], ["b"]], queries=["a", "b"])


async def here():
    """The loop that runs this."""
    await asyncio.sleep(0)
    return asyncio.get_running_loop()


class Bound:
    """Like a client's connections: of use only in the loop in which it was first used."""

    def __init__(self):
        self.loops = set()

    async def ainvoke(self, question, config=None):
        """What was asked."""
        self.loops.add(await here())
        assert len(self.loops) == 1, "attached to a different loop"
        return [question]


def in_a_notebook(call):
    """What `call` gives in a cell: an event loop runs in this thread."""

    async def cell():
        return call()

    return asyncio.run(cell())


def test_one_loop():
    """Calls from scripts, notebooks and threads run in one loop, in a thread that is no caller."""
    with ThreadPoolExecutor(2) as pool:
        loops = {
            run_sync(here),
            run_sync(here),
            in_a_notebook(lambda: run_sync(here)),
            *pool.map(lambda _: run_sync(here), range(4)),
            asyncio.run(run_on_loop(here)),
        }
    assert len(loops) == 1


def test_retrievers_use_it():
    """What keeps connections works the second time, whichever function of kragx calls it."""
    retriever = Bound()
    for _ in range(2):
        retrieve(retriever, TWO)
        in_a_notebook(lambda: retrieve(retriever, TWO))
    assert retriever.loops == {run_sync(here)}


def test_context_variables():
    """The coroutine sees the caller's context, and changes its own copy alone."""

    async def change():
        before = CONTEXT.get()
        CONTEXT.set("changed")
        return before

    CONTEXT.set("mine")
    assert run_sync(change) == "mine"
    assert asyncio.run(run_on_loop(change)) == "mine"
    assert CONTEXT.get() == "mine"


@pytest.mark.parametrize("error", [ValueError, SystemExit, KeyboardInterrupt, GeneratorExit])
def test_errors_are_the_callers(error):
    """Whatever a coroutine or a task of its raises is raised here, and the loop goes on."""

    async def fails():
        raise error("why")

    async def gathers():
        await asyncio.gather(fails(), asyncio.sleep(0))

    before = run_sync(here)
    for make in (fails, gathers):
        with pytest.raises(error):
            run_sync(make)
    assert run_sync(here) is before


def test_make_that_fails():
    """So is what making the coroutine raises."""
    with pytest.raises(ZeroDivisionError):
        run_sync(lambda: 1 / 0)


# -- calls within calls ------------------------------------------------------------------------


def test_nested_calls(tmp_path):
    """A client that calls synchronous kragx from within the loop does not wait for itself."""

    class Asks(ScriptedClient):
        async def ask(self, request):
            inner = judge_of(ScriptedClient([2]), tmp_path / "inner.sqlite")
            (judgement,) = inner.judge([Question(ask("x").rubric, "d", gold="g")]).judgements
            retrieve(Bound(), TWO)
            self.replies = [judgement.grade + 1]
            return await super().ask(request)

    judged = judge_of(Asks([]), tmp_path / "outer.sqlite", concurrency=1).judge([ask("a")])
    assert judged.judgements[0].grade == 3


# -- interrupts --------------------------------------------------------------------------------


class Interrupt(KeyboardInterrupt):
    """One that only these tests raise."""


@pytest.fixture
def interrupt():
    """Interrupts whoever waits in the main thread, twice at most."""
    if not hasattr(signal, "pthread_kill"):
        pytest.skip("no signal for a thread")
    main, seen = threading.main_thread().ident, []

    def handler(number, frame):
        seen.append(number)
        if len(seen) <= 2:
            raise Interrupt

    before = signal.signal(signal.SIGALRM, handler)
    yield lambda: signal.pthread_kill(main, signal.SIGALRM)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("where", [lambda call: call(), in_a_notebook])
def test_interrupt_cancels_and_waits(where, interrupt):
    """At an interrupt the coroutine is cancelled, may finish what it is at, and it is raised."""
    seen = []

    async def works():
        interrupt()
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0.05)
            seen.append("finished")

    with pytest.raises(Interrupt) as caught:
        where(lambda: run_sync(works))
    assert seen == ["finished"]
    assert caught.value.__cause__ is None


def test_error_at_an_interrupt(interrupt):
    """What goes wrong while it finishes is the interrupt's cause: nobody goes on by mistake."""

    async def works():
        interrupt()
        try:
            await asyncio.sleep(60)
        finally:
            raise ValueError("not stored")

    with pytest.raises(Interrupt) as caught:
        run_sync(works)
    assert str(caught.value.__cause__) == "not stored"


def test_second_interrupt(interrupt):
    """A second interrupt cancels once more, so what waits for others can stop waiting."""
    seen = []

    async def works():
        for _ in range(2):
            interrupt()
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                seen.append("cancelled")
        return "late"

    with pytest.raises(Interrupt):
        run_sync(works)
    assert seen == ["cancelled", "cancelled"]


@pytest.mark.integration
def test_what_hangs_is_left(interrupt, monkeypatch):
    """What blocks the loop is left at the second interrupt; the next call has another loop."""
    monkeypatch.setattr(loop, "_END", 0.05)
    before, free = run_sync(here), threading.Event()

    async def hangs():
        while not free.wait(0.05):
            interrupt()

    with pytest.raises(Interrupt):
        run_sync(hangs)
    free.set()
    assert run_sync(here) is not before


def test_cancelled_from_another_loop():
    """Cancelling who awaits `run_on_loop` cancels what runs there."""
    begun, ended = threading.Event(), threading.Event()

    async def works():
        begun.set()
        try:
            await asyncio.sleep(600)
        finally:
            ended.set()

    async def main():
        awaiting = asyncio.create_task(run_on_loop(works))
        assert await asyncio.to_thread(begun.wait, PATIENCE)
        awaiting.cancel()
        await awaiting

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(main())
    assert ended.wait(PATIENCE)


# -- processes ---------------------------------------------------------------------------------

SCRIPT = """
import logging
logging.getLogger("asyncio").setLevel(logging.ERROR)  # a busy machine is slow, which it warns of
import asyncio, os, sys, threading, time
from kragx.ground.event_loop import run_sync

async def work(seconds=0.0):
    await asyncio.sleep(seconds)
    return os.getpid()
"""


def script(lines):
    """A process that runs those lines, with every warning an error."""
    command = children.heeding([sys.executable, "-X", "dev", "-W", "error", "-c", SCRIPT + lines])
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.integration
def test_end_of_the_process():
    """With the loop idle, with work in it, and from an exit handler: no word and no waiting."""
    lines = """
import atexit
atexit.register(lambda: print(run_sync(work) == os.getpid()))
run_sync(work)
threading.Thread(target=run_sync, args=(lambda: work(600),), daemon=True).start()
time.sleep(0.05)
"""
    out, err = script(lines).communicate(timeout=PATIENCE)  # less than what is at work takes
    assert (out, err) == ("True\n", "")


@pytest.mark.integration
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_forked_process():
    """A forked process has a loop of its own, and its parent goes on with the first."""
    lines = """
import warnings
run_sync(work)
warnings.simplefilter("ignore", DeprecationWarning)  # threads and fork, from Python 3.12 on
child = os.fork()
if not child:
    sys.exit(run_sync(work) != os.getpid())
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), run_sync(work) == os.getpid())
"""
    out, err = script(lines).communicate(timeout=60)
    assert (out, err) == ("0 True\n", "")


@pytest.mark.integration
@pytest.mark.skipif(os.name == "nt", reason="there is no SIGINT to send")
def test_interrupted_process():
    """Ctrl-C ends a script that waits: what it runs is cancelled first, then it is interrupted."""
    lines = """
async def long():
    print("begun", flush=True)
    try:
        await asyncio.sleep(600)
    finally:
        print("cleaned up")
try:
    run_sync(long)
except KeyboardInterrupt:
    print("interrupted")
"""
    process = script(lines)
    assert process.stdout.readline() == "begun\n"
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=60) == ("cleaned up\ninterrupted\n", "")
