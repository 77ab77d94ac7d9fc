"""Files of OTLP as JSON, and the spans in them as calls, by two conventions."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from math import inf
from pathlib import Path
from typing import Any

from kragx.data import Doc, SurrogateRepair, as_docs
from kragx.data.formats.jsonl import foreign_json, open_bytes
from kragx.evaluation.calls.call import Call, Kind
from kragx.evaluation.calls.logs import LoggedSpan, Place, asked_in, first_of, records
from kragx.evaluation.calls.messages import (
    as_json,
    documents_in,
    graph_step,
    tool_message,
    words_of,
)
from kragx.ground.errors import DataError, inside, shorten

_FIELDS = {"content": "text", "id": "id", "score": "score", "metadata": "metadata"}
_MESSAGES = ("input.value", "gen_ai.input.messages")
_QUESTION = ("gen_ai.retrieval.query.text", *_MESSAGES)
_KINDS: dict[str, Kind] = {"RETRIEVER": "retriever", "TOOL": "tool", "LLM": "model"}
_LABELS = {*_KINDS, "RERANKER", "AGENT"}
_OPERATIONS = {
    "retrieval": "RETRIEVER",
    "execute_tool": "TOOL",
    "invoke_agent": "AGENT",
    **dict.fromkeys(("chat", "text_completion", "generate_content"), "LLM"),
}
"""What OpenInference calls the operations of the other convention."""

_TOKENS = (
    ("llm.token_count.total",),
    ("llm.token_count.prompt", "llm.token_count.completion"),
    ("gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens"),
)

_SESSIONS = ("session.id", "gen_ai.conversation.id", "thread.id")
_ANSWERS = ("output.value", "gen_ai.output.messages")

Identity = tuple[str | None, str | None]
"""The id and text of a document."""


@dataclass(eq=False, kw_only=True)
class TraceSpan(Call):
    """A piece of work, as the call that it is.

    Attributes:
        span_name: its own, which of a tool may be another than the tool's.
        label: its kind as OpenInference calls it; empty of one that is of no interest.
        texts: what was asked: the user's turns up to the question, if it was given these or a text.
        attributes: all it says.
        at, outer: where it is, and the span around it.
    """

    span_name: str
    label: str
    attributes: Mapping[str, Any]
    at: Place
    outer: Place
    texts: tuple[str, ...] = ()


def _span(
    record: Mapping[str, Any], otherwise: str, docs_by_identity: dict[Identity, Doc]
) -> TraceSpan:
    """A span; what does not say of which trace it is, is one of its own.

    Args:
        record: as OTLP has it.
        otherwise: names a trace, or a span, that has no id.
        docs_by_identity: those of the file so far: equal documents are the same object, as a chain
            hands them on.

    Raises:
        DataError: what a retriever retrieved is not all there.
    """

    def same(docs: Iterable[Doc]) -> tuple[Doc, ...]:
        return tuple(docs_by_identity.setdefault((doc.id, doc.text), doc) for doc in docs)

    attributes = {
        str(attribute["key"]): attribute_value(attribute.get("value"))
        for attribute in record.get("attributes", ())
    }
    label = str(attributes.get("openinference.span.kind", "")).upper()
    if label not in _LABELS:
        label = _OPERATIONS.get(str(attributes.get("gen_ai.operation.name")), "")
    kind = _KINDS.get(label, "step")
    start, end = (int(record.get(key) or 0) for key in ("startTimeUnixNano", "endTimeUnixNano"))
    status, trace = record.get("status") or {}, str(record.get("traceId") or otherwise)
    words = str(status.get("message") or "")
    has_failed = status.get("code") in (2, "STATUS_CODE_ERROR")
    name = str(record["name"] if kind == "retriever" else record.get("name"))
    span = TraceSpan(
        name,
        kind,
        given=() if kind == "step" else None,
        started=start,
        # Without an end, or with one before its start, nobody knows when it ended.
        ended=end if 0 < start <= end and (end - start) / 1e9 < inf else inf,
        error=(words if words.strip() else "the span ended in an error") if has_failed else None,
        unit=1e9,
        graph=graph_step(as_json(attributes.get("metadata"))),
        tokens=_tokens(attributes),
        span_name=name,
        label=label,
        attributes=attributes,
        at=(trace, str(record.get("spanId") or otherwise)),
        outer=(trace, str(record.get("parentSpanId") or "")),
    )
    if kind == "retriever":
        span.texts = _texts(attributes)
        records = _retrieved(span, int(record.get("droppedAttributesCount") or 0))
        span.query = span.texts[-1]
    elif kind == "tool":
        _tool(span)
    else:
        with suppress(ValueError, AttributeError, RecursionError):  # of whatever is no search
            span.texts = _texts(attributes)
    if label == "RERANKER":
        span.given = (same(_read(_records(span, "reranker.input_documents"), name)),)
        records = _records(span, "reranker.output_documents")
    if label == "RERANKER" or (kind == "retriever" and span.error is None):
        span.documents = _read(records, name)
        span.returned = same(span.documents)
    return span


def _retrieved(span: TraceSpan, n_lost: int) -> Sequence[Mapping[str, Any]]:
    """What a retriever retrieved, with ids from its whole answer where the list leaves them out.

    Raises:
        DataError: not all of it is there, or not the question.
    """
    if not span.texts:
        raise DataError(
            "span {name!r} does not say the question",
            remedy="it stands in input.value, or gen_ai.retrieval.query.text; traces may have "
            "been told to leave it out",
            name=span.name,
        )
    if span.error is not None:
        return ()
    if n_lost:
        raise DataError(
            "span {name!r} of {value} lost {record} attributes, documents perhaps",
            remedy="trace with OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT raised (the default is 128)",
            name=span.name,
            value=shorten(span.texts[-1]),
            record=n_lost,
        )
    records = _records(span, "retrieval.documents")
    match as_json(span.attributes.get("output.value")):
        case {"documents": [*listed]} if len(listed) == len(records):
            has_ids = any("id" in record for record in records)
            if not has_ids and all(isinstance(entry, Mapping) for entry in listed):
                return [
                    record if entry.get("id") is None else {**record, "id": str(entry["id"])}
                    for record, entry in zip(records, listed)
                ]
    return records


def _read(records: Iterable[Mapping[str, Any]], name: str) -> tuple[Doc, ...]:
    return as_docs(records, SurrogateRepair(), f"span {name!r}", strings=False)


def _tool(span: TraceSpan) -> None:
    """Add what a tool was called with, and the documents that it gave, if it gave any."""
    attributes = span.attributes
    span.query = words_of(first_of(attributes, ("input.value", "gen_ai.tool.call.arguments")))
    span.name = str(first_of(attributes, ("tool.name", "gen_ai.tool.name")) or span.name)
    answer = first_of(attributes, ("output.value", "gen_ai.tool.call.result"))
    with suppress(ValueError, TypeError):  # which may be a text of JSON, and within it such a text
        answer = parsed(answer)
    if (message := tool_message(answer)) is None:
        span.documents = documents_in(answer)
    else:
        _, span.documents, error = message
        span.error = span.error or error


def _tokens(attributes: Mapping[str, Any]) -> int | None:
    for names in _TOKENS:
        counts = [value for name in names if isinstance(value := attributes.get(name), int)]
        if len(counts) == len(names):
            return sum(counts)
    return None


def _texts(attributes: Mapping[str, Any]) -> tuple[str, ...]:
    """What was asked: the question, behind what the same user said before."""
    value = first_of(attributes, _QUESTION)
    asked = asked_in(value)
    if asked is None:
        return (value,) if isinstance(value, str) and value.strip() else ()
    question, history = asked
    return (*(turn.content for turn in history if turn.role == "user"), question)


def _records(span: TraceSpan, prefix: str) -> list[dict[str, Any]]:
    """The documents, by rank.

    Raises:
        DataError: a rank is missing.
    """
    if "gen_ai.retrieval.documents" in span.attributes:
        value = span.attributes["gen_ai.retrieval.documents"]
        return [*map(_document, parsed(value) if isinstance(value, str) else value)]
    by_rank: dict[int, dict[str, Any]] = defaultdict(dict)
    for key, value in span.attributes.items():
        if match := re.fullmatch(rf"{re.escape(prefix)}\.(\d+)\.document\.(.+)", key):
            by_rank[int(match[1])][match[2]] = value
    # Ranks of which one is missing would move up and look like a better list.
    missing = next(rank for rank in count() if rank not in by_rank)
    if missing < len(by_rank):
        raise DataError(
            "span {name!r} lacks document {missing} of {value}",
            name=span.name,
            missing=missing,
            value=max(by_rank) + 1,
        )
    return [_document(by_rank[rank]) for rank in range(len(by_rank))]


def _document(document: Mapping[str, Any]) -> dict[str, Any]:
    """A document by kragx's names; metadata may be JSON in a text."""
    fields = {field: document[theirs] for theirs, field in _FIELDS.items() if theirs in document}
    if isinstance(metadata := fields.get("metadata"), str):
        inner = as_json(metadata)
        fields["metadata"] = {"metadata": metadata} if isinstance(inner, str) else inner
    if "id" in fields:
        fields["id"] = str(fields["id"])
    return fields


