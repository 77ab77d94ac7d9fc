"""What a person's grade is in a gold file, where any grade above 0 is relevant, and back.

On the usual scale of 0 to 3 a 1 is the same subject but no answer: whoever wrote it as a 1 into a
gold file would have every metric count it as found. So 0 and 1 become 0, 2 becomes 1 (relevant)
and 3 becomes 2 (highly relevant), which are the grades of managed gold sets. On any other scale
all but 0 is relevant, and grades stay as they are.
"""

from collections.abc import Collection, Iterable, Sequence
from math import inf

from kragx.ground.errors import UsageError

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
