"""The page of two versions without gold: how much is the same, and lists side by side."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kragx.comparison import gates_parts
from kragx.comparison.lists import ListDiff, QuestionDiff
from kragx.data import Doc
from kragx.data.formats.jsonl import open_text
from kragx.ground.printing.localisation import asked_language
from kragx.report.html_page.packing import TextTable, described, packed, short, text_of
from kragx.report.html_page.page import page

_SCRIPTS = ("dom", "described", "numbers", "state", "appearance", "diff")
MOST = 500
"""So many of the questions that changed most are on the page."""


def write_diff_html(
    diff: ListDiff,
    path: str | Path,
    *,
    language: str | None = None,
    notes: Sequence[str] = (),
) -> None:
    """Write two versions as one HTML file that opens offline.

    Args:
        diff: the two.
        path: the file.
        language: in which the page begins; None for the one that results are shown in, else the
            browser's.
        notes: sentences that stand above the numbers.

    Raises:
        UsageError: the file cannot be written.

    Examples:
        >>> from kragx import diff, write_diff_html
        >>> write_diff_html(diff([["Seoul", "Busan"]], [["Busan", "Seoul"]]), "diff.html")
    """
    language = asked_language(language)  # a wrong one before any work
    texts = TextTable()
    changed = diff.most_changed
    values = {
        **{name: getattr(diff, name) for name in ("old", "new", "ks")},
        "exact": diff.is_exact,
        "weighted": diff.is_weighted,
        "by": text_of(diff.by),
        "counts": diff.counts,
        "mean": short(dict(diff.mean)),
        "remarks": [*map(text_of, [*notes, *diff.remarks])],
        "depths": described([diff.depths_table()])[0],
        "gates": described(gates_parts(diff.gates)),
        "n_changed": len(changed),
        "questions": [_question(question, texts) for question in changed[:MOST]],
    }
    # Only now: the questions above have numbered them.
    values["texts"] = [text for block in texts.blocks() for text in block]
    with open_text(path) as file:
        name = f"{diff.old} → {diff.new}"
        file.write(page({"index": packed(values)}, name, language, _SCRIPTS, ("style", "diff")))


def _question(question: QuestionDiff, texts: TextTable) -> dict[str, Any]:
    """A question with its two lists: of each document its number, its id and its text's."""

    def side(docs: tuple[Doc, ...] | None, numbers: tuple[int, ...]) -> list[Any]:
        return [[n, doc.id, texts.number(doc.text)] for n, doc in zip(numbers, docs or ())]

    query, (old, new) = question.query, question.numbers
    return {
        "id": query.id,
        "text": query.text,
        "weight": short(question.weight),
        "rbo": short(question.overlap()),
        "old": side(question.old, old),
        "new": side(question.new, new),
    }
