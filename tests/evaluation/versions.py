"""200 pairs of texts that differ in one number, date or name: versions, and what two tenants have.

Ten templates a language, ten pairs each. A document is six sentences; what is forbidden is the
three in the middle, of which the second tells the pair apart, and what retrievers bring are pieces
that are cut elsewhere.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import yaml

Language = Literal["en", "ko"]


@dataclass(frozen=True)
class Pair:
    """Two documents that say the same but for one word.

    Attributes:
        language: of both.
        kind: ``number``, ``date`` or ``name``: in what they differ.
        old, new: the sentences of each.
    """

    language: Language
    kind: str
    old: tuple[str, ...]
    new: tuple[str, ...]

    def forbidden(self) -> str:
        """The old version's passage."""
        return " ".join(self.old[1:4])

    def wanted(self) -> str:
        """The new version's."""
        return " ".join(self.new[1:4])


CUTS = ((0, 3), (1, 5), (0, 6), (2, 5))
"""From which sentence to which the pieces of another chunking go: the passage from its middle on or
up to there, and inside of more. Each has the sentence that tells the pair apart."""


def pieces(sentences: tuple[str, ...], number: int) -> str:
    """A piece of a document, cut as the number of the pair says."""
    start, end = CUTS[number % len(CUTS)]
    return " ".join(sentences[start:end])


_TEXTS: dict[str, Any] = yaml.safe_load(
    Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8")
)


def _values(language: Language, kind: str, n: int) -> tuple[str, str]:
    """What the two of a pair have in the one place."""
    if kind == "number":
        return str(20 + 5 * n), str(25 + 5 * n)
    if kind == "name":
        names = _TEXTS[language]["names"]
        return names[n], names[(n + 3) % len(names)]
    if language == "ko":
        return f"2024년 {n % 9 + 1}월 {n + 3}일", f"2025년 {n % 9 + 1}월 {n + 3}일"
    return f"{n + 3} {_TEXTS['months'][n]} 2024", f"{n + 3} {_TEXTS['months'][n]} 2025"


def pairs() -> Iterator[Pair]:
    """Yield the 200 pairs."""
    for language in ("en", "ko"):
        for template in _TEXTS[language]["templates"]:
            for n, thing in enumerate(_TEXTS[language]["things"]):
                old, new = (
                    tuple(sentence.format(thing, value) for sentence in template["sentences"])
                    for value in _values(language, template["kind"], n)
                )
                yield Pair(language, template["kind"], old, new)
