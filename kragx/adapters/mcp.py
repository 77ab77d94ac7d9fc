"""MCP: what agents searched for, from logs of the Model Context Protocol (JSON-RPC).

Read are requests of the method ``tools/call`` and their results, a message a line or in a list, as
they are or within a record of a log (``{"timestamp": ..., "message": {...}}``). The package ``mcp``
is not needed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kragx.data import GoldDataset, Mender, Retrieved, Run
from kragx.data.formats.jsonl import foreign_json, foreign_lines
from kragx.data.problems import DataWarning
from kragx.errors import DataError, UsageError, inside, shorten
from kragx.evaluation.calls.call import Call
from kragx.evaluation.calls.messages import why_failed
from kragx.evaluation.calls.search_calls import searches_made
from kragx.evaluation.calls.tool_answers import words_of
from kragx.evaluation.calls.tool_documents import ToolDocuments, tool_documents
from kragx.evaluation.services.answer_path import steps_of, value_at
from kragx.printing import joined, phrase
from kragx.warned import warn

__all__ = ["read_mcp"]

_TIMES = ("timestamp", "time", "ts", "@timestamp")
_MOST_SECONDS = 1e11
"""More than this no clock shows by now: it is milli-, micro-, or nanoseconds."""
_UNITS = (1, 10**3, 10**6, 10**9)
_SESSIONS = ("session_id", "sessionId", "session", "mcp-session-id")
_MESSAGES = ("message", "payload", "data", "jsonrpc_message")


def read_mcp(
    log: str | Path | Iterable[object] | Mapping[str, str | Path | Iterable[object]],
    gold: GoldDataset,
    *,
    name: str = "agent",
    tools: Sequence[str] | None = None,
    query_id: str | None = None,
    answer: Mapping[str, str] | None = None,
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
        gold: the gold set.
        name: names the run.
        tools: the names of those that search; None for all.
        query_id: where a request has the question's id, such as ``params._meta.query_id``.
        answer: paths to the documents in a tool's JSON, as for `read_messages`.

    Raises:
        DataError: something is no message of JSON-RPC, two calls of one id wait at once, or no call
            is of a question of the gold set.
        UsageError: nothing says which question calls are for; or a path is wrong.
    """
    read = tool_documents(answer)
    if query_id is not None:
        steps_of(query_id)
    elif not isinstance(log, Mapping):
        raise UsageError(
            "MCP does not say which question a call is for",
            field="query_id",
            remedy="name where requests have its id (params._meta.query_id), or pass a log for "
            "each question, by its id",
        )
    logs = {str(key): of_key for key, of_key in log.items()} if isinstance(log, Mapping) else None
    sessions = _Sessions(None if tools is None else frozenset(tools), query_id, read)
    for question, messages in ({"": log} if logs is None else logs).items():
        sessions.add(messages, question)
    known = {query.id for query in gold}
    calls = {question: calls for question, calls in sessions.calls.items() if question in known}
    if logs is not None:  # an agent that called for nothing found nothing
        calls |= {question: [] for question in logs if question in known and question not in calls}
    if not calls:
        raise DataError(
            f"none of its {sum(map(len, sessions.calls.values()))} calls of tools is of a question "
            "of the gold set",
            remedy="query_id names where a request has the question's id",
        )
    read.check()
    _warn(name, sum(len(rest) for query, rest in sessions.calls.items() if query not in known))
    results = {query.id: _retrieved(calls[query.id]) for query in gold if query.id in calls}
    return Run(results, name=name, settings=read.settings | ({"tools": [*tools]} if tools else {}))


def _retrieved(calls: Sequence[Call]) -> Retrieved:
    searches = searches_made(calls)
    return Retrieved(searches=searches, has_list=False)


def _warn(name: str, n_others: int) -> None:
    if n_others:
        text = phrase("{n} calls of tools are of other questions", n=n_others)
        warn(joined(": ", (name, text)), DataWarning)


