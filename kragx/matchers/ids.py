"""Equal ids: the matcher `id`."""

import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, compress, repeat
from numbers import Integral
from operator import itemgetter
from typing import Annotated, Any, Self

import numpy as np

from kragx.data import id_difference, normalise, value_at
from kragx.data.batch import Batch
from kragx.data.entries import Entries
from kragx.data.gold import gold_place, rank_place
from kragx.data.lists import Lists, distinct
from kragx.data.tokens import of_pairs
from kragx.ground.errors import DataError
from kragx.ground.options import fitting, is_text, optional
from kragx.ground.printing import message, plural
from kragx.matchers.base import IdsMatcher, Trace
from kragx.matchers.items import Diagnostic, Diagnostics, Targets, first_same
from kragx.metrics import Bools, Ints

IdKey = Annotated[
    str | None,
    optional(
        fitting(is_text, "{value!r} is not a metadata key or path such as 'metadata.parent_id'")
    ),
]
ALIKE = "n_queries_ids_alike"
"""Counts questions with gold and retrieved ids that differ only by white space or Unicode form."""
APART = "n_queries_ids_apart"
"""Counts questions with ids to compare, where no id that was retrieved is any gold item's."""

_Mistake = tuple[int, DataError]  # with the place of its question in the batch
_OWN = ("id", "metadata.id")  # where an id is, if no key says anything else


