"""What must not be found: which retrieved documents are forbidden, and which are out of date."""

from kragx.evaluation.forbidden.forbidding import Forbidding, ids_met
from kragx.evaluation.forbidden.marks import Beyond, PartMarks, joined, widened

__all__ = ["Beyond", "Forbidding", "PartMarks", "ids_met", "joined", "widened"]
