"""Explain a query: why each retrieved document did or did not match each gold item.

Everything is found out for one query at a time, from the documents themselves; judges answer from
their store, so nothing is asked or paid for.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from types import MappingProxyType
from typing import Any

import numpy as np

from kragx import matchers
from kragx.data.runs import Status
from kragx.data.text import normalise
from kragx.errors import DataError, UsageError
from kragx.evaluation.highlights import Spans, shared_spans, shown_text
from kragx.evaluation.source import arranged, source_of
from kragx.matchers import BaseMatcher, MatchItem, MatchWarning, Notes
from kragx.matchers.matching import match as match_items
from kragx.matchers.matching import repeats
from kragx.matchers.reasons import Reason, best_targets, reasons
from kragx.metrics import Profile, profile_for
from kragx.metrics.table import Floats

NEAR = 0.1
"""How far from its threshold a score is a near one, unless told otherwise; of grades one grade."""


@dataclass(frozen=True)
class Score:
    """What another matcher gives the same pair.

    Attributes:
        value: None if it is not known, or there is none (`problem` says why).
        threshold: the least score that is a match.
        problem: why the matcher has no score.
    """

    value: float | None
    threshold: float
    problem: str | None = None

    @property
    def matches(self) -> bool | None:
        """Whether this matcher says yes."""
        return None if self.value is None else self.value >= self.threshold


@dataclass(frozen=True)
class Pair:
    """A retrieved document and a gold item.

    Attributes:
        rank, gold: which, both from 1.
        reason: why they match or do not.
        scores: what other matchers give them, by name.
        doc_spans, gold_spans: where they share words, in the texts as they stand here.
        near: whether a slightly different threshold would decide otherwise.
    """

    rank: int
    gold: int
    reason: Reason
    scores: Mapping[str, Score]
    doc_spans: Spans
    gold_spans: Spans
    near: bool

    @property
    def matched(self) -> bool | None:
        """Whether they match; None if that is not known."""
        return None if self.reason.verdict == "unknown" else self.reason.verdict == "match"

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "rank": self.rank,
            "gold": self.gold,
            "matched": self.matched,
            "near": self.near,
            "reason": self.reason.to_dict(),
            "scores": {
                name: {"score": each.value, "threshold": each.threshold, "matched": each.matches}
                if each.problem is None
                else {"score": None, "problem": each.problem}
                for name, each in self.scores.items()
            },
            "doc_spans": [list(span) for span in self.doc_spans],
            "gold_spans": [list(span) for span in self.gold_spans],
        }


@dataclass(frozen=True)
class ExplainedDoc:
    """A retrieved document.

    Attributes:
        repeated: whether an earlier document of the list is the same.
        matches: the gold items that it matches, from 1.
        finds: those of them that no document above it matches.
        grade, said: without gold, the judge's grade of its relevance and what the judge said.
    """

    rank: int
    id: str | None
    text: str | None
    repeated: bool
    matches: tuple[int, ...]
    finds: tuple[int, ...]
    grade: int | None = None
    said: str | None = None


@dataclass(frozen=True)
class ExplainedGold:
    """A gold item; `found_at` is the first rank that matches it, None if none does."""

    number: int
    id: str | None
    text: str | None
    grade: float
    found_at: int | None


@dataclass(frozen=True)
class Explanation:
    """Why one query's documents match its gold, or do not.

    Attributes:
        run: the retriever's name.
        query_id, query: which query.
        status: ``answered``, ``missing`` or ``failed``.
        match: the matcher as results record it.
        docs, golds: as they were retrieved, and as the gold set has them; texts in NFC.
        pairs: of every document with every gold item, by rank, then gold.
    """

    run: str
    query_id: str
    query: str | None
    status: Status
    match: Mapping[str, Any]
    docs: tuple[ExplainedDoc, ...]
    golds: tuple[ExplainedGold, ...]
    pairs: tuple[Pair, ...]

    def pair(self, rank: int, gold: int) -> Pair:
        """The pair of a rank and a gold item, both from 1."""
        return self.pairs[(rank - 1) * len(self.golds) + gold - 1]

    @property
    def near_misses(self) -> tuple[Pair, ...]:
        """Pairs that a slightly lower threshold would make matches."""
        return tuple(pair for pair in self.pairs if pair.near and not pair.matched)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "retriever": self.run,
            "query_id": self.query_id,
            "query": self.query,
            "status": self.status,
            "match": dict(self.match),
            "gold": [vars(gold) for gold in self.golds],
            "retrieved": [
                {
                    name: list(value) if isinstance(value, tuple) else value
                    for name, value in vars(doc).items()
                }
                for doc in self.docs
            ],
            "pairs": [pair.to_dict() for pair in self.pairs],
        }


def explain(
    dataset: object,
    run: object = None,
    *,
    query_id: str,
    match: object = None,
    panel: Mapping[str, object] | None = None,
    profile: str | Profile | None = None,
    near: float = NEAR,
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

    Raises:
        UsageError: there is no such query, or an argument is wrong.
        DataError: the data lack what the matcher needs.
    """
    chosen = profile_for(profile, None)
    spec = chosen.match if match is None else match
    defaults = chosen.match_options
    matcher = matchers.matcher(spec, defaults)
    source, _ = source_of(dataset, run, chosen)
    ids = []
    for item in source.items():
        if item.query.id == query_id:
            ordered = arranged(chosen)(item)
            others = (
                standard_panel(matcher)
                if panel is None
                else {name: matchers.matcher(each, defaults) for name, each in panel.items()}
            )
            return explain_item(ordered, matcher, others, run=source.name, near=near)
        ids.append(item.query.id)
    raise UsageError(
        f"query: {source.dataset_name} has no query {query_id!r}; {_likely(query_id, ids)}"
    )


