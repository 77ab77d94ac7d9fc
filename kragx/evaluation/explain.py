"""Explain a query: why each retrieved document did or did not match each gold item.

Everything is found out for one query at a time, from the documents themselves; judges answer from
their store, so nothing is asked or paid for.
"""

import re
import warnings
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from itertools import groupby, pairwise
from math import isnan, nan
from typing import Any

from kragx import matchers
from kragx.data import Doc, Gold, Query, Retrieved, Search, as_corpus, normalise
from kragx.data.documents import Key, key_of
from kragx.data.runs import status_of
from kragx.data.searches import distinct_docs, lanes_of
from kragx.data.text import composed
from kragx.evaluation.arranging import match_item
from kragx.evaluation.explanation import (
    ExplainedDoc,
    ExplainedGold,
    ExplainedSearch,
    Explanation,
    Pair,
    Score,
    Spans,
    distance_of,
    merged,
    scored_reasons,
)
from kragx.evaluation.inputs import Source, Texts, source_of
from kragx.evaluation.vocabulary import vocabulary_of
from kragx.ground.errors import DataError, UsageError
from kragx.ground.printing import phrase
from kragx.matchers import BaseMatcher, MatchItem, MatchWarning, Notes, matching
from kragx.matchers.items import batch_of, repeated
from kragx.matchers.reasons import best_targets, reasons
from kragx.metrics import Profile, profile_for

_TOKEN = re.compile(r"[^\W_]+")

NEAR = 0.1
"""How far from its threshold a score is a near one, unless told otherwise; of grades one grade."""


def explain(
    dataset: object,
    run: object = None,
    *,
    query_id: str,
    match: object = None,
    panel: Mapping[str, object] | None = None,
    profile: str | Profile | None = None,
    near: float = NEAR,
    corpus: object = None,
) -> Explanation:
    """Explain one query.

    Args:
        dataset: as for `evaluate`.
        run: as for `evaluate`.
        query_id: which query.
        match: as for `evaluate`.
        panel: match specs by name, whose scores are shown besides; None for every built-in matcher
            that asks no model.
        profile: as for `evaluate`.
        near: how far from its threshold a score is a near one.
        corpus: as for `evaluate`; what has a text is shown with it, whatever the matcher.

    Raises:
        UsageError: there is no such query, or an argument is wrong.
        DataError: the data lack what the matcher needs.

    Examples:
        >>> from kragx import explain
        >>> gold, found = [["the red door"]], [["a blue sky", "the red door of the house"]]
        >>> explanation = explain(gold, found, query_id="q1", panel={})
        >>> [(pair.rank, pair.matched) for pair in explanation.pairs]
        [(1, False), (2, True)]
    """
    resolved = profile_for(profile, None)
    defaults = resolved.match_options
    matcher = matchers.matcher(resolved.match if match is None else match, defaults)
    # Of other queries ids may lack texts.
    source = source_of(dataset, run, resolved, texts=Texts(as_corpus(corpus)))
    query, answer = _of_id(source, query_id)
    searches = () if answer is None else answer.searches
    item = match_item(query, answer, None if searches else resolved)
    # Who failed has an empty list, and what was searched before is explained all the same.
    numbered = {} if answer is None or not searches else _distinct(answer)
    numbers = {key: number for number, key in enumerate(numbered, start=1)}
    if searches:
        item = MatchItem(query, (*numbered.values(),))
    pairs, judged = tuple[Pair, ...](), [dict[str, Any]()] * len(item.docs)
    if is_pooled := matcher.needs_pool([item]):
        judged, settings = _judged(item, matcher), {**matcher.settings, "judges": "relevance"}
    else:
        matcher = matcher.against_gold()
        specs = standard_panel(matcher) if panel is None else panel
        members = {name: matchers.matcher(spec, defaults) for name, spec in specs.items()}
        pairs, settings = _pairs(item, *_informed(source, matcher, members), near), matcher.settings
    flags = repeated(batch_of([item]).docs).tolist()
    matched = [(pair.rank, pair.gold) for pair in pairs if pair.matched]
    # The first rank of a gold item has the word: it is written last.
    first = {gold: rank for rank, gold in reversed(matched) if not flags[rank - 1]}
    stands_for = query.weight / query.inclusion
    return Explanation(
        retriever=source.name,
        query_id=query.id,
        query=query.text,
        status=status_of(answer),
        match=settings,
        gold=tuple(
            ExplainedGold(n, gold.id, composed(_text_of(gold)), gold.grade, first.get(n))
            for n, gold in enumerate(() if is_pooled else query.gold, start=1)
        ),
        retrieved=tuple(
            ExplainedDoc(
                rank,
                doc.id,
                composed(doc.text),
                is_repeated,
                matches=tuple(gold for place, gold in matched if place == rank),
                finds=tuple(gold for gold, place in sorted(first.items()) if place == rank),
                **verdict,
            )
            for rank, (doc, is_repeated, verdict) in enumerate(zip(item.docs, flags, judged), 1)
        ),
        pairs=pairs,
        answerable=query.answerable,
        searches=_searches(searches, numbers, matched),
        read=None if answer is None else _read(answer, numbers),
        error=None if answer is None else answer.error,
        asks=None if stands_for == 1 else stands_for,
    )


