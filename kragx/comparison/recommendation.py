"""One piece of advice, or of what the data does not say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from kragx.printing import Line, Result


@dataclass(frozen=True)
class Recommendation(Result):
    """One sentence or two of advice.

    Attributes:
        kind: ``winner``, ``no_winner``, ``one_retriever``, ``cost``, ``routing``, ``no_routing``,
            ``weak_slice``, ``small_slices``, ``unfound``, ``combination``, ``reranking``,
            ``saturated``.
        text: as people read it.
        supported: whether the data carries it; False for what it does not say.
        values: the numbers and names in it.
    """

    kind: str
    text: str
    supported: bool = True
    values: Mapping[str, Any] = field(default_factory=dict)

    def describe(self) -> Iterator[Line]:
        """Its text, with ``?`` before what the data does not carry."""
        yield Line(self.text, item="-" if self.supported else "?")
