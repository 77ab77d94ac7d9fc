"""The searches of agents, from traces."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kragx import GoldDataset, Query, Run, UsageError
from kragx.adapters.opentelemetry import read_traces
from kragx.data import Turn
from kragx.data.problems import DataWarning

GOLD = GoldDataset.from_documents(
    [[{"id": "a"}], [{"id": "b"}], [{"id": "c"}]],
    queries=["When does it open?", "What does it cost?", "Who owns it?"],
)


def value(content: Any) -> dict[str, Any]:
    """A value as OTLP's JSON has it."""
    if isinstance(content, int):
        return {"intValue": str(content)}
    text = content if isinstance(content, str) else json.dumps(content)
    return {"stringValue": text}


def span(
    name: str,
    kind: str,
    start: float,
    end: float,
    around: str = "",
    *,
    trace: str = "t",
    error: str | None = None,
    **attributes: Any,
) -> dict[str, Any]:
    """A span called as its id, from a second to another."""
    fields = {"openinference.span.kind": kind} | {
        key.replace("__", "."): content for key, content in attributes.items()
    }
    made = {
        "name": name,
        "traceId": trace,
        "spanId": f"{name} {start}",
        "parentSpanId": around,
        "startTimeUnixNano": str(int((start + 1) * 1e9)),
        "endTimeUnixNano": str(int((end + 1) * 1e9)),
        "attributes": [{"key": key, "value": value(own)} for key, own in fields.items()],
    }
    return made if error is None else made | {"status": {"code": 2, "message": error}}


def documents(prefix: str, *ids: str) -> dict[str, Any]:
    """The attributes of documents that are called so."""
    return {f"{prefix}__{i}__document__id": name for i, name in enumerate(ids)}


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., dict[str, Run]]:
    """The runs of spans."""

    def runs(spans: list[dict[str, Any]], gold: GoldDataset = GOLD, **options: Any) -> Any:
        path = tmp_path / "traces.json"
        path.write_text(json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}))
        return read_traces(path, gold, **options)

    return runs


def brief(answer: Any) -> list[tuple[Any, ...]]:
    """Step, tool, words and documents of each search."""
    return [
        (
            search.step,
            search.tool,
            search.query,
            None if search.documents is None else "".join(doc.id for doc in search.documents),
        )
        for search in answer.searches
    ]


ASKED = {"input__value": "When does it open?"}
AGENT = [
    span("assistant", "AGENT", 0, 9, **ASKED),
    span("plan", "LLM", 0, 1, "assistant 0", llm__token_count__total=7),
    span("handbook", "TOOL", 1, 3, "assistant 0", input__value={"query": "hours", "k": 2}),
    span(
        "bm25",
        "RETRIEVER",
        1.1,
        2,
        "handbook 1",
        input__value="hours",
        **documents("retrieval__documents", *"xya"),
    ),
    span(
        "rerank",
        "RERANKER",
        2,
        2.5,
        "handbook 1",
        **documents("reranker__input_documents", *"xya"),
        **documents("reranker__output_documents", *"ax"),
    ),
    span(
        "rewrite",
        "LLM",
        1,
        1.1,
        "handbook 1",
        llm__token_count__prompt=3,
        llm__token_count__completion=2,
    ),
    span("sql", "TOOL", 2.9, 3.5, "assistant 0", input__value="count", output__value="42"),
    span("web", "TOOL", 4, 5, "assistant 0", input__value="hours", error="closed"),
    span("web", "TOOL", 5, 6, "assistant 0", input__value="hours", output__value=[{"id": "b"}]),
    span(
        "cost", "TOOL", 7, 8, "assistant 0", input__value="What does it cost?", output__value="[]"
    ),
]


