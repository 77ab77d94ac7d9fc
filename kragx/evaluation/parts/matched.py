"""From a part to its matches, and from those of all parts to the table of an evaluation."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

from kragx.data import NO_CORPUS, LackingError, stands_twice
from kragx.data.problems import Problem
from kragx.errors import DataError, KragxError
from kragx.evaluation.evidence import read_spans
from kragx.evaluation.inputs import NO_TEXTS, Passed, Source, Texts
from kragx.evaluation.parts.engine import Engine
from kragx.evaluation.parts.part import Part, Rows, parts_of
from kragx.evaluation.spans import Reader
from kragx.matchers import BaseMatcher, MatchItem, Notes, OnMatch, Trace, matching
from kragx.matchers.gold_siblings import GoldSample
from kragx.metrics import MatchTable, Profile
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
        leave_out_missing: whether queries without an answer are counted only.
        spans: how texts are read for spans; the questions are kept as they are then (`itself`).
        hashes: whether each query's gold is hashed, as the whole gold set is not at hand.
        golds: whether gold is kept that is compared with gold, for the same reason.
        keep: what is kept of each question; None for nothing. A function of a module.
        keeps_traces: whether what the matcher was asked and said is kept.
    """

    matcher: BaseMatcher
    profile: Profile
    texts: Texts = NO_TEXTS
    leave_out_missing: bool = False
    spans: tuple[SpanOptions, ...] = ()
    hashes: bool = False
    golds: bool = False
    keep: Callable[[MatchItem], Any] | None = None
    keeps_traces: bool = False


@dataclass
class PassedPart:
    """What came of reading a part.

    Attributes:
        file: that it is of, where a source has several.
        passed: what is known of its questions; after an error of those before it.
        error: what is wrong with it.
    """

    file: str
    passed: Passed = field(default_factory=Passed)
    error: KragxError | None = None


@dataclass
class MatchedPart(PassedPart):
    """What is known of a part.

    Attributes:
        notes: what the matcher noted.
        table: its matches; None after an error.
        traces: what the matcher was asked, and said, of each question.
        spans: where the gold stands in what was retrieved, and who has read it; fewer than planned
            where it cannot be read.
    """

    notes: Notes = field(default_factory=Notes)
    table: MatchTable | None = None
    traces: list[tuple[MatchItem, Trace]] = field(default_factory=list)
    spans: dict[SpanOptions, tuple[Spread, Reader]] = field(default_factory=dict)


def match_part(part: Part, plan: Plan, on_match: OnMatch | None = None) -> MatchedPart:
    """Match a part: the one function that does, in whichever process.

    Args:
        part: some questions.
        plan: what is done with them.
        on_match: is told what the matcher was asked, and said; else what the plan says is kept.
    """
    passed = Passed(
        hashes=[] if plan.hashes else None,
        kept=None if plan.keep is None else [],
        golds=GoldSample() if plan.golds else None,
    )
    result = MatchedPart(part.file, passed)
    if plan.keeps_traces and on_match is None:
        on_match = lambda item, trace: result.traces.append((item, trace))  # noqa: E731
    batches = passed.batches(
        plan.texts.filled(passed.noted(part.batches(passed.mender))),
        plan.profile,
        leave_out_missing=plan.leave_out_missing,
        keep=plan.keep or itself,
    )
    try:
        result.table = matching.match_batches(batches, plan.matcher, result.notes, on_match)
    except LackingError as error:
        error.lacking.corpus = NO_CORPUS  # which whoever counts them all has
        result.error = error
    except KragxError as error:
        result.error = error
    else:
        with suppress(DataError):  # whoever computes the metric reads them again, and says it
            for span in plan.spans:
                result.spans[span] = read_spans(passed.kept or (), result.table, span)
    return result


@dataclass(frozen=True)
class Matched:
    """What is known of a whole source.

    Attributes:
        table: its matches.
        spans: where the gold stands in what was retrieved, and who has read it, if others did.
    """

    table: MatchTable
    spans: Mapping[SpanOptions, tuple[Spread, Reader]] = field(default_factory=dict)


def match_all(
    source: Source,
    plan: Plan,
    notes: Notes,
    engine: Engine | None = None,
    on_match: OnMatch | None = None,
) -> Matched:
    """The matches of a whole source, which has passed then.

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
        hashes=passed.hashes is not None,
        golds=passed.golds is not None,
        keeps_traces=on_match is not None,
    )
    if plan.keep is not None:
        passed.kept = []
    cut: Iterable[Part] = [Rows(source.rows)] if engine is None else parts_of(source.rows)
    if engine is None:
        plan = replace(plan, spans=())
        parts = (match_part(part, plan, on_match) for part in cut)
    else:
        parts = engine.map(partial(match_part, plan=plan), cut)
    tables: list[MatchTable] = []
    spans: dict[SpanOptions, list[tuple[Spread, Reader]]] = defaultdict(list)
    is_shown = None if engine is not None else False
    for result in passing(source, parts, phrase("matched parts"), is_shown):
        notes.merge(result.notes)
        for item, trace in result.traces:
            if on_match is not None:
                on_match(item, trace)
        if result.table is not None:
            tables.append(result.table)
        for options, pair in result.spans.items():
            spans[options].append(pair)
    matching.conclude(plan.matcher, notes)
    return Matched(
        MatchTable.joined(tables),
        {options: _joined(span) for options, span in spans.items() if len(span) == len(tables)},
    )


def _joined(spans: Sequence[tuple[Spread, Reader]]) -> tuple[Spread, Reader]:
    spreads, (reader, *rest) = zip(*spans)
    for later in rest:
        reader.add(later)
    return Spread.joined(spreads), reader


_Part = TypeVar("_Part", bound=PassedPart)


def passing(
    source: Source, parts: Generator[_Part, None, None], title: str, is_shown: bool | None
) -> Iterator[_Part]:
    """What comes of the parts of a source, in order, which passes then.

    Args:
        source: what is evaluated.
        parts: what came of each, as it is done.
        title: of the progress bar.
        is_shown: whether there is one; None for only on a terminal.

    Raises:
        DataError: what reading all of it in one go would find first.
    """
    # Closed at once, also after a mistake, as others may be at work.
    with closing(parts), progress_bar(title, None, is_shown) as advance:
        for result in _checked(parts, source):
            advance()
            source.passed.add(result.passed)
            yield result


def _checked(parts: Iterable[_Part], source: Source) -> Iterator[_Part]:
    """The parts as long as nothing is wrong."""
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
        yield result
    source.ended()
    if lacking is not None:
        raise lacking.lacking.error(lacking.needed_by)
