"""Forms with one grade for a question and a document, and nothing else: TREC qrels, and Quepid's.

Quepid imports a case's ratings as CSV with the columns ``query,docid,rating``; a
question is known by its text, and of a text that begins like a formula a space before it tells
that it is none (app/services/ratings_importer.rb of github.com/o19s/quepid).
"""

import csv
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from kragx.data.formats.jsonl import open_text
from kragx.data.formats.trec import iter_qrels
from kragx.ground.errors import DataError, shorten
from kragx.ground.printing import phrase
from kragx.workshop.exchange.rows import ExportReport, ExportSource, FileRows, Mistakes, Row
from kragx.workshop.pairs.scale import USUAL_TOP
from kragx.workshop.state.records import Judgement
from kragx.workshop.state.state import Pair

_ALWAYS = phrase("who judged, notes, evidence, times, earlier grades, and questions' other fields")


def _ratings(source: ExportSource, left_out: Counter[str]) -> Iterator[tuple[Pair, int]]:
    for pair in source.pairs():
        grade, why = source.rating(pair)
        if grade is not None:
            yield pair, grade
        elif why:
            left_out[why] += 1


def _words(left_out: Counter[str]) -> list[str]:
    return [_ALWAYS, *(phrase("{n} pairs {why}", n=n, why=why) for why, n in left_out.items())]


def write_qrels(source: ExportSource, path: Path) -> ExportReport:
    """Write a line for each graded pair.

    Raises:
        DataError: an id cannot stand in qrels.
    """
    left_out: Counter[str] = Counter()
    ratings = list(_ratings(source, left_out))
    ids = dict.fromkeys(name for pair, _ in ratings for name in pair)
    wrong = [name for name in ids if not name or name.split() != [name]]
    wrong += [question for (question, _), _ in ratings if question.startswith("#")]
    if wrong:
        raise DataError(
            f"{len(wrong)} ids cannot stand in qrels, whose columns white space separates, as "
            f"{shorten(wrong[0])}",
            remedy="export as csv or jsonl instead, or rename them in the corpus",
        )
    with open_text(path) as file:
        file.writelines(f"{query} 0 {document} {grade}\n" for (query, document), grade in ratings)
    words = _words(left_out)
    if max(source.grades) == USUAL_TOP:
        words.append(
            phrase("what is gold: a 1 answers nothing, so score with rel=2, or with a release")
        )
    return ExportReport({phrase("grades"): len(ratings)}, words)


def read_qrels(path: Path) -> FileRows:
    """Read grades of known questions."""
    mistakes, rows = Mistakes(str(path)), []
    for line, query, document, grade in iter_qrels(path):
        if grade != int(grade):
            mistakes.add(str(line), "grade", f"{grade:g} is no whole number", "round it first")
        values = {"question": query, "document": document, "kind": "grade", "grade": int(grade)}
        rows.append(Row(Judgement, str(line), values))
    mistakes.refuse()
    return FileRows(rows)


def write_quepid(source: ExportSource, path: Path) -> ExportReport:
    """Write the ratings of a case; a question without any has a line with its text alone."""
    left_out: Counter[str] = Counter()
    ratings = dict(_ratings(source, left_out))
    questions = {question.uid: question.text for question in source.state.open_questions()}
    idle = questions.keys() - {question for question, _ in ratings}
    with open_text(path) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("query", "docid", "rating"))
        for (question, document), grade in ratings.items():
            writer.writerow((_safe(questions[question]), _safe(document), grade))
        writer.writerows((_safe(questions[uid]), "", "") for uid in questions if uid in idle)
    counts: dict[str, int] = {
        phrase("grades"): len(ratings),
        phrase("questions without a grade"): len(idle),
    }
    return ExportReport(counts, _words(left_out))


def _safe(cell: str) -> str:
    """A cell that no spreadsheet computes, as Quepid writes them; it strips what it reads."""
    return f" {cell}" if cell.startswith(("=", "+", "-", "@")) else cell
