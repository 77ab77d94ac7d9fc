"""What a person is shown next."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice, takewhile
from typing import Literal

from kragx.data import Doc
from kragx.workshop.pairs.candidates import Board, LabellingPlan, chance
from kragx.workshop.pairs.duplicates import Copies
from kragx.workshop.queue.convergence import Sums
from kragx.workshop.state.records import Judgement
from kragx.workshop.state.state import Pair, State

LEASE = 600.0
"""So many seconds nobody else is shown what somebody is being shown."""

_IDLE = 120.0
"""Where nothing else is left, what somebody has been shown for so many seconds is for all again."""

_HELD = 2
"""So many pairs are a person's own: the one that they look at, and the next."""

_LEASES = 4
"""So many are remembered of a person, with what they have just judged."""

_SECOND_TURN = 5
"""Every so many turns of a person a pair is one that another has judged, while there are any."""

_ENOUGH = 0.5
"""What is worth at least this share of the best is as good: the order among it says nothing."""

_STAY = 5
"""So many pairs of a question somebody judges in a row though others are worth more.

To read another question takes longer than to judge a pair that is worth less."""

Purpose = Literal["deciding", "random", "search", "conflict"]
Why = Literal["no questions", "no documents", "all judged", "with others"]


@dataclass(frozen=True)
class JudgingTurn:
    """A pair to judge.

    Attributes:
        question: its uid.
        document: the id of the document.
        copies: how many documents of the corpus it stands for, itself among them.
        mine: what the person said of it before.
        late: how many pairs the person has put off, once only those are left; else 0.
    """

    question: str
    document: str
    copies: int = 1
    mine: Judgement | None = None
    late: int = 0


@dataclass(frozen=True)
class NothingToJudge:
    """That there is nothing to judge for a person, and why."""

    why: Why


