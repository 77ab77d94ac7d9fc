"""Explain a query: why each retrieved document did or did not match each gold item.

Everything is found out for one query at a time, from the documents themselves; judges answer from
their store, so nothing is asked or paid for.
"""

import re
import unicodedata
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from math import isnan
from typing import Any

from kragx import matchers
from kragx.data import Gold, as_corpus, normalise
from kragx.errors import DataError, UsageError
from kragx.evaluation.explanation import (
    ExplainedDoc,
    ExplainedGold,
    Explanation,
    Pair,
    Score,
    Spans,
    merged,
)
from kragx.evaluation.inputs import Source, Texts, arranged, source_of
from kragx.evaluation.vocabulary import vocabulary_of
from kragx.matchers import BaseMatcher, MatchItem, MatchWarning, Notes, matching
from kragx.matchers.reasons import best_targets, reasons
from kragx.matchers.repeats import repeats
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
    if matcher.needs_pool([item]):
        judge = {**matcher.settings, "judges": "relevance"}
        docs = _graded_docs(item, matcher)
        return Explanation(*query, judge, (), docs, (), item.query.answerable)
    matcher = matcher.against_gold()
    specs = standard_panel(matcher) if panel is None else panel
    others = {
        name: matchers.matcher(spec, defaults).for_run(source.name) for name, spec in specs.items()
    }
    if any(own.needs_vocabulary for own in (matcher, *others.values())):
        vocabulary = vocabulary_of(source)
        matcher = matcher.knowing(vocabulary)
        others = {name: own.knowing(vocabulary) for name, own in others.items()}
    pairs = _pairs(item, matcher, others, near)
    found = _found(item, pairs)
    return Explanation(*query, matcher.settings, *found, pairs, item.query.answerable)


def _item(source: Source, query_id: str) -> MatchItem:
    """The query of an id; of none that is the same, the first whose id looks the same.

    An id in NFD looks like the one that a keyboard types; nobody can tell them apart.
    """
    ids: list[str] = []
    lookalike = None
    for item in source.items():
        if item.query.id == query_id:
            return item
        ids.append(item.query.id)
        if lookalike is None and normalise(item.query.id) == normalise(query_id):
            lookalike = item
    if lookalike is None:
        raise UsageError(
            phrase("{name} has no query {id!r}", name=source.dataset_name, id=query_id),
            field="query",
            remedy=_likely(query_id, ids),
        )
    return lookalike


def _likely(query_id: str, ids: Sequence[str]) -> str:
    """Which queries may be meant; of those that are equally alike the first ones."""
    alike = {known: SequenceMatcher(None, known, query_id).ratio() for known in ids}
    likeliest = sorted(ids, key=alike.__getitem__, reverse=True)[:3]
    close = [repr(known) for known in likeliest if alike[known] >= 0.5]
    if close:
        return phrase("perhaps you meant {names}?", names=" or ".join(close))
    return phrase("it begins with {id!r}", id=ids[0]) if ids else phrase("it has none")


def standard_panel(matcher: BaseMatcher) -> dict[str, BaseMatcher]:
    """Every built-in matcher that asks no model, with the tokenizer of `matcher` if it has one."""
    defaults = {} if matcher.tokenizer is None else {"tokenizer": matcher.tokenizer}
    return {
        method: matchers.matcher(method, defaults)
        for method in matchers.METHODS
        if not matchers.method_class(method).asks
    }


def _graded_docs(item: MatchItem, matcher: BaseMatcher) -> tuple[ExplainedDoc, ...]:
    """Without gold: the judge's grade of each document's relevance, as the store has it."""
    pool = matcher.offline().pooled([[item]]).pool
    judgements = {} if pool is None else pool.judgements.get(item.query.id, {})
    docs = [(doc, judgements.get(normalise(doc.text or ""))) for doc in _docs(item)]
    return tuple(
        doc if judged is None else replace(doc, grade=judged.grade, reason=judged.text or None)
        for doc, judged in docs
    )


def _docs(item: MatchItem) -> Iterator[ExplainedDoc]:
    for rank, (doc, repeated) in enumerate(zip(item.docs, repeats(item.docs)), start=1):
        yield ExplainedDoc(rank, doc.id, doc.text and shown_text(doc.text), repeated)


def _found(
    item: MatchItem, pairs: Sequence[Pair]
) -> tuple[tuple[ExplainedGold, ...], tuple[ExplainedDoc, ...]]:
    """The gold with where it is found, and the documents with what they match and find."""
    docs = tuple(_docs(item))
    found_at: dict[int, int] = {}
    for pair in pairs:
        if pair.matched and not docs[pair.rank - 1].repeated:
            found_at.setdefault(pair.gold, pair.rank)
    golds = tuple(
        ExplainedGold(number, gold.id, text and shown_text(text), gold.grade, found_at.get(number))
        for number, gold in enumerate(item.query.gold, start=1)
        for text in [_text_of(gold)]
    )
    return golds, tuple(
        replace(
            doc,
            matches=tuple(pair.gold for pair in pairs if pair.rank == doc.rank and pair.matched),
            finds=tuple(gold for gold, rank in found_at.items() if rank == doc.rank),
        )
        for doc in docs
    )


def _pairs(
    item: MatchItem, matcher: BaseMatcher, panel: Mapping[str, BaseMatcher], near: float
) -> tuple[Pair, ...]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MatchWarning)  # evaluate says them
        grid = reasons(matcher, item)
        others = {name: _scores(item, other) for name, other in panel.items()}
    within = (near if matcher.top is None else 1.0) + 1e-12
    return tuple(
        Pair(
            row + 1,
            column + 1,
            reason := grid[row][target],
            {name: scores[row][column] for name, scores in others.items()},
            *_shared(item, row, column, target),
            near=any(
                leaf.distance is not None and abs(leaf.distance) <= within
                for leaf in reason.deciding()
                if leaf.score  # a limit is above 0, so 0 is short of any
            ),
        )
        for row, targets in enumerate(best_targets(item, grid))
        for column, target in enumerate(targets)
    )


def _shared(item: MatchItem, row: int, column: int, target: int) -> tuple[Spans, Spans]:
    """Where a document and the target that speaks for a gold item share words, in each."""
    doc, gold = item.docs[row].text, item.targets[target].text
    doc_spans, gold_spans = ((), ()) if doc is None or gold is None else shared_spans(doc, gold)
    # Where an alternative speaks for the gold item, the text that stands here is another.
    return doc_spans, gold_spans if gold == _text_of(item.query.gold[column]) else ()


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
    texts = (gold.text, *(other.text for other in gold.alternatives))
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
    doc_tokens, gold_tokens = (list(_TOKEN.finditer(shown_text(text))) for text in (document, gold))
    size = min(2, len(gold_tokens))
    doc_runs, gold_runs = _runs(doc_tokens, size), _runs(gold_tokens, size)
    shared = {words for words, _ in doc_runs} & {words for words, _ in gold_runs}
    doc_spans, gold_spans = (
        # Runs that share a token overlap, and so become one; others have something between them.
        merged([span for words, span in runs if words in shared])
        for runs in (doc_runs, gold_runs)
    )
    return doc_spans, gold_spans


def _runs(
    tokens: Sequence[re.Match[str]], size: int
) -> list[tuple[tuple[str, ...], tuple[int, int]]]:
    """The words of every `size` tokens in a row, and where these stand."""
    runs = zip(*(tokens[first:] for first in range(size)))
    return [
        (tuple(token[0].lower() for token in run), (run[0].start(), run[-1].end())) for run in runs
    ]
