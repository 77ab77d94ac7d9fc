"""Judgements as a database takes them, and as they are exported and imported."""

from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from datetime import UTC, datetime
from operator import attrgetter
from typing import Any

from kragx.errors import DataError, inside, shorten
from kragx.judging.client import words_of
from kragx.judging.keys import canonical_json, key_of
from kragx.judging.question import Judgement
from kragx.judging.rubric import LISTED, RUBRICS

COLUMNS = tuple(field.name for field in fields(Judgement))
VALUES = attrgetter(*COLUMNS)
_WHOLE = (
    *("grade", "prompt_tokens", "completion_tokens", "cached_tokens", "reasoning_tokens"),
    "output_limit",
)
_KINDS: Mapping[str, tuple[type, ...]] = {
    **dict.fromkeys(COLUMNS, (str, type(None))),
    **dict.fromkeys(_WHOLE, (int, type(None))),
    **dict.fromkeys(("seconds", "expected"), (float, int, type(None))),
}
_MOST = 2**63


def now() -> str:
    """The time in UTC, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def storable(attempt: Judgement) -> Judgement:
    """The attempt as it is stored, whatever somebody has put into a file of judgements.

    Of numbers that cannot be (below zero, not finite, beyond 64 bits) nothing is known.
    """
    changed = {
        name: cleaned
        for name, value in zip(COLUMNS, VALUES(attempt))
        if value is not None and (cleaned := _clean_value(name, value)) is not value
    }
    return replace(attempt, **changed) if changed else attempt


def _clean_value(name: str, value: Any) -> Any:
    if name == "grade":  # the rubric's scale was checked
        return value
    if str in _KINDS[name]:
        words = words_of(value)
        return value if words == value else words
    return value if type(value) in _KINDS[name] and 0 <= value < _MOST else None


def attempt_of(values: Any, path: str = "") -> Judgement:
    """The attempt that has these values; a `DataError` where one is of another kind."""
    for (name, kinds), value in zip(_KINDS.items(), values):
        if type(value) not in kinds:
            raise DataError(f"not a judgement: {name!r} is {shorten(value)}", path=path)
    return Judgement(*values)


Exported = tuple[Judgement, str, list[tuple[str, str, str]]]
"""An attempt, its question as canonical JSON, and the (key, query id, document id) it is about."""


def record(
    attempt: Judgement, question: Mapping[str, Any] | None, pairs: Mapping[str, list[list[str]]]
) -> dict[str, Any]:
    """An attempt as it is exported, with its question and the (query, document) ids of each key."""
    values = zip(COLUMNS, VALUES(attempt))
    attempt_values = {name: value for name, value in values if value is not None}
    return attempt_values | {"question": question, "pairs": pairs.get(attempt.key, [])}


def exported(records: Iterable[Mapping[str, Any]]) -> list[Exported]:
    """Attempts as `Store.records` gives them.

    Raises:
        DataError: a record lacks what it needs.
    """
    return [_read_record(record, number) for number, record in enumerate(records, start=1)]


def _read_record(record: Mapping[str, Any], number: int) -> Exported:
    try:
        material = canonical_json(record["question"])
        required = ("key", "uid", "at")
        attempt = Judgement(
            **{name: record[name] for name in COLUMNS if name in required or name in record}
        )
        pairs = [(attempt.key, str(q), str(d)) for q, d in record.get("pairs", ())]
        rubric = RUBRICS.get(record["question"]["rubric"]["id"])
        for name, kind in (("asks", str), ("facts", list)):
            if not isinstance(record["question"].get(name, kind()), kind):
                raise TypeError(f"question.{name} is {shorten(record['question'][name])}")
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(
            f"record {number}: not a judgement as 'kragx judge store export' writes it ({error!r})"
        ) from None
    with inside(f"record {number}"):
        attempt_of(VALUES(attempt))
        # Of a rubric of somebody's own the scale is not known here, but that it begins with 0.
        grade = attempt.grade
        is_list = record["question"].get("asks") in LISTED
        grades = [] if grade is None else [grade]
        if is_list:
            grades = [of_entry for of_entry, _ in attempt.entries]
            n_facts = len(record["question"].get("facts", grades))
            if grade is not None and (attempt.answer is None or n_facts != len(grades)):
                raise DataError(f"{shorten(attempt.answer)} is no answer to it", field="answer")
        if any(grade < 0 or (rubric is not None and grade > rubric.top) for grade in grades):
            raise DataError(f"{grades[0]} is no grade of its rubric", field="grade")
        if (grade is None) == (attempt.failure is None):
            raise DataError("a judgement has a grade, or a failure without one")
    if key_of(material) != attempt.key:
        raise DataError(
            f"record {number}: its key is not that of its question; the question was changed, and "
            "the grade belongs to another one"
        )
    return storable(attempt), material, pairs
