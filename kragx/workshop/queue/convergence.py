"""What all questions come to, and whether a grade that is left can still tell retrievers apart.

Two retrievers differ in a document where it lies at another rank with the one than with the other,
as far down as they are compared. Once every such document has its grade, what is left lies alike
with all of them: it moves no difference but by what could be had in all, and the comparison says
what it will say. That is known by counting, board by board.
"""

from collections.abc import Collection

from kragx.workshop.pairs.candidates import QuestionPool

QUESTIONS = 10
PAIRS = 30
"""With fewer questions, or fewer of their pairs judged, nothing is said of what is to come."""


def stopping_estimate(
    pools: Collection[QuestionPool], n_retrievers: int
) -> dict[str, str | int | None]:
    """How far the comparison of retrievers is.

    Returns:
        ``outcome``: "decided" if every document in which retrievers differ has its grade, else
        "open"; or why nothing can be said: "retrievers" (fewer than two), "answers" (not all have
        answered yet), "questions" or "pairs" (too few so far), or "equal" (they differ in no
        document). ``needed``: how many there have to be of what is too few.
    """
    # Until all have answered nobody can say in which documents their lists differ.
    compared = [pool for pool in pools if pool.is_compared and pool.candidates]
    outcomes = (
        ("retrievers", n_retrievers < 2),
        ("answers", any(pool.is_waiting for pool in pools)),
        ("questions", not compared),
        # Before it is too early to say anything: no grade can help retrievers that are one.
        ("equal", not any(pool.differing for pool in compared)),
        ("questions", len(compared) < QUESTIONS),
        ("pairs", sum(pool.n_judged for pool in compared) < PAIRS),
        ("open", any(not entry.standing.is_known for b in compared for entry in b.differing)),
    )
    outcome = next((outcome for outcome, holds in outcomes if holds), "decided")
    return {"outcome": outcome, "needed": {"questions": QUESTIONS, "pairs": PAIRS}.get(outcome)}
