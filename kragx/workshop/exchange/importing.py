"""Questions and judgements out of a file: all of them, or none and every mistake."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kragx.data.documents import Doc
from kragx.data.formats.jsonl import read_records
from kragx.data.formats.tabular import read_csv
from kragx.ground.errors import DataError, UsageError, nearest, shorten
from kragx.ground.printing import Line, Part, Result, counted, joined, phrase
from kragx.workshop.exchange.merging import Merge
from kragx.workshop.exchange.rows import WORDS, ExportSource, of_cells
from kragx.workshop.pairs.moved import ORIGIN
from kragx.workshop.state.records import Judgement, Person, Question, SuggestedDocument
from kragx.workshop.state.state import State

_FORMS = ("csv", "jsonl", "moved")


@dataclass(frozen=True)
class Imported(Result):
    """What came out of a file.

    Attributes:
        path: the file.
        form: its form.
        people, questions, judgements, candidates: how many records were added.
        changed: how many judgements and questions of them say something else than before.
        unchanged: rows that say what the workshop says already.
        author: whose the judgements are that named nobody; None if there are none.
        remarks: what else to know, in words.
    """

    path: Path
    form: str
    people: int
    questions: int
    judgements: int
    candidates: int
    changed: int
    unchanged: int
    author: str | None
    remarks: tuple[str, ...]

    def describe(self) -> Iterator[Part]:
        """What came, and what did not."""
        counts = (self.people, self.questions, self.judgements, self.candidates)
        added = counted({name: n for name, n in zip(WORDS.values(), counts) if n}) or phrase(
            "nothing new"
        )
        summary = phrase(
            "imported from {path} ({form}): {added}", path=self.path, form=self.form, added=added
        )
        changed = phrase("{n} of them changes", n=self.changed) if self.changed else ""
        yield Line(joined(", ", [summary, changed]))
        if self.author is not None:
            yield Line(phrase("rows that name nobody are judgements of {name}", name=self.author))
        if self.unchanged:
            yield Line(phrase("rows that say what is known already: {n}", n=self.unchanged))
        for words in self.remarks:
            yield Line(words)


def import_file(
    state: State,
    path: str | Path,
    *,
    documents: Mapping[str, Doc],
    grades: Mapping[int, str],
    form: str | None = None,
    person: str | None = None,
) -> Imported:
    """Take the questions and judgements of a file into a workshop.

    A row with a uid that is known changes nothing if it says the same, and is a new judgement of
    the same person (or the question's new wording) if not; one with another uid, or none, is added.
    The same file again adds nothing.

    Args:
        state: of the workshop.
        path: the file.
        documents: of its corpus, by id.
        grades: of the scale.
        form: ``csv``, ``jsonl``, or ``moved`` for what `kragx gold move` leaves; None recognises
            it.
        person: the name of whose the judgements are that name nobody; a new name is somebody new.

    Raises:
        DataError: rows are wrong; all are listed, and nothing is imported.
        UsageError: there is no such form.
    """
    # A person may name the form: a spreadsheet's export need not end with .csv.
    path = Path(path)
    form = form or _form_of(path)
    if form not in _FORMS:
        problem = f"no form that is read is called {form!r}"
        raise UsageError(problem, field="--form", remedy=nearest(form, _FORMS))
    rows, n_without = _read_moved(path) if form == "moved" else (_read(path, form), 0)
    source = ExportSource(state, documents, grades)
    with state.lock:
        is_added = False
        while not is_added:  # another import may have come in between
            n_imports = state.store.imported()
            state.refresh()
            # Made anew each time, as it holds rows against what the workshop has by now.
            merge = Merge(source, rows, path, person, is_moved=form == "moved")
            is_added = state.add(merge.added, n_imports)
    kinds = [type(record) for record in merge.added]
    remark = phrase(
        "{n} gold texts are in no chunk: search for what answers the question now, or leave them "
        "as they are",
        n=n_without,
    )
    return Imported(
        path,
        form,
        people=kinds.count(Person),
        questions=kinds.count(Question),
        judgements=kinds.count(Judgement),
        candidates=kinds.count(SuggestedDocument),
        changed=merge.n_changed,
        unchanged=merge.n_unchanged,
        author=merge.author,
        remarks=(remark,) if n_without else (),
    )


def _form_of(path: Path) -> str:
    """The form of a file by its name's end and its first record."""
    end = path.name.lower().removesuffix(".gz").rpartition(".")[2]
    if end in ("csv", "tsv"):
        return "csv"
    if end not in ("jsonl", "ndjson"):
        remedy = f"name it with --form ({', '.join(_FORMS)})"
        raise UsageError(f"{path}: of no form that its name tells", remedy=remedy)
    _, first = next(read_records(path), (0, {}))
    if "record" in first:
        return "jsonl"
    if first and not {"verdict", "candidates"} <= first.keys():
        remedy = "a gold set comes in with kragx gold start --gold"
        problem = f"{path}: neither an export nor what kragx gold move has left"
        raise UsageError(problem, remedy=remedy)
    return "moved"


def _read(path: Path, form: str) -> list[tuple[str, Mapping[str, Any]]]:
    """The places of a file and what stands there, by column."""
    if form == "csv":
        # Rows as a spreadsheet counts them, since passages have many lines.
        rows = enumerate((cells for _, cells in read_csv(path)), start=2)
        return [(f"row {number}", of_cells(cells)) for number, cells in rows]
    return [(f"line {number}", columns) for number, columns in read_records(path)]


def _read_moved(path: Path) -> tuple[list[tuple[str, Mapping[str, Any]]], int]:
    """Gold that nobody could place: a question each, a candidate for each chunk it may be in.

    Beside them, how many gold texts no chunk has.

    Raises:
        DataError: a line is of another kind.
    """
    questions: dict[str, dict[str, Any]] = {}
    candidates: list[tuple[str, Mapping[str, Any]]] = []
    n_without = 0
    for number, line in read_records(path):
        try:
            uid, text, verdict = line["query_id"], line["query"], line["verdict"]
            item = {"text": line["gold"]["text"], "grade": line["gold"].get("grade", 1)}
            old = {"old_id": line["gold"]["id"]} if "id" in line["gold"] else {}
            chunks = [(chunk["id"], float(chunk["share"])) for chunk in line["candidates"]]
            is_item = "." not in line["field"]  # an alternative is no item of its own
            columns = {"record": "question", "uid": uid, "question": text, "origin": "file"}
            question = questions.setdefault(uid, columns | {"gold": []})
        except (KeyError, TypeError, ValueError, AttributeError):
            problem = f"{shorten(line)} is no gold that is left"
            remedy = "name the file that kragx gold move wrote"
            raise DataError(problem, path=f"{path}:line {number}", remedy=remedy) from None
        if is_item:
            question["gold"].append({**item, "metadata": {"moved": verdict, **old}})
        n_without += not chunks
        columns = {"record": "candidate", "question_uid": uid, "question": text, "origin": ORIGIN}
        columns |= {"detail": item["text"]}
        for document, share in chunks:
            candidates.append((f"line {number}", columns | {"document": document, "score": share}))
    return [
        *((f"query {uid}", columns) for uid, columns in questions.items()),
        *candidates,
    ], n_without
