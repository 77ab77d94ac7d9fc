"""Equal ids: the matcher `id`."""

import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, compress, repeat
from numbers import Integral
from typing import Annotated, Any, Self

import numpy as np

from kragx.data import id_difference, look_alikes, value_at
from kragx.data.batch import Batch
from kragx.data.entries import Entries
from kragx.data.gold import gold_place, rank_place
from kragx.data.lists import Lists
from kragx.data.tokens import of_pairs
from kragx.ground.errors import DataError
from kragx.ground.options import fitting, is_text, optional
from kragx.ground.printing import message
from kragx.matchers.base import IdsMatcher, Trace
from kragx.matchers.items import Diagnostic, Diagnostics, Targets
from kragx.metrics import Bools

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
class IdLookalike(Diagnostic):
    """Questions with ids that only look equal: how many, and the first of them with its ids."""

    def problem(self) -> str:
        """How many there are."""
        n, names = self.counts["queries"], self.example
        return message(
            "ids of gold and documents that only look equal in 1 question: {example}"
            if n == 1
            else "ids of gold and documents that only look equal in {n} questions: {example}",
            n=n,
            example=message(
                "in {query!r} {ids}",
                query=names["query"],
                ids=id_difference(names["gold"], names["id"]),
            ),
        )


@dataclass
class IdMismatch(Diagnostic):
    """Whether any id that was retrieved, for whichever question, is a gold item's.

    Where none is, these are ids of two kinds rather than misses: a retriever that finds nothing
    still returns documents that are gold elsewhere.

    Attributes:
        counts: how many ``queries`` have ids to compare.
        example: a retrieved ``id``, a ``gold`` id, their ``query``.
        gold: those of gold items, until one is met.
        retrieved: those of documents.
        met: whether an id is both, if only to the eye (`IdLookalike`).
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

    def problem(self) -> str:
        """How many there are; nothing of a single miss."""
        n = self.counts["queries"]
        if self.met or n < 2:
            return ""
        return message(
            "no retrieved id is any gold id (questions compared: {n}): {example}; if the corpus "
            "was chunked anew, or a vector store made its ids, compare texts: match 'overlap', "
            "'rouge2' or 'text'; if your ids stand elsewhere, name their metadata key with "
            "'id_key' or 'gold_id_key'",
            n=n,
            example=message("in {query!r} {id!r} was retrieved, {gold!r} is gold", **self.example),
        )


@dataclass(frozen=True)
class IdMatcher(IdsMatcher):
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

    def score_batch(self, batch: Batch, diagnostics: Diagnostics, wanted: Bools) -> Trace:
        """1 where the ids are equal, else 0; note those that only look so, or none are."""
        targets = Targets.of(batch.golds)
        docs, golds = batch.docs.texts, targets.entries.texts
        is_compared: Bools = (docs.n_texts > 0) & (golds.n_texts > 0)
        doc_ids = self._doc_ids(batch, is_compared)
        target_ids = self._target_ids(batch, targets, is_compared)
        number_of = {name: number for number, name in enumerate({*target_ids} - {None})}
        of_docs, of_targets = (  # who has no id has a number of which there is no other
            np.fromiter(map(number_of.get, ids, repeat(nobody)), np.int64, len(ids))
            for ids, nobody in ((doc_ids, -1), (target_ids, -2))
        )
        doc, target = of_pairs(docs.n_texts, golds.n_texts)
        is_same = of_docs[doc] == of_targets[target]
        diagnostic = diagnostics.diagnostic(self.settings, APART, IdMismatch)
        if is_same.any():
            diagnostic.meet()
        # Once some id has met, nothing about the others is of interest, and they may be millions.
        if not diagnostic.met and is_compared.any():
            of_docs_compared = [*compress(doc_ids, is_compared[docs.of_text].tolist())]
            of_golds = [*filter(None, compress(target_ids, is_compared[golds.of_text].tolist()))]
            query = batch.query_ids[int(is_compared.argmax())]
            example = {"query": query, "id": of_docs_compared[0] or "", "gold": of_golds[0]}
            ids = {*of_golds}, {*filter(None, of_docs_compared)}
            diagnostic.merge(IdMismatch(Counter(queries=int(is_compared.sum())), example, *ids))
        # As a rule no id can be another one to the eye.
        letters = "".join(filter(None, chain(doc_ids, target_ids)))
        if letters.split() not in ([], [letters]) or not unicodedata.is_normalized("NFC", letters):
            self._note_alike(batch, targets, doc_ids, target_ids, diagnostics)
        return Trace(self, is_same.astype(np.float64), wanted)

    def _note_alike(
        self,
        batch: Batch,
        targets: Targets,
        doc_ids: Sequence[str | None],
        target_ids: Sequence[str | None],
        diagnostics: Diagnostics,
    ) -> None:
        """Note the questions with an id that nobody retrieved, but for one that looks the same."""
        docs, golds, gold_of = batch.docs.texts, targets.entries.texts, targets.gold.tolist()
        for query, query_id in enumerate(batch.query_ids):
            retrieved = dict.fromkeys(filter(None, doc_ids[_places(docs, query)]))
            places = _places(golds, query)
            ids = [*zip(target_ids[places], gold_of[places])]
            hits = {gold for target_id, gold in ids if target_id in retrieved}
            missed = (target_id for target_id, gold in ids if target_id and gold not in hits)
            alike = look_alikes(missed, retrieved)
            diagnostics[ALIKE] += bool(alike)
            if alike:
                diagnostics.diagnostic(
                    self.settings, APART, IdMismatch
                ).meet()  # it is said by itself
                gold_id, doc_id = [*alike.items()][-1]
                example = {"query": query_id, "gold": gold_id, "id": doc_id}
                diagnostic = diagnostics.diagnostic(self.settings, ALIKE, IdLookalike)
                diagnostic.merge(IdLookalike(Counter(queries=1), example))

    def check(self, diagnostics: Diagnostics) -> None:
        """Count the questions where no id of any is a gold item's, for whoever reads results."""
        diagnostic = diagnostics.diagnostic(self.settings, APART, IdMismatch)
        diagnostics.update({APART: diagnostic.counts["queries"]} if diagnostic.problem() else {})

    def _doc_ids(self, batch: Batch, is_compared: Bools) -> Sequence[str | None]:
        """Those of all documents; None of those that need none."""
        texts = batch.docs.texts
        paths = _OWN if self.id_key is None else (self.id_key,)
        ids = _ids(
            batch.docs, paths, is_compared, lambda row: rank_place(*_place(batch, texts, row))
        )
        needs = is_compared[texts.of_text].tolist() if None in ids else ()
        for row in (row for row, is_needed in enumerate(needs) if is_needed and ids[row] is None):
            names = first_keys((batch.docs.metadata and batch.docs.metadata[row]) or {})
            place = rank_place(*_place(batch, texts, row))
            raise _lacking(place, self.id_key, "id_key", names)
        return ids

    def _target_ids(
        self, batch: Batch, targets: Targets, is_compared: Bools
    ) -> Sequence[str | None]:
        """Those of all gold items and alternatives; None of those that need none."""
        golds = batch.golds.texts
        key = self.gold_id_key or self.id_key
        defaults = _OWN if self.gold_id_key is None else ()
        paths = defaults if key is None else (key, *defaults)
        ids = _ids(
            targets.entries,
            paths,
            is_compared,
            lambda row: gold_place(*_place(batch, golds, int(targets.gold[row]))),
        )
        has_id = np.array([target_id is not None for target_id in ids], bool)
        n_ids = np.bincount(targets.gold[has_id], minlength=len(golds.numbers))
        for item in np.flatnonzero((n_ids == 0) & is_compared[golds.of_text]).tolist():
            raise _lacking(gold_place(*_place(batch, golds, item)), key, "gold_id_key")
        return ids


