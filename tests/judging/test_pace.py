"""How many requests run at once, and how long a question waits for a server without room."""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections import Counter, deque

import pytest

from kragx.ground.http import wait_before
from kragx.judging import Failure, Judge
from kragx.judging.client import Request
from kragx.judging.clients.scripted import ScriptedClient
from kragx.judging.limits import credible_pause
from tests.judging.server import Handler, serving
from tests.judging.support import FakeTime, ask, judge_of, openai_client
from tests.thoroughness import all_cases

BUSY = Failure("rate_limit", "429: slow down", again=True)


@all_cases(
    ("retry_after", "floor"),
    [
        (None, 0.5),
        (0.0, 0.5),
        (-5.0, 0.5),
        (math.nan, 0.5),
        (math.inf, 0.5),
        (-math.inf, 0.5),
        (1e30, 0.5),
        (601.0, 0.5),
        (0.1, 0.5),
        (7.0, 7.0),
        (600.0, 600.0),
    ],
)
@all_cases(("number", "jitter"), [(1, 1), (2, 2), (5, 16), (7, 60), (10**6, 60)])
def test_waits(retry_after, floor, number, jitter):
    """A wait is never below half a second, nor below a credible Retry-After; the rest is jitter."""
    waits = [wait_before(number, credible_pause(retry_after, 600.0)) for _ in range(200)]
    assert floor <= min(waits) < floor + 0.2 * jitter  # each fails once in 10^19 times
    assert floor + 0.8 * jitter < max(waits) <= floor + jitter


def limits_of(concurrency=8):
    """Limits without a budget, and the clock that they go by."""
    now = FakeTime()
    options = {"concurrency": concurrency, "clock": now.clock, "sleep": now.sleep}
    return Judge(ScriptedClient([]), **options).limits, now


def test_refusals_of_one_burst_halve_the_limit_once():
    """By hand: 8, refused 8 times at once, 4; the next burst 2, 1, and never below one."""
    own, now = limits_of()
    limits = []
    for _ in range(4):
        now.now += 1.0
        sent = now.now
        now.now += 1.0
        for _ in range(8):
            own.refusal(sent)
        limits.append(own.limit)
    assert limits == [4, 2, 1, 1]


def test_answers_raise_the_limit():
    """By hand: from 2, the answers of each full round add one, and `concurrency` is the most."""
    own, now = limits_of(4)
    now.now = 1.0
    own.refusal(0.5)
    assert own.limit == 2
    for _ in range(2):
        own.answer()
    assert own.limit == pytest.approx(2 + 1 / 2 + 1 / 2.5)
    for _ in range(20):
        own.answer()
    assert own.limit == 4


@pytest.mark.integration
def test_no_more_run_than_the_limit(store):
    """After refusals fewer requests are under way at once, after answers more again."""
    running, seen = 0, []

    class Busy(ScriptedClient):
        async def ask(self, request):
            nonlocal running
            running += 1
            seen.append(running)
            await asyncio.sleep(0.001)
            running -= 1
            return BUSY if 20 <= len(seen) < 60 else await super().ask(request)

    judged = judge_of(Busy(lambda _: 2), store, concurrency=8).judge(
        [ask(f"d{number}") for number in range(300)]
    )
    assert [judgement.grade for judgement in judged.judgements] == [2] * 300
    assert max(seen[8:20]) == 8
    assert max(seen[50:60]) <= 2
    assert max(seen[-40:]) > 4


