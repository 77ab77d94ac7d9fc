"""What a log says of its questions, and which are the same: duplicates folded, nothing else.

Two questions are folded where what tells them from others is equal (`kragx.workshop.wording`):
their words and signs in one order, but for case, plain punctuation, Korean spacing and what is said
for politeness. A misspelt word is another word. What stands around a question (its history, fields
that rules read) and what was masked in it is part of it.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from hashlib import blake2b
from math import inf
from operator import xor
from typing import Any

from kragx.data import Doc
from kragx.data.formats.jsonl import to_json
from kragx.evaluation.calls.logs import LoggedQuestion
from kragx.ground.errors import DataError, nearest
from kragx.ground.printing import message
from kragx.workshop.logs.masks import Masker
from kragx.workshop.logs.reading import logged_value
from kragx.workshop.wording import exact, gist, joined

N_TURNS = 10
"""So many questions before one in its session are its history."""

_UNSAID = 2  # the thumb of an ask without any, while it is not known what a 0 means

_AROUND, _VALUES, _RANK = 0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0xFF51AFD7ED558CCD
_BITS = (1 << 64) - 1


def key_of(text: str) -> int:
    """A number of 64 bits for a text, the same on every machine."""
    return int.from_bytes(blake2b(text.encode("utf-8", "replace"), digest_size=8).digest())


@dataclass(slots=True, eq=False)
class Ask:
    """A question that somebody asked, without what was retrieved for it.

    Attributes:
        number: which of the log it is.
        text: the question, masked.
        alone: the same, the masks counted from 1, as they are in every log.
        values: a number for what is masked in it; 0 for nothing.
        around: a number for what stands around it: history and kept fields; 0 for nothing.
        around_masked: the same of what is masked, for ids.
        time: when; None where the log does not say.
        thumb: 1 up, -1 down, 0 none.
        has_list: whether the log says what was retrieved.
        rated: what was retrieved for an ask with a thumb, where gold is made of thumbs: by id,
            else by text.
        slice: its value of the field of slices.
        clicks: the ids that were opened.
        before: the ask before it in its session; None where the log has a history.
    """

    number: int
    text: str
    alone: str
    values: int = 0
    around: int = 0
    around_masked: int = 0
    time: float | None = None
    thumb: int = 0
    has_list: bool = False
    rated: tuple[Doc, ...] = ()
    slice: str = ""
    clicks: tuple[str, ...] = ()
    before: Ask | None = None


@dataclass(eq=False)
class FoldedQuestion:
    """A question, and the asks that were folded into it.

    Attributes:
        key: tells it from others, the same in every log and order: nothing that is masked goes into
            it. Questions of one log that differ in that alone are counted through.
        asks: in the order of the log.
        inclusion: its chance to be drawn.
    """

    key: int
    asks: list[Ask]
    inclusion: float = 1.0

    @property
    def id(self) -> str:
        """Its id: the same in every log, and of nothing that is masked."""
        return f"q-{self.key:016x}"

    @property
    def slice(self) -> str:
        """Its value of the field of slices, which is part of what stands around it."""
        return self.asks[0].slice

    @property
    def text(self) -> str:
        """The wording that stands for it, the most frequent one."""
        times = Counter((ask.alone, ask.text) for ask in self.asks)
        return min(times, key=lambda texts: (-times[texts], texts))[1]

    @property
    def last(self) -> Ask:
        """Its last ask that has a list; else the last one."""
        return max(
            self.asks,
            key=lambda ask: (ask.has_list, inf if ask.time is None else ask.time, ask.number),
        )


def read_asks(
    questions: Iterable[LoggedQuestion],
    masker: Masker,
    keep: Sequence[str],
    by: str | None,
    *,
    holds_rated: bool,
) -> tuple[list[Ask], list[str]]:
    """The asks of a log, in its order, and what a reader should know of it.

    Args:
        questions: in its order.
        masker: masks them.
        keep: fields that rules and slices read: what differs in one is another question.
        by: the one of slices.
        holds_rated: whether gold is made of what was retrieved for rated asks.

    Raises:
        DataError: no question has one of these fields.
    """
    asks: list[Ask] = []
    sessions: defaultdict[str, list[Ask]] = defaultdict(list)
    alone: dict[str, tuple[str, str, int]] = {}
    fields_met: set[str] = set()
    record: Mapping[str, Any] = {}
    for number, question in enumerate(questions):
        record, text = question.record, masker.text(question.text)
        if text not in alone:  # a million asks have few texts, each kept once
            alone[text] = text, text, 0
            if text != question.text:  # as it is masked by itself, and what is masked in it
                fresh = replace(masker)
                alone[text] = text, fresh.text(question.text), key_of(repr(fresh.values))
        fields = fields_of(record, keep)
        fields_met.update(fields)
        beside = [turn.to_dict() for turn in question.history], fields
        is_rated = holds_rated and question.thumbs is not None
        docs = (question.retrieved or ()) if is_rated else ()
        ask = Ask(
            number,
            *alone[text],
            around=key_of(to_json(beside)) if any(beside) else 0,
            around_masked=key_of(to_json(replace(masker).within(beside))) if any(beside) else 0,
            time=question.time,
            thumb=_UNSAID if question.thumbs is None else question.thumbs,
            has_list=question.retrieved is not None,
            # By id where there is one: texts of one document differ from log to log.
            rated=tuple(Doc(doc.id, None if doc.id else doc.text) for doc in docs),
            slice="" if by is None else to_json(fields.get(_name(by))),
            clicks=question.clicks,
        )
        if question.session is not None and not question.history:
            sessions[question.session].append(ask)
        asks.append(ask)
    for path in (path for path in keep if asks and _name(path) not in fields_met):
        option = "--slice" if path == by else "--keep"
        problem = message("no line has {path!r}", path=path)
        raise DataError(problem, field=option, remedy=nearest(path, record))
    _put_histories(sessions.values())
    # What a thumb of 0 is the whole log shows: down where none is -1, and none where one is.
    zero = 0 if any(ask.thumb == -1 for ask in asks) else -1
    cautions: list[str] = []
    if zero and any(ask.thumb == 0 for ask in asks):
        cautions.append(
            message(
                "a 0 is taken as a thumb down, as none is -1; if it means none, leave thumbs out "
                "with --column thumbs="
            )
        )
    for ask in asks:
        ask.thumb = {_UNSAID: 0, 0: zero}.get(ask.thumb, ask.thumb)
    return asks, cautions


def fields_of(record: Any, keep: Sequence[str]) -> dict[str, Any]:
    """The fields that are kept of a record; those that it lacks are left out."""
    values = {_name(path): logged_value(record, path) for path in keep}
    return {name: value for name, value in values.items() if value is not None}


def _name(path: str) -> str:
    """What a field is called in the metadata of the question."""
    return path.removeprefix("metadata.")


def _put_histories(sessions: Iterable[Sequence[Ask]]) -> None:
    """Note what was asked before in each session, as what stands around a question."""
    for session in sessions:
        turns: deque[tuple[str, int]] = deque(maxlen=N_TURNS)
        before = None
        for ask in sorted(session, key=lambda ask: inf if ask.time is None else ask.time):
            if before is not None:
                ask.before = before
                ask.around ^= key_of(to_json([*turns]))
                ask.around_masked ^= key_of(to_json([text for text, _ in turns]))
            before = ask
            turns.append((exact(ask.alone), ask.values))


def fold(asks: Iterable[Ask]) -> tuple[list[FoldedQuestion], int]:
    """Fold asks into questions.

    Returns:
        The questions, in an order that is the same for any order of the log; and how many there
        would be without near duplicates.
    """
    keys: dict[str, tuple[int, int]] = {}
    groups: defaultdict[int, list[Ask]] = defaultdict(list)
    same_key: defaultdict[int, set[int]] = defaultdict(set)
    exact_keys: set[int] = set()
    for ask in asks:
        if ask.alone not in keys:
            keys[ask.alone] = key_of(joined(gist(ask.alone))), key_of(exact(ask.alone))
        gist_key, exact_key = keys[ask.alone]
        beside = (ask.around * _AROUND ^ ask.values * _VALUES) & _BITS
        exact_keys.add(exact_key ^ beside)
        groups[gist_key ^ beside].append(ask)
        # An id may not tell what is masked: questions that differ in that alone share this key.
        same_key[gist_key ^ (ask.around_masked * _AROUND & _BITS)].add(gist_key ^ beside)
    questions = {}
    for key, members in same_key.items():
        # In an order that tells nothing of what is masked, and does not go by places in the log.
        salt = reduce(xor, members)
        order = sorted(members, key=lambda member: key_of(f"{salt} {member}"))
        for rank, member in enumerate(order):
            questions[member] = FoldedQuestion(key ^ (rank * _RANK & _BITS), groups[member])
    return [questions[member] for member in sorted(questions)], len(exact_keys)
