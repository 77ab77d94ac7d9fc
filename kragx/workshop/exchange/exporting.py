"""Questions and judgements into a file."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kragx.data.formats.cells import csv_line
from kragx.data.formats.jsonl import open_text, write_records
from kragx.ground.errors import UsageError, nearest
from kragx.ground.printing import Line, Part, Result, counted, phrase
from kragx.workshop.exchange import tools
from kragx.workshop.exchange.rows import SHEET, WORDS, ExportSource, cell
from kragx.workshop.names import people_called
from kragx.workshop.state.records import Judgement, Release, StoredRecord
from kragx.workshop.state.state import State

MOST_CELL = 32_767
"""Characters that Excel keeps of a cell; of a passage no more are written."""


@dataclass(frozen=True)
class Exported(Result):
    """A file that was written.

    Attributes:
        path: where.
        form: which.
        counts: how many of what stand in it.
        left_out: what the form has no place for, in words.
    """

    path: Path
    form: str
    counts: Mapping[str, int]
    left_out: tuple[str, ...]

    def describe(self) -> Iterator[Part]:
        """What was written, and what was not."""
        counts = counted(self.counts) or phrase("nothing")
        yield Line(phrase("written: {path} ({counts})", path=self.path, counts=counts))
        for words in self.left_out:
            yield Line(phrase("not in {form}: {what}", form=self.form, what=words))


def export_file(source: ExportSource, form: str, path: str | Path) -> Exported:
    """Write the questions and judgements of a workshop.

    Args:
        source: the workshop.
        form: ``csv``, ``jsonl``, ``qrels``, ``quepid`` or ``labelstudio``.
        path: the file, which is written anew.

    Raises:
        DataError: an id cannot stand in a file of this form.
        UsageError: there is no such form, or the file cannot be written.
    """
    if form not in _WRITERS:
        raise UsageError(f"unknown form {form!r}", field="--form", remedy=nearest(form, _WRITERS))
    if str(path) == "-":
        raise UsageError("a file is written; name one", field="--out")
    path, state = Path(path), source.state
    # Nobody judges meanwhile: what is counted as left out is of the same moment as the rows.
    with state.lock:
        state.refresh()
        counts, left_out = _WRITERS[form](source, path)
        n_marks = sum(map(len, state.marked.values()))
    if n_marks and form not in ("csv", "jsonl"):
        left_out = [*left_out, phrase("{n} marks of what must not be found", n=n_marks)]
    return Exported(path, form, dict(counts), tuple(left_out))


def _write_csv(source: ExportSource, path: Path) -> tools.Report:
    """Write people, questions and judgements, in UTF-8 with a mark, as Excel wants it."""
    state = source.state
    # Every judgement as it came: what is taken back brings the one before it back.
    judgements = (record for record in state.store.after({}) if isinstance(record, Judgement))
    rows = _rows(source, [*state.people.values(), *state.questions.values(), *judgements])
    with open_text(path, "utf-8-sig") as file:
        file.write(csv_line(SHEET))
        for row in rows:
            if row["record"] == "judgement":
                row["passage"] = (source.text(row["document"]) or "")[:MOST_CELL]
            file.write(csv_line(cell(column, row.get(column)) for column in SHEET))
    n_suggested = sum(map(len, state.candidates.values()))
    left_out = phrase("{n} suggested pairs: --form jsonl has them", n=n_suggested)
    return _counts(rows), [left_out] if n_suggested else []


def _write_jsonl(source: ExportSource, path: Path) -> tools.Report:
    """Write every record, earlier wordings too; of one person, without what others judged."""
    rows = _rows(source, source.state.store.after({}))
    write_records(rows, path)
    n_releases = len(source.state.releases)
    left_out = phrase("{n} releases: they are files of the folder", n=n_releases)
    return _counts(rows), [left_out] if n_releases else []


def _rows(source: ExportSource, records: Iterable[StoredRecord]) -> list[dict[str, Any]]:
    """The rows of records, numbered, as a spreadsheet may sort them."""
    return [
        source.row(record) | {"number": number}
        for number, record in enumerate(records, start=1)
        if not isinstance(record, Release)
        and not (isinstance(record, Judgement) and source.person not in (None, record.person))
    ]


def _counts(rows: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    counts = Counter(row["record"] for row in rows)
    return {words: counts[word] for word, words in WORDS.items() if counts[word]}


_WRITERS: Mapping[str, Callable[[ExportSource, Path], tools.Report]] = {
    "csv": _write_csv,
    "jsonl": _write_jsonl,
    "qrels": tools.write_qrels,
    "quepid": tools.write_quepid,
    "labelstudio": tools.write_label_studio,
}


def person_of(state: State, name: str) -> str:
    """The uid of the one person of a name.

    Raises:
        UsageError: nobody has it, or several have.
    """
    people = people_called(name, state.people.values())
    if not people:
        names = [person.name for person in state.people.values()]
        problem = f"nobody is called {name!r}"
        raise UsageError(problem, field="--person", remedy=nearest(name, names))
    if len(people) > 1:
        raise UsageError(f"{len(people)} people are called {name!r}", field="--person")
    return people[0].uid
