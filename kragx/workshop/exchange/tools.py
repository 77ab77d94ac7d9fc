"""What other tools read: TREC qrels, Quepid's ratings, and tasks of Label Studio.

Quepid imports a case's ratings as CSV with the columns ``query,docid,rating``; a
question is known by its text, and of a text that begins like a formula a space before it tells
that it is none (app/services/ratings_importer.rb of github.com/o19s/quepid).

Label Studio (labelstud.io/guide/task_format, /tags/choices, /tags/labels, /tags/textarea): a list
of tasks, ``{"data": {...}, "annotations": [{"result": [...], "was_cancelled", "lead_time"}]}``; a
result has ``from_name``, ``to_name``, ``type`` and ``value``. Stretches are counted in code points,
as here. `LABELS` is the labelling interface that fits.
"""

import csv
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kragx.data.formats.jsonl import open_text, to_json
from kragx.ground.errors import DataError, shorten
from kragx.ground.printing import phrase
from kragx.workshop.exchange.rows import ExportSource, grade_of
from kragx.workshop.pairs.scale import USUAL_TOP
from kragx.workshop.pairs.standing import standing
from kragx.workshop.state.records import Judgement
from kragx.workshop.state.state import Pair

Report = tuple[Mapping[str, int], Sequence[str]]
"""How many of what, in words, stand in a file, and what its form has no place for."""

LABELS = """\
<View>
  <Header value="$question"/>
  <Choices name="grade" toName="document" choice="single" required="true">
{choices}
  </Choices>
  <Labels name="evidence" toName="document"><Label value="evidence"/></Labels>
  <Style>.htx-text{{ white-space: pre-wrap; }}</Style>
  <Text name="document" value="$document"/>
  <TextArea name="note" toName="document" maxSubmissions="1"/>
</View>
"""
_NOT_RATED = phrase(
    "who judged, notes, evidence, times, earlier grades, and questions' other fields"
)
_UNRATED = {
    "conflict": phrase("that people grade differently and nobody has decided"),
    "unusable": phrase("that are unusable"),
}
"""Why a pair that was judged has no grade."""

_NOT_A_TASK = phrase(
    "earlier grades and what was undone, questions without a suggested or judged document"
)


def _pairs(source: ExportSource) -> list[Pair]:
    """The pairs of open questions that were judged or suggested, question by question."""
    state = source.state
    pairs: dict[Pair, None] = {}
    for uid in (question.uid for question in state.open_questions()):
        # What is suggested first, so that documents keep their order as people judge.
        documents = (*state.candidates.get(uid, ()), *state.judged.get(uid, ()))
        pairs |= dict.fromkeys((uid, document) for document in documents)
    return list(pairs)


def _rating(source: ExportSource, pair: Pair) -> tuple[int | None, str]:
    """The one grade of a pair, of all or of one person; None with what it has in its place."""
    if source.person is None:
        now = standing(source.state, pair[0], [pair[1]])
        return now.grade, now.state
    row = source.state.newest(pair, source.person)
    return (None, "open") if row is None else (row.grade, row.kind)


def _ratings(source: ExportSource) -> tuple[dict[Pair, int], list[str]]:
    """The one grade of each pair that has it, and what is left out."""
    ratings: dict[Pair, int] = {}
    reasons: Counter[str] = Counter()
    for pair in _pairs(source):
        grade, why = _rating(source, pair)
        if grade is not None:
            ratings[pair] = grade
        elif why in _UNRATED:
            reasons[_UNRATED[why]] += 1
    pairs = (phrase("{n} pairs {why}", n=n, why=why) for why, n in reasons.items())
    return ratings, [_NOT_RATED, *pairs]


