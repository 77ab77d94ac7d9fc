"""`match_pairs`: every pair of retrieved document and gold item, scored and decided."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from kragx import matchers
from kragx.errors import UsageError
from kragx.evaluation.inputs import Texts, source_of
from kragx.evaluation.parts.cluster import engine_of
from kragx.evaluation.parts.matched import Plan, match_all
from kragx.evaluation.vocabulary import vocabulary_of
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
                [
                    self._kept(gold.text),
                    *(self._kept(alternative.text) for alternative in gold.alternatives),
                ]
                for gold in golds
            ],
        }

    def _kept(self, text: str | None) -> str | None:
        return self._known.setdefault(text, text)
