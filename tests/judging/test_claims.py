"""Several at once on one store: coroutines, threads, judges, processes; nobody pays twice."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import threading
from contextlib import closing

import pytest

from kragx.judging import Failure, Store
from kragx.judging.clients.scripted import ScriptedClient
from kragx.judging.store import pending
from tests.judging.support import ask, judge_of
from tests.waiting import PATIENCE

QUESTIONS = [ask(f"document {n} grade-{n % 4}") for n in range(40)]
GRADES = [n % 4 for n in range(40)]


def by_document(request):
    """The grade that the document ends with."""
    return int(request.messages[1][1].rsplit("grade-", 1)[1][0])


def n_stored(store):
    """How many attempts are committed."""
    with closing(sqlite3.connect(store)) as db:
        return db.execute("SELECT count(*) FROM attempts").fetchone()[0]


class Slow(ScriptedClient):
    """Answers after a moment, so that runs overlap."""

    async def ask(self, request):
        """The next answer."""
        await asyncio.sleep(0.01)
        return await super().ask(request)


def grades(judged):
    """The grades alone."""
    return [judgement.grade for judgement in judged.judgements]


def left_behind(store, keys, owner, seconds):
    """Claims of somebody else, which last so long."""
    with Store(store) as opened:
        opened.claims.claim([])
    with closing(sqlite3.connect(store)) as db:
        rows = [(key, owner, seconds) for key in keys]
        now = "(julianday('now') - 2440587.5) * 86400.0"
        db.executemany(f"INSERT INTO claims VALUES (?, ?, {now} + ?)", rows)
        db.commit()


def keys_of(questions, client, store):
    """The keys of questions."""
    from kragx.judging.queue import PendingQuestions

    return PendingQuestions(judge_of(client, store), questions).keys


def test_claims(store):
    """A key is one's own until it is finished, given up with the store, or not renewed."""
    with Store(store) as mine, Store(store) as other:
        assert mine.claims.claim(["a", "b"]).keys == {"a", "b"}
        assert other.claims.claim(["b", "c"]).keys == {"c"}
        assert mine.claims.claim(["b", "c"]).keys == {"b"}
        mine.add([], ["a"])
        mine.claims.claim([])
        assert other.claims.claim(["a", "b"]).keys == {"a"}
    with Store(store) as third:
        claimed = third.claims.claim(["a", "b", "c"])
        assert claimed.keys == {"a", "b", "c"}
        assert not claimed.inherited


def test_claims_end_by_themselves(store, monkeypatch):
    """Without renewal another takes over, and sees that nobody has ended it."""
    monkeypatch.setattr(pending, "LASTS", -1.0)
    with Store(store) as mine, Store(store) as other:
        mine.claims.claim(["a"])
        monkeypatch.setattr(pending, "LASTS", 30.0)
        assert other.claims.claim(["a"]).inherited == {"a"}
        assert not mine.claims.claim(["a"]).keys


