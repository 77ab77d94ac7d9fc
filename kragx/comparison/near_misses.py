"""What comes close to the gold in a list without a match: the same text, or the same document."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kragx import matchers
from kragx.data import Doc, Gold, Query
from kragx.matchers import Diagnostics, MatchItem, MatchWarning
from kragx.metrics import RankedList

ALIKE = 0.5
"""From this share of word pairs on, a document is much like the gold."""

SIMILAR = 0.25
"""From this share on, up to `ALIKE`, it is similar."""

SOURCE_KEYS = ("source", "parent_id", "doc_id", "document_id")
"""Metadata that may say which document a passage was cut from."""

Origin = frozenset[tuple[str, str]]
"""Where a passage is from: its keys of `SOURCE_KEYS` with their values."""

Misses = Mapping[int, tuple[RankedList, Sequence[Gold]]]
"""By row of the match table a list in which no gold was found, and the gold."""


@dataclass(frozen=True)
class Origins:
    """Which document passages were cut from, as far as their metadata say so.

    Attributes:
        by_id: of passages with an id.
        keys: those that tell documents apart: they have more than one value.
    """

    by_id: Mapping[str, Origin]
    keys: Sequence[str]

    @classmethod
    def of(cls, runs: Iterable[Sequence[RankedList]], corpus: Mapping[str, str | Doc]) -> Origins:
        """What is known of all that was retrieved, and of a corpus."""
        docs = [doc for doc in corpus.values() if isinstance(doc, Doc)]
        docs += [doc for run in runs for ranked in run for doc in ranked.docs]
        origins = [(doc.id, _origin(doc.metadata)) for doc in docs]
        # Of several passages with one id the first that says where it is from.
        by_id = {name: origin for name, origin in reversed(origins) if name is not None and origin}
        values = Counter(key for key, _ in {entry for _, origin in origins for entry in origin})
        return cls(by_id, tuple(key for key in SOURCE_KEYS if values[key] > 1))

    def kin(self, golds: Sequence[Gold], docs: Sequence[Doc]) -> tuple[int, ...]:
        """The ranks of documents from a document that gold is from, or that gold names."""
        origins = {
            (key, value)
            for form in _forms(golds)
            for key, value in (
                *_origin(form.metadata),
                *self.by_id.get(form.id or "", ()),
                *((key, form.id) for key in SOURCE_KEYS),
            )
            if key in self.keys
        }
        return tuple(rank for rank, doc in enumerate(docs, 1) if origins & _origin(doc.metadata))


def most_alike(misses: Misses, texts: Mapping[str, str]) -> dict[int, tuple[int, float]]:
    """By row rank and overlap of what is most like the gold, as the matcher ``overlap`` sees it.

    Is its text there, under another id or cut in another way? Rows without a text on either side
    are left out.

    Args:
        misses: the lists and their gold.
        texts: by id, of gold that is named by its id alone.
    """
    items = {}
    for row, (ranked, golds) in misses.items():
        gold = tuple(
            Gold(text=text)
            for form in _forms(golds)
            if (text := form.text or texts.get(form.id or ""))
        )
        if gold and ranked.docs and all(doc.text is not None for doc in ranked.docs):
            items[row] = MatchItem(Query(ranked.query.id, gold=gold), ranked.docs)
    # Plain word pairs: it is to show what is near, also a sibling and a piece of a short answer.
    overlap = matchers.matcher(
        {"method": "overlap", "short": 0, "siblings": "together", "tokenizer": "unicode"}
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MatchWarning)  # nobody asked for this matcher
        matrices = zip(items, overlap.scores(items.values(), Diagnostics()), strict=True)
        best = {row: np.asarray(scores).max(axis=1) for row, scores in matrices}
    return {row: (int(top.argmax()) + 1, round(float(top.max()), 4)) for row, top in best.items()}


def _forms(golds: Iterable[Gold]) -> Iterator[Gold | Doc]:
    """All that would do: the items that are relevant, and their alternatives."""
    for gold in golds:
        if gold.grade > 0:
            yield gold
            yield from gold.alternatives


def _origin(metadata: Mapping[str, object]) -> Origin:
    values = ((key, metadata.get(key)) for key in SOURCE_KEYS)
    return frozenset(
        (key, str(value))
        for key, value in values
        if isinstance(value, (str, int)) and not isinstance(value, bool) and value != ""
    )
