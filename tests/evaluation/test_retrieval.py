"""Asking retrievers of every kind, and what becomes of a question that fails."""

from __future__ import annotations

import asyncio
import gc
import sqlite3
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda
from pydantic import Field

from kragx import (
    DataError,
    Doc,
    GoldDataset,
    RetrieverError,
    Run,
    UsageError,
    aevaluate,
    aretrieve,
    evaluate,
    retrieve,
    write_gold,
)
from tests.thoroughness import all_cases, some

ANSWERS = {
    "가장 긴 강은?": ["압록강이 가장 길다", "한강은 서울을 지난다"],
    "가장 높은 산은?": ["백두산이 가장 높다"],
    "가장 큰 섬은?": ["거제도는 둘째로 크다", "제주도가 가장 크다"],
}
QUESTIONS = list(ANSWERS)
DATASET = GoldDataset.from_documents(
    [["압록강이 가장 길다"], ["백두산이 가장 높다"], ["제주도가 가장 크다"]], queries=QUESTIONS
)


def documents(question: str) -> list[Document]:
    """The answer to one question."""
    return [Document(page_content=text) for text in ANSWERS[question]]


async def adocuments(question: str) -> list[Document]:
    """The same, asynchronously."""
    await asyncio.sleep(0)
    return documents(question)


class Native(BaseRetriever):
    """A LangChain retriever."""

    def _get_relevant_documents(self, query: str, *, run_manager: object) -> list[Document]:
        return documents(query)


class NativeAsync(Native):
    """A LangChain retriever with an asynchronous side of its own."""

    async def _aget_relevant_documents(self, query: str, *, run_manager: object) -> list[Document]:
        return await adocuments(query)


class Callable1:
    """An object that is called as a function is."""

    def __call__(self, question: str) -> list[Document]:
        """The answer to one question."""
        return documents(question)

    async def aask(self, question: str) -> list[Document]:
        """The same, asynchronously, as a method."""
        return await adocuments(question)


class AsyncCallable:
    """An object whose call must be awaited."""

    async def __call__(self, question: str) -> list[Document]:
        """The answer to one question."""
        return await adocuments(question)


class OnlyAinvoke:
    """An object that has only the asynchronous half of a runnable."""

    async def ainvoke(self, question: str) -> list[Document]:
        """The answer to one question."""
        return await adocuments(question)


def prefixed(prefix: str, question: str) -> list[Document]:
    """A function that needs another argument first."""
    return documents(question) if prefix == "ok" else []


RETRIEVERS = {
    "retriever": Native(),
    "retriever with async side": NativeAsync(),
    "runnable": RunnableLambda(documents),
    "runnable of both": RunnableLambda(documents, afunc=adocuments),
    "asynchronous runnable": RunnableLambda(adocuments),
    "chain": RunnableLambda(str.strip) | RunnableLambda(documents),
    "function": documents,
    "asynchronous function": adocuments,
    "lambda": lambda question: documents(question),  # noqa: PLW0108  # a lambda is meant
    "partial": partial(prefixed, "ok"),
    "object": Callable1(),
    "method": Callable1().aask,
    "asynchronous object": AsyncCallable(),
    "object with ainvoke": OnlyAinvoke(),
    "texts": lambda question: ANSWERS[question],
    "mappings": lambda question: [{"text": text} for text in ANSWERS[question]],
    "tuple": lambda question: tuple(ANSWERS[question]),
}
every_kind = pytest.mark.parametrize("retriever", RETRIEVERS.values(), ids=RETRIEVERS)


def ask_in_a_loop(retriever: object, dataset: GoldDataset = DATASET, **options: object) -> Run:
    """What `aretrieve` gives, for tests without a loop."""
    return asyncio.run(aretrieve(retriever, dataset, **options))


def ask_inside_a_loop(retriever: object, dataset: GoldDataset = DATASET, **options: object) -> Run:
    """What `retrieve` gives where a loop is running already, as in a notebook."""

    async def cell() -> Run:
        return retrieve(retriever, dataset, **options)

    return asyncio.run(cell())


every_way = pytest.mark.parametrize("ask", [retrieve, ask_in_a_loop, ask_inside_a_loop])