def spans_in(path: str | Path) -> Iterator[TraceSpan]:
    """The spans of a file of OTLP as JSON, in its order.

    Raises:
        DataError: the file is none; a span is none, lacks a document or lost some.
    """
    numbers, docs_by_identity = count(1), dict[Identity, Doc]()
    for location, request in _requests(path):
        try:
            spans = [
                record
                for of_resource in request["resourceSpans"]
                for of_scope in of_resource.get("scopeSpans", ())
                for record in of_scope.get("spans", ())
            ]
        except (KeyError, TypeError, AttributeError):
            raise DataError(
                "no request of OTLP as JSON",
                path=location,
                remedy='each has {"resourceSpans": [...]}, as a collector\'s file exporter writes',
            ) from None
        for record in spans:
            with inside(path=location):
                try:
                    span = _span(record, f"the {next(numbers)}th", docs_by_identity)
                except (LookupError, TypeError, AttributeError, ValueError, ArithmeticError) as e:
                    if isinstance(e, DataError):
                        raise
                    raise DataError("not a span as OTLP has it: {error!r}", error=e) from None
            yield span


def _requests(path: str | Path) -> list[tuple[str, Any]]:
    """The requests of a file with their lines: one for the whole, or one each."""
    with open_bytes(path) as file:
        text = file.read().decode("utf-8-sig", "replace")
    with suppress(ValueError):
        # First as a whole: one request may be printed over many lines, none of them JSON.
        return [(f"{path}:1", parsed(text))]
    return [*records(path, "request")]


