"""From a stream of questions to their matches: the one road, in whichever process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

from kragx.data.batch import Batch, batches_of
from kragx.data.weights import unequal
from kragx.evaluation.forbidden import Forbidding, PartMarks, joined
from kragx.evaluation.inputs import NO_TEXTS, Source, StreamStats, Texts
from kragx.evaluation.searching import Searched, Searching
from kragx.matchers import BaseMatcher, MatchItem, Notes, matching
from kragx.metrics import MatchTable, Profile
from kragx.metrics.search_table import SearchTable


def itself(item: MatchItem) -> MatchItem:
    """A question with its documents, for metrics that look at them."""
    return item


@dataclass(frozen=True)
class MatchPlan:
    """How questions are matched; it can be sent to other processes.

    Attributes:
        matcher: scores the pairs.
        profile: says what is done with lists before.
        texts: fills in those of ids.
        keep: what is kept of each question; None for nothing. A function of a module.
        forbidding: tells what must not come; None where nothing is forbidden.
        searching: takes searches apart; None where nobody looks at any.
    """

    matcher: BaseMatcher
    profile: Profile
    texts: Texts = NO_TEXTS
    keep: Callable[[MatchItem], Any] | None = None
    forbidding: Forbidding | None = None
    searching: Searching | None = None


class Matches(NamedTuple):
    """What matching some questions came to.

    Attributes:
        table: the matches; where there are searches of all distinct documents.
        forbidden: the marks of what must not come; None where nothing is forbidden.
        searched: what was searched for; None where nobody looks at any.
    """

    table: MatchTable
    forbidden: PartMarks | None = None
    searched: Searched | None = None

    @classmethod
    def joined(
        cls,
        tables: Sequence[MatchTable],
        marks: Iterable[PartMarks | None],
        searched: Iterable[Searched | None],
    ) -> Self:
        """Those of all questions of some batches or parts, in order; at least one table."""
        all_marks, searches = [*filter(None, marks)], [*filter(None, searched)]
        return cls(
            MatchTable.joined(tables),
            joined(all_marks) if all_marks else None,
            Searched.joined(searches) if searches else None,
        )

    def weighed(self, place: str) -> Self:
        """The same without the questions' weights where all are alike.

        Raises:
            DataError: all are 0; `place` names the questions.
        """
        if self.table.weights is None:
            return self
        weights = unequal(self.table.weights, place)
        return self._replace(table=replace(self.table, weights=weights))

    @property
    def on_basis(self) -> tuple[MatchTable, SearchTable | None]:
        """Of the list that metrics are about which name none, and of what each search brought.

        The latter is None where nobody looks at searches.
        """
        if self.searched is None:
            return self.table, None
        searches = self.searched.matched(self.table)
        return searches.of(), searches


def watched(
    batches: Iterable[Batch], forbidding: Forbidding | None, searching: Searching | None
) -> tuple[Iterable[Batch], Callable[[MatchTable], Matches]]:
    """Batches, as they are matched, and what makes their matches of their table once all passed.

    What must not come is looked for in what any search of a question brought.
    """
    if forbidding is None and searching is None:
        return batches, Matches
    marks: list[PartMarks] = []
    searched: list[Searched] = []
    if searching is not None:
        note = None if forbidding is None else lambda batch: marks.append(forbidding.marks(batch))
        batches = searching.watching(batches, searched, note)
    elif forbidding is not None:
        batches = forbidding.watching(batches, marks)
    return batches, lambda table: Matches.joined([table], marks, searched)


def match_stream(
    batches: Iterable[Batch],
    stats: StreamStats,
    plan: MatchPlan,
    notes: Notes,
) -> Matches:
    """The matches of batches, which pass then: the one function that matches any.

    Args:
        batches: as they are read.
        stats: takes note of them.
        plan: what is done with them.
        notes: the matcher adds its counts here.

    Raises:
        LackingError: ids have no text, and something compares texts.
    """
    stats.kept, stats.searching = None if plan.keep is None else [], plan.searching
    arranged = stats.batches(batches, plan.texts, plan.profile, keep=plan.keep or itself)
    batches, with_what_passed = watched(arranged, plan.forbidding, plan.searching)
    table = matching.match_batches(batches, plan.matcher, notes)
    return with_what_passed(table)


def match_source(source: Source, plan: MatchPlan, notes: Notes) -> Matches:
    """The matches of a whole source, which has passed then.

    Args:
        source: what is evaluated.
        plan: what is done with it.
        notes: the matcher adds its counts here.

    Raises:
        DataError: as whoever reads it; ids without texts are counted.
    """
    plan = replace(plan, texts=source.texts)
    matches = match_stream(batches_of(source.rows), source.stats, plan, notes)
    source.ended()
    matching.conclude(plan.matcher, notes)
    return matches
