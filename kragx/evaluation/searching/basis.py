"""Which list metrics are about that name none: one for all questions, and all runs compared."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from itertools import compress
from typing import Any, Literal, Self

import numpy as np

from kragx.data import GoldDataset, Retrieved, Run, every_run
from kragx.data.batch import Batch
from kragx.data.search_lists import SearchLists
from kragx.evaluation.searching.listing import query_of
from kragx.metrics import Bools
from kragx.metrics.search_table import Basis

Told = Literal["tokens", "read"]
"""What searches may say of themselves."""


@dataclass(frozen=True)
class Seen:
    """What a look at all searches shows before the first of them is matched.

    Attributes:
        basis: what each question got in the end where all have that, else what its first search
            gave.
        says: what any of those that were looked at says: what it cost in tokens, what was read.
    """

    basis: Basis
    says: frozenset[Told]

    @classmethod
    def joined(cls, parts: Iterable[Self | None]) -> Self | None:
        """What several looks show together; None where none showed any search."""
        searching = [part for part in parts if part is not None]
        if not searching:
            return None
        is_first = any(part.basis == "first" for part in searching)
        says = frozenset[Told]().union(*(part.says for part in searching))
        return cls("first" if is_first else "retrieved", says)


def seen_in(batches: Iterable[Batch], *, asks: Collection[Told] = ()) -> Seen | None:
    """What questions with their searches show; None where none has any.

    Args:
        batches: the questions.
        asks: for what to look on where a question has said what the basis is.
    """
    basis: Basis | None = None
    says: set[Told] = set()
    for batch in batches:
        lists, answered = batch.searches, batch.answered
        if lists is None or not (answered & ((lists.n > 0) | ~lists.has_list)).any():
            continue
        tokens = lists.tokens[answered[query_of(lists.n)]]
        if not np.isnan(tokens).all():
            says.add("tokens")
        if any(read is not None for read in compress(lists.reads, answered)):
            says.add("read")
        if basis != "first":
            basis = "first" if _lacks_list(lists, answered).any() else "retrieved"
        if basis == "first" and says.issuperset(asks):
            break
    return None if basis is None else Seen(basis, frozenset(says))


def seen_in_records(
    records: Iterable[Mapping[str, Any]], *, asks: Collection[Told] = ()
) -> Seen | None:
    """The same of records of a results file, before anybody looks whether they are right."""
    basis: Basis | None = None
    says: set[Told] = set()
    for record in records:
        of_record, lacks_list = record.get("searches"), record.keys().isdisjoint(_HANDED_ON)
        has_searches = isinstance(of_record, list) and (of_record or lacks_list)
        if not has_searches or record.get("error") is not None:
            continue
        searches = [search for search in of_record or () if isinstance(search, dict)]
        says |= {told for told in _TOLD if any(s.get(told) is not None for s in searches)}
        if basis != "first":
            is_first = lacks_list and any(map(_is_measured, searches))
            basis = "first" if is_first else "retrieved"
        if basis == "first" and says.issuperset(asks):
            break
    return None if basis is None else Seen(basis, frozenset(says))


_TOLD: tuple[Told, ...] = ("tokens", "read")
_HANDED_ON = frozenset(("retrieved", "retrieved_chunk_ids"))


def _is_measured(search: Mapping[str, Any]) -> bool:
    return search.get("retrieved") is not None and search.get("error") is None


def seen_in_runs(dataset: GoldDataset, runs: Iterable[Run]) -> Seen | None:
    """The same of several runs, which have one basis."""
    answers = [
        answer
        for run in every_run(runs)
        for query_id, answer in run.results.items()
        if query_id in dataset and answer.error is None and (answer.searches or not answer.has_list)
    ]
    if not answers:
        return None
    searches = [search for answer in answers for search in answer.searches]
    says = {told for told in _TOLD if any(getattr(s, told) is not None for s in searches)}
    basis: Basis = "first" if any(map(_has_searches_alone, answers)) else "retrieved"
    return Seen(basis, frozenset(says))


def _has_searches_alone(answer: Retrieved) -> bool:
    is_known = any(search.is_measured for search in answer.searches)
    return is_known and not answer.has_list


def _lacks_list(lists: SearchLists, answered: Bools) -> Bools:
    """(q) which questions have a search that is measured, and no list beside."""
    n_measured = np.bincount(query_of(lists.n)[lists.measured], minlength=len(lists.n))
    return (n_measured > 0) & ~lists.has_list & answered
