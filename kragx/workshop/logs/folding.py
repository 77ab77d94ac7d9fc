"""Which of many questions are the same: exact and near duplicates folded, nothing else.

Two questions are folded where what tells them from others is equal (`kragx.workshop.logs.wording`):
their words and signs in one order, but for case, plain punctuation, Korean spacing and what is said
for politeness. A misspelt word is another word. What stands around a question (its history, fields
that rules read) and what was masked in it is part of it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from hashlib import blake2b
from math import inf
from operator import xor

from kragx.workshop.logs.wording import exact, gist, joined

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


def fold(asks: Iterable[Ask]) -> tuple[list[FoldedQuestion], int]:
    """Fold asks into questions.

    Returns:
        The questions, in an order that is the same for any order of the log; and how many there
        would be without near duplicates.
    """
    keys: dict[str, tuple[int, int]] = {}
    groups: defaultdict[int, list[Ask]] = defaultdict(list)
    same_key: defaultdict[int, list[int]] = defaultdict(list)
    exact_keys: set[int] = set()
    for ask in asks:
        if ask.alone not in keys:
            keys[ask.alone] = key_of(joined(gist(ask.alone))), key_of(exact(ask.alone))
        gist_key, exact_key = keys[ask.alone]
        beside = (ask.around * _AROUND ^ ask.values * _VALUES) & _BITS
        exact_keys.add(exact_key ^ beside)
        groups[gist_key ^ beside].append(ask)
        if len(groups[gist_key ^ beside]) == 1:
            key = gist_key ^ (ask.around_masked * _AROUND & _BITS)
            same_key[key].append(gist_key ^ beside)
    questions = {}
    for key, members in same_key.items():
        # In an order that tells nothing of what is masked, and does not go by places in the log.
        salt = reduce(xor, members)
        order = sorted(members, key=lambda member: key_of(f"{salt} {member}"))
        for rank, member in enumerate(order):
            questions[member] = FoldedQuestion(key ^ (rank * _RANK & _BITS), groups[member])
    return [questions[member] for member in sorted(questions)], len(exact_keys)
