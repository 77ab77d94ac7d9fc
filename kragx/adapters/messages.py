"""Chats: what agents searched for, from logged messages of OpenAI, Anthropic and LangChain.

Read are JSON Lines, a chat a line: a list of messages as the API takes and gives them, or a mapping
with ``messages`` (or ``input``) and perhaps the last ``response``. Items of OpenAI's Responses are
messages, too. No package of these is needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from math import inf
from pathlib import Path
from typing import Any

from kragx.data import GoldDataset, Mender, Retrieved, Run
from kragx.data.formats.jsonl import foreign_lines
from kragx.data.problems import DataWarning
from kragx.errors import DataError, UsageError, inside, shorten
from kragx.evaluation.calls.call import Call
from kragx.evaluation.calls.messages import (
    Cited,
    Event,
    ToolAnswer,
    ToolCall,
    UserWords,
    events_of,
)
from kragx.evaluation.calls.questions import KnownQuestions
from kragx.evaluation.calls.search_calls import searches_made
from kragx.evaluation.calls.tool_answers import compact
from kragx.evaluation.calls.tool_documents import ToolDocuments, tool_documents
from kragx.evaluation.services.answer_path import steps_of, value_at
from kragx.printing import joined, phrase
from kragx.warned import warn

__all__ = ["read_messages"]

_MESSAGES = ("messages", "input")
_RESPONSES = ("response", "output")


def read_messages(
    chats: str | Path | Iterable[object],
    gold: GoldDataset,
    *,
    name: str = "agent",
    tools: Sequence[str] | None = None,
    query_id: str | None = None,
    answer: Mapping[str, str] | None = None,
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
    search of which nobody knows what it found: it counts as a step and is never a 0; `answer` says
    where the documents of other JSON are. Where the last message cites sources by id, they are what
    was read. Messages have no times and no tokens.

    Args:
        chats: a file of JSON Lines (also .gz), or chats.
        gold: the gold set.
        name: names the run.
        tools: the names of those that search; None for all.
        query_id: where a chat says the id of its last question: a path such as
            ``metadata.query_id``.
        answer: paths to the documents in a tool's JSON, and from a document on to its fields, such
            as ``{"documents": "$.hits", "text": "body", "id": "key"}``; see `Asking`.

    Raises:
        DataError: it is no chat, or none is of a question of the gold set.
        UsageError: two questions of the gold set have the same text and history, and nothing tells
            them; or a path is wrong.
    """
    read = tool_documents(answer)
    if query_id is not None:
        steps_of(query_id)
    remedy = "name where a chat has the id: query_id='metadata.query_id'"
    questions = KnownQuestions(gold, by_id=query_id is not None, remedy=remedy)
    log = _Log(questions, query_id, None if tools is None else frozenset(tools), read)
    for chat in _longest([*_chats(chats, query_id)]):
        with inside(path=chat.place):
            log.add(chat)
    if not log.results:
        raise DataError(
            "no chat is of a question of the gold set"
            if log.n_others
            else "there is no message of a user",
            path=str(chats) if isinstance(chats, (str, Path)) else "chats",
            remedy="where chats say the query's id can be named: query_id='metadata.query_id'",
        )
    read.check()
    log.warn(str(chats) if isinstance(chats, (str, Path)) else name)
    order = {query.id: place for place, query in enumerate(gold)}
    results = dict(sorted(log.results.items(), key=lambda entry: order[entry[0]]))
    return Run(results, name=name, settings=read.settings | ({"tools": [*tools]} if tools else {}))


@dataclass(frozen=True)
class _Chat:
    """The messages of a chat, the id that it says of its last question, and where it stands."""

    messages: Sequence[Any]
    query_id: str | None
    place: str


def _chats(chats: str | Path | Iterable[object], query_id: str | None) -> Iterator[_Chat]:
    if not isinstance(chats, (str, Path)):
        if isinstance(chats, Mapping):
            raise UsageError("chats is a mapping", remedy="pass a list of chats, or a file")
        for number, chat in enumerate(chats, start=1):
            yield _chat(chat, f"chat {number}", query_id)
        return
    for place, record in foreign_lines(chats):
        yield _chat(record, place, query_id)


def _chat(record: object, place: str, query_id: str | None) -> _Chat:
    fields: Mapping[str, Any] = {}
    messages = record
    if isinstance(record, Mapping):
        fields = record
        request = record.get("request") if isinstance(record.get("request"), Mapping) else record
        assert isinstance(request, Mapping)
        messages = next((request[key] for key in _MESSAGES if request.get(key)), None)
        if isinstance(messages, str):
            messages = [{"role": "user", "content": messages}]
        responses = next((record[key] for key in _RESPONSES if record.get(key)), None)
        if isinstance(messages, (list, tuple)):
            messages = [*messages, *_in_response(responses)]
    if not isinstance(messages, (list, tuple)):
        raise DataError(
            f"no chat: {shorten(record)}",
            path=place,
            remedy='each is a list of messages, or {"messages": [...]}',
        )
    return _Chat(messages, None if query_id is None else _id_in(fields, query_id), place)


