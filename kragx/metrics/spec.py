"""What a metric is, and what is asked of one: `Metric` and `MetricSpec`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import compress
from math import isinf
from typing import Any, Literal

import numpy as np

from kragx.data import plain_number
from kragx.data.lists import Bools, Floats
from kragx.data.text import read_number
from kragx.ground.errors import UsageError, nearest
from kragx.ground.printing import message
from kragx.metrics.evidence import Cut, Evidence, TextBudget
from kragx.metrics.intervals import Kind, Ratio
from kragx.metrics.match_table import PooledCounts, TableView
from kragx.metrics.profiles import KRAGX, Profile
from kragx.metrics.search_table import SearchView
from kragx.metrics.weights import weighted_mean

Reads = Literal[
    "documents", "searches", "read", "tokens", "forbidden", "facts", "relevance", "spans"
]
"""What metrics may read beside matches."""

Value = str | int | float | None
"""What an option may be set to."""


@dataclass(frozen=True)
class Option:
    """An option of a metric.

    Attributes:
        default: its value in profile kragx, which no canonical name says.
        choices: the values that a metric string may give it; none where `read` decides.
        read: from the text in a metric string to the value; raises a `UsageError` that says what
            is expected.
        by_profile: whether the profile's field of that name is its default.
        settable: whether a metric string may set it; else only a profile does.
    """

    default: Value
    choices: tuple[str, ...] = ()
    read: Callable[[str], Value] = str
    by_profile: bool = False
    settable: bool = True

    def value(self, text: str) -> Value:
        """The value that a text stands for.

        Raises:
            UsageError: it stands for none.
        """
        if self.choices and text not in self.choices:
            raise UsageError(
                message("has no value {text!r}", text=text), remedy=nearest(text, self.choices)
            )
        return self.read(text)

    def __str__(self) -> str:
        """What may be written: every choice, the default first; x for any number."""
        return "|".join(self.choices) or shown(self.default, "x")


def number(words: str, fits: Callable[[float], bool], kind: type = float) -> Callable[[str], Value]:
    """Reads a number that fits, or a whole one; else a `UsageError` says in `words` what one is."""

    def read(text: str) -> Value:
        is_written = kind is float or (text.isascii() and text.isdigit())
        value = read_number(text) if is_written else None
        if value is None or isinf(value) or not fits(value):
            raise UsageError("must be {words}, not {text!r}", words=words, text=text)
        return kind(value)  # type: ignore[no-any-return]

    return read


above_0: Callable[[str], Value] = number("a number above 0", lambda value: value > 0)

WHERE = "{}"
"""Stands in a metric's meaning for where it looks: its first documents, or the whole list."""


def of_sums(values: Floats, weights: Floats | None = None) -> None:
    """Of a metric that is a sum over a sum: no query has a value of its own, so none makes it."""


_WAYS = ("from_matches", "from_relevance", "from_evidence", "from_searches", "from_run")
"""How a metric may be computed: by which of its functions."""


