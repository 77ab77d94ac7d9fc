"""`evaluate`: from a gold set, a run and a matcher to an `Evaluation`."""

from __future__ import annotations

import asyncio
import platform
import sys
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache, cached_property
from importlib.metadata import version
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kragx import matchers, measures
from kragx.dataset import GoldDataset
from kragx.errors import UsageError, nearest
from kragx.facts import Facts, facts_depth, facts_matcher
from kragx.formats.science_qa import read_gold as science_qa_gold
from kragx.formats.science_qa import read_submission
from kragx.matchers import MatchItem
from kragx.matchers.matching import match as match_items
from kragx.measures import Evidence, MeasureScores, MeasureSpec, parse, parse_lists
from kragx.measures.budget import Sizes
from kragx.metrics import Budget, MetricSpec, Profile, parse_all, profile_for
from kragx.metrics import parse as parse_metric
from kragx.metrics import profile as profile_named
from kragx.metrics.engine import MetricScores, compute
from kragx.metrics.profiles import NO_GOLD, NoGold
from kragx.pooling import beyond, in_pool, judged, judging_counts
from kragx.sources import Source, arranged, as_dataset, source_of
from kragx.table import MatchTable
from kragx.tokenizers import tokenizer

if TYPE_CHECKING:
    import pandas


class MetricWarning(UserWarning):
    """A number is not what it seems, because the profile reproduces another tool."""


