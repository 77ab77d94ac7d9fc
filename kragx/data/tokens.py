"""Texts as arrays of token numbers, each distinct text tokenised once; n-grams that they share."""

import itertools
import re
from array import array
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kragx.data.lists import (
    InternedTexts,
    Ints,
    Lists,
    NumberOfText,
    counted,
    parts,
    ranges,
    starts,
)
from kragx.data.tokenizers import Tokenizer
from kragx.data.words import unspaced

Tokens = NDArray[np.int32]
Grams = NDArray[np.uint64]

# Odd, and near 2**64 by the golden ratio, so that its multiples lie as far apart as they can: no
# two pairs of tokens make the same number, and fours of letters by one chance in 2**64.
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_ABOVE_0 = np.uint64(1 << 31)  # added to a token, also to one below 0
PIECE = 4
"""So many characters of a script that writes without spaces are compared as one token is."""

_RUN = re.compile(rb"\x01{%d,}" % PIECE)  # of the flags of such characters

# Tokens that are kept for texts that may come again; a few hundred megabytes with the texts.
_MOST_TOKENS = 1 << 23
_MOST_CODES = 0x110000  # beyond these no number of a token is a character of Unicode


def hashed(codes: Grams, n: int, hashes: Grams | None = None, begin: int = 0) -> Grams:
    """A number for the n that begin at each of some, the same for the same; mixed to its high bits.

    Those of the last n - 1 mean nothing. What stands for `begin` of them can be gone on from.
    """
    hashes = np.zeros(len(codes), np.uint64) if hashes is None else hashes.copy()
    for place in range(begin, n):
        later = codes[place:]
        hashes[: len(later)] ^= later
        hashes *= _FACTOR
    return hashes


def codes_of(text: str) -> Grams:
    """The characters of a text as numbers."""
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    return points.astype(np.uint64)


def codes_of_tokens(tokens: Tokens) -> Grams:
    """Tokens as numbers above 0, each unlike all others."""
    return tokens.astype(np.uint64) + _ABOVE_0


