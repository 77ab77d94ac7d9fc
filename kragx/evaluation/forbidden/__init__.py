"""What must not be found: which retrieved documents are forbidden, and which are out of date."""

from kragx.evaluation.forbidden.forbidding import Forbidding
from kragx.evaluation.forbidden.marks import PartMarks, joined

__all__ = ["Forbidding", "PartMarks", "joined"]
