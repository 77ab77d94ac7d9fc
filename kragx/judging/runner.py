"""The judge: questions in, judgements out, each asked once and kept at once.

A key that the store has is not asked again. What is left is asked by `concurrency` workers, none
faster than `rpm` allows, each with its own attempts and waits; every answer is committed when it
arrives. The order of the judgements is that of the questions, whatever comes first.
"""

from __future__ import annotations

import asyncio
import random
import sqlite3
import threading
import time
import warnings
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

from kragx.errors import DataError, JudgingError, UsageError, nearest
from kragx.judging.client import Answer, Client, Failure, Request
from kragx.judging.ledger import (
    Budget,
    Ledger,
    Price,
    Reservation,
    about_tokens,
    cost_of,
    read_budget,
    read_prices,
)
from kragx.judging.prompt import Graded, messages, read_answer, schema
from kragx.judging.question import (
    SETTLED,
    FailureKind,
    Judgement,
    Question,
    Usage,
    canonical_json,
    digest,
    key_of,
    material,
)
from kragx.judging.rubric import Asks, Language, Rubric, built_in, read_rubric
from kragx.judging.store import Attempt, Store, new_uid, now

DEFAULT_STORE = Path(".kragx/judgements.sqlite")
AskAgain = Literal["transient", "all", "none"]

_LONGEST_WAIT = 300.0  # seconds; a server that asks for more is not waited for
_FIRST_WAIT = 1.0
_TOGETHER = 0.005  # seconds; one commit for what arrives within them costs as much as for one row
_GRACE = 5.0  # seconds beyond the timeout that a client gets to notice it by itself
_ABOUT_OUTPUT = 60  # tokens of a short reason and a grade, for estimates only

_Result = TypeVar("_Result")


class JudgeWarning(UserWarning):
    """Something about the judgements changes what they mean; said once per run."""


@dataclass(frozen=True)
class Judged:
    """What became of some questions.

    Attributes:
        judgements: in the order of the questions.
        counts: what it took: calls, retries, stored, joined, tokens, failures by kind, ...
    """

    judgements: tuple[Judgement, ...]
    counts: Counter[str]


