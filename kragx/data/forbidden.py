"""What must not be found: documents that a question forbids, by id, text or source."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from graphlib import CycleError, TopologicalSorter
from typing import Any

from kragx.data.documents import clean_each, clean_id, clean_text, present
from kragx.data.text import SurrogateRepair
from kragx.ground.errors import DataError, inside, nearest, shorten

FORBIDDEN = "forbidden"
"""The kind of what says no other, and the name of the field."""


SUPERSEDED_BY = "superseded_by"
"""What items, and the metadata of documents, call the id of the newer document."""


@dataclass(frozen=True, slots=True)
class Forbidden:
    """One document that must not come for a question, or all documents of a source.

    Where several of `text`, `id` and `source` are given, the first of these that can be compared
    decides; a document whose source is another one is not meant.

    Attributes:
        id: the id of the document.
        text: its text.
        source: the source that it is of; alone it forbids every document of that source.
        start, end: where in the source it stands, in characters.
        why: its kind, for example ``tenant``.
        superseded_by: the id of the document that has taken its place.

    Raises:
        DataError: it names no document, or nothing can be such a place.

    Examples:
        >>> from kragx import Forbidden, Query
        >>> old = Forbidden(id="prices-2025", why="stale", superseded_by="prices-2026")
        >>> Query("q1", "What does it cost?", forbidden=(old,)).forbidden[0].why
        'stale'
    """

    id: str | None = None
    text: str | None = None
    source: str | None = None
    start: int | None = None
    end: int | None = None
    why: str = FORBIDDEN
    superseded_by: str | None = None

    def __post_init__(self) -> None:
        start, end = self.start, self.end
        if self.id is None and self.text is None and self.source is None:
            raise DataError(
                "a forbidden item needs 'id', 'text' or 'source'; this one has none",
                remedy="say which document must not come",
            )
        if self.text is not None and not self.text.strip():
            raise DataError(
                "an empty text; it is in every document, so it forbids everything", field="text"
            )
        if not self.why.strip():
            raise DataError("is empty", field="why", remedy="name its kind, or leave it out")
        if (start, end) == (None, None):
            return
        if self.source is None:
            raise DataError("missing beside 'start' and 'end'", field="source")
        if start is None or end is None or not 0 <= start < end:
            raise DataError(
                "{start!r} to {end!r} is no stretch of a source",
                field="start" if start is None else "end",
                remedy="give both in characters, the start from 0 and the end behind it",
                start=start,
                end=end,
            )

    def to_dict(self) -> dict[str, Any]:
        """It as a gold file holds it."""
        fields = ((name, getattr(self, name)) for name in _FIELDS)
        return present(**{name: value for name, value in fields if (name, value) != _UNSAID})


# At most eighteen digits: more are no place, and Python refuses to read thousands.
_SPAN = re.compile(r"(?P<doc>.+):(?P<start>\d{1,18})-(?P<end>\d{1,18})")
_FIELDS = dict.fromkeys(field.name for field in fields(Forbidden)).keys()
_UNSAID = ("why", FORBIDDEN)


def as_forbidden(value: object, repair: SurrogateRepair) -> Forbidden:
    """Read a forbidden item: a `Forbidden`, or a mapping as in a gold file.

    Raises:
        DataError: it is none.
    """
    if isinstance(value, Forbidden):
        return value
    if not isinstance(value, Mapping):
        raise DataError(
            "an object is expected, not {value}",
            remedy='write {{"id": ...}}, {{"text": ...}} or {{"source": ...}}',
            value=shorten(value),
        )
    if not value.keys() <= _FIELDS:
        name = next(str(name) for name in value if name not in _FIELDS)
        raise DataError("unknown field", field=name, remedy=nearest(name, _FIELDS))
    made: dict[str, Any] = {}
    for name in _FIELDS:
        if value.get(name) is not None:
            with inside(name):
                made[name] = _CLEANERS[name](value[name], repair)
    return Forbidden(**made)


def _place(value: object, _: SurrogateRepair) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    # Tables have whole numbers as 3.0.
    if isinstance(value, float) and value.is_integer():
        return int(value)
    raise DataError("must be a whole number, not {value}", value=shorten(value))


_CLEANERS: Mapping[str, Callable[[Any, SurrogateRepair], Any]] = {
    **dict.fromkeys(("id", "superseded_by"), clean_id),
    **dict.fromkeys(("text", "source", "why"), clean_text),
    **dict.fromkeys(("start", "end"), _place),
}


def all_forbidden(values: object, repair: SurrogateRepair) -> tuple[Forbidden, ...] | None:
    """The forbidden items of a question; None where nobody says whether anything is.

    Raises:
        DataError: one of them is none, or they lead from newer documents back to older ones.
    """
    if values is None:
        return None
    if isinstance(values, (str, Mapping)) or not isinstance(values, Iterable):
        raise DataError(
            "must be a list of forbidden items, not {values}",
            field=FORBIDDEN,
            remedy="write [] where somebody has looked and nothing is",
            values=shorten(values),
        )
    items = clean_each(values, lambda value: as_forbidden(value, repair), field=FORBIDDEN)
    check_versions(items)
    return items


def check_versions(items: Iterable[Forbidden]) -> None:
    """Raise a `DataError` where documents take each other's place in a circle."""
    check_cycle(newer_by_older(items))


def newer_by_older(items: Iterable[Forbidden]) -> dict[str, str]:
    """The newer document by the older one, of the items that name both by id."""
    return {
        item.id: item.superseded_by
        for item in items
        if item.id is not None and item.superseded_by is not None
    }


def check_cycle(newer: Mapping[str, str]) -> None:
    """Raise a `DataError` that names a circle of documents each of which is newer than the last."""
    try:
        TopologicalSorter({old: (new,) for old, new in newer.items()}).prepare()
    except CycleError as error:
        raise DataError(
            "a circle of versions: {names}",
            field="superseded_by",
            remedy="name the newer document of each, and none for the newest",
            names=" -> ".join(map(repr, reversed(error.args[1]))),
        ) from None


def stretch_of(doc_id: str) -> tuple[str, int, int] | None:
    """The document, start and end that an id such as ``document:start-end`` means; else None."""
    span = _SPAN.fullmatch(doc_id)
    return None if span is None else (span["doc"], int(span["start"]), int(span["end"]))


def stretch_in(
    metadata: Mapping[str, Any], doc_id: str | None
) -> tuple[str | None, int | None, int | None]:
    """The source of a document, and where in it it stands; None for what nobody says.

    Args:
        metadata: the document's.
        doc_id: what they do not say an id such as ``document:start-end`` may say.
    """
    source, start, end = stretch_of(doc_id or "") or (None, None, None)
    source = metadata.get("source", source)
    start, end = _whole(metadata, "start", start), _whole(metadata, "end", end)
    return (source if isinstance(source, str) else None), start, end


def _whole(metadata: Mapping[str, Any], name: str, unsaid: int | None) -> int | None:
    # LangChain's splitters say start_index, where others say start.
    value = metadata.get(name, metadata.get(f"{name}_index", unsaid))
    # What is no place belongs to somebody else, who may call anything a start.
    return value if isinstance(value, int) and not isinstance(value, bool) else unsaid
