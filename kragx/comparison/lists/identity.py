"""What makes two documents of two versions the same: id and text, text alone, or much of it."""

from __future__ import annotations

import json
import warnings
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Literal, get_args

import numpy as np

from kragx import matchers
from kragx.comparison.lists.question_diff import Numbers
from kragx.data import Doc, Gold, Query, value_at
from kragx.data.documents import normal_form
from kragx.data.text import composed
from kragx.evaluation.vocabulary import vocabulary_of_items
from kragx.ground.errors import DataError, UsageError, nearest
from kragx.matchers import MatchItem, MatchWarning, Notes

By = Literal["id", "text", "overlap"]
"""By what documents are told: id and text; the text; half of the shorter text's word pairs."""

Pair = tuple[Sequence[Doc], Sequence[Doc]]
"""The old and the new list of a question."""

ALIKE = 0.5
"""From this share of the shorter text's word pairs on, passages of two chunkings are alike."""


@dataclass(frozen=True)
class Identity:
    """How the documents of two versions are told.

    Attributes:
        by: what is compared.
        fields: the metadata that must be the same as well, as paths.
        is_exact: whether documents that are called the same are so in all that a metric reads; else
            they are alike, and equal lists need not have equal values.
        n_shared: how many ids both versions have.
        n_edited: how many of these have another text in the new one.
        n_renamed: how many texts both have under other ids alone, copies included.
        reads_texts: whether texts are compared; without one in a version ids alone are.
    """

    by: By
    fields: tuple[str, ...] = ()
    is_exact: bool = True
    n_shared: int = 0
    n_edited: int = 0
    reads_texts: bool = True
    n_renamed: int = 0

    @classmethod
    def of(
        cls, pairs: Sequence[Pair], by: By | None = None, fields: Sequence[str] = ()
    ) -> Identity:
        """That of two versions.

        Args:
            pairs: their lists, question by question.
            by: what is compared; None for id and text where both have ids and meet in a document,
                for ``overlap`` where they never do, as after chunking anew, else for the text. A
                version whose lists are all empty says nothing, and the other's documents decide.
            fields: metadata that must be the same as well.

        Raises:
            DataError: nothing tells them: the one has ids alone, the other texts alone.
            UsageError: `by` needs what one of them lacks.
        """
        has_docs = [any(pair[side] for pair in pairs) for side in (0, 1)]
        if any(has_docs) and not all(has_docs):
            filled = has_docs.index(True)
            identity = cls.of([(pair[filled], pair[filled]) for pair in pairs], by, fields)
            return replace(identity, is_exact=True, n_shared=0)  # empty lists alone are equal
        (old_ids, old_has_text), (new_ids, new_has_text) = (
            _texts_by_id(pair[side] for pair in pairs) for side in (0, 1)
        )
        both_named, both_texts = bool(old_ids and new_ids), old_has_text and new_has_text
        if any(has_docs) and not both_named and not both_texts:
            raise DataError(
                "the versions have neither ids nor texts in common, so nothing tells their "
                "documents",
                remedy="give one of them the ids or the texts of the other's documents",
            )
        # An id that means another text in the new version tells nothing: both are looked at.
        shared = old_ids.keys() & new_ids.keys()
        same = {name for name in shared if not both_texts or old_ids[name] == new_ids[name]}
        n_edited = len(shared) - len(same)
        both_have = {*old_ids.values()} & {*new_ids.values()} - {None}
        n_renamed = len(both_have - {old_ids[name] for name in same})
        if by not in (None, *get_args(By)):
            raise UsageError(f"by: {by!r} is unknown; {nearest(str(by), get_args(By))}")
        if by is None:
            # Chunks that were counted anew share ids by accident; one true meeting tells them
            # apart.
            meet = same or not both_texts
            by = "text" if not both_named else "id" if meet else "overlap"
        elif any(has_docs) and not (both_named if by == "id" else both_texts):
            lacking = "ids" if by == "id" else "texts"
            raise UsageError(f"by: {by} compares {lacking}, which a version lacks")
        unnamed = not (old_ids or new_ids)
        is_exact = old_has_text == new_has_text if by == "id" else by == "text" and unnamed
        return cls(by, tuple(fields), is_exact, len(shared), n_edited, both_texts, n_renamed)

    def numbers(self, pairs: Sequence[Pair]) -> Iterator[Numbers]:
        """The documents of each question by number, the same for the same document."""
        if self.by == "overlap":
            yield from _by_overlap(pairs)
            return
        for old, new in pairs:
            number_of: dict[Hashable, int] = {}
            before, after = (
                tuple(number_of.setdefault(self._key(doc), len(number_of)) for doc in side)
                for side in (old, new)
            )
            yield before, after

    def _key(self, doc: Doc) -> Hashable:
        # As JSON, as a metadata value may be a list.
        fields = tuple(
            json.dumps(value_at(doc.metadata, path), sort_keys=True, default=str)
            for path in self.fields
        )
        text = composed(doc.text) if self.reads_texts else None
        if text is None and (doc.id is None or self.by == "text"):
            # Without a text its id tells it, if anything does.
            return object() if doc.id is None else (None, doc.id, *fields)
        if self.by == "text":
            return text if self.is_exact or text is None else normal_form(text), *fields
        return doc.id, text, *fields


