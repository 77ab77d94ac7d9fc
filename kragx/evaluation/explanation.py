"""`Explanation`: why each document of one query matches its gold, or does not."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import inf
from typing import Any, ClassVar

from kragx.data import Status
from kragx.evaluation.wording import method_label
from kragx.matchers.reasons import Reason
from kragx.metrics.threshold import matches
from kragx.printing import Cell, Heading, Line, Part, Result, Table, joined, number, phrase, warning

Spans = tuple[tuple[int, int], ...]

_LONGEST = 400  # characters of a text, unless all of it is asked for
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
        retrieved: the documents as they were retrieved; texts in NFC.
        pairs: of every document with every gold item, by rank, then gold.
        answerable: what the gold set says of it.

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
        yield Line(phrase("match: {match}", match=method_label(self.match)))
        if self.status in _STATUS:
            yield warning(_STATUS[self.status])
        for gold in self.gold:
            where = phrase(
                "not found" if gold.found_at is None else "found at rank {rank}",
                rank=gold.found_at,
            )
            head = phrase(
                "gold {n}{id}: {where}"
                if gold.grade == 1.0
                else "gold {n}{id}, grade {grade:g}: {where}",
                n=gold.number,
                id=_id(gold.id),
                grade=gold.grade,
                where=where,
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
        if not self.retrieved:
            yield Line(joined("", ["\n", phrase("nothing was retrieved")]))
        for doc in self.retrieved:
            yield from self._describe_doc(doc, full=full)
        yield from self._describe_limits()

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
                leaves = [leaf for leaf in pair.reason.deciding() if leaf.score]
                leaf = min(leaves, key=lambda leaf: abs(inf if (d := leaf.distance) is None else d))
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


def merged(spans: Iterable[tuple[int, int]]) -> Spans:
    """Spans in ascending order, those in one that overlap or touch."""
    apart: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        first, last = apart.pop() if apart and start <= apart[-1][1] else (start, end)
        apart.append((first, max(last, end)))
    return tuple(apart)


def _text(text: str | None, spans: Spans, *, full: bool) -> Iterator[Line]:
    """The text with its spans marked; of a long one what is around them, or its beginning."""
    if text is None:
        return
    first, last = 0, len(text)
    if not full and len(text) > _LONGEST:
        first = max(0, spans[0][0] - _AROUND) if spans else 0
        last = min(len(text), first + _LONGEST)
    before = "... " if first else ""
    shown = "".join(" " if letter.isspace() else letter for letter in text[first:last])
    offset = len(before) - first
    marks = tuple(
        (max(start, first) + offset, min(end, last) + offset)
        for start, end in spans
        if max(start, first) < min(end, last)
    )
    after = " ..." if last < len(text) else ""
    yield Line(f"{before}{shown}{after}", marks=marks, indent=_INDENT)