@dataclass(frozen=True)
class Evaluation:
    """The numbers of one run under one matcher, with everything needed to read them.

    Attributes:
        name: the run's name.
        scores: one `MetricScores` for each metric, in the order asked for.
        query_ids: the queries, in the order of every per-query array.
        counts: what was scored and what was not (listed in docs/metrics.md).
        settings: profile and deviations, match with tokenizer and version, metrics, data, versions.
        match_name: names the matcher where several stand side by side.
        table: the match table; `at_threshold` decides it anew without scoring again.
        profile: what the numbers mean.
        no_gold: what became of queries without gold: the profile's rule, or the one asked for.
        measures: one `MeasureScores` for each measure that was asked for (`kragx.measures`).
        evidence: what measures look at; None if none was asked for.
        dataset: the gold set; None where it was read as a stream, or was a plain mapping.
    """

    name: str
    scores: tuple[MetricScores, ...]
    query_ids: tuple[str, ...]
    counts: Mapping[str, Any]
    settings: Mapping[str, Any]
    match_name: str
    table: MatchTable
    profile: Profile
    no_gold: NoGold
    measures: tuple[MeasureScores, ...] = ()
    evidence: Evidence | None = field(default=None, repr=False, compare=False)
    dataset: GoldDataset | None = field(default=None, repr=False, compare=False)

    @cached_property
    def mean(self) -> dict[str, float | None]:
        """The macro average of each metric by canonical name; None where no query has a value.

        Measures follow the metrics; of a percentile or throughput the value is the run's own.
        """
        return {str(scores.spec): scores.mean for scores in self.all_scores}

    @property
    def all_scores(self) -> tuple[MetricScores | MeasureScores, ...]:
        """Metrics, then measures."""
        return (*self.scores, *self.measures)

    @cached_property
    def maximum(self) -> dict[str, float]:
        """The greatest value that a measure could have reached, where the data decide it."""
        found = ((str(each.spec), each.maximum) for each in self.measures)
        return {name: maximum for name, maximum in found if maximum is not None}

    @cached_property
    def micro(self) -> dict[str, float]:
        """The micro average of each metric that has one (precision, recall, f1)."""
        return {str(s.spec): s.micro for s in self.scores if s.micro is not None}

    @cached_property
    def bounds(self) -> dict[str, tuple[float, float]]:
        """[low, high] of each mean that missing judgements leave open; empty if none is missing."""
        return {str(each.spec): each.bounds for each in self.scores if each.bounds is not None}

    @cached_property
    def micro_bounds(self) -> dict[str, tuple[float, float]]:
        """The same for the micro averages."""
        found = ((str(each.spec), each.micro_bounds) for each in self.scores)
        return {name: bounds for name, bounds in found if bounds is not None}

    def __getitem__(self, metric: str) -> float | None:
        """The macro average of a metric, however it is written: ``result["nDCG@10"]``."""
        name = metric if metric in self.mean else str(parse(metric, self.profile))
        if name not in self.mean:
            raise UsageError(f"metric {metric!r} was not computed; {nearest(name, self.mean)}")
        return self.mean[name]

    def micro_of(self, metric: str) -> float | None:
        """The micro average of a metric, however it is written; None for one that has none."""
        return self.micro.get(str(parse(metric, self.profile)))

    @cached_property
    def queries(self) -> dict[str, dict[str, float | None]]:
        """The value of each metric for each query; None where it has none."""
        columns = [
            (str(scores.spec), [None if isnan(v) else v for v in scores.values.tolist()])
            for scores in self.all_scores
        ]
        return {
            query_id: {name: values[row] for name, values in columns}
            for row, query_id in enumerate(self.query_ids)
        }

    def with_metrics(self, metrics: Iterable[str | MetricSpec | MeasureSpec]) -> Evaluation:
        """The same matches measured by other metrics; nothing is matched again.

        Raises:
            UsageError: a metric does not exist; or it is a measure, which looks at documents, and
                the evaluation had none to keep them for.
        """
        listed, measured = _specs(metrics, self.profile)
        specs = listed
        looks = [*measured, *_with_budgets(specs)]
        if looks and self.evidence is None:
            raise UsageError(
                f"metric {str(looks[0])!r} looks at documents, which are kept only where a "
                "measure is asked for; name it when you call evaluate"
            )
        depth = self.settings.get("pool", {}).get("depth")
        for spec in specs:
            if beyond(spec.k, depth):
                raise UsageError(f"metric {str(spec)!r} reaches beyond the pool's depth of {depth}")
        chosen = replace(self.profile, no_gold=self.no_gold)
        scores = _scores(self.table, specs, chosen, self.evidence)
        _warn_above_one(scores)
        taken = measures.compute(self.evidence, measured) if self.evidence else ()
        return replace(
            self,
            scores=scores,
            measures=taken,
            counts={
                **_plain(self.counts),
                **_per_metric(scores, self.counts),
                **_of_measures(taken),
            },
            settings={
                **self.settings,
                "metrics": [str(spec) for spec in (*specs, *measured)],
                "deviations": _deviations(specs, self.profile, chosen),
                **_text_settings(self.evidence),
            },
        )

    def at_threshold(self, threshold: float) -> Evaluation:
        """The same scores decided at another threshold; nothing is matched again."""
        match = self.settings["match"]
        if "threshold" not in match:
            raise UsageError(f"match {match['method']!r} decides yes or no and has no threshold")
        if "pool" in self.settings:
            raise UsageError(
                "threshold: in a pool the grade from which a document is relevant made the gold, "
                "so another one is another evaluation; evaluate again with it"
            )
        if "top" not in match:
            threshold = matchers.check_threshold(threshold)
        elif not 0 < threshold <= match["top"]:
            raise UsageError(f"threshold: {threshold!r} is no grade from 1 to {match['top']}")
        table = self.table.at_threshold(threshold)
        chosen = replace(self.profile, no_gold=self.no_gold)
        settings = {**self.settings, "match": {**match, "threshold": threshold}}
        evidence = self.evidence
        if evidence is not None:
            facts = evidence.facts
            if isinstance(facts, Facts) and facts.follows:
                facts = facts.at_threshold(threshold)
                if "facts_match" in settings:
                    settings["facts_match"] = {**settings["facts_match"], "threshold": threshold}
            evidence = replace(evidence, table=table, facts=facts)
        scores = _scores(table, [each.spec for each in self.scores], chosen, evidence)
        _warn_above_one(scores)
        taken = (
            measures.compute(evidence, [each.spec for each in self.measures]) if evidence else ()
        )
        return replace(
            self,
            table=table,
            scores=scores,
            measures=taken,
            evidence=evidence,
            counts={
                **_plain(self.counts),
                "judged_share": _judged_share(table),
                **_per_metric(scores, self.counts),
                **_of_measures(taken),
            },
            settings=settings,
        )

    def to_dict(self, *, queries: bool = False) -> dict[str, Any]:
        """Plain values for JSON: settings, counts, mean, micro and, if asked for, queries."""
        plain: dict[str, Any] = {
            "settings": {**self.settings, "dataset": dict(self.settings["dataset"])},
            "counts": dict(self.counts),
            "mean": dict(self.mean),
            "micro": dict(self.micro),
        }
        if self.bounds:
            plain["bounds"] = {name: list(pair) for name, pair in self.bounds.items()}
            plain["micro_bounds"] = {name: list(pair) for name, pair in self.micro_bounds.items()}
        if self.maximum:
            plain["maximum"] = dict(self.maximum)
        if queries:
            plain["queries"] = self.queries
        return plain

    def to_pandas(self) -> pandas.DataFrame:
        """A DataFrame with a row for each query and a column for each metric.

        Raises:
            MissingExtraError: pandas is not installed.
        """
        try:
            import pandas
        except ImportError:
            from kragx.errors import MissingExtraError

            raise MissingExtraError("to_pandas", "pandas") from None
        columns = {str(scores.spec): scores.values for scores in self.all_scores}
        return pandas.DataFrame(columns, index=pandas.Index(self.query_ids, name="query_id"))

    def print(self) -> None:
        """Print the means and counts as a table."""
        from kragx.report.text import console, print_evaluations

        print_evaluations([self], console())

    def _repr_html_(self) -> str:
        from kragx.report.html import evaluations_html

        return evaluations_html([self])