class TokenCorpus:
    """Remembers the tokens of the texts it has seen, as numbers that stand for distinct tokens.

    Two texts share a token exactly if they share its number, so counting numbers is exact. Each
    distinct text has a row. When the texts grow beyond some hundred megabytes, all but the next
    batch are forgotten, and rows begin anew.

    Attributes:
        texts: by row.
        tokens: of all rows, one behind the other.
        starts: where those of each row begin.
        lengths: how many each row has.
        in_letters: whether its tokens are letters, of which three count as a word in any script.
        words: the token that each number stands for.
    """

    def __init__(self, tokenizer: Tokenizer, *, in_letters: bool = False) -> None:
        self.tokenizer = tokenizer
        self.in_letters = in_letters
        self._forget()

    def _forget(self) -> None:
        self._rows: dict[str, int] = {}
        self.texts: list[str] = []
        self.tokens: Tokens = np.empty(0, np.int32)
        self.starts: Ints = np.empty(0, np.int64)
        self.lengths: Ints = np.empty(0, np.int64)
        self._grams: dict[int, Grams] = {}
        self._numbered = InternedTexts()
        self.words: Sequence[str] = self._numbered.texts
        self._in_pieces: dict[int, int] = {}  # the row of the same text in pieces
        # Below 0, so that they are no tokens.
        self._of_pieces = defaultdict[tuple[int, ...], int](itertools.count(-1, -1).__next__)
        self._unspaced = np.empty(0, bool)
        self._read_by: dict[Callable[[str], str], NumberOfText] = {}

    def make_room(self) -> bool:
        """Forget texts and tokens if there are many; each text of a long run may be a new one."""
        is_full = len(self.tokens) > _MOST_TOKENS
        if is_full:
            self._forget()
        return is_full

    @property
    def unspaced(self) -> NDArray[np.bool_]:
        """For each token number whether it is a character of a script that writes without spaces.

        Longer tokens of such scripts, as other tokenizers give them, are words.
        """
        new = self.words[len(self._unspaced) :]
        if new:
            flags = [
                # Most words are known by their first letter to be of another script.
                self.in_letters
                or (
                    word[:1] >= "\u0e00"
                    and not "가" <= word[0] <= "힣"
                    and unspaced(word)
                    and not any(map(str.isalnum, word[1:]))  # only marks behind it
                )
                for word in new
            ]
            self._unspaced = np.concatenate((self._unspaced, flags))
        return self._unspaced

    def pieces(self, rows: Ints) -> Ints:
        """The rows of the same texts with their characters in overlapping pieces.

        A character of a script that writes without spaces says less than a word: by chance alone
        a long text has many pairs of those of another. So their runs are cut into pieces of
        `PIECE` characters, one from each character on; shorter runs stay as they are. A piece's
        number is below 0.
        """
        if not self.unspaced.any():
            return rows
        new = [row for row in dict.fromkeys(rows.tolist()) if row not in self._in_pieces]
        pieces = [*map(self._cut, self.of_rows(np.array(new, np.int64)))]
        self._in_pieces.update(zip(new, itertools.count(len(self.texts))))
        texts, tokens = [self.texts[row] for row in new], [*itertools.chain(*pieces)]
        self._append(texts, tokens, [*map(len, pieces)])
        return np.array([self._in_pieces[row] for row in rows.tolist()], np.int64)

    def _cut(self, tokens: Tokens) -> list[int]:
        """The tokens of a text with the runs that are long enough in pieces."""
        numbers: list[int] = tokens.tolist()
        units, end = list[int](), 0
        for run in _RUN.finditer(self.unspaced[tokens].tobytes()):
            begin, stop = run.start(), run.end() - PIECE + 1
            pieces = (tuple(numbers[place : place + PIECE]) for place in range(begin, stop))
            units += [*numbers[end:begin], *map(self._of_pieces.__getitem__, pieces)]
            end = run.end()
        return units + numbers[end:]

    def _append(
        self, texts: Sequence[str], tokens: Sequence[int] | Tokens, n_tokens: Sequence[int]
    ) -> None:
        """Add rows."""
        lengths = np.array(n_tokens, np.int64)
        self.starts = np.concatenate((self.starts, len(self.tokens) + starts(lengths)))
        self.lengths = np.concatenate((self.lengths, lengths))
        self.tokens = np.concatenate((self.tokens, np.array(tokens, np.int32)))
        self.texts += texts

    def add(self, texts: Iterable[str]) -> Ints:
        """Tokenise the texts that are new, as one batch; where that is interrupted, forget all.

        Returns:
            The row of each text.
        """
        texts = [*texts]
        new = [*dict.fromkeys(itertools.filterfalse(self._rows.__contains__, texts))]
        if new and self.make_room():
            new = [*dict.fromkeys(texts)]
        numbers, lengths = array("i"), list[int]()
        try:
            # Text by text, as the tokens of all take many times the room of their numbers.
            for tokens in self.tokenizer.tokens(new) if new else ():
                numbers.extend(self._numbered.numbers(tokens))
                lengths.append(len(tokens))
            rows = range(len(self.texts), len(self.texts) + len(lengths))
            self._rows.update(zip(new, rows, strict=True))
            self._append(new, np.frombuffer(numbers, np.int32), lengths)
        except BaseException:  # half done, while a matcher may be used again
            self._forget()
            raise
        return np.fromiter(map(self._rows.__getitem__, texts), np.int64, len(texts))

    def grams(self, n: int) -> Grams:
        """A number for the n tokens that begin at each of `tokens`, made once (`hashed`)."""
        grams = self._grams.get(n, np.empty(0, np.uint64))
        if len(grams) < len(self.tokens):
            first = max(0, len(grams) - n + 1)  # what follows the last ones was not known
            new = hashed(codes_of_tokens(self.tokens[first:]), n)
            grams = self._grams[n] = np.concatenate((grams[:first], new))
        return grams

    def rows_of(self, read: Callable[[str], str], sources: Sequence[str], numbers: Ints) -> Ints:
        """The row of each text as it is read; every text is read once.

        Args:
            read: says how a text is read.
            sources: texts by number, which stay what they are.
            numbers: of the texts.
        """
        return self._read_by.setdefault(read, NumberOfText(self.add, read)).of(sources, numbers)

    def numbered(self, read: Callable[[str], str], *lists: Lists) -> list[Lists]:
        """Lists of a batch, of one known list of texts, by the rows of their texts as read."""
        self.make_room()
        # All at once: what is added may need the room of what was there before.
        numbers = [*map(attrgetter("numbers"), lists)]
        rows = self.rows_of(read, lists[0].known, np.concatenate(numbers))
        of_lists = np.split(rows, np.cumsum([*map(len, numbers)])[:-1])
        known = itertools.repeat(self.texts)
        return [*map(Lists, known, of_lists, map(attrgetter("n_texts"), lists))]

    def tokens_of(self, rows: Ints) -> Tokens:
        """The tokens of some rows, one behind the other."""
        tokens: Tokens = self.tokens.take(ranges(self.starts[rows], self.lengths[rows]))
        return tokens

    def of(self, texts: Iterable[str]) -> list[Tokens]:
        """The token numbers of each text, tokenised where it is new."""
        return self.of_rows(self.add(texts))

    def of_rows(self, rows: Ints) -> list[Tokens]:
        """The token numbers of each row."""
        tokens, begins = self.tokens, self.starts[rows]
        ends = begins + self.lengths[rows]
        return [*map(tokens.__getitem__, map(slice, begins.tolist(), ends.tolist()))]

    def strings(self, rows: Ints) -> list[str] | list[list[int]]:
        """The tokens of each row as a sequence for rapidfuzz, which compares strings fastest.

        Each token number becomes a code point; a vocabulary beyond Unicode's range stays numbers.
        """
        if len(self.words) > _MOST_CODES:
            return [tokens.tolist() for tokens in self.of_rows(rows)]
        codes = self.tokens_of(rows).astype("<u4").tobytes()
        letters = codes.decode("utf-32-le", "surrogatepass")
        ends = np.cumsum(self.lengths[rows]).tolist()
        return [letters[start:end] for start, end in itertools.pairwise([0, *ends])]

    def letters(self, tokens: Tokens) -> str:
        """The tokens as one text, with nothing between them."""
        return "".join(map(self.words.__getitem__, tokens.tolist()))


