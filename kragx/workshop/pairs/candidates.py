"""A question with all that is suggested for it: who found it where, and what people say of it.

Of a pair the newest grade of each person counts where it is said how far people agree.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import chain, combinations
from math import log2

import numpy as np

from kragx.data import Doc
from kragx.judging.panel import ordinal_alpha
from kragx.metrics import Floats
from kragx.metrics.intervals import Interval, expanded_intervals
from kragx.workshop.pairs.moved import ORIGIN
from kragx.workshop.pairs.standing import Copies, Standing, gold_grade, standing, verdicts
from kragx.workshop.state.records import Question
from kragx.workshop.state.state import Pair, State

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
    """

    cut: int = CUT
    retrievers: Mapping[str, str] = field(default_factory=dict)
    depth: int = 10
    top: int = 3
    twice: float = 0.2


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
class PooledDocument:
    """A document that may answer a question; its copies are taken together with it.

    Attributes:
        pair: the question's uid, and the id of the document that stands for its copies.
        standing: what people say of it.
        is_twice: whether two people judge it.
        is_judged: whether a person has judged it, and not only a file.
        grade: in a gold file; 0 of what is unusable, and of what is not known.
        is_relevant: whether it is worth something to everybody who judged it.
        gain: what its best place is worth, as by nDCG; nothing below the cut.
        disagreement: how far retrievers differ in it: what its best place is worth above its worst.
    """

    pair: Pair
    standing: Standing
    is_twice: bool
    is_judged: bool
    grade: float
    is_relevant: bool
    gain: float
    disagreement: float


@dataclass(frozen=True, eq=False)
class QuestionPool:
    """A question with its documents.

    Attributes:
        candidates: by the ids of the documents, in an order that says nothing.
        answered: whether each retriever has answered this text.
        odd: what people say who find the question itself odd, by their uid; see `State.odd`.
        possible_places: for each gold text whose place nobody knows (`moved`), where it may be, the
            likeliest first.
    """

    question: Question
    candidates: Mapping[str, PooledDocument]
    answered: tuple[bool, ...]
    odd: Mapping[str, str]
    possible_places: tuple[tuple[PooledDocument, ...], ...] = ()

    @classmethod
    def of(
        cls,
        state: State,
        question: Question,
        plan: LabellingPlan,
        copies: Copies,
        docs: Mapping[str, Doc],
        empty: Collection[str] = (),
    ) -> QuestionPool:
        """What a workshop holds of a question.

        Args:
            state: the workshop; its lock is held.
            question: an open one.
            plan: how it is asked.
            copies: of the corpus.
            docs: the corpus; what is no longer in it is left out.
            empty: uids of askings (`asking_uid`) that were answered with nothing.
        """
        uids = [asking_uid(question, *retriever) for retriever in plan.retrievers.items()]
        answers = set(empty)
        # By the document that stands for its copies, each retriever's best rank.
        ranks: dict[str, dict[str, int]] = {}
        possible_places: dict[str, dict[str, float]] = {}
        for row in chain.from_iterable(state.candidates.get(question.uid, {}).values()):
            if row.origin == "retriever" and uids and row.uid not in uids:
                continue  # of a retriever that is not asked any more, or another text
            answers.add(row.uid)
            if row.document not in docs:
                continue
            first = copies.first(row.document)
            best = ranks.setdefault(first, {})
            if row.origin == ORIGIN:
                possible_places.setdefault(row.detail, {}).setdefault(first, row.score or 0.0)
            if row.uid in uids and row.rank is not None:
                best[row.uid] = min(row.rank, best.get(row.uid, row.rank))
        # What somebody searched for and judged, too: nobody is to be asked for it again.
        for document in state.judged.get(question.uid, ()):
            pair = (question.uid, document)
            is_judged = any(state.judgements.get(pair, {}).values()) or state.decisions.get(pair)
            if document in docs and is_judged:
                ranks.setdefault(copies.first(document), {})
        files = {person.uid for person in state.people.values() if person.role == "file"}
        candidates = {
            document: _candidate(
                (question.uid, document),
                [ranks[document].get(uid, 0) for uid in uids],
                standing(state, question.uid, copies.all(document)),
                files,
                plan,
            )
            # In an order of its own: by rank a first place would tell people what to say.
            for document in sorted(ranks, key=lambda document: chance(question.uid, document))
        }
        likeliest = (
            sorted(doubt, key=lambda place: -doubt[place]) for doubt in possible_places.values()
        )
        return cls(
            question,
            candidates,
            tuple(uid in answers for uid in uids),
            state.odd(question),
            tuple(tuple(candidates[place] for place in doubt) for doubt in likeliest),
        )

    def __iter__(self) -> Iterator[PooledDocument]:
        return iter(self.candidates.values())

    @cached_property
    def has_relevant(self) -> bool:
        """Whether there is a document that is worth something to everybody who judged it."""
        return any(candidate.is_relevant for candidate in self)

    @property
    def is_compared(self) -> bool:
        """Whether retrievers can be compared by it: all answered, and nobody says it has none."""
        return self.question.answerable is not False and all(self.answered)

    @cached_property
    def differing(self) -> list[PooledDocument]:
        """Those in which retrievers differ."""
        return [entry for entry in self if entry.disagreement > 0]

    @cached_property
    def n_judged(self) -> int:
        """How many a person has judged."""
        return sum(candidate.is_judged for candidate in self)

    @cached_property
    def in_doubt(self) -> list[PooledDocument]:
        """What people are to say first: where gold of before a move may be, until it is found."""
        candidates: dict[PooledDocument, None] = {}
        for doubt in self.possible_places:
            if not any(place.is_judged and place.grade > 0 for place in doubt):
                candidates |= dict.fromkeys(place for place in doubt if not place.is_judged)
        return list(candidates)

    @cached_property
    def unjudged(self) -> list[PooledDocument]:
        """What nobody has judged, by what it is worth."""
        candidates = (entry for entry in self if not entry.standing.by)
        return sorted(candidates, key=lambda candidate: -self.worth(candidate))

    @cached_property
    def for_second(self) -> list[PooledDocument]:
        """What one has judged and two are to."""
        return [entry for entry in self if len(entry.standing.by) == 1 and entry.is_twice]

    def worth(self, candidate: PooledDocument) -> float:
        """How much the grade of a document is wanted.

        What retrievers differ in is. What all have at the same rank tells nothing of them, and is
        the likeliest to be relevant: so that no question is left without its answer, that is worth
        something until there is one. All are worth 0 while there is nothing to compare.
        """
        if candidate.standing.is_known or len(self.answered) < 2 or not self.is_compared:
            return 0.0
        answer = 0.0 if self.has_relevant else _ANSWER
        return candidate.disagreement + answer * candidate.gain


