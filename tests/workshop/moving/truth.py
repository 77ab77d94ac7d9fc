"""Corpora cut in two ways, and what is true of each gold text by the places it was cut from."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kragx.data import Doc
from kragx.data.chunking import Span, paragraphs, windows
from kragx.workshop.moving import Moved

DATA = Path(__file__).parents[3] / "examples" / "data"

Cut = Callable[[str], Iterator[Span]]

_SENTENCE = re.compile(r"\S.*?(?:[.!?](?=\s)|$)", re.MULTILINE)


def sentences(text: str) -> Iterator[Span]:
    """The sentences of a text, roughly."""
    for match in _SENTENCE.finditer(text):
        yield Span(*match.span())


def sized(size: int, overlap: int = 0) -> Cut:
    """Windows of a size."""
    return lambda text: windows(text, size, overlap)


CUTS: dict[str, Cut] = {
    "150": sized(150),
    "300": sized(300),
    "500": sized(500),
    "1200": sized(1200),
    "300/60": sized(300, 60),
    "500/100": sized(500, 100),
    "sentences": sentences,
    "paragraphs": paragraphs,
}


def texts(name: str) -> list[str]:
    """The documents of an example's corpus."""
    lines = (DATA / name / "corpus.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line)["text"] for line in lines]


@dataclass(frozen=True)
class Edited:
    """A text of which words were edited, and where each character of the old one is now."""

    text: str
    now: Sequence[int]


def edited(text: str, share: float, rng: random.Random) -> Edited:
    """Replace, leave out or add a share of the words."""
    words = [match.span() for match in re.finditer(r"\S+", text)]
    pool = [text[a:b] for a, b in words]
    new, now, place = "", [0] * (len(text) + 1), 0
    for a, b in words:
        for at in range(place, a):
            now[at] = len(new) + at - place
        new += text[place:a]
        kind = rng.choice(("other", "other", "none", "more")) if rng.random() < share else "kept"
        word = {
            "kept": text[a:b],
            "other": rng.choice(pool),
            "none": "",
            "more": f"{text[a:b]} {rng.choice(pool)}",
        }[kind]
        for at in range(a, b):
            now[at] = len(new) + min(at - a, len(word))
        new, place = new + word, b
    for at in range(place, len(text) + 1):
        now[at] = len(new) + at - place
    return Edited(new + text[place:], now)


@dataclass
class Corpus:
    """Chunks, and from where each was cut: the document, and its first and last character."""

    docs: list[Doc] = field(default_factory=list)
    spans: list[tuple[int, int, int]] = field(default_factory=list)

    @classmethod
    def cut(
        cls, wholes: Sequence[str], how: Cut, *, offsets: bool = False, name: str = "c"
    ) -> Corpus:
        """Cut documents; ids are counters, as pipelines give them."""
        corpus = cls()
        for number, text in enumerate(wholes):
            for span in how(text):
                metadata = {"source": f"d{number}", "start": span.start} if offsets else {}
                chunk = text[span.start : span.end]
                corpus.docs.append(Doc(f"{name}{len(corpus.docs)}", chunk, metadata))
                corpus.spans.append((number, span.start, span.end))
        return corpus


def letters_of(text: str, begin: int, end: int) -> set[int]:
    """The places of letters and digits between two."""
    return {at for at in range(begin, end) if text[at].isalnum()}


@dataclass(frozen=True)
class Truth:
    """Where a gold text is now, by places: its letters, and those that each chunk has of them."""

    letters: set[int]
    chunks: dict[str, set[int]]
    sizes: dict[str, int]
    size: int

    @property
    def wholes(self) -> set[str]:
        """The chunks that have all of it."""
        return {name for name, own in self.chunks.items() if own == self.letters}

    @property
    def verdict(self) -> str:
        """Whether it moved, was merged or split."""
        if not self.wholes:
            return "split"
        return (
            "merged"
            if min(self.sizes[name] for name in self.wholes) > 1.25 * self.size
            else "moved"
        )

    def right(self, moved: Moved) -> bool:
        """Whether a result says so, with chunks that hold it."""
        named = [[place.id, *place.alternatives] for place in moved.places]
        if moved.verdict in ("same", "moved", "merged"):
            return bool(self.wholes) and set(named[0]) <= self.wholes
        if moved.verdict != "split" or self.wholes:
            return False
        if not all(self.chunks.get(piece[0]) for piece in named):
            return False
        covered = set().union(*(self.chunks.get(piece[0], set()) for piece in named))
        return len(self.letters - covered) <= max(2, 0.02 * len(self.letters))


def truths(
    old: Corpus, new: Corpus, wholes: Sequence[str], changed: Sequence[Edited]
) -> Iterator[Truth]:
    """What is true of each chunk of the old corpus."""
    by_doc: dict[int, list[tuple[str, int, int]]] = {}
    for doc, (number, begin, end) in zip(new.docs, new.spans):
        by_doc.setdefault(number, []).append((str(doc.id), begin, end))
    for number, begin, end in old.spans:
        now, text = changed[number].now, changed[number].text
        first, last = now[begin], now[end]
        letters = letters_of(text, first, last)
        chunks, sizes = {}, {}
        for name, a, b in by_doc.get(number, ()):
            if own := letters_of(text, max(a, first), min(b, last)):
                chunks[name], sizes[name] = own, len(letters_of(text, a, b))
        yield Truth(letters, chunks, sizes, len(letters_of(wholes[number], begin, end)))
