"""Explain a query: why each retrieved document did or did not match each gold item.

Everything is found out for one query at a time, from the documents themselves; judges answer from
their store, so nothing is asked or paid for.
"""

import re
import warnings
from contextlib import suppress
from difflib import get_close_matches
from math import isnan
from typing import Any

from kragx import matchers
from kragx.data import Gold, Query, Retrieved, as_corpus, normalise
from kragx.data.runs import status_of
from kragx.data.searches import distinct_docs
from kragx.data.text import composed
from kragx.evaluation.arranging import match_item
from kragx.evaluation.explanation import (
    ExplainedDoc,
    ExplainedGold,
    Explanation,
    Pair,
    Spans,
    merged,
)
from kragx.evaluation.inputs import Source, Texts, source_of
from kragx.evaluation.match_source import vocabulary_of
from kragx.ground.errors import DataError, UsageError
from kragx.ground.printing import message
from kragx.matchers import BaseMatcher, Diagnostics, MatchItem, MatchWarning, matching
from kragx.matchers.items import batch_of
from kragx.matchers.reasons import best_targets, reasons
from kragx.matchers.vocabulary import Vocabulary
from kragx.metrics import Profile, profile_for

_TOKEN = re.compile(r"[^\W_]+")


def explain(
    dataset: object,
    run: object = None,
    *,
    query_id: str | int,
    match: object = None,
    profile: str | Profile | None = None,
    corpus: object = None,
) -> Explanation:
    """Explain one query.

    Args:
        dataset: as for `evaluate`.
        run: as for `evaluate`.
        query_id: which query.
        match: as for `evaluate`.
        profile: as for `evaluate`.
        corpus: as for `evaluate`; what has a text is shown with it, whatever the matcher.

    Raises:
        UsageError: there is no such query, or an argument is wrong.
        DataError: the data lack what the matcher needs.

    Examples:
        >>> from kragx import explain
        >>> gold, found = [["the red door"]], [["a blue sky", "the red door of the house"]]
        >>> explanation = explain(gold, found, query_id="q1")
        >>> [(pair.rank, pair.matched) for pair in explanation.pairs]
        [(1, False), (2, True)]
    """
    resolved = profile_for(profile, None)
    spec = resolved.match if match is None else match
    matcher = matchers.matcher(spec, resolved.match_options)
    # Of other queries ids may lack texts.
    source = source_of(dataset, run, resolved, texts=Texts(as_corpus(corpus)))
    query, answer = _of_id(source, str(query_id))
    item = match_item(query, answer, resolved)
    if answer is not None and answer.searches:
        # Who failed has an empty list, and what was searched before is explained all the same.
        docs = distinct_docs((), answer.searches) | distinct_docs(answer.documents, answer.searches)
        item = MatchItem(query, (*docs.values(),))
    pairs, judged = tuple[Pair, ...](), [dict[str, Any]()] * len(item.docs)
    if is_pooled := matcher.needs_pool([item]):
        judged, settings = _judged(item, matcher), {**matcher.settings, "judges": "relevance"}
    else:
        matcher = matcher.against_gold()
        vocabulary = matcher.vocabulary or vocabulary_of(source)
        if matcher.needs_vocabulary:
            matcher = matcher.knowing(vocabulary)
        pairs, settings = _pairs(item, matcher, vocabulary), matcher.settings
    flags = matcher.repeated(batch_of([item])).tolist()
    matched = [(pair.rank, pair.gold) for pair in pairs if pair.matched]
    # The first rank of a gold item has the word: it is written last.
    first = {gold: rank for rank, gold in reversed(matched) if not flags[rank - 1]}
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
        error=None if answer is None else answer.error,
    )


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
        message("{name} has no query {id!r}", name=source.dataset_name, id=query_id),
        field="query",
        remedy=message("perhaps you meant {names}?", names=" or ".join(map(repr, close)))
        if close
        else message("it begins with {id!r}", id=ids[0])
        if ids
        else message("it has none"),
    )


def _judged(item: MatchItem, matcher: BaseMatcher) -> list[dict[str, Any]]:
    """The judge's grade of each document's relevance and why, as the store has it."""
    pool = matcher.offline().pooled([[item]]).pool
    judgements = {} if pool is None else pool.judgements.get(item.query.id, {})
    verdicts = (judgements.get(normalise(doc.text or "")) for doc in item.docs)
    return [
        {} if verdict is None else {"grade": verdict.grade, "reason": verdict.text or None}
        for verdict in verdicts
    ]


def _scores(
    item: MatchItem, tokenizer: object, vocabulary: Vocabulary
) -> dict[str, list[list[float | None]]]:
    """The n x m scores by each built-in matcher that asks no model, if it has anything to go by."""
    scores = {}
    for method in matchers.METHODS:
        if not matchers.method_class(method).asks:
            defaults = {} if tokenizer is None else {"tokenizer": tokenizer}
            matcher = matchers.matcher(method, defaults)
            if matcher.needs_vocabulary:
                matcher = matcher.knowing(vocabulary)
            with suppress(DataError):
                rows = matching.match([item], matcher, Diagnostics()).dense(0).tolist()
                scores[method] = [
                    [None if isnan(score) else score for score in row] for row in rows
                ]
    return scores


def _pairs(item: MatchItem, matcher: BaseMatcher, vocabulary: Vocabulary) -> tuple[Pair, ...]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MatchWarning)  # evaluate says them
        grid = reasons(matcher, item)
        scores = _scores(item, matcher.tokenizer, vocabulary)
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
                    {method: of_method[row][column] for method, of_method in scores.items()},
                    spans[0],
                    # Where an alternative speaks for the gold item, another text stands here.
                    spans[1] if gold == _text_of(item.query.gold[column]) else (),
                )
            )
    return tuple(pairs)


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