def _candidate(
    pair: Pair, ranks: Sequence[int], verdict: Standing, files: set[str], plan: LabellingPlan
) -> PooledDocument:
    """A document of a question, by the rank at which each retriever has it; 0 where it does not."""
    gains = [1.0 / log2(1.0 + rank) if 0 < rank <= plan.cut else 0.0 for rank in ranks] or [0.0]
    return PooledDocument(
        pair,
        verdict,
        chance(*pair, "twice") < plan.twice,
        # A file's grade counts, but nobody has looked at the pair here.
        bool(verdict.by - files),
        gold_grade(verdict.grade or 0, plan.top) if verdict.is_known else 0.0,
        gold_grade(verdict.least or 0, plan.top) > 0,
        max(gains),
        max(gains) - min(gains),
    )


def conflicts(pools: Mapping[str, QuestionPool]) -> Iterator[Pair]:
    """Yield the pairs on which people differ and nobody has decided, question by question."""
    for pool in pools.values():
        yield from (entry.pair for entry in pool if entry.standing.state == "conflict")


LEAST_PAIRS = 10
"""Of fewer pairs that two have graded, a figure of how far people agree says nothing."""


@dataclass(frozen=True)
class Alpha:
    """How far people agree.

    Attributes:
        value: Krippendorff's alpha for ordered grades; None where nothing could disagree, and of
            fewer than `LEAST_PAIRS`.
        interval: at 95 %, over questions; None with fewer than three, and where nothing varies.
        pairs: how many pairs two people or more have graded.
        questions: how many questions they belong to.
    """

    value: float | None
    interval: Interval | None
    pairs: int
    questions: int


def agreement(state: State, top: int) -> Alpha:
    """How far people agree; files, decisions and "unusable" aside.

    Args:
        state: what was judged.
        top: the highest grade.
    """
    sums: dict[str, Floats] = {}
    n_pairs = 0
    for pair in list(state.judgements):
        people = verdicts(state, pair[0], [pair[1]])
        grades = [judgement.grade for judgement in people.values() if judgement.grade is not None]
        if len(grades) > 1:
            n_pairs += 1
            counts = sums.setdefault(pair[0], np.zeros((top + 1, top + 1)))
            # Of m grades each stands beside m - 1 others, and counts once in all.
            for first, second in combinations(grades, 2):
                counts[first, second] += 1 / (len(grades) - 1)
                counts[second, first] += 1 / (len(grades) - 1)
    if n_pairs < LEAST_PAIRS:
        return Alpha(None, None, n_pairs, len(sums))
    terms = np.stack(list(sums.values()))
    value = float(_alpha(terms.sum(0, keepdims=True))["alpha"][0])
    # All grades alike: nothing could disagree, and that is no agreement to speak of.
    if np.isnan(value):
        return Alpha(None, None, n_pairs, len(sums))
    return Alpha(value, expanded_intervals(terms, _alpha)["alpha"], n_pairs, len(sums))


def _alpha(coincidences: Floats) -> Mapping[str, Floats]:
    return {"alpha": ordinal_alpha(coincidences)}
