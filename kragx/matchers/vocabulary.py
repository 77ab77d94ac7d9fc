"""The words of an evaluation's texts: which script its gold has, and which words are known.

A word that stands in the gold of another question, or in two texts, is no misreading of another
one. What is known is gathered before anything is matched, of all gold and of the documents of the
first `LOOKED_AT` questions, so that the score of a pair depends on no order and on no part.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import compress, count

import numpy as np

from kragx.data import TokenCorpus
from kragx.data.amounts import in_figures
from kragx.data.batch import Batch
from kragx.data.entries import NO_TEXT, Entries
from kragx.data.korean import stem
from kragx.data.lists import distinct, interned_texts
from kragx.data.tokenizers import AutoTokenizer, Passages
from kragx.data.tokens import Tokens
from kragx.metrics import Ints
from kragx.metrics.spans.reading import plain, reading

LOOKED_AT = 1000
"""Of so many questions, the first ones, the documents and the script of the gold are looked at."""

_FEW, _FEW_AT_LEAST = 0.34, 5
_HERE = ("key", "corpus", "of_forbidden")  # what stays in this process
_NOBODY = -1  # before a text's first word, and behind its last one
_MOST = 1 << 31  # more than any number of a word or text, so that one number holds two

# Of each word: in how many gold texts it stands, in how many documents, a word before it there and
# one behind it, and whether it has another one elsewhere.
_GOLDS, _DOCS = 0, 1
_OF_NEW_WORD = np.array([[0], [0], [_NOBODY], [_NOBODY], [0]])


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
        of_forbidden: the same with forbidden texts among the gold, for whoever looks for these;
            None where there are none.
    """

    golds: Mapping[str, int] = field(default_factory=dict, repr=False)
    docs: Mapping[str, int] = field(default_factory=dict, repr=False)
    copied: frozenset[str] = field(default=frozenset(), repr=False)
    n_texts: int = 0
    passages: Passages = "words"
    corpus: TokenCorpus | None = field(default=None, repr=False, compare=False)
    of_forbidden: Vocabulary | None = field(default=None, repr=False, compare=False)

    def is_in_gold(self, word: str, words: Collection[str]) -> bool:
        """Whether a word stands in gold other than one with these words."""
        return self.golds.get(stem(word), 0) > (stem(word) in words)

    def is_in_docs(self, word: str) -> bool:
        """Whether a word stands in two places or more of the retrieved texts."""
        return self.docs.get(stem(word), 0) > 1 and stem(word) not in self.copied

    def is_rare(self, word: str) -> bool:
        """Whether at most a third of the texts have a word, so that it tells one from others."""
        n = self.golds.get(stem(word), 0) + self.docs.get(stem(word), 0)
        return n <= max(_FEW_AT_LEAST, _FEW * self.n_texts)

    def with_amounts(self) -> Vocabulary:
        """The same where amounts are read alike; of 500만 원, 500원 and 500% 500 is left."""

        def with_amounts(counts: Mapping[str, int]) -> Counter[str]:
            read = Counter(counts)
            for word, n in counts.items():
                if word[:1].isdecimal():
                    amounts = {in_figures(word + unit) for unit in ("", "원", "만원", "퍼센트")}
                    read.update(dict.fromkeys(amounts - {word}, n))
            return read

        return replace(self, golds=with_amounts(self.golds), docs=with_amounts(self.docs))

    @property
    def settings(self) -> dict[str, int | str]:
        """What a result records: how many texts were looked at, and the hash of what they had."""
        return {"n_texts": self.n_texts, "hash": self.key}

    @cached_property
    def key(self) -> str:
        """The SHA-256 of all of it."""
        lines = [f"{word} {n[word]}\n" for n in (self.golds, self.docs) for word in sorted(n)]
        content = (f"{self.passages} {self.n_texts}", *lines, " ".join(sorted(self.copied)))
        return hashlib.sha256("".join(content).encode("utf-8", "surrogatepass")).hexdigest()

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in vars(self).items() if name not in _HERE}


