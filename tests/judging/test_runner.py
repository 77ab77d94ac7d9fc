"""The judge: what is asked, how often, in which order, at which cost, and what is kept."""

from __future__ import annotations

import asyncio
import re
import sys
import threading
from dataclasses import dataclass
from typing import ClassVar

import pytest

from kragx.errors import DataError, JudgingError, UsageError
from kragx.ground.json_values import to_jsonable
from kragx.judging import Answer, Failure, Judge, OpenAIClient, Store, Usage
from kragx.judging.clients.scripted import ScriptedClient
from kragx.judging.store.qrels import statistics
from tests.judging.support import FakeTime, ask, judge_of
from tests.thoroughness import all_cases, some


def by_document(request):
    """The grade that the document ends with."""
    return int(request.messages[1][1].rsplit("grade-", 1)[1][0])


def grades(judged):
    """The grades alone."""
    return [each.grade for each in judged.judgements]


def test_same_text_is_asked_once(store):
    """Neither rank, query id nor document id is part of the question; the text is."""
    client = ScriptedClient(by_document)
    questions = [
        ask("grade-3", query_id="q1", document_id="a"),
        ask("grade-3", query_id="q2", document_id="b"),
        ask("grade-1", query_id="q1", document_id="a"),
    ]
    judged = judge_of(client, store).judge(questions)
    assert grades(judged) == [3, 3, 1]
    assert len(client.requests) == 2


def test_second_run_makes_no_call(store):
    """What is stored is not asked again, refusals included, by another judge of the same store."""
    questions = [ask("grade-3"), ask("no")]
    judge_of(ScriptedClient([3, Failure("refusal")]), store, concurrency=1).judge(questions)
    again = judge_of(ScriptedClient([]), store).judge(questions)
    assert grades(again) == [3, None]
    assert [each.source for each in again.judgements] == ["store", "store"]
    assert again.tally.n_calls == 0


@pytest.mark.parametrize(
    ("ask_again", "kind", "calls"),
    some(
        [
            ("transient", "timeout", 1),
            ("transient", "refusal", 0),
            ("transient", "content_filter", 0),
            ("transient", "length", 0),
            ("transient", "invalid_json", 1),
            ("transient", "out_of_range", 1),
            ("all", "refusal", 1),
            ("none", "timeout", 0),
        ],
        4,
    ),
)
def test_which_failures_are_asked_again(ask_again, kind, calls, store):
    """Passing failures are asked again in another run; settled ones only if wanted."""
    judge_of(ScriptedClient([Failure(kind)]), store).judge([ask("x")])
    judged = judge_of(ScriptedClient([2] * calls), store, ask_again=ask_again).judge([ask("x")])
    assert judged.tally.n_calls == calls
    assert grades(judged) == [2 if calls else None]


def test_halves_of_characters(store):
    """A text that was cut in the middle of an emoji is judged with U+FFFD in its place."""
    client = ScriptedClient([2, 3])
    questions = [ask("cut \ud83d"), ask("cut \ufffd"), ask("x", query="\udc00", reference="\ud800")]
    judged = judge_of(client, store, concurrency=1).judge(questions)
    assert grades(judged) == [2, 2, 3]
    assert "cut \ufffd" in client.requests[0].messages[1][1]


@pytest.mark.parametrize("change", ["model", "repeat", "rubric", "gold"])
def test_what_is_part_of_the_key(change, store):
    """Another model, repeat, rubric or gold text is another question."""
    judge_of(ScriptedClient([0]), store).judge([ask("x")])
    client = ScriptedClient([3], model="other" if change == "model" else "scripted")
    question = ask("x", gold="other gold") if change == "gold" else ask("x")
    if change == "rubric":
        from dataclasses import replace

        question = replace(question, rubric=replace(question.rubric, instruction="Another one."))
    judged = judge_of(client, store, repeat=int(change == "repeat")).judge([question])
    assert grades(judged) == [3]


def test_order_of_answers_does_not_matter(store):
    """Judgements come in the order of the questions, whichever is answered first."""
    answered = []

    class Backwards(ScriptedClient):
        async def ask(self, request):
            number = int(request.messages[1][1].split("number ")[1][:2])
            # The first is asked alone; of the others the last one is answered first.
            while number and len(answered) < 16 - number:
                await asyncio.sleep(0)
            answered.append(number)
            return await super().ask(request)

    questions = [ask(f"number {number:02d} grade-{number % 4}") for number in range(16)]
    judged = judge_of(Backwards(by_document), store, concurrency=16).judge(questions)
    assert answered == [0, *reversed(range(1, 16))]
    assert grades(judged) == [number % 4 for number in range(16)]


