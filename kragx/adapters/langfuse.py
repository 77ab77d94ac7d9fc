"""Langfuse: questions, what was retrieved and what people thought of it, from its exports.

Read are traces, observations and scores as Langfuse writes them: from the tables of its page (CSV,
JSON, JSON Lines), a trace by itself, answers of its API, and files of its export to blob storage.
No package of Langfuse's is needed.

Source: https://langfuse.com/docs/api-and-data-platform/features/blob-storage-export-fields
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kragx.evaluation.calls.logged import LoggedQuestion, LoggedSpan, answer_in, asked_in
from kragx.evaluation.calls.thumbs import THUMBS, thumb
from kragx.evaluation.calls.times import moment
from kragx.evaluation.calls.tool_answers import as_json, documents_in

__all__: list[str] = []

COLUMNS = {"question": "input", "answer": "output"}
"""What a user may say to stand elsewhere, and where it stands."""

Record = Mapping[str, Any]

_TRACES = {"sessionId", "session_id", "userId", "user_id", "bookmarked", "release", "observations"}
_LISTS = {"RETRIEVER", "RERANKER"}


def is_export(record: Record) -> bool:
    """Whether a record is one of Langfuse's."""
    tells = (_is_whole, _is_score, _is_observation, _is_trace)
    return any(is_kind(record) for is_kind in tells)


def spans_of(record: Record) -> Iterator[LoggedSpan]:
    """The spans that a record says: a trace is one around those of its observations."""
    if _is_whole(record):
        trace, inner = record["trace"], record.get("observations") or ()
    elif _is_observation(record) or _is_score(record):
        trace, inner = None, (record,) if _is_observation(record) else ()
    else:
        trace, inner = record, record.get("observations") or ()
    if trace is not None:
        place = (str(trace.get("id")), "")
        yield LoggedSpan(place, None, _asked(trace), started=moment(trace.get("timestamp")) or 0)
    yield from (_span(row) for row in inner if isinstance(row, Mapping) and _is_observation(row))


def thumbs_of(record: Record, name: str | None) -> Iterator[tuple[tuple[str, str], int]]:
    """What people said, by the place of what they said it of.

    Args:
        record: a trace with its scores, or a score.
        name: of the score; None for the usual names of thumbs.
    """
    scores = (record,) if _is_score(record) else as_json(record.get("scores") or ())
    for score in scores if isinstance(scores, (list, tuple)) else ():
        if isinstance(score, Mapping) and _is_meant(str(score.get("name")), name):
            value = _of(score, "stringValue", "string_value") or score.get("value")
            said = thumb(value)
            trace = str(_of(score, "traceId", "trace_id") or record.get("id"))
            if said is not None:
                yield (trace, str(_of(score, "observationId", "observation_id") or "")), said
    if not _is_score(record):  # a table's export has a column for each score
        for column, value in record.items():
            if _is_meant(column, name) and (said := _first(as_json(value))) is not None:
                is_observation = _is_observation(record)
                names = ("traceId", "trace_id") if is_observation else ("id",)
                inner = str(record.get("id")) if is_observation else ""
                yield (str(_of(record, *names)), inner), said


def _first(value: Any) -> int | None:
    values = value if isinstance(value, (list, tuple)) else [value]
    said = [mark for mark in map(thumb, values) if mark is not None]
    return min(said) if said else None


def _is_meant(score: str, name: str | None) -> bool:
    return score == name if name else score.casefold().replace("-", "_") in THUMBS


def _is_whole(record: Record) -> bool:
    return isinstance(record.get("trace"), Mapping) and "observations" in record


def _is_observation(record: Record) -> bool:
    times, traces = {"startTime", "start_time"}, {"traceId", "trace_id"}
    keys = record.keys()
    return bool(
        {"id", "type"} <= keys and keys & times and keys & traces and "run_type" not in keys
    )


def _is_trace(record: Record) -> bool:
    return {"id", "timestamp", "input", "output"} <= record.keys() and bool(_TRACES & record.keys())


def _is_score(record: Record) -> bool:
    keys = record.keys()
    return (
        {"name", "value"} <= keys and bool(keys & {"traceId", "trace_id"}) and "input" not in keys
    )


def _of(record: Record, *names: str) -> Any:
    """The value of the first name that has one: the page's, then the storage's."""
    return next((record[name] for name in names if record.get(name) not in (None, "")), None)


def _asked(record: Record) -> LoggedQuestion | None:
    question = asked_in(record.get("input"))
    if question is None:
        return None
    session = _of(record, "sessionId", "session_id")
    return LoggedQuestion(
        *question,
        moment(_of(record, "timestamp", "startTime", "start_time")),
        answer=answer_in(record.get("output")),
        session=None if session is None else str(session),
        record=record,
    )


def _span(row: Record) -> LoggedSpan:
    trace, kind = str(_of(row, "traceId", "trace_id")), str(row.get("type")).upper()
    outer = _of(row, "parentObservationId", "parent_observation_id")
    is_list = kind in _LISTS
    return LoggedSpan(
        place=(trace, str(row.get("id"))),
        around=(trace, "" if outer is None else str(outer)),
        asked=_asked(row),
        documents=documents_in(as_json(row.get("output"))) if is_list else None,
        is_last=kind == "RERANKER",
        started=moment(_of(row, "startTime", "start_time")) or 0,
    )