def _texts_by_id(lists: Iterator[Sequence[Doc]]) -> tuple[dict[str, str | None], bool]:
    """The text of each id where it stands first, and whether any document has a text."""
    texts: dict[str, str | None] = {}
    has_text = False
    for doc in chain.from_iterable(lists):
        has_text = has_text or doc.text is not None
        if doc.id is not None:
            # Where one id has two texts in a version, the first one is what its lists mean.
            texts.setdefault(doc.id, composed(doc.text))
    return texts, has_text


def _by_overlap(pairs: Sequence[Pair]) -> Iterator[Numbers]:
    """Documents of the same text, else those with most in common, one of either list each."""
    items = [
        MatchItem(
            Query(str(row), gold=tuple(Gold(text=doc.text or "") for doc in old)),
            tuple(Doc(text=doc.text or "") for doc in new),
        )
        for row, (old, new) in enumerate(pairs)
        if old and new and any(doc.text != twin.text for doc, twin in zip(old, new))
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MatchWarning)  # nobody asked for this matcher
        overlap = matchers.matcher({"method": "overlap", "short": 0})
        matcher = overlap.knowing(vocabulary_of_items(items))  # which tells siblings apart
        scores = dict(zip((int(item.query.id) for item in items), matcher.scores(items, Notes())))
    for row, (old, new) in enumerate(pairs):
        matrix = np.asarray(scores.get(row, np.zeros((len(new), len(old)))), np.float64)
        yield tuple(range(len(old))), _assigned(matrix, old, new)


def _assigned(scores: np.ndarray, old: Sequence[Doc], new: Sequence[Doc]) -> tuple[int, ...]:
    """Of each new document the place of the old one that it is taken for, else a number of its own.

    Equal texts come first, then the pairs with the highest scores.
    """
    texts = [[normal_form(doc.text or "") for doc in side] for side in (old, new)]
    are_same = [[left == right != "" for left in texts[0]] for right in texts[1]]
    # Greedy, not the best assignment: lists are short, and equal texts must never be traded away.
    ranked = sorted(
        (not are_same[i][j], -scores[i, j], abs(i - j), i, j)
        for i in range(len(new))
        for j in range(len(old))
        if are_same[i][j] or scores[i, j] >= ALIKE
    )
    place: dict[int, int] = {}
    taken = set[int]()
    for *_, i, j in ranked:
        if i not in place and j not in taken:
            place[i] = j
            taken.add(j)
    return tuple(place.get(i, len(old) + i) for i in range(len(new)))