@dataclass
class _Sessions:
    """Logs as they are read.

    Attributes:
        calls: by question.
    """

    tools: frozenset[str] | None
    query_id: str | None
    read: ToolDocuments
    calls: dict[str, list[Call]] = field(default_factory=dict)

    def add(self, log: str | Path | Iterable[object], question: str) -> None:
        """The calls of a log.

        Raises:
            DataError: something is no message.
        """
        mender = Mender()
        sessions: dict[str, _Waiting] = defaultdict(_Waiting)
        messages = []
        for place, record in _records(log):
            with inside(path=place):
                messages.append((place, _session(record), *_message(record)))
        unit = 1.0 if all(seconds is not None for *_, seconds in messages) else None
        for number, (place, session, message, seconds) in enumerate(messages):
            waiting = sessions[session]
            moment = number if unit is None or seconds is None else seconds
            if message.get("method") == "tools/call":
                with inside(path=place):
                    waiting.begin(message, self._begin(message, question, moment, unit))
            elif "method" in message:
                waiting.others.add(message.get("id"))
            elif (call := waiting.end(message)) is not None:
                if moment < call.started:  # by clocks that do not agree
                    call.unit = None
                call.ended = max(moment, call.started)
                self._end(call, message, mender)

    def _begin(
        self, message: Mapping[str, Any], question: str, moment: float, unit: float | None
    ) -> Call | None:
        params = message.get("params")
        if not isinstance(params, Mapping) or not isinstance(params.get("name"), str):
            raise DataError(f"a call of a tool without its name: {shorten(message)}")
        if self.tools is not None and params["name"] not in self.tools:
            return None
        call = Call(
            params["name"],
            "tool",
            words_of(params.get("arguments")),
            place=None,
            started=moment,
            error=None,
            unit=unit,
        )
        if self.query_id is not None:
            try:
                question = str(value_at(self.query_id, message))
            except DataError:
                question = ""
        self.calls.setdefault(question, []).append(call)
        return call

    def _end(self, call: Call, message: Mapping[str, Any], mender: Mender) -> None:
        error, result = message.get("error"), message.get("result")
        if error is not None:
            words = error.get("message") if isinstance(error, Mapping) else error
            call.error = why_failed(words, f"an error of JSON-RPC: {shorten(error)}")
        elif isinstance(result, Mapping):
            content = result.get("content")
            if result.get("isError"):
                call.error = why_failed(content)
                return
            structured = result.get("structuredContent")
            if self.read.paths and structured is not None:
                content = structured
            call.documents = self.read.of(content, structured, mender)


@dataclass
class _Waiting:
    """What has no answer so far.

    Attributes:
        calls: those of tools, by id; None of tools that do not search.
        others: the ids of other requests; those of the server's own are numbered as the client's.
    """

    calls: dict[object, Call | None] = field(default_factory=dict)
    others: set[object] = field(default_factory=set)

    def begin(self, message: Mapping[str, Any], call: Call | None) -> None:
        """A tool was called.

        Raises:
            DataError: nobody knows which answer would be its.
        """
        number = message.get("id")
        if number in self.calls:
            raise DataError(
                f"a call with id {number!r}, while one with this id waits for its answer",
                remedy="where sessions stand in one log each record needs a session_id",
            )
        self.calls[number] = call

    def end(self, message: Mapping[str, Any]) -> Call | None:
        """The call that a message answers; None if it answers something else."""
        number = message.get("id")
        # While a call waits for what it asked of the client, an error is of that.
        if number not in self.calls or not _is_of_tool(message, number in self.others):
            self.others.discard(number)
            return None
        return self.calls.pop(number)


def _is_of_tool(message: Mapping[str, Any], may_be_others: bool) -> bool:
    """Whether an answer is of a tool; those to sampling have a role, to elicitation an action."""
    result = message.get("result")
    if not isinstance(result, Mapping):
        return message.get("error") is not None and not may_be_others
    fields = {"content", "structuredContent", "isError"}
    return not fields.isdisjoint(result) and {"role", "action"}.isdisjoint(result)


def _records(log: str | Path | Iterable[object]) -> Iterator[tuple[str, object]]:
    if not isinstance(log, (str, Path)):
        for number, record in enumerate(log, start=1):
            dump = getattr(record, "model_dump", None)
            yield f"message {number}", dump(by_alias=True) if callable(dump) else record
        return
    for place, record in foreign_lines(log):
        yield from ((place, entry) for entry in (record if isinstance(record, list) else [record]))


def _message(record: object) -> tuple[Mapping[str, Any], float | None]:
    """A message of JSON-RPC, and when it was logged.

    Raises:
        DataError: it is none.
    """
    message, when = _logged(record)
    if isinstance(message.get("id"), (Mapping, list)):
        raise DataError(
            f"an id that is {shorten(message['id'])}", remedy="ids are numbers or texts"
        )
    return message, _seconds(when)


def _logged(record: object) -> tuple[Mapping[str, Any], object]:
    if isinstance(record, Mapping):
        when = next((record[key] for key in _TIMES if record.get(key) is not None), None)
        if "jsonrpc" in record:
            return record, when
        for key in _MESSAGES:
            inner = record.get(key)
            if isinstance(inner, str) and '"jsonrpc"' in inner:
                with suppress(ValueError):
                    inner = foreign_json(inner, strict=False)
            if isinstance(inner, Mapping) and "jsonrpc" in inner:
                return inner, when
    raise DataError(
        f"no message of JSON-RPC: {shorten(record)}",
        remedy='each has "jsonrpc", itself or under "message"',
    )


def _session(record: object) -> str:
    fields = record if isinstance(record, Mapping) else {}
    return next((str(fields[key]) for key in _SESSIONS if fields.get(key) is not None), "")


def _seconds(when: object) -> float | None:
    if isinstance(when, (int, float)) and not isinstance(when, bool):
        unit = next((unit for unit in _UNITS if 0 <= when < _MOST_SECONDS * unit), None)
        return None if unit is None else when / unit
    if isinstance(when, str):
        try:
            moment = datetime.fromisoformat(when)
        except ValueError:
            return None
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    return None
