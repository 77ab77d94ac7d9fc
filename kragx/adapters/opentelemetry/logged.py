"""What people asked, from traces of OpenTelemetry."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from kragx.adapters.opentelemetry.otlp import spans_in
from kragx.adapters.opentelemetry.span import SpanReader, TraceSpan, first_of
from kragx.data.turns import Turn
from kragx.errors import inside
from kragx.evaluation.calls.logged import LoggedQuestion, LoggedSpan, answer_in, asked_in

_SESSIONS = ("session.id", "gen_ai.conversation.id", "thread.id")
_ANSWERS = ("output.value", "gen_ai.output.messages")
_MESSAGES = ("input.value", "gen_ai.input.messages")


def logged_spans(path: str | Path) -> Iterator[LoggedSpan]:
    """The spans of a file of OTLP as JSON.

    Raises:
        DataError: the file is none; a span lacks a document or lost some.
    """
    reader = SpanReader()
    for location, record in spans_in(path):
        with inside(path=location):
            span = reader.read(record)
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
