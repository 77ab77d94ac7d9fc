"""Which of many questions are the same: exact and near duplicates folded, nothing else.

Two questions are folded where what tells them from others is equal (`kragx.workshop.logs.wording`):
their words and signs in one order, but for case, plain punctuation, Korean spacing and what is said
for politeness. A misspelt word is another word. What stands around a question (its history, fields
that rules read) and what was masked in it is part of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from kragx.metrics.match_table import Ints
from kragx.workshop.logs.wording import exact, gist, joined

Keys = NDArray[np.uint64]

_AROUND, _VALUES, _RANK = map(
    np.uint64, (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0xFF51AFD7ED558CCD)
)


def key_of(text: str) -> int:
    """A number of 64 bits for a text, the same on every machine."""
    return int.from_bytes(blake2b(text.encode("utf-8", "replace"), digest_size=8).digest())


@dataclass(frozen=True, eq=False)
class Folded:
    """Questions and what was folded into each.

    Attributes:
        groups: (f) the question that each wording is folded into.
        keys: (g) tells each question from others, the same in every log and order: nothing that is
            masked goes into it. Questions of one log that differ in that alone are counted through.
        asks: (g) how often each was asked.
        wordings: (g) the text that stands for it, the most frequent one.
        n_exact: how many questions there would be without near duplicates.
    """

    groups: Ints
    keys: Keys
    asks: Ints
    wordings: Ints
    n_exact: int


@dataclass(frozen=True, eq=False)
class Wordings:
    """Wordings of questions, by what is masked and by what is not.

    Attributes:
        of_text: (f) the text of each wording.
        around: (f) a number for what stands around it; 0 for nothing.
        around_masked: (f) the same of what is masked, for ids.
        asks: (f) how often each was asked.
        values: (t) a number for what is masked in each text; 0 for nothing.
    """

    of_text: Ints
    around: Keys
    around_masked: Keys
    asks: Ints
    values: Keys


def fold(texts: Sequence[str], wordings: Wordings) -> Folded:
    """Fold wordings of questions.

    Args:
        texts: (t) texts, the masks of each counted from 1.
        wordings: the wordings of these.
    """
    of_text, asks = wordings.of_text, wordings.asks
    beside = wordings.around * _AROUND ^ wordings.values[of_text] * _VALUES
    gists = _keys([joined(gist(text)) for text in texts])[of_text]
    distinct, firsts, groups = np.unique(gists ^ beside, return_index=True, return_inverse=True)
    by_text = np.empty(len(texts), np.int64)
    by_text[sorted(range(len(texts)), key=texts.__getitem__)] = np.arange(len(texts))
    order = np.lexsort((by_text[of_text], -asks, groups))
    most = order[np.unique(groups[order], return_index=True)[1]]
    return Folded(
        groups,
        _apart((gists ^ wordings.around_masked * _AROUND)[firsts], distinct),
        np.bincount(groups, asks, len(distinct)).astype(np.int64),
        of_text[most],
        len(np.unique(_keys([*map(exact, texts)])[of_text] ^ beside)),
    )


def _keys(texts: Sequence[str]) -> Keys:
    return np.fromiter(map(key_of, texts), np.uint64, len(texts))


def _apart(keys: Keys, distinct: Keys) -> Keys:
    """Keys, those that are equal counted through.

    In an order that tells nothing of what is masked, and does not go by places in the log.
    """
    order = np.argsort(keys, kind="stable")
    starts = np.flatnonzero(np.diff(keys[order], prepend=~keys[order[:1]]))
    for rows in np.split(order, starts[1:]):
        if len(rows) > 1:
            salt = np.bitwise_xor.reduce(distinct[rows])
            ranks = np.argsort([key_of(f"{salt} {key}") for key in distinct[rows].tolist()])
            keys[rows[ranks]] ^= np.arange(len(rows), dtype=np.uint64) * _RANK
    return keys
