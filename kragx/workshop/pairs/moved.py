"""Gold whose place nobody knows since the corpus was chunked anew: what `kragx gold move` leaves.

Its text stands in the question's gold, without an id and marked as moved; the chunks where it may
be are candidates of origin "moved", each with the text that it may hold.
"""

import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping

from kragx.data import Gold, normalise
from kragx.ground.errors import DataError
from kragx.workshop.state.records import SuggestedDocument

ORIGIN = "moved"
_MOST = 1000  # characters that are shown of a text; it was one chunk
_OPEN = ("unsure", "lost")
_RUN, _SURE = 6, 0.3  # letters in a row that are there in any case if so great a share of all is


def moved_candidate(question: str, document: str, text: str, share: float) -> SuggestedDocument:
    """A chunk in which a gold text may be; the same again has the same uid.

    Args:
        question: its uid.
        document: the id of the chunk.
        text: the gold text, of which the beginning is shown.
        share: of the text's letters that the chunk has.
    """
    return SuggestedDocument(
        uid=_uid(question, document, text),
        question=question,
        document=document,
        origin=ORIGIN,
        detail=text if len(text) <= _MOST else f"{text[:_MOST]} …",
        score=share,
    )


def _uid(question: str, document: str, text: str) -> str:
    parts = "\x1f".join((ORIGIN, question, document, normalise(text)))
    return hashlib.sha256(parts.encode("utf-8", "replace")).hexdigest()[:32]


def is_doubt(gold: Gold) -> bool:
    """Whether nobody knows where a gold item is."""
    return gold.id is None and gold.metadata.get("moved") in _OPEN


def is_settled(
    gold: Gold,
    question: str,
    candidates: Mapping[str, Iterable[SuggestedDocument]],
    first: Callable[[str], str],
    judged: Collection[str],
    relevant: Collection[str],
) -> bool:
    """Whether people have said where the text of a doubt is now, or that it is nowhere.

    They have once one of its candidates is judged as relevant, or all are judged; of a text without
    candidates, once any document is judged as relevant. An alternative of it stands for it as well.

    Args:
        gold: the doubt.
        question: the uid of its question.
        candidates: of the question, by document.
        first: gives the document that stands for a document and its copies.
        judged: those that people have judged.
        relevant: those that answer the question.
    """
    # What a file says is what is in doubt: only a person can settle where a text is now.
    answers = set(relevant) & set(judged)
    others = {
        first(alternative.id) for alternative in gold.alternatives if alternative.id is not None
    }
    places = {
        first(document)
        for document, rows in candidates.items()
        if any(row.uid == _uid(question, document, gold.text or "") for row in rows)
    }
    if not places:
        return bool(answers)
    return bool((places | others) & answers) or places <= set(judged)


def check_place(text: str, document: str | None, share: float) -> None:
    """Raise a `DataError` unless a chunk may hold a gold text: ids may be of another corpus."""
    remedy = "import into the workshop over the corpus that the gold was moved to"
    if document is None:
        raise DataError("the corpus has no such document", field="candidates", remedy=remedy)
    letters, letters_there = (
        "".join(filter(str.isalnum, string)).casefold() for string in (text, document)
    )
    runs = {letters[start : start + _RUN] for start in range(max(1, len(letters) - _RUN + 1))}
    if share >= _SURE and not any(run in letters_there for run in runs):
        problem = "the document has nothing of the text"
        raise DataError(problem, field="candidates", remedy=remedy)
