"""What of a batch must not come: by text, id or source, by rules over metadata, as old versions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import tzinfo
from functools import cache, cached_property
from itertools import chain, repeat
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kragx.data import value_at
from kragx.data.batch import Batch
from kragx.data.corpus import Corpus
from kragx.data.entries import Entries
from kragx.data.forbidden import SUPERSEDED_BY, Forbidden, check_cycle, stretch_in
from kragx.data.gold import cut
from kragx.data.rules import UNKNOWN, Condition, Rule, distinct_key, plain_value
from kragx.ground.errors import DataError, inside
from kragx.matchers import Diagnostics, matching
from kragx.matchers.texts import TextsMatcher
from kragx.metrics import Bools, Ints

Stretch = tuple[str | None, int | None, int | None]
"""The source of a document, and its first character and the one behind its last; None: unsaid."""

_NAME = 60
"""Characters of a text that stand for a document without id."""

_LEAST_SHARED = 0.5
"""So much of the shorter of two stretches of a source has to be in the other one."""


class MarkedDocuments:
    """The documents of a batch, by their rows, with what a corpus knows of them.

    Args:
        batch: the questions.
        id_key: where a document keeps its id, as of the matcher `id`.
        corpus: has sources and metadata that documents lack; may be none.
    """

    def __init__(self, batch: Batch, id_key: str | None, corpus: Corpus) -> None:
        self.batch: Batch = batch
        self.corpus: Corpus = corpus
        self.text_numbers: list[int] = batch.docs.texts.numbers.tolist()
        self.queries: list[int] = batch.docs.texts.of_text.tolist()
        self._id_key = id_key
        self._starts: list[int] = batch.docs.texts.starts.tolist()
        # A cache of this object's own: one around the method would keep every batch alive.
        self.place: Callable[[int], Stretch] = cache(self._place_of)

    def __len__(self) -> int:
        return len(self.text_numbers)

    def rows(self, query: int) -> range:
        """The documents of a question, by rank."""
        start = self._starts[query]
        return range(start, start + int(self.batch.docs.texts.n_texts[query]))

    @cached_property
    def ids(self) -> Sequence[str | None]:
        """(d) their ids; None of those without one."""
        return doc_ids(self.batch.docs, self._id_key)

    @cached_property
    def metadata(self) -> Sequence[Any]:
        """(d) their metadata; None, or empty, where there are none."""
        return self.batch.docs.metadata or [None] * len(self)

    def _place_of(self, row: int) -> Stretch:
        """Of which source a document is, and where in it."""
        doc_id, number = self.ids[row] or "", self.text_numbers[row]
        source, start, end = stretch_in(self.metadata[row] or {}, doc_id)
        if source is None and (doc := self.corpus.docs.get(doc_id)) is not None:
            source, start, end = stretch_in(doc.metadata, doc_id)
        if start is not None and end is None and number >= 0:
            end = start + len(self.batch.docs.texts.known[number])
        return source, start, end

    def names(self, row: int) -> set[str]:
        """What a document may be meant by: its id, and its source."""
        return {*filter(None, (self.ids[row], self.place(row)[0]))}

    def label(self, row: int) -> str:
        """What people call a document: its id, or without one the beginning of its text."""
        number = self.text_numbers[row]
        text = self.batch.docs.texts.known[number] if number >= 0 else ""
        return self.ids[row] or cut(text, _NAME)

    def where(self, row: int) -> str:
        """Where a document stands, for messages."""
        query = self.queries[row]
        rank = row - self._starts[query] + 1
        return f"query {self.batch.query_ids[query]!r}, rank {rank} ({self.ids[row]!r})"

    def values(self, path: str) -> list[Any]:
        """(d) the value of each document at a path; the corpus's where it has none itself."""
        values = [value_at(about, path) if about else None for about in self.metadata]
        known = self.corpus.docs
        if not known or None not in values:
            return values
        return [
            value_at(known[str(doc_id)].metadata, path)
            if value is None and doc_id in known
            else value
            for value, doc_id in zip(values, self.ids)
        ]


