"""The real chat models of LangChain's packages, against a local server that speaks for each."""

from __future__ import annotations

import asyncio
import importlib

import pytest

from kragx import evaluate
from kragx.judging import Judge, LangChainClient
from tests.judging.protocols import Polyglot
from tests.judging.server import serving
from tests.judging.support import ENDPOINT, ask, judge_of

PACKAGES = {
    "openai": ("langchain_openai", "ChatOpenAI", "/v1"),
    "anthropic": ("langchain_anthropic", "ChatAnthropic", ""),
    "ollama": ("langchain_ollama", "ChatOllama", ""),
    "gemini": ("langchain_google_genai", "ChatGoogleGenerativeAI", ""),
}


@pytest.fixture(
    params=["openai", "anthropic", "ollama", pytest.param("gemini", marks=pytest.mark.integration)]
)
def package(request):
    """One of the packages; that of Gemini is a large one."""
    pytest.importorskip(PACKAGES[request.param][0])
    return request.param


@pytest.fixture
def server():
    """Speaks every protocol."""
    with serving(handler=Polyglot) as running:
        yield running


def chat_of(package, server, **options):
    """A chat model as its package makes it by default, but for where it is."""
    module, name, path = PACKAGES[package]
    key = {} if package == "ollama" else {"api_key": "sk-local"}
    base_url = server.base_url.removesuffix("/v1") + path
    kind = getattr(importlib.import_module(module), name)
    return kind(model=f"local-{package}", base_url=base_url, **key, **options)


def client_of(package, server, **options):
    """A client of it, with keys that do not depend on the address."""
    return LangChainClient(chat_of(package, server, **options), endpoint=ENDPOINT)


def in_a_notebook(call):
    """What `call` gives in a cell: an event loop runs in this thread."""

    async def cell():
        return call()

    return asyncio.run(cell())


# -- any number of times -----------------------------------------------------------------------


def test_any_number_of_times(package, server, tmp_path):
    """One chat model judges in scripts, notebooks and event loops, one after the other."""
    client = client_of(package, server)
    number = 0

    def judge():
        nonlocal number
        number += 1
        return judge_of(client, tmp_path / f"{number}.sqlite")

    questions = [ask(f"text {grade} grade-{grade}") for grade in range(4)]
    judged = [
        judge().judge(questions),
        judge().judge(questions),
        in_a_notebook(lambda: judge().judge(questions)),
        in_a_notebook(lambda: judge().judge(questions)),
        asyncio.run(judge().ajudge(questions)),
        asyncio.run(judge().ajudge(questions)),
        judge().judge(questions),
    ]
    assert [[each.grade for each in one.judgements] for one in judged] == [[0, 1, 2, 3]] * 7
    assert len(server.requests) == 28


def test_a_model_that_is_in_use_elsewhere(package, server, tmp_path):
    """The user's own calls, before, between and after in a loop of theirs, do not mind."""
    chat = chat_of(package, server)

    async def cell():
        said = [await chat.ainvoke("<<<document grade-1")]
        for number in range(2):
            judge = judge_of(LangChainClient(chat), tmp_path / f"{number}.sqlite")
            grades = [each.grade for each in judge.judge([ask("grade-2")]).judgements]
            said += [grades, await chat.ainvoke("<<<document grade-1")]
        await chat.ainvoke("<<<document farewell")
        return said

    first, *pairs = asyncio.run(cell())
    assert pairs[::2] == [[2], [2]]
    assert "grade" in first.text


def test_two_judges_share_a_client(package, server, tmp_path):
    """Who is done first does not close the connections of the other."""
    client = client_of(package, server)
    short, long = (judge_of(client, tmp_path / f"{name}.sqlite", concurrency=1) for name in "sl")
    server.delay = 0.02

    async def main():
        return await asyncio.gather(
            short.ajudge([ask("grade-1")]),
            long.ajudge([ask(f"{n} grade-2") for n in range(6)]),
        )

    brief, whole = asyncio.run(main())
    assert [each.grade for each in (*brief.judgements, *whole.judgements)] == [1] + [2] * 6
    assert whole.tally.n_retries == 0


def test_evaluations(package, server, tmp_path):
    """Two evaluations with one chat model, as people write them."""
    chat = chat_of(package, server)
    for number in range(2):
        judge = Judge(LangChainClient(chat), store=tmp_path / f"{number}.sqlite", progress=False)
        result = evaluate(
            [["gold text"]],
            [["a gold text, grade-3", "grade-0"]],
            match={"method": "llm", "judge": judge},
            metrics=["recall@1", "precision@2"],
        )
        assert (result["recall@1"], result["precision@2"]) == (1.0, 0.5)