def by_text(run: Run) -> dict[str, list[str | None]]:
    """The texts that each query got."""
    return {query_id: [doc.text for doc in run[query_id].documents] for query_id in run}


EXPECTED = {f"q{at}": answer for at, answer in enumerate(ANSWERS.values(), start=1)}


@every_way
@every_kind
def test_any_retriever_can_be_asked(retriever: object, ask: Callable[..., Run]) -> None:
    """Every kind of retriever gives the same run, synchronously, in a loop and inside one."""
    run = ask(retriever, DATASET)
    assert [run[query].error for query in run] == [None] * 3
    assert by_text(run) == EXPECTED


@every_way
def test_questions_come_as_gold_sets_do(ask: Callable[..., Run], tmp_path: Path) -> None:
    """A gold set as it is or as a file, or questions alone, by id or named q1, q2, ..."""
    gold = GoldDataset.from_documents([["Seoul"], ["Busan"]], queries=["Where?", "And then?"])
    write_gold(gold, tmp_path / "gold.jsonl")
    texts_alone = ["Where?", "And then?"]
    by_id = dict(zip(("q1", "q2"), texts_alone))
    queries_by_id = {query.id: query for query in gold}
    for dataset in (gold, tmp_path / "gold.jsonl", [*gold], texts_alone, by_id, queries_by_id):
        run = ask(lambda question: [question], dataset, progress=False)
        texts = {name: answer.documents[0].text for name, answer in run.results.items()}
        assert texts == {"q1": "Where?", "q2": "And then?"}
    with pytest.raises(DataError, match="query 'q1' has no text to ask a retriever"):
        ask(lambda question: [question], [["Seoul"]])


@every_way
def test_each_question_is_timed(ask: Callable[..., Run]) -> None:
    """Every query has its seconds, one that failed included."""

    def first_fails(question: str) -> list[Document]:
        if question == QUESTIONS[0]:
            raise ValueError("no index")
        return documents(question)

    run = ask(first_fails, DATASET)
    assert all(found.seconds is not None and found.seconds >= 0 for found in run.results.values())


@every_way
@pytest.mark.parametrize("is_async", [False, True])
def test_a_question_that_raises_is_failed_with_its_reason(
    ask: Callable[..., Run], is_async: bool
) -> None:
    """One question's failure keeps its reason and does not stop the others."""

    def ask_index(question: str) -> list[Document]:
        if question == QUESTIONS[1]:
            raise TimeoutError("색인이 30초 안에 답하지 않음")
        return documents(question)

    async def aask_index(question: str) -> list[Document]:
        return ask_index(question)

    run = ask(aask_index if is_async else ask_index, DATASET)
    assert run["q2"].error == "TimeoutError: 색인이 30초 안에 답하지 않음"
    assert run["q2"].documents == ()
    assert by_text(run) == EXPECTED | {"q2": []}


@every_way
def test_a_retriever_that_exits_is_failed(ask: Callable[..., Run]) -> None:
    """A retriever that ends the program ends one question, not the evaluation with a 0."""

    def leave(question: str) -> list[str]:
        sys.exit(0)

    assert {answer.error for answer in ask(leave, DATASET).results.values()} == {"SystemExit: 0"}


class Own(BaseException):
    """An error that is no `Exception`."""


@every_way
@pytest.mark.parametrize("error", [GeneratorExit("g"), asyncio.CancelledError("c"), Own("own")])
@pytest.mark.parametrize("timeout", [None, 60.0])
def test_whatever_a_retriever_raises_is_that_questions_failure(
    ask: Callable[..., Run], error: BaseException, timeout: float | None
) -> None:
    """Whatever is no interrupt ends one question, not the evaluation."""

    def leave(question: str) -> list[Document]:
        if question == QUESTIONS[1]:
            raise error
        return documents(question)

    run = ask(leave, DATASET, timeout=timeout)
    assert str(run["q2"].error).endswith(f"{type(error).__name__}: {error}")
    assert by_text(run) == EXPECTED | {"q2": []}


