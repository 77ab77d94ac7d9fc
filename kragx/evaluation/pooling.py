"""What a judge changes in an evaluation: relevance pooled over runs, and what judging took."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from kragx import matchers
from kragx.errors import UsageError
from kragx.evaluation.source import arranged, as_dataset, source_of
from kragx.matchers import MatchItem
from kragx.metrics import MetricSpec, Profile
from kragx.metrics import profile as profile_named
from kragx.metrics.spec import Cut


def pooled(
    dataset: object,
    runs: Iterable[object],
    *,
    match: object = "llm",
    profile: str | Profile = "kragx",
) -> matchers.Matcher:
    """Judge what several runs found, without gold; evaluate each run with the matcher returned.

    Args:
        dataset: as for `evaluate`; its gold is not used.
        runs: what each retriever returned, as for `evaluate`.
        match: the `llm` matcher, by name, mapping or itself.
        profile: as for `evaluate`.

    Raises:
        UsageError: the matcher is no judge of its own.
        JudgingError: more judgements are missing than allowed; what was judged is stored.
    """
    chosen = profile_named(profile)
    matcher = matchers.matcher(match, chosen.match_options)
    if not isinstance(matcher, matchers.JudgeMatcher):
        raise UsageError(f"match: {match!r} is no LLM judge, and a pool is what one judged")
    gold = as_dataset(dataset)
    return matcher.pooled(
        [map(arranged(chosen), source_of(gold, run, chosen)[0].items()) for run in runs]
    )


def judged(
    matcher: matchers.Matcher, items: list[MatchItem], chosen: Profile
) -> tuple[matchers.Matcher, list[MatchItem], Profile]:
    """The matcher, queries and profile of a judged evaluation: pooled, if there is no gold."""
    if chosen.name == "krag":
        raise UsageError(
            "match 'llm': K-RAG has no judge, so profile krag cannot reproduce one; use profile "
            "kragx"
        )
    if not isinstance(matcher, matchers.JudgeMatcher):
        return matcher, items, chosen
    if matcher.pool is None:
        if not matcher.needs_pool(items):
            return replace(matcher, mode="support"), items, chosen
        matcher = matcher.pooled([items])
    with_pool = matchers.PoolMatcher(matcher)
    rel = chosen.rel or float(with_pool.pool.cut)
    return with_pool, [with_pool.item(item) for item in items], replace(chosen, rel=rel)


def beyond(cut: Cut, depth: int | None) -> bool:
    """Whether a cut-off may reach beyond a pool; a budget may hold any number of documents."""
    return depth is not None and not (isinstance(cut, int) and cut <= depth)


def in_pool(
    matcher: matchers.Matcher,
    specs: tuple[MetricSpec, ...],
    chosen: Profile,
) -> tuple[MetricSpec, ...]:
    """The metrics, those of a pool with the grade from which a document is relevant."""
    if not isinstance(matcher, matchers.PoolMatcher):
        return specs
    depth = matcher.pool.depth
    for spec in specs:
        if beyond(spec.k, depth):
            raise UsageError(
                f"metric {str(spec)!r} reaches beyond the pool's depth of {depth}; "
                "pool deeper (match.depth), or cut at the depth"
            )
    # A metric string that says no rel gets the pool's.
    return tuple(
        spec if spec.rel is not None or spec.name == "ndcg" else replace(spec, rel=chosen.rel)
        for spec in specs
    )


def judging_counts(matcher: matchers.Matcher, notes: Counter[str]) -> dict[str, Any]:
    """What judging took, out of the notes: ``{"judging": {...}}``, nothing without a judge."""
    judged = matchers.judge_of(matcher)
    if judged is None:
        return {}
    found = {
        name.removeprefix("judge."): notes.pop(name)
        for name in sorted(notes)
        if name.startswith("judge.")
    }
    return {"judging": judged.summary(found)}
