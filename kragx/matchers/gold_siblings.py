"""Gold of different questions that a matcher takes for each other, as one template made it.

Whoever retrieves the text of another customer then scores as well as who retrieves the right one,
and no number shows it. So gold is compared with gold before anything is retrieved: each text of a
question with those of other questions that are most like it, by the matcher that will decide.

Texts that stand in each other, or overlap as two windows of one document do, are the same text in
both places, and no siblings.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from heapq import nsmallest
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from kragx.data import Query, normalise
from kragx.data.batch import Batch, batched
from kragx.data.stretches import ranges, starts
from kragx.matchers.base import BaseMatcher
from kragx.matchers.items import Targets
from kragx.matchers.vocabulary import Gathering
from kragx.metrics import Floats
from kragx.metrics.threshold import matches

MOST_TEXTS = 1000
"""So many gold texts are compared with each other: all of them, in the gold sets that people make.
Of more it is those of the questions whose ids have the least checksums, whatever their order."""

LEAST_QUESTIONS, LEAST_SHARE = 3, 0.1
"""From so many questions, and such a share of those looked at, it may turn a verdict."""

SIBLINGS = "siblings"
"""Counts, in a result, the questions whose gold is taken for that of others."""

_NEAREST, _CANDIDATES = 3, 8
"""With so many texts of other questions each is compared, of those most like it: windows that
overlap are more like each other than siblings are."""

_GRAM, _SLOT_BITS = 3, 10
_ROWS = 64  # compared at once: what fits into a processor's cache
_READ = 20_000  # characters of a text: enough to say what it is like
_PROBE = 12  # characters by which an overlap is looked for
_OVERLAP = 1 / 3  # of the shorter text: what siblings share at such ends by chance is far less
_TRIES = 32
_BEFORE, _SHOWN = 16, 48


class _Question(NamedTuple):
    """A question of the sample; the least checksums come first."""

    checksum: int
    id: str
    texts: tuple[str, ...]


@dataclass
class GoldSample:
    """The gold texts of a gold set that are compared, however its questions come.

    Attributes:
        questions: of the sample, with the texts of their gold and its alternatives.
        n: how many questions have such texts.
    """

    questions: list[_Question] = field(default_factory=list)
    n: int = 0
    _bound: int = 1 << 32

    @classmethod
    def of(cls, queries: Iterable[Query]) -> Self:
        """That of a gold set."""
        sample = cls()
        for batch in batched((None, query, None) for query in queries):
            sample.see_batch(batch)
        return sample

    def see_batch(self, batch: Batch) -> None:
        """Take the questions of a batch into account."""
        targets = Targets.of(batch.golds)
        texts = targets.entries.texts
        numbers, strings = texts.numbers.tolist(), texts.known
        has_text = np.array([number >= 0 and bool(strings[number]) for number in numbers], bool)
        is_gold = (batch.grades > 0)[targets.gold] & has_text
        of_gold = texts.those(is_gold)
        for row, n_texts in enumerate(of_gold.n_texts.tolist()):
            if n_texts:
                self._take(batch.query_ids[row], partial(of_gold.__getitem__, row))

    def _take(self, query_id: str, texts: Callable[[], Sequence[str]]) -> None:
        self.n += 1
        checksum = zlib.crc32(query_id.encode("utf-8", "surrogatepass"))
        if checksum < self._bound:
            self.questions.append(_Question(checksum, query_id, tuple(dict.fromkeys(texts()))))
            self._cut()

    def merge(self, later: Self) -> None:
        """Add other questions of the same gold set."""
        self.n += later.n
        self.questions += later.questions
        self._cut()

    def _cut(self) -> None:
        if len(self.questions) >= 2 * MOST_TEXTS:
            self.questions = nsmallest(MOST_TEXTS, self.questions)
            self._bound = self.questions[-1].checksum

    def looked_at(self) -> list[_Question]:
        """The first questions, as long as their texts are not too many."""
        ordered = nsmallest(MOST_TEXTS, self.questions)
        n_texts = np.cumsum([len(question.texts) for question in ordered])
        return ordered[: max(1, int(np.searchsorted(n_texts, MOST_TEXTS, side="right")))]


@dataclass(frozen=True, eq=False)
class GoldSiblings:
    """What a matcher makes of the gold of other questions.

    Attributes:
        scores: (n) of each question that was looked at, the best that a text of another question
            scores with a gold text of its own; 0 where none is like it.
        untold: (n) the same without the rule by which the matcher tells siblings; None if it has
            no such rule.
        example: of the best of them: a question, a piece of its gold text, the other question, and
            a piece of that one's; empty without any.
        n_questions: how many questions have gold with a text.
        misread: whether the texts are, as far as they were matched.
    """

    scores: Floats
    untold: Floats | None
    example: Mapping[str, str]
    n_questions: int
    misread: bool = False

    def at(self, threshold: float) -> dict[str, Any]:
        """What a result records at a threshold, under its name; nothing where it turns no verdict.

        Where texts are misread, what differs in them need be no other text.
        """
        n_compared = len(self.scores)
        causes = {"taken": self.scores} if self.untold is None else {"untold": self.scores}
        if self.misread and self.untold is not None:
            causes["misread"] = self.untold
        for cause, scores in causes.items():
            n = int(matches(scores, threshold).sum())
            if n >= max(LEAST_QUESTIONS, LEAST_SHARE * n_compared):
                record = {"cause": cause, "n": n, "of": n_compared, "n_questions": self.n_questions}
                return {SIBLINGS: {**record, "example": dict(self.example)}}
        return {}

    def record(self) -> dict[str, Any]:
        """All of it but `misread`, as JSON has it."""
        untold = None if self.untold is None else self.untold.tolist()
        arrays = {"scores": self.scores.tolist(), "untold": untold}
        return {**arrays, "example": dict(self.example), "n_questions": self.n_questions}

    @classmethod
    def read(cls, record: Mapping[str, Any]) -> Self:
        """Of `record`.

        Raises:
            KeyError, TypeError, ValueError: it is none.
        """
        arrays = [record["scores"], record["untold"]]
        scores, untold = (None if row is None else np.array(row, np.float64) for row in arrays)
        example = {str(name): str(value) for name, value in record["example"].items()}
        if scores is None or scores.ndim != 1 or example.keys() not in ({*_EXAMPLE}, set()):
            raise ValueError("no comparison of gold with gold")
        if untold is not None and untold.shape != scores.shape:
            raise ValueError("no comparison of gold with gold")
        return cls(scores, untold, example, int(record["n_questions"]))


_EXAMPLE = ("query_id", "text", "other_id", "other_text")


def compares_gold(matcher: BaseMatcher) -> bool:
    """Whether gold can be compared with gold: not by ids, by a judge, or by who says yes or no.

    Of these `text` and the like take no text for another.
    """
    says_yes_or_no = matcher.yes_or_no and not matcher.members
    by_texts = matcher.reads == "texts" and not says_yes_or_no
    return by_texts and matcher.pair_scores((), ()) is not None


def gold_siblings(sample: GoldSample, matcher: BaseMatcher) -> GoldSiblings:
    """Compare gold with the gold of other questions.

    Args:
        sample: of the gold set.
        matcher: decides, one of those that `compares_gold`; it is asked for some thousand pairs.
    """
    questions = sample.looked_at()
    of_text: dict[str, set[int]] = {}
    for row, question in enumerate(questions):
        for text in question.texts:
            of_text.setdefault(text, set()).add(row)
    if len(of_text) < 2:  # there is no other
        scores = np.zeros(len(questions))
        return GoldSiblings(scores, scores if matcher.tells_siblings else None, {}, sample.n)
    if matcher.vocabulary is not None or matcher.needs_vocabulary:
        # What is known before anything is retrieved.
        gathering = Gathering(None if matcher.vocabulary is None else matcher.vocabulary.corpus)
        gathering.add_golds((text for query in questions for text in query.texts), of_script=True)
        matcher = matcher.knowing(gathering.vocabulary)
    texts = sorted(of_text)
    rows = [of_text[text] for text in texts]
    pairs = _alike(texts, rows)
    docs, golds = [texts[doc] for _, doc in pairs], [texts[gold] for gold, _ in pairs]

    def said(matcher: BaseMatcher) -> Floats:
        scores = matcher.pair_scores(docs, golds)
        assert scores is not None
        return scores

    def best(scores: Floats) -> Floats:
        of_questions = np.zeros(len(questions))
        for (gold, doc), score in zip(pairs, scores.tolist()):
            for row in rows[gold] - rows[doc] if score else ():
                of_questions[row] = max(of_questions[row], score)
        return of_questions

    scores = said(matcher)
    untold = best(said(matcher.siblings_together())) if matcher.tells_siblings else None
    example: dict[str, str] = {}
    if pairs:
        gold, doc = pairs[int(scores.argmax())]
        row = min(rows[gold] - rows[doc])
        text, other_text = _pieces(texts[gold], texts[doc])
        sibling = questions[min(rows[doc] - {row})]
        example = dict(zip(_EXAMPLE, (questions[row].id, text, sibling.id, other_text)))
    return GoldSiblings(best(scores), untold, example, sample.n)


def _alike(texts: Sequence[str], rows: Sequence[set[int]]) -> list[tuple[int, int]]:
    """Each of two texts or more with a few that are most like it, and gold of others alone."""
    bare = ["".join(normalise(text, casefold=True).split()) for text in texts]
    slots = _slots(bare)
    sizes = np.bitwise_count(slots).sum(axis=1, keepdims=True).astype(np.float32)
    size = np.sqrt(np.maximum(sizes, 1))
    alike = _in_both(slots)
    alike /= size
    alike /= size.T
    np.fill_diagonal(alike, 0)
    pairs: list[tuple[int, int]] = []
    for gold, docs in enumerate(_greatest(alike)):
        n_before = len(pairs)
        for doc in docs:
            if not (rows[gold] <= rows[doc] or _same(bare[gold], bare[doc])):
                pairs.append((gold, doc))
            if len(pairs) == n_before + _NEAREST:
                break
    return pairs


def _greatest(rows: NDArray[np.float32]) -> list[list[int]]:
    """Where the greatest numbers of each row stand, those above 0; of equal ones the first."""
    n = rows.shape[1]
    cut = np.partition(rows, n - _CANDIDATES, axis=1)[:, n - _CANDIDATES] if n > _CANDIDATES else 0
    row, place = ((rows >= np.reshape(cut, (-1, 1))) & (rows > 0)).nonzero()
    order = np.lexsort((-rows[row, place], row))
    ends = np.searchsorted(row, np.arange(len(rows) + 1)).tolist()
    places = place[order].tolist()
    return [places[start:end][:_CANDIDATES] for start, end in pairwise(ends)]


def _slots(texts: Sequence[str]) -> NDArray[np.uint64]:
    """(n x slots / 64) a bit is 1 where some run of three characters of a text falls into it."""
    # One behind the other, each with room for a run.
    texts = [text[:_READ].ljust(_GRAM, "\0") for text in texts]
    lengths = np.array([*map(len, texts)], np.int64)
    characters = "".join(texts).encode("utf-32-le", "surrogatepass")
    codes = np.frombuffer(characters, "<u4").astype(np.uint64)
    grams = codes.copy()
    for offset in range(1, _GRAM):
        grams[:-offset] = grams[:-offset] * _FACTOR ^ codes[offset:]
    begins = ranges(starts(lengths), lengths - _GRAM + 1)
    rows = np.repeat(np.arange(len(texts)), lengths - _GRAM + 1)
    slots = np.zeros((len(texts), 1 << _SLOT_BITS), np.uint8)
    slots[rows, (grams[begins] * _FACTOR) >> np.uint64(64 - _SLOT_BITS)] = 1
    return np.packbits(slots, axis=1).view(np.uint64)


def _in_both(slots: NDArray[np.uint64]) -> NDArray[np.float32]:
    """(n x n) how many bits two texts share.

    As a product of matrices it would be as fast, and keep all cores busy for a while.
    """
    shared = np.zeros((len(slots), len(slots)), np.uint16)
    for first in range(0, len(slots), _ROWS):
        rows = slice(first, first + _ROWS)
        for word in np.ascontiguousarray(slots.T):
            shared[rows, first:] += np.bitwise_count(word[rows, None] & word[first:])
    return np.maximum(shared, shared.T).astype(np.float32)


_FACTOR = np.uint64(0x9E3779B97F4A7C15)  # odd, and about 2**64 by the golden ratio


def _same(gold: str, doc: str) -> bool:
    """Whether one stands in the other, or one ends as the other begins, as windows do."""
    short, long = (gold, doc) if len(gold) < len(doc) else (doc, gold)
    if short in long:  # two siblings have nothing of it, as a rule
        return _stands(short, long)
    return _continues(gold, doc) or _continues(doc, gold)


def _stands(short: str, long: str) -> bool:
    """Whether a text stands in another one; ``port 80`` is no beginning of ``port 8080``."""
    start = long.find(short)
    for _ in range(_TRIES):
        if start < 0:
            return False
        end = start + len(short)
        goes_on = start == 0 and _in_number(long, end)
        if not (goes_on or (end == len(long) and _in_number(long, start))):
            return True
        start = long.find(short, start + 1)
    return False


def _continues(text: str, sequel: str) -> bool:
    """Whether the last third of a text, or more, is how the other one begins."""
    start = text.find(sequel[:_PROBE], 1)
    if start < 0:
        return False
    overlap = _OVERLAP * min(len(text), len(sequel))
    for _ in range(_TRIES):
        if start < 0 or len(text) - start < overlap:
            return False
        if sequel.startswith(text[start:]):
            return True
        start = text.find(sequel[:_PROBE], start + 1)
    return False


def _in_number(text: str, place: int) -> bool:
    """Whether there are digits on either side of a place."""
    return 0 < place < len(text) and text[place - 1 : place + 1].isdecimal()


def _pieces(gold: str, doc: str) -> tuple[str, str]:
    """Of two texts where they begin to differ."""
    gold, doc = normalise(gold), normalise(doc)
    pairs = zip(gold, doc)
    same = next((place for place, (in_gold, in_doc) in enumerate(pairs) if in_gold != in_doc), 0)
    start = gold.rfind(" ", 0, max(same - _BEFORE, 0)) + 1

    def piece(text: str) -> str:
        excerpt = text[start : start + _SHOWN]
        return "…" * (start > 0) + excerpt + "…" * (start + _SHOWN < len(text))

    return piece(gold), piece(doc)
