"""The matcher `id`: the same id, wherever documents and gold keep it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from kragx.data.documents import Doc, value_at
from kragx.errors import DataError, UsageError
from kragx.matchers.base import BaseMatcher
from kragx.matchers.items import MatchItem, Notes, Target
from kragx.metrics.table import Floats
from kragx.plugins import optional


def _key(value: object) -> object:
    if not (isinstance(value, str) and value):
        raise UsageError(f"{value!r} is not a metadata key or path such as 'metadata.parent_id'")
    return value


IdKey = Annotated[str | None, optional(_key)]


@dataclass(frozen=True)
class IdMatcher(BaseMatcher):
    """Equal ids.

    Attributes:
        id_key: where a retrieved document keeps its id: a metadata key, or a path such as
            ``metadata.parent_id`` (so that a parent or a page is the unit). Default: the
            document's own id, else ``metadata.id``.
        gold_id_key: the same for gold. Default: as `id_key`, else the gold item's own id.
    """

    id_key: IdKey = None
    gold_id_key: IdKey = None
    name = "id"
    reads = "ids"
    yes_or_no = True

    def scores(self, items: Iterable[MatchItem], notes: Notes) -> Iterator[Floats]:
        """Yield 1 where the ids are equal, else 0."""
        for item in items:
            if not (item.docs and item.targets):
                yield np.zeros((len(item.docs), len(item.targets)))
                continue
            yield _equal(self._doc_ids(item), self._gold_ids(item))

    def _doc_ids(self, item: MatchItem) -> list[str]:
        if self.id_key is None and all(doc.id is not None for doc in item.docs):
            return [doc.id for doc in item.docs if doc.id is not None]
        ids: list[str] = []
        for rank, doc in enumerate(item.docs, start=1):
            doc_id = doc.id if self.id_key is None else None
            if doc_id is None:
                doc_id = _lookup(doc, self.id_key or "metadata.id")
            if doc_id is None:
                raise DataError(
                    f"query {item.query.id!r}, rank {rank}: the document has no "
                    f"{self.id_key or 'id'}; name the metadata key that holds it with 'id_key'"
                    f"{_keys(doc.metadata)}, or compare texts: match 'overlap' or 'text'"
                )
            ids.append(doc_id)
        return ids

    def _gold_ids(self, item: MatchItem) -> list[str | None]:
        key = self.gold_id_key or self.id_key
        ids = [target.id if key is None else _lookup(target, key) for target in item.targets]
        if self.gold_id_key is None:
            fallback = [target.id or _lookup(target, "metadata.id") for target in item.targets]
            ids = [own if own is not None else other for own, other in zip(ids, fallback)]
        with_id = {target.gold for target, own in zip(item.targets, ids) if own is not None}
        for position in range(len(item.query.gold)):
            if position not in with_id:
                raise DataError(
                    f"query {item.query.id!r}, gold {position + 1}: the gold item has no "
                    f"{key or 'id'}; add it, name the metadata key that holds it with "
                    "'gold_id_key', or compare texts: match 'overlap' or 'text'"
                )
        return ids


def _equal(docs: Sequence[str], targets: Sequence[str | None]) -> Floats:
    """1 where a document's key equals a target's, else 0; None equals nothing."""
    scores = np.zeros((len(docs), len(targets)))
    columns: dict[str, list[int]] = {}
    for column, key in enumerate(targets):
        if key is not None:
            columns.setdefault(key, []).append(column)
    for row, key in enumerate(docs):
        for column in columns.get(key, ()):
            scores[row, column] = 1.0
    return scores


def _lookup(source: Doc | Target, path: str) -> str | None:
    """The id at a path of a document or gold item, None if there is none.

    ``id`` and ``metadata.<key>`` start at the document; any other path is a metadata key.
    """
    if path == "id":
        return source.id
    value = value_at(source.metadata, path)
    if value is None:
        return None
    if isinstance(value, (str, int)) and not isinstance(value, bool):
        return str(value)
    raise DataError(f"id_key {path!r}: {value!r} is not an id; it must be a string or whole number")


def _keys(metadata: Mapping[str, Any]) -> str:
    names = ", ".join(sorted(map(str, metadata))[:8])
    return f" (it has: {names})" if names else ""
