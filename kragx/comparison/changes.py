"""What became of a retriever: an earlier result beside the present one, or one beside another."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isnan
from pathlib import Path

import numpy as np

from kragx.comparison.compare_retrievers import compare_scores
from kragx.comparison.comparison import Comparison, Settings
from kragx.comparison.scores import RetrieverScores
from kragx.comparison.statistics import TOLERANCE
from kragx.data.gold import GoldDataset
from kragx.data.reading import read_gold
from kragx.errors import DataError, UsageError, nearest
from kragx.metrics import known_metric
from kragx.plain import HIDDEN
from kragx.printing import Heading, Line, Part, Result, Table, number, visible, warning

EARLIER, NOW = "earlier", "now"

SHOWN = 5
"""How many of the queries that changed most are shown."""


@dataclass(frozen=True, slots=True)
class QueryChange(Result):
    """A query whose values changed.

    Attributes:
        query_id: the query.
        text: the question; None if the gold set has none.
        before, after: its value of each metric that changed; None where it has none.
        by: how much better it got in the first metric, below 0 for worse.
        overall: the same over all metrics between 0 and 1, on average; it orders what is equal.
    """

    query_id: str
    text: str | None
    before: Mapping[str, float | None]
    after: Mapping[str, float | None]
    by: float
    overall: float = field(metadata=HIDDEN)

    def describe(self) -> Iterator[Line]:
        """The first metrics that changed, before and after."""
        yield Line(f"{visible(self.query_id)}: {self.values_text()}")

    def values_text(self, most: int = 3) -> str:
        """The first metrics that changed, before and after."""
        return ", ".join(
            f"{metric} {number(self.before[metric])} → {number(self.after[metric])}"
            for metric in list(self.before)[:most]
        )


@dataclass(frozen=True)
class Change(Result):
    """A retriever set against what it was, or against another.

    Attributes:
        retriever: whose change it is.
        comparison: of two; its baseline is the earlier one.
        better, worse: the queries that changed for the better and for the worse, the most changed
            first, by the first metric. Times are no part of it.
    """

    retriever: str
    comparison: Comparison
    better: tuple[QueryChange, ...]
    worse: tuple[QueryChange, ...]

    def describe(self, *, matchers: bool = False) -> Iterator[Part]:
        """What became of the retriever, metric by metric, and the queries that changed most.

        Args:
            matchers: name the matcher, as there are several.
        """
        comparison = self.comparison
        before, after = comparison.retrievers
        under = f", match {comparison.match}" if matchers else ""
        yield Heading(f"{self.retriever}: {after} against {before}{under}", level=3)
        yield comparison.differences_table()
        for name in comparison.fields:
            yield Line(f"difference by {name}, and p:")
            yield comparison.slice_differences_table(name)
        yield from map(warning, comparison.cautions)
        if not self.better and not self.worse:
            yield Line(f"no query got better or worse, of {comparison.n_queries}")
            return
        unchanged = comparison.n_queries - len(self.better) - len(self.worse)
        yield Line(
            f"queries: {len(self.better)} better, {len(self.worse)} worse, {unchanged} as before "
            "or mixed"
        )
        for title, queries in (("worse", self.worse), ("better", self.better)):
            if queries:
                yield _queries_table(title, queries)


@dataclass(frozen=True)
class Results:
    """What a comparison needs of a finished run.

    Attributes:
        name: what messages call it.
        scored: its retrievers, under each matcher.
        dataset: its gold set.
    """

    name: str
    scored: tuple[RetrieverScores, ...]
    dataset: GoldDataset

    @property
    def retrievers(self) -> tuple[str, ...]:
        """The retrievers' names, each once."""
        return tuple(dict.fromkeys(each.name for each in self.scored))

    def of(self, retriever: str) -> tuple[RetrieverScores, ...]:
        """A retriever's scores, under each matcher.

        Raises:
            UsageError: there is no such retriever.
        """
        found = tuple(each for each in self.scored if each.name == retriever)
        if not found:
            hint = nearest(retriever, self.retrievers)
            raise UsageError(f"{self.name} has no retriever {retriever!r}; {hint}")
        return found


def _queries_table(title: str, queries: Sequence[QueryChange]) -> Table:
    more = len(queries) - SHOWN
    return Table(
        [title, "question", "what changed"],
        [
            [visible(query.query_id), visible(query.text or ""), query.values_text()]
            for query in queries[:SHOWN]
        ],
        words=3,
        note=f"and {more} more" if more > 0 else "",
    )


def read_results_folder(folder: Path) -> Results:
    """The numbers of a result folder as they were written; nothing is computed again.

    Raises:
        DataError: a file is missing or broken.
    """
    path = folder / "report.json"
    try:
        plain = json.loads(path.read_text(encoding="utf-8"))
        rows = list(plain["evaluations"])
        better = {
            name: way
            for each in plain.get("comparisons", ())
            for name, way in each["better"].items()
        }
    except OSError as error:
        raise DataError(
            f"{path}: cannot be read: {error.strerror or error}; name a folder that kragx run has "
            "written"
        ) from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(f"{path}: not a report that kragx wrote: {error!r}") from None
    try:
        scored = tuple(RetrieverScores.read(row, better) for row in rows)
    except DataError as error:
        raise DataError(f"{path}: {error}") from None
    return Results(str(folder), scored, read_gold(folder / "gold.jsonl"))


