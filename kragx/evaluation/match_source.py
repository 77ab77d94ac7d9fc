"""From a stream of questions to their matches: the one road, in whichever process.

And what a matcher is told of all texts before the first of them is matched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np

from kragx.data import NO_CORPUS, Corpus, Query, Retrieved, Run
from kragx.data.batch import Batch, batches_of
from kragx.data.lists import distinct
from kragx.evaluation.forbidden import Forbidding, PartMarks, joined
from kragx.evaluation.inputs import OF_FORBIDDEN, PROBES, UNANSWERABLE, Source, StreamStats, Texts
from kragx.evaluation.searching import Searched, Searching, search_counts
from kragx.ground.errors import DataError
from kragx.matchers import BaseMatcher, Diagnostics, MatchItem, matching
from kragx.matchers.vocabulary import LOOKED_AT, Gathering, Vocabulary, texts_of
from kragx.metrics import ForbiddenMarks, MatchTable, Profile
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
    texts: Texts
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

    @property
    def on_basis(self) -> tuple[MatchTable, SearchTable | None]:
        """Of the list that metrics are about which name none, and of what each search brought.

        The latter is None where nobody looks at searches.
        """
        if self.searched is None:
            return self.table, None
        searches = self.searched.matched(self.table)
        return searches.of(), searches


def match_stream(
    batches: Iterable[Batch],
    stats: StreamStats,
    plan: MatchPlan,
    match: Callable[[Iterable[Batch], BaseMatcher, Diagnostics], MatchTable] | None = None,
) -> Matches:
    """The matches of batches, which pass then: the one function that matches any.

    What must not come is looked for in what any search of a question brought.

    Args:
        batches: as they are read.
        stats: takes note of them, and of what the matcher notes.
        plan: what is done with them.
        match: makes the table of the batches as they are matched; None for `match_batches`.

    Raises:
        LackingError: ids have no text, and something compares texts.
    """
    forbidding, searching = plan.forbidding, plan.searching
    stats.searching = searching
    batches = stats.batches(batches, plan.texts, plan.profile, plan.keep)
    marks, searched = list[PartMarks](), list[Searched]()
    if searching is not None:
        note = None if forbidding is None else lambda batch: marks.append(forbidding.marks(batch))
        batches = searching.watching(batches, searched, note)
    elif forbidding is not None:
        batches = forbidding.watching(batches, marks)
    table = (match or matching.match_batches)(batches, plan.matcher, stats.diagnostics)
    return Matches.joined([table], marks, searched)


def judged_share(table: MatchTable) -> float | None:
    """The share of retrieved documents whose relevance is known; None without any.

    Nothing need be known of those that were retrieved where nothing answers.
    """
    judged = table.docs_in(table.matched)[~np.repeat(table.unanswerable, table.n_docs)]
    return float(judged.mean()) if judged.size else None


def table_counts(
    table: MatchTable,
    forbidden: ForbiddenMarks | None = None,
    searches: SearchTable | None = None,
) -> dict[str, int]:
    """The counts of a match table; those of tables that follow one another add up.

    Where there are searches, theirs too, of all of which marks of what is forbidden are.

    Where something is forbidden, the questions are counted that could meet it, that are open
    whatever came, that were answered with nothing, and that have no gold: probes.

    Where nothing answers any of the questions, these are counted: those answered with an empty
    list, those not answered at all, and the documents: of what was handed on, or where nobody knows
    that of any search.
    """
    rows, answered = table.unanswerable, table.answered
    n_came = table.n_docs if searches is None else searches.n_came
    looked_at = table.docs_in(table.matched)[~np.repeat(rows, table.n_docs)]
    counts: dict[str, Any] = {
        "n_queries": table.n_queries,
        "n_with_gold": len(distinct(table.gold_query[table.grade > 0])),
        "n_with_any_gold": len(distinct(table.gold_query)),
        "n_empty": (answered & (n_came == 0)).sum(),
        "n_duplicates": table.repeated.sum(),
        "n_judged": looked_at.sum(),
        "n_to_judge": looked_at.size,
    }
    if rows.any():
        counts |= {
            f"{UNANSWERABLE}n_queries": rows.sum(),
            f"{UNANSWERABLE}n_empty": (rows & answered & (n_came == 0)).sum(),
            f"{UNANSWERABLE}n_unanswered": (rows & ~answered).sum(),
            f"{UNANSWERABLE}n_documents": n_came[rows].sum(),
        }
    if searches is not None:
        counts |= search_counts(searches)
    if forbidden is not None:
        of_marks = table if searches is None else searches.of("all")
        could = forbidden.could[:, :-1].any(axis=1)
        counts |= {
            PROBES: forbidden.probes(of_marks).sum(),
            f"{OF_FORBIDDEN}n_could": could.sum(),
            f"{OF_FORBIDDEN}n_open": forbidden.open[:, :-1].any(axis=1).sum(),
            f"{OF_FORBIDDEN}n_empty": (could & of_marks.answered & (of_marks.n_docs == 0)).sum(),
        }
    # Numbers of Python's own: numpy's are refused by JSON, to which all counts go.
    return dict(zip(counts, map(int, counts.values())))


def vocabulary_of(source: Source, *, keep: bool = False) -> Vocabulary:
    """The words of all gold of a source, and of the documents of its first questions.

    Where the source has mistakes it is that of what stands before one: whoever reads it afterwards
    raises the first.

    Args:
        source: will pass afterwards.
        keep: as of `Source.ahead`.
    """
    gathering = Gathering()
    # Texts that are lacking are counted where the source passes, not at the first look.
    texts = replace(source.texts, needed_by=None)
    with suppress(DataError):
        for batch in texts.filled(source.ahead(LOOKED_AT, keep=keep)):
            gathering.add_batch(batch)
    return gathering.vocabulary


def vocabulary_of_runs(
    dataset: Iterable[Query], runs: Iterable[Run], corpus: Corpus = NO_CORPUS
) -> Vocabulary:
    """The same of several runs over one gold set: a pair scores alike in all of them."""
    gathering, queries = Gathering(), [*dataset]
    for batch in corpus.filled(batches_of((None, query, None) for query in queries)):
        gathering.add_batch(batch)
    for run in runs:
        answers = ((None, query, run.results.get(query.id)) for query in queries[:LOOKED_AT])
        for batch in corpus.filled(batches_of(answers)):
            gathering.add_docs(texts_of(batch.docs))
    return gathering.vocabulary


def vocabulary_of_items(items: Iterable[MatchItem]) -> Vocabulary:
    """The same of questions with their documents."""
    gathering = Gathering()
    for batch in batches_of((None, item.query, Retrieved(item.docs)) for item in items):
        gathering.add_batch(batch)
    return gathering.vocabulary
