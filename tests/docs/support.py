"""Where the documents are, and how their parts are read."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).parents[2]

TWINS = {
    "README.md": "README.ko.md",
    **{
        korean.replace(".ko.md", ".md"): korean
        for folder in ("docs", "docs/evidence")
        for korean in sorted(f"{folder}/{path.name}" for path in (ROOT / folder).glob("*.ko.md"))
    },
}
"""Each English document with its Korean one, those of docs/evidence too."""

_BLOCK = re.compile(r"^```(\w*)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_COMMENT = re.compile(r"\s*(?:#|//|--) .*$", re.MULTILINE)
_WORDING = re.compile(r"^(?:language|instruction|grades): .*\n", re.MULTILINE)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^(#+) +(.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A fenced block of code.

    Attributes:
        language: what stands behind the fence.
        name: the file that it is, or ``elsewhere`` for commands that a test cannot run; or empty.
        text: what stands in it.
        line: where it begins in its document.
    """

    language: str
    name: str
    text: str
    line: int

    @property
    def bare(self) -> str:
        """The code without what differs between twins: comments, and what a judge is asked."""
        if self.language == "jinja":
            return " ".join(re.findall(r"\{\{.*?\}\}", self.text))
        return _COMMENT.sub("", _WORDING.sub("", self.text))

    @property
    def numbers(self) -> list[str]:
        """Its numbers, sorted: sentences of two languages name them in another order."""
        return sorted(re.findall(r"[-+]?\d+(?:\.\d+)?", self.text))


@dataclass(frozen=True)
class Document:
    """A Markdown file of the project.

    Attributes:
        name: its path from the project's root.
    """

    name: str

    @property
    def path(self) -> Path:
        """Where it is."""
        return ROOT / self.name

    @cached_property
    def text(self) -> str:
        """All of it."""
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def blocks(self) -> list[Block]:
        """Its blocks of code, in order."""
        return [
            Block(match[1], match[2] or "", match[3], self.text.count("\n", 0, match.start(3)) + 1)
            for match in _BLOCK.finditer(self.text)
        ]

    @cached_property
    def prose(self) -> str:
        """What stands outside the blocks of code."""
        return _BLOCK.sub("", self.text)

    @property
    def links(self) -> list[str]:
        """The targets of its links."""
        return _LINK.findall(self.prose)

    @property
    def headings(self) -> list[tuple[int, str]]:
        """The level and text of each heading."""
        return [(len(marks), title) for marks, title in _HEADING.findall(self.prose)]

    @property
    def anchors(self) -> set[str]:
        """The names by which links reach its headings, as GitHub makes them."""
        return {
            re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-")
            for _, title in self.headings
        }


DOCUMENTS = [Document(name) for pair in TWINS.items() for name in pair]
"""Every document, the English and the Korean ones."""

names = [document.name for document in DOCUMENTS]
