"""Files of OTLP as JSON: requests, and the spans in them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from kragx.data.formats.jsonl import foreign_json, open_bytes
from kragx.errors import DataError


def spans_in(path: str | Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The spans in the order of the file, each with the place where it stands.

    Raises:
        DataError: the file holds something else.
    """
    for location, request in _requests(path):
        try:
            spans = [
                span
                for of_resource in request["resourceSpans"]
                for of_scope in of_resource.get("scopeSpans", ())
                for span in of_scope.get("spans", ())
            ]
        except (KeyError, TypeError, AttributeError):
            raise DataError(
                "no request of OTLP as JSON",
                path=location,
                remedy='each has {"resourceSpans": [...]}, as a collector\'s file exporter writes',
            ) from None
        yield from ((location, span) for span in spans)


def _requests(path: str | Path) -> list[tuple[str, Any]]:
    """The requests of a file with their lines: one for the whole, or one each."""
    with open_bytes(path) as file:
        text = file.read().decode("utf-8-sig", "replace")
    try:
        return [(f"{path}:1", parsed(text))]
    except ValueError as error:
        problem, location = error, str(path)
    requests: list[tuple[str, Any]] = []
    for number, line in enumerate(text.split("\n"), start=1):
        try:
            requests += [(f"{path}:{number}", parsed(line))] if line.strip() else []
        except ValueError as error:
            if requests:  # a request a line, and this one is broken
                problem, location = error, f"{path}:{number}"
            raise DataError(f"not JSON: {problem}", path=location) from None
    return requests


def parsed(text: str) -> Any:
    """What a text of JSON holds; numbers as other tools write them."""
    return foreign_json(text, strict=False)


def attribute_value(value: Any) -> Any:
    """A value of OTLP as Python has it."""
    match value:
        case {"intValue": number}:
            return int(number)
        case {"arrayValue": array}:
            return [*map(attribute_value, array.get("values", ()))]
        case {"kvlistValue": pairs}:
            return {
                pair["key"]: attribute_value(pair.get("value")) for pair in pairs.get("values", ())
            }
    return next(iter(value.values())) if value else None
