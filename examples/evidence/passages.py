"""Sentences and passages as gold, and chunks that were cut anew, at other places.

A chunk truly matches if it shares at least half of the characters of either text with the place
that the gold text was taken from.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from .case import Case, Question, ranked, sentence
from .languages import LANGUAGES, Language

SIZES = (128, 300, 600, 1200)
USUAL = 300
"""The size at which all languages are measured; Korean and English are measured at every size."""
OVERLAP = 6
"""Chunks begin a sixth of their size before the end of the last one, wherever that falls."""
N_DOCS = 10

Piece = tuple[int, int, int]
"""A source, and where in it a piece begins and ends, in characters."""


def windows(source: int, text: str, size: int) -> list[Piece]:
    """The chunks of a source."""
    step = size - size // OVERLAP
    starts = range(0, max(1, len(text) - size // OVERLAP), step)
    return [(source, start, min(start + size, len(text))) for start in starts]


def shared(left: Piece, right: Piece) -> int:
    """The characters that two pieces share."""
    if left[0] != right[0]:
        return 0
    return max(0, min(left[2], right[2]) - max(left[1], right[1]))


def rechunked(
    golds: Sequence[Piece], sources: Sequence[str], size: int, rng: random.Random
) -> Iterator[Question]:
    """A question for each gold piece: every chunk that shares something with it, and others."""
    chunks = [chunk for number, text in enumerate(sources) for chunk in windows(number, text, size)]
    for gold in golds:
        near = [chunk for chunk in chunks if shared(chunk, gold)][: N_DOCS - 2]
        far = rng.sample([chunk for chunk in chunks if not shared(chunk, gold)], N_DOCS - len(near))
        docs = []
        for chunk in near + far:
            least = min(chunk[2] - chunk[1], gold[2] - gold[1])
            docs.append((sources[chunk[0]][chunk[1] : chunk[2]], 2 * shared(chunk, gold) >= least))
        yield ranked(sources[gold[0]][gold[1] : gold[2]], docs, rng)


def joined(units: Sequence[str], space: str, every: int) -> tuple[str, list[tuple[int, int]]]:
    """A source of sentences or the like, a blank line after every few, and where each stands."""
    text, places = "", []
    for number, unit in enumerate(units):
        if text:
            text += space if number % every else "\n\n"
        places.append((len(text), len(text) + len(unit)))
        text += unit
    return text, places


def prose(name: str, language: Language, size: int, n_questions: int = 60) -> Case:
    """Gold of one sentence, or of four to seven in a row, against chunks of a size."""
    rng = random.Random(f"{name}, {language.code}, {size}")
    sources, golds = [], []
    for number in range(n_questions // 3):
        units = [sentence(language, rng) for _ in range(60)]
        text, places = joined(units, language.space, 6)
        sources.append(text)
        for _ in range(3):
            first = rng.randrange(len(places) - 7)
            last = first if name == "sentence" else first + rng.randint(3, 6)
            golds.append((number, places[first][0], places[last][1]))
    title = f"{name}, chunks of {size}"
    return Case(title, language.code, tuple(rechunked(golds, sources, size, rng)))


def cases() -> Iterator[Case]:
    """Sentences and passages: Korean and English at every size, the others at the usual one."""
    for name in ("sentence", "passage"):
        for size in SIZES:
            for language in LANGUAGES.values():
                if size == USUAL or language.code in ("ko", "en"):
                    yield prose(name, language, size)
