"""What became of a retriever: an earlier result beside the present one, or one beside another."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, product
from typing import Any

import numpy as np
from typing_extensions import Unpack

from kragx.comparison.compare_retrievers import ComparisonDraft, Options, correct_together
from kragx.comparison.comparison import Comparison
from kragx.comparison.estimates import Difference, Settings, definition_of
from kragx.comparison.scores import Results, RetrieverScores
from kragx.comparison.side_by_side import GoldVersions
from kragx.comparison.statistics import TOLERANCE
from kragx.data import GoldDataset
from kragx.ground.errors import UsageError
from kragx.ground.json_values import to_jsonable
from kragx.ground.printing import (
    Heading,
    Line,
    Part,
    Result,
    Table,
    joined,
    listed,
    message,
    number,
    visible,
    warning,
)
from kragx.metrics import known_metric

EARLIER: str = message("earlier")
NOW: str = message("now")
"""What is compared where both have one name, in any language."""

SHOWN = 5
"""How many of the queries that changed most are shown."""

LISTED = 10_000
"""And how many are in the result: of millions those that changed least say nothing."""


@dataclass(frozen=True, slots=True)
class QueryChange:
    """A query whose values changed.

    Attributes:
        query_id: the query.
        text: the question; None if the gold set has none.
        before, after: its value of each metric that changed; None where it has none.
        by: how much better it got in the first metric, below 0 for worse.
    """

    query_id: str
    text: str | None
    before: Mapping[str, float | None]
    after: Mapping[str, float | None]
    by: float

    def values_text(self, most: int = 3) -> str:
        """The first metrics that changed, before and after."""
        values = (
            joined(" ", [metric, number(self.before[metric]), "→", number(self.after[metric])])
            for metric in list(self.before)[:most]
        )
        return joined(", ", values)


@dataclass(frozen=True)
class Change(Result):
    """A retriever set against what it was, or against another.

    Attributes:
        retriever: whose change it is.
        comparison: of two; its baseline is the earlier one.
        better, worse: the queries that changed for the better and for the worse, the most changed
            first, by the first metric; at most `LISTED` each. Times are no part of it.
        n_better, n_worse: how many there are.
    """

    retriever: str
    comparison: Comparison
    better: tuple[QueryChange, ...]
    worse: tuple[QueryChange, ...]
    n_better: int
    n_worse: int

    @property
    def before(self) -> str:
        """What the comparison calls the earlier one."""
        return self.comparison.baseline

    @property
    def after(self) -> str:
        """What the comparison calls the later one."""
        return next(name for name in self.comparison.every_retriever if name != self.before)

    @property
    def is_none(self) -> bool:
        """Whether every query has the values that it had, but for times within chance."""
        comparison = self.comparison
        return not comparison.failures and not any(map(_differs, comparison.overall.differences))

    def describe(self, *, matchers: bool = False, gold: bool = True) -> Iterator[Part]:
        """What became of the retriever, metric by metric, and the queries that changed most.

        Args:
            matchers: name the matcher, as there are several.
            gold: say which questions of two gold sets are not the same.
        """
        comparison = self.comparison
        title = message(
            "{retriever}: {after} against {before}, match {match}"
            if matchers
            else "{retriever}: {after} against {before}",
            retriever=self.retriever,
            after=self.after,
            before=self.before,
            match=comparison.match,
        )
        yield Heading(title, level=3)
        for remark in (*(comparison.gold if gold else ()), *comparison.failures):
            yield from remark.describe()
        if comparison.not_comparable:
            return
        yield comparison.differences_table()
        if comparison.asks_text:
            yield Line(comparison.asks_text, "dim")
        for name in comparison.fields_told:
            yield Line(message("difference by {field}, and p:", field=name))
            yield comparison.slice_differences_table(name)
        yield from comparison.recommendations[0].leak_lines()
        yield from comparison.recommendations[0].caution_lines()
        yield from map(warning, comparison.further_cautions)
        n_turned = self.n_better + self.n_worse
        yield Line(
            message(
                "queries: {n_better} better, {n_worse} worse, {n} as before or mixed"
                if n_turned
                else "no query got better or worse, of {n}",
                n_better=self.n_better,
                n_worse=self.n_worse,
                n=comparison.n_queries - n_turned,
            )
        )
        if self.worse:
            yield _queries_table(message("worse"), self.worse, self.n_worse)
        if self.better:
            yield _queries_table(message("better"), self.better, self.n_better)


def _queries_table(title: str, queries: Sequence[QueryChange], n: int) -> Table:
    """The queries that changed most."""
    rows = [
        [visible(query.query_id), visible(query.text or ""), query.values_text()]
        for query in queries[:SHOWN]
    ]
    note = message("and {n} more", n=n - SHOWN) if n > SHOWN else ""
    return Table([title, message("question"), message("what changed")], rows, words=3, note=note)


def _differs(difference: Difference) -> bool:
    """Whether two differ in a metric; in times only by more than chance."""
    if "second" in definition_of(difference.metric).unit:
        return difference.decided
    if difference.p is not None:
        return not difference.never_differs
    return bool(difference.value or difference.wins or difference.losses)  # some may not be known


def changes_parts(changes: Sequence[Change]) -> Iterator[Part]:
    """What became of several retrievers, and which questions of their gold sets are not the same.

    That is the same for all of them as a rule, and then said once; so is that nothing changed.
    """
    yield from gold_lines(changes)
    yield from unchanged(changes)
    # What makes numbers unsure is worth saying of those that did not change as well.
    same = (change.comparison.cautions for change in changes if change.is_none)
    yield from map(warning, dict.fromkeys(chain.from_iterable(same)))
    matchers = len({change.comparison.match for change in changes}) > 1
    for change in changes:
        if not change.is_none:
            yield from change.describe(matchers=matchers, gold=False)


def unchanged(changes: Iterable[Change]) -> Iterator[Line]:
    """Of which retrievers nothing changed, in one line."""
    if same := [change for change in changes if change.is_none]:
        yield Line(
            message(
                "nothing changed: {names}; each of {n} queries has the values that it had",
                names=listed([*dict.fromkeys(visible(change.retriever) for change in same)]),
                n=max(change.comparison.n_queries for change in same),
            )
        )


def gold_lines(changes: Sequence[Change]) -> Iterator[Line]:
    """What is not the same in two gold sets; of which matcher, where they read gold differently."""
    several = gold_of(changes)
    for gold in several:
        names = dict.fromkeys(
            change.comparison.match
            for change in changes
            if gold.text in (versions.text for versions in change.comparison.gold)
        )
        for line in gold.describe():
            text = message("match {names}: {line}", names=", ".join(names), line=line.text)
            yield replace(line, text=text) if len(several) > 1 else line


def gold_of(changes: Iterable[Change]) -> Collection[GoldVersions]:
    """The pairs of gold sets whose results are compared, each once."""
    return {gold.text: gold for change in changes for gold in change.comparison.gold}.values()


def changes(
    old: Results,
    new: Results,
    settings: Settings,
    *,
    retrievers: Sequence[str] = (),
    **options: Unpack[Options],
) -> tuple[Change, ...]:
    """Set each retriever of `new` against the same one of `old`, matcher by matcher.

    Under each matcher the tests of all retrievers by the first metric of `new` are one family; all
    else another.

    Args:
        old: the earlier results.
        new: the present ones; the same as `old` to compare two of its retrievers.
        settings: of the statistics.
        retrievers: one to look at alone; or two: the one of `old`, and the one of `new` that is set
            against it. None for all that both have.
        options: as for `compare_scores`.

    Raises:
        UsageError: nothing corresponds, or the results cannot be compared.
    """
    options["dataset"] = new.dataset
    compared: list[tuple[str, list[RetrieverScores], ComparisonDraft]] = []
    for before, after in _pairs(old, new, retrievers):
        labels = (EARLIER, NOW) if before.name == after.name else (before.name, after.name)
        pair = [
            replace(side, name=label, match=after.match).with_first(after.means)
            for side, label in zip((before, after), labels)
        ]
        options["baseline"] = labels[0]
        try:
            compared.append((after.name, pair, ComparisonDraft.of(pair, settings, **options)))
        except UsageError as error:
            raise error.within(path=after.name) from None
    texts = [result.dataset for result in (old, new) if result.dataset is not None]
    comparisons = correct_together([draft for *_, draft in compared])
    return tuple(
        Change(name, comparison, **_turned_queries(pair, comparison, texts))
        for (name, pair, _), comparison in zip(compared, comparisons)
    )


def _pairs(
    old: Results, new: Results, retrievers: Sequence[str]
) -> list[tuple[RetrieverScores, RetrieverScores]]:
    """What corresponds: a retriever before and after, under each matcher that both have."""
    pairs = []
    for name_before, name_after in _names(old, new, retrievers):
        before, after = old.of(name_before), new.of(name_after)
        # Of one matcher each they correspond, whatever the two are called.
        are_alone = len(before) == len(after) == 1
        pairs += [
            (earlier, now)
            for now, earlier in product(after, before)
            if are_alone or earlier.match == now.match
        ]
    if not pairs:
        raise UsageError("no matcher is in both; run both with the same 'matchers'")
    return pairs


def _names(old: Results, new: Results, retrievers: Sequence[str]) -> list[tuple[str, str]]:
    """What the retrievers that correspond are called, before and after."""
    if len(retrievers) > 2:
        raise UsageError(
            "--retriever: {n_retrievers} are named; one or two can be compared",
            n_retrievers=len(retrievers),
        )
    if old is new and len(retrievers) < 2:
        raise UsageError(
            "one folder is named: name another, or two of its retrievers: --retriever {names}",
            names=" --retriever ".join(old.retrievers[:2]),
        )
    if retrievers:
        return [(retrievers[0], retrievers[-1])]
    names = [(name, name) for name in new.retrievers if name in old.retrievers]
    if not names and len(old.retrievers) == len(new.retrievers) == 1 and new.dataset is None:
        # files that were scored have any name
        names = [(old.retrievers[0], new.retrievers[0])]
    if not names:
        raise UsageError(
            "no retriever is in both: {name} has {names}; {name_2} has "
            "{names_2}; name one of each: --retriever OLD --retriever NEW",
            name=old.name,
            names=", ".join(old.retrievers),
            name_2=new.name,
            names_2=", ".join(new.retrievers),
        )
    return names


def _turned_queries(
    pair: Sequence[RetrieverScores], comparison: Comparison, datasets: Sequence[GoldDataset]
) -> dict[str, Any]:
    """How many queries got better and worse, and those that changed most, as `Change` has them."""
    better, ids = comparison.better, comparison.query_ids
    # A question that failed is no change for the worse.
    metrics = [
        metric
        for metric in (() if comparison.not_comparable else comparison.metrics)
        if better[metric] != "neither" and _is_bounded(pair, metric)
    ]
    if not metrics:
        return {"better": (), "worse": (), "n_better": 0, "n_worse": 0}
    before, after = (side.table(metrics, ids) for side in pair)
    gains = np.nan_to_num(after - before) * [-1.0 if better[m] == "lower" else 1.0 for m in metrics]
    # A value that came or went has no gain, and is a change all the same.
    moved = (np.abs(gains) > TOLERANCE) | (np.isnan(before) != np.isnan(after))
    first, overall = gains[:, 0], sum(gains.T / len(metrics), np.zeros(len(ids)))
    # The first metric decides which way a query went, the mean of all where that one stands still.
    ways = np.where(np.abs(first) > TOLERANCE, first, overall)
    ways[~moved.any(axis=1)] = 0.0
    # What changed most is what moved the mean most.
    asks = 1.0 if comparison.weights is None else comparison.weights / comparison.weights.mean()

    def change(row: int) -> QueryChange:
        places = np.flatnonzero(moved[row]).tolist()
        earlier, later = (
            {metrics[place]: to_jsonable(values[row, place]) for place in places}
            for values in (before, after)
        )
        text = next((gold[ids[row]].text for gold in datasets if ids[row] in gold), None)
        return QueryChange(ids[row], text, earlier, later, float(first[row]))

    turned: dict[str, Any] = {}
    for name, sign in (("better", 1), ("worse", -1)):
        rows = np.flatnonzero(sign * ways > 0)
        order = np.lexsort((-sign * (asks * overall)[rows], -sign * (asks * first)[rows]))
        turned[f"n_{name}"] = len(rows)
        turned[name] = tuple(map(change, rows[order][:LISTED].tolist()))
    return turned


def _is_bounded(pair: Sequence[RetrieverScores], metric: str) -> bool:
    """Whether all values lie between 0 and 1: times differ at each query and say nothing."""
    definition = known_metric(metric)
    values = np.concatenate([side.values[metric] for side in pair])
    values = values[~np.isnan(values)]
    # A metric of the user's own says no range, so its values are looked at.
    is_open = definition is not None and definition.range[1] is None
    return bool(not is_open and values.size and values.min() >= 0 and values.max() <= 1 + TOLERANCE)
