"""Texts by number, and lists of them: what is made of a text is made once, found by its number.

A retriever's answers hold the same chunks again and again. A text is looked at where it comes in;
from there on it is a number, and whatever belongs to it stands in an array.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import count, islice
from threading import local
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kragx.data.text import not_a_text

Ints = NDArray[np.int64]
"""An array of whole numbers."""
Floats = NDArray[np.float64]
"""An array of floats."""
Bools = NDArray[np.bool_]
"""An array of yes and no."""

_MOST_AT_ONCE = 1 << 20
_MOST_CHARACTERS = 1 << 24
_NOTHING = -1


def starts(lengths: Ints) -> Ints:
    """Where stretches of these lengths begin, one behind the other."""
    return np.cumsum(lengths) - lengths


def ranges(firsts: Ints | int, lengths: Ints) -> Ints:
    """The numbers of all stretches from `firsts` on, so many of each."""
    return np.repeat(firsts - starts(lengths), lengths) + np.arange(lengths.sum())


def distinct(values: Ints) -> Ints:
    """The distinct numbers, in order.

    `numpy.unique` hashes whole numbers from numpy 2.3 on: a hundred times the time of sorting them.
    """
    ordered = np.sort(values)
    is_first = np.ones(len(ordered), bool)
    np.not_equal(ordered[1:], ordered[:-1], out=is_first[1:])
    return ordered[is_first]


def counted(values: Ints) -> tuple[Ints, Ints, Ints]:
    """The distinct numbers, in order, where each stands first, and how often it stands."""
    # Stable, so that of equal numbers the first stays first.
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    is_first = np.ones(len(ordered), bool)
    np.not_equal(ordered[1:], ordered[:-1], out=is_first[1:])
    begins = is_first.nonzero()[0]
    return ordered[begins], order[begins], np.diff(begins, append=len(ordered))


def parts(lengths: Ints, limit: int = _MOST_AT_ONCE) -> Iterator[slice]:
    """Stretches that have at most so many elements in all, or one."""
    ends = np.cumsum(lengths)
    start = 0
    while start < len(lengths):
        before = ends[start - 1] if start else 0
        # One at least, however long: a stretch of nothing would come again and again.
        stop = max(start + 1, int(np.searchsorted(ends, before + limit, side="right")))
        yield slice(start, stop)
        start = stop


# -- texts by number -------------------------------------------------------------------------------


class InternedTexts:
    """Gives each distinct text a number, from 0.

    Attributes:
        texts: by number; another list once they were forgotten.
        n_characters: of them all.
    """

    def __init__(self) -> None:
        self._forget()

    def _forget(self) -> None:
        self.texts: list[str] = []
        # Looking a new text up makes it the next number.
        self._numbers = defaultdict[str | None, int](count().__next__, {None: _NOTHING})
        self._number_of = self._numbers.__getitem__
        self.n_characters: int = 0

    def make_room(self) -> bool:
        """Forget all if they have more than some ten million characters; between two batches."""
        is_full = self.n_characters > _MOST_CHARACTERS
        if is_full:
            self._forget()
        return is_full

    def numbers(self, texts: Iterable[str | None]) -> list[int]:
        """The number of each text; -1 for none.

        Raises:
            DataError: one is no text; then none of them is known.
        """
        numbers = [*map(self._number_of, texts)]
        if n_new := len(self._numbers) - 1 - len(self.texts):
            new: list[Any] = [*islice(reversed(self._numbers), n_new)][::-1]
            for value in new if {*map(type, new)} != {str} else ():
                if not isinstance(value, str):
                    for text in new:
                        del self._numbers[text]
                    self._numbers.default_factory = count(len(self.texts)).__next__
                    raise not_a_text(value)
            self.n_characters += sum(map(len, new))
            self.texts += new
        return numbers


class _OfThread(local):
    """What a thread knows: numbers of one batch are those of one time."""

    def __init__(self) -> None:
        self.texts = InternedTexts()


_HERE = _OfThread()


def interned_texts() -> InternedTexts:
    """The texts that were read in this thread, in whatever files and parts they came."""
    return _HERE.texts


class NumberOfText:
    """A number that is made of each text, once, until the texts are forgotten.

    Args:
        make: says the numbers of distinct texts, none of them negative.
        read: how a text is read before.
    """

    def __init__(
        self, make: Callable[[list[str]], ArrayLike], read: Callable[[str], str] = str
    ) -> None:
        self._make = make
        self._read = read
        self._known: Sequence[str] | None = None
        self._values = np.empty(0, np.int64)

    def forget(self) -> None:
        """Make all of them anew."""
        self._known = None

    def of(self, texts: Sequence[str], numbers: Ints) -> Ints:
        """That of each text.

        Args:
            texts: `InternedTexts.texts`.
            numbers: which of them.
        """
        # Another list: the texts were forgotten meanwhile, and numbers mean others.
        if texts is not self._known:
            self._known, self._values = texts, np.empty(0, np.int64)
        if len(self._values) < len(texts):
            # Twice what there is, so that not each batch moves all of it.
            room = np.full(2 * len(texts) - len(self._values), _NOTHING, np.int64)
            self._values = np.concatenate((self._values, room))
        values = self._values[numbers]
        if (values < 0).any():
            new = distinct(numbers[values < 0])
            self._values[new] = self._make([*map(self._read, map(texts.__getitem__, new.tolist()))])
            values = self._values[numbers]
        return values


class Forms(NumberOfText):
    """Texts as somebody reads them, each read once and known by number.

    Args:
        read: says how a text is read.
    """

    def __init__(self, read: Callable[[str], str]) -> None:
        self._forms = InternedTexts()
        super().__init__(self._forms.numbers, read)

    @property
    def texts(self) -> list[str]:
        """By number, as they are read."""
        return self._forms.texts

    def make_room(self) -> None:
        """Forget all if there are many; between two batches."""
        if self._forms.make_room():
            self.forget()


class Lists:
    """The documents, or the gold texts, of each of some queries.

    By the number of a query it gives a list of its texts, made for who looks at them.

    Attributes:
        known: texts by number.
        numbers: of all texts of all queries, one query after the other.
        n_texts: how many each query has.
    """

    def __init__(self, texts: Sequence[str], numbers: Ints, n_texts: Ints) -> None:
        self.known: Sequence[str] = texts
        self.numbers: Ints = numbers
        self.n_texts: Ints = n_texts

    @cached_property
    def starts(self) -> Ints:
        """Which text is each query's first."""
        return starts(self.n_texts)

    @cached_property
    def of_text(self) -> Ints:
        """Which query each text is of."""
        return np.repeat(np.arange(len(self.n_texts)), self.n_texts)

    def __len__(self) -> int:
        return len(self.n_texts)

    def __getitem__(self, query: int) -> list[str]:
        start = self.starts[query]
        numbers = self.numbers[start : start + self.n_texts[query]].tolist()
        return [*map(self.known.__getitem__, numbers)]

    def __iter__(self) -> Iterator[list[str]]:
        return map(self.__getitem__, range(len(self)))

    def distinct(self, is_meant: Bools | None = None) -> list[str]:
        """The distinct texts, or those of them that are meant."""
        numbers = self.numbers if is_meant is None else self.numbers[is_meant]
        return [self.known[number] for number in distinct(numbers).tolist()]

    def sums(self, of_number: Ints) -> Ints:
        """What the texts of each query come to, if there is so much of each number."""
        up_to = np.concatenate(([0], np.cumsum(of_number[self.numbers])))
        sums: Ints = up_to[self.starts + self.n_texts] - up_to[self.starts]
        return sums

    def part(self, queries: slice) -> Self:
        """Those of some queries in a row."""
        n_texts = self.n_texts[queries]
        first = self.starts[queries.start]
        return type(self)(self.known, self.numbers[first : first + n_texts.sum()], n_texts)

    def those(self, is_kept: Bools) -> Self:
        """The same queries with some of their texts alone."""
        n_texts = np.bincount(self.of_text[is_kept], minlength=len(self))
        return type(self)(self.known, self.numbers[is_kept], n_texts)

    def by(self, numbers: Ints) -> Self:
        """The same lists of other texts."""
        return type(self)(self.known, numbers, self.n_texts)