def evaluate(
    dataset: object,
    run: object = None,
    *,
    match: object = None,
    metrics: Iterable[str | MetricSpec | MeasureSpec] | None = None,
    profile: str | Profile | None = None,
    no_gold: NoGold | None = None,
    facts_match: object = None,
    budget_tokenizer: object = None,
) -> Evaluation:
    """Match what was retrieved with the gold and compute the metrics.

    Args:
        dataset: a `GoldDataset`; the path of a gold file; lists of gold documents, one list a
            query; or a mapping from query id to such a list or to ``{document id: grade}``.
        run: what was retrieved: a `Run`; the path of a results file; lists of documents in the
            order of `dataset`; a mapping by query id; or a retriever (a LangChain retriever or
            runnable, or a function from a question to documents), which is asked first. None if
            `dataset` is the path of a results file, which holds both.
        match: a method name, a mapping of options, an import path, or a matcher; None for the
            profile's (``overlap`` for kragx).
        metrics: metric strings such as ``ndcg@10``, measures (``source_diversity@10``) among them;
            None for the profile's (the usual seven at 10).
        profile: fixes what is left open: ``kragx``, ``trec``, ``krag`` or ``science-qa``; None for
            kragx, or for trec where metrics have trec_eval's names (``ndcg_cut_10``).
        no_gold: overrides what the profile does with queries that have no gold.
        facts_match: how the facts of context_completeness are matched, as for `match`; None for as
            gold is.
        budget_tokenizer: what a token is in budgets (``ndcg@500tokens``), as for a match; None for
            ``unicode``.

    Raises:
        UsageError: an argument is wrong.
        DataError: the data is.
    """
    metrics = None if metrics is None else [metrics] if isinstance(metrics, str) else list(metrics)
    named = profile_for(
        profile,
        None
        if metrics is None
        else [each for each in metrics if not isinstance(each, MeasureSpec)],
    )
    spec = named.match if match is None else match
    matcher = matchers.matcher(spec, named.match_options)
    filtered = isinstance(matcher, matchers.CombinedMatcher) and matcher.filters
    if filtered or isinstance(matcher, matchers.RougeMatcher):
        named = named.for_scores(filtered=filtered)
    specs, measured = _specs(metrics, named)
    facts = facts_matcher(measured, facts_match, matcher, named)
    from_judge = [spec for spec in specs if spec.gain_from == "judge"]
    if from_judge and not hasattr(matcher, "top"):
        raise UsageError(
            f"metric {from_judge[0]}: gain_from=judge needs a matcher that gives grades; use "
            "match llm"
        )
    if no_gold is not None and no_gold not in NO_GOLD:
        raise UsageError(f"no_gold: unknown value {no_gold!r}; {nearest(str(no_gold), NO_GOLD)}")
    chosen = replace(named, no_gold=no_gold or named.no_gold)
    notes: Counter[str] = Counter()
    sizes = Sizes() if budget_tokenizer is None else Sizes(tokenizer(budget_tokenizer))
    looks = bool(measured or _with_budgets(specs))
    by_id = matcher == matchers.IdMatcher() and not looks
    source, n_extra = source_of(dataset, run, chosen, by_id=by_id)
    if looks:
        source.answers = []
    pool = None
    if matchers.judge_of(matcher) is None:
        table = source.match(matcher, chosen, notes)
    else:
        left_out = chosen.missing == "left_out"
        items = list(map(arranged(chosen), source.items(leave_out_missing=left_out)))
        matcher, items, chosen = judged(matcher, items, chosen)
        specs = in_pool(matcher, specs, chosen)
        table = match_items(items, matcher, notes)
        if isinstance(matcher, matchers.PoolMatcher):
            table, pool = matcher.unknown(table), matcher.pool.settings
    judging = judging_counts(matcher, notes)
    evidence = None
    taken: tuple[MeasureScores, ...] = ()
    if source.answers is not None:
        in_order = [arranged(chosen)(MatchItem(a.query, a.docs)) for a in source.answers]
        answers = [replace(a, docs=item.docs) for a, item in zip(source.answers, in_order)]
        held = Facts(answers, facts, facts_depth(measured), follows=facts_match is None)
        evidence = Evidence(
            answers=answers,
            table=table,
            concurrency=int(source.run_settings.get("concurrency", 1)),
            facts=held,
            sizes=sizes,
        )
        taken = measures.compute(evidence, measured)
        judging |= held.judging
    scores = _scores(table, specs, chosen, evidence)
    _warn_above_one(scores)
    return Evaluation(
        name=source.name,
        scores=scores,
        query_ids=tuple(source.query_ids),
        counts=_counts(source, n_extra, table, scores, chosen, notes)
        | judging
        | _of_measures(taken),
        settings={
            "profile": asdict(named),
            "deviations": _deviations(specs, named, chosen),
            "match": matchers.describe(matcher),
            "metrics": [str(spec) for spec in (*specs, *measured)],
            "dataset": source.dataset_settings(),
            **({} if facts is None else {"facts_match": matchers.describe(facts)}),
            "run": {"name": source.name, **source.run_settings},
            **({"pool": pool} if pool else {}),
            **_text_settings(evidence),
            "versions": versions(),
        },
        match_name=matchers.label(spec),
        table=table,
        profile=replace(chosen, no_gold=named.no_gold),
        no_gold=chosen.no_gold,
        measures=taken,
        evidence=evidence,
        dataset=source.gold,
    )


