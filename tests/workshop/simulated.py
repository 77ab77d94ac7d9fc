"""Workshops that are judged by a machine which knows the grades; ``python -m`` prints figures."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from statistics import median

import numpy as np

from kragx.data import Doc
from kragx.workshop.pairs.candidates import LabellingPlan, asking_uid
from kragx.workshop.pairs.standing import Copies
from kragx.workshop.queue.queue import Queue, stopping_estimate
from kragx.workshop.state.records import Judgement, Question, StoredRecord, SuggestedDocument
from kragx.workshop.state.state import State

PLAN = LabellingPlan(10, twice=0.0)


class Memory:
    """A store that stores nothing."""

    def after(self, last: dict[str, int], tables: object = None) -> Iterator[StoredRecord]:
        """Nobody else writes."""
        return iter(())


class MemoryState(State):
    """A state without a database."""

    def __init__(self) -> None:
        super().__init__(Memory())  # type: ignore[arg-type]

    def add(self, records: Iterable[StoredRecord]) -> None:
        """Only remember."""
        for record in records:
            self._take(record)


@dataclass(frozen=True)
class World:
    """Questions with what three retrievers find, and the grades that people would give.

    Attributes:
        seed: makes it.
        questions: how many.
        skills: how well each retriever tells relevant documents from others.
        plan: how it is asked.
    """

    seed: int = 0
    questions: int = 60
    skills: tuple[float, ...] = (1.8, 1.3, 1.0)
    plan: LabellingPlan = PLAN

    def queue(self) -> tuple[Queue, dict[tuple[str, str], int]]:
        """The workshop, and the grade of each pair that is suggested."""
        rng, state = np.random.default_rng(self.seed), MemoryState()
        plan = replace(self.plan, retrievers={f"r{n}": str(n) for n in range(len(self.skills))})
        docs, truth = {}, {}
        for number in range(self.questions):
            question = Question(uid=f"{self.seed}/{number}", person="o", text=f"question {number}")
            grades = np.zeros(60, int)
            n_relevant = int(rng.integers(1, 6))
            grades[:n_relevant] = rng.choice([2, 3], n_relevant)
            rows: list[StoredRecord] = [question]
            for skill, (name, key) in zip(self.skills, plan.retrievers.items()):
                order = np.argsort(-(skill * (grades > 0) + rng.gumbel(size=60)))[: plan.depth]
                for rank, one in enumerate(order.tolist(), start=1):
                    document = f"{number}-{one}"
                    docs[document] = Doc(document, document)
                    truth[question.uid, document] = int(grades[one])
                    rows.append(
                        SuggestedDocument(
                            uid=asking_uid(question, name, key),
                            question=question.uid,
                            document=document,
                            origin="retriever",
                            detail=name,
                            rank=rank,
                        )
                    )
            state.add(rows)
        return Queue(state, docs, Copies({}), plan), truth


def judged(
    queue: Queue, truth: dict[tuple[str, str], int], by_chance: bool = False
) -> Iterator[int]:
    """Judge pair by pair, as one person, in the queue's order or by chance; yield how many."""
    pairs = iter(np.random.default_rng(0).permutation(list(truth)).tolist())

    def next_pair() -> tuple[str, str] | None:
        if by_chance:
            return next(map(tuple, pairs), None)
        pair = queue.next_pair("p")
        return pair if isinstance(pair, tuple) else None

    for count, pair in enumerate(iter(next_pair, None), start=1):
        said = {"question": pair[0], "document": pair[1], "person": "p"}
        queue.state.add([Judgement(**said, grade=truth[pair])])
        yield count


def needed(world: World, *, by_chance: bool = False) -> tuple[int, int]:
    """After how many judgements it is decided, and of how many."""
    queue, truth = world.queue()
    for count in judged(queue, truth, by_chance):
        queue.refresh()
        pools, n_retrievers = queue.pools.values(), len(queue.plan.retrievers)
        if stopping_estimate(pools, n_retrievers)["outcome"] == "decided":
            return count, len(truth)
    return len(truth), len(truth)


def main() -> None:
    """Print after how many pairs it is decided, by worth and in random order."""
    for cut in (10, 5):
        shares: dict[bool, list[float]] = {False: [], True: []}
        for seed in range(3):
            for by_chance, of_order in shares.items():
                world = World(seed, 24, (6.0, 2.0), LabellingPlan(cut, twice=0.0))
                count, of = needed(world, by_chance=by_chance)
                of_order.append(count / of)
        by_worth, by_chance = (median(of_order) for of_order in shares.values())
        print(f"@{cut}: decided after {by_worth:.0%} of the pairs, in random order {by_chance:.0%}")


if __name__ == "__main__":
    main()
