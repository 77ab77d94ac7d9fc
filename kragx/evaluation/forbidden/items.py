"""Which retrieved document is which forbidden item, by text, by id or by source."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from kragx.data.corpus import Corpus
from kragx.data.entries import Entries
from kragx.data.forbidden import Forbidden
from kragx.data.ngrams import of_pairs
from kragx.data.rules import UNKNOWN
from kragx.evaluation.forbidden.documents import Documents, Stretch
from kragx.matchers import Notes
from kragx.matchers.batches import BatchMatcher
from kragx.metrics.threshold import matches

_LEAST_SHARED = 0.5
"""So much of the shorter of two stretches of a source has to be in the other one."""


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
    docs: Documents, matcher: BatchMatcher | None, is_known: Callable[[str], bool]
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
    docs: Documents, query: int, item: Forbidden, carriers: set[int] | None
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
    docs: Documents, items: ItemMatches, matcher: BatchMatcher | None
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
    compared = lists.those(is_meant)
    pairs = replace(
        batch,
        golds=Entries(texts),
        docs=Entries(compared),
        more={},
        queries_made=(),
        answers_made=(),
    )
    are = matches(matcher.trace(pairs, Notes()).scores, matcher.threshold)
    doc, gold = (part[are] for part in of_pairs(compared.n_texts, texts.n_texts))
    carriers: dict[int, set[int]] = {number: set() for number in readable.tolist()}
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