# Texts with more pairs of places than that are cut where they say the same: a bit each, 32 MB.
_MOST_PLACES = 1 << 28
_ANCHOR, _ANCHORS_APART = 16, 64


def common_runs(one: str | Sequence[int], other: str | Sequence[int]) -> list[tuple[int, int, int]]:
    """Where two texts laid side by side go on alike, by letters or by tokens.

    Returns:
        Of each two or more in a row of their longest common subsequence where they begin in the one
        and in the other, and how many they are.
    """
    from rapidfuzz.distance import LCSseq

    ends = len(one), len(other)
    anchors = _anchors(one, other) if len(one) * len(other) > _MOST_PLACES else []
    runs: list[tuple[int, int, int]] = []
    for (a, b), (a_end, b_end) in itertools.pairwise([(0, 0), *anchors, ends]):
        if (a_end - a) * (b_end - b) <= _MOST_PLACES:  # else they have little in common
            blocks = LCSseq.opcodes(one[a:a_end], other[b:b_end]).as_matching_blocks()
            runs += [(a + run.a, b + run.b, run.size) for run in blocks if run.size > 1]
    return runs


def _anchors(one: str | Sequence[int], other: str | Sequence[int]) -> list[tuple[int, int]]:
    """Places in order where two texts say what either says only once."""
    grams, places = [], []
    for text in (one, other):
        codes = codes_of(text) if isinstance(text, str) else np.array(text, np.uint64)
        every = hashed(codes, _ANCHOR)[: 1 - _ANCHOR]
        gram, place, times = np.unique(every, return_index=True, return_counts=True)
        grams.append(gram[times == 1])
        places.append(place[times == 1])
    _, *rows = np.intersect1d(grams[0], grams[1], assume_unique=True, return_indices=True)
    of_one, of_other = (place[row] for place, row in zip(places, rows))
    order = np.argsort(of_one)[::_ANCHORS_APART]
    # The longest row of those that rise in both: of each length the one with the least end.
    ends, tails = list[int](), list[Any]()
    for pair in zip(of_one[order].tolist(), of_other[order].tolist()):
        n = bisect_left(ends, pair[1])
        ends[n : n + 1], tails[n : n + 1] = [pair[1]], [(pair, tails[n - 1] if n else None)]
    anchors, tail = list[tuple[int, int]](), tails[-1] if tails else None
    while tail:
        anchor, tail = tail
        anchors.append(anchor)
    return anchors[::-1]


