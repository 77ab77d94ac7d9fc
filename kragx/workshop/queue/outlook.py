"""How far the comparison of a workshop's retrievers is from being decided, and by what."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from kragx.metrics import Floats
from kragx.workshop.pairs.boards import Board, Plan
from kragx.workshop.queue.deciding import Field, Rule, contenders, open_pairs

QUESTIONS = 10
PAIRS = 30
"""With fewer questions, or fewer of their pairs judged, nothing is said of what is to come."""

_RANKS = np.array([1, 2, 4, 11])
"""Where classes of ranks begin; how often a document is relevant is counted by class."""

_FIRST = 0.1
"""A question's first relevant document is worth as much as one that moves the difference by it."""


@dataclass(frozen=True)
class Outlook:
    """What is known of the comparison's end.

    Attributes:
        state: "decided" if no grade that is left can change which retriever is best, nor whether
            the test says so; "unknown" while nothing can be said, or there is nothing to compare.
        why: of what is unknown: "retrievers" (fewer than two), "answers" (not all have answered
            yet), "questions" or "pairs" (too few so far), "equal" (all have the same lists), or
            "gold" (most questions have no answer yet: nobody is told to stop).
        best: names of the retrievers that may be the best. Nobody who judges is to see them.
        equal: names of those that have the same lists, group by group. Likewise.
    """

    state: Literal["open", "decided", "unknown"]
    why: str = ""
    best: tuple[str, ...] = ()
    equal: tuple[tuple[str, ...], ...] = ()

    @property
    def outcome(self) -> str:
        """Which sentence says it, on the page: "decided", "undecided", "open" or `why`."""
        if self.state != "decided":
            return self.why or self.state
        is_one = len(self.best) == 1 or any(set(self.best) <= {*group} for group in self.equal)
        return "decided" if is_one else "undecided"

    @property
    def needed(self) -> int | None:
        """How many there have to be of what is too few."""
        return {"questions": QUESTIONS, "pairs": PAIRS}.get(self.why)


@dataclass(frozen=True)
class Reckoning:
    """What is worked out from time to time.

    Attributes:
        outlook: how far it is.
        closest: the two retrievers, by position, that what comes next is to tell apart.
        chances: (class of ranks, grade) how likely each grade is.
    """

    outlook: Outlook
    closest: tuple[int, int] | None = None
    chances: Floats | None = None


def reckon(boards: Sequence[Board], plan: Plan, rule: Rule | None) -> Reckoning:
    """Work out what decides the comparison of the retrievers of a plan.

    Args:
        boards: all open questions.
        plan: the retrievers and the metric.
        rule: of the metric.
    """
    names = tuple(plan.retrievers)
    if len(names) < 2 or rule is None:
        return Reckoning(Outlook("unknown", why="retrievers"))
    asked = [board for board in boards if board.question.answerable is not False]
    compared = [board for board in asked if board.is_compared and board.documents]
    chances = _chances(compared, plan.gold_top)
    if not compared:
        return Reckoning(Outlook("unknown", why="answers" if asked else "questions"))
    groups = _equal(compared)
    equal = tuple(tuple(names[n] for n in group) for group in groups if len(group) > 1)
    whole = _field(compared, rule)
    # Of those with the same lists one stands for all: no grade can tell them apart.
    field = replace(whole, weights=whole.weights[[group[0] for group in groups]])
    certain = field.verdicts()
    among = sorted(contenders(certain, len(groups)))
    best = tuple(names[n] for number in among for n in groups[number])
    unsettled = open_pairs(certain, len(groups))
    means = field.means()
    one, other = min(
        unsettled or certain or [(0, 0)], key=lambda pair: abs(means[pair[0]] - means[pair[1]])
    )
    closest = (groups[one][0], groups[other][0])
    n_judged = sum(board.n_judged for board in compared)
    n_answered = sum(board.has_relevant for board in compared)
    if any(not board.answered.all() for board in asked):
        outlook = Outlook("unknown", why="answers")
    elif len(groups) == 1:
        outlook = Outlook("unknown", why="equal")
    elif len(compared) < QUESTIONS:
        outlook = Outlook("unknown", why="questions")
    elif n_judged < PAIRS:
        outlook = Outlook("unknown", why="pairs")
    elif unsettled:
        outlook = Outlook("open")
    elif 2 * n_answered <= len(compared):
        outlook = Outlook("unknown", why="gold")
    else:
        outlook = Outlook("decided")
    return Reckoning(replace(outlook, best=best, equal=equal), closest, chances)


