"""Results of any size scored part by part: values are files, and none is computed twice.

Memory holds the values, ids and hashes of questions; no texts, and no pairs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from kragx.data import as_corpus, is_source
from kragx.data.forbidden import FORBIDDEN, check_cycle
from kragx.data.formats.jsonl import make_folder, open_text, to_json
from kragx.data.weights import unequal
from kragx.errors import UsageError, needing
from kragx.evaluation.criteria import Criteria
from kragx.evaluation.evaluate import unmeasured
from kragx.evaluation.evaluation import Evaluation
from kragx.evaluation.evidence import Facts, judging_counts, reading_settings
from kragx.evaluation.forbidden import Beyond, Forbidding
from kragx.evaluation.inputs import OF_FORBIDDEN, PROBES, Source, Texts, source_of
from kragx.evaluation.part_tables.scored import (
    FACTS,
    ScoredPart,
    ends,
    most,
    parts_of_ratio,
    scored,
    settings_hash,
)
from kragx.evaluation.parts.cluster import engine_of
from kragx.evaluation.parts.matched import shown_passing
from kragx.evaluation.parts.part import parts_of
from kragx.evaluation.vocabulary import informed
from kragx.matchers import matching
from kragx.matchers.gold_siblings import GoldSample
from kragx.metrics import Floats, MatchTable, MetricScores, MetricSpec
from kragx.metrics.engine import bounds_of, means, warn_above_1
from kragx.metrics.intervals import Ratio
from kragx.metrics.leaks import check_kinds
from kragx.metrics.match_table import joined_weights
from kragx.metrics.scores import number_of
from kragx.metrics.table_view import PooledCounts
from kragx.plugins import check_arguments
from kragx.printing import phrase

SUMMARY = "evaluation.json"
"""The file of a folder that holds its numbers, and says which tables they are of, in order."""

TABLES = "tables"
"""The folder within, in which tables stand."""


@dataclass(frozen=True)
class ScoredInParts:
    """What scoring into a folder came to.

    Attributes:
        evaluation: the numbers; its match table has the questions, and no pairs.
        tables: the files of values, in the order of the questions.
        n_kept: how many of them stood there before.
    """

    evaluation: Evaluation
    tables: tuple[Path, ...]
    n_kept: int

    @property
    def remark(self) -> str:
        """What was written, and what stood there before."""
        n, folder = len(self.tables), self.tables[0].parent.parent
        note = f", {self.n_kept} of them computed before" if self.n_kept else ""
        return f"{n} table{'s' * (n > 1)} of values per query in {folder}{note}"


def evaluate_in_parts(
    source: object,
    folder: str | Path,
    *,
    corpus: object = None,
    workers: object = None,
    **measures: Any,
) -> ScoredInParts:
    """`kragx.evaluate` of results, part by part, with the values of each part in a file.

    A part whose values stand in the folder already, of the same content and settings, is not
    computed again, nor is anything of it judged. The numbers are those of `evaluate`, to the last
    bit.

    Args:
        source: results, as of `evaluate`: a file of JSON Lines, or Parquet.
        folder: where the tables and the summary are written.
        corpus: as for `evaluate`.
        workers: as for `evaluate`.
        measures: match, metrics, profile, no_gold, forbidden, facts_match and budget_tokenizer, as
            for `evaluate`; a judge grades against the gold, and the values of a metric depend on
            their own question alone.

    Raises:
        UsageError: an argument is wrong, or of a kind that needs all questions at once.
        DataError: as `evaluate`.
        WorkerError: as `evaluate`.
        RetrieverError: as `evaluate`.
        JudgingError: as `evaluate`; the parts that are whole are kept.
        MissingExtraError: pyarrow is not installed.
    """
    with needing("parquet", "writing tables of values"):
        import pyarrow as pyarrow  # noqa: PLC0414  # whether it is there
    if not is_source(source):
        raise UsageError("results are expected: a file, or Parquet files")
    if (Path(folder) / "manifest.json").exists():
        problem = f"{folder} holds what kragx run has written"
        raise UsageError(problem, field="out", remedy="name another folder")
    check_arguments(Criteria.of, measures, "evaluate_in_parts")
    criteria = Criteria.of(**measures)
    _check(criteria)
    texts = Texts.of(corpus, criteria.matcher, looks=criteria.looks)
    results = source_of(source, None, criteria.profile, texts=texts)
    criteria = criteria.for_run(results.name)
    criteria = replace(criteria, matcher=criteria.matcher.against_gold())
    criteria, forbids = informed(criteria, results), criteria.forbids(results)
    forbidding = criteria.forbidding(results.rules, as_corpus(corpus)) if forbids else None
    results.passed.hashes, results.passed.golds = [], GoldSample()
    tables = Path(folder).absolute() / TABLES
    total = _total(results, criteria, texts, tables, workers, forbidding)
    evaluation = _evaluation(total, results, criteria, forbidding).answered()
    _write_summary(evaluation, total.paths, Path(folder))
    return ScoredInParts(evaluation, tuple(total.paths), total.n_kept)


def _total(
    source: Source,
    criteria: Criteria,
    texts: Texts,
    tables: Path,
    workers: object,
    forbidding: Forbidding | None,
) -> ScoredPart:
    """What is known of all questions, which have passed then; each part has a table."""
    make_folder(tables)
    settings = settings_hash(criteria, texts, forbidding)
    score = partial(
        scored,
        criteria=criteria,
        texts=texts,
        folder=tables,
        settings=settings,
        forbidding=forbidding,
    )
    engine, parts = engine_of(workers, *criteria.deciders), parts_of(source.rows)
    results = (score(part) for part in parts) if engine is None else engine.map(score, parts)
    is_shown = False if criteria.judges else None  # a judge shows its own
    total = ScoredPart()
    for result in shown_passing(source, results, phrase("scored parts"), is_shown):
        total.add(result)
    return total


def _check(criteria: Criteria) -> None:
    """Refuse what only all questions together can tell."""
    remedy = "score without --out"
    if not criteria.matcher.uses_gold or criteria.matcher.pool is not None:
        problem = "--out: what a judge of relevance finds in all retrievers is one pool"
        raise UsageError(problem, remedy=f"give the questions gold, or {remedy}")
    if any(matcher.votes for matcher in criteria.deciders):
        problem = "--out: how far the judges of a panel differ is said of all questions at once"
        raise UsageError(problem, remedy=f"name one judge, or {remedy}")
    for spec in criteria.specs:
        if spec.metric.from_relevance is not None:
            problem = f"--out: metric {str(spec)!r} is judged in a pool of all questions"
        elif not (spec.apart or spec.metric.from_searches is not None):
            problem = f"--out: metric {str(spec)!r} is not made of values of single questions"
        else:
            continue
        raise UsageError(problem, remedy=f"leave it out, or {remedy}")


def _evaluation(
    total: ScoredPart, source: Source, criteria: Criteria, forbidding: Forbidding | None
) -> Evaluation:
    """The numbers of all parts, as `evaluate` gives them."""
    beyond = _checked(total, criteria)
    sums, notes, matcher = total.sums, total.notes, criteria.matcher
    matching.conclude(matcher, notes)
    facts = {}
    if criteria.facts_by is not None:
        facts = Facts.concluded(total.counts(FACTS), total.facts, criteria.facts_by)
    if total.n_open:
        raise UsageError(
            f"--out: judgements are missing in {total.n_open} of {len(total.paths)} parts, and "
            "what they leave open is estimated from all questions together",
            remedy="run again, which asks for these alone, or score without --out",
        )
    if matcher.judges and not sums["n_with_any_gold"]:
        raise UsageError(
            "--out: no question has gold, and what a judge finds relevant is one pool",
            remedy="score without --out",
        )
    criteria.check_lost(notes, sums["n_with_any_gold"])
    for reader in total.readers.values():
        reader.warn()
    weights = unequal(joined_weights(total.weights), source.dataset_name)
    scores = [_scores(spec, total, weights) for spec in criteria.specs]
    warn_above_1(scores)
    counts = source.counts(sums, criteria.profile, notes) | judging_counts(matcher, notes) | facts
    if beyond is not None:
        counts[FORBIDDEN] = {**counts[FORBIDDEN], "n_unmatchable": beyond.n_lost}
        beyond.warn()
    n_answered = source.passed.statuses["answered"]
    table = _unmatched(sums["n_queries"], n_answered, matcher.threshold, weights)
    siblings = criteria.siblings(source.passed.golds or GoldSample(), notes)
    told_by = forbidding if beyond else None
    return replace(
        unmeasured(source, criteria, table, counts, siblings, None, told_by),
        longest=total.longest,
    ).with_scores(scores, reading_settings(total.readers, criteria.token_settings))


def _checked(total: ScoredPart, criteria: Criteria) -> Beyond | None:
    """What all parts tell of what is forbidden; None where nothing is, and no metric asks.

    Raises:
        UsageError: a metric asks for what is not forbidden, or nobody knows what ids mean.
        DataError: documents take each other's place in a circle.
    """
    beyond = total.beyond
    if beyond is None or not (beyond.kinds or criteria.reads_forbidden):
        for name in [name for name in total.sums if name.startswith((PROBES, OF_FORBIDDEN))]:
            del total.sums[name]
        return None
    check_cycle(beyond.newer)
    if beyond.are_apart:
        raise UsageError(
            "--out: no retrieved id is forbidden anywhere, or gold, so that nobody knows whether "
            "the ids of what is forbidden are those of these documents",
            remedy="name the corpus that has them, or score without --out",
        )
    for spec in criteria.specs:
        if spec.metric.reads_forbidden:
            check_kinds(spec, beyond.kinds)
    return beyond


def _scores(spec: MetricSpec, total: ScoredPart, weights: Floats | None) -> MetricScores:
    """The scores of a metric from the values of all parts."""
    metric, values = spec.metric, total.column(str(spec))
    assert values is not None
    counts = total.counts(f"{spec} ")
    if metric.from_searches is not None:
        return _search_scores(spec, total, values, counts, weights)
    if metric.from_evidence is not None:
        maxima = total.column(most(str(spec)))
        mean = number_of(metric, values, weights=weights)
        scores = MetricScores(spec, values, mean, maxima=maxima, weights=weights)
        low, high = map(total.column, ends(str(spec)))
        if low is None or high is None:
            return scores
        bounds = bounds_of(low, high, weights)
        mean = number_of(metric, values, bounds, weights=weights)
        return replace(scores, mean=mean, extremes=(low, high), bounds=bounds, counts=counts)
    (mean,) = means(values[None], weights)
    no_gold = np.arange(len(values)) < counts.pop("no gold")  # which ones nobody asks
    n_many = counts.pop("not one to one", 0)
    scores = MetricScores(spec, values, mean, no_gold, not_one_to_one=n_many, weights=weights)
    if metric.pooled is None:
        return scores
    pooled = _pooled(counts, total, weights)
    micro = None if mean is None else metric.pooled(pooled)
    return replace(scores, pooled=pooled, micro=micro)


def _pooled(counts: Mapping[str, float], total: ScoredPart, weights: Floats | None) -> PooledCounts:
    """The counts of all parts, each of which has them by weights."""
    if weights is None and (alike := joined_weights(total.weights)) is not None:
        counts = {name: round(n / alike[0]) for name, n in counts.items()}
    return PooledCounts(**counts)


def _search_scores(
    spec: MetricSpec,
    total: ScoredPart,
    values: Floats,
    counts: Mapping[str, int],
    weights: Floats | None,
) -> MetricScores:
    """The scores of a metric of searches, which may be a sum over a sum."""
    above, below = map(total.column, parts_of_ratio(str(spec)))
    if above is not None and below is not None:
        ratio = Ratio(above, below, weights)
        return MetricScores(spec, values, ratio.value, ratio=ratio, counts=counts, weights=weights)
    mean = number_of(spec.metric, values, weights=weights)
    return MetricScores(spec, values, mean, counts=counts, weights=weights)


def _unmatched(n: int, n_answered: int, threshold: float, weights: Floats | None) -> MatchTable:
    """A match table of questions of which no documents and pairs are known."""
    starts = np.zeros(n + 1, np.int64)
    return MatchTable(
        doc_start=starts,
        gold_start=starts,
        grade=np.zeros(0),
        answered=np.arange(n) < n_answered,
        repeated=np.zeros(0, bool),
        pair_doc=np.zeros(0, np.int32),
        pair_gold=np.zeros(0, np.int32),
        pair_score=np.zeros(0),
        threshold=threshold,
        weights=weights,
    )


def _write_summary(evaluation: Evaluation, tables: Sequence[Path], folder: Path) -> None:
    """Write what a report holds of an evaluation, and which tables have its values."""
    summary = {
        "retriever": evaluation.name,
        "match": evaluation.match_name,
        **evaluation.to_dict(),
        "nearby": None,
        "failures": dict(evaluation.failures),
        "tables": [f"{TABLES}/{path.name}" for path in tables],
    }
    with open_text(folder / SUMMARY) as file:
        file.write(to_json(summary, indent=1))
