"""Which queries: joined by id, in slices that have one value of a field, and in tables of files.

A table is a Parquet file, a row a question: ``query_id``, fields to slice by, and a column for each
metric by its canonical name; `kragx.evaluation` writes them. Several follow one another.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from kragx.comparison.statistics.evidence import of_rows, rows_of
from kragx.data import GoldDataset, Query, normalise, value_at
from kragx.ground.errors import DataError, UsageError, nearest
from kragx.metrics import Floats

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
        groups = defaultdict[str | None, list[int]](list)
        for position, values in enumerate(values_of(field)):
            for value in values:
                groups[value].append(position)
        _check_groups(field, groups, present)
        for value in sorted(groups, key=lambda value: (value is None, -len(groups[value]), value)):
            yield field, value, groups[value]


def _check_groups(
    field: str, values: Collection[str | None], present: Callable[[], Sequence[str]]
) -> None:
    """A field by which queries have no value, or too many, makes no slices."""
    if {*values} <= {None}:
        names = present()
        hint = nearest(field, names) if names else "they have no field to slice by"
        raise UsageError("slices: no query has a value of {name!r}; {hint}", name=field, hint=hint)
    if len(values) > MOST:
        raise UsageError(
            "slices: {name!r} has {n_groups} different values, and at most {most} make "
            "slices; name a field that groups queries",
            name=field,
            n_groups=len(values),
            most=MOST,
        )


def _values(query: Query, field: str) -> list[str | None]:
    """The values of a field as text, each once; [None] for a query without one."""
    value = getattr(query, field) if field in _FIELDS else value_at(query.metadata, field)
    if field == "turn" and field in query.metadata:  # what the user has counted
        value = query.metadata[field]
    return _texts(value, field)


def _texts(value: Any, field: str) -> list[str | None]:
    """A value, or several, as text, each once; [None] for none."""
    values = value if isinstance(value, (list, tuple, set, frozenset)) else [value]
    # Several spellings of one value may come out alike; a query is in a slice once.
    texts = dict.fromkeys(_as_text(value, field) for value in values)
    return [text for text in texts if text is not None] or [None]


def _as_text(value: Any, field: str) -> str | None:
    """A value as text; None for what says nothing: null, and text of white space."""
    if isinstance(value, Mapping):
        raise UsageError(
            "slices: {name!r} holds a mapping; name one of its values: {name}.{inner}",
            name=field,
            inner=next(iter(value), "name"),
        )
    text = json.dumps(value) if isinstance(value, (int, float)) else str(value)
    return None if value is None else normalise(text) or None


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
            *(f"metadata.{name}" for name, value in query.metadata.items() if value is not None),
        )
    )
    return [name for name, _ in counts.most_common()]


def fields_worth_slicing(dataset: GoldDataset | None) -> tuple[str, ...]:
    """The fields worth slicing by where none are named: those with a few values that repeat.

    A field counts if it has 2 to 12 values and, on average, at least two queries a value. Numbers
    that are no whole ones measure, as ``leak`` does, and group nothing.
    """
    queries = () if dataset is None else dataset.queries
    entries = [entry for query in queries for entry in query.metadata.items()]
    # One broken number is enough: the whole ones among measured values are chance.
    measures = {name for name, value in entries if isinstance(value, float) and value % 1}
    fields = []
    named = (f"metadata.{name}" for name in dict(entries) if name not in measures)
    for field in dict.fromkeys((*_PLAIN, *named)):
        try:
            values = {value for _, value, _ in sliced(queries, [field])} - {None}
        except UsageError:  # no value at all, a mapping, or too many
            continue
        if _LEAST <= len(values) <= min(_MOST_VALUES, len(queries) / _LEAST):
            fields.append(field)
    return tuple(fields[:_MOST_FIELDS])


@dataclass(frozen=True)
class Tables:
    """Tables of one retriever under one matcher, in the order of their questions.

    Attributes:
        paths: the files.
    """

    paths: tuple[Path, ...]

    @cached_property
    def _parts(self) -> list[Any]:
        from pyarrow import ArrowException, parquet

        parts = []
        for path in self.paths:
            try:
                parts.append(parquet.read_table(path))
            except (OSError, ArrowException) as error:
                raise DataError(
                    "cannot be read as Parquet: {error}", path=str(path), error=error
                ) from None
        return parts

    @cached_property
    def _whole(self) -> Any:
        import pyarrow

        # A field that no question of a table has may be missing there: it is null.
        return pyarrow.concat_tables(self._parts, promote_options="default")

    @cached_property
    def query_ids(self) -> tuple[str, ...]:
        """The ids of all questions."""
        return tuple(self._whole["query_id"].to_pylist())

    def values(self, name: str) -> Floats:
        """(q) a metric's values; NaN where a question has none.

        Raises:
            DataError: a table lacks the metric.
        """
        for path, table in zip(self.paths, self._parts):
            if name not in table.column_names:
                raise DataError("has no column {name!r}; score it anew", path=str(path), name=name)
        return self._whole[name].to_numpy()  # type: ignore[no-any-return]  # null becomes NaN

    @property
    def weights(self) -> Floats | None:
        """(q) the column ``weight``; None without one, and where all are alike."""
        if "weight" not in self._whole.column_names:
            return None
        return of_rows(self._whole["weight"].to_numpy(), None)

    def sliced(
        self, query_ids: Sequence[str], fields: Iterable[str]
    ) -> Iterator[tuple[str, str | None, list[int]]]:
        """The groups of some of the questions by each field, as `slices.sliced`.

        Raises:
            UsageError: no question has a value of a field, or a field has too many.
        """
        # Groups are taken column by column: questions as objects would be millions of them.
        rows, names = rows_of(query_ids, self.query_ids), self._whole.column_names

        def values_of(field: str) -> Iterable[Iterable[str | None]]:
            for name in [name for name in (field, f"metadata.{field}") if name in names][:1]:
                column = self._whole[name] if rows is None else self._whole[name].take(rows)
                return (_texts(value, field) for value in column.to_pylist())
            return ()

        # And neither by metrics nor by what became of a question.
        groups = [name for name in names if name == "query_type" or name.startswith("metadata.")]
        present = [name for name in groups if self._whole[name].null_count < len(self._whole)]
        return by_field(fields, values_of, lambda: present)
