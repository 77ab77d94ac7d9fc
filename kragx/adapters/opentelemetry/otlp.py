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
    for number, request in _requests(path):
        location = f"{path}:{number}"
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


def _requests(path: str | Path) -> Iterator[tuple[int, Any]]:
    """The requests of a file with their lines: one each, or one for the whole."""
    with open_bytes(path) as file:
        lines = [line.decode("utf-8-sig", "replace") for line in file]
    requests: list[tuple[int, Any]] = []
    for number, line in enumerate(lines, start=1):
        try:
            requests += [(number, parsed(line))] if line.strip() else []
        except ValueError as error:
            if requests:  # a request a line, and this one is broken
                raise DataError(f"not JSON: {error}", path=f"{path}:{number}") from None
            break
    else:
        yield from requests
        return
    try:
        yield 1, parsed("".join(lines))
    except ValueError as error:
        raise DataError(f"not JSON: {error}", path=str(path)) from None


def parsed(text: str) -> Any:
    """What a text of JSON holds; numbers as other tools write them."""
    return foreign_json(text, strict=False)


def attribute_value(value: Any) -> Any:
    """A value of OTLP as Python has it."""
    if not value:
        return None
    ((kind, content),) = value.items()
    if kind == "intValue":
        return int(content)
    if kind == "arrayValue":
        return [attribute_value(item) for item in content.get("values", ())]
    if kind == "kvlistValue":
        return {
            item["key"]: attribute_value(item.get("value")) for item in content.get("values", ())
        }
    return content
