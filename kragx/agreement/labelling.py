"""Labelling in a terminal: one pair after the other, each label on disk before the next pair."""

from __future__ import annotations

import codecs
import os
import re
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from kragx.agreement.label_files import Label, Pair
from kragx.agreement.labels import Scale, collected
from kragx.agreement.sample import PairToLabel, Sample
from kragx.data.formats.jsonl import open_text
from kragx.data.formats.trec import iter_qrels
from kragx.errors import DataError, UsageError
from kragx.printing import Line, Result, inert

if TYPE_CHECKING:
    from rich.console import Console


@dataclass
class LabelFile:
    """Labels as qrels, written anew after each: whatever ends the work, what was said is kept.

    Attributes:
        path: the file; what it holds already is kept, in its order.
        scale: of the labels.
        grades: by pair, in the order in which they were given.
        also: is told of each label as well, and of None for one that is taken back.

    Raises:
        DataError: the file holds a label off the scale, or two different ones of a pair.
        UsageError: the file's name is that of a compressed one.
    """

    path: Path
    scale: Scale
    grades: dict[Pair, int] = field(default_factory=dict)
    also: Callable[[Pair, int | None], None] | None = None

    def __post_init__(self) -> None:
        if self.path.suffix == ".gz":
            raise UsageError(
                f"{self.path}: labels are written one by one, not compressed; name a file without "
                ".gz"
            )
        if not self.path.exists():
            return
        labels = []
        for number, query, document, grade in iter_qrels(self.path):
            if grade not in self.scale:
                raise DataError(
                    f"{self.path}:{number}: the label {grade:g} is not on the scale of "
                    f"{self.scale}; name the scale it belongs to with --scale, or another file"
                )
            labels.append(Label(grade, query, doc_id=document, place=f"line {number}"))
        if labels:
            known = collected(labels, str(self.path)).grades
            self.grades = {pair: int(grade) for pair, grade in known.items()}

    def put(self, pair: Pair, grade: int) -> None:
        """Add a label, or change one, and write the file."""
        self.grades.pop(pair, None)
        self.grades[pair] = grade
        self._write(pair)

    def take_back(self, pair: Pair) -> None:
        """Remove a label, and write the file."""
        del self.grades[pair]
        self._write(pair)

    def _write(self, pair: Pair) -> None:
        with open_text(self.path) as file:
            file.writelines(
                f"{query} 0 {document} {grade}\n"
                for (query, document), grade in self.grades.items()
            )
        if self.also is not None:
            self.also(pair, self.grades.get(pair))


_NO_KEY = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|O.|.)?|[\x00\xe0].")
"""What an arrow or the like sends; on Windows two characters, of which this is the first."""


@contextmanager
def keyboard() -> Iterator[Iterator[str]]:
    """The keys as they are pressed; the terminal is as before afterwards.

    Ctrl-C raises KeyboardInterrupt, Ctrl-D ends. Where standard input is no terminal its characters
    are keys, white space left out.
    """
    if not sys.stdin.isatty():
        yield (key for key in iter(lambda: sys.stdin.read(1), "") if not key.isspace())
        return
    try:
        import termios
        import tty
    except ImportError:
        import typer

        yield _keys(iter(typer.getchar, ""))
        return
    # typer.getchar would do here too, but it throws away what is typed while a pair is drawn.
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    try:
        tty.setcbreak(terminal)
        yield _keys(map(decoder.decode, iter(lambda: os.read(terminal, 256), b"")))
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)


