"""Questions and judgements into a file: rows, TREC qrels, Quepid's ratings, Label Studio's tasks.

A row is a record by column, in cells of CSV and in lines of JSON. Beside the uids of its question
and person stand the question's text and the person's name, which are enough where somebody writes
one; a row without ``uid`` is new. Sources: app/services/ratings_importer.rb of
github.com/o19s/quepid; labelstud.io/guide/task_format, /tags/choices, /tags/labels, /tags/textarea.
"""

import csv
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kragx.data import Gold, GoldDataset, Query
from kragx.data.documents import Doc
from kragx.data.formats.cells import csv_line
from kragx.data.formats.jsonl import open_text, to_json, write_records
from kragx.data.formats.trec import write_qrels
from kragx.ground.printing import Line, Part, Result, counted, message
from kragx.workshop.pairs.standing import USUAL_TOP, standing
from kragx.workshop.state import records
from kragx.workshop.state.state import State

KINDS: Mapping[str, type[records.StoredRecord]] = {
    "person": records.Person,
    "question": records.Question,
    "candidate": records.SuggestedDocument,
    "judgement": records.Judgement,
}
"""By the word of a row what record it is, those before that others refer to."""

_WORDS = (message("people"), message("questions"), message("candidates"), message("judgements"))
"""What they are called where they are counted."""

SHEET = (
    *("record", "question", "passage", "grade", "why", "note", "person", "document", "evidence"),
    *("query_type", "difficulty", "answerable", "reference", "state", "decision"),
    *("uid", "question_uid", "person_uid", "at", "purpose", "origin", "role"),
    *("sources", "gold", "metadata", "forbidden", "history", "weight", "inclusion"),
)
"""The columns of a spreadsheet, which has no suggestions."""

_COLUMN_OF = {
    "name": "person",
    "text": "question",
    "question": "question_uid",
    "person": "person_uid",
    "spans": "evidence",
    "is_decision": "decision",
}
"""The columns that are not called like their fields."""

JSON_COLUMNS = (records.AS_JSON - {"spans"}) | {"evidence"}

EMPTY: Mapping[str, Any] = {
    "note": "",
    "decision": False,
    "metadata": {},
    **dict.fromkeys(("sources", "gold", "history", "evidence"), ()),
    **dict.fromkeys(("query_type", "difficulty", "reference", "answerable", "forbidden")),
}
"""What an empty cell says; in other columns it says nothing."""

Report = tuple[Mapping[str, int], Sequence[str]]
"""How many of what, in words, stand in a file, and what its form has no place for."""

_LABELS = """\
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
_UNRATED = {
    "conflict": message("that people grade differently and nobody has decided"),
    "unusable": message("that are unusable"),
}
"""Why a pair that was judged has no grade."""


@dataclass(frozen=True)
class ExportSource:
    """What there is to write, or to hold a file against.

    Attributes:
        state: of its workshop.
        documents: of its corpus, by id.
        grades: of the scale, with their words.
        person: the uid of whose judgements alone are wanted; None for all.
    """

    state: State
    documents: Mapping[str, Doc]
    grades: Mapping[int, str]
    person: str | None = None

    def takes(self, record: records.StoredRecord) -> bool:
        """Whether a record is written: judgements may be one person's, releases are files."""
        if isinstance(record, records.Judgement):
            return self.person in (None, record.person)
        return not isinstance(record, records.Release)

    def text(self, document: str) -> str | None:
        """The text of a document; None if there is none of this id."""
        doc = self.documents.get(document)
        return None if doc is None else doc.text or ""

    def row(self, record: records.StoredRecord) -> dict[str, Any]:
        """What a record says, by column."""
        state, kind = self.state, type(record)
        row: dict[str, Any] = {"record": next(word for word in KINDS if KINDS[word] is kind)}
        row |= {column: getattr(record, name) for name, column in columns_of(kind).items()}
        if (person := state.people.get(row.get("person_uid", ""))) is not None:
            row["person"] = person.name
        if (question := state.questions.get(row.get("question_uid", ""))) is not None:
            row["question"] = question.text
        return row | ({"grade": _grade(record)} if isinstance(record, records.Judgement) else {})