# Compared by name: an import path or a name of the registry stands for one metric.
@dataclass(frozen=True, eq=False)
class Metric:
    """One metric: what turns an evaluation's evidence into a value a query.

    Exactly one of `from_matches`, `from_relevance`, `from_evidence`, `from_searches` and `from_run`
    is given: it says how the metric is computed, and so what it needs. Write one of your own and
    name it by its import path in a list of metrics:
    ``metrics: [ndcg@10, "my_package.metrics:FRESHNESS@5"]``.

    Attributes:
        name: as in metric strings.
        question: what it answers, in one line.
        formula: per query, in one line; docs/metrics.md says more.
        meaning: a sentence that says what a value tells the reader of a report; `WHERE` in it
            stands for where the metric looks. Without one, question and formula do.
        from_matches: from the match table alone to its values at every cut-off of a view, (c, q);
            NaN where it is undefined.
        from_relevance: the same of the table of judged relevance (`Relevance`), whatever the gold.
        from_evidence: from documents, times and matches to its values at a spec's cut-off, (q).
        from_searches: from what each search brought to its values at a spec's cut-off, which counts
            steps, (q); or to what each question adds to a sum over a sum. NaN where undefined.
        from_run: from documents, times and matches to one number of the run, in which no query has
            a part; None where there is nothing to take it of.
        options: what metric strings and profiles may set.
        range: its least and greatest value; None where nothing bounds it.
        unit: of its values; none for shares and what is made of them.
        better: its direction; ``neither`` where it depends on the purpose.
        cuts: whether it takes ``@k``.
        cuts_budgets: whether it cuts a budget itself, within a document; others see the list of
            the documents that fit whole.
        reads_facts: whether it asks which facts the documents hold, which are matched apart.
        reads_forbidden: whether it asks what must not come; beside that it sees the table alone.
        reads_tokens: whether it asks what searches cost in tokens.
        of: whether it is of the questions that can be answered, of those that cannot
            (``answerable: false``), or of all; others have no value. What is made of matches alone
            follows the profile's rule for queries without gold instead.
        pooled: its micro average from the pooled counts, if it has one.
        apart: whether a query's value depends on that query alone, so that queries may be looked at
            apart from one another.
        number: how the queries' values, NaN without one, and what each weighs (None: all alike),
            make its number; None where there is none.
        maximum: (q) the greatest value that could have been reached, where the data decide it.
        extremes: of `from_evidence` (q) its least and its greatest values, where judgements may be
            missing; of `from_matches` the match table tells.
        interval: how sure its mean is: ``score``, as most are; ``exact``, by the exact limits of
            the share of questions above 0; ``capped``, as most are, with an upper end no higher
            than that limit. What is not known widens the latter two.
        counts: of how many questions something is so, in an evaluation or a part of it; of
            `from_searches` in what each search brought.
        aside: what stands beside its mean for people, from the values of the queries, their weights
            and the counts; empty for nothing.
        rises_with_matches: whether it never falls when more pairs match, so that what is not known
            has its extremes where all of it matches, or nothing does; a function if it depends on
            the options.
        rises_with_gold: the same for a gold item more, of which one does not know whether it is.
        may_be_undefined: whether a query with gold has no value without a relevant document.
        undefined_by_gold: whether the grades of a query's gold may leave it without a value.
        aliases: other names.
        beside: the name of a metric that is computed with it, as it says how far to trust it; it
            has the same options.
        function: the plain function that it is made of.
        way: which of the five is given, by its name.
        reads: what it reads beside matches.
    """

    name: str
    question: str
    formula: str
    from_matches: Callable[[TableView, MetricSpec], Floats] | None = None
    from_relevance: Callable[[TableView, MetricSpec], Floats] | None = None
    from_evidence: Callable[[Evidence, MetricSpec], Floats] | None = None
    from_run: Callable[[Evidence], float | None] | None = None
    meaning: str = ""
    options: Mapping[str, Option] = field(default_factory=dict)
    range: tuple[float, float | None] = (0.0, 1.0)
    unit: Literal["", "seconds", "bits", "queries a second", "tokens", "searches"] = ""
    better: Literal["higher", "lower", "neither"] = "higher"
    cuts: bool = True
    cuts_budgets: bool = False
    reads_facts: bool = False
    reads_forbidden: bool = False
    of: Literal["answerable", "unanswerable", "all"] = "answerable"
    pooled: Callable[[PooledCounts], float] | None = None
    apart: bool = True
    number: Callable[[Floats, Floats | None], float | None] = weighted_mean
    maximum: Callable[[Evidence, MetricSpec], Floats] | None = None
    extremes: Callable[[Evidence, MetricSpec], tuple[Floats, Floats]] | None = None
    interval: Kind = "score"
    counts: Callable[[Any, MetricSpec], Mapping[str, int]] | None = None
    aside: Callable[[Floats, Floats | None, Mapping[str, int]], str] | None = None
    rises_with_matches: bool | Callable[[MetricSpec], bool] = False
    rises_with_gold: bool | Callable[[MetricSpec], bool] = False
    may_be_undefined: bool = False
    undefined_by_gold: bool = False
    aliases: tuple[str, ...] = ()
    beside: str = ""
    function: Callable[..., Any] | None = None
    from_searches: Callable[[SearchView, MetricSpec], Floats | Ratio] | None = None
    reads_tokens: bool = False

    way: str = field(init=False)
    reads: frozenset[Reads] = field(init=False)

    def __post_init__(self) -> None:
        # Both once, as they are asked for each time that a metric is computed.
        ways = [way for way in _WAYS if getattr(self, way) is not None]
        way = ways[0] if ways else ""
        may_read: dict[Reads, bool] = {
            # Marks of leaks are no documents, nor is what each search brought.
            "documents": way not in ("from_matches", "from_searches") and not self.reads_forbidden,
            "searches": way == "from_searches",
            "tokens": self.reads_tokens,
            "forbidden": self.reads_forbidden,
            "facts": self.reads_facts,
            "relevance": way == "from_relevance",
            "spans": self.cuts_budgets,
        }
        reads = frozenset(compress(may_read, may_read.values()))
        vars(self).update(way=way, reads=reads)  # past the frozen class
        if len(ways) != 1:
            raise UsageError(
                "metric {name!r}: give one of from_matches, from_relevance, "
                "from_evidence, from_searches and from_run",
                name=self.name,
            )

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)

    @property
    def higher_is_better(self) -> bool | None:
        """Its direction; None where it has none."""
        return {"higher": True, "lower": False}.get(self.better)

    @property
    def is_share(self) -> bool:
        """Whether it lies in [0, 1], and the higher it is, the better."""
        return self.range == (0.0, 1.0) and self.better == "higher"

    @property
    def is_mean(self) -> bool:
        """Whether its queries' values, where they have any, make its number by their mean."""
        return self.number is weighted_mean

    @property
    def ends(self) -> tuple[float, float]:
        """Its range, infinite where nothing bounds it."""
        lowest, greatest = self.range
        return lowest, np.inf if greatest is None else greatest

    @property
    def has_interval(self) -> bool:
        """Whether its number can have an interval over queries: a mean, or a sum over a sum."""
        return self.from_run is None and self.number in (weighted_mean, of_sums)

    def concerns(self, unanswerable: Bools) -> Bools:
        """(q) of which queries it is, by whether they cannot be answered."""
        if self.of == "all":
            return np.ones_like(unanswerable)
        return unanswerable if self.of == "unanswerable" else ~unanswerable

    @property
    def of_answers(self) -> bool:
        """Whether it is of answers, whatever list they held: how long they took."""
        return self.unit in ("seconds", "queries a second")

    @property
    def limits(self) -> tuple[float, float] | None:
        """Its range; None where that is not known on both sides."""
        lowest, greatest = self.range
        return None if greatest is None or np.isinf(lowest) else (lowest, greatest)

    def spec(self, k: Cut = None, within: Profile = KRAGX, /, **options: str) -> MetricSpec:
        """This metric at a cut-off; options that are not given are the profile's.

        Raises:
            UsageError: it takes no cut-off, or no such option or value.
        """
        # `k` is positional alone, as metrics of searches have an option of that name.
        if k is not None and not self.cuts:
            raise UsageError("{name} concerns whole answers; leave '@{k}' out", name=self.name, k=k)
        if self.from_searches is not None and isinstance(k, TextBudget):
            raise UsageError(
                "{name} is cut after steps, not at a budget",
                remedy="write {name}@3, or recall@{k}(of=all)",
                name=self.name,
                k=k,
            )
        values: dict[str, Value] = {}
        for name, option in self.options.items():
            values[name] = getattr(within, name) if option.by_profile else option.default
        for name, text in options.items():
            if name in values and text == values[name]:
                continue  # what the profile says anyway, as a canonical name repeats it
            settable = [name for name, option in self.options.items() if option.settable]
            if name not in settable:
                raise UsageError(
                    message("{metric} has no option {name!r}", metric=self.name, name=name),
                    remedy=nearest(name, settable),
                )
            try:
                values[name] = self.options[name].value(text)
            except UsageError as error:
                raise UsageError(
                    message("{name} {why}", name=name, why=error.problem), remedy=error.remedy
                ) from None
        if values.get("order", "turns") != "turns" and values["of"] != "all":
            raise UsageError(
                "order says how all searches make one list",
                remedy="write of=all with it, or leave it out",
            )
        return MetricSpec(self, k, values)


