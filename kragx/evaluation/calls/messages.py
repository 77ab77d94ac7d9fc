"""Messages of chat models, as OpenAI, Anthropic and LangChain have them: what was asked and called.

One message, or one item of OpenAI's Responses, gives events: a user's words, calls of tools, their
answers, what was cited. All calls of one assistant's message ran side by side.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from kragx.data import Doc
from kragx.data.gold import Turn
from kragx.evaluation.calls.tool_answers import compact, documents_of_tool, plain, words_of
from kragx.ground.errors import DataError, shorten

_ROLES = {"human": "user", "ai": "assistant", "developer": "system", "model": "assistant"}
_USES = ("tool_use", "server_tool_use", "mcp_tool_use")
_TEXTS = ("text", "input_text", "output_text")


@dataclass(frozen=True)
class UserWords:
    """What a user said.

    Attributes:
        text: the words.
        beside_answers: whether they stand in a message with answers of tools, as reminders do.
    """

    text: str
    beside_answers: bool = False


@dataclass(frozen=True)
class ToolCall:
    """A tool was called.

    Attributes:
        call_id: by which its answer is known.
        name: the tool's.
        query: the words.
    """

    call_id: str
    name: str
    query: str | None


@dataclass(frozen=True)
class ToolAnswer:
    """A tool answered.

    Attributes:
        call_id: of its call.
        content: what it answered with.
        error: why it failed.
        artifact: what it gave beside its words.
    """

    call_id: str
    content: Any
    error: str | None = None
    artifact: Any = None


@dataclass(frozen=True)
class Cited:
    """What a model's words cite: the ids of documents, if any."""

    sources: tuple[str, ...]


Event = UserWords | ToolCall | ToolAnswer | Cited


def events_of(message: object) -> Iterator[Event]:
    """The events of one message.

    Raises:
        DataError: it is no message.
    """
    fields = _fields(message)
    try:
        yield from _events(fields)
    except (AttributeError, TypeError, ValueError):
        raise DataError(
            "not a message as an API has it: {fields}",
            remedy="log messages as the API takes and gives them",
            fields=shorten(fields),
        ) from None


def _events(fields: Mapping[str, Any]) -> Iterator[Event]:
    kind = str(fields.get("type") or "")
    if kind.endswith("_call_output"):  # OpenAI's Responses
        yield ToolAnswer(str(fields.get("call_id")), fields.get("output"), _failure(fields))
    elif kind.endswith("_call"):
        yield from _item(kind, fields)
    elif fields.get("role") == "tool":
        call_id, content = str(fields.get("tool_call_id")), fields.get("content")
        yield ToolAnswer(call_id, content, _failure(fields), fields.get("artifact"))
    elif fields.get("role") == "assistant":
        yield from _of_assistant(fields)
    elif fields.get("role") == "user":
        yield from _of_user(fields.get("content"))


def _fields(message: object) -> Mapping[str, Any]:
    """A message as a mapping with a role, or an item with a type of its own.

    Raises:
        DataError: it is none.
    """
    fields = plain(message)
    if not isinstance(fields, Mapping):
        raise DataError("a message of a chat is expected, not {message}", message=shorten(message))
    if isinstance(fields.get("data"), Mapping) and "role" not in fields:  # LangChain's own JSON
        fields = {"type": fields.get("type"), **fields["data"]}
    role = fields.get("role") or fields.get("type")
    if not isinstance(role, str):
        raise DataError(
            "a message has a role, and this one has none: {fields}",
            remedy="log messages as the API takes and gives them",
            fields=shorten(fields),
        )
    if "role" not in fields and (role in _ROLES or role in ("tool", "system", "user")):
        # Its type was its role, and must not be taken for that of an item of Responses.
        return {**fields, "role": _ROLES.get(role, role), "type": None}
    return {**fields, "role": _ROLES.get(role, role)}


def _of_user(content: object) -> Iterator[Event]:
    words, has_answers = [], False
    for block in _blocks(content):
        if block.get("type") == "tool_result":
            has_answers = True
            yield _result(block)
        elif block.get("type") in _TEXTS:
            words.append(str(block.get("text") or ""))
    if text := "".join(words):
        yield UserWords(text, has_answers)


def _of_assistant(fields: Mapping[str, Any]) -> Iterator[Event]:
    sources: list[str] = []
    calls = [_tool_call(call) for call in fields.get("tool_calls") or ()]
    yield from calls
    for block in _blocks(fields.get("content")):
        kind = str(block.get("type"))
        if kind in _USES:
            call = ToolCall(
                str(block.get("id")), str(block.get("name")), words_of(block.get("input"))
            )
            # LangChain says what a tool was called with once more, as its model has it.
            if all(call.call_id != before.call_id for before in calls):
                yield call
        elif kind.endswith("_tool_result"):
            yield _result(block)
        else:
            sources += _sources(block)
    if sources or _text(fields.get("content")):
        yield Cited(tuple(dict.fromkeys(sources)))