def write_qrels(source: ExportSource, path: Path) -> Report:
    """Write a line for each graded pair.

    Raises:
        DataError: an id cannot stand in qrels.
    """
    ratings, left_out = _ratings(source)
    ids = dict.fromkeys(name for pair in ratings for name in pair)
    # Whoever reads qrels splits lines at white space, and takes what begins with # for a comment.
    wrong = [name for name in ids if not name or name.split() != [name]]
    wrong += [question for question, _ in ratings if question.startswith("#")]
    if wrong:
        raise DataError(
            f"{len(wrong)} ids cannot stand in qrels, whose columns white space separates, as "
            f"{shorten(wrong[0])}",
            remedy="export as csv or jsonl instead, or rename them in the corpus",
        )
    with open_text(path) as file:
        file.writelines(
            f"{query} 0 {document} {grade}\n" for (query, document), grade in ratings.items()
        )
    if max(source.grades) == USUAL_TOP:
        left_out.append(
            phrase("what is gold: a 1 answers nothing, so score with rel=2, or with a release")
        )
    return {phrase("grades"): len(ratings)}, left_out


def write_quepid(source: ExportSource, path: Path) -> Report:
    """Write the ratings of a case; a question without any has a line with its text alone."""
    ratings, left_out = _ratings(source)
    texts = {question.uid: question.text for question in source.state.open_questions()}
    rated = {question for question, _ in ratings}
    rows = [(texts[question], document, grade) for (question, document), grade in ratings.items()]
    # Quepid makes a case's questions of its ratings: one that is not there would be lost.
    idle = [(text, "", "") for uid, text in texts.items() if uid not in rated]
    with open_text(path) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("query", "docid", "rating"))
        writer.writerows([_safe(cell) for cell in map(str, row)] for row in (*rows, *idle))
    return {phrase("grades"): len(rows), phrase("questions without a grade"): len(idle)}, left_out


def _safe(cell: str) -> str:
    """A cell that no spreadsheet computes, as Quepid writes them; it strips what it reads."""
    return f" {cell}" if cell.startswith(("=", "+", "-", "@")) else cell


def write_label_studio(source: ExportSource, path: Path) -> Report:
    """Write a task for each pair, and beside it the labelling interface as ``FILE.xml``."""
    tasks: list[dict[str, Any]] = []
    n_without = 0
    for pair in _pairs(source):
        text = source.text(pair[1])
        if text is None:
            n_without += 1
            continue
        people = source.state.judgements.get(pair, {}).values()
        newest = (rows[-1] for rows in people if rows)
        judgements = [row for row in newest if source.person in (None, row.person)]
        if source.person is None:
            judgements += source.state.decisions.get(pair, [])[-1:]
        data = {"question": source.state.questions[pair[0]].text, "document": text}
        data |= {"question_uid": pair[0], "document_id": pair[1]}
        annotations = [_annotation(source, judgement, text) for judgement in judgements]
        tasks.append({"data": data, "annotations": annotations})
    with open_text(path) as file:
        file.write(to_json(tasks, indent=1) + "\n")
    words = (*map(str, source.grades), "unusable", "later")
    choices = "\n".join(f'    <Choice value="{word}"/>' for word in words)
    with open_text(path.with_name(path.name + ".xml")) as file:
        file.write(LABELS.format(choices=choices))
    n_annotations = sum(len(task["annotations"]) for task in tasks)
    absent = phrase("{n} pairs whose document the corpus does not have", n=n_without)
    left_out = [_NOT_A_TASK, *([absent] if n_without else [])]
    return {phrase("tasks"): len(tasks), phrase("annotations"): n_annotations}, left_out


def _annotation(source: ExportSource, judgement: Judgement, text: str) -> dict[str, Any]:
    grade: dict[str, Any] = {"choices": [str(grade_of(judgement))]}
    results = [("grade", "choices", grade)]
    for start, end in judgement.spans:
        value = {"start": start, "end": end, "text": text[start:end], "labels": ["evidence"]}
        results.append(("evidence", "labels", value))
    if judgement.note:
        results.append(("note", "textarea", {"text": [judgement.note]}))
    return {
        "result": [
            {"from_name": name, "to_name": "document", "type": kind, "value": value}
            for name, kind, value in results
        ],
        "was_cancelled": False,
        "ground_truth": judgement.is_decision,
        "lead_time": judgement.seconds,
        "created_at": judgement.at,
        "person": source.name(judgement.person),
    }