def _informed(
    source: Source, matcher: BaseMatcher, members: Mapping[str, BaseMatcher]
) -> tuple[BaseMatcher, Mapping[str, BaseMatcher]]:
    """What matches and what is shown besides, as it reads this run and the words of all texts."""
    if any(member.needs_vocabulary for member in (matcher, *members.values())):
        vocabulary = vocabulary_of(source)
        matcher = matcher.knowing(vocabulary)
        members = {name: member.knowing(vocabulary) for name, member in members.items()}
    return matcher, members


def _of_id(source: Source, query_id: str) -> tuple[Query, Retrieved | None]:
    """The query of an id; of none that is the same, the first whose id looks the same.

    An id in NFD looks like the one that a keyboard types; nobody can tell them apart.
    """
    lookalike: tuple[Query, Retrieved | None] | None = None
    ids: list[str] = []
    for query, answer in source.answers():
        if query.id == query_id:
            return query, answer
        ids.append(query.id)
        if lookalike is None and normalise(query.id) == normalise(query_id):
            lookalike = query, answer
    if lookalike is not None:
        return lookalike
    close = sorted(get_close_matches(query_id, ids, n=3, cutoff=0.5), key=ids.index)
    raise UsageError(
        phrase("{name} has no query {id!r}", name=source.dataset_name, id=query_id),
        field="query",
        remedy=phrase("perhaps you meant {names}?", names=" or ".join(map(repr, close)))
        if close
        else phrase("it begins with {id!r}", id=ids[0])
        if ids
        else phrase("it has none"),
    )


def standard_panel(matcher: BaseMatcher) -> dict[str, BaseMatcher]:
    """Every built-in matcher that asks no model, with the tokenizer of `matcher` if it has one."""
    defaults = {} if matcher.tokenizer is None else {"tokenizer": matcher.tokenizer}
    return {
        method: matchers.matcher(method, defaults)
        for method in matchers.METHODS
        if not matchers.method_class(method).asks
    }


def _judged(item: MatchItem, matcher: BaseMatcher) -> list[dict[str, Any]]:
    """The judge's grade of each document's relevance and why, as the store has it."""
    pool = matcher.offline().pooled([[item]]).pool
    judgements = {} if pool is None else pool.judgements.get(item.query.id, {})
    verdicts = (judgements.get(normalise(doc.text or "")) for doc in item.docs)
    return [
        {} if verdict is None else {"grade": verdict.grade, "reason": verdict.text or None}
        for verdict in verdicts
    ]


def _pairs(
    item: MatchItem, matcher: BaseMatcher, panel: Mapping[str, BaseMatcher], near: float
) -> tuple[Pair, ...]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MatchWarning)  # evaluate says them
        grid = reasons(matcher, item)
        panel_scores = {name: _scores(item, member) for name, member in panel.items()}
    within = (near if matcher.top is None else 1.0) + 1e-12
    pairs = []
    for row, targets in enumerate(best_targets(item, grid)):
        for column, target in enumerate(targets):
            reason = grid[row][target]
            doc, gold = item.docs[row].text, item.targets[target].text
            spans = ((), ()) if doc is None or gold is None else shared_spans(doc, gold)
            pairs.append(
                Pair(
                    row + 1,
                    column + 1,
                    reason,
                    {name: scores[row][column] for name, scores in panel_scores.items()},
                    spans[0],
                    # Where an alternative speaks for the gold item, another text stands here.
                    spans[1] if gold == _text_of(item.query.gold[column]) else (),
                    near=any(distance_of(leaf) <= within for leaf in scored_reasons(reason)),
                )
            )
    return tuple(pairs)