def test_concurrency_is_bounded(store):
    """No more requests are in flight than allowed, and that many are."""
    running, most = 0, 0

    class Counting(ScriptedClient):
        async def ask(self, request):
            nonlocal running, most
            running += 1
            most = max(most, running)
            await asyncio.sleep(0.002)
            running -= 1
            return await super().ask(request)

    judge_of(Counting(lambda _: 1), store, concurrency=5).judge([ask(f"d{n}") for n in range(30)])
    assert most == 5


def test_requests_per_minute(store):
    """At 60 a minute a request starts each second of the injected clock."""
    time = FakeTime()
    started = []

    def reply(request):
        started.append(time.now)
        return 1

    judge = judge_of(
        ScriptedClient(reply), store, rpm=60, concurrency=1, clock=time.clock, sleep=time.sleep
    )
    judge.judge([ask(f"d{number}") for number in range(5)])
    assert started == [0, 1, 2, 3, 4]


def test_waits_double_and_end(store):
    """Without Retry-After the waits grow; after the last attempt the failure stays."""
    time = FakeTime()
    client = ScriptedClient(lambda _: Failure("api_error", "500", again=True))
    judge = judge_of(client, store, attempts=4, clock=time.clock, sleep=time.sleep)
    judged = judge.judge([ask("x")])
    assert judged.judgements[0].failure == "api_error"
    assert len(client.requests) == 4
    assert all(0.5 <= wait <= 0.5 + most for wait, most in zip(time.slept, (1, 2, 4), strict=True))


def test_hanging_client_is_a_timeout(store, monkeypatch):
    """A client that never answers is given up on by the runner itself."""
    monkeypatch.setattr("kragx.judging.calls.GRACE", 0.0)
    client = ScriptedClient([1], delay=30.0)
    judged = judge_of(client, store, timeout=0.05, attempts=1).judge([ask("x")])
    assert judged.judgements[0].failure == "timeout"


def test_identical_requests_in_flight_are_joined(store):
    """Two runs of one judge that need the same answer at the same time ask once."""
    client = ScriptedClient(lambda _: 3, delay=0.05)
    judge = judge_of(client, store)

    async def both():
        return await asyncio.gather(judge.ajudge([ask("x")]), judge.ajudge([ask("x")]))

    first, second = asyncio.run(both())
    assert grades(first) == grades(second) == [3]
    assert len(client.requests) == 1
    assert first.tally.n_stored + second.tally.n_stored == 1


@pytest.mark.integration
def test_joined_across_threads(store):
    """The same holds for runs in different threads, each with an event loop of its own."""
    client = ScriptedClient(lambda _: 3, delay=0.2)
    judge = judge_of(client, store)
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(grades(judge.judge([ask("x")]))))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [[3]] * 4
    assert len(client.requests) == 1


def test_a_pause_holds_back_whoever_comes_later(store):
    """After a 429 nothing starts until the server's pause is over, and then at the usual pace."""
    time = FakeTime()
    started = []

    def reply(request):
        started.append(time.now)
        pause = Failure("rate_limit", "429", again=True, retry_after=30.0)
        return pause if len(started) == 1 else 1

    judge = judge_of(
        ScriptedClient(reply), store, rpm=60, concurrency=1, clock=time.clock, sleep=time.sleep
    )
    assert grades(judge.judge([ask("a"), ask("b"), ask("c")])) == [1, 1, 1]
    first, second, third, fourth = started
    assert first == 0
    assert 30 <= second <= 31
    assert [third - second, fourth - third] == pytest.approx([1, 1])


def test_failures_are_counted_by_name(store):
    """A tally's plain values hold them in the order of their names, with the coverage."""
    client = ScriptedClient([Failure("timeout"), Failure("refusal"), Failure("timeout"), 2])
    judge = judge_of(client, store, concurrency=1)
    tally = judge.judge([ask(document) for document in "abcd"]).tally
    counts = to_jsonable(tally)
    assert tally.to_dict() == counts
    assert list(counts["failures"].items()) == [("refusal", 1), ("timeout", 2)]
    assert counts["coverage"] == 0.25