def columns_of(kind: type[records.StoredRecord]) -> dict[str, str]:
    """By field the column; a judgement's kind and grade are one word or number."""
    names = (name for name in kind.columns() if name not in ("kind", "grade"))
    return {name: _COLUMN_OF.get(name, name) for name in names}


def _grade(judgement: records.Judgement) -> str | int:
    return judgement.kind if judgement.grade is None else judgement.grade


def _cell(column: str, value: object) -> object:
    """A value as a cell of a spreadsheet; empty where that says the same."""
    if value is None or (column in EMPTY and value == EMPTY[column]):
        return None
    # In ASCII, which every encoding holds.
    return json.dumps(value) if column in JSON_COLUMNS else value


@dataclass(frozen=True)
class Exported(Result):
    """A file that was written.

    Attributes:
        path: where.
        form: which.
        counts: how many of what stand in it.
        remarks: what the form has no place for, in words.
    """

    path: Path
    form: str
    counts: Mapping[str, int]
    remarks: tuple[str, ...]

    def describe(self) -> Iterator[Part]:
        """What was written, and what was not."""
        counts = counted(self.counts) or message("nothing")
        yield Line(message("written: {path} ({counts})", path=self.path, counts=counts))
        for words in self.remarks:
            yield Line(message("not in {form}: {what}", form=self.form, what=words))


def export_file(source: ExportSource, form: str, path: str | Path) -> Exported:
    """Write the questions and judgements of a workshop.

    Args:
        source: the workshop.
        form: ``csv``, ``jsonl``, ``qrels``, ``quepid`` or ``labelstudio``.
        path: the file, which is written anew.

    Raises:
        DataError: an id cannot stand in a file of this form.
        UsageError: the file cannot be written.
    """
    path, state = Path(path), source.state
    # Nobody judges meanwhile: what is counted as left out is of the same moment as the rows.
    with state.lock:
        state.refresh()
        counts, left_out = _WRITERS[form](source, path)
    return Exported(path, form, dict(counts), tuple(left_out))


def _write_csv(source: ExportSource, path: Path) -> Report:
    """Write people, questions and judgements, in UTF-8 with a mark, as Excel wants it."""
    state = source.state
    # Every judgement as it came: what is taken back brings the one before it back.
    judgements = (
        record for record in state.store.after({}) if isinstance(record, records.Judgement)
    )
    rows = [*state.people.values(), *state.questions.values(), *filter(source.takes, judgements)]
    with open_text(path, "utf-8-sig") as file:
        file.write(csv_line(SHEET))
        for row in map(source.row, rows):
            if row["record"] == "judgement":
                row["passage"] = (source.text(row["document"]) or "")[:32_767]  # as Excel keeps
            file.write(csv_line(_cell(column, row.get(column)) for column in SHEET))
    return counts_of(rows), []


def _write_jsonl(source: ExportSource, path: Path) -> Report:
    """Write every record, earlier wordings too; of one person, without what others judged."""
    rows = [*filter(source.takes, source.state.store.after({}))]
    write_records(map(source.row, rows), path)
    return counts_of(rows), []


def counts_of(rows: Iterable[records.StoredRecord]) -> dict[str, int]:
    """How many rows of each kind there are, by what people call them."""
    counts = Counter(map(type, rows))
    return {word: counts[kind] for word, kind in zip(_WORDS, KINDS.values()) if counts[kind]}


def _documents(state: State, uid: str) -> list[str]:
    """What was suggested or judged for a question."""
    # What is suggested first, so that documents keep their order as people judge.
    return [*dict.fromkeys((*state.candidates.get(uid, ()), *state.judged.get(uid, ())))]


def _rated(source: ExportSource) -> tuple[list[Query], list[str]]:
    """Open questions with the one grade, of all or of one person, of each pair that has it.

    Beside them, how many pairs that were judged have none.
    """
    state, queries, reasons = source.state, list[Query](), Counter[str]()
    for question in state.open_questions():
        golds: list[Gold] = []
        for document in _documents(state, question.uid):
            grade, why = _rating(source, question.uid, document)
            golds += [] if grade is None else [Gold(document, grade=float(grade))]
            reasons[why] += 1
        queries.append(Query(question.uid, question.text, tuple(golds)))
    whys = (why for why in _UNRATED if reasons[why])
    return queries, [message("{n} pairs {why}", n=reasons[why], why=_UNRATED[why]) for why in whys]


