"""Which member of a combination decided each pair, and what those before it said."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from kragx.matchers import BaseMatcher, MatchItem, Notes, Trace
from kragx.matchers.reasons import Reason, explained, strength
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

    def __init__(self, matcher: BaseMatcher) -> None:
        self._matcher = matcher.offline()
        self._members: dict[tuple[str, float | None, float | None], int] = {}

    @property
    def members(self) -> list[list[Any]]:
        """``[name, accept, reject]`` of each member that was asked, by number."""
        return list(map(list, self._members))

    def of(self, items: Iterable[MatchItem]) -> Iterator[list[Decision]]:
        """For each list the pairs for which any member found something."""
        # Traces come a batch at a time, so the items are gone through twice, side by side.
        listed = list(items)
        traces = self._matcher.traces(((item, None) for item in listed), Notes())
        for item, trace in zip(listed, traces, strict=True):
            because = explained(trace, item)
            best: dict[tuple[int, int], Reason] = {}
            for row, column in zip(*(each.tolist() for each in np.nonzero(_heard(trace)))):
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


def _heard(trace: Trace) -> Bools:
    """The pairs of which a member that was asked says more than 0, or does not know."""
    heard: Bools = trace.open & (trace.scores != 0)
    if trace.members:
        heard = np.logical_or.reduce(list(map(_heard, trace.members)))
    return heard


def member_label(settings: Mapping[str, Any]) -> str:
    """What the page calls a member: its method, and what ROUGE measures, if it is not F."""
    measure = settings.get("measure", "fmeasure")
    return str(settings["method"]) + ("" if measure == "fmeasure" else f" {measure}")