@pytest.mark.integration
def test_whoever_is_cancelled_while_waiting_holds_no_place():
    """Of 200 that wait for two places and are cancelled here and there, no place is lost."""
    own = Judge(ScriptedClient([]), concurrency=2).limits
    request = Request((("user", "?"),), {}, 1.0)

    async def work(number):
        room = await own.enter(request, None)
        try:
            await asyncio.sleep(0.0005 * (number % 3))
        finally:
            own.leave(room, None)

    async def main():
        tasks = [asyncio.create_task(work(number)) for number in range(200)]
        for number, task in enumerate(tasks):
            await asyncio.sleep(0)
            if number % 3 == 0:
                task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        async with asyncio.timeout(5):
            await asyncio.gather(work(1), work(2), work(3))

    threads = [threading.Thread(target=asyncio.run, args=(main(),)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert own._reserved.n_calls == 0


def test_a_429_is_no_attempt_and_no_row(store):
    """Refused eight times with `attempts: 1`, a question gets its grade, and one row."""
    client = ScriptedClient([BUSY] * 8 + [3])
    judge = judge_of(client, store, attempts=1, budget={"calls": 1})
    judged = judge.judge([ask("a")])
    assert judged.judgements[0].grade == 3
    tally = judged.tally
    assert (tally.n_calls, tally.n_retries, tally.n_refused) == (1, 0, 8)


def test_patience_ends(store):
    """A question that is refused for `patience` seconds is a failed judgement."""
    now = FakeTime()
    client = ScriptedClient(lambda _: BUSY)
    judge = judge_of(client, store, patience=100, clock=now.clock, sleep=now.sleep)
    (judgement,) = judge.judge([ask("a")]).judgements
    assert (judgement.failure, judgement.detail) == ("rate_limit", "429: slow down")
    assert 40 <= now.now <= 100
    assert len(client.requests) >= 4
    (judgement,) = judge_of(client, store, patience=0).judge([ask("a")]).judgements
    assert judgement.failure == "rate_limit"


class JumpingLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock jumps to what is next due."""

    def __init__(self):
        super().__init__()
        self.now, self._look = 0.0, self._selector.select
        self._selector.select = self.jump

    def jump(self, timeout):
        """Wait for nothing."""
        self.now += timeout or 0.0
        return self._look(0)

    def time(self):
        """Seconds since it was made."""
        return self.now


@all_cases(("retry_after", "concurrency"), [(None, 8), (None, 32), (1.0, 8), (1.0, 32)])
def test_what_a_server_allows_is_used(store, retry_after, concurrency):
    """Of 300 questions at 20 a second all are answered within 1.5 times the least time, 15 s.

    So whoever was refused often waits no longer than others for as long as these are answered.
    """
    loop, times = JumpingLoop(), deque()

    class Allowing(ScriptedClient):
        async def ask(self, request):
            while times and times[0] <= loop.time() - 1:
                times.popleft()
            if len(times) == 20:
                return Failure("rate_limit", "429", again=True, retry_after=retry_after)
            times.append(loop.time())
            await asyncio.sleep(0.02)
            return await super().ask(request)

    options = {"concurrency": concurrency, "clock": loop.time, "sleep": asyncio.sleep}
    judge = judge_of(Allowing(lambda _: 2), store, **options)
    judged = loop.run_until_complete(judge.ajudge([ask(f"d{number}") for number in range(300)]))
    loop.close()
    assert [judgement.grade for judgement in judged.judgements] == [2] * 300
    assert loop.time() <= 1.5 * 15


class Limited(Handler):
    """Answers at most `allowed` requests in `window` seconds, and says what it likes of waiting.

    The first window lasts until a request was refused, however slowly the requests come.
    """

    allowed, window = 20, 0.1
    says = ("0", "-1", "nan", "inf", "99999999999", "soon", "Fri, 01 Jan 1999 00:00:00 GMT", "0.1")

    def do_POST(self):  # noqa: N802
        """429 where too many came within the window."""
        server = self.server
        with server.lock:
            now, times = time.monotonic(), server.__dict__.setdefault("times", deque())
            while server.seen["refused"] and times and times[0] < now - self.window:
                times.popleft()
            is_over = len(times) >= self.allowed
            if is_over:
                server.seen["refused"] += 1
                says = self.says[server.seen["refused"] % len(self.says)]
            else:
                times.append(now)
        if is_over:
            self.rfile.read(int(self.headers["content-length"]))
            self.error(429, "rate_limit_exceeded", "slow down", {"retry-after": says})
        else:
            super().do_POST()


@pytest.mark.integration
def test_more_questions_than_a_server_allows(store):
    """Of 300 at 20 a second (both ten times as fast here) none is missing, whatever is said."""
    started = time.monotonic()

    async def sleep(seconds):
        await asyncio.sleep(seconds / 10)

    with serving() as server:
        server.RequestHandlerClass = Limited
        judge = Judge(
            openai_client(server.base_url),
            store=store,
            concurrency=32,
            progress=False,
            clock=lambda: (time.monotonic() - started) * 10,
            sleep=sleep,
        )
        judged = judge.judge([ask(f"document {n} grade-{n % 4}") for n in range(300)])
    assert Counter(judgement.grade for judgement in judged.judgements) == dict.fromkeys(
        range(4), 75
    )
    tally = judged.tally
    assert tally.n_refused == server.seen["refused"] > 0
    assert (tally.n_calls, tally.n_retries) == (300, 0)
