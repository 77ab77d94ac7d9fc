"""What must not be found, on another corpus: every chunk that holds it is forbidden there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

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
    """What is forbidden for a query after the move.

    A text that is split is forbidden in each of its parts, and one that several chunks hold in all
    of them. What is lost, or nobody knows where, stays with its text and without an id.

    Args:
        query: as it was.
        options: what became of `forbidden_docs`, by query and field.
    """
    moved: dict[Forbidden, None] = {}
    for number, item in enumerate(query.forbidden or ()):
        field = f"forbidden[{number}]"
        option = options.get((query.id, field))
        newer_id = _id(options.get((query.id, f"{field}.superseded_by")))
        bare = replace(item, superseded_by=None)
        for new_item in [bare] if option is None else _items(bare, option):
            # A chunk that holds both is not superseded by itself.
            is_itself = new_item.id == newer_id
            moved[new_item if is_itself else replace(new_item, superseded_by=newer_id)] = None
    return tuple(moved)


def _items(item: Forbidden, option: MoveOption) -> list[Forbidden]:
    if option.choice.verdict == "same":
        return [item]
    if option.is_open:
        text = option.probe.text
        return [replace(item, id=None, text=text)] if text is not None else [item]
    items: list[Forbidden] = []
    for ors in option.parts:
        source, start, end = map(ors[0].metadata.get, ("source", "start", "end"))
        place = replace(item, source=None if start is None else source, start=start, end=end)
        items += [replace(place, id=doc.id, text=doc.text) for doc in ors]
    return items


def _id(option: MoveOption | None) -> str | None:
    """The id of what has taken a document's place; none where nobody knows it any more."""
    if option is None:
        return None
    if option.choice.verdict == "same" or option.probe.text is None:
        return option.probe.doc.id  # of no document of the old corpus nothing is known
    return option.parts[0][0].id
