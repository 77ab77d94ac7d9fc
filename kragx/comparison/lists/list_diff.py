"""Two versions side by side: how much of what they return is the same, and where most changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from kragx.comparison.failures import Failures
from kragx.comparison.gates import GateResult, gates_parts
from kragx.comparison.lists.identity import Identity
from kragx.comparison.lists.question_diff import QuestionDiff
from kragx.data.gold import cut
from kragx.ground.json_values import HIDDEN, plain_fields
from kragx.ground.printing import (
    Line,
    Part,
    Result,
    Table,
    joined,
    listed,
    number,
    percent,
    phrase,
    visible,
    warning,
)

SHOWN = 5
"""How many of the questions that changed most are shown."""

NAMED = 5
"""So many of the questions that are left out are named."""

LISTED = 10_000
"""And how many are in the result's plain values."""

_BY = {
    "id": phrase("documents are the same by id and text"),
    "text": phrase("documents are the same by their text"),
    "overlap": phrase("documents are alike by half of their word pairs"),
}


@dataclass(frozen=True)
class SliceDiff:
    """The questions that have the same value of a field.

    Attributes:
        field, value: which; the value is None for questions without one.
        n: how many of them have two lists.
        share: how many of all asks these stand for; None where none has a weight.
        mean: as of `ListDiff`.
    """

    field: str
    value: str | None
    n: int
    share: float | None
    mean: Mapping[str, float | None]