@every_way
@pytest.mark.parametrize("error", [SystemExit(0), asyncio.CancelledError("c"), Own("own")])
def test_so_it_is_of_an_asynchronous_one(ask: Callable[..., Run], error: BaseException) -> None:
    """A retriever that is awaited and cancels itself, or exits, is failed as well."""

    async def leave(question: str) -> list[Document]:
        await asyncio.sleep(0)
        if question == QUESTIONS[1]:
            raise error
        return documents(question)

    run = ask(leave, DATASET, concurrency=2)
    assert run["q2"].error == f"{type(error).__name__}: {error}"
    assert by_text(run) == EXPECTED | {"q2": []}


def test_a_cancelled_evaluation_stays_cancelled() -> None:
    """Who cancels the task that asks means the task, not a question."""

    async def slow(question: str) -> list[Document]:
        await asyncio.sleep(60)
        return documents(question)

    async def cancelled() -> None:
        task = asyncio.create_task(aretrieve(slow, DATASET))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())


def test_an_interrupt_is_no_failure() -> None:
    """Ctrl-C ends the evaluation wherever it comes."""

    def interrupted(question: str) -> list[Document]:
        raise KeyboardInterrupt

    for concurrency in (1, 2):
        with pytest.raises(KeyboardInterrupt):
            retrieve(interrupted, DATASET, concurrency=concurrency)


def test_failures_are_counted_and_score_nothing() -> None:
    """Failed questions are scored as empty lists and counted as failed, not as missing."""

    def ask(question: str) -> list[Document]:
        return [Document(page_content={QUESTIONS[0]: "압록강이 가장 길다"}[question])]

    result = evaluate(DATASET, ask, match="exact", metrics=["recall@1"])
    assert result["recall@1"] == pytest.approx(1 / 3)
    assert (result.counts["n_failed"], result.counts["n_missing"]) == (2, 0)


def broken(question: str) -> list[str]:
    """A retriever that never answers."""
    raise OSError("no index")


async def ask_aevaluate(retriever: object) -> object:
    """`aevaluate` of a retriever."""
    return await aevaluate(DATASET, retriever, match="exact")


@pytest.mark.parametrize(
    "evaluated",
    [
        lambda: evaluate(DATASET, broken, match="exact"),
        lambda: evaluate(DATASET, retrieve(broken, DATASET), match="exact"),
        lambda: asyncio.run(ask_aevaluate(broken)),
    ],
    ids=["retriever", "run", "awaited"],
)
def test_a_retriever_that_never_answers_is_no_result(evaluated: Callable[[], object]) -> None:
    """Where every question failed there are no zeros but an error with the first reason."""
    with pytest.raises(RetrieverError, match=r"broken failed on every question, 3 .*'q1': OSError"):
        evaluated()


@every_way
@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (None, "the retriever returned None; a list of documents is expected"),
        (
            "압록강",
            "the retriever returned str '압록강'; a list of documents is expected; in an agent",
        ),
        (b"text", "returned bytes b'text'"),
        (5, "returned int 5"),
        ({"압록강"}, "returned set {'압록강'}"),
        (Document(page_content="압록강"), "returned Document"),
        ({"context": "압록강"}, "one list in it must hold documents, but none does"),
        ({"context": [["압록강"]]}, "none does"),
        ({"context": ["압록강"], "topics": ["강"]}, "of 'context', 'topics' it is not clear which"),
        ({"context": [], "topics": ["강"]}, "it is not clear which"),
        ({"old": [Doc("a")], "new": [Doc("b")]}, "of 'old', 'new' it is not clear which"),
        ([None], "rank 1: None is not a document"),
        (["압록강", 5], "rank 2: int 5 is not a document"),
        ([["압록강", "한강"]], "rank 1: list ['압록강', '한강'] is not a document"),
        ([("압록강", True)], "rank 1: tuple ('압록강', True) is not a document"),
        ([("압록강", float("nan"))], "score: must be a number, not nan"),
        ([{"txt": "압록강"}], "perhaps you meant 'text'"),
        ([{"metadata": {}}], "needs 'id' or 'text'"),
        ([Doc(text=5)], "a text must be a string"),
    ],
    ids=repr,
)
def test_an_answer_that_is_no_list_of_documents_is_failed(
    ask: Callable[..., Run], answer: object, reason: str
) -> None:
    """A wrong answer is that question's failure, with a reason that says what it was."""
    run = ask(lambda question: answer if question == QUESTIONS[0] else documents(question), DATASET)
    assert run["q1"].error is not None
    assert run["q1"].error.startswith("DataError: ")
    assert reason in run["q1"].error
    assert by_text(run) == EXPECTED | {"q1": []}


