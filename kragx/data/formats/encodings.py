"""Which encoding the bytes of a table are in."""

from __future__ import annotations

import codecs

from kragx.errors import DataError, UsageError, nearest

GUESSED = "cp949"
"""The code page in which Korean Windows saves CSV; tried for what is not UTF-8."""

UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
"""The marks with which files in UTF-16 begin, as Excel saves "Unicode text"."""


def decoded(raw: bytes, encoding: str | None) -> tuple[str, str]:
    """A text and its encoding: the one that is named, or marked, else UTF-8, else `GUESSED`.

    Raises:
        DataError: it is in none of them.
        UsageError: there is no such encoding.
    """
    guesses = ("utf-16",) if raw.startswith(UTF_16) else ("utf-8-sig", GUESSED)
    for name in (encoding,) if encoding else guesses:
        try:
            text = raw.decode(name)
        except UnicodeError:
            continue
        except LookupError:
            encodings = ("utf-8", "utf-8-sig", GUESSED)
            raise UsageError(f"encoding: {name!r} is unknown; {nearest(name, encodings)}") from None
        if "\0" in text:
            raise DataError("holds NUL bytes, as UTF-16 without a mark does; save it as UTF-8")
        return text, name
    if encoding:
        raise DataError(f"cannot be decoded as {encoding}; name its encoding")
    raise DataError(
        f"neither UTF-8 nor Korean in {GUESSED}; save it as UTF-8, or name its encoding "
        "(shift_jis, gbk, big5, cp1252, ...) by 'encoding' in a config"
    )
