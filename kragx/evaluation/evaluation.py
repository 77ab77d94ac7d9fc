"""`Evaluation`: the numbers of one run under one matcher."""

from __future__ import annotations

import platform
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from importlib.metadata import version
from itertools import chain, pairwise, repeat
from math import isnan
from numbers import Real
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from kragx.data import GoldDataset
from kragx.evaluation.evidence import GatheredEvidence
from kragx.evaluation.inputs import first_failure, judged_share
from kragx.evaluation.leaks import Leak, leak_parts, leaks_of
from kragx.evaluation.runs import SeveralRuns, counts_of_runs, partly_remarks, runs_note
from kragx.evaluation.wording import (
    asks_label,
    basis_label,
    failure_remarks,
    further_remarks,
    match_label,
    short_remarks,
)
from kragx.ground.errors import RetrieverError, UsageError, nearest, needing
from kragx.ground.json_values import plain
from kragx.ground.printing import (
    Line,
    Part,
    Result,
    Table,
    between,
    joined,
    number,
    phrase,
    possible,
    warning,
)
from kragx.matchers import check_threshold
from kragx.matchers.gold_siblings import GoldSiblings, siblings_remarks
from kragx.matchers.siblings import SIBLINGS
from kragx.metrics import (
    Floats,
    ForbiddenMarks,
    MatchTable,
    MetricLike,
    MetricScores,
    MetricSpec,
    MetricWarning,
    Profile,
    compute,
    counted,
    intervals_of,
    known_metric,
    name_among,
    parse_all,
    valueless,
)
from kragx.metrics.intervals import CONFIDENCE, Interval, ends_text, with_reasons
from kragx.metrics.runs import mean_of, mean_values, over_runs
from kragx.metrics.search_table import Basis, SearchTable
from kragx.metrics.weights import counting

if TYPE_CHECKING:
    import pandas


_NEIGHBOURHOOD = 0.1
"""How far from the chosen threshold a conclusion should hold."""

_STEPS = 4  # thresholds on either side of the chosen one: few, as they take time


