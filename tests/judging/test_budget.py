"""Budgets: used to the end, never passed, and what is not known is said to be so."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import cycle

import pytest
from hypothesis import given, strategies as st

from kragx.errors import JudgingError, UsageError
from kragx.judging import Answer, Failure, Judge, Judgement, Store, Usage
from kragx.judging.budget import Budget, Price, at_most, most_tokens, read_budget
from kragx.judging.calls import usage_of_answer
from kragx.judging.client import Request
from kragx.judging.clients.scripted import ScriptedClient
from kragx.judging.judgement_counts import Spent
from kragx.judging.limits import Limits
from kragx.judging.store.qrels import statistics
from tests.judging.support import ask, judge_of
from tests.thoroughness import examples

LIMIT = 200  # tokens of an answer
PRICE = Price(input=2.0, output=8.0)
TEXT = '{"reason": "", "grade": 1}'
REQUEST = Request((("system", "You grade."), ("user", "문서 " * 40)), {"type": "object"}, 60.0)
MOST = most_tokens(REQUEST, LIMIT)


class Limited(ScriptedClient):
    """A client whose answers have a limit."""

    @property
    def settings(self):
        """With the limit."""
        return {**super().settings, "max_completion_tokens": LIMIT}


@dataclass
class Server:
    """Answers after some turns of the loop, and bills what was used: never more than can be.

    Attributes:
        script: what becomes of each call: kind, the share of what it may use, and turns.
        bill: tokens and cost that it knows of.
    """

    script: list[tuple[str, float, int]]
    billed: Spent = field(default_factory=Spent)

    async def call(self, own: Limits, number: int) -> bool:
        """One call; False if there was no room for it."""
        kind, share, turns = self.script[number % len(self.script)]
        room = await own.enter(REQUEST, None)
        if room is None:
            return False
        count = at_most(room)
        try:
            for _ in range(turns):
                await asyncio.sleep(0)
            if kind == "error":
                count = usage_of_answer(Failure("api_error", "500"), REQUEST, room)
                return True
            usage = Usage(int(share * MOST.prompt_tokens), int(share * MOST.completion_tokens))
            self.billed.add(
                Spent(1, prompt_tokens=usage.prompt, completion_tokens=usage.completion)
            )
            if kind == "cancelled":
                raise asyncio.CancelledError
            silent = Answer(TEXT, Usage())
            answer = {"timeout": Failure("timeout"), "silent": silent}.get(kind)
            count = usage_of_answer(answer or Answer(TEXT, usage), REQUEST, room)
            return True
        finally:
            own.leave(room, count)


async def used_up(own: Limits, server: Server, n_calls: int, concurrency: int) -> int:
    """How many of the calls found no room."""
    numbers = iter(range(n_calls))
    n_left = 0

    async def work() -> None:
        nonlocal n_left
        for number in numbers:
            with suppress(asyncio.CancelledError):
                n_left += not await server.call(own, number)

    await asyncio.gather(*(work() for _ in range(concurrency)))
    return n_left


kinds = st.sampled_from(["answer", "answer", "answer", "error", "timeout", "cancelled"])
calls = st.tuples(kinds, st.floats(0, 1), st.integers(0, 4))
limits = st.sampled_from(["cost", "tokens", "calls"])
concurrencies = st.sampled_from([1, 8, 64])


@pytest.mark.integration
@examples(200)
@given(st.lists(calls, min_size=1, max_size=30), limits, st.floats(20, 60), concurrencies)
def test_used_to_the_end_and_never_passed(script, limit, times, concurrency):
    """A budget of 20 calls' reservations is used to 95 % and more, whatever the calls use.

    What the server bills stays within it, calls that failed, were given up or cancelled included.
    """
    tokens = MOST.prompt_tokens + MOST.completion_tokens
    amount = {"cost": PRICE.of(MOST), "tokens": tokens, "calls": 1}[limit] * times
    options = {"budget": {limit: amount}, "prices": {"limited": PRICE}, "concurrency": concurrency}
    own = Judge(Limited([], "limited"), progress=False, **options).limits
    server = Server(script)
    n_left = asyncio.run(used_up(own, server, 600, concurrency))
    billed, spent = server.billed, own.spent
    held = own.unknown
    totals = {
        "cost": (PRICE.of(billed), PRICE.of(spent + held)),
        "tokens": (
            billed.prompt_tokens + billed.completion_tokens,
            sum(part.prompt_tokens + part.completion_tokens for part in (spent, held)),
        ),
        "calls": (billed.n_calls, spent.n_calls),
    }
    bill, used = totals[limit]
    last_bit = 1e-12 * amount  # what was used and what is reserved are rounded, then added
    assert bill <= used + last_bit
    assert used <= amount + last_bit
    assert not n_left or used >= 0.95 * amount


def test_a_large_question_does_not_stop_small_ones(store):
    """What has no room even alone is not asked; what has room is."""
    client = ScriptedClient(lambda _: 1)
    judge = judge_of(client, store, budget={"tokens": 40_000}, concurrency=4)
    questions = [ask("long " * 10_000), *(ask(f"short {number}") for number in range(20))]
    with pytest.raises(JudgingError, match="1 of 21 questions were not asked"):
        judge.judge(questions)
    assert len(client.requests) == 20


@pytest.mark.parametrize("concurrency", [1, 64])
def test_through_the_judge(concurrency, store):
    """64 calls at once use a cost to 95 %, where each can take twice what it takes."""
    price = {"scripted": {"input": 1.0, "output": 10.0}}
    client = ScriptedClient(lambda _: 1, usage=Usage(1000, 2000), delay=0.001)
    room = most_tokens(Request((("user", "x"),), {}, 1.0), None)
    budget = 20 * Price(1.0, 10.0).of(room) * 1.2  # the prompt is longer than an x
    judge = judge_of(client, store, budget=budget, prices=price, concurrency=concurrency)
    with pytest.raises(JudgingError, match="questions were not asked"):
        judge.judge([ask(f"document {number}") for number in range(120)])
    assert 0.95 * budget <= judge.limits.cost <= budget


def test_waits_across_threads(store):
    """Runs of one judge in several threads wait for each other's calls, and use one budget."""
    from concurrent.futures import ThreadPoolExecutor

    client = ScriptedClient(lambda _: 1, usage=Usage(900, 100), delay=0.001)
    judge = judge_of(client, store, budget={"tokens": 60_000}, concurrency=16)
    batches = [[ask(f"{batch} {number}") for number in range(40)] for batch in range(4)]

    def judged(batch):
        with pytest.raises(JudgingError, match="not asked"):
            judge.judge(batch)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(judged, batches))
    spent = judge.limits.spent
    assert 50_000 < spent.prompt_tokens + spent.completion_tokens <= 60_000
    assert spent.n_calls == len(client.requests)


