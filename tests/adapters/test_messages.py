"""Chats become searches."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from kragx import DataError, GoldDataset, Query, UsageError, evaluate, write_gold
from kragx.adapters.mcp import read_mcp
from kragx.adapters.messages import read_messages
from kragx.adapters.opentelemetry import read_traces
from kragx.data import Turn
from kragx.data.problems import DataWarning
from tests.adapters import test_mcp as mcp
from tests.thoroughness import all_cases

GOLD = GoldDataset.from_documents(
    [[{"id": "a"}], [{"id": "b"}]], queries=["When does it open?", "And in  winter?"]
)


def user(text: str) -> dict[str, Any]:
    """What a user said."""
    return {"role": "user", "content": text}


def calls(*queries: str, tool: str = "search") -> dict[str, Any]:
    """A message of OpenAI's model that calls a tool."""
    functions = [{"name": tool, "arguments": json.dumps({"query": query})} for query in queries]
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": f"call {query}", "type": "function", "function": function}
            for query, function in zip(queries, functions)
        ],
    }


def result(query: str, content: Any) -> dict[str, Any]:
    """What the tool answered."""
    content = content if isinstance(content, str) else json.dumps(content)
    return {"role": "tool", "tool_call_id": f"call {query}", "content": content}


def ids(search: Any) -> list[str | None] | None:
    """The documents of a search; None where nobody knows."""
    return None if search.documents is None else [doc.id for doc in search.documents]


def brief(answer: Any) -> list[tuple[Any, ...]]:
    """Step, words and documents of each search."""
    return [(search.step, search.query, ids(search)) for search in answer.searches]


CHAT = [
    {"role": "system", "content": "Search."},
    user("When does it open?"),
    calls("x", "hours"),
    result("hours", [{"id": "a", "text": "At ten."}]),
    result("x", "nothing was found"),
    {"role": "assistant", "content": "At ten."},
    user("And in winter?"),
    calls("hours winter"),
    result("hours winter", {"total": 1, "hits": [{"id": "b", "content": "c", "url": "u"}]}),
    {"role": "assistant", "content": "At eleven."},
]


def test_by_hand() -> None:
    """Each of a user's messages is a question; what one message calls for is one step."""
    run = read_messages([CHAT], GOLD)
    assert brief(run["q1"]) == [(1, "hours", ["a"]), (1, "x", None)]
    assert brief(run["q2"]) == [(1, "hours winter", ["b"])]
    (doc,) = run["q2"].documents
    assert (doc.text, dict(doc.metadata)) == ("c", {"url": "u"})
    assert not run["q1"].has_list
    result = evaluate(GOLD, run, match="id", metrics=["evidence_recall", "mrr@5"])
    assert result["evidence_recall"] == result["mrr@5"] == 1


def test_gold_is_named_as_for_evaluate(tmp_path: Any) -> None:
    """A gold file by its path is the gold set, for chats, logs of MCP and traces."""
    gold = tmp_path / "gold.jsonl"
    write_gold(GOLD, gold)
    assert read_messages([CHAT], gold).results == read_messages([CHAT], GOLD).results
    assert [*read_mcp({"q1": [mcp.request(1, "x"), mcp.result(1, "[]")]}, str(gold))] == ["q1"]
    kind = {"key": "openinference.span.kind", "value": {"stringValue": "RETRIEVER"}}
    asked = {"key": "input.value", "value": {"stringValue": "When does it open?"}}
    spans = [{"name": "bm25", "attributes": [kind, asked]}]
    traces = tmp_path / "traces.json"
    traces.write_text(json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}))
    assert [*read_traces(traces, gold)["bm25"]] == ["q1"]


