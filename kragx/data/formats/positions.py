"""On which lines the parts of a JSON text begin, which `json.loads` does not tell."""

from __future__ import annotations

import json
import re

Place = tuple[str | int, ...]
"""The keys and positions that lead to a part: ``("queries", "q1")``."""

_TOKENS = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s"{}\[\],:]+|\n')


def lines_of(text: str, depth: int = 2) -> dict[Place, int]:
    """The line (from 1) of every part of a valid JSON text, down to a depth.

    A part of an object begins with its key. Of a key that stands twice the last one counts, as for
    `json.loads`.
    """
    lines: dict[Place, int] = {}
    path: list[str | int] = []  # a key or position for each object or list that is open
    line, key_next = 1, False
    for found in _TOKENS.finditer(text):
        token = found.group()
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
