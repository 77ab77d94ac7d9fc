"""The words and patterns that the texts of the card are made of, language by language."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import yaml

CODES = ("ko", "en", "zh", "ja", "th", "ar", "hi", "ru")
_WORDS = ("places", "nouns", "adjectives", "family", "given", "months", "syllables")


@dataclass(frozen=True)
class Language:
    """One language, as its file in `languages/` has it; texts are made of nothing else.

    No place, noun or adjective stands in another one or in a pattern, so where an answer was not
    put, it does not stand. A test looks.

    Attributes:
        code: as in ISO 639.
        places: names of places.
        nouns: things, which are answers and stand in longer ones.
        adjectives: what things are.
        family: family names.
        given: given names.
        person: how a name is written, of ``{family}`` and ``{given}``.
        longer: longer words that a word ``{}`` is a part of.
        months: as dates have them.
        dates: how a date is written, of ``{day}``, ``{month}`` and perhaps ``{year}``.
        amount: an amount of two numbers, ``{a}`` and ``{b}``.
        phrases: answers of 6 to 12 words, of ``{place}``, ``{n1}``, ``{n2}``, ``{a1}``, ``{a2}``.
        frames: sentences, list items and lines that an answer ``{}`` is put into.
        sentences: of coined words ``{}`` and a number ``{n}``.
        pieces: five to nine of them precede what `sentences` has, where it has no whole sentences.
        syllables: what those words are coined from.
        numerals: ways to write numbers: ten digits, what decimals follow, what parts thousands.
        space: what stands between two sentences.
        attached: frames in which a word grows together with the answer's first letter.
    """

    code: str
    places: tuple[str, ...]
    nouns: tuple[str, ...]
    adjectives: tuple[str, ...]
    family: tuple[str, ...]
    given: tuple[str, ...]
    person: str
    longer: tuple[str, ...]
    months: tuple[str, ...]
    dates: tuple[str, ...]
    amount: str
    phrases: tuple[str, ...]
    frames: tuple[str, ...]
    sentences: tuple[str, ...]
    syllables: tuple[str, ...]
    numerals: tuple[str, ...] = ("0123456789.,",)
    space: str = " "
    pieces: tuple[str, ...] = ()
    attached: tuple[str, ...] = ()


def language(code: str) -> Language:
    """The language with a code."""
    path = Path(__file__).with_name("languages") / f"{code}.yaml"
    fields = yaml.safe_load(path.read_text(encoding="utf-8"))
    for name, value in fields.items():
        if name in _WORDS:
            fields[name] = tuple(value.split())
        elif isinstance(value, list):
            fields[name] = tuple(value)
    return Language(code=code, **fields)


LANGUAGES = {code: language(code) for code in CODES}
