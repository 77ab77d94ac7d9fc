"""What a profile does with lists before they are matched: it orders them, or refuses duplicates."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from kragx.data import Doc, Query, Retrieved
from kragx.data.batch import Batch
from kragx.data.entries import Entries
from kragx.data.runs import status_of
from kragx.ground.errors import DataError
from kragx.matchers import MatchItem
from kragx.matchers.items import repeated
from kragx.metrics import Profile
from kragx.metrics.search_table import Basis


def arranged_batch(batch: Batch, profile: Profile) -> Batch:
    """The batch with its lists as a profile wants them.

    Raises:
        DataError: the profile ranks by score, and not all documents of a list have one; or it
            refuses a document that stands twice.
    """
    docs = batch.docs
    if profile.order == "score":
        _check_scores(batch)
        docs = docs.ranked()
    if profile.duplicates == "error":
        is_repeated = repeated(docs)
        if is_repeated.any():
            place = int(is_repeated.argmax())
            doc_id = None if docs.ids is None else docs.ids[place]
            raise DataError(
                "query {query_ids!r}: document {doc_id!r} stands twice, which the profile "
                "{name!r} refuses; remove it, or use the profile 'kragx'",
                query_ids=batch.query_ids[docs.texts.of_text[place]],
                doc_id=doc_id,
                name=profile.name,
            )
    if batch.searches is not None:
        return _with_arranged_searches(batch, docs, profile)
    return batch if docs is batch.docs else replace(batch, docs=docs)


def _with_arranged_searches(batch: Batch, docs: Entries, profile: Profile) -> Batch:
    """The same where each search has a list."""
    assert batch.searches is not None
    of_search = np.repeat(np.arange(len(batch)), batch.searches.n)
    query_ids = [batch.query_ids[row] for row in of_search.tolist()]
    lists = replace(batch, query_ids=query_ids, docs=batch.searches.docs, searches=None)
    arranged_lists = arranged_batch(lists, profile).docs
    if docs is batch.docs and arranged_lists is batch.searches.docs:
        return batch
    # What was read is a number among the documents as they stand, so all are made anew.
    of_searches = iter(arranged_lists.documents())
    rows = (
        (line, query, answer and _with_lists(answer, final, of_searches))
        for (line, query, answer), final in zip(batch.rows(), docs.documents())
    )
    return Batch.of([*rows])


def _with_lists(
    answer: Retrieved, final: tuple[Doc, ...], of_searches: Iterator[tuple[Doc, ...]]
) -> Retrieved:
    searches = tuple(
        replace(search, documents=docs) if search.is_measured else search
        for search, docs in zip(answer.searches, of_searches)
    )
    return replace(answer, documents=final, searches=searches)


def match_item(
    query: Query,
    answer: Retrieved | None,
    profile: Profile | None = None,
    basis: Basis | None = None,
) -> MatchItem:
    """A query with what the run has of it; nothing where it is missing or has failed.

    Args:
        query: the question.
        answer: what was got for it; None where it is missing.
        profile: has the list as it is matched; None for the list as it stands.
        basis: of several searches, the list that is meant; None where nobody looks at any.
    """
    if answer is None or answer.error is not None:
        seconds, error = (None, None) if answer is None else (answer.seconds, answer.error)
        return MatchItem(query, (), status_of(answer), seconds, error)
    docs = answer.documents if basis is None else answer.of(basis) or ()
    if profile is not None:
        row = (None, query, Retrieved(docs))
        (docs,) = arranged_batch(Batch.of([row]), profile).docs.documents()
    return MatchItem(query, docs, "answered", answer.seconds)


def arranged_answer(query: Query, answer: Retrieved, profile: Profile) -> Retrieved:
    """The same of all lists of somebody who searches."""
    if answer.error is not None or profile.order != "score":
        return answer
    ((_, _, whole),) = arranged_batch(Batch.of([(None, query, answer)]), profile).rows()
    assert whole is not None  # as it was
    return whole


def directions(batch: Batch) -> Counter[str]:
    """Down how many lists scores rise, as distances do, or not; under "" where all are one."""
    query = batch.docs.texts.of_text
    scores = batch.docs.values
    # Neighbours in the flat columns are compared, unless they are the end of one list and the
    # beginning of the next.
    goes_on = (query[1:] == query[:-1]) & ~(np.isnan(scores[1:]) | np.isnan(scores[:-1]))
    changes, falls = (
        np.bincount(query[1:][goes_on & is_meant], minlength=len(batch)) > 0
        for is_meant in (scores[1:] != scores[:-1], scores[1:] < scores[:-1])
    )
    n_falling, n_changing = int(falls.sum()), int(changes.sum())
    counts = {"": len(batch) - n_changing, "rises": n_changing - n_falling, "other": n_falling}
    return Counter({direction: n for direction, n in counts.items() if n})


def _check_scores(batch: Batch) -> None:
    docs = batch.docs
    is_scored = ~np.isnan(docs.values)
    if is_scored.all():
        return
    n_scored = np.bincount(docs.texts.of_text[is_scored], minlength=len(batch))
    partly_scored = ((n_scored > 0) & (n_scored < docs.texts.n_texts)).nonzero()[0]
    for row in partly_scored[:1].tolist():
        n, start = int(docs.texts.n_texts[row]), int(docs.texts.starts[row])
        rank = int(is_scored[start : start + n].argmin()) + 1
        raise DataError(
            "query {query_ids!r}, rank {rank}: no score, though {n_scored} of the "
            "list's {n} documents have one; this profile ranks by score: give all or none",
            query_ids=batch.query_ids[row],
            rank=rank,
            n_scored=n_scored[row],
            n=n,
        )
