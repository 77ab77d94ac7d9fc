"""What `kragx gold move` leaves to a person: gold texts, and the chunks where they may be."""

from pathlib import Path
from typing import Any

from kragx.data.formats.jsonl import read_records
from kragx.ground.errors import DataError, shorten
from kragx.ground.printing import phrase
from kragx.workshop.exchange.rows import FileRows, Mistakes, Row
from kragx.workshop.pairs.moved import ORIGIN
from kragx.workshop.state.records import Question, SuggestedDocument

_RUN, _SURE = 6, 0.3  # letters in a row that are there in any case if so great a share of all is


def read_doubts(path: Path) -> FileRows:
    """Read the lines: a question for each query, a candidate for each chunk where its gold may be.

    Raises:
        DataError: lines are of another kind; all are listed.
    """
    mistakes = Mistakes(str(path))
    questions: dict[str, dict[str, Any]] = {}
    candidates: list[Row] = []
    n_without = 0
    for number, line in read_records(path):
        place = f"line {number}"
        match line:
            case {
                "query_id": str() as uid,
                "query": str() as query,
                "field": str() as field,
                "verdict": "unsure" | "lost" as verdict,
                "gold": {"text": str() as text, **gold},
                "candidates": list() as places,
            } if all(
                isinstance(candidate, dict)
                and isinstance(candidate.get("id"), str)
                and isinstance(candidate.get("share"), (int, float))
                for candidate in places
            ):
                pass
            case _:
                remedy = "name the file that kragx gold move wrote"
                mistakes.add(place, "", f"{shorten(line)} is no gold that is left", remedy)
                continue
        record = questions.setdefault(
            uid, {"uid": uid, "text": query, "origin": "file", "gold": []}
        )
        if "." not in field:  # an alternative is no item of its own
            old: dict[str, object] = {"old_id": gold["id"]} if "id" in gold else {}
            marks = {"moved": verdict} | old
            item = {"text": text, "grade": gold.get("grade", 1), "metadata": marks}
            record["gold"].append(item)
        n_without += not places
        for candidate in places:
            values = {"question": uid, "document": candidate["id"], "origin": ORIGIN}
            values |= {"detail": text, "score": float(candidate["share"])}
            candidates.append(Row(SuggestedDocument, place, values, question=query, number=number))
    mistakes.refuse()
    rows = [Row(Question, f"query {uid}", values) for uid, values in questions.items()]
    remark = phrase(
        "{n} gold texts are in no chunk: search for what answers the question now, or leave them "
        "as they are",
        n=n_without,
    )
    return FileRows([*rows, *candidates], adds_only=True, remarks=(remark,) if n_without else ())


def check_place(text: str, document: str | None, share: float) -> None:
    """Raise a `DataError` unless a chunk may hold a gold text: ids may be of another corpus."""
    remedy = "import into the workshop over the corpus that the gold was moved to"
    if document is None:
        raise DataError("the corpus has no such document", field="candidates", remedy=remedy)
    letters, runs_there = (
        "".join(filter(str.isalnum, string)).casefold() for string in (text, document)
    )
    runs = {letters[start : start + _RUN] for start in range(max(1, len(letters) - _RUN + 1))}
    if share >= _SURE and not any(run in runs_there for run in runs):
        raise DataError("the document has nothing of the text", field="candidates", remedy=remedy)
