"""What all questions come to, and whether a grade that is left can still tell retrievers apart.

Two retrievers differ in a document where it lies at another rank with the one than with the other,
as far down as they are compared. Once every such document has its grade, what is left lies alike
with all of them: it moves no difference but by what could be had in all, and the comparison says
what it will say. That is known by counting, board by board.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from kragx.workshop.pairs.candidates import Board

QUESTIONS = 10
PAIRS = 30
"""With fewer questions, or fewer of their pairs judged, nothing is said of what is to come."""


@dataclass(frozen=True)
class Outlook:
    """How far the comparison of retrievers is.

    Attributes:
        outcome: "decided" if every document in which retrievers differ has its grade, else "open";
            or why nothing can be said: "retrievers" (fewer than two), "answers" (not all have
            answered yet), "questions" or "pairs" (too few so far), "equal" (all have the same
            lists), or "gold" (most questions have no answer yet: nobody is told to stop).
        equal: names of retrievers that have the same lists, group by group. Nobody who judges is to
            see them.
    """

    outcome: str
    equal: tuple[tuple[str, ...], ...] = ()

    @property
    def state(self) -> str:
        """Whether it is "open", "decided" or "unknown"."""
        return self.outcome if self.outcome in ("open", "decided") else "unknown"

    @property
    def needed(self) -> int | None:
        """How many there have to be of what is too few."""
        return {"questions": QUESTIONS, "pairs": PAIRS}.get(self.outcome)


class Sums:
    """What all boards come to, kept up as they change.

    Args:
        retrievers: their names.

    Attributes:
        counts: of pairs, those ``judged``; of questions those that ``wait`` for answers; and of
            those that are ``compared`` the ``graded`` pairs, the questions that are ``answered``,
            and the pairs that are ``left`` of those in which retrievers differ.
        lists: for each retriever a hash of its lists for all questions.
    """

    def __init__(self, retrievers: Sequence[str]) -> None:
        self.retrievers: Sequence[str] = retrievers
        self.counts: Counter[str] = Counter()
        self.lists: list[int] = [0] * len(retrievers)

    def take(self, board: Board, times: int = 1) -> None:
        """Add what a board has; with -1 take it away."""
        counts = {
            "pairs": len(board.candidates),
            "judged": board.n_judged,
            "wait": int(board.question.answerable is not False and not all(board.answered)),
        }
        # Until all have answered nobody can say in which documents their lists differ.
        if board.is_compared and board.candidates:
            counts |= {
                "compared": 1,
                "graded": board.n_judged,
                "answered": int(board.has_relevant),
                "left": sum(e.disagreement > 0 and not e.standing.is_known for e in board),
            }
            for number in range(len(self.retrievers)):
                places = ((e.pair, e.ranks[number], e.counts[number]) for e in board)
                self.lists[number] ^= hash(tuple(places))  # the same again takes it away
        for name, count in counts.items():
            self.counts[name] += times * count

    @property
    def outlook(self) -> Outlook:
        """How far the comparison is."""
        counts, groups = self.counts, defaultdict[int, list[str]](list)
        for name, lists in zip(self.retrievers, self.lists):
            groups[lists].append(name)
        outcomes = (
            ("retrievers", len(self.retrievers) < 2),
            ("answers", counts["wait"]),
            ("questions", not counts["compared"]),
            # Before it is too early to say anything: no grade can help retrievers that are one.
            ("equal", len(groups) == 1),
            ("questions", counts["compared"] < QUESTIONS),
            ("pairs", counts["graded"] < PAIRS),
            ("open", counts["left"]),
            ("gold", 2 * counts["answered"] <= counts["compared"]),
        )
        outcome = next((outcome for outcome, holds in outcomes if holds), "decided")
        equal = tuple(tuple(group) for group in groups.values() if len(group) > 1)
        return Outlook(outcome, equal if counts["compared"] else ())
