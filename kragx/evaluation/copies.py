"""Whether a retriever's store was filled twice, and so gives texts twice under different ids."""

import warnings
from collections.abc import Mapping

from kragx.data import Retrieved
from kragx.printing import phrase, visible
from kragx.warned import outside

_ENOUGH, _LONG = 3, 4
"""In fewer answers, or in shorter ones, it may be chance: some texts do stand in several places."""


class CopiesWarning(UserWarning):
    """A retriever gives the same texts under different ids in most of its answers."""


def warn_of_copies(name: str, answers: Mapping[str, Retrieved]) -> None:
    """Warn if most answers have two texts or more twice, each time with another id.

    Such copies are documents of their own, as nobody knows which of them is meant; so a relevant
    one counts twice in precision, and takes the place of another document in everything else.
    Answers of fewer than four documents are too short to tell.
    """
    long = [of for of in answers.values() if len(of.documents) >= _LONG]
    copies = [pairs[0] for pairs in map(_copies, long) if len(pairs) > 1]
    if len(copies) >= _ENOUGH and len(copies) > len(long) / 2:
        one, other = copies[0]
        warnings.warn(
            phrase(
                "{name}: in {n} of {of} answers texts stand twice under two ids ({one!r} and "
                "{other!r} are the same), as in a store that was filled twice; each counts as a "
                "document: precision is too high, recall and nDCG too low. Fill it anew, with ids "
                "of your own, so that adding a document again replaces it",
                name=visible(name),
                n=len(copies),
                of=len(long),
                one=one,
                other=other,
            ),
            CopiesWarning,
            stacklevel=outside(),
        )


def _copies(answer: Retrieved) -> list[tuple[str, str]]:
    """For each text that stands under several ids the first two of them."""
    ids: dict[str, dict[str, None]] = {}
    for doc in answer.documents:
        if doc.text is not None and doc.id is not None:
            ids.setdefault(doc.text, {})[doc.id] = None
    return [(one, other) for own in ids.values() if len(own) > 1 for one, other, *_ in [own]]
