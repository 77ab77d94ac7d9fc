"""`evaluate`: from a gold set, a run and a matcher to an `Evaluation`."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, replace
from math import isnan
from pathlib import Path
from typing import Any

import numpy as np

from kragx import matchers
from kragx.data.formats.science_qa import read_submission
from kragx.data.reading import read_dataset
from kragx.data.tokenizers import tokenizer
from kragx.errors import UsageError, nearest
from kragx.evaluation.evaluation import Evaluation, deviations, judged_share, versions
from kragx.evaluation.evidence import GatheredEvidence
from kragx.evaluation.facts import Facts, facts_depth, facts_matcher
from kragx.evaluation.pooling import in_pool, judged, judging_counts
from kragx.evaluation.retriever_calls import is_retriever
from kragx.evaluation.sizes import Sizes
from kragx.evaluation.source import Source, arranged, source_of
from kragx.matchers import MatchItem
from kragx.matchers.matching import match as match_items
from kragx.metrics import MetricSpec, Profile, compute, parse_all, profile_for
from kragx.metrics import profile as profile_named
from kragx.metrics.profiles import NO_GOLD, NoGold
from kragx.metrics.scores import counted
from kragx.metrics.table import MatchTable


def evaluate(
    dataset: object,
    run: object = None,
    *,
    match: object = None,
    metrics: Iterable[str | MetricSpec] | None = None,
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
        metrics: metric strings such as ``ndcg@10`` or ``source_diversity@10``; None for the
            profile's (the usual seven at 10).
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
    named = profile_for(profile, metrics)
    spec = named.match if match is None else match
    matcher = matchers.matcher(spec, named.match_options)
    named = matcher.profile_for(named)
    specs = parse_all(metrics, named)
    facts = facts_matcher(specs, facts_match, matcher, named)
    from_judge = [spec for spec in specs if spec["gain_from"] == "judge"]
    if from_judge and matcher.top is None:
        raise UsageError(
            f"metric {from_judge[0]}: gain_from=judge needs a matcher that gives grades; use "
            "match llm"
        )
    if no_gold is not None and no_gold not in NO_GOLD:
        raise UsageError(f"no_gold: unknown value {no_gold!r}; {nearest(str(no_gold), NO_GOLD)}")
    chosen = replace(named, no_gold=no_gold or named.no_gold)
    notes = matchers.Notes()
    sizes = Sizes() if budget_tokenizer is None else Sizes(tokenizer(budget_tokenizer))
    looks = any(spec.needs_evidence for spec in specs)
    by_id = matcher == matchers.IdMatcher() and not looks
    source, n_extra = source_of(dataset, run, chosen, by_id=by_id)
    if looks:
        source.answers = []
    pool = None
    if not matcher.judges:
        table = source.match(matcher, chosen, notes)
    else:
        left_out = chosen.missing == "left_out"
        items = list(map(arranged(chosen), source.items(leave_out_missing=left_out)))
        matcher, items, chosen = judged(matcher, items, chosen)
        specs = in_pool(matcher, specs, chosen)
        table = match_items(items, matcher, notes)
        if matcher.pool is not None:
            table, pool = matcher.graded(table, items), matcher.pool.settings
    evidence = held = None
    if source.answers is not None:
        in_order = [arranged(chosen)(MatchItem(a.query, a.docs)) for a in source.answers]
        answers = [replace(a, docs=item.docs) for a, item in zip(source.answers, in_order)]
        held = Facts(answers, facts, facts_depth(specs), follows=facts_match is None)
        evidence = GatheredEvidence(
            lists=answers,
            table=table,
            concurrency=int(source.run_settings.get("concurrency", 1)),
            matched_facts=held,
            sizes=sizes,
        )
    scores = compute(table, specs, chosen, evidence)
    counts = _counts(source, n_extra, table, chosen, notes) | judging_counts(matcher, notes)
    if held is not None:
        counts |= held.judging
    return Evaluation(
        name=source.name,
        scores=scores,
        query_ids=tuple(source.query_ids),
        counts=counted(counts, scores),
        settings={
            "profile": asdict(named),
            "deviations": deviations(specs, named, chosen),
            "match": matcher.settings,
            "metrics": list(map(str, specs)),
            "dataset": source.dataset_settings(),
            **({} if facts is None else {"facts_match": facts.settings}),
            "run": {"name": source.name, **source.run_settings},
            **({"pool": pool} if pool else {}),
            **({} if evidence is None else evidence.settings()),
            "versions": versions(),
        },
        match_name=matchers.label(spec),
        table=table,
        profile=replace(chosen, no_gold=named.no_gold),
        no_gold=chosen.no_gold,
        evidence=evidence,
        dataset=source.gold,
    )


def evaluate_submission(
    gold: str | Path,
    submission: str | Path,
    *,
    metrics: Iterable[str | MetricSpec] | None = None,
) -> Evaluation:
    """Score a submission of the Korean science QA competition as the competition does.

    Args:
        gold: the gold file (`kragx.data.formats.science_qa`).
        submission: the submission; its rows are what is scored.
        metrics: metric strings; None for the competition's ``map@3``.

    Returns:
        An evaluation of the profile science-qa with a query for each row; gold queries without a
        row are left out of it and counted as ``n_missing``.
    """
    dataset, run, left_out = read_submission(submission, read_dataset(gold, "science-qa"))
    evaluation = evaluate(dataset, run, metrics=metrics, profile="science-qa")
    return replace(evaluation, counts={**evaluation.counts, "n_missing": len(left_out)})


async def aevaluate(
    dataset: object,
    run: object = None,
    *,
    match: object = None,
    metrics: Iterable[str | MetricSpec] | None = None,
    profile: str | Profile | None = None,
    no_gold: NoGold | None = None,
    facts_match: object = None,
    budget_tokenizer: object = None,
    concurrency: int = 8,
) -> Evaluation:
    """`evaluate` for asynchronous code: a retriever is awaited, the rest runs in a thread.

    `concurrency` bounds how many questions a retriever is asked at once.
    """
    from kragx.evaluation.retrieve import aretrieve

    if is_retriever(run):
        dataset = read_dataset(dataset)
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
    if not matcher.uses_gold:
        raise UsageError("match: a judge of relevance uses no gold, so there are no pairs with it")
    source, _ = source_of(dataset, run, chosen)
    ids: list[tuple[str, list[str | None], list[str | None]]] = []

    def noted() -> Iterator[MatchItem]:
        for item in map(arranged(chosen), source.items()):
            retrieved = [doc.id for doc in item.docs]
            ids.append((item.query.id, retrieved, [gold.id for gold in item.query.gold]))
            yield item

    table = match_items(noted(), matcher, matchers.Notes())
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
        "judged_share": judged_share(table),
        "n_replaced_surrogates": source.mender.surrogates,
        **notes,
    }
    if source.first_failure:
        counts["first_failure"] = source.first_failure
    return counts
