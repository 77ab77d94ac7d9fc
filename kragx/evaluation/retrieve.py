"""Ask any retriever all the questions of a gold set, and keep what it says and how long it took."""

import asyncio
import sys
import time
import warnings
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import cycle, islice
from statistics import median
from typing import Any, TypeVar

from kragx.data import (
    GoldDataset,
    Query,
    Retrieved,
    Run,
    Search,
    Stage,
    SurrogateRepair,
    as_corpus,
    read_dataset,
)
from kragx.data.gold import numbered
from kragx.data.runs import answer_of
from kragx.data.search_records import searches_of
from kragx.evaluation.answers import Asking, collected, is_reply, reason_of
from kragx.evaluation.calls.call import CallRecording, searches_beside, stages_of
from kragx.evaluation.calls.recorder import LOST, at_work, recorded
from kragx.evaluation.copies import warn_of_copies
from kragx.evaluation.retriever_adapters import HISTORY, Adapter, adapted, in_thread
from kragx.ground.caller_warnings import outside
from kragx.ground.errors import DataError, MissingExtraError, RetrieverError, UsageError
from kragx.ground.event_loop import run_sync
from kragx.ground.plugins import check_arguments
from kragx.ground.printing import message, progress_bar, visible

FIRST_PAUSE = 0.5
"""Seconds before the first retry."""

_CALLBACKS = "langchain_core.callbacks"
_LONGEST_PAUSE = 8.0
_LONGEST_REASON = 2000


def retrieve(
    retriever: Any,
    dataset: object,
    *,
    name: str | None = None,
    progress: bool | None = None,
    corpus: object = None,
    **asking: Any,
) -> Run:
    """Ask a retriever every question of a gold set.

    Args:
        retriever: a LangChain `BaseRetriever` or runnable, or a function from a question to a
            ranked list of documents; synchronous or asynchronous.
        dataset: the questions: a gold set, as for `evaluate`; or texts, by id or in a list.
        name: names the run; default: the retriever's own name or class.
        progress: whether to show a progress bar; None for only on a terminal or in a notebook.
        corpus: has the texts of documents that the retriever names by id alone, as for `evaluate`;
            an id that it lacks stays without.
        asking: the fields of `Asking`: concurrency (1), timeout, retries, on_error, warmup, repeat,
            runs, callbacks, text, id, score and others.

    Returns:
        A run in which a question that raised, or was answered with something that is no list of
        documents, is failed, with the reason. Works inside a running event loop as well.

    Raises:
        UsageError: `retriever` cannot be asked, or an extra of kragx that it needs is missing.
        DataError: a query has no text.
        RetrieverError: one failed, and on_error is ``stop``.

    Examples:
        >>> from kragx import GoldDataset, retrieve
        >>> gold = GoldDataset.from_documents([["Seoul"]], queries=["Which city is the capital?"])
        >>> run = retrieve(lambda question: ["Busan", "Seoul"], gold, name="guess", progress=False)
        >>> [doc.text for doc in run.results["q1"].documents]
        ['Busan', 'Seoul']
    """
    gold, corpus_texts = _questions(dataset), as_corpus(corpus)  # refused before anything is asked
    interview = _interview(retriever, gold, name, {"concurrency": 1, **asking})
    run = interview.done(lambda: interview.run(gold, progress))
    warn_of_copies(run.name, run.results)
    return corpus_texts.run(run)


async def aretrieve(
    retriever: Any,
    dataset: object,
    *,
    name: str | None = None,
    progress: bool | None = None,
    corpus: object = None,
    **asking: Any,
) -> Run:
    """`retrieve` for asynchronous code; a synchronous retriever is asked in threads.

    Unless told otherwise it asks 8 questions at once.

    Examples:
        >>> import asyncio
        >>> from kragx import GoldDataset, aretrieve
        >>> gold = GoldDataset.from_documents([["Seoul"]], queries=["Which city is the capital?"])
        >>> async def guess(question):
        ...     return ["Busan", "Seoul"]
        >>> run = asyncio.run(aretrieve(guess, gold, progress=False))
        >>> len(run.results["q1"].documents)
        2
    """
    gold, corpus_texts = _questions(dataset), as_corpus(corpus)
    interview = _interview(retriever, gold, name, {"concurrency": 8, **asking}, awaits=True)
    run = await interview.run(gold, progress)
    warn_of_copies(run.name, run.results)
    return corpus_texts.run(run)


