"""Which member of a combination decided each pair, and what those before it said."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from kragx.matchers import MatchItem
from kragx.matchers.combine import Asked, CombinedMatcher
from kragx.matchers.reasons import Reason, combined_reasons, offline, strength
from kragx.metrics.table import Bools
from kragx.report.html_page.rounding import rounded_score

_LETTERS = {"match": "m", "no match": "n", "open": "o", "unknown": "u"}

Decision = list[Any]
"""``[document, gold item, verdict, [member, score, verdict, decides], ...]``, by member asked.

Members are given by number; a verdict is a letter: match, no match, open (left to the next) or
unknown.
"""


class Decisions:
    """The decisions of one combination, and a number for each of its members.

    Args:
        matcher: the combination; its judges answer from their store.
    """

    def __init__(self, matcher: CombinedMatcher) -> None:
        self._matcher = offline(matcher)
        self._members: dict[tuple[str, float | None, float | None], int] = {}

    @property
    def members(self) -> list[list[Any]]:
        """``[name, accept, reject]`` of each member that was asked, by number."""
        return list(map(list, self._members))

    def of(self, items: Iterable[MatchItem]) -> Iterator[list[Decision]]:
        """For each list the pairs for which any member found something."""
        matcher = self._matcher
        assert isinstance(matcher, CombinedMatcher)  # offline keeps the kind
        # Traces come a batch at a time, so the items are gone through twice, side by side.
        listed = list(items)
        for item, (scores, log) in zip(listed, matcher.traces(listed, Counter()), strict=True):
            because = combined_reasons(matcher, scores, log, item)
            best: dict[tuple[int, int], Reason] = {}
            for row, column in zip(*(each.tolist() for each in np.nonzero(_heard(log)))):
                pair = (row, item.targets[column].gold)
                found = because(row, column)
                if pair not in best or strength(found) > strength(best[pair]):
                    best[pair] = found
            yield [
                [*pair, _LETTERS[found.verdict], *self._steps(found, True)]
                for pair, found in best.items()
            ]

    def _steps(self, reason: Reason, decides: bool) -> Iterator[list[Any]]:
        for part in reason.parts:
            rests = decides and part.decides
            if part.parts:
                yield from self._steps(part, rests)
                continue
            member = (member_label(part.settings), part.accept, part.reject)
            score = part.score
            for limit in (part.accept, part.reject):
                if score is not None and limit is not None:
                    score = rounded_score(score, limit)
            number = self._members.setdefault(member, len(self._members))
            yield [number, score, _LETTERS[part.verdict], int(rests)]


def _heard(log: Sequence[Asked]) -> Bools:
    """The pairs of which a member that was asked says more than 0, or does not know."""
    heard = np.zeros(log[0].open.shape, bool)
    for asked in log:
        heard |= _heard(asked.inner) if asked.inner else asked.open & (asked.scores != 0)
    return heard


def member_label(settings: Mapping[str, Any]) -> str:
    """What the page calls a member: its method, and what ROUGE measures, if it is not F."""
    measure = settings.get("measure", "fmeasure")
    return str(settings["method"]) + ("" if measure == "fmeasure" else f" {measure}")
