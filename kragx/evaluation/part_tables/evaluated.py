"""Results of any size scored part by part: values are files, and none is computed twice.

Memory holds the values, ids and hashes of questions; no texts, and no pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from kragx.data import is_source
from kragx.data.formats.jsonl import make_folder, open_text, to_json
from kragx.errors import UsageError, needing
from kragx.evaluation.criteria import Criteria
from kragx.evaluation.evaluation import Evaluation, deviations, versions
from kragx.evaluation.evidence import Facts, judging_counts, reading_settings
from kragx.evaluation.inputs import Passed, Source, Texts, source_of
from kragx.evaluation.part_tables.scored import (
    FACTS,
    ScoredPart,
    Scores,
    most,
    scored,
    settings_hash,
)
from kragx.evaluation.parts.cluster import engine_of
from kragx.evaluation.parts.matched import passing
from kragx.evaluation.parts.part import parts_of
from kragx.evaluation.vocabulary import vocabulary_of
from kragx.matchers import matching
from kragx.matchers.gold_siblings import GoldSample
from kragx.metrics import (
    MatchTable,
    MetricScores,
    MetricSpec,
    counted,
)
from kragx.metrics.engine import means, number_of, warn_above_1
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
        measures: match, metrics, profile, no_gold, facts_match and budget_tokenizer, as for
            `evaluate`; a judge grades against the gold, and the values of a metric depend on
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
    criteria = criteria.for_run(results.name).against_gold()
    if criteria.needs_vocabulary:
        criteria = criteria.knowing(vocabulary_of(results))
    tables = Path(folder).absolute() / TABLES
    make_folder(tables)
    settings = settings_hash(criteria, texts)
    total, scored_parts = Scores(), list[ScoredPart]()
    results.passed.hashes, results.passed.golds = [], GoldSample()
    engine = engine_of(workers, *criteria.deciders)
    score = partial(scored, criteria=criteria, texts=texts, folder=tables, settings=settings)
    cut = parts_of(results.rows)
    stream = (score(part) for part in cut) if engine is None else engine.map(score, cut)
    is_shown = False if criteria.judges else None  # a judge shows its own
    for part in passing(results, stream, phrase("scored parts"), is_shown):
        total.add(part.scores)
        scored_parts.append(replace(part, passed=Passed(), scores=Scores()))
    evaluation = _evaluation(total, scored_parts, results, criteria).answered()
    _write_summary(evaluation, scored_parts, Path(folder))
    n_kept = sum(not part.is_new for part in scored_parts)
    return ScoredInParts(evaluation, tuple(part.path for part in scored_parts), n_kept)


def _check(criteria: Criteria) -> None:
    """Refuse what only all questions together can tell."""
    remedy = "score without --out"
    judges = [matcher for matcher in (criteria.matcher, criteria.facts_by) if matcher is not None]
    if not criteria.matcher.uses_gold or criteria.matcher.pool is not None:
        problem = "--out: what a judge of relevance finds in all retrievers is one pool"
        raise UsageError(problem, remedy=f"give the questions gold, or {remedy}")
    if any(judge.votes for judge in judges):
        problem = "--out: how far the judges of a panel differ is said of all questions at once"
        raise UsageError(problem, remedy=f"name one judge, or {remedy}")
    for spec in criteria.specs:
        if spec.metric.from_relevance is not None:
            problem = f"--out: metric {str(spec)!r} is judged in a pool of all questions"
        elif not spec.apart:
            problem = f"--out: metric {str(spec)!r} is not made of values of single questions"
        else:
            continue
        raise UsageError(problem, remedy=f"leave it out, or {remedy}")


def _evaluation(
    total: Scores, parts: Sequence[ScoredPart], source: Source, criteria: Criteria
) -> Evaluation:
    """The numbers of all parts, as `evaluate` gives them."""
    sums = total.sums
    specs, profile, matcher = criteria.specs, criteria.profile, criteria.matcher
    matching.conclude(matcher, total.notes)
    golds = source.passed.golds or GoldSample()
    facts = {}
    if criteria.facts_by is not None:
        facts = Facts.concluded(total.counts(FACTS), total.facts, criteria.facts_by)
    if n_open := sum(part.is_open for part in parts):
        raise UsageError(
            f"--out: judgements are missing in {n_open} of {len(parts)} parts, and "
            "what they leave open is estimated from all questions together",
            remedy="run again, which asks for these alone, or score without --out",
        )
    if matcher.judges and not sums["n_with_any_gold"]:
        raise UsageError(
            "--out: no question has gold, and what a judge finds relevant is one pool",
            remedy="score without --out",
        )
    criteria.check_lost(total.notes, sums["n_with_any_gold"])
    for reader in total.readers.values():
        reader.warn()
    scores = tuple(_scores(spec, total) for spec in specs)
    warn_above_1(scores)
    counts = source.counts(sums, profile, total.notes)
    counts |= judging_counts(matcher, total.notes) | facts
    settings = criteria.settings(
        source.dataset_settings(), {"name": source.name, **source.run_settings}
    )
    return Evaluation(
        name=source.name,
        scores=scores,
        query_ids=tuple(source.passed.query_ids),
        counts=counted(counts, scores),
        settings=settings
        | {
            "deviations": deviations(specs, settings["profile"], profile),
            "metrics": list(criteria.metrics),
            "versions": versions(),
            **reading_settings(total.readers, criteria.token_settings),
        },
        match_name=criteria.label,
        table=_unmatched(sums["n_queries"], source.passed.statuses["answered"], matcher.threshold),
        profile=profile,
        longest=total.longest,
        siblings=criteria.found(criteria.siblings(golds), total.notes),
        failures=source.passed.failures,
    )


def _scores(spec: MetricSpec, total: Scores) -> MetricScores:
    """The scores of a metric from the values of all parts."""
    metric, values = spec.metric, total.column(str(spec))
    assert values is not None
    counts = total.counts(f"{spec} ")
    if metric.from_evidence is not None:
        maxima = total.column(most(str(spec)))
        return MetricScores(spec, values, number_of(metric, values), maxima=maxima)
    (mean,) = means(values[None])
    no_gold = np.arange(len(values)) < counts.pop("no gold")  # which ones nobody asks
    if metric.pooled is None:
        return MetricScores(spec, values, mean, no_gold)
    pooled = PooledCounts(**counts)
    micro = None if mean is None else metric.pooled(pooled)
    return MetricScores(spec, values, mean, no_gold, pooled, micro)


def _unmatched(n: int, n_answered: int, threshold: float) -> MatchTable:
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
    )


def _write_summary(evaluation: Evaluation, parts: Sequence[ScoredPart], folder: Path) -> None:
    """Write what a report holds of an evaluation, and which tables have its values."""
    summary = {
        "retriever": evaluation.name,
        "match": evaluation.match_name,
        **evaluation.to_dict(),
        "nearby": None,
        "failures": dict(evaluation.failures),
        "tables": [f"{TABLES}/{part.path.name}" for part in parts],
    }
    with open_text(folder / SUMMARY) as file:
        file.write(to_json(summary, indent=1))
