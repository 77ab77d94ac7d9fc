"""Messages of chat models, and what tools are called with and answer in them, as searches.

One message of OpenAI's, Anthropic's or LangChain's, or one item of OpenAI's Responses, gives
events: a user's words, calls of tools, their answers, what was cited. All calls of one assistant's
message ran side by side.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from kragx.data import Doc, SurrogateRepair, as_docs
from kragx.data.documents import TEXT_FIELDS, is_pair
from kragx.data.formats.jsonl import foreign_json
from kragx.data.gold import Turn
from kragx.ground.errors import DataError, shorten

_WORDS = ("query", "question", "q", "input", "text", "search", "search_query", "keywords")
"""What the argument with the words is called, the likeliest first."""

_LISTS = (
    "documents",
    "docs",
    "results",
    "search_results",
    "hits",
    "matches",
    "passages",
    "chunks",
    "nodes",
)
"""What the list of documents is called: one that is empty is a search that found nothing, whatever
other lists stand beside it."""

_PLAIN = {"id", *TEXT_FIELDS, "score", "metadata"}
_ROLES = {"human": "user", "ai": "assistant", "developer": "system", "model": "assistant"}
_USES = ("tool_use", "server_tool_use", "mcp_tool_use", "tool_call")
_RESULTS = ("tool_result", "tool_call_response")
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
    kind = str(fields.get("type") or "")
    try:
        if kind.endswith("_call_output"):  # OpenAI's Responses
            yield ToolAnswer(str(fields.get("call_id")), fields.get("output"), _failure(fields))
        elif kind.endswith("_call"):
            yield from _item(kind, fields)
        elif fields.get("role") == "assistant":
            yield from _of_assistant(fields)
        elif fields.get("role") in ("tool", "user"):
            content = fields.get("content")
            answers = [block for block in _blocks(content) if block.get("type") in _RESULTS]
            yield from map(_result, answers)
            if fields["role"] == "user" and (text := _text(content)):
                yield UserWords(text, bool(answers))
            elif fields["role"] == "tool" and not answers:
                call_id, artifact = str(fields.get("tool_call_id")), fields.get("artifact")
                yield ToolAnswer(call_id, content, _failure(fields), artifact)
    except (AttributeError, TypeError, ValueError):
        raise DataError(
            "not a message as an API has it: {fields}",
            remedy="log messages as the API takes and gives them",
            fields=shorten(fields),
        ) from None


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
    # Its type was its role then, and must not be taken for that of an item of Responses.
    is_role = "role" not in fields and (role in _ROLES or role in ("tool", "system", "user"))
    content = fields.get("content", fields.get("parts"))  # as OpenTelemetry calls it
    fields = {**fields, "role": _ROLES.get(role, role), "content": content}
    return {**fields, "type": None} if is_role else fields


def _of_assistant(fields: Mapping[str, Any]) -> Iterator[Event]:
    sources: list[str] = []
    call_ids = set[str]()
    for call in fields.get("tool_calls") or ():
        # Of a function or a tool of the user's own as OpenAI has it, or as LangChain has it.
        inner = call.get("function") or call.get("custom") or {}
        yield _called({**call, **inner, "id": call.get("id")})
        call_ids.add(str(call.get("id")))
    for block in _blocks(fields.get("content")):
        kind = str(block.get("type"))
        if kind in _USES:
            # LangChain says what a tool was called with once more, as its model has it.
            if str(block.get("id")) not in call_ids:
                yield _called(block)
        elif kind.endswith("_tool_result"):
            yield _result(block)
        else:
            for citation in [*(block.get("citations") or ()), *(block.get("annotations") or ())]:
                names = (citation.get(name) for name in ("source", "url", "file_id"))
                sources += map(str, filter(None, [next(filter(None, names), None)]))
    if sources or _text(fields.get("content")):
        yield Cited(tuple(dict.fromkeys(sources)))


def _called(call: Mapping[str, Any]) -> ToolCall:
    """What a tool is called with, as each API calls that."""
    arguments = map(call.get, ("arguments", "input", "args"))
    words = words_of(next((value for value in arguments if value is not None), None))
    return ToolCall(str(call.get("id")), str(call.get("name")), words)


def _result(block: Mapping[str, Any]) -> ToolAnswer:
    """What a tool answered; Anthropic's own say a page, output of code or an error otherwise."""
    if block.get("type") == "tool_call_response":  # OpenTelemetry's
        return ToolAnswer(str(block.get("id")), block.get("response", block.get("result")))
    answer, error = block.get("content"), None
    if block.get("is_error"):
        error = why_failed(answer)
    elif isinstance(answer, Mapping):
        error, answer = answer.get("error_code"), None
    return ToolAnswer(str(block.get("tool_use_id")), answer, None if error is None else str(error))


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
        if kind == "file_search_call" and isinstance(fields.get("results"), Sequence):
            # OpenAI's search in files gives them where it was told to include them.
            answer = [
                {
                    "id": result.get("file_id"),
                    "text": result.get("text") or "",
                    "score": result.get("score"),
                    "metadata": {
                        "filename": result.get("filename"),
                        **(result.get("attributes") or {}),
                    },
                }
                for result in fields["results"]
                if isinstance(result, Mapping)
            ]
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


