"""Slices: the queries that have the same value of a field."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from kragx.data import GoldDataset, Query, normalise, value_at
from kragx.ground.errors import UsageError, nearest

MOST = 100
"""A field with more values than this tells queries apart; it does not group them."""

_MOST_VALUES = 12
_MOST_FIELDS = 6
_LEAST = 2
_PLAIN = ("query_type", "expected_doc_types", "answerable", "turn")
_FIELDS = (*_PLAIN, "reference", "text", "id")


def sliced(
    queries: Sequence[Query], fields: Iterable[str]
) -> Iterator[tuple[str, str | None, list[int]]]:
    """Put queries into slices.

    Args:
        queries: the queries, in order.
        fields: of a query (``query_type``, ``expected_doc_types``, ``answerable``, ``turn``) or of
            its metadata, as a path: ``metadata.difficulty``, or ``difficulty`` for short.

    Yields:
        (field, value as text or None, positions of its queries): larger slices first, then by
        value; the queries without a value last. A list of values puts a query into several slices.

    Raises:
        UsageError: no query has the field, it holds mappings, or it has more than `MOST` values.
    """
    for field in dict.fromkeys(fields):
        groups = grouped(_values(query, field) for query in queries)
        if set(groups) <= {None}:
            raise no_value(field, _present(queries))
        yield from ordered(field, groups)


def grouped(values: Iterable[Iterable[str | None]]) -> dict[str | None, list[int]]:
    """The positions of those that have each value; each may have several."""
    groups: dict[str | None, list[int]] = {}
    for position, of_query in enumerate(values):
        for value in of_query:
            groups.setdefault(value, []).append(position)
    return groups


def ordered(
    field: str, groups: Mapping[str | None, list[int]]
) -> Iterator[tuple[str, str | None, list[int]]]:
    """The slices by a field in the order of `sliced`; a `UsageError` if there are too many."""
    if len(groups) > MOST:
        raise UsageError(
            f"slices: {field!r} has {len(groups)} different values, and at most {MOST} make "
            "slices; name a field that groups queries"
        )
    for value in sorted(groups, key=lambda value: (value is None, -len(groups[value]), value)):
        yield field, value, groups[value]


def no_value(field: str, names: Iterable[str]) -> UsageError:
    """The error of a field that no query has a value of."""
    fields = list(names)
    hint = nearest(field, fields) if fields else "they have no field to slice by"
    return UsageError(f"slices: no query has a value of {field!r}; {hint}")


def _values(query: Query, field: str) -> list[str | None]:
    """The values of a field as text, each once; [None] for a query without one."""
    value = getattr(query, field) if field in _FIELDS else value_at(query.metadata, field)
    if field == "turn" and field in query.metadata:  # what the user has counted
        value = query.metadata[field]
    values = value if isinstance(value, (list, tuple, set, frozenset)) else [value]
    texts = dict.fromkeys(_as_text(value, field) for value in values)
    return [text for text in texts if text is not None] or [None]


def _as_text(value: Any, field: str) -> str | None:
    """A value as text; None for what says nothing: null, and text of white space."""
    if isinstance(value, Mapping):
        inner = next(iter(value), "name")
        raise UsageError(
            f"slices: {field!r} holds a mapping; name one of its values: {field}.{inner}"
        )
    if value is None:
        return None
    return normalise(json.dumps(value) if isinstance(value, (int, float)) else str(value)) or None


def _present(queries: Sequence[Query]) -> list[str]:
    """The fields that some query has a value of, the most frequent first."""
    counts = Counter(
        name
        for query in queries
        for name in (
            *(
                name
                for name in _PLAIN
                if getattr(query, name) not in (None, ()) and (name != "turn" or query.history)
            ),
            *(f"metadata.{name}" for name in query.metadata),
        )
    )
    return [name for name, _ in counts.most_common()]


def fields_worth_slicing(dataset: GoldDataset | None) -> tuple[str, ...]:
    """The fields worth slicing by where none are named: those with a few values that repeat.

    A field counts if it has 2 to 12 values and, on average, at least two queries a value. Numbers
    that are no whole ones measure, as ``leak`` does, and group nothing.
    """
    if dataset is None:
        return ()
    entries = [entry for query in dataset for entry in query.metadata.items()]
    measures = {name for name, value in entries if isinstance(value, float) and value % 1}
    fields = []
    named = (f"metadata.{name}" for name in dict(entries) if name not in measures)
    for field in dict.fromkeys((*_PLAIN, *named)):
        try:
            values = {value for _, value, _ in sliced(dataset.queries, [field])} - {None}
        except UsageError:  # no value at all, a mapping, or too many
            continue
        if _LEAST <= len(values) <= min(_MOST_VALUES, len(dataset) / _LEAST):
            fields.append(field)
    return tuple(fields[:_MOST_FIELDS])