@dataclass(frozen=True)
class Nearby:
    """A retriever's means at thresholds around the chosen one.

    Attributes:
        chosen: the threshold of the evaluation.
        thresholds: (t) where, ascending; the chosen one is among them.
        means: for each metric its mean at each of them; None where it has none.
    """

    chosen: float
    thresholds: tuple[float, ...]
    means: Mapping[str, tuple[float | None, ...]]

    @classmethod
    def read(cls, record: Mapping[str, Any]) -> Nearby:
        """From its plain values."""
        thresholds = tuple(record["thresholds"])
        means = {name: tuple(values) for name, values in record["means"].items()}
        if any(len(values) != len(thresholds) for values in means.values()):
            raise ValueError("there is not a mean at each threshold")
        return cls(record["chosen"], thresholds, means)


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
    evidence: GatheredEvidence | None = field(default=None, repr=False, compare=False)
    dataset: GoldDataset | None = field(default=None, repr=False, compare=False)
    failures: Mapping[str, str] = field(default_factory=dict, repr=False)
    seconds: Floats | None = field(default=None, repr=False)
    longest: int | None = field(default=None, repr=False)
    siblings: GoldSiblings | None = field(default=None, repr=False)
    forbidden: ForbiddenMarks | None = field(default=None, repr=False, compare=False)
    searches: SearchTable | None = field(default=None, repr=False, compare=False)
    runs: tuple[Evaluation, ...] = field(default=(), repr=False, compare=False)

    @classmethod
    def of_runs(cls, runs: Sequence[Evaluation]) -> Evaluation:
        """One evaluation of a retriever that was asked the same questions several times.

        Whatever a question got in its runs, it counts once, by its mean over them. It has failed if
        one of its runs has, which is scored as an empty list.

        Args:
            runs: by the same criteria; the first has the retriever's name.
        """
        if len(runs) == 1:
            return runs[0]
        # Lists, matches and settings are the first run's, as reports can show one list a question.
        first = runs[0]
        failures: dict[str, str] = {}
        for query_id, error in chain.from_iterable(run.failures.items() for run in runs):
            failures.setdefault(query_id, error)
        seconds = [run.seconds for run in runs if run.seconds is not None]
        joint = replace(
            first,
            counts=counts_of_runs([run.counts for run in runs], failures),
            settings={**first.settings, "run": {**first.settings["run"], "runs": len(runs)}},
            failures=failures,
            # Times of some runs alone would be those of another retriever than the numbers are of.
            seconds=mean_values(seconds) if len(seconds) == len(runs) else None,
            longest=max(run.longest_list for run in runs),
            runs=tuple(runs),
        )
        return joint.measured(first.specs)

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
            RetrieverError: the retriever failed on every question; the first error is quoted.
        """
        if not self.unanswered:
            return self
        n_failed = self.counts["n_failed"]
        raise RetrieverError(
            (
                "{retriever} failed on its only question; the first: {first}"
                if n_failed == 1
                else "{retriever} failed on every question, {n} of them; the first: {first}"
            ),
            retriever=self.name,
            n=n_failed,
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
    def relevance(self) -> dict[str, list[float | None]]:
        """Of each query judged the judge's grades of the documents that metrics look at, by rank.

        None where a judgement is missing; empty where no metric reads judged relevance.
        """
        if self.evidence is None or self.evidence.relevance is None:
            return {}
        table, rows = self.evidence.relevance.table, self.evidence.relevance.rows.tolist()
        # Each document has one pair in it, with its own text.
        grades = [None if isnan(v) else v for v in table.grade[table.pair_gold].tolist()]
        starts = pairwise(table.doc_start.tolist())
        return {self.query_ids[row]: grades[a:b] for row, (a, b) in zip(rows, starts)}

    @cached_property
    def leaks(self) -> tuple[Leak, ...]:
        """What came though it must not, as far down as metrics look; empty where nothing is known.

        Question by question, by rank; of several runs what came in any of them.
        """
        if self.runs:
            leaks = chain.from_iterable(run.leaks for run in self.runs)
            row_of = {query_id: row for row, query_id in enumerate(self.query_ids)}
            distinct = {(leak.query_id, leak.rank, leak.document): leak for leak in leaks}.values()
            return tuple(sorted(distinct, key=lambda leak: (row_of[leak.query_id], leak.rank)))
        if self.forbidden is None:
            return ()
        rules = self.settings.get("forbidden", {}).get("rules", {})
        lists = self.table if self.searches is None else self.searches.of("all")
        return leaks_of(self.forbidden, lists.doc_start, self.specs, self.query_ids, rules)

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
            evidence = self._evidence_of(self.table, self.searches)
            return compute(self.table, specs, self.profile, evidence)
        of_runs = (
            run.scores
            # One that answered nothing is 0 beside others that have values.
            if run.specs == tuple(specs) and not run.unanswered
            else run.computed(specs)
            for run in self.runs
        )
        return tuple(map(over_runs, zip(*of_runs, strict=True)))

    def _evidence_of(
        self, table: MatchTable, searches: SearchTable | None
    ) -> GatheredEvidence | None:
        """What metrics look at beside these matches; of no documents, where none were kept."""
        if self.evidence is not None:
            return self.evidence.decided(table, searches)
        if self.forbidden is None and searches is None:
            return None
        return GatheredEvidence((), table, forbidden=self.forbidden, searches=searches)

    def with_scores(self, scores: Sequence[MetricScores], reading: Mapping[str, Any]) -> Evaluation:
        """The same matches with these numbers.

        Args:
            scores: of each metric.
            reading: what is recorded of how texts were read for them.
        """
        specs = tuple(score.spec for score in scores)
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
        match = self.settings["match"]
        if "threshold" not in match:
            raise UsageError(
                "{method!r} decides yes or no and has no threshold",
                field="match",
                remedy="its metrics hold as they are (kragx score shows them); to vary a "
                "threshold, match by one that has it, such as 'overlap'",
                method=str(match["method"]),
            )
        if "pool" in self.settings:
            raise UsageError(
                "threshold: in a pool the grade from which a document is relevant made the gold, "
                "so another one is another evaluation; evaluate again with it"
            )
        if "top" not in match:
            return check_threshold(threshold)
        value: object = threshold
        is_number = isinstance(value, Real) and not isinstance(value, bool)  # numpy's too
        if not (is_number and 0 < threshold <= match["top"]):
            raise UsageError(
                "threshold: {threshold!r} is no grade from 1 to {match}",
                threshold=threshold,
                match=match["top"],
            )
        return threshold

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

    def n_matched(self, threshold: float) -> int:
        """How many pairs match at a threshold, of documents of all searches."""
        table = self.table if self.searches is None else self.searches.table
        return int(replace(table, threshold=threshold).matched.sum())

    @cached_property
    def nearby(self) -> Nearby | None:
        """The means at thresholds near the chosen one; None where there is nothing to vary."""
        match = self.settings["match"]
        if "threshold" not in match or "pool" in self.settings or self.unanswered:
            return None
        threshold, top = float(match["threshold"]), match.get("top")
        grid = threshold + np.linspace(-_NEIGHBOURHOOD, _NEIGHBOURHOOD, 2 * _STEPS + 1)
        # Rounded, lest people read 0.44999999999999996; the threshold itself stays to the last bit.
        near = {round(float(step), 6) for step in grid if 0 < step <= 1} | {threshold}
        if top is not None:  # of grades those next
            near = {
                grade for grade in (threshold - 1, threshold, threshold + 1) if 1 <= grade <= top
            }
        thresholds = tuple(sorted(near))
        rows = [means for _, means in means_at(self, thresholds)]
        columns = {name: tuple(means[name] for means in rows) for name in self.mean}
        return Nearby(threshold, thresholds, columns)

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
        values = zip(*([scores.values for scores in run.scores] for run in self.runs or (self,)))
        asides = (
            (str(scores.spec), aside(counting(np.concatenate(of_runs), None)[0], scores.counts))
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
            ends[str(scores.spec)] = ends_text(low, high, n, exact=exact)
        return ends

    def describe(self) -> Iterator[Part]:
        """The means with their intervals, and what was left out."""
        names, ends, several = [*self.mean], self.ends, self.several_runs
        columns = {
            phrase("metric"): names,
            phrase("mean"): [mean_cell(self, name) for name in names],
            phrase("{share:.0%} interval", share=CONFIDENCE): [ends[name] for name in names],
        }
        if several is not None:
            columns[phrase("runs")] = [several.text(name) for name in names]
        if self.micro:
            columns[phrase("micro")] = [micro_cell(self, name) for name in names]
        notes = bounds_note([self]), runs_note({self.name: several} if several else {})
        rows, note = [[*row] for row in zip(*columns.values())], with_reasons(ends.values(), *notes)
        yield from heading(self)
        yield from leak_parts([self])
        yield Table([*columns], rows, note=note)
        yield from map(warning, self.remarks)
        yield size(self)

    def to_dict(self, *, queries: bool = False, intervals: bool = True) -> dict[str, Any]:
        """Plain values for JSON: settings, counts, mean, micro and, if asked for, queries.

        Bounds stand there where judgements are missing, or several judges vote, maxima where there
        are any, and where the retriever was asked several times the number of each run. Intervals
        may be left out where those of a comparison stand beside.
        """
        names = ["settings", "counts", "mean", *["intervals"] * intervals, "micro"]
        names += ["bounds", "micro_bounds", "vote_bounds", "maximum"]
        names += ["queries", "relevance", "leaks"] * queries
        always = ("settings", "counts", "mean", "intervals", "micro", "queries")
        values = {name: getattr(self, name) for name in names}
        values["runs"] = self.several_runs
        return {name: plain(value) for name, value in values.items() if value or name in always}

    def to_pandas(self) -> pandas.DataFrame:
        """A DataFrame with a row for each query and a column for each metric.

        Raises:
            MissingExtraError: pandas is not installed.
        """
        with needing("pandas", "to_pandas"):
            import pandas
        columns = {str(scores.spec): scores.values for scores in self.scores}
        return pandas.DataFrame(columns, index=pandas.Index(self.query_ids, name="query_id"))


def means_at(
    evaluation: Evaluation, thresholds: Iterable[float]
) -> Iterator[tuple[int, dict[str, float | None]]]:
    """At each threshold, ascending, how many pairs match, and the means by metric."""
    runs = evaluation.runs or (evaluation,)
    # The same matches give the same values, unless facts are matched at the threshold as well.
    follows = any(run.evidence is not None and run.evidence.follows for run in runs)
    n_before, means = -1, dict[str, float | None]()
    for threshold in sorted(thresholds):
        n = sum(run.n_matched(threshold) for run in runs)
        if n != n_before or follows:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", MetricWarning)  # evaluate says them
                n_before, means = n, evaluation.at_threshold(threshold).mean
        yield n, means


def heading(evaluation: Evaluation, counts: Mapping[str, Any] | None = None) -> Iterator[Line]:
    """How matches were decided and what the numbers mean; `counts` where not of all."""
    basis = basis_label(evaluation.settings)
    texts = (
        phrase("match: {match}", match=evaluation.match_label),
        phrase("profile: {profile}", profile=profile_label(evaluation)),
        phrase("list: {basis}", basis=basis) if basis else "",
        asks_label(evaluation.counts if counts is None else counts) or "",
    )
    return map(Line, filter(None, texts))


def profile_label(evaluation: Evaluation) -> str:
    """The profile and what deviates from it, in one line."""
    name = str(evaluation.settings["profile"]["name"])
    changed = ", ".join(
        f"{option}={value}" if isinstance(value, str) else option
        for option, value in evaluation.settings["deviations"].items()
    )
    return phrase("{name}, with {changed}", name=name, changed=changed) if changed else name


def mean_cell(evaluation: Evaluation, metric: str) -> str:
    """A mean as people read it, with what missing judgements leave open."""
    maximum, bounds = evaluation.maximum.get(metric), evaluation.bounds.get(metric)
    known_as, aside = known_metric(metric), evaluation.asides.get(metric)
    # Where some leaks are not known, no value between the ends is the likelier one.
    if bounds is not None and known_as is not None and known_as.reads_forbidden:
        return between(*bounds)
    text = _with_bounds(evaluation.mean.get(metric), bounds)
    if not aside and maximum is None:
        return text
    return phrase(
        "{value} ({aside})" if aside else "{value} of {maximum}",
        value=text,
        aside=aside,
        maximum=number(maximum),
    )


def micro_cell(evaluation: Evaluation, metric: str) -> str:
    """The same for a micro average; empty for a metric that has none."""
    micro = evaluation.micro
    bounds = evaluation.micro_bounds.get(metric)
    return _with_bounds(micro[metric], bounds) if metric in micro else ""


def _with_bounds(value: float | None, bounds: tuple[float, float] | None) -> str:
    return joined(" ", [number(value), "" if bounds is None else possible(*bounds)])


def bounds_note(evaluations: Iterable[Evaluation]) -> str:
    """What stands below a table of means: what bounds are, where some evaluation has any."""
    scores = (score for evaluation in evaluations for score in evaluation.scores if score.bounds)
    of_leaks = {score.spec.metric.reads_forbidden for score in scores}
    notes = {
        False: phrase("(a to b): what it can become once missing judgements are known"),
        True: phrase("leaks from a to b: if none, and if all of what is not known leaks"),
    }
    return joined("; ", [note for kind, note in notes.items() if kind in of_leaks])


def queries_table(evaluation: Evaluation) -> Table:
    """The values of each query, metrics across."""
    rows = [[name, *map(number, row.values())] for name, row in evaluation.queries.items()]
    return Table(["query_id", *evaluation.mean], rows)


def size(evaluation: Evaluation) -> Line:
    """How many queries the numbers are of."""
    n_scored, n_queries = (evaluation.counts[name] for name in ("n_scored", "n_queries"))
    if n_queries and evaluation.counts.get("n_probes", 0) == n_queries:
        return Line(phrase("all {n} queries are probes: leaks alone are measured", n=n_queries))
    return Line(phrase("{n} of {of} queries scored", n=n_scored, of=n_queries))


def as_evaluations(
    evaluations: Iterable[Evaluation] | Mapping[str, Evaluation],
) -> list[Evaluation]:
    """Evaluations as a list; a mapping gives them names of its own."""
    if isinstance(evaluations, Mapping):
        return [replace(evaluation, name=str(name)) for name, evaluation in evaluations.items()]
    return list(evaluations)


def metric_names(evaluations: Iterable[Evaluation]) -> list[str]:
    """The metrics of all evaluations, in order, each once."""
    return list(dict.fromkeys(name for evaluation in evaluations for name in evaluation.mean))


def check_depth(specs: Iterable[MetricSpec], depth: int | None) -> None:
    """Raise a `UsageError` where a cut-off may reach beyond a pool; None for no pool.

    A budget may hold any number of documents.
    """
    for spec in specs:
        within = depth is None or (isinstance(spec.k, int) and spec.k <= depth)
        if spec.metric.from_matches is not None and not within:
            raise UsageError(
                "metric {spec!r} reaches beyond the pool's depth of {depth}; "
                "pool deeper (match.depth), or cut at the depth",
                spec=str(spec),
                depth=depth,
            )


def deviations(
    specs: Sequence[MetricSpec], named: Mapping[str, Any], profile: Profile
) -> dict[str, Any]:
    """What differs from the profile as it was named: options in metric strings, and `no_gold`."""
    changes: dict[str, Any] = {}
    for spec in specs:
        for name, value in spec.options.items():
            if spec.metric.options[name].by_profile and value != named[name]:
                changes.setdefault(str(spec), {})[name] = value
    return (
        changes if profile.no_gold == named["no_gold"] else changes | {"no_gold": profile.no_gold}
    )


@cache
def versions() -> Mapping[str, str]:
    """The versions that numbers may depend on."""
    return {
        "kragx": version("kragx"),
        "python": platform.python_version(),
        "numpy": version("numpy"),
        "platform": sys.platform,
    }
