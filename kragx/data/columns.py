"""Lists of documents or gold items that are as plain as most are, read field by field.

One value after the other takes several checks each; a field of all of them at once takes a few for
the whole list. What is said here is what those checks say as well, in a tenth of the time; whatever
is not plain is left to them, and so is what makes an error.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import chain, islice
from math import isfinite
from operator import attrgetter, itemgetter
from types import NoneType
from typing import Any, Generic, NamedTuple, TypeVar

_Kept = TypeVar("_Kept")

_OF_DOCUMENT = (attrgetter("id"), attrgetter("page_content"), attrgetter("metadata"))


class Columns(NamedTuple, Generic[_Kept]):
    """What some values say, one field after the other; a field that none of them has is None."""

    ids: Sequence[str | None] | None
    texts: Sequence[_Kept] | None
    numbers: Sequence[float | None] | None
    metadata: Sequence[dict[str, Any]] | None

    @property
    def rows(self) -> "zip[tuple[str | None, _Kept | None, float | None, dict[str, Any]]]":
        """The same, value by value."""
        blanks = (None,) * len(self.texts or self.ids or ())
        return zip(
            self.ids or blanks,
            self.texts or blanks,
            self.numbers or blanks,
            self.metadata or [{} for _ in blanks],
            strict=True,
        )


class NotPlainError(Exception):
    """It is for the checks of one value after the other."""


def columns(
    values: object,
    number: str,
    *,
    strings: bool,
    keep: Callable[[list[str]], Sequence[_Kept]],
    metadata: bool = True,
) -> Columns[_Kept] | None:
    """Documents or gold items of one kind that are as plain as most are; None of any others.

    Args:
        values: mappings, LangChain documents, or texts.
        number: the name of the one field that is a number.
        strings: whether they come from Python: there a text is a document, and texts may have
            something to mend, which makes them not plain.
        keep: what is kept of texts; it raises the error of encoding one with something to mend.
        metadata: whether these are read; else they need only be mappings.
    """
    if type(values) not in (list, tuple) or not values:
        return None
    try:
        ids, texts, numbers, mappings = _by_name(values, number, strings=strings)  # type: ignore[arg-type]
        if texts is None and (ids is None or None in ids):
            return None
        return Columns(
            None if ids is None else _ids(ids),
            None if texts is None else _texts(texts, keep),
            None if numbers is None else _numbers(numbers),
            None if mappings is None else _mappings(mappings, strings=strings, read=metadata),
        )
    except (NotPlainError, AttributeError, UnicodeEncodeError, OverflowError):
        return None


def unmended(texts: list[str]) -> list[str]:
    """Texts kept as they are, by `columns`."""
    for text in {*texts}:
        text.encode()
    return texts


def by_list(
    read: Callable[[list[object]], Sequence[_Kept] | None], lists: Sequence[object]
) -> list[tuple[_Kept, ...]] | None:
    """What `plain` makes of the values of all lists at once, list by list; None as `plain`."""
    if not {*map(type, lists)} <= {list, tuple}:
        return None
    flat: list[object] = [*chain.from_iterable(lists)]  # type: ignore[arg-type]
    values = read(flat) if flat else ()
    if values is None:
        return None
    stream = iter(values)
    return [tuple(islice(stream, len(values_of_list))) for values_of_list in lists]  # type: ignore[arg-type]


def _by_name(values: Sequence[Any], number: str, *, strings: bool) -> tuple[list[Any] | None, ...]:
    """The ids, texts, numbers and metadata of values of one type, whatever they are."""
    kind, *other_kinds = {*map(type, values)}
    if other_kinds:
        raise NotPlainError
    if kind is dict:
        alike = _alike(values)
        present = {*alike} or set().union(*values)
        text = next((name for name in ("text", "page_content") if name in present), "content")
        names = ("id", text, number, "metadata")
        if present.issubset(names):
            if alike:
                return tuple(map(alike.get, names))
            return tuple(
                [value.get(name) for value in values] if name in present else None for name in names
            )
    elif kind is str and strings:
        return None, [*values], None, None
    elif not issubclass(kind, Mapping):
        ids, texts, metadata = ([*map(field, values)] for field in _OF_DOCUMENT)
        return ids, texts, None, metadata
    raise NotPlainError


def _alike(values: Sequence[dict[str, Any]]) -> dict[str, list[Any]]:
    """The fields of mappings that all have the same ones; empty where they differ."""
    first = values[0]
    with suppress(KeyError):
        if {*map(len, values)} == {len(first)}:
            return {name: [*map(itemgetter(name), values)] for name in first}
    return {}


def _ids(ids: list[Any]) -> Sequence[str | None] | None:
    _of_types(ids, str, NoneType)
    texts = [*filter(None, ids)]
    if "" in ids or any(map(str.isspace, texts)):
        raise NotPlainError
    "".join(texts).encode()
    return ids if texts else None


def _texts(texts: list[Any], keep: Callable[[list[str]], Sequence[_Kept]]) -> Sequence[_Kept]:
    _of_types(texts, str)
    return keep(texts)


def _numbers(numbers: list[Any]) -> Sequence[float | None]:
    _of_types(numbers, float, int, NoneType)
    if not all(map(isfinite, filter(None, numbers))):
        raise NotPlainError
    return [None if number is None else float(number) for number in numbers]


def _mappings(values: list[Any], *, strings: bool, read: bool) -> Sequence[dict[str, Any]] | None:
    _of_types(values, dict, NoneType)
    if not (read and any(values)):
        return None
    if strings:  # what a file holds is mended as it is read
        some = [*filter(None, values)]
        within = [*chain.from_iterable(some), *chain.from_iterable(map(dict.values, some))]
        _of_types(within, str, int, float, bool, NoneType)
        "".join([part for part in within if type(part) is str]).encode()
    return [dict(value) if value else {} for value in values]


def _of_types(values: list[Any], *types: type) -> None:
    if not {*map(type, values)}.issubset(types):
        raise NotPlainError
