"""Rules that forbid documents: what they compare, three values, and what is refused."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given, strategies as st

from kragx import UsageError
from kragx.data.rules import RuleSet, distinct_key
from kragx.errors import DataError
from tests.thoroughness import all_cases, examples

YES, NO, OPEN = 1, 0, -1
SEOUL = timezone(timedelta(hours=9))


def holds(asked: dict[str, Any], value: Any, operand: Any = None, **beside: Any) -> int:
    """What a condition on the field `f` says of a value, and of one of the question."""
    rules = RuleSet.of({"r": {"metadata.f": asked}, **beside})
    ((condition,),) = (rule.conditions for rule in rules.rules)
    return condition.holds(value, condition.operand if operand is None else operand, rules.zone)


@all_cases(
    ("asked", "value", "truth"),
    [
        ({"is": "a"}, "a", YES),
        ({"is": "a"}, "b", NO),
        ({"is": "a"}, None, OPEN),
        ({"not": "a"}, "a", NO),
        ({"not": "a"}, "b", YES),
        ({"not": "a"}, None, OPEN),
        ({"is": True}, "true", NO),
        ({"is": True}, 1, NO),
        ({"is": True}, True, YES),
        ({"is": 1}, "1", NO),
        ({"is": 1}, 1.0, YES),
        ({"is": 0}, False, NO),
        ({"not": "1"}, 1, YES),
        ({"is": "각"}, "각", YES),  # composed and not
        ({"is": ["a", 1]}, ["a", 1], YES),
        ({"is": ["a", 1]}, ["a", True], NO),
        ({"is": "a"}, ["a"], NO),
        ({"in": ["a", "b"]}, "b", YES),
        ({"in": ["a", "b"]}, ["c", "b"], YES),
        ({"in": ["a", "b"]}, ["c"], NO),
        ({"in": "a"}, ["c", "a"], YES),
        ({"in": [1]}, "1", NO),
        ({"not_in": ["a", "b"]}, ["c", "b"], NO),
        ({"not_in": ["a", "b"]}, "c", YES),
        ({"not_in": ["a"]}, None, OPEN),
        ({"missing": True}, None, YES),
        ({"missing": True}, "", NO),
        ({"missing": False}, None, NO),
        ({"missing": False}, 0, YES),
        ({"before": "2026-02-01"}, "2026-01-31", YES),
        ({"before": "2026-01-31"}, "2026-01-31", NO),
        ({"after": "2026-01-31"}, "2026-01-31", NO),
        ({"before": 3}, 2, YES),
        ({"before": 3.5}, 10**400, NO),
        ({"before": 3}, 3, NO),
        ({"after": 3}, 3.5, YES),
        ({"before": "2026-01-31"}, "soon", OPEN),
        ({"before": "2026-01-31"}, 7, OPEN),
        ({"before": "2026-01-31"}, None, OPEN),
        ({"before": "2026-02-01T00:00:00+09:00"}, "2026-01-31", YES),
        ({"before": "2026-01-31T23:59:59+09:00"}, "2026-01-31", NO),  # it lasts to its end
        ({"after": "2026-01-31T23:59:59+09:00"}, "2026-02-01", YES),
        ({"after": "2026-02-01T00:00:00+09:00"}, "2026-02-01", NO),
        ({"before": "2026-01-31T12:00:00+09:00"}, "2026-01-31T03:00:00Z", NO),
        ({"before": "2026-01-31T12:00:01+09:00"}, "2026-01-31T03:00:00Z", YES),
        ({"before": date(2026, 2, 1)}, date(2026, 1, 31), YES),
    ],
)
def test_by_hand(asked: dict[str, Any], value: Any, truth: int) -> None:
    """Each condition on a value, an equal one, another one, and none."""
    assert holds(asked, value) == truth


def test_a_lacking_operand() -> None:
    """Where the question has no value nobody knows, unless the document's field alone is asked."""
    rules = RuleSet.of({"r": {"f": {"not": {"query": "metadata.g"}, "missing": True}}})
    differs, lacks = rules.rules[0].conditions
    assert differs.holds("a", None, None) == OPEN
    assert lacks.holds("a", lacks.operand, None) == NO
    assert rules.rules[0].query_paths == ("metadata.g",)


def test_zones() -> None:
    """A time without zone is refused where it is compared, unless the rules name one."""
    with pytest.raises(DataError, match=r"'2026-01-31T09:00:00' has no time zone"):
        holds({"before": "2026-02-01"}, "2026-01-31T09:00:00")
    with pytest.raises(UsageError, match=r"r.metadata.f.before: '2026-01-31T09:00' has no time"):
        holds({"before": "2026-01-31T09:00"}, "2026-01-31")
    asked = {"before": "2026-01-31T00:30:00Z"}  # half past nine in Seoul
    assert holds(asked, "2026-01-31T09:00:00", timezone="Asia/Seoul") == YES
    assert holds(asked, "2026-01-31T10:00:00", timezone="Asia/Seoul") == NO
    assert holds(asked, "2026-01-30", timezone="Asia/Seoul") == YES  # ended at 15:00 Z
    assert holds({"before": "2026-01-30T15:00:00Z"}, "2026-01-30") == NO  # a day in UTC


