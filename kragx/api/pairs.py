"""`match_pairs`: every pair of retrieved document and gold item, scored and decided."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from sys import intern
from typing import Any

import numpy as np

from kragx import matchers
from kragx.data import Doc, Gold
from kragx.evaluation.evaluate_run import match_source
from kragx.evaluation.inputs import Texts, source_of
from kragx.evaluation.match_source import MatchPlan, vocabulary_of
from kragx.evaluation.parts import engine_of
from kragx.ground.errors import UsageError
from kragx.metrics import Profile, profile_for
from kragx.metrics.threshold import matches


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
        match: as for `evaluate`; None for the profile's, also where both sides have ids alone.
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
    resolved = profile_for(profile, None)
    matcher = matchers.matcher(resolved.match if match is None else match, resolved.match_options)
    if not matcher.uses_gold:
        raise UsageError("match: a judge of relevance uses no gold, so there are no pairs with it")
    source = source_of(dataset, run, resolved, texts=Texts.of(corpus, matcher, looks=texts))
    engine = engine_of(workers, matcher)
    if matcher.needs_vocabulary:
        matcher = matcher.knowing(vocabulary_of(source, keep=engine is None))
    # Whoever decides on pairs sees the questions without an answer as well.
    whole = replace(resolved, missing="empty")
    plan = MatchPlan(matcher, whole, source.texts, keep=partial(_describe_pair, texts=texts))
    table = match_source(source, plan, engine).table
    null = np.array(None)  # what a judge could not say is null, not 0 and not "no match"
    for row, (ids, of_texts) in enumerate(source.stats.kept):
        scores = table.dense(row)
        unknown = np.isnan(scores)
        yield {
            **ids,
            "scores": np.where(unknown, null, scores).tolist(),
            "matched": np.where(unknown, null, matches(scores, table.threshold)).tolist(),
            **of_texts,
        }


def _describe_pair(
    item: matchers.MatchItem, *, texts: bool
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The ids of a query, and what a person reads who decides on its pairs."""
    golds = item.query.gold
    ids = {
        "query_id": item.query.id,
        "retrieved_ids": [doc.id for doc in item.docs],
        "gold_ids": [gold.id for gold in golds],
    }
    if not texts:  # a file may hold more than memory does
        return ids, {}
    return ids, {
        "query": item.query.text,
        "retrieved_texts": _texts(item.docs),
        "gold_texts": [_texts([gold, *gold.alternatives]) for gold in golds],
    }


def _texts(docs: Iterable[Doc | Gold]) -> list[str | None]:
    """Their texts; of those that are equal one is kept."""
    return [None if doc.text is None else intern(str(doc.text)) for doc in docs]
