"""Copies: documents of a corpus that say the same in the same words.

Shown once, judged once: a grade of one is a grade of all of them, and in a release they are one
gold item with alternatives. So nothing is a copy that somebody might grade otherwise. Texts made
from one template differ in a number or a name, and "can" and "cannot" in a word; so no word may
differ, be added or be missing within. Only what stands before and after may, as where a chunk was
cut a little earlier: the words of the shorter text stand as one run in the longer one and are at
least `SHARE` of them. White space, punctuation, case and Unicode form are no difference.
Whoever is shown two of a kind loses seconds; two that are wrongly one spoil a gold set.
"""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import count
from pathlib import Path

import numpy as np

from kragx.data import Doc, tokenizer
from kragx.metrics import Ints
from kragx.workshop.pairs.kept import keep

SHARE = 0.95
"""So much of the longer text's words the shorter one has."""

_RUN = 8
_COMMON = 50
"""A run of words in the midst of more texts than that is a template's, and says nothing."""

_SEP = "\x1f"
_FACTORS = np.random.default_rng(0).integers(1, 1 << 62, _RUN) | 1


class Copies:
    """Which documents of a corpus are copies of which; the longest of them stands for all.

    Args:
        docs: the corpus, by id; a text without a word is a copy of none.
        index: where they are kept (`Workshop.index`), so that they are found once.
    """

    def __init__(self, docs: Mapping[str, Doc], index: Path | None = None) -> None:
        file = None if index is None else index / "copies.json"
        groups = _read(file)
        if groups is None:
            groups = list(_groups(docs))
            if file is not None:
                text = json.dumps(groups)
                keep(file, lambda part: part.write_text(text, encoding="utf-8"))
        self._members = {members[0]: tuple(members) for members in groups}
        self._first = {member: first for first, all_ in self._members.items() for member in all_}

    def first(self, doc_id: str) -> str:
        """The document that stands for this one: itself where it has no copy."""
        return self._first.get(doc_id, doc_id)

    def all(self, doc_id: str) -> tuple[str, ...]:
        """A document and all its copies, the one that stands for them first."""
        first = self.first(doc_id)
        return self._members.get(first, (first,))


def _read(file: Path | None) -> list[list[str]] | None:
    """The groups that were kept; None where there are none."""
    try:
        groups = None if file is None else json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    is_whole = isinstance(groups, list) and all(
        isinstance(group, list) and group for group in groups
    )
    return groups if is_whole else None


def _groups(docs: Mapping[str, Doc]) -> Iterator[list[str]]:
    """Yield the ids of those that are copies, that which stands for them first."""
    texts = tokenizer("unicode").tokens(doc.text or "" for doc in docs.values())
    same: defaultdict[str, list[str]] = defaultdict(list)
    lengths: dict[str, int] = {}
    middles = _Middles()
    for doc_id, words in zip(docs, texts):
        if text := _SEP.join(words):
            if text not in lengths:
                lengths[text] = len(words)
                middles.add(text, words)
            same[text].append(doc_id)
    for longest, shorter in _near(lengths, middles.alike()):
        members = [doc_id for text in (longest, *shorter) for doc_id in same[text]]
        if len(members) > 1:
            yield members


def _near(
    lengths: Mapping[str, int], alike: Mapping[str, list[str]]
) -> Iterator[tuple[str, list[str]]]:
    """Each text that stands for itself, with the shorter ones that it holds; longest first."""
    taken: set[str] = set()
    for own in sorted(lengths, key=lambda text: -lengths[text]):  # stable: the corpus's order
        if own in taken:
            continue
        length, within = lengths[own], f"{_SEP}{own}{_SEP}"
        shorter = [
            other
            for other in alike.get(own, ())
            if other != own
            and other not in taken
            and length >= lengths[other] >= SHARE * length
            and f"{_SEP}{other}{_SEP}" in within
        ]
        taken.update([own, *shorter])
        yield own, shorter


class _Middles:
    """The words in the midst of texts.

    The middle of the longer text is in every text that is a copy of it, and near its middle: so
    each text is found by the runs of words there. They are compared as numbers, by a hash: almost
    all are in one text alone.
    """

    def __init__(self) -> None:
        self._numbers: defaultdict[str, int] = defaultdict(count().__next__)
        self._texts: list[str] = []
        self._near: list[Ints] = []
        self._before: list[int] = []  # so many words of `_near` stand before the middle

    def add(self, text: str, words: list[str]) -> None:
        """Note a text that is new; a short one has no copies but those that are equal to it."""
        if len(words) <= _RUN:
            return
        middle, reach = (len(words) - _RUN) // 2, int(len(words) * (1 - SHARE)) + 1
        first = max(0, middle - reach)
        near = map(self._numbers.__getitem__, words[first : middle + reach + _RUN])
        self._texts.append(text)
        self._near.append(np.fromiter(near, np.int64))
        self._before.append(middle - first)

    def alike(self) -> dict[str, list[str]]:
        """By text those that may be copies of it, itself among them; none where there are none."""
        if not self._texts:
            return {}
        sizes = np.array([len(near) for near in self._near])
        near, texts = np.concatenate(self._near), np.repeat(np.arange(len(sizes)), sizes)
        runs = np.zeros(len(near) - _RUN + 1, np.int64)
        for place, factor in enumerate(_FACTORS):
            runs += near[place : place + len(runs)] * factor  # modulo 2^64
        middles = runs[np.cumsum(sizes) - sizes + self._before]
        wanted, of_text = np.unique(middles, return_inverse=True)
        places = np.searchsorted(wanted, runs).clip(max=len(wanted) - 1)
        within = texts[: len(runs)] == texts[_RUN - 1 :]  # not over the end of a text
        hits = np.flatnonzero(within & (wanted[places] == runs))
        having: defaultdict[int, dict[str, None]] = defaultdict(dict)
        for place, text in zip(places[hits].tolist(), texts[hits].tolist()):
            having[place][self._texts[text]] = None
        return {
            text: list(having[place])
            for text, place in zip(self._texts, of_text.tolist())
            if 1 < len(having[place]) <= _COMMON
        }
