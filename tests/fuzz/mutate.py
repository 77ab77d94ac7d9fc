"""What is done to a seed: one function a mutation, in the list of what it changes.

A new one is a function and its place in `VALUES`, `TEXTS` or `BYTES`.
"""

from __future__ import annotations

import copy
import gzip
import json
import unicodedata
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

ODD_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 1.0, 0.5, -0.5, 1e308, -1e-308, 2**53 + 1, 10**400),
    *(float("nan"), float("inf"), float("-inf"), "NaN", "Infinity", "1", "1_0", "１２", "0x10"),
    *("", " ", "\t", "\n", "\x00", "\x1b[31mred", "\u2028", "\u200b", "\ufeff", "\u202eabc", "\r"),
    *("c1", "c2", "q1", "-", "../c1", "=1+1", "a" * 5000, "가" * 300, "\ud83d", "é", "e\u0301"),
    *([], {}, [[]], [None], ["c2"], [1, 2], {"id": "c1"}, [{"id": "c1"}], {"id": None}, [["c1"]]),
)
"""What stands where something else is expected."""

Place = tuple[Any, Any]
"""A container and the key or position of one of its values."""


def _places(value: Any) -> Iterator[Place]:
    """Every value within a value, with what holds it."""
    parts = enumerate(value) if isinstance(value, list) else getattr(value, "items", tuple)()
    for key, part in list(parts):
        yield value, key
        yield from _places(part)


def _replace(random: Random, place: Place) -> None:
    place[0][place[1]] = copy.deepcopy(random.choice(ODD_VALUES))


def _remove(random: Random, place: Place) -> None:
    del place[0][place[1]]


def _nest(random: Random, place: Place) -> None:
    for _ in range(random.choice((1, 1, 2, 50))):
        place[0][place[1]] = (
            [place[0][place[1]]] if random.random() < 0.5 else {"a": place[0][place[1]]}
        )


def _copy_from(random: Random, place: Place) -> None:
    container, key = random.choice([*_places(place[0])])
    place[0][place[1]] = copy.deepcopy(container[key])


def _rename(random: Random, place: Place) -> None:
    if isinstance(place[0], dict):
        new = random.choice([*place[0], str(place[1]).upper(), f"{place[1]} ", "id", "text", "x"])
        place[0][new] = place[0].pop(place[1])


def _as_text(random: Random, place: Place) -> None:
    value = place[0][place[1]]
    place[0][place[1]] = json.dumps(value) if random.random() < 0.5 else str(value)


def _in_text(random: Random, place: Place) -> None:
    """A character put into a text, or the text in another Unicode form."""
    value = place[0][place[1]]
    if isinstance(value, str):
        at = random.randint(0, len(value))
        odd = random.choice("\x00\x07\x1b\x85\u2028\u200b\ufeff\ufffd\ud800\u3000\u00a0\t\n\r😀")
        changed = (
            value[:at] + odd + value[at:],
            unicodedata.normalize("NFD", value),
            value.upper(),
        )
        place[0][place[1]] = random.choice(changed)


def _repeat(random: Random, place: Place) -> None:
    if isinstance(place[0], list):
        place[0].insert(place[1], copy.deepcopy(place[0][place[1]]))


VALUES: tuple[Callable[[Random, Place], None], ...] = (
    *(_replace, _replace, _replace, _remove, _nest, _copy_from, _rename, _as_text, _in_text),
    _repeat,
)
"""Each changes one value within a JSON value."""


def values(random: Random, value: Any, times: int | None = None) -> Any:
    """A copy of a JSON value, changed in some places."""
    changed = copy.deepcopy(value)
    for _ in range(random.choice((1, 1, 1, 2, 3)) if times is None else times):
        if places := [*_places(changed)]:
            random.choice(VALUES)(random, random.choice(places))
    return changed


def _cut(random: Random, text: str) -> str:
    start = random.randint(0, len(text))
    return text[:start] + text[min(len(text), start + random.choice((1, 3, 40, 10**6))) :]


def _insert(random: Random, text: str) -> str:
    at = random.randint(0, len(text))
    odd = ("\x00", "\x1b[2J", "\u2028", "\ufeff", '"', "{", "]", ",", "\\", "\\ud800", "\n", "\r")
    more = (
        "1e999",
        "NaN",
        "٣",
        "１",
        "_",
        "-",
        "\t",
        "#",
        ";",
        "|",
        "\x1c",
        "\x85",
        "'",
        "🜁",
        "null",
    )
    return text[:at] + random.choice(odd + more) + text[at:]


def _lines(random: Random, text: str) -> str:
    """Lines that are gone, stand twice, elsewhere, or are joined."""
    lines = text.splitlines(keepends=True) or [""]
    first, other = random.randrange(len(lines)), random.randrange(len(lines))
    match random.randrange(4):
        case 0:
            del lines[first]
        case 1:
            lines.insert(other, lines[first])
        case 2:
            lines[first], lines[other] = lines[other], lines[first]
        case _:
            lines[first] = lines[first].rstrip("\n")
    return "".join(lines)


def _swap(random: Random, text: str) -> str:
    """A word in the place of another."""
    words = text.split()
    return text.replace(random.choice(words), random.choice(words), 1) if words else text


def _twice(random: Random, text: str) -> str:
    """A part that stands twice: of JSON and YAML perhaps a key."""
    start = random.randint(0, len(text))
    end = min(len(text), start + random.choice((1, 5, 20, 60)))
    return text[:end] + text[start:]


TEXTS: tuple[Callable[[Random, str], str], ...] = (_cut, _insert, _insert, _lines, _swap, _twice)
"""Each changes a text."""


def text(random: Random, value: str) -> str:
    """A text, changed in some places."""
    for _ in range(random.choice((1, 1, 1, 2, 4))):
        value = random.choice(TEXTS)(random, value)
    return value


def _flip(random: Random, raw: bytes) -> bytes:
    if not raw:
        return b"\xff"
    at = random.randrange(len(raw))
    return raw[:at] + bytes([raw[at] ^ 1 << random.randrange(8)]) + raw[at + 1 :]


def _cut_bytes(random: Random, raw: bytes) -> bytes:
    return raw[: random.randint(0, len(raw))]


def _recoded(random: Random, raw: bytes) -> bytes:
    return raw.decode("utf-8", "replace").encode(random.choice(ENCODINGS), "replace")


def _zipped(random: Random, raw: bytes) -> bytes:
    return gzip.compress(raw)


BYTES: tuple[Callable[[Random, bytes], bytes], ...] = (_flip, _flip, _cut_bytes, _recoded, _zipped)
"""Each changes the bytes of a file."""

ENCODINGS = (
    *("utf-8", "utf-8-sig", "cp949", "euc-kr", "shift_jis", "gbk", "utf-16", "utf-16-le"),
    *("utf-16-be", "latin-1", "utf-32"),
)


def raw(random: Random, value: bytes) -> bytes:
    """The bytes of a file, changed in some places."""
    for _ in range(random.choice((1, 1, 2, 8))):
        value = random.choice(BYTES)(random, value)
    return value


def any_of(random: Random, value: bytes) -> bytes:
    """A file changed as a text, or as bytes."""
    if random.random() < 0.25:
        return raw(random, value)
    return text(random, value.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogatepass")