def _blocks(content: object) -> Iterator[Mapping[str, Any]]:
    if isinstance(content, str):
        yield {"type": "text", "text": content}
    elif isinstance(content, Iterable):
        yield from (block for block in content if isinstance(block, Mapping))


def _text(content: object) -> str:
    texts = (block for block in _blocks(content) if block.get("type") in _TEXTS)
    # OpenTelemetry has the text of a block under `content`.
    return "".join(str(block.get("text") or block.get("content") or "") for block in texts)


def messages_in(value: object) -> Sequence[object]:
    """The messages of a chat, or of what an API answered."""
    match plain(value):
        case [*messages] | {"messages": [*messages]} | {"output": [*messages]}:
            return messages
        case {"choices": [{"message": message}, *_]} | ({"role": _} as message):
            return [message]
    return ()


def turns_of(messages: object) -> tuple[Turn, ...]:
    """What user and model said in some messages, in order; nothing of what is none."""
    if not isinstance(messages, list):
        return ()
    # Traces of LangChain hold a batch of chats, which of a single call has one.
    nested = len(messages) == 1 and isinstance(messages[0], list)
    turns = []
    try:
        for message in messages[0] if nested else messages:
            match message:
                case [role, content]:  # LangChain's are pairs, or constructors, too
                    fields = _fields({"role": role, "content": content})
                case {"kwargs": {**inner}}:
                    name = str((message.get("id") or [""])[-1])
                    kind = name.removesuffix("Chunk").removesuffix("Message").lower()
                    fields = _fields({"type": kind, **inner})
                case _:
                    fields = _fields(message)
            if fields["role"] in ("user", "assistant") and (text := _text(fields.get("content"))):
                turns.append(Turn(fields["role"], text))
    except (DataError, AttributeError, TypeError, ValueError):
        return ()
    return tuple(turns)


def tool_message(answer: object) -> tuple[str, tuple[Doc, ...] | None, str | None] | None:
    """Of a tool's answer as a message of LangChain: its call's id, documents, and error."""
    if isinstance(answer, Mapping) and answer.get("type") == "tool":
        with suppress(DataError, ValueError):
            (event,) = events_of(answer)
            assert isinstance(event, ToolAnswer)
            return event.call_id, documents_of_tool(event.content, event.artifact), event.error
    return None


def words_of(arguments: object) -> str | None:
    """The words that a tool is called with; of other arguments all of them, as JSON.

    Args:
        arguments: a text, which may be JSON, or a mapping; None for none.
    """
    inner = as_json(arguments)
    if isinstance(arguments, str) and not isinstance(inner, Mapping):
        return arguments
    if inner is None or inner == {}:
        return None
    values = inner if isinstance(inner, Mapping) else {}
    texts = {name: text for name, text in values.items() if isinstance(text, str)}
    names = [name for name in _WORDS if name in texts] or ([*texts] if len(texts) == 1 else [])
    return texts[names[0]] if names else compact(inner)


def plain(record: object) -> Any:
    """An object of a client's as a mapping; whatever else as it is."""
    dump = getattr(record, "model_dump", None)
    return dump(by_alias=True) if callable(dump) else record


def compact(value: object) -> str:
    """A value as JSON with its keys in order; of what is none the form that Python has for it."""
    try:
        return json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
    except (TypeError, ValueError, RecursionError):  # keys of several types, or circles
        return repr(value)


def graph_step(metadata: object) -> tuple[str, int] | None:
    """The step of LangGraph's in which something runs, by its metadata, with the graph's name."""
    if not isinstance(metadata, Mapping) or not isinstance(metadata.get("langgraph_step"), int):
        return None
    around = str(metadata.get("langgraph_checkpoint_ns") or "").rpartition("|")[0]
    return around, metadata["langgraph_step"]


def documents_of_tool(content: object, artifact: object = None) -> tuple[Doc, ...] | None:
    """The documents that a tool gave beside its words, or in them; None where nobody knows."""
    beside = documents_in(artifact)
    return documents_in(content) if beside is None else beside


