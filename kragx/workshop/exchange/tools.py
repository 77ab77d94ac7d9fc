"""What other tools read: TREC qrels, Quepid's ratings, tasks of Label Studio, records of Argilla.

Quepid imports a case's ratings as CSV with the columns ``query,docid,rating``; a
question is known by its text, and of a text that begins like a formula a space before it tells
that it is none (app/services/ratings_importer.rb of github.com/o19s/quepid).

Label Studio (labelstud.io/guide/task_format, /tags/choices, /tags/labels, /tags/textarea): a list
of tasks, ``{"data": {...}, "annotations": [{"result": [...], "was_cancelled", "lead_time"}]}``; a
result has ``from_name``, ``to_name``, ``type`` and ``value``. Stretches are counted in code points,
as here. `LABELS` is the labelling interface that fits.

Argilla 2 (`Record.from_dict` of the package argilla): a list of records,
``{"id", "fields", "metadata", "suggestions", "responses": {question: [{"value", "user_id"}]},
"vectors"}``.
"""

import csv
import uuid
from collections import Counter
from pathlib import Path
from typing import Any

from kragx.data.formats.jsonl import open_text, to_json
from kragx.ground.errors import DataError, shorten
from kragx.ground.printing import joined, phrase
from kragx.workshop.exchange.rows import ExportSource, Report, grade_word, text_of
from kragx.workshop.pairs.scale import USUAL_TOP
from kragx.workshop.state.records import Judgement
from kragx.workshop.state.state import Pair

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
_NOT_A_TASK = phrase(
    "earlier grades and what was undone, questions without a suggested or judged document"
)


# -- one grade a pair ------------------------------------------------------------------------------


def _ratings(source: ExportSource) -> tuple[dict[Pair, int], list[str]]:
    """The grades of pairs, and what they leave out."""
    ratings: dict[Pair, int] = {}
    reasons: Counter[str] = Counter()
    for pair in source.pairs():
        grade, why = source.rating(pair)
        if grade is not None:
            ratings[pair] = grade
        elif why:
            reasons[why] += 1
    pairs = (phrase("{n} pairs {why}", n=n, why=why) for why, n in reasons.items())
    return ratings, [_NOT_RATED, *pairs]


def write_qrels(source: ExportSource, path: Path) -> Report:
    """Write a line for each graded pair.

    Raises:
        DataError: an id cannot stand in qrels.
    """
    ratings, left_out = _ratings(source)
    ids = dict.fromkeys(name for pair in ratings for name in pair)
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
    idle = [(text, "", "") for uid, text in texts.items() if uid not in rated]
    with open_text(path) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("query", "docid", "rating"))
        writer.writerows([_safe(cell) for cell in map(str, row)] for row in (*rows, *idle))
    return {phrase("grades"): len(rows), phrase("questions without a grade"): len(idle)}, left_out


def _safe(cell: str) -> str:
    """A cell that no spreadsheet computes, as Quepid writes them; it strips what it reads."""
    return f" {cell}" if cell.startswith(("=", "+", "-", "@")) else cell


# -- a pair to judge each --------------------------------------------------------------------------


def _tasks(source: ExportSource, *left_out: str) -> tuple[list[tuple[Pair, Any]], list[str]]:
    """The pairs with question and text, and what they leave out."""
    tasks: list[tuple[Pair, Any]] = []
    pairs = source.pairs()
    for pair in pairs:
        text = text_of(source.documents, pair[1])
        if text is not None:
            question = source.state.questions[pair[0]].text
            tasks.append((pair, {"question": question, "document": text}))
    if n_without := len(pairs) - len(tasks):
        words = phrase("{n} pairs whose document the corpus does not have", n=n_without)
        return tasks, [*left_out, words]
    return tasks, [*left_out]


def _write(items: list[dict[str, Any]], path: Path) -> None:
    with open_text(path) as file:
        file.write(to_json(items, indent=1) + "\n")


def write_label_studio(source: ExportSource, path: Path) -> Report:
    """Write a task for each pair, and beside it the labelling interface as ``FILE.xml``."""
    pairs, left_out = _tasks(source, _NOT_A_TASK)
    tasks: list[dict[str, Any]] = []
    for pair, data in pairs:
        judgements = source.judgements(pair)
        if source.person is None:
            judgements += source.state.decisions.get(pair, [])[-1:]
        ids = {"question_uid": pair[0], "document_id": pair[1]}
        annotations = [_annotation(source, row, data["document"]) for row in judgements]
        tasks.append({"data": data | ids, "annotations": annotations})
    _write(tasks, path)
    words = (*map(str, source.grades), "unusable", "later")
    choices = "\n".join(f'    <Choice value="{word}"/>' for word in words)
    with open_text(path.with_name(path.name + ".xml")) as file:
        file.write(LABELS.format(choices=choices))
    n_annotations = sum(len(task["annotations"]) for task in tasks)
    return {phrase("tasks"): len(tasks), phrase("annotations"): n_annotations}, left_out


def _annotation(source: ExportSource, judgement: Judgement, text: str) -> dict[str, Any]:
    grade: dict[str, Any] = {"choices": [grade_word(judgement)]}
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


def write_argilla(source: ExportSource, path: Path) -> Report:
    """Write a record for each pair; the questions are grade, evidence (spans) and note."""
    left_out = joined(", ", [_NOT_A_TASK, phrase("times, and decisions")])
    pairs, notes = _tasks(source, left_out)
    records: list[dict[str, Any]] = []
    for pair, fields in pairs:
        responses: dict[str, list[dict[str, Any]]] = {}
        for row in source.judgements(pair):
            spans = [{"start": start, "end": end, "label": "evidence"} for start, end in row.spans]
            for name, value in (
                ("grade", grade_word(row)),
                ("evidence", spans),
                ("note", row.note),
            ):
                if value:
                    response = {"value": value, "user_id": _user(row.person), "status": "submitted"}
                    responses.setdefault(name, []).append(response)
        records.append(
            {
                "id": to_json(pair),
                "fields": fields,
                "metadata": {"question_uid": pair[0], "document_id": pair[1]},
                "suggestions": {},
                "responses": responses,
                "vectors": {},
            }
        )
    _write(records, path)
    n_responses = sum(len(record["responses"].get("grade", ())) for record in records)
    return {phrase("records"): len(records), phrase("responses"): n_responses}, notes


def _user(uid: str) -> str:
    try:
        return str(uuid.UUID(uid))
    except ValueError:
        return str(uuid.uuid5(uuid.NAMESPACE_URL, f"kragx:{uid}"))
