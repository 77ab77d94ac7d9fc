"""Documents that stood earlier in their list: same id, else same normalised text."""

from threading import local

import numpy as np

from kragx.data.batch import Entries
from kragx.data.documents import normal_form
from kragx.data.known import Forms
from kragx.metrics import Bools


class _OfThread(local):
    """What a thread knows of the texts it has read, from one part of an evaluation to the next."""

    def __init__(self) -> None:
        self.normal_forms = Forms(normal_form)


_HERE = _OfThread()


def repeated(docs: Entries) -> Bools:
    """Whether each document of each list stood earlier in it, one list after the other."""
    if docs.are_distinct:
        return np.zeros(len(docs.texts.numbers), bool)
    forms = _HERE.normal_forms
    forms.make_room()
    has_text = docs.texts.numbers >= 0
    numbers = docs.texts.numbers.copy()
    numbers[has_text] = forms.of(docs.texts.known, numbers[has_text])
    if docs.ids is None:
        places = docs.texts.of_text * (int(numbers.max(initial=0)) + 1) + numbers
        is_again = has_text.copy()
        is_again[np.unique(places, return_index=True)[1]] = False  # where each stands first
        return is_again
    # A text is known by its number, which is no id; without text and id nothing can be the same.
    of_texts: list[int | None] = [None if n < 0 else n for n in numbers.tolist()]
    identities = [
        of_text if doc_id is None else doc_id for doc_id, of_text in zip(docs.ids, of_texts)
    ]
    keys = [*zip(docs.texts.of_text.tolist(), identities)]
    if len({*keys}) == len(keys):  # as a rule
        return np.zeros(len(keys), bool)
    earlier = set[tuple[int, int | str | None]]()
    flags: list[bool] = []
    for key in keys:
        flags.append(key[1] is not None and key in earlier)
        earlier.add(key)
    return np.array(flags, bool)
