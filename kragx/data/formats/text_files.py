"""Texts in some encoding, and folders of Markdown, text and HTML.

There each file is a document, its path within the folder the id.

Files and folders whose names begin with a dot are nobody's documents. What else is left out is
counted: files of other kinds, and links, which lead out of the folder or to what is read already.
"""

import re
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kragx.data.formats.jsonl import ending, open_bytes
from kragx.data.problems import DataWarning
from kragx.ground.caller_warnings import outside
from kragx.ground.errors import DataError, UsageError, inside, nearest, needing
from kragx.ground.printing import joined, message

GUESSED = "cp949"
"""The code page in which Korean Windows saves CSV; tried for what is not UTF-8."""

ENDINGS = (".md", ".txt", ".html", ".htm")

_BLOCKS = (
    *("address", "article", "aside", "blockquote", "br", "dd", "details", "div", "dl", "dt"),
    *("fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6"),
    *("header", "hr", "li", "main", "nav", "ol", "p", "pre", "section", "summary", "table", "tr"),
    "ul",
)
_CELLS = ("td", "th")
_UNSEEN = ("script", "style", "template", "noscript", "title")
_HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]+(\S.*?)(?:[ \t]+#*)?$", re.MULTILINE)


@dataclass
class TextFiles:
    """The texts of a folder, or a single one.

    Attributes:
        place: the folder, or the file.
        n_left_out: how many files are links, or of other kinds.
        n_guessed: how many were read as cp949, because they are no UTF-8.
    """

    place: Path
    n_left_out: int = 0
    n_guessed: int = 0

    def files(self) -> list[Path]:
        """Those of a folder and of all in it, in the order of their ids."""
        within = (path for path in self.place.rglob("*") if not path.is_dir())
        named = [path for path in within if not re.search(r"(^|/)\.", self._id(path))]
        texts = [path for path in named if ending(path) in ENDINGS and not path.is_symlink()]
        self.n_left_out = len(named) - len(texts)
        return sorted(texts, key=self._id)

    def _id(self, path: Path) -> str:
        return path.relative_to(self.place).as_posix() if path != self.place else path.name

    def document(self, path: Path) -> dict[str, Any] | None:
        """A file as a document with its first heading as title; None if nothing stands in it.

        Raises:
            DataError: it cannot be read or decoded.
            MissingExtraError: the package that reads HTML is not installed.
        """
        with open_bytes(path) as file, inside(path=str(path)):
            text, encoding = decoded(file.read(), None)
        self.n_guessed += encoding == GUESSED
        text, title = text.replace("\r\n", "\n").replace("\r", "\n"), ""
        if ending(path) in (".html", ".htm"):
            text, title = _of_html(text)
        elif ending(path) == ".md" and (heading := _HEADING.search(text)):
            title = heading[1]
        if not text.strip():
            return None
        return {"id": self._id(path), "text": text, "metadata": {"title": title} if title else {}}

    def warn(self) -> None:
        """Say in a line what was left out, and what was guessed."""
        left_out = message(
            "files left out (links, or other kinds than {kinds})", kinds=" ".join(ENDINGS)
        )
        guessed = message("not UTF-8, so read as {encoding}", encoding=GUESSED)
        counts = {left_out: self.n_left_out, guessed: self.n_guessed}
        if parts := [joined(": ", [name, str(n)]) for name, n in counts.items() if n]:
            wording = joined(": ", [str(self.place), joined("; ", parts)])
            warnings.warn(wording, DataWarning, stacklevel=outside())


def _of_html(page: str) -> tuple[str, str]:
    """The text of a page as it is seen, a line for each of its blocks, and its first heading."""
    with needing("html", "reading HTML"):
        from bs4 import BeautifulSoup
        from bs4.element import NavigableString

    soup = BeautifulSoup(page, "html.parser")
    heading = soup.find(["h1", "h2", "h3", "h4", "h5", "h6"]) or soup.title
    title = " ".join(heading.get_text().split()) if heading else ""
    for tag in soup(_UNSEEN):
        tag.decompose()
    for string in soup.find_all(string=True):
        # Comments are strings of a class of their own; in `pre` white space is seen as written.
        if type(string) is NavigableString and string.find_parent("pre") is None:
            string.replace_with(re.sub(r"\s+", " ", string))
    # A browser shows blocks below each other, with nothing in the page to say so.
    for tag in soup(_BLOCKS):
        tag.insert_before("\n")
        tag.insert_after("\n")
    for tag in soup(_CELLS):
        tag.insert_after(" ")
    lines = (line.strip() for line in soup.get_text().split("\n"))
    return "\n".join(filter(None, lines)), title


def decoded(raw: bytes, encoding: str | None) -> tuple[str, str]:
    """A text and its encoding: the one that is named, else UTF-8, else `GUESSED`.

    Raises:
        DataError: it is in none of them.
        UsageError: there is no such encoding.
    """
    # UTF-8 first: it refuses nearly every text in another encoding, and cp949 takes many.
    names = [encoding] if encoding else ["utf-8-sig", GUESSED]
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
            raise DataError("holds NUL bytes, as UTF-16 does; save it as UTF-8")
        return text, name
    if encoding:
        raise DataError("cannot be decoded as {encoding}; name its encoding", encoding=encoding)
    raise DataError(
        "neither UTF-8 nor Korean in {guessed}; save it as UTF-8, or name its encoding "
        "(shift_jis, gbk, big5, cp1252, ...) by 'encoding' in a config",
        guessed=GUESSED,
    )
