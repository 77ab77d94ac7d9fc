"""A question with all that is suggested for it: who found it where, and what people say of it."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import numpy as np

from kragx.data import Doc
from kragx.metrics import Bools, Floats, Ints
from kragx.workshop.pairs.duplicates import Copies
from kragx.workshop.pairs.moved import ORIGIN
from kragx.workshop.pairs.scale import gold_grade
from kragx.workshop.pairs.standing import Standing, standing
from kragx.workshop.state.records import Question, SuggestedDocument
from kragx.workshop.state.state import State

CUT = 10
"""So far down lists are compared where nothing else is said."""

_ANSWER = 0.1
"""A question's first relevant document is worth as much as one in which lists differ by it."""


@dataclass(frozen=True)
class LabellingPlan:
    """How a workshop asks and what for.

    Attributes:
        cut: so far down the retrievers' lists are compared.
        retrievers: by name, what their answers depend on (a hash); an answer of another is old.
        depth: so many documents of each retriever's answer are suggested.
        top: the highest grade that people give.
        twice: the share of pairs that two people judge.
        random: the share of pairs that are judged whatever they could change.
    """

    cut: int = CUT
    retrievers: Mapping[str, str] = field(default_factory=dict)
    depth: int = 10
    top: int = 3
    twice: float = 0.2
    random: float = 0.1


@lru_cache(maxsize=1 << 17)  # the same are asked for after every judgement
def chance(*parts: str) -> float:
    """A number in [0, 1) that is always the same for the same texts."""
    digest = hashlib.blake2b("\x1f".join(parts).encode("utf-8", "replace"), digest_size=7).digest()
    return int.from_bytes(digest, "big") / 2.0**56


def asking_uid(question: Question, retriever: str, key: str) -> str:
    """The uid that all candidates of one answer have: of this text, by this retriever as it is."""
    text = "\x1f".join((question.uid, question.text, retriever, key))
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:32]


