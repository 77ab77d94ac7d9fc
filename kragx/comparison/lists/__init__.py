"""Two versions of a retriever without gold: which lists are the same, and what came or went.

`diff_lists` sets two runs side by side, question by question; `ListDiff` says what is in it.
"""

from kragx.comparison.lists.identity import By as By, Identity, composed as composed
from kragx.comparison.lists.list_diff import (
    ListDiff,
    SliceDiff,
    by_text as by_text,
    left_out as left_out,
    remarks as remarks,
)
from kragx.comparison.lists.measures import jaccard, rank_biased_overlap
from kragx.comparison.lists.question_diff import QuestionDiff, RankMove
from kragx.comparison.lists.side_by_side import diff_lists

__all__ = [
    "Identity",
    "ListDiff",
    "QuestionDiff",
    "RankMove",
    "SliceDiff",
    "diff_lists",
    "jaccard",
    "rank_biased_overlap",
]