@dataclass(frozen=True)
class Judge:
    """An LLM that grades, with everything about how it is asked and what it may cost.

    Attributes:
        client: asks the model.
        store: the SQLite file that keeps every attempt.
        rubric: one of the user's own (`Rubric`, mapping or YAML file) instead of the built-in ones.
        language: of the built-in rubrics: ``en``, ``ko``, or ``auto`` by what is asked.
        concurrency: how many requests at once.
        rpm: the most requests a minute; None for no limit.
        timeout: seconds for one attempt.
        attempts: the most attempts at one question in one run.
        max_missing: the share of judgements that may be missing before a run ends with an error.
        budget: what may not be exceeded: a cost, or ``{cost, calls, tokens}``.
        prices: ``{model: {input, output, cached_input?}}``, per million tokens.
        currency: what the prices are in.
        ask_again: which stored failures are asked again in another run: ``transient`` ones
            (timeouts, rate limits, connections), ``all`` or ``none``.
        repeat: another number asks everything anew, beside what is stored.
        dry_run: count calls and tokens instead of asking.
        progress: whether to show progress on standard error; None for only on a terminal.
        clock, sleep: time, for tests.

    Raises:
        UsageError: an option is wrong.
    """

    client: Client
    store: str | Path = DEFAULT_STORE
    rubric: Any = None
    language: Language | Literal["auto"] = "auto"
    concurrency: int = 8
    rpm: float | None = None
    timeout: float = 60.0
    attempts: int = 5
    max_missing: float = 0.0
    budget: Any = None
    prices: Any = None
    currency: str = "USD"
    ask_again: AskAgain = "transient"
    repeat: int = 0
    dry_run: bool = False
    progress: bool | None = None
    clock: Callable[[], float] = field(default=time.monotonic, repr=False, compare=False)
    sleep: Callable[[float], Awaitable[None]] = field(
        default=asyncio.sleep, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        if not isinstance(self.client, Client):
            raise UsageError(
                f"judge.client: {type(self.client).__name__} has no 'settings' and 'ask'; "
                "pass an OpenAIClient, a LangChainClient, or one of your own"
            )
        for name, least in (("concurrency", 1), ("attempts", 1), ("repeat", 0)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise UsageError(f"judge.{name}: {value!r} is not a whole number from {least} on")
        for name in ("timeout", "rpm"):
            value = getattr(self, name)
            if value is not None and not (_is_number(value) and value > 0):
                raise UsageError(f"judge.{name}: {value!r} is not a number above 0")
        if not (_is_number(self.max_missing) and 0 <= self.max_missing <= 1):
            raise UsageError(f"judge.max_missing: {self.max_missing!r} is no share from 0 to 1")
        for name, valid in (
            ("ask_again", get_args(AskAgain)),
            ("language", ("auto", *get_args(Language))),
        ):
            value = getattr(self, name)
            if value not in valid:
                hint = nearest(str(value), valid)
                raise UsageError(f"judge.{name}: unknown value {value!r}; {hint}")
        rubric = None if self.rubric is None else read_rubric(self.rubric)
        object.__setattr__(self, "rubric", rubric)
        object.__setattr__(self, "prices", read_prices(self.prices or {}))
        object.__setattr__(self, "budget", read_budget(self.budget))
        if self.budget.cost is not None and self.price is None:
            raise UsageError(
                f"judge.budget: no price of {self.model!r} is known, so no cost can be kept to; "
                f"add judge.prices.{self.model}: {{input: ..., output: ...}} (per million tokens), "
                "or give the budget in calls or tokens"
            )

    # -- what it is --------------------------------------------------------------------------

    @property
    def model(self) -> str:
        """The model asked for."""
        return str(self.client.settings.get("model", type(self.client).__name__))

    @property
    def price(self) -> Price | None:
        """The price of the model; None if the table does not have it."""
        prices: Mapping[str, Price] = self.prices
        return prices.get(self.model)

    def rubric_for(self, asks: Asks, text: str) -> Rubric:
        """The rubric of a question about `text` (the query or the gold text).

        Raises:
            UsageError: the judge's own rubric asks something else.
        """
        own: Rubric | None = self.rubric
        if own is None:
            return built_in(asks, text, self.language)
        if own.asks != asks:
            raise UsageError(
                f"judge.rubric: {own.id!r} asks for {own.asks}, and here {asks} is judged; use "
                f"another rubric, or mode {own.asks!r}"
            )
        return own

    @cached_property
    def ledger(self) -> Ledger:
        """What this judge has used so far, over all runs with it."""
        limit = self.client.settings.get("max_completion_tokens", 4096)
        return Ledger(self.budget, self.price, int(limit))

    # -- judging -----------------------------------------------------------------------------

    def judge(self, questions: Sequence[Question]) -> Judged:
        """`ajudge` for synchronous code; works inside a running event loop (a notebook) too."""
        return run_sync(lambda: self.ajudge(questions))

    async def ajudge(self, questions: Sequence[Question]) -> Judged:
        """Judge each question; a question asked twice, or stored before, is not asked again.

        Raises:
            JudgingError: the budget is used up, or the service refuses everything (a wrong key);
                what was judged is stored.
            DataError: the store cannot be used.
        """
        try:
            return await _Run(self, questions).run()
        except sqlite3.Error as error:
            raise DataError(f"{self.store}: the judgement store failed: {error}") from error

    def stored(self, questions: Sequence[Question]) -> list[Judgement | None]:
        """What the store has for each question; None for one without an answer. Nothing is asked.

        Raises:
            DataError: the store cannot be used.
        """
        if not Path(self.store).is_file():
            return [None] * len(questions)
        run = _Run(self, questions)
        try:
            with Store(self.store) as store:
                settled = store.settled(list(run.asked))
        except sqlite3.Error as error:
            raise DataError(f"{self.store}: the judgement store failed: {error}") from error
        return [
            None
            if (found := settled.get(key)) is None
            else Judgement(key, found.grade, found.reason, detail=found.detail, source="store")
            for key in run.keys
        ]

    @cached_property
    def _gate(self) -> _Gate:
        return _Gate(self)

    @cached_property
    def _flights(self) -> _Flights:
        return _Flights()


class _Run:
    """One `ajudge`: its questions by key, what the store has, and what is asked."""

    def __init__(self, judge: Judge, questions: Sequence[Question]) -> None:
        self.judge = judge
        self.counts: Counter[str] = Counter(questions=len(questions))
        settings = dict(judge.client.settings)
        digests: dict[int, dict[str, str]] = {}  # by rubric: they are few, and questions many
        self.keys: list[str] = []
        self.asked: dict[str, tuple[Question, str]] = {}
        for question in questions:
            rubric = digests.get(id(question.rubric))
            if rubric is None:
                rubric = digests[id(question.rubric)] = digest(question.rubric)
            canonical = canonical_json(material(question, settings, judge.repeat, rubric))
            key = key_of(canonical)
            self.keys.append(key)
            self.asked.setdefault(key, (question, canonical))
        self.questions = questions
        self.done: dict[str, Judgement] = {}
        self.served: Counter[tuple[str | None, str | None]] = Counter()
        self.over_budget = False
        self.rows: list[Attempt] = []  # not yet committed
        self.write_error: sqlite3.Error | None = None
        self.others_write = False

    async def run(self) -> Judged:
        judge = self.judge
        with Store(judge.store) as self.store:
            self.store.changed_by_others()  # from here on it is noticed
            labels = self._labels()
            for key, attempt in self.store.settled(list(self.asked)).items():
                self._take_stored(key, attempt)
            todo = [key for key in self.asked if key not in self.done]
            self.counts["stored"] += len(self.done)
            if judge.dry_run:
                self._plan(todo)
            else:
                self.store.note(((key, self.asked[key][1]) for key in todo), self._pairs())
                await self._ask_all(todo)
        self._report_changes()
        for key in self.asked:
            failure = self.done[key].failure
            if failure is not None:
                self.counts[f"failed.{failure}"] += 1
        if self.over_budget:
            left = sum(each.failure == "not_asked" for each in self.done.values())
            raise JudgingError(
                f"judge.budget: used up after {judge.ledger.counts['calls']} calls"
                f"{_spent(judge)}; {left} of {len(self.asked)} questions were not asked. What was "
                f"judged is in {judge.store}: raise the budget and run again to go on"
            )
        found = [
            labels[position] if position in labels else self.done[key]
            for position, key in enumerate(self.keys)
        ]
        self.counts["human"] += sum(each.source == "human" for each in found)
        return Judged(tuple(found), self.counts)

    # -- before asking -----------------------------------------------------------------------

    def _labels(self) -> dict[int, Judgement]:
        """Human labels of the questions' queries and documents, by position: they win."""
        positions: dict[tuple[str, str], list[int]] = {}
        for position, question in enumerate(self.questions):
            if question.rubric.asks == "relevance" and question.query_id and question.document_id:
                pair = (question.query_id, question.document_id)
                positions.setdefault(pair, []).append(position)
        labels = self.store.labels(list(dict.fromkeys(query for query, _ in positions)))
        found: dict[int, Judgement] = {}
        for pair, grade in labels.items():
            for position in positions.get(pair, ()):
                top = self.questions[position].rubric.top
                if grade > top:
                    raise DataError(
                        f"{self.judge.store}: the imported label {grade} of query {pair[0]!r}, "
                        f"document {pair[1]!r} is not on the rubric's scale of 0 to {top}"
                    )
                found[position] = Judgement(
                    self.keys[position], grade=max(0, grade), source="human"
                )
        # A question that is asked for labelled documents only needs no judge.
        needed = {key for at, key in enumerate(self.keys) if at not in found}
        self.asked = {key: asked for key, asked in self.asked.items() if key in needed}
        self.counts["distinct"] = len(self.asked)
        return found

    def _pairs(self) -> Iterator[tuple[str, str, str]]:
        for key, question in zip(self.keys, self.questions, strict=True):
            if question.query_id is not None and key in self.asked:
                document = question.document_id or f"text-{key_of(question.document)[:16]}"
                yield key, question.query_id, document

    def _take_stored(self, key: str, attempt: Attempt) -> bool:
        """Use what the store has, unless it is a failure that is to be asked again."""
        if attempt.failure is not None:
            again = self.judge.ask_again
            if again == "all" or (again == "transient" and attempt.failure not in SETTLED):
                return False
        if attempt.model or attempt.fingerprint:
            self.served[attempt.model, attempt.fingerprint] += 1
        self.done[key] = Judgement(
            key,
            grade=attempt.grade,
            reason=attempt.reason,
            failure=attempt.failure,  # type: ignore[arg-type]  # only these kinds are stored
            detail=attempt.detail,
            source="human" if attempt.source == "human" else "store",
        )
        return True

    def _plan(self, todo: Sequence[str]) -> None:
        for key in todo:
            question, _ = self.asked[key]
            self.counts["planned_calls"] += 1
            self.counts["planned_prompt_tokens"] += about_tokens(messages(question, key))
            self.counts["planned_completion_tokens"] += _ABOUT_OUTPUT
            self.done[key] = Judgement(key, failure="not_asked", detail="a dry run")

    # -- asking ------------------------------------------------------------------------------

    async def _ask_all(self, todo: Sequence[str]) -> None:
        if not todo:
            return
        keys = iter(todo)
        with _progress(self.judge, len(todo)) as advance:

            async def work() -> None:
                for key in keys:
                    self.done[key] = await self._joined(key)
                    advance()

            workers = [
                asyncio.create_task(work()) for _ in range(min(self.judge.concurrency, len(todo)))
            ]
            try:
                await asyncio.gather(*workers)
            finally:
                for worker in workers:
                    worker.cancel()
                await asyncio.gather(*workers, return_exceptions=True)
                self._commit()
                close = getattr(self.judge.client, "aclose", None)
                if close is not None:
                    await close()

    async def _joined(self, key: str) -> Judgement:
        """Ask, or wait for somebody else who is asking the same."""
        flight, mine = self.judge._flights.board(key)
        if not mine:
            found = await asyncio.wrap_future(flight)
            if found is not None:
                self.counts["joined"] += 1
                return found
            return await self._joined(key)  # the other one was broken off
        found = None
        try:
            found = await self._ask(key)
        finally:
            self.judge._flights.land(key, found)
        return found

    async def _ask(self, key: str) -> Judgement:
        judge = self.judge
        question, _ = self.asked[key]
        if self._asked_elsewhere(key):
            self.counts["stored"] += 1
            return self.done[key]
        request = Request(messages(question, key), schema(question.rubric), judge.timeout)
        for attempt in range(1, judge.attempts + 1):
            room = None if self.over_budget else judge.ledger.reserve(request.messages)
            if room is None:
                self.over_budget = True
                return Judgement(key, failure="not_asked", detail="the budget is used up")
            answer, seconds = await self._once(request, room)
            if attempt > 1:
                self.counts["retries"] += 1
            row = _row(key, answer, question.rubric, seconds)
            self._keep(row)
            if isinstance(answer, Failure) and answer.fatal:
                raise JudgingError(
                    f"judge: {answer.detail}. Every further question would fail the same way, so "
                    f"judging stopped; what was judged is in {judge.store}"
                )
            again = isinstance(answer, Failure) and answer.again and attempt < judge.attempts
            if not again:
                break
            assert isinstance(answer, Failure)
            wait = _wait(key, attempt, answer.retry_after)
            if wait > _LONGEST_WAIT:
                break
            if answer.kind == "rate_limit":
                judge._gate.pause(wait)
            await judge.sleep(wait)
        if row.model or row.fingerprint:
            self.served[row.model, row.fingerprint] += 1
        return Judgement(
            key,
            grade=row.grade,
            reason=row.reason,
            failure=row.failure,  # type: ignore[arg-type]  # a FailureKind, as the row's column
            detail=row.detail,
        )

    def _keep(self, row: Attempt) -> None:
        """Commit an attempt, together with those that arrive in the next few milliseconds."""
        if self.write_error is not None:  # what cannot be kept is not asked for
            raise self.write_error
        self.rows.append(row)
        if len(self.rows) == 1:
            asyncio.get_running_loop().call_later(_TOGETHER, self._commit_soon)

    def _commit_soon(self) -> None:
        try:
            self._commit()
        except sqlite3.Error as error:  # nobody waits for this call, so the next answer tells
            self.write_error = error

    def _commit(self) -> None:
        if self.rows:
            self.store.add(self.rows)
            self.rows = []

    def _asked_elsewhere(self, key: str) -> bool:
        """Whether another process has got this judgement meanwhile."""
        if self.store.changed_by_others():
            self.others_write = True
        if not self.others_write:
            return False
        stored = self.store.settled([key]).get(key)
        return stored is not None and stored.grade is not None and self._take_stored(key, stored)

    async def _once(self, request: Request, room: Reservation) -> tuple[Answer | Failure, float]:
        judge = self.judge
        sent = False
        try:
            await judge._gate.pass_through()
            started = time.perf_counter()
            sent = True
            try:
                async with asyncio.timeout(judge.timeout + _GRACE):
                    answer = await judge.client.ask(request)
            except TimeoutError:
                answer = Failure("timeout", f"no answer in {judge.timeout:g} s", again=True)
            seconds = time.perf_counter() - started
        except BaseException:
            if sent:
                judge.ledger.settle(room, Usage())
                self.counts.update(calls=1, calls_without_usage=1)
            else:
                judge.ledger.release(room)
            raise
        judge.ledger.settle(room, answer.usage)
        self._count(answer.usage)
        return answer, seconds

    def _count(self, usage: Usage) -> None:
        from kragx.judging.ledger import usage_counts

        for name, count in usage_counts(usage).items():
            self.counts[name] += count

    # -- after asking ------------------------------------------------------------------------

    def _report_changes(self) -> None:
        models = {model for model, _ in self.served if model}
        prints = {fingerprint for _, fingerprint in self.served if fingerprint}
        changed = [
            f"{what} ({', '.join(sorted(found))})"
            for what, found in (("models", models), ("system fingerprints", prints))
            if len(found) > 1
        ]
        self.counts["served_models"] = len(models)
        self.counts["served_fingerprints"] = len(prints)
        if changed:
            warnings.warn(
                f"{self.judge.model!r} was served by different {' and '.join(changed)}: the stored "
                "and the new grades may not be alike; another 'repeat' asks everything anew "
                "(see: kragx judgements stats)",
                JudgeWarning,
                stacklevel=2,
            )


def _row(key: str, answer: Answer | Failure, rubric: Rubric, seconds: float) -> Attempt:
    usage = answer.usage
    grade: int | None = None
    reason: str | None = None
    kind: FailureKind | None = None
    detail: str | None = None
    if isinstance(answer, Failure):
        kind, detail = answer.kind, answer.detail
    else:
        read = read_answer(answer.text, rubric)
        if isinstance(read, Graded):
            grade, reason = read.grade, read.reason
        else:
            kind, detail = read.kind, read.detail
    return Attempt(
        key=key,
        uid=new_uid(),
        at=now(),
        grade=grade,
        reason=reason,
        failure=kind,
        detail=detail,
        raw=answer.text,
        prompt_tokens=usage.prompt,
        completion_tokens=usage.completion,
        cached_tokens=usage.cached,
        reasoning_tokens=usage.reasoning,
        seconds=round(seconds, 4),
        model=answer.model,
        fingerprint=answer.fingerprint,
    )


def _wait(key: str, attempt: int, retry_after: float | None) -> float:
    """Seconds before the next attempt: what the server says, else doubling, never in step."""
    spread = random.Random(f"{key}{attempt}").random()
    if retry_after is not None:
        return retry_after + 0.1 * spread
    return float(min(60.0, _FIRST_WAIT * 2 ** (attempt - 1)) * (0.5 + 0.5 * spread))


class _Gate:
    """When the next request may start: `rpm` apart, and not while the server wants a pause."""

    def __init__(self, judge: Judge) -> None:
        self._clock, self._sleep = judge.clock, judge.sleep
        self._interval = 0.0 if judge.rpm is None else 60.0 / judge.rpm
        self._next = float("-inf")
        self._paused_until = float("-inf")
        self._lock = threading.Lock()

    async def pass_through(self) -> None:
        """Wait for one's turn."""
        while True:
            with self._lock:
                now_ = self._clock()
                start = max(now_, self._paused_until, self._next)
                if start <= now_:
                    self._next = now_ + self._interval
                    return
                if self._paused_until <= now_ and self._interval:
                    self._next = start + self._interval  # this turn is taken
                    wait, mine = start - now_, True
                else:
                    wait, mine = start - now_, False
            await self._sleep(wait)
            if mine:
                return

    def pause(self, seconds: float) -> None:
        """Let nothing start for so long."""
        with self._lock:
            self._paused_until = max(self._paused_until, self._clock() + seconds)


class _Flights:
    """Who is asking which key right now, in whichever thread or event loop."""

    def __init__(self) -> None:
        self._flights: dict[str, Future[Judgement | None]] = {}
        self._lock = threading.Lock()

    def board(self, key: str) -> tuple[Future[Judgement | None], bool]:
        """The flight of a key, and whether it is the caller who must fly it."""
        with self._lock:
            if key in self._flights:
                return self._flights[key], False
            self._flights[key] = Future()
            return self._flights[key], True

    def land(self, key: str, judgement: Judgement | None) -> None:
        """Tell everybody aboard; None if the flight was broken off."""
        with self._lock:
            flight = self._flights.pop(key)
        flight.set_result(judgement)


def run_sync(make: Callable[[], Coroutine[Any, Any, _Result]]) -> _Result:
    """Run a coroutine to its end, in a thread of its own if an event loop is running here."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(make())
    running: dict[str, Any] = {}
    started = threading.Event()

    async def known() -> _Result:
        running["task"], running["loop"] = asyncio.current_task(), asyncio.get_running_loop()
        started.set()
        return await make()

    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(asyncio.run, known())
        try:
            return future.result()
        except KeyboardInterrupt:
            # The interrupt reaches this thread only; without this the other would go on asking.
            started.wait(1.0)
            with suppress(KeyError, RuntimeError):
                running["loop"].call_soon_threadsafe(running["task"].cancel)
            raise


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _spent(judge: Judge) -> str:
    cost = cost_of(judge.ledger.counts, judge.price)
    return "" if cost is None else f" and {cost:.4f} {judge.currency}"


@contextmanager
def _progress(judge: Judge, total: int) -> Iterator[Callable[[], None]]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    console = Console(stderr=True)
    wanted = judge.progress
    shown = (console.is_terminal or console.is_jupyter) if wanted is None else wanted
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[spent]}", markup=False),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, disable=not shown, transient=True) as bar:
        task = bar.add_task(f"judging with {judge.model}", total=total, spent="")

        def advance() -> None:
            if shown:
                bar.update(task, advance=1, spent=_spent(judge).removeprefix(" and "))

        yield advance


__all__ = [
    "DEFAULT_STORE",
    "Budget",
    "Judge",
    "JudgeWarning",
    "Judged",
    "run_sync",
]
