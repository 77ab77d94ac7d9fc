"""Cut documents into chunks that remember where they come from."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from kragx.ground.errors import UsageError

_BLANK_LINE = re.compile(r"\n\s*\n")


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of a text: ``text[start:end]``, in characters."""

    start: int
    end: int


def paragraphs(text: str) -> Iterator[Span]:
    """The paragraphs of a text: what stands between blank lines."""
    gaps = (gap.span() for gap in _BLANK_LINE.finditer(text))
    bounds = [0, *chain.from_iterable(gaps), len(text)]
    for start, end in zip(bounds[::2], bounds[1::2]):
        if text[start:end].strip():
            yield Span(start, end)


def windows(text: str, size: int, overlap: int = 0) -> Iterator[Span]:
    """Windows of at most `size` characters, each beginning `overlap` before the last one's end.

    A window ends at white space if there is some in its second half, so that words stay whole.

    Raises:
        UsageError: size is below 1, or overlap not in 0 to size / 2.
    """
    if size < 1 or not 0 <= overlap <= size // 2:
        raise UsageError(
            "chunks: size {size} with overlap {overlap}; size must be at least 1 and overlap "
            "between 0 and half of it",
            size=size,
            overlap=overlap,
        )
    start = last = 0
    while start < len(text):
        end = min(start + size, len(text))
        if end < len(text):
            # White space in the second half, and beyond the last window's end.
            first = max(start + size // 2, last + 1)
            end = max((cut for cut in range(first, end + 1) if text[cut].isspace()), default=end)
        if text[start:end].strip():
            yield Span(start, end)
        if end == len(text):
            return
        # Windows move on by at least one character, whatever the overlap.
        start, last = max(end - overlap, start + 1), end
