"""Spans as calls: of tools, retrievers, rerankers and models, by two conventions."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from math import inf
from typing import Any

from kragx.adapters.opentelemetry.otlp import attribute_value, parsed
from kragx.data import Doc, Mender, as_docs
from kragx.errors import DataError, shorten
from kragx.evaluation.calls.call import Call, Kind
from kragx.evaluation.calls.messages import tool_message, user_texts
from kragx.evaluation.calls.tool_answers import documents_in, graph_step, words_of

_FIELDS = {"content": "text", "id": "id", "score": "score", "metadata": "metadata"}
_QUESTION = ("gen_ai.retrieval.query.text", "input.value")
_QUESTION_KEYS = ("query", "question", "input")
_ERROR = (2, "STATUS_CODE_ERROR")
_KINDS: dict[str, Kind] = {"RETRIEVER": "retriever", "TOOL": "tool", "LLM": "model"}
_OPERATIONS: dict[str, Kind] = {
    "retrieval": "retriever",
    "execute_tool": "tool",
    **dict.fromkeys(("chat", "text_completion", "generate_content"), "model"),
}
_TOKENS = (
    ("llm.token_count.total",),
    ("llm.token_count.prompt", "llm.token_count.completion"),
    ("gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens"),
)
_TOOL_NAMES = ("tool.name", "gen_ai.tool.name")
_CALLED_FOR = re.compile(r"llm\.output_messages\.\d+\.message\.tool_calls\.\d+\.tool_call\.id")

Place = tuple[str, str]
"""The trace and id of a span."""


@dataclass(frozen=True, eq=False)
class TraceSpan:
    """A piece of work.

    Attributes:
        name: its own.
        call: it as a call.
        texts: what was asked: the user's turns up to the question, if it was given these or a text.
        is_agent: whether it says that it is an agent's work.
        attributes: all it says.
        place, around: where it is, and the span around it.
        calls_for: the ids of the tool calls that a model asked for.
        called_by_id: of a tool's call its id.
    """

    name: str
    call: Call
    texts: tuple[str, ...]
    is_agent: bool
    attributes: Mapping[str, Any]
    place: Place
    around: Place
    calls_for: tuple[str, ...] = ()
    called_by_id: str | None = None

    @property
    def question(self) -> str | None:
        """The question that it was asked."""
        return self.texts[-1] if self.texts else None


class SpanReader:
    """Reads the spans of one file."""

    def __init__(self) -> None:
        self._mender = Mender()
        self._numbers = count(1)
        self._docs: dict[tuple[str | None, str | None], Doc] = {}

    def read(self, record: Mapping[str, Any]) -> TraceSpan:
        """A span; what does not say of which trace it is, is one of its own.

        Raises:
            DataError: it is none, or what a retriever retrieved is not all there.
        """
        otherwise = f"the {next(self._numbers)}th"
        try:
            return self._span(record, otherwise)
        except (LookupError, TypeError, AttributeError, ValueError, ArithmeticError) as error:
            if isinstance(error, DataError):
                raise
            raise DataError(f"not a span as OTLP has it: {error!r}") from None

    def _span(self, record: Mapping[str, Any], otherwise: str) -> TraceSpan:
        attributes = {
            attribute["key"]: attribute_value(attribute.get("value"))
            for attribute in record.get("attributes", ())
        }
        span_kind = str(attributes.get("openinference.span.kind", "")).upper()
        operation = str(attributes.get("gen_ai.operation.name", ""))
        kind = _KINDS.get(span_kind) or _OPERATIONS.get(operation, "step")
        name = str(record["name"] if kind == "retriever" else record.get("name"))
        start, end = (int(record.get(key) or 0) for key in ("startTimeUnixNano", "endTimeUnixNano"))
        call = Call(
            name,
            kind,
            given=() if kind == "step" else None,
            place=None,
            started=start,
            ended=end if 0 < start <= end and (end - start) / 1e9 < inf else inf,
            error=None,
            unit=1e9,
            graph=graph_step(_inner(attributes.get("metadata"))),
            tokens=_tokens(attributes),
        )
        status = record.get("status") or {}
        if status.get("code") in _ERROR:
            words = str(status.get("message") or "")
            call.error = words if words.strip() else "the span ended in an error"
        texts: tuple[str, ...] = ()
        if kind == "retriever":
            texts = (self._retriever(call, record, attributes),)
        elif kind == "tool":
            self._tool(call, attributes)
        else:
            with suppress(ValueError, AttributeError, RecursionError):  # of whatever is no search
                texts = _texts(attributes)
            if span_kind == "RERANKER":
                self._reranker(call, attributes)
        trace = str(record.get("traceId") or otherwise)
        return TraceSpan(
            name=name,
            call=call,
            texts=texts,
            is_agent=span_kind == "AGENT" or operation == "invoke_agent",
            attributes=attributes,
            place=(trace, str(record.get("spanId") or otherwise)),
            around=(trace, str(record.get("parentSpanId") or "")),
            calls_for=tuple(
                str(value) for key, value in attributes.items() if _CALLED_FOR.fullmatch(key)
            ),
            called_by_id=_called_by_id(attributes) if kind == "tool" else None,
        )

    def _retriever(
        self, call: Call, record: Mapping[str, Any], attributes: Mapping[str, Any]
    ) -> str:
        """Add what a retriever retrieved; its question.

        Raises:
            DataError: not all of that is there.
        """
        name = call.name
        texts = _texts(attributes)
        if not texts:
            raise DataError(
                f"span {name!r} does not say the question",
                remedy="it stands in input.value, or gen_ai.retrieval.query.text; traces may have "
                "been told to leave it out",
            )
        call.query = texts[-1]
        if call.error is not None:
            return texts[-1]
        if int(record.get("droppedAttributesCount") or 0):
            raise DataError(
                f"span {name!r} of {shorten(texts[-1])} lost {record['droppedAttributesCount']} "
                "attributes, documents perhaps",
                remedy="trace with OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT raised (the default is 128)",
            )
        records = [*_records(attributes, "retrieval.documents", name)]
        self._returned(call, _with_ids(records, attributes))
        return texts[-1]

    def _tool(self, call: Call, attributes: Mapping[str, Any]) -> None:
        """Add what a tool was called with, and the documents that it gave, if it gave any."""
        arguments = (attributes.get(key) for key in ("input.value", "gen_ai.tool.call.arguments"))
        call.query = words_of(next(filter(None, arguments), None))
        call.name = str(next(filter(None, map(attributes.get, _TOOL_NAMES)), call.name))
        answers = (attributes.get(key) for key in ("output.value", "gen_ai.tool.call.result"))
        answer = _inner(next(filter(None, answers), None))
        if (message := tool_message(answer)) is not None:
            _, call.documents, error = message
            call.error = call.error or error
        else:
            call.documents = documents_in(answer)

    def _reranker(self, call: Call, attributes: Mapping[str, Any]) -> None:
        """Add what a reranker was given and returned."""
        given = self._read(_records(attributes, "reranker.input_documents", call.name), call.name)
        call.given = (given,)
        self._returned(call, _records(attributes, "reranker.output_documents", call.name))

    def _returned(self, call: Call, records: Iterable[Mapping[str, Any]]) -> None:
        call.documents = as_docs(records, self._mender, f"span {call.name!r}", strings=False)
        call.returned = self._known(call.documents)

    def _read(self, records: Iterable[Mapping[str, Any]], name: str) -> tuple[Doc, ...]:
        return self._known(as_docs(records, self._mender, f"span {name!r}", strings=False))

    def _known(self, docs: Iterable[Doc]) -> tuple[Doc, ...]:
        """The same documents as the same objects, as a chain hands them on."""
        return tuple(self._docs.setdefault((doc.id, doc.text), doc) for doc in docs)


def _tokens(attributes: Mapping[str, Any]) -> int | None:
    for names in _TOKENS:
        counts = [value for name in names if isinstance(value := attributes.get(name), int)]
        if len(counts) == len(names):
            return sum(counts)
    return None


def _texts(attributes: Mapping[str, Any]) -> tuple[str, ...]:
    """What was asked: the question, behind what the same user said before."""
    value = next((attributes[key] for key in _QUESTION if attributes.get(key)), None)
    if not isinstance(value, str):
        return ()
    if attributes.get("input.mime_type") != "application/json":
        return (value,)
    inner = parsed(value)
    if not isinstance(inner, Mapping):
        return (str(inner),)
    question = next((str(inner[key]) for key in _QUESTION_KEYS if key in inner), None)
    return user_texts(inner.get("messages")) if question is None else (question,)


def _inner(value: Any) -> Any:
    """What stands in a text of JSON; else the value itself."""
    if isinstance(value, str):
        with suppress(ValueError, RecursionError):
            return parsed(value)
    return value


def _called_by_id(attributes: Mapping[str, Any]) -> str | None:
    names = ("tool_call.id", "tool.id", "gen_ai.tool.call.id")
    for call_id in map(attributes.get, names):
        if call_id:
            return str(call_id)
    message = tool_message(_inner(attributes.get("output.value")))
    return None if message is None else message[0]


def _records(attributes: Mapping[str, Any], prefix: str, name: str) -> Iterable[Mapping[str, Any]]:
    """The documents, by rank.

    Raises:
        DataError: a rank is missing.
    """
    if "gen_ai.retrieval.documents" in attributes:
        value = attributes["gen_ai.retrieval.documents"]
        listed = parsed(value) if isinstance(value, str) else value
        return [_named(record) for record in listed]
    ranks: dict[int, dict[str, Any]] = defaultdict(dict)
    for key, value in attributes.items():
        if match := re.fullmatch(rf"{re.escape(prefix)}\.(\d+)\.document\.(.+)", key):
            ranks[int(match[1])][match[2]] = value
    missing = next(rank for rank in count() if rank not in ranks)
    if missing < len(ranks):
        raise DataError(f"span {name!r} lacks document {missing} of {max(ranks) + 1}")
    return [_named(ranks[rank]) for rank in range(len(ranks))]


def _with_ids(
    records: list[Mapping[str, Any]], attributes: Mapping[str, Any]
) -> Iterable[Mapping[str, Any]]:
    """The same with ids from the whole answer, where the list of documents leaves them out."""
    answer = _inner(attributes.get("output.value"))
    listed = answer.get("documents") if isinstance(answer, Mapping) else None
    if not isinstance(listed, list) or len(listed) != len(records):
        return records
    if any("id" in record for record in records) or not all(
        isinstance(entry, Mapping) for entry in listed
    ):
        return records
    ids = [entry.get("id") for entry in listed]
    return [
        record if doc_id is None else {**record, "id": str(doc_id)}
        for record, doc_id in zip(records, ids)
    ]


def _named(document: Mapping[str, Any]) -> dict[str, Any]:
    """A document by kragx's names; metadata may be JSON in a text."""
    fields = {field: document[theirs] for theirs, field in _FIELDS.items() if theirs in document}
    metadata = fields.get("metadata")
    if isinstance(metadata, str):
        try:
            metadata = json.loads(metadata)
        except ValueError:
            metadata = {"metadata": metadata}
        fields["metadata"] = metadata
    if "id" in fields:
        fields["id"] = str(fields["id"])
    return fields