@pytest.mark.integration
@pytest.mark.parametrize("together", ["one judge", "two judges", "threads"])
def test_together(store, together):
    """Two runs of the same questions at once ask each once, and both have every grade."""
    client = Slow(by_document)
    judges = [judge_of(client, store, concurrency=4) for _ in range(2)]
    if together != "two judges":
        judges[1] = judges[0]
    if together == "threads":
        found = []
        threads = [
            threading.Thread(target=lambda judge=judge: found.append(judge.judge(QUESTIONS)))
            for judge in judges
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    else:

        async def both():
            return await asyncio.gather(*(judge.ajudge(QUESTIONS) for judge in judges))

        found = asyncio.run(both())
    assert [grades(judged) for judged in found] == [GRADES, GRADES]
    assert len(client.requests) == 40 == sum(judged.tally.n_calls for judged in found)
    # What a result prints adds up: calls, and what came from the store.
    assert sum(judged.tally.n_stored for judged in found) == 40


def test_a_failure_is_shared(store):
    """Who waited for another's answer has its failure, too; a later run asks again."""
    client = Slow(lambda _: Failure("timeout"))

    async def both():
        judges = [judge_of(client, store) for _ in range(2)]
        return await asyncio.gather(*(judge.ajudge([ask("x")]) for judge in judges))

    judged = asyncio.run(both())
    assert [one.judgements[0].failure for one in judged] == ["timeout", "timeout"]
    assert len(client.requests) == 1
    assert grades(judge_of(ScriptedClient([3]), store).judge([ask("x")])) == [3]


@pytest.mark.skipif(os.name != "posix", reason="only there a process can be looked for")
def test_two_whose_budgets_are_used_up(store):
    """What they may not ask they let go of: neither waits for ever for what the other claims."""

    def run():
        client = ScriptedClient(lambda _: 2, delay=0.01)
        judge = judge_of(client, store, concurrency=4, budget={"calls": 3})
        return judge.ajudge([ask(f"document {number}") for number in range(40)])

    async def both():
        async with asyncio.timeout(PATIENCE):
            return await asyncio.gather(run(), run(), return_exceptions=True)

    ends = asyncio.run(both())
    assert ["of 40 questions were not asked" in str(end) for end in ends] == [True, True]


def test_what_a_dead_process_was_asking(store):
    """It is asked at once where one sees that the process is gone."""
    client = ScriptedClient(by_document)
    owner = f"{pending._machine()}/{2**22 + 1}/x"  # no process has that number
    left_behind(store, keys_of(QUESTIONS, client, store), owner, 1000.0)
    assert grades(judge_of(client, store).judge(QUESTIONS)) == GRADES


@pytest.mark.integration
def test_what_another_machine_was_asking(store):
    """It is asked once its claim has ended; the rest does not wait."""
    client = ScriptedClient(by_document)
    left_behind(store, keys_of(QUESTIONS[:3], client, store), "elsewhere/1/x", 0.3)
    assert grades(judge_of(client, store, concurrency=2).judge(QUESTIONS)) == GRADES
    last = [request.messages[1][1] for request in client.requests[-3:]]
    assert all(any(f"document {n} " in text for text in last) for n in range(3))


@pytest.mark.parametrize("again", [False, True])
def test_a_batch_that_is_planned_meanwhile(any_store, again):
    """A batch leaves out what a run has claimed or graded, and the run what is in the batch."""
    about = {"client": {"model": "m"}, "rubrics": {}, "most": {"calls": 35}}
    planned = []

    def plan_at_the_fifth(request):
        if len(client.requests) == 5:
            keys = keys_of(QUESTIONS, client, any_store)
            with Store(any_store) as other:
                free = other.batches.plan("1", about, keys, again=again)
                planned.append(other.batches.plan("1", about, free, again=again))
        return by_document(request)

    client = ScriptedClient(plan_at_the_fifth)
    judge = judge_of(client, any_store, concurrency=4, ask_pending=again)
    judged = judge.judge(QUESTIONS)
    if again:
        assert grades(judged) == GRADES
        assert len(client.requests) == 40
        assert len(planned[0]) >= 35  # what has a grade is never asked again
        return
    pending = {one.key for one in judged.judgements if one.failure == "pending"}
    assert pending == planned[0]
    assert 5 <= len(client.requests) == 40 - len(pending) <= 8
    assert judged.tally.failures == {"pending": len(pending)}
    assert judged.tally.n_stored == 0


@pytest.mark.integration
def test_what_a_kill_can_lose(store):
    """Whenever a question is asked, no more than `concurrency` are asked and not committed yet."""

    class Watching(Slow):
        asked = most = 0

        async def ask(self, request):
            self.asked += 1
            self.most = max(self.most, self.asked - n_stored(store))
            return await super().ask(request)

    client = Watching(by_document)
    assert grades(judge_of(client, store, concurrency=4).judge(QUESTIONS)) == GRADES
    assert client.most == 4


@pytest.mark.integration
@pytest.mark.parametrize(("kind", "way"), [(Store, "add"), (pending.Claims, "claim")])
def test_a_slow_server_holds_nothing_up(database, monkeypatch, kind, way):
    """What else runs in the event loop goes on while a database server takes its time."""
    goes_on = threading.Event()

    def slow(*arguments):
        goes_on.clear()
        assert not is_open or goes_on.wait(PATIENCE)
        return at_once(*arguments)

    at_once = getattr(kind, way)
    monkeypatch.setattr(kind, way, slow)

    async def ticking():
        while True:
            await asyncio.sleep(0.01)
            goes_on.set()

    is_open = False

    async def both():
        nonlocal is_open
        ticks = asyncio.create_task(ticking())
        judge = judge_of(Slow(by_document), database, concurrency=4)
        await judge.ajudge([ask("before grade-0")])  # opens it
        is_open = True
        judged = await judge.ajudge(QUESTIONS[:8])
        ticks.cancel()
        return judged

    assert grades(asyncio.run(both())) == GRADES[:8]
