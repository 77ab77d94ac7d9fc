"""OpenTelemetry: what retrievers returned in production, from traces to runs.

Read are files of OTLP as JSON, as a collector's file exporter writes them (a request a line, or
one whole; also .gz), by two conventions: OpenInference (``openinference.span.kind: RETRIEVER``,
``retrieval.documents.{i}.document.content``, ``.id``, ``.score``, ``.metadata``) and the semantic
conventions of generative AI (``gen_ai.operation.name: retrieval``, ``gen_ai.retrieval.documents``).
No package of OpenTelemetry is needed.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from kragx.data import GoldDataset, Retrieved, Run, normalise
from kragx.data.documents import as_docs
from kragx.data.formats.jsonl import foreign_json, open_bytes
from kragx.data.problems import DataWarning
from kragx.data.text import Mender
from kragx.errors import DataError, UsageError, inside, shorten
from kragx.warned import warn

__all__ = ["read_traces"]

_DOCUMENT = re.compile(r"retrieval\.documents\.(\d+)\.document\.(.+)")
_FIELDS = {"content": "text", "id": "id", "score": "score", "metadata": "metadata"}
_QUESTION = ("gen_ai.retrieval.query.text", "input.value")
_QUESTION_KEYS = ("query", "question", "input")
_ERROR = (2, "STATUS_CODE_ERROR")


@dataclass(frozen=True)
class _Span:
    """A retriever at work."""

    name: str
    started: int
    question: str
    retrieved: Retrieved
    attributes: Mapping[str, Any]


def read_traces(
    path: str | Path, gold: GoldDataset, *, query_id: str | None = None
) -> dict[str, Run]:
    """The runs that traces hold, by the name of their spans; ready for `kragx.evaluate`.

    A question of the gold set is known by its text (NFC, white space collapsed), or by an attribute
    that says its id. Where it was asked more than once the last answer counts; a span that ended in
    an error is a question that failed. Questions that are not in the gold set are left out, and
    counted in a warning.

    Args:
        path: a file of OTLP as JSON.
        gold: the gold set.
        query_id: the attribute that has a query's id, if there is one (``session.query_id``).

    Raises:
        DataError: the file is none; a span lacks a document or lost some; it has no retriever's
            span, or none of a question of the gold set.
        UsageError: two questions of the gold set have the same text, and no attribute tells them.
    """
    ids = {query.id: query.id for query in gold} if query_id else _ids_by_text(gold)
    runs: dict[str, dict[str, Retrieved]] = defaultdict(dict)
    n_spans = n_again = 0
    unknown: list[str] = []
    # The start orders them: a file may hold the spans of several machines.
    for span in sorted(_spans(path), key=lambda span: span.started):
        n_spans += 1
        if query_id is None:
            known = ids.get(normalise(span.question))
        else:
            known = ids.get(str(span.attributes.get(query_id)))
        if known is None:
            unknown.append(span.question)
            continue
        n_again += known in runs[span.name]
        runs[span.name][known] = span.retrieved
    if not runs:
        raise DataError(
            f"none of its {n_spans} retriever spans is of a question of the gold set"
            if n_spans
            else "no span of a retriever",
            path=str(path),
            remedy="an attribute with the query's id can be named: query_id='...'"
            if n_spans
            else "spans need openinference.span.kind RETRIEVER, or gen_ai.operation.name retrieval",
        )
    said = [
        f"{len(unknown)} spans are of other questions, as {shorten(unknown[0])}" if unknown else "",
        f"{n_again} questions were asked again; the last answer counts" if n_again else "",
    ]
    if any(said):
        text = f"{path}: {'; '.join(filter(None, said))}"
        warn(text, DataWarning)
    settings = {"traces": Path(path).name}
    return {name: Run(own, name=name, settings=settings) for name, own in runs.items()}


def _ids_by_text(gold: GoldDataset) -> dict[str, str]:
    ids: dict[str, str] = {}
    for query in gold:
        text = normalise(query.text or "")
        if text and ids.setdefault(text, query.id) != query.id:
            raise UsageError(
                f"queries {ids[text]!r} and {query.id!r} have the same text",
                remedy="name the attribute of the spans that has the id: query_id='...'",
            )
    return ids


def _spans(path: str | Path) -> Iterator[_Span]:
    """The spans of retrievers, in the order of the file."""
    mender = Mender()
    for number, request in _requests(path):
        where = f"{path}:{number}"
        try:
            spans = [
                span
                for of_resource in request["resourceSpans"]
                for of_scope in of_resource.get("scopeSpans", ())
                for span in of_scope.get("spans", ())
            ]
        except (KeyError, TypeError, AttributeError):
            raise DataError(
                "no request of OTLP as JSON",
                path=where,
                remedy='each has {"resourceSpans": [...]}, as a collector\'s file exporter writes',
            ) from None
        for own in spans:
            with inside(path=where):
                try:
                    span = _retriever(own, mender)
                except (
                    LookupError,
                    TypeError,
                    AttributeError,
                    ValueError,
                    ArithmeticError,
                ) as error:
                    if isinstance(error, DataError):
                        raise
                    raise DataError(f"not a span as OTLP has it: {error!r}") from None
            if span is not None:
                yield span


def _requests(path: str | Path) -> Iterator[tuple[int, Any]]:
    """The requests of a file with their lines: one each, or one for the whole."""
    with open_bytes(path) as file:
        lines = [line.decode("utf-8-sig", "replace") for line in file]
    try:
        yield from [(at, _json(line)) for at, line in enumerate(lines, start=1) if line.strip()]
    except ValueError:
        try:
            yield 1, _json("".join(lines))
        except ValueError as error:
            raise DataError(f"not JSON: {error}", path=str(path)) from None


def _json(text: str) -> Any:
    return foreign_json(text, strict=False)


def _retriever(span: Mapping[str, Any], mender: Mender) -> _Span | None:
    """A span of a retriever; None for any other.

    Raises:
        DataError: what it retrieved is not all there.
    """
    attributes = {own["key"]: _value(own.get("value")) for own in span.get("attributes", ())}
    kind = str(attributes.get("openinference.span.kind", "")).upper()
    if kind != "RETRIEVER" and attributes.get("gen_ai.operation.name") != "retrieval":
        return None
    name, question = str(span["name"]), _question(attributes)
    if question is None:
        raise DataError(
            f"span {name!r} does not say the question",
            remedy="it stands in input.value, or gen_ai.retrieval.query.text; traces may have been "
            "told to leave it out",
        )
    start, end = (int(span.get(key) or 0) for key in ("startTimeUnixNano", "endTimeUnixNano"))
    seconds = (end - start) / 1e9 if 0 < start <= end else None
    status = span.get("status") or {}
    if status.get("code") in _ERROR:
        error = str(status.get("message") or "the span ended in an error")
        retrieved = Retrieved(seconds=seconds, error=error)
    else:
        if int(span.get("droppedAttributesCount") or 0):
            raise DataError(
                f"span {name!r} of {shorten(question)} lost {span['droppedAttributesCount']} "
                "attributes, documents perhaps",
                remedy="trace with OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT raised (the default is 128)",
            )
        documents = as_docs(_documents(attributes, name), mender, f"span {name!r}", strings=False)
        retrieved = Retrieved(documents, seconds)
    return _Span(name, start, question, retrieved, attributes)


def _question(attributes: Mapping[str, Any]) -> str | None:
    value = next((attributes[key] for key in _QUESTION if attributes.get(key)), None)
    if not isinstance(value, str):
        return None
    if attributes.get("input.mime_type") == "application/json":
        inner = _json(value)
        if isinstance(inner, Mapping):
            return next((str(inner[key]) for key in _QUESTION_KEYS if key in inner), None)
        return str(inner)
    return value


def _documents(attributes: Mapping[str, Any], name: str) -> Iterable[Mapping[str, Any]]:
    """The documents, by rank.

    Raises:
        DataError: a rank is missing.
    """
    if "gen_ai.retrieval.documents" in attributes:
        value = attributes["gen_ai.retrieval.documents"]
        listed = _json(value) if isinstance(value, str) else value
        return [_named(own) for own in listed]
    ranks: dict[int, dict[str, Any]] = defaultdict(dict)
    for key, value in attributes.items():
        if match := _DOCUMENT.fullmatch(key):
            ranks[int(match[1])][match[2]] = value
    missing = next(rank for rank in count() if rank not in ranks)
    if missing < len(ranks):
        raise DataError(f"span {name!r} lacks document {missing} of {max(ranks) + 1}")
    return [_named(ranks[rank]) for rank in range(len(ranks))]


def _named(document: Mapping[str, Any]) -> dict[str, Any]:
    """A document by kragx's names; metadata may be JSON in a text."""
    fields = {own: document[theirs] for theirs, own in _FIELDS.items() if theirs in document}
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


def _value(value: Any) -> Any:
    """A value of OTLP as Python has it."""
    if not value:
        return None
    ((kind, own),) = value.items()
    if kind == "intValue":
        return int(own)
    if kind == "arrayValue":
        return [_value(one) for one in own.get("values", ())]
    if kind == "kvlistValue":
        return {one["key"]: _value(one.get("value")) for one in own.get("values", ())}
    return own
