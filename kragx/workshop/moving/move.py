"""Gold moves to another corpus: after chunking anew, or after documents were edited."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from kragx.data import Doc, GoldDataset, Query, read_dataset
from kragx.data.corpus import Lacking, as_corpus, documents
from kragx.data.formats.gold import write_gold
from kragx.data.formats.jsonl import make_folder, write_records
from kragx.data.gold import named_items
from kragx.ground.errors import DataError
from kragx.ground.json_values import HIDDEN
from kragx.ground.printing import (
    Heading,
    Line,
    Part,
    Result,
    Table,
    joined,
    listed,
    message,
    percent,
    visible,
    warning,
)
from kragx.workshop.moving.choosing import MoveOption, Verdict
from kragx.workshop.moving.probes import probes_of
from kragx.workshop.moving.rebuild import (
    forbidden_docs,
    forbidden_moved,
    option_of,
    rebuilt,
)
from kragx.workshop.moving.search import search

MEANING: Mapping[Verdict, str] = {
    "same": message("the chunk has the same id and the same text"),
    "moved": message("in a chunk of about its size"),
    "merged": message("inside a larger chunk"),
    "split": message("over several chunks, which are an and now"),
    "unsure": message("may be in several places: for a person"),
    "lost": message("no chunk has it: for a person"),
}

_SHOWN = 5


class _Named(NamedTuple):
    """What is looked for: a gold item, an alternative or what must not be found, and where."""

    query: Query
    number: int
    field: str
    doc: Doc
    grade: float = 0.0


@dataclass(frozen=True)
class Placed:
    """A chunk of the new corpus that holds gold, or a part of it.

    Attributes:
        id: of the chunk.
        share: of the gold text's letters; the shares of a split text add up to 1.
        alternatives: other chunks that hold the same.
    """

    id: str
    share: float
    alternatives: tuple[str, ...] = ()


@dataclass(frozen=True)
class Moved:
    """What became of a gold item, or of one of its alternatives.

    Attributes:
        query: the id of its query.
        field: which it is: ``gold[0].alternatives[1]``.
        id, grade: as they were.
        verdict: one of `MEANING`.
        places: where it is; of one that is unsure or lost, where it may be, most of it first.
        edited: the share of its words that are not there as they were; None if that is unknown.
        reason: why nobody knows where it is.
        text: its text, where nobody knows that.
    """

    query: str
    field: str
    id: str | None
    grade: float
    verdict: Verdict
    places: tuple[Placed, ...]
    edited: float | None
    reason: str = ""
    text: str | None = None

    @property
    def is_open(self) -> bool:
        """Whether it is left to a person."""
        return self.verdict in ("unsure", "lost")


@dataclass(frozen=True)
class Move(Result):
    """A gold set on another corpus.

    Attributes:
        counts: gold items and alternatives by verdict.
        n_items: how many they are.
        n_edited: how many are there in other words; their places are sure.
        n_chunks: of the new corpus.
        bare: queries that had relevant gold, of which nobody knows where any is.
        items: one for each.
        dataset: the moved gold set.
    """

    counts: Counter[str]
    n_items: int
    n_edited: int
    n_chunks: int
    bare: tuple[str, ...]
    items: tuple[Moved, ...]
    dataset: GoldDataset = field(metadata=HIDDEN)

    @property
    def open(self) -> tuple[Moved, ...]:
        """What is left to a person."""
        return tuple(item for item in self.items if item.is_open)

    def describe(self) -> Iterator[Part]:
        """How many items are where, and the first few of those that a person should look at."""
        yield Heading(
            message(
                "{n:,} gold items on {n_chunks:,} chunks", n=self.n_items, n_chunks=self.n_chunks
            ),
            level=1,
        )
        rows = [
            [name, meaning, f"{self.counts[name]:,}", self._edited(name)]
            for name, meaning in MEANING.items()
        ]
        heads = [message("gold"), message("where it is")]
        heads += [message("items"), message("edited")]
        yield Table(heads, rows, words=2)
        if self.n_edited:
            yield Line(message("edited: some of its words are not there as they were"), "dim")
        for name in ("unsure", "lost"):
            if items := [item for item in self.items if item.verdict == name]:
                yield Heading(f"{name}: {len(items):,}")
                yield from self._rows(items)
        if self.open:
            yield warning(
                message(
                    "Unsure and lost gold stays in the set with its text and without an id: by "
                    "text it can still be matched, by id it counts as not found."
                )
            )
        if self.bare:
            text = message(
                "{n:,} queries have NO relevant gold left whose place is known: {names}. Their "
                "scores mean nothing before somebody has looked at them.",
                n=len(self.bare),
                names=listed([*map(visible, self.bare)], _SHOWN),
            )
            yield Line(text, "bold red")

    def _edited(self, verdict: str) -> str:
        shares = [item.edited for item in self.items if item.verdict == verdict and item.edited]
        if not shares:
            return "-"
        share = percent(sum(shares) / len(shares))
        return message("{n:,} (by {share})", n=len(shares), share=share)

    def _rows(self, items: list[Moved]) -> Iterator[Part]:
        for item in items[:_SHOWN]:
            places = ", ".join(f"{place.id} ({place.share:.0%})" for place in item.places[:3])
            maybe = message("perhaps {where}", where=visible(places))
            gold_id = f" {item.id}" if item.id is not None else ""
            name = visible(f"{item.query}, {item.field}{gold_id}")
            why = joined("; ", [item.reason, maybe if places else ""])
            yield Line(joined(": ", [name, why]), item="?")
        if len(items) > _SHOWN:
            rest_line = message("and {n} more", n=len(items) - _SHOWN)
            yield Line(rest_line, "dim", indent=2)

    def write(self, path: Path) -> tuple[Path, Path]:
        """Write the moved gold set, and beside it what is left to a person.

        Returns:
            Both paths; the second ends in ``.unsure.jsonl``, and has a line for each item.
        """
        make_folder(path.parent)
        write_gold(self.dataset, path)
        write_records(map(self._undecided_line, self.open), undecided_file(path))
        return path, undecided_file(path)

    def _undecided_line(self, item: Moved) -> dict[str, Any]:
        gold = {"id": item.id, "text": item.text, "grade": item.grade}
        return {
            "query_id": item.query,
            "query": self.dataset[item.query].text,
            "field": item.field,
            "verdict": item.verdict,
            "reason": item.reason,
            "gold": {name: value for name, value in gold.items() if value is not None},
            "candidates": [{"id": place.id, "share": place.share} for place in item.places],
        }


def undecided_file(path: Path) -> Path:
    """The file of what is left to a person, beside a moved gold set."""
    return path.with_name(f"{path.name.removesuffix('.jsonl')}.unsure.jsonl")


def move(gold: object, old: object, new: object) -> Move:
    """Say of every gold item where it is in another corpus, and make the gold set that says so.

    Both corpora are read once, and not held.

    Args:
        gold: a gold set, as `read_dataset` takes it.
        old: the corpus that its ids are of, as `read_dataset` takes a corpus.
        new: the corpus to which it moves.

    Raises:
        DataError: a gold item has no text, and its id is not in the old corpus; or a corpus or the
            gold set cannot be read.
    """
    dataset = read_dataset(gold)
    golds = [*_golds(dataset)]
    forbidden = [_Named(query, *item) for query in dataset for item in forbidden_docs(query)]
    # The gold of many queries is the same chunks.
    keys = [(doc.id, doc.text, str(doc.metadata)) for *_, doc, _ in (*golds, *forbidden)]
    distinct = {key: doc for key, (*_, doc, _) in zip(keys, (*golds, *forbidden))}
    probes, gram_counts = probes_of([*distinct.values()], documents(old))
    probe_of = dict(zip(distinct, probes))
    gold_probes = [probe_of[key] for key in keys[: len(golds)]]
    if without := {probe.doc.id for probe in gold_probes if probe.text is None}:
        raise _missing_text_error(golds, without, old)
    choices, n_chunks = search(probes, gram_counts, documents(new))
    choice_of = dict(zip(distinct, choices))
    options = [option_of(choice_of[key]) for key in keys]
    by_item: defaultdict[tuple[str, int], list[MoveOption]] = defaultdict(list)
    for item, option in zip(golds, options):
        by_item[item.query.id, item.number].append(option)
    by_name = {(i.query.id, i.field): option for i, option in zip(forbidden, options[len(golds) :])}
    queries = []
    for query in dataset:
        moved = rebuilt(query, [by_item[query.id, number] for number in range(len(query.gold))])
        if query.forbidden:
            moved = replace(moved, forbidden=forbidden_moved(query, by_name))
        queries.append(moved)
    items = [*map(_moved, golds, options)]
    relevant: defaultdict[str, list[bool]] = defaultdict(list)
    for moved_item in items:
        if moved_item.grade > 0:
            relevant[moved_item.query].append(moved_item.is_open)
    return Move(
        counts=Counter(item.verdict for item in items),
        n_items=len(items),
        n_edited=sum(bool(item.edited) for item in items),
        n_chunks=n_chunks,
        bare=tuple(query for query, are_open in relevant.items() if all(are_open)),
        items=tuple(items),
        dataset=replace(dataset, queries=tuple(queries)),
    )


def _golds(dataset: GoldDataset) -> Iterator[_Named]:
    for query in dataset:
        for number, gold in enumerate(query.gold):
            for name, item in named_items(number, gold):
                if item.id is not None or item.text is not None:
                    doc = Doc(item.id, item.text, item.metadata)
                    yield _Named(query, number, name, doc, gold.grade)


def _missing_text_error(
    golds: Iterable[_Named], without: Collection[str | None], old: object
) -> DataError:
    """The error for gold of which there is no text."""
    lacking = Lacking(as_corpus(old))
    for item in golds:
        if item.doc.text is None and item.doc.id in without:
            lacking.gold.setdefault(item.doc.id, (item.query.id, item.number + 1))
    problem = lacking.error("").problem
    remedy = message(
        "gold moves from the corpus that its ids are of: name that one, or take them out"
    )
    return DataError(problem, field="gold", remedy=remedy)


def _moved(item: _Named, option: MoveOption) -> Moved:
    if option.verdict == "same":
        places = [Placed(str(item.doc.id), 1.0)]
    elif option.is_open:
        shares: dict[str, float] = {}
        for chunk, share in option.candidates:
            shares.setdefault(chunk.id, round(share, 4))
        places = [Placed(name, share) for name, share in shares.items()]
    else:
        places = []
        for piece in option.pieces:
            first, *rest = dict.fromkeys(chunk.id for chunk in piece.chunks)
            places.append(Placed(first, round(piece.share, 4), tuple(rest)))
    return Moved(
        item.query.id,
        item.field,
        item.doc.id,
        item.grade,
        option.verdict,
        tuple(places),
        None if option.edited is None else round(option.edited, 4),
        option.reason,
        option.probe.text if option.is_open else None,
    )
