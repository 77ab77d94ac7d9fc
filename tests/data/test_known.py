"""Texts by number, and what is made of them."""

from __future__ import annotations

from threading import Thread

import numpy as np
import pytest
from hypothesis import given, strategies as st

from kragx.data import lists
from kragx.data.lists import InternedTexts, Ints, NumberOfText, interned_texts
from tests.thoroughness import examples


def fresh(text: str) -> str:
    """An equal text that is another object."""
    return text.encode().decode()


class Counted:
    """Makes of each text its length, and counts how often it is asked."""

    def __init__(self) -> None:
        self.n_asked = 0

    def __call__(self, texts: list[str]) -> Ints:
        """Their lengths."""
        self.n_asked += len(texts)
        return np.array([*map(len, texts)], np.int64)


@examples(100)
@given(batches=st.lists(st.lists(st.text("ab", max_size=4), max_size=20)), most=st.integers(1, 30))
def test_numbers_are_those_of_a_dictionary(batches: list[list[str]], most: int) -> None:
    """Equal texts have one number and others another, and what is made of them is found by it."""
    texts, lengths = InternedTexts(), NumberOfText(Counted())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lists, "_MOST_CHARACTERS", most)
        for batch in batches:
            texts.make_room()
            numbers = texts.numbers(map(fresh, batch))
            assert [texts.texts[number] for number in numbers] == batch
            made = lengths.of(texts.texts, np.array(numbers, np.int64))
            assert made.tolist() == [*map(len, batch)]


def test_each_is_made_once() -> None:
    """Until what was made is forgotten."""
    texts, counted = InternedTexts(), Counted()
    lengths = NumberOfText(counted)
    numbers = np.array(texts.numbers(["a", "bc", "a"]), np.int64)
    for forgets, n_asked in ((False, 2), (False, 2), (True, 4)):
        if forgets:
            lengths.forget()
        assert lengths.of(texts.texts, numbers).tolist() == [1, 2, 1]
        assert counted.n_asked == n_asked


def test_each_thread_has_its_own() -> None:
    """Numbers of one thread mean nothing in another one, which may forget at any time."""
    others: list[InternedTexts] = []
    thread = Thread(target=lambda: others.append(interned_texts()))
    thread.start()
    thread.join()
    assert others[0] is not interned_texts()