@dataclass(frozen=True, repr=False)
class MetricSpec:
    """One metric with its cut-off and every option resolved; `str` gives its canonical name.

    The canonical name says which options differ from their defaults and nothing else, so that the
    same name always means the same number, whatever the profile. A metric that was asked for by
    another tool's name has that name. `Metric.spec` and `kragx.metrics.parse` make one.

    Attributes:
        metric: which metric.
        k: the cut-off, a number of documents or a budget; None for the whole list.
        options: the value of every option that the metric has.
        label: another tool's name for it; empty where it was asked for by kragx's.
    """

    metric: Metric
    k: Cut = None
    # A mapping has no hash; specs that differ in it share theirs, and are not equal.
    options: Mapping[str, Value] = field(default_factory=dict, hash=False)
    label: str = ""

    @property
    def name(self) -> str:
        """The metric's name, or import path."""
        return self.metric.name

    @property
    def rank(self) -> int | None:
        """The cut-off as a number of documents, or of steps; None for all, and of a budget."""
        return self.k if isinstance(self.k, int) else None

    @property
    def needs_evidence(self) -> bool:
        """Whether documents or times are looked at, and not the match table alone."""
        return self.metric.way != "from_matches" or self.budget is not None

    @property
    def reads(self) -> frozenset[Reads]:
        """What it reads beside matches: what its metric does, documents to a budget, searches."""
        named = self["of"]
        more: set[Reads] = set() if self.budget is None else {"documents"}
        if named is not None:
            more |= {"searches", "read"} if named == "read" else {"searches"}
        return self.metric.reads | more

    @property
    def apart(self) -> bool:
        """Whether each query's value depends on that query alone, and these make the number."""
        is_of_run = self.metric.from_run is not None or self["macro"] == "means"
        return self.metric.apart and not is_of_run

    @property
    def needs_all_gold(self) -> bool:
        """Whether gold that was not found may lower it, so that it is relative to what is known."""
        return not holds(self.metric.rises_with_gold, self)

    @property
    def budget(self) -> TextBudget | None:
        """The budget at which lists are cut before the metric sees them."""
        is_cut = isinstance(self.k, TextBudget) and not self.metric.cuts_budgets
        return self.k if is_cut else None  # type: ignore[return-value]

    def __getitem__(self, option: str) -> Any:
        """The value of an option; None if the metric does not have it."""
        return self.options.get(option)

    def with_options(self, **options: Value) -> MetricSpec:
        """The same with other values of some options; what another tool calls it is gone then."""
        return replace(self, options={**self.options, **options}, label="")

    def __str__(self) -> str:
        if self.label:
            return self.label
        cut = "" if self.k is None else f"@{self.k}"
        options = []
        for name, value in self.options.items():
            if value != self.metric.options[name].default:
                options.append(f"{name}={shown(value)}")
        return f"{self.metric.name}{cut}" + (f"({', '.join(options)})" if options else "")

    def __repr__(self) -> str:
        return f"<{self}>"


def holds(rule: bool | Callable[[MetricSpec], bool], spec: MetricSpec) -> bool:
    """Whether a rule of a metric holds, which may depend on the options."""
    return rule if isinstance(rule, bool) else rule(spec)


def shown(value: Value, nothing: str = "") -> str:
    """A value as it stands in a metric string."""
    if value is None:
        return nothing
    return plain_number(value) if isinstance(value, float) else str(value)
