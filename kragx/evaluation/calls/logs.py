"""Logs of agents and applications: which questions people asked, and what is common to readers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kragx.data import Doc, GoldDataset, Retrieved, Run, normalise
from kragx.data.formats.jsonl import foreign_json, open_bytes
from kragx.data.gold import Turn
from kragx.data.problems import DataWarning
from kragx.data.searches import distinct_by_identity
from kragx.data.text import read_number
from kragx.evaluation.answers import value_at
from kragx.evaluation.calls.messages import (
    as_json,
    documents_in,
    documents_of_tool,
    json_of,
    messages_in,
    turns_of,
)
from kragx.ground.caller_warnings import warn
from kragx.ground.errors import DataError, UsageError
from kragx.ground.printing import joined, message

Place = tuple[str, str]
"""The trace and id of a piece of work; an empty id is the trace itself."""

_QUESTIONS = (
    *("question", "query", "user_query", "user_question", "user_input", "input", "prompt"),
    *("message", "text", "content", "q", "질문", "질의", "검색어"),
)
"""What the question is called in what an application was given, the likeliest first."""

_ANSWERS = ("answer", "output", "response", "result", "content", "text", "답변", "응답")


class KnownQuestions:
    """The questions of a gold set.

    Args:
        gold: the set.
        by_id: whether logs say the ids.
        remedy: what to do where texts do not tell questions apart.

    Raises:
        UsageError: two questions have the same text and the same history, and ids do not tell them.
    """

    def __init__(self, gold: GoldDataset, *, by_id: bool, remedy: str) -> None:
        self._ids = {query.id for query in gold}
        self._by_text: dict[str, dict[tuple[str, ...], str]] = defaultdict(dict)
        # Told by their ids, questions may well share a text.
        for query in () if by_id else gold:
            if text := normalise(query.text or ""):
                turns = (turn.content for turn in query.history if turn.role == "user")
                history = tuple(map(normalise, turns))
                query_id = self._by_text[text].setdefault(history, query.id)
                if query_id != query.id:
                    problem = message(
                        "queries {first!r} and {second!r} have the same text",
                        first=query_id,
                        second=query.id,
                    )
                    raise UsageError(problem, remedy=remedy)

    def of_id(self, query_id: object) -> str | None:
        """The question with an id."""
        return str(query_id) if str(query_id) in self._ids else None

    def has_text(self, text: str) -> bool:
        """Whether a question has a text, whatever was said before."""
        return normalise(text) in self._by_text

    def of_text(self, text: str, before: Iterable[str] = ()) -> str | None:
        """The question with a text; of several the one before which a user had said the same.

        Args:
            text: white space and case of letters' forms do not matter (NFC).
            before: what was said, in order.
        """
        by_history = self._by_text.get(normalise(text), {})
        # A text of one question alone tells it: logs may hold less of what was said before.
        if len(by_history) == 1:
            return next(iter(by_history.values()))
        return by_history.get(tuple(map(normalise, before)))


@dataclass(frozen=True)
class LogReader:
    """What is read of a log of calls, and how.

    Attributes:
        gold: the gold set.
        tools: the names of those that search; None for all.
        query_id: the path to a question's id.
        take: takes the documents out of what a tool answered; None for where they usually are.
    """

    gold: GoldDataset
    tools: Sequence[str] | None
    query_id: str | None
    take: Callable[[Any], Any] | None

    def reads(self, tool: str) -> bool:
        """Whether a tool is one that searches."""
        return self.tools is None or tool in self.tools

    def id_in(self, record: object) -> str | None:
        """The question's id in a record, None where it has none; a `UsageError` for no path."""
        try:
            return None if self.query_id is None else str(value_at(self.query_id, record))
        except DataError:
            return None

    def documents(
        self, content: Any, artifact: Any, structured: Any = None
    ) -> tuple[Doc, ...] | None:
        """The documents of an answer; None where it has none, so that nobody knows.

        Args:
            content: what the tool answered with.
            artifact: what it gave beside.
            structured: the same as `content`, as JSON.
        """
        if self.take is None:
            return documents_of_tool(content, artifact)
        return documents_in(self.take(json_of(content if structured is None else structured)))

    def run(self, results: Mapping[str, Retrieved], name: str) -> Run:
        """The run of these results, in the order of the gold set."""
        in_order = {query.id: results[query.id] for query in self.gold if query.id in results}
        return Run(in_order, name=name, settings={"tools": [*self.tools]} if self.tools else {})


def records(log: str | Path | Iterable[object], name: str) -> Iterator[tuple[str, object]]:
    """What stands in a log, a file of JSON Lines or a list, each with its place.

    Args:
        log: it.
        name: what one of them is, for errors.

    Raises:
        DataError: a line is no JSON.
    """
    if not isinstance(log, (str, Path)):
        yield from ((f"{name} {number}", record) for number, record in enumerate(log, start=1))
        return
    with open_bytes(log) as file:
        for number, line in enumerate(file, start=1):
            if line.strip():
                place = f"{log}:{number}"
                try:
                    yield place, foreign_json(line.decode("utf-8-sig", "replace"), strict=False)
                except ValueError as error:
                    raise DataError("not JSON: {error}", path=place, error=error) from None


