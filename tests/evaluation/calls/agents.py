"""The same searches by a scripted agent: in LangGraph, in a loop by hand, in messages, in MCP."""

from __future__ import annotations

import asyncio
import json
import threading
from collections import Counter
from collections.abc import Iterator
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.documents import Document
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import BaseTool, tool

import kragx
from kragx import GoldDataset

SCRIPT = {
    "When does the hut open?": [
        [("handbook", "winter hut"), ("sql", "count"), ("handbook", "summer")],
        [("handbook", "hut opening")],
    ],
    "Who hires out boats?": [
        [("shaky", "boats lake")],
        [("shaky", "boats lake")],
        [("handbook", "hire boats")],
    ],
    "What is the answer?": [],
    "Where is the key?": [[("notes", "door key")]],
}
"""What is called for each question: steps, and in each the tools that are called at once."""

GOLD = GoldDataset.from_documents(
    [[{"id": "opening"}, {"id": "hut"}], [{"id": "hire"}], [{"id": "x"}], [{"id": "key"}]],
    queries=list(SCRIPT),
)
METRICS = (
    *("ndcg@10", "ndcg@10(of=all)", "recall(of=last)", "evidence_recall", "evidence_recall@1"),
    *("evidence_recall@2", "first_search", "rescue", "waste", "repeated", "searches_per_gold"),
)


def found(query: str) -> list[dict[str, str]]:
    """A document for each word."""
    return [{"id": word, "text": f"about {word}"} for word in query.split()]


class Words(BaseRetriever):
    """Finds the documents of some of the words."""

    step: int = 1

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        docs = found(query)[:: self.step]
        return [Document(id=doc["id"], page_content=doc["text"]) for doc in docs]


class Failing:
    """Fails every other time that it is asked for some words, the first time."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.calls: Counter[str] = Counter()

    def __call__(self, query: str) -> None:
        """Raise, if it is such a time."""
        with self.lock:
            self.calls[query] += 1
        if self.calls[query] % 2:
            raise ConnectionError("no index")


def tools() -> list[BaseTool]:
    """The tools of the script."""
    fail = Failing()

    @tool
    def handbook(query: str) -> str:
        """Documents in JSON."""
        return json.dumps(found(query))

    @tool
    def shaky(query: str) -> str:
        """The same, the second time."""
        fail(query)
        return json.dumps(found(query))

    @tool
    def sql(query: str) -> str:
        """A number."""
        return "42"

    @tool
    def notes(query: str) -> str:
        """The texts of what a retriever finds, which asks another one."""
        return "\n".join(doc.page_content for doc in Words().invoke(query))

    return [handbook, shaky, sql, notes]


class Scripted(BaseChatModel):
    """Calls the tools of the script, one step after another, and answers then."""

    def bind_tools(self, tools: Any, **_: Any) -> Scripted:
        """Needs none."""
        return self

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **_: Any,
    ) -> ChatResult:
        question = next(str(m.content) for m in messages if isinstance(m, HumanMessage))
        steps, done = SCRIPT[question], sum(isinstance(m, AIMessage) for m in messages)
        calls = [
            {"name": name, "args": {"query": query}, "id": f"{question[:4]} {done} {i}"}
            for i, (name, query) in enumerate(steps[done] if done < len(steps) else ())
        ]
        message = AIMessage("" if calls else "I know.", tool_calls=calls)
        return ChatResult(generations=[ChatGeneration(message=message)])


def graph() -> Any:
    """The agent of LangGraph."""
    from langgraph.prebuilt import ToolNode, create_react_agent

    return create_react_agent(Scripted(), ToolNode(tools(), handle_tool_errors=True))


def by_hand(question: str) -> str:
    """The same as a loop of one's own, whose functions are searched; side by side in threads."""
    return asyncio.run(by_hand_in_tasks(question))


_FAIL = Failing()


@kragx.searched
async def handbook(query: str) -> list[dict[str, str]]:
    """Documents."""
    await asyncio.sleep(0.05)
    return found(query)


@kragx.searched
async def shaky(query: str) -> list[dict[str, str]]:
    """The same, the second time."""
    _FAIL(query)
    return found(query)


@kragx.searched
async def sql(query: str) -> int:
    """A number."""
    await asyncio.sleep(0.05)
    return 42


@kragx.searched
def words(query: str) -> list[dict[str, str]]:
    """What stands within `notes`."""
    return found(query)


@kragx.searched
async def notes(query: str) -> str:
    """Words alone."""
    return "\n".join(doc["text"] for doc in words(query))


async def by_hand_in_tasks(question: str) -> str:
    """The agent as coroutines."""
    functions = {"handbook": handbook, "shaky": shaky, "sql": sql, "notes": notes}
    for step in SCRIPT[question]:
        calls = [functions[name](query) for name, query in reversed(step)]
        await asyncio.gather(*calls, return_exceptions=True)
    return "I know."


def anthropic(question: str) -> list[dict[str, Any]]:
    """What the API of Anthropic is sent and gives for a question."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": question}]
    fail = Failing()
    for number, step in enumerate(SCRIPT[question]):
        uses, results = [], []
        for i, (name, query) in enumerate(step):
            call = f"toolu_{number}_{i}"
            uses.append({"type": "tool_use", "id": call, "name": name, "input": {"query": query}})
            content, is_error = json.dumps(found(query)), False
            if name == "sql":
                content = "42"
            if name == "shaky":
                try:
                    fail(query)
                except ConnectionError as error:
                    content, is_error = str(error), True
            blocks = [{"type": "text", "text": content}]
            results.append(
                {
                    "type": "tool_result",
                    "tool_use_id": call,
                    "content": blocks,
                    "is_error": is_error,
                }
            )
        messages.append({"role": "assistant", "content": [{"type": "text", "text": "."}, *uses]})
        messages.append({"role": "user", "content": results[::-1]})
    return [*messages, {"role": "assistant", "content": "I know."}]


def mcp(question: str) -> Iterator[dict[str, Any]]:
    """The messages between a client of MCP and a server, for the same."""
    numbers = iter(range(99))
    fail = Failing()
    for step in SCRIPT[question]:
        results = []
        for name, query in step:
            number = next(numbers)
            params = {"name": name, "arguments": {"query": query}}
            request = {"jsonrpc": "2.0", "id": number, "method": "tools/call"}
            yield request | {"params": params}
            texts = ["42"] if name == "sql" else [json.dumps(doc) for doc in found(query)]
            result = {"content": [{"type": "text", "text": text} for text in texts]}
            if name == "shaky":
                try:
                    fail(query)
                except ConnectionError as error:
                    result = {"content": [{"type": "text", "text": str(error)}], "isError": True}
            results.append({"jsonrpc": "2.0", "id": number, "result": result})
        yield from reversed(results)
