"""`Explanation`: why each document of one query matched its gold or did not, and how it is told."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from kragx.data import Status
from kragx.evaluation.wording import method_label
from kragx.ground.json_values import IF_KNOWN
from kragx.ground.printing import (
    Heading,
    Line,
    Part,
    Result,
    Table,
    joined,
    message,
    number,
    warning,
)
from kragx.matchers.reasons import Reason

Spans = tuple[tuple[int, int], ...]

_LONGEST = 400
"""Characters of a text that are told unless all is asked for."""

_AROUND = 60
_INDENT = 3
_STATUS = {
    "missing": message("the run has no answer to this query"),
    "failed": message("the retriever failed at this query"),
}
_VERDICTS = {
    "match": message("-> match"),
    "no match": message("-> no match"),
    "unknown": message("-> unknown"),
    "open": message("-> left open"),
}


@dataclass(frozen=True)
class Pair:
    """A retrieved document and a gold item.

    Attributes:
        rank, gold: which, both from 1.
        reason: why they match or do not.
        scores: what each built-in matcher gives them that asks no model, by name.
        doc_spans, gold_spans: where they share words, in the texts as they stand here.
    """

    also_plain: ClassVar[tuple[str, ...]] = ("matched",)

    rank: int
    gold: int
    reason: Reason
    scores: Mapping[str, float | None]
    doc_spans: Spans
    gold_spans: Spans

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
        error: why the retriever failed at it; None where it did not.

    Examples:
        >>> from kragx import explain
        >>> gold, found = [["the red door"]], [["the red door of the house"]]
        >>> explanation = explain(gold, found, query_id="q1")
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
    error: str | None = field(default=None, metadata=IF_KNOWN)

    def pair(self, rank: int, gold: int) -> Pair:
        """The pair of a rank and a gold item, both from 1."""
        return self.pairs[(rank - 1) * len(self.gold) + gold - 1]

    def describe(self, *, full: bool = False) -> Iterator[Part]:
        """The gold, then each document with why it matches or does not, its shared words marked.

        Long texts are cut to what is around the first mark; `full` shows all of them.
        """
        status = _STATUS.get(self.status)
        title = message("{retriever}, query {query}", retriever=self.retriever, query=self.query_id)
        parts: tuple[Part | None, ...] = (
            Heading(title),
            Line(self.query) if self.query else None,
            Line(message("match: {match}", match=method_label(self.match))),
            warning(joined(": ", [status, self.error or ""])) if status else None,
            *(line for gold in self.gold for line in _gold_lines(gold, full=full)),
            Line(
                message(
                    "this query is marked unanswerable: what is retrieved for it answers nothing"
                )
            )
            if self.answerable is False
            else None
            if self.gold
            else Line(message("this query has no gold")),
            None if self.retrieved else _block(message("nothing was retrieved")),
            *(part for doc in self.retrieved for part in self._doc_parts(doc, full=full)),
        )
        yield from filter(None, parts)

    def _doc_parts(self, doc: ExplainedDoc, *, full: bool) -> Iterator[Part]:
        """A document, its text, why it matches each gold item, and what others say of that."""
        verdict = _verdict(doc) if self.gold else ""
        head = joined(" ", [f"\n{doc.rank}.{_id(doc.id)}", verdict])
        yield Line(head, "bold green" if doc.matches else "bold")
        if doc.reason is not None or doc.grade is not None:
            grade = message("not known") if doc.grade is None else str(doc.grade)
            label = message("the judge's grade of relevance: {grade}", grade=grade)
            yield Line(joined(": ", [label, doc.reason or ""]), indent=_INDENT)
        pairs = [self.pair(doc.rank, gold.number) for gold in self.gold]
        # Marked are the shared words of the matches, else of the likeliest pair.
        likeliest = sorted(pairs, key=lambda pair: sum(a - b for a, b in pair.doc_spans))[:1]
        marked = [pair for pair in pairs if pair.matched] or likeliest
        yield from _text(doc.text, merged(s for pair in marked for s in pair.doc_spans), full=full)
        for pair in pairs:
            label = message("gold {n}", n=pair.gold)
            yield from (Line(why, indent=_INDENT) for why in _why(pair.reason, label))
        if pairs:
            rows = [[f"{pair.gold}", *map(number, pair.scores.values())] for pair in pairs]
            yield Table([message("gold"), *pairs[0].scores], rows)


def _block(text: str, style: str = "") -> Line:
    """A line with an empty one above it."""
    return Line(joined("", ["\n", text]), style)


def _id(value: str | None) -> str:
    return "" if value is None else f" [{value}]"


def _listed(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, numbers))


def _gold_lines(gold: ExplainedGold, *, full: bool) -> Iterator[Line]:
    """A gold item, and where it was found, if it was; and its text."""
    place = (
        message("not found")
        if gold.found_at is None
        else message("found at rank {rank}", rank=gold.found_at)
    )
    head = message(
        "gold {n}{id}: {where}" if gold.grade == 1.0 else "gold {n}{id}, grade {grade:g}: {where}",
        n=gold.number,
        id=_id(gold.id),
        grade=gold.grade,
        where=place,
    )
    yield _block(head, "bold")
    yield from _text(gold.text, (), full=full)


def _verdict(doc: ExplainedDoc) -> str:
    return message(
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
        "" if reject is None else message("none below {limit:g}", limit=reject),
        "" if accept is None else message("match from {limit:g}", limit=accept),
    ]
    limits = joined("; ", of_limits)
    far = "" if distance is None else message("{distance:+.4f} from the limit", distance=distance)
    head = [f"{'  ' * depth}{reason.method}:"] if depth else [label, f": {reason.method}"]
    if limits or not reason.parts:  # of a combination without a limit the score says nothing
        head += [" ", message("not known") if reason.score is None else number(reason.score)]
    head += [" (", joined(", ", [limits, far]), ")"] if limits else []
    decides = message(", decides") if depth and reason.decides else ""
    text = "" if reason.text is None else joined("", [": ", reason.text])
    yield joined("", [*head, " ", _VERDICTS[reason.verdict], decides, text])
    for part in reason.parts:
        yield from _why(part, label, depth + 1)


def merged(spans: Iterable[tuple[int, int]]) -> Spans:
    """Spans in ascending order, those in one that overlap or touch."""
    disjoint: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        first, last = disjoint.pop() if disjoint and start <= disjoint[-1][1] else (start, end)
        disjoint.append((first, max(last, end)))
    return tuple(disjoint)
