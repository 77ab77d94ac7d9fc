"""Questions and answers as gold files and results files hold them."""

from collections.abc import Mapping
from typing import Any

from kragx.data.documents import doc_record, present
from kragx.data.forbidden import FORBIDDEN
from kragx.data.gold import Query
from kragx.data.runs import Retrieved
from kragx.data.search_records import SEARCHES, search_records
from kragx.data.stages import NumberedDocs, stage_records

RULES_KEY = b"kragx.forbidden"
"""Under this key of the schema of a Parquet file stand the rules of a gold set, as JSON."""


def question_record(query: Query, answer: Retrieved | None) -> dict[str, Any]:
    """A question as a results file holds it; None where nobody says what was retrieved."""
    return query_record(query) | ({} if answer is None else answer_record(answer))


def query_record(query: Query) -> dict[str, Any]:
    """A query as a gold file holds it."""
    gold = [
        present(
            id=item.id,
            text=item.text,
            grade=None if item.grade == 1.0 else item.grade,
            alternatives=[doc_record(alternative) for alternative in item.alternatives],
            metadata=dict(item.metadata),
        )
        for item in query.gold
    ]
    forbidden, weight = query.forbidden, query.weight
    return {
        "query_id": query.id,
        **present(query=query.text),
        "gold": gold,
        # Empty where somebody looked, and nothing is forbidden.
        **({} if forbidden is None else {FORBIDDEN: [item.to_dict() for item in forbidden]}),
        **present(
            query_type=query.query_type,
            expected_doc_types=list(query.expected_doc_types),
            answerable=query.answerable,
            reference=query.reference,
            history=[turn.to_dict() for turn in query.history],
            metadata=dict(query.metadata),
            # As people write it: a number of asks is whole.
            weight=None if weight == 1.0 else int(weight) if weight.is_integer() else weight,
            inclusion=None if query.inclusion == 1.0 else query.inclusion,
        ),
    }


def rules_record(rules: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The rules of a gold set as the first line of its file holds them; empty of none."""
    return [{FORBIDDEN: dict(rules)}] if rules else []


def answer_record(answer: Retrieved) -> dict[str, Any]:
    """What was retrieved for a query, or why nothing was, as a results file holds it."""
    record: dict[str, Any] = {}
    if answer.error is not None:
        record["error"] = answer.error
    elif answer.has_list:
        record["retrieved"] = [doc_record(doc) for doc in answer.documents]
    handed_on = answer.documents if answer.has_list else ()
    docs = NumberedDocs(handed_on, distinct=bool(answer.searches))
    searches = search_records(answer.searches, docs)
    if not (answer.has_list or searches):
        record[SEARCHES] = []
    stages = stage_records(answer.stages, docs)
    return record | present(seconds=answer.seconds, searches=searches, stages=stages)
