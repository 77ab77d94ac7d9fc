"""Equal ids: the matcher `id`."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, repeat
from numbers import Integral
from typing import Annotated, Any, Self

import numpy as np

from kragx.data import Doc, look_alikes, told_apart, value_at
from kragx.data.batch import Batch, Entries
from kragx.data.stretches import ranges, starts
from kragx.errors import DataError
from kragx.matchers.arrays import ArrayMatcher
from kragx.matchers.base import IdsMatcher
from kragx.matchers.items import MatchItem, Target, Targets, items_of
from kragx.matchers.notes import Finding, Notes
from kragx.metrics import Floats
from kragx.plugins import fitting, is_text, optional
from kragx.printing import phrase

IdKey = Annotated[
    str | None,
    optional(fitting(is_text, "{!r} is not a metadata key or path such as 'metadata.parent_id'")),
]
ALIKE = "n_queries_ids_alike"
"""Counts questions with gold and retrieved ids that differ only by white space or Unicode form."""
APART = "n_queries_ids_apart"
"""Counts questions with ids to compare, where no id that was retrieved is any gold item's."""

_OWN = ("id", "metadata.id")  # where an id is, if no key says so


@dataclass
class Alike(Finding):
    """Questions with ids that only look equal: how many, and the first of them with its ids."""

    def problem(self) -> str:
        """How many there are."""
        n, names = self.counts["queries"], self.example
        ids = told_apart(names["gold"], names["id"])
        return phrase(
            "ids of gold and documents that only look equal in 1 question: {example}"
            if n == 1
            else "ids of gold and documents that only look equal in {n} questions: {example}",
            n=n,
            example=phrase("in {query!r} {ids}", query=names["query"], ids=ids),
        )


@dataclass
class Apart(Finding):
    """Whether any id that was retrieved, for whichever question, is a gold item's.

    Where none is, these are ids of two kinds rather than misses: a retriever that finds nothing
    still returns documents that are gold elsewhere.

    Attributes:
        counts: how many ``queries`` have ids to compare.
        example: a retrieved ``id``, a ``gold`` id, their ``query``, the document's ``keys``.
        gold: those of gold items, until one is met.
        retrieved: those of documents.
        met: whether an id is both, if only to the eye (`Alike`).
    """

    gold: set[str] = field(default_factory=set)
    retrieved: set[str] = field(default_factory=set)
    met: bool = False

    def meet(self) -> None:
        """Some id is both: nobody asks further, and there may be millions."""
        self.met, self.gold, self.retrieved = True, set(), set()

    def merge(self, later: Self) -> None:
        """Add those after these."""
        super().merge(later)
        pairs = ((later, later), (self, later), (later, self))  # those here are disjoint
        if self.met or later.met or not all(a.gold.isdisjoint(b.retrieved) for a, b in pairs):
            self.meet()
            return
        self.gold |= later.gold
        self.retrieved |= later.retrieved

    @property
    def are_made(self) -> bool:
        """Whether these are ids that a vector store made when documents were put into it."""
        return all(map(_is_uuid, self.retrieved)) and not any(map(_is_uuid, self.gold))

    def problem(self) -> str:
        """How many there are; nothing of a single miss."""
        n = self.counts["queries"]
        if self.met or n < (1 if self.are_made else 2):
            return ""
        return phrase(
            "no retrieved id is any gold id (questions compared: {n}): a vector store gives a "
            "UUID to each document that is added without an id, and no gold item has one: "
            "{example}; add "
            "documents with your ids, name the metadata key that holds yours with 'id_key', or "
            "compare texts: match 'overlap' or 'text'"
            if self.are_made
            else "no retrieved id is any gold id (questions compared: {n}): {example}; if the "
            "corpus was chunked anew, compare texts: match 'overlap', 'rouge2' or 'text'; if your "
            "ids stand elsewhere, name their metadata key with 'id_key' or 'gold_id_key'",
            n=n,
            example=phrase(
                "in {query!r} {id!r}{keys} was retrieved, {gold!r} is gold", **self.example
            ),
        )


