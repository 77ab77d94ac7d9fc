"""Langfuse: questions, what was retrieved and what people thought of it, from its exports.

Read are traces, observations and scores as Langfuse writes them: from the tables of its page (CSV,
JSON, JSON Lines), a trace by itself, answers of its API, and files of its export to blob storage.
No package of Langfuse's is needed.

Source: https://langfuse.com/docs/api-and-data-platform/features/blob-storage-export-fields
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kragx.evaluation.calls.logs import LoggedSpan, Place, first_of, is_thumb
from kragx.evaluation.calls.messages import as_json

__all__: list[str] = []

COLUMNS = {"question": "input", "answer": "output"}
"""What a user may say to stand elsewhere, and where it stands."""

Record = Mapping[str, Any]

_TRACES = {"sessionId", "userId", "bookmarked", "release", "environment", "observations"}
"""What tells a trace from other logs with an id, a time, input and output: it has one of these."""


def is_export(record: Record) -> bool:
    """Whether a record is one of Langfuse's."""
    tells = (_is_whole, _is_score, _is_observation, _is_trace)
    return any(is_kind(record) for is_kind in tells)


def spans_of(record: Record) -> Iterator[LoggedSpan]:
    """The spans that a record says: a trace is one around those of its observations."""
    if _is_observation(record):
        yield _span(record, (str(first_of(record, ("traceId", "trace_id"))), str(record.get("id"))))
    elif not _is_score(record):
        trace = record["trace"] if _is_whole(record) else record
        yield _span(trace, (str(trace.get("id")), ""))
        rows = record.get("observations") or trace.get("observations") or ()
        for row in rows if isinstance(rows, (list, tuple)) else ():
            if isinstance(row, Mapping):  # the list may have their ids alone
                yield _span(row, (str(trace.get("id")), str(row.get("id"))))


def _span(row: Record, place: Place) -> LoggedSpan:
    outer = first_of(row, ("parentObservationId", "parent_observation_id"))
    return LoggedSpan(
        row,
        place,
        # What stands in no other observation stands in the trace, whose own id is empty.
        outer if outer is not None else "" if place[1] else None,
        kind=str(row.get("type")).lower(),
        time=first_of(row, ("timestamp", "startTime", "start_time")),
        given=row.get("input"),
        gave=row.get("output"),
        session=first_of(row, ("sessionId", "session_id")),
    )


def thumbs_of(record: Record, name: str | None) -> Iterator[tuple[Place, object]]:
    """What people said, by the place of what they said it of.

    Args:
        record: a trace with its scores, a row of a table with a column for each, or a score.
        name: of the score; None for the usual names of thumbs.
    """
    trace = str(first_of(record, ("traceId", "trace_id")) or record.get("id"))
    observation = str(record.get("id")) if _is_observation(record) else ""
    if _is_score(record):
        listed: Any = [record]
    else:
        rows = as_json(record.get("scores"))
        listed = [row for row in _parts(rows) if isinstance(row, Mapping)]
        # A table of traces has a column a score, in whose cells several of one name are a list.
        listed += [
            {"name": column, "value": part}
            for column, value in record.items()
            if is_thumb(column, name)
            for part in _parts(as_json(value))
        ]
    for score in listed:
        if is_thumb(score.get("name"), name):
            place = trace, str(first_of(score, ("observationId", "observation_id")) or observation)
            yield place, first_of(score, ("stringValue", "string_value", "value"))


def _parts(value: Any) -> Iterable[Any]:
    return value if isinstance(value, list) else [value]


def _is_whole(record: Record) -> bool:
    return isinstance(record.get("trace"), Mapping) and "observations" in record


def _is_observation(record: Record) -> bool:
    times, traces = {"startTime", "start_time"}, {"traceId", "trace_id"}
    keys = record.keys()
    # LangSmith's runs have all of these names as well, but a `run_type` beside them.
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
