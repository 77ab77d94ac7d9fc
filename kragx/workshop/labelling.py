"""Labelling in a terminal: one pair after the other, each stored before the next is shown.

The judgements are in a workshop's store; qrels are written from it after each. Who has no workshop
has one for as long as the work takes, and the qrels are what stays.
"""

from __future__ import annotations

import tempfile
import unicodedata
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from kragx.agreement.label_files import Label, Pair
from kragx.agreement.labels import Scale, collected
from kragx.agreement.sample import PairToLabel, Sample
from kragx.data import normalise
from kragx.data.formats.jsonl import open_text
from kragx.data.formats.trec import iter_qrels
from kragx.errors import DataError, UsageError
from kragx.printing import Line, Result, in_language, inert, joined, phrase
from kragx.workshop.exchange import person_of
from kragx.workshop.folder.folder import DATABASE, Workshop
from kragx.workshop.forms import annotators_name
from kragx.workshop.names import alike, of_name
from kragx.workshop.state.records import Judgement, Kind, Person
from kragx.workshop.state.state import State
from kragx.workshop.state.store import Store

if TYPE_CHECKING:
    from rich.console import Console


def labels_in(path: Path, scale: Scale) -> dict[Pair, int]:
    """The labels that a file has by now, in its order; none if it is new.

    Raises:
        DataError: it holds a label off the scale, or two different ones of a pair.
        UsageError: its name is that of a compressed one.
    """
    if path.suffix == ".gz":
        remedy = "name a file without .gz"
        raise UsageError(f"{path}: labels are written one by one, not compressed; {remedy}")
    labels = []
    for number, query, document, grade in iter_qrels(path) if path.exists() else ():
        if grade not in scale:
            raise DataError(
                f"{path}:{number}: the label {grade:g} is not on the scale of "
                f"{scale}; name the scale it belongs to with --scale, or another file"
            )
        labels.append(Label(grade, query, doc_id=document, place=f"line {number}"))
    known = collected(labels, str(path)).grades if labels else {}
    return {pair: int(grade) for pair, grade in known.items()}


class Sheet:
    """What one person says of the pairs of a sample: in a workshop's store, and as qrels.

    Where store and file differ when the work begins, what was said last counts; labels of other
    pairs stay in the file as they are.

    Args:
        path: the file with the labels, written anew after each.
        sample: what is labelled.
        scale: of the labels.
        state: what the store holds.
        person: the uid of who labels.

    Attributes:
        of_file, of_store: how many labels the other one of the two did not have.
        taken_back: how many labels left the file, as the person says no grade any more.

    Raises:
        DataError, UsageError: as `labels_in`, or the file cannot be written.
    """

    def __init__(self, path: Path, sample: Sample, scale: Scale, state: State, person: str) -> None:
        self.path: Path = path
        self.sample: Sample = sample
        self.scale: Scale = scale
        self.state: State = state
        self._person = person
        self._pairs = {pair.ids for pair in sample.items}
        written, stored = labels_in(path, scale), self.grades
        self._others = {pair: own for pair, own in written.items() if pair not in self._pairs}
        changed = datetime.fromtimestamp(path.stat().st_mtime if written else 0, UTC).isoformat(
            timespec="microseconds"
        )
        times = state.times(person)
        news = [
            self._judgement(pair, "grade", grade)
            for pair, grade in written.items()
            if pair in self._pairs and grade != stored.get(pair) and times.get(pair, "") < changed
        ]
        state.add(news)
        self.of_file: int = len(news)
        now = self.grades
        self.of_store: int = sum(written.get(pair) != grade for pair, grade in now.items())
        self.taken_back: int = len((written.keys() & self._pairs) - now.keys())
        if self.of_store or self.taken_back:
            self._write()

    @property
    def settled(self) -> dict[Pair, int | None]:
        """What the person says of pairs of the sample now, as it came; None is "unusable"."""
        settled: dict[Pair, int | None] = {}
        for row in self.state.history.get(self._person, ()):
            pair = (row.question, row.document)
            if pair in self._pairs and row.kind != "later" and not row.is_decision:
                settled.pop(pair, None)
                settled[pair] = row.grade
        return settled

    @property
    def grades(self) -> dict[Pair, int]:
        """The labels among them."""
        return {pair: grade for pair, grade in self.settled.items() if grade is not None}

    def put(self, pair: Pair, grade: int) -> None:
        """Store a label, and write the file."""
        self.state.add([self._judgement(pair, "grade", grade)])
        self._write()

    def take_back(self, pair: Pair) -> None:
        """Take back all that the person has said of a pair, and write the file."""
        said = self.state.judgements[pair][self._person]
        self.state.add([self._judgement(pair, "undone") for _ in said])
        self._write()

    def _judgement(self, pair: Pair, kind: Kind, grade: int | None = None) -> Judgement:
        own = {"question": pair[0], "document": pair[1], "person": self._person}
        return Judgement(**own, kind=kind, grade=grade, purpose="terminal")  # type: ignore[arg-type]

    def _write(self) -> None:
        labels = self._others | self.grades
        with open_text(self.path) as file:
            file.writelines(
                f"{query} 0 {document} {grade}\n" for (query, document), grade in labels.items()
            )


