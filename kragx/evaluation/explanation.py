"""`Explanation`: why each document of one query matched its gold or did not, and how it is told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Any, ClassVar

from kragx.data import Status
from kragx.evaluation.wording import method_label
from kragx.ground.json_values import IF_KNOWN
from kragx.ground.printing import (
    Cell,
    Heading,
    Line,
    Part,
    Result,
    Table,
    joined,
    number,
    phrase,
    warning,
)
from kragx.matchers.reasons import Reason
from kragx.metrics.threshold import matches

Spans = tuple[tuple[int, int], ...]

_LONGEST, _MANY = 400, 10
"""Characters of a text, and documents of searches, that are told unless all is asked for."""

_AROUND = 60
_INDENT = 3
_STATUS = {
    "missing": phrase("the run has no answer to this query"),
    "failed": phrase("the retriever failed at this query"),
}
_VERDICTS = {
    "match": phrase("-> match"),
    "no match": phrase("-> no match"),
    "unknown": phrase("-> unknown"),
    "open": phrase("-> left open"),
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
class ExplainedSearch:
    """One search, and what of the gold it brought.

    Attributes:
        step: from 1 on; those side by side have the same.
        query, tool: what was asked for, and by what.
        documents: what came, by the numbers of the explanation's documents, from 1; None where it
            gave no documents, or failed.
        finds: gold items, from 1, that no step before had brought.
        again: gold items that one had.
        seconds, tokens: what it took; None if nobody says.
        error: why it failed.
        is_retry: whether the one before failed, and was tried again in the same words.
    """

    step: int
    query: str | None
    tool: str | None
    documents: tuple[int, ...] | None
    finds: tuple[int, ...] = ()
    again: tuple[int, ...] = ()
    seconds: float | None = None
    tokens: int | None = None
    error: str | None = None
    is_retry: bool = False


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
    error: str | None = field(default=None, metadata=IF_KNOWN)
    asks: float | None = field(default=None, metadata=IF_KNOWN)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; of searches where there are any, and the error of what failed."""
        hidden = () if self.searches else ("searches", "read")
        return {name: value for name, value in super().to_dict().items() if name not in hidden}

    def pair(self, rank: int, gold: int) -> Pair:
        """The pair of a rank and a gold item, both from 1."""
        return self.pairs[(rank - 1) * len(self.gold) + gold - 1]

    def describe(self, *, full: bool = False) -> Iterator[Part]:
        """The gold, then each document with why it matches or does not, its shared words marked.

        Long texts are cut to what is around the first mark; `full` shows all of them.
        """
        told = self.retrieved if full else self._worth_telling()
        n_left, asks, status = len(self.retrieved) - len(told), self.asks, _STATUS.get(self.status)
        title = phrase("{retriever}, query {query}", retriever=self.retriever, query=self.query_id)
        left_out = phrase("documents that match nothing, left out: {n} (--full)", n=n_left)
        parts: tuple[Part | None, ...] = (
            Heading(title),
            Line(self.query) if self.query else None,
            Line(phrase("asks that it stands for: {asks:g}", asks=asks), "dim") if asks else None,
            Line(phrase("match: {match}", match=method_label(self.match))),
            warning(joined(": ", [status, self.error or ""])) if status else None,
            *(line for gold in self.gold for line in _gold_lines(gold, self.searches, full=full)),
            Line(
                phrase(
                    "this query is marked unanswerable: what is retrieved for it answers nothing"
                )
            )
            if self.answerable is False
            else None
            if self.gold
            else Line(phrase("this query has no gold")),
            *(_search_lines(self.searches, self.read) if self.searches else ()),
            None if self.searches or self.retrieved else _block(phrase("nothing was retrieved")),
            *(part for doc in told for part in self._doc_parts(doc, full=full)),
            _block(left_out, "dim") if n_left else None,
            *_limits(self.pairs),
        )
        yield from filter(None, parts)

    def _worth_telling(self) -> tuple[ExplainedDoc, ...]:
        """The documents of a list; of many searches those that match, nearly do, or were read."""
        if not self.searches or len(self.retrieved) <= _MANY:
            return self.retrieved
        near = {pair.rank for pair in self.pairs if pair.near} | {*(self.read or ())}
        return tuple(doc for doc in self.retrieved if doc.matches or doc.rank in near)

    def _doc_parts(self, doc: ExplainedDoc, *, full: bool) -> Iterator[Part]:
        """A document, its text, why it matches each gold item, and what others say of that."""
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
        labels = [phrase("gold {n}", n=pair.gold) for pair in pairs]
        for label, pair in zip(labels, pairs):
            yield from (Line(why, indent=_INDENT) for why in _why(pair.reason, label))
        scores = pairs[0].scores if pairs else {}
        # A matcher without anything to go by has no score in any pair: the first one tells.
        if methods := [name for name, score in scores.items() if not score.problem]:
            cells = [[_cell(pair.scores[name]) for name in methods] for pair in pairs]
            rows: list[list[str | Cell]] = [[label, *row] for label, row in zip(labels, cells)]
            yield Table(["", *methods], rows)


