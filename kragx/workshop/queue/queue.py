"""What a person is shown next, and whether a grade that is left can still tell retrievers apart.

Two retrievers differ in a document where it lies at another rank with the one than with the other,
as far down as they are compared. Once every such document has its grade, what is left lies alike
with all of them: it moves no difference but by what could be had in all, and the comparison says
what it will say. That is known by counting, pool by pool.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, takewhile
from typing import Literal

from kragx.data import Doc
from kragx.workshop.pairs.candidates import LabellingPlan, PooledDocument, QuestionPool, chance
from kragx.workshop.pairs.standing import Copies
from kragx.workshop.state.records import Judgement
from kragx.workshop.state.state import Pair, State

QUESTIONS = 10
PAIRS = 30
"""With fewer questions, or fewer of their pairs judged, nothing is said of what is to come."""


def stopping_estimate(
    pools: Collection[QuestionPool], n_retrievers: int
) -> dict[str, str | int | None]:
    """How far the comparison of retrievers is.

    Returns:
        ``outcome``: "decided" if every document in which retrievers differ has its grade, else
        "open"; or why nothing can be said: "retrievers" (fewer than two), "answers" (not all have
        answered yet), "questions" or "pairs" (too few so far), or "equal" (they differ in no
        document). ``needed``: how many there have to be of what is too few.
    """
    # Until all have answered nobody can say in which documents their lists differ.
    compared = [pool for pool in pools if pool.is_compared and pool.candidates]
    outcomes = (
        ("retrievers", n_retrievers < 2),
        (
            "answers",
            any(pool.question.answerable is not False for pool in pools if not all(pool.answered)),
        ),
        ("questions", not compared),
        # Before it is too early to say anything: no grade can help retrievers that are one.
        ("equal", not any(pool.differing for pool in compared)),
        ("questions", len(compared) < QUESTIONS),
        ("pairs", sum(pool.n_judged for pool in compared) < PAIRS),
        ("open", any(not entry.standing.is_known for b in compared for entry in b.differing)),
    )
    outcome = next((outcome for outcome, holds in outcomes if holds), "decided")
    return {"outcome": outcome, "needed": {"questions": QUESTIONS, "pairs": PAIRS}.get(outcome)}


LEASE = 600.0
"""So many seconds nobody else is shown what somebody is being shown."""

_IDLE = 120.0
"""Where nothing else is left, what somebody has been shown for so many seconds is for all again."""

_HELD = 2
"""So many pairs are a person's own: the one that they look at, and the next."""

_SECOND_TURN = 5
"""Every so many turns of a person a pair is one that another has judged, while there are any."""

_ENOUGH = 0.5
"""What is worth at least this share of the best is as good: the order among it says nothing."""

_STAY = 5
"""So many pairs of a question somebody judges in a row though others are worth more.

To read another question takes longer than to judge a pair that is worth less."""

Why = Literal["no questions", "no documents", "all judged", "with others"]


@dataclass(frozen=True)
class _Request:
    """Who asks for a pair, of which question, and what they have before them already."""

    person: str
    question: str | None
    besides: Sequence[Pair]
    pools: Sequence[QuestionPool]
    late: bool = False


