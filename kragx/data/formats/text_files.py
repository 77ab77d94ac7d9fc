"""Folders of Markdown, text and HTML: each file is a document, its path within the folder the id.

Files and folders whose names begin with a dot are nobody's documents. What else is left out is
counted: empty files, files of other kinds, and links, which lead out of the folder or to what is
read already.
"""

import os
import re
import warnings
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kragx.data.formats.encodings import GUESSED, decoded
from kragx.data.formats.jsonl import ending, open_bytes
from kragx.data.problems import DataWarning
from kragx.ground.caller_warnings import outside
from kragx.ground.errors import inside, needing
from kragx.ground.printing import joined, phrase

ENDINGS = (".md", ".txt", ".html", ".htm")

_BLOCKS = (
    *("address", "article", "aside", "blockquote", "br", "dd", "details", "div", "dl", "dt"),
    *("fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6"),
    *("header", "hr", "li", "main", "nav", "ol", "p", "pre", "section", "summary", "table", "tr"),
    "ul",
)
_CELLS = ("td", "th")
_UNSEEN = ("script", "style", "template", "noscript", "title")
_CHARSET = re.compile(rb"<meta[^>]+charset\s*=\s*[\"']?([\w-]+)", re.IGNORECASE)
_FRONT_MATTER = re.compile(r"\A---\n.*?^(?:---|\.\.\.)$", re.DOTALL | re.MULTILINE)
_CODE = re.compile(r"^ {0,3}(```+|~~~+).*?(?:^ {0,3}\1|\Z)", re.DOTALL | re.MULTILINE)
_HEADING = re.compile(
    r"^ {0,3}#{1,6}[ \t]+(\S.*?)(?:[ \t]+#*)?$|^ {0,3}(?![-*+>|])(\S.*)\n {0,3}(?:=+|-+)[ \t]*$",
    re.MULTILINE,
)


@dataclass
class TextFiles:
    """The texts of a folder, or a single one.

    Attributes:
        place: the folder, or the file.
        n: how many documents were read.
        left_out: how many files were not, by the reason.
        endings: of files of other kinds.
        n_guessed: how many were read as cp949, because they are no UTF-8.
    """

    place: Path
    n: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    endings: Counter[str] = field(default_factory=Counter)
    n_guessed: int = 0

    def files(self) -> list[Path]:
        """Those of a folder and of all in it, in the order of their ids."""
        paths: list[Path] = []
        for root, folders, names in os.walk(self.place):
            # In place: `walk` goes into those that are left in the list.
            folders[:] = [name for name in folders if self._is_read(Path(root, name))]
            paths += [Path(root, name) for name in names if self._is_read(Path(root, name))]
        self.endings = Counter(map(ending, paths)) - Counter(dict.fromkeys(ENDINGS, len(paths)))
        return sorted((path for path in paths if ending(path) in ENDINGS), key=self._id)

    def _is_read(self, path: Path) -> bool:
        """Whether a file or folder is looked at; of links those to files of the folder are."""
        is_within = path.resolve().is_relative_to(self.place.resolve())
        is_out = path.is_symlink() and not (path.is_file() and is_within)
        is_hidden = path.name.startswith(".")
        self.left_out["links"] += is_out and not is_hidden
        return not (is_out or is_hidden)

    def _id(self, path: Path) -> str:
        return path.relative_to(self.place).as_posix() if path != self.place else path.name

    def document(self, path: Path) -> dict[str, Any] | None:
        """A file as a document with its first heading as title; None if nothing stands in it.

        Raises:
            DataError: it cannot be read or decoded.
            MissingExtraError: the package that reads HTML is not installed.
        """
        is_html = ending(path) in (".html", ".htm")
        with open_bytes(path) as file:
            raw = file.read()
        # Pages say it near their beginning; further down it may be quoted in a text.
        declared = _CHARSET.search(raw[:2048]) if is_html else None
        name = declared[1].decode().lower() if declared else ""
        # Of Korean pages cp949 has all that the name means, and more.
        is_known = name in ("", "utf-8", "utf8", "euc-kr", "ks_c_5601-1987")
        with inside(path=str(path)):
            text, encoding = decoded(raw, None if is_known else name)
        self.n_guessed += encoding == GUESSED and not name
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        text, title = _of_html(text) if is_html else (text, "")
        if not text.strip():
            self.left_out["empty"] += 1
            return None
        self.n += 1
        title = _title(text) if ending(path) == ".md" else title
        return {"id": self._id(path), "text": text, "metadata": {"title": title} if title else {}}

    def warn(self) -> None:
        """Say in a line what was left out, and what was guessed."""
        kinds = ", ".join(sorted(filter(None, self.endings)))
        left_out = {
            phrase("empty files left out"): self.left_out["empty"],
            phrase("files of other kinds left out ({kinds})", kinds=kinds): self.endings.total(),
            phrase("links left out"): self.left_out["links"],
            phrase("not UTF-8, so read as {encoding}", encoding=GUESSED): self.n_guessed,
        }
        counts = {phrase("documents"): self.n} | {name: n for name, n in left_out.items() if n}
        if len(counts) > 1:
            parts = [joined(": ", [name, str(n)]) for name, n in counts.items() if n]
            message = joined(": ", [str(self.place), joined("; ", parts)])
            warnings.warn(message, DataWarning, stacklevel=outside())


def _title(text: str) -> str:
    """The first heading of Markdown, with ``#`` or underlined; none in code or front matter."""
    heading = _HEADING.search(_CODE.sub("", _FRONT_MATTER.sub("", text, count=1)))
    return "" if heading is None else heading[1] or heading[2].strip()


def _of_html(page: str) -> tuple[str, str]:
    """The text of a page as it is seen, a line for each of its blocks, and its first heading."""
    with needing("html", "reading HTML"):
        from bs4 import BeautifulSoup
        from bs4.element import NavigableString

    soup = BeautifulSoup(page, "html.parser")
    name = soup.title.get_text() if soup.title else ""
    for tag in soup(_UNSEEN):
        tag.decompose()
    for string in soup.find_all(string=True):
        # Comments are strings of a class of their own; in `pre` white space is seen as written.
        if type(string) is NavigableString and string.find_parent("pre") is None:
            string.replace_with(re.sub(r"\s+", " ", string))
    heading = soup.find(["h1", "h2", "h3", "h4", "h5", "h6"])
    title = " ".join((heading.get_text() if heading else name).split())
    # A browser shows blocks below each other, with nothing in the page to say so.
    for tag in soup(_BLOCKS):
        tag.insert_before("\n")
        tag.insert_after("\n")
    for tag in soup(_CELLS):
        tag.insert_after(" ")
    lines = (line.strip() for line in soup.get_text().split("\n"))
    return "\n".join(filter(None, lines)), title
