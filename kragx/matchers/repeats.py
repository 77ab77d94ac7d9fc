"""Documents that stood earlier in their list: same id, else same normalised text."""

from collections.abc import Iterable, Sequence
from itertools import chain, islice
from threading import local

import numpy as np

from kragx.data import Doc
from kragx.data.documents import normal_form
from kragx.data.known import KnownTexts, OfTexts, known_texts
from kragx.data.lists import Lists
from kragx.data.stretches import distinct
from kragx.matchers.shares import lengths
from kragx.metrics import Bools, Ints


def repeats(docs: Iterable[Doc]) -> list[bool]:
    """Whether each document stood earlier in the list."""
    docs = list(docs)
    ids = {doc.id for doc in docs}
    if len(ids) == len(docs) and None not in ids:  # as a rule
        return [False] * len(docs)
    return _again(doc.identity for doc in docs)


def _again(identities: Iterable[object]) -> list[bool]:
    """Whether each of them came before; None is nothing that could."""
    seen: set[object] = set()
    flags: list[bool] = []
    for identity in identities:
        flags.append(identity is not None and identity in seen)
        seen.add(identity)
    return flags


class Repeats:
    """The same of many lists at once, whose texts are numbers."""

    def __init__(self) -> None:
        self._normal_forms = KnownTexts()
        self._of_text = OfTexts(self._numbers)

    def _numbers(self, texts: list[str]) -> Ints:
        return np.array(self._normal_forms.numbers(map(normal_form, texts)), np.int64)

    def of_documents(self, lists: Sequence[Sequence[Doc]]) -> Iterable[bool]:
        """Whether each document of each list stood earlier in it, one list after the other."""
        docs = [*chain.from_iterable(lists)]
        texts, ids = [doc.text for doc in docs], [doc.id for doc in docs]
        if None in texts:
            return chain.from_iterable(map(repeats, lists))
        known = known_texts()
        known.make_room()
        numbers = np.array(known.numbers(texts), np.int64)  # type: ignore[arg-type]  # none is None
        has_ids = {*ids} != {None}
        flags = self.of(Lists(known.texts, numbers, lengths(lists)), ids if has_ids else None)
        return flags.tolist()  # type: ignore[no-any-return]

    def of(self, docs: Lists, ids: Sequence[str | None] | None) -> Bools:
        """Whether each document of each list stood earlier in it, one list after the other.

        Args:
            docs: their texts.
            ids: of all of them; None where none has one.
        """
        if self._normal_forms.make_room():
            self._of_text.forget()
        numbers = self._of_text.of(docs.known, docs.numbers)
        flags = np.zeros(len(numbers), bool)
        ends = np.cumsum(docs.n_texts).tolist()
        for query in self._with_repeats(docs, numbers, ids):
            own = slice(ends[query] - int(docs.n_texts[query]), ends[query])
            identities: Sequence[object] = numbers[own].tolist()
            if ids is not None:
                named = zip(ids[own], identities)
                identities = [of_text if doc_id is None else doc_id for doc_id, of_text in named]
            flags[own] = _again(identities)
        return flags

    def _with_repeats(
        self, docs: Lists, numbers: Ints, ids: Sequence[str | None] | None
    ) -> Iterable[int]:
        """The lists in which something may stand twice."""
        if ids is None:
            n = int(numbers.max(initial=0)) + 1
            in_order = np.sort(docs.of_text * n + numbers)
            return distinct(in_order[1:][in_order[1:] == in_order[:-1]] // n).tolist()  # type: ignore[no-any-return]
        stream = iter(ids)
        own = ([*islice(stream, n)] for n in docs.n_texts.tolist())
        return [
            query
            for query, of_list in enumerate(own)
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
