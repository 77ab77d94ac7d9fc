"""What must not be found: which retrieved documents are forbidden, and which are out of date."""

from kragx.evaluation.forbidden.forbidding import (
    Beyond,
    Forbidding,
    PartMarks,
    ids_met,
    joined,
    widened,
)

__all__ = ["Beyond", "Forbidding", "PartMarks", "ids_met", "joined", "widened"]
