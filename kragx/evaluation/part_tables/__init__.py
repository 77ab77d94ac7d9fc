"""Values per question as files: a table for each part of the questions, computed once."""

from kragx.evaluation.part_tables.evaluated import ScoredInParts, evaluate_in_parts

__all__ = ["ScoredInParts", "evaluate_in_parts"]
