"""The texts that are given to the page beside the numbers."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from kragx.data import Doc, GoldDataset, Run
from kragx.errors import UsageError
from kragx.matchers import BaseMatcher

Reasons = Mapping[tuple[str, str, str], tuple[int | None, str]]
"""What a judge said: for (query id, document text, gold text) its grade and its reason."""


@dataclass(frozen=True)
class Sources:
    """The texts behind evaluations, and how much of them the page holds.

    Attributes:
        dataset: the gold set; None if it is not at hand.
        runs: what each retriever returned, by its name.
        corpus: texts or documents by id, for gold that is named by its id alone.
        reasons: what judges said, by the matcher's name.
        matchers: those that decided, by name; combinations are asked who decided what.
        max_docs: how many documents of each list are kept.
        max_chars: how many characters of each text are kept; None for all.
    """

    dataset: GoldDataset | None = None
    runs: Mapping[str, Run] = field(default_factory=dict)
    corpus: Mapping[str, str | Doc] = field(default_factory=dict)
    reasons: Mapping[str, Reasons] = field(default_factory=dict)
    matchers: Mapping[str, BaseMatcher] = field(default_factory=dict)
    max_docs: int = 50
    max_chars: int | None = None

    def __post_init__(self) -> None:
        for name, value in (("max_docs", self.max_docs), ("max_chars", self.max_chars)):
            if value is not None and (isinstance(value, bool) or value < 1):
                raise UsageError(f"{name}: {value!r} is not a whole number of at least 1")
