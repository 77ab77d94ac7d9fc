"""Pages of documents: numbers, ranges and labels, as people write them and loaders give them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

from kragx.data.documents import clean_metadata
from kragx.ground.errors import DataError, inside, shorten

MOST = 100_000
"""A page number above this is none; it may be an offset or a date."""

_RANGE = re.compile(r"\s*(\d{1,9})\s*(?:[-\u2010-\u2015~\u301c\uff5e]\s*(\d{1,9})\s*)?")


@dataclass(frozen=True, slots=True)
class Pages:
    """Some pages of one document.

    Attributes:
        ranges: the first and the last of each range of numbers.
        labels: what other pages are called (``iv``, ``A-1``).
    """

    ranges: tuple[tuple[int, int], ...] = ()
    labels: tuple[str, ...] = ()

    @classmethod
    def read(cls, value: object, *, least: int) -> Pages:
        """Pages as a number, a range (``7-9``), a label, or a list of these.

        Raises:
            DataError: it is none; a number is less than `least`; or a range ends before it begins.
        """
        values = value if isinstance(value, (list, tuple)) else [value]
        if not values:
            raise DataError("no page", remedy="leave 'pages' out where every page serves")
        pages = [_page(page, least) for page in values]
        ranges = tuple(page for page in pages if isinstance(page, tuple))
        return cls(ranges, tuple(page for page in pages if isinstance(page, str)))

    def meets(self, pages: Pages, shift: int = 0) -> bool:
        """Whether any of these pages is one of the others, whose numbers are moved by `shift`."""
        if any(label in pages.labels for label in self.labels):
            return True
        return any(
            first <= end + shift and start + shift <= last
            for first, last in self.ranges
            for start, end in pages.ranges
        )

    def __str__(self) -> str:
        return ",".join(map(str, self.plain))

    @property
    def plain(self) -> list[int | str]:
        """As a gold file holds them."""
        numbers = [first if first == last else f"{first}-{last}" for first, last in self.ranges]
        return [*numbers, *self.labels]


def _page(value: object, lowest: int) -> tuple[int, int] | str:
    """The first and the last page of a range, or a label."""
    is_number = isinstance(value, Real) and not isinstance(value, bool)  # numpy's too
    if is_number and float(value).is_integer():  # type: ignore[arg-type]  # tables have 3.0
        first = last = int(float(value))  # type: ignore[arg-type]
    elif not isinstance(value, str) or not value.strip():
        raise DataError(
            "must be a page or a range such as '7-9', not {value}", value=shorten(value)
        )
    elif ends := _RANGE.fullmatch(value):
        first, last = int(ends[1]), int(ends[2] or ends[1])
    else:
        return unicodedata.normalize("NFC", value.strip()).casefold()
    if first < lowest:
        raise DataError(
            "{first} is no page: they are counted from {lowest} on", first=first, lowest=lowest
        )
    if last < first or last > MOST:
        raise DataError("{value} is no range of pages", value=shorten(value))
    return first, last


def document_name(value: object) -> tuple[str, ...]:
    """The name of a document, or its path, as its parts: NFC, whichever way slashes lean.

    macOS gives Korean names of files decomposed (NFD), and Windows has its own slashes.
    """
    if not isinstance(value, str) or not value.strip():
        raise DataError("must be the name or path of a document, not {value}", value=shorten(value))
    text = unicodedata.normalize("NFC", value.strip()).replace("\\", "/")
    return tuple(part for part in text.split("/") if part not in ("", "."))


def page_gold(value: Mapping[str, Any]) -> dict[str, Any]:
    """The gold item of ``{"doc": "manual.pdf", "pages": [3, "7-9"]}``, as others are written.

    Document and pages stand in the metadata, and name the item where it has no id. The item is
    found with any of the pages.

    Raises:
        DataError: they are broken; the error's field says which.
    """
    rest = {name: entry for name, entry in value.items() if name not in ("doc", "pages")}
    about = {**clean_metadata(rest.get("metadata"))}
    with inside("doc"):
        doc = name = "/".join(document_name(value.get("doc")))
    about["doc"] = doc
    if value.get("pages") is not None:
        with inside("pages"):
            pages = Pages.read(value["pages"], least=1)
        name, about["pages"] = f"{doc}#{pages}", pages.plain
    return {"id": name, **rest, "metadata": about}
