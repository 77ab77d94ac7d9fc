"""The notes of a release: what is in it, what changed, who judged, and what is not in it."""

from __future__ import annotations

from collections.abc import Iterator

from kragx.data import GoldDataset
from kragx.data.validation import Validation
from kragx.ground.printing import (
    Heading,
    Line,
    Part,
    Table,
    as_markdown,
    interval,
    joined,
    message,
    number,
    visible,
    warning,
)
from kragx.workshop.pairs.conflicts import LEAST_PAIRS, Alpha
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
        message(
            "{n} questions, {n_gold} gold items; content sha256 {hash}.",
            n=coming.n_questions,
            n_gold=coming.n_gold,
            hash=dataset.content_hash,
        )
    )
    grades = joined(
        ", ",
        (
            message("{grade} is {gold:g}", grade=grade, gold=gold_grade(grade, coming.top))
            for grade in range(coming.top + 1)
        ),
    )
    yield Line(
        message("People's grades in the file: {grades}; above 0 is relevant.", grades=grades)
    )
    yield from map(warning, coming.lacks)
    if coming.diff is None:
        yield Heading(message("What changed"))
        yield Line(message("The first release."))
    else:
        yield Heading(message("What changed since {version}", version=coming.previous))
        yield from coming.diff.describe(full=True)
    yield Heading(message("Who judged"))
    rows = [
        [
            visible(share.name),
            share.role,
            *map(str, (share.graded, share.unusable, share.later, share.decided)),
        ]
        for share in coming.shares
    ]
    heads = [
        *(message("who"), message("as"), message("graded")),
        *(message("unusable"), message("put off"), message("decided")),
    ]
    yield Table(heads, rows, words=2)
    yield Line(agreement_text(coming.alpha))
    if coming.content.left_out:
        yield Heading(message("Left out"))
        rows = [
            [
                omission.question,
                visible(omission.text),
                REASONS[omission.reason],
                ", ".join(omission.documents),
            ]
            for omission in coming.content.left_out
        ]
        heads = [message("id"), message("question"), message("why"), message("documents")]
        yield Table(heads, rows, words=4)
    yield Heading(message("What kragx gold validate reports"))
    yield from validation.describe()


def agreement_text(alpha: Alpha) -> str:
    """How far people agree, in a sentence."""
    if alpha.value is None:
        return message(
            "Agreement: {n} pairs have two people's grades; too few: below {least} a figure would "
            "say nothing."
            if alpha.pairs < LEAST_PAIRS
            else "Agreement: {n} pairs have two people's grades; all alike: alpha would say "
            "nothing.",
            n=alpha.pairs,
            least=LEAST_PAIRS,
        )
    ends = "" if alpha.interval is None else f"{interval(*alpha.interval[:2])} (95 %)"
    return message(
        "Agreement: Krippendorff's alpha for ordered grades {alpha}, from {n} pairs of "
        "{n_questions} questions that two people or more graded.",
        alpha=joined(" ", [number(alpha.value), ends]),
        n=alpha.pairs,
        n_questions=alpha.questions,
    )