class Tensor:
    """A number of a library's own, as a model's score is."""

    def __float__(self) -> float:
        return 0.25


RIVERS = [Document(page_content="압록강"), Document(page_content="한강")]


def one_by_one(question: str) -> Iterator[Document]:
    """The documents, yielded."""
    yield from RIVERS


async def aone_by_one(question: str) -> AsyncIterator[Document]:
    """The same, asynchronously."""
    for river in RIVERS:
        yield river


@every_way
@pytest.mark.parametrize(
    ("answer", "scores"),
    [
        ([(RIVERS[0], 0.9), (RIVERS[1], np.float32(0.5))], [0.9, 0.5]),
        ([("압록강", 2), ["한강", Tensor()]], [2, 0.25]),
        ([(RIVERS[0], None), {"text": "한강", "score": 7}], [None, 7]),
        (tuple(RIVERS), [None, None]),
        (np.array(["압록강", "한강"]), [None, None]),
        (dict(enumerate(RIVERS)).values(), [None, None]),
        ({"input": "?", "answer": "!", "context": RIVERS}, [None, None]),
        ({"context": [(river, 1) for river in RIVERS], "chat_history": [object()]}, [1, 1]),
        ({"documents": RIVERS, "ids": ["a", "b"], "notes": []}, [None, None]),
        ({"context": ["압록강", "한강"]}, [None, None]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_the_forms_of_an_answer(
    ask: Callable[..., Run], answer: object, scores: list[float | None]
) -> None:
    """Pairs of document and score, what can be gone through once, and chains' mappings are read."""
    one = GoldDataset.from_documents([["압록강"]], queries=["가장 긴 강은?"])
    retrieved = ask(lambda _: answer, one)["q1"]
    assert retrieved.error is None
    assert [doc.text for doc in retrieved.documents] == ["압록강", "한강"]
    assert [doc.score for doc in retrieved.documents] == scores


@every_way
@pytest.mark.parametrize("retriever", some([one_by_one, aone_by_one], 2))
def test_documents_that_are_yielded(ask: Callable[..., Run], retriever: object) -> None:
    """A generator is asked as a function is, and its time and errors are the question's."""
    assert set(map(tuple, by_text(ask(retriever, DATASET)).values())) == {("압록강", "한강")}

    def breaks(question: str) -> Iterator[Document]:
        yield RIVERS[0]
        raise ValueError("the index ends here")

    def hangs(question: str) -> Iterator[Document]:
        yield RIVERS[0]
        over.wait(60)

    over = threading.Event()
    assert ask(breaks, DATASET)["q1"].error == "ValueError: the index ends here"
    assert ask(hangs, DATASET, timeout=0.02)["q1"].error == "TimeoutError: no answer within 0.02 s"
    over.set()


@pytest.mark.parametrize(
    "answer", [{"context": []}, {"context": [], "history": []}, {"context": [], "log": [object()]}]
)
def test_a_mapping_with_an_empty_list_is_an_empty_answer(answer: object) -> None:
    """A chain that finds nothing has answered with nothing."""
    run = retrieve(lambda _: answer, DATASET)
    assert [(one.documents, one.error) for one in run.results.values()] == [((), None)] * 3


def test_an_answer_that_was_never_awaited() -> None:
    """A function that hands back a coroutine fails with what to do, and warns of nothing."""
    run = retrieve(lambda question: adocuments(question), DATASET)  # noqa: PLW0108  # not async
    assert "make the function async def" in str(run["q1"].error)


def test_lists_of_pairs_are_read_without_a_retriever() -> None:
    """What `similarity_search_with_score` gave can be evaluated as it is; gold has no scores."""
    pairs = [[("한강", 0.1), ("압록강", 0.9)]]
    assert evaluate([["압록강"]], pairs, match="exact", metrics=["mrr"])["mrr"] == 0.5
    with pytest.raises(DataError, match="is not a document"):
        evaluate(pairs, [["압록강"]], match="exact")


@every_way
def test_an_empty_answer_is_no_failure(ask: Callable[..., Run]) -> None:
    """A retriever that finds nothing answered with nothing."""
    run = ask(lambda _: [], DATASET)
    assert [(found.documents, found.error) for found in run.results.values()] == [((), None)] * 3


def test_a_function_that_runs_out_of_an_iterator_is_failed() -> None:
    """StopIteration out of a function is a failure as any other, in a loop as well."""

    def run_out(_: str) -> object:
        return next(iter([]))

    async def bounded() -> Run:  # a loop that never hears of it would wait for ever
        return await asyncio.wait_for(aretrieve(run_out, DATASET), timeout=60)

    for run in (retrieve(run_out, DATASET), asyncio.run(bounded())):
        assert all("StopIteration" in str(found.error) for found in run.results.values())


@pytest.mark.parametrize("ask", [retrieve, ask_in_a_loop])
def test_several_questions_are_asked_at_once_and_keep_their_order(ask: Callable[..., Run]) -> None:
    """With concurrency 3 three questions wait for one another, and the run keeps their order."""
    together = threading.Barrier(3)
    last_answered = threading.Event()

    def slow_first(question: str) -> list[Document]:
        together.wait(timeout=30)
        if question == QUESTIONS[-1]:
            last_answered.set()
        assert last_answered.wait(timeout=30)
        return documents(question)

    run = ask(slow_first, DATASET, concurrency=3)
    assert [found.error for found in run.results.values()] == [None] * 3
    assert list(by_text(run).items()) == list(EXPECTED.items())


def test_asynchronous_questions_are_asked_at_once_and_keep_their_order() -> None:
    """With concurrency 3 the answers may come last first; the run keeps the questions' order."""
    answered: list[str] = []
    done = {question: asyncio.Event() for question in QUESTIONS}
    following = dict(pairwise(QUESTIONS))

    async def last_first(question: str) -> list[Document]:
        if question in following:
            await asyncio.wait_for(done[following[question]].wait(), timeout=30)
        answered.append(question)
        done[question].set()
        return documents(question)

    run = ask_in_a_loop(last_first, concurrency=3)
    assert answered == QUESTIONS[::-1]
    assert list(by_text(run).items()) == list(EXPECTED.items())


@pytest.mark.parametrize("ask", [retrieve, ask_in_a_loop])
@pytest.mark.parametrize("concurrency", [1, 2])
def test_concurrency_is_a_bound(ask: Callable[..., Run], concurrency: int) -> None:
    """Never more questions than `concurrency` are asked at once."""
    lock, active, most = threading.Lock(), 0, 0
    enough = threading.Barrier(concurrency)
    dataset = GoldDataset.from_documents([["글"]] * 8, queries=[f"물음 {n}" for n in range(8)])

    def count(_: str) -> list[str]:
        nonlocal active, most
        with lock:
            active += 1
            most = max(most, active)
        enough.wait(timeout=30)
        with lock:
            active -= 1
        return ["글"]

    run = ask(count, dataset, concurrency=concurrency)
    assert [found.error for found in run.results.values()] == [None] * 8
    assert most == concurrency


def test_threads_are_as_many_as_questions_at_once() -> None:
    """A dozen questions at once are a dozen threads, on any machine; they are used again."""
    dataset = GoldDataset.from_documents([["글"]] * 48, queries=[f"물음 {n}" for n in range(48)])
    together, threads = threading.Barrier(12), set()

    def ask(question: str) -> list[str]:
        together.wait(timeout=30)
        threads.add(threading.get_ident())
        return [question]

    for run in (
        retrieve(ask, dataset, concurrency=12),
        ask_in_a_loop(ask, dataset, concurrency=12),
    ):
        assert not run.failures
    assert len(threads) <= 24


def test_one_question_after_the_other_is_asked_in_the_callers_thread() -> None:
    """Some indexes insist on the thread in which they were opened, as sqlite3 does."""
    index = sqlite3.connect(":memory:")

    def ask(question: str) -> list[str]:
        return [index.execute("SELECT ?", [question]).fetchone()[0]]

    assert not retrieve(ask, DATASET).failures
    assert not ask_inside_a_loop(ask).failures
    index.close()


@pytest.mark.parametrize("is_async", [False, True])
def test_after_a_stop_nothing_more_is_asked(is_async: bool) -> None:
    """Of several questions at once the first failure ends those that wait, too."""
    dataset = GoldDataset.from_documents([["글"]] * 9, queries=[f"물음 {n}" for n in range(9)])
    asked: list[str] = []

    def ask(question: str) -> list[str]:
        asked.append(question)
        raise OSError("no index")

    async def aask(question: str) -> list[str]:
        return ask(question)

    with pytest.raises(RetrieverError, match="failed: OSError: no index"):
        retrieve(aask if is_async else ask, dataset, concurrency=3, on_error="stop")
    time.sleep(0.05)
    assert len(asked) <= 3


@all_cases("bad", [0, -1, 1.5, True, None, "2"])
@all_cases("ask", [retrieve, ask_in_a_loop])
def test_concurrency_must_be_a_whole_number_of_at_least_one(
    ask: Callable[..., Run], bad: object
) -> None:
    """A concurrency that is no number of questions is refused."""
    with pytest.raises(UsageError, match=r"concurrency: .* whole number of at least 1"):
        ask(documents, DATASET, concurrency=bad)


@pytest.mark.parametrize("ask", [retrieve, ask_in_a_loop])
@pytest.mark.parametrize("text", [None, ""])
def test_a_query_without_text_cannot_be_asked(ask: Callable[..., Run], text: str | None) -> None:
    """A query without a question is an error before anything is asked, and says what to add."""
    asked: list[str] = []
    queries = None if text is None else ["물음", text]
    dataset = GoldDataset.from_documents([["가"], ["나"]], queries=queries)
    with pytest.raises(DataError, match=r"'q[12]' has no text to ask.*queries=\[\.\.\.\]"):
        ask(lambda question: asked.append(question) or [], dataset)
    assert asked == []


@all_cases("bad", [5, object(), [], None])
@all_cases("ask", [retrieve, ask_in_a_loop])
def test_what_cannot_be_asked_is_refused(ask: Callable[..., Run], bad: object) -> None:
    """A value that is no retriever says what to pass."""
    with pytest.raises(UsageError, match="cannot be asked; pass a retriever of LangChain"):
        ask(bad, DATASET)


@pytest.fixture
def _collected() -> Iterator[None]:
    """Asyncio logs interrupted tasks when they are collected: here, not at the end."""
    yield
    gc.collect()


@pytest.mark.usefixtures("_collected")
@all_cases("ask", [retrieve, ask_in_a_loop, ask_inside_a_loop])
@all_cases("options", [{"concurrency": 1}, {"concurrency": 2}])
@all_cases("is_async", [False, True])
def test_an_interruption_passes_through(
    ask: Callable[..., Run], options: dict[str, int], is_async: bool
) -> None:
    """Ctrl-C is no failure of a question: it ends the asking."""

    def interrupted(_: str) -> list[Document]:
        raise KeyboardInterrupt

    async def ainterrupted(_: str) -> list[Document]:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ask(ainterrupted if is_async else interrupted, DATASET, **options)


@every_way
def test_surrogates_in_answers_are_replaced_and_counted(ask: Callable[..., Run]) -> None:
    """Half an emoji that a retriever returns becomes U+FFFD, and the run counts it."""
    run = ask(lambda _: ["반쪽 \ud83d"], DATASET)
    assert by_text(run)["q1"] == ["반쪽 \ufffd"]
    assert run.n_replaced_surrogates == 3


@every_way
@pytest.mark.parametrize(
    ("retriever", "name"),
    [
        (Native(), "Native"),
        (Native(name="bm25"), "bm25"),
        (documents, "documents"),
        (RunnableLambda(documents), "documents"),
        (Callable1(), "Callable1"),
    ],
)
def test_a_run_is_named_after_its_retriever(
    ask: Callable[..., Run], retriever: object, name: str
) -> None:
    """The run bears the retriever's name, else its class; a name that is given wins."""
    assert ask(retriever, DATASET).name == name
    assert ask(retriever, DATASET, name="mine").name == "mine"


@every_way
def test_nothing_is_printed_where_no_one_watches(
    ask: Callable[..., Run], capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a terminal there is no progress bar, neither on output nor on error."""
    ask(documents, DATASET)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    "retriever", [Native(), documents, adocuments], ids=["retriever", "function", "async function"]
)
def test_evaluating_a_retriever_asks_it(retriever: object) -> None:
    """`evaluate` and `aevaluate` of a retriever give the numbers of the run that it makes."""
    expected = evaluate(DATASET, Run.from_documents(EXPECTED), match="exact")
    assert expected["mrr@10"] == pytest.approx((1 + 1 + 1 / 2) / 3)
    assert evaluate(DATASET, retriever, match="exact").queries == expected.queries
    awaited = asyncio.run(aevaluate(DATASET, retriever, match="exact"))
    assert awaited.queries == expected.queries
    assert awaited.counts == expected.counts


def test_aevaluate_takes_what_evaluate_takes() -> None:
    """`aevaluate` of lists gives the same numbers as `evaluate`."""
    gold, retrieved = [["가"], ["나"]], [["가"], ["다", "나"]]
    awaited = asyncio.run(aevaluate(gold, retrieved, match="exact", metrics=["mrr"]))
    assert awaited.mean == evaluate(gold, retrieved, match="exact", metrics=["mrr"]).mean
    assert awaited["mrr"] == 0.75


class OnlyAwaited(BaseRetriever):
    """Has but its asynchronous method, as LangChain lets it be written."""

    asked: list[str] = Field(default_factory=list)

    def _get_relevant_documents(self, query: str, *, run_manager: object) -> list[Document]:
        self.asked.append(query)
        raise NotImplementedError("use ainvoke")

    async def _aget_relevant_documents(self, query: str, *, run_manager: object) -> list[Document]:
        return await adocuments(query)


@pytest.mark.parametrize("chained", [False, True])
@pytest.mark.parametrize("timeout", [None, 30])
def test_a_retriever_that_has_only_its_asynchronous_method_is_awaited(
    chained: bool, timeout: float | None
) -> None:
    """By itself and within a chain; that costs one call, and leaves no stage that failed."""
    retriever = OnlyAwaited()
    asked = retriever | RunnableLambda(lambda found: found[:1]) if chained else retriever
    run = retrieve(asked, DATASET, stages=True, timeout=timeout)
    for query in DATASET:
        first = run[query.id].documents[0]
        assert (run[query.id].error, first.text) == (None, ANSWERS[query.text][0])
        assert [stage.error for stage in run[query.id].stages] == [None] * (1 + chained)
    assert retriever.asked == QUESTIONS[:1]


def test_what_is_implemented_neither_way_fails_with_its_own_reason() -> None:
    """Nobody is asked for ever, and the message is the retriever's."""

    class Neither(BaseRetriever):
        def _get_relevant_documents(self, query: str, *, run_manager: object) -> list[Document]:
            raise NotImplementedError("no index for this language")

    run = retrieve(Neither(), DATASET)
    errors = {run[query.id].error for query in DATASET}
    assert errors == {"NotImplementedError: no index for this language"}


def test_one_question_that_is_not_implemented_is_that_questions_failure() -> None:
    """Whoever has answered without being awaited goes on so."""
    awaited = []

    class Partly(BaseRetriever):
        def _get_relevant_documents(self, query: str, *, run_manager: object) -> list[Document]:
            if query == QUESTIONS[1]:
                raise NotImplementedError("no mountains")
            return documents(query)

        async def _aget_relevant_documents(
            self, query: str, *, run_manager: object
        ) -> list[Document]:
            awaited.append(query)
            return documents(query)

    run = retrieve(Partly(), DATASET)
    assert [run[query.id].error for query in DATASET] == [
        None,
        "NotImplementedError: no mountains",
        None,
    ]
    assert not awaited
