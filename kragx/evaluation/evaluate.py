"""`evaluate`: from a gold set, a run and a matcher to an `Evaluation`; `pooled`: without gold."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from kragx import matchers
from kragx.data import GoldDataset, Run, read_dataset
from kragx.data.formats.other_tools import read_submission
from kragx.errors import UsageError
from kragx.evaluation.criteria import Criteria
from kragx.evaluation.evaluation import Evaluation, versions
from kragx.evaluation.evidence import judging_counts
from kragx.evaluation.inputs import (
    Ask,
    Source,
    Texts,
    looked_at,
    source_of,
    table_counts,
)
from kragx.evaluation.parts.cluster import engine_of
from kragx.evaluation.parts.matched import Matched, Plan, itself, match_all
from kragx.evaluation.retriever_adapters import is_retriever
from kragx.evaluation.vocabulary import vocabulary_of
from kragx.matchers import matching
from kragx.matchers.gold_siblings import GoldSample, compares_gold
from kragx.metrics import MetricSpec, NoGold, Profile, profile_for
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
    workers: object = None,
    name: str | None = None,
    timeout: float | None = None,
    retries: int = 0,
    concurrency: int = 1,
    stages: bool = False,
) -> Evaluation:
    """One run evaluated; arguments and errors as of `kragx.evaluate`."""
    asking: dict[str, Any] = {
        "timeout": timeout,
        "retries": retries,
        "concurrency": concurrency,
        "stages": stages,
    }
    if not is_retriever(run):
        refuse_asking(asking)
    criteria = Criteria.of(
        match=match,
        metrics=metrics,
        profile=profile,
        no_gold=no_gold,
        facts_match=facts_match,
        relevance_match=relevance_match,
        budget_tokenizer=budget_tokenizer,
    )
    ask = partial(retrieve, name=name, **asking)
    evaluation = evaluate_run(
        dataset, run, criteria, corpus=corpus, workers=workers, name=name, ask=ask
    )
    return evaluation.answered()


def refuse_asking(asking: Mapping[str, object]) -> None:
    """Raise a `UsageError` where it is said how to ask, and nothing is a retriever."""
    usual = {"timeout": None, "retries": 0, "concurrency": 1, "stages": False}
    for option, value in asking.items():
        if value != usual[option]:
            raise UsageError(
                f"{value!r} says how a retriever is asked, and none is given: what was retrieved "
                "is there already",
                field=option,
                remedy="leave it out, or pass the retriever itself",
            )


def retrieve(retriever: object, dataset: GoldDataset, **options: Any) -> Run:
    """As `kragx.evaluation.retrieve.retrieve`, which most evaluations do without."""
    from kragx.evaluation.retrieve import retrieve as asked

    return asked(retriever, dataset, **options)


def evaluate_run(
    dataset: object,
    run: object,
    criteria: Criteria,
    *,
    corpus: object = None,
    workers: object = None,
    heard: matchers.Heard | None = None,
    heard_relevance: matchers.Heard | None = None,
    name: str | None = None,
    ask: Ask | None = None,
) -> Evaluation:
    """`evaluate`, but where every question failed an evaluation in which nothing has a value.

    A retriever is asked by `ask`; None for `retrieve` with its defaults. `heard` is told
    what the matchers were asked for each query, and said (`matching.match`);
    `heard_relevance` the same of the judge of relevance.
    """
    looks = criteria.looks
    siblings_in = criteria.siblings

    def ask_then(retriever: object, gold: GoldDataset) -> Run:
        siblings_in(GoldSample.of(gold))  # said before it is asked
        return (ask or retrieve)(retriever, gold)

    source = source_of(
        dataset,
        run,
        criteria.profile,
        by_id=criteria.matcher == matchers.IdMatcher() and not looks,
        texts=Texts.of(corpus, criteria.matcher, looks=looks),
        of_documents=None if looks else looked_at(criteria.matcher, criteria.profile),
        ask=ask_then,
    )
    if source.gold is None and compares_gold(criteria.matcher):
        source.passed.golds = GoldSample()
    source.name = name or source.name
    criteria = criteria.for_run(source.name)
    engine = engine_of(workers, criteria.matcher)
    if criteria.needs_vocabulary:
        criteria = criteria.knowing(vocabulary_of(source, keep=engine is None))
    notes = matchers.Notes()
    if criteria.matcher.judges:
        criteria, known = _judged(source, criteria, notes, heard)
    else:
        plan = criteria.plan(keep=itself if looks else None)
        known = match_all(source, plan, notes, engine, heard)
    # Now, as an encoder then has read the gold with what was retrieved, in whole batches.
    siblings = criteria.siblings(source.passed.golds or GoldSample.of(source.gold or ()))
    sums = table_counts(known.table)
    criteria.check_lost(notes, sums["n_with_any_gold"])
    counts = source.counts(sums, criteria.profile, notes)
    counts |= judging_counts(criteria.matcher, notes)
    evidence = None
    if (lists := source.passed.kept) is not None:
        concurrency = int(source.run_settings.get("concurrency", 1))
        evidence = criteria.gathered(lists, known.table, concurrency, heard, heard_relevance)
        evidence.know(known.spans)
        if (facts := evidence.matched_facts) is not None and criteria.facts_by is not None:
            counts |= facts.concluded(facts.n, facts.notes, criteria.facts_by)
        if evidence.relevance is not None:
            counts |= evidence.relevance.judging
    return Evaluation(
        name=source.name,
        scores=(),
        query_ids=tuple(source.passed.query_ids),
        counts=counts,
        settings=criteria.settings(
            source.dataset_settings(),
            {"name": source.name, **source.run_settings},
            None if evidence is None else evidence.relevance,
        )
        | {"versions": versions()},
        match_name=criteria.label,
        table=known.table,
        profile=criteria.profile,
        evidence=evidence,
        dataset=source.gold,
        failures=source.passed.failures,
        seconds=np.asarray(source.passed.seconds),
        siblings=criteria.found(siblings, notes),
    ).measured(criteria.specs)


def _judged(
    source: Source, criteria: Criteria, notes: matchers.Notes, heard: matchers.Heard | None
) -> tuple[Criteria, Matched]:
    """The matches that a judge decides, of all questions together: pooled, if there is no gold."""
    source.passed.kept = [] if criteria.looks else None
    items = list(source.items(criteria.profile, leave_out_missing=criteria.leaves_out_missing))
    matcher = criteria.matcher
    if matcher.pool is None and matcher.needs_pool(items):
        matcher = matcher.pooled([items])
    if matcher.pool is None:
        matcher = matcher.against_gold()
        criteria = replace(criteria, matcher=matcher)
    else:
        criteria = criteria.within(matcher, matcher.pool)
        items = [matcher.with_gold(item) for item in items]
    return criteria, Matched(matcher.graded(matching.match(items, matcher, notes, heard), items))


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

    Examples:
        >>> from kragx import GoldDataset, evaluate, pooled
        >>> from kragx.judging import Judge
        >>> from kragx.testing import ScriptedClient
        >>> dataset = GoldDataset.from_documents([[]], queries=["Which city is the capital?"])
        >>> one, other = [["Seoul"]], [["Busan", "Seoul"]]
        >>> client = ScriptedClient(lambda request: 3 if "Seoul" in str(request.messages) else 0)
        >>> judge = Judge(client, store="judgements.sqlite", progress=False)
        >>> match = pooled(dataset, [one, other], match={"method": "llm", "judge": judge})
        >>> evaluate(dataset, other, match=match, metrics=["mrr@5"])["mrr@5"]
        0.5
    """
    meant = profile_for(profile, None)
    matcher = matchers.matcher(match, meant.match_options)
    gold = read_dataset(dataset)
    texts = replace(Texts.of(corpus, matcher), sides=("retrieved",))
    return matcher.pooled([source_of(gold, run, meant, texts=texts).items(meant) for run in runs])