def _questions(dataset: object) -> GoldDataset:
    if isinstance(dataset, (list, tuple, Mapping)) and dataset:
        by_id = numbered(dataset)
        kinds = {type(question) for _, question in by_id}
        if kinds == {str}:
            return GoldDataset.from_documents(dict.fromkeys(dict(by_id), ()), dataset)
        if kinds == {Query}:
            return GoldDataset(tuple(query for _, query in by_id))
    return read_dataset(dataset)


_Result = TypeVar("_Result")


@dataclass
class _Interview:
    """Questions put to one retriever.

    It is written once, as coroutines; those of a retriever that is asked in the caller's thread
    await nothing, and need no event loop (`done`).

    Attributes:
        retriever: which.
        name: of the run.
        asking: how it is asked.
        in_threads: whether calls block threads of their own; else the caller's, without a timeout.
        awaits: whether it is awaited. LangChain makes a retriever that can only be awaited have an
            `invoke` as well, and so has a chain with one in it: that shows when it is called.
        has_answered: whether it has without being awaited; then what it has not implemented for
            one question fails that question.
        silent: the ids of questions that were answered without documents, and without a search.
        failed: by the ids of questions that failed, the searches if it is somebody who searches.
        has_searched: whether searches were made for any question.
    """

    retriever: Adapter
    name: str
    asking: Asking
    in_threads: bool
    awaits: bool
    has_answered: bool = False
    silent: set[str] = field(default_factory=set)
    failed: dict[str, tuple[Search, ...]] = field(default_factory=dict)
    has_searched: bool = False

    def done(self, work: Callable[[], Coroutine[Any, Any, _Result]]) -> _Result:
        """What a coroutine gives at its end."""
        if self.in_threads:
            return run_sync(work)
        try:
            work().send(None)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
        raise AssertionError("it awaits something")

    async def run(self, dataset: GoldDataset, progress: bool | None) -> Run:
        """Ask everything, as often as is said."""
        numbers = range(self.asking.runs)
        return Run.repeated([await self.once(dataset, progress, number) for number in numbers])

    async def once(self, dataset: GoldDataset, progress: bool | None, number: int) -> Run:
        """Ask everything: the answers stand in the order of the questions.

        Args:
            dataset: the questions.
            progress: as of `retrieve`.
            number: how often everything was asked before.
        """
        asking, n_replaced = self.asking, 0
        known = asking.known[number] if asking.known else {}
        answers = {query.id: known[query.id] for query in dataset if query.id in known}
        questions = [query for query in dataset if query.id not in known]
        for query in islice(cycle(dataset), asking.warmup if questions and not number else 0):
            await self.attempt(query, SurrogateRepair())
        title = message(
            "asking {name}" if asking.runs == 1 else "asking {name}, time {n} of {of}",
            name=self.name,
            n=number + 1,
            of=asking.runs,
        )
        waiting = iter(questions)
        with progress_bar(title, len(dataset), progress) as advance:
            for _ in answers:
                advance()

            async def work() -> None:
                nonlocal n_replaced
                # One iterator for all: each worker takes the next question once it is done with its
                # last.
                for query in waiting:
                    answers[query.id], n = await self.answer(query)
                    n_replaced += n
                    if asking.on_answer:
                        asking.on_answer[number](query, answers[query.id])
                    advance()

            if asking.concurrency == 1:
                await work()
            else:
                try:
                    async with asyncio.TaskGroup() as group:
                        for _ in range(min(asking.concurrency, len(questions))):
                            group.create_task(work())
                except BaseExceptionGroup as errors:
                    # The error itself, as where one question is asked at a time.
                    raise errors.exceptions[0] from None
        self._settle(answers)
        return Run(
            # The order is that of the questions, whichever answer comes first.
            {query.id: answers[query.id] for query in dataset},
            name=self.name,
            settings={**self.retriever.settings, **asking.settings},
            n_replaced_surrogates=n_replaced,
        )

    def _settle(self, answers: dict[str, Retrieved]) -> None:
        """Say of questions what shows once all are asked: whether somebody searches for them."""
        failed = {query_id for query_id, answer in answers.items() if answer.error is not None}
        if any(not answer.has_list for answer in answers.values()):
            for query_id in self.failed.keys() & failed:
                answers[query_id] = replace(answers[query_id], searches=self.failed[query_id])
        self.has_searched |= any(answer.searches for answer in answers.values())
        for query_id in self.silent & failed if self.has_searched else ():
            # Somebody who searches found nothing where no search was made.
            answers[query_id] = Retrieved(seconds=answers[query_id].seconds, has_list=False)

    async def answer(self, query: Query) -> tuple[Retrieved, int]:
        """The first answer of those to a question, with their median time.

        Beside it stands how many lone surrogates were replaced in all of them.
        """
        repair = SurrogateRepair()
        attempts = [await self.attempt(query, repair) for _ in range(self.asking.repeat)]
        answered = [attempt for attempt in attempts if attempt.error is None] or attempts
        retrieved = answered[0]
        if retrieved.error is not None and self.asking.on_error == "stop":
            raise RetrieverError(
                "query {id!r}: {name} failed: {error}",
                remedy="on_error: record would count the failure and go on",
                id=query.id,
                name=self.name,
                error=retrieved.error,
            )
        seconds = median(attempt.seconds or 0.0 for attempt in answered)
        return replace(retrieved, seconds=seconds), repair.surrogates

    async def attempt(self, query: Query, repair: SurrogateRepair) -> Retrieved:
        """Ask once, and again after errors as often as is allowed."""
        retrieved, before = Retrieved(error="not asked"), 0.0
        for attempt in range(self.asking.retries + 1):
            if attempt:
                pause = min(FIRST_PAUSE * 2.0 ** (attempt - 1), _LONGEST_PAUSE)
                await asyncio.sleep(pause) if self.in_threads else time.sleep(pause)
            started, is_awaited = time.perf_counter(), self.awaits
            recording = CallRecording()
            # LangChain is loaded where somebody uses it.
            listens = self.asking.stages or self.retriever.is_runnable or _CALLBACKS in sys.modules
            try:
                with recorded(recording, listens=listens):
                    answer, took = await self._ask(query)
            except MissingExtraError:
                raise  # no single query's failure: the retriever cannot work at all
            # Whatever else a user's retriever raises is that query's; so is an attempt to exit.
            except BaseException as error:
                if self._is_ended(error):
                    raise
                may_await = not self.has_answered and self.retriever.ainvoke is not None
                if isinstance(error, NotImplementedError) and not is_awaited and may_await:
                    self.awaits = True
                    return await self.attempt(query, repair)
                before += time.perf_counter() - started
                heard = partial(self._heard, recording)
                retrieved = heard(repair, seconds=before, error=reason_of(error))
                # If others are answered with no list, its retrievers were searches.
                self.failed[query.id] = heard(SurrogateRepair(), has_list=False).searches
            else:
                # Whoever asks waits for every attempt.
                return self._answered(answer, query, before + took, recording, repair)
        return retrieved

    async def _ask(self, query: Query) -> tuple[Any, float]:
        """What the retriever answers to a question, put as it takes it, and in how many seconds.

        Raises:
            TimeoutError: it did not answer in time.
            BaseException: what it raises.
        """
        history = [turn.to_dict() for turn in query.history]
        options = self.retriever.options(self.asking.callbacks)
        question: Any = query.text
        if self.asking.input is not None:
            values = {"query": query.text, "history": history}
            question = {name: values[kind] for name, kind in self.asking.input.items()}
        elif self.retriever.takes_history:
            options[HISTORY] = history
        awaited = partial(self._awaited, question, options)
        blocking = partial(self._blocking, question, options)
        if not self.in_threads:
            return run_sync(awaited) if self.awaits else blocking()
        try:
            async with asyncio.timeout(self.asking.timeout) as limit:
                return await (awaited() if self.awaits else in_thread(blocking))
        except TimeoutError:
            if limit.expired():
                raise TimeoutError(f"no answer within {self.asking.timeout:g} s") from None
            raise  # the retriever's own

    def _blocking(self, question: Any, options: Mapping[str, Any]) -> tuple[Any, float]:
        assert self.retriever.invoke is not None  # else it is awaited
        started = time.perf_counter()  # here, as a thread's answer waits for the event loop
        with at_work():  # what a generator does is part of answering
            answer = collected(self.retriever.invoke(question, **options))
        self.has_answered = True
        return answer, time.perf_counter() - started

    async def _awaited(self, question: Any, options: Mapping[str, Any]) -> tuple[Any, float]:
        assert self.retriever.ainvoke is not None  # else it blocks
        started = time.perf_counter()
        answer = self.retriever.ainvoke(question, **options)
        if isinstance(answer, AsyncIterator):
            answer = [document async for document in answer]
        else:
            answer = collected(await answer)
        return answer, time.perf_counter() - started

    def _is_ended(self, error: BaseException) -> bool:
        """Whether somebody ends the evaluation: by an interrupt, or by cancelling its task."""
        has_task = self.in_threads
        if has_task and isinstance(error, asyncio.CancelledError):
            task = asyncio.current_task()
            return task is None or task.cancelling() > 0
        return isinstance(error, KeyboardInterrupt) or (
            has_task and isinstance(error, GeneratorExit)
        )

    def _answered(
        self,
        answer: Any,
        query: Query,
        seconds: float,
        recording: CallRecording,
        repair: SurrogateRepair,
    ) -> Retrieved:
        """What a question got that was answered: documents, or what was searched for it."""
        heard = partial(self._heard, recording, repair, seconds=seconds)
        try:
            searches = None if self.asking.paths else searches_of(answer, repair)
            if searches is not None:  # it says itself what was searched for
                return self._told(replace(answer_of(searches), seconds=seconds), recording, repair)
            if recording.has_lost:
                raise DataError(LOST)
            try:
                documents = self.asking.read(answer, repair)
            except DataError:
                if not is_reply(answer):
                    raise
                retrieved = heard(has_list=False)
                if retrieved.searches:
                    return retrieved
                self.silent.add(query.id)
                raise
        except DataError as error:
            return heard(error=reason_of(error))
        return replace(heard(), documents=documents)

    def _heard(
        self,
        recording: CallRecording,
        repair: SurrogateRepair,
        *,
        has_list: bool = True,
        **fields: Any,
    ) -> Retrieved:
        """What a question got but documents, as far as it was heard while it was asked.

        Args:
            recording: of what was called.
            repair: mends what is said of failures.
            has_list: whether it was answered with a list.
            fields: the others of `Retrieved`.
        """
        name = self.retriever.name if self.retriever.is_runnable else None
        searches = searches_beside(recording.calls, has_list=has_list, name=name)
        answer = Retrieved(searches=searches, has_list=has_list, **fields)
        return self._told(answer, recording, repair)

    def _told(
        self, answer: Retrieved, recording: CallRecording, repair: SurrogateRepair
    ) -> Retrieved:
        """The same with its stages, and the reasons of failures as everybody may read them."""
        stages = stages_of(recording.calls) if self.asking.stages else ()
        if answer.error is None and not (stages or answer.searches):
            return answer

        def reason(error: str | None) -> str | None:
            text = None if error is None else self.asking.mask(repair.text(error))
            if text is None or len(text) <= _LONGEST_REASON:
                return text
            # A whole page, as servers send it.
            return f"{text[:_LONGEST_REASON]}... ({len(text)} characters)"

        def masked(stages: Sequence[Stage]) -> tuple[Stage, ...]:
            return tuple(replace(stage, error=reason(stage.error)) for stage in stages)

        searches = (
            replace(
                search,
                query=search.query and repair.text(search.query),
                error=reason(search.error),
                stages=masked(search.stages),
            )
            for search in answer.searches
        )
        return replace(
            answer,
            error=reason(answer.error),
            stages=masked(stages),
            searches=tuple(searches),
        )


