"""Texts made from one template, and what tells them apart: other words in the midst of the same.

A policy and its sibling for another company share nearly all pairs of tokens, so their overlap is
high. But a chunk that was cut from where the gold text was cut agrees with it from one end of what
they share to the other, and a sibling has another name or number there. So the two texts are laid
side by side where most of their pairs of tokens meet. Other words in both, between words that are
the same, make them *differ* there, and what they share counts only where they do not.

Nothing is asked about other texts: the score of a pair depends on no company and no order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import reduce
from itertools import pairwise
from typing import NamedTuple, Self
from zlib import crc32

import numpy as np

from kragx.data import TokenCorpus
from kragx.data.tokens import Tokens
from kragx.printing import phrase

_OFFSETS = 3
"""At how many offsets two texts are laid side by side: those at which most pairs meet."""

_OTHER_TEXT = 4
"""From so many tokens on, what differs at an end is no other word for the same: a heading, say."""

_DRIFT = 8
"""So many tokens more are read at either end: what one text has more shifts what comes after it."""

_MOST_PLACES = 32
"""So many places of a pair of tokens in the gold text are looked at, so that a sentence repeated a
thousand times does not meet itself a million times."""

# Of texts that nobody made from templates hardly any question has such a pair; over templates it is
# 20 to 80 in a hundred wherever it matters (examples/template_corpora.py).
_MANY = 0.15
_AT_LEAST = 5

# A look costs as much as matching the question does. After the first ones a question's id says
# whether it is looked at, so that it is the same whatever parts questions come in.
_ALL_OF_FIRST = 32
_THEN_ONE_OF = 32


def agreeing(doc: Tokens, gold: Tokens, corpus: TokenCorpus) -> float:
    """The share of the shorter text's pairs of tokens that both have where they do not differ.

    Args:
        doc: the token numbers of a document.
        gold: those of a gold text.
        corpus: where the numbers come from.

    Returns:
        In [0, 1], never above the overlap coefficient of pairs.
    """
    pairs = min(len(doc), len(gold)) - 1
    best = 0
    for offset in _offsets(doc, gold):
        start, end = max(0, -offset), min(len(gold), len(doc) - offset)
        if end - start - 1 > best:
            side, other = doc[start + offset : end + offset], gold[start:end]
            if len(side) > 2 and np.array_equal(side[1:-1], other[1:-1]):
                shared = _agreeing_but_for_ends(side, other, corpus)
            else:
                start, end = max(0, start - _DRIFT), end + _DRIFT
                side = doc[max(0, start + offset) : end + offset]
                shared = _agreeing(side, gold[start:end], corpus)
            best = max(best, shared)
    return best / pairs if best else 0.0


def _offsets(doc: Tokens, gold: Tokens) -> list[int]:
    """Where the gold text's first token comes to stand in the document, the best places first."""
    in_doc, in_gold = doc.tolist(), gold.tolist()
    places: dict[tuple[int, int], list[int]] = {}
    for place, pair in enumerate(pairwise(in_gold)):
        of_pair = places.setdefault(pair, [])
        if len(of_pair) < _MOST_PLACES:
            of_pair.append(place)
    meetings = Counter(
        place - there
        for place, pair in enumerate(pairwise(in_doc))
        if pair in places
        for there in places[pair]
    )
    return [offset for offset, _ in meetings.most_common(_OFFSETS)]


def _agreeing_but_for_ends(doc: Tokens, gold: Tokens, corpus: TokenCorpus) -> int:
    """`_agreeing` of texts of one length that have all but the first and last token in common."""
    first, last = bool(doc[0] == gold[0]), bool(doc[-1] == gold[-1])
    if not first and not _cut(doc[:1], gold[:1], corpus, at_end=False):
        return 0
    if not last and not _cut(doc[-1:], gold[-1:], corpus, at_end=True):
        return 0
    return len(doc) - 3 + first + last


def _agreeing(doc: Tokens, gold: Tokens, corpus: TokenCorpus) -> int:
    """How many pairs of tokens two sides have in common in order; 0 if they differ."""
    shared = at_doc = at_gold = 0
    for in_doc, in_gold, length in _runs(doc, gold, corpus):
        gap = doc[at_doc:in_doc], gold[at_gold:in_gold]
        if at_doc == at_gold == 0 and not shared:
            if not _may_begin_or_end(*gap, corpus, at_end=False):
                return 0
        elif min(map(len, gap)) and corpus.letters(gap[0]) != corpus.letters(gap[1]):
            return 0
        shared += length - 1
        at_doc, at_gold = in_doc + length, in_gold + length
    if not _may_begin_or_end(doc[at_doc:], gold[at_gold:], corpus, at_end=True):
        return 0
    return shared