def match_pairs(
    dataset: object,
    run: object = None,
    *,
    match: object = None,
    profile: str | Profile = "kragx",
    corpus: object = None,
    texts: bool = False,
    workers: object = None,
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
        workers: as for `evaluate`.

    Yields:
        For each query ``{"query_id", "retrieved_ids", "gold_ids", "scores", "matched"}``; scores
        and matched are n x m, retrieved documents down, gold items across.

    Examples:
        >>> from kragx import match_pairs
        >>> [pair] = match_pairs([["the red door"]], [["a blue sky", "the red door of the house"]])
        >>> pair["scores"], pair["matched"]
        ([[0.0], [1.0]], [[False], [True]])
    """
    meant = profile_for(profile, None)
    matcher = matchers.matcher(meant.match if match is None else match, meant.match_options)
    if not matcher.uses_gold:
        raise UsageError("match: a judge of relevance uses no gold, so there are no pairs with it")
    source = source_of(dataset, run, meant, texts=Texts.of(corpus, matcher, looks=texts))
    engine = engine_of(workers, matcher)
    if matcher.needs_vocabulary:
        matcher = matcher.knowing(vocabulary_of(source, keep=engine is None))
    plan = Plan(matcher, meant, keep=_Shown(texts))
    table = match_all(source, plan, matchers.Notes(), engine).table
    null = np.array(None)  # what a judge could not say is null, not 0 and not "no match"
    for row, (ids, of_texts) in enumerate(source.passed.kept or ()):
        scores = table.dense(row)
        unknown = np.isnan(scores)
        yield {
            **ids,
            "scores": np.where(unknown, null, scores).tolist(),
            "matched": np.where(unknown, null, matches(scores, table.threshold)).tolist(),
            **of_texts,
        }


class _Shown:
    """Makes of a query its ids, and what a person reads who decides on its pairs."""

    def __init__(self, texts: bool) -> None:
        self._texts = texts
        self._known: dict[str | None, str | None] = {}  # of texts that are equal one is kept

    def __getstate__(self) -> dict[str, Any]:
        return {"_texts": self._texts, "_known": {}}

    def __call__(self, item: matchers.MatchItem) -> tuple[dict[str, Any], dict[str, Any]]:
        golds = item.query.gold
        ids = {
            "query_id": item.query.id,
            "retrieved_ids": [doc.id for doc in item.docs],
            "gold_ids": [gold.id for gold in golds],
        }
        if not self._texts:  # a file may hold more than memory does
            return ids, {}
        return ids, {
            "query": item.query.text,
            "retrieved_texts": [self._kept(doc.text) for doc in item.docs],
            "gold_texts": [
                [self._kept(gold.text), *(self._kept(other.text) for other in gold.alternatives)]
                for gold in golds
            ],
        }

    def _kept(self, text: str | None) -> str | None:
        return self._known.setdefault(text, text)
