"""Searches that are heard of LangChain's tools and retrievers."""

from __future__ import annotations

import asyncio
import contextvars
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.messages import ToolMessage
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import ToolException, create_retriever_tool, tool

import kragx
from kragx import GoldDataset, UsageError, aretrieve, evaluate, retrieve
from kragx.evaluation.calls.call import CUT_SHORT
from tests.evaluation.stages.chains import Fixed

from .test_recorder import brief, handbook, questions


@tool
def careful(query: str) -> str:
    """Searches a function, and hands on words."""
    return str(handbook(query))


@tool
def broken(query: str, reason: str = "no index") -> str:
    """Fails, and says so in words."""
    raise ToolException(reason)


broken.handle_tool_error = True


def call(name: str, query: str, call_id: str = "1") -> dict[str, Any]:
    """A call of a tool as models make it."""
    return {"type": "tool_call", "id": call_id, "name": name, "args": {"query": query}}


@pytest.mark.parametrize("is_async", [False, True])
def test_a_function_within_a_tool(is_async: bool) -> None:
    """It is a stage of the tool, also where that runs in a thread of LangChain's."""
    with kragx.record_searches() as searches:
        if is_async:
            asyncio.run(careful.ainvoke({"query": "a b"}))
        else:
            careful.invoke({"query": "a b"})
    assert brief(searches) == [(1, "careful", "a b", "ab")]
    assert [stage.name for stage in searches[0].stages] == ["handbook"]


def test_what_a_tool_gives() -> None:
    """Documents beside its words are its own; of a retriever's tool those of the retriever; an
    error in words is one, also in none.
    """
    beside = create_retriever_tool(
        Fixed(letters="ab", name="bm25"), "beside", "x", response_format="content_and_artifact"
    )
    words = create_retriever_tool(Fixed(letters="cd", name="bm25"), "words", "x")
    with kragx.record_searches() as silent:
        broken.invoke({**call("broken", "r"), "args": {"query": "r", "reason": ""}})
    assert silent[0].error == "failed without a reason"
    with kragx.record_searches() as searches:
        beside.invoke(call("beside", "p"))
        words.invoke({"query": "q"})
        broken.invoke(call("broken", "r"))
        broken.invoke(call("broken", "r"))
    assert brief(searches) == [
        (1, "beside", "p", "ab"),
        (2, "words", "q", "cd"),
        (3, "broken", "r", ()),
        (3, "broken", "r", ()),
    ]
    assert [search.error for search in searches] == [None, None, "no index", "no index"]
    assert [len(search.stages) for search in searches] == [1, 1, 0, 0]


class Wrapped(BaseRetriever):
    """An agent that looks like a retriever."""

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        handbook("x")
        careful.invoke({"query": query}, {"callbacks": run_manager.get_child()})
        return [Document("d", id="d")]


class Unheard:
    """Something with an `invoke`, of which LangChain says nothing."""

    def invoke(self, query: str) -> str:
        """Search once."""
        handbook(query)
        return "I know."


def test_what_is_asked_is_no_search_itself() -> None:
    """Of a retriever, or a tool, that is asked, those are searches that it makes."""
    run = retrieve(Wrapped(), questions(2), concurrency=2)
    for i, answer in enumerate(run.results.values()):
        expected = [(1, "handbook", "x", "x"), (2, "careful", f"g{i}", f"g{i}")]
        assert brief(answer.searches) == expected
        assert [doc.id for doc in answer.documents] == ["d"]
    assert brief(retrieve(careful, questions(1))["q1"].searches) == [(1, "handbook", "g0", "g0")]
    assert retrieve(Fixed(letters="ab"), questions(1))["q1"].searches == ()
    assert brief(retrieve(Unheard(), questions(1))["q1"].searches) == [(1, "handbook", "g0", "g0")]


def test_a_chain_that_calls_tools() -> None:
    """A runnable that answers with words or messages has its tools as searches, awaited as well."""

    def steps(question: str) -> Any:
        careful.invoke({"query": f"not {question}"})
        Fixed(letters="ab", name="bm25").invoke(question)
        return {"messages": [("ai", "I know.")]}

    agent = RunnableLambda(steps)
    expected = [(1, "careful", "not g0", "notg0"), (2, "bm25", "g0", "ab")]
    for run in (
        retrieve(agent, questions(1)),
        asyncio.run(aretrieve(agent, questions(1), concurrency=2)),
    ):
        assert brief(run["q1"].searches) == expected
        assert not run["q1"].has_list


def test_a_graph_in_one_call() -> None:
    """What takes a mapping, as LangGraph's graphs do, is told by `evaluate` what its fields get."""

    def steps(state: dict[str, Any]) -> Any:
        careful.invoke({"query": state["messages"]})
        return {"messages": [("ai", "I know.")]}

    gold = GoldDataset.from_documents([[{"id": "g0"}]], ["g0"])
    agent = RunnableLambda(steps)
    asked = evaluate(gold, agent, "evidence_recall", match="id", input={"messages": "query"})
    assert asked.mean == {"evidence_recall": 1.0}


