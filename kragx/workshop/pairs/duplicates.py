"""Copies: documents of a corpus that say the same in the same words.

Shown once, judged once: a grade of one is a grade of all of them, and in a release they are one
gold item with alternatives. So nothing is a copy that somebody might grade otherwise. Texts made
from one template differ in a number or a name, and "can" and "cannot" in a word; so no word may
differ, be added or be missing within. Only what stands before and after may, as where a chunk was
cut a little earlier: the words of the shorter text stand as one run in the longer one and are at
least `SHARE` of them. White space, punctuation, case and Unicode form are no difference.
Whoever is shown two of a kind loses seconds; two that are wrongly one spoil a gold set.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from kragx.data import Doc, tokenizer

SHARE = 0.95
"""So much of the longer text's words the shorter one has."""

_RUN = 8
_COMMON = 50
"""A run of words in the midst of more texts than that is a template's, and says nothing."""

_SEP = "\x1f"


class Copies:
    """Which documents of a corpus are copies of which; the longest of them stands for all.

    Args:
        docs: the corpus, by id; a text without a word is a copy of none.
    """

    def __init__(self, docs: Mapping[str, Doc]) -> None:
        texts = tokenizer("unicode").tokens(doc.text or "" for doc in docs.values())
        same: defaultdict[str, list[str]] = defaultdict(list)
        words: dict[str, Sequence[str]] = {}
        for doc_id, tokens in zip(docs, texts):
            own = _SEP.join(tokens)
            if own:
                same[own].append(doc_id)
                words[own] = tokens
        self._members: dict[str, tuple[str, ...]] = {}
        for longest, shorter in _near(words):
            members = [doc_id for own in (longest, *shorter) for doc_id in same[own]]
            if len(members) > 1:
                self._members[members[0]] = tuple(members)
        self._first = {own: first for first, all_ in self._members.items() for own in all_}

    def first(self, doc_id: str) -> str:
        """The document that stands for this one: itself where it has no copy."""
        return self._first.get(doc_id, doc_id)

    def all(self, doc_id: str) -> tuple[str, ...]:
        """A document and all its copies, the one that stands for them first."""
        first = self.first(doc_id)
        return self._members.get(first, (first,))


def _near(words: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, list[str]]]:
    """Each text that stands for itself, with the shorter ones that it holds; longest first.

    The middle of the longer text is in every text that is a copy of it, and near its middle: so
    each text is found by the runs of words there.
    """
    at: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
    for own, tokens in words.items():
        if len(tokens) > _RUN:
            middle, reach = (len(tokens) - _RUN) // 2, int(len(tokens) * (1 - SHARE)) + 1
            for start in range(max(0, middle - reach), middle + reach + 1):
                at[tuple(tokens[start : start + _RUN])].append(own)
    taken: set[str] = set()
    for own in sorted(words, key=lambda text: -len(words[text])):  # stable: the corpus's order
        if own in taken:
            continue
        tokens = words[own]
        middle = (len(tokens) - _RUN) // 2
        found = at.get(tuple(tokens[middle : middle + _RUN]), ()) if middle >= 0 else ()
        alike = list(dict.fromkeys(found))
        least, within = SHARE * len(tokens), f"{_SEP}{own}{_SEP}"
        shorter = [
            other
            for other in (alike if len(alike) <= _COMMON else ())
            if other != own
            and other not in taken
            and len(tokens) >= len(words[other]) >= least
            and f"{_SEP}{other}{_SEP}" in within
        ]
        taken.update([own, *shorter])
        yield own, shorter
