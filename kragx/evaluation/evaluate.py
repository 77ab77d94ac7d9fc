"""`evaluate`: from a gold set, a run and a matcher to an `Evaluation`; `pooled`: without gold."""

import asyncio
from collections.abc import Iterable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from kragx import matchers
from kragx.data import read_dataset, tokenizer
from kragx.data.formats.other_tools import read_submission
from kragx.errors import DataError, RetrieverError, UsageError, nearest
from kragx.evaluation.evaluation import Evaluation, check_depth, versions
from kragx.evaluation.evidence import (
    Facts,
    GatheredEvidence,
    Sizes,
    facts_matcher,
    judged_relevance,
    judging_counts,
    relevance_matcher,
)
from kragx.evaluation.inputs import Texts, first_failure, source_of
from kragx.evaluation.retriever_adapters import is_retriever
from kragx.matchers import matching
from kragx.matchers.batches import ALL_LOST
from kragx.metrics import KRAGX, NO_GOLD, MetricSpec, NoGold, Profile, parse_all, profile_for
from kragx.metrics.threshold import matches


def evaluate(
    dataset: object,
    run: object = None,
    *,
    match: object = None,
    metrics: Iterable[str | MetricSpec] | None = None,
    profile: str | Profile | None = None,
    no_gold: NoGold | None = None,
    facts_match: object = None,
    relevance_match: object = None,
    budget_tokenizer: object = None,
    corpus: object = None,
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
        relevance_match: the judge of precision_judged, as for `match`; None
            for `match` where that is a judge, else ``llm``.
        budget_tokenizer: what a token is in budgets (``ndcg@500tokens``), as for a match; None for
            ``unicode``.
        corpus: where the texts of ids are found, for gold and documents that have none of their
            own: a path (`kragx.read_corpus`), texts by id, or documents with id and text. Matching
            by id needs none.

    Raises:
        UsageError: an argument is wrong.
        DataError: the data is; ids without the text that the matcher compares are counted.
        RetrieverError: the retriever failed on every question; the first error is quoted.
    """
    evaluation = evaluate_run(
        dataset,
        run,
        match=match,
        metrics=metrics,
        profile=profile,
        no_gold=no_gold,
        facts_match=facts_match,
        relevance_match=relevance_match,
        budget_tokenizer=budget_tokenizer,
        corpus=corpus,
    )
    if evaluation.unanswered:
        n_failed = evaluation.counts["n_failed"]
        every = "its only question" if n_failed == 1 else f"every question, {n_failed} of them"
        raise RetrieverError(
            f"{evaluation.name} failed on {every}; the first: {first_failure(evaluation.failures)}"
        )
    return evaluation


def evaluate_run(
    dataset: object,
    run: object = None,
    *,
    match: object = None,
    metrics: Iterable[str | MetricSpec] | None = None,
    profile: str | Profile | None = None,
    no_gold: NoGold | None = None,
    facts_match: object = None,
    relevance_match: object = None,
    budget_tokenizer: object = None,
    corpus: object = None,
    heard: matchers.Heard | None = None,
    heard_relevance: matchers.Heard | None = None,
) -> Evaluation:
    """`evaluate`, but where every question failed an evaluation in which nothing has a value.

    `heard` is told what the matchers were asked for each query, and said (`matching.match`);
    `heard_relevance` the same of the judge of relevance.
    """
    metrics = None if metrics is None else [metrics] if isinstance(metrics, str) else list(metrics)
    named = profile_for(profile, metrics)
    match_spec = named.match if match is None else match
    matcher = matchers.matcher(match_spec, named.match_options)
    named = matcher.profile_for(named)
    if no_gold is not None and no_gold not in NO_GOLD:
        raise UsageError(f"no_gold: unknown value {no_gold!r}; {nearest(str(no_gold), NO_GOLD)}")
    meant = replace(named, no_gold=no_gold or named.no_gold)
    specs = parse_all(metrics, named)
    _check_matches(specs, matcher)
    facts_by = facts_matcher(specs, facts_match, matcher, named)
    relevance_by = relevance_matcher(specs, relevance_match, matcher, named)
    sizes = (
        Sizes()
        if budget_tokenizer is None
        else Sizes(tokenizer(budget_tokenizer, field="budget_tokenizer"))
    )

    looks = any(spec.needs_evidence for spec in specs)
    by_id = matcher == matchers.IdMatcher() and not looks
    texts = Texts.of(corpus, matcher, looks=looks)
    source = source_of(dataset, run, meant, by_id=by_id, texts=texts)
    source.lists = [] if looks else None
    matcher = matcher.for_run(source.name)
    notes = matchers.Notes()
    if matcher.judges:
        items = list(source.items(meant, leave_out_missing=meant.missing == "left_out"))
        matcher, items, meant = _judged(matcher, items, meant)
        if matcher.pool is not None:
            check_depth(specs, matcher.pool.depth)
            # A metric string that says no rel gets the pool's.
            specs = tuple(
                spec.with_options(rel=meant.rel) if not spec.options.get("rel", True) else spec
                for spec in specs
            )
        table = matcher.graded(matching.match(items, matcher, notes, heard), items)
    else:
        table = source.match(matcher, meant, notes, heard)
    n_lost = notes.pop(ALL_LOST, 0)
    of_kragx = named.name == KRAGX.name and not matcher.members
    if of_kragx and n_lost and n_lost == len(np.unique(table.gold_query)):
        # Zeros throughout would look like a result. K-RAG's are reproduced.
        raise DataError(f"no question can match: {notes.unmatchable}")

    counts = source.counts(table, meant, notes) | judging_counts(matcher, notes)
    evidence = relevance = None
    if source.lists is not None:
        facts = None
        if facts_by is not None:
            facts_by = facts_by.for_run(source.name)
            follows = facts_match is None
            facts = Facts.matched(
                source.lists, specs, facts_by, sizes, follows=follows, heard=heard
            )
            counts |= facts.counts
        if relevance_by is not None:
            relevance = judged_relevance(source.lists, specs, relevance_by, heard_relevance)
            counts |= relevance.judging
        concurrency = int(source.run_settings.get("concurrency", 1))
        evidence = GatheredEvidence(source.lists, table, concurrency, facts, sizes, relevance)
    matched = Evaluation(
        name=source.name,
        scores=(),
        query_ids=tuple(source.query_ids),
        counts=counts,
        settings={
            "profile": asdict(named),
            "deviations": {},
            "match": matcher.settings,
            "metrics": [],
            "dataset": source.dataset_settings(),
            **({} if facts_by is None else {"facts_match": facts_by.settings}),
            **({} if relevance is None else {"relevance": relevance.settings}),
            "run": {"name": source.name, **source.run_settings},
            **({} if matcher.pool is None else {"pool": matcher.pool.settings}),
            "versions": versions(),
        },
        match_name=matchers.label(match_spec),
        table=table,
        profile=meant,
        evidence=evidence,
        dataset=source.gold,
        failures=source.failures,
    )
    return matched.measured(specs)


def _check_matches(specs: Iterable[MetricSpec], matcher: matchers.BaseMatcher) -> None:
    """Refuse a matcher that cannot match gold, or not as a metric needs it."""
    for spec in specs:
        if spec["gain_from"] == "judge" and matcher.top is None:
            raise UsageError(
                f"metric {spec}: gain_from=judge needs a matcher that gives grades; use match llm"
            )
    if matcher.of_context:
        raise UsageError(
            f"match: {matcher.name!r} says which facts a whole context holds",
            remedy="name it as facts_match, and match gold by another, for example overlap",
        )


def _judged(
    matcher: matchers.BaseMatcher, items: list[matchers.MatchItem], meant: Profile
) -> tuple[matchers.BaseMatcher, list[matchers.MatchItem], Profile]:
    """The matcher, queries and profile of a judged evaluation: pooled, if there is no gold."""
    if meant.name == "krag":
        raise UsageError(
            "match 'llm': K-RAG has no judge, so profile krag cannot reproduce one; use profile "
            "kragx"
        )
    if matcher.pool is None and matcher.needs_pool(items):
        matcher = matcher.pooled([items])
    if matcher.pool is None:
        return matcher.against_gold(), items, meant
    rel = meant.rel or float(matcher.pool.cut)
    return matcher, [matcher.with_gold(item) for item in items], replace(meant, rel=rel)


def evaluate_submission(
    gold: str | Path, submission: str | Path, *, metrics: Iterable[str | MetricSpec] | None = None
) -> Evaluation:
    """Score a submission of the Korean science QA competition as the competition does.

    Args:
        gold: the gold file (`kragx.data.formats.other_tools`).
        submission: the submission; its rows are what is scored.
        metrics: metric strings; None for the competition's ``map@3``.

    Returns:
        An evaluation of the profile science-qa with a query for each row; gold queries without a
        row are left out of it and counted as ``n_missing``.
    """
    dataset, run, left_out = read_submission(submission, read_dataset(gold, "science-qa"))
    evaluation = evaluate(dataset, run, metrics=metrics, profile="science-qa")
    return replace(evaluation, counts={**evaluation.counts, "n_missing": len(left_out)})


def pooled(
    dataset: object,
    runs: Iterable[object],
    *,
    match: object = "llm",
    profile: str | Profile = "kragx",
    corpus: object = None,
) -> matchers.BaseMatcher:
    """Judge what several runs found, without gold; evaluate each run with the matcher returned.

    Args:
        dataset: as for `evaluate`; its gold is not used.
        runs: what each retriever returned, as for `evaluate`.
        match: the `llm` matcher, by name, mapping or itself.
        profile: as for `evaluate`.
        corpus: as for `evaluate`.

    Raises:
        UsageError: the matcher is no judge of its own.
        JudgingError: more judgements are missing than allowed; what was judged is stored.
    """
    meant = profile_for(profile, None)
    matcher = matchers.matcher(match, meant.match_options)
    gold = read_dataset(dataset)
    texts = replace(Texts.of(corpus, matcher), sides=("retrieved",))
    return matcher.pooled([source_of(gold, run, meant, texts=texts).items(meant) for run in runs])


async def aevaluate(
    dataset: object,
    run: object = None,
    *,
    match: object = None,
    metrics: Iterable[str | MetricSpec] | None = None,
    profile: str | Profile | None = None,
    no_gold: NoGold | None = None,
    facts_match: object = None,
    relevance_match: object = None,
    budget_tokenizer: object = None,
    corpus: object = None,
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
        relevance_match=relevance_match,
        budget_tokenizer=budget_tokenizer,
        corpus=corpus,
    )


def match_pairs(
    dataset: object,
    run: object = None,
    *,
    match: object = None,
    profile: str | Profile = "kragx",
    corpus: object = None,
    texts: bool = False,
) -> Iterator[dict[str, Any]]:
    """Score and decide every pair of retrieved document and gold item.

    Args:
        dataset: as for `evaluate`.
        run: as for `evaluate`.
        match: as for `evaluate`.
        profile: as for `evaluate`; here it says how match methods and lists are read.
        corpus: as for `evaluate`.
        texts: whether to yield, for people to judge by, the ``query`` too, ``retrieved_texts`` (n)
            and ``gold_texts`` (m lists: a gold item's text, then those of its alternatives; null
            for one that has none). Each distinct text is then kept in memory.

    Yields:
        For each query ``{"query_id", "retrieved_ids", "gold_ids", "scores", "matched"}``; scores
        and matched are n x m, retrieved documents down, gold items across.
    """
    meant = profile_for(profile, None)
    matcher = matchers.matcher(meant.match if match is None else match, meant.match_options)
    if not matcher.uses_gold:
        raise UsageError("match: a judge of relevance uses no gold, so there are no pairs with it")
    of_ids = Texts.of(corpus, matcher, looks=texts)
    ids: list[dict[str, Any]] = []  # no texts: a file may hold more than memory does
    shown: list[dict[str, Any]] = []
    known: dict[str | None, str | None] = {}  # of texts that are equal one is kept

    def noted() -> Iterator[matchers.MatchItem]:
        for item in source_of(dataset, run, meant, texts=of_ids).items(meant):
            retrieved, gold = [doc.id for doc in item.docs], [gold.id for gold in item.query.gold]
            ids.append({"query_id": item.query.id, "retrieved_ids": retrieved, "gold_ids": gold})
            shown.append(_shown(item, known) if texts else {})
            yield item

    table = matching.match(noted(), matcher, matchers.Notes())
    null = np.array(None)  # what a judge could not say is null, not 0 and not "no match"
    for row, (of_query, of_texts) in enumerate(zip(ids, shown)):
        scores = table.dense(row)
        unknown = np.isnan(scores)
        yield {
            **of_query,
            "scores": np.where(unknown, null, scores).tolist(),
            "matched": np.where(unknown, null, matches(scores, table.threshold)).tolist(),
            **of_texts,
        }


def _shown(
    item: matchers.MatchItem, known: dict[str | None, str | None]
) -> dict[str, str | list[Any] | None]:
    """What a person reads who decides on the pairs of a query."""

    def kept(text: str | None) -> str | None:
        return known.setdefault(text, text)

    return {
        "query": item.query.text,
        "retrieved_texts": [kept(doc.text) for doc in item.docs],
        "gold_texts": [
            [kept(gold.text), *(kept(other.text) for other in gold.alternatives)]
            for gold in item.query.gold
        ],
    }
