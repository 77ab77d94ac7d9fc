"""Which list metrics are about that name none: one for all questions, and all runs compared."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import compress
from typing import Literal, Self, get_args

import numpy as np

from kragx.data import GoldDataset, Query, Run, every_run
from kragx.data.batch import Batch, batched
from kragx.evaluation.searching.searching import query_of
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


def seen_in(batches: Iterable[Batch]) -> Seen | None:
    """What questions with their searches show; None where none has any."""
    seen: Seen | None = None
    for batch in batches:
        seen = Seen.joined((seen, _seen(batch)))
        if seen is not None and seen.basis == "first" and len(seen.says) == len(get_args(Told)):
            break  # nothing more could show
    return seen


def _seen(batch: Batch) -> Seen | None:
    lists, answered = batch.searches, batch.answered
    if lists is None or not (answered & ((lists.n > 0) | ~lists.has_list)).any():
        return None
    query = query_of(lists.n)
    says: set[Told] = set()
    if not np.isnan(lists.tokens[answered[query]]).all():
        says.add("tokens")
    if any(read is not None for read in compress(lists.reads, answered)):
        says.add("read")
    # A search that is measured, and no list beside.
    is_first = (lists.measured & ~lists.has_list[query] & answered[query]).any()
    return Seen("first" if is_first else "retrieved", frozenset(says))


def seen_in_runs(dataset: GoldDataset, runs: Iterable[Run]) -> Seen | None:
    """The same of several runs, which have one basis."""
    rows = [
        (None, Query(query_id), answer)
        for run in every_run(runs)
        for query_id, answer in run.results.items()
        if query_id in dataset and answer.error is None and (answer.searches or not answer.has_list)
    ]
    return seen_in(batched(rows)) if rows else None
