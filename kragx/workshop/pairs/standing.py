"""What all that people have said of a pair comes to, and what that is in a gold file.

Copies are documents that say the same in the same words: shown once, judged once. A grade of one is
a grade of all of them, and in a release they are one gold item with alternatives. So nothing is a
copy that somebody might grade otherwise: all words and signs are the same, in the same order (-5 is
not 5, nor ○ ×). White space, plain punctuation, case and Unicode form are no difference. Whoever is
shown two of a kind loses seconds; two that are wrongly one spoil a gold set.

In a gold file any grade above 0 is relevant. On the usual scale of 0 to 3 a 1 is the same subject
but no answer: whoever wrote it as a 1 into a gold file would have every metric count it as found.
So 0 and 1 become 0, 2 becomes 1 (relevant) and 3 becomes 2 (highly relevant), which are the grades
of managed gold sets. On any other scale all but 0 is relevant, and grades stay as they are.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import chain
from math import inf
from typing import Literal

from kragx.data import Doc, tokenizer
from kragx.ground.errors import UsageError
from kragx.workshop.state.records import Judgement
from kragx.workshop.state.state import State
from kragx.workshop.wording import exact

USUAL_TOP = 3
"""The highest grade of the usual scale."""


def relevant_from(top: int) -> int:
    """The least grade of a scale from 0 to `top` that is relevant."""
    return 2 if top == USUAL_TOP else 1


def gold_grade(grade: float, top: int) -> float:
    """The grade in a gold file of what people graded so; 0 for what is not relevant."""
    return float(max(0, grade - relevant_from(top) + 1))


def people_grade(grade: float, top: int) -> int | None:
    """The grade of people that a gold file's grade stands for; None where the scale has none."""
    if grade <= 0:
        return 0
    scaled = grade + relevant_from(top) - 1
    return int(scaled) if float(scaled).is_integer() and scaled <= top else None


class GradeError(UsageError):
    """A grade that is not on the scale."""

    code = "grade"


class EvidenceError(UsageError):
    """Evidence that is not in the text."""

    code = "spans"


def check_fits(
    grade: int | None, scale: Collection[int], spans: Iterable[Sequence[int]], text: str | None
) -> None:
    """Check what somebody says of a document.

    Args:
        grade: None for none.
        scale: the grades that there are.
        spans: the evidence, as [start, end) in characters.
        text: of the document; None where it is not known.

    Raises:
        GradeError: the grade is not on the scale.
        EvidenceError: the evidence is not in the text.
    """
    if grade is not None and grade not in scale:
        problem, remedy = f"{grade} is not on the scale", f"write 0 to {max(scale)}"
        raise GradeError(problem, field="grade", remedy=remedy)
    length = inf if text is None else len(text)
    for start, end in spans:
        if not 0 <= start < end <= length:
            problem = f"[{start}, {end}] is no stretch of a text of {length} characters"
            raise EvidenceError(problem, field="spans", remedy="write from and to, as [[0, 25]]")


class Copies:
    """Which documents of a corpus are copies of which; the first of them stands for all.

    Args:
        docs: the corpus, by id; a text without a word is a copy of none.
    """

    def __init__(self, docs: Mapping[str, Doc]) -> None:
        of_words: defaultdict[bytes, list[str]] = defaultdict(list)
        texts = tokenizer("unicode").tokens(doc.text or "" for doc in docs.values())
        for doc_id, words in zip(docs, texts):
            if words:  # a hash: of a large corpus the words are not to be held
                joined = "\x1f".join(words).encode("utf-8", "surrogatepass")
                of_words[blake2b(joined, digest_size=16).digest()].append(doc_id)
        # Signs are no words; to look for them takes longer, and few texts have the same words.
        of_text: defaultdict[str, list[str]] = defaultdict(list)
        for doc_id in chain(*(members for members in of_words.values() if len(members) > 1)):
            of_text[exact(docs[doc_id].text or "")].append(doc_id)
        self._members = {
            member: tuple(members) for members in of_text.values() for member in members
        }

    def first(self, doc_id: str) -> str:
        """The document that stands for this one: itself where it has no copy."""
        return self.all(doc_id)[0]

    def all(self, doc_id: str) -> tuple[str, ...]:
        """A document and all its copies, the one that stands for them first."""
        return self._members.get(doc_id, (doc_id,))


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
