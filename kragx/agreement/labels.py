"""Labels: who said what of a query and a document, from every kind of source that holds any."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Unpack

from kragx.agreement.label_files import (
    Key,
    Pair,
    Row,
    Side,
    check_choice,
    examples_shown,
    label_format,
    of_dataset,
    of_matrix,
    of_store,
)
from kragx.data import GoldDataset, id_difference, look_alikes, read_dataset
from kragx.data.formats.jsonl import file_name
from kragx.ground.errors import DataError, UsageError, shorten
from kragx.ground.printing import joined, listed, message
from kragx.judging.examples import is_held_out
from kragx.judging.store import Address
from kragx.judging.store.qrels import Choice

MOST_LABELS = 101
"""The most labels that a scale may have."""

LISTED = 10
"""So many labels or pairs are named."""

_SCALE = re.compile(r"\s*(-?\d+)\s*(?:-|:|\.\.)\s*(-?\d+)\s*")


@dataclass(frozen=True)
class Labels:
    """The labels of one person, team or judge.

    Attributes:
        grades: the label of each pair, as it was given: nothing is rounded or cut.
        name: of the file.
        of_gold: labels that say more than query and document, or name the document by its rank:
            ``(query, document, gold item)``, both by id or by place from 1 on, None for any gold
            item. They calibrate a match; `grades` are then empty.
        positive: the least grade that is a match, unless the user says otherwise; None where
            nobody knows: of a rubric of somebody's own, of which a store has no more than the id.
    """

    grades: Mapping[Pair, float]
    name: str = "labels"
    of_gold: Mapping[Key, float] = field(default_factory=dict)
    positive: float | None = 1.0

    def __len__(self) -> int:
        return len(self.of_gold or self.grades)

    @cached_property
    def queries(self) -> Mapping[str, Mapping[str, float]]:
        """The labels of each query by document id."""
        queries: defaultdict[str, dict[str, float]] = defaultdict(dict)
        for (query, document), grade in self.grades.items():
            queries[query][document] = grade
        return dict(queries)

    def on(self, scale: "Scale", *, between: bool = False) -> "Labels":
        """Those that are on a scale; with `between`, those between two of its labels as well."""
        grades = {
            pair: grade
            for pair, grade in self.grades.items()
            if grade in scale or (between and scale.low <= grade <= scale.high)
        }
        return replace(self, grades=grades)


@dataclass(frozen=True)
class Scale:
    """The whole numbers that are labels, from `low` to `high`.

    Attributes:
        low, high: its ends.
        inferred: whether it was taken from the human labels.
    """

    low: int
    high: int
    inferred: bool = False

    def __post_init__(self) -> None:
        n_labels = max(0, self.high - self.low + 1)
        if not 2 <= n_labels <= MOST_LABELS:
            low, high, n = map(shorten, (self.low, self.high, n_labels))
            raise UsageError(
                "scale: {low} to {high} has {n} labels, not 2 to {most_labels}; if some label is "
                "a mistake, name the scale, for example 0-3",
                low=low,
                high=high,
                n=n,
                most_labels=MOST_LABELS,
            )

    def __contains__(self, grade: object) -> bool:
        return (
            isinstance(grade, (int, float))
            and grade == int(grade)
            and self.low <= grade <= self.high
        )

    def __str__(self) -> str:
        return message("{low} to {high}", low=self.low, high=self.high)

    @property
    def labels(self) -> range:
        """Every label."""
        return range(self.low, self.high + 1)


def read_scale(value: object, human: Labels) -> Scale:
    """The scale that a value stands for (``"0-3"``, ``(0, 3)``), else that of the human labels.

    Inferred, it goes from the least to the greatest whole number among the human labels, and from
    0 on if they have but one label. What the judge's labels alone have does not widen it.

    Raises:
        UsageError: the value is no scale, or there is none to infer.
    """
    match value:
        case Scale():
            return value
        case str() if ends := _SCALE.fullmatch(value):
            return Scale(int(ends[1]), int(ends[2]))
        case (int() as low, int() as high):
            return Scale(low, high)
        case None:
            whole = {int(grade) for grade in human.grades.values() if grade == int(grade)}
            if not whole:
                raise UsageError(
                    "scale: {name} has no whole number as a label; name one", name=human.name
                )
            labels = whole if len(whole) > 1 else {0, 1, *whole}
            return Scale(min(labels), max(labels), inferred=True)
    raise UsageError(
        "scale: {value} is none; write its ends, for example 0-3 or -2..4", value=shorten(value)
    )


def read_labels(
    source: object,
    side: Side | None = None,
    *,
    expected: bool = False,
    **choice: Unpack[Choice],
) -> Labels:
    """Read labels.

    Args:
        source: `Labels`; the path of what ``kragx match`` wrote or of a judgement store
            (`kragx.agreement.label_files`); or what `read_dataset` takes, whose gold's grades are
            the labels: TREC qrels, a gold or results file, ``{query id: {document id: grade}}``.
        side: whose labels of query and document are wanted; of a store its human labels or its
            judge's grades. None takes labels of any kind; of a store the judge's grades of support,
            or of relevance with people's in their place.
        expected: of a store and its judge: whether the grades that the model's probabilities
            expect are wanted where there are some, and the mean of a panel.
        choice: of a store, which of its judge's grades: ``asks``, ``model``, ``rubric`` and
            ``examples`` (`kragx.judging.store.qrels.Choice`).

    Raises:
        DataError: the file is broken or holds no label, or a pair has two different labels.
        UsageError: it is no source of labels.

    Examples:
        >>> from kragx import read_labels
        >>> labels = read_labels({"q1": {"c1": 2, "c2": 0}})
        >>> len(labels)
        2
        >>> labels.queries["q1"]
        {'c1': 2.0, 'c2': 0.0}
    """
    check_choice(choice)
    kind, options = label_format(source), {**choice, "expected": expected or None}
    if kind != "store" and (option := next(filter(options.get, options), None)):
        raise UsageError(
            "belongs to a judgement store, and these labels are of none",
            field=option,
            remedy="leave it out",
        )
    match source:
        case Labels():
            labels = source
        case str() | Path() if kind == "store":
            rows, positive = of_store(Address.of(source), side, choice, expected=expected)
            labels = replace(collected(rows, str(Address.of(source))), positive=positive)
        case str() | Path() if kind == "matrix":
            labels = collected(of_matrix(Path(source)), str(Path(source)))
        case _:
            is_named = isinstance(source, (str, Path, GoldDataset))
            dataset = read_dataset(source, name=None if is_named else "labels")
            name = str(source) if isinstance(source, (str, Path)) else dataset.name
            labels = collected(of_dataset(dataset, name), name)
    if side is not None and labels.of_gold:
        raise DataError(
            "these are labels of documents with gold items, by rank or by text; labels of queries "
            "and documents are needed, by id",
            path=labels.name,
        )
    return labels


@dataclass(frozen=True)
class OutOfScale:
    """A label that the scale does not have; its pair is not compared."""

    side: Side
    query_id: str
    document_id: str
    grade: float


@dataclass(frozen=True)
class Sides:
    """People's labels and the judge's, on a scale.

    Attributes:
        human, judge: the labels.
        scale: of both.
        examples: the name of those that the judge was shown; None for none, and where nobody knows.
    """

    human: Labels
    judge: Labels
    scale: Scale
    examples: str | None

    def held_out(self) -> "Sides":
        """Those of the queries whose labels are never examples."""
        human, judge = (
            replace(labels, grades={p: g for p, g in labels.grades.items() if is_held_out(p[0])})
            for labels in (self.human, self.judge)
        )
        return replace(self, human=human, judge=judge)

    def on_scale(self, *, between: bool = False) -> "Sides":
        """Those on the scale; with `between` the judge's between two of its labels as well."""
        human, judge = self.human.on(self.scale), self.judge.on(self.scale, between=between)
        return replace(self, human=human, judge=judge)

    @property
    def missing(self) -> dict[Side, tuple[Pair, ...]]:
        """For each side the pairs that only the other one has labelled."""
        human, judge = self.human.grades, self.judge.grades
        return {
            "human": tuple(pair for pair in judge if pair not in human),
            "judge": tuple(pair for pair in human if pair not in judge),
        }

    def out_of_scale(self, *, between: bool = False) -> tuple[OutOfScale, ...]:
        """Labels of either side that `on_scale` leaves out."""
        kept = self.on_scale(between=between)
        sides: tuple[tuple[Side, Labels, Labels], ...] = (
            ("human", self.human, kept.human),
            ("judge", self.judge, kept.judge),
        )
        return tuple(
            OutOfScale(side, *pair, grade)
            for side, labels, on_scale in sides
            for pair, grade in labels.grades.items()
            if pair not in on_scale.grades
        )

    def remarks(self, *, between: bool = False) -> Iterator[str]:
        """What a reader must know of the labels: those that are not used, and where all are one."""
        if labels := self.out_of_scale(between=between):
            names = {"human": message("human"), "judge": message("judge")}
            texts = [
                joined(
                    " ", [names[label.side], label.query_id, label.document_id, f"{label.grade:g}"]
                )
                for label in labels
            ]
            yield message(
                "out of scale, not used: {n} labels; the scale, {scale}, was taken from the human "
                "labels: name it (--scale 0-3) if they belong to it ({labels})"
                if self.scale.inferred
                else "out of scale, not used: {n} labels; the scale is {scale} ({labels})",
                n=len(labels),
                scale=str(self.scale),
                labels=listed(texts, LISTED),
            )
        if len(grades := {*self.human.on(self.scale).grades.values()}) == 1:
            yield message(
                "people gave every document the label {label:g}, so agreement cannot be told from "
                "chance; a file that names no grades says 1 of each",
                label=grades.pop(),
            )

    def common(self) -> list[Pair]:
        """The pairs with a label on the scale from both sides.

        Raises:
            DataError: there is none.
        """
        kept = self.on_scale()
        if common := [pair for pair in kept.human.grades if pair in kept.judge.grades]:
            return common
        if self.examples is not None:
            raise DataError(
                "no pair of the held-out half of the queries has a label from both sides",
                remedy="label more queries (kragx judge label), and let the judge grade them",
            )
        # One id of each side shows at once in which form the other file has them.
        (query, document), (query_2, document_2) = (
            next(iter(side.grades)) for side in (self.human, self.judge)
        )
        raise DataError(
            "no pair has a label of the scale {scale} from both sides. {human} has query "
            "{query!r}, document {document!r}, {judge} has query {query_2!r}, document "
            "{document_2!r}: pairs are joined by query id and document id",
            remedy=other_form(self.missing),
            scale=self.scale,
            human=self.human.name,
            query=query,
            document=document,
            judge=self.judge.name,
            query_2=query_2,
            document_2=document_2,
        )


