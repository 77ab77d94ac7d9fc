"""What all questions come to, and whether a grade that is left can still tell retrievers apart.

Two retrievers differ in a document where it lies at another rank with the one than with the other,
as far down as they are compared. Once every such document has its grade, what is left lies alike
with all of them: it moves no difference but by what could be had in all, and the comparison says
what it will say. That is known by counting, board by board.
"""

from __future__ import annotations

from collections import Counter
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
            answered yet), "questions" or "pairs" (too few so far), or "equal" (they differ in no
            document).
    """

    outcome: str

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
        n_retrievers: how many there are.

    Attributes:
        counts: of pairs, those ``judged``; of questions those that ``wait`` for answers; and of
            those that are ``compared`` the ``graded`` pairs, and of the pairs in which retrievers
            are ``differing`` those that are ``left``.
    """

    def __init__(self, n_retrievers: int) -> None:
        self.n_retrievers: int = n_retrievers
        self.counts: Counter[str] = Counter()

    def take(self, board: Board, times: int = 1) -> None:
        """Add what a board has; with -1 take it away."""
        counts = {
            "pairs": len(board.candidates),
            "judged": board.n_judged,
            "wait": int(board.question.answerable is not False and not all(board.answered)),
        }
        # Until all have answered nobody can say in which documents their lists differ.
        if board.is_compared and board.candidates:
            differing = [entry for entry in board if entry.disagreement > 0]
            counts |= {
                "compared": 1,
                "graded": board.n_judged,
                "differing": len(differing),
                "left": sum(not entry.standing.is_known for entry in differing),
            }
        for name, count in counts.items():
            self.counts[name] += times * count

    @property
    def outlook(self) -> Outlook:
        """How far the comparison is."""
        counts = self.counts
        outcomes = (
            ("retrievers", self.n_retrievers < 2),
            ("answers", counts["wait"]),
            ("questions", not counts["compared"]),
            # Before it is too early to say anything: no grade can help retrievers that are one.
            ("equal", not counts["differing"]),
            ("questions", counts["compared"] < QUESTIONS),
            ("pairs", counts["graded"] < PAIRS),
            ("open", counts["left"]),
        )
        return Outlook(next((outcome for outcome, holds in outcomes if holds), "decided"))