def first_of(record: Mapping[str, Any], names: Iterable[str]) -> Any:
    """What stands under the first of some names under which something does; None for nothing."""
    return next((record[name] for name in names if record.get(name) not in (None, "")), None)


def warn_of(place: str, remarks: Iterable[tuple[int, str]]) -> None:
    """Warn of what is left out: each remark that is of any."""
    if parts := [text for n, text in remarks if n]:
        warn(joined(": ", (place, joined("; ", parts))), DataWarning)


@dataclass(frozen=True, slots=True)
class LoggedQuestion:
    """One ask, as it was logged.

    Attributes:
        text: the question.
        history: what was said before in the same conversation, where the log says it.
        time: when, in seconds since 1970 (UTC); None where the log does not say.
        retrieved: what was retrieved for it; None where the log does not say.
        answer: what was answered.
        thumbs: 1 for up, -1 for down, 0 for a 0 (which some logs mean as down, and others as
            none); None for none.
        clicks: ids of documents that were opened.
        session: of which conversation it is a part.
        record: all that the log says.
    """

    text: str
    history: tuple[Turn, ...] = ()
    time: float | None = None
    retrieved: tuple[Doc, ...] | None = None
    answer: str | None = None
    thumbs: int | None = None
    clicks: tuple[str, ...] = ()
    session: str | None = None
    record: Mapping[str, Any] = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class LoggedSpan:
    """A piece of work of a trace, as tools that watch applications have it.

    Attributes:
        record: all that the tool says.
        place: where it is.
        around: the id of what it stands in; None for none.
        kind: ``retriever`` and ``reranker`` give documents; what others retrieved gives way to a
            reranker's. ``llm`` and ``generation`` are models.
        time: when it began, as logs write that.
        given, gave: its input and output, as values or as texts of JSON.
        session: the conversation that it is a part of; None for none.
        documents: what it gave, by default those in `gave`; None of any other kind.
        question: what it was asked, if it says so.
        started: when, in an order that all of a trace share.
    """

    record: Mapping[str, Any]
    place: Place
    around: object
    kind: str
    time: object
    given: object
    gave: object
    session: object
    documents: tuple[Doc, ...] | None = None
    question: LoggedQuestion | None = field(init=False, default=None)
    started: float = field(init=False, default=0.0)

    def __post_init__(self) -> None:
        time = moment(self.time)
        self.started = time or 0.0
        if self.kind in ("retriever", "reranker") and self.documents is None:
            self.documents = None if self.gave is None else documents_in(as_json(self.gave))
        if (question := asked_in(self.given)) is not None:
            self.question = LoggedQuestion(
                *question,
                time,
                answer=answer_in(self.gave),
                session=None if self.session is None else str(self.session),
                record=self.record,
            )


_MODELS = ("llm", "generation")
"""The kinds of language models, as tools call them."""


def questions_of(
    spans: Iterable[LoggedSpan], thumbs: Mapping[Place, int]
) -> Iterator[LoggedQuestion]:
    """The questions of traces: those of the outermost spans that say one, with all found within.

    What a model was asked is a question only where nothing else in its trace says one: else it
    would be asked twice where a retriever and a model stand in nothing that says it.
    Of what several retrievers gave each document counts once, in the order in which it came; a
    reranker's list takes the place of what came before it.

    Args:
        spans: of any number of traces, in any order.
        thumbs: what people said, by the place of what they said it of; an empty id is the trace.
    """
    by_place = {span.place: span for span in spans}
    told = {s.place[0] for s in by_place.values() if s.question and s.kind not in _MODELS}
    within: dict[LoggedSpan, list[LoggedSpan]] = defaultdict(list)
    for span in sorted(by_place.values(), key=lambda span: span.started):
        outer = (span, *_around(span, by_place))
        saying = (s for s in outer if s.kind not in _MODELS or s.place[0] not in told)
        if asking := [s for s in saying if s.question]:
            # The outermost one: within it stand rewritten questions, of single steps.
            within[asking[-1]].append(span)
    for asked, inner in within.items():
        places = (asked.place[0], ""), *(span.place for span in inner)
        mark = min((thumbs[place] for place in places if place in thumbs), default=None)
        assert asked.question is not None  # as it is one that asks
        yield replace(asked.question, retrieved=_documents(inner, by_place), thumbs=mark)


def _around(span: LoggedSpan, by_place: Mapping[Place, LoggedSpan]) -> Iterator[LoggedSpan]:
    passed_places = {span.place}
    while span.around is not None:
        # Where the span around it was not logged it stands in the trace; links may go in a circle.
        trace = span.place[0]
        outer = by_place.get((trace, str(span.around))) or by_place.get((trace, ""))
        if outer is None or outer.place in passed_places:
            return
        passed_places.add(outer.place)
        yield outer
        span = outer


