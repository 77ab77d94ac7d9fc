"""Which member of a combination decided each pair, and what those before it said."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kragx.matchers import BaseMatcher, MatchItem
from kragx.matchers.reasons import Reason, decisions
from kragx.report.html_page.packing import rounded_score

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
        self._matcher = matcher
        self._members: dict[tuple[str, float | None, float | None], int] = {}

    @property
    def members(self) -> list[list[Any]]:
        """``[name, accept, reject]`` of each member that was asked, by number."""
        return list(map(list, self._members))

    def of(self, run: str, items: Iterable[MatchItem]) -> Iterator[list[Decision]]:
        """For each list of a run the pairs for which any member found something."""
        for reasons in decisions(self._matcher.for_run(run), items):
            yield [
                [*pair, _LETTERS[reason.verdict], *self._steps(reason, decides=True)]
                for pair, reason in reasons.items()
            ]

    def _steps(self, reason: Reason, *, decides: bool) -> Iterator[list[Any]]:
        for part in reason.parts:
            rests_on_it = decides and part.decides
            # Of nested combinations the page shows the members that gave a score.
            if part.parts:
                yield from self._steps(part, decides=rests_on_it)
                continue
            score = part.score
            for limit in (part.accept, part.reject):
                if score is not None and limit is not None:
                    score = rounded_score(score, limit)
            member = (member_label(part.settings), part.accept, part.reject)
            # Members recur in every pair: a number is shorter than their names.
            number = self._members.setdefault(member, len(self._members))
            yield [number, score, _LETTERS[part.verdict], int(rests_on_it)]


def member_label(settings: Mapping[str, Any]) -> str:
    """What the page calls a member: its method, and what ROUGE measures, if it is not F."""
    measure = settings.get("measure", "fmeasure")
    return str(settings["method"]) + ("" if measure == "fmeasure" else f" {measure}")
