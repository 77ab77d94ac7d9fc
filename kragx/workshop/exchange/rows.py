"""What every form shares: the rows that a file holds, and what there is to write."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kragx.data.documents import Doc
from kragx.ground.errors import DataError, KragxError
from kragx.ground.printing import phrase
from kragx.workshop.pairs.standing import standing
from kragx.workshop.state.records import MARKS, Judgement, StoredRecord
from kragx.workshop.state.state import Pair, State

WORDS = ("unusable", "later", "undone", *MARKS)
"""What stands in the place of a grade where there is none."""

_UNRATED = {
    "conflict": phrase("that people grade differently and nobody has decided"),
    "unusable": phrase("that are unusable"),
}
"""Why a pair that was judged has no grade."""

_LISTED = 20  # mistakes

Report = tuple[Mapping[str, int], Sequence[str]]
"""How many of what, in words, stand in a file, and what its form has no place for."""


@dataclass(frozen=True)
class Row:
    """What a file says of one thing; what it does not say stays as it is, or is usual.

    Attributes:
        kind: of the record.
        place: where in the file it stands.
        values: fields of the record, as JSON has them; without ``uid`` it is new.
        question: of a judgement, the question's text, where there is no uid.
        person: of a judgement, the person's name, where there is no uid.
        number: the place among all rows of the workshop it comes from, whatever a spreadsheet has
            sorted them by.
    """

    kind: type[StoredRecord]
    place: str
    values: Mapping[str, Any]
    question: str | None = None
    person: str | None = None
    number: float = float("inf")


@dataclass(frozen=True)
class FileRows:
    """What a file holds.

    Attributes:
        rows: in its order.
        is_history: whether earlier wordings come along with the newest.
        adds_only: whether questions that are there stay as they are.
        remarks: what of it is no row, in words.
    """

    rows: Sequence[Row]
    is_history: bool = False
    adds_only: bool = False
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class ExportSource:
    """What there is to write.

    Attributes:
        state: of its workshop.
        documents: of its corpus, by id.
        grades: of the scale, with their words.
        person: the uid of whose judgements alone are wanted; None for all.
    """

    state: State
    documents: Mapping[str, Doc]
    grades: Mapping[int, str]
    person: str | None = None

    def name(self, uid: str) -> str:
        """The name of a person, else their uid."""
        person = self.state.people.get(uid)
        return person.name if person else uid

    def pairs(self) -> list[Pair]:
        """The pairs of open questions that were judged or suggested, question by question."""
        documents: dict[str, dict[str, None]] = {
            question.uid: dict.fromkeys(self.state.candidates.get(question.uid, ()))
            for question in self.state.open_questions()
        }
        for question, document in (*self.state.judgements, *self.state.decisions):
            if question in documents:
                documents[question][document] = None
        return [(question, document) for question in documents for document in documents[question]]

    def judgements(self, pair: Pair) -> list[Judgement]:
        """What each person says of a pair now, "later" too."""
        people = self.state.judgements.get(pair, {})
        newest = (rows[-1] for rows in people.values() if rows)
        return [judgement for judgement in newest if self.person in (None, judgement.person)]

    def rating(self, pair: Pair) -> tuple[int | None, str]:
        """The one grade of a pair; None with the reason why it has none, empty if nobody judged."""
        if self.person is None:
            now = standing(self.state, pair[0], [pair[1]])
            return now.grade, _UNRATED.get(now.state, "")
        row = self.state.newest(pair, self.person)
        return (None, "") if row is None else (row.grade, _UNRATED.get(row.kind, ""))


@dataclass
class Mistakes:
    """What is wrong with the rows of a file: all of it is said at once.

    Attributes:
        file: its name.
        lines: a line for each mistake.
    """

    file: str
    lines: list[str] = field(default_factory=list)

    def add(self, place: str, error: KragxError) -> None:
        """Note a mistake."""
        path = f"{self.file}:{place}"
        mistake = DataError(error.problem, path=path, field=error.field, remedy=error.remedy)
        self.lines.append(str(mistake))

    def refuse(self) -> None:
        """Raise a `DataError` that lists the first 20, if there is any."""
        if n := len(self.lines):
            overflow = [f"... and {n - _LISTED} more"] if n > _LISTED else []
            head = f"{n} {'mistake' if n == 1 else 'mistakes'}; nothing was imported"
            raise DataError("\n  ".join([head, *self.lines[:_LISTED], *overflow]))


def grade_word(judgement: Judgement) -> str:
    """The word or number of a judgement."""
    return judgement.kind if judgement.grade is None else str(judgement.grade)


def is_same(text: str, stored: str) -> bool:
    """Whether a text is the stored one, as far as a spreadsheet program can save it.

    Some know one kind of line break, and Excel of Korean Windows writes question marks for what
    cp949 lacks, two for an emoji.
    """
    text, stored = (re.sub(r"\r\n?", "\n", lines) for lines in (text, stored))
    return text == stored or ("?" in text and text == "".join(map(_in_cp949, stored)))


def _in_cp949(letter: str) -> str:
    try:
        letter.encode("cp949")
    except UnicodeEncodeError:
        return "??" if ord(letter) > 0xFFFF else "?"
    return letter


def text_of(documents: Mapping[str, Doc], doc_id: str) -> str | None:
    """The text of a document; None if there is none of this id."""
    doc = documents.get(doc_id)
    return None if doc is None else doc.text or ""