def test_files(tmp_path: Any) -> None:
    """A chat a line: messages, or a request with what came of it."""
    path = tmp_path / "chats.jsonl"
    answer = {"choices": [{"message": CHAT[-1]}]}
    lines = [{"messages": CHAT[:6]}, {"request": {"messages": CHAT[:9]}, "response": answer}]
    path.write_text("\n".join(map(json.dumps, lines)))
    assert read_messages(path, GOLD).results == read_messages([CHAT], GOLD).results
    path.write_text('{"messages": 3}')
    with pytest.raises(DataError, match=r"chats\.jsonl:1: no chat: .*each is a list of messages"):
        read_messages(path, GOLD)
    path.write_text("no json")
    with pytest.raises(DataError, match=r"chats\.jsonl:1: not JSON"):
        read_messages(path, GOLD)


def test_logs_of_each_request() -> None:
    """A chat that goes on an earlier one takes its place: nothing is counted twice."""
    logged = [{"messages": CHAT[:n]} for n in (2, 5, 7, 9, 10)]
    assert read_messages(logged, GOLD).results == read_messages([CHAT], GOLD).results


def test_logs_of_each_request_with_ids() -> None:
    """A chat takes the place of one with the same id, and leaves its question to one of another."""
    logged = [
        {"id": "q1", "messages": CHAT[:5]},
        {"id": "q1", "messages": CHAT[:6]},
        {"id": "q2", "messages": CHAT},
    ]
    with pytest.warns(DataWarning) as said:
        run = read_messages(logged, GOLD, query_id="id")
    assert run.results == read_messages([CHAT], GOLD).results
    assert str(said[0].message) == "agent: 1 messages are of other questions"


def test_asked_again() -> None:
    """The last chat counts, and questions of nobody are counted; both are said."""
    other = [user("And what else?"), calls("y"), result("y", [])]
    again = [user("When does it open?"), calls("z"), result("z", [])]
    with pytest.warns(DataWarning) as said:
        run = read_messages([CHAT[:6], again, other], GOLD)
    assert str(said[0].message) == (
        "agent: 1 messages are of other questions; 1 questions were asked again; the last answer "
        "counts"
    )
    assert brief(run["q1"]) == [(1, "z", [])]


def test_history_tells_questions_apart() -> None:
    """Of two with the same text it is the one before which the user said the same."""
    gold = GoldDataset(
        tuple(
            Query(name, "And in winter?", history=(Turn("user", f"When does the {name} open?"),))
            for name in ("hut", "pool")
        )
    )
    chats = [
        [user(f"When does the {name} open?"), user("And in winter?"), calls(name), result(name, [])]
        for name in ("pool", "hut")
    ]
    with pytest.warns(DataWarning, match="2 messages are of other questions"):
        run = read_messages(chats, gold)
    assert [brief(answer) for answer in run.results.values()] == [
        [(1, "hut", [])],
        [(1, "pool", [])],
    ]
    twice = GoldDataset((*gold, replace(gold["hut"], id="q9")))
    with pytest.raises(UsageError, match="'hut' and 'q9' have the same text; name where a chat"):
        read_messages(chats, twice)
    named = [{"messages": chats[0], "metadata": {"query_id": "q9"}}]
    with pytest.warns(DataWarning, match="1 messages are of other questions"):
        run = read_messages(named, twice, query_id="metadata.query_id")
    assert brief(run["q9"]) == [(1, "pool", [])]


def test_some_tools() -> None:
    """Where tools are named the calls of others are no searches; without any nothing was found."""
    chat = [user("When does it open?"), calls("1", tool="sum"), result("1", "2"), *CHAT[2:6]]
    run = read_messages([chat], GOLD, tools=["search"])
    assert brief(run["q1"]) == [(1, "hours", ["a"]), (1, "x", None)]
    assert run.settings == {"tools": ["search"]}
    run = read_messages([chat[:3]], GOLD, tools=["search"])
    assert (run["q1"].searches, run["q1"].documents) == ((), ())