def _equal(boards: Sequence[Board]) -> list[list[int]]:
    """The retrievers in groups of those whose lists are the same for every question."""
    groups: dict[bytes, list[int]] = {}
    for number in range(len(boards[0].ranks)):
        parts = (
            own.tobytes() for board in boards for own in (board.ranks[number], board.counts[number])
        )
        groups.setdefault(b"".join(parts), []).append(number)
    return list(groups.values())


def worth(board: Board, rule: Rule | None, reckoning: Reckoning) -> Floats:
    """(d) how far a grade of each document would move the closest difference on the average.

    What else is left counts as nothing meanwhile. What all retrievers have at the same rank moves
    nothing, and is the likeliest to be relevant: so that no question is left without its answer,
    the first relevant document of a question is worth something by itself. 0 of what is known, and
    of all while there is nothing to compare.
    """
    moves = np.zeros(len(board.documents))
    left = np.flatnonzero(~board.known)
    closest, chances = reckoning.closest, reckoning.chances
    if closest is None or chances is None or rule is None or not board.is_compared or not left.size:
        return moves
    one, other = rule.weights(board.ranks, board.counts)[list(closest)]
    now = rule.gains(board.grades)
    grades = np.arange(1, chances.shape[1], dtype=float)
    gains = np.tile(now, (left.size, grades.size, 1))
    gains[np.arange(left.size), :, left] = rule.gains(grades)
    moved = rule.values(one, gains) - rule.values(other, gains)
    moved -= rule.values(one, now) - rule.values(other, now)
    likely = chances[_class(board)[left], 1:]
    first = 0.0 if board.has_relevant else _FIRST
    moves[left] = ((np.abs(moved) + first) * likely).sum(axis=1)
    return moves


def _class(board: Board) -> NDArray[np.intp]:
    """(d) how high the best retriever has each: 1, 2 and 3, up to 10, lower; 0 if none has it."""
    return np.searchsorted(_RANKS, board.best_ranks, side="right")


def _chances(boards: Iterable[Board], top: int) -> Floats:
    """(class, grade) how often what is known had each grade, drawn towards all of it."""
    counts = np.zeros((len(_RANKS) + 1, top + 1))
    for board in boards:
        grades = np.clip(board.grades[board.known], 0, top).astype(int)
        np.add.at(counts, (_class(board)[board.known], grades), 1)
    overall = counts.sum(axis=0) + 1
    shares: Floats = counts + 4 * overall / overall.sum()
    shares /= shares.sum(axis=1, keepdims=True)
    return shares


def _field(boards: Sequence[Board], rule: Rule) -> Field:
    width = max(len(board.documents) for board in boards)
    weights = [rule.weights(board.ranks, board.counts) for board in boards]
    return Field(
        rule,
        np.stack(
            [_padded([weight[r] for weight in weights], width) for r in range(len(weights[0]))]
        ),
        _padded([rule.gains(board.grades) * board.known for board in boards], width),
        _padded([~board.known for board in boards], width) > 0,
    )


def _padded(rows: Sequence[NDArray[np.generic]], width: int) -> Floats:
    """(q, width, ...) of rows of different lengths, with zeros behind."""
    table = np.zeros((len(rows), width, *rows[0].shape[1:]))
    for number, row in enumerate(rows):
        table[number, : len(row)] = row
    return table
