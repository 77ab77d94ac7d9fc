"""What a log says of all its questions, as arrays: what is needed to fold and to draw."""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kragx.data.formats.jsonl import to_json
from kragx.evaluation.calls.logged import LoggedQuestion
from kragx.ground.errors import DataError, nearest
from kragx.ground.printing import phrase
from kragx.metrics.match_table import Bools, Floats, Ints
from kragx.workshop.logs.folding import Keys, key_of
from kragx.workshop.logs.masks import Masker
from kragx.workshop.logs.reading import logged_value
from kragx.workshop.logs.wording import exact

N_TURNS = 10
"""So many questions before one in its session are its history."""

_LONGEST = 1_000
"""Asks of a session; what has more is hardly one person's."""


@dataclass(frozen=True, eq=False)
class Asks:
    """The asks of a log.

    Attributes:
        texts: (t) distinct questions, masked.
        alone: (t) the same, the masks of each counted from 1, as they are in every log.
        values: (t) a number for what is masked in each; 0 for nothing.
        of_text: (n) which of them each ask is.
        around: (n) a number for what stands around it: history and kept fields; 0 for nothing.
        around_masked: (n) the same of what is masked, for ids.
        times: (n) NaN where the log does not say.
        thumbs: (n) 1 up, -1 down, 0 none.
        has_list: (n) whether the log says what was retrieved.
        slices: (n) its value of the field of slices, a number for each.
        clicks: by ask, the ids that were opened.
        before: by ask, the one before it in its session; none where the log has a history.
        cautions: what a reader should know of the log.
    """

    texts: Sequence[str]
    alone: Sequence[str]
    values: Keys
    of_text: Ints
    around: Keys
    around_masked: Keys
    times: Floats
    thumbs: NDArray[np.int8]
    has_list: Bools
    slices: Ints
    clicks: dict[int, tuple[str, ...]]
    before: dict[int, int]
    cautions: list[str]

    def __len__(self) -> int:
        return len(self.of_text)


def gathered(
    questions: Iterable[LoggedQuestion], masker: Masker, keep: Sequence[str], by: str | None
) -> Asks:
    """What the questions of a log come to.

    Args:
        questions: in its order.
        masker: masks them.
        keep: fields that rules and slices read: what differs in one is another question.
        by: the one of slices.

    Raises:
        DataError: no question has one of these fields.
    """
    numbers: dict[str, int] = {}
    values: dict[str, int] = {}
    sessions: dict[str, int] = {}
    of_text, of_slice, of_session = array("q"), array("q"), array("q")
    around, masked, times = array("Q"), array("Q"), array("d")
    thumbs, lists = array("b"), array("b")
    names = array("Q")
    met: set[str] = set()
    known: Mapping[str, Any] = {}
    alone: dict[str, tuple[str, int]] = {}
    clicks: dict[int, tuple[str, ...]] = {}
    for ask, question in enumerate(questions):
        text = masker.text(question.text)
        of_text.append(numbers.setdefault(text, len(numbers)))
        if text != question.text and text not in alone:
            alone[text] = _alone(question.text, masker)
        fields = fields_of(question.record, keep)
        met.update(fields)
        beside = [turn.to_dict() for turn in question.history], fields
        around.append(key_of(to_json(beside)) if any(beside) else 0)
        masked.append(key_of(to_json(replace(masker).within(beside))) if any(beside) else 0)
        value = "" if by is None else to_json(fields.get(_name(by)))
        of_slice.append(values.setdefault(value, len(values)))
        is_alone = question.session is None or bool(question.history)
        name = question.session or ""
        of_session.append(-1 if is_alone else sessions.setdefault(name, len(sessions)))
        times.append(np.nan if question.time is None else question.time)
        thumbs.append(2 if question.thumbs is None else question.thumbs)
        lists.append(question.retrieved is not None)
        if question.time is not None and (line_id := question.record.get("id")) is not None:
            names.append(key_of(to_json([line_id, question.time, question.text])))
        if question.clicks:
            clicks[ask] = question.clicks
        known = question.record
    for path in (path for path in keep if len(of_text) and _name(path) not in met):
        option = "--slice" if path == by else "--keep"
        problem = phrase("no line has {path!r}", path=path)
        raise DataError(problem, field=option, remedy=nearest(path, known))
    texts, text_rows = _in_order(numbers, of_text)
    asks = Asks(
        texts,
        [alone.get(text, (text, 0))[0] for text in texts],
        np.array([alone.get(text, (text, 0))[1] for text in texts], np.uint64),
        text_rows,
        np.array(around, np.uint64),
        np.array(masked, np.uint64),
        np.array(times, np.float64),
        _thumbs(np.array(thumbs, np.int8)),
        np.array(lists, bool),
        _in_order(values, of_slice)[1],
        clicks,
        {},
        [],
    )
    n_repeated = len(names) - len(np.unique(np.array(names, np.uint64)))
    if n_repeated:
        asks.cautions.append(
            phrase(
                "asks logged more than once, with the same id, time and question: {n}; all count",
                n=n_repeated,
            )
        )
    if bool(((asks.thumbs == -1) & (np.array(thumbs) == 0)).any()):
        asks.cautions.append(
            phrase(
                "a 0 is taken as a thumb down, as none is -1; if it means none, leave thumbs out "
                "with --column thumbs="
            )
        )
    _put_sessions(asks, np.array(of_session, np.int64))
    return asks


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


def _in_order(numbers: dict[str, int], rows: array[int]) -> tuple[list[str], Ints]:
    """Texts sorted, and the new number of each row: no order of lines decides between them."""
    texts = sorted(numbers)
    places = np.empty(len(texts), np.int64)
    places[[numbers[text] for text in texts]] = np.arange(len(texts))
    return texts, places[np.array(rows, np.int64)]


def _thumbs(marks: NDArray[np.int8]) -> NDArray[np.int8]:
    """Thumbs up and down: a 0 is down in a log that never says -1, and none in one that does."""
    zero = 0 if bool((marks == -1).any()) else -1
    return np.where(marks == 2, 0, np.where(marks == 0, zero, marks)).astype(np.int8)


def _put_sessions(asks: Asks, sessions: Ints) -> None:
    """Note what was asked before in each session, as what stands around a question."""
    within = np.flatnonzero(sessions >= 0)
    order = within[np.lexsort((within, asks.times[within], sessions[within]))]
    last, before = -1, -1
    turns: deque[tuple[str, int]] = deque(maxlen=N_TURNS)
    for ask in order.tolist():
        session = int(sessions[ask])
        if session == last:
            asks.before[ask] = before
            asks.around[ask] ^= np.uint64(key_of(to_json([*turns])))
            asks.around_masked[ask] ^= np.uint64(key_of(to_json([text for text, _ in turns])))
        else:
            last = session
            turns.clear()
        before, text = ask, asks.of_text[ask]
        turns.append((exact(asks.alone[text]), int(asks.values[text])))
    longest = int(np.bincount(sessions[within]).max()) if len(within) else 0
    if longest > _LONGEST:
        asks.cautions.append(
            phrase(
                "a session has {n} asks, and is hardly one conversation; name what tells "
                "conversations apart with --column session=...",
                n=longest,
            )
        )
