"""What must not be found, on another corpus: by its text, where its chunk is no more."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain
from typing import Any, TypeGuard

from kragx.data import Doc, Forbidden, Query
from kragx.workshop.moving.rebuild import MoveOption


def forbidden_docs(query: Query) -> Iterator[tuple[int, str, Doc]]:
    """The documents that items of a query forbid, and those that have taken their place.

    Each with the number of its item and its field. An item of a source alone stays as it is.
    """
    for number, item in enumerate(query.forbidden or ()):
        if item.id is not None or item.text is not None:
            places = {"source": item.source, "start": item.start, "end": item.end}
            metadata = {name: value for name, value in places.items() if value is not None}
            yield number, f"forbidden[{number}]", Doc(item.id, item.text, metadata)
        if item.superseded_by is not None:
            yield number, f"forbidden[{number}].superseded_by", Doc(item.superseded_by)


def forbidden_moved(
    query: Query, options: Mapping[tuple[str, str], MoveOption]
) -> tuple[Forbidden, ...]:
    """What is forbidden for a query after the move: what is not the same chunk, by its text.

    Args:
        query: as it was.
        options: what became of `forbidden_docs`, by query and field.
    """
    moved: dict[Forbidden, None] = {}
    for number, item in enumerate(query.forbidden or ()):
        field = f"forbidden[{number}]"
        option = options.get((query.id, field))
        newer = options.get((query.id, f"{field}.superseded_by"))
        changes: dict[str, Any] = {}
        if _is_another(option):
            changes |= {"id": None, "text": option.probe.text}
        if _is_another(newer):
            newer_id, places = newer.parts[0][0].id, chain(*(option.parts if option else ()))
            # A chunk that holds both is not superseded by itself.
            is_itself = newer_id in {doc.id for doc in places}
            changes["superseded_by"] = None if is_itself else newer_id
        moved[replace(item, **changes)] = None
    return tuple(moved)


def _is_another(option: MoveOption | None) -> TypeGuard[MoveOption]:
    """Whether a document of the old corpus is not the same chunk in the new one."""
    return option is not None and option.choice.verdict != "same" and option.probe.text is not None
