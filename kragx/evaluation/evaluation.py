"""`Evaluation`: the numbers of one run under one matcher."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import repeat
from math import isnan
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from kragx.data import GoldDataset
from kragx.data.reading import nothing_to_find
from kragx.evaluation.criteria import deviations
from kragx.evaluation.evidence import GatheredEvidence
from kragx.evaluation.inputs import first_failure
from kragx.evaluation.leaks import Leak, LeakReport, joined_leaks, leak_parts, leaks_of
from kragx.evaluation.match_source import judged_share
from kragx.evaluation.nearby import Nearby, check_decides, thresholds_near
from kragx.evaluation.pools import check_depth
from kragx.evaluation.presenting import bounds_note, heading, mean_text, size, with_bounds
from kragx.evaluation.runs import SeveralRuns, partly_remarks, runs_note
from kragx.evaluation.wording import failure_remarks, further_remarks, match_label, short_remarks
from kragx.ground.errors import RetrieverError, UsageError, nearest, needing, shorten
from kragx.ground.json_values import to_jsonable
from kragx.ground.printing import Part, Result, Table, message, warning
from kragx.matchers.gold_siblings import GoldSiblings, siblings_remarks
from kragx.matchers.siblings import SIBLINGS
from kragx.metrics import (
    LEFT_OUT,
    Floats,
    ForbiddenMarks,
    MatchTable,
    MetricLike,
    MetricScores,
    MetricSpec,
    MetricWarning,
    NoGold,
    Profile,
    compute,
    counted,
    intervals_of,
    name_among,
    parse_all,
    valueless,
)
from kragx.metrics.intervals import CONFIDENCE, Interval, ends_text, with_reasons
from kragx.metrics.match_table import by_id
from kragx.metrics.runs import mean_of, over_runs
from kragx.metrics.search_table import Basis, SearchTable
from kragx.metrics.threshold import matches
from kragx.metrics.weights import effective_n

if TYPE_CHECKING:
    import pandas


# Compared by identity, as it holds arrays.
@dataclass(frozen=True, eq=False)
class Evaluation(Result):
    """The numbers of one run under one matcher, with everything needed to read them.

    Attributes:
        name: the run's name.
        scores: one `MetricScores` for each metric, in the order asked for.
        query_ids: the queries, in the order of every per-query array.
        counts: what was scored and what was not (listed in docs/metrics.md).
        settings: profile and deviations, match with tokenizer and version, metrics, data, versions.
        match_name: names the matcher where several stand side by side.
        table: the match table; `at_threshold` decides it anew without scoring again.
        profile: what the numbers mean, with the rule for queries without gold that was asked for.
        evidence: what metrics look at beside the matches; None if none was asked for that does.
        dataset: the gold set; None where it was read as a stream, or was a plain mapping.
        failures: by query id, why the retriever failed; each is scored as an empty list.
        seconds: (q) how long each answer took, NaN where nobody says; None if that was not kept.
        longest: how many documents the longest list has; None if it is one of the table.
        siblings: what the matcher makes of the gold of other questions; None if it was not asked.
        forbidden: what of the lists must not come; None where nothing is forbidden.
        runs: of a retriever that was asked several times each run's evaluation; empty of one. The
            numbers are of all of them (`kragx.metrics.runs`), lists and matches the first run's.
        searches: what each search brought; None where nobody looks at searches. `table` is of one
            of their lists for each query (``settings["searches"]["basis"]``).

    Examples:
        >>> from kragx import evaluate
        >>> result = evaluate([["the answer"]], [["another text", "the answer"]], metrics=["mrr@5"])
        >>> result["mrr@5"], result.counts["n_queries"]
        (0.5, 1)
        >>> result.at_threshold(0.9)["mrr@5"]
        0.5
    """

    name: str
    scores: tuple[MetricScores, ...]
    query_ids: tuple[str, ...]
    counts: Mapping[str, Any]
    settings: Mapping[str, Any]
    match_name: str
    table: MatchTable
    profile: Profile
    evidence: GatheredEvidence | None = None
    dataset: GoldDataset | None = None
    failures: Mapping[str, str] = field(default_factory=dict)
    seconds: Floats | None = None
    longest: int | None = None
    siblings: GoldSiblings | None = None
    forbidden: ForbiddenMarks | None = None
    searches: SearchTable | None = None
    runs: tuple[Evaluation, ...] = ()

    @property
    def basis(self) -> Basis | None:
        """The list of a query's searches that metrics are about which name none, if it has any."""
        basis: Basis | None = self.settings.get("searches", {}).get("basis")
        return basis

    @property
    def weights(self) -> Floats | None:
        """(q) how many asks each query stands for; None where all are alike."""
        return self.table.weights

    @property
    def unanswered(self) -> bool:
        """Whether the retriever failed, and answered no query at all: then nothing has a value."""
        if self.runs:
            return all(run.unanswered for run in self.runs)
        return bool(self.failures) and not self.table.answered.any()

    def answered(self) -> Self:
        """Itself.

        Raises:
            DataError: no question has gold, and nothing has a value without.
            RetrieverError: the retriever failed on every question; the first error is quoted.
        """
        if not self.unanswered:
            n, is_pooled = self.counts["n_queries"], "pool" in self.settings
            if self.counts["n_no_gold"] == n and need_gold(
                self.specs, self.profile.no_gold, is_pooled
            ):
                raise nothing_to_find(n, self.settings["dataset"]["name"])
            return self
        raise RetrieverError(
            "{retriever} failed on every question, {n} of them; the first: {first}",
            retriever=self.name,
            n=self.counts["n_failed"],
            first=first_failure(self.failures),
        )

    @property
    def several_runs(self) -> SeveralRuns | None:
        """How its runs differ; None of a retriever that was asked once."""
        if not self.runs:
            return None
        return SeveralRuns(len(self.runs), {str(score.spec): score.runs for score in self.scores})

    @cached_property
    def mean(self) -> dict[str, float | None]:
        """The macro average of each metric by canonical name; None where no query has a value.

        In the order asked for; of a percentile or throughput the value is the run's own.
        """
        return {str(scores.spec): scores.mean for scores in self.scores}

    @cached_property
    def intervals(self) -> dict[str, Interval | None]:
        """The 95 % interval of each mean over the queries, by canonical name.

        None where there is none: of a run's own number, of fewer than three queries, and where all
        have the same value, unless that is the least or the greatest that there is.
        """
        return intervals_of(self.scores)

    @cached_property
    def maximum(self) -> dict[str, float]:
        """The greatest value that a metric could have reached, where the data decide it."""
        return self._fields_of("maximum")

    @cached_property
    def micro(self) -> dict[str, float | None]:
        """The micro average of each metric that has one (precision, recall, f1).

        As the mean, None where no query was scored.
        """
        return {str(score.spec): score.micro for score in self.scores if score.pooled is not None}

    @cached_property
    def bounds(self) -> dict[str, tuple[float, float]]:
        """[low, high] of each mean that missing judgements leave open; empty if none is missing."""
        return self._fields_of("bounds")

    @cached_property
    def micro_bounds(self) -> dict[str, tuple[float, float]]:
        """The same for the micro averages."""
        return self._fields_of("micro_bounds")

    @cached_property
    def vote_bounds(self) -> dict[str, tuple[float, float]]:
        """[low, high] of each mean by several judges' votes; empty of one judge."""
        return self._fields_of("vote_bounds")

    def _fields_of(self, name: str) -> dict[str, Any]:
        """What is known of each metric's scores under a name of `MetricScores`."""
        values = ((str(scores.spec), getattr(scores, name)) for scores in self.scores)
        return {metric: value for metric, value in values if value is not None}

    def __getitem__(self, metric: MetricLike) -> float | None:
        """The macro average of a metric, however it is written: ``result["nDCG@10"]``."""
        is_named = isinstance(metric, str) and metric in self.mean
        name = str(metric) if is_named else name_among(metric, self.mean, self.profile)
        if name not in self.mean:
            raise UsageError(
                "metric {metric!r} was not computed; {hint}",
                metric=metric,
                hint=nearest(name, self.mean),
            )
        return self.mean[name]

    def __iter__(self) -> Iterator[str]:
        """The names of the metrics."""
        return iter(self.mean)

    @cached_property
    def queries(self) -> dict[str, dict[str, float | None]]:
        """The value of each metric for each query; None where it has none."""
        names = [*map(str, self.specs)]
        rows = zip(*(scores.values.tolist() for scores in self.scores))
        return {
            query_id: {name: None if isnan(v) else v for name, v in zip(names, row)}
            for query_id, row in zip(self.query_ids, rows if names else repeat(()))
        }

    @cached_property
    def leaks(self) -> tuple[Leak, ...]:
        """What came though it must not, as far down as metrics look; empty where nothing is known.

        Question by question, by rank; of several runs what came in any of them.
        """
        if self.runs:
            return joined_leaks((run.leaks for run in self.runs), self.query_ids)
        if self.forbidden is None:
            return ()
        rules = self.settings.get("forbidden", {}).get("rules", {})
        lists = self.table if self.searches is None else self.searches.of("all")
        return tuple(leaks_of(self.forbidden, lists.doc_start, self.specs, self.query_ids, rules))

    @property
    def leak_report(self) -> LeakReport:
        """The same as reports tell it."""
        n_probes = self.counts.get("n_probes", 0)
        return LeakReport(self.name, self.scores, self.ends, self.leaks, n_probes)

    def with_metrics(self, metrics: MetricLike | Iterable[MetricLike]) -> Evaluation:
        """The same matches measured by other metrics; nothing is matched again.

        Raises:
            UsageError: a metric does not exist; or it looks at documents, and the evaluation did
                not keep them.
        """
        specs = parse_all(metrics, self.profile)
        check_depth(specs, self.settings.get("pool", {}).get("depth"))
        for spec in specs:
            is_known = self.forbidden is not None or "searches" in spec.reads
            needs = "documents" in spec.reads or (spec.needs_evidence and not is_known)
            if needs and self.evidence is None:
                raise UsageError(
                    "metric {spec!r} looks at documents, which are kept only where a metric "
                    "that does is asked for; name it when you call evaluate",
                    spec=str(spec),
                )
        return self.measured(specs)

    def measured(self, specs: Sequence[MetricSpec]) -> Evaluation:
        """The same matches with the numbers of these metrics, and what belongs to them."""
        specs, measured = tuple(specs), self
        if self.runs:
            runs = (run if run.specs == specs else run.measured(specs) for run in self.runs)
            measured = replace(self, runs=tuple(runs))
        scores = measured.computed(specs)
        if self.unanswered:
            scores = tuple(map(valueless, scores))
        reading = {} if self.evidence is None else self.evidence.settings()
        return measured.with_scores(scores, reading)

    def computed(self, specs: Sequence[MetricSpec]) -> tuple[MetricScores, ...]:
        """The numbers of the matches, whether or not anything was answered."""
        if not self.runs:
            evidence = self.evidence
            if evidence is not None:
                evidence = evidence.decided(self.table, self.searches)
            elif self.forbidden is not None or self.searches is not None:
                # Of no documents, as none were kept.
                evidence = GatheredEvidence(
                    (), self.table, forbidden=self.forbidden, searches=self.searches
                )
            with by_id(self.query_ids):
                return compute(self.table, specs, self.profile, evidence)
        of_runs = (
            run.scores
            # One that answered nothing is 0 beside others that have values.
            if run.specs == tuple(specs) and not run.unanswered
            else run.computed(specs)
            for run in self.runs
        )
        return tuple(map(over_runs, zip(*of_runs, strict=True)))

    def with_scores(self, scores: Sequence[MetricScores], reading: Mapping[str, Any]) -> Evaluation:
        """The same matches with these numbers.

        Args:
            scores: of each metric.
            reading: what is recorded of how texts were read for them.
        """
        specs = [*map(attrgetter("spec"), scores)]
        return replace(
            self,
            scores=tuple(scores),
            counts=counted(self.counts, scores),
            settings={
                **self.settings,
                "metrics": list(map(str, specs)),
                "deviations": deviations(specs, self.settings["profile"], self.profile),
                **reading,
            },
        )

    @property
    def specs(self) -> tuple[MetricSpec, ...]:
        """The metrics that were computed."""
        return tuple(scores.spec for scores in self.scores)

    def check_threshold(self, threshold: float) -> float:
        """A threshold at which the same scores can be decided.

        Raises:
            UsageError: it is out of range, or there is none to choose.
        """
        return check_decides(threshold, self.settings)

    def at_threshold(self, threshold: float) -> Evaluation:
        """The same scores decided at another threshold; nothing is matched again."""
        threshold = self.check_threshold(threshold)
        table, searches = self.table.at_threshold(threshold), self.searches
        if searches is not None:
            searches = replace(searches, table=searches.table.at_threshold(threshold))
        settings = {**self.settings, "match": {**self.settings["match"], "threshold": threshold}}
        evidence = None
        if self.evidence is not None:
            evidence = self.evidence.decided(table, searches)
            if evidence.follows:
                settings["facts_match"] = {**settings["facts_match"], "threshold": threshold}
        runs = tuple(run.at_threshold(threshold) for run in self.runs)
        shares = [run.counts["judged_share"] for run in runs] or [judged_share(table)]
        counts = {**self.counts, "judged_share": mean_of(shares)}
        # Which siblings matched is said below for this threshold, or not at all.
        counts.pop(SIBLINGS, None)
        decided = replace(
            self,
            table=table,
            evidence=evidence,
            counts=counts | (self.siblings.at(threshold) if self.siblings else {}),
            settings=settings,
            searches=searches,
            runs=runs,
        )
        return decided.measured(self.specs)

    @cached_property
    def nearby(self) -> Nearby | None:
        """The means at thresholds near the chosen one; None where there is nothing to vary."""
        match = self.settings["match"]
        if "threshold" not in match or "pool" in self.settings or self.unanswered:
            return None
        threshold = float(match["threshold"])
        thresholds = tuple(thresholds_near(threshold, match.get("top")))
        rows = [means for _, means in self.means_at(thresholds)]
        columns = {name: tuple(means[name] for means in rows) for name in self.mean}
        return Nearby(threshold, thresholds, columns)

    def means_at(
        self, thresholds: Iterable[float]
    ) -> Iterator[tuple[int, dict[str, float | None]]]:
        """At each threshold, ascending, how many pairs match, and the means by metric."""
        runs = self.runs or (self,)
        # The same matches give the same values, unless facts are matched at the threshold as well.
        follows = any(run.evidence is not None and run.evidence.follows for run in runs)
        n_before, means = -1, dict[str, float | None]()
        for threshold in sorted(thresholds):
            # Of documents of all searches.
            tables = (run.table if run.searches is None else run.searches.table for run in runs)
            n = sum(int(matches(table.pair_score, threshold).sum()) for table in tables)
            if n != n_before or follows:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", MetricWarning)  # evaluate says them
                    n_before, means = n, self.at_threshold(threshold).mean
            yield n, means

    @property
    def match_label(self) -> str:
        """How matches were decided, in one line."""
        return match_label(self.settings["match"], self.match_name)

    @property
    def longest_list(self) -> int:
        """How many documents the longest list has; 0 where there is none."""
        return self.table.longest if self.longest is None else self.longest

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a reader must know before trusting the numbers: everything that was left out."""
        siblings = siblings_remarks(self.counts, self.match_name)
        return (*failure_remarks(self.counts), *siblings, *self.further_remarks)

    @property
    def further_remarks(self) -> tuple[str, ...]:
        """The same but for failures and siblings, where a verdict says what these mean."""
        return (
            *further_remarks(self.counts, self.settings, self.profile, self.vote_bounds),
            *partly_remarks(self.counts),
            *short_remarks(self.specs, self.longest_list),
        )

    @cached_property
    def asides(self) -> dict[str, str]:
        """What stands beside means for people, of the metrics that say something there."""
        runs = self.runs or (self,)
        values = zip(*([scores.values for scores in run.scores] for run in runs))
        weights = None if self.weights is None else np.tile(self.weights, len(runs))
        asides = (
            (str(scores.spec), aside(np.concatenate(of_runs), weights, scores.counts))
            for scores, of_runs in zip(self.scores, values, strict=True)
            if (aside := scores.spec.metric.aside) is not None
        )
        return {name: text for name, text in asides if text}

    @cached_property
    def ends(self) -> dict[str, str]:
        """The interval of each mean as people read it, or why there is none."""
        ends = {}
        for scores in self.scores:
            low, high = self.intervals[str(scores.spec)] or (None, None)
            n = scores.n_scored if scores.is_mean or scores.ratio is not None else 0
            exact = scores.spec.metric.interval != "score"
            effective = effective_n(self.weights, ~np.isnan(scores.values))
            ends[str(scores.spec)] = ends_text(low, high, n, effective, exact=exact)
        return ends

    def mean_cell(self, metric: str) -> str:
        """A mean as people read it, with what missing judgements leave open."""
        scores = next(scores for scores in self.scores if str(scores.spec) == metric)
        return mean_text(scores, self.asides.get(metric))

    def micro_cell(self, metric: str) -> str:
        """The same for a micro average; empty for a metric that has none."""
        bounds = self.micro_bounds.get(metric)
        return with_bounds(self.micro[metric], bounds) if metric in self.micro else ""

    def describe(self) -> Iterator[Part]:
        """The means with their intervals, and what was left out."""
        names, ends, several = [*self.mean], self.ends, self.several_runs
        columns = {
            message("metric"): names,
            message("mean"): [*map(self.mean_cell, names)],
            message("{share:.0%} interval", share=CONFIDENCE): [ends[name] for name in names],
        }
        if several is not None:
            columns[message("runs")] = [several.text(name) for name in names]
        if self.micro:
            columns[message("micro")] = [*map(self.micro_cell, names)]
        notes = bounds_note(self.scores), runs_note({self.name: several} if several else {})
        rows, note = [[*row] for row in zip(*columns.values())], with_reasons(ends.values(), *notes)
        yield from heading(self.settings, self.match_name, self.counts)
        yield from leak_parts([self.leak_report])
        yield Table([*columns], rows, note=note)
        yield from map(warning, self.remarks)
        yield size(self.counts)

    def to_dict(self, *, queries: bool = False, intervals: bool = True) -> dict[str, Any]:
        """Plain values for JSON: settings, counts, mean, micro and, if asked for, queries.

        Bounds stand there where judgements are missing, or several judges vote, maxima where there
        are any, and where the retriever was asked several times the number of each run. Intervals
        may be left out where those of a comparison stand beside.
        """
        names = ["settings", "counts", "mean", *["intervals"] * intervals, "micro"]
        names += ["bounds", "micro_bounds", "vote_bounds", "maximum"]
        names += ["queries", "leaks"] * queries
        always = ("settings", "counts", "mean", "intervals", "micro", "queries")
        values = {name: getattr(self, name) for name in names}
        values["runs"] = self.several_runs
        return {
            name: to_jsonable(value) for name, value in values.items() if value or name in always
        }

    def to_pandas(self) -> pandas.DataFrame:
        """A DataFrame with a row for each query and a column for each metric.

        Raises:
            MissingExtraError: pandas is not installed.
        """
        with needing("pandas", "to_pandas"):
            import pandas
        columns = {str(scores.spec): scores.values for scores in self.scores}
        return pandas.DataFrame(columns, index=pandas.Index(self.query_ids, name="query_id"))


def need_gold(specs: Iterable[MetricSpec], no_gold: NoGold, judged: bool) -> bool:
    """Whether no metric has a value without gold; what a judge grades relevant is gold as well."""
    return no_gold in LEFT_OUT and not judged and all(spec.metric.from_matches for spec in specs)


EvaluationsLike = Evaluation | Iterable[Evaluation] | Mapping[str, Evaluation]
"""What `kragx.evaluate` gives, of one retriever or of several; or a list or mapping of such."""


def as_evaluations(evaluations: EvaluationsLike) -> list[Evaluation]:
    """Evaluations as a list; a mapping gives them names of its own.

    Raises:
        UsageError: they are something else.
    """
    names: Iterable[str] = repeat("")
    several: Iterable[object] = [evaluations]
    if isinstance(evaluations, Mapping):
        names, several = map(str, evaluations), evaluations.values()
    elif isinstance(evaluations, Iterable) and not isinstance(evaluations, (Evaluation, str)):
        several = evaluations
    listed = list[Evaluation]()
    for name, evaluation in zip(names, several):
        if not isinstance(evaluation, Evaluation):
            raise UsageError(
                "{value} is no evaluation",
                field="evaluations",
                remedy="pass what kragx.evaluate gave: one, several, or a mapping by name",
                value=shorten(evaluation),
            )
        is_renamed = name not in ("", evaluation.name)
        listed.append(replace(evaluation, name=name) if is_renamed else evaluation)
    return listed
