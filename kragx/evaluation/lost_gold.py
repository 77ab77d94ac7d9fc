"""Lost gold: which list on the way to an answer had an item last, and what became of it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Literal

from kragx.data import Doc, Query, Retrieved, Stage
from kragx.evaluation.search_lists import ANSWER

Reason = Literal["never_retrieved", "fused_away", "cut", "low", "unread", "failed"]
"""What became of a gold item that the answer has not within k.

- ``never_retrieved``: no stage, and no search, had it;
- ``fused_away``: one of several lists had it, what was made of them not;
- ``cut``: the list that a stage got had it, what it returned not: a filter, or a limit below k;
- ``low``: the stage returned it deeper than k, and did not get it so;
- ``unread``: a search had it, and it was not read;
- ``failed``: the question was not answered, or the results lack it.
"""


@dataclass(frozen=True)
class LostItem:
    """A gold item that the answer has not within k.

    Attributes:
        query_id: of its question.
        gold: its position among the question's gold items, from 0.
        reason: what became of it.
        stage: where; None where no stage ever had it, or the question failed as a whole.
    """

    query_id: str
    gold: int
    reason: Reason
    stage: str | None = None


def gold_places(query: Query) -> list[int]:
    """The positions of a question's gold items."""
    return [position for position, gold in enumerate(query.gold) if gold.grade > 0]


def equal_lists(first: Sequence[Doc], second: Sequence[Doc]) -> bool:
    """Whether two lists are of the same documents; a corpus may have given one of them texts."""
    return [doc.identity for doc in first] == [doc.identity for doc in second]


class AnswerChain:
    """The lists on the way to one question's answer, and which has which gold item at which rank.

    Attributes:
        query_id: of the question.
        items: the positions of its gold items.
        k: how deep the answer is looked at.
        lists: what its stages returned, and last the answer.
        makes_answer: whether the answer is another list than what the last stage returned.
    """

    def __init__(
        self,
        query: Query,
        answer: Retrieved | None,
        lists: Mapping[str, Stage],
        ranks: Mapping[str, Mapping[str, Sequence[float]]],
        k: int | None,
    ) -> None:
        self.query_id: str = query.id
        self.items: list[int] = gold_places(query)
        self.lists: Mapping[str, Stage] = lists
        self.k: int = k or sys.maxsize  # what stands anywhere is within it
        self._is_read, self._answer = k is None, answer
        self._ranks = {name: ranks[name][query.id] for name in lists}
        last = lists[ANSWER].inputs
        has_failed = answer is not None and answer.error is not None
        self.makes_answer: bool = len(last) != 1 or not (
            has_failed or equal_lists(lists[last[0]].documents, lists[ANSWER].documents)
        )

    def lost(self) -> Iterator[LostItem]:
        """The gold items that the answer has not within k, and where each was lost."""
        items = [item for item in self.items if self._ranks[ANSWER][item] > self.k]
        if self._answer is None or self._answer.error is not None:
            broken = (name for name, stage in self.lists.items() if stage.error is not None)
            stage = next(broken, None)
            yield from (LostItem(self.query_id, item, "failed", stage) for item in items)
        else:
            yield from (LostItem(self.query_id, item, *self._lost_at(item)) for item in items)

    def _lost_at(self, item: int) -> tuple[Reason, str | None]:
        """Why an item was lost, and at which stage: backwards from the answer."""
        # All branches abreast: of several stages that lose it the nearest to the answer is named.
        names, visited = [ANSWER], {ANSWER}
        while names:
            name = names.pop(0)
            inputs, rank = self.lists[name].inputs, self._ranks[name][item]
            before = min((self._ranks[source][item] for source in inputs), default=inf)
            if name == ANSWER and self._is_read and before < rank:
                return "unread", None
            if rank < inf and not self.k < before < inf:
                return "low", name
            if before < rank == inf and not self._only_cuts(name, before):
                return ("cut" if len(inputs) == 1 else "fused_away"), name
            # Back along the lists that have it; where none has, along all, as one before may.
            having = [source for source in inputs if self._ranks[source][item] < inf]
            names += [source for source in having or inputs if source not in visited]
            visited.update(names)
        return "never_retrieved", None

    def _only_cuts(self, name: str, before: float) -> bool:
        """Whether a list is the first documents of another, and what it lacks was below k there."""
        output, inputs = self.lists[name].documents, self.lists[name].inputs
        if before <= self.k or len(inputs) > 1:
            return False
        return equal_lists(output, self.lists[inputs[0]].documents[: len(output)])
