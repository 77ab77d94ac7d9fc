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
from kragx.data.gold import Turn
from kragx.evaluation.calls.call import Call, Kind
from kragx.evaluation.calls.logged import LoggedQuestion, LoggedSpan, answer_in, asked_in
from kragx.evaluation.calls.messages import tool_message
from kragx.evaluation.calls.tool_answers import as_json, documents_in, graph_step, words_of
from kragx.ground.errors import DataError, inside, shorten

_FIELDS = {"content": "text", "id": "id", "score": "score", "metadata": "metadata"}
_QUESTION = ("gen_ai.retrieval.query.text", "input.value")
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
_MESSAGES = ("input.value", "gen_ai.input.messages")

Place = tuple[str, str]
"""The trace and id of a span."""


@dataclass(frozen=True, eq=False)
class TraceSpan:
    """A piece of work.

    Attributes:
        name: its own.
        call: it as a call.
        label: its kind as OpenInference calls it; empty of one that is of no interest.
        texts: what was asked: the user's turns up to the question, if it was given these or a text.
        attributes: all it says.
        place, around: where it is, and the span around it.
    """

    name: str
    call: Call
    label: str
    texts: tuple[str, ...]
    attributes: Mapping[str, Any]
    place: Place
    around: Place


def first_of(attributes: Mapping[str, Any], names: Iterable[str]) -> Any:
    """The first of some attributes that says something; None if none does."""
    return next(filter(None, map(attributes.get, names)), None)


class SpanReader:
    """Reads the spans of one file."""

    def __init__(self) -> None:
        self._n = 0
        self._docs: dict[tuple[str | None, str | None], Doc] = {}

    def read(self, record: Mapping[str, Any]) -> TraceSpan:
        """A span; what does not say of which trace it is, is one of its own.

        Raises:
            DataError: it is none, or what a retriever retrieved is not all there.
        """
        self._n += 1
        try:
            return self._span(record, f"the {self._n}th")
        except (LookupError, TypeError, AttributeError, ValueError, ArithmeticError) as error:
            if isinstance(error, DataError):
                raise
            raise DataError("not a span as OTLP has it: {error!r}", error=error) from None

    def _span(self, record: Mapping[str, Any], otherwise: str) -> TraceSpan:
        attributes = {
            attribute["key"]: attribute_value(attribute.get("value"))
            for attribute in record.get("attributes", ())
        }
        label = str(attributes.get("openinference.span.kind", "")).upper()
        if label not in _LABELS:
            label = _OPERATIONS.get(str(attributes.get("gen_ai.operation.name")), "")
        kind = _KINDS.get(label, "step")
        start, end = (int(record.get(key) or 0) for key in ("startTimeUnixNano", "endTimeUnixNano"))
        call = Call(
            str(record["name"] if kind == "retriever" else record.get("name")),
            kind,
            given=() if kind == "step" else None,
            place=None,
            started=start,
            # Without an end, or with one before its start, nobody knows when it ended.
            ended=end if 0 < start <= end and (end - start) / 1e9 < inf else inf,
            error=_error(record.get("status") or {}),
            unit=1e9,
            graph=graph_step(as_json(attributes.get("metadata"))),
            tokens=_tokens(attributes),
        )
        trace = str(record.get("traceId") or otherwise)
        place = (trace, str(record.get("spanId") or otherwise))
        around = (trace, str(record.get("parentSpanId") or ""))
        name, texts = call.name, tuple[str, ...]()
        if kind == "retriever":
            call.query = self._retrieved(call, record, attributes)
            texts = (call.query,)
        elif kind == "tool":
            _tool(call, attributes)
        else:
            with suppress(ValueError, AttributeError, RecursionError):  # of whatever is no search
                texts = _texts(attributes)
            if label == "RERANKER":
                given = _records(attributes, "reranker.input_documents", name)
                call.given = (self._known(_read(given, name)),)
                self._returned(call, _records(attributes, "reranker.output_documents", name))
        return TraceSpan(name, call, label, texts, attributes, place, around)

    def _retrieved(
        self, call: Call, record: Mapping[str, Any], attributes: Mapping[str, Any]
    ) -> str:
        """Add what a retriever retrieved; its question.

        Raises:
            DataError: not all of that is there.
        """
        texts = _texts(attributes)
        if not texts:
            raise DataError(
                "span {name!r} does not say the question",
                remedy="it stands in input.value, or gen_ai.retrieval.query.text; traces may have "
                "been told to leave it out",
                name=call.name,
            )
        if call.error is None:
            if int(record.get("droppedAttributesCount") or 0):
                raise DataError(
                    "span {name!r} of {value} lost {record} attributes, documents perhaps",
                    remedy="trace with OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT raised (the default is 128)",
                    name=call.name,
                    value=shorten(texts[-1]),
                    record=record["droppedAttributesCount"],
                )
            records = _records(attributes, "retrieval.documents", call.name)
            self._returned(call, _with_ids(records, attributes))
        return texts[-1]

    def _returned(self, call: Call, records: Iterable[Mapping[str, Any]]) -> None:
        call.documents = _read(records, call.name)
        call.returned = self._known(call.documents)

    def _known(self, docs: Iterable[Doc]) -> tuple[Doc, ...]:
        """The same documents as the same objects, as a chain hands them on."""
        return tuple(self._docs.setdefault((doc.id, doc.text), doc) for doc in docs)


