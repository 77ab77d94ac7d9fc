"""From a stream of queries and a matcher to the match table."""

from array import array
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import chain

import numpy as np
from numpy.typing import ArrayLike

from kragx.data import NO_CORPUS, Doc, Lacking
from kragx.errors import DataError, UsageError
from kragx.matchers.base import (
    BaseMatcher,
    Heard,
    Matcher,
    MatchItem,
    Notes,
    TextlessError,
    Trace,
    adapted,
)
from kragx.metrics import Floats, Ints, MatchTable, Votes
from kragx.metrics.threshold import matches


def match(
    items: Iterable[MatchItem], matcher: Matcher, notes: Notes, heard: Heard | None = None
) -> MatchTable:
    """Match a stream of queries; no text is kept.

    Args:
        items: the queries with their documents, in the order of the table's rows.
        matcher: scores them.
        notes: the matcher adds its counts here.
        heard: is told of each query what the matcher, and of a combination each member, said.

    Raises:
        DataError: what the matcher gave does not fit the items, or it compares texts and ids have
            none; these are counted.
    """
    matcher = adapted(matcher)
    n_docs: list[int] = []
    grades: list[list[float]] = []
    repeated: list[list[bool]] = []
    answered: list[bool] = []
    unanswerable: list[bool] = []
    waiting: deque[MatchItem] = deque()  # handed to the matcher, not yet answered

    def handed_out() -> Iterator[MatchItem]:
        for item in items:
            n_docs.append(len(item.docs))
            grades.append([gold.grade for gold in item.query.gold])
            repeated.append(repeats(item.docs))
            answered.append(item.status == "answered")
            unanswerable.append(item.query.answerable is False)
            waiting.append(item)
            yield item

    # Millions of pairs: buffers that grow in place, and that numpy reads without a copy.
    pair_doc, pair_gold, pair_score = array("i"), array("i"), array("d")
    pair_low, pair_high = array("d"), array("d")
    doc_offset = gold_offset = 0
    if not 0 < matcher.threshold < np.inf:
        raise UsageError(
            f"{matcher.class_name}.threshold: {matcher.threshold!r} must be a number above 0"
        )
    stream = handed_out()
    if matcher.votes or (heard is not None and matcher.members):
        answers: Iterable[Answer] = (
            (trace, trace.scores)
            for trace in matcher.traces(((item, None) for item in stream), notes)
        )
    else:
        answers = ((None, matrix) for matrix in matcher.scores(stream, notes))
    for trace, matrix in _counting(answers, chain(waiting, stream), matcher):
        if not waiting:
            raise DataError(f"{matcher.class_name}.scores gave more answers than queries")
        item = waiting.popleft()
        of_targets = _checked(matrix, item, matcher)
        if heard is not None:
            heard(item, trace or Trace(matcher, of_targets, np.ones(item.shape, bool)))
        scores = low = high = _by_gold(of_targets, item, matcher.threshold)
        if trace is not None and trace.reach is not None:
            low, high = (_by_gold(votes, item, matcher.threshold) for votes in trace.reach)
        rows, columns = np.nonzero((scores != 0) | (high != 0))
        pair_doc.frombytes((rows + doc_offset).astype(np.intc).tobytes())
        pair_gold.frombytes((columns + gold_offset).astype(np.intc).tobytes())
        pair_score.frombytes(scores[rows, columns].tobytes())
        if matcher.votes:
            pair_low.frombytes(low[rows, columns].tobytes())
            pair_high.frombytes(high[rows, columns].tobytes())
        doc_offset += scores.shape[0]
        gold_offset += scores.shape[1]
    for _ in stream:  # what a matcher that stopped early has not even asked for
        pass
    if waiting:
        raise DataError(
            f"{matcher.class_name}.scores left {len(waiting)} of {len(n_docs)} queries "
            "unanswered; it must yield one array for each"
        )
    if max(doc_offset, gold_offset) >= 2**31:
        raise DataError("more than 2,147,483,647 documents or gold items in one evaluation")
    grade = np.array([grade for of_query in grades for grade in of_query], np.float64)
    return MatchTable(
        doc_start=starts(n_docs),
        gold_start=starts([len(of_query) for of_query in grades]),
        grade=grade,
        answered=np.array(answered, bool),
        repeated=np.array([flag for of_query in repeated for flag in of_query], bool),
        pair_doc=np.asarray(pair_doc),
        pair_gold=np.asarray(pair_gold),
        pair_score=np.asarray(pair_score),
        threshold=matcher.threshold,
        top=1.0 if matcher.top is None else float(matcher.top),
        unanswerable=np.array(unanswerable, bool),
        votes=Votes(np.asarray(pair_low), np.asarray(pair_high), grade, grade)
        if matcher.votes
        else None,
    )


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


def repeats(docs: Iterable[Doc]) -> list[bool]:
    """Whether each document stood earlier in the list (same id, else same normalised text)."""
    identities = [doc.identity for doc in docs]
    if len(set(identities)) == len(identities):  # as a rule
        return [False] * len(identities)
    seen: set[tuple[str, str] | None] = set()
    flags: list[bool] = []
    for identity in identities:
        flags.append(identity is not None and identity in seen)
        seen.add(identity)
    return flags


def _checked(matrix: ArrayLike, item: MatchItem, matcher: BaseMatcher) -> Floats:
    where = f"{matcher.class_name}.scores, query {item.query.id!r}"
    try:
        scores = np.asarray(matrix, np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"{where}: not an array of numbers: {error}") from None
    if scores.shape != item.shape:
        raise DataError(
            f"{where}: an array of shape {scores.shape}; "
            f"{item.shape[0]} documents x {item.shape[1]} targets are expected"
        )
    if (scores < 0).any() or np.isinf(scores).any():
        raise DataError(f"{where}: scores must be finite and not below 0")
    if np.isnan(scores).any() and not matcher.may_not_know:
        raise DataError(f"{where}: a score is NaN; scores must be finite and not below 0")
    return scores


def _by_gold(scores: Floats, item: MatchItem, threshold: float) -> Floats:
    """From targets to gold items: the best of a gold item's alternatives.

    Not known (NaN) if one of them is not and no other one matches.
    """
    if len(item.targets) == len(item.query.gold):
        return scores
    # Each gold item stands before its alternatives.
    first = np.unique([target.gold for target in item.targets], return_index=True)[1]
    best: Floats = np.fmax.reduceat(scores, first, axis=1)
    unknown = np.logical_or.reduceat(np.isnan(scores), first, axis=1)
    best[unknown & ~matches(best, threshold)] = np.nan
    return best


def starts(lengths: list[int]) -> Ints:
    """Where the rows of these lengths begin, and the last one ends."""
    return np.concatenate(([0], np.cumsum(np.array(lengths, np.int64)))).astype(np.int64)