def changes(
    old: Results,
    new: Results,
    settings: Settings,
    *,
    retrievers: Sequence[str] = (),
    slices: Sequence[str] = (),
    anyway: bool = False,
) -> tuple[Change, ...]:
    """Set each retriever of `new` against the same one of `old`, matcher by matcher.

    Args:
        old: the earlier results.
        new: the present ones; the same as `old` to compare two of its retrievers.
        settings: of the statistics.
        retrievers: one to look at alone; or two: the one of `old`, and the one of `new` that is set
            against it. None for all that both have.
        slices: fields to compare within.
        anyway: compare what cannot be compared, and say so.

    Raises:
        UsageError: nothing corresponds, or the results cannot be compared.
    """
    found = []
    for before, after in _pairs(old, new, retrievers):
        labels = (EARLIER, NOW) if before.name == after.name else (before.name, after.name)
        pair = [replace(each, name=label) for each, label in zip((before, after), labels)]
        try:
            comparison = compare_scores(
                pair, settings, slices=slices, dataset=new.dataset, anyway=anyway
            )
        except UsageError as error:
            raise UsageError(f"{after.name}: {error}") from None
        comparison = replace(comparison, match=after.match)
        better, worse = _changed(pair, comparison, (old.dataset, new.dataset))
        found.append(Change(after.name, comparison, better, worse))
    return tuple(found)


def _pairs(
    old: Results, new: Results, retrievers: Sequence[str]
) -> list[tuple[RetrieverScores, RetrieverScores]]:
    if len(retrievers) > 2:
        raise UsageError(f"--retriever: {len(retrievers)} are named; one or two can be compared")
    if old is new and len(retrievers) < 2:
        raise UsageError(
            "one folder is named: name another, or two of its retrievers: --retriever "
            + " --retriever ".join(old.retrievers[:2])
        )
    names = (
        [(name, name) for name in new.retrievers if name in old.retrievers]
        if not retrievers
        else [(retrievers[0], retrievers[-1])]
    )
    if not names:
        raise UsageError(
            f"no retriever is in both: {old.name} has {', '.join(old.retrievers)}; {new.name} has "
            f"{', '.join(new.retrievers)}; name one of each: --retriever OLD --retriever NEW"
        )
    pairs = []
    for before, after in names:
        olds, news = old.of(before), new.of(after)
        if len(olds) == len(news) == 1:
            pairs.append((olds[0], news[0]))
            continue
        named = {each.match: each for each in olds}
        pairs += [(named[each.match], each) for each in news if each.match in named]
    if not pairs:
        raise UsageError("no matcher is in both; run both with the same 'matchers'")
    return pairs


def _changed(
    pair: Sequence[RetrieverScores], comparison: Comparison, datasets: Sequence[GoldDataset]
) -> tuple[tuple[QueryChange, ...], tuple[QueryChange, ...]]:
    signs = {
        metric: -1.0 if comparison.better[metric] == "lower" else 1.0
        for metric in comparison.metrics
        if comparison.better[metric] != "neither" and _bounded(pair, metric)
    }
    if not signs:
        return (), ()
    tables = []
    for each in pair:
        at = {query_id: row for row, query_id in enumerate(each.query_ids)}
        rows = [at[query_id] for query_id in comparison.query_ids]
        tables.append(np.stack([each.values[metric][rows] for metric in signs], axis=1))
    oriented = (tables[1] - tables[0]) * np.array(list(signs.values()))
    known = np.nan_to_num(oriented)
    moved = (np.abs(known) > TOLERANCE) | (np.isnan(tables[0]) != np.isnan(tables[1]))
    found = []
    for row in np.flatnonzero(moved.any(axis=1)).tolist():
        query_id = comparison.query_ids[row]
        columns = [metric for metric, changed in zip(signs, moved[row]) if changed]
        before, after = (
            {m: _plain(table[row, list(signs).index(m)]) for m in columns} for table in tables
        )
        text = next((data[query_id].text for data in datasets if query_id in data), None)
        overall = float(known[row].mean())
        found.append(QueryChange(query_id, text, before, after, float(known[row, 0]), overall))
    better = [each for each in found if _way(each) > 0]
    worse = [each for each in found if _way(each) < 0]
    better.sort(key=lambda each: (-each.by, -each.overall))
    worse.sort(key=lambda each: (each.by, each.overall))
    return tuple(better), tuple(worse)


def _way(change: QueryChange) -> float:
    """Above 0 for better: the first metric decides, the others where it did not change."""
    return change.by if abs(change.by) > TOLERANCE else change.overall


def _bounded(pair: Iterable[RetrieverScores], metric: str) -> bool:
    """Whether all values lie between 0 and 1: times differ at each query, which says nothing."""
    known_as = known_metric(metric)
    if known_as is not None and known_as.range[1] is None:
        return False
    known = np.concatenate([each.values[metric] for each in pair])
    known = known[~np.isnan(known)]
    return bool(known.size and known.min() >= 0 and known.max() <= 1 + TOLERANCE)


def _plain(value: float) -> float | None:
    return None if isnan(value) else float(value)