def read_sides(
    human: object, judge: object, scale: object, *, expected: bool = False, **choice: Unpack[Choice]
) -> Sides:
    """The human labels, the judge's, and their scale; arguments as of `read_labels`.

    Of a judge's store without named examples the grades with some, if there are any: nobody has to
    ask that a judge is held against labels it never saw.
    """
    # People first: where both are broken, theirs is the file that somebody can mend.
    people = read_labels(human, "human")
    examples = examples_shown(judge, choice)
    if examples is not None:
        choice["examples"] = examples
    machine = read_labels(judge, "judge", expected=expected, **choice)
    return Sides(people, machine, read_scale(scale, people), examples)


def other_form(missing: Mapping[Side, Iterable[Pair]]) -> str:
    """What to say of ids that look like one of the other side and are none; empty without one."""
    human, judge = (sorted({*chain.from_iterable(pairs)}) for pairs in missing.values())
    return next((id_difference(*ids) for ids in look_alikes(human, judge).items()), "")


def collected(rows: Iterable[Row], name: str) -> Labels:
    """Labels of queries and documents, by pair, if all are just that; else labels of gold.

    Raises:
        DataError: there is none, or a pair has two different labels.
    """
    labels: dict[Key, float] = {}
    for key, grade in rows:
        if labels.setdefault(key, grade) != grade:
            raise DataError(
                "query {query!r}, document {document!r} has the labels {grades:g} and "
                "{grade:g}; keep one",
                path=name,
                query=key[0],
                document=key[1],
                grades=labels[key],
                grade=grade,
            )
    if not labels:
        raise DataError("there is no label in it", path=name)
    grades = {
        (query, document): grade
        for (query, document, gold), grade in labels.items()
        if gold is None and isinstance(document, str)
    }
    # One label by rank or of a gold item is enough: what is left cannot be joined by ids alone.
    of_gold = labels if len(grades) < len(labels) else {}
    return Labels({} if of_gold else grades, file_name(name), of_gold=of_gold)