def _block(text: str, style: str = "") -> Line:
    """A line with an empty one above it."""
    return Line(joined("", ["\n", text]), style)


def _id(value: str | None) -> str:
    return "" if value is None else f" [{value}]"


def _listed(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, numbers))


def _cell(score: Score) -> Cell:
    """A score as a table shows it: a match with a star, in bold."""
    mark, style = ("*", "bold") if score.matched else (" ", "")
    return Cell(f"{number(score.score)}{mark}", style)


def _gold_lines(
    gold: ExplainedGold, searches: Iterable[ExplainedSearch], *, full: bool
) -> Iterator[Line]:
    """A gold item, and where it was found, if it was; and its text."""
    step = next((search.step for search in searches if gold.number in search.finds), None)
    place = (
        phrase("not found")
        if gold.found_at is None
        else phrase("found at rank {rank}", rank=gold.found_at)
        if step is None
        else phrase("found by step {n}", n=step)
    )
    head = phrase(
        "gold {n}{id}: {where}" if gold.grade == 1.0 else "gold {n}{id}, grade {grade:g}: {where}",
        n=gold.number,
        id=_id(gold.id),
        grade=gold.grade,
        where=place,
    )
    yield _block(head, "bold")
    yield from _text(gold.text, (), full=full)


def _verdict(doc: ExplainedDoc) -> str:
    return phrase(
        "no match"
        if not doc.matches
        else "matches gold {numbers}, but stood above already: not counted again"
        if doc.repeated
        else "matches gold {numbers}"
        if doc.finds
        else "matches gold {numbers}, found above already",
        numbers=_listed(doc.matches),
    )


def _text(text: str | None, spans: Spans, *, full: bool) -> Iterator[Line]:
    """The text with its spans marked; of a long one what is around them, or its beginning."""
    if text is None:
        return
    first, last = 0, len(text)
    if not full and last > _LONGEST:
        first = max(0, spans[0][0] - _AROUND) if spans else 0
        last = min(last, first + _LONGEST)
    before, after = "... " if first else "", " ..." if last < len(text) else ""
    # A blank for each: white space that is drawn together would move the marks behind it.
    excerpt = "".join(" " if letter.isspace() else letter for letter in text[first:last])
    offset = len(before) - first
    marks = tuple(
        (max(start, first) + offset, min(end, last) + offset)
        for start, end in spans
        if max(start, first) < min(end, last)
    )
    yield Line(f"{before}{excerpt}{after}", marks=marks, indent=_INDENT)


def _why(reason: Reason, label: str, depth: int = 0) -> Iterator[str]:
    """A line for the matcher and, of a combination, for each member that was asked."""
    reject, accept, distance = reason.reject, reason.accept, reason.distance
    of_limits = [
        "" if reject is None else phrase("none below {limit:g}", limit=reject),
        "" if accept is None else phrase("match from {limit:g}", limit=accept),
    ]
    limits = joined("; ", of_limits)
    far = "" if distance is None else phrase("{distance:+.4f} from the limit", distance=distance)
    head = [f"{'  ' * depth}{reason.method}:"] if depth else [label, f": {reason.method}"]
    if limits or not reason.parts:  # of a combination without a limit the score says nothing
        head += [" ", phrase("not known") if reason.score is None else number(reason.score)]
    head += [" (", joined(", ", [limits, far]), ")"] if limits else []
    decides = phrase(", decides") if depth and reason.decides else ""
    text = "" if reason.text is None else joined("", [": ", reason.text])
    yield joined("", [*head, " ", _VERDICTS[reason.verdict], decides, text])
    for part in reason.parts:
        yield from _why(part, label, depth + 1)