def test_learns_what_it_did_not_know(store):
    """Where a server counts more than a call can take, more is reserved for the next ones."""
    usage = Usage(prompt=30_000, completion=9_000)
    client = ScriptedClient(lambda _: Answer(TEXT, usage))
    judge = judge_of(client, store, budget={"tokens": 100_000}, concurrency=1)
    with pytest.raises(JudgingError, match="3 of 5 questions were not asked"):
        judge.judge([ask(f"document {number}") for number in range(5)])
    assert judge.limits.spent.prompt_tokens == 60_000


@examples(100)
@given(st.text(), st.text())
def test_bytes_are_an_upper_bound(document, query):
    """For a tokenizer that falls back to bytes, before or after NFKC, of any language."""
    import unicodedata

    request = Request((("system", query), ("user", document)), {"a": 1}, 1.0)
    most = most_tokens(request, 7)
    for form in (document, unicodedata.normalize("NFKC", document)):
        n_bytes = len((query + form).encode("utf-8", "surrogatepass"))
        assert most.prompt_tokens >= n_bytes + len(json.dumps({"a": 1}))
    assert most.completion_tokens == 7


def test_tokens_that_the_server_does_not_count(store):
    """They are estimated from the texts and said to be, in the remarks, in JSON and in the store.

    By hand: 26 Latin characters of the answer are 6 tokens, and 100 Hangul ones 80.
    """
    replies = cycle(
        [Answer(TEXT), Answer(json.dumps({"reason": "가" * 100, "grade": 2}, ensure_ascii=False))]
    )
    judge = judge_of(ScriptedClient(lambda _: next(replies)), store, concurrency=1)
    tally = judge.judge([ask("a"), ask("b")]).tally
    assert (tally.n_calls, tally.n_calls_estimated, tally.n_calls_without_usage) == (2, 2, 0)
    assert tally.completion_tokens == 6 + round(26 / 4 + 80)
    assert 100 < tally.prompt_tokens < 1000
    with Store(store) as opened:
        records = list(opened.records())
    assert [record["counting"] for record in records] == ["estimate", "estimate"]
    (group,) = statistics(records).groups
    assert group.tokens["prompt"] == tally.prompt_tokens


