"""What a profile does with lists before they are matched: it orders them, or refuses duplicates."""

from dataclasses import replace

import numpy as np

from kragx.data import Query, Retrieved
from kragx.data.batch import Batch
from kragx.data.runs import status_of
from kragx.ground.errors import DataError, UsageError
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
    if batch.searches is not None and (profile.order == "score" or profile.duplicates == "error"):
        raise UsageError(
            "profile {name!r} orders one list of a question, and questions have several searches",
            remedy="use the profile 'kragx'",
            name=profile.name,
        )
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
    return batch if docs is batch.docs else replace(batch, docs=docs)


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


def _check_scores(batch: Batch) -> None:
    docs = batch.docs
    is_scored = ~np.isnan(docs.values)
    if is_scored.all():
        return
    n_scored = np.bincount(docs.texts.of_text[is_scored], minlength=len(batch))
    partly_scored = ((n_scored > 0) & (n_scored < docs.texts.n_texts)).nonzero()[0]
    for row in partly_scored[:1].tolist():
        raise DataError(
            "query {query_ids!r}: {n_scored} of the list's {n} documents have a score; this "
            "profile ranks by score: give all or none",
            query_ids=batch.query_ids[row],
            n_scored=n_scored[row],
            n=int(docs.texts.n_texts[row]),
        )
