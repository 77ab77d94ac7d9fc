"""From a stream of queries and a matcher to the match table."""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby

import numpy as np
from numpy.typing import ArrayLike

from kragx.data import NO_CORPUS, Lacking
from kragx.data.block import Block
from kragx.errors import DataError, UsageError
from kragx.matchers.base import (
    BaseMatcher,
    Heard,
    Matcher,
    MatchItem,
    TextlessError,
    Trace,
    adapted,
)
from kragx.matchers.batches import Batch, BatchMatcher
from kragx.matchers.notes import Notes
from kragx.matchers.repeats import known_repeats
from kragx.matchers.shares import lengths
from kragx.metrics import Bools, Floats, Ints, MatchTable, Votes
from kragx.metrics.threshold import matches

_AT_ONCE = 512  # queries whose scores become pairs at once


def match(
    items: Iterable[MatchItem], matcher: Matcher, notes: Notes, heard: Heard | None = None
) -> MatchTable:
    """Match a stream of queries that is all there is: `match_part`, then `conclude`."""
    table = match_part(items, matcher, notes, heard)
    conclude(matcher, notes)
    return table


def conclude(matcher: Matcher, notes: Notes) -> None:
    """Say what all questions together show, after the last of them.

    Raises:
        JudgingError: more judgements are missing than the matcher's judge allows.
    """
    notes.warn()
    adapted(matcher).check(notes)


def match_part(
    items: Iterable[MatchItem | Block],
    matcher: Matcher,
    notes: Notes,
    heard: Heard | None = None,
) -> MatchTable:
    """Match a stream of queries that others may follow; no text is kept.

    Args:
        items: the queries with their documents, in the order of the table's rows. For a
            `BatchMatcher` there may be blocks of them, of which nobody hears.
        matcher: scores them.
        notes: the matcher adds its counts and findings here.
        heard: is told of each query what the matcher, and of a combination each member, said.

    Raises:
        DataError: what the matcher gave does not fit the items, or it compares texts and ids have
            none; these are counted.
    """
    matcher = adapted(matcher)
    if not 0 < matcher.threshold < np.inf:
        raise UsageError(
            f"{matcher.class_name}.threshold: {matcher.threshold!r} must be a number above 0"
        )
    pairs = _Pairs(matcher)
    stream = iter(items)
    # Somebody's subclass may make other scores of each question's.
    takes_blocks = type(matcher).scores is BatchMatcher.scores
    for is_block, own in groupby(stream, lambda item: takes_blocks and isinstance(item, Block)):
        if not is_block:
            _match_items(_one_by_one(own), stream, pairs, notes, heard)
            continue
        for block in own:
            pairs.add_block(block, notes)  # type: ignore[arg-type]
    return pairs.table()


def _one_by_one(items: Iterable[MatchItem | Block]) -> Iterator[MatchItem]:
    """Queries, also those of blocks, one by one."""
    for own in items:
        if isinstance(own, MatchItem):
            yield own
            continue
        for _, query, answer in own.rows():
            if answer is None:
                yield MatchItem(query, (), "missing")
            else:
                yield MatchItem(query, answer.documents, "answered", answer.seconds)


def _match_items(
    items: Iterator[MatchItem],
    rest: Iterator[MatchItem | Block],
    pairs: _Pairs,
    notes: Notes,
    heard: Heard | None,
) -> None:
    """Match some queries one by one; `rest` are those behind them."""
    matcher = pairs.matcher
    waiting: deque[MatchItem] = deque()  # handed to the matcher, not yet answered

    def handed_out() -> Iterator[MatchItem]:
        for item in items:
            waiting.append(item)
            yield item

    stream = handed_out()
    if matcher.votes or (heard is not None and matcher.members):
        answers: Iterable[Answer] = (
            (trace, trace.scores)
            for trace in matcher.traces(((item, None) for item in stream), notes)
        )
    else:
        answers = ((None, matrix) for matrix in matcher.scores(stream, notes))
    n_before = pairs.n_queries
    unanswered = (item for item in chain(waiting, stream, rest) if isinstance(item, MatchItem))
    for trace, matrix in _counting(answers, unanswered, matcher):
        if not waiting:
            raise DataError(f"{matcher.class_name}.scores gave more answers than queries")
        item = waiting.popleft()
        scores = pairs.add(item, matrix, trace)
        if heard is not None:
            heard(item, trace or Trace(matcher, scores, np.ones(item.shape, bool)))
    for _ in stream:  # what a matcher that stopped early has not even asked for
        pass
    if waiting:
        n_queries = len(waiting) + pairs.n_queries - n_before
        raise DataError(
            f"{matcher.class_name}.scores left {len(waiting)} of {n_queries} queries unanswered; "
            "it must yield one array for each"
        )


