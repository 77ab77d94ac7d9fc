"""Abstention: whether nothing is retrieved, where nothing answers and where something would."""

import numpy as np

from kragx.data import Query
from kragx.data.lists import Bools, Floats
from kragx.ground.errors import DataError
from kragx.ground.printing import phrase
from kragx.metrics.evidence import Evidence, RankedList
from kragx.metrics.spec import Metric, MetricSpec, Option, defined, number

SCORE = Option(None, read=number("a number", lambda _: True))
"""The least score of the retriever's own at which a document counts as retrieved; None: any."""


def _abstention(evidence: Evidence, spec: MetricSpec) -> Floats:
    return (_answered(evidence) & _is_abstention(evidence, spec)).astype(np.float64)


def _false_abstention(evidence: Evidence, spec: MetricSpec) -> Floats:
    unanswered = ~_answered(evidence) | _is_abstention(evidence, spec)
    return np.where([_has_answer(ranked.query) for ranked in evidence.lists], unanswered, np.nan)


def _has_answer(query: Query) -> bool:
    """Whether something answers a query for sure: of one without gold nobody may have looked."""
    return query.answerable is True or any(gold.grade > 0 for gold in query.gold)


def _answered(evidence: Evidence) -> Bools:
    return np.array([ranked.status == "answered" for ranked in evidence.lists], bool)


def _is_abstention(evidence: Evidence, spec: MetricSpec) -> Bools:
    """(q) whether no document is retrieved, or none has the score that it takes.

    Where there are searches, in what was handed on, or where nobody knows that by any of them; a
    score is that of the list that metrics are about.
    """
    floor = spec["score"]
    if floor is None and evidence.searches is not None:
        return np.equal(evidence.searches.n_came, 0)
    if floor is None:
        return np.array([not ranked.docs for ranked in evidence.lists], bool)
    scores = [*map(_scores, evidence.lists)]
    steps = [np.diff(of_list) for of_list in scores if np.isfinite(of_list).all()]
    changes = np.concatenate([np.zeros(0), *steps])
    if (changes >= 0).all() and (changes > 0).any():
        raise DataError(
            "{spec}: scores rise down every list, as distances do; give scores of which a higher "
            "one is better",
            spec=spec,
        )
    return np.array([not (of_list >= floor).any() for of_list in scores], bool)


def _scores(ranked: RankedList) -> Floats:
    for rank, doc in enumerate(ranked.docs, start=1):
        if doc.score is None:
            raise DataError(
                "query {id!r}, rank {rank}: document {id_2!r} has no score, and "
                "abstention below a score needs one; retrievers give it in (document, score) pairs",
                id=ranked.query.id,
                rank=rank,
                id_2=doc.id,
            )
    return np.array([doc.score for doc in ranked.docs], np.float64)


def _is_per_query(spec: MetricSpec) -> bool:
    """Whether rises or falls of scores do not matter, which all lists together show."""
    return spec["score"] is None


ABSTENTION = Metric(
    name="abstention",
    question="Is nothing retrieved where nothing answers?",
    formula="of questions with answerable: false: 1 if the answer is an empty list (score=x: no "
    "document has a score of x or more), else 0; undefined for others",
    meaning=phrase("The share of the unanswerable questions for which nothing is retrieved."),
    from_evidence=_abstention,
    apart=_is_per_query,
    options={"score": SCORE},
    cuts=False,
    of="unanswerable",
)
FALSE_ABSTENTION = Metric(
    name="false_abstention",
    question="Is nothing retrieved where something would answer?",
    formula="of questions with gold or answerable: true: 1 if nothing is retrieved (score=x: no "
    "document has a score of x or more), else 0; undefined for others",
    meaning=phrase("The share of the answerable questions for which nothing is retrieved."),
    from_evidence=_false_abstention,
    apart=_is_per_query,
    options={"score": SCORE},
    better="lower",
    cuts=False,
)


def price(evidence: Evidence, spec: MetricSpec) -> tuple[int, int]:
    """Of how many answerable questions nothing is left at the score of an abstention, of how many.

    Args:
        evidence: of the evaluation.
        spec: of `ABSTENTION`.
    """
    false_abstentions = defined(_false_abstention(evidence, spec))
    return int(false_abstentions.sum()), len(false_abstentions)