def _read(records: Iterable[Mapping[str, Any]], name: str) -> tuple[Doc, ...]:
    return as_docs(records, SurrogateRepair(), f"span {name!r}", strings=False)


def _error(status: Mapping[str, Any]) -> str | None:
    if status.get("code") not in (2, "STATUS_CODE_ERROR"):
        return None
    words = str(status.get("message") or "")
    return words if words.strip() else "the span ended in an error"


def _tool(call: Call, attributes: Mapping[str, Any]) -> None:
    """Add what a tool was called with, and the documents that it gave, if it gave any."""
    call.query = words_of(first_of(attributes, ("input.value", "gen_ai.tool.call.arguments")))
    call.name = str(first_of(attributes, ("tool.name", "gen_ai.tool.name")) or call.name)
    answer = first_of(attributes, ("output.value", "gen_ai.tool.call.result"))
    with suppress(ValueError, TypeError):  # which may be a text of JSON, and within it such a text
        answer = parsed(answer)
    if (message := tool_message(answer)) is None:
        call.documents = documents_in(answer)
    else:
        _, call.documents, error = message
        call.error = call.error or error


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


def _records(attributes: Mapping[str, Any], prefix: str, name: str) -> list[dict[str, Any]]:
    """The documents, by rank.

    Raises:
        DataError: a rank is missing.
    """
    if "gen_ai.retrieval.documents" in attributes:
        value = attributes["gen_ai.retrieval.documents"]
        return [*map(_document, parsed(value) if isinstance(value, str) else value)]
    by_rank: dict[int, dict[str, Any]] = defaultdict(dict)
    for key, value in attributes.items():
        if match := re.fullmatch(rf"{re.escape(prefix)}\.(\d+)\.document\.(.+)", key):
            by_rank[int(match[1])][match[2]] = value
    # Ranks of which one is missing would move up and look like a better list.
    missing = next(rank for rank in count() if rank not in by_rank)
    if missing < len(by_rank):
        raise DataError(
            "span {name!r} lacks document {missing} of {value}",
            name=name,
            missing=missing,
            value=max(by_rank) + 1,
        )
    return [_document(by_rank[rank]) for rank in range(len(by_rank))]


def _with_ids(
    records: Sequence[dict[str, Any]], attributes: Mapping[str, Any]
) -> Sequence[Mapping[str, Any]]:
    """The same with ids from the whole answer, where the list of documents leaves them out."""
    match as_json(attributes.get("output.value")):
        case {"documents": [*listed]} if len(listed) == len(records):
            has_ids = any("id" in record for record in records)
            if not has_ids and all(isinstance(entry, Mapping) for entry in listed):
                return [
                    record if entry.get("id") is None else {**record, "id": str(entry["id"])}
                    for record, entry in zip(records, listed)
                ]
    return records


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
        DataError: the file is none; a span lacks a document or lost some.
    """
    reader = SpanReader()
    for location, request in _requests(path):
        try:
            records = [
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
        for record in records:
            with inside(path=location):
                span = reader.read(record)
            yield span


def _requests(path: str | Path) -> list[tuple[str, Any]]:
    """The requests of a file with their lines: one for the whole, or one each."""
    with open_bytes(path) as file:
        text = file.read().decode("utf-8-sig", "replace")
    try:
        # First as a whole: one request may be printed over many lines, none of them JSON.
        return [(f"{path}:1", parsed(text))]
    except ValueError as error:
        problem, location = error, str(path)
    requests: list[tuple[str, Any]] = []
    for number, line in enumerate(text.split("\n"), start=1):
        try:
            requests += [(f"{path}:{number}", parsed(line))] if line.strip() else []
        except ValueError as error:
            if requests:  # a request a line, and this one is broken
                problem, location = error, f"{path}:{number}"
            raise DataError("not JSON: {why}", path=location, why=problem) from None
    return requests


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
        is_last = span.label == "RERANKER"
        yield LoggedSpan(
            span.place,
            span.around if span.around[1] else None,
            _asked(span),
            span.call.documents if span.call.kind == "retriever" or is_last else None,
            is_last=is_last,
            started=span.call.started,
        )


def _asked(span: TraceSpan) -> LoggedQuestion | None:
    attributes = span.attributes
    question = next(filter(None, (asked_in(attributes.get(name)) for name in _MESSAGES)), None)
    if span.texts and (question is None or span.call.kind == "retriever"):
        question = span.texts[-1], tuple(Turn("user", text) for text in span.texts[:-1])
    if question is None or span.call.kind == "tool":
        return None
    session = first_of(attributes, _SESSIONS)
    return LoggedQuestion(
        *question,
        span.call.started / 1e9 or None,
        answer=next(filter(None, (answer_in(attributes.get(name)) for name in _ANSWERS)), None),
        session=None if session is None else str(session),
        record=attributes,
    )
