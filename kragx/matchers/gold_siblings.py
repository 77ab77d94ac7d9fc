"""Gold of different questions that a matcher takes for each other, as one template made it.

Whoever retrieves the text of another customer then scores as well as who retrieves the right one,
and no number shows it. So gold is compared with gold before anything is retrieved: each text of a
question with those of other questions that are most like it, by the matcher that will decide.

Texts that stand in each other, or overlap as two windows of one document do, are the same text in
both places, and no siblings.
"""

from __future__ import annotations

import re
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import nsmallest
from itertools import islice
from operator import attrgetter
from typing import Any, NamedTuple, Self

import numpy as np

from kragx.data import Query, normalise
from kragx.data.batch import Batch, batches_of
from kragx.data.entries import NO_TEXT
from kragx.data.phrases import places
from kragx.data.tokens import codes_of, hashed
from kragx.ground.printing import message, visible
from kragx.matchers.base import BaseMatcher
from kragx.matchers.items import Targets
from kragx.matchers.siblings import LEAST_QUESTIONS, LEAST_SHARE, SIBLINGS
from kragx.matchers.vocabulary import Gathering
from kragx.metrics import Floats
from kragx.metrics.threshold import matches

MOST_TEXTS = 1000
"""So many gold texts are compared with each other: all of them, in the gold sets that people make.
Of more it is those of the questions whose ids have the least checksums, whatever their order."""

_NEAREST, _CANDIDATES = 3, 8
"""With so many texts of other questions each is compared, of those most like it: windows that
overlap are more like each other than siblings are."""

_GRAM, _SLOT_BITS = 3, 10
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

    @classmethod
    def of(cls, queries: Iterable[Query]) -> Self:
        """That of a gold set."""
        sample = cls()
        for batch in batches_of((None, query, None) for query in queries):
            sample.see_batch(batch)
        return sample

    def see_batch(self, batch: Batch) -> None:
        """Take the questions of a batch into account."""
        targets = Targets.of(batch.golds)
        texts, is_gold = targets.entries.texts, (batch.grades > 0)[targets.gold]
        texts_of: dict[int, dict[str, None]] = {}
        for row, number in zip(texts.of_text[is_gold].tolist(), texts.numbers[is_gold].tolist()):
            if number != NO_TEXT and (text := texts.known[number]):
                texts_of.setdefault(row, {})[text] = None
        questions = []
        for row, of_query in texts_of.items():
            query_id = batch.query_ids[row]
            # Not `hash`, which differs from process to process, and so would the sample.
            checksum = zlib.crc32(query_id.encode("utf-8", "surrogatepass"))
            questions.append(_Question(checksum, query_id, tuple(of_query)))
        self.merge(type(self)(questions, len(questions)))

    def merge(self, later: Self) -> None:
        """Add other questions of the same gold set."""
        self.n += later.n
        # The least of the least are the least of all, in whatever parts questions come.
        self.questions = nsmallest(MOST_TEXTS, self.questions + later.questions)

    def looked_at(self) -> list[_Question]:
        """The first questions, as long as their texts are not too many."""
        n_texts = np.cumsum([*map(len, map(attrgetter("texts"), self.questions))])
        return self.questions[: max(1, int(np.searchsorted(n_texts, MOST_TEXTS, side="right")))]


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


def compares_gold(matcher: BaseMatcher) -> bool:
    """Whether gold can be compared with gold: not by ids, by a judge, or by who says yes or no.

    Of these `text` and the like take no text for another.
    """
    return (
        matcher.by_texts
        and matcher.reads == "texts"
        and (bool(matcher.members) or not matcher.yes_or_no)
    )


def siblings_remarks(counts: Mapping[str, Any], match: str) -> Iterator[str]:
    """That the gold of questions is taken for that of others; nothing where it is not.

    Args:
        counts: of an evaluation.
        match: names the matcher.
    """
    siblings = counts.get(SIBLINGS)
    if siblings is None:
        return
    is_whole = siblings["of"] == siblings["n_questions"]
    looked_at = message(
        "{of} questions" if is_whole else "{of} questions looked at, of {n_questions:,}", **siblings
    )
    values = {name: visible(str(value)) for name, value in siblings["example"].items()}
    example = message("{query_id!r}: {text!r}, {other_id!r}: {other_text!r}", **values)
    yield message(
        "gold of one template: in {n} of {of} {match!r} takes the gold text of another question "
        "for the right one ({example}). What finds only such texts scores as if it found the right "
        "ones; match: overlap tells them apart by what differs"
        if siblings["cause"] == "taken"
        else "gold of one template: in {n} of {of} {match!r} cannot tell the gold text from that "
        "of another question ({example}). What finds only such texts scores as if it found the "
        "right ones; compare ids, or have a judge look"
        if siblings["cause"] == "untold"
        else "texts of one template, and words in place of the gold's that may be misread or "
        "another text's own: in {n} of {of} they cannot be told from each other for sure "
        "({example}); compare ids, or have a judge look",
        **{**siblings, "of": looked_at, "match": match, "example": example},
    )


