"""Abstention: whether nothing is retrieved, where nothing answers and where something would."""

import numpy as np

from kragx.data.lists import Bools, Floats
from kragx.ground.printing import message
from kragx.metrics.evidence import Evidence
from kragx.metrics.spec import Metric, MetricSpec


def _abstention(evidence: Evidence, spec: MetricSpec) -> Floats:
    return (_answered(evidence) & _is_abstention(evidence)).astype(np.float64)


def _false_abstention(evidence: Evidence, spec: MetricSpec) -> Floats:
    unanswered = ~_answered(evidence) | _is_abstention(evidence)
    # Whether something answers it for sure: of a question without gold nobody may have looked.
    has_answer = [
        ranked.query.answerable is True or any(gold.grade > 0 for gold in ranked.query.gold)
        for ranked in evidence.lists
    ]
    return np.where(has_answer, unanswered, np.nan)


def _answered(evidence: Evidence) -> Bools:
    return np.array([ranked.status == "answered" for ranked in evidence.lists], bool)


def _is_abstention(evidence: Evidence) -> Bools:
    """(q) whether no document is retrieved.

    Where there are searches, in what was handed on, or where nobody knows that by any of them.
    """
    if evidence.searches is not None:
        return np.equal(evidence.searches.n_came, 0)
    return np.array([not ranked.docs for ranked in evidence.lists], bool)


ABSTENTION = Metric(
    name="abstention",
    question="Is nothing retrieved where nothing answers?",
    formula="of questions with answerable: false: 1 if the answer is an empty list, else 0; "
    "undefined for others",
    meaning=message("The share of the unanswerable questions for which nothing is retrieved."),
    from_evidence=_abstention,
    cuts=False,
    of="unanswerable",
)
FALSE_ABSTENTION = Metric(
    name="false_abstention",
    question="Is nothing retrieved where something would answer?",
    formula="of questions with gold or answerable: true: 1 if nothing is retrieved, else 0; "
    "undefined for others",
    meaning=message("The share of the answerable questions for which nothing is retrieved."),
    from_evidence=_false_abstention,
    better="lower",
    cuts=False,
)
