"""Texts made from one template, told apart by what stands between the same words.

A policy and its sibling for another company share nearly all pairs of words. Laid side by side,
they have other words between the same ones: another name, another number. So has a text that was
misread. The difference is whether the other word is known: in the gold of another question, or in
two texts that are not one where they overlap. What nobody else has is a misreading, what resembles
the word in its place is a spelling of it, and what many texts have tells nothing.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate, pairwise
from typing import Literal

import numpy as np

from kragx.data import TokenCorpus
from kragx.data.korean import spaced_alike, stem
from kragx.data.lists import Lists
from kragx.data.ngrams import of_pairs
from kragx.data.tokenizers import without_hanja
from kragx.data.words import unspaced, words
from kragx.matchers.misreadings import (
    RESPELT,
    RESPELT_IN_GOLD,
    RESPELT_TOGETHER,
    in_one,
    is_part,
    is_respelt,
    may_be,
    number_of,
)
from kragx.matchers.notes import Finding, Notes
from kragx.matchers.vocabulary import Vocabulary
from kragx.metrics import Floats
from kragx.metrics.threshold import matches

Siblings = Literal["apart", "together"]

LEAST_QUESTIONS, LEAST_SHARE = 3, 0.1
"""From so many questions, and such a share of those looked at, templates may turn a verdict."""

SIBLINGS = "siblings"
"""The kind of finding that counts them; in a result, of gold that is taken for that of others."""

_COMPARED, _MISREAD = "siblings_compared", "siblings_misread"
"""Counts questions with a match or a sibling, and with a match that nobody can tell from one."""

FLOOR = 0.25
"""Pairs that score less are no match at any threshold that anybody uses, and stay as they are."""

_OFFSETS = 3
"""At how many offsets two texts are laid side by side: those at which most pairs meet."""

_MOST_PLACES = 32
"""So many places of a pair of words in the gold text are looked at, so that a sentence repeated a
thousand times does not meet itself a million times."""

_LESS = 0.5
"""Another offset is looked at where it has at least so much of what the best one has."""

_DRIFT = 8
"""So many words more are read at either end: what one text has more shifts what comes after it."""

_AT_END = 3
"""So many words beside what is shared are looked at where one of the texts ends."""

_HAN = re.compile("[\u2e80-\ua4cf\uf900-\ufaff]")  # may stand in brackets that are left out
# Or a tag that a chunk's end has cut.
_SENTENCE_END = re.compile(
    r"[.!?。:;|<>&\]\n\\](?:(?<=[<>&\]\n])|(?<=\\)n|(?<=[.!?。:;|])[.!?。:;|]*(?:\s|$))"
)
_PARTING = " qzxqzx "  # a word that nobody writes in place of each, so that words are cut once


@dataclass(frozen=True)
class SiblingDifference:
    """What two texts have between the same words.

    Attributes:
        doc, gold: the words of either.
        word: the document's word that tells it from the gold; empty for a misreading.
    """

    doc: tuple[str, ...]
    gold: tuple[str, ...]
    word: str = ""


def differences(
    docs: Sequence[str], golds: Sequence[str], corpus: TokenCorpus, vocabulary: Vocabulary
) -> Iterator[SiblingDifference | None]:
    """In what documents and gold texts differ although they share much.

    Args:
        docs: (n) documents as they are read.
        golds: (n) the gold text beside each.
        corpus: numbers their words.
        vocabulary: which words are known.

    Yields:
        Of each two a difference with a `word`: they are siblings. One without: words that tell gold
        apart were misread, or are those of another text, so nobody can say. None: neither.
    """
    if vocabulary.passages == "characters":
        docs, golds = spaced_alike(docs, golds)
    # Together, as a corpus that forgets forgets all but what it is given last.
    corpus.add([*docs, *golds])
    for texts, sides in zip(zip(docs, golds), zip(corpus.of(docs), corpus.of(golds))):
        doc, gold = (tokens.tolist() for tokens in sides)
        yield _Pair(texts, (doc, gold), corpus.words, vocabulary).difference()


def best_offsets(doc: Sequence[int], gold: Sequence[int]) -> list[tuple[int, int]]:
    """Where two texts come to lie side by side: at which offsets most of their pairs meet.

    Each with how many pairs meet then, the first ones that meet before equal ones.
    """
    places = defaultdict[tuple[int, int], list[int]](list)
    for place, pair in enumerate(pairwise(gold)):
        if len(places[pair]) < _MOST_PLACES:
            places[pair].append(place)
    meetings = [
        place - gold_place
        for place, pair in enumerate(pairwise(doc))
        if pair in places
        for gold_place in places[pair]
    ]
    return Counter(meetings).most_common(_OFFSETS)


def without_siblings(
    docs: Lists,
    golds: Lists,
    scores: Floats,
    corpus: TokenCorpus,
    vocabulary: Vocabulary,
    threshold: float,
    finding: Finding,
) -> Floats:
    """Scores in which siblings of the gold have 0.

    Args:
        docs: the documents of each question, as they are read.
        golds: its gold texts.
        scores: of all pairs, question after question, documents down, gold texts across.
        corpus: numbers the words of both.
        vocabulary: which words are known.
        threshold: from which score on a pair is a match.
        finding: counts the questions with siblings (`are_misread`).
    """
    of_doc, of_gold = of_pairs(docs.n_texts, golds.n_texts)
    masked = scores.copy()
    is_sibling, is_misread = np.zeros((2, len(docs)), bool)
    open_pairs = ((scores >= FLOOR) & (scores < 1)).nonzero()[0]
    doc, gold = docs.numbers[of_doc[open_pairs]], golds.numbers[of_gold[open_pairs]]
    rows = [*zip(doc.tolist(), gold.tolist())]
    distinct = dict.fromkeys(rows)
    texts = [docs.known[row] for row, _ in distinct], [golds.known[row] for _, row in distinct]
    by_row = dict(zip(distinct, differences(*texts, corpus, vocabulary)))
    for pair, row in zip(open_pairs.tolist(), rows):
        difference, query = by_row[row], docs.of_text[of_doc[pair]]
        if difference is not None and difference.word:
            masked[pair] = 0.0
            is_sibling[query] = True
        elif difference is not None and matches(scores[pair], threshold):
            is_misread[query] = True
    of_matches = docs.of_text[of_doc[matches(masked, threshold)]]
    has_match = np.bincount(of_matches, minlength=len(docs)) > 0
    finding.counts[_COMPARED] += int((has_match | is_sibling).sum())
    finding.counts[_MISREAD] += int(is_misread.sum())
    return masked


def are_misread(notes: Notes) -> bool:
    """Whether so much was misread that texts of one template could not be told apart."""
    of_matchers = [finding.counts for finding in notes.of_kind(SIBLINGS)]
    return any(
        counts[_MISREAD] >= max(LEAST_QUESTIONS, LEAST_SHARE * counts[_COMPARED])
        for counts in of_matchers
    )


class _Pair:
    """A document and a gold text, by their words, laid side by side."""

    def __init__(
        self,
        texts: tuple[str, str],
        tokens: tuple[list[int], list[int]],
        words: Sequence[str],
        vocabulary: Vocabulary,
    ) -> None:
        self._texts, self._tokens, self._words = texts, tokens, words
        self._vocabulary = vocabulary

    @cached_property
    def _gold_stems(self) -> frozenset[str]:
        return frozenset(map(stem, _units(self._words_of(self._tokens[1]))))

    def _words_of(self, tokens: Sequence[int]) -> list[str]:
        return [*map(self._words.__getitem__, tokens)]

    def difference(self) -> SiblingDifference | None:
        """In what they differ where most pairs of words meet, and where nearly as many do."""
        offsets = best_offsets(*self._tokens)
        best: SiblingDifference | None = None
        for offset, meetings in offsets:
            if meetings >= _LESS * offsets[0][1]:
                difference = self._at(offset)
                if difference is None or not difference.word:
                    return difference
                best = best or difference
        return best

    def _at(self, offset: int) -> SiblingDifference | None:
        """The first that tells them apart, else the first of which nobody can say."""
        misread: SiblingDifference | None = None
        for difference in self._differences(offset):
            if difference is not None and difference.word:
                return difference
            misread = misread or difference
        return misread

    def _differences(self, offset: int) -> Iterator[SiblingDifference | None]:
        """Between the runs that both have, before the first one and behind the last."""
        from rapidfuzz.distance import LCSseq

        of_doc, of_gold = self._tokens
        start = max(0, -offset)
        end = min(len(of_gold), len(of_doc) - offset)
        gold_start, doc_start = max(0, start - _DRIFT), max(0, start + offset - _DRIFT)
        doc_tokens = of_doc[doc_start : end + offset + _DRIFT]
        gold_tokens = of_gold[gold_start : end + _DRIFT]
        blocks = LCSseq.opcodes(doc_tokens, gold_tokens).as_matching_blocks()
        runs = [run for run in blocks if run.size > 1]
        if not runs:
            return
        doc, gold = self._words_of(doc_tokens), self._words_of(gold_tokens)
        for before, after in pairwise(runs):
            in_doc, in_gold = (
                doc[before.a + before.size : after.a],
                gold[before.b + before.size : after.b],
            )
            yield self._between(in_doc, in_gold)
        first, last = runs[0], runs[-1]
        # A heading that a pipeline put before a chunk stands before the midst of the gold.
        if not doc_start + first.a <= _AT_END < gold_start + first.b:
            yield self._at_end(doc[: first.a], gold[: first.b], doc[first.a], -1)
        doc_end, gold_end = last.a + last.size, last.b + last.size
        yield self._at_end(doc[doc_end:], gold[gold_end:], doc[doc_end - 1], 1)

    def _at_end(
        self, doc: Sequence[str], gold: Sequence[str], edge: str, step: Literal[-1, 1]
    ) -> SiblingDifference | None:
        """Other words before or behind what is shared, in the sentence that is cut there."""
        if not (doc and gold):
            return None
        doc, gold = doc[::step][:_AT_END], gold[::step][:_AT_END]  # the next ones first
        gold = _in_sentence(gold, edge, self._texts[1], step)
        # Sentences of the document, which is long, are looked at where it matters.
        if self._neighbour_difference(doc, gold, step) is None:
            return None
        return self._neighbour_difference(_in_sentence(doc, edge, self._texts[0], step), gold, step)

    def _neighbour_difference(
        self, doc: Sequence[str], gold: Sequence[str], step: Literal[-1, 1]
    ) -> SiblingDifference | None:
        n = min(len(doc), len(gold))
        if not n or _is_cut(doc, gold[0], step) or _is_cut(gold, doc[0], step):
            return None
        return self._between(doc[: _as_long(doc, gold[:n])][::step], gold[:n][::step])

    def _between(self, doc: Sequence[str], gold: Sequence[str]) -> SiblingDifference | None:
        """What stands in either text beside the same words."""
        in_doc = [word for word in doc if word not in gold]
        in_gold = [word for word in gold if word not in doc]
        if not in_doc or not in_gold or "".join(in_doc) == "".join(in_gold):
            return None
        word = self._number(in_doc, in_gold)
        if word is None:
            word = self._word(_units(in_doc), _units(in_gold), "".join(in_gold))
        return None if word is None else SiblingDifference(tuple(doc), tuple(gold), word)

    def _number(self, doc: Sequence[str], gold: Sequence[str]) -> str | None:
        """Another number than any of the gold's; None where there is none on either side."""
        numbers = [*filter(None, map(number_of, gold))]
        is_in_line = len(doc) == len(gold)
        for word in doc if numbers else ():
            number = number_of(word)
            # Where a space was put in or lost, a part of a number, or two as one, is no other one.
            is_same = number in numbers if is_in_line else in_one([number]) in in_one(gold)
            if number and not is_same:
                is_misread = any(may_be(number, figure) for figure in numbers)
                if not is_misread or self._is_in_texts(word):
                    return word
        return None

    def _word(self, doc: Sequence[str], gold: Sequence[str], letters: str) -> str | None:
        """A word that tells the document from the gold; empty where nobody can say."""
        if not any(map(self._tells, gold)):
            telling = filter(self._tells, doc)
            return None if all(is_respelt(word, gold, RESPELT) for word in telling) else ""
        is_misread: bool | None = None  # found out where it is asked
        is_forgiven = False
        for word in doc:
            if word in letters and (len(doc) != len(gold) or not any(map(str.isdecimal, word))):
                continue
            is_in_gold = self._vocabulary.is_in_gold(word, self._gold_stems)
            may_tell = not number_of(word) and self._tells(word)
            if is_in_gold and may_tell:
                if not is_respelt(word, gold, RESPELT_IN_GOLD):
                    return word
                is_forgiven = True
                continue
            if is_misread is None:
                is_misread = is_respelt("".join(doc), ["".join(gold)], RESPELT_TOGETHER)
            if is_misread or is_respelt(word, gold, RESPELT) or is_part(word, letters):
                is_forgiven = True
                continue
            is_known = is_in_gold or self._vocabulary.is_in_docs(word)
            if is_known and may_tell:
                return word
            is_forgiven = is_forgiven or not is_known
        return "" if is_forgiven else None

    def _is_in_texts(self, word: str) -> bool:
        vocabulary = self._vocabulary
        return vocabulary.is_in_gold(word, self._gold_stems) or vocabulary.is_in_docs(word)

    def _tells(self, word: str) -> bool:
        """Whether a word, by its length and how often it stands anywhere, tells texts apart."""
        if number_of(word):
            return True
        return len(word) >= (2 if word >= "\u0e00" else 3) and self._vocabulary.is_rare(word)


