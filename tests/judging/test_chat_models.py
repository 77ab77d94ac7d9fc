"""The real chat models of LangChain's packages, against a local server that speaks for each."""

from __future__ import annotations

import asyncio
import importlib

import pytest

from kragx import evaluate
from kragx.errors import JudgingError
from kragx.judging import Judge, LangChainClient, Store
from tests.judging.protocols import Polyglot
from tests.judging.server import serving
from tests.judging.support import ENDPOINT, FakeTime, ask, judge_of
from tests.thoroughness import some

PACKAGES = {
    "openai": ("langchain_openai", "ChatOpenAI", "/v1"),
    "anthropic": ("langchain_anthropic", "ChatAnthropic", ""),
    "ollama": ("langchain_ollama", "ChatOllama", ""),
    "gemini": ("langchain_google_genai", "ChatGoogleGenerativeAI", ""),
}


@pytest.fixture(params=some([*PACKAGES], len(PACKAGES)))
def package(request):
    """One of the packages; the others but the first take long to load."""
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


@pytest.mark.integration
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


@pytest.mark.integration
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


@pytest.mark.integration
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


@pytest.mark.integration
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


# -- what goes wrong ---------------------------------------------------------------------------

FAILURES = {
    "refuses": {**dict.fromkeys(("openai", "anthropic"), "refusal"), "gemini": "content_filter"},
    "truncates": dict.fromkeys(PACKAGES, "length"),
    "filtered": {**dict.fromkeys(PACKAGES, "content_filter"), "anthropic": "refusal"},
    "prose": dict.fromkeys(PACKAGES, "invalid_json"),
    "grade-7": dict.fromkeys(PACKAGES, "out_of_range"),
}
"""What an answer becomes, by package; Ollama's models say in prose what they decline."""


@pytest.mark.parametrize("document", some(FAILURES, 3))
def test_failure(package, document, server, store):
    """An answer that is no grade is missing, of its own kind, its tokens counted."""
    check_failure(package, document, client_of(package, server), store)


@pytest.mark.parametrize("package", some(["openai", "anthropic"], 2))
@pytest.mark.parametrize("document", some(FAILURES, 5))
def test_failure_of_a_tool(package, document, server, store):
    """So it is where the answer is the call of a tool, which is not made, or not as it should."""
    chat = chat_of(package, server)
    client = LangChainClient(chat, endpoint=ENDPOINT, options={"method": "function_calling"})
    check_failure(package, document, client, store)
    assert server.requests[0]["tools"]


def check_failure(package, document, client, store):
    """What a judgement becomes of it."""
    (judgement,) = judge_of(client, store).judge([ask(document)]).judgements
    expected = FAILURES[document].get(package, "invalid_json")
    assert (judgement.grade, judgement.failure) == (None, expected), judgement.detail
    assert judgement.completion_tokens == 20
    assert judgement.prompt_tokens > 100
    assert judgement.model.startswith(f"local-{package}")
    if document in ("prose", "grade-7"):
        assert judgement.raw


@pytest.mark.integration
@pytest.mark.parametrize(
    ("document", "kind"),
    [
        ("broken grade-3", "api_error"),
        ("conflict grade-3", "api_error"),
        ("hangs up grade-3", "connection"),
        ("slow grade-3", "timeout"),
    ],
)
def test_another_attempt(package, document, kind, server, store):
    """A passing fault is an attempt of its own, then the grade comes; the model retries nothing."""
    timeout = 1.0 if kind == "timeout" else 60.0
    judge = judge_of(client_of(package, server), store, timeout=timeout)
    judged = judge.judge([ask(document)])
    assert judged.judgements[0].grade == 3
    assert judged.tally.n_retries == 1
    assert len(server.requests) == 2
    with Store(store) as opened:
        assert [each.get("failure") for each in opened.records()] == [kind, None]


@pytest.mark.integration
def test_rate_limit(package, server, store):
    """A 429 is waited for as long as it says, and is no attempt of the model's own."""
    time = FakeTime()
    judge = judge_of(client_of(package, server), store, sleep=time.sleep, clock=time.clock)
    judged = judge.judge([ask("busy grade-3")])
    assert judged.judgements[0].grade == 3
    assert len(server.requests) == 2
    assert sum(time.slept) >= 2.0


def test_wrong_key(package, server, store):
    """A wrong key ends the run, in the service's words."""
    judge = judge_of(client_of(package, server), store, concurrency=1)
    with pytest.raises(JudgingError, match="no such key"):
        judge.judge([ask(f"{n} forbidden") for n in range(9)])
    assert len(server.requests) == 1


def test_unknown_model(package, server, store):
    """So does a model that the service does not know."""
    judge = judge_of(client_of(package, server), store, concurrency=1)
    with pytest.raises(JudgingError, match="local-"):
        judge.judge([ask(f"{n} unknown") for n in range(9)])
    assert len(server.requests) == 1


def test_nothing_listens(package, store):
    """Without a server a judgement fails for want of a connection, or the run says so."""
    with serving(handler=Polyglot) as server:
        client = client_of(package, server)
    try:
        (judgement,) = judge_of(client, store, attempts=1).judge([ask("d")]).judgements
    except JudgingError:
        return
    assert judgement.failure == "connection"
