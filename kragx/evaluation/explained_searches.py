"""Explain the searches of a query: what each of them brought, step by step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise

from kragx.data import Doc, Retrieved, Search
from kragx.data.searches import Key, distinct_docs, key_of, lanes_of
from kragx.printing import Line, joined, phrase

_INDENT = 3


@dataclass(frozen=True)
class ExplainedSearch:
    """One search, and what of the gold it brought.

    Attributes:
        step: from 1 on; those side by side have the same.
        query, tool: what was asked for, and by what.
        documents: what came, by the numbers of the explanation's documents, from 1; None where it
            gave no documents, or failed.
        finds: gold items, from 1, that no step before had brought.
        again: gold items that one had.
        seconds, tokens: what it took; None if nobody says.
        error: why it failed.
        is_retry: whether the one before failed, and was tried again in the same words.
    """

    step: int
    query: str | None
    tool: str | None
    documents: tuple[int, ...] | None
    finds: tuple[int, ...] = ()
    again: tuple[int, ...] = ()
    seconds: float | None = None
    tokens: int | None = None
    error: str | None = None
    is_retry: bool = False

    def describe(self, n_beside: int = 0) -> Iterator[Line]:
        """Its words, then what came and what of that was gold."""
        step = phrase(
            "step {n}, beside {beside} more" if n_beside else "step {n}",
            n=self.step,
            beside=n_beside,
        )
        again = joined("", [", ", phrase("tried again")]) if self.is_retry else ""
        words = phrase("words not known") if self.query is None else f"“{self.query}”"
        tool = f" [{self.tool}]" if self.tool else ""
        yield Line(
            joined("", ["\n", step, again, ": ", words, tool]),
            "bold green" if self.finds else "bold",
        )
        yield Line(joined("; ", [self._what_came, *self._facts]), indent=_INDENT)

    @property
    def _what_came(self) -> str:
        if self.error is not None:
            return phrase("failed: {error}", error=self.error)
        if self.documents is None:
            return phrase("gave no documents: not measured")
        if not self.documents:
            return phrase("found nothing")
        return phrase("documents {numbers}", numbers=_listed(self.documents))

    @property
    def _facts(self) -> Iterator[str]:
        if self.finds:
            yield phrase("new: gold {numbers}", numbers=_listed(self.finds))
        if self.again:
            yield phrase("again: gold {numbers}", numbers=_listed(self.again))
        if self.documents and not self.finds and not self.again:
            yield phrase("no gold")
        if self.tokens is not None:
            yield phrase("{n:,} tokens", n=self.tokens)
        if self.seconds is not None:
            yield phrase("{n:.3g} s", n=self.seconds)


def numbered_docs(answer: Retrieved) -> dict[Key, Doc]:
    """The distinct documents of somebody who searched: by search and rank, then those beside."""
    return distinct_docs((), answer.searches) | distinct_docs(answer.documents, answer.searches)


def explained_searches(
    searches: Sequence[Search], docs: Iterable[Key], matched: Mapping[int, Sequence[int]]
) -> tuple[ExplainedSearch, ...]:
    """The searches of a query, by step.

    Args:
        searches: by step, as a `Retrieved` has them.
        docs: its distinct documents, in the order of their numbers (`numbered_docs`).
        matched: by a document's number, from 1, the gold items that it matches.
    """
    numbers = {key: number for number, key in enumerate(docs, start=1)}
    found: set[int] = set()
    explained: list[ExplainedSearch] = []
    lanes = [(search.step, lane) for search, lane in zip(searches, lanes_of(searches))]
    retries = [False, *(before == after for before, after in pairwise(lanes))]
    for step, placed in groupby(zip(searches, retries), lambda place: place[0].step or 0):
        of_step = [
            replace(_explained(search, step, numbers, matched, found), is_retry=is_retry)
            for search, is_retry in placed
        ]
        found.update(*(search.finds for search in of_step))
        explained += of_step
    return tuple(explained)


def _explained(
    search: Search,
    step: int,
    numbers: Mapping[Key, int],
    matched: Mapping[int, Sequence[int]],
    found: set[int],
) -> ExplainedSearch:
    documents = tuple(numbers[key_of(doc)] for doc in search.measured)
    gold = sorted({item for number in documents for item in matched.get(number, ())})
    return ExplainedSearch(
        step,
        search.query,
        search.tool,
        documents if search.is_measured else None,
        tuple(item for item in gold if item not in found),
        tuple(item for item in gold if item in found),
        search.seconds,
        search.tokens,
        search.error,
    )


def described(searches: Sequence[ExplainedSearch], read: Sequence[int] | None) -> Iterator[Line]:
    """All of them, and what was read."""
    n_lanes = Counter(search.step for search in searches if not search.is_retry)
    for search in searches:
        yield from search.describe(n_lanes[search.step] - 1)
    text = (
        phrase("what was read is not known")
        if read is None
        else phrase("read: documents {numbers}", numbers=_listed(read))
        if read
        else phrase("nothing was read")
    )
    yield Line(joined("", ["\n", text]))


def _listed(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, numbers))
