"""Words by their letters, a batch of texts at once: the fast way from texts to token numbers.

A text that numpy can cut is an array of letters with 0 between its words. Eight bytes of a word are
one integer, a piece; a word is a way of such pieces from the root of a tree, and each node of it
knows its token. So a word that was seen before costs a few operations of numpy on whole arrays,
and only a new one becomes a string.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from kragx.data.stretches import Ints

Nodes = NDArray[np.int32]
Pieces = NDArray[np.uint64]

_LONGEST = 32  # letters; longer ones, as in sequences and encoded files, are few and seldom again
_ODD = np.uint64(0x9E3779B97F4A7C15), np.uint64(0x85EBCA77)  # as of Knuth's multiplier
_SLOTS_A_NODE = 2


class Growing:
    """An array that grows at its end.

    Args:
        array: says the type, and holds the first `size` values.
        size: how many values there are.
    """

    def __init__(self, array: NDArray[Any], size: int = 0) -> None:
        self._array = array
        self.size: int = size

    @property
    def values(self) -> NDArray[Any]:
        """It, so far."""
        return self._array[: self.size]

    def extend(self, values: NDArray[Any]) -> None:
        """Add values."""
        size = self.size + len(values)
        if size > len(self._array):
            grown = np.empty(max(size, 2 * len(self._array)), self._array.dtype)
            grown[: self.size] = self.values
            self._array = grown
        self._array[self.size : size] = values
        self.size = size


@dataclass(frozen=True)
class Letters:
    """Some texts as letters.

    Attributes:
        texts: which of the texts that were asked for.
        codes: their letters, of 8 bits each or the `<u2` of UTF-16, one text behind the other; 0
            stands in front of all, between words and behind each text, and no word has it.
        ends: where the 0 behind each text stands.
    """

    texts: Ints
    codes: NDArray[np.uint8] | NDArray[np.uint16]
    ends: Ints


@runtime_checkable
class InLetters(Protocol):
    """What a tokenizer's tokens may also be: letters of the texts, with the same words.

    Attributes:
        are_tokens: whether each letter is a token, wherever the words end.
    """

    are_tokens: bool

    def letters(self) -> Iterator[Letters]:
        """Yield those of most texts, each once at the most; the others have to be tokenised."""
        ...


class Spellings:
    """Knows words by their letters.

    Args:
        number: says the token of a word that is new here.
    """

    def __init__(self, number: Callable[[str], int]) -> None:
        self._number = number
        # Of each node: where it goes on from, by which piece, and its token or a number below 0.
        # Node 0 is the root of words of 8 bits a letter, 1 of those of 16.
        self._parents = Growing(np.zeros(2, np.int32), 2)
        self._pieces = Growing(np.zeros(2, np.uint64), 2)
        self._tokens = Growing(np.full(2, -1, np.int32), 2)
        self._slots = np.zeros(1 << 12, np.int32)  # a node, by the hash of parent and piece
        self._of_letters = np.full(1 << 16, -1, np.int32)  # the token of a letter alone

    @property
    def n_nodes(self) -> int:
        """How many pieces it knows."""
        return self._tokens.size - 2

    def tokens(self, letters: Letters) -> tuple[Nodes, Ints]:
        """The tokens of some texts, one behind the other, and how many each has."""
        codes = letters.codes
        is_letter = codes != 0
        edges = (is_letter[1:] != is_letter[:-1]).nonzero()[0] + 1
        begins, ends = edges[::2], edges[1::2]
        n_tokens = np.diff(np.searchsorted(begins, letters.ends), prepend=0)
        return self._numbered(codes, begins, ends - begins), n_tokens

    def letters(self, letters: Letters) -> tuple[Nodes, Ints]:
        """The same where each letter is a token."""
        is_letter = letters.codes != 0
        codes = letters.codes[is_letter]
        n_before = np.cumsum(is_letter)[letters.ends]
        tokens: Nodes = self._of_letters.take(codes)
        if (tokens < 0).any():
            new = np.bincount(codes[tokens < 0]).nonzero()[0].tolist()
            self._of_letters[new] = [self._number(chr(code)) for code in new]
            tokens = self._of_letters.take(codes)
        return tokens, np.diff(n_before, prepend=0)

    def _numbered(self, codes: NDArray[np.generic], begins: Ints, lengths: Ints) -> Nodes:
        """The token of each word."""
        nodes = self._nodes(codes, begins, lengths)
        tokens: Nodes = self._tokens.values.take(nodes)
        new = (tokens < 0).nonzero()[0]
        if new.size:
            table, node, is_long = self._tokens.values, nodes[new], lengths[new] > _LONGEST
            table[node[::-1]] = new[::-1]  # the first place of each stays
            first = new[(table[node] == new) | is_long]
            text = codes.tobytes().decode("latin-1" if codes.itemsize == 1 else "utf-16-le")
            places = begins[first].tolist(), (begins[first] + lengths[first]).tolist()
            named = map(self._number, map(text.__getitem__, map(slice, *places)))
            table[nodes[first]] = tokens[first] = np.fromiter(named, np.int32, len(first))
            tokens[new] = np.where(is_long, tokens[new], table[node])
            table[:2] = -1
        return tokens

    def _nodes(self, codes: NDArray[np.generic], begins: Ints, lengths: Ints) -> Nodes:
        """The node of each word, or the root for one that is too long."""
        n_letters = 8 // codes.itemsize  # of a piece
        padded = np.concatenate((codes, np.zeros(n_letters, codes.dtype)))
        # The eight bytes from each letter on, and those of them that so many letters take.
        windows: Pieces = np.ndarray(len(codes), "<u8", padded, strides=codes.strides)
        masks = np.array([256 ** (n * codes.itemsize) - 1 for n in range(n_letters + 1)], np.uint64)
        root = codes.itemsize - 1
        pieces = windows[begins] & masks.take(lengths, mode="clip")
        nodes = self._next(np.full(len(begins), root, np.int32), pieces)
        is_long = lengths > _LONGEST
        nodes[is_long] = root
        rest = ((lengths > n_letters) & ~is_long).nonzero()[0]
        while rest.size:
            begins, lengths = begins + n_letters, lengths - n_letters
            pieces = windows[begins[rest]] & masks.take(lengths[rest], mode="clip")
            nodes[rest] = self._next(nodes[rest], pieces)
            rest = rest[lengths[rest] > n_letters]
        return nodes

    def _next(self, parents: Nodes, pieces: Pieces) -> Nodes:
        """The node to which each piece leads from its parent; a new one where there is none."""
        slots = self._slots_of(parents, pieces)
        nodes = self._slots.take(slots)
        rest = (~self._is(nodes, parents, pieces)).nonzero()[0]
        slots = slots[rest]
        while rest.size:
            node = self._slots[slots]
            free = (node == 0).nonzero()[0]
            if free.size:
                if (self._tokens.size + free.size) * _SLOTS_A_NODE > len(self._slots):
                    self._make_room(free.size)
                    slots = self._slots_of(parents[rest], pieces[rest])
                    continue
                self._slots[slots[free[::-1]]] = free[::-1]  # the first place of each stays
                new = free[self._slots[slots[free]] == free]
                self._slots[slots[new]] = np.arange(len(new)) + self._tokens.size
                self._parents.extend(parents[rest[new]])
                self._pieces.extend(pieces[rest[new]])
                self._tokens.extend(np.full(len(new), -1, np.int32))
                node = self._slots[slots]
            is_hit = self._is(node, parents[rest], pieces[rest])
            nodes[rest[is_hit]] = node[is_hit]
            rest, slots = rest[~is_hit], slots[~is_hit] + 1 & len(self._slots) - 1
        return nodes

    def _is(self, nodes: Nodes, parents: Nodes, pieces: Pieces) -> NDArray[np.bool_]:
        """Whether nodes are those to which pieces lead from parents."""
        same: NDArray[np.bool_] = self._pieces.values.take(nodes) == pieces
        same &= self._parents.values.take(nodes) == parents
        return same

    def _slots_of(self, parents: Nodes, pieces: Pieces) -> NDArray[np.intp]:
        """The slots at which to begin to look."""
        bits = len(self._slots).bit_length() - 1
        mixed = pieces ^ parents.astype(np.uint64) * _ODD[1]
        mixed *= _ODD[0]
        return (mixed >> np.uint64(64 - bits)).astype(np.intp)

    def _make_room(self, n_more: int) -> None:
        """Have slots for so many nodes more, and give each node one anew."""
        n_nodes = self._tokens.size
        n_slots = (n_nodes + n_more) * _SLOTS_A_NODE * 2
        self._slots = np.zeros(1 << n_slots.bit_length(), np.int32)
        rest = np.arange(2, n_nodes)
        slots = self._slots_of(self._parents.values[2:], self._pieces.values[2:])
        while rest.size:
            free = (self._slots[slots] == 0).nonzero()[0]
            self._slots[slots[free]] = rest[free]
            is_lost = self._slots[slots] != rest
            rest, slots = rest[is_lost], slots[is_lost] + 1 & len(self._slots) - 1