def doc_ids(docs: Entries, id_key: str | None) -> Sequence[str | None]:
    """The ids of documents, as the matcher `id` reads them; None for what it would refuse."""
    nothing = [None] * len(docs.texts.numbers)
    metadata = docs.metadata or nothing
    if id_key is not None and id_key != "id":
        return [as_id(value_at(about or {}, id_key)) for about in metadata]
    ids = docs.ids or nothing
    if docs.metadata is None or id_key is not None or None not in ids:
        return ids
    return [
        as_id((about or {}).get("id")) if doc_id is None else doc_id
        for doc_id, about in zip(ids, metadata)
    ]


def as_id(value: object) -> str | None:
    """A value as an id; None where it is none."""
    is_id = isinstance(value, (str, Integral)) and not isinstance(value, bool)
    return (str(value).strip() and str(value)) or None if is_id else None


@dataclass
class ItemMatches:
    """The f forbidden items of some questions, and which documents of the question they are.

    Attributes:
        items: (f) one question after the other.
        queries: (f) of which question each is.
        pairs: a document, an item, and 1 where the one is the other or -1 where nobody knows;
            others have no pair.
        lost: the items that can match nothing.
        by_id: those that can match nothing if no retrieved id is named anywhere.
    """

    items: list[Forbidden]
    queries: list[int]
    pairs: list[tuple[int, int, int]] = field(default_factory=list)
    lost: list[int] = field(default_factory=list)
    by_id: list[int] = field(default_factory=list)


def matched_items(
    docs: MarkedDocuments, matcher: TextsMatcher | None, is_known: Callable[[str], bool]
) -> ItemMatches:
    """All pairs, each item compared by the first of text, id and source that can be.

    Args:
        docs: the documents.
        matcher: compares texts; None where ids alone are compared.
        is_known: whether the corpus has a document that is called so.
    """
    lists = [*enumerate(docs.batch.forbidden or ())]
    result = ItemMatches(
        [item for _, items in lists for item in items or ()],
        [query for query, items in lists for _ in items or ()],
    )
    carriers = _carriers(docs, result, matcher)
    has_corpus = docs.corpus.source is not None
    for number, item in enumerate(result.items):
        truths = _truths(docs, result.queries[number], item, carriers.get(number))
        result.pairs += [(row, number, truth) for row, truth in truths.items() if truth]
        if number in carriers:
            continue
        # Without a corpus only the ids of all questions together can tell that it is met nowhere.
        if item.id is not None and not has_corpus:
            result.by_id.append(number)
        elif 1 not in truths.values() and not _may_match(item, docs.corpus, is_known):
            result.lost.append(number)
    return result


def _may_match(item: Forbidden, corpus: Corpus, is_known: Callable[[str], bool]) -> bool:
    """Whether any document can be an item whose text is not compared."""
    if item.id is not None:
        return is_known(item.id)
    return item.source is not None and (corpus.source is None or item.source in corpus.sources)


def _truths(
    docs: MarkedDocuments, query: int, item: Forbidden, carriers: set[int] | None
) -> dict[int, int]:
    """Which documents of a question an item is: 1, or -1 where nobody knows.

    Args:
        docs: the documents.
        query: the question.
        item: what must not come.
        carriers: the documents that have its text; None where no text is compared.
    """
    rows, ids = docs.rows(query), docs.ids
    truths: dict[int, int] = {}
    if carriers is not None:
        truths = {row: UNKNOWN for row in rows if docs.text_numbers[row] < 0}
        truths |= dict.fromkeys(carriers, 1)
        if item.text is not None:
            return truths
    # The text of an id that the corpus has stands beside it: either tells the document.
    if item.id is not None:
        if carriers is None:
            truths = {row: UNKNOWN for row in rows if ids[row] is None}
        return truths | {row: 1 for row in rows if ids[row] == item.id}
    if item.source is not None:
        return {row: _is_there(docs.place(row), item) for row in rows}
    return truths


