"""Gold whose place nobody knows since the corpus was chunked anew: what `kragx gold move` leaves.

Its text stands in the question's gold, without an id and marked as moved; the chunks where it may
be are candidates of origin "moved", each with the text that it may hold.
"""

import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from kragx.data import Gold, normalise
from kragx.data.formats.jsonl import read_records
from kragx.ground.errors import DataError, inside, shorten
from kragx.ground.printing import message
from kragx.workshop.pairs.standing import Copies
from kragx.workshop.state.records import SuggestedDocument
from kragx.workshop.state.state import State

ORIGIN = "moved"
_MOST = 1000  # characters that are shown of a text; it was one chunk
_OPEN = ("unsure", "lost")
_ANOTHER = message("import into the workshop over the corpus that the gold was moved to")


def rows_of_moved(
    path: Path, state: State, text_of: Callable[[str], str | None]
) -> tuple[list[tuple[str, dict[str, Any]]], *tuple[str, ...]]:
    """What a move has left, as rows of an import, and what somebody should know of it.

    A question that the workshop has (by uid, else by its text) stays as it is; each chunk where a
    gold text may be is a candidate, which the same file again does not make twice.

    Args:
        path: of the file.
        state: of the workshop.
        text_of: the text of a document of its corpus.

    Raises:
        DataError: a line is of another kind, or speaks of another corpus.
    """
    uids = {question.text.strip(): question.uid for question in state.open_questions()}
    questions: dict[str, dict[str, Any]] = {}
    candidates: list[tuple[str, dict[str, Any]]] = []
    n_lost = 0
    for number, line in read_records(path):
        place = f"{path}:line {number}"
        try:
            uid, words, text = line["query_id"], line["query"], line["gold"]["text"]
            grade, old = float(line["gold"].get("grade", 1)), line["gold"].get("id")
            metadata = {"moved": line["verdict"]} | ({} if old is None else {"old_id": old})
            chunks = {chunk["id"]: float(chunk["share"]) for chunk in line["candidates"]}
            is_item = "." not in line["field"]  # an alternative is no item of its own
            if not all(isinstance(value, str) for value in (uid, text, *chunks)):
                raise TypeError("a text is expected")
            uid = uid if uid in state.questions else uids.get(words.strip(), uid)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
            problem = message("{value} is no gold that is left", value=shorten(line))
            remedy = message("name the file that kragx gold move wrote")
            raise DataError(problem, path=place, remedy=remedy) from None
        row = {"record": "question", "uid": uid, "question": words, "origin": "file", "gold": []}
        if uid not in state.questions and is_item:
            item = {"text": text, "grade": grade, "metadata": metadata}
            questions.setdefault(uid, row)["gold"].append(item)
        n_lost += not chunks
        for document, share in chunks.items():
            with inside(path=place):
                if text_of(document) is None:
                    raise DataError(
                        "the corpus has no such document", field="candidates", remedy=_ANOTHER
                    )
            # The same again has the same uid.
            record = {
                "record": "candidate",
                "uid": _uid(uid, document, text),
                "question_uid": uid,
                "document": document,
                "origin": ORIGIN,
                "detail": text if len(text) <= _MOST else f"{text[:_MOST]} …",
                "score": share,
            }
            candidates.append((place, record))
    rows = [*((f"query {uid}", row) for uid, row in questions.items()), *candidates]
    remark = message(
        "{n} gold texts are in no chunk: search for what answers the question now, or leave them "
        "as they are",
        n=n_lost,
    )
    return rows, *([remark] if n_lost else ())


def _uid(question: str, document: str, text: str) -> str:
    parts = "\x1f".join((ORIGIN, question, document, normalise(text)))
    return hashlib.sha256(parts.encode("utf-8", "replace")).hexdigest()[:32]


def is_doubt(gold: Gold) -> bool:
    """Whether nobody knows where a gold item is."""
    return gold.id is None and gold.metadata.get("moved") in _OPEN


def is_resolved(
    gold: Gold,
    question: str,
    candidates: Mapping[str, Iterable[SuggestedDocument]],
    copies: Copies,
    judged: Collection[str],
    answers: Collection[str],
) -> bool:
    """Whether people have said where the text of a doubt is now, or that it is nowhere.

    They have once one of its candidates is judged as relevant, or all are judged; of a text without
    candidates, once any document is judged as relevant. An alternative of it stands for it as well.

    Args:
        gold: the doubt.
        question: the uid of its question.
        candidates: of the question, by document.
        copies: of the corpus's documents.
        judged: those that people have judged, by the first of their copies.
        answers: of these the relevant ones.
    """
    alternatives = {copies.first(doc.id) for doc in gold.alternatives if doc.id is not None}
    places = {
        copies.first(document)
        for document, rows in candidates.items()
        if any(row.uid == _uid(question, document, gold.text or "") for row in rows)
    }
    if not places:
        return bool(answers)
    return not (places | alternatives).isdisjoint(answers) or places.issubset(judged)
