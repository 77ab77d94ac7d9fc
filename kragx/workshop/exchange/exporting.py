"""Questions and judgements into a file."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from kragx.errors import UsageError, nearest
from kragx.printing import Line, Part, Result, counted, phrase
from kragx.workshop.exchange.forms import form_of
from kragx.workshop.exchange.rows import Source
from kragx.workshop.names import same
from kragx.workshop.state.state import State

_WORDS: Mapping[str, str] = {
    "people": phrase("people"),
    "questions": phrase("questions"),
    "judgements": phrase("judgements"),
    "candidates": phrase("candidates"),
    "person rows": phrase("person rows"),
    "question rows": phrase("question rows"),
    "judgement rows": phrase("judgement rows"),
    "grades": phrase("grades"),
    "questions without a grade": phrase("questions without a grade"),
    "tasks": phrase("tasks"),
    "annotations": phrase("annotations"),
    "records": phrase("records"),
    "responses": phrase("responses"),
}
"""What a form counts, to be said."""


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
        counts = {_WORDS.get(name, name): n for name, n in self.counts.items()}
        yield Line(
            phrase(
                "written: {path} ({counts})",
                path=self.path,
                counts=counted(counts) or phrase("nothing"),
            )
        )
        for words in self.left_out:
            yield Line(phrase("not in {form}: {what}", form=self.form, what=words))


def export_file(source: Source, form: str, path: str | Path) -> Exported:
    """Write the questions and judgements of a workshop.

    Args:
        source: the workshop.
        form: ``csv``, ``json``, ``qrels``, ``quepid``, ``labelstudio`` or ``argilla``.
        path: the file, which is written anew.

    Raises:
        DataError: an id cannot stand in a file of this form.
        UsageError: there is no such form, or the file cannot be written.
    """
    writer = form_of(form).write
    if writer is None:
        raise UsageError(f"{form} is only read", field="--form", remedy="name another")
    if source.person is not None and form in ("csv", "json"):
        remedy = "leave it out, or name --form qrels, quepid, labelstudio or argilla"
        raise UsageError(f"{form} holds everybody's", field="--person", remedy=remedy)
    path, state = Path(path), source.state
    if str(path) == "-":
        raise UsageError("a file is written; name one", field="--out")
    with state.lock:
        state.refresh()
        written = writer(source, path)
    return Exported(path, form, dict(written.counts), tuple(written.left_out))


def person_of(state: State, name: str) -> str:
    """The uid of the one person of a name.

    Raises:
        UsageError: nobody has it, or several have.
    """
    people = state.people.values()
    uids = [person.uid for person in people if person.name == name]
    uids = uids or [person.uid for person in people if same(person.name, name)]
    if not uids:
        names = [person.name for person in state.people.values()]
        problem = f"nobody is called {name!r}"
        raise UsageError(problem, field="--person", remedy=nearest(name, names))
    if len(uids) > 1:
        raise UsageError(f"{len(uids)} people are called {name!r}", field="--person")
    return uids[0]
