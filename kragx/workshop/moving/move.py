"""Gold moves to another corpus: after chunking anew, or after documents were edited."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any

from kragx.data import Doc, Forbidden, Gold, GoldDataset, Query, read_dataset
from kragx.data.corpus import Lacking, as_corpus, documents
from kragx.data.formats.jsonl import make_folder, write_records
from kragx.data.gold import named_items
from kragx.data.writing import write_gold
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
from kragx.workshop.moving.blocks import GRAM, MARGIN, GramCounts, blocks
from kragx.workshop.moving.choosing import (
    MEANING,
    GoldPart,
    Moved,
    Placed,
    choose,
    left_open,
)
from kragx.workshop.moving.places import Place, align
from kragx.workshop.moving.probes import GoldProbe, Index, content, key_of, probes_of
from kragx.workshop.moving.rebuild import forbidden_docs, forbidden_moved, rebuilt

_SHOWN = 5
_CROWD = 256  # places that are looked at for one gold text


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

    def write(self, path: Path) -> list[Path]:
        """Write the moved gold set, and beside it what is left to a person, if anything is.

        Returns:
            The paths; the second ends in ``.unsure.jsonl``, and has a line for each item.
        """
        make_folder(path.parent)
        write_gold(self.dataset, path)
        if not self.open:
            return [path]
        write_records(map(self._undecided_line, self.open), undecided_file(path))
        return [path, undecided_file(path)]

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
    named = {query.id: [*map(_named_docs, count(), query.gold)] for query in dataset}
    golds = (doc for of_query in named.values() for of_gold in of_query for _, doc in of_gold)
    items_forbidden = (item for query in dataset for item in query.forbidden or ())
    forbidden = (doc for item in items_forbidden for doc in forbidden_docs(item) if doc)
    # The gold of many queries is the same chunks.
    docs = {_key(doc): doc for doc in (*golds, *forbidden)}
    probes, gram_counts = probes_of([*docs.values()], documents(old))
    _require_texts(dataset, {probe.doc.id for probe in probes if probe.text is None}, old)
    options, n_chunks = search(probes, gram_counts, documents(new))
    option_of = dict(zip(docs, options))
    queries: list[Query] = []
    items: list[Moved] = []
    for query in dataset:
        of_query = [[option_of[_key(doc)] for _, doc in of_gold] for of_gold in named[query.id]]
        moved: dict[Forbidden, None] = {}
        for item in query.forbidden or ():
            option, newer = (option_of[_key(doc)] if doc else None for doc in forbidden_docs(item))
            moved[forbidden_moved(item, option, newer)] = None
        banned = query.forbidden and tuple(moved)
        queries.append(replace(query, gold=rebuilt(query, of_query), forbidden=banned))
        for gold_item, of_gold, of_options in zip(query.gold, named[query.id], of_query):
            for (name, doc), option in zip(of_gold, of_options):
                of_item = replace(option, query=query.id, field=name, id=doc.id)
                items.append(replace(of_item, grade=gold_item.grade))
    relevant = [item for item in items if item.grade > 0]
    placed = {item.query for item in relevant if not item.is_open}
    return Move(
        counts=Counter(item.verdict for item in items),
        n_items=len(items),
        n_edited=sum(bool(item.edited) for item in items),
        n_chunks=n_chunks,
        bare=tuple(dict.fromkeys(i.query for i in relevant if i.query not in placed)),
        items=tuple(items),
        dataset=replace(dataset, queries=tuple(queries)),
    )


def search(
    probes: Sequence[GoldProbe], gram_counts: GramCounts, corpus: Iterable[Doc]
) -> tuple[list[Moved], int]:
    """Read the corpus to which gold moves, once.

    Args:
        probes: what is looked for.
        gram_counts: the grams of the corpus that they are of.
        corpus: the documents of the new one.

    Returns:
        What became of each gold text, and how many chunks there are.
    """
    index = Index(probes, gram_counts)
    places_of: list[list[Place]] = [[] for _ in probes]
    n_windows = [0] * len(probes)
    # The chunks of the new corpus that have ids of gold, and what is in them.
    ids, contents = {key_of(probe.doc) for probe in probes}, set()
    n_chunks = 0
    # A place lies in one block as a whole, half as much put in and signs between its letters too.
    margin = max(MARGIN, 3 * max((len(probe.codes) for probe in probes), default=0))
    for block in blocks(corpus, gram_counts.banners, margin=margin):
        n_chunks += len(block.interior)
        for doc in block.docs[block.interior.start : block.interior.stop]:
            if (key := key_of(doc)) in ids:
                contents.add((key, content(doc.text or "")))
        for number, bounds, shifts in index.windows(block):
            probe = probes[number]
            n_windows[number] += 1
            if n_windows[number] > _CROWD:
                continue
            runs = align(probe, block, bounds, shifts)
            if any(run.last > probe.low and run.first < probe.high for run in runs):
                places_of[number].append(Place(probe, runs, block))
    options: list[Moved] = []
    for number, probe in enumerate(probes):
        places, places_of[number] = places_of[number], []  # forgotten, as they are large
        is_common = len(probe.codes) >= GRAM and not index.n_grams[number]
        if probe.text is None:
            reason = message("the corpus that it is of does not have it")
            options.append(left_open(probe.before, reason, verdict="lost"))
        elif (key_of(probe.doc), probe.chunk) in contents:
            same = Placed(str(probe.doc.id), 1.0)
            options.append(Moved(probe.before, [GoldPart([probe.doc])], "same", (same,), 0.0))
        else:
            is_crowded = bool(is_common or n_windows[number] > _CROWD)
            options.append(choose(probe, places, is_crowded=is_crowded))
    return options, n_chunks


def _key(doc: Doc) -> tuple[str | None, str | None, str]:
    return doc.id, doc.text, str(doc.metadata)


def _named_docs(number: int, gold: Gold) -> list[tuple[str, Doc]]:
    """What is looked for of a gold item: itself and its alternatives, each with its field."""
    return [
        (name, Doc(item.id, item.text, item.metadata))
        for name, item in named_items(number, gold)
        if item.id is not None or item.text is not None
    ]


def _require_texts(dataset: GoldDataset, without: Collection[str | None], old: object) -> None:
    """Refuse gold of which there is no text."""
    lacking = Lacking(as_corpus(old))
    for query in dataset:
        for number, gold in enumerate(query.gold):
            for _, item in named_items(number, gold):
                if item.id in without and item.text is None and item.id is not None:
                    lacking.gold.setdefault(item.id, (query.id, number + 1))
    if lacking:
        remedy = message(
            "gold moves from the corpus that its ids are of: name that one, or take them out"
        )
        raise DataError(lacking.error("").problem, field="gold", remedy=remedy)