def _limits(pairs: Iterable[Pair]) -> Iterator[Line]:
    """What the scores of other matchers mean or why there are none, and what is near."""
    scores = {name: score for pair in pairs for name, score in pair.scores.items()}
    names = ", ".join(name for name, score in scores.items() if score.problem is not None)
    near = [pair for pair in pairs if pair.near]
    # Of a combination the member nearest to its limit is what makes the pair a near one.
    leaves = [min(scored_reasons(pair.reason), key=distance_of) for pair in near]
    lines = (
        _block(phrase("*: a match of that matcher, by its usual threshold")) if scores else None,
        Line(phrase("have nothing to go by here: {names} (--match says why)", names=names), "dim")
        if names
        else None,
        *(
            warning(
                phrase(
                    "a near match: rank {rank}, gold {n}: {method} {score}, limit {limit:g}"
                    if pair.matched
                    else "a near miss: rank {rank}, gold {n}: {method} {score}, limit {limit:g}",
                    rank=pair.rank,
                    n=pair.gold,
                    method=leaf.method,
                    score=number(leaf.score),
                    limit=leaf.limit,
                )
            )
            for pair, leaf in zip(near, leaves)
        ),
    )
    yield from filter(None, lines)


def scored_reasons(reason: Reason) -> list[Reason]:
    """What decides and has a score: a limit is above 0, so 0 is short of any."""
    return [leaf for leaf in reason.deciding() if leaf.score]


def distance_of(leaf: Reason) -> float:
    """How far a score is from its limit, on either side."""
    return inf if leaf.distance is None else abs(leaf.distance)


def merged(spans: Iterable[tuple[int, int]]) -> Spans:
    """Spans in ascending order, those in one that overlap or touch."""
    disjoint: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        first, last = disjoint.pop() if disjoint and start <= disjoint[-1][1] else (start, end)
        disjoint.append((first, max(last, end)))
    return tuple(disjoint)


def _search_lines(
    searches: Iterable[ExplainedSearch], read: tuple[int, ...] | None
) -> Iterator[Line]:
    """All searches, each by its words, what came and what of that was gold; and what was read."""
    # A retry came after the search that failed, and so beside nothing.
    n_lanes = Counter(search.step for search in searches if not search.is_retry)
    for search in searches:
        n_beside = n_lanes[search.step] - 1
        step = phrase(
            "step {n}, beside {beside} more" if n_beside else "step {n}",
            n=search.step,
            beside=n_beside,
        )
        again = joined("", [", ", phrase("tried again")]) if search.is_retry else ""
        words = phrase("words not known") if search.query is None else f"“{search.query}”"
        head = joined("", [step, again, ": ", words, _id(search.tool or None)])
        yield _block(head, "bold green" if search.finds else "bold")
        yield Line(joined("; ", _search_facts(search)), indent=_INDENT)
    yield _block(
        phrase("what was read is not known")
        if read is None
        else phrase("read: documents {numbers}", numbers=_listed(read))
        if read
        else phrase("nothing was read")
    )


def _search_facts(search: ExplainedSearch) -> list[str]:
    """What came of a search, and what it took; empty texts for what is not there."""
    docs, finds, again = search.documents, search.finds, search.again
    came = (
        phrase("failed: {error}", error=search.error)
        if search.error is not None
        else phrase("gave no documents: not measured")
        if docs is None
        else phrase("documents {numbers}", numbers=_listed(docs))
        if docs
        else phrase("found nothing")
    )
    return [
        came,
        phrase("new: gold {numbers}", numbers=_listed(finds)) if finds else "",
        phrase("again: gold {numbers}", numbers=_listed(again)) if again else "",
        phrase("no gold") if docs and not (finds or again) else "",
        "" if search.tokens is None else phrase("{n:,} tokens", n=search.tokens),
        "" if search.seconds is None else phrase("{n:.3g} s", n=search.seconds),
    ]
