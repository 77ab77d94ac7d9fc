"""Explain a query: why each retrieved document did or did not match each gold item.

Everything is found out for one query at a time, from the documents themselves; judges answer from
their store, so nothing is asked or paid for.
"""

import re
import unicodedata
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from math import inf, isnan, nan
from typing import Any, ClassVar

from kragx import matchers
from kragx.data import Gold, Query, Retrieved, Status, as_corpus, normalise
from kragx.data.searches import key_of
from kragx.errors import DataError, UsageError
from kragx.evaluation.arranging import arranged
from kragx.evaluation.explained_searches import (
    ExplainedSearch,
    described,
    explained_searches,
    numbered_docs,
)
from kragx.evaluation.inputs import Source, Texts, match_item, source_of
from kragx.evaluation.vocabulary import vocabulary_of
from kragx.evaluation.wording import method_label
from kragx.matchers import BaseMatcher, MatchItem, MatchWarning, Notes, matching
from kragx.matchers.items import batch_of, repeated
from kragx.matchers.reasons import Reason, best_targets, reasons
from kragx.metrics import Profile, profile_for
from kragx.metrics.threshold import matches
from kragx.plain import IF_KNOWN
from kragx.printing import Cell, Heading, Line, Part, Result, Table, joined, number, phrase, warning

_TOKEN = re.compile(r"[^\W_]+")

NEAR = 0.1
"""How far from its threshold a score is a near one, unless told otherwise; of grades one grade."""

Spans = tuple[tuple[int, int], ...]

_LONGEST = 400  # characters of a text, unless all of it is asked for
_MANY = 10  # documents of searches, of which more are not all told
_AROUND = 60
_INDENT = 3
_STATUS = {
    "missing": phrase("the run has no answer to this query"),
    "failed": phrase("the retriever failed at this query"),
}


@dataclass(frozen=True)
class Score:
    """What another matcher gives the same pair.

    Attributes:
        score: None if it is not known, or there is none (`problem` says why).
        threshold: the least score that is a match.
        problem: why the matcher has no score.
    """

    also_plain: ClassVar[tuple[str, ...]] = ("matched",)

    score: float | None
    threshold: float
    problem: str | None = None

    @property
    def matched(self) -> bool | None:
        """Whether this matcher says yes."""
        return None if self.score is None else bool(matches(self.score, self.threshold))

    @property
    def cell(self) -> Cell:
        """The score as a table shows it: a match with a star, in bold."""
        mark, style = ("*", "bold") if self.matched else (" ", "")
        return Cell(f"{number(self.score)}{mark}", style)


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

    also_plain: ClassVar[tuple[str, ...]] = ("matched",)

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


@dataclass(frozen=True)
class ExplainedDoc:
    """A retrieved document.

    Attributes:
        repeated: whether an earlier document of the list is the same.
        matches: the gold items that it matches, from 1.
        finds: those of them that no document above it matches.
        grade, reason: without gold, the judge's grade of its relevance and what the judge said.
    """

    rank: int
    id: str | None
    text: str | None
    repeated: bool
    matches: tuple[int, ...] = ()
    finds: tuple[int, ...] = ()
    grade: float | None = None
    reason: str | None = None


@dataclass(frozen=True)
class ExplainedGold:
    """A gold item; `found_at` is the first rank that matches it, None if none does."""

    number: int
    id: str | None
    text: str | None
    grade: float
    found_at: int | None


