"""Labelling in a terminal: one pair after the other, each label on disk before the next pair."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from kragx.agreement.labels import Pair, Scale, collected
from kragx.agreement.sampling import Candidate, Sample
from kragx.data.formats.trec import iter_qrels
from kragx.errors import DataError, UsageError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

QUIT, UNDO, SKIP, HELP = "q", "u", "s", "h"

# What the same keys give while a Korean keyboard (two-set) is in Hangul mode.
_HANGUL_KEYS = {"ㅂ": QUIT, "ㅕ": UNDO, "ㄴ": SKIP, "ㅗ": HELP}

_AROUND = 11  # rows around the two texts: rules, titles, the rubric, the keys

# Retrieved text must not be able to move the cursor, or to colour or clear the screen.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@dataclass
class LabelFile:
    """Labels as qrels, written anew after each: whatever ends the work, what was said is kept.

    Attributes:
        path: the file; what it holds already is kept, in its order.
        scale: of the labels.
        grades: by pair, in the order in which they were given.

    Raises:
        DataError: the file holds a label off the scale, or two different ones of a pair.
        UsageError: the file's name is that of a compressed one.
    """

    path: Path
    scale: Scale
    grades: dict[Pair, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.path.suffix == ".gz":
            raise UsageError(
                f"{self.path}: labels are written one by one, not compressed; name a file without "
                ".gz"
            )
        if not self.path.exists():
            return
        rows = []
        for number, query, document, grade in iter_qrels(self.path):
            if grade not in self.scale:
                raise DataError(
                    f"{self.path}:{number}: the label {grade:g} is not on the scale of "
                    f"{self.scale}; name the scale it belongs to with --scale, or another file"
                )
            rows.append((query, document, grade, f"line {number}"))
        if rows:
            found = collected(rows, str(self.path)).grades
            self.grades.update((pair, int(grade)) for pair, grade in found.items())

    def put(self, pair: Pair, grade: int) -> None:
        """Add a label, or change one, and write the file."""
        self.grades.pop(pair, None)
        self.grades[pair] = grade
        self._write()

    def take_back(self, pair: Pair) -> None:
        """Remove a label, and write the file."""
        del self.grades[pair]
        self._write()

    def _write(self) -> None:
        lines = [f"{query} 0 {doc} {grade}\n" for (query, doc), grade in self.grades.items()]
        part = self.path.with_name(self.path.name + ".part")
        try:
            with part.open("w", encoding="utf-8", newline="") as file:
                file.writelines(lines)
                file.flush()
                os.fsync(file.fileno())
            part.replace(self.path)  # whole or not at all
        except OSError as error:
            raise UsageError(f"{self.path}: cannot be written: {error.strerror or error}") from None


@dataclass(frozen=True)
class Labelled:
    """How a session ended.

    Attributes:
        done: pairs of the sample that have a label.
        total: pairs of the sample.
        skipped: pairs that were passed over in this session; the next one shows them again.
    """

    done: int
    total: int
    skipped: int


def label(
    sample: Sample,
    file: LabelFile,
    read_key: Callable[[], str],
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
        read_key: gives the next key; an empty one or EOFError ends the session.
        out: where to show.
        rubric: what each label means, for the hint.

    Raises:
        UsageError: the scale has labels that no single key can say, or the file cannot be written.
    """
    keys = keys_of(file.scale)
    total = len(sample.items)
    skipped: set[Pair] = set()
    history: list[Pair] = []
    first = True
    while True:
        item = next(
            (
                each
                for each in sample.items
                if each.pair not in file.grades and each.pair not in skipped
            ),
            None,
        )
        if item is None:
            _at_the_end(sample, file, skipped, out)
            if _next(read_key) != UNDO:
                break
            _undo(sample, file, skipped, history)
            continue
        if out.is_terminal and not first:  # what was said before the first pair stays to be read
            out.clear()
        first = False
        _show(item, out, _done(sample, file), sample, file.scale, rubric)
        key = _next(read_key)
        while key not in (*keys, QUIT, UNDO, SKIP, HELP, ""):
            key = _next(read_key)
        if key in (QUIT, ""):
            break
        if key == SKIP:
            skipped.add(item.pair)
            history.append(item.pair)
        elif key == HELP:
            _meanings(file.scale, rubric, out)
            if not _next(read_key):
                break
        elif key == UNDO:
            _undo(sample, file, skipped, history)
        else:
            file.put(item.pair, keys[key])
            history.append(item.pair)
    return Labelled(_done(sample, file), total, len(skipped))