def _carriers(
    docs: MarkedDocuments, items: ItemMatches, matcher: TextsMatcher | None
) -> dict[int, set[int]]:
    """The documents that have an item's text, for each in whose text the matcher finds anything."""
    texts, batch = docs.batch.forbidden_texts, docs.batch
    has_text = np.zeros(0, bool) if texts is None else texts.numbers >= 0
    if texts is None or matcher is None or not has_text.any():
        return {}
    (golds,) = matcher.numbered(texts.those(has_text))
    has_text[has_text] = ~matcher.useless(golds, gold=True)
    readable = np.flatnonzero(has_text)
    texts, lists = texts.those(has_text), batch.docs.texts
    is_meant = (texts.n_texts > 0)[lists.of_text] & (lists.numbers >= 0)
    # In the place of gold, so that the very rule that finds gold finds these.
    pairs = replace(batch, golds=Entries(texts), docs=Entries(lists.those(is_meant)), more={})
    table = matching.match_batches([pairs], matcher, Diagnostics())
    doc, gold = table.pair_doc[table.matched], table.pair_gold[table.matched]
    carriers: dict[int, set[int]] = {number: set() for number in readable.tolist()}
    # Pairs count the documents that were compared; these are their rows among all of the batch.
    rows = np.flatnonzero(is_meant)[doc]
    for row, number in zip(rows.tolist(), readable[gold].tolist()):
        source = items.items[number].source
        if source is None or docs.place(row)[0] in (None, source):
            carriers[number].add(row)
    return carriers


def _is_there(place: Stretch, item: Forbidden) -> int:
    """Whether a document stands where an item says: 1, 0, or -1 where nobody knows."""
    source, start, end = place
    if source is None:
        return UNKNOWN
    if source != item.source or item.start is None or item.end is None:
        return int(source == item.source)
    if start is None or end is None:
        return UNKNOWN
    shared = min(end, item.end) - max(start, item.start)
    return int(shared > 0 and shared >= _LEAST_SHARED * min(end - start, item.end - item.start))


Place = tuple[str, str, bool]
"""A rule, a path that it asks for, and whether it is one of the question's metadata."""

_Values = Sequence[tuple[Any, Any]]
"""Values, each behind what tells it from all that a rule may tell from it."""

RANKS = np.array([0, 2, 1], np.int8)
"""The rank of 0, 1 and -1: true outweighs all else in an or, and false does in an and."""


def ruled(
    rule: Rule, docs: MarkedDocuments, zone: tzinfo | None
) -> tuple[Ints, Bools, list[tuple[Place, int, int]]]:
    """What a rule says of a batch; `zone` is of dates and times that say none.

    Returns:
        (d) the rank of each document, as `RANKS`; (q) of which questions it has all values that it
        asks for; and of each field that it asks for how many questions, or documents, lack it, and
        how many there are.

    Raises:
        DataError: a time has no zone.
    """
    metadata = docs.batch.metadata
    of_queries = {
        path: _keyed(value_at(about, path) for about in metadata) for path in rule.query_paths
    }
    of_docs = {part.path: _keyed(docs.values(part.path)) for part in rule.conditions}
    ranks = []
    for part in rule.conditions:
        operands: Iterable[tuple[Any, Any]] = repeat((None, part.operand))
        if part.query_path is not None:
            operands = map(of_queries[part.query_path].__getitem__, docs.queries)
        pairs = zip(of_docs[part.path], operands)
        ranks.append(RANKS[[*_truths_of_rule(rule, part, pairs, docs, zone)]])
    # Of documents of which no metadata are known at all nobody knows what they lack.
    known = docs.corpus.docs
    names = docs.ids if known else repeat(None)
    blank = [not about and name not in known for about, name in zip(docs.metadata, names)]
    could = np.ones(len(docs.batch), bool)
    for values in of_queries.values():
        could &= np.array([value is not None for _, value in values], bool)
    lacking = [
        ((rule.name, path, columns is of_queries), sum(v is None for _, v in values), len(values))
        for columns in (of_queries, of_docs)
        for path, values in columns.items()
    ]
    # Conditions of a rule are an and, of which the least rank has the word.
    ranks_of_all = np.minimum.reduce(ranks)
    return np.where(np.array(blank, bool), RANKS[UNKNOWN], ranks_of_all), could, lacking


