"""Tasks of Label Studio and records of Argilla: a pair to judge each, with what people said of it.

Label Studio (labelstud.io/guide/task_format, /tags/choices, /tags/labels, /tags/textarea): a list
of tasks, ``{"data": {...}, "annotations": [{"result": [...], "was_cancelled", "lead_time"}]}``; a
result has ``from_name``, ``to_name``, ``type`` and ``value``. Stretches are counted in code points,
as here. `LABELS` is the labelling interface that fits. What it keeps of a foreign annotation are
its results with their ids, so these are our uids.

Argilla 2 (`Record.to_dict` and `Record.from_dict` of the package argilla): a list of records,
``{"id", "fields", "metadata", "suggestions", "responses": {question: [{"value", "user_id"}]},
"vectors"}``.
"""

import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from kragx.data.formats.jsonl import open_text, to_json
from kragx.errors import DataError, shorten
from kragx.printing import joined, phrase
from kragx.workshop.exchange.own import json_of
from kragx.workshop.exchange.rows import (
    Mistakes,
    Row,
    Rows,
    Source,
    Written,
    grade_values,
    grade_word,
    named,
)
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


def _pairs(source: Source, left_out: list[str]) -> Iterator[tuple[Pair, str]]:
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


def write_label_studio(source: Source, path: Path) -> Written:
    """Write a task for each pair, and beside it the labelling interface as ``FILE.xml``."""
    left_out: list[str] = [_ALWAYS]
    tasks: list[dict[str, Any]] = []
    for pair, text in _pairs(source, left_out):
        question = source.state.questions[pair[0]]
        data = {"question": question.text, "document": text}
        data |= {"question_uid": pair[0], "document_id": pair[1]}
        decision = source.decision(pair)
        said = source.said(pair) + ([decision] if decision else [])
        tasks.append({"data": data, "annotations": [_annotation(source, one) for one in said]})
    _write(tasks, path)
    words = (*map(str, source.grades), "unusable", "later")
    choices = "\n".join(f'    <Choice value="{word}"/>' for word in words)
    with open_text(path.with_name(path.name + ".xml")) as file:
        file.write(LABELS.format(choices=choices))
    n_annotations = sum(len(task["annotations"]) for task in tasks)
    return Written({"tasks": len(tasks), "annotations": n_annotations}, left_out)


def _annotation(source: Source, judgement: Judgement) -> dict[str, Any]:
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
        "person": named(source.state.people.get(judgement.person), judgement.person),
    }


def read_label_studio(path: Path) -> Rows:
    """Read annotations; what was skipped, or has no grade, is no judgement."""
    rows: list[Row] = []
    mistakes, n_without = Mistakes(str(path)), 0
    for number, task in enumerate(_items(path, "data", "tasks of Label Studio")):
        data = task["data"]
        for index, annotation in enumerate(_of(task, "annotations", list)):
            place = f"[{number}].annotations[{index}]"
            if not isinstance(annotation, dict):
                remedy = "leave it as Label Studio exports it"
                mistakes.add(place, "", f"{shorten(annotation)} is no annotation", remedy)
                continue
            values: dict[str, Any] = {"spans": [], "note": ""}
            for result in _of(annotation, "result", list):
                _read_result(result, values, place, mistakes)
            if annotation.get("was_cancelled") or "kind" not in values:
                n_without += 1
                continue
            if isinstance(seconds := annotation.get("lead_time"), (int, float)):
                values["seconds"] = seconds
            who = annotation.get("completed_by")
            if isinstance(who, Mapping):
                who = who.get("email", who.get("id"))
            person = annotation.get("person") if who is None else f"Label Studio: {who}"
            rows.append(_row(place, values, data, person))
    mistakes.refuse()
    return Rows(rows, makes_people=True, remarks=_remarks(n_without, phrase("annotations")))


