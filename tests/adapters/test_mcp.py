"""Logs of MCP become searches."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kragx import DataError, GoldDataset, UsageError
from kragx.adapters.mcp import read_mcp
from kragx.data.problems import DataWarning
from tests.thoroughness import all_cases

GOLD = GoldDataset.from_documents([[{"id": "a"}], [{"id": "b"}]], queries=["one?", "two?"])


def request(number: int, query: str, **meta: Any) -> dict[str, Any]:
    """A call of a tool."""
    params: dict[str, Any] = {"name": "search", "arguments": {"query": query, "k": 3}}
    if meta:
        params["_meta"] = meta
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


def result(number: int, *texts: str, **more: Any) -> dict[str, Any]:
    """What it answered."""
    content = [{"type": "text", "text": text} for text in texts]
    return {"jsonrpc": "2.0", "id": number, "result": {"content": content, **more}}


def brief(answer: Any) -> list[tuple[Any, ...]]:
    """Step, words, error and documents of each search."""
    return [
        (
            search.step,
            search.query,
            search.error,
            None if search.documents is None else [doc.id for doc in search.documents],
        )
        for search in answer.searches
    ]


START = [
    {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {}},
    {"jsonrpc": "2.0", "id": 0, "result": {"tools": []}},
]


def test_by_hand() -> None:
    """Calls that were under way at once are one step; a call that failed and came again as well."""
    log = [
        *START,
        request(1, "x"),
        request(2, "y"),
        result(2, '{"id": "a", "text": "t"}', '{"id": "c", "text": "u"}'),
        result(1, "plain words"),
        {"jsonrpc": "2.0", "method": "notifications/progress", "params": {}},
        request(3, "z"),
        result(3, "no index", isError=True),
        request(4, "z"),
        {"jsonrpc": "2.0", "id": 4, "error": {"code": -32000, "message": "closed"}},
        request(5, "z"),
        result(5, structuredContent={"result": [{"id": "b", "text": "t"}]}),
        request(6, "late"),
    ]
    run = read_mcp({"q1": log, "q2": START}, GOLD)
    assert brief(run["q1"]) == [
        (1, "x", None, None),
        (1, "y", None, ["a", "c"]),
        (2, "z", "closed", []),
        (2, "z", "no index", []),
        (2, "z", None, ["b"]),
        (3, "late", None, None),
    ]
    assert {search.seconds for search in run["q1"].searches} == {None}
    assert (run["q2"].searches, run["q2"].documents) == ((), ())


@pytest.mark.parametrize(
    ("method", "answer"),
    [
        ("sampling/createMessage", {"result": {"role": "assistant", "content": {"text": "s"}}}),
        ("elicitation/create", {"result": {"action": "accept", "content": {"name": "n"}}}),
        ("roots/list", {"result": {"roots": []}}),
        ("sampling/createMessage", {"error": {"code": -1, "message": "the user said no"}}),
    ],
)
def test_requests_of_the_server(method: str, answer: dict[str, Any]) -> None:
    """A server's own requests have numbers of their own: their answers are none of a tool."""
    log = [
        request(1, "x"),
        {"jsonrpc": "2.0", "id": 1, "method": method, "params": {}},
        {"jsonrpc": "2.0", "id": 1, **answer},
        result(1, '[{"id": "a"}]'),
    ]
    assert brief(read_mcp({"q1": log}, GOLD)["q1"]) == [(1, "x", None, ["a"])]


@all_cases(
    ("content", "error"),
    [
        ("down", "down"),
        ("  ", "the tool failed"),
        ([{"type": "text", "text": "do"}, {"type": "text", "text": "wn"}], "down"),
        (["down"], "the tool failed"),
        (None, "the tool failed"),
        ({"type": "text", "text": "down"}, "the tool failed"),
    ],
)
def test_why_a_tool_failed(content: Any, error: str) -> None:
    """What a tool says of its failure is read where it is a text or blocks."""
    log = [request(1, "x"), {"jsonrpc": "2.0", "id": 1, "result": {"isError": True}}]
    log[1]["result"]["content"] = content
    assert brief(read_mcp({"q1": log}, GOLD)["q1"]) == [(1, "x", error, [])]


@pytest.mark.parametrize("words", ["", " ", None])
def test_errors_without_words(words: str | None) -> None:
    """A failure of which nothing is said is a failure."""
    error = {"code": 1, "message": words}
    (search,) = read_mcp(
        {"q1": [request(1, "x"), {"jsonrpc": "2.0", "id": 1, "error": error}]}, GOLD
    )["q1"].searches
    assert search.error == f"an error of JSON-RPC: {error}"


