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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any

from kragx.data import GoldDataset, Retrieved, Run, normalise
from kragx.data.documents import as_docs
from kragx.data.formats.jsonl import foreign_json, open_bytes
from kragx.data.problems import DataWarning
from kragx.data.text import Mender
from kragx.errors import DataError, UsageError, inside, shorten
from kragx.printing import joined, phrase
from kragx.warned import warn

__all__ = ["read_traces"]

_DOCUMENT = re.compile(r"retrieval\.documents\.(\d+)\.document\.(.+)")
_FIELDS = {"content": "text", "id": "id", "score": "score", "metadata": "metadata"}
_QUESTION = ("gen_ai.retrieval.query.text", "input.value")
_QUESTION_KEYS = ("query", "question", "input")
_ERROR = (2, "STATUS_CODE_ERROR")


@dataclass(frozen=True)
class _Span:
    """A piece of work.

    Attributes:
        question: what it was given, if it is a text.
        retrieved: what came of it; None where it is no retriever's.
        place, around: the trace and id of it and of the span around it.
    """

    name: str
    started: int
    question: str | None
    retrieved: Retrieved | None
    attributes: Mapping[str, Any]
    place: tuple[str, str]
    around: tuple[str, str]


def read_traces(
    path: str | Path, gold: GoldDataset, *, query_id: str | None = None
) -> dict[str, Run]:
    """The runs that traces hold, by the name of their spans; ready for `kragx.evaluate`.

    A question of the gold set is known by its text (NFC, white space collapsed), or by an attribute
    that says its id. Where it was asked in more than one trace the last one counts. Within a trace
    an agent may search several times, in other words too: what is of no question of the gold set
    is of that of the span around it, or else of the only one that the trace has. The documents of
    all its searches count, in order and without scores, which are of one search each; a document
    that comes again keeps its rank and is not relevant again. A question all of whose searches
    ended in an error failed. Other questions are left out; a warning says all of this in numbers.

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
    n_spans, searches, unknown = _searches(path, ids, query_id)
    if not searches:
        raise DataError(
            f"none of its {n_spans} retriever spans is of a question of the gold set"
            if n_spans
            else "no span of a retriever",
            path=str(path),
            remedy="an attribute with the query's id can be named: query_id='...'"
            if n_spans
            else "spans need openinference.span.kind RETRIEVER, or gen_ai.operation.name retrieval",
        )
    last = {
        name: {query_id: [*traces.values()][-1] for query_id, traces in by_question.items()}
        for name, by_question in searches.items()
    }
    _warn_of_searches(path, searches, last, unknown)
    return {
        name: Run(
            {query_id: _merge_searches(several) for query_id, several in by_question.items()},
            name=name,
            settings={
                "traces": Path(path).name,
                "questions_of_several_searches": _n_several(by_question),
            },
        )
        for name, by_question in last.items()
    }


def _searches(
    path: str | Path, ids: Mapping[str, str], query_id: str | None
) -> tuple[int, dict[str, dict[str, dict[str, list[Retrieved]]]], list[str]]:
    """What was searched for: by name, question and trace, the first search first.

    Before it the number of all searches, behind it what others were for.
    """
    question_of_span: dict[tuple[str, str], str] = {}  # the question that a span says it is of
    around: dict[tuple[str, str], tuple[str, str]] = {}
    spans: list[tuple[_Span, Retrieved, str | None]] = []
    of_trace: dict[str, set[str]] = defaultdict(set)
    for span in _spans(path):
        key = normalise(span.question or "") if query_id is None else span.attributes.get(query_id)
        around[span.place] = span.around
        if (found_id := ids.get(str(key))) is not None:
            question_of_span[span.place] = found_id
            of_trace[span.place[0]].add(found_id)
        if span.retrieved is not None:
            spans.append((span, span.retrieved, found_id))

    def within(place: tuple[str, str]) -> str | None:
        """The question of the innermost span around that is of one."""
        for _ in around:  # at most so many, should they go round in a circle
            if place in question_of_span or place not in around:
                break
            place = around[place]
        return question_of_span.get(place)

    searches: dict[str, dict[str, dict[str, list[Retrieved]]]] = {}
    unknown: list[str] = []
    # The start orders them: a file may hold the spans of several machines.
    for span, retrieved, found_id in sorted(spans, key=lambda entry: entry[0].started):
        of_this_trace = of_trace[span.place[0]]
        query = (
            found_id
            or within(span.around)
            or (min(of_this_trace) if len(of_this_trace) == 1 else None)
        )
        if query is None:
            unknown.append(span.question or "")
            continue
        traces = searches.setdefault(span.name, {}).setdefault(query, {})
        traces.setdefault(span.place[0], []).append(retrieved)
    return len(spans), searches, unknown


def _merge_searches(searches: Sequence[Retrieved]) -> Retrieved:
    """What a question got whose searches these are."""
    if len(searches) == 1:
        return searches[0]
    good = [search for search in searches if search.error is None]
    if not good:
        return searches[-1]
    documents = [doc for search in good for doc in search.documents]
    seconds = [search.seconds for search in searches]
    return Retrieved(
        tuple(replace(doc, score=None) for doc in documents),
        None if None in seconds else sum(filter(None, seconds)),
    )


def _n_several(by_question: Mapping[str, Sequence[Retrieved]]) -> int:
    return sum(len(several) > 1 for several in by_question.values())


def _warn_of_searches(
    path: str | Path,
    searches: Mapping[str, Mapping[str, Mapping[str, Sequence[Retrieved]]]],
    last: Mapping[str, Mapping[str, Sequence[Retrieved]]],
    unknown: Sequence[str],
) -> None:
    """Warn of what is not one search a question."""
    n_again = sum(len(traces) - 1 for search in searches.values() for traces in search.values())
    lists = [several for traces_of in last.values() for several in traces_of.values()]
    n_failed = sum(len({search.error is None for search in several}) > 1 for several in lists)
    remarks = (
        (
            len(unknown),
            phrase(
                "{n} spans are of other questions, as {text}",
                n=len(unknown),
                text=shorten(next(iter(unknown), "")),
            ),
        ),
        (n_again, phrase("{n} questions were asked again; the last answer counts", n=n_again)),
        (
            n_several := sum(map(_n_several, last.values())),
            phrase(
                "for {n} questions several searches were made; the documents of all of them "
                "count, one search after the other",
                n=n_several,
            ),
        ),
        (
            n_failed,
            phrase("of {n} questions some searches failed, and the others count", n=n_failed),
        ),
    )
    if parts := [text for n, text in remarks if n]:
        warn(joined(": ", (str(path), joined("; ", parts))), DataWarning)


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
    """The spans, in the order of the file."""
    mender, numbers = Mender(), count(1)
    for number, request in _requests(path):
        location = f"{path}:{number}"
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
                path=location,
                remedy='each has {"resourceSpans": [...]}, as a collector\'s file exporter writes',
            ) from None
        for child in spans:
            with inside(path=location):
                try:
                    yield _span(child, mender, f"the {next(numbers)}th")
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


def _requests(path: str | Path) -> Iterator[tuple[int, Any]]:
    """The requests of a file with their lines: one each, or one for the whole."""
    with open_bytes(path) as file:
        lines = [line.decode("utf-8-sig", "replace") for line in file]
    try:
        yield from [
            (number, _json(line)) for number, line in enumerate(lines, start=1) if line.strip()
        ]
    except ValueError:
        try:
            yield 1, _json("".join(lines))
        except ValueError as error:
            raise DataError(f"not JSON: {error}", path=str(path)) from None


def _json(text: str) -> Any:
    return foreign_json(text, strict=False)


def _span(span: Mapping[str, Any], mender: Mender, otherwise: str) -> _Span:
    """A span as it is read; what does not say of which trace it is, is one of its own.

    Raises:
        DataError: what a retriever retrieved is not all there.
    """
    attributes = {
        attribute["key"]: _value(attribute.get("value")) for attribute in span.get("attributes", ())
    }
    kind = str(attributes.get("openinference.span.kind", "")).upper()
    trace = str(span.get("traceId") or otherwise)
    place = trace, str(span.get("spanId") or otherwise)
    around = trace, str(span.get("parentSpanId") or "")
    if kind != "RETRIEVER" and attributes.get("gen_ai.operation.name") != "retrieval":
        question = None
        with suppress(ValueError, AttributeError, RecursionError):  # of whatever is no search
            question = _question(attributes)
        return _Span(str(span.get("name")), 0, question, None, attributes, place, around)
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
    return _Span(name, start, question, retrieved, attributes, place, around)


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
        return [_named(record) for record in listed]
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


def _value(value: Any) -> Any:
    """A value of OTLP as Python has it."""
    if not value:
        return None
    ((kind, content),) = value.items()
    if kind == "intValue":
        return int(content)
    if kind == "arrayValue":
        return [_value(item) for item in content.get("values", ())]
    if kind == "kvlistValue":
        return {item["key"]: _value(item.get("value")) for item in content.get("values", ())}
    return content
