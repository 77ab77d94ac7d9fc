"""Tasks of Label Studio and records of Argilla: a pair to judge each, with what people said of it.

Label Studio (labelstud.io/guide/task_format, /tags/choices, /tags/labels, /tags/textarea): a list
of tasks, ``{"data": {...}, "annotations": [{"result": [...], "was_cancelled", "lead_time"}]}``; a
result has ``from_name``, ``to_name``, ``type`` and ``value``. Stretches are counted in code points,
as here. `LABELS` is the labelling interface that fits.

Argilla 2 (`Record.from_dict` of the package argilla): a list of records,
``{"id", "fields", "metadata", "suggestions", "responses": {question: [{"value", "user_id"}]},
"vectors"}``.
"""

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kragx.data.formats.jsonl import open_text, to_json
from kragx.ground.printing import joined, phrase
from kragx.workshop.exchange.rows import ExportReport, ExportSource, grade_word
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
_ALWAYS = phrase(
    "earlier grades and what was undone, questions without a suggested or judged document"
)


def _pairs(source: ExportSource, left_out: list[str]) -> Iterator[tuple[Pair, str]]:
    n_without = 0
    for pair in source.pairs():
        text = source.text(pair[1])
        if text is None:
            n_without += 1
        else:
            yield pair, text
    if n_without:
        left_out.append(phrase("{n} pairs whose document the corpus does not have", n=n_without))


def _write(items: list[dict[str, Any]], path: Path) -> None:
    with open_text(path) as file:
        file.write(to_json(items, indent=1) + "\n")


def write_label_studio(source: ExportSource, path: Path) -> ExportReport:
    """Write a task for each pair, and beside it the labelling interface as ``FILE.xml``."""
    left_out: list[str] = [_ALWAYS]
    tasks: list[dict[str, Any]] = []
    for pair, text in _pairs(source, left_out):
        question = source.state.questions[pair[0]]
        data = {"question": question.text, "document": text}
        data |= {"question_uid": pair[0], "document_id": pair[1]}
        decision = source.decision(pair)
        judgements = source.judgements(pair) + ([decision] if decision else [])
        tasks.append(
            {
                "data": data,
                "annotations": [_annotation(source, judgement) for judgement in judgements],
            }
        )
    _write(tasks, path)
    words = (*map(str, source.grades), "unusable", "later")
    choices = "\n".join(f'    <Choice value="{word}"/>' for word in words)
    with open_text(path.with_name(path.name + ".xml")) as file:
        file.write(LABELS.format(choices=choices))
    n_annotations = sum(len(task["annotations"]) for task in tasks)
    return ExportReport(
        {phrase("tasks"): len(tasks), phrase("annotations"): n_annotations}, left_out
    )


def _annotation(source: ExportSource, judgement: Judgement) -> dict[str, Any]:
    text = source.text(judgement.document) or ""
    choice = {"type": "choices", "value": {"choices": [grade_word(judgement)]}}
    results = [{"id": judgement.uid, "from_name": "grade", **choice}]
    for start, end in judgement.spans:
        value = {"start": start, "end": end, "text": text[start:end], "labels": ["evidence"]}
        results.append({"from_name": "evidence", "type": "labels", "value": value})
    if judgement.note:
        value = {"text": [judgement.note]}
        results.append({"from_name": "note", "type": "textarea", "value": value})
    return {
        "result": [{"to_name": "document", **result} for result in results],
        "was_cancelled": False,
        "ground_truth": judgement.is_decision,
        "lead_time": judgement.seconds,
        "created_at": judgement.at,
        "person": source.name(judgement.person),
    }


def write_argilla(source: ExportSource, path: Path) -> ExportReport:
    """Write a record for each pair; the questions are grade, evidence (spans) and note."""
    left_out: list[str] = [joined(", ", [_ALWAYS, phrase("times, and decisions")])]
    records: list[dict[str, Any]] = []
    for pair, text in _pairs(source, left_out):
        question = source.state.questions[pair[0]]
        responses: dict[str, list[dict[str, Any]]] = {}
        for judgement in source.judgements(pair):
            spans = [
                {"start": start, "end": end, "label": "evidence"} for start, end in judgement.spans
            ]
            answers = {"grade": grade_word(judgement), "evidence": spans, "note": judgement.note}
            for name, value in answers.items():
                if value:
                    response = {
                        "value": value,
                        "user_id": _user(judgement.person),
                        "status": "submitted",
                    }
                    responses.setdefault(name, []).append(response)
        records.append(
            {
                "id": to_json(pair),
                "fields": {"question": question.text, "document": text},
                "metadata": {"question_uid": pair[0], "document_id": pair[1]},
                "suggestions": {},
                "responses": responses,
                "vectors": {},
            }
        )
    _write(records, path)
    n_responses = sum(len(record["responses"].get("grade", ())) for record in records)
    return ExportReport(
        {phrase("records"): len(records), phrase("responses"): n_responses}, left_out
    )


def _user(uid: str) -> str:
    try:
        return str(uuid.UUID(uid))
    except ValueError:
        return str(uuid.uuid5(uuid.NAMESPACE_URL, f"kragx:{uid}"))
