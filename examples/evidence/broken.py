"""Whole gold, and chunks broken on their way as `examples/broken_texts.py` breaks them.

The source is prose of the first documents of the repository's corpora, which stays as it is.
"""

from __future__ import annotations

import json
import random
import runpy
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from .case import Case, ranked

_EXAMPLES = Path(__file__).parents[1]
_SCRIPT = runpy.run_path(str(_EXAMPLES / "broken_texts.py"))
_CORPORA = {"ko": "consumer_ko", "en": "shop_en"}
_FIRST = {"ko": 46, "en": 16}
"""How many documents are broken: those that stood there first, so that rows can be compared to
earlier ones however the corpora grow."""
_KINDS = {
    "30 % of spaces lost": "30 % of the spaces lost",
    "cut at line ends": "words cut at line ends",
    "ocr 3 %": "3 % of the characters misread",
    "ocr 10 %": "10 % of the characters misread",
    "Markdown": "Markdown",
    "HTML": "HTML",
    "citation marks": "citation marks",
}
_OPTION = {"method": "overlap", "tokenizer": {"name": "char", "n": 3, "spaces": "ignored"}}
N_QUESTIONS = 150


@cache
def prose(language: str) -> str:
    """The texts of the first documents of a corpus, one after the other."""
    path = _EXAMPLES / "data" / _CORPORA[language] / "corpus.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines()[: _FIRST[language]]
    return " ".join(" ".join(json.loads(line)["text"].split()) for line in lines)


def broken(kind: str, language: str) -> Case:
    """The questions of a kind of damage."""
    rng = random.Random(f"{kind}, {language}")
    made = _SCRIPT["pairs"](prose(language), kind, 0, N_QUESTIONS, both=False)
    questions = (
        ranked(gold, zip(docs, truth, strict=True), rng) for (gold,), docs, truth in zip(*made)
    )
    option = ("spaces: ignored", _OPTION)
    return Case(f"broken: {_KINDS[kind]}", language, tuple(questions), option=option)


def cases() -> Iterator[Case]:
    """Every kind of damage in Korean and English."""
    for kind in _KINDS:
        for language in _CORPORA:
            yield broken(kind, language)
