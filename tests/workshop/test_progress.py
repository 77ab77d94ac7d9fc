"""How far a workshop is, and what its random share says of the whole."""

from dataclasses import replace

import numpy as np
import pytest

from kragx.workshop.pairs.candidates import LabellingPlan
from kragx.workshop.queue.progress import estimates, shares
from kragx.workshop.state.records import Judgement, SuggestedDocument
from tests.workshop.simulated import World, judged, needed

ALL = LabellingPlan(5, twice=0.0, random=1.0)


def true_precision(queue, truth) -> list[float]:
    """Of each retriever over all questions."""
    boards = queue.boards.values()
    hits = sum(
        np.array(candidate.counts) * (truth[candidate.pair] >= 2)
        for board in boards
        for candidate in board
    )
    return (hits / (5 * len(boards))).tolist()


def n_with_relevant(queue) -> int:
    """How many questions have a document that answers them."""
    return sum(board.has_relevant for board in queue.boards.values())


def test_shares_and_totals():
    """Values with a target first, also those that no question has; then others, then none."""
    queue, truth = World(questions=4).queue()
    state = queue.state
    kinds = zip(state.questions.values(), ["rule", "rule", "case", None])
    state.add([replace(question, query_type=kind) for question, kind in kinds])
    uid = next(iter(state.questions))
    document = next(iter(queue.boards[uid].candidates))
    state.add([Judgement(question=uid, document=document, person="p", grade=1)])
    queue.refresh()
    assert (queue.sums.counts["pairs"], queue.sums.counts["judged"]) == (len(truth), 1)
    assert n_with_relevant(queue) == 0
    state.add([Judgement(question=uid, document=document, person="p", grade=3)])
    queue.refresh()
    by = shares(queue.boards.values(), {"query_type": {"general": 0.5, "rule": 0.25}})
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


def test_all_pairs_give_the_number_itself():
    """Once the whole is the sample the estimate is the number, and its interval has no width."""
    queue, truth = World(questions=6, plan=ALL).queue()
    assert estimates(list(queue.boards.values()), queue.plan) == []
    for _ in judged(queue, truth):
        pass
    queue.refresh()
    share, *precisions = estimates(list(queue.boards.values()), queue.plan)
    assert [own.value for own in precisions] == pytest.approx(true_precision(queue, truth))
    assert share.value == pytest.approx(np.mean([grade >= 2 for grade in truth.values()]))
    assert (share.n, share.of, share.missing) == (len(truth), len(truth), 0)
    assert share.low == pytest.approx(share.value)


def test_the_sample_is_what_comes_first():
    """What somebody searched for is no part of it, nor what follows a pair that is left."""
    queue, _ = World(questions=6, plan=ALL).queue()
    candidates = [candidate for board in queue.boards.values() for candidate in board]
    order = [candidate.pair for candidate in sorted(candidates, key=lambda one: one.place)]
    uid, _ = order[0]
    queue.state.add(
        [
            SuggestedDocument(question=uid, document="0-59", origin="search"),
            Judgement(question=uid, document="0-59", person="p", grade=3),
            *(
                Judgement(question=uid, document=document, person="p", grade=2)
                for uid, document in (*order[:3], order[4])
            ),
            Judgement(question=order[3][0], document=order[3][1], person="p", kind="later"),
        ]
    )
    queue.refresh()
    share, *_ = estimates(list(queue.boards.values()), queue.plan)
    assert (share.value, share.n, share.missing, share.low) == (1.0, 4, 1, None)
    assert share.drawn == len(order)
    queue.state.add(
        [Judgement(question=order[1][0], document=order[1][1], person="p", kind="undone")]
    )
    queue.refresh()
    assert estimates(list(queue.boards.values()), queue.plan)[0].n == 1


@pytest.mark.integration
def test_the_random_share_is_unbiased_and_the_rest_is_not():
    """Over 60 workshops the mean error is within its own error; what was guided errs by far.

    Intervals cover: of the share of relevant pairs at least 85 of 100 do where there is one.
    """
    errors, guided, covered = [], [], []
    for seed in range(60):
        queue, truth = World(seed, questions=15, skills=(4.0, 2.0)).queue()
        for count in judged(queue, truth, 100):
            if count == 40:
                queue.refresh()
        boards = list(queue.boards.values())
        share, *precisions = estimates(boards, queue.plan)
        true = np.mean([grade >= 2 for grade in truth.values()])
        known = [
            candidate.grade > 0
            for board in boards
            for candidate in board
            if candidate.standing.is_known and not candidate.is_random
        ]
        guided.append(np.mean(known) - true)
        values = [true, *(np.array(true_precision_at(queue, truth)))]
        errors.append([own.value - value for own, value in zip([share, *precisions], values)])
        if share.low is not None:
            covered.append(share.low <= true <= share.high)
    mean, spread = np.mean(errors, axis=0), np.std(errors, axis=0) / np.sqrt(len(errors))
    assert (np.abs(mean) <= 3 * spread).all(), (mean, spread)
    assert np.mean(covered) >= 0.85
    assert np.mean(guided) > 0.02
    assert np.mean(guided) > 6 * np.std(guided) / np.sqrt(len(guided))


def true_precision_at(queue, truth) -> list[float]:
    """Of each retriever at the plan's cut-off."""
    return [own * 5 / queue.plan.cut for own in true_precision(queue, truth)]


@pytest.mark.integration
def test_worth_decides_with_fewer_pairs_than_chance():
    """In three workshops what comes next by worth decides sooner than a random order."""
    shares = {0.1: [], 1.0: []}
    for seed in range(3):
        for random, own in shares.items():
            plan = LabellingPlan(5, twice=0.0, random=random)
            count, of = needed(World(seed, 24, (6.0, 2.0), plan))
            own.append(count / of)
    assert np.mean(shares[0.1]) < np.mean(shares[1.0]) - 0.05, shares
