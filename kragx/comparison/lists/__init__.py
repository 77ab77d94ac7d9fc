"""Two versions of a retriever without gold: which lists are the same, and what came or went.

`diff_lists` sets two runs side by side, question by question; `ListDiff` says what is in it.
"""

from kragx.comparison.lists.list_diff import ListDiff, diff_lists
from kragx.comparison.lists.question_diff import (
    By as By,
    Identity,
    QuestionDiff,
    RankMove,
    jaccard,
    rank_biased_overlap,
)

__all__ = [
    "Identity",
    "ListDiff",
    "QuestionDiff",
    "RankMove",
    "diff_lists",
    "jaccard",
    "rank_biased_overlap",
]
