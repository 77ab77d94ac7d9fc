"""Whether a retriever's store was filled twice, and so gives texts twice under different ids."""

import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from kragx.data import Doc, Retrieved
from kragx.ground.caller_warnings import outside
from kragx.ground.printing import message, visible

_ENOUGH, _LONG = 3, 4
"""In fewer answers, or in shorter ones, it may be chance: some texts do stand in several places."""

_PART = re.compile(r"(.+)[:#/_-]", re.DOTALL)
"""The document in the id of a part of one, as in ``terms:120-310`` and ``faq-3``."""

Mark = tuple[str, str]
"""A field with its value that says where a document is from."""


class CopiesWarning(UserWarning):
    """A retriever gives the same texts under different ids in most of its answers."""


def warn_of_copies(name: str, answers: Mapping[str, Retrieved]) -> None:
    """Warn if in most answers most texts stand twice, each time with another id.

    Such copies are documents of their own, as nobody knows which of them is meant; so a relevant
    one counts twice in precision, and takes the place of another document in everything else.
    Answers of fewer than four documents are too short to tell. Where metadata or ids say that the
    two are from different places, the text stands in both, as banners and quotations do.
    """
    long = [answer.documents for answer in answers.values() if len(answer.documents) >= _LONG]
    # First by texts and ids alone, as most retrievers repeat nothing: metadata take longer to read.
    if not _is_most([docs for docs in long if any(_copies(docs, frozenset()))], long):
        return
    shared = _shared(doc for docs in long for doc in docs)
    of_answers = ([*_copies(docs, shared)] for docs in long)
    doubled = [
        copies[0]
        for docs, copies in zip(long, of_answers)
        # One text twice is a banner; a store that was filled twice has nearly all of them twice.
        if len(copies) > 1 and len(copies) >= len({doc.text for doc in docs}) / 2
    ]
    if _is_most(doubled, long):
        doc_id, copy_id = doubled[0]
        warnings.warn(
            message(
                "{name}: in {n} of {of} answers texts stand twice under two ids ({one!r} and "
                "{other!r} are the same), as in a store that was filled twice; each counts as a "
                "document: precision is too high, recall and nDCG too low. Fill it anew, with ids "
                "of your own, so that adding a document again replaces it",
                name=visible(name),
                n=len(doubled),
                of=len(long),
                one=doc_id,
                other=copy_id,
            ),
            CopiesWarning,
            stacklevel=outside(),
        )


def _is_most(some: Sequence[object], every: Sequence[object]) -> bool:
    return len(some) >= _ENOUGH and len(some) > len(every) / 2


def _copies(docs: Iterable[Doc], shared: frozenset[Mark]) -> Iterator[tuple[str, str]]:
    """For each text that stands under several ids in one place the first two of them."""
    ids: dict[tuple[str, frozenset[Mark]], dict[str, None]] = {}
    for doc in docs:
        if doc.text is not None and doc.id is not None:
            place = shared.intersection(_marks(doc)) if shared else shared
            ids.setdefault((doc.text, place), {})[doc.id] = None
    yield from ((a, b) for copies in ids.values() if len(copies) > 1 for a, b, *_ in [copies])


def _marks(doc: Doc) -> list[Mark]:
    part = _PART.match(doc.id or "")
    of_id = [] if part is None else [("", part[1])]
    return [*((key, repr(value)) for key, value in doc.metadata.items()), *of_id]


def _shared(docs: Iterable[Doc]) -> frozenset[Mark]:
    """The marks that documents of different texts have: one that was made anew has none of them."""
    pairs = {(mark, doc.text) for doc in docs for mark in _marks(doc)}
    n_texts = Counter(mark for mark, _ in pairs)
    return frozenset(mark for mark, n in n_texts.items() if n > 1)
