"""How far a workshop is."""

from dataclasses import replace

import numpy as np
import pytest

from kragx.workshop.pairs.candidates import LabellingPlan
from kragx.workshop.services.progress import shares
from kragx.workshop.state.records import Judgement
from tests.workshop.simulated import World, needed


def n_with_relevant(queue) -> int:
    """How many questions have a document that answers them."""
    return sum(pool.has_relevant for pool in queue.pools.values())


def test_shares_and_totals():
    """Values with a target first, also those that no question has; then others, then none."""
    queue, truth = World(questions=4).queue()
    state = queue.state
    kinds = zip(state.questions.values(), ["rule", "rule", "case", None])
    state.add([replace(question, query_type=kind) for question, kind in kinds])
    uid = next(iter(state.questions))
    document = next(iter(queue.pools[uid].candidates))
    state.add([Judgement(question=uid, document=document, person="p", grade=1)])
    queue.refresh()
    pools = queue.pools.values()
    assert (sum(map(len, map(list, pools))), sum(b.n_judged for b in pools)) == (len(truth), 1)
    assert n_with_relevant(queue) == 0
    state.add([Judgement(question=uid, document=document, person="p", grade=3)])
    queue.refresh()
    by = shares(queue.pools.values(), {"query_type": {"general": 0.5, "rule": 0.25}})
    rows = [tuple(row.values()) for row in by["query_type"]]
    assert rows == [
        ("general", 0, 0.0, 0.5, 0, 0),
        ("rule", 2, 0.5, 0.25, 1, 1),
        ("case", 1, 0.25, None, 0, 0),
        (None, 1, 0.25, None, 0, 0),
    ]
    assert by["difficulty"] == []
    state.add([Judgement(question=uid, document=document, person="r", grade=2)])
    queue.refresh()
    assert n_with_relevant(queue) == 1  # 2 and 3 both answer
    state.add([Judgement(question=uid, document=document, person="r", grade=1)])
    queue.refresh()
    assert n_with_relevant(queue) == 0
    assert shares([], {}) == {"query_type": [], "difficulty": []}


@pytest.mark.integration
def test_worth_decides_with_fewer_pairs_than_chance():
    """In three workshops what comes next by worth decides sooner than a random order."""
    shares = {False: [], True: []}
    for seed in range(3):
        world = World(seed, 24, (6.0, 2.0), LabellingPlan(5, twice=0.0))
        for by_chance, of_order in shares.items():
            count, of = needed(world, by_chance=by_chance)
            of_order.append(count / of)
    assert np.mean(shares[False]) < np.mean(shares[True]) - 0.05, shares