# What is worked on at once: enough that numpy's calls take no time beside the work, few enough for
# some ten megabytes.
_TOKENS_AT_ONCE = 1 << 18
_QUERIES_AT_ONCE = 1 << 12

_SLOT_BITS = 20
_OF_QUERY = np.uint64(0xD6E8FEB86659FD93)  # odd


class Pairs(NamedTuple):
    """The pairs of documents and gold texts of some queries in a row.

    They stand query after query, document after document, gold text after gold text.

    Attributes:
        shared: how much the two of each pair share.
        doc_sizes, gold_sizes: how much the document, and how much the gold text, of each pair has.
    """

    shared: Ints
    doc_sizes: Ints
    gold_sizes: Ints


def ngram_overlaps(docs: Lists, golds: Lists, n: int, corpus: TokenCorpus) -> Pairs:
    """How many n-grams each document shares with each gold text, repeats counted (clipped).

    A pair shares the sum over all n-grams of min(count in the document, count in the gold text).

    Args:
        docs: the documents of each query, by their rows in the corpus.
        golds: the gold texts of each query.
        n: 1 for tokens, 2 for pairs of neighbouring tokens, 4 for twice as many.
        corpus: where they stand.
    """
    n_tokens = docs.sums(corpus.lengths) + golds.sums(corpus.lengths)
    at_once = parts(n_tokens + _TOKENS_AT_ONCE // _QUERIES_AT_ONCE, _TOKENS_AT_ONCE)
    shared = [np.empty(0, np.int64)]
    for part in at_once:
        shared += [_shared(docs.part(part), golds.part(part), n, corpus)]
    doc, gold = of_pairs(docs.n_texts, golds.n_texts)
    sizes = np.maximum(corpus.lengths - n + 1, 0)  # of all that is known
    doc_sizes, gold_sizes = sizes[docs.numbers[doc]], sizes[golds.numbers[gold]]
    return Pairs(np.concatenate(shared), doc_sizes, gold_sizes)


def _shared(docs: Lists, golds: Lists, n: int, corpus: TokenCorpus) -> Ints:
    """What each pair of some queries shares."""
    doc_ends, doc_grams = _grams(docs, n, corpus)
    gold_ends, gold_grams = _grams(golds, n, corpus)
    n_pairs, n_golds, v = int((docs.n_texts * golds.n_texts).sum()), len(gold_ends), len(gold_grams)
    if not v:
        return np.zeros(n_pairs, np.int64)
    gram_of_gold, place, gram = _met(gold_grams, doc_grams)
    doc = np.searchsorted(doc_ends, place, side="right")
    gold = np.repeat(np.arange(n_golds), np.diff(gold_ends, prepend=0))
    # Each distinct n-gram of a document meets every gold text of its query that has it.
    of_docs, _, n_in_doc = counted(doc * v + gram)
    doc, gram = np.divmod(of_docs, v)
    is_met = np.zeros(v, bool)
    is_met[gram] = True
    is_met = is_met[gram_of_gold]
    of_golds, _, n_in_gold = counted(gram_of_gold[is_met] * n_golds + gold[is_met])
    gram_of_gold, gold = np.divmod(of_golds, n_golds)
    n_having = np.bincount(gram_of_gold, minlength=v)
    first, n_meetings = starts(n_having)[gram], n_having[gram]
    pair_of_first = starts(golds.n_texts[docs.of_text]) - golds.starts[docs.of_text]
    shared = np.zeros(n_pairs)
    for part in parts(n_meetings):
        entry = ranges(first[part], n_meetings[part])
        hit = np.repeat(np.arange(part.start, part.stop), n_meetings[part])
        pair = pair_of_first[doc[hit]] + gold[entry]
        # As weights whole numbers become floats, which are exact below 2**53.
        shared += np.bincount(pair, np.minimum(n_in_doc[hit], n_in_gold[entry]), n_pairs)
    return shared.astype(np.int64)


def _grams(texts: Lists, n: int, corpus: TokenCorpus) -> tuple[Ints, Grams]:
    """The n-grams of texts, one behind the other, and where those of each text end.

    Those of different queries are different ones.
    """
    sizes = np.maximum(corpus.lengths[texts.numbers] - n + 1, 0)
    begins, every = corpus.starts[texts.numbers], corpus.grams(n)
    # A piece for each text is a fraction of the time of an index for each n-gram.
    pieces = map(slice, begins.tolist(), (begins + sizes).tolist())
    grams = np.concatenate([every[:0], *map(every.__getitem__, pieces)])
    grams += np.repeat(texts.of_text.astype(np.uint64) * _OF_QUERY, sizes)
    return np.cumsum(sizes), grams


def _met(gold_grams: Grams, doc_grams: Grams) -> tuple[Ints, Ints, Ints]:
    """The n-grams of documents that gold has.

    Returns:
        For each n-gram of gold the place of one that is the same, which is its number; the places
        of those of documents that gold has, and their numbers.
    """
    # Nearly all n-grams of documents are in no gold of their query: a table of slots says so. Of
    # several n-grams of gold in a slot the last has it; the few others are looked up in order.
    shift = np.uint64(64 - _SLOT_BITS)
    slots = (gold_grams >> shift).view(np.int64)
    is_taken, table = np.zeros(1 << _SLOT_BITS, bool), np.zeros(1 << _SLOT_BITS, np.int32)
    is_taken[slots] = True
    table[slots] = np.arange(len(slots))
    number = table.take(slots).astype(np.int64)
    beside = np.flatnonzero(gold_grams[number] != gold_grams)
    others, first, other = np.unique(gold_grams[beside], return_index=True, return_inverse=True)
    number[beside] = beside[first][other]
    doc_slots = (doc_grams >> shift).view(np.int64)
    place = is_taken.take(doc_slots).nonzero()[0]  # `take` is twice as fast as an index
    met = table.take(doc_slots[place]).astype(np.int64)
    if others.size:
        unmet = np.flatnonzero(gold_grams[met] != doc_grams[place])
        met[unmet] = beside[first][np.searchsorted(others[:-1], doc_grams[place[unmet]])]
    is_met = gold_grams[met] == doc_grams[place]
    return number, place[is_met], met[is_met]


def of_pairs(n_docs: Ints, n_golds: Ints) -> tuple[Ints, Ints]:
    """For each pair of a document and a gold text of its query, in the order of `Pairs`, which.

    Args:
        n_docs: how many documents each query has.
        n_golds: how many gold texts.
    """
    n_pairs = np.repeat(n_golds, n_docs)  # of each document
    return (
        np.repeat(np.arange(len(n_pairs)), n_pairs),
        ranges(np.repeat(starts(n_golds), n_docs), n_pairs),
    )


def pairs_at(places: Ints, n_docs: Ints, n_golds: Ints) -> tuple[Ints, Ints]:
    """The same of some pairs, by their places in that order; less work where these are few."""
    n_pairs = n_docs * n_golds
    query = np.searchsorted(np.cumsum(n_pairs), places, side="right")
    doc, gold = np.divmod(places - starts(n_pairs)[query], n_golds[query])
    return starts(n_docs)[query] + doc, starts(n_golds)[query] + gold
