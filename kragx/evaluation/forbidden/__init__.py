"""What must not be found: which retrieved documents are forbidden, and which are out of date."""

from kragx.evaluation.forbidden.forbidding import Forbidding
from kragx.evaluation.forbidden.marks import Beyond, PartMarks, joined, nothing_forbidden, widened

__all__ = [
    "Beyond",
    "Forbidding",
    "PartMarks",
    "joined",
    "nothing_forbidden",
    "widened",
]
