"""What a log says of all its questions: what is needed to fold and to draw."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import inf
from typing import Any

from kragx.data.formats.jsonl import to_json
from kragx.evaluation.calls.logged import LoggedQuestion
from kragx.ground.errors import DataError, nearest
from kragx.ground.printing import phrase
from kragx.workshop.logs.folding import Ask, key_of
from kragx.workshop.logs.masks import Masker
from kragx.workshop.logs.reading import logged_value
from kragx.workshop.logs.wording import exact

N_TURNS = 10
"""So many questions before one in its session are its history."""

_LONGEST = 1_000
"""Asks of a session; what has more is hardly one person's."""


def gathered(
    questions: Iterable[LoggedQuestion], masker: Masker, keep: Sequence[str], by: str | None
) -> tuple[list[Ask], list[str]]:
    """The asks of a log, in its order, and what a reader should know of it.

    Args:
        questions: in its order.
        masker: masks them.
        keep: fields that rules and slices read: what differs in one is another question.
        by: the one of slices.

    Raises:
        DataError: no question has one of these fields.
    """
    asks: list[Ask] = []
    sessions: defaultdict[str, list[Ask]] = defaultdict(list)
    alone: dict[str, tuple[str, int]] = {}
    texts: dict[str, str] = {}
    names: list[int] = []
    met: set[str] = set()
    record: Mapping[str, Any] = {}
    for number, question in enumerate(questions):
        record = question.record
        text = masker.text(question.text)
        text = texts.setdefault(text, text)  # a million asks have few texts
        if text not in alone:
            alone[text] = (text, 0) if text == question.text else _alone(question.text, masker)
        ask = Ask(number, text, *alone[text])
        fields = fields_of(record, keep)
        met.update(fields)
        beside = [turn.to_dict() for turn in question.history], fields
        if any(beside):
            ask.around = key_of(to_json(beside))
            ask.around_masked = key_of(to_json(replace(masker).within(beside)))
        if by is not None:
            ask.slice = to_json(fields.get(_name(by)))
        if question.session is not None and not question.history:
            sessions[question.session].append(ask)
        ask.time, ask.clicks = question.time, question.clicks
        ask.thumb = _UNSAID if question.thumbs is None else question.thumbs
        ask.has_list = question.retrieved is not None
        if question.time is not None and (line_id := record.get("id")) is not None:
            names.append(key_of(to_json([line_id, question.time, question.text])))
        asks.append(ask)
    for path in (path for path in keep if asks and _name(path) not in met):
        option = "--slice" if path == by else "--keep"
        problem = phrase("no line has {path!r}", path=path)
        raise DataError(problem, field=option, remedy=nearest(path, record))
    cautions: list[str] = []
    if n_repeated := len(names) - len(set(names)):
        cautions.append(
            phrase(
                "asks logged more than once, with the same id, time and question: {n}; all count",
                n=n_repeated,
            )
        )
    # A 0 is down in a log that never says -1, and none in one that does.
    zero = 0 if any(ask.thumb == -1 for ask in asks) else -1
    if zero and any(ask.thumb == 0 for ask in asks):
        cautions.append(
            phrase(
                "a 0 is taken as a thumb down, as none is -1; if it means none, leave thumbs out "
                "with --column thumbs="
            )
        )
    for ask in asks:
        ask.thumb = {_UNSAID: 0, 0: zero}.get(ask.thumb, ask.thumb)
    for session in sessions.values():
        _put_history(session)
    if (longest := max(map(len, sessions.values()), default=0)) > _LONGEST:
        cautions.append(
            phrase(
                "a session has {n} asks, and is hardly one conversation; name what tells "
                "conversations apart with --column session=...",
                n=longest,
            )
        )
    return asks, cautions


_UNSAID = 2


def _alone(text: str, masker: Masker) -> tuple[str, int]:
    """A text as it is masked by itself, and a number for what is masked in it."""
    masker = replace(masker)  # that knows nothing yet
    return masker.text(text), key_of(repr(masker.values))


def fields_of(record: Any, keep: Sequence[str]) -> dict[str, Any]:
    """The fields that are kept of a record; those that it lacks are left out."""
    values = {_name(path): logged_value(record, path) for path in keep}
    return {name: value for name, value in values.items() if value is not None}


def _name(path: str) -> str:
    """What a field is called in the metadata of the question."""
    return path.removeprefix("metadata.")


def _put_history(session: list[Ask]) -> None:
    """Note what was asked before in a session, as what stands around each question."""
    turns: deque[tuple[str, int]] = deque(maxlen=N_TURNS)
    before = None
    for ask in sorted(session, key=lambda ask: inf if ask.time is None else ask.time):
        if before is not None:
            ask.before = before
            ask.around ^= key_of(to_json([*turns]))
            ask.around_masked ^= key_of(to_json([text for text, _ in turns]))
        before = ask
        turns.append((exact(ask.alone), ask.values))
