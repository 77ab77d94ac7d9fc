"""Which of many questions are the same: exact and near duplicates folded, nothing else.

Two questions are folded where the words that tell them from others are equal, in order and spacing
apart (`kragx.workshop.logs.wording`); or where one has a word that few questions have in place of
one of the same letters but for one, which many have: a misspelling. Both hold against one wording
that stays the representative, never along a chain. What stands around a question (its history,
fields that rules read) is part of it.
"""

from __future__ import annotations

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from kragx.metrics.match_table import Ints
from kragx.workshop.logs.wording import exact, gist, is_misspelling, joined

Keys = NDArray[np.uint64]

_RARE, _KNOWN, _TIMES = 2, 5, 10
"""A word is misspelt that so few questions have, as one that so many do, and so many times more."""

_MIX = np.uint64(0x9E3779B97F4A7C15)


def key_of(text: str) -> int:
    """A number of 64 bits for a text, the same on every machine."""
    return int.from_bytes(blake2b(text.encode("utf-8", "replace"), digest_size=8).digest())


@dataclass(frozen=True, eq=False)
class Folded:
    """Questions and what was folded into each.

    Attributes:
        groups: (f) the question that each wording is folded into.
        keys: (g) tells each question from others, the same in every log.
        asks: (g) how often each was asked.
        wordings: (g) the text that stands for it, the most frequent one.
        n_exact: how many questions there would be without near duplicates.
    """

    groups: Ints
    keys: Keys
    asks: Ints
    wordings: Ints
    n_exact: int


def fold(texts: Sequence[str], of_text: Ints, around: Keys, asks: Ints) -> Folded:
    """Fold wordings of questions.

    Args:
        texts: (t) distinct texts.
        of_text: (f) the text of each wording.
        around: (f) a number for what stands around it; 0 for nothing.
        asks: (f) how often each was asked.
    """
    gists, as_asked = _gists(texts)
    mixed = around * _MIX
    keys = _keys([*map(joined, gists)])[of_text] ^ mixed
    distinct, groups = np.unique(keys, return_inverse=True)
    of_groups = np.bincount(groups, asks, len(distinct)).astype(np.int64)
    target = np.arange(len(distinct))
    meant = _corrected(gists, _misspellings(Counter(w for words in gists for w in {*words})))
    misspelt: dict[int, int] = {}
    for form in np.flatnonzero(np.isin(of_text, np.array([*meant], np.int64))).tolist():
        key = np.uint64(meant[int(of_text[form])]) ^ mixed[form]
        place = int(np.searchsorted(distinct, key))
        if place < len(distinct) and distinct[place] == key and place != groups[form]:
            misspelt[int(groups[form])] = place
    stay: set[int] = set()
    for group in sorted(misspelt, key=lambda group: (-of_groups[group], group)):
        place = misspelt[group]
        if group not in stay and target[place] == place:  # never along a chain
            target[group] = place
            stay.add(place)
    left, groups = np.unique(target[groups], return_inverse=True)
    order = np.lexsort((np.arange(len(asks)), -asks, groups))
    firsts = order[np.unique(groups[order], return_index=True)[1]]
    return Folded(
        groups,
        distinct[left],
        np.bincount(groups, asks, len(left)).astype(np.int64),
        of_text[firsts],
        len(np.unique(as_asked[of_text] ^ mixed)),
    )


def _keys(texts: Sequence[str]) -> Keys:
    return np.fromiter(map(key_of, texts), np.uint64, len(texts))


def _gists(texts: Sequence[str]) -> tuple[list[tuple[str, ...]], Keys]:
    """The words of each text that tell it from others, and a key of it as it was written."""
    known: set[str] = set()
    as_asked = np.empty(len(texts), np.uint64)
    for number, text in enumerate(texts):
        written = exact(text)
        as_asked[number] = key_of(written)
        known.update(written.split())
    interned: dict[str, str] = {}
    gists = [tuple(interned.setdefault(word, word) for word in gist(text, known)) for text in texts]
    return gists, as_asked


def _corrected(gists: Sequence[tuple[str, ...]], meant: Mapping[str, str]) -> dict[int, int]:
    """By text the key of what it says with its misspelt word as it was meant."""
    return {
        number: key_of(joined(meant.get(word, word) for word in words))
        for number, words in enumerate(gists)
        if meant and sum(word in meant for word in words) == 1
    }


def _misspellings(counts: Counter[str]) -> dict[str, str]:
    """Words that few questions have, and what each was meant to be."""
    near: dict[str, list[str]] = defaultdict(list)
    for word, n in counts.items():
        if n >= _KNOWN:
            for key in _shorter(word):
                near[key].append(word)
    meant: dict[str, str] = {}
    for word, n in counts.items():
        if n <= _RARE and len(word) > 2:
            candidates = {known for key in _shorter(word) for known in near.get(key, ())}
            likely = [
                known
                for known in candidates
                if counts[known] >= _TIMES * n and is_misspelling(word, known)
            ]
            if likely:
                meant[word] = max(likely, key=lambda known: (counts[known], known))
    return meant


def _shorter(word: str) -> Iterator[str]:
    """A word by its letters, and without one of them each: close words share one of these."""
    letters = unicodedata.normalize("NFD", word)
    yield letters
    if letters.isalpha() or not word.isascii():
        yield from {letters[:n] + letters[n + 1 :] for n in range(len(letters))}
