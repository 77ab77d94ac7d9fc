"""Chats: what agents searched for, from messages of OpenAI, Anthropic, LangChain, OpenTelemetry.

Read are JSON Lines, a chat a line: a list of messages as the API takes and gives them, or a mapping
with ``messages`` (or ``input``) and perhaps the last ``response``. Items of OpenAI's Responses are
messages, too. No package of these is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from kragx.data import Retrieved, Run, read_dataset
from kragx.evaluation.calls.call import Call, searches_made
from kragx.evaluation.calls.logs import KnownQuestions, LogReader, records, warn_of
from kragx.evaluation.calls.messages import (
    Cited,
    Event,
    ToolAnswer,
    ToolCall,
    UserWords,
    compact,
    events_of,
    messages_in,
    plain,
)
from kragx.ground.errors import DataError, UsageError, inside, shorten
from kragx.ground.printing import message

__all__ = ["read_messages"]

_Chat = tuple[str, str | None, Sequence[Any]]
"""The messages of a chat, behind its place and the id that it says of its last question."""


def read_messages(
    chats: str | Path | Iterable[object],
    gold: object,
    *,
    name: str = "agent",
    tools: Sequence[str] | None = None,
    query_id: str | None = None,
    documents: Callable[[Any], Any] | None = None,
) -> Run:
    """The searches that an agent made, by its chats; ready for `kragx.evaluate`.

    A question of the gold set is a user's message with its text (NFC, white space collapsed), or
    the last one of a chat that says its id; where several have that text, by what the user said
    before. Calls of tools from there to the user's next message are its searches; those of one
    message are one step. Words beside answers of tools are a message only if a question has them. A
    call that failed (``is_error``) and is made again in the same words is the same step. A chat
    that goes on an earlier one, as logs of each request hold it, takes its place, and of a question
    that was asked again the last chat counts; a warning says how many were, and how many questions
    are others.

    What a tool answers are documents where it is JSON of a list of documents, or of an object with
    one such list (``[{"id": ..., "text": ...}]``; ``page_content`` and ``content`` are texts as
    well), blocks of search results, or an artifact of LangChain's. All else, so plain text, is a
    search of which nobody knows what it found: it counts as a step and is never a 0; `documents`
    takes them out of other JSON. Where the last message cites sources by id, they are what
    was read. Messages have no times and no tokens.

    Args:
        chats: a file of JSON Lines (also .gz), or chats.
        gold: the gold set, as for `evaluate`.
        name: names the run.
        tools: the names of those that search; None for all.
        query_id: where a chat says the id of its last question: a path such as
            ``metadata.query_id``.
        documents: takes the documents out of what a tool answered (out of its JSON, where it is
            that), as of `kragx.searched`.

    Raises:
        DataError: it is no chat, or none is of a question of the gold set.
        UsageError: two questions of the gold set have the same text and history, and nothing tells
            them; or `query_id` is no path.
    """
    gold = read_dataset(gold)
    reader = LogReader(gold, tools, query_id, documents)
    remedy = "name where a chat has the id: query_id='metadata.query_id'"
    questions = KnownQuestions(gold, by_id=query_id is not None, remedy=remedy)
    if isinstance(chats, Mapping):
        raise UsageError("chats is a mapping", remedy="pass a list of chats, or a file")
    results: dict[str, Retrieved] = {}
    n_others = n_again = 0
    latest: dict[tuple[str | None, tuple[str, ...]], _Chat] = {}
    for chat in _chats(chats, reader):
        texts = tuple(map(_canonical, chat[2]))
        # Logs hold each request with all before it, so a chat may go on any beginning of this one;
        # one with another id asks another question.
        for length in range(1, len(texts) + 1):
            latest.pop((chat[1], texts[:length]), None)
        latest[chat[1], texts] = chat
    for place, chat_id, messages in latest.values():
        with inside(path=place):
            for question, events in _turns(messages, questions, reader, chat_id):
                n_others += question is None
                n_again += question in results
                if question is not None:
                    results[question] = _retrieved(events, reader)
    file = str(chats) if isinstance(chats, (str, Path)) else None
    if not results:
        raise DataError(
            "no chat is of a question of the gold set"
            if n_others
            else "there is no message of a user",
            path=file or "chats",
            remedy="where chats say the query's id can be named: query_id='metadata.query_id'",
        )
    run = reader.run(results, name)
    again = message("{n} questions were asked again; the last answer counts", n=n_again)
    others = message("{n} messages are of other questions", n=n_others)
    warn_of(file or name, [(n_others, others), (n_again, again)])
    return run


def _chats(chats: str | Path | Iterable[object], reader: LogReader) -> Iterator[_Chat]:
    for place, record in records(chats, "chat"):
        messages: Any = record
        if isinstance(record, Mapping):
            request: Any = record.get("request")
            request = request if isinstance(request, Mapping) else record
            messages = request.get("messages") or request.get("input")
            if isinstance(messages, str):
                messages = [{"role": "user", "content": messages}]
            if isinstance(messages, (list, tuple)):
                response = record.get("response") or record.get("output")
                messages = [*messages, *messages_in(response)]
        if not isinstance(messages, (list, tuple)):
            raise DataError(
                "no chat: {record}",
                path=place,
                remedy='each is a list of messages, or {{"messages": [...]}}',
                record=shorten(record),
            )
        yield place, reader.id_in(record if isinstance(record, Mapping) else {}), messages


def _canonical(entry: object) -> str:
    """What tells a message: all that it says but empty fields, which APIs leave out or not."""
    fields = plain(entry)
    if isinstance(fields, Mapping):
        fields = {key: value for key, value in fields.items() if value not in (None, [], {})}
    return compact(fields)


def _turns(
    messages: Sequence[Any], questions: KnownQuestions, reader: LogReader, chat_id: str | None
) -> Iterator[tuple[str | None, list[Event]]]:
    """The questions of a chat, None for one of nobody's, each with what happened behind it.

    Raises:
        DataError: a message is none.
    """
    turns: list[tuple[str, list[Event]]] = []
    for event in (event for entry in messages for event in events_of(entry)):
        if not isinstance(event, UserWords):
            if turns:
                turns[-1][1].append(event)
        # Else it is a reminder.
        elif not event.beside_answers or questions.has_text(event.text):
            turns.append((event.text, []))
    texts = [text for text, _ in turns]
    for number, (text, events) in enumerate(turns):
        if reader.query_id is None:
            yield questions.of_text(text, texts[:number]), events
        else:
            yield questions.of_id(chat_id) if number == len(turns) - 1 else None, events


def _retrieved(events: Sequence[Event], reader: LogReader) -> Retrieved:
    """What a question got, by what happened behind it."""
    calls: list[Call] = []
    by_id: dict[str, Call] = {}
    cited: tuple[str, ...] = ()
    step, before = 0, None
    for event in events:
        match event:
            case ToolCall(call_id, name, query):
                step += not isinstance(before, ToolCall)
                cited = ()  # by words before the answer: what the last message cites was read
                # Its place among the others stands for a time, which nobody says.
                by_id[call_id] = Call(name, "tool", query, message=step, started=step, error=None)
                calls += [by_id[call_id]] if reader.reads(name) else []
            case ToolAnswer(call_id, content, error, artifact) if call_id in by_id:
                call = by_id[call_id]
                call.error = error
                if error is None and reader.reads(call.name):
                    call.documents = reader.documents(content, artifact)
            case Cited(sources):
                cited = sources
                continue  # words between calls are no step
        before = event
    searches = [*searches_made(calls)]
    if cited and searches:
        searches[-1] = replace(searches[-1], read=cited)
    return Retrieved(searches=tuple(searches), has_list=False)