def _interview(
    retriever: Any,
    dataset: GoldDataset,
    name: str | None,
    options: Mapping[str, Any],
    *,
    awaits: bool = False,
) -> _Interview:
    """How a retriever is asked, with options as for `retrieve`, and awaited also where it need not.

    One question at a time is asked in the caller's thread, which some indexes insist on, where that
    can be. Where a history goes unheard is warned of.

    Raises:
        UsageError: it cannot be asked, or not so.
        DataError: a question has no text.
    """
    check_arguments(Asking, options, "retrieve")
    for query in dataset:
        if not query.text:
            raise DataError(
                "query {id!r} has no text to ask a retriever; add 'query' to the gold file, or "
                "pass GoldDataset.from_documents(gold, queries=[...]) of kragx",
                id=query.id,
            )
    asking, adapter = Asking(**options), adapted(retriever)
    adapter.options(asking.callbacks)  # refused before anything is asked
    if asking.input is not None and not adapter.is_runnable:
        raise UsageError(
            "{name} is a function, which takes the question, and with a "
            "parameter 'history' what was said before",
            field="input",
            remedy="leave it out, or wrap the function into a RunnableLambda",
            name=adapter.name,
        )
    n = sum(bool(query.history) for query in dataset)
    if n and not (adapter.takes_history or "history" in (asking.input or {}).values()):
        warnings.warn(
            message(
                "{name} is asked without the history that {n} of {of} questions have; a runnable "
                "gets it by 'input' ({{input: query, chat_history: history}}), a function by a "
                "parameter 'history', a server by a text \"{{history}}\" in its json",
                name=visible(name or adapter.name),
                n=n,
                of=len(dataset),
            ),
            HistoryWarning,
            stacklevel=outside(),
        )
    is_awaited = adapter.invoke is None or (awaits and adapter.ainvoke is not None)
    blocks = asking.concurrency == 1 and asking.timeout is None and not (awaits or is_awaited)
    return _Interview(adapter, name or adapter.name, asking, not blocks, is_awaited)


class HistoryWarning(UserWarning):
    """Questions have earlier turns, and a retriever does not get them."""
