"""What a judge changes in an evaluation: relevance pooled over runs, and what judging took."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from kragx import matchers
from kragx.data.reading import read_dataset
from kragx.errors import UsageError
from kragx.evaluation.source import source_of
from kragx.matchers import BaseMatcher, MatchItem, Notes
from kragx.metrics import MetricSpec, Profile
from kragx.metrics import profile as profile_named
from kragx.metrics.syntax import Cut


def pooled(
    dataset: object,
    runs: Iterable[object],
    *,
    match: object = "llm",
    profile: str | Profile = "kragx",
) -> BaseMatcher:
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
    meant = profile_named(profile)
    matcher = matchers.matcher(match, meant.match_options)
    gold = read_dataset(dataset)
    return matcher.pooled([source_of(gold, run, meant).items(meant) for run in runs])


def judged(
    matcher: BaseMatcher, items: list[MatchItem], meant: Profile
) -> tuple[BaseMatcher, list[MatchItem], Profile]:
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


def beyond(cut: Cut, depth: int | None) -> bool:
    """Whether a cut-off may reach beyond a pool; a budget may hold any number of documents."""
    return depth is not None and not (isinstance(cut, int) and cut <= depth)


def in_pool(
    matcher: BaseMatcher,
    specs: tuple[MetricSpec, ...],
    meant: Profile,
) -> tuple[MetricSpec, ...]:
    """The metrics, those of a pool with the grade from which a document is relevant."""
    if matcher.pool is None:
        return specs
    depth = matcher.pool.depth
    for spec in specs:
        if spec.metric.from_matches is not None and beyond(spec.k, depth):
            raise UsageError(
                f"metric {str(spec)!r} reaches beyond the pool's depth of {depth}; "
                "pool deeper (match.depth), or cut at the depth"
            )
    # A metric string that says no rel gets the pool's.
    return tuple(
        spec.with_options(rel=meant.rel) if "rel" in spec.options and not spec["rel"] else spec
        for spec in specs
    )


def judging_counts(matcher: BaseMatcher, notes: Notes) -> dict[str, Any]:
    """What judging took: ``{"judging": {...}}``, nothing without a judge."""
    return {"judging": matcher.summary(notes.judging)} if matcher.judges else {}
