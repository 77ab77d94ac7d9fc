"""What tools are called with and answer, as searches: words, and documents where there are any."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from kragx.data import Doc, SurrogateRepair, as_docs
from kragx.data.documents import TEXT_FIELDS, is_doc, is_pair
from kragx.data.formats.jsonl import foreign_json
from kragx.ground.errors import DataError

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


def words_of(arguments: object) -> str | None:
    """The words that a tool is called with; of other arguments all of them, as JSON.

    Args:
        arguments: a text, which may be JSON, or a mapping; None for none.
    """
    if isinstance(arguments, str):
        inner = _json(arguments)
        if not isinstance(inner, Mapping):
            return arguments
        arguments = inner
    if arguments is None or arguments == {}:
        return None
    if not isinstance(arguments, Mapping):
        return compact(arguments)
    named = (arguments.get(name) for name in _WORDS)
    texts = [text for text in arguments.values() if isinstance(text, str)]
    words = next((text for text in named if isinstance(text, str)), None)
    if words is None and len(texts) == 1:
        words = texts[0]
    return compact(arguments) if words is None else words


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
    beside = None if artifact is None else documents_in(artifact)
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
    match answer:
        case str():
            inner = _json(answer)
            return None if inner is None or isinstance(inner, str) else documents_in(inner)
        case Mapping():
            return _in_mapping(answer)
        case list() | tuple():
            return (
                _in_blocks(answer) if answer and all(map(_is_block, answer)) else _in_list(answer)
            )
    return None


def _in_mapping(answer: Mapping[str, Any]) -> tuple[Doc, ...] | None:
    lists = [value for value in answer.values() if isinstance(value, (list, tuple))]
    documents = [docs for value in lists if (docs := _in_list(value)) is not None]
    if not any(documents):
        named = [answer[name] for name in _LISTS if isinstance(answer.get(name), (list, tuple))]
        meant = named or (lists if len(lists) == 1 else ())
        return () if meant and not any(meant) else None
    several = [docs for docs in documents if docs]
    # Of two lists with documents nobody can tell which one was meant.
    return several[0] if len(several) == 1 else None


def _in_list(entries: Sequence[object]) -> tuple[Doc, ...] | None:
    try:
        return as_docs(map(_document, entries), SurrogateRepair(), "answer", strings=False)
    except DataError:
        return None


def _document(entry: object) -> object:
    """What is read as a document.

    Raises:
        DataError: it is none.
    """
    value = entry[0] if is_pair(entry) else entry
    if not is_doc(value):
        raise DataError("no document")
    if not isinstance(value, Mapping):
        return entry
    value = {key: _read_as(key, inner) for key, inner in value.items()}
    if value.keys() <= _PLAIN:
        return (value, entry[1]) if is_pair(entry) else value
    name = next((name for name in TEXT_FIELDS if isinstance(value.get(name), str)), None)
    if name is None:
        raise DataError("no document")
    fields = {key: value[key] for key in ("id", "score", "metadata") if value.get(key) is not None}
    named = {name, *fields}
    if value.get("type") == "Document":  # as LangChain writes one
        named.add("type")
    rest = {key: inner for key, inner in value.items() if key not in named}
    metadata = fields.pop("metadata", {})
    if not isinstance(metadata, Mapping):
        raise DataError("no document")
    return {**fields, "text": value[name], "metadata": {**rest, **metadata}}


def _read_as(key: object, value: object) -> object:
    """A text that is a number, and a score that is a text, as what they are meant to be."""
    if key in TEXT_FIELDS and isinstance(value, (int, float)) and not isinstance(value, bool):
        return str(value)
    if key == "score" and isinstance(value, str):
        with suppress(ValueError):
            return float(value)
    return value


def _is_block(entry: object) -> bool:
    return isinstance(entry, Mapping) and str(entry.get("type")) in _BLOCKS


def _in_blocks(blocks: Sequence[Mapping[str, Any]]) -> tuple[Doc, ...] | None:
    results = [_BLOCKS[block["type"]](block) for block in blocks]
    if all(isinstance(result, Mapping) for result in results):
        return _in_list(results)
    texts = [result for result in results if isinstance(result, str)]
    if len(texts) < len(results):
        return None
    # All together first: one JSON may be cut anywhere into blocks of text.
    if (whole := documents_in("".join(texts))) is not None:
        return whole
    entries = [_json(text) for text in texts]  # a document a block
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


_BLOCKS = {
    "web_search_result": _page,
    "text": lambda block: block.get("text"),
    "output_text": lambda block: block.get("text"),
    "search_result": _search_result,
    "resource": _resource,
}
"""What blocks of content hold: a text, a document, or None."""


def as_json(value: object) -> Any:
    """What a text of JSON holds, if it is a list or an object; else the value itself."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        inner = _json(value)
        return inner if isinstance(inner, (dict, list)) else value
    return value


def _json(text: str) -> Any:
    try:
        return foreign_json(text, strict=False)
    except ValueError:
        return None
