"""Distinct texts by number: what is made of a text is made once, and found by its number.

A retriever's answers hold the same chunks again and again. A text is looked at where it comes in;
from there on it is a number, and whatever belongs to it stands in an array.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from threading import local

import numpy as np

from kragx.data.lists import Ints, distinct

_MOST_CHARACTERS = 1 << 24
_NOTHING = -1


class KnownTexts:
    """Gives each distinct text a number, from 0.

    Attributes:
        texts: by number; another list once they were forgotten.
        n_characters: of them all.
    """

    def __init__(self) -> None:
        self._forget()

    def _forget(self) -> None:
        self.texts: list[str] = []
        self._numbers: defaultdict[str, int] = defaultdict()
        # Looking a new text up makes it the next number.
        self._numbers.default_factory = self._numbers.__len__
        self._number_of = self._numbers.__getitem__
        self.n_characters: int = 0

    def make_room(self) -> bool:
        """Forget all if they have more than some ten million characters; between two batches."""
        is_full = self.n_characters > _MOST_CHARACTERS
        if is_full:
            self._forget()
        return is_full

    def numbers(self, texts: Iterable[str]) -> list[int]:
        """The number of each text."""
        numbers = [*map(self._number_of, texts)]
        if n_new := len(self._numbers) - len(self.texts):
            new = [*islice(reversed(self._numbers), n_new)][::-1]
            self.n_characters += sum(map(len, new))
            self.texts += new
        return numbers


class _OfThread(local):
    """What a thread knows: numbers of one batch are those of one time."""

    def __init__(self) -> None:
        self.texts = KnownTexts()


_HERE = _OfThread()


def known_texts() -> KnownTexts:
    """The texts that were read in this thread, in whatever files and parts they came."""
    return _HERE.texts


class OfTexts:
    """A number that is made of each text, once, until the texts are forgotten.

    Args:
        make: says the numbers of distinct texts, none of them negative.
    """

    def __init__(self, make: Callable[[list[str]], Ints]) -> None:
        self._make = make
        self.forget()

    def forget(self) -> None:
        """Make all of them anew."""
        self._known: Sequence[str] = ()
        self._values = np.empty(0, np.int64)

    def of(self, texts: Sequence[str], numbers: Ints) -> Ints:
        """That of each text.

        Args:
            texts: `KnownTexts.texts`.
            numbers: which of them.
        """
        if texts is not self._known:
            self.forget()
            self._known = texts
        if len(self._values) < len(texts):
            room = np.full(2 * len(texts) - len(self._values), _NOTHING, np.int64)
            self._values = np.concatenate((self._values, room))
        values = self._values[numbers]
        if (values < 0).any():
            new = distinct(numbers[values < 0])
            self._values[new] = self._make([*map(texts.__getitem__, new.tolist())])
            values = self._values[numbers]
        return values


class Forms:
    """Texts as somebody reads them, each read once and known by number.

    Args:
        read: says how a text is read.
    """

    def __init__(self, read: Callable[[str], str]) -> None:
        self._read = read
        self._forms = KnownTexts()
        self._of_text = OfTexts(self._numbers)

    def _numbers(self, texts: list[str]) -> Ints:
        return np.array(self._forms.numbers(map(self._read, texts)), np.int64)

    @property
    def texts(self) -> list[str]:
        """By number, as they are read."""
        return self._forms.texts

    def make_room(self) -> None:
        """Forget all if there are many; between two batches."""
        if self._forms.make_room():
            self._of_text.forget()

    def of(self, texts: Sequence[str], numbers: Ints) -> Ints:
        """The number of each text as it is read; see `OfTexts.of`."""
        return self._of_text.of(texts, numbers)