def keys_of(scale: Scale) -> dict[str, int]:
    """The key of each label; a `UsageError` if one key cannot say them all."""
    if scale.low < 0 or scale.high > 9:
        raise UsageError(
            f"scale: {scale} has labels beyond the digits 0 to 9, which one key cannot say; "
            "write such labels into the qrels by hand"
        )
    return {str(each): each for each in scale.labels}


def _done(sample: Sample, file: LabelFile) -> int:
    return sum(each.pair in file.grades for each in sample.items)


def _next(read_key: Callable[[], str]) -> str:
    try:
        key = read_key()
    except EOFError:
        return ""
    return _HANGUL_KEYS.get(key, key.lower())


def _undo(sample: Sample, file: LabelFile, skipped: set[Pair], history: list[Pair]) -> None:
    """Take back what was done last; of earlier sessions too, as the file keeps the order."""
    pairs = {each.pair for each in sample.items}
    earlier = next((pair for pair in reversed(file.grades) if pair in pairs), None)
    last = history.pop() if history else earlier
    if last in skipped:
        skipped.remove(last)
    elif last is not None:
        file.take_back(last)


def _show(
    item: Candidate,
    out: Console,
    done: int,
    sample: Sample,
    scale: Scale,
    rubric: Mapping[int, str] | None,
) -> None:
    from rich.rule import Rule
    from rich.text import Text

    out.print(Rule(Text(f"{done + 1} / {len(sample.items)}")))
    against = "gold text" if sample.settings.get("asks") == "support" else "query"
    out.print(Text(against, style="dim"))
    query, passage = Text(plain(item.query), style="bold"), Text(plain(item.document))
    out.print(query)
    out.print(Text("\npassage", style="dim"))
    out.print(passage)
    out.print(Rule())
    if out.is_terminal and _rows(out, query, passage) + _AROUND > out.height:
        out.print(Text(f"{against}, which has scrolled away", style="dim"))
        out.print(query)
        out.print(Rule())
    if rubric:
        for grade in scale.labels:
            out.print(Text(f"{grade}  {plain(rubric.get(grade, ''))}"))
    out.print(
        Text(f"{scale.low}-{scale.high} label · u undo · s skip · h help · q quit", style="dim")
    )


def _rows(out: Console, *texts: Text) -> int:
    return sum(len(out.render_lines(text)) for text in texts)


def _at_the_end(sample: Sample, file: LabelFile, skipped: set[Pair], out: Console) -> None:
    from rich.rule import Rule
    from rich.text import Text

    if out.is_terminal:
        out.clear()
    out.print(Rule(Text(f"{_done(sample, file)} / {len(sample.items)}")))
    out.print(Text("no pair is left" + (f" but {len(skipped)} skipped" if skipped else "")))
    out.print(Text("u undo · any other key ends", style="dim"))


def _meanings(scale: Scale, rubric: Mapping[int, str] | None, out: Console) -> None:
    from rich.text import Text

    out.print()
    for grade in scale.labels:
        out.print(Text(f"{grade}  {plain((rubric or {}).get(grade, ''))}"))
    out.print(
        Text(
            "Label what the passage says, not its style or length. Each label is on disk at once; "
            "q or Ctrl-C ends, and the same command goes on.\n"
            "Any key goes back."
        )
    )


def plain(text: str) -> str:
    """A text as a terminal may show it: composed (NFC), control characters made visible."""
    return _CONTROL.sub("\ufffd", unicodedata.normalize("NFC", text).replace("\r\n", "\n"))


__all__ = ["LabelFile", "Labelled", "keys_of", "label", "plain"]
