"""Values as text that can stand in HTML: JSON of short numbers, compressed, in base64.

Base64 knows neither ``<`` nor quotes, so nothing that data hold can end the element they stand in.
The page inflates a block when it is looked at, so a large report opens as fast as a small one.
"""

import base64
import zlib
from collections.abc import Iterator
from math import floor, isnan
from typing import Any

from kragx.data import Mender
from kragx.data.formats.jsonl import to_json
from kragx.metrics.threshold import matches

_BLOCK_CHARACTERS = 100_000


def packed(value: Any) -> str:
    """A value as the page reads it; lone surrogates, which UTF-8 cannot hold, become U+FFFD."""
    text = Mender().mend(to_json(value))
    return base64.b64encode(zlib.compress(text.encode(), 6)).decode("ascii")


class TextTable:
    """Numbers for texts: each distinct text is stored once, however many lists it stands in.

    Args:
        limit: how many characters of a text are kept; None for all.

    Attributes:
        starts: the number of the first text of each block, once `blocks` has been gone through.
    """

    def __init__(self, limit: int | None = None) -> None:
        self._numbers: dict[str, int] = {}
        self._most = limit
        self.starts: list[int] = []

    def number(self, text: str | None) -> int:
        """The number of a text; -1 where there is none."""
        return -1 if text is None else self._numbers.setdefault(text, len(self._numbers))

    def __len__(self) -> int:
        """How many distinct texts there are."""
        return len(self._numbers)

    @property
    def n_cut(self) -> int:
        """How many texts are longer than what is kept."""
        return sum(self._most is not None and len(text) > self._most for text in self._numbers)

    def blocks(self) -> Iterator[list[str | list[Any]]]:
        """Texts in order, in blocks of some size; one that was cut is a pair with its length."""
        block: list[str | list[Any]] = []
        size = 0
        for number, text in enumerate(self._numbers):
            if not block:
                self.starts.append(number)
            beginning = text[: self._most]
            block.append(text if len(beginning) == len(text) else [beginning, len(text)])
            size += len(beginning)
            if size >= _BLOCK_CHARACTERS:
                yield block
                block, size = [], 0
        if block:
            yield block


# -- numbers short enough to send, which still say the same --------------------------------------


def short(value: Any) -> Any:
    """Plain values with six digits a number, which is more than anyone reads; None for NaN."""
    match value:
        case float():
            return None if isnan(value) else float(f"{value:.6g}")
        case dict():
            return {key: short(entry) for key, entry in value.items()}
        case list():
            return list(map(short, value))
    return value


def rounded_score(score: float, threshold: float) -> float | None:
    """A score of four decimals that stands on the same side of the threshold; None if unknown."""
    if isnan(score):
        return None
    rounded = round(score, 4)
    is_match = matches(score, threshold)
    if matches(rounded, threshold) != is_match:
        # Rounding led over the threshold: the page would show a match where there is none, or none
        # where there is one.
        return threshold if is_match else floor(score * 10_000) / 10_000
    return rounded