class _Pairs:
    """The match table while queries are answered: a few hundred at once become its pairs."""

    def __init__(self, matcher: BaseMatcher) -> None:
        self.matcher = matcher
        self._repeats = known_repeats()
        self._items: list[MatchItem] = []  # answered, and not yet in the table
        self._scores: list[Floats] = []
        self._low: list[Floats] = []
        self._high: list[Floats] = []
        # Millions of documents and pairs: buffers that grow in place, and that numpy reads
        # without a copy.
        self._n_docs, self._n_gold, self._grade = array("q"), array("q"), array("d")
        self._repeated, self._answered, self._unanswerable = bytearray(), bytearray(), bytearray()
        self._doc, self._gold, self._score = array("i"), array("i"), array("d")
        self._least, self._greatest = array("d"), array("d")

    @property
    def n_queries(self) -> int:
        """How many queries were answered."""
        return len(self._n_docs) + len(self._items)

    def add(self, item: MatchItem, matrix: ArrayLike, trace: Trace | None) -> Floats:
        """Take the answer for the next query, and give it as an array."""
        scores = _shaped(matrix, item, self.matcher)
        self._items.append(item)
        self._scores.append(scores)
        if self.matcher.votes:
            low, high = (scores, scores) if trace is None or trace.reach is None else trace.reach
            self._low.append(low)
            self._high.append(high)
        if len(self._items) == _AT_ONCE:
            self._take()
        return scores

    def add_block(self, block: Block, notes: Notes) -> None:
        """Have the matcher answer for the next queries, all at once."""
        assert isinstance(self.matcher, BatchMatcher)
        self._take()  # what was answered before
        docs, golds = block.docs.texts, block.golds.texts
        of_golds = np.arange(len(golds.numbers))  # none has alternatives
        batch = Batch(block.query_ids, docs, golds, of_golds)
        scores = self.matcher.batch_scores(batch, notes)
        self._add_pairs(docs.n_texts, golds.n_texts, scores, None)
        self._grade.frombytes(block.grades.tobytes())
        self._repeated += self._repeats.of(docs, block.docs.ids).tobytes()
        self._answered.extend(block.answered)
        self._unanswerable += block.unanswerable.tobytes()
        self._check_size()

    def _take(self) -> None:
        """Lay what was answered down in the buffers."""
        items = self._items
        n_docs, n_gold = (
            lengths(own)
            for own in ([item.docs for item in items], [item.query.gold for item in items])
        )
        _check(self._scores, items, self.matcher)
        scores, low, high = map(self._by_gold, (self._scores, self._low, self._high))
        self._add_pairs(n_docs, n_gold, scores, (low, high) if self.matcher.votes else None)
        for item in items:
            self._grade.extend([gold.grade for gold in item.query.gold])
        self._repeated.extend(self._repeats.of_documents([item.docs for item in items]))
        self._answered.extend([item.status == "answered" for item in items])
        self._unanswerable.extend([item.query.answerable is False for item in items])
        self._check_size()
        for answered in (self._items, self._scores, self._low, self._high):
            answered.clear()

    def _check_size(self) -> None:
        if max(len(self._repeated), len(self._grade)) >= 2**31:
            raise DataError("more than 2,147,483,647 documents or gold items in one evaluation")

    def _add_pairs(
        self, n_docs: Ints, n_gold: Ints, scores: Floats, votes: tuple[Floats, Floats] | None
    ) -> None:
        """Add the pairs of the next questions, of which the buffers have no documents or gold yet.

        Args:
            n_docs: how many documents each question has.
            n_gold: how many gold items.
            scores: n x m of each question, one behind the other.
            votes: the same of the least and the greatest vote, where several judges have decided.
        """
        low, high = votes or (scores, scores)
        place = ((scores != 0) | (high != 0)).nonzero()[0]
        ends = np.cumsum(n_docs * n_gold)
        query = np.searchsorted(ends, place, side="right")
        row, column = np.divmod(place - (ends - n_docs * n_gold)[query], n_gold[query])
        doc_start, gold_start = (np.cumsum(lengths) - lengths for lengths in (n_docs, n_gold))
        row += doc_start[query] + len(self._repeated)
        column += gold_start[query] + len(self._grade)
        self._doc.frombytes(row.astype(np.intc).tobytes())
        self._gold.frombytes(column.astype(np.intc).tobytes())
        self._score.frombytes(scores[place].tobytes())
        if votes is not None:
            self._least.frombytes(low[place].tobytes())
            self._greatest.frombytes(high[place].tobytes())
        self._n_docs.frombytes(n_docs.tobytes())
        self._n_gold.frombytes(n_gold.tobytes())

    def _by_gold(self, matrices: Sequence[Floats]) -> Floats:
        """The n x m scores of each query, one behind the other."""
        threshold = self.matcher.threshold
        own = (_by_gold(*pair, threshold).ravel() for pair in zip(matrices, self._items))
        return np.concatenate([*own, np.empty(0)])

    def table(self) -> MatchTable:
        """The table of all that was answered."""
        self._take()
        grade = np.asarray(self._grade)
        votes = None
        if self.matcher.votes:
            votes = Votes(np.asarray(self._least), np.asarray(self._greatest), grade, grade)
        return MatchTable(
            doc_start=starts(self._n_docs),
            gold_start=starts(self._n_gold),
            grade=grade,
            answered=_flags(self._answered),
            repeated=_flags(self._repeated),
            pair_doc=np.asarray(self._doc),
            pair_gold=np.asarray(self._gold),
            pair_score=np.asarray(self._score),
            threshold=self.matcher.threshold,
            top=1.0 if self.matcher.top is None else float(self.matcher.top),
            unanswerable=_flags(self._unanswerable),
            votes=votes,
        )


