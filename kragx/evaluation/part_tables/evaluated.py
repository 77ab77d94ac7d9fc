"""Results of any size scored part by part: values are files, and none is computed twice.

Memory holds the values, ids and hashes of questions; no texts, and no pairs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from kragx.data import as_corpus, is_source
from kragx.data.forbidden import FORBIDDEN, check_cycle
from kragx.data.formats.jsonl import make_folder, open_text, to_json
from kragx.data.weights import WEIGHT, unequal
from kragx.evaluation.criteria import Criteria
from kragx.evaluation.evaluate_run import informed, unmeasured
from kragx.evaluation.evaluation import Evaluation
from kragx.evaluation.evidence import Facts, judging_counts, reading_settings
from kragx.evaluation.forbidden import Forbidding
from kragx.evaluation.inputs import OF_FORBIDDEN, PROBES, Source, Texts, source_of
from kragx.evaluation.part_tables.scored import (
    FACTS,
    ScoredPart,
    joined_scores,
    scored,
    settings_hash,
)
from kragx.evaluation.parts.source_parts import parts_of, passing
from kragx.evaluation.parts.workers import engine_of
from kragx.ground.errors import UsageError, needing
from kragx.ground.plugins import check_arguments
from kragx.ground.printing import phrase
from kragx.matchers import matching
from kragx.matchers.gold_siblings import GoldSample
from kragx.metrics import MatchTable
from kragx.metrics.engine import warn_above_1
from kragx.metrics.leaks import check_kinds

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
        raise UsageError(
            f"{folder} holds what kragx run has written", field="out", remedy="name another folder"
        )
    check_arguments(Criteria.of, measures, "evaluate_in_parts")
    criteria = Criteria.of(**measures)
    _check(criteria)
    texts = Texts.of(corpus, criteria.matcher, looks=criteria.looks)
    results = source_of(source, None, criteria.profile, texts=texts)
    criteria = criteria.for_run(results.name)
    criteria = replace(criteria, matcher=criteria.matcher.against_gold())
    criteria, forbids = informed(criteria, results), criteria.forbids(results)
    forbidding = criteria.forbidding(results.rules, as_corpus(corpus)) if forbids else None
    # Parts hash and sample their own gold, which is added here: nobody has all of it at once.
    results.stats.hashes, results.stats.golds = [], GoldSample()
    # Absolute, as a worker on another machine stands in another folder.
    tables = Path(folder).absolute() / TABLES
    make_folder(tables)
    score = partial(
        scored,
        criteria=criteria,
        texts=texts,
        folder=tables,
        settings=settings_hash(criteria, texts, forbidding),
        forbidding=forbidding,
    )
    engine, parts = engine_of(workers, *criteria.deciders), parts_of(results.rows)
    work = (score(part) for part in parts) if engine is None else engine.map(score, parts)
    total = ScoredPart()
    is_shown = False if criteria.judges else None  # a judge shows its own
    for part in passing(results, work, phrase("scored parts"), is_shown):
        total.add(part)
    evaluation = _evaluation(total, results, criteria, forbidding).answered()
    _write_summary(evaluation, total.paths, Path(folder))
    return ScoredInParts(evaluation, tuple(total.paths), total.n_kept)


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
        is_pooled = spec.metric.from_relevance is not None
        if is_pooled or not (spec.apart or spec.metric.from_searches is not None):
            why = "judged in a pool of all" if is_pooled else "not made of values of single"
            raise UsageError(
                f"--out: metric {str(spec)!r} is {why} questions",
                remedy=f"leave it out, or {remedy}",
            )


def _evaluation(
    total: ScoredPart, source: Source, criteria: Criteria, forbidding: Forbidding | None
) -> Evaluation:
    """The numbers of all parts, as `evaluate` gives them."""
    is_told = _tells_forbidden(total, criteria)
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
    weights = unequal(total.column(WEIGHT), source.dataset_name)
    scores = [joined_scores(spec, total, weights) for spec in criteria.specs]
    warn_above_1(scores)
    counts = source.counts(sums, criteria.profile, notes) | judging_counts(matcher, notes) | facts
    if is_told:
        counts[FORBIDDEN] = {**counts[FORBIDDEN], "n_unmatchable": total.beyond.n_lost}
        total.beyond.warn()
    n, n_answered = sums["n_queries"], source.stats.statuses["answered"]
    nothing = np.zeros(0, np.int32)  # no documents and pairs are known
    table = MatchTable(
        doc_start=np.zeros(n + 1, np.int64),
        gold_start=np.zeros(n + 1, np.int64),
        grade=np.zeros(0),
        # Which they were is in the tables; of this one only their number is asked.
        answered=np.arange(n) < n_answered,
        repeated=np.zeros(0, bool),
        pair_doc=nothing,
        pair_gold=nothing,
        pair_score=np.zeros(0),
        threshold=matcher.threshold,
        weights=weights,
    )
    siblings = criteria.siblings(source.stats.golds or GoldSample(), notes)
    told_by = forbidding if is_told else None
    return replace(
        unmeasured(source, criteria, table, counts, siblings, None, told_by),
        longest=total.longest,
    ).with_scores(scores, reading_settings(total.readers, criteria.token_settings))


def _tells_forbidden(total: ScoredPart, criteria: Criteria) -> bool:
    """Whether anything is forbidden, or a metric asks; what all parts tell of it is checked.

    Raises:
        UsageError: a metric asks for what is not forbidden, or nobody knows what ids mean.
        DataError: documents take each other's place in a circle.
    """
    beyond = total.beyond
    if not (beyond.kinds or criteria.reads_forbidden):
        for name in [name for name in total.sums if name.startswith((PROBES, OF_FORBIDDEN))]:
            del total.sums[name]
        return False
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
    return True


def _write_summary(evaluation: Evaluation, tables: list[Path], folder: Path) -> None:
    """Write what a report holds of an evaluation, and which tables have its values."""
    summary = {
        "retriever": evaluation.name,
        "match": evaluation.match_name,
        **evaluation.to_dict(),
        # Pairs are not kept, so there is nothing to decide at another threshold.
        "nearby": None,
        "failures": dict(evaluation.failures),
        "tables": [f"{TABLES}/{path.name}" for path in tables],
    }
    with open_text(folder / SUMMARY) as file:
        file.write(to_json(summary, indent=1))