def _result(block: Mapping[str, Any]) -> ToolAnswer:
    """What a tool answered; Anthropic's own say a page, output of code or an error otherwise."""
    answer, error = block.get("content"), None
    if block.get("is_error"):
        error = why_failed(answer)
    elif isinstance(answer, Mapping):
        error, answer = answer.get("error_code"), None
    return ToolAnswer(str(block.get("tool_use_id")), answer, None if error is None else str(error))


def _tool_call(call: Mapping[str, Any]) -> ToolCall:
    """A call as OpenAI has it, of a function or a tool of the user's own, or LangChain."""
    inner = call.get("function") or call.get("custom") or {}
    arguments = (inner.get("arguments"), inner.get("input"), call.get("args"))
    words = words_of(next((value for value in arguments if value is not None), None))
    return ToolCall(str(call.get("id")), str(inner.get("name") or call.get("name")), words)


def _sources(block: Mapping[str, Any]) -> Iterator[str]:
    for citation in [*(block.get("citations") or ()), *(block.get("annotations") or ())]:
        names = (citation.get(name) for name in ("source", "url", "file_id"))
        if source := next(filter(None, names), None):
            yield str(source)


def _item(kind: str, fields: Mapping[str, Any]) -> Iterator[Event]:
    """A call of OpenAI's Responses; the API's own tools say at once what came of them."""
    call_id = str(fields.get("call_id") or fields.get("id"))
    action = fields.get("action") if isinstance(fields.get("action"), Mapping) else None
    action = action or {}
    words = " ".join(map(str, fields.get("queries") or action.get("queries") or ()))
    query = words or action.get("query") or words_of(fields.get("arguments"))
    yield ToolCall(call_id, str(fields.get("name") or kind.removesuffix("_call")), query)
    if kind not in ("function_call", "custom_tool_call"):
        answer = fields.get("output") if kind == "mcp_call" else None
        if kind == "file_search_call":
            answer = _file_results(fields.get("results"))
        yield ToolAnswer(call_id, answer, _failure(fields))


def _failure(fields: Mapping[str, Any]) -> str | None:
    if error := fields.get("error"):
        return why_failed(error, compact(error).strip(' "'))
    # LangChain says `error`, OpenAI `failed`.
    has_failed = fields.get("status") in ("error", "failed")
    return why_failed(fields.get("content"), _text(fields.get("output"))) if has_failed else None


def why_failed(content: object, otherwise: str = "") -> str:
    """What a tool says of its failure, and if that is blank something else that is not."""
    return next(filter(str.strip, (_text(content), otherwise)), "the tool failed")


def _file_results(results: object) -> object:
    """What OpenAI's search in files gave; it gives them where it was told to include them."""
    if not isinstance(results, Sequence):
        return None
    return [
        {
            "id": result.get("file_id"),
            "text": result.get("text") or "",
            "score": result.get("score"),
            "metadata": {"filename": result.get("filename"), **(result.get("attributes") or {})},
        }
        for result in results
        if isinstance(result, Mapping)
    ]


def _blocks(content: object) -> Iterator[Mapping[str, Any]]:
    if isinstance(content, str):
        yield {"type": "text", "text": content}
    elif isinstance(content, Iterable):
        yield from (block for block in content if isinstance(block, Mapping))


def _text(content: object) -> str:
    return "".join(str(b.get("text") or "") for b in _blocks(content) if b.get("type") in _TEXTS)


def turns_of(messages: object) -> tuple[Turn, ...]:
    """What user and model said in some messages, in order; nothing of what is none."""
    if not isinstance(messages, list):
        return ()
    # Traces of LangChain hold a batch of chats, which of a single call has one.
    nested = len(messages) == 1 and isinstance(messages[0], list)
    turns = []
    try:
        for message in messages[0] if nested else messages:
            fields = _fields(_plain_message(message))
            if fields["role"] in ("user", "assistant") and (text := _text(fields.get("content"))):
                turns.append(Turn(fields["role"], text))
    except (DataError, AttributeError, TypeError, ValueError):
        return ()
    return tuple(turns)


def _plain_message(message: object) -> object:
    """A message as a mapping: LangChain's are pairs, or constructors, too."""
    match message:
        case [role, content]:
            return {"role": role, "content": content}
        case {"kwargs": {**fields}}:
            name = str((message.get("id") or [""])[-1])  # type: ignore[attr-defined]
            return {"type": name.removesuffix("Chunk").removesuffix("Message").lower(), **fields}
    return message


def tool_message(answer: object) -> tuple[str, tuple[Doc, ...] | None, str | None] | None:
    """Of a tool's answer as a message of LangChain: its call's id, documents, and error."""
    if isinstance(answer, Mapping) and answer.get("type") == "tool":
        with suppress(DataError, ValueError):
            (event,) = events_of(answer)
            assert isinstance(event, ToolAnswer)
            return event.call_id, documents_of_tool(event.content, event.artifact), event.error
    return None