def test_exception_of_a_client_ends_the_run(store):
    """Only failures that the client names are failed judgements; a mistake is not hidden."""
    judge = judge_of(ScriptedClient([3, KeyError("a mistake")]), store, concurrency=1)
    with pytest.raises(KeyError, match="a mistake"):
        judge.judge([ask("a"), ask("b")])
    kept = judge_of(ScriptedClient([]), store).judge([ask("a")])
    assert grades(kept) == [3]


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        (lambda: {"grade": 3}, "Odd.ask gave {'grade': 3}, neither an Answer nor a Failure"),
        (lambda: Failure("no idea"), "Failure.kind: unknown value 'no idea'; valid: refusal, "),
        (lambda: Answer("{}", usage=None), "Answer.usage: None is no Usage; leave it out"),
        (lambda: sys.exit(0), "judge.client: SystemExit: 0"),
    ],
)
def test_what_a_client_of_a_users_own_may_not_give(reply, problem, store):
    """What no seam knows is an error that says what came; an attempt to exit ends nothing well."""

    class Odd:
        settings: ClassVar = {"model": "odd"}

        async def ask(self, _):
            return reply()

    with pytest.raises(UsageError, match=re.escape(problem)):
        judge_of(Odd(), store).judge([ask("a")])


def test_interrupt_keeps_what_was_answered(store):
    """Ctrl-C ends the run at once; what was answered before is stored."""
    judge = judge_of(ScriptedClient([3, 2, KeyboardInterrupt()]), store, concurrency=1)
    with pytest.raises(KeyboardInterrupt):
        judge.judge([ask("a"), ask("b"), ask("c")])
    kept = judge_of(ScriptedClient([1]), store).judge([ask("a"), ask("b"), ask("c")])
    assert grades(kept) == [3, 2, 1]


def test_fatal_failure_stops(store):
    """With a wrong key nothing else is asked, and the error is of exit code 4."""
    client = ScriptedClient([Failure("api_error", "401: no such key", fatal=True)])
    with pytest.raises(JudgingError, match="no such key") as caught:
        judge_of(client, store, concurrency=1).judge([ask("a"), ask("b")])
    assert caught.value.exit_code == 4
    assert len(client.requests) == 1


def test_budget_of_calls_is_never_exceeded(store):
    """With 3 calls allowed, 3 of 10 questions are asked; a new run asks for the others."""
    client = ScriptedClient(by_document)
    questions = [ask(f"{number} grade-1") for number in range(10)]
    with pytest.raises(JudgingError, match="7 of 10 questions were not asked"):
        judge_of(client, store, budget={"calls": 3}, concurrency=4).judge(questions)
    assert len(client.requests) == 3
    judged = judge_of(client, store, budget={"calls": 7}).judge(questions)
    assert grades(judged) == [1] * 10
    assert len(client.requests) == 10


def test_budget_of_cost_is_never_exceeded(store):
    """The cost stays at or below the budget even if answers use all they may."""
    price = {"scripted": {"input": 1000, "output": 1000}}
    usage = Usage(prompt=400, completion=4096)
    client = ScriptedClient(lambda _: Answer('{"reason": "", "grade": 1}', usage))
    judge = judge_of(client, store, budget=20, prices=price, concurrency=8)
    with pytest.raises(
        JudgingError, match=r"\d+\.\d+ of 20.0000 USD are used, and another call can take \d"
    ):
        judge.judge([ask(f"document {number}") for number in range(20)])
    spent = judge.limits.spent
    cost = (spent.prompt_tokens + spent.completion_tokens) / 1000
    assert 0 < cost <= 20
    assert spent.n_calls == len(client.requests)


def test_budget_counts_retries_and_failures(store):
    """Failed attempts use the budget too, with the tokens they took."""
    client = ScriptedClient(
        [
            Failure("api_error", again=True, usage=Usage(100, 5)),
            Failure("refusal", usage=Usage(100, 1)),
            3,
        ]
    )
    judge = judge_of(client, store, concurrency=1)
    judged = judge.judge([ask("a"), ask("b")])
    assert judged.tally.n_calls == 3
    assert judged.tally.n_retries == 1
    assert judge.limits.spent.prompt_tokens == 300
    assert judge.limits.spent.completion_tokens == 26


def test_budget_without_a_price_is_refused(store):
    """A cost cannot be kept to if no price is known; the error says what to write."""
    with pytest.raises(UsageError, match=r"judge.prices.scripted: \{input"):
        judge_of(ScriptedClient([]), store, budget=5.0)


def test_dry_run_asks_nothing(store):
    """It counts the calls that are left and about how many tokens they take."""
    judge_of(ScriptedClient([3]), store).judge([ask("a")])
    client = ScriptedClient([])
    judge = judge_of(client, store, dry_run=True)
    judge.judge([ask("a"), ask("b"), ask("b")])
    assert client.requests == []
    assert judge.plan.about.n_calls == 1
    assert 100 < judge.plan.about.prompt_tokens < 400


