"""What a person's grade is in a gold file, where any grade above 0 is relevant, and back.

On the usual scale of 0 to 3 a 1 is the same subject but no answer: whoever wrote it as a 1 into a
gold file would have every metric count it as found. So 0 and 1 become 0, 2 becomes 1 (relevant)
and 3 becomes 2 (highly relevant), which are the grades of managed gold sets. On any other scale
all but 0 is relevant, and grades stay as they are.
"""

USUAL_TOP = 3
"""The highest grade of the usual scale."""


def relevant_from(top: int) -> int:
    """The least grade of a scale from 0 to `top` that is relevant."""
    return 2 if top == USUAL_TOP else 1


def gold_grade(grade: int, top: int) -> float:
    """The grade in a gold file of what people graded so; 0 for what is not relevant."""
    return float(max(0, grade - relevant_from(top) + 1))


def people_grade(grade: float, top: int) -> int | None:
    """The grade of people that a gold file's grade stands for; None where the scale has none."""
    if grade <= 0:
        return 0
    scaled = grade + relevant_from(top) - 1
    return int(scaled) if float(scaled).is_integer() and scaled <= top else None
