"""What all that people have said of a pair comes to."""

from collections.abc import Collection, Iterable
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
    """

    state: Literal["open", "graded", "unusable", "conflict"]
    grade: int | None = None
    by: frozenset[str] = frozenset()
    is_decided: bool = False
    later: frozenset[str] = frozenset()
    least: int | None = None

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


def standing(state: State, question: str, documents: Collection[str]) -> Standing:
    """What counts of a question and a document.

    A decision, if there is one; else what all who judged agree on. "later" is no judgement, and
    what a file says counts until somebody has judged.

    Args:
        state: holds what was said.
        question: its uid.
        documents: the id of the document, and those of its copies.
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
    settling, people = decision(state, question, documents), frozenset(newest)
    rows = newest.values() if settling is None else [settling]
    opinions = {(row.kind, row.grade) for row in rows}
    if len(opinions) != 1:
        grades = [grade for _, grade in opinions if grade is not None]
        lowest = min(grades) if grades and len(grades) == len(opinions) else None
        return Standing("conflict" if opinions else "open", None, people, False, put_off, lowest)
    ((kind, grade),) = opinions
    is_graded = kind == "grade"
    state_of: Literal["graded", "unusable"] = "graded" if is_graded else "unusable"
    return Standing(state_of, grade, people, settling is not None, put_off, grade)