def parsed(text: str) -> Any:
    """What a text of JSON holds; numbers as other tools write them."""
    return foreign_json(text, strict=False)


def attribute_value(value: Any) -> Any:
    """A value of OTLP as Python has it."""
    match value:
        case {"intValue": number}:
            # OTLP as JSON writes 64 bits as a text, since many readers keep 53 of a number.
            return int(number)
        case {"arrayValue": array}:
            return [*map(attribute_value, array.get("values", ()))]
        case {"kvlistValue": pairs}:
            return {
                pair["key"]: attribute_value(pair.get("value")) for pair in pairs.get("values", ())
            }
    return next(iter(value.values())) if value else None


def logged_spans(path: str | Path) -> Iterator[LoggedSpan]:
    """The spans of a file of OTLP as JSON.

    Raises:
        DataError: the file is none; a span lacks a document or lost some.
    """
    for span in spans_in(path):
        is_retriever, attributes = span.kind == "retriever", span.attributes
        # What a tool gets is no question of a user's.
        questions = _QUESTION if is_retriever else () if span.kind == "tool" else _MESSAGES
        yield LoggedSpan(
            attributes,
            span.at,
            span.outer[1] or None,
            kind=span.label.lower(),
            time=span.started or None,
            given=first_of(attributes, questions),
            gave=first_of(attributes, _ANSWERS),
            session=first_of(attributes, _SESSIONS),
            documents=span.documents if is_retriever or span.label == "RERANKER" else None,
        )
