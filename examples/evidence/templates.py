"""Texts made from one template: what `examples/template_corpora.py` makes, as rows of the card."""

from __future__ import annotations

import runpy
from collections.abc import Iterator
from pathlib import Path

from .case import Case, Question

_SCRIPT = runpy.run_path(str(Path(__file__).parents[1] / "template_corpora.py"))
_LANGUAGES = {"Korean": "ko", "English": "en", "code": "code"}


def corpus(kind: str) -> Case:
    """The questions of a kind of documents, at all sizes of gold and chunks."""
    questions = [
        Question(gold, tuple(docs), tuple(truth))
        for size in _SCRIPT["SIZES"]
        for retrieval in [_SCRIPT["retrieval"](kind, *size)]
        for (gold,), docs, truth in zip(retrieval.gold, retrieval.retrieved, retrieval.truth)
    ]
    name, _, language = kind.rpartition(", ")
    return Case(
        f"template: {name or kind}",
        _LANGUAGES[language],
        tuple(questions),
        option=("siblings: together", {"method": "overlap", "siblings": "together"}),
    )


def cases() -> Iterator[Case]:
    """Policies and product pages in Korean and English, and generated code."""
    yield from map(corpus, _SCRIPT["CORPORA"])
