"""What comes close to the gold in a list without a match: the same text, or the same document."""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kragx import matchers
from kragx.data.documents import Doc
from kragx.data.gold import Gold, Query
from kragx.matchers import MatchItem, MatchWarning
from kragx.metrics import RankedList

ALIKE = 0.5
"""From this share of word pairs on, a document is much like the gold."""

SIMILAR = 0.25
"""From this share on, up to `ALIKE`, it is similar."""

SOURCE_KEYS = ("source", "parent_id", "doc_id", "document_id")
"""Metadata that may say which document a passage was cut from."""

Origin = frozenset[tuple[str, str]]
"""Where a passage is from: its keys of `SOURCE_KEYS` with their values."""


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
    def of(
        cls, of_runs: Iterable[Sequence[RankedList]], corpus: Mapping[str, str | Doc]
    ) -> Origins:
        """What is known of all that was retrieved, and of a corpus."""
        docs = [each for each in corpus.values() if isinstance(each, Doc)]
        docs += [doc for answered in of_runs for answer in answered for doc in answer.docs]
        values: dict[str, set[str]] = defaultdict(set)
        by_id: dict[str, Origin] = {}
        for doc in docs:
            own = _origin(doc.metadata)
            for key, value in own:
                values[key].add(value)
            if doc.id is not None and own:
                by_id.setdefault(doc.id, own)
        return cls(by_id, tuple(key for key in SOURCE_KEYS if len(values[key]) > 1))

    def kin(self, golds: Sequence[Gold], docs: Sequence[Doc]) -> list[int]:
        """The ranks of documents from a document that gold is from, or that gold names."""
        wanted = {
            pair
            for gold in golds
            if gold.grade > 0
            for id_, metadata in [
                (gold.id, gold.metadata),
                *((each.id, each.metadata) for each in gold.alternatives),
            ]
            for pair in (
                *_origin(metadata),
                *self.by_id.get(id_ or "", ()),
                *((key, id_) for key in SOURCE_KEYS if id_ is not None),
            )
            if pair[0] in self.keys
        }
        return [rank for rank, doc in enumerate(docs, 1) if wanted & _origin(doc.metadata)]


def alike(
    answered: Mapping[int, tuple[RankedList, Sequence[Gold]]], texts: Mapping[str, str]
) -> Iterator[tuple[int, list[float | int]]]:
    """For rows, the rank and overlap of what is most like their gold.

    Is the gold's text there, under another id or cut in another way? The overlap is that of the
    matcher ``overlap``. Rows without a text on either side are left out.
    """
    items, rows = [], []
    for row, (answer, golds) in answered.items():
        gold = [
            Gold(text=text)
            for item in golds
            if item.grade > 0
            for id_, own in [(item.id, item.text), *((o.id, o.text) for o in item.alternatives)]
            if (text := own or texts.get(id_ or ""))
        ]
        docs = tuple(each for each in answer.docs if each.text is not None)
        if gold and len(docs) == len(answer.docs) > 0:
            items.append(MatchItem(Query(answer.query.id, gold=tuple(gold)), docs))
            rows.append(row)
    overlap = matchers.matcher("overlap")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MatchWarning)  # nobody asked for this matcher
        for row, scored in zip(rows, overlap.scores(items, matchers.Notes()), strict=True):
            best = np.asarray(scored).max(axis=1)
            yield row, [int(best.argmax()) + 1, round(float(best.max()), 4)]


def _origin(metadata: Mapping[str, object]) -> Origin:
    known = ((key, metadata.get(key)) for key in SOURCE_KEYS)
    return frozenset(
        (key, str(value))
        for key, value in known
        if isinstance(value, (str, int)) and not isinstance(value, bool) and value != ""
    )