def _truths_of_rule(
    rule: Rule,
    condition: Condition,
    pairs: Iterable[tuple[tuple[Any, Any], tuple[Any, Any]]],
    docs: MarkedDocuments,
    zone: tzinfo | None,
) -> Iterator[int]:
    """What a condition says of each document's value and its operand."""
    truths: dict[tuple[Any, Any], int] = {}
    for row, ((key, value), (operand_key, operand)) in enumerate(pairs):
        pair = key, operand_key
        if pair not in truths:
            try:
                truths[pair] = condition.holds(value, operand, zone)
            except DataError as error:
                place = f"{rule.name}.{condition.path}"
                raise error.within(place, path=docs.where(row)) from None
        yield truths[pair]


def _keyed(values: Iterable[Any]) -> _Values:
    of_text = cache(_comparable)  # one text stands beside many documents
    return [of_text(value) if type(value) is str else _comparable(value) for value in values]


def _comparable(value: Any) -> tuple[Any, Any]:
    value = plain_value(value)
    return distinct_key(value), value


Told = Mapping[int, Sequence[tuple[str, bool]]]
"""By older document what succeeds it, and whether nobody knows that it is that document."""


def versions_of(
    docs: MarkedDocuments, matched: ItemMatches, *, reads_metadata: bool
) -> tuple[NDArray[np.int8], Bools]:
    """The versions among the documents of a batch, as of `ForbiddenMarks`.

    Args:
        docs: the documents.
        matched: what is forbidden, some of which names what has taken its place.
        reads_metadata: whether documents say themselves what has taken their place.

    Returns:
        (d) which are stale, and (q) which questions meet any.

    Raises:
        DataError: documents take each other's place in a circle.
    """
    newer = [item.superseded_by for item in matched.items]
    of_docs: list[str | None] = []
    if reads_metadata or any(name is not None for name in newer):
        of_docs = [*map(as_id, docs.values(SUPERSEDED_BY))]
    told: dict[int, list[tuple[str, bool]]] = {}
    declared = [(row, newer[number], truth < 0) for row, number, truth in matched.pairs]
    if reads_metadata:
        declared += [(row, name, False) for row, name in enumerate(of_docs)]
    for row, name, may_be in declared:
        if name is not None:
            told.setdefault(row, []).append((name, may_be))
    stale, are_met = np.zeros(len(docs), np.int8), np.zeros(len(docs.batch), bool)
    for query in dict.fromkeys(docs.queries[row] for row in sorted(told)):
        are_met[query] = True
        with inside(path=f"query {docs.batch.query_ids[query]!r}"):
            _mark(stale, docs, query, told, _newer(docs, query, of_docs))
    return stale, are_met


def _newer(docs: MarkedDocuments, query: int, of_docs: Sequence[str | None]) -> dict[str, str]:
    """What has taken whose place, as items and documents of a question say."""
    newer: dict[str, str] = {}
    lists = docs.batch.forbidden
    for item in (lists[query] or ()) if lists else ():
        if item.superseded_by is not None:
            names = filter(None, (item.id, item.source))
            newer |= dict.fromkeys(names, item.superseded_by)
    for row in docs.rows(query) if of_docs else ():
        if (name := of_docs[row]) is not None:
            newer |= dict.fromkeys(docs.names(row), name)
    return newer


def _mark(
    stale: NDArray[np.int8], docs: MarkedDocuments, query: int, told: Told, newer: dict[str, str]
) -> None:
    """Mark the older documents of a question above which none of their successors stands."""
    above = set[str]()
    is_nameless = False
    for row in docs.rows(query):
        if direct := told.get(row):
            chains = (_successors(name, newer, docs.corpus) for name, _ in direct)
            if above.isdisjoint({*chain.from_iterable(chains)}):
                may_be = all(may_be for _, may_be in direct)
                stale[row] = -1 if may_be or is_nameless else 1
        above |= docs.names(row)
        # What has no id may be the newer version, so below it nothing is out of date for sure.
        is_nameless = is_nameless or docs.ids[row] is None


def _successors(name: str, newer: dict[str, str], corpus: Corpus) -> Iterator[str]:
    """A newer document, and all that have taken its place; what the corpus says is noted."""
    yield name
    while True:
        doc = None if name in newer else corpus.docs.get(name)
        if doc is not None and isinstance(of_corpus := doc.metadata.get(SUPERSEDED_BY), str):
            newer[name] = of_corpus
        if name not in newer:
            return
        # Each step may have come from the corpus just now, and only then closes a circle.
        check_cycle(newer)
        yield (name := newer[name])
