"""What the card measures: cases, and the questions that they are made of."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass

from .languages import Language


@dataclass(frozen=True)
class Question:
    """One gold text, and what a retriever gave for it.

    Attributes:
        gold: the gold text.
        docs: the retrieved texts, best first.
        truth: which of them carry the gold text: known from where it was put, not looked for.
    """

    gold: str
    docs: tuple[str, ...]
    truth: tuple[bool, ...]


@dataclass(frozen=True)
class Case:
    """Questions of one kind; a row of the card.

    Attributes:
        name: what the gold text is, and what the documents are.
        language: its code.
        questions: of one gold text each.
        option: another option for such texts, and the match spec that has it; it gets a row
            of its own. None where there is none.
    """

    name: str
    language: str
    questions: tuple[Question, ...]
    option: tuple[str, object] | None = None


def ranked(gold: str, docs: Iterable[tuple[str, bool]], rng: random.Random) -> Question:
    """A question whose documents, with the truth about each, come in any order."""
    shuffled = list(docs)
    rng.shuffle(shuffled)
    return Question(gold, tuple(doc for doc, _ in shuffled), tuple(true for _, true in shuffled))


def coined(language: Language, rng: random.Random) -> str:
    """A word that nobody knows, of two or three of a language's syllables."""
    return "".join(rng.choices(language.syllables, k=rng.choice((2, 2, 3))))


def sentence(language: Language, rng: random.Random) -> str:
    """A sentence of coined words; its number is none that is an answer."""
    pieces = rng.choices(language.pieces, k=rng.randint(5, 9)) if language.pieces else []
    pattern = "".join((*pieces, rng.choice(language.sentences)))
    parts = pattern.replace("{n}", str(rng.randint(2200, 9800))).split("{}")
    words = (coined(language, rng) for _ in parts[1:])
    return parts[0] + "".join(word + part for word, part in zip(words, parts[1:]))
