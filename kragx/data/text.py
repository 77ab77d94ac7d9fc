"""Text as kragx compares it: one Unicode form, one kind of white space, nothing unprintable."""

import re
import unicodedata
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from math import isnan
from typing import Any

from kragx.ground.errors import DataError, shorten
from kragx.ground.printing import inert, message

_SURROGATE = re.compile("[\ud800-\udfff]")


def normalise(text: str, *, casefold: bool = False) -> str:
    """NFC, runs of white space collapsed to one space, stripped; optionally case-folded.

    A Korean text typed on macOS (NFD, one code point per jamo) equals the same text in NFC.
    """
    text = unicodedata.normalize("NFC", text)
    # Most texts of one line are so already: of white space only the space is printable.
    if not text.isprintable() or "  " in text or text[:1] == " " or text[-1:] == " ":
        text = " ".join(text.split())
    # Case folding can undo the composition (for example of "ΐ"), hence the second NFC.
    return unicodedata.normalize("NFC", text.casefold()) if casefold else text


def composed(text: str | None) -> str | None:
    """A text in NFC: in another Unicode form it is the same."""
    return None if text is None else unicodedata.normalize("NFC", text)


def look_alikes(ids: Iterable[str], targets: Iterable[str]) -> dict[str, str]:
    """Those of some ids that differ from one of the others only by white space or Unicode form.

    Each with that other one; an id that is among the others is none.
    """
    by_form = {normalise(target): target for target in targets}
    pairs = {key: by_form.get(normalise(key), key) for key in ids}
    exact = set(by_form.values())
    return {key: pair for key, pair in pairs.items() if key != pair and key not in exact}


def id_difference(key: str, twin: str) -> str:
    """Two ids that look alike, and in what they differ, for a warning."""
    same_form = unicodedata.normalize("NFC", key) != unicodedata.normalize("NFC", twin)
    return message(
        "{one} and {other} differ by white space alone; write them the same"
        if same_form
        else "{one} and {other} differ by Unicode form, NFC and NFD alone; write them the same",
        one=shorten(key),
        other=shorten(twin),
    )


def not_a_text(value: object) -> DataError:
    """The error where a text is expected and something else comes."""
    return DataError(
        "a text must be a string, not {kind} ({value}); "
        "convert it, or take the text out of it, first",
        kind=type(value).__name__,
        value=shorten(value),
    )


@dataclass(init=False, eq=False)
class SurrogateRepair:
    """Replaces what no file can hold, and counts it, so that nothing is changed silently.

    A lone surrogate is half of a UTF-16 pair, left by a text cut in the middle of an emoji; it
    cannot be encoded as UTF-8, so it becomes U+FFFD where text enters kragx.
    """

    surrogates: int = 0

    def text(self, text: str) -> str:
        """`text` with each lone surrogate replaced by U+FFFD."""
        try:
            text.encode()  # many times as fast as a search
        except UnicodeEncodeError:
            text, count = _SURROGATE.subn("\ufffd", text)
            self.surrogates += count
        return text

    def value(self, value: Any) -> Any:
        """The same for every text within a value: of mappings, keys too, and of lists."""
        if type(value) in _AS_THEY_ARE:
            return value
        if isinstance(value, str):
            return value if value.isascii() else self.text(value)
        if isinstance(value, dict):
            return {self.value(key): self.value(part) for key, part in value.items()}
        if isinstance(value, list):
            return [self.value(part) for part in value]
        # A number of numpy is one like any other, as it is in the files that are written of it.
        is_number = getattr(value, "shape", None) == () and hasattr(value, "item")
        return value.item() if is_number else value


_AS_THEY_ARE = {int, float, bool, type(None)}


def read_number(text: str) -> float | None:
    """The number that a text says; None if it says none.

    Python would also take ``1_0``, NaN, and the digits of every script: what another tool reads
    as something else, or not at all, is no number here either.
    """
    with suppress(ValueError):
        number = float(text) if text.isascii() and "_" not in text else None
        return None if number is None or isnan(number) else number
    return None


def plain_number(value: float) -> str:
    """A number as text that reads back as the same: a whole one without a decimal point."""
    return str(int(value)) if value.is_integer() else str(value)


def file_names(names: Iterable[str]) -> list[str]:
    """Names as file names: what file systems refuse replaced, none twice."""
    files: dict[str, str] = {}  # as some file systems do not tell cases and forms of marks apart
    for name in names:
        stem = re.sub(r'[<>:"/\\|?*\x00-\x1f]', "_", inert(name, "_"))[:60].strip(". ") or "_"
        file, number = stem, 1
        while (key := folded(file)) in files:
            number += 1
            file = f"{stem}-{number}"
        files[key] = file
    return [*files.values()]


def folded(name: str) -> str:
    """A file name such that two are equal which a file system may hold for one."""
    return unicodedata.normalize("NFC", name).casefold()