def test_calls_without_an_answer(store):
    """What they took is unknown: no token is shown, and a budget keeps the most it can be."""
    client = ScriptedClient([Failure("timeout"), 1])
    judge = judge_of(client, store, concurrency=1, budget={"tokens": 100_000})
    tally = judge.judge([ask("a"), ask("b")]).tally
    assert (tally.n_calls, tally.n_calls_without_usage, tally.prompt_tokens) == (2, 1, 100)
    assert judge.limits.unknown.completion_tokens == 4096
    with Store(store) as opened:
        first, second = opened.records()
    assert (first["counting"], first["completion_tokens"]) == ("most", 4096)
    assert "counting" not in second
    (group,) = statistics([first, second]).groups
    assert group.tokens["completion"] == 20


@pytest.mark.parametrize("failure", ["api_error", "rate_limit"])
def test_errors_of_a_service_are_free(failure, store):
    """An error page is no answer, and nobody is charged for it."""
    judge = judge_of(ScriptedClient([Failure(failure), 1]), store, concurrency=1)
    tally = judge.judge([ask("a"), ask("b")]).tally
    assert (tally.n_calls_without_usage, tally.n_calls_estimated) == (0, 0)
    assert (tally.prompt_tokens, tally.completion_tokens) == (100, 20)


# -- periods ----------------------------------------------------------------------------------


@pytest.fixture
def at_once(monkeypatch):
    """Limits look at the store before each call, not once a second."""
    monkeypatch.setattr("kragx.judging.limits._OFTEN", -1.0)


def test_limits_span_runs(at_once, store):
    """Whoever uses the store counts, for good."""
    limit = {"calls": 5, "per": "total"}
    judge_of(ScriptedClient([1, 1, 1]), store).judge([ask(name) for name in "abc"])
    client = ScriptedClient(lambda _: 1)
    with pytest.raises(JudgingError, match="2 of 4 questions were not asked") as caught:
        judge_of(client, store, budget=limit).judge([ask(name) for name in "defg"])
    assert len(client.requests) == 2
    assert "5 of 5 calls in all are used by all who share the store" in str(caught.value)
    with pytest.raises(JudgingError, match="2 of 2"):
        judge_of(client, store, budget=limit).judge([ask("f"), ask("g")])


def test_cost_in_all_by_model(at_once, store):
    """Each model's tokens cost its own price; a model without one is an error that names it."""
    judge_of(ScriptedClient([1], model="other"), store).judge([ask("a")])
    prices = {"scripted": {"input": 100, "output": 100}}
    limit = {"cost": 0.9, "per": "total"}
    with pytest.raises(UsageError, match=r"price of 'other' is not known.*judge\.prices\.other"):
        judge_of(ScriptedClient([1]), store, budget=limit, prices=prices).judge([ask("b")])
    prices["other"] = {"input": 1000, "output": 1000}  # 120 tokens: .12
    usage = Usage(prompt=100, completion=100)  # .02
    judge = judge_of(
        ScriptedClient(lambda _: 1, usage=usage), store, budget=limit, prices=prices, concurrency=4
    )
    with pytest.raises(JudgingError, match=r"\d of 0.9000 USD in all are used by all") as caught:
        judge.judge([ask(f"document {number}") for number in range(40)])
    used = float(str(caught.value).split("budget: ")[1].split(" of ")[0])
    assert used == pytest.approx(0.12 + judge.limits.cost, abs=1e-4)
    assert 0.3 < used <= 0.9