def _specs(
    metrics: Iterable[str | MetricSpec | MeasureSpec] | None, named: Profile
) -> tuple[tuple[MetricSpec, ...], tuple[MeasureSpec, ...]]:
    """The metrics and the measures of a list; it may hold either kind alone."""
    listed, measured = parse_lists(metrics, named)
    return (() if measured and not listed else parse_all(listed, named)), measured


def _with_budgets(specs: Iterable[MetricSpec]) -> list[MetricSpec]:
    """The metrics whose lists are cut at a budget."""
    return [spec for spec in specs if isinstance(spec.k, Budget)]


def _scores(
    table: MatchTable, specs: Sequence[MetricSpec], chosen: Profile, evidence: Evidence | None
) -> tuple[MetricScores, ...]:
    """Compute the metrics; at a budget, those of the lists that are cut there, uncut."""
    budgets = dict.fromkeys(spec.k for spec in specs if isinstance(spec.k, Budget))
    if not budgets:
        return compute(table, specs, chosen)
    assert evidence is not None  # kept because there are budgets
    ranks = [spec for spec in specs if not isinstance(spec.k, Budget)]
    found = dict(zip(ranks, compute(table, ranks, chosen)))
    for budget in budgets:
        part = [spec for spec in specs if spec.k == budget]
        uncut = [replace(spec, k=None) for spec in part]
        computed = compute(evidence.within(budget).table, uncut, chosen)
        found |= {spec: replace(each, spec=spec) for spec, each in zip(part, computed)}
    return tuple(found[spec] for spec in specs)


