"""The notes of a release: what is in it, what changed, who judged, and what is not in it."""

from __future__ import annotations

from collections.abc import Iterator

from kragx.data import GoldDataset
from kragx.data.validation import Validation
from kragx.printing import (
    Heading,
    Line,
    Part,
    Table,
    as_markdown,
    interval,
    number,
    visible,
    warning,
)
from kragx.workshop.pairs.conflicts import Alpha
from kragx.workshop.pairs.scale import gold_grade
from kragx.workshop.releases.making import REASONS
from kragx.workshop.releases.next import Next


def notes(coming: Next, dataset: GoldDataset, validation: Validation, note: str) -> str:
    """The notes, in Markdown."""
    return as_markdown(_parts(coming, dataset, validation, note))


def _parts(coming: Next, dataset: GoldDataset, validation: Validation, note: str) -> Iterator[Part]:
    yield Heading(f"{visible(dataset.name)} {dataset.version}", level=1)
    if note:
        yield Line(visible(note))
    yield Line(
        f"{coming.n_questions} questions, {coming.n_gold} gold items; content sha256 "
        f"{dataset.content_hash}."
    )
    grades = [f"{grade} is {gold_grade(grade, coming.top):g}" for grade in range(coming.top + 1)]
    yield Line(f"People's grades in the file: {', '.join(grades)}; above 0 is relevant.")
    yield from map(warning, coming.lacks)
    yield Heading("What changed" + (f" since {coming.previous}" if coming.previous else ""))
    if coming.diff is None:
        yield Line("The first release.")
    else:
        yield from coming.diff.describe(full=True)
    yield Heading("Who judged")
    rows = [
        [visible(own.name), own.role, *map(str, (own.graded, own.unusable, own.later, own.decided))]
        for own in coming.shares
    ]
    yield Table(["who", "as", "graded", "unusable", "put off", "decided"], rows, words=2)
    yield Line(agreement_text(coming.alpha))
    if coming.content.left_out:
        yield Heading("Left out")
        rows = [
            [own.question, visible(own.text), REASONS[own.reason], ", ".join(own.documents)]
            for own in coming.content.left_out
        ]
        yield Table(["id", "question", "why", "documents"], rows, words=4)
    yield Heading("What kragx gold validate reports")
    yield from validation.describe()


def agreement_text(alpha: Alpha) -> str:
    """How far people agree, in a sentence."""
    if alpha.value is None:
        return (
            f"Agreement: {alpha.pairs} pairs have two people's grades; too few, or too alike, for "
            "Krippendorff's alpha."
        )
    ends = "" if alpha.interval is None else f" {interval(*alpha.interval[:2])} (95 %)"
    return (
        f"Agreement: Krippendorff's alpha for ordered grades {number(alpha.value)}{ends}, from "
        f"{alpha.pairs} pairs of {alpha.questions} questions that two people or more graded."
    )
