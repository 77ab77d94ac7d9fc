"""From a stream of queries and a matcher to the match table."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from itertools import chain

import numpy as np

from kragx.data import NO_CORPUS, Lacking
from kragx.data.batch import Batch
from kragx.data.ngrams import of_pairs
from kragx.errors import DataError, UsageError
from kragx.matchers.base import BaseMatcher, Heard, Matcher, Trace, adapted
from kragx.matchers.items import (
    MatchItem,
    TextlessError,
    batch_of,
    items_of,
    n_of_golds,
    shapes,
)
from kragx.matchers.notes import Notes
from kragx.matchers.repeats import known_repeats
from kragx.metrics import Bools, Floats, Ints, MatchTable, Votes
from kragx.metrics.threshold import matches


def match(
    items: Iterable[MatchItem], matcher: Matcher, notes: Notes, heard: Heard | None = None
) -> MatchTable:
    """Match all the queries that there are, asked for together: `match_part`, then `conclude`."""
    table = match_part([batch_of([*items])], matcher, notes, heard)
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
    batches: Iterable[Batch],
    matcher: Matcher,
    notes: Notes,
    heard: Heard | None = None,
) -> MatchTable:
    """Match queries that others may follow; no text is kept.

    Args:
        batches: the queries with their documents, in the order of the table's rows.
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
    stream = iter(batches)
    for batch in stream:
        try:
            trace = matcher.trace(batch, notes)
        except TextlessError as error:
            items = chain.from_iterable(map(items_of, chain([batch], stream)))
            raise lacking(items, error, uses_gold=matcher.uses_gold) from None
        _check(trace, batch)
        if heard is not None:
            for item, of_item in zip(items_of(batch), trace.of_queries(*shapes(batch))):
                heard(item, of_item)
        pairs.add(batch, trace)
    return pairs.table()


class _Pairs:
    """The match table while batches are answered.

    Millions of documents and pairs: buffers grow in place, and numpy reads them without a copy.
    """

    def __init__(self, matcher: BaseMatcher) -> None:
        self.matcher = matcher
        self._repeats = known_repeats()
        self._n_docs, self._n_gold, self._grade = array("q"), array("q"), array("d")
        self._repeated, self._answered, self._unanswerable = bytearray(), bytearray(), bytearray()
        self._doc, self._gold, self._score = array("i"), array("i"), array("d")
        self._least, self._greatest = array("d"), array("d")

    def add(self, batch: Batch, trace: Trace) -> None:
        """Take the scores of the next queries, and the votes behind them."""
        scores, *votes = (
            _by_gold(scores, batch, self.matcher.threshold)
            for scores in (trace.scores, *(trace.reach or ()))
        )
        low_and_high = (votes or [scores, scores]) if self.matcher.votes else None
        self._add_pairs(batch.docs.texts.n_texts, batch.golds.texts.n_texts, scores, low_and_high)
        self._grade.frombytes(batch.grades.tobytes())
        self._repeated += self._repeats.of(batch.docs).tobytes()
        self._answered += batch.answered.tobytes()
        self._unanswerable += batch.unanswerable.tobytes()
        self._check_size()

    def _check_size(self) -> None:
        if max(len(self._repeated), len(self._grade)) >= 2**31:
            raise DataError("more than 2,147,483,647 documents or gold items in one evaluation")

    def _add_pairs(
        self, n_docs: Ints, n_gold: Ints, scores: Floats, votes: Sequence[Floats] | None
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

    def table(self) -> MatchTable:
        """The table of all that was answered."""
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


def lacking(items: Iterable[MatchItem], error: TextlessError, *, uses_gold: bool) -> DataError:
    """The error that counts the ids without text of all queries, for that of the first one."""
    ids = Lacking(NO_CORPUS)
    for item in items:
        if uses_gold:
            ids.note_gold(item.query)
        ids.note_retrieved(item.query, item.docs)
    return ids.error(error.method) if ids else error


def _check(trace: Trace, batch: Batch) -> None:
    """Refuse scores below 0, infinite ones, and those that are not known where all have to be."""
    scores, matcher = trace.scores, trace.matcher
    if ((scores >= 0) & (scores < np.inf)).all():  # as a rule
        return
    problem = "scores must be finite and not below 0"
    for query_id, of_query in zip(batch.query_ids, trace.of_queries(*shapes(batch))):
        where, scores = f"{matcher.class_name}.scores, query {query_id!r}", of_query.scores
        if (scores < 0).any() or np.isinf(scores).any():
            raise DataError(f"{where}: {problem}")
        if np.isnan(scores).any() and not matcher.may_not_know:
            raise DataError(f"{where}: a score is NaN; {problem}")


def _by_gold(scores: Floats, batch: Batch, threshold: float) -> Floats:
    """From targets to gold items: the best of a gold item's alternatives.

    Not known (NaN) if one of them is not and no other one matches.
    """
    _, gold = of_pairs(batch.docs.texts.n_texts, batch.golds.texts.n_texts)
    if len(scores) == len(gold) or not gold.size:
        return scores
    n_targets = n_of_golds(batch.golds)[gold]
    first = np.cumsum(n_targets) - n_targets
    best: Floats = np.fmax.reduceat(scores, first)
    unknown = np.logical_or.reduceat(np.isnan(scores), first)
    best[unknown & ~matches(best, threshold)] = np.nan
    return best


def starts(lengths: Sequence[int]) -> Ints:
    """Where the rows of these lengths begin, and the last one ends."""
    return np.concatenate(([0], np.cumsum(np.array(lengths, np.int64)))).astype(np.int64)
