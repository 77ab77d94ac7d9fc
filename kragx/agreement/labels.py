"""Labels: who said what of a (query, document) pair, from every kind of file that holds any."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from kragx.data.documents import Doc
from kragx.data.formats.jsonl import file_name
from kragx.data.formats.trec import iter_qrels
from kragx.data.gold import Gold, GoldDataset
from kragx.data.reading import read_dataset
from kragx.errors import DataError, UsageError, shorten
from kragx.judging.question import key_of

Pair = tuple[str, str]
"""A query id and a document id."""

Side = Literal["human", "judge"]

MOST_LABELS = 101
"""The most labels that a scale may have."""

_LISTED = 50
_SQLITE = b"SQLite format 3\x00"
_DATASETS = (".jsonl", ".json", ".csv", ".xlsx", ".xls", ".parquet")
_SCALE = re.compile(r"\s*(-?\d+)\s*(?:-|:|\.\.)\s*(-?\d+)\s*")


@dataclass(frozen=True)
class Labels:
    """The labels of one person, team or judge.

    Attributes:
        grades: the label of each pair, as it was given: nothing is rounded or cut.
        name: of the file.
        n_repeated: how many pairs stood there again with the same label.
    """

    grades: Mapping[Pair, float]
    name: str = "labels"
    n_repeated: int = 0
    _by_query: dict[str, dict[str, float]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def __len__(self) -> int:
        return len(self.grades)

    @property
    def queries(self) -> Mapping[str, Mapping[str, float]]:
        """The labels of each query by document id."""
        if not self._by_query:
            for (query, document), grade in self.grades.items():
                self._by_query.setdefault(query, {})[document] = grade
        return self._by_query


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
        if self.high <= self.low:
            raise UsageError(
                f"scale: {self.low} to {self.high} has fewer than two labels; give one such as 0-3"
            )
        if self.high - self.low >= MOST_LABELS:
            raise UsageError(
                f"scale: {self.low} to {self.high} has more than {MOST_LABELS} labels; if some "
                "label is a mistake, name the scale, for example 0-3"
            )

    def __contains__(self, grade: object) -> bool:
        if not isinstance(grade, (int, float)):
            return False
        return grade == int(grade) and self.low <= grade <= self.high

    def __str__(self) -> str:
        return f"{self.low} to {self.high}"

    @property
    def labels(self) -> range:
        """Every label."""
        return range(self.low, self.high + 1)


def read_scale(value: object, human: Labels) -> Scale:
    """The scale that a value stands for (``"0-3"``, ``(0, 3)``), else that of the human labels.

    Inferred, it goes from the least to the greatest whole number among the human labels, and from
    0 on if they have but one label.

    Raises:
        UsageError: the value is no scale, or there is none to infer.
    """
    match value:
        case None:
            whole = {int(grade) for grade in human.grades.values() if grade == int(grade)}
            if not whole:
                raise UsageError(f"scale: {human.name} has no whole number as a label; name one")
            low, high = min(whole), max(whole)
            if low == high:
                low, high = min(low, 0), max(high, 1)
            return Scale(low, high, inferred=True)
        case Scale():
            return value
        case str() if found := _SCALE.fullmatch(value):
            return Scale(int(found[1]), int(found[2]))
        case (int() as low, int() as high):
            return Scale(low, high)
    raise UsageError(f"scale: {shorten(value)} is none; write its ends, for example 0-3 or -2..4")


def document_name(doc: Doc | Gold) -> str:
    """How labels call a document: its id, else ``text-`` and the start of its text's SHA-256."""
    return doc.id if doc.id is not None else f"text-{key_of(doc.text or '')[:16]}"


def read_labels(
    source: object,
    side: Side = "human",
    *,
    asks: str | None = None,
    model: str | None = None,
    rubric: str | None = None,
) -> Labels:
    """Read labels.

    Args:
        source: `Labels`; ``{query id: {document id: grade}}``; a `GoldDataset`; or a path: TREC
            qrels (also .gz), a gold or results file, whose gold's grades are the labels, or a
            judgement store.
        side: of a store, whether its human labels are meant or its judge's grades.
        asks: of a store: ``relevance``, or ``support``, where a document's grade is its best over
            the query's gold texts; None for what the judge was asked.
        model: of a store: only the grades of this model.
        rubric: of a store: only the grades by this rubric.

    Raises:
        DataError: the file is broken or holds no label, or a pair has two different labels: all
            such pairs are listed.
        UsageError: it is no source of labels.
    """
    match source:
        case Labels():
            return source
        case GoldDataset():
            return _of_dataset(source, source.name)
        case Mapping():
            return _of_mapping(source)
        case str() | Path():
            path = Path(source)
            if _is_store(path):
                return _of_store(path, side, asks, model, rubric)
            if path.suffix in _DATASETS:
                return _of_dataset(read_dataset(str(path)), str(path))
            return collected(
                (
                    (query, document, grade, f"line {number}")
                    for number, query, document, grade in iter_qrels(path)
                ),
                str(path),
            )
    raise UsageError(
        f"labels: {type(source).__name__} holds none; pass a path, a GoldDataset, or "
        "{query id: {document id: grade}}"
    )