def test_by_hand(read: Callable[..., dict[str, Run]]) -> None:
    """Outermost tools are searches with their stages, those that overlap one step, a retry none of
    its own; tokens are those of models within; a tool that gives no documents is unmeasured; words
    that are another question's are still this one's. The order of the file does not matter.
    """
    spans = [*AGENT]
    random.Random(1).shuffle(spans)
    for shuffled in (AGENT, spans):
        (run,) = read(shuffled).values()
        assert run.name == "assistant"
        assert [*run.results] == ["q1"]
        answer = run["q1"]
        assert brief(answer) == [
            (1, "sql", "count", None),
            (1, "handbook", "hours", "ax"),
            (2, "web", "hours", ""),
            (2, "web", "hours", "b"),
            (3, "cost", "What does it cost?", ""),
        ]
        assert [search.error for search in answer.searches] == [None, None, "closed", None, None]
        assert [search.tokens for search in answer.searches] == [None, 5, None, None, None]
        handbook = answer.searches[1]
        assert handbook.seconds == 2
        assert [(stage.name, stage.inputs, len(stage.documents)) for stage in handbook.stages] == [
            ("bm25", (), 3),
            ("rerank", ("bm25",), 2),
        ]
        assert (answer.has_list, answer.error, answer.seconds) == (False, None, 9)


def test_a_tool_whose_answer_is_a_message(read: Callable[..., dict[str, Run]]) -> None:
    """Documents stand in it, as LangChain writes messages; an answer may be JSON in JSON."""
    answer = json.dumps([{"id": "a"}])
    message = {"type": "tool", "data": {"content": answer, "tool_call_id": "1"}}
    spans = [
        AGENT[0],
        span("one", "TOOL", 1, 2, "assistant 0", input__value="x", output__value=message),
        span("two", "TOOL", 3, 4, "assistant 0", input__value="y", output__value=answer),
        span("three", "TOOL", 5, 6, "assistant 0", input__value="z", output__value=answer),
    ]
    spans[-1]["attributes"][-1]["value"] = {"stringValue": json.dumps(answer)}
    assert [entry[-1] for entry in brief(read(spans)["assistant"]["q1"])] == ["a", "a", "a"]


CALLS = {
    "openinference": {
        f"llm__output_messages__0__message__tool_calls__{i}__tool_call__id": name
        for i, name in enumerate("pq")
    },
    "generative AI": {
        "gen_ai__output__messages": [
            {"role": "assistant", "parts": [{"type": "tool_call", "id": name, "name": "search"}]}
            for name in "pq"
        ],
    },
}


@pytest.mark.parametrize("ids", CALLS.values(), ids=CALLS)
def test_what_one_message_called_for(
    read: Callable[..., dict[str, Run]], ids: dict[str, Any]
) -> None:
    """Calls of one message are one step, though one ended before the next began."""
    spans = [
        span("assistant", "CHAIN", 0, 9, **ASKED),
        span("plan", "LLM", 0, 1, "assistant 0", **ids),
        span("search", "TOOL", 1, 2, "assistant 0", input__value="x", tool_call__id="p"),
        span("search", "TOOL", 3, 4, "assistant 0", input__value="y", tool_call__id="q"),
        span("search", "TOOL", 5, 6, "assistant 0", input__value="z"),
    ]
    answer = read(spans)["assistant"]["q1"]
    assert [(search.step, search.query) for search in answer.searches] == [
        (1, "x"),
        (1, "y"),
        (2, "z"),
    ]


MESSAGES = [
    {"role": "system", "parts": [{"type": "text", "content": "Search."}]},
    {"role": "user", "parts": [{"type": "text", "content": "When does it open?"}]},
]