@dataclass(frozen=True)
class IdMatcher(IdsMatcher, ArrayMatcher):
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

    def target_scores(self, batch: Batch, targets: Targets, notes: Notes) -> Floats:
        """1 where the ids are equal, else 0; note those that only look so, or none are."""
        doc_ids, target_ids = self._ids(batch, targets)
        n_docs, n_targets = batch.docs.texts.n_texts, targets.entries.texts.n_texts
        numbers: dict[Any, int] = {
            name: number for number, name in enumerate(dict.fromkeys(target_ids)) if name
        }
        docs, golds = (
            np.fromiter(map(numbers.get, ids, repeat(nobody)), np.int64, len(ids))
            for ids, nobody in ((doc_ids, -1), (target_ids, -2))
        )
        # Few documents have an id that is anybody's gold; each is laid beside its query's targets.
        n_beside = np.repeat(n_targets, n_docs)
        likely = np.flatnonzero(docs >= 0)
        target = ranges(np.repeat(starts(n_targets), n_docs)[likely], n_beside[likely])
        pair = ranges(starts(n_beside)[likely], n_beside[likely])
        scores = np.zeros(int(n_beside.sum()))
        scores[pair[np.repeat(docs[likely], n_beside[likely]) == golds[target]]] = 1.0
        finding = notes.finding(self.settings, APART, Apart)
        is_plain = _is_plain("".join(filter(None, chain(doc_ids, target_ids))))
        if scores.any() and not finding.met:
            finding.meet()
        if finding.met and is_plain:  # as a rule
            return scores
        last_doc, last_target = np.cumsum(n_docs).tolist(), np.cumsum(n_targets).tolist()
        for query in np.flatnonzero((n_docs > 0) & (n_targets > 0)).tolist():
            first = last_doc[query] - int(n_docs[query])
            own_docs: Any = doc_ids[first : last_doc[query]]
            own_targets = slice(last_target[query] - int(n_targets[query]), last_target[query])
            golds_of = target_ids[own_targets]
            gold_ids = [*filter(None, golds_of)]
            if not finding.met:
                metadata = batch.docs.metadata and batch.docs.metadata[first]
                names = {"query": batch.query_ids[query], "id": own_docs[0], "gold": gold_ids[0]}
                example = names | {"keys": _keys(metadata or {})}
                ids = {*gold_ids}, {*own_docs}
                finding.merge(Apart(Counter(queries=1), example, *ids))
            if not _is_plain("".join(chain(own_docs, gold_ids))):
                missed = _not_found(own_docs, golds_of, targets.gold[own_targets].tolist())
                alike = look_alikes(missed, own_docs)
                notes[ALIKE] += bool(alike)
                if alike:  # which is said by itself
                    finding.meet()
                    gold_id, doc_id = [*alike.items()][-1]
                    look_alike = notes.finding(self.settings, ALIKE, Alike)
                    look_alike.counts["queries"] += 1
                    if not look_alike.example:
                        names = {"query": batch.query_ids[query], "gold": gold_id, "id": doc_id}
                        look_alike.example = names
        return scores

    def _ids(
        self, batch: Batch, targets: Targets
    ) -> tuple[Sequence[str | None], Sequence[str | None]]:
        """The ids of all documents and targets; None of those that need none."""
        sides = (batch.docs, batch.golds)
        has_keys = (self.id_key, self.gold_id_key) != (None, None)
        if not has_keys and batch.golds.alternatives is None and all(map(_have_ids, sides)):
            return batch.docs.ids or (), batch.golds.ids or ()
        docs: list[str | None] = []
        golds: list[str | None] = []
        for item in items_of(batch):
            is_compared = bool(item.docs and item.targets)
            docs += self._doc_ids(item) if is_compared else [None] * len(item.docs)
            golds += self._gold_ids(item) if is_compared else [None] * len(item.targets)
        return docs, golds

    def check(self, notes: Notes) -> None:
        """Count the questions where no id of any is a gold item's, for whoever reads results."""
        finding = notes.finding(self.settings, APART, Apart)
        notes.update({APART: finding.counts["queries"]} if finding.problem() else {})

    def _doc_ids(self, item: MatchItem) -> list[str]:
        paths = _OWN if self.id_key is None else (self.id_key,)
        ids: list[str] = []
        for rank, doc in enumerate(item.docs, start=1):
            try:
                doc_id = _lookup(doc, paths)
            except DataError as error:
                raise error.within(path=f"query {item.query.id!r}, rank {rank}") from None
            if doc_id is None:
                names = _names(doc.metadata)
                raise DataError(
                    phrase(
                        "query {query!r}, rank {rank}: the document has no {key}; name the "
                        "metadata key that holds it with 'id_key' (it has: {names}), or compare "
                        "texts: match 'overlap' or 'text'"
                        if names
                        else "query {query!r}, rank {rank}: the document has no {key}; name the "
                        "metadata key that holds it with 'id_key', or compare texts: match "
                        "'overlap' or 'text'",
                        query=item.query.id,
                        rank=rank,
                        key=self.id_key or "id",
                        names=names,
                    )
                )
            ids.append(doc_id)
        return ids

    def _gold_ids(self, item: MatchItem) -> list[str | None]:
        key = self.gold_id_key or self.id_key
        defaults = _OWN if self.gold_id_key is None else ()
        paths = defaults if key is None else (key, *defaults)
        ids: list[str | None] = []
        for target in item.targets:
            try:
                ids.append(_lookup(target, paths))
            except DataError as error:
                place = f"query {item.query.id!r}, gold {target.gold + 1}"
                raise error.within(path=place) from None
        with_id = {target.gold for target, id_ in zip(item.targets, ids) if id_ is not None}
        for position in range(len(item.query.gold)):
            if position not in with_id:
                raise DataError(
                    phrase(
                        "query {query!r}, gold {n}: the gold item has no {key}; add it, name the "
                        "metadata key that holds it with 'gold_id_key', or compare texts: match "
                        "'overlap' or 'text'",
                        query=item.query.id,
                        n=position + 1,
                        key=key or "id",
                    )
                )
        return ids


