"""The words of an evaluation's texts: which script its gold has, and which words are known.

A word that stands in the gold of another question, or in two texts, is no misreading of another
one. What is known is gathered before anything is matched, of all gold and of the documents of the
first `LOOKED_AT` questions, so that the score of a pair depends on no order and on no part.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count

import numpy as np

from kragx.data import TokenCorpus
from kragx.data.known import known_texts
from kragx.data.korean import stem
from kragx.data.stretches import distinct
from kragx.data.tokenizers import AutoTokenizer, Passages
from kragx.data.tokens import Tokens
from kragx.metrics import Bools, Ints
from kragx.metrics.spans.reading import plain, reading

LOOKED_AT = 1000
"""Of so many questions, the first ones, the documents and the script of the gold are looked at."""

_FEW, _FEW_AT_LEAST = 0.34, 5
_HERE = ("key", "corpus")  # what stays in this process


@dataclass(frozen=True)
class Vocabulary:
    """In how many texts each word stands; two characters are a word where none are written apart.

    Korean words stand without their particles.

    Attributes:
        golds: of the distinct gold texts.
        docs: of the distinct retrieved texts that were looked at.
        copied: words of several of these that have the same words beside them wherever they stand,
            as in chunks that overlap, where what was misread stands twice.
        n_texts: how many of both there are.
        passages: what passages are compared by.
        corpus: the words of the texts, for whoever tokenises them again in this process.
    """

    golds: Mapping[str, int] = field(default_factory=dict, repr=False)
    docs: Mapping[str, int] = field(default_factory=dict, repr=False)
    copied: frozenset[str] = field(default=frozenset(), repr=False)
    n_texts: int = 0
    passages: Passages = "words"
    corpus: TokenCorpus | None = field(default=None, repr=False, compare=False)

    def is_in_gold(self, word: str, words: Collection[str]) -> bool:
        """Whether a word stands in gold other than one with these words."""
        word = stem(word)
        return self.golds.get(word, 0) > (word in words)

    def is_in_docs(self, word: str) -> bool:
        """Whether a word stands in two places or more of the retrieved texts."""
        word = stem(word)
        return self.docs.get(word, 0) > 1 and word not in self.copied

    def is_rare(self, word: str) -> bool:
        """Whether at most a third of the texts have a word, so that it tells one from others."""
        word = stem(word)
        n = self.golds.get(word, 0) + self.docs.get(word, 0)
        return n <= max(_FEW_AT_LEAST, _FEW * self.n_texts)

    @property
    def settings(self) -> dict[str, int | str]:
        """What a result records: how many texts were looked at, and the hash of what they had."""
        return {"n_texts": self.n_texts, "hash": self.key}

    @cached_property
    def key(self) -> str:
        """The SHA-256 of all of it."""
        content = hashlib.sha256(f"{self.passages} {self.n_texts}".encode())
        for counts in (self.golds, self.docs):
            lines = [f"{word} {counts[word]}\n" for word in sorted(counts)]
            content.update("".join(lines).encode("utf-8", "surrogatepass"))
        content.update(" ".join(sorted(self.copied)).encode("utf-8", "surrogatepass"))
        return content.hexdigest()

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in vars(self).items() if name not in _HERE}


class Gathering:
    """Makes the vocabulary of texts that come by; a corpus may know their words already."""

    def __init__(self, corpus: TokenCorpus | None = None) -> None:
        self.corpus: TokenCorpus = corpus or TokenCorpus(AutoTokenizer())
        self._known: tuple[set[int], set[int]] = set(), set()
        # Looking a new word up makes it the next number.
        self._numbers: defaultdict[str, int] = defaultdict(count().__next__)
        self._of_token = np.empty(0, np.int64)  # the word of each token, where it is known
        self._age = self.corpus.age
        # By word: in how many gold texts and documents it stands; the least and the greatest number
        # of the words before it, and of those behind it.
        self._n_texts = np.zeros((2, 0), np.int64)
        self._least, self._most = np.zeros((2, 2, 0), np.int64)
        self._n_hangul = self._n_letters = 0

    def add_golds(self, texts: Iterable[str], *, of_script: bool) -> None:
        """Add gold texts; `of_script` for those whose script counts."""
        texts = [*texts]
        if of_script:
            self._count_letters("".join(map(reading, texts)))
        self._add(texts, _GOLD)

    def add_docs(self, texts: Iterable[str]) -> None:
        """Add retrieved texts."""
        self._add(texts, _DOCS)

    def _add(self, texts: Iterable[str], kind: int) -> None:
        """Count the words of the texts that are new, and each two characters in a row as one."""
        hashes = self._known[kind]
        new = [text for text in dict.fromkeys(texts) if hash(text) not in hashes]
        if not new:
            return
        hashes.update(map(hash, new))
        corpus, in_use = self.corpus, known_texts()
        rows = corpus.rows_of(plain, in_use.texts, np.array(in_use.numbers(new), np.int64))
        tokens = corpus.tokens_of(rows)
        text = np.repeat(np.arange(len(rows)), corpus.lengths[rows])
        words = self._words(tokens)
        # 0 where the text begins or ends: nothing is known of what would stand there.
        goes_on = text[:-1] == text[1:]
        before, after = np.zeros((2, len(words)), np.int64)
        before[1:], after[:-1] = (words[:-1] + 1) * goes_on, (words[1:] + 1) * goes_on
        self._count(kind, text, words, before, after)
        is_character = corpus.unspaced[tokens]
        first = (is_character[:-1] & is_character[1:] & goes_on).nonzero()[0]
        if first.size:
            pairs = self._pairs(words[first], words[first + 1])
            self._count(kind, text[first], pairs, before[first], after[first + 1])

    def _count_letters(self, text: str) -> None:
        codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")
        counts = np.bincount(codes)
        for code in counts.nonzero()[0].tolist():
            char = chr(code)
            if char.isalnum() and not char.isdecimal():
                self._n_letters += int(counts[code])
                self._n_hangul += int(counts[code]) if "가" <= char <= "힣" else 0

    def _words(self, tokens: Tokens) -> Ints:
        """The word of each token."""
        if self._age != self.corpus.age:
            self._of_token, self._age = np.empty(0, np.int64), self.corpus.age
        n_new = self.corpus.n_distinct_tokens - len(self._of_token)
        self._of_token = np.concatenate((self._of_token, np.full(n_new, _NO_WORD)))
        new = distinct(tokens[self._of_token[tokens] == _NO_WORD])
        words = map(self.corpus.words.__getitem__, new.tolist())
        self._of_token[new] = [self._numbers[stem(word)] for word in words]
        return self._of_token[tokens]

    def _pairs(self, first: Ints, second: Ints) -> Ints:
        """Two characters in a row of scripts that write without spaces, as one word."""
        words = [*self._numbers]
        pairs, numbers = np.unique(first * len(words) + second, return_inverse=True)
        indices = zip(*(part.tolist() for part in np.divmod(pairs, len(words))))
        of_pair = [self._numbers[words[head] + words[tail]] for head, tail in indices]
        return np.array(of_pair, np.int64)[numbers]

    def _count(self, kind: int, text: Ints, words: Ints, before: Ints, after: Ints) -> None:
        """Count in how many texts words stand, and of documents what stands beside them."""
        n = len(self._numbers)
        if n > self._n_texts.shape[1]:
            padding = (0, 2 * n - self._n_texts.shape[1])
            self._n_texts = np.pad(self._n_texts, ((0, 0), padding))
            self._least = np.pad(self._least, ((0, 0), padding), constant_values=_NOBODY)
            self._most = np.pad(self._most, ((0, 0), padding))
        self._n_texts[kind, :n] += np.bincount(distinct(text * n + words) % n, minlength=n)
        for side, numbers in enumerate((before, after) if kind == _DOCS else ()):
            np.minimum.at(self._least[side], words, np.where(numbers, numbers, _NOBODY))
            np.maximum.at(self._most[side], words, numbers)

    @property
    def vocabulary(self) -> Vocabulary:
        """That of all texts so far."""
        words = [*self._numbers]
        golds, docs = self._n_texts[:, : len(words)]
        has_one_beside: Bools = np.all(self._least >= self._most, axis=0)[: len(words)]
        copied = (has_one_beside & (docs > 1)).nonzero()[0].tolist()
        is_hangul = 2 * self._n_hangul > self._n_letters
        return Vocabulary(
            _by_word(words, golds),
            _by_word(words, docs),
            frozenset(map(words.__getitem__, copied)),
            n_texts=sum(map(len, self._known)),
            passages="characters" if is_hangul else "words",
            corpus=self.corpus,
        )


def _by_word(words: Sequence[str], counts: Ints) -> dict[str, int]:
    """The counts above 0 by word."""
    rows = counts.nonzero()[0]
    return dict(zip(map(words.__getitem__, rows.tolist()), counts[rows].tolist()))


_GOLD, _DOCS = range(2)
_NO_WORD = -1
_NOBODY = 1 << 40  # more than any number of a word