def _keys(sent: Iterable[str]) -> Iterator[str]:
    """The keys in what was sent; one without a character of its own is passed over as a whole."""
    with suppress(EOFError):  # Ctrl-Z on Windows
        for characters in sent:
            for key in _NO_KEY.sub("", characters):
                if key == "\x04":  # Ctrl-D
                    return
                yield key


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
    ids = {pair.ids for pair in sample.items}
    history = [pair for pair in file.grades if pair in ids]
    session = _Session(sample, file, out, rubric or {}, history)
    grades = keys_of(file.scale)
    presses = (_HANGUL_KEYS.get(key, key.lower()) for key in keys)
    known = {*grades, QUIT, UNDO, SKIP, HELP}
    while True:
        pair = session.show_next()
        key = next((key for key in presses if pair is None or key in known), QUIT)
        if key == UNDO:
            session.undo()
        elif pair is None or key == QUIT:
            return progress(sample, file, len(session.skipped))
        elif key == HELP:
            session.show_help()
            next(presses, None)
        else:
            session.settle(pair.ids, grades.get(key))


def progress(sample: Sample, file: LabelFile, skipped: int = 0) -> Labelled:
    """How far the labelling of a sample is."""
    return Labelled(
        file.path,
        done=sum(pair.ids in file.grades for pair in sample.items),
        total=len(sample.items),
        skipped=skipped,
    )


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
    history: list[Pair]
    skipped: set[Pair] = field(default_factory=set)
    started: bool = False

    def settle(self, pair: Pair, grade: int | None) -> None:
        """Label a pair; None passes it over."""
        self.history.append(pair)
        if grade is None:
            self.skipped.add(pair)
        else:
            self.file.put(pair, grade)

    def undo(self) -> None:
        """Take back what was done last, of earlier sessions too: the file keeps the order."""
        if self.history:
            last = self.history.pop()
            if last in self.skipped:
                self.skipped.remove(last)
            else:
                self.file.take_back(last)

    def show_next(self) -> PairToLabel | None:
        """The first pair that is neither labelled nor skipped, below how many are done; or the end.

        What was said before the work begins stays on the screen.
        """
        passed = self.file.grades.keys() | self.skipped
        pair = next((pair for pair in self.sample.items if pair.ids not in passed), None)
        if self.out.is_terminal and self.started:
            self.out.clear()
        self.started = True
        done = progress(self.sample, self.file)
        self.out.rule(f"{done.done + (pair is not None)} / {done.total}")
        if pair is None:
            skipped = f" but {len(self.skipped)} skipped" if self.skipped else ""
            self._say(f"no pair is left{skipped}")
            self._say("u undo · any other key ends", "dim")
        else:
            self._show(pair)
        return pair

    def _show(self, pair: PairToLabel) -> None:
        against = "gold text" if self.sample.settings.get("asks") == "support" else "query"
        self._say(against, "dim")
        rows = self._say(pair.query, "bold")
        self._say("\npassage", "dim")
        rows += self._say(pair.document)
        self.out.rule()
        if self.out.is_terminal and rows + _AROUND > self.out.height:
            self._say(f"{against}, which has scrolled away", "dim")
            self._say(pair.query, "bold")
            self.out.rule()
        if self.rubric:
            self._show_rubric()
        scale = self.file.scale
        self._say(f"{scale.low}-{scale.high} label · u undo · s skip · h help · q quit", "dim")

    def show_help(self) -> None:
        """What the labels mean, and what to go by."""
        self.out.print()
        self._show_rubric()
        self._say(
            "Label what the passage says, not its style or length. Each label is on disk at once; "
            "q or Ctrl-C ends, and the same command goes on.\nAny key goes back."
        )

    def _show_rubric(self) -> None:
        for grade in self.file.scale.labels:
            self._say(f"{grade}  {self.rubric.get(grade, '')}")

    def _say(self, text: str, style: str = "") -> int:
        """Show a text to the letter; gives how many rows it takes."""
        from rich.text import Text

        shown = Text(printable(text), style)
        self.out.print(shown)
        return len(self.out.render_lines(shown))


def printable(text: str) -> str:
    """A text as a terminal may show it: composed (NFC), control characters made visible.

    Retrieved text must not be able to move the cursor, or to colour or clear the screen.
    """
    return inert(unicodedata.normalize("NFC", text).replace("\r\n", "\n").expandtabs(4))