def test_documents_of_other_json() -> None:
    """A function takes them out, also where JSON is cut into blocks; without any nobody knows."""
    rows = {"hits": [{"_id": "a", "_source": {"body": "At ten."}}], "other": [{"id": "z"}]}
    text = json.dumps(rows)
    blocks = [{"type": "text", "text": part} for part in (text[:9], text[9:])]
    chat = [
        user("When does it open?"),
        calls("1", "2", "3"),
        result("1", rows),
        result("2", "no JSON"),
        {**result("3", ""), "content": blocks},
    ]

    def take(answer: object) -> object:
        hits = answer["hits"] if isinstance(answer, dict) else None
        return hits and [{"id": hit["_id"], "text": hit["_source"]["body"]} for hit in hits]

    run = read_messages([chat], GOLD, documents=take)
    assert brief(run["q1"]) == [(1, "1", ["a"]), (1, "2", None), (1, "3", ["a"])]


@all_cases(
    ("content", "expected"),
    [
        ('["text", "alone"]', None),
        ('[{"id": 3, "total": 7}]', None),
        ("[[1, 2], [3, 4]]", None),
        ("42", None),
        ("{}", None),
        ("[]", []),
        ('{"results": []}', []),
        ('{"hits": [], "facets": []}', []),
        ('{"hits": [], "facets": ["x"]}', []),
        ('{"hits": [], "documents": [1]}', None),
        ('{"facets": [], "tags": []}', None),
        (
            '[{"id": "a", "text": 5, "score": "0.5"}, {"id": "b", "text": 0.5, "url": "u"}]',
            list("ab"),
        ),
        ('[{"id": "a", "text": "x", "score": "high"}]', None),
        ('[{"id": "a", "text": true}]', None),
        ('[{"id": 3}]', ["3"]),
        (
            '[{"page_content": "x", "id": null, "metadata": {"page": 3}, "type": "Document"}]',
            [None],
        ),
        ([{"type": "text", "text": '[{"id": "a"}'}, {"type": "text", "text": "]"}], ["a"]),
        (
            [{"type": "text", "text": '{"id": "a"}'}, {"type": "text", "text": '{"id": "b"}'}],
            ["a", "b"],
        ),
        ([{"type": "text", "text": "plain"}], None),
        (
            [{"type": "search_result", "source": "u", "content": [{"type": "text", "text": "x"}]}],
            ["u"],
        ),
        ([{"type": "resource", "resource": {"uri": "f", "text": "x"}}], ["f"]),
        ([{"type": "image", "data": "..."}], None),
        ([{"type": {"odd": 1}, "text": "x"}], [None]),
        ('[{"text": "x", "metadata": "m", "url": "u"}]', None),
    ],
)
def test_what_are_documents(content: Any, expected: Any) -> None:
    """Lists of documents, in JSON or blocks; all else is a search of which nobody knows."""
    blocks = {"type": "tool_result", "tool_use_id": "1", "content": content}
    use = {"type": "tool_use", "id": "1", "name": "search", "input": {"query": "x"}}
    chat = [
        user("When does it open?"),
        {"role": "assistant", "content": [use]},
        {"role": "user", "content": [blocks]},
    ]
    (search,) = read_messages([chat], GOLD)["q1"].searches
    assert ids(search) == expected


def test_anthropic_cites() -> None:
    """What the last message cites was read; a failed call that is made again is one step."""
    use = {"type": "tool_use", "name": "search", "input": {"query": "x"}}
    documents = [
        {
            "type": "search_result",
            "source": name,
            "title": "t",
            "content": [{"type": "text", "text": name}],
        }
        for name in "ab"
    ]
    failed = {"type": "tool_result", "tool_use_id": "1", "content": "down", "is_error": True}
    cited = {"type": "search_result_location", "source": "b", "cited_text": "b"}
    chat = [
        user("When does it open?"),
        {"role": "assistant", "content": [use | {"id": "1"}]},
        {"role": "user", "content": [failed]},
        {"role": "assistant", "content": [use | {"id": "2"}]},
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "2", "content": documents}],
        },
        {"role": "assistant", "content": [{"type": "text", "text": "b", "citations": [cited]}]},
    ]
    answer = read_messages([chat], GOLD)["q1"]
    assert [(search.step, search.error) for search in answer.searches] == [(1, "down"), (1, None)]
    assert [doc.id for doc in answer.searches[-1].read] == ["b"]
    answer = read_messages([[*chat, {"role": "assistant", "content": "So: b."}]], GOLD)["q1"]
    assert answer.searches[-1].read is None