_is_uuid = re.compile("[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}").fullmatch


def _names(metadata: Mapping[str, Any]) -> str:
    """The first metadata keys of a document."""
    return ", ".join(sorted(map(str, metadata))[:8])


def _keys(metadata: Mapping[str, Any]) -> str:
    """The same in brackets."""
    names = _names(metadata)
    return f" (it has: {names})" if names else ""


def _is_plain(ids: str) -> bool:
    """Whether no id of some, written one behind the other, can be another one to the eye."""
    return ids.split() == [ids] and unicodedata.is_normalized("NFC", ids)


def _have_ids(entries: Entries) -> bool:
    """Whether all have an id of their own that is not blank."""
    ids: Any = entries.ids or ()
    if entries.are_distinct:
        return True
    if len(ids) != len(entries.texts.numbers):
        return False
    try:
        joined = "".join(ids)  # the fastest way to see that all are texts
    except TypeError:
        return False
    has_spaces = joined.split() != [joined]
    return all(map(str.strip, ids)) if has_spaces else "" not in ids


def _not_found(
    docs: Sequence[str], targets: Sequence[str | None], gold: Sequence[int]
) -> Iterator[str]:
    """The ids of gold items of which no id was retrieved; `gold` says of which item each is."""
    retrieved = set(docs)
    hits = {position for target, position in zip(targets, gold) if target in retrieved}
    for target, position in zip(targets, gold):
        if target is not None and position not in hits:
            yield target


def _lookup(source: Doc | Target, paths: tuple[str, ...]) -> str | None:
    """The id at the first path of a document or gold item that has one, None if none has.

    ``id`` and ``metadata.<key>`` start at the document; any other path is a metadata key.
    """
    for path in paths:
        value = source.id if path == "id" else value_at(source.metadata, path)
        if isinstance(value, str) and not value.strip():  # all such would be one document
            raise DataError(f"id_key {path!r}: the id is empty; remove it or fill it in")
        if not isinstance(value, bool) and isinstance(value, (str, Integral)):
            return str(value)
        if value is not None:
            raise DataError(
                f"id_key {path!r}: {value!r} is not an id; it must be a string or whole number"
            )
    return None