@contextmanager
def sheet(
    path: Path,
    sample: Sample,
    scale: Scale,
    workshop: Workshop | None = None,
    person: str = "",
) -> Iterator[Sheet]:
    """What somebody labels a sample on.

    Args:
        path: the file with the labels.
        sample: what is labelled.
        scale: of the labels.
        workshop: whose store it is; None for one that is gone in the end.
        person: of the workshop, by name; somebody new if nobody has it.

    Raises:
        UsageError: the workshop is another one than of the sample, or has another scale; or nobody
            can be called so.
    """
    with ExitStack() as stack:
        if workshop is None:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="kragx-label-"))
            store = stack.enter_context(Store(Path(folder) / DATABASE))
        else:
            store = stack.enter_context(workshop.store())
        state = State(store)
        if workshop is not None:
            _check(workshop, state, sample, scale)
        known = of_name(person, state.people.values())
        if known is None:
            name = person if workshop is None else annotators_name(person, "--person")
            known = Person(name=_unlike(name, state))
            state.add([known])
        person = known.name
        yield Sheet(path, sample, scale, state, person_of(state, person))


def _unlike(name: str, state: State) -> str:
    """A name that looks like nobody else's.

    Raises:
        UsageError: it does.
    """
    for other in state.people.values():
        if alike(other.name, name):
            problem = f"{name!r} looks like {other.name!r}, who is here already"
            raise UsageError(problem, field="--person", remedy="write it the same, or another one")
    return name


def _check(workshop: Workshop, state: State, sample: Sample, scale: Scale) -> None:
    """Raise a `UsageError` unless the labels of a sample mean the same in a workshop."""
    field, documents = f"--workshop {workshop.folder}", workshop.documents
    if set(workshop.settings.scale) != set(scale.labels):
        own = Scale(0, max(workshop.settings.scale))
        problem = f"its grades are {own}, and the sample is labelled {scale}"
        raise UsageError(problem, field=field, remedy="name another folder, or a new one")

    def is_there(pair: PairToLabel) -> bool:
        question, document = state.questions.get(pair.query_id), documents.get(pair.document_id)
        texts = (question and question.text, document and document.text)
        return [normalise(text or "") for text in texts] == [
            *map(normalise, (pair.query, pair.document))
        ]

    missing = [pair for pair in sample.items if not is_there(pair)]
    if missing:
        shown = f"{missing[0].query_id!r} and {missing[0].document_id!r}"
        raise UsageError(
            f"{len(missing)} of the sample's {len(sample.items)} pairs are not in it, with this "
            f"question and text (the first: {shown})",
            field=field,
            remedy="name a new folder, which is made of the sample",
        )


QUIT, UNDO, SKIP, HELP = "q", "u", "s", "h"

# What the same keys give while a Korean keyboard (two-set) is in Hangul mode.
_HANGUL_KEYS = {"ㅂ": QUIT, "ㅕ": UNDO, "ㄴ": SKIP, "ㅗ": HELP}

_AROUND = 11  # rows around the two texts: rules, titles, the rubric, the keys


@dataclass(frozen=True)
class Labelled(Result):
    """How far the labelling of a sample is.

    Attributes:
        path: the file with the labels.
        done: pairs of the sample that have a label.
        total: pairs of the sample.
        skipped: pairs that were passed over in this session; the next one shows them again.
        unusable: pairs that the same person calls unusable in the page; they have no label.
    """

    path: Path
    done: int
    total: int
    skipped: int = 0
    unusable: int = 0

    @property
    def text(self) -> str:
        """How many are labelled, and what to do about the rest."""
        done = phrase("{n} of {of} labelled, in {path}", n=self.done, of=self.total, path=self.path)
        unusable = phrase("{n} unusable", n=self.unusable) if self.unusable else ""
        skipped = phrase("{n} skipped", n=self.skipped) if self.skipped else ""
        is_over = self.done + self.unusable >= self.total
        more = "" if is_over else phrase("run again to go on")
        return joined("; ", [done, unusable, skipped, more])

    def describe(self) -> Iterator[Line]:
        """The same, as a line."""
        yield Line(self.text)