def _lacking(place: str, key: str | None, option: str, names: str = "") -> DataError:
    """The error for a document or gold item without what ids are compared by."""
    return DataError(
        "{place}: no {key}; name the metadata key that holds it with {option!r} (it has: {names}), "
        "or compare texts: match 'overlap' or 'text'",
        place=place,
        key=key or "id",
        option=option,
        names=names or "-",
    )


def _place(batch: Batch, texts: Lists, row: int) -> tuple[str, int]:
    """Where an entry of a batch stands: its query's id, and its number there."""
    query = texts.of_text[row]
    return batch.query_ids[query], int(row - texts.starts[query]) + 1


def first_keys(metadata: Mapping[str, Any]) -> str:
    """The first metadata keys of a document."""
    return ", ".join(sorted(map(str, metadata))[:8])


def _places(texts: Lists, query: int) -> slice:
    """Where what a query has stands among that of all."""
    first = int(texts.starts[query])
    return slice(first, first + int(texts.n_texts[query]))


def _ids(
    entries: Entries, paths: tuple[str, ...], is_compared: Bools, place: Callable[[int], str]
) -> Sequence[str | None]:
    """The id of each entry at the first of some paths that it has; None if it has none.

    ``id`` and ``metadata.<key>`` start at the entry; any other path is a metadata key. Entries of
    queries that are not compared need none.
    """
    nothing = [None] * len(entries.texts.numbers)
    own_ids = nothing if entries.ids is None else entries.ids
    are_own = paths[0] == "id" and (
        entries.are_distinct or all(isinstance(name, str) and name.strip() for name in own_ids)
    )
    if are_own:
        return own_ids
    metadata = nothing if entries.metadata is None else entries.metadata
    needs = is_compared[entries.texts.of_text].tolist()
    ids: list[str | None] = []
    for row, (own_id, about, is_needed) in enumerate(zip(own_ids, metadata, needs)):
        values = (own_id if path == "id" else value_at(about or {}, path) for path in paths)
        try:
            ids_found = filter(None, map(_as_id, paths, values)) if is_needed else ()
            ids.append(next(iter(ids_found), None))
        except DataError as error:
            raise error.within(path=place(row)) from None
    return ids


def _as_id(path: str, value: object) -> str | None:
    """A value at a path as an id; None for none.

    Raises:
        DataError: it is none.
    """
    if isinstance(value, str) and not value.strip():  # all such would be one document
        raise DataError("id_key {place!r}: the id is empty; remove it or fill it in", place=path)
    if not isinstance(value, bool) and isinstance(value, (str, Integral)):
        return str(value)
    if value is None:
        return None
    raise DataError(
        "id_key {place!r}: {value!r} is not an id; it must be a string or whole number",
        place=path,
        value=value,
    )
