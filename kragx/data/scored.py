"""Qrels and a run as mappings of mappings, which become batches without an object for any of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import chain
from math import isinf, isnan, nan
from typing import Any, Literal, Self, TypeGuard

import numpy as np

from kragx.data.batch import AT_ONCE, Batch, Row, in_rows
from kragx.data.entries import NO_TEXT, Entries
from kragx.data.lists import Floats, Lists, interned_texts
from kragx.ground.errors import DataError, shorten

Scores = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True)
class Scored:
    """Qrels and a run, ``{query: {document: grade}}`` and ``{query: {document: score}}``, copied.

    Documents are ranked by score, ties by id descending (as UTF-8 bytes). The questions are those
    of the qrels, in their order.

    Attributes:
        query_ids: of the questions.
        golds, docs: their gold items and documents.
        is_answered: whether the run has each question.
        n_extra: how many questions of the run are none of these.
    """

    query_ids: tuple[str, ...]
    golds: Entries
    docs: Entries
    is_answered: tuple[bool, ...]
    n_extra: int

    @classmethod
    def of(cls, qrels: object, run: object) -> Self | None:
        """These; None of whatever is no such mapping, or has keys that are no ids.

        Raises:
            DataError: a grade is no finite number, or a score is none; or grades stand for the run,
                and scores for the qrels.
        """
        if not (are_scores(qrels) and are_scores(run)):
            return None
        query_ids, nothing = tuple(qrels), dict[str, float]()
        rankings = {query_id: run.get(query_id, nothing) for query_id in query_ids}
        extra = {query_id: run[query_id] for query_id in run.keys() - qrels.keys()}
        golds, docs = _entries(qrels, "grade"), _entries(rankings, "score")
        _entries(extra, "score")
        if docs.values.size and _are_whole(docs.values) and not _are_whole(golds.values):
            raise DataError(
                "the gold set holds fractions, as scores are, and the run whole numbers, as grades "
                "are; pass the gold set first, then the run"
            )
        is_answered = tuple(map(run.__contains__, query_ids))
        return cls(query_ids, golds, docs.ranked(), is_answered, len(extra))

    def __iter__(self) -> Iterator[Row]:
        return in_rows(self.batches())

    def batches(self) -> Iterator[Batch]:
        """The questions, many at once."""
        for first in range(0, len(self.query_ids), AT_ONCE):
            part = slice(first, first + AT_ONCE)
            query_ids = self.query_ids[part]
            nothing = [None] * len(query_ids)
            yield Batch(
                lines=nothing,
                query_ids=query_ids,
                questions=nothing,
                golds=self.golds.part(part),
                docs=self.docs.part(part),
                statuses=["answered" if flag else "missing" for flag in self.is_answered[part]],
                seconds=nothing,
            )


def are_scores(value: object) -> TypeGuard[Scores]:
    """Whether a value is a mapping of mappings, all of whose keys are ids; lists are no scores."""
    if not (isinstance(value, Mapping) and value):
        return False
    mappings = value.values()
    if not all(issubclass(kind, Mapping) for kind in {*map(type, mappings)}):
        return False
    kinds = {*map(type, chain.from_iterable([mapping.values() for mapping in mappings]))}
    if not all(hasattr(kind, "__float__") or kind in (str, type(None)) for kind in kinds):
        return False  # answers of chains, or of databases; a text or None is a mistake in a score
    return _are_ids([*value]) and _are_ids([*chain.from_iterable(mappings)])


def _are_ids(keys: list[Any]) -> bool:
    """Whether all keys are texts that are not blank."""
    try:
        joined = "".join(keys)  # the fastest way to see that all are texts
    except TypeError:
        return False
    has_spaces = bool(joined) and joined.split() != [joined]
    return all(map(str.strip, keys)) if has_spaces else "" not in keys


def _entries(scores: Scores, field: Literal["grade", "score"]) -> Entries:
    """Documents, or gold items, that are ids with numbers.

    Raises:
        DataError: one is no number, or a grade is not finite.
    """
    mappings = scores.values()
    numbers = [*chain.from_iterable([mapping.values() for mapping in mappings])]
    values = np.array([nan])
    with suppress(OverflowError):
        if {*map(type, numbers)} <= {int, float}:
            values = np.array(numbers, np.float64)
    if not np.isfinite(values).all():  # as of infinite scores, or of numbers of other kinds
        entries = ((key, *entry) for key, mapping in scores.items() for entry in mapping.items())
        values = np.array([_number(*entry, field) for entry in entries], np.float64)
    sizes = np.fromiter(map(len, mappings), np.int64, len(mappings))
    textless = Lists(interned_texts().texts, np.full(len(numbers), NO_TEXT, np.int64), sizes)
    return Entries(textless, [*chain.from_iterable(mappings)], values, are_distinct=True)


def _are_whole(values: Floats) -> bool:
    return bool((np.floor(values) == values).all())


_NUMBERS = (int, float, np.integer, np.floating, Fraction, Decimal)


def _number(query_id: str, document: str, value: Any, field: Literal["grade", "score"]) -> float:
    """A grade, which is finite, or a score."""
    is_grade = field == "grade"
    with suppress(OverflowError):
        number = float(value) if isinstance(value, _NUMBERS) else nan
        if not (isinstance(value, bool) or isnan(number) or (is_grade and isinf(number))):
            return number
    kind = "finite number" if is_grade else "number"
    raise DataError(
        "query {query_id!r}: the {name} of {document!r} must be a {kind}, not {value}",
        query_id=query_id,
        name=field,
        document=document,
        kind=kind,
        value=shorten(value),
    )