def _text_settings(evidence: Evidence | None) -> dict[str, Any]:
    """How texts were read for spans, and what a budget's token is; nothing where none was."""
    if evidence is None:
        return {}
    spans, tokens = evidence.spans.settings, evidence.sizes.described()
    return {
        **({"spans": spans} if spans else {}),
        **({"budget_tokenizer": tokens} if tokens else {}),
    }


def evaluate_submission(
    gold: str | Path,
    submission: str | Path,
    *,
    metrics: Iterable[str | MetricSpec] | None = None,
) -> Evaluation:
    """Score a submission of the Korean science QA competition as the competition does.

    Args:
        gold: the gold file (`kragx.formats.science_qa`).
        submission: the submission; its rows are what is scored.
        metrics: metric strings; None for the competition's ``map@3``.

    Returns:
        An evaluation of the profile science-qa with a query for each row; gold queries without a
        row are left out of it and counted as ``n_missing``.
    """
    dataset, run, left_out = read_submission(submission, science_qa_gold(gold))
    evaluation = evaluate(dataset, run, metrics=metrics, profile="science-qa")
    return replace(evaluation, counts={**evaluation.counts, "n_missing": len(left_out)})


async def aevaluate(
    dataset: object,
    run: object = None,
    *,
    match: object = None,
    metrics: Iterable[str | MetricSpec | MeasureSpec] | None = None,
    profile: str | Profile | None = None,
    no_gold: NoGold | None = None,
    facts_match: object = None,
    budget_tokenizer: object = None,
    concurrency: int = 8,
) -> Evaluation:
    """`evaluate` for asynchronous code: a retriever is awaited, the rest runs in a thread.

    `concurrency` bounds how many questions a retriever is asked at once.
    """
    from kragx.retrieval import aretrieve, is_retriever

    if is_retriever(run):
        dataset = as_dataset(dataset)
        run = await aretrieve(run, dataset, concurrency=concurrency)
    return await asyncio.to_thread(
        evaluate,
        dataset,
        run,
        match=match,
        metrics=metrics,
        profile=profile,
        no_gold=no_gold,
        facts_match=facts_match,
        budget_tokenizer=budget_tokenizer,
    )


def match_pairs(
    dataset: object,
    run: object = None,
    *,
    match: object = None,
    profile: str | Profile = "kragx",
) -> Iterator[dict[str, Any]]:
    """Score and decide every pair of retrieved document and gold item.

    Args:
        dataset: as for `evaluate`.
        run: as for `evaluate`.
        match: as for `evaluate`.
        profile: as for `evaluate`; here it says how match methods and lists are read.

    Yields:
        For each query ``{"query_id", "retrieved_ids", "gold_ids", "scores", "matched"}``; scores
        and matched are n x m, retrieved documents down, gold items across.
    """
    chosen = profile_named(profile)
    matcher = matchers.matcher(chosen.match if match is None else match, chosen.match_options)
    if isinstance(matcher, matchers.JudgeMatcher) and matcher.mode == "relevance":
        raise UsageError("match: a judge of relevance uses no gold, so there are no pairs with it")
    source, _ = source_of(dataset, run, chosen)
    ids: list[tuple[str, list[str | None], list[str | None]]] = []

    def noted() -> Iterator[MatchItem]:
        for item in map(arranged(chosen), source.items()):
            retrieved = [doc.id for doc in item.docs]
            ids.append((item.query.id, retrieved, [gold.id for gold in item.query.gold]))
            yield item

    table = match_items(noted(), matcher, Counter())
    for row, (query_id, retrieved, golds) in enumerate(ids):
        scores = table.dense(row)
        yield {
            "query_id": query_id,
            "retrieved_ids": retrieved,
            "gold_ids": golds,
            # What a judge could not say is null, not 0 and not "no match".
            "scores": _null_where_unknown(scores, scores),
            "matched": _null_where_unknown(scores >= table.threshold, scores),
        }