def test_tools_need_no_mark() -> None:
    """What LangChain hears is not to be marked."""
    with pytest.raises(UsageError, match="StructuredTool is no function; tools and retriev"):
        kragx.searched(careful)


class Patient(Fixed):
    """Takes long for some words."""

    async def _aget_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        await asyncio.sleep(60 if query == "slow" else 0)
        return self._get_relevant_documents(query, run_manager=run_manager)


def test_a_retriever_that_is_given_up() -> None:
    """What follows in the same task is no stage of it, though LangChain tells no end of it."""
    retriever = Patient(letters="ab", name="bm25")

    def late() -> None:
        time.sleep(0.05)  # until the task waits for it
        handbook("later")

    async def agent() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(retriever.ainvoke("slow"), 0.01)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await retriever.ainvoke("slow")
        known, loop = contextvars.copy_context(), asyncio.get_running_loop()
        at_once = loop.run_in_executor(None, known.run, handbook, "at once")
        time.sleep(0.05)  # while this task runs
        await at_once
        await asyncio.to_thread(late)
        await retriever.ainvoke("x")
        handbook("y")

    with kragx.record_searches() as searches:
        asyncio.run(agent())
    assert [(search.query, search.error, search.stages) for search in searches] == [
        ("slow", CUT_SHORT, ()),
        ("slow", CUT_SHORT, ()),
        ("at once", None, ()),
        ("later", None, ()),
        ("x", None, ()),
        ("y", None, ()),
    ]


class Around(BaseRetriever):
    """Calls another without callbacks, and a function; awaited, it does so in a thread."""

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        handbook(f"{query} z")
        return Fixed(letters="ab", name="bm25").invoke(query)


class AtOnce(Around):
    """Has tasks of its own."""

    async def _aget_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        inner = Fixed(letters="ab", name="bm25")
        _, docs = await asyncio.gather(asyncio.to_thread(handbook, "z"), inner.ainvoke(query))
        return docs


@pytest.mark.parametrize("retriever", [Around(name="outer"), AtOnce(name="outer")])
def test_a_retriever_within_a_retriever(retriever: BaseRetriever) -> None:
    """What a retriever calls is its stages, in threads and tasks of its own as well; what follows
    it is not, also if it was given up.
    """

    async def agent() -> None:
        retriever.invoke("x")
        await retriever.ainvoke("y")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await Patient(letters="ab", name="patient").ainvoke("slow")
        await asyncio.gather(retriever.ainvoke("z"))
        handbook("end")

    with kragx.record_searches() as searches:
        asyncio.run(agent())
    assert [
        (search.tool, search.query, {stage.name for stage in search.stages}) for search in searches
    ] == [
        ("outer", "x", {"handbook", "bm25"}),
        ("outer", "y", {"handbook", "bm25"}),
        ("patient", "slow", set()),
        ("outer", "z", {"handbook", "bm25"}),
        ("handbook", "end", set()),
    ]


def test_an_agent_of_retrievers_that_fails() -> None:
    """What was searched before counts, where other answers say that somebody searches."""

    def agent(question: str) -> str:
        Fixed(letters="ab", name="bm25").invoke(question)
        if question == "g0":
            raise RuntimeError("too many steps")
        return "I know."

    expected = [(1, "bm25", "g0", "ab")]
    run = retrieve(agent, questions(2))
    assert (brief(run["q1"].searches), run["q1"].error) == (
        expected,
        "RuntimeError: too many steps",
    )

    def chain(question: str) -> list[Document]:
        docs = Fixed(letters="ab", name="bm25").invoke(question)
        return docs if question != "g0" else docs / 0

    assert retrieve(chain, questions(2))["q1"].searches == ()


class Command:
    """As LangGraph has it, of which this needs the update alone."""

    def __init__(self, *messages: Any) -> None:
        self.update = {"messages": [*messages]}


def test_a_tool_that_answers_with_a_command() -> None:
    """Its documents stand in the message of the command; of several nobody knows."""
    answer = ToolMessage('[{"id": "a", "text": "t"}]', tool_call_id="1")
    failed = ToolMessage("no index", tool_call_id="1", status="error")

    @tool
    def commands(query: str) -> Any:
        """Hand on a command."""
        return Command(*{"one": [answer], "two": [answer, answer], "bad": [failed]}[query])

    with kragx.record_searches() as searches:
        for query in ("one", "two", "bad"):
            commands.invoke({"query": query})
    assert brief(searches) == [
        (1, "commands", "one", "a"),
        (2, "commands", "two", None),
        (3, "commands", "bad", ()),
    ]
    assert searches[2].error == "no index"


def test_tools_in_threads() -> None:
    """They are heard in a thread that has the context, and in no other."""
    with kragx.record_searches() as searches, ThreadPoolExecutor(1) as pool:
        pool.submit(Fixed(letters="ab", name="bm25").invoke, "x").result()
        known = contextvars.copy_context()
        pool.submit(known.run, Fixed(letters="ab", name="bm25").invoke, "y").result()
    assert brief(searches) == [(1, "bm25", "y", "ab")]
