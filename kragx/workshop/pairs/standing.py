"""What all that people have said of a pair comes to."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from itertools import chain
from typing import Literal

from kragx.workshop.state.records import Judgement
from kragx.workshop.state.state import State


@dataclass(frozen=True)
class Standing:
    """What people say of a question and a document, or its copies, taken together.

    Attributes:
        state: "open" while nobody has judged it; "conflict" while two differ and nobody has
            decided; else "graded" or "unusable".
        grade: where it is graded.
        least: the lowest grade that anybody gives; None if somebody gives none.
        by: uids of who has judged it: one row each, what they say now.
        is_decided: whether somebody settled it.
        later: uids of who put it off.
        rows: what counts: what was decided first, beside it those who say the same, as they may
            have marked evidence; else what each person says now.
    """

    state: Literal["open", "graded", "unusable", "conflict"]
    grade: float | None = None
    by: frozenset[str] = frozenset()
    is_decided: bool = False
    later: frozenset[str] = frozenset()
    least: float | None = None
    rows: tuple[Judgement, ...] = ()

    @property
    def is_known(self) -> bool:
        """Whether it is settled what it is worth, as far as anybody has said."""
        return self.state in ("graded", "unusable")


_OPEN = Standing("open")


def verdicts(state: State, question: str, documents: Iterable[str]) -> dict[str, Judgement]:
    """What each person says now of a question and a document, by their uid.

    "later" is no judgement, and takes none back. What a file says counts until a person has judged.

    Args:
        state: holds what was said.
        question: its uid.
        documents: the id of the document, and those of its copies.
    """
    newest: dict[str, Judgement] = {}
    for document in documents:
        for person, rows in state.judgements.get((question, document), {}).items():
            row = next((row for row in reversed(rows) if row.kind != "later"), None)
            if row is not None and (person not in newest or newest[person].at <= row.at):
                newest[person] = row
    # A file stands for nobody: whoever looks at the pair themselves replaces it.
    files = {uid for uid in newest if uid in state.people and state.people[uid].role == "file"}
    of_people = {uid: row for uid, row in newest.items() if uid not in files}
    return of_people or newest


def decision(state: State, question: str, documents: Iterable[str]) -> Judgement | None:
    """What settles a question and a document, or its copies; the newest of several."""
    rows = (state.decisions.get((question, document), [])[-1:] for document in documents)
    return max(chain.from_iterable(rows), key=lambda row: row.at, default=None)


def standing(
    state: State,
    question: str,
    documents: Collection[str],
    worth: Callable[[int], float] = lambda grade: grade,
) -> Standing:
    """What counts of a question and a document.

    A decision, if there is one; else what all who judged agree on. "later" is no judgement, and
    what a file says counts until somebody has judged.

    Args:
        state: holds what was said.
        question: its uid.
        documents: the id of the document, and those of its copies.
        worth: what a grade is worth; those who give grades of the same worth agree.
    """
    judged = state.judged.get(question)
    # Most pairs of a large workshop: told before anything is gathered.
    if not judged or judged.keys().isdisjoint(documents):
        return _OPEN
    newest = verdicts(state, question, documents)
    by_person = chain.from_iterable(
        state.judgements.get((question, document), {}).items() for document in documents
    )
    put_off = frozenset(uid for uid, rows in by_person if rows and rows[-1].kind == "later")

    def opinion(row: Judgement) -> tuple[str, float | None]:
        return row.kind, None if row.grade is None else worth(row.grade)

    settling, people = decision(state, question, documents), frozenset(newest)
    rows = [*newest.values()]
    if settling is not None:
        rows = [settling, *(row for row in rows if opinion(row) == opinion(settling))]
    opinions = {*map(opinion, rows)}
    grades = [grade for _, grade in opinions if grade is not None]
    least = min(grades) if grades and len(grades) == len(opinions) else None
    kinds = {kind for kind, _ in opinions}
    state_of: Literal["open", "graded", "unusable", "conflict"] = "conflict"
    if len(opinions) < 2:
        state_of = "graded" if "grade" in kinds else "unusable" if kinds else "open"
    grade = least if state_of == "graded" else None
    is_decided = settling is not None
    return Standing(state_of, grade, people, is_decided, put_off, least, tuple(rows))
