"""Questions and judgements into a file."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from kragx.ground.errors import UsageError, nearest
from kragx.ground.printing import Line, Part, Result, counted, phrase
from kragx.workshop.exchange import tools
from kragx.workshop.exchange.lines import write_jsonl
from kragx.workshop.exchange.rows import ExportSource, Report
from kragx.workshop.exchange.sheet import write_csv
from kragx.workshop.names import people_called
from kragx.workshop.state.state import State

WRITERS: Mapping[str, Callable[[ExportSource, Path], Report]] = {
    "csv": write_csv,
    "jsonl": write_jsonl,
    "qrels": tools.write_qrels,
    "quepid": tools.write_quepid,
    "labelstudio": tools.write_label_studio,
}
"""By the name of a form what writes it."""


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
    if form not in WRITERS:
        raise UsageError(f"unknown form {form!r}", field="--form", remedy=nearest(form, WRITERS))
    if str(path) == "-":
        raise UsageError("a file is written; name one", field="--out")
    path, state = Path(path), source.state
    with state.lock:
        state.refresh()
        counts, left_out = WRITERS[form](source, path)
        n_marks = sum(map(len, state.marked.values()))
    if n_marks and form not in ("csv", "jsonl"):
        left_out = [*left_out, phrase("{n} marks of what must not be found", n=n_marks)]
    return Exported(path, form, dict(counts), tuple(left_out))


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
