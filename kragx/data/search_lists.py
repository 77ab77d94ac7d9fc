"""The searches of many questions as columns: what a batch has beside lists."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice
from math import isnan, nan

import numpy as np
from numpy.typing import NDArray

from kragx.data.documents import Doc
from kragx.data.entries import Entries, Floats
from kragx.data.runs import Retrieved
from kragx.data.searches import UNKNOWN_DOC, Search, distinct_docs, key_of, lanes_of
from kragx.data.stretches import Ints

Bools = NDArray[np.bool_]


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
        read: (n) what was read by then: documents by their numbers among the question's distinct
            ones (by id and text: those of its list first, then what searches add in order), ids
            that none of these has; None where nobody says.
        has_list: (q) whether the documents of the batch are what was handed on in the end.
        queries, tools, errors: (n) words, names of tools, and reasons.
    """

    n: Ints
    step: Ints
    lane: Ints
    docs: Entries
    measured: Bools
    failed: Bools
    seconds: Floats
    tokens: Floats
    read: Sequence[tuple[int | str, ...] | None]
    has_list: Bools
    queries: Sequence[str | None]
    tools: Sequence[str | None]
    errors: Sequence[str | None]

    @classmethod
    def of(cls, answers: Sequence[Retrieved | None]) -> SearchLists | None:
        """Those of answers that are objects; None where all have a list alone."""
        if all(answer is None or (answer.has_list and not answer.searches) for answer in answers):
            return None
        of_answer = [() if answer is None else answer.searches for answer in answers]
        searches = [*chain.from_iterable(of_answer)]
        docs = [search.measured for search in searches]
        return cls(
            n=np.array([*map(len, of_answer)], np.int64),
            step=np.array([search.step for search in searches], np.int64),
            lane=np.array([*chain.from_iterable(map(lanes_of, of_answer))], np.int64),
            docs=Entries.of([*chain.from_iterable(docs)], [*map(len, docs)], "score"),
            measured=np.array([search.is_measured for search in searches], bool),
            failed=np.array([search.error is not None for search in searches], bool),
            seconds=as_numbers([search.seconds for search in searches]),
            tokens=as_numbers([search.tokens for search in searches]),
            read=[*chain.from_iterable(map(_read, answers))],
            has_list=np.array([answer is None or answer.has_list for answer in answers], bool),
            queries=[search.query for search in searches],
            tools=[search.tool for search in searches],
            errors=[search.error for search in searches],
        )

    @cached_property
    def reads(self) -> Sequence[tuple[int, ...] | None]:
        """(q) what was read for each question, in order, each document once; None as of `read`.

        `UNKNOWN_DOC` stands for one that no search returned.
        """
        stream = iter(self.read)
        return [_once(islice(stream, n)) for n in self.n.tolist()]

    def by_answer(self) -> Iterator[tuple[Search, ...]]:
        """The searches of each question as objects."""
        columns = zip(
            self.queries,
            self.docs.documents(),
            self.tools,
            self.step.tolist(),
            _values(self.seconds),
            _values(self.tokens),
            self.errors,
            self.read,
            self.measured.tolist(),
        )
        searches = (
            Search(
                query,
                docs if is_measured or error is not None else None,
                tool,
                step,
                seconds,
                None if tokens is None else int(tokens),
                error,
                read=read,
            )
            for query, docs, tool, step, seconds, tokens, error, read, is_measured in columns
        )
        for n in self.n.tolist():
            yield tuple(islice(searches, n))


def _read(answer: Retrieved | None) -> list[tuple[int | str, ...] | None]:
    """What each search of an answer says was read, documents as their numbers."""
    if answer is None:
        return []
    if not any(search.read for search in answer.searches):
        return [None if search.read is None else () for search in answer.searches]
    docs = distinct_docs(answer.documents, answer.searches)
    numbers = {key: number for number, key in enumerate(docs)}

    def place(entry: int | str | Doc) -> int | str:
        if isinstance(entry, Doc):
            return numbers.get(key_of(entry), entry.id or entry.text or "")
        return entry

    return [
        None if search.read is None else tuple(map(place, search.read))
        for search in answer.searches
    ]


def _once(reads: Iterator[tuple[int | str, ...] | None]) -> tuple[int, ...] | None:
    lists = [read for read in reads if read is not None]
    if not lists:
        return None
    distinct = dict.fromkeys(chain.from_iterable(lists))
    return tuple(UNKNOWN_DOC if isinstance(entry, str) else entry for entry in distinct)


def as_numbers(values: Sequence[float | None]) -> Floats:
    """Numbers as an array; NaN where there is none."""
    return np.array([nan if value is None else value for value in values], np.float64)


def _values(numbers: Floats) -> list[float | None]:
    return [None if isnan(number) else number for number in numbers.tolist()]
