"""What the options of a client may be, with what to write instead."""

import json
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from kragx.errors import UsageError, inside
from kragx.plugins import FromVariable, is_text, number


def text(value: Any) -> str:
    """A text with something in it."""
    if not is_text(value):
        raise UsageError(f"{value!r} is no text")
    return str(value)


def model(value: Any) -> str:
    """A model's name."""
    if not is_text(value):
        raise UsageError(f"{value!r} names no model", remedy="name the model that judges")
    return str(value)


def temperature(value: Any) -> float | str | None:
    """A number of at least 0; ``none`` for none."""
    if value is None or value == "none":
        return value  # type: ignore[no-any-return]  # one of these two
    kind = "number of at least 0, nor 'none' (which sends none)"
    return number(lambda degree: 0 <= degree < 1000, kind)(value)  # type: ignore[no-any-return]


def address(value: Any) -> str:
    """Where a server is."""
    if not is_text(value) or not value.startswith(("http://", "https://")):
        remedy = "write for example http://localhost:8000/v1"
        start = "" if "@" in str(value) else f"{value!r} is "
        raise UsageError(f"{start}no address of a server", remedy=remedy)
    try:
        is_whole = bool(urlsplit(value).hostname) and urlsplit(value).port != 0
    except ValueError:  # whose text may have a password
        is_whole = False
    # A `BareUrl` has no login: what stands before an @ yet is a part of a password.
    if not is_whole or re.search("[^/]@", value):
        remedy = "write for example http://localhost:8000/v1; / and @ in a password as %2F and %40"
        raise UsageError("no address of a server", remedy=remedy)
    if value.rstrip("/").endswith("/chat/completions"):
        raise UsageError("names one service of a server", remedy="leave /chat/completions out")
    return value  # type: ignore[no-any-return]  # a text, of what kind ever


def mapping(value: Any) -> Mapping[str, Any]:
    """Names with values."""
    if not isinstance(value, Mapping) or not all(map(is_text, value)):
        raise UsageError(f"a mapping of names is expected, not {type(value).__name__}")
    return value


def body(value: Any) -> Mapping[str, Any]:
    """Names with what JSON can hold."""
    mapping(value)
    try:
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(f"a request cannot hold this ({error})") from None
    return value  # type: ignore[no-any-return]  # a mapping, as was checked


def headers(value: Any) -> Mapping[str, str]:
    """Names with texts, as HTTP can send them. None is quoted, as they may be secrets."""
    with inside("headers"):
        for name, content in mapping(value).items():
            if not name.replace("-", "").replace("_", "").isalnum() or not name.isascii():
                raise UsageError(f"{name!r} is no name of a header")
            if not is_text(content) or not content.isprintable() or not content.isascii():
                remedy = "write {X-Title: my project}; a secret as ${NAME}"
                if isinstance(content, FromVariable) and not is_text(content):
                    remedy = f"set the environment variable: {content.written} is empty"
                raise UsageError("no text of printable ASCII", field=name, remedy=remedy)
    return value  # type: ignore[no-any-return]  # a mapping of texts, as was checked