def _is_store(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(_SQLITE)) == _SQLITE
    except OSError:
        return False  # the reader of qrels says why


def _of_mapping(source: Mapping[Any, Any]) -> Labels:
    rows = []
    for query, of_query in source.items():
        if not isinstance(of_query, Mapping):
            raise UsageError(
                f"labels: query {query!r} has {shorten(of_query)}; "
                "{query id: {document id: grade}} is expected"
            )
        for document, grade in of_query.items():
            if isinstance(grade, bool) or not isinstance(grade, (int, float)) or grade - grade != 0:
                raise DataError(
                    f"labels: query {query!r}, document {document!r}: {shorten(grade)} is no "
                    "finite number"
                )
            rows.append((str(query), str(document), float(grade), ""))
    return collected(rows, "labels")


def _of_dataset(dataset: GoldDataset, name: str) -> Labels:
    rows = []
    for query in dataset:
        for number, gold in enumerate(query.gold, start=1):
            place = f"gold {number}"
            if gold.id is not None or gold.text is not None:
                rows.append((query.id, document_name(gold), float(gold.grade), place))
            rows += [
                (query.id, document_name(other), float(gold.grade), place)
                for other in gold.alternatives
            ]
    return collected(rows, name)


def _of_store(
    path: Path, side: Side, asks: str | None, model: str | None, rubric: str | None
) -> Labels:
    from kragx.judging import Store
    from kragx.judging.exchange import grades

    with Store(path) as store:
        if side == "human":
            found = store.all_labels()
            if not found:
                raise DataError(
                    f"{path}: the store holds no human label; bring some in: "
                    "kragx judgements import HUMAN.qrels"
                )
        else:
            found = grades(
                store,
                asks=asks or asked_in(store),
                model=model,
                rubric=rubric,
                human=False,
            )
    return Labels({pair: float(grade) for pair, grade in found.items()}, str(path))


def asked_in(store: Any) -> str:
    """What the judge of a store was asked: relevance, support, or a `UsageError` if both."""
    found = {
        record["question"]["asks"]
        for record in store.records()
        if record["question"] is not None and record["pairs"]
    }
    if len(found) > 1:
        raise UsageError(
            f"--asks: the judge of {store.path} was asked for {' and '.join(sorted(found))}; "
            "name one of them"
        )
    return str(next(iter(found), "relevance"))


def collected(rows: Iterable[tuple[str, str, float, str]], name: str) -> Labels:
    """Labels by pair, from rows of query id, document id, label and where it stands.

    Raises:
        DataError: there is none, or pairs have two different labels: all such pairs are listed.
    """
    grades: dict[Pair, float] = {}
    places: dict[Pair, list[tuple[float, str]]] = {}
    first: dict[Pair, str] = {}
    repeated = 0
    for query, document, grade, place in rows:
        pair = (query, document)
        before = grades.setdefault(pair, grade)
        if pair not in first:
            first[pair] = place
        elif before == grade and pair not in places:
            repeated += 1
        else:
            places.setdefault(pair, [(before, first[pair])]).append((grade, place))
    if places:
        lines = [
            f"query {query!r}, document {document!r}: "
            + ", ".join(f"{grade:g} ({place})" if place else f"{grade:g}" for grade, place in found)
            for (query, document), found in places.items()
        ]
        more = [f"... and {len(lines) - _LISTED} more"] if len(lines) > _LISTED else []
        raise DataError(
            "\n  ".join(
                [
                    f"{name}: {len(lines)} pairs have labels that contradict each other; keep one "
                    "of each",
                    *lines[:_LISTED],
                    *more,
                ]
            )
        )
    if not grades:
        raise DataError(f"{name}: there is no label in it")
    return Labels(grades, file_name(name), repeated)


__all__ = [
    "Labels",
    "Pair",
    "Scale",
    "Side",
    "collected",
    "document_name",
    "read_labels",
    "read_scale",
]
