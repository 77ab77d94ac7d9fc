"""Questions and judgements out of a file: all of them, or none and every mistake."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from kragx.data.documents import Doc
from kragx.data.formats.jsonl import read_records
from kragx.ground.errors import UsageError, nearest
from kragx.ground.printing import Line, Part, Result, counted, joined, phrase
from kragx.workshop.exchange.lines import read_doubts, read_jsonl
from kragx.workshop.exchange.merging import Merge
from kragx.workshop.exchange.rows import FileRows
from kragx.workshop.exchange.sheet import read_sheet
from kragx.workshop.state.records import Judgement, Person, Question, SuggestedDocument
from kragx.workshop.state.state import State

READERS: Mapping[str, Callable[[Path], FileRows]] = {
    "csv": read_sheet,
    "jsonl": read_jsonl,
    "moved": read_doubts,
}
"""By the name of a form what reads it."""


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
        counts = {
            phrase("people"): self.people,
            phrase("questions"): self.questions,
            phrase("judgements"): self.judgements,
            phrase("candidates"): self.candidates,
        }
        added = counted({name: n for name, n in counts.items() if n}) or phrase("nothing new")
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
        form: as of `export_file`; None recognises it.
        person: the name of whose the judgements are that name nobody; a new name is somebody new.

    Raises:
        DataError: rows are wrong; all are listed, and nothing is imported.
        UsageError: there is no such form.
    """
    path = Path(path)
    form = form or _form_of(path)
    if form not in READERS:
        problem = f"no form that is read is called {form!r}"
        raise UsageError(problem, field="--form", remedy=nearest(form, READERS))
    rows = READERS[form](path)
    with state.lock:
        is_added = False
        while not is_added:  # another import may have come in between
            n_imports = state.store.imported()
            state.refresh()
            # Made anew each time, as it holds rows against what the workshop has by now.
            merge = Merge(state, rows, path, documents, grades, person)
            merge.take()
            is_added = state.add(merge.added, n_imports)
        kinds = [type(record) for record in merge.added]
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
            remarks=rows.remarks,
        )


def _form_of(path: Path) -> str:
    """The form of a file by its name's end and its first record."""
    end = path.name.lower().removesuffix(".gz").rpartition(".")[2]
    if end in ("csv", "tsv"):
        return "csv"
    if end not in ("jsonl", "ndjson"):
        remedy = f"name it with --form ({', '.join(READERS)})"
        raise UsageError(f"{path}: of no form that its name tells", remedy=remedy)
    _, first = next(read_records(path), (0, {}))
    if "record" in first:
        return "jsonl"
    if first and not {"verdict", "candidates"} <= first.keys():
        remedy = "a gold set comes in with kragx gold start --gold"
        problem = f"{path}: neither an export nor what kragx gold move has left"
        raise UsageError(problem, remedy=remedy)
    return "moved"