def _read_result(result: Any, values: dict[str, Any], place: str, mistakes: Mistakes) -> None:
    value = _of(result, "value", dict) if isinstance(result, dict) else {}
    match value:
        case {"choices": [str() as word]}:
            grade = grade_values(word)
            if grade is None:
                remedy = "the choices are those of the file that kragx gold export wrote"
                mistakes.add(place, "choices", f"{shorten(word)} is no grade", remedy)
                return
            values |= grade
            if isinstance(uid := result.get("id"), str):
                values["uid"] = uid
        case {"start": start, "end": end, "labels": _}:
            values["spans"].append([start, end])
        case {"text": [*texts]}:
            values["note"] = "\n".join(map(str, texts))


def write_argilla(source: Source, path: Path) -> Written:
    """Write a record for each pair; the questions are grade, evidence (spans) and note."""
    left_out: list[str] = [joined(", ", [_ALWAYS, phrase("times, and decisions")])]
    records: list[dict[str, Any]] = []
    for pair, text in _pairs(source, left_out):
        question = source.state.questions[pair[0]]
        responses: dict[str, list[dict[str, Any]]] = {}
        for one in source.said(pair):
            spans = [{"start": start, "end": end, "label": "evidence"} for start, end in one.spans]
            own = {"grade": grade_word(one), "evidence": spans, "note": one.note}
            for name, value in own.items():
                if value:
                    response = {"value": value, "user_id": _user(one.person), "status": "submitted"}
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
    return Written({"records": len(records), "responses": n_responses}, left_out)


def _user(uid: str) -> str:
    try:
        return str(uuid.UUID(uid))
    except ValueError:
        return str(uuid.uuid5(uuid.NAMESPACE_URL, f"kragx:{uid}"))


def read_argilla(path: Path) -> Rows:
    """Read responses, those of a user and record together."""
    rows: list[Row] = []
    mistakes, n_without = Mistakes(str(path)), 0
    for number, record in enumerate(_items(path, "fields", "records of Argilla")):
        people: dict[str, dict[str, Any]] = {}
        place = f"[{number}].responses"
        for name, responses in _of(record, "responses", dict).items():
            for response in responses if isinstance(responses, list) else ():
                if isinstance(response, dict) and "value" in response:
                    own = people.setdefault(str(response.get("user_id")), {})
                    own[name] = response["value"]
        for user, own in people.items():
            if "grade" not in own:
                n_without += 1
                continue
            grade = grade_values(str(own["grade"]))
            if grade is None:
                problem = f"{shorten(own['grade'])} is no grade"
                mistakes.add(place, "grade", problem, "its labels are grades, unusable and later")
                continue
            values = {**grade, "note": str(own.get("note", ""))}
            spans = (one for one in _of(own, "evidence", list) if isinstance(one, dict))
            values["spans"] = [[span.get("start"), span.get("end")] for span in spans]
            data = _of(record, "metadata", dict) | record["fields"]
            rows.append(_row(place, values, data, user))
    mistakes.refuse()
    return Rows(rows, makes_people=True, remarks=_remarks(n_without, phrase("responses")))


def users(people: Mapping[str, Any]) -> dict[str, str]:
    """The uids of people by the user ids that Argilla knows them by."""
    return {_user(uid): uid for uid in people}


def _row(place: str, values: dict[str, Any], data: Any, person: object) -> Row:
    if isinstance(data, Mapping):
        values |= {
            name: data[key]
            for name, key in (("question", "question_uid"), ("document", "document_id"))
            if key in data
        }
    question = data.get("question") if isinstance(data, Mapping) else None
    return Row(
        Judgement,
        place,
        values,
        question=None if question is None else str(question),
        person=None if person is None else str(person),
    )


def _remarks(n_without: int, what: str) -> tuple[str, ...]:
    remark = phrase("{n} {what} without a grade, or skipped", n=n_without, what=what)
    return (remark,) if n_without else ()


def _items(path: Path, mark: str, what: str) -> list[dict[str, Any]]:
    items = json_of(path)
    if not isinstance(items, list) or not all(
        isinstance(item, dict) and isinstance(item.get(mark), dict) for item in items
    ):
        problem = f"no {what}: a list of objects with {mark!r} is expected"
        raise DataError(problem, path=str(path), remedy="export it as JSON, or name another --form")
    return items


def _of(value: Mapping[str, Any], name: str, kind: type) -> Any:
    own = value.get(name)
    return own if isinstance(own, kind) else kind()