@dataclass(frozen=True, eq=False)
class Board:
    """A question with its d documents, copies taken together, in an order that says nothing.

    Attributes:
        documents: ids of those that stand for their copies.
        standings: what people say of each.
        ranks: (r, d) where each retriever has it first, from 1; 0 where it does not.
        counts: (r, d) how often it is among what is compared, copies counted.
        answered: (r) whether the retriever has answered this text.
        suggested: (d) whether it is suggested; else somebody searched for it.
        random: (d) whether it is judged whatever it could change.
        twice: (d) whether two people judge it.
        judged: (d) whether a person has judged it, and not only a file.
        odd: what people say who find the question itself odd, by their uid; see `State.odd`.
        top: the highest grade that people give.
        cut: so far down lists are compared.
        doubts: for each gold text whose place nobody knows (`moved`), the columns where it may be,
            the likeliest first.
    """

    question: Question
    documents: tuple[str, ...]
    standings: tuple[Standing, ...]
    ranks: Ints
    counts: Ints
    answered: Bools
    suggested: Bools
    random: Bools
    twice: Bools
    judged: Bools
    odd: Mapping[str, str]
    top: int
    cut: int
    doubts: tuple[tuple[int, ...], ...] = ()

    @classmethod
    def of(
        cls,
        state: State,
        question: Question,
        plan: LabellingPlan,
        copies: Copies,
        docs: Mapping[str, Doc],
        empty: Collection[str] = (),
    ) -> Board:
        """What a workshop holds of a question.

        Args:
            state: the workshop; its lock is held.
            question: an open one.
            plan: how it is asked.
            copies: of the corpus.
            docs: the corpus; what is no longer in it is left out.
            empty: uids of askings (`asking_uid`) that were answered with nothing.
        """
        uids = {
            asking_uid(question, name, key): number
            for number, (name, key) in enumerate(plan.retrievers.items())
        }
        answered = np.array([uid in empty for uid in uids], bool)
        places: dict[str, list[tuple[int, int]]] = {}
        suggested: set[str] = set()
        doubts: dict[str, dict[str, float]] = {}

        def take(row: SuggestedDocument) -> None:
            number = uids.get(row.uid)
            if row.origin == "retriever" and number is None and uids:
                return  # of a retriever that is not asked any more, or another text
            if number is not None:
                answered[number] = True
            if row.document in docs:
                first = copies.first(row.document)
                ranks = places.setdefault(first, [])
                if row.origin == ORIGIN:
                    doubts.setdefault(row.detail, {}).setdefault(first, row.score or 0.0)
                if row.origin != "search":
                    suggested.add(first)
                if number is not None and row.rank is not None:
                    ranks.append((number, row.rank))

        for rows in state.candidates.get(question.uid, {}).values():
            for row in rows:
                take(row)
        for document in state.judged.get(question.uid, ()):
            pair = (question.uid, document)
            is_judged = any(state.judgements.get(pair, {}).values()) or state.decisions.get(pair)
            if document in docs and is_judged:
                places.setdefault(copies.first(document), [])
        documents = sorted(places, key=lambda document: chance(question.uid, document))
        ranks = np.zeros((len(uids), len(documents)), np.int64)
        counts = np.zeros_like(ranks)
        for column, document in enumerate(documents):
            for number, rank in places[document]:
                earlier = ranks[number, column]
                ranks[number, column] = min(earlier, rank) if earlier else rank
                counts[number, column] += rank <= plan.cut
        standings = [standing(state, question.uid, copies.all(document)) for document in documents]
        files = {person.uid for person in state.people.values() if person.role == "file"}
        return cls(
            question,
            tuple(documents),
            tuple(standings),
            ranks,
            counts,
            answered,
            np.array([document in suggested for document in documents], bool),
            np.array(
                [
                    document in suggested and is_random(question.uid, document, plan.random)
                    for document in documents
                ],
                bool,
            ),
            np.array(
                [chance(question.uid, document, "twice") < plan.twice for document in documents],
                bool,
            ),
            np.array([bool(standing_now.by - files) for standing_now in standings], bool),
            state.odd(question),
            plan.top,
            plan.cut,
            tuple(
                tuple(sorted(map(documents.index, doubt), key=lambda n: -doubt[documents[n]]))
                for doubt in doubts.values()
            ),
        )

    @cached_property
    def known(self) -> Bools:
        """(d) whether it is settled what each is worth."""
        return np.array([verdict.is_known for verdict in self.standings], bool)

    @cached_property
    def grades(self) -> Floats:
        """(d) the grades in a gold file; 0 of what is unusable, and of what is not known."""
        return np.array(
            [
                gold_grade(verdict.grade or 0, self.top) if verdict.is_known else 0
                for verdict in self.standings
            ]
        )

    @cached_property
    def has_relevant(self) -> bool:
        """Whether there is a document that is worth something to everybody who judged it."""
        return any(gold_grade(verdict.least or 0, self.top) > 0 for verdict in self.standings)

    @property
    def progress(self) -> tuple[bool, int]:
        """What comes first where nothing is to be compared, the least first."""
        return self.has_relevant, self.n_judged

    @cached_property
    def doubted_columns(self) -> list[int]:
        """What people are to say first: where gold of before a move may be, until it is found."""
        columns: dict[int, None] = {}
        for doubt in self.doubts:
            if not any(self.judged[n] and self.grades[n] > 0 for n in doubt):
                columns |= dict.fromkeys(n for n in doubt if not self.judged[n])
        return list(columns)

    @cached_property
    def first_columns(self) -> list[int]:
        """The documents that nobody has judged, without the random share."""
        return [
            n for n, verdict in enumerate(self.standings) if not verdict.by and not self.random[n]
        ]

    @cached_property
    def random_columns(self) -> list[int]:
        """Those of the random share, in the order in which they are shown."""
        columns = [
            n for n, verdict in enumerate(self.standings) if not verdict.by and self.random[n]
        ]
        return sorted(columns, key=self.random_place)

    def random_place(self, column: int) -> float:
        """Where a document stands in the order of all pairs that was fixed beforehand."""
        return chance(self.question.uid, self.documents[column], "random")

    @cached_property
    def n_judged(self) -> int:
        """How many a person has judged."""
        return int(self.judged.sum())

    @cached_property
    def n_random_judged(self) -> int:
        """How many of them are of the random share."""
        return int((self.judged & self.random).sum())

    @cached_property
    def second_columns(self) -> list[int]:
        """Those that one has judged and two are to."""
        return [
            n for n, verdict in enumerate(self.standings) if len(verdict.by) == 1 and self.twice[n]
        ]

    @cached_property
    def is_plain(self) -> bool:
        """Whether nobody has put anything off, nor settled what nobody has judged."""
        return not (
            self.odd or any(verdict.later or verdict.is_decided for verdict in self.standings)
        )

    @property
    def is_compared(self) -> bool:
        """Whether retrievers can be compared by it: all answered, and nobody says it has none."""
        return bool(self.answered.all()) and self.question.answerable is not False

    @cached_property
    def _discounts(self) -> Floats:
        """(r, d) what a place is worth, as by nDCG; nothing below the cut."""
        within = (self.ranks > 0) & (self.ranks <= self.cut)
        return np.asarray(within / np.log2(1.0 + np.where(within, self.ranks, 1)), np.float64)

    @cached_property
    def disagreement(self) -> Floats:
        """(d) how far retrievers differ in each: what its best place is worth above its worst."""
        if len(self.ranks) < 2:
            return np.zeros(len(self.documents))
        return np.asarray(self._discounts.max(axis=0) - self._discounts.min(axis=0))

    @cached_property
    def worth(self) -> Floats:
        """(d) how much each grade that is left is wanted.

        What retrievers differ in is. What all have at the same rank tells nothing of them, and is
        the likeliest to be relevant: so that no question is left without its answer, that is worth
        something until there is one. All are worth 0 while there is nothing to compare.
        """
        if len(self.ranks) < 2 or not self.is_compared:
            return np.zeros(len(self.documents))
        answer = 0.0 if self.has_relevant else _ANSWER
        worth = self.disagreement + answer * self._discounts.max(axis=0)
        return np.where(self.known, 0.0, worth)


def is_random(question: str, document: str, share: float) -> bool:
    """Whether a pair is judged whatever it could change: fixed before anybody judges."""
    return chance(question, document, "random") < share