def test_served_model_that_changed_is_reported(store):
    """If grades came from several served models, the counts of the store say so."""
    answer = '{"reason": "", "grade": 1}'
    old, new = (Answer(answer, model="m", fingerprint=name) for name in ("fp-1", "fp-2"))
    judge_of(ScriptedClient([old]), store).judge([ask("a")])
    judge_of(ScriptedClient([new]), store).judge([ask("a"), ask("b")])
    with Store(store) as opened:
        shown = str(statistics(opened.records()))
    assert "what serves it has changed: " in shown
    assert "m fp-1" in shown


def test_human_label_wins(store):
    """A label of the query and document id is taken instead of asking, of its own source."""
    from kragx.judging import Question
    from kragx.judging.rubric import RUBRICS

    with Store(store) as opened:
        opened.add_labels([("q", "d", 0), ("q", "d", 2)], "qrels.txt")
    questions = [
        Question(RUBRICS["relevance-en-1"], "text", query="?", query_id="q", document_id=document)
        for document in ("d", "e")
    ]
    judged = judge_of(ScriptedClient([3]), store).judge([questions[0]])
    assert grades(judged) == [2]
    assert judged.judgements[0].source == "human"
    assert judged.tally.n_human == 1
    filled = judge_of(ScriptedClient([3]), store).judge(questions)
    assert [(each.grade, each.source) for each in filled.judgements] == [(2, "human"), (3, "judge")]


@all_cases(
    ("model", "temperature"),
    [
        ("gpt-4.1-mini", 0.0),
        ("o3", None),
        ("openai/o4-mini", None),
        ("gpt-5", None),
        ("gpt-6.1-sol", None),
        ("gpt-5-chat-latest", 0.0),
        ("qwen3-8b", 0.0),
    ],
)
def test_temperature_of_reasoning_models(model, temperature):
    """Reasoning models refuse a temperature, so none is sent; others get 0."""
    assert OpenAIClient(model).settings.get("temperature") == temperature


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"concurrency": 0}, "judge.concurrency"),
        ({"rpm": 0}, "judge.rpm"),
        ({"max_missing": 2}, "judge.max_missing"),
        ({"ask_again": "sometimes"}, "judge.ask_again"),
        ({"budget": {"call": 3}}, "perhaps you meant 'calls'"),
        ({"prices": {"m": {"input": 1}}}, "judge.prices.m.output: missing"),
        ({"prices": {"m": {"input": 1, "output": -1}}}, "judge.prices.m.output: -1 is not"),
        ({"budget": "much"}, "judge.budget.cost: 'much' is not a number"),
        ({"rubric": {"id": "x"}}, "judge.rubric.asks: missing"),
    ],
)
def test_wrong_options(options, message, store):
    """Each wrong option is named."""
    with pytest.raises(UsageError, match=message):
        Judge(ScriptedClient([]), store=store, **options)


def test_a_rubric_that_cannot_be_read(store):
    """The error names the file and the option that names it."""
    with pytest.raises(DataError, match=r"^nowhere\.yaml: judge\.rubric: cannot be read"):
        Judge(ScriptedClient([]), store=store, rubric="nowhere.yaml")


def test_other_file_is_no_store(tmp_path):
    """A text file, or another program's SQLite file, is refused and left as it was."""
    import sqlite3

    text = tmp_path / "text"
    text.write_text("no database, and long enough to be read as the start of one" * 20)
    with pytest.raises(DataError, match="cannot be opened as a judgement store"), Store(text):
        pass
    other = tmp_path / "other.sqlite"
    with sqlite3.connect(other) as db:
        db.execute("CREATE TABLE mine (a)")
    db.close()
    with pytest.raises(DataError, match="something else"), Store(other):
        pass


@dataclass
class Limited(ScriptedClient):
    """Says how many tokens an answer may have."""

    limit: int = 0

    @property
    def settings(self):
        """With the limit."""
        return {**super().settings, "max_tokens": self.limit}


@pytest.mark.parametrize(
    ("again", "limit", "n_calls"),
    [("transient", 80, 0), ("transient", 81, 1), ("none", 9000, 0), ("all", 9, 1)],
)
def test_limits(store, again, limit, n_calls):
    """A lower limit asks nothing, a higher one what was cut off; both serve the grades."""
    questions = [ask("short"), ask("long")]
    judge_of(Limited([3, Failure("length")], limit=80), store, concurrency=1).judge(questions)
    judge = judge_of(Limited([2] * n_calls, limit=limit), store, ask_again=again)
    judged = judge.judge(questions)
    assert [judgement.grade for judgement in judged.judgements] == [3, 2 if n_calls else None]
    assert (judged.tally.n_calls, judged.tally.n_stored) == (n_calls, 2 - n_calls)