@dataclass(frozen=True)
class ListDiff(Result):
    """What two versions of a retriever return to the same questions.

    Attributes:
        old, new: what the versions are called.
        ks: the depths that are looked at.
        ordered: whether equal lists have the same order, too.
        identity: how documents are told.
        counts: ``n_questions``; ``n_compared``, those with two lists; ``n_failed_old``,
            ``n_failed_new``, ``n_missing_old``, ``n_missing_new``; ``n_extra_old``,
            ``n_extra_new``, those of either that nobody named, left out; ``n_runs_old``,
            ``n_runs_new``, how often either was asked, of which the first time counts; at each
            depth, of those compared, ``documents@k`` of the new lists, ``came@k``, ``went@k``,
            ``moved@k``. Where
            questions stand for different numbers of asks ``n_asks``, of those compared.
        mean: over the asks of the questions compared: ``unchanged@k``, the share of equal lists;
            ``jaccard@k``; ``rbo``, rank-biased overlap of the whole lists. None without one.
        slices: the same within fields.
        failures: of the versions that failed.
        gates: what the numbers were held against.
        questions: all of them, in order, but those left out.
        reworded: the ids of the questions left out, as other words stand under the same id.

    Examples:
        >>> from kragx import diff
        >>> result = diff([["a", "b"], ["c"]], [["a", "b"], ["d"]])
        >>> result.mean["unchanged@5"], [move.new for move in result.questions[1].moves()]
        (0.5, [1, None])
    """

    old: str
    new: str
    ks: tuple[int, ...]
    ordered: bool
    identity: Identity
    counts: Mapping[str, float]
    mean: Mapping[str, float | None]
    slices: tuple[SliceDiff, ...]
    failures: tuple[Failures, ...]
    questions: tuple[QuestionDiff, ...] = field(repr=False, metadata=HIDDEN)
    gates: tuple[GateResult, ...] = ()
    reworded: tuple[str, ...] = ()

    @property
    def is_exact(self) -> bool:
        """Whether equal lists have equal values in every metric of documents, and need no label."""
        return self.identity.is_exact

    @property
    def is_weighted(self) -> bool:
        """Whether questions stand for different numbers of asks."""
        return len({question.weight for question in self.questions}) > 1

    @property
    def most_changed(self) -> list[QuestionDiff]:
        """The questions whose lists differ, the least alike first, then the most asked."""
        changed = [
            question
            for question in self.questions
            if question.is_equal(self.ks[-1], ordered=self.ordered) is False
        ]
        return sorted(changed, key=lambda question: (question.overlap(), -question.weight))

    def describe(self) -> Iterator[Part]:
        """How much is the same, by depth and by slice, and the questions that changed most."""
        return _described(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain values; ``changed`` has the questions that changed, the most changed first."""
        changed = [question.plain(self.ks[-1]) for question in self.most_changed[:LISTED]]
        return {**plain_fields(self), "changed": changed}


def _described(diff: ListDiff) -> Iterator[Part]:
    """The lines and tables of a `ListDiff`."""
    head = phrase(
        "{old} → {new}: {n} of {of} questions have two lists",
        old=visible(diff.old),
        new=visible(diff.new),
        n=diff.counts["n_compared"],
        of=diff.counts["n_questions"],
    )
    yield Line(joined("; ", [head, by_text(diff)]), "bold")
    for text in remarks(diff):
        yield warning(text)
    yield _depths(diff)
    if diff.slices:
        yield _slices(diff)
    if changed := diff.most_changed:
        yield _changed(diff, changed)
    yield from gates_parts(diff.gates)
    yield Line(next_step(diff), "dim")


def by_text(diff: ListDiff) -> str:
    """By what documents are told."""
    identity = diff.identity
    if identity.by == "id" and not identity.reads_texts:
        text: str = phrase("documents are the same by id")
    else:
        text = _BY[identity.by]
    if identity.fields:
        names = ", ".join(map(visible, identity.fields))
        text = joined(", ", [text, phrase("with the same {fields}", fields=names)])
    return text


def remarks(diff: ListDiff) -> Iterator[str]:
    """What a reader must know of the numbers."""
    counts, identity = diff.counts, diff.identity
    for failure in diff.failures:
        if failure.failed:
            yield from (line.text for line in failure.describe())
        else:
            yield phrase(
                "{retriever} {failed}, neither the same nor changed there; the first: {first}",
                retriever=visible(failure.retriever),
                failed=failure.text,
                first=cut(failure.first, 200),
            )
    for side, name in (("old", diff.old), ("new", diff.new)):
        if diff.counts["n_compared"] and not any(getattr(each, side) for each in diff.questions):
            yield phrase("{name} returned nothing for any question", name=visible(name))
    if not identity.is_exact:
        yield phrase(
            "these lists are alike and not the same: ids or texts do not meet, so equal lists need "
            "not have equal values"
        )
    if n_edited := identity.n_edited:
        yield phrase(
            "1 of the {of} ids that both have stands for another text in {new}; such documents are "
            "not the same"
            if n_edited == 1
            else "{n} of the {of} ids that both have stand for another text in {new}; such "
            "documents are not the same",
            n=n_edited,
            of=identity.n_shared,
            new=visible(diff.new),
        )
    if identity.by == "id" and identity.n_renamed > identity.n_shared - identity.n_edited:
        yield phrase(
            "documents that meet by id and text: {n}; texts of both that stand under other ids, "
            "and are not the same: {texts}; by their texts '--by text' compares",
            n=identity.n_shared - identity.n_edited,
            texts=identity.n_renamed,
        )
    yield from left_out(diff)
    for side, name in (("old", diff.old), ("new", diff.new)):
        if n := counts[f"n_missing_{side}"]:
            yield phrase(
                "1 question is not among the results of {name}: neither the same nor changed"
                if n == 1
                else "{n} questions are not among the results of {name}: neither the same nor "
                "changed",
                n=n,
                name=visible(name),
            )
        if (n := counts[f"n_runs_{side}"]) > 1:
            text = phrase("asked {n} times; shown is the first", n=n)
            yield joined(": ", [visible(name), text])


def left_out(diff: ListDiff) -> Iterator[str]:
    """The questions that stand in the results and are not compared."""
    if n_reworded := len(diff.reworded):
        yield phrase(
            "1 question has other words under the same id, and is left out: {questions}"
            if n_reworded == 1
            else "{n} questions have other words under the same id, and are left out: {questions}",
            n=n_reworded,
            questions=listed([*map(visible, diff.reworded)], NAMED),
        )
    for side, name in (("old", diff.old), ("new", diff.new)):
        if n := diff.counts[f"n_extra_{side}"]:
            yield phrase(
                "1 question of {name} is none of those named, and is left out"
                if n == 1
                else "{n} questions of {name} are none of those named, and are left out",
                n=n,
                name=visible(name),
            )


def next_step(diff: ListDiff) -> str:
    """What to do with it: nothing, or to look whether the change is for the better."""
    if diff.is_exact and all(question.is_equal() for question in diff.questions):
        return phrase("nothing differs, so no metric of these lists does")
    return phrase(
        "whether it got better, 'kragx compare' says where there is gold; without, people label "
        "what differs: --workshop FOLDER --metric precision@{k}",
        k=diff.ks[-1],
    )


def _depths(diff: ListDiff) -> Table:
    mean, counts = diff.mean, diff.counts
    if not diff.is_exact:
        unchanged: str = phrase("lists that are alike")
    elif diff.ordered:
        unchanged = phrase("lists that are the same")
    else:
        unchanged = phrase("sets that are the same")
    rows = [
        [unchanged, *(percent(mean[f"unchanged@{k}"]) for k in diff.ks)],
        ["Jaccard", *(number(mean[f"jaccard@{k}"]) for k in diff.ks)],
    ]
    for name, head in (
        ("came", phrase("documents that came")),
        ("went", phrase("documents that went")),
        ("moved", phrase("documents that moved")),
    ):
        cells = [
            phrase("{n} of {of}", n=counts[f"{name}@{k}"], of=counts[f"documents@{k}"])
            if name == "came"
            else str(counts[f"{name}@{k}"])
            for k in diff.ks
        ]
        rows.append([head, *cells])
    note = phrase("rank-biased overlap (p = .9) {rbo}", rbo=number(mean["rbo"]))
    weighted = ""
    if diff.is_weighted:
        asks = f"{diff.counts['n_asks']:,g}"
        weighted = phrase("shares are of {asks} asks, documents of questions", asks=asks)
    return Table(["", *(f"@{k}" for k in diff.ks)], rows, note=joined("; ", [note, weighted]))


def _slices(diff: ListDiff) -> Table:
    heads = [phrase("slice"), phrase("questions"), *[phrase("share of asks")] * diff.is_weighted]
    rows = [
        [
            visible(f"{part.field} = {part.value if part.value is not None else '-'}"),
            str(part.n),
            *[percent(part.share)] * diff.is_weighted,
            *(percent(part.mean[f"unchanged@{k}"]) for k in diff.ks),
            number(part.mean["rbo"]),
        ]
        for part in diff.slices
    ]
    return Table([*heads, *(f"unchanged@{k}" for k in diff.ks), "rbo"], rows)


def _changed(diff: ListDiff, changed: list[QuestionDiff]) -> Table:
    k = diff.ks[-1]
    heads = [phrase("changed most"), phrase("question"), *[phrase("asks")] * diff.is_weighted]
    rows = [
        [
            visible(question.query.id),
            cut(question.query.text or "", 50),
            *[f"{question.weight:g}"] * diff.is_weighted,
            number(question.overlap()),
            *map(str, question.counts(k)),
        ]
        for question in changed[:SHOWN]
    ]
    columns = [*heads, "rbo", phrase("came"), phrase("went"), phrase("other rank")]
    more = len(changed) - SHOWN
    note = phrase("and {n} more", n=more) if more > 0 else ""
    return Table(columns, rows, words=2, note=note)