@pytest.mark.parametrize("asked", [ASKED, {"gen_ai__input__messages": MESSAGES}])
def test_generative_ai(read: Callable[..., dict[str, Run]], asked: dict[str, Any]) -> None:
    """The semantic conventions of generative AI: an agent, whose question is a text or in the parts
    of messages, a tool that it executes, its tokens.
    """
    spans = [
        span("invoke_agent", "", 0, 9, gen_ai__operation__name="invoke_agent", **asked),
        span(
            "execute_tool search",
            "",
            1,
            2,
            "invoke_agent 0",
            gen_ai__operation__name="execute_tool",
            gen_ai__tool__name="search",
            gen_ai__tool__call__arguments={"query": "x"},
            gen_ai__tool__call__result=[{"id": "a"}],
            gen_ai__usage__input_tokens=5,
            gen_ai__usage__output_tokens=6,
        ),
    ]
    answer = read(spans)["invoke_agent"]["q1"]
    assert brief(answer) == [(1, "search", "x", "a")]
    assert answer.searches[0].tokens == 11


def test_turns_of_one_trace(read: Callable[..., dict[str, Run]]) -> None:
    """Each turn is a question, told by what was asked before where the text is not enough."""
    history = {name: (Turn("user", text),) for name, text in (("x", "The hut?"), ("y", "Pool?"))}
    queries = [Query(name, "And in winter?", history=turns) for name, turns in history.items()]
    gold = GoldDataset((*queries, Query("z", "Pool?")))

    def chat(trace: str, first: str, found: str) -> list[dict[str, Any]]:
        return [
            span("session", "CHAIN", 0, 9, trace=trace),
            span("assistant", "AGENT", 1, 3, "session 0", trace=trace, input__value=first),
            span(
                "search",
                "TOOL",
                1,
                2,
                "assistant 1",
                trace=trace,
                input__value=first,
                output__value="[]",
            ),
            span(
                "assistant", "AGENT", 4, 6, "session 0", trace=trace, input__value="And in winter?"
            ),
            span("step", "CHAIN", 4, 6, "assistant 4", trace=trace, input__value="And in winter?"),
            span(
                "search",
                "TOOL",
                4,
                5,
                "step 4",
                trace=trace,
                input__value="w",
                output__value=[{"id": found}],
            ),
        ]

    spans = [*chat("1", "Pool?", "p"), *chat("2", "The hut?", "h")]
    with pytest.warns(DataWarning, match="1 spans are of other questions, as 'The hut"):
        run = read(spans, gold)["assistant"]
    assert {name: brief(answer) for name, answer in run.results.items()} == {
        "z": [(1, "search", "Pool?", "")],
        "y": [(1, "search", "w", "p")],
        "x": [(1, "search", "w", "h")],
    }
    messages = {
        "messages": [{"role": "user", "content": text} for text in ("Pool?", "And in winter?")]
    }
    spans = [
        span(
            "assistant", "AGENT", 0, 9, input__value=messages, input__mime_type="application/json"
        ),
        span("search", "TOOL", 1, 2, "assistant 0", input__value="w", output__value="[]"),
    ]
    assert [*read(spans, gold)["assistant"].results] == ["y"]
    twice = GoldDataset((queries[0], Query("again", "And in winter?", history=history["x"])))
    with pytest.raises(UsageError, match="'x' and 'again' have the same text"):
        read(spans, twice)


def test_an_agent_that_failed_or_did_not_search(read: Callable[..., dict[str, Run]]) -> None:
    """Its limit fails the question, and its searches stay; without a search nothing was found."""
    spans = [
        span("assistant", "AGENT", 0, 9, trace="1", error="limit of 25 steps", **ASKED),
        span(
            "search", "TOOL", 1, 2, "assistant 0", trace="1", input__value="x", output__value="[]"
        ),
        span("assistant", "AGENT", 0, 1, trace="2", input__value="What does it cost?"),
        span("assistant", "AGENT", 0, 9, trace="3", input__value="Who owns it?"),
        span("search", "TOOL", 1, 2, "assistant 0", trace="3", input__value="y", error="down"),
    ]
    run = read(spans)["assistant"]
    assert run.failures == {"q1": "limit of 25 steps"}
    assert brief(run["q1"]) == [(1, "search", "x", "")]
    assert (run["q2"].searches, run["q2"].documents, run["q2"].error) == ((), (), None)
    assert [search.error for search in run["q3"].searches] == ["down"]