@all_cases(
    ("rules", "message"),
    [
        (["a"], r"rules by name are expected"),
        ({"r": {}}, r"r: conditions are expected, not \{\}; write for example"),
        ({"r": {"f": "a"}}, r"r\.f: conditions are expected, not 'a'"),
        ({"r": {"f": {"nott": "a"}}}, r"r\.f\.nott: unknown condition; perhaps you meant 'not'"),
        ({"r": {"f": {"is": None}}}, r"r\.f\.is: a value is expected, not null; ask for"),
        ({"r": {"f": {"is": {"quary": "g"}}}}, r"r\.f\.is: a value or \{query: path\}"),
        ({"r": {"f": {"missing": "yes"}}}, r"r\.f\.missing: must be true or false, not 'yes'"),
        ({"r": {"f": {"before": "soon"}}}, r"r\.f\.before: a date, a time or a number"),
        ({"r": {"f": {"in": []}}}, r"r\.f\.in: an empty list"),
        ({"r": {"f": {"not": "metadata.g"}}}, r"r\.f\.not: .*; write \{query: metadata\.g\}"),
        ({"r": {"f": {"not": b"a"}}}, r"a text is expected, not the bytes b'a'"),
        ({"r": {"metadata.": {"is": 1}}}, r"no path to a field"),
        ({" ": {"f": {"is": 1}}}, r"a rule needs a name"),
        ({"timezone": "Seoul", "r": {"f": {"is": 1}}}, r"timezone: unknown time zone 'Seoul'"),
    ],
)
def test_refused(rules: Any, message: str) -> None:
    """What is no rule is an error with field, value and remedy."""
    with pytest.raises(UsageError, match=message):
        RuleSet.of(rules)


VALUES = st.sampled_from(
    [None, True, False, 0, 1, 1.0, 2, "1", "true", "a", "b", ["a"], ["a", 1], [True], []]
)
MOMENTS = st.datetimes(datetime(2026, 1, 1), datetime(2026, 1, 4)).map(
    lambda moment: moment.replace(minute=0, second=0, microsecond=0)
)


def _json(value: Any) -> Any:
    """What tells values apart: JSON does, but for whole numbers with a point."""
    if isinstance(value, list):
        return ["list", *map(_json, value)]
    return (type(value) is bool, float(value)) if isinstance(value, (int, float)) else value


def slow_holds(operator: str, value: Any, operand: Any) -> int:
    """The same of equality, written out."""
    if value is None or operand is None:
        return OPEN
    if operator in ("is", "not"):
        return int((_json(value) == _json(operand)) == (operator == "is"))
    values = value if isinstance(value, list) else [value]
    operands = operand if isinstance(operand, list) else [operand]
    meets = [one for one in values if _json(one) in [*map(_json, operands)]]
    return int(bool(meets) == (operator == "in"))


@examples(300)
@given(operator=st.sampled_from(["is", "not", "in", "not_in"]), value=VALUES, operand=VALUES)
def test_equality_is_that_of_json(operator: str, value: Any, operand: Any) -> None:
    """Values of any kind compare as their JSON does, but for 1 and 1.0; keys tell as much."""
    rules = RuleSet.of({"r": {"f": {operator: {"query": "g"}}}})
    ((condition,),) = (rule.conditions for rule in rules.rules)
    assert condition.holds(value, operand, None) == slow_holds(operator, value, operand)
    if distinct_key(value) == distinct_key(operand):
        assert _json(value) == _json(operand)


@examples(300)
@given(
    moments=st.tuples(MOMENTS, MOMENTS),
    are_days=st.tuples(st.booleans(), st.booleans()),
    operator=st.sampled_from(["before", "after"]),
)
def test_days_are_all_of_their_moments(
    moments: tuple[datetime, datetime], are_days: tuple[bool, bool], operator: str
) -> None:
    """One lies before another where each of its seconds does, in Seoul; days have 86,400."""
    texts, seconds = [], []
    for moment, is_day in zip(moments, are_days):
        whole = moment.replace(tzinfo=SEOUL)
        start = whole.replace(hour=0) if is_day else whole
        first = int(start.astimezone(UTC).timestamp())
        seconds.append(range(first, first + (86_400 if is_day else 1)))
        texts.append(str(moment.date()) if is_day else whole.isoformat())
    one, other = seconds if operator == "before" else seconds[::-1]
    expected = int(max(one) < min(other))
    assert holds({operator: texts[1]}, texts[0], timezone="Asia/Seoul") == expected
