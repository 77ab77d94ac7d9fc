"""Slices: the queries that have the same value of a field."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
    yield from by_field(
        fields,
        lambda field: (_values(query, field) for query in queries),
        lambda: _present(queries),
    )


def by_field(
    fields: Iterable[str],
    values_of: Callable[[str], Iterable[Iterable[str | None]]],
    present: Callable[[], Sequence[str]],
) -> Iterator[tuple[str, str | None, list[int]]]:
    """The slices by each field, as `sliced`.

    Args:
        fields: their names.
        values_of: of a field the values of each query, which may be several.
        present: the fields that some query has a value of.
    """
    # A field that is named twice would be corrected over twice as many tests.
    for field in dict.fromkeys(fields):
        groups: dict[str | None, list[int]] = {}
        for position, values in enumerate(values_of(field)):
            for value in values:
                groups.setdefault(value, []).append(position)
        if set(groups) <= {None}:
            names = present()
            hint = nearest(field, names) if names else "they have no field to slice by"
            raise UsageError(f"slices: no query has a value of {field!r}; {hint}")
        if len(groups) > MOST:
            raise UsageError(
                f"slices: {field!r} has {len(groups)} different values, and at most {MOST} make "
                "slices; name a field that groups queries"
            )
        for value in sorted(groups, key=lambda value: (value is None, -len(groups[value]), value)):
            yield field, value, groups[value]


def _values(query: Query, field: str) -> list[str | None]:
    """The values of a field as text, each once; [None] for a query without one."""
    value = getattr(query, field) if field in _FIELDS else value_at(query.metadata, field)
    if field == "turn" and field in query.metadata:  # what the user has counted
        value = query.metadata[field]
    values = value if isinstance(value, (list, tuple, set, frozenset)) else [value]
    # Several spellings of one value may come out alike; a query is in a slice once.
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
    # One broken number is enough: the whole ones among measured values are chance.
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