def test_calls_without_an_answer_count_in_all(at_once, store):
    """The most that they can have taken counts for later runs too."""
    judge_of(ScriptedClient([Failure("timeout")]), store).judge([ask("a")])
    limit = {"tokens": 9_000, "per": "total"}
    with pytest.raises(JudgingError, match=r"of 9000 tokens in all are used") as caught:
        judge_of(ScriptedClient([]), store, budget=limit).judge([ask("b")])
    assert int(str(caught.value).split("budget: ")[1].split(" of ")[0]) > 4096


@pytest.mark.integration
def test_two_judges_at_once(at_once, store):
    """Two that share a store see each other's calls; a limit is passed by what is in flight."""

    async def both():
        judges = [
            judge_of(
                ScriptedClient(lambda _: 1, delay=0.002),
                store,
                budget={"calls": 60, "per": "total"},
                concurrency=4,
            )
            for _ in range(2)
        ]
        runs = [
            judge.ajudge([ask(f"{number} {n}") for n in range(60)])
            for number, judge in enumerate(judges)
        ]
        outcomes = await asyncio.gather(*runs, return_exceptions=True)
        assert all(isinstance(outcome, JudgingError) for outcome in outcomes)
        return sum(judge.limits.spent.n_calls for judge in judges)

    assert 60 <= asyncio.run(both()) <= 60 + 2 * 4


def test_several_limits():
    """A list holds side by side, one of each kind."""
    budgets = read_budget([{"cost": 20, "per": "total"}, {"calls": 100, "tokens": 9}])
    assert [(budget.per, budget.cost) for budget in budgets] == [("total", 20), ("run", None)]
    assert [read_budget(cost)[0].cost for cost in (5, None)] == [5, None]
    with pytest.raises(UsageError, match=r"budget\.1: a second one per run"):
        read_budget([5, {"calls": 3}])
    with pytest.raises(
        UsageError, match=r"budget\.per: unknown value 'fortnight'; valid: run, total"
    ):
        read_budget({"calls": 3, "per": "fortnight"})


def test_batches_cost_what_batches_cost(at_once, store):
    """In all a batch's tokens count at the price of batches, where it is known."""
    judge_of(ScriptedClient([1]), store).judge([ask("a")])  # 100 + 20 tokens
    with Store(store) as opened:
        (record,) = opened.records()
        row = {name: record[name] for name in record if name not in ("question", "pairs")}
        opened.add([Judgement(**row | {"uid": "u", "source": "batch"})])
        for batch, cost in ((None, 0.24), (0.5, 0.12 + 0.06)):
            prices = {"scripted": Price(1000, 1000, batch=batch)}
            total = Budget(cost=1.0, per="total")
            own = judge_of(ScriptedClient([]), store, budget=total, prices=prices).limits
            own.look(opened)
            assert own.used_of(total).cost == pytest.approx(cost)


def test_open_batches_count_at_their_most(at_once, store):
    """What a batch may take is kept free in all until the batch is done; runs ignore it."""
    about = {"client": {"model": "m"}, "rubrics": {}, "prompt_tokens": 7, "most": {"calls": 3}}
    with Store(store) as opened:
        opened.batches.plan("1", about, "xyz", again=False)
    client = ScriptedClient(lambda _: 1)
    limit = {"calls": 5, "per": "total"}
    with pytest.raises(JudgingError, match="2 of 4 questions were not asked") as caught:
        judge_of(client, store, budget=limit).judge([ask(name) for name in "abcd"])
    assert "3 questions in open batches are counted at their most" in str(caught.value)
    with Store(store) as opened:
        assert opened.batches.move("1", "planned", "given up")
    judge_of(client, store, budget=limit).judge([ask(name) for name in "abcd"])
    assert len(client.requests) == 4