def _in_sentence(words: Sequence[str], edge: str, text: str, step: Literal[-1, 1]) -> Sequence[str]:
    """Those of some words, the next ones to another word first, that are in a sentence with it."""
    for number, word in enumerate(words):
        pair = f" {' '.join((edge, word)[::step])} "
        # As a rule they are written so; the whole text is cut into sentences where they are not.
        if pair not in text or _HAN.match(edge):
            sentences = _sentences(text)
            if sentences and pair not in sentences:
                return words[:number]
        edge = word
    return words


def _is_cut(words: Sequence[str], word: str, step: Literal[-1, 1]) -> bool:
    """Whether one word alone is left of a text, a part of the other text's word."""
    if len(words) != 1:
        return False
    return word.startswith(words[0]) if step > 0 else word.endswith(words[0])


def _as_long(words: Sequence[str], gold: Sequence[str]) -> int:
    """How many words have no more letters than the others; one at least.

    What is misread has more words, or fewer, so that words behind them face nothing.
    """
    n_letters = len("".join(gold))
    ends = accumulate(map(len, words[:_AT_END]))
    return max(1, sum(end <= n_letters for end in ends))


def _units(words: Sequence[str]) -> list[str]:
    """Words, and of characters of scripts that write without spaces each two in a row.

    One such character alone tells nothing: that much is misread.
    """
    is_character = [len(word) == 1 and unspaced(word) for word in words]
    if not any(is_character):
        return [*words]
    pairs = [
        head + tail
        for (head, first), (tail, second) in pairwise(zip(words, is_character))
        if first and second
    ]
    return [word for word, alone in zip(words, is_character) if not alone] + pairs


@lru_cache(1 << 12)
def _sentences(text: str) -> str:
    """The words with a space on either side, and one that nobody writes where sentences end.

    Nothing without an end of a sentence or a line.
    """
    text, n_ends = _SENTENCE_END.subn(_PARTING, without_hanja(text).rstrip(" .!?。"))
    return f" {' '.join(words(text))} " if n_ends else ""