def _documents(
    spans: Iterable[LoggedSpan], by_place: Mapping[Place, LoggedSpan]
) -> tuple[Doc, ...] | None:
    documents: list[Doc] | None = None
    for span in spans:
        # A retriever within another gives its documents to that, which gives them again.
        inner = any(outer.documents is not None for outer in _around(span, by_place))
        if span.documents is None or inner:
            continue
        documents = [] if documents is None or span.kind == "reranker" else documents
        documents += span.documents
    return None if documents is None else distinct_by_identity(documents)


def asked_in(value: object) -> tuple[str, tuple[Turn, ...]] | None:
    """The question in what an application was given, and what was said before it.

    A text (which may be JSON); a mapping with the question under a usual name, or with one text
    alone; messages, of which the user's last is the question.

    Returns:
        None where there is none.
    """
    value = as_json(value)
    if isinstance(value, str):
        return (value, ()) if value.strip() else None
    if isinstance(value, Mapping):
        for name in ("messages", "chat_history", *_QUESTIONS):
            if not (inner := value.get(name)):
                continue
            is_history = name == "chat_history"
            rest = {key: entry for key, entry in value.items() if key != name}
            if (question := asked_in(rest if is_history else inner)) is not None:
                return question[0], (*(turns_of(inner) if is_history else ()), *question[1])
        texts = [text for text in value.values() if isinstance(text, str) and text.strip()]
        return (texts[0], ()) if len(texts) == 1 else None
    turns = turns_of(value)
    last = max((n for n, turn in enumerate(turns) if turn.role == "user"), default=None)
    return None if last is None else (turns[last].content, turns[:last])


def answer_in(value: object) -> str | None:
    """The answer in what an application gave; None where there is none, or nobody knows which."""
    value = as_json(value)
    if isinstance(value, str):
        return value if value.strip() else None
    if isinstance(value, Mapping) and value.keys().isdisjoint(("role", "messages", "choices")):
        named = (answer_in(value[name]) for name in _ANSWERS if value.get(name))
        return next(filter(None, named), None)
    turns = turns_of(messages_in(value))
    answers = [turn.content for turn in turns if turn.role == "assistant"]
    return answers[-1] if answers else None


_UNITS = (1.0, 1e3, 1e6, 1e9)
"""What a second is in the units of logs: seconds, milli-, micro-, nanoseconds."""

_LATEST = 32_503_680_000
"""The year 3000."""


def moment(value: object) -> float | None:
    """Seconds since 1970 (UTC) of a time as logs write it; None where it is none.

    A number counts seconds, milliseconds, microseconds or nanoseconds, whichever lies before the
    year 3000; a text is ISO 8601, with a space or a T. Where no zone is said it is UTC.
    """
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()
    number = value if isinstance(value, (int, float)) and not isinstance(value, bool) else None
    if isinstance(value, str):
        with suppress(ValueError):
            # Dates with slashes are common in logs, and no ISO 8601.
            return moment(datetime.fromisoformat(value.strip().replace("/", "-")))
        number = read_number(value.strip())
    if number is None or not 0 <= number < _LATEST * _UNITS[-1]:
        return None
    return next((number / unit for unit in _UNITS if number / unit < _LATEST), None)


_THUMBS = frozenset(
    {
        *("thumb", "thumbs", "thumbs_up", "user_thumbs", "user_score", "user_feedback", "feedback"),
        *("vote", "like", "helpful", "user_rating_thumbs", "평가", "만족", "좋아요"),
    }
)
"""What a score of people's is called where it is a thumb; small letters, ``_`` for ``-``."""

_UP = {
    *("1", "1.0", "+1", "up", "like", "liked", "good", "positive", "yes", "true", "helpful"),
    *("thumbs_up", "thumbsup", "+", "👍", "좋아요", "만족", "도움됨", "추천"),
}
_DOWN = {
    *("-1", "-1.0", "down", "dislike", "disliked", "bad", "negative", "no", "false", "unhelpful"),
    *("thumbs_down", "thumbsdown", "-", "👎", "싫어요", "불만족", "도움안됨", "비추천"),
}


def thumb(value: object) -> int | None:
    """1 for a thumb up, -1 for one down, 0 for the number 0; None for anything else.

    Whether 0 is down depends on what else a log has: down where nothing is -1.
    """
    if isinstance(value, bool):
        return 1 if value else -1
    word = str(value).strip().casefold()
    # Not of -1, whose sign joins no words.
    word = word.replace("-", "_").replace(" ", "_") if word[:1].isalpha() else word
    if word in ("0", "0.0"):
        return 0
    return 1 if word in _UP else -1 if word in _DOWN else None


def is_thumb(score: object, name: str | None) -> bool:
    """Whether a score of this name is a thumb: the one that is named, else one of a usual name."""
    word = str(score).casefold().replace("-", "_")
    return score == name if name else word in _THUMBS