def _null_where_unknown(values: Any, scores: Any) -> list[list[Any]]:
    rows: list[list[Any]] = values.tolist()
    return [
        [None if isnan(score) else value for value, score in zip(row, of_row)]
        for row, of_row in zip(rows, scores.tolist())
    ]


def _counts(
    source: Source,
    n_extra: int,
    table: MatchTable,
    scores: Sequence[MetricScores],
    chosen: Profile,
    notes: Mapping[str, int],
) -> dict[str, Any]:
    has_gold = np.unique(table.gold_query[table.grade > 0])
    n_no_gold = table.n_queries - len(has_gold)
    n_scored = len(has_gold) if chosen.no_gold == "skip" else table.n_queries
    counts: dict[str, Any] = {
        "n_queries": table.n_queries,
        "n_scored": n_scored,
        "n_no_gold": n_no_gold,
        "n_missing": source.statuses["missing"],
        "n_extra": n_extra,
        "n_failed": source.statuses["failed"],
        "n_empty": source.n_empty,
        "n_duplicates": int(table.repeated.sum()),
        "judged_share": _judged_share(table),
        "n_replaced_surrogates": source.mender.surrogates,
        **notes,
    }
    if source.first_failure:
        counts["first_failure"] = source.first_failure
    return {**counts, **_per_metric(scores, counts)}


def _plain(counts: Mapping[str, Any]) -> dict[str, Any]:
    """The counts that do not depend on the metrics."""
    of_metrics = ("metrics", "pooled", "measures")
    return {name: count for name, count in counts.items() if name not in of_metrics}


def _of_measures(taken: Sequence[MeasureScores]) -> dict[str, Any]:
    """How many queries each measure has a value for; nothing without measures."""
    scored = {str(each.spec): each.n_scored for each in taken}
    return {"measures": scored} if scored else {}


def _per_metric(scores: Sequence[MetricScores], counts: Mapping[str, Any]) -> dict[str, Any]:
    """The counts of single metrics: where they differ from the whole, and the pooled ones."""
    found: dict[str, Any] = {}
    usual = {"n_scored": counts["n_scored"], "n_no_gold": counts["n_no_gold"]}
    of_metrics = {
        str(each.spec): {"n_scored": each.n_scored, "n_no_gold": int(each.no_gold.sum())}
        for each in scores
    }
    differing = {name: own for name, own in of_metrics.items() if own != usual}
    if differing:
        found["metrics"] = differing
    pooled = {str(each.spec): asdict(each.pooled) for each in scores if each.pooled}
    if pooled:
        found["pooled"] = pooled
    return found


def _warn_above_one(scores: Sequence[MetricScores]) -> None:
    for each in scores:
        above = int((each.values > 1.0 + 1e-12).sum())
        if above:
            warnings.warn(
                f"{each.spec} is above 1 for {above} queries: it credits every matching document, "
                "also several that match the same gold (profile kragx credits each gold once)",
                MetricWarning,
                stacklevel=3,
            )


def _judged_share(table: MatchTable) -> float | None:
    return float(table.judged.mean()) if len(table.repeated) else None


def _deviations(specs: Sequence[MetricSpec], named: Profile, chosen: Profile) -> dict[str, Any]:
    """What differs from the profile: options named in metric strings, and `no_gold`."""
    deviations: dict[str, Any] = {}
    for spec in specs:
        plain = parse_metric(spec.name if spec.k is None else f"{spec.name}@{spec.k}", named)
        changed = {
            name: value
            for name, value in asdict(spec).items()
            if name != "k" and value != getattr(plain, name)
        }
        if changed:
            deviations[str(spec)] = changed
    if chosen.no_gold != named.no_gold:
        deviations["no_gold"] = chosen.no_gold
    return deviations


@cache
def versions() -> Mapping[str, str]:
    """The versions that numbers may depend on."""
    return {
        "kragx": version("kragx"),
        "python": platform.python_version(),
        "numpy": version("numpy"),
        "platform": sys.platform,
    }