class Gathering:
    """Makes the vocabulary of texts that come by; a corpus may know their words already."""

    def __init__(self, corpus: TokenCorpus | None = None) -> None:
        self.corpus: TokenCorpus = corpus or TokenCorpus(AutoTokenizer())
        # Looking a new word up makes it the next number.
        self._numbers: defaultdict[str, int] = defaultdict(count().__next__)
        self._texts: Sequence[str] = ()  # of the corpus, while `_of_token` are its words
        self._of_token = np.empty(0, np.int64)
        self._table = np.tile(_OF_NEW_WORD, 0)  # a column for each word
        self._seen_golds, self._seen_docs = set[int](), set[int]()
        self._letters = Counter[str]()
        self._n_queries = 0
        self._forbidden: dict[str, None] = {}

    def add_batch(self, batch: Batch) -> None:
        """Add the gold of some questions, and of the first ones what was retrieved for them.

        What is forbidden for them is kept apart: it changes nothing of what matches the gold.
        """
        if batch.forbidden_texts is not None:
            self._forbidden |= dict.fromkeys(texts_of(Entries(batch.forbidden_texts)))
        first = slice(0, max(0, LOOKED_AT - self._n_queries))
        self._n_queries += len(batch)
        if first.stop and len(batch):
            self.add_docs(texts_of(batch.docs.part(first)))
            self._see_script(texts_of(batch.golds.part(first)))
        self._count(texts_of(batch.golds), self._seen_golds, _GOLDS)

    def add_golds(self, texts: Iterable[str]) -> None:
        """Add gold texts, whose script counts, each as often as it stands."""
        texts = [*texts]
        self._see_script(texts)
        self._count(texts, self._seen_golds, _GOLDS)

    def add_docs(self, texts: Iterable[str]) -> None:
        """Add retrieved texts."""
        word, *neighbours = self._count(texts, self._seen_docs, _DOCS)
        *_, before, behind, is_varied = self._table
        for beside, neighbour in zip((before, behind), neighbours):
            is_there = neighbour != _NOBODY
            words, there = word[is_there], neighbour[is_there]
            is_first = beside[words] == _NOBODY
            beside[words[is_first]] = there[is_first]  # of several any one: the others differ
            is_varied[words[beside[words] != there]] = 1

    def _see_script(self, texts: Iterable[str]) -> None:
        characters = "".join(map(reading, texts)).encode("utf-32-le", "surrogatepass")
        # An array counts a text's characters in a fifth of the time of a Counter.
        n_of_code = np.bincount(np.frombuffer(characters, np.uint32))
        codes = np.flatnonzero(n_of_code)
        self._letters.update(dict(zip(map(chr, codes.tolist()), n_of_code[codes].tolist())))

    def _count(self, texts: Iterable[str], hashes_seen: set[int], row: int) -> Ints:
        """Count in how many of the texts that are new each word stands.

        Each two characters in a row of scripts that write without spaces are a word as well.

        Returns:
            (3 x n) all words of these texts, and the words before and behind each.
        """
        # By their hashes, as the texts themselves may be forgotten, and should be.
        new = [text for text in dict.fromkeys(texts) if hash(text) not in hashes_seen]
        hashes_seen.update(map(hash, new))
        corpus, in_use = self.corpus, interned_texts()
        rows = corpus.rows_of(plain, in_use.texts, np.array(in_use.numbers(new), np.int64))
        tokens = corpus.tokens_of(rows)
        text = np.repeat(np.arange(len(rows)), corpus.lengths[rows])
        goes_on = text[:-1] == text[1:]
        places = np.full((3, len(tokens)), _NOBODY)
        places[0] = word = self._words_of(tokens)
        places[1, 1:][goes_on], places[2, :-1][goes_on] = word[:-1][goes_on], word[1:][goes_on]
        is_alone = corpus.unspaced[tokens]
        first = (is_alone[:-1] & is_alone[1:] & goes_on).nonzero()[0]
        if first.size:
            pairs = self._pairs(word[first], word[first + 1])
            of_pairs = np.stack((pairs, places[1, first], places[2, first + 1]))
            text, places = np.append(text, text[first]), np.hstack((places, of_pairs))
        n_new = len(self._numbers) - self._table.shape[1]
        self._table = np.hstack((self._table, np.tile(_OF_NEW_WORD, n_new)))
        in_texts = distinct(text * _MOST + places[0]) % _MOST
        self._table[row] += np.bincount(in_texts, minlength=len(self._numbers))
        return places

    def _words_of(self, tokens: Tokens) -> Ints:
        """The number of each token's word."""
        if self._texts is not self.corpus.texts:  # which has forgotten its tokens meanwhile
            self._texts, self._of_token = self.corpus.texts, np.empty(0, np.int64)
        new = map(stem, self.corpus.words[len(self._of_token) :])
        numbers = np.array([*map(self._numbers.__getitem__, new)], np.int64)
        self._of_token = np.concatenate((self._of_token, numbers))
        return self._of_token[tokens]

    def _pairs(self, first: Ints, second: Ints) -> Ints:
        """The number of each two characters in a row, as one word."""
        names = [*self._numbers]
        words = (names[head] + names[tail] for head, tail in zip(first.tolist(), second.tolist()))
        return np.array([*map(self._numbers.__getitem__, words)], np.int64)

    @property
    def vocabulary(self) -> Vocabulary:
        """That of all texts so far; forbidden ones are added to it, so nothing comes after it."""
        known = self._known()
        if not self._forbidden:
            return known
        self.add_golds(self._forbidden)
        return replace(known, of_forbidden=self._known())

    def _known(self) -> Vocabulary:
        names = [*self._numbers]
        golds, docs, *_, is_varied = self._table
        letters = {char: n for char, n in self._letters.items() if char.isalnum()}
        n_letters = sum(n for char, n in letters.items() if not char.isdecimal())
        is_hangul = 2 * sum(n for char, n in letters.items() if "가" <= char <= "힣") > n_letters
        return Vocabulary(
            dict(compress(zip(names, golds.tolist()), golds)),
            dict(compress(zip(names, docs.tolist()), docs)),
            frozenset(compress(names, (docs > 1) & (is_varied == 0))),
            n_texts=len(self._seen_golds) + len(self._seen_docs),
            passages="characters" if is_hangul else "words",
            corpus=self.corpus,
        )


def texts_of(entries: Entries) -> list[str]:
    """The texts of gold items, their alternatives, or documents that are not empty."""
    numbers = entries.texts.numbers
    texts = [*map(entries.texts.known.__getitem__, numbers[numbers != NO_TEXT].tolist())]
    if entries.alternatives is not None:
        texts += [doc.text or "" for docs in entries.alternatives for doc in docs]
    return [*filter(None, texts)]