class Queue:
    """Gives each person the pair to judge next.

    First comes that in which retrievers differ most (`QuestionPool.worth`), and before all what is
    in doubt since the corpus was chunked anew (`moved`). Where there is nothing to compare,
    questions without a relevant document come first.

    Args:
        state: the workshop.
        docs: the corpus by id.
        copies: of the corpus.
        plan: how it is asked.

    Attributes:
        pools: of the open questions, by uid.
    """

    def __init__(
        self,
        state: State,
        docs: Mapping[str, Doc],
        copies: Copies,
        plan: LabellingPlan | None = None,
    ) -> None:
        self.state: State = state
        self.docs: Mapping[str, Doc] = docs
        self.copies: Copies = copies
        self.plan: LabellingPlan = plan or LabellingPlan()
        self.empty: set[str] = set()
        self.pools: dict[str, QuestionPool] = {}
        self._position = 0
        self._leases: dict[str, dict[Pair, float]] = {}
        self._now = 0.0
        self.refresh()

    # -- kept up with the workshop ----------------------------------------------------------------

    def refresh(self) -> None:
        """Take in what was said and suggested since."""
        with self.state.lock:
            news, self._position = self.state.news(self._position)
            self._make(news)

    def answered_with_nothing(self, question: str, uid: str) -> None:
        """Note that a retriever found nothing for a question (`asking_uid`)."""
        with self.state.lock:
            self.empty.add(uid)
            self._make([question])

    def _make(self, questions: Iterable[str]) -> None:
        for uid in questions:
            question = self.state.questions.get(uid)
            if question is None or question.state != "open":
                self.pools.pop(uid, None)
                continue
            self.pools[uid] = QuestionPool.of(
                self.state, question, self.plan, self.copies, self.docs, self.empty
            )

    # -- what is next -----------------------------------------------------------------------------

    def next_pair(
        self, person: str, question: str | None = None, besides: Sequence[Pair] = ()
    ) -> Pair | Why:
        """What a person judges next, the same again until they have judged it; or why nothing.

        Args:
            person: their uid.
            question: only of this question.
            besides: pairs that they have before them already, in a page that asks ahead, in order.
        """
        with self.state.lock:
            self.refresh()
            pools = [b for uid, b in self.pools.items() if question in (None, uid)]
            request = _Request(person, question, besides, pools)
            now = self._now = time.monotonic()
            pair = self._leased(request) or self._choose(request)
            if pair is None:  # others may just have left their page open
                self._now = now + LEASE - _IDLE
                pair = self._choose(request)
                self._now = now
            # Of what a page fetches ahead only the next pair is kept from others: whoever leaves
            # without a word should not hold many.
            pairs = [*besides, *filter(None, [pair])][:_HELD]
            self._leases[person] = dict.fromkeys(pairs, self._now + LEASE)
            return self._why(request) if pair is None else pair

    def mine(self, person: str, pair: Pair) -> Judgement | None:
        """What a person said of a pair before, or of a copy."""
        newest = (self.state.newest((pair[0], copy), person) for copy in self.copies.all(pair[1]))
        return max(filter(None, newest), key=lambda judgement: judgement.at, default=None)

    def _why(self, request: _Request) -> Why:
        if not request.pools:
            return "no questions"
        candidates = [candidate for pool in request.pools for candidate in pool]
        if any(self._viewers(c.pair) and self._lacks(request.person, c) for c in candidates):
            return "with others"
        # Before all retrievers have answered nobody can say that nothing is left.
        has_all = all(all(pool.answered) for pool in request.pools)
        return "all judged" if candidates and has_all else "no documents"

    # -- what people look at ----------------------------------------------------------------------

    def leave(self, person: str) -> None:
        """Let others be shown what a person was being shown."""
        with self.state.lock:
            self._leases.pop(person, None)

    def _leased(self, request: _Request) -> Pair | None:
        """What the person was shown, and has not judged."""
        for (uid, document), end in self._leases.get(request.person, {}).items():
            pool = self.pools.get(uid) if request.question in (None, uid) else None
            candidate = pool and pool.candidates.get(document)
            if candidate and end > self._now and self._may_judge(request, candidate):
                return candidate.pair
        return None

    def _viewers(self, pair: Pair) -> set[str]:
        """Who is being shown a pair."""
        leases = self._leases.items()
        return {person for person, of_person in leases if of_person.get(pair, 0.0) > self._now}

    def _lacks(
        self, person: str, candidate: PooledDocument, viewers: Collection[str] = frozenset()
    ) -> bool:
        """Whether a pair lacks a judgement of this person, if those who look at it give theirs."""
        status = candidate.standing
        if person in status.by or status.is_decided or status.state == "conflict":
            return False
        # Of what is in doubt since a move, a file's grade is what is asked about.
        is_doubted = candidate in self.pools[candidate.pair[0]].in_doubt
        people = frozenset[str]() if is_doubted else status.by
        return len(people.union(viewers)) < (2 if candidate.is_twice else 1)

    def _may_judge(self, request: _Request, candidate: PooledDocument) -> bool:
        """Whether a person may be shown a pair now; one that they put off only as `late`.

        It lacks a judgement that nobody else is about to give.
        """
        person, pair = request.person, candidate.pair
        is_late = person in self.pools[pair[0]].odd or person in candidate.standing.later
        return (
            pair not in request.besides
            and is_late == request.late
            and self._lacks(person, candidate, self._viewers(pair) - {person})
        )

    def _open(
        self, request: _Request, candidates_of: Callable[[QuestionPool], Iterable[PooledDocument]]
    ) -> Iterator[PooledDocument]:
        """Those of some candidates of the boards that a person may be shown now."""
        candidates = chain.from_iterable(map(candidates_of, request.pools))
        return (candidate for candidate in candidates if self._may_judge(request, candidate))

    # -- which comes first ------------------------------------------------------------------------

    def _choose(self, request: _Request) -> Pair | None:
        turns = [self._doubted, self._by_worth, self._second, self._late]
        if request.question is None:
            judged = self.state.history.get(request.person, ())
            # What a page has asked for ahead counts as judged: its answers come in the same order.
            n_turns = len(judged) + len(request.besides)
            if n_turns % _SECOND_TURN == _SECOND_TURN - 1:
                turns.insert(1, self._second)
        candidates = filter(None, (choose(request) for choose in turns))
        return next((candidate.pair for candidate in candidates), None)

    def _doubted(self, request: _Request) -> PooledDocument | None:
        """Where gold of before a move may be: the next release waits for it."""
        return next(self._open(request, lambda pool: pool.in_doubt), None)

    def _by_worth(self, request: _Request) -> PooledDocument | None:
        """What could change most, of a question for some pairs in a row; else by progress."""
        best: dict[str, float] = {}
        for pool in request.pools:
            of_board = (entry for entry in pool.unjudged if self._may_judge(request, entry))
            if (first := next(of_board, None)) is not None:
                best[pool.question.uid] = pool.worth(first)
        if not best:
            return None
        current, run = self._current(request)
        is_lacking = not all(self.pools[uid].has_relevant for uid in best)

        def rank(uid: str) -> tuple[bool, float, tuple[bool, int], float]:
            pool = self.pools[uid]
            is_wanted = best[uid] > 0 or pool.has_relevant != is_lacking
            stays = uid == current and run < _STAY and is_wanted
            # By lot, and another for each person, so that two who begin at once do not read the
            # same.
            return (
                not stays,
                -best[uid],
                (pool.has_relevant, pool.n_judged),
                chance(request.person, uid),
            )

        pool = self.pools[min(best, key=rank)]
        least = _ENOUGH * best[pool.question.uid]
        # Of pairs that are worth about the same each person has an order of their own.
        return min(
            (e for e in pool.unjudged if pool.worth(e) >= least and self._may_judge(request, e)),
            key=lambda candidate: chance(request.person, *candidate.pair),
        )

    def _current(self, request: _Request) -> tuple[str, int]:
        """The question that somebody is at, and with how many pairs in a row.

        What they have before them counts as well: a page that asks ahead asks for what follows it.
        """
        judged = reversed(self.state.history.get(request.person, ()))
        before = (uid for uid, _ in reversed(request.besides))
        questions = chain(before, (row.question for row in judged))
        current = next(questions, "")
        return current, 1 + sum(1 for _ in takewhile(lambda uid: uid == current, questions))

    def _second(self, request: _Request) -> PooledDocument | None:
        """A pair that one other person has judged, and two are to."""
        current, _ = self._current(request)
        return min(
            self._open(request, lambda pool: pool.for_second),
            key=lambda entry: (entry.pair[0] != current, chance(request.person, *entry.pair)),
            default=None,
        )

    def _late(self, request: _Request) -> PooledDocument | None:
        """What they put off, the longest ago first."""

        def since(candidate: PooledDocument) -> tuple[str, Pair]:
            mine = self.mine(request.person, candidate.pair)
            return mine.at if mine else "", candidate.pair

        return min(
            self._open(replace(request, late=True), QuestionPool.__iter__), key=since, default=None
        )