class Queue:
    """Gives each person the pair to judge next.

    A random share of the pairs (`boards.is_random`) is shown in the order of a hash, in a share of
    the turns, and never because of what it could change; the rest by how far retrievers differ in
    it (`Board.worth`), the most first. Before all comes what is in doubt since the corpus was
    chunked anew (`moved`). Where there is nothing to compare, questions without a relevant document
    come first.

    Args:
        state: the workshop.
        docs: the corpus by id.
        copies: of the corpus.
        plan: how it is asked.

    Attributes:
        boards: of the open questions, by uid.
        sums: of the boards.
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
        self.boards: dict[str, Board] = {}
        self._position = 0
        self.sums: Sums = Sums(list(self.plan.retrievers))
        self._order: dict[str, list[int]] = {}
        self._leases: dict[str, dict[Pair, float]] = {}
        self._shown: dict[Pair, set[str]] = {}
        self.refresh()

    # -- kept up with the workshop ----------------------------------------------------------------

    def refresh(self) -> None:
        """Take in what was said and suggested since."""
        with self.state.lock:
            news = dict.fromkeys(self.state.touched[self._position :])
            self._position = len(self.state.touched)
            self._make(news)

    def answered_with_nothing(self, question: str, uid: str) -> None:
        """Note that a retriever found nothing for a question (`boards.asking_uid`)."""
        with self.state.lock:
            self.empty.add(uid)
            self._make([question])

    def _make(self, questions: Iterable[str]) -> None:
        for uid in questions:
            if (before := self.boards.get(uid)) is not None:
                self.sums.take(before, -1)
            question = self.state.questions.get(uid)
            if question is None or question.state != "open":
                self.boards.pop(uid, None)
                self._order.pop(uid, None)
                continue
            board = Board.of(self.state, question, self.plan, self.copies, self.docs, self.empty)
            worth = board.worth
            self.boards[uid] = board
            self.sums.take(board)
            self._order[uid] = sorted(board.first_columns, key=lambda n: -worth[n])

    def _firsts(
        self, person: str, question: str | None, besides: Sequence[Pair]
    ) -> Iterator[tuple[str, int]]:
        """Yield each question with its document of the greatest worth that a person may be shown.

        That is the first in its order, but where somebody looks at one, or has put one off.
        """
        busy = {uid for uid, _ in chain(self._shown, besides)}
        for board in self._boards(question):
            uid = board.question.uid
            order = self._order[uid]
            if order and (uid in busy or not board.is_plain):
                order = list(islice(self._open(person, board, order, besides), 1))
            if order:
                yield uid, order[0]

    # -- what is next -----------------------------------------------------------------------------

    def next_pair(
        self, person: str, question: str | None = None, besides: Sequence[Pair] = ()
    ) -> JudgingTurn | NothingToJudge:
        """What a person judges next; the same again until they have judged it.

        Args:
            person: their uid.
            question: only of this question.
            besides: pairs that they have before them already, in a page that asks ahead, in order.
        """
        with self.state.lock:
            self.refresh()
            now = time.monotonic()
            self._look_at_leases(now)
            request = (person, question, besides)
            pair = self._leased(*request) or self._choose(*request)
            if pair is None:  # others may just have left their page open
                self._look_at_leases(now, LEASE - _IDLE)
                pair = self._choose(*request)
                self._look_at_leases(now)
            leased = [*besides, *filter(None, [pair])][:_HELD]
            leases = self._leases.setdefault(person, {}) if leased else {}
            for lease in leased:
                leases.pop(lease, None)  # so that those shown longest ago stand first, and go below
                leases[lease] = now + LEASE
            for old in list(leases)[:-_LEASES]:
                del leases[old]
            if pair is None:
                return NothingToJudge(self._why(person, question))
            turn, board = self.turn(person, *pair), self.boards[pair[0]]
            if self._is_late(person, board, board.documents.index(pair[1])):
                turn = replace(turn, late=sum(1 for _ in self._lates(person, question, ())))
            return turn

    def turn(self, person: str, question: str, document: str) -> JudgingTurn:
        """A pair as it is shown, whether it is suggested or was searched for."""
        copies = self.copies.all(document)
        newest = (self.state.newest((question, copy), person) for copy in copies)
        mine = max(filter(None, newest), key=lambda judgement: judgement.at, default=None)
        return JudgingTurn(question, document, len(copies), mine)

    def purpose(self, question: str, document: str) -> Purpose:
        """Why a pair is judged: part of the random share, suggested, or searched for."""
        board = self.boards.get(question)
        first = self.copies.first(document)
        if board is None or first not in board.documents:
            return "search"
        column = board.documents.index(first)
        if not board.suggested[column]:
            return "search"
        return "random" if board.random[column] else "deciding"

    def leave(self, person: str) -> None:
        """Let others be shown what a person was being shown."""
        with self.state.lock:
            self._leases.pop(person, None)

    def _why(self, person: str, question: str | None) -> Why:
        boards = list(self._boards(question))
        if not boards:
            return "no questions"
        for board in boards:
            for column, document in enumerate(board.documents):
                if (board.question.uid, document) in self._shown and self._lacks(
                    person, board, column
                ):
                    return "with others"
        return "all judged" if any(board.documents for board in boards) else "no documents"

    def _boards(self, question: str | None) -> Iterator[Board]:
        if question is None:
            yield from self.boards.values()
        elif question in self.boards:
            yield self.boards[question]

    def _leased(self, person: str, question: str | None, besides: Sequence[Pair]) -> Pair | None:
        for pair in self._leases.get(person, ()):
            board = self.boards.get(pair[0])
            if pair in besides or board is None or question not in (None, pair[0]):
                continue
            if pair[1] in board.documents:
                column = board.documents.index(pair[1])
                if self._may_judge(person, board, column) and not self._is_late(
                    person, board, column
                ):
                    return pair
        return None

    def _choose(self, person: str, question: str | None, besides: Sequence[Pair]) -> Pair | None:
        history = self.state.history.get(person, ())
        if question is None:
            if pair := self._doubted(person, None, besides):
                return pair
            turns = [self._by_worth, self._at_random, self._second, self._late]
            if (len(history) + len(besides)) % _SECOND_TURN == _SECOND_TURN - 1:
                turns.insert(0, self._second)
            if self._random_is_due(besides):
                turns.insert(0, self._at_random)
        else:
            turns = [self._doubted, self._by_worth, self._at_random, self._second, self._late]
        for choose in turns:
            pair = choose(person, question, besides)
            if pair is not None:
                return pair
        return None

    def _random_is_due(self, besides: Sequence[Pair]) -> bool:
        counts = self.sums.counts
        if counts["left"] and not counts["telling"]:
            return True  # nothing else is left in which retrievers differ
        n_random = counts["random"] + sum(self.purpose(*pair) == "random" for pair in besides)
        return n_random < self.plan.random * (counts["judged"] + len(besides) + 1)

    def _may_judge(self, person: str, board: Board, column: int) -> bool:
        """Whether a pair lacks a judgement that nobody else is about to give."""
        looking = self._shown.get((board.question.uid, board.documents[column]), set())
        return self._lacks(person, board, column, looking - {person})

    def _lacks(self, person: str, board: Board, column: int, looking: Collection[str] = ()) -> bool:
        """Whether a pair lacks a judgement of this person, if those who look at it give theirs."""
        status = board.standings[column]
        if person in status.by or status.is_decided or status.state == "conflict":
            return False
        # Of what is in doubt since a move, a file's grade is what is asked about.
        people = frozenset[str]() if column in board.doubted_columns else status.by
        return len(people.union(looking)) < (2 if board.twice[column] else 1)

    def _is_late(self, person: str, board: Board, column: int) -> bool:
        return person in board.odd or person in board.standings[column].later

    def _open(
        self, person: str, board: Board, columns: Iterable[int], besides: Sequence[Pair]
    ) -> Iterator[int]:
        """Those of some columns that this person may be shown now."""
        for column in columns:
            if (
                (board.question.uid, board.documents[column]) not in besides
                and not self._is_late(person, board, column)
                and self._may_judge(person, board, column)
            ):
                yield column

    def _doubted(self, person: str, question: str | None, besides: Sequence[Pair]) -> Pair | None:
        """Where gold of before a move may be: the next release waits for it."""
        for board in self._boards(question):
            for column in self._open(person, board, board.doubted_columns, besides):
                return board.question.uid, board.documents[column]
        return None

    def _by_worth(self, person: str, question: str | None, besides: Sequence[Pair]) -> Pair | None:
        """What could change most, of a question for some pairs in a row; else by progress."""
        firsts = self._firsts(person, question, besides)
        best = {uid: float(self.boards[uid].worth[column]) for uid, column in firsts}
        if not best:
            return None
        top = max(best.values())
        current, run = self._at(person, besides)
        stays = False
        if top > 0:
            alike = [uid for uid, worth in best.items() if worth >= _ENOUGH * top]
            stays = run < _STAY and best.get(current, 0.0) > 0
        else:
            progress = {uid: self.boards[uid].progress for uid in best}
            lowest = min(progress.values())
            alike = [uid for uid, state in progress.items() if state == lowest]
            if current in best and progress[current][0] == lowest[0]:
                stays = run < _STAY or not self.boards[current].has_relevant
        if stays or current in alike:
            uid = current
        else:
            uid = min(alike, key=lambda uid: chance(person, uid))
        board, worths = self.boards[uid], self.boards[uid].worth
        columns_open = self._open(person, board, board.first_columns, besides)
        columns = [n for n in columns_open if worths[n] >= min(_ENOUGH * top, best[uid])]
        return self._one_of(person, board, columns)

    def _at(self, person: str, besides: Sequence[Pair]) -> tuple[str, int]:
        """The question that somebody is at, and with how many pairs in a row.

        What they have before them counts as well: a page that asks ahead asks for what follows it.
        What was drawn at random interrupts, and they go back to where they were.
        """
        history = self.state.history.get(person, ())
        judged = (row.question for row in reversed(history) if row.purpose != "random")
        before = (pair[0] for pair in reversed(besides) if self.purpose(*pair) != "random")
        questions = chain(before, judged)
        current = next(questions, "")
        return current, 1 + sum(1 for _ in takewhile(lambda uid: uid == current, questions))

    def _one_of(self, person: str, board: Board, columns: Iterable[int]) -> Pair:
        uid = board.question.uid
        pairs = ((uid, board.documents[column]) for column in columns)
        return min(pairs, key=lambda pair: chance(person, *pair))

    def _at_random(self, person: str, question: str | None, besides: Sequence[Pair]) -> Pair | None:
        """The first of the random share, in an order that was fixed before anybody judged."""
        firsts = (
            (board.random_place(column), (board.question.uid, board.documents[column]))
            for board in self._boards(question)
            for column in islice(self._open(person, board, board.random_columns, besides), 1)
        )
        return min(firsts, default=(0.0, None))[1]

    def _second(self, person: str, question: str | None, besides: Sequence[Pair]) -> Pair | None:
        """A pair that one other person has judged, and two are to."""
        pairs = (
            (board.question.uid, board.documents[column])
            for board in self._boards(question)
            for column in self._open(person, board, board.second_columns, besides)
        )
        current, _ = self._at(person, besides)
        return min(
            pairs, key=lambda pair: (pair[0] != current, chance(person, *pair)), default=None
        )

    def _late(self, person: str, question: str | None, besides: Sequence[Pair]) -> Pair | None:
        """What they put off, the longest ago first."""
        return min(self._lates(person, question, besides), default=("", None))[1]

    def _lates(
        self, person: str, question: str | None, besides: Sequence[Pair]
    ) -> Iterator[tuple[str, Pair]]:
        """The pairs that they put off and may be shown, each with when."""
        for board in self._boards(question):
            for column, document in enumerate(board.documents):
                pair = (board.question.uid, document)
                if (
                    self._is_late(person, board, column)
                    and pair not in besides
                    and self._may_judge(person, board, column)
                ):
                    mine = self.turn(person, *pair).mine
                    yield mine.at if mine else "", pair

    def _look_at_leases(self, now: float, spare: float = 0.0) -> None:
        """Note who looks at what; a lease that ends within `spare` seconds is not counted."""
        self._shown = {}
        for person, leases in self._leases.items():
            for pair in [pair for pair, end in leases.items() if end <= now]:
                del leases[pair]
            for pair in (pair for pair, end in leases.items() if end > now + spare):
                self._shown.setdefault(pair, set()).add(person)