def _likely(given: str, ids: Sequence[str]) -> str:
    """Which queries may be meant; of those that are equally alike the first ones."""
    alike = [SequenceMatcher(None, each, given).ratio() for each in ids]
    if not ids or max(alike) < 0.5:
        return f"it begins with {ids[0]!r}" if ids else "it has none"
    order = sorted(range(len(ids)), key=lambda at: (-alike[at], at))
    best = [ids[at] for at in order[:3] if alike[at] >= 0.5]
    return f"perhaps you meant {' or '.join(map(repr, best))}?"


def standard_panel(matcher: BaseMatcher) -> dict[str, BaseMatcher]:
    """Every built-in matcher that asks no model, with the tokenizer of `matcher` if it has one."""
    defaults = {} if matcher.tokenizer is None else {"tokenizer": matcher.tokenizer}
    return {
        method: matchers.matcher(method, defaults)
        for method in matchers.METHODS
        if not matchers.asks(method)
    }


def explain_item(
    item: MatchItem,
    matcher: BaseMatcher,
    panel: Mapping[str, BaseMatcher] = MappingProxyType({}),
    *,
    run: str = "run",
    near: float = NEAR,
) -> Explanation:
    """`explain` for a query that is at hand with its documents."""
    repeated = repeats(item.docs)
    if matcher.needs_pool([item]):
        return _judged(item, matcher, repeated, run)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MatchWarning)  # evaluate says them
        grid = reasons(matcher, item)
        others = {name: _scores(item, each) for name, each in panel.items()}
    best = best_targets(item, grid)
    unit = near if matcher.top is None else 1.0
    pairs = tuple(
        _pair(item, row, column, grid[row][at], at, others, unit)
        for row, columns in enumerate(best)
        for column, at in enumerate(columns)
    )
    n_gold = len(item.query.gold)
    matched = [
        [column + 1 for column in range(n_gold) if pairs[row * n_gold + column].matched]
        for row in range(len(item.docs))
    ]
    found_at: dict[int, int] = {}
    finds = []
    for row, golds in enumerate(matched):
        counted = [] if repeated[row] else golds
        finds.append(tuple(gold for gold in counted if gold not in found_at))
        found_at.update(dict.fromkeys(finds[-1], row + 1))
    return Explanation(
        run=run,
        query_id=item.query.id,
        query=item.query.text,
        status=item.status,
        match=matcher.settings,
        docs=tuple(
            ExplainedDoc(
                row + 1, doc.id, _shown(doc.text), repeated[row], tuple(matched[row]), finds[row]
            )
            for row, doc in enumerate(item.docs)
        ),
        golds=tuple(
            ExplainedGold(
                number,
                gold.id,
                _shown(gold.text if gold.text is not None else _first_text(gold.alternatives)),
                gold.grade,
                found_at.get(number),
            )
            for number, gold in enumerate(item.query.gold, start=1)
        ),
        pairs=pairs,
    )


def _pair(
    item: MatchItem,
    row: int,
    column: int,
    reason: Reason,
    target: int,
    others: Mapping[str, tuple[Floats | str, float]],
    near: float,
) -> Pair:
    doc, gold = item.docs[row].text, item.targets[target].text
    spans = ((), ()) if doc is None or gold is None else shared_spans(doc, gold)
    if gold != (item.query.gold[column].text or _first_text(item.query.gold[column].alternatives)):
        spans = (spans[0], ())  # an alternative spoke for the gold item, whose text stands here
    scores = {}
    for name, (found, threshold) in others.items():
        if isinstance(found, str):
            scores[name] = Score(None, threshold, found)
        else:
            value = found[row, column]
            scores[name] = Score(None if np.isnan(value) else float(value), threshold)
    distances = [leaf.distance for leaf in reason.deciding()]
    is_near = any(each is not None and abs(each) <= near + 1e-12 for each in distances)
    return Pair(row + 1, column + 1, reason, scores, *spans, is_near)


def _scores(item: MatchItem, matcher: BaseMatcher) -> tuple[Floats | str, float]:
    """The n x m scores of a matcher, or why it has none; and its threshold."""
    try:
        return match_items([item], matcher.offline(), Notes()).dense(0), matcher.threshold
    except DataError as error:
        return str(error), matcher.threshold


def _judged(
    item: MatchItem, matcher: BaseMatcher, repeated: Sequence[bool], run: str
) -> Explanation:
    """Without gold: the judge's grade of each document's relevance, as the store has it."""
    pool = matcher.offline().pooled([[item]]).pool
    judgements = {} if pool is None else pool.judgements[item.query.id]
    docs = []
    for row, doc in enumerate(item.docs):
        found = judgements.get(normalise(doc.text or ""))
        said = None if found is None else found.reason or found.detail or found.failure
        grade = None if found is None else found.grade
        docs.append(
            ExplainedDoc(
                row + 1, doc.id, _shown(doc.text), repeated[row], (), (), grade=grade, said=said
            )
        )
    return Explanation(
        run=run,
        query_id=item.query.id,
        query=item.query.text,
        status=item.status,
        match={**matcher.settings, "judges": "relevance"},
        docs=tuple(docs),
        golds=(),
        pairs=(),
    )


def _first_text(docs: Iterable[Any]) -> str | None:
    return next((doc.text for doc in docs if doc.text is not None), None)


def _shown(text: str | None) -> str | None:
    return None if text is None else shown_text(text)
