"""Texts made from one template, told apart by what stands between the same words.

A policy and its sibling for another company share nearly all pairs of words. Laid side by side,
they have other words between the same ones: another name, another number. So has a text that was
misread. The difference is whether the other word is known: in the gold of another question, or in
two texts that are not one where they overlap. What nobody else has is a misreading, what resembles
the word in its place is a spelling of it, and what many texts have tells nothing.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import accumulate, pairwise, zip_longest
from typing import Literal, NamedTuple

import numpy as np

from kragx.data import TokenCorpus
from kragx.data.korean import spaced_alike, stem
from kragx.data.lists import Lists
from kragx.data.tokenizers import without_hanja
from kragx.data.tokens import common_runs, pairs_at
from kragx.data.words import unspaced, words
from kragx.matchers.items import Diagnostic, Diagnostics
from kragx.matchers.vocabulary import Vocabulary
from kragx.metrics import Floats
from kragx.metrics.threshold import matches

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

_BETWEEN, _LONG = 100, 100
"""So many words that are not the same stand face to face, and of one so many letters, as what is
longer is other text, or no word."""

# Or a tag that a chunk's end has cut.
_SENTENCE_END = re.compile(
    r"[.!?。:;|<>&\]\n\\](?:(?<=[<>&\]\n])|(?<=\\)n|(?<=[.!?。:;|])[.!?。:;|]*(?:\s|$))"
)
_PARTING = " qzxqzx "  # a word that nobody writes in place of each, so that words are cut once

# Letters of which two words agree, of all of both: measured on texts of which 3 and 10 % of the
# letters were misread, in English and Korean (docs/evidence/matchers.md).
_RESPELT_IN_GOLD, _RESPELT, _RESPELT_TOGETHER = 0.8, 0.5, 0.75
_SHORT = 4  # letters of a word of which one may be misread

# With its unit, or as an article (14일, 5kg, 제14조제2항).
_NUMBER = re.compile(r"제?\d[\d.]*(?:[가-힣]+\d[\d.]*)*\D{0,3}[가-힣]*")
_OF_NUMBER = re.compile(r"\d[\d.]*[십백천만억조]*")
_ROUND = str.maketrans(dict.fromkeys("035689", "0"))
_SYLLABLES = re.compile("[가-힣]+")
_DIGITS = re.compile(r"\d+")


class SiblingDifference(NamedTuple):
    """What two texts have between the same words.

    Attributes:
        word: the document's word that tells it from the gold; empty for a misreading.
        gold: the words of the gold text.
    """

    word: str
    gold: tuple[str, ...]


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
    diagnostic: Diagnostic,
) -> Floats:
    """Scores in which siblings of the gold have 0.

    Args:
        docs: the documents of each question, as they are read.
        golds: its gold texts.
        scores: of all pairs, question after question, documents down, gold texts across.
        corpus: numbers the words of both.
        vocabulary: which words are known.
        threshold: from which score on a pair is a match.
        diagnostic: counts the questions with siblings (`are_misread`).
    """
    # Equal texts are no siblings, and unlike ones no match: neither is laid side by side.
    pair = ((scores >= FLOOR) & (scores < 1)).nonzero()[0]
    doc, gold = pairs_at(pair, docs.n_texts, golds.n_texts)
    rows = [*zip(docs.numbers[doc].tolist(), golds.numbers[gold].tolist())]
    distinct = dict.fromkeys(rows)
    texts = [docs.known[row] for row, _ in distinct], [golds.known[row] for _, row in distinct]
    of_rows = dict(zip(distinct, differences(*texts, corpus, vocabulary)))
    of_pairs = [of_rows[row] for row in rows]
    is_sibling = np.array([bool(difference and difference.word) for difference in of_pairs], bool)
    is_unsure = np.array([bool(difference) for difference in of_pairs], bool) & ~is_sibling
    masked = scores.copy()
    masked[pair[is_sibling]] = 0.0
    matched, _ = pairs_at(matches(masked, threshold).nonzero()[0], docs.n_texts, golds.n_texts)
    unsure = doc[is_unsure & matches(scores[pair], threshold)]
    compared = np.concatenate((matched, doc[is_sibling]))
    for name, places in ((_COMPARED, compared), (_MISREAD, unsure)):
        diagnostic.counts[name] += len({*docs.of_text[places].tolist()})
    return masked


def are_misread(diagnostics: Diagnostics) -> bool:
    """Whether so much was misread that texts of one template could not be told apart."""
    return any(
        counts[_MISREAD] >= max(LEAST_QUESTIONS, LEAST_SHARE * counts[_COMPARED])
        for counts in (diagnostic.counts for diagnostic in diagnostics.of_kind(SIBLINGS))
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
        """In what they differ where most pairs of words meet, and where nearly as many do.

        There the first that tells them apart, else the first of which nobody can say.
        """
        offsets = best_offsets(*self._tokens)
        best: SiblingDifference | None = None
        for offset, meetings in offsets:
            if meetings < _LESS * offsets[0][1]:
                break
            unsure: SiblingDifference | None = None
            for difference in self._differences(offset):
                if difference is not None and difference.word:
                    best = best or difference
                    break
                unsure = unsure or difference
            else:
                return unsure
        return best

    def _differences(self, offset: int) -> Iterator[SiblingDifference | None]:
        """Between the runs that both have, before the first one and behind the last."""
        of_doc, of_gold = self._tokens
        start = max(0, -offset)
        end = min(len(of_gold), len(of_doc) - offset)
        gold_start, doc_start = max(0, start - _DRIFT), max(0, start + offset - _DRIFT)
        doc_tokens = of_doc[doc_start : end + offset + _DRIFT]
        gold_tokens = of_gold[gold_start : end + _DRIFT]
        runs = common_runs(doc_tokens, gold_tokens)
        if not runs:
            return
        doc, gold = self._words_of(doc_tokens), self._words_of(gold_tokens)
        for (in_doc, in_gold, size), (doc_next, gold_next, _) in pairwise(runs):
            yield self._between(doc[in_doc + size : doc_next], gold[in_gold + size : gold_next])
        (doc_first, gold_first, _), (doc_last, gold_last, size) = runs[0], runs[-1]
        # A heading that a pipeline put before a chunk stands before the midst of the gold.
        if not doc_start + doc_first <= _AT_END < gold_start + gold_first:
            yield self._at_end(doc[:doc_first], gold[:gold_first], doc[doc_first], -1)
        doc_end, gold_end = doc_last + size, gold_last + size
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
        # No more words than have the letters of the gold's, but one: what is misread has more
        # words, or fewer, so that words behind them face nothing.
        n_letters = len("".join(gold[:n]))
        n_doc = sum(end <= n_letters for end in accumulate(map(len, doc)))
        return self._between(doc[: max(1, n_doc)][::step], gold[:n][::step])

    def _between(self, doc: Sequence[str], gold: Sequence[str]) -> SiblingDifference | None:
        """What stands in either text beside the same words."""
        of_doc, of_gold = {*doc}, {*gold}
        in_doc = [word for word in doc if word not in of_gold][:_BETWEEN]
        in_gold = [word for word in gold if word not in of_doc][:_BETWEEN]
        if not in_doc or not in_gold or "".join(in_doc) == "".join(in_gold):
            return None
        word = self._number(in_doc, in_gold)
        if word is None:
            word = self._word(_units(in_doc), _units(in_gold), "".join(in_gold))
        return None if word is None else SiblingDifference(word, tuple(gold))

    def _number(self, doc: Sequence[str], gold: Sequence[str]) -> str | None:
        """Another number than any of the gold's; None where there is none on either side."""
        numbers = [*filter(None, map(_number_of, gold))]
        figures = "".join(gold).replace(".", "")
        for word in doc if numbers else ():
            number = _number_of(word)
            # Where a space was put in or lost, a part of a number, or two as one, is no other one.
            is_in_line = len(doc) == len(gold)
            is_same = number in numbers if is_in_line else number.replace(".", "") in figures
            if number and not is_same:
                is_misread = any(_may_be(number, gold_number) for gold_number in numbers)
                if not is_misread or self._is_in_gold(word) or self._vocabulary.is_in_docs(word):
                    return word
        return None

    def _word(self, doc: Sequence[str], gold: Sequence[str], letters: str) -> str | None:
        """A word that tells the document from the gold; empty where nobody can say."""
        from rapidfuzz.fuzz import partial_ratio

        if not any(map(self._tells, gold)):
            telling = filter(self._tells, doc)
            return None if all(_is_respelt(word, gold, _RESPELT) for word in telling) else ""
        is_forgiven = False
        for word in doc:
            if word in letters and (len(doc) != len(gold) or not any(map(str.isdecimal, word))):
                continue
            is_in_gold = self._is_in_gold(word)
            may_tell = not _number_of(word) and self._tells(word)
            if is_in_gold and may_tell:
                if not _is_respelt(word, gold, _RESPELT_IN_GOLD):
                    return word
                is_forgiven = True
            elif (
                (
                    _is_respelt("".join(doc), ["".join(gold)], _RESPELT_TOGETHER)
                    or _is_respelt(word, gold, _RESPELT)
                    # Letters much like these, as where a space was put in or lost.
                    or (
                        len(word) > 1
                        and partial_ratio(*map(_in_letters, (word[:_LONG], letters))) >= 80
                    )
                )
                or not (is_in_gold or self._vocabulary.is_in_docs(word))
            ):
                is_forgiven = True
            elif may_tell:
                return word
        return "" if is_forgiven else None

    def _is_in_gold(self, word: str) -> bool:
        return self._vocabulary.is_in_gold(word, self._gold_stems)

    def _tells(self, word: str) -> bool:
        """Whether a word, by its length and how often it stands anywhere, tells texts apart."""
        is_long = len(word) >= (2 if word >= "\u0e00" else 3)
        return bool(_number_of(word)) or (is_long and self._vocabulary.is_rare(word))


