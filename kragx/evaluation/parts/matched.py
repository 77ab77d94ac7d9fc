"""From a part to its matches, and from those of all parts to the table of an evaluation."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple, TypeVar

from kragx.data import NO_CORPUS, LackingError, stands_twice
from kragx.data.batch import Batch
from kragx.data.problems import Problem
from kragx.data.weights import unequal
from kragx.errors import DataError, KragxError
from kragx.evaluation.evidence import read_spans
from kragx.evaluation.forbidden import Forbidding, PartMarks, joined
from kragx.evaluation.inputs import NO_TEXTS, Passed, Source, Texts
from kragx.evaluation.parts.engine import Engine
from kragx.evaluation.parts.part import Part, Rows, parts_of
from kragx.evaluation.searching import Searched, Searching
from kragx.evaluation.spans import Reader
from kragx.matchers import BaseMatcher, MatchItem, Notes, OnMatch, Trace, matching
from kragx.matchers.gold_siblings import GoldSample
from kragx.metrics import MatchTable, Profile
from kragx.metrics.search_table import SearchTable
from kragx.metrics.spans.cover import Spread
from kragx.metrics.spans.reading import SpanOptions
from kragx.printing import phrase, progress_bar


def itself(item: MatchItem) -> MatchItem:
    """A question with its documents, for metrics that look at them."""
    return item


@dataclass(frozen=True)
class Plan:
    """What is done with every part; it can be sent to other processes.

    Attributes:
        matcher: scores the pairs.
        profile: says what is done with lists before.
        texts: fills in those of ids.
        spans: how texts are read for spans; the questions are kept as they are then (`itself`).
        hashes: whether each query's gold is hashed, as the whole gold set is not at hand.
        golds: whether gold is kept that is compared with gold, for the same reason.
        keep: what is kept of each question; None for nothing. A function of a module.
        keeps_traces: whether what the matcher was asked and said is kept.
        forbidding: tells what must not come; None where nothing is forbidden.
        searching: takes searches apart; None where nobody looks at any.
    """

    matcher: BaseMatcher
    profile: Profile
    texts: Texts = NO_TEXTS
    spans: tuple[SpanOptions, ...] = ()
    hashes: bool = False
    golds: bool = False
    keep: Callable[[MatchItem], Any] | None = None
    keeps_traces: bool = False
    forbidding: Forbidding | None = None
    searching: Searching | None = None

    def passed(self) -> Passed:
        """What is going to be known of questions, before the first of them."""
        return Passed(
            hashes=[] if self.hashes else None,
            kept=None if self.keep is None else [],
            golds=GoldSample() if self.golds else None,
            searching=self.searching,
        )


@dataclass(kw_only=True)
class PartResult:
    """What came of a part.

    Attributes:
        file: that it is of, where a source has several.
        passed: what is known of its questions; after an error of those before it.
        notes: what the matcher noted.
        error: what is wrong with it.
    """

    file: str = ""
    passed: Passed = field(default_factory=Passed)
    notes: Notes = field(default_factory=Notes)
    error: KragxError | None = None


Spans = Mapping[SpanOptions, tuple[Spread, Reader]]
"""Where the gold stands in what was retrieved, and who has read it."""


class Matches(NamedTuple):
    """What matching a whole source came to.

    Attributes:
        table: the matches; where there are searches of all distinct documents.
        spans: if others than this process have read them.
        forbidden: the marks of what must not come; None where nothing is forbidden.
        searched: what was searched for; None where nobody looks at any.
    """

    table: MatchTable
    spans: Spans
    forbidden: PartMarks | None
    searched: Searched | None

    def weighed(self, place: str) -> Matches:
        """The same without the questions' weights where all are alike.

        Raises:
            DataError: all are 0; `place` names the questions.
        """
        weights = unequal(self.table.weights, place)
        return self._replace(table=replace(self.table, weights=weights))

    @property
    def searches(self) -> SearchTable | None:
        """What each search brought; None where nobody looks at any."""
        return None if self.searched is None else self.searched.matched(self.table)

    @property
    def on_basis(self) -> MatchTable:
        """The table of the list that metrics are about which name none."""
        return self.table if self.searches is None else self.searches.of()


@dataclass(kw_only=True)
class MatchedPart(PartResult):
    """What matching a part came to.

    Attributes:
        table: its matches; None after an error.
        traces: of each question what the matcher was asked, and said.
        spans: none where they cannot be read.
        forbidden: the marks of what must not come; None where nothing is forbidden.
        searched: what was searched for, over the documents of the table; None where nobody looks.
    """

    table: MatchTable | None = None
    traces: list[tuple[MatchItem, Trace]] = field(default_factory=list)
    spans: Spans = field(default_factory=dict)
    forbidden: PartMarks | None = None
    searched: Searched | None = None

    @property
    def matches(self) -> Matches:
        """The same as of a whole source; there was no error."""
        assert self.table is not None
        return Matches(self.table, self.spans, self.forbidden, self.searched)


def match_part(part: Part, plan: Plan, on_match: OnMatch | None = None) -> MatchedPart:
    """Match a part: the one function that does, in whichever process.

    Args:
        part: some questions.
        plan: what is done with them.
        on_match: is told what the matcher was asked, and said; else what the plan says is kept.
    """
    result = MatchedPart(file=part.file, passed=plan.passed())
    passed = result.passed
    if plan.keeps_traces and on_match is None:
        on_match = lambda item, trace: result.traces.append((item, trace))  # noqa: E731
    batches = passed.batches(
        part.batches(passed.mender),
        plan.texts,
        plan.profile,
        keep=plan.keep or itself,
    )
    marks: list[PartMarks] = []
    searched: list[Searched] = []
    batches = watching(batches, plan.forbidding, marks, plan.searching, searched)
    try:
        result.table = matching.match_batches(batches, plan.matcher, result.notes, on_match)
        result.forbidden = joined(marks) if marks else None
        result.searched = Searched.joined(searched) if searched else None
    except LackingError as error:
        error.lacking.corpus = NO_CORPUS  # which whoever counts them all has
        result.error = error
    except KragxError as error:
        result.error = error
    else:
        with suppress(DataError):  # whoever computes the metric reads them again, and says it
            on_basis = result.matches.on_basis
            result.spans = {
                span: read_spans(passed.kept or (), on_basis, span) for span in plan.spans
            }
    return result


def watching(
    batches: Iterable[Batch],
    forbidding: Forbidding | None,
    marks: list[PartMarks],
    searching: Searching | None,
    searched: list[Searched],
) -> Iterator[Batch]:
    """Batches as they are matched, whose marks and searches are added to some.

    What must not come is looked for in what any search of a question brought.
    """
    if searching is None:
        return iter(batches) if forbidding is None else forbidding.watching(batches, marks)
    hears_all = None
    if forbidding is not None:
        hears_all = lambda batch: marks.append(forbidding.marks(batch))  # noqa: E731
    return searching.watching(batches, searched, hears_all)


def match_all(
    source: Source,
    plan: Plan,
    notes: Notes,
    engine: Engine | None = None,
    on_match: OnMatch | None = None,
) -> Matches:
    """The matches of a whole source, which has passed then, and its spans if others read them.

    Args:
        source: what is evaluated.
        plan: what is done with it.
        notes: the matcher adds its counts here.
        engine: does the work in parts; None for all of it at once, here.
        on_match: is told of each query what the matcher, and of a combination each member, said.

    Raises:
        DataError: the first that would be found reading all of it; ids without texts are counted.
        WorkerError: a process died.
    """
    passed = source.passed
    plan = replace(
        plan,
        texts=source.texts,
        spans=() if engine is None else plan.spans,
        hashes=passed.hashes is not None,
        golds=passed.golds is not None,
        keeps_traces=on_match is not None,
    )
    passed.kept = plan.passed().kept
    if engine is None:
        whole = Rows("everything", source.rows)
        results = passing(source, [match_part(whole, plan, on_match)])
    else:
        parts = engine.map(partial(match_part, plan=plan), parts_of(source.rows))
        results = shown_passing(source, parts, phrase("matched parts"))
    tables, spans, marks = list[MatchTable](), list[Spans](), list[PartMarks]()
    searched = list[Searched]()
    for result in results:
        notes.merge(result.notes)
        for item, trace in result.traces:
            if on_match is not None:
                on_match(item, trace)
        if result.table is not None:
            tables.append(result.table)
            spans.append(result.spans)
            marks += [] if result.forbidden is None else [result.forbidden]
            searched += [] if result.searched is None else [result.searched]
    matching.conclude(plan.matcher, notes)
    read = [options for options in plan.spans if all(options in part for part in spans)]
    joined_spans = {options: _joined([part[options] for part in spans]) for options in read}
    return Matches(
        MatchTable.joined(tables),
        joined_spans,
        joined(marks) if marks else None,
        Searched.joined(searched) if searched else None,
    )


def _joined(spans: Sequence[tuple[Spread, Reader]]) -> tuple[Spread, Reader]:
    spreads, (reader, *rest) = zip(*spans)
    for later in rest:
        reader.add(later)
    return Spread.joined(spreads), reader


_Part = TypeVar("_Part", bound=PartResult)


def shown_passing(
    source: Source,
    parts: Generator[_Part, None, None],
    title: str,
    is_shown: bool | None = None,
) -> Iterator[_Part]:
    """The same as `passing` with a progress bar, for parts that take their time.

    Args:
        source: what is evaluated.
        parts: what came of each, as it is done.
        title: of the progress bar.
        is_shown: whether there is one; None for only on a terminal.
    """
    # Closed at once, also after a mistake, as others may be at work.
    with closing(parts), progress_bar(title, None, is_shown) as advance:
        for result in passing(source, parts):
            advance()
            yield result


def passing(source: Source, parts: Iterable[_Part]) -> Iterator[_Part]:
    """What comes of the parts of a source, in order, which passes then.

    Raises:
        DataError: what reading all of it in one go would find first.
    """
    lacking: LackingError | None = None
    first: dict[str, tuple[str, int | None]] = {}
    for result in parts:
        file = result.file or ("" if source.reading is None else source.reading.problems.file)
        for query_id, line in result.passed.lines.items():
            place = file, line
            if query_id in first:
                message = stands_twice(query_id, place, first[query_id])
                raise Problem(*place, "query_id", message).error()
            first[query_id] = place
        error = result.error
        if isinstance(error, LackingError):  # all of them are counted
            if lacking is None:
                error.lacking.corpus = source.texts.corpus
                lacking = error
            else:
                lacking.lacking.add(error.lacking)
        elif error is not None:
            raise error
        source.passed.add(result.passed)
        yield result
    source.ended()
    if lacking is not None:
        raise lacking.lacking.error(lacking.needed_by)
