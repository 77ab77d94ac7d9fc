"""MCP: what agents searched for, from logs of the Model Context Protocol (JSON-RPC).

Read are requests of the method ``tools/call`` and their results, a message a line or in a list, as
they are or within a record of a log (``{"timestamp": ..., "message": {...}}``). The package ``mcp``
is not needed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from kragx.data import Retrieved, Run, read_dataset
from kragx.data.formats.jsonl import foreign_json
from kragx.evaluation.calls.call import Call, searches_made
from kragx.evaluation.calls.logs import LogReader, first_of, moment, records, warn_of
from kragx.evaluation.calls.messages import plain, why_failed, words_of
from kragx.ground.errors import DataError, UsageError, inside, shorten
from kragx.ground.printing import message

__all__ = ["read_mcp"]

_TIMES = ("timestamp", "time", "ts", "@timestamp")
_SESSIONS = ("session_id", "sessionId", "session", "mcp-session-id")
_MESSAGES = ("message", "payload", "data", "jsonrpc_message")


def read_mcp(
    log: str | Path | Iterable[object] | Mapping[str, str | Path | Iterable[object]],
    gold: object,
    *,
    name: str = "agent",
    tools: Sequence[str] | None = None,
    query_id: str | None = None,
    documents: Callable[[Any], Any] | None = None,
) -> Run:
    """The searches that an agent made, by a log of MCP; ready for `kragx.evaluate`.

    MCP does not say which question a call is for: pass a log for each question, or say where
    requests have the question's id. Calls that were under way at once ran side by side; one that
    failed (``isError``, or an error of JSON-RPC) and is made again in the same words is the same
    step. One without a result is a search of which nobody knows what it found. Times are known
    where records of the log have a ``timestamp`` (``time``, ``ts``): seconds (or milli-, micro-,
    nanoseconds), or ISO 8601. Ids may come again while they wait for an answer where records have a
    ``session_id``.

    What a tool gives are documents as `kragx.adapters.messages.read_messages` says: in
    ``structuredContent``, in JSON within blocks of text (one document each, or all in one), or as
    embedded resources.

    Args:
        log: a file of JSON Lines (also .gz) or messages; or one for each question, by its id.
        gold: the gold set, as for `evaluate`.
        name: names the run.
        tools: the names of those that search; None for all.
        query_id: where a request has the question's id, such as ``params._meta.query_id``.
        documents: takes the documents out of what a tool answered, as for `read_messages`.

    Raises:
        DataError: something is no message of JSON-RPC, two calls of one id wait at once, or no call
            is of a question of the gold set.
        UsageError: nothing says which question calls are for; or a path is wrong.
    """
    gold = read_dataset(gold)
    reader = LogReader(gold, tools, query_id, documents)
    if query_id is None and not isinstance(log, Mapping):
        raise UsageError(
            "MCP does not say which question a call is for",
            field="query_id",
            remedy="name where requests have its id (params._meta.query_id), or pass a log for "
            "each question, by its id",
        )
    logs: Mapping[Any, Any] = log if isinstance(log, Mapping) else {"": log}
    # An agent that called for nothing found nothing.
    calls: dict[str, list[Call]] = defaultdict(list, {str(question): [] for question in logs})
    for question, messages in logs.items():
        for request, call in _calls(messages, reader):
            of_question = str(question) if query_id is None else reader.id_in(request) or ""
            calls[of_question].append(call)
    known = calls.keys() & {query.id for query in gold}
    if not known:
        raise DataError(
            "none of its {n} calls of tools is of a question of the gold set",
            remedy="query_id names where a request has the question's id",
            n=sum(map(len, calls.values())),
        )
    results = {
        query_id: Retrieved(searches=searches_made(calls[query_id]), has_list=False)
        for query_id in known
    }
    run = reader.run(results, name)
    n = sum(len(rest) for question, rest in calls.items() if question not in known)
    warn_of(name, [(n, message("{n} calls of tools are of other questions", n=n))])
    return run


def _calls(
    log: str | Path | Iterable[object], reader: LogReader
) -> list[tuple[Mapping[str, Any], Call]]:
    """The calls of a log, each behind its request.

    Raises:
        DataError: something is no message, or nobody knows of which call an answer would be.
    """
    messages = []
    for place, entries in records(log, "message"):
        for record in map(plain, entries if isinstance(entries, list) else [entries]):
            with inside(path=place):
                messages.append((place, *_message(record)))
    # One message without a time, and none can be compared: the order of the log is the clock then.
    unit = 1.0 if all(seconds is not None for *_, seconds in messages) else None
    calls: list[tuple[Mapping[str, Any], Call]] = []
    waiting: dict[tuple[str, Any], Call] = {}
    others: set[tuple[str, Any]] = set()  # requests of the server's own: numbered as the client's
    for number, (place, session, text, seconds) in enumerate(messages):
        key = session, text.get("id")
        time = number if unit is None or seconds is None else seconds
        if text.get("method") == "tools/call":
            with inside(path=place):
                if key in waiting:
                    raise DataError(
                        "a call with id {key!r}, while one with this id waits for its answer",
                        remedy="where sessions stand in one log each record needs a session_id",
                        key=key[1],
                    )
                match text.get("params"):
                    case {"name": str(tool), **params}:
                        words = words_of(params.get("arguments"))
                    case _:
                        raise DataError(
                            "a call of a tool without its name: {message}", message=shorten(text)
                        )
            waiting[key] = call = Call(tool, "tool", words, started=time, error=None, unit=unit)
            calls.append((text, call))
        elif "method" in text:
            others.add(key)
        # While a call waits for what it asked of the client, an error is of that.
        elif key in waiting and _is_of_tool(text, key in others):
            _end(waiting.pop(key), text, time, reader)
        else:
            others.discard(key)
    return [(request, call) for request, call in calls if reader.reads(call.name)]


def _end(call: Call, text: Mapping[str, Any], time: float, reader: LogReader) -> None:
    """Add to a call what it was answered."""
    if time < call.started:  # by clocks that do not agree
        call.unit = None
    call.ended = max(time, call.started)
    error, result = text.get("error"), text.get("result")
    if error is not None:
        words = error.get("message") if isinstance(error, Mapping) else error
        call.error = why_failed(words, f"an error of JSON-RPC: {shorten(error)}")
    elif isinstance(result, Mapping):
        content, structured = result.get("content"), result.get("structuredContent")
        if result.get("isError"):
            call.error = why_failed(content)
        elif reader.reads(call.name):
            call.documents = reader.documents(content, structured, structured)


def _is_of_tool(text: Mapping[str, Any], may_be_others: bool) -> bool:
    """Whether an answer is of a tool; those to sampling have a role, to elicitation an action."""
    result = text.get("result")
    if not isinstance(result, Mapping):
        return text.get("error") is not None and not may_be_others
    fields = {"content", "structuredContent", "isError"}
    return not fields.isdisjoint(result) and {"role", "action"}.isdisjoint(result)


def _message(record: object) -> tuple[str, Mapping[str, Any], float | None]:
    """A message of JSON-RPC, behind its session, and when it was logged.

    Raises:
        DataError: it is none.
    """
    fields = record if isinstance(record, Mapping) else {}
    for value in (fields, *map(fields.get, _MESSAGES)):
        text: Any = value
        if isinstance(value, str) and '"jsonrpc"' in value:
            with suppress(ValueError):
                text = foreign_json(value, strict=False)
        if isinstance(text, Mapping) and "jsonrpc" in text:
            if isinstance(number := text.get("id"), (Mapping, list)):
                raise DataError(
                    "an id that is {number}",
                    remedy="ids are numbers or texts",
                    number=shorten(number),
                )
            return str(first_of(fields, _SESSIONS)), text, moment(first_of(fields, _TIMES))
    raise DataError(
        "no message of JSON-RPC: {record}",
        remedy='each has "jsonrpc", itself or under "message"',
        record=shorten(record),
    )
