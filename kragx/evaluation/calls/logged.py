"""Questions that people asked, as logs and traces have them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from kragx.data import Doc
from kragx.data.turns import Turn
from kragx.evaluation.calls.messages import turns_of
from kragx.evaluation.calls.tool_answers import as_json

_QUESTIONS = (
    *("question", "query", "user_query", "user_question", "user_input", "input", "prompt"),
    *("message", "text", "content", "q", "질문", "질의", "검색어"),
)
"""What the question is called in what an application was given, the likeliest first."""

_ANSWERS = ("answer", "output", "response", "result", "content", "text", "답변", "응답")


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


@dataclass(frozen=True, slots=True)
class LoggedSpan:
    """A piece of work of a trace, as tools that watch applications have it.

    Attributes:
        place, around: its trace and id, and those of what it stands in; an empty id is the trace.
        asked: what it was asked, if it says so.
        documents: what it retrieved, if it is a retriever or reranker.
        is_last: whether what it gave takes the place of what others retrieved, as a reranker's.
    """

    place: tuple[str, str]
    around: tuple[str, str] | None
    asked: LoggedQuestion | None
    documents: tuple[Doc, ...] | None = None
    is_last: bool = False
    started: float = 0.0


def questions_of(
    spans: Iterable[LoggedSpan], thumbs: Mapping[tuple[str, str], int]
) -> Iterator[LoggedQuestion]:
    """The questions of traces: those of the outermost spans that say one, with all found within.

    Of what several retrievers gave each document counts once, in the order in which it came; a
    reranker's list takes the place of what came before it.

    Args:
        spans: of any number of traces, in any order.
        thumbs: what people said, by the place of what they said it of; an empty id is the trace.
    """
    by_place = {span.place: span for span in spans}
    within: dict[tuple[str, str], list[LoggedSpan]] = defaultdict(list)
    for span in sorted(by_place.values(), key=lambda span: span.started):
        outer = [span, *_around(span, by_place)]
        asking = [place for place in outer if place.asked is not None]
        if asking:
            within[asking[-1].place].append(span)
    for place, inner in within.items():
        question = by_place[place].asked
        assert question is not None
        said = [thumbs[key] for key in ((place[0], ""), *(s.place for s in inner)) if key in thumbs]
        documents = _documents(inner, by_place)
        yield replace(
            question,
            retrieved=question.retrieved if documents is None else documents,
            thumbs=question.thumbs if not said else min(said),
        )


def _around(
    span: LoggedSpan, by_place: Mapping[tuple[str, str], LoggedSpan]
) -> Iterator[LoggedSpan]:
    seen = {span.place}
    while span.around is not None:
        outer = by_place.get(span.around) or by_place.get((span.place[0], ""))
        if outer is None or outer.place in seen:
            return
        seen.add(outer.place)
        yield outer
        span = outer


def _documents(
    spans: Iterable[LoggedSpan], by_place: Mapping[tuple[str, str], LoggedSpan]
) -> tuple[Doc, ...] | None:
    documents: dict[object, Doc] | None = None
    for span in spans:
        inner = any(outer.documents is not None for outer in _around(span, by_place))
        if span.documents is None or inner:
            continue
        documents = {} if documents is None or span.is_last else documents
        for doc in span.documents:
            documents.setdefault(doc.identity, doc)
    return None if documents is None else tuple(documents.values())


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
            inner = value.get(name)
            if name == "chat_history":
                question = (
                    asked_in({k: v for k, v in value.items() if k != name}) if inner else None
                )
                if question is not None:
                    return question[0], (*turns_of(inner), *question[1])
            elif inner and (question := asked_in(inner)) is not None:
                return question
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
    if isinstance(value, Mapping) and "role" not in value and "messages" not in value:
        named = (answer_in(value[name]) for name in _ANSWERS if value.get(name))
        return next(filter(None, named), None)
    messages = value.get("messages", [value]) if isinstance(value, Mapping) else value
    said = [turn.content for turn in turns_of(messages) if turn.role == "assistant"]
    return said[-1] if said else None
