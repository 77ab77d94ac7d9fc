"""Where a part stands, as plain values that a file can hold, and the part that stands there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kragx.data.formats.located import is_address
from kragx.data.formats.parquet import Table
from kragx.errors import DataError
from kragx.evaluation.parts.part import Groups, Lines, Part


def place_of_part(part: Part) -> dict[str, Any] | None:
    """Where a part stands; None for one that stands in no file that can be read again."""
    match part:
        case Lines(raw=None):
            names = ("first", "start", "stop", "format")
            return {"file": part.place, **{name: getattr(part, name) for name in names}}
        case Groups():
            table = part.table
            groups = None if table.groups is None else list(table.groups)
            return {"file": table.place, "groups": groups}
    return None


def part_at(place: object) -> Part:
    """The part at a place, with all that its questions say.

    Raises:
        DataError: it is no place in a file of this machine.
    """
    match place:
        case Mapping() if isinstance(file := place.get("file"), str) and not is_address(file):
            pass
        case _:
            raise DataError("stands in no file of this machine")
    match place:
        case {"first": int(), "start": int(), "stop": int(), "format": str()}:
            return Lines(file, place["first"], place["start"], place["stop"], place["format"])
        case {"groups": None}:
            return Groups(Table(file))
        case {"groups": [*groups]} if all(isinstance(own, int) for own in groups):
            return Groups(Table(file, tuple(groups)))
    raise DataError("is no place of a part", path=file)