def test_times(tmp_path: Any) -> None:
    """Records of a log may hold when a message came, in seconds or parts of them, or as a date;
    how long took what ended before it began, or at no time, nobody knows.
    """

    def seconds(*times: Any) -> float | None:
        messages = (request(1, "x"), result(1, "[]"))
        lines = [{"timestamp": when, "message": own} for when, own in zip(times, messages)]
        path = tmp_path / "log.jsonl"
        path.write_text("\n".join(map(json.dumps, lines)))
        (search,) = read_mcp({"q1": path}, GOLD)["q1"].searches
        return search.seconds

    assert seconds(10.25, 10.75) == 0.5
    assert seconds(1_700_000_000_000, 1_700_000_000_500) == 0.5
    assert seconds("2026-01-01T00:00:00Z", "2026-01-01T00:00:00.500+00:00") == 0.5
    assert seconds(1_700_000_000_000_000, 1_700_000_000_500_000) == 0.5
    assert seconds(1_700_000_000_000_000_000, 1_700_000_000_500_000_000) == 0.5
    assert seconds("2026-01-01T00:00:00Z", None) is None
    for odd in (9, -1, float("nan"), float("inf"), 10**400):
        assert seconds(10, odd) is None


def test_ids_in_requests() -> None:
    """One log of many questions, whose requests say which; ids of sessions come again."""
    log = [
        request(1, "x", query_id="q2"),
        result(1, '[{"id": "b"}]'),
        request(1, "y", query_id="q1"),
        result(1, '[{"id": "a"}]'),
        request(2, "y", query_id="q7"),
        request(3, "y"),
    ]
    with pytest.warns(DataWarning, match="agent: 2 calls of tools are of other questions"):
        run = read_mcp(log, GOLD, query_id="params._meta.query_id")
    assert [brief(answer) for answer in run.results.values()] == [
        [(1, "y", None, ["a"])],
        [(1, "x", None, ["b"])],
    ]


def test_sessions_in_one_log() -> None:
    """Answers are of the call in their session; where none is named, two of one id are an error."""
    log = [
        (1, request(1, "x", query_id="q1")),
        (2, request(1, "y", query_id="q2")),
        (1, result(1, '[{"id": "a"}]')),
        (2, result(1, '[{"id": "b"}]')),
    ]
    records = [{"session_id": session, "message": message} for session, message in log]
    run = read_mcp(records, GOLD, query_id="params._meta.query_id")
    assert [brief(answer) for answer in run.results.values()] == [
        [(1, "x", None, ["a"])],
        [(1, "y", None, ["b"])],
    ]
    with pytest.raises(DataError, match="message 2: a call with id 1, while one with this id wai"):
        read_mcp([message for _, message in log], GOLD, query_id="params._meta.query_id")


def test_ids_that_are_numbers() -> None:
    """Questions may be called 1 and 2, as gold sets name theirs."""
    gold = GoldDataset.from_documents({1: [{"id": "a"}], 2: [{"id": "b"}]})
    logs: dict[Any, Any] = {1: [request(1, "x"), result(1, '[{"id": "a"}]')], 2: []}
    run = read_mcp(logs, gold)
    assert (brief(run["1"]), run["2"].searches) == ([(1, "x", None, ["a"])], ())


def test_tools_and_documents() -> None:
    """The tools that search can be named, and documents be taken out of other JSON."""
    log = {"q1": [request(1, "x"), result(1, json.dumps({"rows": [{"key": 7, "title": "t"}]}))]}
    run = read_mcp(
        log,
        GOLD,
        documents=lambda answer: [
            {"id": str(row["key"]), "text": row["title"]} for row in answer["rows"]
        ],
    )
    assert brief(run["q1"]) == [(1, "x", None, ["7"])]
    assert brief(read_mcp(log, GOLD)["q1"]) == [(1, "x", None, None)]
    assert read_mcp(log, GOLD, tools=["sum"])["q1"].searches == ()


def test_wrong_use() -> None:
    """What says of no question, and what is no JSON-RPC, is an error."""
    with pytest.raises(UsageError, match="query_id: MCP does not say which question a call is for"):
        read_mcp([request(1, "x")], GOLD)
    with pytest.raises(DataError, match=r"message 1: no message of JSON-RPC: \{'id': 3\}"):
        read_mcp({"q1": [{"id": 3}]}, GOLD)
    with pytest.raises(DataError, match="message 1: no message of JSON-RPC"):
        read_mcp({"q1": [{"message": '{"jsonrpc": cut'}]}, GOLD)
    with pytest.raises(DataError, match="none of its 1 calls of tools is of a question"):
        read_mcp({"q9": [request(1, "x")]}, GOLD)
    nameless = request(1, "x") | {"params": {}}
    with pytest.raises(
        DataError, match=r"message 1: an id that is \[1\]; ids are numbers or texts"
    ):
        read_mcp({"q1": [request(1, "x") | {"id": [1]}]}, GOLD)
    with pytest.raises(DataError, match="a call of a tool without its name"):
        read_mcp({"q1": [nameless]}, GOLD)
