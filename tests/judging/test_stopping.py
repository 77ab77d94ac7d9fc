"""When a run stops, what it says then, and that it keeps what was under way."""

from __future__ import annotations

import asyncio
import re

import pytest

from kragx.errors import JudgingError
from kragx.judging import Failure
from kragx.judging.clients.scripted import ScriptedClient
from tests.judging.support import FakeTime, ask, judge_of
from tests.thoroughness import some

QUESTIONS = [ask(f"document {number}") for number in range(500)]
WRONG_MODEL = Failure("api_error", "404: the model `gpt-9` does not exist", status=404)
BLOCKED = Failure("api_error", "403: blocked by policy", status=403)
BROKEN = Failure("api_error", "500: out of order", again=True, status=500)
AWAY = Failure("connection", "ConnectError: all attempts failed", again=True, away=True)


def number_of(request):
    """The number of the document that is asked about."""
    return int(re.search(r"^document (\d+)$", request.messages[1][1], re.M)[1])


def stopped(client, store, **options):
    """The error with which a run ends."""
    with pytest.raises(JudgingError) as raised:
        judge_of(client, store, **options).judge(QUESTIONS)
    return raised.value


def test_a_wrong_model(store):
    """Where the first calls say 404, five make it sure: its words, the option, few calls."""
    client = ScriptedClient(lambda _: WRONG_MODEL)
    error = stopped(client, store)
    assert len(client.requests) == 5
    assert "404: the model `gpt-9` does not exist. 5 calls, the first ones, in a row" in str(error)
    assert "judge.model" in error.remedy
    assert "judge.base_url" in error.remedy


def test_a_server_that_has_no_room_for_anyone(store, capsys):
    """A daily limit: the first question waits `patience`, says so, and the run stops."""
    now = FakeTime()
    words = "429: daily limit reached"
    client = ScriptedClient(lambda _: Failure("rate_limit", words, again=True, retry_after=25200))
    options = {"clock": now.clock, "sleep": now.sleep, "progress": None}
    error = stopped(client, store, **options)
    assert 500 <= now.now <= 600
    assert words in str(error)
    assert len(client.requests) < 100
    lines = capsys.readouterr().err.splitlines()
    assert [line for line in lines if "waiting for the server" in line and words in line] == lines


def test_a_page_of_a_gateway(store):
    """Of an error that is a whole page the end of a run says no more than what is kept of it."""
    page = Failure("api_error", f"500: {'<p>out of order</p>' * 900}", again=True, status=500)
    error = stopped(ScriptedClient(lambda _: page), store)
    assert "500: <p>out of order</p>" in str(error)
    assert len(str(error)) < 2000


@pytest.mark.integration
def test_a_server_that_is_still_loading(store):
    """503 before the first answer is no absence: it is waited for."""
    loading = Failure("api_error", "503: loading model", again=True, away=True, status=503)
    client = ScriptedClient(lambda _: loading if len(client.requests) <= 8 else 2)
    assert judge_of(client, store).judge(QUESTIONS).tally.n_missing == 0


@pytest.mark.integration
@pytest.mark.parametrize("failure", [BLOCKED, WRONG_MODEL])
def test_single_texts_that_are_blocked(failure, store):
    """Every third text, and 100 side by side, do not stop a run: the others get their grades."""

    def reply(request):
        number = number_of(request)
        return failure if number % 3 == 0 or 200 <= number < 300 else 2

    judged = judge_of(ScriptedClient(reply), store).judge(QUESTIONS)
    missing = [n for n, judgement in enumerate(judged.judgements) if judgement.grade is None]
    assert missing == [n for n in range(500) if n % 3 == 0 or 200 <= n < 300]


@pytest.mark.integration
def test_a_text_that_is_blocked_first(store):
    """The first answer decides nothing: with the first three texts blocked a run goes on."""
    client = ScriptedClient(lambda request: BLOCKED if number_of(request) < 3 else 2)
    judged = judge_of(client, store).judge(QUESTIONS)
    assert judged.tally.n_missing == 3


@pytest.mark.integration
@pytest.mark.parametrize(
    "failure",
    [
        Failure("api_error", "401: no such key", fatal=True, status=401),
        Failure("rate_limit", "429: You exceeded your current quota", fatal=True, status=429),
    ],
)
def test_what_is_fatal_stops_at_once(failure, store):
    """A wrong key, a used-up quota: in the middle of a run no further call is made."""
    client = ScriptedClient(lambda request: failure if number_of(request) == 40 else 2)
    error = stopped(client, store, concurrency=1)
    assert len(client.requests) == 41
    assert failure.detail in str(error)
    again = judge_of(ScriptedClient(lambda _: 2), store).judge(QUESTIONS)
    assert again.tally.n_stored == 40


@pytest.mark.integration
def test_a_service_that_breaks_down(store):
    """Failures in a row end a run after as many as were under way and twenty; grades are kept."""
    client = ScriptedClient(lambda _: 2 if len(client.requests) <= 100 else BROKEN)
    error = stopped(client, store, concurrency=4, attempts=1)
    assert 128 <= len(client.requests) <= 128 + 4
    assert "500: out of order. 28 questions in a row failed" in str(error)
    again = judge_of(ScriptedClient(lambda _: 2), store).judge(QUESTIONS)
    assert again.tally.n_stored == 100


def test_answers_that_are_never_good(store):
    """A model that never keeps to the form is not paid for a thousand answers."""
    client = ScriptedClient(lambda _: "I would say 3")
    error = stopped(client, store, concurrency=2)
    assert 24 <= len(client.requests) <= 26
    assert "JSON schema" in error.remedy


