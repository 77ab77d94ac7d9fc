"""The searches of many questions as columns: what a batch has beside lists."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from kragx.data.documents import Doc, key_of
from kragx.data.entries import Entries
from kragx.data.lists import Bools, Floats, Ints
from kragx.data.runs import Retrieved
from kragx.data.searches import UNKNOWN_DOC, Search, distinct_docs, lanes_of


@dataclass(frozen=True)
class SearchLists:
    """The n searches for the q questions of a batch, one question after the other, in steps.

    Attributes:
        n: (q) how many each question has; 0 of one that has a list alone, or nothing.
        step: (n) from 1 on.
        lane: (n) from 0 on within a step; a search and its retries are one.
        docs: what each search gave, a list for each; nothing of one that is not measured.
        measured: (n) whether it is known what it gave.
        failed: (n) whether it failed.
        seconds, tokens: (n) what it took; NaN where nobody says.
        reads: (q) what was read for each question, in order, each document once: by its number
            among the question's distinct ones (by id and text: those of its list first, then what
            searches add in order); `UNKNOWN_DOC` for one that no search returned; None where nobody
            says.
        has_list: (q) whether the documents of the batch are what was handed on in the end.
        of_answers: (q) the same as objects.
    """

    n: Ints
    step: Ints
    lane: Ints
    docs: Entries
    measured: Bools
    failed: Bools
    seconds: Floats
    tokens: Floats
    reads: Sequence[tuple[int, ...] | None]
    has_list: Bools
    of_answers: Sequence[tuple[Search, ...]]

    @classmethod
    def of(cls, answers: Sequence[Retrieved | None]) -> SearchLists:
        """Those of answers that are objects."""
        of_answers = [() if answer is None else answer.searches for answer in answers]
        searches = [*chain.from_iterable(of_answers)]
        docs = [search.measured for search in searches]
        return cls(
            n=np.array([*map(len, of_answers)], np.int64),
            step=np.array([search.step for search in searches], np.int64),
            lane=np.array([*chain.from_iterable(map(lanes_of, of_answers))], np.int64),
            docs=Entries.of([*chain.from_iterable(docs)], [*map(len, docs)], "score"),
            measured=np.array([search.is_measured for search in searches], bool),
            failed=np.array([search.error is not None for search in searches], bool),
            seconds=np.array([search.seconds for search in searches], np.float64),
            tokens=np.array([search.tokens for search in searches], np.float64),
            reads=[None if answer is None else _read(answer) for answer in answers],
            has_list=np.array([answer is None or answer.has_list for answer in answers], bool),
            of_answers=of_answers,
        )


def _read(answer: Retrieved) -> tuple[int, ...] | None:
    """What was read, as numbers of documents."""
    lists = [search.read for search in answer.searches if search.read is not None]
    # An empty list says that nothing was read; none at all, that nobody knows.
    if not any(lists):
        return () if lists else None
    docs = distinct_docs(answer.documents, answer.searches)
    numbers = {key: number for number, key in enumerate(docs)}

    def number(entry: int | str | Doc) -> int | str:
        if isinstance(entry, Doc):
            return numbers.get(key_of(entry), entry.id or entry.text or "")
        return entry

    distinct = dict.fromkeys(map(number, chain.from_iterable(lists)))
    return tuple(UNKNOWN_DOC if isinstance(entry, str) else entry for entry in distinct)