@pytest.mark.parametrize("words", ["", "  "])
def test_errors_without_words(read: Callable[..., dict[str, Run]], words: str) -> None:
    """A search whose error has no words has failed."""
    failed = span("search", "TOOL", 1, 2, "assistant 0", input__value="x", error=words)
    (search,) = read([AGENT[0], failed])["assistant"]["q1"].searches
    assert search.error == "the span ended in an error"


def test_asked_again(read: Callable[..., dict[str, Run]]) -> None:
    """The last of several runs for one question counts, whole."""
    spans = [
        entry
        for trace, start in (("1", 20), ("2", 0))
        for entry in (
            span("assistant", "AGENT", start, start + 9, trace=trace, **ASKED),
            span(
                "search",
                "TOOL",
                start + 1,
                start + 2,
                f"assistant {start}",
                trace=trace,
                input__value=trace,
                output__value="[]",
            ),
        )
    ]
    with pytest.warns(DataWarning, match="1 questions were asked again; the last answer counts"):
        assert brief(read(spans)["assistant"]["q1"]) == [(1, "search", "1", "")]


@pytest.mark.parametrize("name", ["helper", "assistant"])
def test_agents_that_ask_agents(read: Callable[..., dict[str, Run]], name: str) -> None:
    """What an agent asks another is of its own question, though the words be those of one."""
    spans = [
        span("assistant", "AGENT", 0, 9, **ASKED),
        span(name, "AGENT", 1, 5, "assistant 0", input__value="What does it cost?"),
        span("search", "TOOL", 2, 3, f"{name} 1", input__value="x", output__value="[]"),
    ]
    (run,) = read(spans).values()
    assert {query_id: brief(answer) for query_id, answer in run.results.items()} == {
        "q1": [(1, "search", "x", "")]
    }


def test_a_session_that_says_its_first_question(read: Callable[..., dict[str, Run]]) -> None:
    """Turns within are those of their questions, as an agent of that name answers several."""
    spans = [
        span("session", "CHAIN", 0, 9, **ASKED),
        span("assistant", "AGENT", 1, 3, "session 0", **ASKED),
        span("search", "TOOL", 1, 2, "assistant 1", input__value="x", output__value="[]"),
        span("assistant", "AGENT", 4, 6, "session 0", input__value="What does it cost?"),
        span("search", "TOOL", 4, 5, "assistant 4", input__value="y", output__value="[]"),
    ]
    runs = read(spans)
    assert brief(runs["session"]["q1"]) == [(1, "search", "x", "")]
    assert brief(runs["assistant"]["q2"]) == [(1, "search", "y", "")]


def test_a_span_was_lost(read: Callable[..., dict[str, Run]]) -> None:
    """What stood within it stays the agent's, if its trace has one root."""
    spans = [entry for entry in AGENT if entry["name"] != "handbook"]
    (run,) = read(spans).values()
    assert brief(run["q1"])[0] == (1, "bm25", "hours", "xya")
    roots = [*spans, span("other", "CHAIN", 0, 9)]
    assert [*read(roots)] == ["assistant", "bm25"]


def test_exported_twice(read: Callable[..., dict[str, Run]]) -> None:
    """A span that stands twice in a file was done once: no search or stage comes of its copy."""
    (once,), (twice,) = read(AGENT).values(), read([*AGENT, *AGENT]).values()
    assert twice.results == once.results


def test_spans_in_a_circle(read: Callable[..., dict[str, Run]]) -> None:
    """Broken links are no endless way."""
    spans = [
        span("a", "CHAIN", 1, 9, "b 2", **ASKED),
        span("b", "CHAIN", 2, 9, "a 1"),
        span("search", "TOOL", 3, 4, "b 2", input__value="x", output__value="[]"),
    ]
    (run,) = read(spans).values()
    assert brief(run["q1"]) == [(1, "search", "x", "")]