def test_a_server_that_only_keeps_silent(store):
    """Time-outs, one question at a time, end it after five calls, not after hours."""
    client = ScriptedClient(lambda _: Failure("timeout", "no answer in 60 s", again=True))
    assert "judge.timeout" in stopped(client, store).remedy
    assert len(client.requests) == 5


def test_nothing_listens(store):
    """Refused connections before any answer are said within seconds."""
    now = FakeTime()
    client = ScriptedClient(lambda _: AWAY)
    error = stopped(client, store, clock=now.clock, sleep=now.sleep)
    assert len(client.requests) == 3
    assert now.now < 5
    assert "ConnectError: all attempts failed. No server answers there" in str(error)
    assert "judge.base_url" in error.remedy


@pytest.mark.integration
def test_a_server_that_restarts(store):
    """Once it has answered, a server that is away for three minutes is waited for: none missing."""
    now = FakeTime()

    def reply(request):
        now.now += 0.1
        return AWAY if 5 < now.now < 185 else 2

    judge = judge_of(ScriptedClient(reply), store, clock=now.clock, sleep=now.sleep)
    tally = judge.judge(QUESTIONS).tally
    assert (tally.n_missing, tally.n_calls) == (0, 500)
    assert tally.n_refused > 0


@pytest.mark.integration
def test_a_server_that_does_not_come_back(store):
    """After `patience` seconds without an answer the run stops, and says so."""
    now = FakeTime()
    client = ScriptedClient(lambda _: 2 if len(client.requests) <= 100 else AWAY)
    error = stopped(client, store, clock=now.clock, sleep=now.sleep)
    assert "ConnectError" in str(error)
    assert 500 <= now.now <= 1500
    again = judge_of(ScriptedClient(lambda _: 2), store).judge(QUESTIONS)
    assert again.tally.n_stored == 100


def test_the_first_question_is_asked_alone(store):
    """Until an answer has come there is one call at a time; nothing is paid twice."""
    running, most_at_first, n_answers = 0, 0, 0

    class Counting(ScriptedClient):
        async def ask(self, request):
            nonlocal running, most_at_first, n_answers
            running += 1
            if not n_answers:
                most_at_first = max(most_at_first, running)
            await asyncio.sleep(0.002)
            running -= 1
            n_answers += 1
            return await super().ask(request)

    client = Counting(lambda _: 1)
    judge_of(client, store).judge(QUESTIONS[:20])
    assert most_at_first == 1
    assert len(client.requests) == 20


class Slow(ScriptedClient):
    """Answers after a moment; `answered` counts."""

    answered = 0
    seconds = 0.02

    async def ask(self, request):
        """The next answer."""
        await asyncio.sleep(self.seconds)
        answer = await super().ask(request)
        self.answered += 1
        return answer


def interrupted_after(n_answers, client, judge, times=1):
    """A run that is cancelled, as an interrupt does it, after so many answers."""

    async def main():
        task = asyncio.create_task(judge.ajudge(QUESTIONS))
        while client.answered < n_answers:
            await asyncio.sleep(0.001)
        for _ in range(times):
            task.cancel()
            for _ in range(50):  # turns of the loop, however long they take, to hear of it
                await asyncio.sleep(0)
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())


def n_stored(store):
    """How many grades a store has, as a run finds out."""
    judge = judge_of(ScriptedClient([]), store, dry_run=True)
    return judge.judge(QUESTIONS).tally.n_stored


@pytest.mark.integration
def test_an_interrupt_waits_for_answers(store, capsys):
    """What is under way at an interrupt is waited for and kept, and a line says so."""
    client = Slow(lambda _: 2)
    interrupted_after(20, client, judge_of(client, store, concurrency=16))
    assert n_stored(store) == client.answered == len(client.requests) < 60
    # Not all 16: some wait until their last answer is committed.
    assert re.search(
        r"interrupted; what is under way \(\d+\) is waited for", capsys.readouterr().err
    )


def test_a_second_interrupt_breaks_off(store):
    """Then nothing is waited for; what came before is kept."""

    class Silent(Slow):
        n_begun = 0

        async def ask(self, request):
            self.n_begun += 1
            if self.n_begun > 20:
                await asyncio.Event().wait()
            return await super().ask(request)

    client = Silent(lambda _: 2)
    interrupted_after(20, client, judge_of(client, store, concurrency=16), times=2)
    assert n_stored(store) == client.answered == 20


@pytest.mark.parametrize(
    ("reply", "kind"),
    some(
        [
            (Failure("api_error", "401: no such key", fatal=True), JudgingError),
            (KeyError("a mistake"), KeyError),
        ],
        2,
    ),
)
def test_an_error_waits_for_answers(reply, kind, store):
    """So it is at an error that ends the run: what was paid for is kept."""
    client = Slow(lambda request: reply if number_of(request) == 100 else 2)
    with pytest.raises(kind):
        judge_of(client, store, concurrency=16).judge(QUESTIONS)
    assert n_stored(store) == len(client.requests) - 1


@pytest.mark.integration
def test_workers_are_few(store, monkeypatch):
    """A hundred thousand questions do not become as many tasks."""
    n_tasks = []
    client = ScriptedClient(lambda _: n_tasks.append(len(asyncio.all_tasks())) or 1)
    judge_of(client, store, concurrency=8).judge([ask(f"d{number}") for number in range(500)])
    assert max(n_tasks) <= 12