def _flags(flags: bytearray) -> Bools:
    return np.frombuffer(flags, np.uint8).astype(bool)


Answer = tuple[Trace | None, ArrayLike]
"""The scores of a query, and what was asked for them where that matters."""


def _counting(
    answers: Iterable[Answer], unanswered: Iterable[MatchItem], matcher: BaseMatcher
) -> Iterator[Answer]:
    """The answers; where a text is missing, an error that counts all ids without one."""
    try:
        yield from answers
    except TextlessError as error:
        raise lacking(unanswered, error, uses_gold=matcher.uses_gold) from None


def lacking(items: Iterable[MatchItem], error: TextlessError, *, uses_gold: bool) -> DataError:
    """The error that counts the ids without text of all queries, for that of the first one."""
    ids = Lacking(NO_CORPUS)
    for item in items:
        if uses_gold:
            ids.note_gold(item.query)
        ids.note_retrieved(item.query, item.docs)
    return ids.error(error.method) if ids else error


def _shaped(matrix: ArrayLike, item: MatchItem, matcher: BaseMatcher) -> Floats:
    """The scores as an array of its own: who gave them may use theirs again for the next query."""
    try:
        scores = np.array(matrix, np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"{_where(matcher, item)}: not an array of numbers: {error}") from None
    if scores.shape != item.shape:
        raise DataError(
            f"{_where(matcher, item)}: an array of shape {scores.shape}; "
            f"{item.shape[0]} documents x {item.shape[1]} targets are expected"
        )
    return scores


def _check(matrices: Sequence[Floats], items: Sequence[MatchItem], matcher: BaseMatcher) -> None:
    """Refuse scores below 0, infinite ones, and those that are not known where all have to be."""
    everything = np.concatenate([*map(np.ravel, matrices), np.empty(0)])
    if ((everything >= 0) & (everything < np.inf)).all():  # as a rule
        return
    for scores, item in zip(matrices, items):
        if (scores < 0).any() or np.isinf(scores).any():
            raise DataError(f"{_where(matcher, item)}: scores must be finite and not below 0")
        if np.isnan(scores).any() and not matcher.may_not_know:
            raise DataError(
                f"{_where(matcher, item)}: a score is NaN; scores must be finite and not below 0"
            )


def _where(matcher: BaseMatcher, item: MatchItem) -> str:
    return f"{matcher.class_name}.scores, query {item.query.id!r}"


def _by_gold(scores: Floats, item: MatchItem, threshold: float) -> Floats:
    """From targets to gold items: the best of a gold item's alternatives.

    Not known (NaN) if one of them is not and no other one matches.
    """
    if scores.shape[1] == len(item.query.gold):
        return scores
    # Each gold item stands before its alternatives.
    first = np.unique([target.gold for target in item.targets], return_index=True)[1]
    best: Floats = np.fmax.reduceat(scores, first, axis=1)
    unknown = np.logical_or.reduceat(np.isnan(scores), first, axis=1)
    best[unknown & ~matches(best, threshold)] = np.nan
    return best


def starts(lengths: Sequence[int]) -> Ints:
    """Where the rows of these lengths begin, and the last one ends."""
    return np.concatenate(([0], np.cumsum(np.array(lengths, np.int64)))).astype(np.int64)