def assistant(**fields: Any) -> dict[str, Any]:
    """What a model said."""
    return {"role": "assistant", **fields}


FOUND = '[{"id": "a"}]'
QUERY = {"query": "x"}
WEB = [
    {"type": "server_tool_use", "id": "1", "name": "web", "input": QUERY},
    {
        "type": "web_search_tool_result",
        "tool_use_id": "1",
        "content": [{"type": "web_search_result", "url": "a", "title": "t"}],
    },
]


@pytest.mark.parametrize(
    "messages",
    [
        [
            assistant(
                content=[
                    {"type": "mcp_tool_use", "id": "1", "name": "web", "input": QUERY},
                    {
                        "type": "mcp_tool_result",
                        "tool_use_id": "1",
                        "content": [{"type": "text", "text": FOUND}],
                    },
                ]
            )
        ],
        [
            assistant(
                tool_calls=[{"id": "1", "type": "custom", "custom": {"name": "web", "input": "x"}}]
            ),
            {"role": "tool", "tool_call_id": "1", "content": FOUND},
        ],
        [
            assistant(
                content=[*WEB, {"type": "tool_use", "id": "2", "name": "sum", "input": {}}],
                tool_calls=[{"id": "2", "name": "sum", "args": {}}],
            )
        ],
        [
            assistant(
                parts=[
                    {"type": "tool_call", "id": "1", "name": "web", "arguments": {"query": "x"}}
                ],
            ),
            {
                "role": "tool",
                "parts": [{"type": "tool_call_response", "id": "1", "response": FOUND}],
            },
        ],
    ],
)
def test_kinds_of_calls(messages: list[dict[str, Any]]) -> None:
    """No call is lost: those to MCP by the API, custom tools, the API's own, OpenTelemetry's."""
    run = read_messages([[user("When does it open?"), *messages]], GOLD, tools=["web"])
    assert brief(run["q1"]) == [(1, "x", ["a"])]


@all_cases(
    ("kind", "content", "found", "error"),
    [
        ("web_search", [], [], None),
        ("handbook", [{"type": "text", "text": FOUND}], ["a"], None),
        ("handbook", [{"type": "text", "text": "plain"}], None, None),
        ("code", {"type": "code_result", "stdout": "2", "content": []}, None, None),
        ("web_search", {"error_code": "max_uses_exceeded"}, [], "max_uses_exceeded"),
    ],
)
def test_tools_of_the_api(kind: str, content: Any, found: Any, error: Any) -> None:
    """Only a search of the web gives addresses; what others give is read, and errors are."""
    answer = {"type": f"{kind}_tool_result", "tool_use_id": "1", "content": content}
    chat = [user("When does it open?"), assistant(content=[WEB[0], answer])]
    (search,) = read_messages([chat], GOLD)["q1"].searches
    assert (ids(search), search.error) == (found, error)


@pytest.mark.parametrize(("words", "error"), [("down", "down"), (" ", "the tool failed")])
def test_failed_over_mcp(words: str, error: str) -> None:
    """A tool of MCP that failed at the API is a failure, whatever it says of it."""
    blocks = [
        {"type": "mcp_tool_use", "id": "1", "name": "web", "input": QUERY},
        {"type": "mcp_tool_result", "tool_use_id": "1", "is_error": True, "content": words},
    ]
    run = read_messages([[user("When does it open?"), assistant(content=blocks)]], GOLD)
    assert [search.error for search in run["q1"].searches] == [error]


