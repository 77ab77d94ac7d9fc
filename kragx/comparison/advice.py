"""What follows from a comparison: one verdict or piece of advice, and what could turn it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from kragx.ground.printing import Line, Result, joined, phrase, warning


@dataclass(frozen=True)
class Caution(Result):
    """One thing that could turn a verdict.

    Attributes:
        code: ``leaks``, ``siblings``, ``failed``, ``missing_questions``, ``missing_judgements``,
            ``ids_apart``, ``documents`` or ``threshold``.
        text: as people read it, a sentence without its full stop.
        values: the numbers and names in it.
    """

    code: str
    text: str
    values: Mapping[str, Any] = field(default_factory=dict)

    @property
    def sentence(self) -> str:
        """As it goes on behind the verdict."""
        return phrase("Caution: {caution}.", caution=self.text)

    def describe(self) -> Iterator[Line]:
        """Its sentence."""
        yield warning(self.sentence)


@dataclass(frozen=True)
class Recommendation(Result):
    """One sentence or two of advice.

    Attributes:
        kind: ``winner``, ``no_winner``, ``one_retriever``, ``setting``, ``over_all``, ``equal``,
            ``cost``, ``price``, ``routing``, ``no_routing``, ``weak_slice``, ``small_slices``,
            ``saturated``, ``unfound``, ``combination``, ``reranking``.
        text: as people read it.
        supported: whether the data carries it; False for what it does not say.
        values: the numbers and names in it.
        cautions: of the verdict what could turn it.
    """

    kind: str
    text: str
    supported: bool = True
    values: Mapping[str, Any] = field(default_factory=dict)
    cautions: tuple[Caution, ...] = ()

    @property
    def said(self) -> str:
        """Its text with its cautions."""
        return joined(" ", [self.text, *(caution.sentence for caution in self.cautions)])

    def describe(self) -> Iterator[Line]:
        """Its text, with ``?`` before what the data does not carry; then its cautions."""
        yield Line(self.text, item="-" if self.supported else "?")
        yield from self.caution_lines()

    def leak_lines(self) -> Iterator[Line]:
        """Who leaks, where nothing else says so above whatever is compared."""
        for caution in self.cautions:
            if caution.code == "leaks":
                yield Line(caution.sentence, "bold red")

    def caution_lines(self) -> Iterator[Line]:
        """The cautions, but that some failed or leak: that stands above whatever is compared."""
        for caution in self.cautions:
            if caution.code not in ("failed", "leaks"):
                yield from caution.describe()