def gold_siblings(sample: GoldSample, matcher: BaseMatcher) -> GoldSiblings:
    """Compare gold with the gold of other questions.

    Args:
        sample: of the gold set.
        matcher: decides, one of those that `compares_gold`; it is asked for some thousand pairs.
    """
    questions = sample.looked_at()
    of_text = defaultdict[str, set[int]](set)
    for row, question in enumerate(questions):
        for text in question.texts:
            of_text[text].add(row)
    texts = sorted(of_text)
    rows = [*map(of_text.__getitem__, texts)]
    pairs = _alike(texts, rows) if len(texts) > 1 else []
    if not pairs:
        nothing = np.zeros(len(questions))
        return GoldSiblings(nothing, nothing if matcher.tells_siblings else None, {}, sample.n)
    if matcher.vocabulary is not None or matcher.needs_vocabulary:
        # What is known before anything is retrieved.
        gathering = Gathering(None if matcher.vocabulary is None else matcher.vocabulary.corpus)
        gathering.add_golds(text for question in questions for text in question.texts)
        matcher = matcher.knowing(gathering.vocabulary)

    def scores_by(matcher: BaseMatcher) -> Floats:
        docs, golds = [texts[doc] for _, doc in pairs], [texts[gold] for gold, _ in pairs]
        return matcher.pair_scores(docs, golds)

    def best(scores: Floats) -> Floats:
        best = np.zeros(len(questions))
        for (gold, doc), score in zip(pairs, scores.tolist()):
            # A question that has both texts takes neither of them for another's.
            for row in rows[gold] - rows[doc]:
                best[row] = max(best[row], score)
        return best

    scores = scores_by(matcher)
    gold, doc = pairs[int(scores.argmax())]
    row = min(rows[gold] - rows[doc])
    other = questions[min(rows[doc] - {row})]
    text, other_text = _pieces(texts[gold], texts[doc])
    example = {
        "query_id": questions[row].id,
        "text": text,
        "other_id": other.id,
        "other_text": other_text,
    }
    untold = best(scores_by(matcher.with_siblings("together"))) if matcher.tells_siblings else None
    return GoldSiblings(best(scores), untold, example, sample.n)


def _alike(texts: Sequence[str], rows: Sequence[set[int]]) -> list[tuple[int, int]]:
    """Each of two texts or more with a few that are most like it, and gold of others alone."""
    bare = ["".join(normalise(text, casefold=True).split()) for text in texts]
    # 1 for each slot into which some run of three characters of a text falls.
    slots = np.zeros((len(bare), 1 << _SLOT_BITS), np.float32)
    for row, text in enumerate(bare):
        grams = hashed(codes_of(text[:_READ].ljust(_GRAM, "\0")), _GRAM)[: 1 - _GRAM]
        slots[row, grams >> np.uint64(64 - _SLOT_BITS)] = 1
    size = np.sqrt(np.maximum(slots.sum(axis=1, keepdims=True), 1))
    alike = slots @ slots.T / size / size.T
    np.fill_diagonal(alike, 0)
    nearest = np.argsort(-alike, axis=1, kind="stable")[:, :_CANDIDATES]  # of equal ones the first
    pairs: list[tuple[int, int]] = []
    for gold, docs in enumerate(nearest.tolist()):
        siblings = (
            (gold, doc)
            for doc in docs
            if alike[gold, doc] > 0
            and not (rows[gold] <= rows[doc] or _same(bare[gold], bare[doc]))
        )
        pairs += islice(siblings, _NEAREST)
    return pairs


def _same(gold: str, doc: str) -> bool:
    """Whether one stands in the other, or one ends as the other begins, as windows do.

    ``port 80`` does not stand in ``port 8080``.
    """
    short, long = (gold, doc) if len(gold) < len(doc) else (doc, gold)
    if short in long:  # two siblings have nothing of it, as a rule
        begin = r"(?<!\d)" if short[:1].isdecimal() else ""
        end = r"(?!\d)" if short[-1:].isdecimal() else ""
        return re.search(begin + re.escape(short) + end, long) is not None
    return _continues(gold, doc) or _continues(doc, gold)


def _continues(text: str, sequel: str) -> bool:
    """Whether the last third of a text, or more, is how the other one begins."""
    last = len(text) - _OVERLAP * min(len(text), len(sequel))
    begins = islice(places(text, sequel[:_PROBE], 1), _TRIES)
    return any(begin <= last and sequel.startswith(text[begin:]) for begin in begins)


def _pieces(gold: str, doc: str) -> tuple[str, str]:
    """Of two texts where they begin to differ."""
    gold, doc = normalise(gold), normalise(doc)
    n_same = next((place for place, pair in enumerate(zip(gold, doc)) if pair[0] != pair[1]), 0)
    start = gold.rfind(" ", 0, max(n_same - _BEFORE, 0)) + 1

    def piece(text: str) -> str:
        excerpt = text[start : start + _SHOWN]
        return "…" * (start > 0) + excerpt + "…" * (start + _SHOWN < len(text))

    return piece(gold), piece(doc)
