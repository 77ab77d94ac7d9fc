"""`.env` files: environment variables kept beside a config instead of in it."""

from __future__ import annotations

import os
import re
from pathlib import Path

from kragx.errors import DataError

_LINE = re.compile(
    r"""\s*(?:export\s+)?(?P<name>[A-Za-z_]\w*)\s*=\s*
        (?: '(?P<single>[^']*)' | "(?P<double>(?:[^"\\]|\\.)*)" | (?P<plain>.*?) )
        \s*(?:(?<=\s)\#.*)?""",
    re.VERBOSE,
)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}


def load_env(folder: Path) -> None:
    """Set the variables of ``folder/.env``, if there is one; what is set already stays.

    Written as everywhere: ``NAME=value``, optionally with ``export``, quotes and comments. They are
    set in the process, because that is where clients of models and databases look for their keys.

    Raises:
        DataError: the file cannot be read, or a line of it is none of these.
    """
    path = folder / ".env"
    if not path.is_file():
        return
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: cannot be read: {error}") from None
    for name, value in parse_env(text, str(path)).items():
        os.environ.setdefault(name, value)


def parse_env(text: str, where: str = ".env") -> dict[str, str]:
    """The variables of a `.env` file's text; in an error message the value is left out.

    >>> parse_env("export KEY='a b'  # mine")
    {'KEY': 'a b'}
    """
    found: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = _LINE.fullmatch(line)
        if match is None:
            raise DataError(f"{where}:{number}: not of the form NAME=value")
        if match["double"] is not None:
            value = re.sub(r"\\(.)", lambda each: _ESCAPES.get(each[1], each[1]), match["double"])
        else:
            value = match["single"] if match["single"] is not None else match["plain"]
        found[match["name"]] = value
    return found
