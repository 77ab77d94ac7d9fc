"""Labelling in a terminal: one pair after the other, each label on disk before the next pair."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from kragx.agreement.labelling.file import LabelFile
from kragx.agreement.labelling.sample import PairToLabel, Sample
from kragx.agreement.labels import Pair, Scale
from kragx.errors import UsageError
from kragx.printing import Line, Result, inert

if TYPE_CHECKING:
    from rich.console import Console

QUIT, UNDO, SKIP, HELP, END = "q", "u", "s", "h", ""

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
    """

    path: Path
    done: int
    total: int
    skipped: int = 0

    def describe(self) -> Iterator[Line]:
        """How many are labelled, and what to do about the rest."""
        skipped = f"; {self.skipped} skipped" if self.skipped else ""
        more = "; run again to go on" if self.done < self.total else ""
        yield Line(f"{self.done} of {self.total} labelled, in {self.path}{skipped}{more}")


def label(
    sample: Sample,
    file: LabelFile,
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
        sample: what to label; pairs that the file has labels for are not shown again.
        file: where labels go.
        keys: what is pressed; their end ends the session.
        out: where to show.
        rubric: what each label means, for the hint.

    Raises:
        UsageError: the scale has labels that no single key can say, or the file cannot be written.
    """
    session = _Session(sample, file, out, rubric or {})
    grades = keys_of(file.scale)
    presses = (_HANGUL_KEYS.get(key, key.lower()) for key in keys)
    first = True
    while True:
        pair = session.next_pair()
        if pair is None:
            session.show_end()
            if next(presses, END) != UNDO:
                break
            session.undo()
            continue
        if not first:  # what was said before the first pair stays to be read
            session.clear()
        first = False
        session.show(pair)
        key = next((key for key in presses if key in (*grades, QUIT, UNDO, SKIP, HELP)), END)
        if key in (QUIT, END):
            break
        if key == UNDO:
            session.undo()
        elif key == HELP:
            session.show_help()
            if next(presses, END) == END:
                break
        else:
            session.history.append(pair.ids)
            if key == SKIP:
                session.skipped.add(pair.ids)
            else:
                file.put(pair.ids, grades[key])
    return progress(sample, file, len(session.skipped))


def progress(sample: Sample, file: LabelFile, skipped: int = 0) -> Labelled:
    """How far the labelling of a sample is."""
    done = sum(pair.ids in file.grades for pair in sample.items)
    return Labelled(file.path, done, len(sample.items), skipped)


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

    sample: Sample
    file: LabelFile
    out: Console
    rubric: Mapping[int, str]
    skipped: set[Pair] = field(default_factory=set)
    history: list[Pair] = field(default_factory=list)

    def next_pair(self) -> PairToLabel | None:
        """The first that is neither labelled nor skipped."""
        passed = self.file.grades.keys() | self.skipped
        return next((pair for pair in self.sample.items if pair.ids not in passed), None)

    def undo(self) -> None:
        """Take back what was done last; of earlier sessions too, as the file keeps the order."""
        ids = {pair.ids for pair in self.sample.items}
        earlier = next((pair for pair in reversed(self.file.grades) if pair in ids), None)
        last = self.history.pop() if self.history else earlier
        if last in self.skipped:
            self.skipped.remove(last)
        elif last is not None:
            self.file.take_back(last)

    def clear(self) -> None:
        """An empty screen."""
        if self.out.is_terminal:
            self.out.clear()

    def show(self, pair: PairToLabel) -> None:
        """A pair, below how many are done and above the keys."""
        from rich.rule import Rule
        from rich.text import Text

        out, scale = self.out, self.file.scale
        self._rule(1)
        against = "gold text" if self.sample.settings.get("asks") == "support" else "query"
        query, passage = Text(printable(pair.query), "bold"), Text(printable(pair.document))
        out.print(Text(against, "dim"), query, Text("\npassage", "dim"), passage, Rule(), sep="\n")
        rows = sum(len(out.render_lines(text)) for text in (query, passage))
        if out.is_terminal and rows + _AROUND > out.height:
            scrolled = Text(f"{against}, which has scrolled away", "dim")
            out.print(scrolled, query, Rule(), sep="\n")
        if self.rubric:
            self._show_rubric()
        out.print(
            Text(f"{scale.low}-{scale.high} label · u undo · s skip · h help · q quit", "dim")
        )

    def show_end(self) -> None:
        """That no pair is left."""
        from rich.text import Text

        self.clear()
        self._rule(0)
        skipped = f" but {len(self.skipped)} skipped" if self.skipped else ""
        self.out.print(Text(f"no pair is left{skipped}"))
        self.out.print(Text("u undo · any other key ends", "dim"))

    def show_help(self) -> None:
        """What the labels mean, and what to go by."""
        from rich.text import Text

        self.out.print()
        self._show_rubric()
        self.out.print(
            Text(
                "Label what the passage says, not its style or length. Each label is on disk at "
                "once; q or Ctrl-C ends, and the same command goes on.\n"
                "Any key goes back."
            )
        )

    def _rule(self, current: int) -> None:
        from rich.rule import Rule
        from rich.text import Text

        done = progress(self.sample, self.file)
        self.out.print(Rule(Text(f"{done.done + current} / {done.total}")))

    def _show_rubric(self) -> None:
        from rich.text import Text

        for grade in self.file.scale.labels:
            self.out.print(Text(f"{grade}  {printable(self.rubric.get(grade, ''))}"))


def printable(text: str) -> str:
    """A text as a terminal may show it: composed (NFC), control characters made visible.

    Retrieved text must not be able to move the cursor, or to colour or clear the screen.
    """
    return inert(unicodedata.normalize("NFC", text).replace("\r\n", "\n").expandtabs(4))
