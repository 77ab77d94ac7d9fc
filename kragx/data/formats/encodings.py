"""Which encoding the bytes of a table are in; what is guessed must look like what it would be."""

from __future__ import annotations

import codecs

from kragx.errors import DataError, UsageError, nearest

GUESSED = "cp949"
"""The code page in which Korean Windows saves CSV; tried for what is not UTF-8."""

_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",  # before UTF-16, whose mark it begins with
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}

_COMMON = frozenset(
    "이다에의는하을로고가지은한서를기으사대인나리도시어자아라있그들스수해부전었과일적되게정주제년했였장여국성와"
    "만상동마오보것위교세신구조화우치문공며르선유소미원중학러진면비후된모경계거데당명트용"
)
"""The hundred commonest syllables of written Korean."""


_LETTERS = 100_000
"""Of a longer text so many, evenly, tell what it is."""


def marked(raw: bytes) -> str | None:
    """The encoding that the mark at the beginning of a file names, if it is not UTF-8."""
    return next((name for mark, name in _MARKS.items() if raw.startswith(mark)), None)


def decoded(raw: bytes, encoding: str | None) -> tuple[str, str]:
    """A text and its encoding: the one that is named, or marked, else UTF-8, else `GUESSED`.

    Raises:
        DataError: it is in none of them; or what was guessed gives no Korean.
        UsageError: there is no such encoding.
    """
    for name in filter(None, (encoding or marked(raw), None if encoding else "utf-8-sig", GUESSED)):
        try:
            text = raw.decode(name)
        except UnicodeError:
            if name == encoding:
                raise DataError(f"cannot be decoded as {name}; name its encoding") from None
            continue
        except LookupError:
            known = ("utf-8", "utf-8-sig", GUESSED)
            raise UsageError(
                f"encoding: {name!r} is unknown; {nearest(str(name), known)}"
            ) from None
        if "\0" in text:
            raise DataError("holds NUL bytes, as UTF-16 without a mark does; save it as UTF-8")
        if name != GUESSED or encoding or looks_korean(text):
            return text, name
    raise DataError(
        f"neither UTF-8 nor Korean in {GUESSED}; save it as UTF-8, or name its encoding "
        "(shift_jis, gbk, big5, cp1252, ...) by 'encoding' in a config"
    )


def looks_korean(text: str) -> bool:
    """Whether a text is Korean, and not another language that was read as `GUESSED`.

    Japanese in Shift-JIS and quotation marks of Western Windows become syllables that no Korean
    word has, Chinese in GBK becomes Hanja and rare syllables. So of the letters that are not ASCII
    nearly all must be among the 2,350 syllables of KS X 1001 (seven of ten in a text of 20 or more,
    which may hold Hanja), and of 8 or more one in seven among the hundred commonest.
    """
    some = text[:: len(text) // _LETTERS + 1]
    letters = [letter for letter in some if letter > "\x7f" and letter.isalpha()]
    n_strange = sum(not ("가" <= letter <= "힣" and _in_ks_x_1001(letter)) for letter in letters)
    n_common = sum(letter in _COMMON for letter in letters)
    n = len(letters)
    return n_strange <= (0.3 if n >= 20 else 0.1) * n and (n < 8 or n_common >= n / 7)


def _in_ks_x_1001(syllable: str) -> bool:
    try:
        return len(syllable.encode("euc_kr")) == 2  # eight bytes spell out any other one
    except UnicodeEncodeError:
        return False
