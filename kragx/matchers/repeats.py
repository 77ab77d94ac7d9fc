"""Documents that stood earlier in their list: same id, else same normalised text."""

from collections.abc import Iterable, Sequence
from itertools import islice
from threading import local

import numpy as np

from kragx.data.batch import NO_TEXT, Entries
from kragx.data.documents import normal_form
from kragx.data.known import Forms
from kragx.data.lists import Lists
from kragx.data.stretches import distinct
from kragx.metrics import Bools, Ints


def _again(identities: Iterable[object]) -> list[bool]:
    """Whether each of them came before; None is nothing that could."""
    earlier: set[object] = set()
    flags: list[bool] = []
    for identity in identities:
        flags.append(identity is not None and identity in earlier)
        earlier.add(identity)
    return flags


class Repeats:
    """Says it of many lists at once, whose texts are numbers."""

    def __init__(self) -> None:
        self._normal_forms = Forms(normal_form)

    def of(self, docs: Entries) -> Bools:
        """Whether each document of each list stood earlier in it, one list after the other."""
        self._normal_forms.make_room()
        if docs.are_distinct:
            return np.zeros(len(docs.texts.numbers), bool)
        texts, ids = docs.texts, docs.ids
        numbers, has_text = np.full(len(texts.numbers), NO_TEXT, np.int64), texts.numbers >= 0
        numbers[has_text] = self._normal_forms.of(texts.known, texts.numbers[has_text])
        flags = np.zeros(len(numbers), bool)
        ends = np.cumsum(texts.n_texts).tolist()
        for query in self._with_repeats(texts, numbers, ids):
            of_list = slice(ends[query] - int(texts.n_texts[query]), ends[query])
            identities: Sequence[object] = [
                None if number < 0 else number for number in numbers[of_list].tolist()
            ]
            if ids is not None:
                named = zip(ids[of_list], identities)
                identities = [of_text if doc_id is None else doc_id for doc_id, of_text in named]
            flags[of_list] = _again(identities)
        return flags

    def _with_repeats(
        self, docs: Lists, numbers: Ints, ids: Sequence[str | None] | None
    ) -> Iterable[int]:
        """The lists in which something may stand twice."""
        if ids is None:
            n = int(numbers.max(initial=0)) + 1
            in_order = np.sort((docs.of_text * n + numbers)[numbers >= 0])
            return distinct(in_order[1:][in_order[1:] == in_order[:-1]] // n).tolist()  # type: ignore[no-any-return]
        stream = iter(ids)
        lists = ([*islice(stream, n)] for n in docs.n_texts.tolist())
        return [
            query
            for query, of_list in enumerate(lists)
            if None in of_list or len({*of_list}) < len(of_list)
        ]


class _OfThread(local):
    """What a thread knows of the texts it has read, from one part of an evaluation to the next."""

    def __init__(self) -> None:
        self.repeats = Repeats()


_HERE = _OfThread()


def known_repeats() -> Repeats:
    """The one of this thread."""
    return _HERE.repeats