@dataclass(frozen=True)
class Explanation(Result):
    """Why one query's documents match its gold, or do not.

    Attributes:
        retriever: its name.
        query_id, query: which query.
        status: ``answered``, ``missing`` or ``failed``.
        match: the matcher as results record it.
        gold: as the gold set has it; texts in NFC.
        retrieved: the documents as they were retrieved; texts in NFC. Of somebody who searched
            several times each once: by search, then rank.
        pairs: of every document with every gold item, by rank, then gold.
        answerable: what the gold set says of it.
        searches: what each search brought, by step; empty of a list alone.
        read: the documents, from 1, that were read of it; None if nobody says.
        error: why the retriever failed at it; None where it did not.
        asks: for how many asks it stands; None of one.

    Examples:
        >>> from kragx import explain
        >>> gold, found = [["the red door"]], [["the red door of the house"]]
        >>> explanation = explain(gold, found, query_id="q1", panel={})
        >>> explanation.status, explanation.match["method"]
        ('answered', 'overlap')
    """

    retriever: str
    query_id: str
    query: str | None
    status: Status
    match: Mapping[str, Any]
    gold: tuple[ExplainedGold, ...]
    retrieved: tuple[ExplainedDoc, ...]
    pairs: tuple[Pair, ...]
    answerable: bool | None = None
    searches: tuple[ExplainedSearch, ...] = ()
    read: tuple[int, ...] | None = None
    error: str | None = None
    asks: float | None = field(default=None, metadata=IF_KNOWN)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; of searches where there are any, and the error of what failed."""
        values = super().to_dict()
        hidden = {*(() if self.searches else ("searches", "read"))}
        hidden |= {"error"} if self.error is None else set()
        return {name: value for name, value in values.items() if name not in hidden}

    def pair(self, rank: int, gold: int) -> Pair:
        """The pair of a rank and a gold item, both from 1."""
        return self.pairs[(rank - 1) * len(self.gold) + gold - 1]

    @property
    def near_misses(self) -> tuple[Pair, ...]:
        """Pairs that a slightly lower threshold would make matches."""
        return tuple(pair for pair in self.pairs if pair.near and not pair.matched)

    def describe(self, *, full: bool = False) -> Iterator[Part]:
        """The gold, then each document with why it matches or does not, its shared words marked.

        Long texts are cut to what is around the first mark; `full` shows all of them.
        """
        yield Heading(
            phrase("{retriever}, query {query}", retriever=self.retriever, query=self.query_id)
        )
        if self.query:
            yield Line(self.query)
        if self.asks is not None:
            yield Line(phrase("asks that it stands for: {asks:g}", asks=self.asks), "dim")
        yield Line(phrase("match: {match}", match=method_label(self.match)))
        if self.status in _STATUS:
            yield warning(joined(": ", [_STATUS[self.status], self.error or ""]))
        for gold in self.gold:
            place = self._place(gold)
            head = phrase(
                "gold {n}{id}: {where}"
                if gold.grade == 1.0
                else "gold {n}{id}, grade {grade:g}: {where}",
                n=gold.number,
                id=_id(gold.id),
                grade=gold.grade,
                where=place,
            )
            yield Line(joined("", ["\n", head]), "bold")
            yield from _text(gold.text, (), full=full)
        if self.answerable is False:
            yield Line(
                phrase(
                    "this query is marked unanswerable: what is retrieved for it answers nothing"
                )
            )
        elif not self.gold:
            yield Line(phrase("this query has no gold"))
        if self.searches:
            yield from described(self.searches, self.read)
        elif not self.retrieved:
            yield Line(joined("", ["\n", phrase("nothing was retrieved")]))
        told = [*self.retrieved] if full else self._worth_telling()
        for doc in told:
            yield from self._describe_doc(doc, full=full)
        if n_left := len(self.retrieved) - len(told):
            left_out = phrase("documents that match nothing, left out: {n} (--full)", n=n_left)
            yield Line(joined("", ["\n", left_out]), "dim")
        yield from self._describe_limits()

    def _worth_telling(self) -> list[ExplainedDoc]:
        """The documents of a list; of many searches those that match, nearly do, or were read."""
        if not self.searches or len(self.retrieved) <= _MANY:
            return [*self.retrieved]
        near = {pair.rank for pair in self.pairs if pair.near} | {*(self.read or ())}
        return [doc for doc in self.retrieved if doc.matches or doc.rank in near]

    def _place(self, gold: ExplainedGold) -> str:
        """Where a gold item was found, if it was."""
        if gold.found_at is None:
            return phrase("not found")
        step = next((s.step for s in self.searches if gold.number in s.finds), None)
        if step is not None:
            return phrase("found by step {n}", n=step)
        return phrase("found at rank {rank}", rank=gold.found_at)

    def _describe_doc(self, doc: ExplainedDoc, *, full: bool) -> Iterator[Part]:
        verdict = _verdict(doc) if self.gold else ""
        head = joined(" ", [f"\n{doc.rank}.{_id(doc.id)}", verdict])
        yield Line(head, "bold green" if doc.matches else "bold")
        if doc.reason is not None or doc.grade is not None:
            grade = phrase("not known") if doc.grade is None else str(doc.grade)
            label = phrase("the judge's grade of relevance: {grade}", grade=grade)
            yield Line(joined(": ", [label, doc.reason or ""]), indent=_INDENT)
        pairs = [self.pair(doc.rank, gold.number) for gold in self.gold]
        # Marked are the shared words of the matches, else of the likeliest pair.
        likeliest = sorted(pairs, key=lambda pair: sum(a - b for a, b in pair.doc_spans))[:1]
        marked = [pair for pair in pairs if pair.matched] or likeliest
        yield from _text(doc.text, merged(s for pair in marked for s in pair.doc_spans), full=full)
        for pair in pairs:
            for line in _why(pair.reason, phrase("gold {n}", n=pair.gold)):
                yield Line(line, indent=_INDENT)
        scores = pairs[0].scores if pairs else {}
        if methods := [name for name, score in scores.items() if not score.problem]:
            rows: list[list[str | Cell]] = [
                [phrase("gold {n}", n=pair.gold), *(pair.scores[name].cell for name in methods)]
                for pair in pairs
            ]
            yield Table(["", *methods], rows)

    def _describe_limits(self) -> Iterator[Part]:
        """What the scores of other matchers mean or why there are none, and what is near."""
        scores = {name: score for pair in self.pairs for name, score in pair.scores.items()}
        if scores:
            note = phrase("*: a match of that matcher, by its usual threshold")
            yield Line(joined("", ["\n", note]))
        if unasked := [name for name, score in scores.items() if score.problem is not None]:
            names = ", ".join(unasked)
            yield Line(
                phrase("have nothing to go by here: {names} (--match says why)", names=names), "dim"
            )
        for pair in self.pairs:
            if pair.near:
                leaf = min(_scored(pair.reason), key=_distance)
                yield warning(
                    phrase(
                        "a near match: rank {rank}, gold {n}: {method} {score}, limit {limit:g}"
                        if pair.matched
                        else "a near miss: rank {rank}, gold {n}: {method} {score}, limit "
                        "{limit:g}",
                        rank=pair.rank,
                        n=pair.gold,
                        method=leaf.method,
                        score=number(leaf.score),
                        limit=leaf.limit,
                    )
                )


_VERDICTS = {
    "match": phrase("-> match"),
    "no match": phrase("-> no match"),
    "unknown": phrase("-> unknown"),
    "open": phrase("-> left open"),
}


def _verdict(doc: ExplainedDoc) -> str:
    if not doc.matches:
        return phrase("no match")
    return phrase(
        "matches gold {numbers}, but stood above already: not counted again"
        if doc.repeated
        else "matches gold {numbers}"
        if doc.finds
        else "matches gold {numbers}, found above already",
        numbers=", ".join(map(str, doc.matches)),
    )


def _id(value: str | None) -> str:
    return "" if value is None else f" [{value}]"


def _why(reason: Reason, label: str, depth: int = 0) -> Iterator[str]:
    """A line for the matcher and, of a combination, for each member that was asked."""
    reject, accept, distance = reason.reject, reason.accept, reason.distance
    limits = joined(
        "; ",
        [
            "" if reject is None else phrase("none below {limit:g}", limit=reject),
            "" if accept is None else phrase("match from {limit:g}", limit=accept),
        ],
    )
    far = "" if distance is None else phrase("{distance:+.4f} from the limit", distance=distance)
    head = [f"{'  ' * depth}{reason.method}:"] if depth else [label, f": {reason.method}"]
    if limits or not reason.parts:  # of a combination without a limit the score says nothing
        head += [" ", phrase("not known") if reason.score is None else number(reason.score)]
    if limits:
        head += [" (", joined(", ", [limits, far]), ")"]
    decides = phrase(", decides") if depth and reason.decides else ""
    text = "" if reason.text is None else joined("", [": ", reason.text])
    yield joined("", [*head, " ", _VERDICTS[reason.verdict], decides, text])
    for part in reason.parts:
        yield from _why(part, label, depth + 1)


def _scored(reason: Reason) -> list[Reason]:
    """What decides and has a score: a limit is above 0, so 0 is short of any."""
    return [leaf for leaf in reason.deciding() if leaf.score]


def _distance(leaf: Reason) -> float:
    return inf if leaf.distance is None else abs(leaf.distance)


def merged(spans: Iterable[tuple[int, int]]) -> Spans:
    """Spans in ascending order, those in one that overlap or touch."""
    disjoint: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        first, last = disjoint.pop() if disjoint and start <= disjoint[-1][1] else (start, end)
        disjoint.append((first, max(last, end)))
    return tuple(disjoint)


def _text(text: str | None, spans: Spans, *, full: bool) -> Iterator[Line]:
    """The text with its spans marked; of a long one what is around them, or its beginning."""
    if text is None:
        return
    first, last = 0, len(text)
    if not full and len(text) > _LONGEST:
        first = max(0, spans[0][0] - _AROUND) if spans else 0
        last = min(len(text), first + _LONGEST)
    before = "... " if first else ""
    excerpt = "".join(" " if letter.isspace() else letter for letter in text[first:last])
    offset = len(before) - first
    marks = tuple(
        (max(start, first) + offset, min(end, last) + offset)
        for start, end in spans
        if max(start, first) < min(end, last)
    )
    after = " ..." if last < len(text) else ""
    yield Line(f"{before}{excerpt}{after}", marks=marks, indent=_INDENT)


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
    item, answer = _item(source, query_id, resolved)
    matcher = matcher.for_run(source.name)
    query = (source.name, item.query.id, item.query.text, match_item(item.query, answer).status)
    stands_for = item.query.weight / item.query.inclusion
    asks = None if stands_for == 1 else stands_for
    flags = repeated(batch_of([item]).docs).tolist()
    docs = tuple(
        ExplainedDoc(rank, doc.id, doc.text and shown_text(doc.text), is_repeated)
        for rank, (doc, is_repeated) in enumerate(zip(item.docs, flags), start=1)
    )
    if matcher.needs_pool([item]):
        settings = {**matcher.settings, "judges": "relevance"}
        docs = tuple(_graded(item, docs, matcher))
        searched = _searched(answer, [])
        answerable = item.query.answerable
        return Explanation(*query, settings, (), docs, (), answerable, *searched, asks=asks)
    matcher = matcher.against_gold()
    specs = standard_panel(matcher) if panel is None else panel
    members = {
        name: matchers.matcher(spec, defaults).for_run(source.name) for name, spec in specs.items()
    }
    if any(member.needs_vocabulary for member in (matcher, *members.values())):
        vocabulary = vocabulary_of(source)
        matcher = matcher.knowing(vocabulary)
        members = {name: member.knowing(vocabulary) for name, member in members.items()}
    pairs = _pairs(item, matcher, members, near)
    matched = [(pair.rank, pair.gold) for pair in pairs if pair.matched]
    # The first rank of a gold item has the word: it is written last.
    first = {gold: rank for rank, gold in reversed(matched) if not docs[rank - 1].repeated}
    golds = tuple(
        ExplainedGold(n, gold.id, text and shown_text(text), gold.grade, first.get(n))
        for n, gold in enumerate(item.query.gold, start=1)
        for text in (_text_of(gold),)
    )
    docs = tuple(
        replace(
            doc,
            matches=tuple(gold for rank, gold in matched if rank == doc.rank),
            finds=tuple(gold for gold, rank in sorted(first.items()) if rank == doc.rank),
        )
        for doc in docs
    )
    searched = _searched(answer, matched)
    settings, answerable = matcher.settings, item.query.answerable
    return Explanation(*query, settings, golds, docs, pairs, answerable, *searched, asks=asks)


def _searched(
    answer: Retrieved | None, matched: Iterable[tuple[int, int]]
) -> tuple[tuple[ExplainedSearch, ...], tuple[int, ...] | None, str | None]:
    """The searches of an answer, what was read of them, and why it failed.

    Args:
        answer: what somebody got.
        matched: numbers of a document and a gold item, both from 1, that match.
    """
    if answer is None or not answer.searches:
        return (), None, None if answer is None else answer.error
    golds: dict[int, list[int]] = {}
    for doc, gold in matched:
        golds.setdefault(doc, []).append(gold)
    docs = {key: rank for rank, key in enumerate(numbered_docs(answer), start=1)}
    read = answer.of("read") if answer.error is None else None
    numbers = (
        None if read is None else tuple(docs[key] for doc in read if (key := key_of(doc)) in docs)
    )
    return explained_searches(answer.searches, docs, golds), numbers, answer.error


def _item(source: Source, query_id: str, profile: Profile) -> tuple[MatchItem, Retrieved | None]:
    """The query of an id with what was retrieved; of searches each document once."""
    query, answer = _of_id(source, query_id)
    item = match_item(query, answer)
    if answer is None or not answer.searches:
        return arranged(item, profile), answer
    # Who failed has an empty list, and what was searched before is explained all the same.
    return MatchItem(query, tuple(numbered_docs(answer).values())), answer


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
    alike = {candidate: SequenceMatcher(None, candidate, query_id).ratio() for candidate in ids}
    likeliest = sorted(ids, key=alike.__getitem__, reverse=True)[:3]
    close = [repr(candidate) for candidate in likeliest if alike[candidate] >= 0.5]
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
        verdict: dict[str, Any] = (
            {} if judged is None else {"grade": judged.grade, "reason": judged.text or None}
        )
        yield replace(explained, **verdict)


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
                    near=any(_distance(leaf) <= within for leaf in _scored(reason)),
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