@pytest.mark.parametrize("words", ["<reminder>Go on.</reminder>", "And in winter?"])
def test_words_beside_answers(words: str) -> None:
    """What stands beside a tool's answer is a reminder, but for a question of the gold set."""
    answers = [
        {"type": "tool_result", "tool_use_id": name, "content": json.dumps([{"id": name}])}
        for name in "ab"
    ]
    uses = [{"type": "tool_use", "id": name, "name": "web", "input": QUERY} for name in "ab"]
    chat = [
        user("When does it open?"),
        assistant(content=uses[:1]),
        {"role": "user", "content": [{"type": "text", "text": words}, answers[0]]},
        assistant(content=uses[1:]),
        {"role": "user", "content": answers[1:]},
    ]
    steps = [[ids(search) for search in answer.searches] for answer in _results(chat)]
    assert steps == ([[["a"]], [["b"]]] if words == "And in winter?" else [[["a"], ["b"]]])


def _results(chat: list[dict[str, Any]]) -> Any:
    return read_messages([chat], GOLD).results.values()


def test_the_clients_of_openai() -> None:
    """Peer: objects of the client, of chats and of Responses with the API's own search."""
    from openai.types.chat import ChatCompletion
    from openai.types.responses import ResponseFileSearchToolCall, ResponseFunctionToolCall

    choice = {"index": 0, "finish_reason": "tool_calls", "message": calls("hours", "x")}
    completion = ChatCompletion.model_validate(
        {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    )
    chat = [user("When does it open?"), completion.choices[0].message, *CHAT[3:5]]
    assert brief(read_messages([chat], GOLD)["q1"]) == [(1, "hours", ["a"]), (1, "x", None)]
    found = {"file_id": "a", "filename": "f.txt", "score": 0.5, "text": "At ten."}
    fields = {"id": "fs", "type": "file_search_call", "status": "completed", "queries": ["p", "q"]}
    items = [
        user("When does it open?"),
        *(
            ResponseFunctionToolCall(
                type="function_call",
                call_id=name,
                name="search",
                arguments=json.dumps({"query": name}),
            )
            for name in ("y", "z")
        ),
        {"type": "function_call_output", "call_id": "z", "output": '[{"id": "z"}]'},
        {"type": "function_call_output", "call_id": "y", "output": "none"},
        ResponseFileSearchToolCall.model_validate(fields | {"results": [found]}),
        {"type": "web_search_call", "id": "w", "status": "completed", "action": {"query": "web"}},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "."}]},
    ]
    answer = read_messages([{"input": items}], GOLD)["q1"]
    assert brief(answer) == [(1, "y", None), (1, "z", ["z"]), (2, "p q", ["a"]), (3, "web", None)]
    assert answer.searches[2].documents[0].score == 0.5


@all_cases(
    ("chats", "said"),
    [
        ([], "there is no message of a user"),
        ([[user("else?")]], "no chat is of a question of the gold set; where chats say the query"),
        ([[3]], "chat 1: a message of a chat is expected, not 3"),
        ([[{"content": "x"}]], "chat 1: a message has a role, and this one has none"),
        (["text"], "no chat: 'text'"),
        *(
            ([[user("And in winter?"), message]], "chat 1: not a message as an API has it: {")
            for message in (
                assistant(tool_calls=[None]),
                assistant(tool_calls=[{"id": "1", "function": "h"}]),
                assistant(content=[{"type": "text", "text": "x", "citations": [None]}]),
            )
        ),
    ],
)
def test_no_chats(chats: Any, said: str) -> None:
    """What is none is an error that says where."""
    with pytest.raises(DataError) as raised:
        read_messages(chats, GOLD)
    assert said in str(raised.value)


def test_arguments_that_are_no_json() -> None:
    """Keys of several types, as Python has them, are words as well."""
    call = {"id": "1", "name": "web", "args": {1: "x", "k": "y"}}
    run = read_messages([[user("When does it open?"), assistant(tool_calls=[call])]], GOLD)
    assert brief(run["q1"]) == [(1, "{1: 'x', 'k': 'y'}", None)]
