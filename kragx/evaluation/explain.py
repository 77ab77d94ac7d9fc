"""Explain a query: why each retrieved document did or did not match each gold item.

Everything is found out for one query at a time, from the documents themselves; judges answer from
their store, so nothing is asked or paid for.
"""

import re
import unicodedata
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import replace
from difflib import SequenceMatcher
from math import isnan
from typing import Any

from kragx import matchers
from kragx.data import Gold, as_corpus, normalise
from kragx.errors import DataError, UsageError
from kragx.evaluation.arranging import arranged
from kragx.evaluation.explanation import (
    ExplainedDoc,
    ExplainedGold,
    Explanation,
    Pair,
    Score,
    Spans,
    merged,
)
from kragx.evaluation.inputs import Source, Texts, source_of
from kragx.evaluation.vocabulary import vocabulary_of
from kragx.matchers import BaseMatcher, MatchItem, MatchWarning, Notes, matching
from kragx.matchers.items import batch_of
from kragx.matchers.reasons import best_targets, reasons
from kragx.matchers.repeats import known_repeats
from kragx.metrics import Profile, profile_for
from kragx.printing import phrase

_TOKEN = re.compile(r"[^\W_]+")

NEAR = 0.1
"""How far from its threshold a score is a near one, unless told otherwise; of grades one grade."""


def near_limit(match: Mapping[str, Any]) -> float | None:
    """The least score that reports call a near miss: half of the threshold; None without one.

    Of cosines, which are well above 0 for unrelated texts, a score a little below the threshold.

    Args:
        match: a matcher as results record it.
    """
    threshold: float | None = match.get("threshold")
    if threshold is None:
        return None
    members = match.get("of")
    # Of a cascade that only rules out the last member scores; a span's `of` is a word.
    method = members[-1]["method"] if isinstance(members, list) else match["method"]
    if method == matchers.EmbeddingMatcher.name:
        return round(max(threshold - NEAR, threshold / 2), 9)
    return threshold / 2


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
    item, matcher = arranged(_item(source, query_id), resolved), matcher.for_run(source.name)
    query = (source.name, item.query.id, item.query.text, item.status)
    repeated = known_repeats().of(batch_of([item]).docs)
    docs = tuple(
        ExplainedDoc(rank, doc.id, doc.text and shown_text(doc.text), is_repeated)
        for rank, (doc, is_repeated) in enumerate(zip(item.docs, repeated.tolist()), start=1)
    )
    if matcher.needs_pool([item]):
        settings = {**matcher.settings, "judges": "relevance"}
        docs = tuple(_graded(item, docs, matcher))
        return Explanation(*query, settings, (), docs, (), item.query.answerable)
    matcher = matcher.against_gold()
    specs = standard_panel(matcher) if panel is None else panel
    others = {
        name: matchers.matcher(spec, defaults).for_run(source.name) for name, spec in specs.items()
    }
    if any(member.needs_vocabulary for member in (matcher, *others.values())):
        vocabulary = vocabulary_of(source)
        matcher = matcher.knowing(vocabulary)
        others = {name: other.knowing(vocabulary) for name, other in others.items()}
    pairs = _pairs(item, matcher, others, near)
    first_ranks: dict[int, int] = {}
    for pair in pairs:
        if pair.matched and not docs[pair.rank - 1].repeated:
            first_ranks.setdefault(pair.gold, pair.rank)
    golds = tuple(
        ExplainedGold(n, gold.id, text and shown_text(text), gold.grade, first_ranks.get(n))
        for n, gold in enumerate(item.query.gold, start=1)
        for text in (_text_of(gold),)
    )
    docs = tuple(
        replace(
            doc,
            matches=tuple(pair.gold for pair in pairs if pair.rank == doc.rank and pair.matched),
            finds=tuple(gold for gold, rank in first_ranks.items() if rank == doc.rank),
        )
        for doc in docs
    )
    return Explanation(*query, matcher.settings, golds, docs, pairs, item.query.answerable)


def _item(source: Source, query_id: str) -> MatchItem:
    """The query of an id; of none that is the same, the first whose id looks the same.

    An id in NFD looks like the one that a keyboard types; nobody can tell them apart.
    """
    lookalike: MatchItem | None = None
    ids: list[str] = []
    for item in source.items():
        if item.query.id == query_id:
            return item
        ids.append(item.query.id)
        if lookalike is None and normalise(item.query.id) == normalise(query_id):
            lookalike = item
    if lookalike is not None:
        return lookalike
    alike = {known: SequenceMatcher(None, known, query_id).ratio() for known in ids}
    likeliest = sorted(ids, key=alike.__getitem__, reverse=True)[:3]
    close = [repr(known) for known in likeliest if alike[known] >= 0.5]
    raise UsageError(
        phrase("{name} has no query {id!r}", name=source.dataset_name, id=query_id),
        field="query",
        remedy=phrase("perhaps you meant {names}?", names=" or ".join(close))
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


def _graded(
    item: MatchItem, docs: tuple[ExplainedDoc, ...], matcher: BaseMatcher
) -> Iterator[ExplainedDoc]:
    """The documents with the judge's grade of each one's relevance, as the store has it."""
    pool = matcher.offline().pooled([[item]]).pool
    judgements = {} if pool is None else pool.judgements.get(item.query.id, {})
    for doc, explained in zip(item.docs, docs):
        judged = judgements.get(normalise(doc.text or ""))
        yield (
            replace(explained, grade=judged.grade, reason=judged.text or None)
            if judged is not None
            else explained
        )


def _pairs(
    item: MatchItem, matcher: BaseMatcher, panel: Mapping[str, BaseMatcher], near: float
) -> tuple[Pair, ...]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MatchWarning)  # evaluate says them
        grid = reasons(matcher, item)
        others = {name: _scores(item, other) for name, other in panel.items()}
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
                    {name: scores[row][column] for name, scores in others.items()},
                    spans[0],
                    # Where an alternative speaks for the gold item, another text stands here.
                    spans[1] if gold == _text_of(item.query.gold[column]) else (),
                    near=any(
                        leaf.distance is not None and abs(leaf.distance) <= within
                        for leaf in reason.deciding()
                        if leaf.score  # a limit is above 0, so 0 is short of any
                    ),
                )
            )
    return tuple(pairs)


def _scores(item: MatchItem, matcher: BaseMatcher) -> list[list[Score]]:
    """The n x m scores of a matcher, or why it has none."""
    limit = matcher.threshold
    try:
        scores = matching.match([item], matcher.offline(), Notes()).dense(0)
    except DataError as error:
        return [[Score(None, limit, str(error)) for _ in item.query.gold] for _ in item.docs]
    return [
        [Score(None if isnan(score) else score, limit) for score in row] for row in scores.tolist()
    ]


def _text_of(gold: Gold) -> str | None:
    """The text of a gold item, else of its first alternative that has one."""
    texts = (gold.text, *(alternative.text for alternative in gold.alternatives))
    return next((text for text in texts if text is not None), None)


def shown_text(text: str) -> str:
    """The text that spans point into: NFC."""
    return unicodedata.normalize("NFC", text)


def shared_spans(document: str, gold: str) -> tuple[Spans, Spans]:
    """Where a document and a gold text share runs of words, in each of them, for people to look at.

    Shared are runs of at least two tokens in a row that stand in both texts, in any place; of a
    gold text of one token, that token. This is what `overlap` counts, shown.

    Returns:
        Spans (start, end) of characters in `shown_text` of the document, and of the gold text;
        ascending, and apart from one another.
    """
    in_doc, in_gold = (list(_TOKEN.finditer(shown_text(text))) for text in (document, gold))
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
