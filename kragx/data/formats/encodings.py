"""Which encoding the bytes of a table are in."""

from __future__ import annotations

import codecs

from kragx.ground.errors import DataError, UsageError, nearest

GUESSED = "cp949"
"""The code page in which Korean Windows saves CSV; tried for what is not UTF-8."""

_MARKS_32 = (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)
_MARKS_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def marked(raw: bytes) -> str | None:
    """The encoding that the mark at the beginning of a file names, if it is not UTF-8."""
    if raw.startswith(_MARKS_32):  # before UTF-16, whose mark it begins with
        return "utf-32"
    return "utf-16" if raw.startswith(_MARKS_16) else None


def decoded(raw: bytes, encoding: str | None) -> tuple[str, str]:
    """A text and its encoding: the one that is named, or marked, else UTF-8, else `GUESSED`.

    Raises:
        DataError: it is in none of them.
        UsageError: there is no such encoding.
    """
    # UTF-8 first: it refuses nearly every text in another encoding, and cp949 takes many.
    names = [name] if (name := encoding or marked(raw)) else ["utf-8-sig", GUESSED]
    for name in names:
        try:
            text = raw.decode(name)
        except UnicodeError:
            continue
        except LookupError:
            encodings = ("utf-8", "utf-8-sig", GUESSED)
            raise UsageError(
                "encoding: {name!r} is unknown; {hint}", name=name, hint=nearest(name, encodings)
            ) from None
        if "\0" in text:
            raise DataError("holds NUL bytes, as UTF-16 without a mark does; save it as UTF-8")
        return text, name
    if encoding:
        raise DataError("cannot be decoded as {encoding}; name its encoding", encoding=encoding)
    raise DataError(
        "neither UTF-8 nor Korean in {guessed}; save it as UTF-8, or name its encoding "
        "(shift_jis, gbk, big5, cp1252, ...) by 'encoding' in a config",
        guessed=GUESSED,
    )
