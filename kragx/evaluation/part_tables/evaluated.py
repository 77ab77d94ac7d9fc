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

from kragx.data import as_corpus, is_source
from kragx.data.forbidden import FORBIDDEN, check_cycle
from kragx.data.formats.jsonl import make_folder, open_text, to_json
from kragx.data.weights import WEIGHT, unequal
from kragx.evaluation.criteria import Criteria
from kragx.evaluation.evaluate_run import informed, unmeasured
from kragx.evaluation.evaluation import Evaluation
from kragx.evaluation.evidence import facts_counts, reading_settings
from kragx.evaluation.forbidden import Forbidding
from kragx.evaluation.inputs import OF_FORBIDDEN, PROBES, Source, Texts, source_of
from kragx.evaluation.match_source import MatchPlan, itself
from kragx.evaluation.part_tables.scored import (
    FACTS,
    ScoredPart,
    groups_of,
    joined_scores,
    scored,
    settings_hash,
)
from kragx.evaluation.parts.source_parts import parts_of, passing
from kragx.evaluation.parts.workers import engine_of
from kragx.evaluation.searching import unmatched
from kragx.ground.errors import UsageError, needing
from kragx.ground.plugins import check_arguments
from kragx.ground.printing import message
from kragx.matchers import Diagnostics, matching
from kragx.matchers.gold_siblings import GoldSample
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
            "{folder} holds what kragx run has written",
            field="out",
            remedy="name another folder",
            folder=folder,
        )
    check_arguments(Criteria.of, measures, "evaluate_in_parts")
    criteria = Criteria.of(**measures)
    deciders = [criteria.matcher] if criteria.facts_by is None else criteria.members
    _check(criteria)
    texts = Texts.of(corpus, criteria.matcher, looks=criteria.looks)
    results = source_of(source, None, criteria.profile, texts=texts)
    criteria = informed(replace(criteria, matcher=criteria.matcher.against_gold()), results)
    is_told = criteria.forbids(results)
    forbidding = criteria.forbidding(results.rules, as_corpus(corpus)) if is_told else None
    keep = itself if criteria.looks else groups_of
    plan = MatchPlan(
        criteria.matcher, criteria.profile, texts, keep, forbidding, criteria.searching
    )
    # Parts hash and sample their own gold, which is added here: nobody has all of it at once.
    results.stats.hashes, results.stats.golds = [], GoldSample()
    # Absolute, as a worker on another machine stands in another folder.
    tables = Path(folder).absolute() / TABLES
    make_folder(tables)
    settings = settings_hash(criteria, plan)
    score = partial(scored, criteria=criteria, plan=plan, folder=tables, settings=settings)
    engine, parts = engine_of(workers, *deciders), parts_of(results.rows)
    work = (score(part) for part in parts) if engine is None else engine.map(score, parts)
    total, are_kept = (
        ScoredPart(key="", stats=results.stats, diagnostics=Diagnostics()),
        dict[str, bool](),
    )
    is_shown = False if any(decider.judges for decider in deciders) else None  # it shows its own
    for part in passing(results, total.diagnostics, work, message("scored parts"), is_shown):
        total.add(part)
        are_kept[f"{part.key}.parquet"] = part.is_kept
    evaluation = _evaluation(total, results, criteria, forbidding).answered()
    _write_summary(evaluation, [*are_kept], Path(folder))
    paths = tuple(tables / name for name in are_kept)
    return ScoredInParts(evaluation, paths, sum(are_kept.values()))


def _check(criteria: Criteria) -> None:
    """Refuse what only all questions together can tell."""
    if not criteria.matcher.uses_gold or criteria.matcher.pool is not None:
        raise _refused("what a judge of relevance finds in all retrievers is one pool")
    if any(member.votes for member in criteria.members):
        raise _refused("how far the judges of a panel differ is said of all questions at once")
    for spec in criteria.specs:
        if spec.metric.from_relevance is not None:
            raise _refused(f"metric {str(spec)!r} is judged in a pool of all questions")
        if not (spec.apart or spec.metric.from_searches is not None):
            raise _refused(f"metric {str(spec)!r} is not made of values of single questions")


def _refused(problem: str) -> UsageError:
    return UsageError("--out: {why}", remedy="leave it out, or score without --out", why=problem)


def _evaluation(
    total: ScoredPart, source: Source, criteria: Criteria, forbidding: Forbidding | None
) -> Evaluation:
    """The numbers of all parts, as `evaluate` gives them."""
    if forbidding is not None and not _tells_forbidden(total, criteria):
        forbidding = None  # nothing is forbidden after all
    sums, diagnostics, matcher = total.sums, total.diagnostics, criteria.matcher
    matching.conclude(matcher, diagnostics)
    facts = {}
    if criteria.facts_by is not None:
        facts = facts_counts(total.counts(FACTS), total.facts, criteria.facts_by)
    if total.is_open:
        raise _refused(
            "judgements are missing, and what they leave open is estimated from all questions "
            "together; the next run asks for these alone"
        )
    if matcher.judges and not sums["n_with_any_gold"]:
        raise _refused("no question has gold, and what a judge finds relevant is one pool")
    for reader in total.readers:
        reader.warn()
    weights = unequal(total.column(WEIGHT), source.dataset_name)
    scores = [joined_scores(spec, total, weights) for spec in criteria.specs]
    warn_above_1(scores)
    n, n_answered = sums["n_queries"], source.stats.statuses["answered"]
    # No documents and pairs are known; of those that were answered only their number is asked.
    nothing = unmatched(np.zeros(n, np.int64), np.arange(n) < n_answered)
    table = replace(nothing, threshold=matcher.threshold, weights=weights)
    evaluation = unmeasured(source, criteria, table, diagnostics, sums, forbidding)
    counts = {**evaluation.counts, **facts}
    if forbidding is not None:
        counts[FORBIDDEN] = {**counts[FORBIDDEN], "n_unmatchable": total.beyond.n_lost}
        total.beyond.warn()
    readers = {reader.options: reader for reader in total.readers}
    return replace(evaluation, counts=counts, longest=total.longest).with_scores(
        scores, reading_settings(readers, criteria.token_settings)
    )


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
        raise _refused(
            "no retrieved id is forbidden anywhere, or gold, so that nobody knows whether the ids "
            "of what is forbidden are those of these documents (a corpus would tell)"
        )
    for spec in criteria.specs:
        if spec.metric.reads_forbidden:
            check_kinds(spec, beyond.kinds)
    return True


def _write_summary(evaluation: Evaluation, tables: Sequence[str], folder: Path) -> None:
    """Write what a report holds of an evaluation, and which tables have its values."""
    summary = {
        "retriever": evaluation.name,
        "match": evaluation.match_name,
        **evaluation.to_dict(),
        # Pairs are not kept, so there is nothing to decide at another threshold.
        "nearby": None,
        "failures": dict(evaluation.failures),
        "tables": [f"{TABLES}/{name}" for name in tables],
    }
    with open_text(folder / SUMMARY) as file:
        file.write(to_json(summary, indent=1))
