"""What templates are filled with: a document's heading, its noun phrases, its metadata."""

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import log
from random import Random
from typing import Any

from kragx.data.documents import Doc
from kragx.data.validation import COMMON
from kragx.workshop.questions.leak import HANGUL
from kragx.workshop.questions.nouns import NOUNS
from kragx.workshop.questions.templates import Language

LONGEST = 80
"""Characters of a value; a longer one is no word of a question."""
MOST_NOUNS = 8
"""Noun phrases of a document."""
_FEWEST_DOCUMENTS = 500
_WORDS = 6  # of a text that is a heading as a whole
_READ = 4000  # characters of a document in which noun phrases are looked for

_HEADINGS = (
    *("heading", "section", "Header 4", "Header 3", "Header 2", "Header 1", "title"),
    *("제목", "소제목"),
)
"""The metadata that names what a document is about, the narrowest first."""
_MARKDOWN = re.compile(r"^ {0,3}#{1,6}[ \t]+(.+?)[ \t]*#*$", re.MULTILINE)
_MARKS = re.compile(r"(?<!\w)[*_`]+|[*_`]+(?!\w)")
_SENTENCES = re.compile(r"^#|[.?!]\s")
_NUMBER = re.compile(r"^(?:\d+(?:\.\d+)+\.?|\d+[.)]|[IVX]+\.)\s+")
_SENTENCE_KO = re.compile(r"(?:습니다|입니다|합니다|됩니다|니까|나요|세요|는다|한다|된다)$")


@dataclass(frozen=True)
class Filling:
    """What templates can be filled with from one document.

    Attributes:
        doc: the document.
        language: ``ko`` where a third of its letters is Hangul, else ``en``.
        values: its metadata by name, and its ``heading`` if it has one.
        nouns: its noun phrases, the most telling first.
    """

    doc: Doc
    language: Language
    values: Mapping[str, str] = field(default_factory=dict)
    nouns: tuple[str, ...] = ()

    @property
    def names(self) -> frozenset[str]:
        """What a template can ask for."""
        return frozenset(self.values) | (
            frozenset({"noun", "nouns"}) if self.nouns else frozenset()
        )


def language_of(text: str) -> Language:
    """``ko`` where a third of the letters is Hangul (of NFD as of NFC), else ``en``."""
    letters = [char for char in unicodedata.normalize("NFC", text[:_READ]) if char.isalpha()]
    n_hangul = sum(HANGUL.match(char) is not None for char in letters)
    return "ko" if n_hangul * 3 >= max(1, len(letters)) else "en"


def fillings(documents: Sequence[Doc]) -> list[Filling]:
    """What each document has.

    Args:
        documents: with texts; how telling a noun phrase is, is counted among them: the more often
            a document has it, and the fewer others do, the more.
    """
    texts = [unicodedata.normalize("NFC", (doc.text or "")[:_READ]) for doc in documents]
    languages = [
        language_of(" ".join([text, *_values(doc.metadata).values()]))
        for doc, text in zip(documents, texts)
    ]
    headings = list(map(_heading, documents, texts))
    headed = [f"{heading or ''}\n{text}" for heading, text in zip(headings, texts)]
    of_language = {
        name: NOUNS[name]([text for text, language in zip(headed, languages) if language == name])
        for name in {*languages}
    }
    counts = [Counter(next(of_language[name])) for name in languages]
    n_having = Counter(noun for nouns in counts for noun in nouns)
    fillings = []
    for doc, language, heading, nouns in zip(documents, languages, headings, counts):
        weights: dict[str, tuple[bool, float, str]] = {}
        for noun, count in nouns.items():
            weight = count * log((len(documents) + 1) / n_having[noun])
            is_named = noun in (heading or "")
            is_common = n_having[noun] > max(2, COMMON * len(documents))
            is_weak = is_common or (count == 1 and not is_named)
            # Nouns with equal weights by their letters, so that a seed gives the same questions.
            weights[noun] = (is_weak, -weight * (1 + is_named), noun)
        telling = sorted(nouns, key=lambda noun: weights[noun])[:MOST_NOUNS]
        named = {} if heading is None else {"heading": heading}
        fillings.append(Filling(doc, language, _values(doc.metadata) | named, tuple(telling)))
    return fillings


def sampled(docs: Sequence[Doc], n: int, rng: Random) -> list[Doc]:
    """So many documents of a corpus, and at least 500, by chance; all if there are fewer."""
    return rng.sample(docs, min(len(docs), max(_FEWEST_DOCUMENTS, n)))


def _values(metadata: Mapping[str, Any]) -> dict[str, str]:
    """The metadata that can be words of a question: short texts and numbers, by name."""
    values = {
        str(name): _clean(value)
        for name, value in metadata.items()
        if isinstance(value, str | int | float) and not isinstance(value, bool)
    }
    return {name: value for name, value in values.items() if value is not None}


def _clean(value: object) -> str | None:
    """A value on one line, in NFC; None where nobody could read it as words."""
    text = "".join(char if char.isprintable() else " " for char in str(value)[: LONGEST * 4])
    text = " ".join(unicodedata.normalize("NFC", text).split())
    return text if len(text) <= LONGEST and any(map(str.isalnum, text)) else None


def _heading(doc: Doc, text: str) -> str | None:
    """What a document is called: by its metadata, a Markdown heading, or a first line that is one.

    Without its number.
    """
    named = _values(doc.metadata)
    headings = [named[name] for name in _HEADINGS if name in named]
    headings += [_clean(heading[1]) or "" for heading in _MARKDOWN.finditer(text)][:1]
    first, _, rest = text.strip().partition("\n")
    # A chunk that is cut out of a text may begin within a sentence.
    is_apart = not first[:1].islower() if rest.strip() else len(first.split()) <= _WORDS
    if is_apart and first[-1:].isalnum() and not _SENTENCES.search(first):
        headings.append(_clean(first) or "")
    for heading in headings:
        bare = _NUMBER.sub("", _MARKS.sub("", heading)).strip(" .:;,-–—")
        if bare and bare[-1] not in "?!" and not _SENTENCE_KO.search(bare):
            return bare
    return None