def _runs(doc: Tokens, gold: Tokens, corpus: TokenCorpus) -> Iterator[tuple[int, int, int]]:
    """Where both have the same two or more tokens in a row: in document, in gold, how many."""
    from rapidfuzz.distance import LCSseq

    blocks = LCSseq.opcodes(corpus.string(doc), corpus.string(gold)).as_matching_blocks()
    return ((block.a, block.b, block.size) for block in blocks if block.size > 1)


def _may_begin_or_end(doc: Tokens, gold: Tokens, corpus: TokenCorpus, *, at_end: bool) -> bool:
    """Whether what differs at an end is nothing, a word that a chunk's end cut, or other text."""
    least = min(len(doc), len(gold))
    return not 0 < least < _OTHER_TEXT or _cut(doc, gold, corpus, at_end=at_end)


def _cut(doc: Tokens, gold: Tokens, corpus: TokenCorpus, *, at_end: bool) -> bool:
    """Whether one is what is left of the other where a chunk begins, or ends."""
    one, other = corpus.letters(doc), corpus.letters(gold)
    if at_end:
        return one.startswith(other) or other.startswith(one)
    return one.endswith(other) or other.endswith(one)


def differ(doc: str, gold: str, score: float, corpus: TokenCorpus) -> bool:
    """Whether two texts with this overlap, tokenised before, have other words amid the same."""
    of_doc, of_gold = corpus.of([doc, gold])
    return agreeing(of_doc, of_gold, corpus) < score / 2


class Look(NamedTuple):
    """What looking at a question, or at several, came to.

    Attributes:
        n: how many of them have a match.
        n_siblings: in how many of these a sibling matched.
        example: the id of the first of those.
    """

    n: int = 0
    n_siblings: int = 0
    example: str = ""

    def and_(self, later: Look) -> Look:
        """This and what a later one came to."""
        example = self.example or later.example
        return Look(self.n + later.n, self.n_siblings + later.n_siblings, example)


def _is_drawn(query_id: str) -> bool:
    return crc32(query_id.encode("utf-8", "surrogatepass")) % _THEN_ONE_OF == 0


@dataclass
class Lookout:
    """Finds out whether an evaluation's texts were made from templates.

    It looks at the first 32 questions and at one of 32 after them: whether the last document that
    matches a gold text differs from it amid what they share, and the best one does not. Where the
    best one does too, the texts were edited or badly read, and other things help.

    Attributes:
        first: what looking at each of the first questions came to, and whether its id says that it
            is looked at wherever it stands.
        rest: the same of those after them together.
    """

    first: list[tuple[Look, bool]] = field(default_factory=list)
    rest: Look = field(default_factory=Look)

    def wants(self, query_id: str) -> bool:
        """Whether it looks at the next question."""
        return len(self.first) < _ALL_OF_FIRST or _is_drawn(query_id)

    def take(self, query_id: str, look: Look) -> None:
        """What looking at the next question came to."""
        self._take(look, _is_drawn(query_id))

    def _take(self, look: Look, drawn: bool) -> None:
        if len(self.first) < _ALL_OF_FIRST:
            self.first.append((look, drawn))
        elif drawn:
            self.rest = self.rest.and_(look)

    def merge(self, later: Self) -> None:
        """Add what looking at the questions after these came to."""
        for look, drawn in later.first:
            self._take(look, drawn)
        self.rest = self.rest.and_(later.rest)

    def problem(self) -> str:
        """That the texts are from templates, where there is too much of it for chance."""
        total = reduce(Look.and_, (look for look, _ in self.first), Look()).and_(self.rest)
        if total.n_siblings < max(_AT_LEAST, _MANY * total.n):
            return ""
        return phrase(
            "the texts seem to be made from templates: in {n} of {of} questions looked at (for "
            "example {example!r}) a document matches beside the right one that has other words, "
            "such as names or numbers, amid those of the gold text; match: {{method: overlap, "
            "siblings: apart}} counts these as no match",
            n=total.n_siblings,
            of=total.n,
            example=total.example,
        )
