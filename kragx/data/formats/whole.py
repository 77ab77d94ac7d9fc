"""Files that are one JSON value, and on which lines its parts begin."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kragx.data.formats.format import Place
from kragx.data.formats.jsonl import mended, open_bytes, unique_keys
from kragx.data.text import Mender
from kragx.errors import DataError

_TOKENS = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s"{}\[\],:]+|\n')


Part = tuple[int, Any, Mapping[Place, int]]
"""A value, the line on which it begins, and those on which its own parts do."""


def read_whole(path: str | Path, first: str, mender: Mender, *, lines: bool) -> list[Part] | None:
    """A file that is one JSON value: an object, or the items of a list.

    None if it is JSON Lines, also if those are broken.

    Args:
        path: the file.
        first: its first line.
        mender: replaces lone surrogates.
        lines: whether its name says that it holds JSON Lines.

    Raises:
        DataError: it is neither one value nor JSON Lines.
    """
    lines = lines and not first.startswith("[")
    if lines and _is_json(first):
        return None  # read as a stream
    with open_bytes(path) as file:
        raw = file.read()
    try:
        text = raw.decode("utf-8-sig", "surrogatepass")
        value = mended(json.loads(text, object_pairs_hook=unique_keys), text, mender)
    except UnicodeDecodeError:
        return None  # reading line by line will name the line
    except DataError as error:
        raise error.within(path=str(path)) from None
    except (ValueError, RecursionError) as error:
        if lines or _is_json(first):
            return None
        line, reason = getattr(error, "lineno", 1), getattr(error, "msg", "nested too deeply")
        raise DataError(f"not valid JSON: {reason}", path=f"{path}:{line}") from None
    places = lines_of(text)
    if isinstance(value, list):
        return [(places[number,], item, {}) for number, item in enumerate(value)]
    return [(1, value, places)]


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def lines_of(text: str, depth: int = 2) -> dict[Place, int]:
    """The line (from 1) of every part of a valid JSON text, down to a depth.

    A part of an object begins with its key. Of a key that stands twice the last one counts, as for
    `json.loads`.
    """
    lines: dict[Place, int] = {}
    path: list[str | int] = []  # a key or position for each object or list that is open
    line, key_next = 1, False
    for match in _TOKENS.finditer(text):
        token = match.group()
        if token == "\n":
            line += 1
            continue
        if token in "}]":
            path.pop()
        elif token == ",":
            key_next = isinstance(path[-1], str)
            if not key_next:
                path[-1] = int(path[-1]) + 1
        elif token == ":":
            key_next = False
        elif key_next:
            path[-1] = json.loads(token)
            if len(path) <= depth:
                lines[tuple(path)] = line
        else:
            if path and not isinstance(path[-1], str) and len(path) <= depth:
                lines[tuple(path)] = line
            if token in "{[":
                path.append("" if token == "{" else 0)
                key_next = token == "{"
    return lines