def label(
    sheet: Sheet,
    keys: Iterator[str],
    out: Console,
    *,
    rubric: Mapping[int, str] | None = None,
) -> Labelled:
    """Show each pair that has no label yet, and keep what is said of it.

    Keys: the labels' digits; u takes the last label back, s skips, h shows what the labels mean, q
    ends. After the last pair any key but u ends. Neither the judge's grade nor rank or retriever is
    shown.

    Args:
        sheet: what to label, and where labels go; pairs that have one are not shown again.
        keys: what is pressed; their end ends the session.
        out: where to show.
        rubric: what each label means, for the hint.

    Raises:
        UsageError: the scale has labels that no single key can say, or the file cannot be written.
    """
    session = _Session(sheet, out, rubric or {})
    grades = keys_of(sheet.scale)
    presses = (_HANGUL_KEYS.get(key, key.lower()) for key in keys)
    known = {*grades, QUIT, UNDO, SKIP, HELP}
    while True:
        pair = session.show_next()
        key = next((key for key in presses if pair is None or key in known), QUIT)
        if key == UNDO:
            session.undo()
        elif pair is None or key == QUIT:
            return progress(sheet, len(session.skipped))
        elif key == HELP:
            session.show_help()
            next(presses, None)
        else:
            session.settle(pair.ids, grades.get(key))


def progress(sheet: Sheet, skipped: int = 0) -> Labelled:
    """How far the labelling of a sample is."""
    settled = sheet.settled.values()
    unusable = sum(grade is None for grade in settled)
    return Labelled(sheet.path, len(settled) - unusable, len(sheet.sample.items), skipped, unusable)


def keys_of(scale: Scale) -> dict[str, int]:
    """The key of each label; a `UsageError` if one key cannot say them all."""
    if scale.low < 0 or scale.high > 9:
        raise UsageError(
            f"scale: {scale} has labels beyond the digits 0 to 9, which one key cannot say; "
            "write such labels into the qrels by hand"
        )
    return {str(grade): grade for grade in scale.labels}


@dataclass
class _Session:
    """What was done in a session, and its screens."""

    sheet: Sheet
    out: Console
    rubric: Mapping[int, str]
    skipped: dict[Pair, int] = field(default_factory=dict)
    started: bool = False

    def settle(self, pair: Pair, grade: int | None) -> None:
        """Label a pair; None passes it over."""
        if grade is None:
            self.skipped[pair] = len(self.sheet.settled)
        else:
            self.sheet.put(pair, grade)

    def undo(self) -> None:
        """Take back what was done last, of earlier sessions too: the store keeps the order."""
        settled = self.sheet.settled
        if self.skipped and [*self.skipped.values()][-1] == len(settled):
            self.skipped.popitem()
        elif settled:
            self.sheet.take_back(next(reversed(settled)))

    def show_next(self) -> PairToLabel | None:
        """The first pair that is neither labelled nor skipped, below how many are done; or the end.

        What was said before the work begins stays on the screen.
        """
        self.sheet.state.refresh()  # the same person may be at the page, too
        passed = self.sheet.settled.keys() | self.skipped.keys()
        pair = next((pair for pair in self.sheet.sample.items if pair.ids not in passed), None)
        if self.out.is_terminal and self.started:
            self.out.clear()
        self.started = True
        done = progress(self.sheet)
        self.out.rule(f"{done.done + done.unusable + (pair is not None)} / {done.total}")
        if pair is None:
            n = len(self.skipped)
            self._say(
                phrase("no pair is left but {n} skipped", n=n) if n else phrase("no pair is left")
            )
            self._say(phrase("u undo · any other key ends"), "dim")
        else:
            self._show(pair)
        return pair

    def _show(self, pair: PairToLabel) -> None:
        is_support = self.sheet.sample.settings.get("asks") == "support"
        against = phrase("gold text") if is_support else phrase("query")
        self._say(against, "dim")
        rows = self._say(pair.query, "bold")
        self._say(joined("", ["\n", phrase("passage")]), "dim")
        rows += self._say(pair.document)
        self.out.rule()
        if self.out.is_terminal and rows + _AROUND > self.out.height:
            self._say(phrase("{what}, which has scrolled away", what=against), "dim")
            self._say(pair.query, "bold")
            self.out.rule()
        if self.rubric:
            self._show_rubric()
        scale = self.sheet.scale
        keys = phrase(
            "{low}-{high} label · u undo · s skip · h help · q quit",
            low=scale.low,
            high=scale.high,
        )
        self._say(keys, "dim")

    def show_help(self) -> None:
        """What the labels mean, and what to go by."""
        self.out.print()
        self._show_rubric()
        self._say(
            phrase(
                "Label what the passage says, not its style or length. Each label is on disk at "
                "once; q or Ctrl-C ends, and the same command goes on.\nAny key goes back."
            )
        )

    def _show_rubric(self) -> None:
        for grade in self.sheet.scale.labels:
            self._say(f"{grade}  {self.rubric.get(grade, '')}")

    def _say(self, text: str, style: str = "") -> int:
        """Show a text to the letter; gives how many rows it takes."""
        from rich.text import Text

        shown = Text(printable(in_language(text)), style)
        self.out.print(shown)
        return len(self.out.render_lines(shown))


def printable(text: str) -> str:
    """A text as a terminal may show it: composed (NFC), control characters made visible.

    Retrieved text must not be able to move the cursor, or to colour or clear the screen.
    """
    return inert(unicodedata.normalize("NFC", text).replace("\r\n", "\n").expandtabs(4))
