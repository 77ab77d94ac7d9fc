"""What a matcher is given: queries with their documents, and what these may match."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from kragx.errors import DataError
from kragx.metrics import RankedList

if TYPE_CHECKING:
    from kragx.judging.tally import Tally


class MatchWarning(UserWarning):
    """Something about the texts makes matches less than they seem; said once per evaluation."""


class Notes(Counter[str]):
    """Counts of a match that belong into its result; what judging took stands in `judging`."""

    @cached_property
    def judging(self) -> Tally:
        """What judging took, and what is missing."""
        from kragx.judging.tally import Tally

        return Tally()


@dataclass(frozen=True, slots=True)
class Target:
    """One thing that a retrieved document may match: a gold item or one of its alternatives.

    Attributes:
        gold: position of the gold item in the query, from 0.
        id, text, metadata: those of the gold item or of the alternative.
    """

    gold: int
    id: str | None
    text: str | None
    metadata: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class MatchItem(RankedList):
    """One query with its ranked documents (n of them) and the targets they may match (t of them).

    A gold item without alternatives is one target; with them it is several, and it is matched
    if any of them is. `status` says whether the retriever answered, if only with an empty list.
    """

    targets: tuple[Target, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        targets = tuple(
            target
            for position, gold in enumerate(self.query.gold)
            for target in (
                Target(position, gold.id, gold.text, gold.metadata),
                *(Target(position, doc.id, doc.text, doc.metadata) for doc in gold.alternatives),
            )
        )
        object.__setattr__(self, "targets", targets)

    def doc_texts(self, method: str) -> list[str]:
        """The text of every retrieved document.

        Raises:
            DataError: one has none; the message names query and rank.
        """
        texts: list[str] = []
        for rank, doc in enumerate(self.docs, start=1):
            if doc.text is None:
                raise self._textless(f"rank {rank}: document {doc.id!r}", method)
            texts.append(doc.text)
        return texts

    def target_texts(self, method: str) -> dict[int, str]:
        """The text of every target that has one, by its position among the targets.

        Raises:
            DataError: a gold item has no text, nor has any of its alternatives.
        """
        texts = {
            column: target.text
            for column, target in enumerate(self.targets)
            if target.text is not None
        }
        with_text = {self.targets[column].gold for column in texts}
        for position, gold in enumerate(self.query.gold):
            if position not in with_text:
                raise self._textless(f"gold {position + 1}: {gold.id!r}", method)
        return texts

    def _textless(self, place: str, method: str) -> DataError:
        return DataError(
            f"query {self.query.id!r}, {place} has no text, and the match method {method!r} "
            "compares texts; add it, or match by 'id'"
        )