def _rating(source: ExportSource, uid: str, document: str) -> tuple[float | None, str]:
    """The grade of a pair, and what it has without one."""
    if source.person is None:
        verdict = standing(source.state, uid, [document])
        return verdict.grade, verdict.state
    row = source.state.newest((uid, document), source.person)
    return (None, "open") if row is None else (row.grade, row.kind)


def _write_qrels(source: ExportSource, path: Path) -> Report:
    """Write a line for each graded pair."""
    queries, left_out = _rated(source)
    write_qrels(GoldDataset(tuple(queries), name=path.name), path)
    if max(source.grades) == USUAL_TOP:
        left_out.append(
            message("what is gold: a 1 answers nothing, so score with rel=2, or with a release")
        )
    return {message("grades"): sum(len(query.gold) for query in queries)}, left_out


def _write_quepid(source: ExportSource, path: Path) -> Report:
    """Write the ratings of a case; a question without any has a line with its text alone."""
    queries, left_out = _rated(source)
    rows = [(q.text, gold.id, f"{gold.grade:g}") for q in queries for gold in q.gold]
    # Quepid makes a case's questions of its ratings: one that is not there would be lost.
    idle = [(query.text, "", "") for query in queries if not query.gold]
    with open_text(path) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("query", "docid", "rating"))
        for row in (*rows, *idle):  # Quepid strips the space, and no spreadsheet computes a cell
            writer.writerow([f" {c}" if str(c).startswith(tuple("=+-@")) else c for c in row])
    return {message("grades"): len(rows), message("questions without a grade"): len(idle)}, left_out


def _write_label_studio(source: ExportSource, path: Path) -> Report:
    """Write a task for each pair, and beside it the labelling interface as ``FILE.xml``."""
    questions = source.state.open_questions()
    pairs = [(q, document) for q in questions for document in _documents(source.state, q.uid)]
    tasks = [_task(source, *pair) for pair in pairs if pair[1] in source.documents]
    words = (*map(str, source.grades), "unusable", "later")
    choices = "\n".join(f'    <Choice value="{word}"/>' for word in words)
    texts = {path: to_json(tasks, indent=1) + "\n"}
    texts[path.with_name(path.name + ".xml")] = _LABELS.format(choices=choices)
    for target, text in texts.items():
        with open_text(target) as file:
            file.write(text)
    n_absent, n_annotations = len(pairs) - len(tasks), sum(len(t["annotations"]) for t in tasks)
    absent = message("{n} pairs whose document the corpus does not have", n=n_absent)
    counts: dict[str, int] = {
        message("tasks"): len(tasks),
        message("annotations"): n_annotations,
    }
    return counts, [absent] if n_absent else []


def _task(source: ExportSource, question: records.Question, document: str) -> dict[str, Any]:
    """A pair as Label Studio has it, with what each person says of it now, and what was decided."""
    state, pair, text = source.state, (question.uid, document), source.text(document) or ""
    judgements = [rows[-1] for rows in state.judgements.get(pair, {}).values() if rows]
    judgements += state.decisions.get(pair, [])[-1:]
    data = {"question": question.text, "document": text}
    return {
        "data": data | {"question_uid": question.uid, "document_id": document},
        "annotations": [
            {"result": [*_results(judgement, text)], "ground_truth": judgement.is_decision}
            for judgement in filter(source.takes, judgements)
        ],
    }


def _results(judgement: records.Judgement, text: str) -> Iterator[dict[str, Any]]:
    values: list[tuple[str, str, dict[str, Any]]] = [
        ("grade", "choices", {"choices": [str(_grade(judgement))]})
    ]
    for start, end in judgement.spans:
        stretch = {"start": start, "end": end, "text": text[start:end], "labels": ["evidence"]}
        values.append(("evidence", "labels", stretch))
    if judgement.note:
        values.append(("note", "textarea", {"text": [judgement.note]}))
    for name, kind, value in values:
        yield {"from_name": name, "to_name": "document", "type": kind, "value": value}


_WRITERS: Mapping[str, Callable[[ExportSource, Path], Report]] = {
    "csv": _write_csv,
    "jsonl": _write_jsonl,
    "qrels": _write_qrels,
    "quepid": _write_quepid,
    "labelstudio": _write_label_studio,
}
