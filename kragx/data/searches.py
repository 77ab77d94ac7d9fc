"""Searches: what somebody who asks several times, such as an agent, got for one question."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from kragx.data.documents import Doc
from kragx.data.stages import Stage
from kragx.errors import DataError


@dataclass(frozen=True, slots=True)
class Search:
    """One search of those that were made for a question.

    Attributes:
        query: the words that were searched for; None where nobody says.
        documents: what came, in order; None of a search that gives no documents (a number from a
            database, say): it counts as a step and in cost, and is never a search that found
            nothing.
        tool: the name of what was called.
        step: those that ran side by side have the same number; None in all searches of a question
            that ran one after the other.
        seconds: how long it took.
        tokens: what it cost, words asked and what came of them.
        error: why it failed.
        stages: what the steps within it returned.
        read: what of all that had come by then was cited or passed on, in that order: a document's
            number among the question's distinct ones, or its id. None if nobody says; empty if
            nothing was.

    Examples:
        >>> from kragx import Doc, Search
        >>> search = Search("winter opening hours", (Doc("c7"),), tool="handbook", read=("c7",))
        >>> search.is_measured
        True
    """

    query: str | None = None
    documents: tuple[Doc, ...] | None = ()
    tool: str | None = None
    step: int | None = None
    seconds: float | None = None
    tokens: int | None = None
    error: str | None = None
    stages: tuple[Stage, ...] = ()
    read: tuple[int | str, ...] | None = None

    @property
    def is_measured(self) -> bool:
        """Whether it is known what documents it gave."""
        return self.documents is not None and self.error is None

    @property
    def lane(self) -> tuple[str, str]:
        """What tells it from others of its step; a failed search and its retries are alike."""
        return self.query or "", self.tool or ""


def in_steps(searches: Sequence[Search]) -> tuple[Search, ...]:
    """The searches of a question, each with its step, from 1 on without gaps.

    Where none says its step they ran one after the other, but a search that failed and the one
    after it in the same words are one step: it was tried again. Side by side their order, which is
    a log's, means nothing: they stand by their words, tool and documents.

    Raises:
        DataError: some searches have a step, and others none.
    """
    numbered = [search.step is not None for search in searches]
    if any(numbered) and not all(numbered):
        raise DataError(
            "is missing in some searches of a question, and there in others",
            field="step",
            remedy="give each search one, the same to those that ran side by side; or none",
        )
    if any(numbered):
        steps = [step for search in searches if (step := search.step) is not None]
        places = {step: place for place, step in enumerate(sorted({*steps}), start=1)}
        numbers = [places[step] for step in steps]
    else:
        numbers = [*_one_after_the_other(searches)]
    placed = [replace(search, step=step) for search, step in zip(searches, numbers)]
    by_step = groupby(sorted(placed, key=lambda search: search.step or 0), lambda s: s.step)
    return tuple(search for _, side_by_side in by_step for search in _ordered(side_by_side))


def _one_after_the_other(searches: Iterable[Search]) -> Iterable[int]:
    step, before = 0, None
    for search in searches:
        is_retry = before is not None and before.error is not None and before.lane == search.lane
        step += not is_retry
        before = search
        yield step


def _ordered(searches: Iterable[Search]) -> list[Search]:
    """Searches of one step; a search that was tried again stands behind those that failed."""

    def key(search: Search) -> tuple[object, ...]:
        docs = [(doc.id or "", doc.text or "") for doc in search.documents or ()]
        return search.lane, search.error is None, docs

    searches = list(searches)
    return searches if len(searches) == 1 else sorted(searches, key=key)