def documents_in(answer: object) -> tuple[Doc, ...] | None:
    """The documents that a tool's answer holds; None where it holds none, so that nobody knows.

    Documents are a list of them; a mapping in which one list holds documents; JSON of these; and
    blocks of content that are search results, or JSON. An entry of a list is a document if it has a
    text, under ``text``, ``page_content`` or ``content``, or nothing but what documents have. What
    else it has is metadata. An empty list is a search that found nothing, beside other lists if
    its name is one of lists of documents (``hits``, ``results``, ...).

    Args:
        answer: a text, what JSON holds, or documents of other libraries.
    """
    answer = as_json(answer)
    if isinstance(answer, (list, tuple)):
        are_blocks = all(isinstance(e, Mapping) and str(e.get("type")) in _BLOCKS for e in answer)
        return _in_blocks(answer) if answer and are_blocks else _in_list(answer)
    if not isinstance(answer, Mapping):
        return None
    lists = {name: value for name, value in answer.items() if isinstance(value, (list, tuple))}
    documents = [docs for value in lists.values() if (docs := _in_list(value))]
    if documents:
        # Of two lists with documents nobody can tell which one was meant.
        return documents[0] if len(documents) == 1 else None
    named = [lists[name] for name in _LISTS if name in lists]
    meant = named or [*lists.values()] * (len(lists) == 1)
    return () if meant and not any(meant) else None


def _in_list(entries: Sequence[object]) -> tuple[Doc, ...] | None:
    try:
        return as_docs(map(_document, entries), SurrogateRepair(), "answer", strings=False)
    except DataError:
        return None


def _document(entry: object) -> object:
    """What is read as a document; None, which is none, of what cannot be."""
    value = entry[0] if is_pair(entry) else entry
    if not isinstance(value, Mapping):
        return entry
    value = {key: _read_as(key, inner) for key, inner in value.items()}
    if value.keys() <= _PLAIN:
        return (value, entry[1]) if is_pair(entry) else value
    name = next((name for name in TEXT_FIELDS if isinstance(value.get(name), str)), None)
    fields = {key: value[key] for key in ("id", "score", "metadata") if value.get(key) is not None}
    metadata = fields.pop("metadata", {})
    if name is None or not isinstance(metadata, Mapping):
        return None
    named = {name, *fields, "metadata" if metadata else name}
    if value.get("type") == "Document":  # as LangChain writes one
        named.add("type")
    rest = {key: inner for key, inner in value.items() if key not in named}
    return {**fields, "text": value[name], "metadata": {**rest, **metadata}}


def _read_as(key: object, value: object) -> object:
    """A text that is a number, and a score that is a text, as what they are meant to be."""
    if key in TEXT_FIELDS and isinstance(value, (int, float)) and not isinstance(value, bool):
        return str(value)
    with suppress(ValueError):
        return float(value) if key == "score" and isinstance(value, str) else value
    return value


def _in_blocks(blocks: Sequence[Mapping[str, Any]]) -> tuple[Doc, ...] | None:
    results = [_BLOCKS[block["type"]](block) for block in blocks]
    if all(isinstance(result, Mapping) for result in results):
        return _in_list(results)
    if not all(isinstance(result, str) for result in results):
        return None
    # All together first: one JSON may be cut anywhere into blocks of text.
    if (whole := documents_in("".join(results))) is not None:
        return whole
    entries = [as_json(text) for text in results]  # a document a block
    return _in_list(entries) if all(isinstance(entry, Mapping) for entry in entries) else None


def _search_result(block: Mapping[str, Any]) -> Mapping[str, Any] | None:
    parts = block.get("content")
    if not isinstance(parts, list):
        return None
    text = "".join(str(part.get("text", "")) for part in parts if isinstance(part, Mapping))
    return {"id": block.get("source"), "text": text, "metadata": {"title": block.get("title")}}


def _resource(block: Mapping[str, Any]) -> Mapping[str, Any] | None:
    match block:
        case {"resource": {"text": str(text), **resource}}:
            return {"id": resource.get("uri"), "text": text}
    return None


def _page(block: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a search of the web gave: an address; what stands there is encrypted."""
    return {"id": block.get("url"), "metadata": {"title": block.get("title")}}


_BLOCKS: Mapping[str, Any] = {
    "web_search_result": _page,
    "text": lambda block: block.get("text"),
    "output_text": lambda block: block.get("text"),
    "search_result": _search_result,
    "resource": _resource,
}
"""What blocks of content hold: a text, a document, or None."""


def json_of(content: object) -> Any:
    """What a tool answered as JSON, which may be cut anywhere into blocks of text."""
    if isinstance(content, (list, tuple)) and content:
        texts: list[Any] = [
            block.get("text") if isinstance(block, Mapping) else None for block in content
        ]
        if all(isinstance(text, str) for text in texts):
            content = "".join(texts)
    return as_json(content)


def as_json(value: object) -> Any:
    """What a text of JSON holds, if it is a list or an object; else the value itself."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        with suppress(ValueError):
            inner = foreign_json(value, strict=False)
            return inner if isinstance(inner, (dict, list)) else value
    return value