def _id_in(fields: Mapping[str, Any], query_id: str) -> str | None:
    with suppress(DataError):  # a chat may be of no question
        return str(value_at(query_id, fields))
    return None


def _in_response(response: object) -> Sequence[object]:
    """The messages of what an API answered."""
    dump = getattr(response, "model_dump", None)
    fields = dump() if callable(dump) else response
    if isinstance(fields, (list, tuple)):
        return fields
    if not isinstance(fields, Mapping):
        return ()
    if isinstance(fields.get("choices"), list):
        first = next(iter(fields["choices"]), None)
        return [first["message"]] if isinstance(first, Mapping) and "message" in first else ()
    if isinstance(fields.get("output"), list):
        return [*fields["output"]]
    return [fields] if "role" in fields else ()


def _longest(chats: Sequence[_Chat]) -> Iterator[_Chat]:
    """Those that no later one goes on; one with another id asks another question."""
    places: dict[tuple[str | None, tuple[str, ...]], int] = {}
    superseded: set[int] = set()
    for place, chat in enumerate(chats):
        texts = tuple(_canonical(message) for message in chat.messages)
        for length in range(1, len(texts) + 1):
            if (before := places.pop((chat.query_id, texts[:length]), None)) is not None:
                superseded.add(before)
        places[chat.query_id, texts] = place
    yield from (chat for place, chat in enumerate(chats) if place not in superseded)


def _canonical(message: object) -> str:
    """What tells a message: all that it says but empty fields, which APIs leave out or not."""
    dump = getattr(message, "model_dump", None)
    fields = dump() if callable(dump) else message
    if isinstance(fields, Mapping):
        fields = {key: value for key, value in fields.items() if value not in (None, [], {})}
    return compact(fields)


def _turns(
    messages: Iterable[object], questions: KnownQuestions
) -> Iterator[tuple[str, list[Event]]]:
    """What a user said, each time with what happened behind it."""
    turn: tuple[str, list[Event]] | None = None
    for event in (event for message in messages for event in events_of(message)):
        if isinstance(event, UserWords):
            if event.beside_answers and not questions.has_text(event.text):
                continue  # a reminder
            if turn is not None:
                yield turn
            turn = event.text, []
        elif turn is not None:
            turn[1].append(event)
    if turn is not None:
        yield turn


def _timeless(step: int) -> dict[str, Any]:
    """The fields of a call of which nobody says when it was made."""
    return {"place": None, "started": step, "ended": inf, "error": None}


@dataclass
class _Log:
    """Chats as they are read.

    Attributes:
        results: what each question got.
        n_others: how many messages of users are of other questions.
        n_again: how many questions were asked again.
    """

    questions: KnownQuestions
    query_id: str | None
    tools: frozenset[str] | None
    read: ToolDocuments
    results: dict[str, Retrieved] = field(default_factory=dict)
    n_others: int = 0
    n_again: int = 0

    def add(self, chat: _Chat) -> None:
        """The turns of a chat.

        Raises:
            DataError: a message is none.
        """
        before: list[str] = []
        turns = [*_turns(chat.messages, self.questions)]
        for number, (text, events) in enumerate(turns, start=1):
            query_id = None
            if self.query_id is None:
                query_id = self.questions.of_text(text, before)
            elif number == len(turns) and chat.query_id is not None:
                query_id = self.questions.of_id(chat.query_id)
            before.append(text)
            if query_id is None:
                self.n_others += 1
                continue
            self.n_again += query_id in self.results
            self.results[query_id] = self._retrieved(events)

    def _retrieved(self, events: Sequence[Event]) -> Retrieved:
        """What a question got, by what happened behind it."""
        calls: list[Call] = []
        by_id: dict[str, Call] = {}
        cited: tuple[str, ...] = ()
        mender, step, before = Mender(), 0, None
        for event in events:
            match event:
                case ToolCall(call_id, name, query):
                    step += not isinstance(before, ToolCall)
                    cited = ()  # by an earlier message
                    by_id[call_id] = Call(name, "tool", query, message=step, **_timeless(step))
                    if self.tools is None or name in self.tools:
                        calls.append(by_id[call_id])
                case ToolAnswer(call_id, content, error, artifact) if call_id in by_id:
                    call = by_id[call_id]
                    call.error = error
                    if call in calls and error is None:
                        call.documents = self.read.of(content, artifact, mender)
                case Cited(sources):
                    cited = sources
                    continue  # words between calls are no step
            before = event
        searches = [*searches_made(calls)]
        if cited and searches:
            searches[-1] = replace(searches[-1], read=cited)
        return Retrieved(searches=tuple(searches), has_list=False)

    def warn(self, place: str) -> None:
        """Warn of what is left out."""
        remarks = (
            (self.n_others, phrase("{n} messages are of other questions", n=self.n_others)),
            (
                self.n_again,
                phrase("{n} questions were asked again; the last answer counts", n=self.n_again),
            ),
        )
        if parts := [text for n, text in remarks if n]:
            warn(joined(": ", (place, joined("; ", parts))), DataWarning)