def _in_sentence(words: Sequence[str], edge: str, text: str, step: Literal[-1, 1]) -> Sequence[str]:
    """Those of some words, the next ones to another word first, that are in a sentence with it."""
    sentences = _sentences(text)
    for number, pair in enumerate(pairwise((edge, *words)) if sentences else ()):
        if f" {' '.join(pair[::step])} " not in sentences:
            return words[:number]
    return words


def _is_cut(words: Sequence[str], word: str, step: Literal[-1, 1]) -> bool:
    """Whether one word alone is left of a text, a part of the other text's word."""
    is_part = word.startswith if step > 0 else word.endswith
    return len(words) == 1 and is_part(words[0])


def _units(words: Sequence[str]) -> list[str]:
    """Words, and of characters of scripts that write without spaces each two in a row.

    One such character alone tells nothing: that much is misread.
    """
    is_character = [len(word) == 1 and unspaced(word) for word in words]
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


def _number_of(word: str) -> str:
    """The digits of a number with its unit; empty for any other word."""
    return " ".join(_OF_NUMBER.findall(word)) if _NUMBER.fullmatch(word) else ""


def _may_be(number: str, gold: str) -> bool:
    """Whether a number may be another one of which a figure is lost, or read as one as round.

    A comma of thousands is read as a point.
    """
    from rapidfuzz.distance.Indel import distance

    in_doc, in_gold = number.replace(".", ""), gold.replace(".", "")
    return distance(in_doc, in_gold) <= 1 or number.translate(_ROUND) == gold.translate(_ROUND)


@lru_cache(1 << 12)
def _in_letters(word: str) -> str:
    """A word in letters: of a Hangul syllable, as a rule, one letter is misread."""
    return unicodedata.normalize("NFD", word)


def _is_respelt(word: str, gold: Sequence[str], floor: float) -> bool:
    """Whether a word is much like one of some others, which has no other number in it."""
    from rapidfuzz.distance import Indel

    letters, number = _in_letters(word), _DIGITS.findall(word)
    if len(letters) == _SHORT:
        floor = min(floor, 1 - 1 / _SHORT)
    return any(
        Indel.normalized_similarity(letters, _in_letters(gold_word)) >= floor
        and (floor < _RESPELT_IN_GOLD or _has_like_syllables(word, gold_word))
        and (not number or _DIGITS.findall(gold_word) in ([], number))
        for gold_word in gold
    )


def _has_like_syllables(word: str, gold: str) -> bool:
    """Whether Hangul words of as many syllables differ in one letter of each syllable at most."""
    if len(word) != len(gold) or not _SYLLABLES.fullmatch(word + gold):
        return True
    pairs = (zip_longest(*map(_in_letters, pair)) for pair in zip(word, gold))
    return all(sum(a != b for a, b in pair) <= 1 for pair in pairs)
