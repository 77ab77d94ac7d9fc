"""`Explanation`: why each document of one query matches its gold, or does not."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
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
        heading = phrase(
            "{retriever}, query {query}", retriever=self.retriever, query=self.query_id
        )
        yield Heading(heading)
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
            yield Line(_below(head), "bold")
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
            yield Line(_below(phrase("nothing was retrieved")))
        for doc in self.retrieved:
            yield from self._describe_doc(doc, full=full)
        yield from self._describe_limits()

    def _describe_doc(self, doc: ExplainedDoc, *, full: bool) -> Iterator[Part]:
        verdict = _verdict(doc) if self.gold else ""
        style = "bold green" if doc.matches else "bold"
        yield Line(_below(joined(" ", [f"{doc.rank}.{_id(doc.id)}", verdict])), style)
        if doc.reason is not None or doc.grade is not None:
            grade = phrase("not known") if doc.grade is None else str(doc.grade)
            said = phrase("the judge's grade of relevance: {grade}", grade=grade)
            yield Line(joined(": ", [said, doc.reason or ""]), indent=_INDENT)
        pairs = [self.pair(doc.rank, gold.number) for gold in self.gold]
        spans = merged(span for pair in _explaining(pairs) for span in pair.doc_spans)
        yield from _text(doc.text, spans, full=full)
        for pair in pairs:
            for line in _why(pair.reason, phrase("gold {n}", n=pair.gold)):
                yield Line(line, indent=_INDENT)
        methods = [
            name for name, score in (pairs[0].scores if pairs else {}).items() if not score.problem
        ]
        if methods:
            rows: list[list[str | Cell]] = [
                [
                    phrase("gold {n}", n=pair.gold),
                    *(_score_cell(pair.scores[name]) for name in methods),
                ]
                for pair in pairs
            ]
            yield Table(["", *methods], rows)

    def _describe_limits(self) -> Iterator[Part]:
        """What the scores of other matchers mean or why there are none, and what is near."""
        scores = {name: score for pair in self.pairs for name, score in pair.scores.items()}
        if scores:
            yield Line(_below(phrase("*: a match of that matcher, by its usual threshold")))
        unasked = [name for name, score in scores.items() if score.problem is not None]
        if unasked:
            names = ", ".join(unasked)
            yield Line(
                phrase("have nothing to go by here: {names} (--match says why)", names=names), "dim"
            )
        for pair in self.pairs:
            if pair.near:
                said = pair.reason.deciding()
                leaves = [leaf for leaf in said if leaf.score and leaf.distance is not None]
                leaf = min(leaves, key=lambda leaf: abs(leaf.distance or 0.0))
                limit = (leaf.score or 0.0) - (leaf.distance or 0.0)
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
                        limit=limit,
                    )
                )


def _explaining(pairs: Sequence[Pair]) -> Sequence[Pair]:
    """The pairs whose shared words are marked: the matches, else the likeliest."""
    likeliest = sorted(pairs, key=lambda pair: sum(start - end for start, end in pair.doc_spans))
    return [pair for pair in pairs if pair.matched] or likeliest[:1]


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


def _below(text: str) -> str:
    """A text with an empty line above it."""
    return joined("", ["\n", text])


def _id(value: str | None) -> str:
    return "" if value is None else f" [{value}]"


def _why(reason: Reason, label: str, depth: int = 0) -> Iterator[str]:
    """A line for the matcher and, of a combination, for each member that was asked."""
    score = phrase("not known") if reason.score is None else number(reason.score)
    reject, accept, distance = reason.reject, reason.accept, reason.distance
    limits = joined(
        "; ",
        [
            "" if reject is None else phrase("none below {limit:g}", limit=reject),
            "" if accept is None else phrase("match from {limit:g}", limit=accept),
        ],
    )
    far = "" if distance is None else phrase("{distance:+.4f} from the limit", distance=distance)
    decided_by = ["", " (", joined(", ", [limits, far]), ")"] if limits else []
    text = "" if reason.text is None else joined("", [": ", reason.text])
    decides = phrase(", decides") if depth and reason.decides else ""
    head = [f"{'  ' * depth}{reason.method}:"] if depth else [label, f": {reason.method}"]
    # The score of a combination that has no limit of its own says nothing.
    scored = [] if reason.parts and not limits else [" ", score, *decided_by]
    yield joined("", [*head, *scored, " ", _VERDICTS[reason.verdict], decides, text])
    for part in reason.parts:
        yield from _why(part, label, depth + 1)


def _score_cell(score: Score) -> Cell:
    mark = "*" if score.matched else " "
    return Cell(f"{number(score.score)}{mark}", "bold" if score.matched else "")


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