@dataclass
class IdLookalike(Diagnostic):
    """Questions with ids that only look equal: how many, and the first of them with its ids."""

    def problem(self) -> str:
        """How many there are."""
        n, names = self.counts["queries"], self.example
        return plural(
            n,
            "ids of gold and documents that only look equal in 1 question: {example}",
            "ids of gold and documents that only look equal in {n} questions: {example}",
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
        mistakes: list[_Mistake] = []
        names = batch.query_ids, is_compared, mistakes
        doc_ids = self._doc_ids(batch, is_compared, mistakes)
        own = () if self.gold_id_key else _OWN
        paths = (*_paths(self.gold_id_key or self.id_key), *own)
        of_golds = batch.golds.texts, targets.gold, paths, "gold_id_key", gold_place
        target_ids = _ids(targets.entries, *of_golds, *names)
        _raise_first(mistakes)
        doc, target = of_pairs(docs.n_texts, golds.n_texts)
        of_docs, of_targets = _numbers(doc_ids, target_ids)
        is_same = of_docs[doc] == of_targets[target]
        diagnostic = diagnostics.diagnostic(self.settings, APART, IdMismatch)
        if is_same.any():
            diagnostic.meet()
        # Once some id has met, nothing about the others is of interest, and they may be millions.
        if not diagnostic.met and is_compared.any():
            of_docs_compared = [*compress(doc_ids, is_compared[docs.of_text].tolist())]
            gold_ids = [*filter(None, compress(target_ids, is_compared[golds.of_text].tolist()))]
            query = batch.query_ids[int(is_compared.argmax())]
            example = {"query": query, "id": of_docs_compared[0] or "", "gold": gold_ids[0]}
            ids = {*gold_ids}, {*filter(None, of_docs_compared)}
            diagnostic.merge(IdMismatch(Counter(queries=int(is_compared.sum())), example, *ids))
        # As a rule no id can be another one to the eye.
        letters = "".join(filter(None, chain(doc_ids, target_ids)))
        if letters.split() not in ([], [letters]) or not unicodedata.is_normalized("NFC", letters):
            forms = ([name and normalise(name) for name in ids] for ids in (doc_ids, target_ids))
            of_docs, of_targets = _numbers(*forms)
            is_hit = np.isin(targets.gold, targets.gold[target[is_same]])
            pairs = np.flatnonzero((of_docs[doc] == of_targets[target]) & ~is_hit[target])
            queries = distinct(docs.of_text[doc[pairs]])
            diagnostics[ALIKE] += len(queries)
            if queries.size:
                diagnostic.meet()  # it is said by itself
                example = {
                    "query": batch.query_ids[queries[0]],
                    "gold": target_ids[target[pairs[0]]] or "",
                    "id": doc_ids[doc[pairs[0]]] or "",
                }
                look_alike = diagnostics.diagnostic(self.settings, ALIKE, IdLookalike)
                look_alike.merge(IdLookalike(Counter(queries=len(queries)), example))
        return Trace(self, is_same.astype(np.float64), wanted)

    def repeated(self, batch: Batch) -> Bools:
        """Whether each document stood earlier; one without an own id under the id that is compared.

        The same text under another id is another document.
        """
        is_again, own_ids = super().repeated(batch), batch.docs.ids
        if not is_again.any() or (own_ids is not None and None not in own_ids):
            return is_again
        is_compared: Bools = (batch.docs.texts.n_texts > 0) & (batch.golds.texts.n_texts > 0)
        mistakes: list[_Mistake] = []
        doc_ids = self._doc_ids(batch, is_compared, mistakes)
        _raise_first(mistakes)
        keys = [*zip(first_same(batch.docs).tolist(), doc_ids)]
        first = {key: place for place, key in reversed([*enumerate(keys)])}
        return np.array([first[key] != place for place, key in enumerate(keys)], bool)

    def _doc_ids(
        self, batch: Batch, is_compared: Bools, mistakes: list[_Mistake]
    ) -> Sequence[str | None]:
        docs, paths = batch.docs.texts, _paths(self.id_key)
        of_queries = batch.query_ids, is_compared, mistakes
        rows = np.arange(len(docs.numbers))
        return _ids(batch.docs, docs, rows, paths, "id_key", rank_place, *of_queries)

    def check(self, diagnostics: Diagnostics) -> None:
        """Count the questions where no id of any is a gold item's, for whoever reads results."""
        diagnostic = diagnostics.diagnostic(self.settings, APART, IdMismatch)
        diagnostics.update({APART: diagnostic.counts["queries"]} if diagnostic.problem() else {})


def _paths(key: str | None) -> tuple[str, ...]:
    return (key,) if key and key != "id" else _OWN


def _numbers(doc_ids: Sequence[str | None], target_ids: Sequence[str | None]) -> tuple[Ints, Ints]:
    """A number for each id, the same for the same; who has none has one that no other side has."""
    number_of = {name: number for number, name in enumerate({*target_ids} - {None})}
    of_docs, of_targets = (
        np.fromiter(map(number_of.get, ids, repeat(nobody)), np.int64, len(ids))
        for ids, nobody in ((doc_ids, -1), (target_ids, -2))
    )
    return of_docs, of_targets


def first_keys(metadata: Mapping[str, Any]) -> str:
    """The first metadata keys of a document."""
    return ", ".join(sorted(map(str, metadata))[:8])


def _ids(
    entries: Entries,
    items: Lists,
    item: Ints,
    paths: tuple[str, ...],
    option: str,
    place: Callable[[str, int], str],
    query_ids: Sequence[str],
    is_compared: Bools,
    mistakes: list[_Mistake],
) -> Sequence[str | None]:
    """The id of each entry at the first path that it has; None where none is needed.

    Args:
        entries: documents, or targets.
        items: the documents or gold items of each query.
        item: which of these each entry is of; one of its entries must have an id.
        paths: where an id is looked for, first; ``id`` and ``metadata.<key>`` start at the entry,
            any other path is a metadata key.
        option: names the path.
        place: where an item of a query stands.
        query_ids: of the queries.
        is_compared: those whose ids are.
        mistakes: the first of each kind is added.
    """
    own_ids = entries.ids or [None] * len(entries.texts.numbers)
    if paths[0] == "id" and (
        entries.are_distinct or all(isinstance(name, str) and name.strip() for name in own_ids)
    ):
        return own_ids

    def place_of(number: int) -> str:
        query = items.of_text[number]
        return place(query_ids[query], number - int(items.starts[query]) + 1)

    ids: list[str | None] = [None] * len(own_ids)
    for row in np.flatnonzero(is_compared[entries.texts.of_text]).tolist():
        about = (entries.metadata and entries.metadata[row]) or {}
        values = (own_ids[row] if path == "id" else value_at(about, path) for path in paths)
        try:
            ids[row] = next(filter(None, map(_as_id, paths, values)), None)
        except DataError as error:
            query = int(entries.texts.of_text[row])
            mistakes.append((query, error.within(path=place_of(int(item[row])))))
            is_compared = is_compared & (np.arange(len(is_compared)) < query)
            break
    has_id = np.array([name is not None for name in ids], bool)
    n_ids = np.bincount(item[has_id], minlength=len(items.numbers))
    for number in np.flatnonzero((n_ids == 0) & is_compared[items.of_text])[:1].tolist():
        is_doc = option == "id_key"
        keys = first_keys((is_doc and entries.metadata and entries.metadata[number]) or {})
        missing = DataError(
            "{place}: no {key}; name the metadata key that holds it (it has: {names}), as "
            "{{'method': 'id', {option!r}: ...}}, or compare texts: match 'overlap' or 'text'"
            if keys
            else "{place}: no {key}; write {{'id': 'd1'}} (in Python a string is a text), name the "
            "metadata key that holds it, as {{'method': 'id', {option!r}: ...}}, or compare texts: "
            "match 'overlap' or 'text'",
            place=place_of(number),
            key=paths[0],
            option=option,
            names=keys,
        )
        mistakes.append((int(items.of_text[number]), missing))
    return ids


def _raise_first(mistakes: Sequence[_Mistake]) -> None:
    """Raise what is wrong with the first question, whichever others are looked at with it."""
    if mistakes:
        raise min(mistakes, key=itemgetter(0))[1]


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