def _scores(item: MatchItem, matcher: BaseMatcher) -> list[list[Score]]:
    """The n x m scores of a matcher, or why it has none."""
    scores, problem = [[nan] * len(item.query.gold) for _ in item.docs], None
    try:
        scores = matching.match([item], matcher.offline(), Notes()).dense(0).tolist()
    except DataError as error:
        problem = str(error)
    limit = matcher.threshold
    return [[Score(None if isnan(s) else s, limit, problem) for s in row] for row in scores]


def _text_of(gold: Gold) -> str | None:
    """The text of a gold item, else of its first alternative that has one."""
    texts = (gold.text, *(alternative.text for alternative in gold.alternatives))
    return next((text for text in texts if text is not None), None)


def shared_spans(document: str, gold: str) -> tuple[Spans, Spans]:
    """Where a document and a gold text share runs of words, in each of them, for people to look at.

    Shared are runs of at least two tokens in a row that stand in both texts, in any place; of a
    gold text of one token, that token. This is what `overlap` counts, shown.

    Returns:
        Spans (start, end) of characters in the document in NFC, and in the gold text; ascending,
        and apart from one another.
    """
    in_doc, in_gold = (list(_TOKEN.finditer(composed(text) or "")) for text in (document, gold))
    size = min(2, len(in_gold))
    doc_runs, gold_runs = (
        [
            (tuple(token[0].lower() for token in run), (run[0].start(), run[-1].end()))
            for run in zip(*(tokens[first:] for first in range(size)))
        ]
        for tokens in (in_doc, in_gold)
    )
    shared = dict(doc_runs).keys() & dict(gold_runs).keys()
    # Runs that share a token overlap, and so become one; others have something between them.
    doc_spans, gold_spans = (
        merged(span for words, span in runs if words in shared) for runs in (doc_runs, gold_runs)
    )
    return doc_spans, gold_spans


def _distinct(answer: Retrieved) -> dict[Key, Doc]:
    """The distinct documents of somebody who searched: by search and rank, then those beside."""
    return distinct_docs((), answer.searches) | distinct_docs(answer.documents, answer.searches)


def _read(answer: Retrieved, numbers: Mapping[Key, int]) -> tuple[int, ...] | None:
    """The numbers of the documents that were read of searches; None where nobody says."""
    read = answer.of("read") if answer.searches and answer.error is None else None
    keys = None if read is None else map(key_of, read)
    return None if keys is None else tuple(numbers[key] for key in keys if key in numbers)


def _searches(
    searches: Sequence[Search], numbers: Mapping[Key, int], matched: Sequence[tuple[int, int]]
) -> tuple[ExplainedSearch, ...]:
    """The searches of a query, by step.

    Args:
        searches: by step, as a `Retrieved` has them.
        numbers: of its distinct documents, from 1.
        matched: numbers of a document and a gold item, both from 1, that match.
    """
    lanes = [(search.step, lane) for search, lane in zip(searches, lanes_of(searches))]
    retries = [False, *(before == after for before, after in pairwise(lanes))]
    earlier_gold: set[int] = set()
    explained: list[ExplainedSearch] = []
    for step, placed in groupby(zip(searches, retries), lambda place: place[0].step or 0):
        of_step: set[int] = set()
        for search, is_retry in placed:
            docs = tuple(numbers[key_of(doc)] for doc in search.measured)
            gold = {item for doc, item in matched if doc in docs}
            of_step |= gold
            explained.append(
                ExplainedSearch(
                    step,
                    search.query,
                    search.tool,
                    docs if search.is_measured else None,
                    finds=tuple(sorted(gold - earlier_gold)),
                    again=tuple(sorted(gold & earlier_gold)),
                    seconds=search.seconds,
                    tokens=search.tokens,
                    error=search.error,
                    is_retry=is_retry,
                )
            )
        earlier_gold |= of_step
    return tuple(explained)
