"""What a measure is: a number of a run that the match table alone does not hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np

from kragx.data.documents import Doc
from kragx.data.gold import Query
from kragx.evaluation.sizes import Sizes
from kragx.matchers.items import Status
from kragx.metrics import Budget
from kragx.metrics.spec import Cut
from kragx.metrics.table import Bools, Floats, Ints, MatchTable

if TYPE_CHECKING:
    from kragx.metrics.measures.spans import Spans
    from kragx.metrics.spans.cover import Spread


@dataclass(frozen=True)
class MeasureSpec:
    """One measure with its cut-off and options; `str` gives its canonical name.

    Attributes:
        name: the measure, for example ``source_diversity``.
        k: the cut-off, a number of documents or a budget; None for the whole list.
        options: every option, those not named with their defaults.
        shown: the options that the canonical name says: those that differ from the defaults.
    """

    name: str
    k: Cut = None
    options: tuple[tuple[str, str], ...] = ()
    shown: tuple[str, ...] = ()

    def __getitem__(self, option: str) -> str:
        return dict(self.options)[option]

    def __str__(self) -> str:
        cut = "" if self.k is None else f"@{self.k}"
        said = [f"{name}={value}" for name, value in self.options if name in self.shown]
        return f"{self.name}{cut}" + (f"({', '.join(said)})" if said else "")


@dataclass(frozen=True, slots=True)
class Answer:
    """What one query got, in the order that is its ranking, with the question itself."""

    query: Query
    docs: tuple[Doc, ...]
    status: Status
    seconds: float | None = None

    def top(self, k: Cut) -> tuple[Doc, ...]:
        """The first k documents."""
        return self.docs[: rank_of(k)]


def rank_of(k: Cut) -> int | None:
    """A cut-off as a rank; measures whose lists were cut at a budget see none."""
    assert not isinstance(k, Budget)
    return k


def _spans() -> Spans:
    from kragx.metrics.measures.spans import Spans

    return Spans()


@dataclass(frozen=True)
class Evidence:
    """All that a measure may look at.

    Attributes:
        answers: one for each query, in the order of the table's rows.
        table: the matches with the gold.
        concurrency: how many questions were asked at once.
        facts: from queries and answers to, for each, the share of its facts that is contained in
            its top k documents (k for all, or for each); NaN for a query without facts. It matches
            as the evaluation was told to, so a measure need not know of matchers.
        spans: where the gold stands in what was retrieved, for measures that compare texts.
        sizes: the lengths of the documents, for budgets.
    """

    answers: Sequence[Answer]
    table: MatchTable
    concurrency: int = 1
    facts: Callable[[int | Ints | None], Floats] = lambda k: np.empty(0)
    spans: Spans = field(default_factory=_spans, repr=False, compare=False)
    sizes: Sizes = field(default_factory=Sizes, repr=False, compare=False)

    def within(self, budget: Budget) -> Evidence:
        """The same, each list cut after the documents that fit whole into a budget.

        Raises:
            DataError: a document has no text.
        """
        depths = self.sizes.depths(self.answers, budget)
        cut = [replace(a, docs=a.docs[:depth]) for a, depth in zip(self.answers, depths)]
        return replace(
            self,
            answers=cut,
            table=self.table.first(depths),
            facts=lambda k: self.facts(depths),
            spans=_spans(),
            sizes=Sizes(self.sizes.tokenizer),
        )

    def read(self, k: Cut, spread: Spread) -> Ints:
        """(q) how many tokens of each query's stream a cut-off holds."""
        if isinstance(k, Budget):
            return self.sizes.read(self.answers, k, spread)
        lengths = [len(answer.docs) for answer in self.answers]
        return spread.after(lengths if k is None else np.minimum(lengths, k))

    def relevant(self) -> Bools:
        """(d) whether each document matches gold and is no repetition of an earlier one."""
        table = self.table
        relevant = np.zeros(len(table.repeated), bool)
        gold = table.grade[table.pair_gold] > 0
        relevant[table.pair_doc[table.matched & gold]] = True
        return relevant & ~table.repeated


@dataclass(frozen=True)
class MeasureScores:
    """The values of one measure.

    Attributes:
        spec: which measure.
        values: (q) one for each query; NaN where there is none.
        mean: what stands in the table: the mean over the queries that have a value, or the run's
            own number (a percentile, a throughput); None if there is nothing to take it of.
        maximum: the greatest value that could have been reached, if that depends on the data.
    """

    spec: MeasureSpec
    values: Floats
    mean: float | None
    maximum: float | None = None

    @property
    def n_scored(self) -> int:
        """How many queries have a value."""
        return int((~np.isnan(self.values)).sum())


class Measure(Protocol):
    """One measure: what it is called, what it says, and how it is computed.

    Write one of your own with these attributes and name it by its import path in a list of
    metrics: ``metrics: [ndcg@10, "my_package.measures:Freshness"]``.
    """

    @property
    def name(self) -> str:
        """As in metric strings."""
        ...

    @property
    def question(self) -> str:
        """What it answers, in one line."""
        ...

    @property
    def formula(self) -> str:
        """What it is, in one line; docs/metrics.md says more."""
        ...

    @property
    def range(self) -> tuple[float, float | None]:
        """Its least and greatest value; None where nothing bounds it."""
        ...

    @property
    def better(self) -> str:
        """Its direction: ``higher``, ``lower``, or ``neither`` where it depends on the purpose."""
        ...

    @property
    def cuts(self) -> bool:
        """Whether it takes ``@k``; a budget is then a list cut beforehand."""
        ...

    @property
    def options(self) -> Mapping[str, str]:
        """The options that it takes, with their defaults."""
        ...

    def compute(self, evidence: Evidence, spec: MeasureSpec) -> MeasureScores:
        """Its values for q queries."""
        ...


@dataclass(frozen=True)
class Described:
    """The words about a measure; the measures of kragx are made of these and one function."""

    name: str
    question: str
    formula: str
    function: Callable[[Evidence, MeasureSpec], MeasureScores]
    range: tuple[float, float | None] = (0.0, 1.0)
    better: str = "higher"
    cuts: bool = True
    budgets: bool = False  # whether it cuts a budget itself, within a document
    check: Callable[[MeasureSpec], object] = lambda spec: None  # refuses values of options
    summary: Callable[[Floats], float] | None = None  # of the values, where it is not their mean
    options: Mapping[str, str] = field(default_factory=dict)

    def compute(self, evidence: Evidence, spec: MeasureSpec) -> MeasureScores:
        """Its values for q queries."""
        return self.function(evidence, spec)


def mean_of(values: Floats) -> float | None:
    """The mean of what is defined; None if nothing is."""
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if defined.size else None


def per_query(
    evidence: Evidence, spec: MeasureSpec, value: Callable[[Answer], float | None]
) -> MeasureScores:
    """The scores of a measure that looks at one query at a time; None is undefined."""
    found = [value(answer) for answer in evidence.answers]
    values = np.array([np.nan if each is None else each for each in found], np.float64)
    return MeasureScores(spec, values, mean_of(values))
