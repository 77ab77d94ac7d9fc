"""What became of a retriever: an earlier result beside the present one, or one beside another."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from kragx.comparison.compare_retrievers import Draft, settled
from kragx.comparison.comparison import Comparison, Settings
from kragx.comparison.gold_versions import GoldVersions
from kragx.comparison.scores import Results, RetrieverScores
from kragx.comparison.statistics import TOLERANCE
from kragx.data import GoldDataset
from kragx.errors import UsageError
from kragx.metrics import known_metric
from kragx.plain import HIDDEN, plain
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

    @property
    def way(self) -> float:
        """Above 0 for better: the first metric decides, the others where it did not change."""
        return self.by if abs(self.by) > TOLERANCE else self.overall

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

    @property
    def before(self) -> str:
        """What the comparison calls the earlier one."""
        return self.comparison.baseline

    @property
    def after(self) -> str:
        """What the comparison calls the later one."""
        return next(name for name in self.comparison.every_retriever if name != self.before)

    def describe(self, *, matchers: bool = False, gold: bool = True) -> Iterator[Part]:
        """What became of the retriever, metric by metric, and the queries that changed most.

        Args:
            matchers: name the matcher, as there are several.
            gold: say which questions of two gold sets are not the same.
        """
        comparison = self.comparison
        under = f", match {comparison.match}" if matchers else ""
        yield Heading(f"{self.retriever}: {self.after} against {self.before}{under}", level=3)
        for own in (*(comparison.gold if gold else ()), *comparison.failures):
            yield from own.describe()
        if comparison.not_comparable:
            return
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
                yield Table(
                    [title, "question", "what changed"],
                    [
                        [visible(query.query_id), visible(query.text or ""), query.values_text()]
                        for query in queries[:SHOWN]
                    ],
                    words=3,
                    note=f"and {len(queries) - SHOWN} more" if len(queries) > SHOWN else "",
                )


def changes_parts(changes: Sequence[Change]) -> Iterator[Part]:
    """What became of several retrievers, and which questions of their gold sets are not the same.

    That is the same for all of them as a rule, and then said once.
    """
    yield from (line for own in gold_of(changes) for line in own.describe())
    matchers = len({change.comparison.match for change in changes}) > 1
    for change in changes:
        yield from change.describe(matchers=matchers, gold=False)


def gold_of(changes: Iterable[Change]) -> Iterable[GoldVersions]:
    """The pairs of gold sets whose results are compared, each once."""
    return {own.text: own for change in changes for own in change.comparison.gold}.values()


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

    The tests of all of them are one family.

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
    pairs: list[tuple[str, list[RetrieverScores]]] = []
    drafts: list[Draft] = []
    for before, after in _pairs(old, new, retrievers):
        labels = (EARLIER, NOW) if before.name == after.name else (before.name, after.name)
        pair = [
            replace(own, name=label, match=after.match)
            for own, label in zip((before, after), labels)
        ]
        try:
            drafts.append(
                Draft.of(
                    pair,
                    settings,
                    baseline=labels[0],
                    slices=slices,
                    dataset=new.dataset,
                    anyway=anyway,
                )
            )
        except UsageError as error:
            raise error.within(path=after.name) from None
        pairs.append((after.name, pair))
    changed = []
    for (name, pair), comparison in zip(pairs, settled(drafts)):
        queries = (
            []  # a question that failed is no change for the worse
            if comparison.not_comparable
            else list(_query_changes(pair, comparison, (old.dataset, new.dataset)))
        )
        better, worse = (
            tuple(
                sorted(
                    (query for query in queries if sign * query.way > 0),
                    key=lambda query: (-sign * query.by, -sign * query.overall),
                )
            )
            for sign in (1, -1)
        )
        changed.append(Change(name, comparison, better, worse))
    return tuple(changed)


def _pairs(
    old: Results, new: Results, retrievers: Sequence[str]
) -> list[tuple[RetrieverScores, RetrieverScores]]:
    """What corresponds: a retriever before and after, under each matcher that both have."""
    if len(retrievers) > 2:
        raise UsageError(f"--retriever: {len(retrievers)} are named; one or two can be compared")
    if old is new and len(retrievers) < 2:
        raise UsageError(
            "one folder is named: name another, or two of its retrievers: --retriever "
            + " --retriever ".join(old.retrievers[:2])
        )
    both = [(name, name) for name in new.retrievers if name in old.retrievers]
    names = [(retrievers[0], retrievers[-1])] if retrievers else both
    if not names:
        raise UsageError(
            f"no retriever is in both: {old.name} has {', '.join(old.retrievers)}; {new.name} has "
            f"{', '.join(new.retrievers)}; name one of each: --retriever OLD --retriever NEW"
        )
    pairs = [
        (earlier, now)
        for name_before, name_after in names
        for before, after in [(old.of(name_before), new.of(name_after))]
        for now in after
        for earlier in before
        # Of one matcher each they correspond, whatever the two are called.
        if earlier.match == now.match or len(before) == len(after) == 1
    ]
    if not pairs:
        raise UsageError("no matcher is in both; run both with the same 'matchers'")
    return pairs


def _query_changes(
    pair: Sequence[RetrieverScores], comparison: Comparison, datasets: Sequence[GoldDataset]
) -> Iterator[QueryChange]:
    """The queries of which some metric changed, in the comparison's order."""
    better = comparison.better
    metrics = [
        metric
        for metric in comparison.metrics
        if better[metric] != "neither" and _bounded(pair, metric)
    ]
    if not metrics:
        return
    before, after = (own.table(metrics, comparison.query_ids) for own in pair)
    signs = np.array([-1.0 if better[metric] == "lower" else 1.0 for metric in metrics])
    gains = np.nan_to_num((after - before) * signs)
    moved = (np.abs(gains) > TOLERANCE) | (np.isnan(before) != np.isnan(after))
    for row in np.flatnonzero(moved.any(axis=1)).tolist():
        query_id = comparison.query_ids[row]
        columns = np.flatnonzero(moved[row]).tolist()
        yield QueryChange(
            query_id,
            next((data[query_id].text for data in datasets if query_id in data), None),
            before={metrics[column]: plain(before[row, column]) for column in columns},
            after={metrics[column]: plain(after[row, column]) for column in columns},
            by=float(gains[row, 0]),
            overall=float(gains[row].mean()),
        )


def _bounded(pair: Iterable[RetrieverScores], metric: str) -> bool:
    """Whether all values lie between 0 and 1: times differ at each query, which says nothing."""
    known_as = known_metric(metric)
    if known_as is not None and known_as.range[1] is None:
        return False
    values = np.concatenate([own.values[metric] for own in pair])
    values = values[~np.isnan(values)]
    return bool(values.size and values.min() >= 0 and values.max() <= 1 + TOLERANCE)
