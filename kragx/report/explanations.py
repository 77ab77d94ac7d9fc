"""An explanation for a terminal: documents with shared words marked, scores beside them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Column, Table
from rich.text import Text

from kragx.evaluation.explain import ExplainedDoc, Explanation, Pair
from kragx.evaluation.highlights import Spans
from kragx.matchers.reasons import Reason
from kragx.report.rows import method_label, number

_LONGEST = 400  # characters of a text, unless all of it is asked for
_AROUND = 60
_MARK = "bold green"
_STATUS = {
    "missing": "the run has no answer to this query",
    "failed": "the retriever failed at this query",
}


def print_explanation(found: Explanation, out: Console, *, full: bool = False) -> None:
    """Print one query: its gold, then each document with why it matches or does not.

    Words that a document shares with a gold item it is explained by are in colour; where there is
    none (a pipe, NO_COLOR), they stand in «marks».
    """
    colour = out.is_terminal and not out.no_color
    out.print(Text(f"{found.run}, query {found.query_id}", style="bold"), soft_wrap=True)
    if found.query:
        out.print(Text(found.query), soft_wrap=True)
    out.print(Text(f"match: {method_label(found.match)}"), soft_wrap=True)
    if found.status in _STATUS:
        out.print(Text(_STATUS[found.status], style="yellow"))
    for gold in found.golds:
        where = "not found" if gold.found_at is None else f"found at rank {gold.found_at}"
        grade = "" if gold.grade == 1.0 else f", grade {gold.grade:g}"
        out.print(Text(f"\ngold {gold.number}{_id(gold.id)}{grade}: {where}", style="bold"))
        if gold.text is not None:
            out.print(_indented(_marked(gold.text, (), colour=colour, full=full)))
    if not found.golds:
        out.print(Text("this query has no gold"))
    if not found.docs:
        out.print(Text("\nnothing was retrieved"))
    for doc in found.docs:
        _print_doc(found, doc, out, colour=colour, full=full)
    _print_near(found, out)


def _print_doc(
    found: Explanation, doc: ExplainedDoc, out: Console, *, colour: bool, full: bool
) -> None:
    out.print()
    style = "bold green" if doc.matches else "bold"
    what = _what(doc) if found.golds else ""
    out.print(Text(f"{doc.rank}.{_id(doc.id)} {what}".rstrip(), style=style), soft_wrap=True)
    pairs = [found.pair(doc.rank, gold.number) for gold in found.golds]
    if doc.said is not None or doc.grade is not None:
        grade = "not known" if doc.grade is None else str(doc.grade)
        said = "" if doc.said is None else f": {doc.said}"
        out.print(Text(f"   the judge's grade of relevance: {grade}{said}"), soft_wrap=True)
    if doc.text is not None:
        spans = _merged([span for pair in _worth(pairs) for span in pair.doc_spans])
        out.print(_indented(_marked(doc.text, spans, colour=colour, full=full)))
    for pair in pairs:
        for line in _why(pair.reason, f"gold {pair.gold}"):
            out.print(Text("   " + line), soft_wrap=True)
    if pairs and pairs[0].scores:
        for table in _scores(pairs, out):
            out.print(_indented(table))


def _worth(pairs: Sequence[Pair]) -> Sequence[Pair]:
    """The pairs whose shared words are marked: the matches, else the likeliest."""
    matches = [pair for pair in pairs if pair.matched]
    if matches or not pairs:
        return matches
    return [max(pairs, key=lambda pair: sum(end - start for start, end in pair.doc_spans))]


def _what(doc: ExplainedDoc) -> str:
    if not doc.matches:
        return "no match"
    listed = ", ".join(map(str, doc.matches))
    if doc.repeated:
        return f"matches gold {listed}, but stood above already: not counted again"
    known = "" if doc.finds else ", found above already"
    return f"matches gold {listed}{known}"


def _id(value: str | None) -> str:
    return "" if value is None else f" [{value}]"


def _why(reason: Reason, label: str, depth: int = 0) -> list[str]:
    """A line for the matcher and, of a combination, for each member that was asked."""
    score = "not known" if reason.score is None else number(reason.score)
    limits = []
    if reason.reject is not None:
        limits.append(f"none below {reason.reject:g}")
    if reason.accept is not None:
        limits.append(f"match from {reason.accept:g}")
    far = "" if reason.distance is None else f", {reason.distance:+.4f} from the limit"
    told = f" ({'; '.join(limits)}{far})" if limits else ""
    said = "" if reason.text is None else f": {reason.text}"
    decides = ", decides" if depth and reason.decides else ""
    head = "  " * depth + (label if not depth else reason.method)
    own = f" {reason.method}" if not depth else ""
    verdict = "left open" if reason.verdict == "open" else reason.verdict
    if reason.parts and not limits:
        lines = [f"{head}:{own} -> {verdict}{decides}"]
    else:
        lines = [f"{head}:{own} {score}{told} -> {verdict}{decides}{said}"]
    for part in reason.parts:
        lines += _why(part, label, depth + 1)
    return lines


def _scores(pairs: Sequence[Pair], out: Console) -> Iterator[Table]:
    """The scores of other matchers, in as many tables as the width needs."""
    names = [name for name, score in pairs[0].scores.items() if score.problem is None]
    while names:
        n = len(names)
        while n > 1 and _width(_table(pairs, names[:n]), out) > out.width:
            n -= 1
        yield _table(pairs, names[:n])
        names = names[n:]


def _width(table: Table, out: Console) -> int:
    wide = out.options.update(width=10_000)
    return Measurement.get(out, wide, _indented(table)).maximum


def _table(pairs: Sequence[Pair], names: Sequence[str]) -> Table:
    columns = (Column(Text(name), justify="right", no_wrap=True) for name in names)
    table = Table(Column("", no_wrap=True), *columns, box=None)
    for pair in pairs:
        cells = []
        for name in names:
            score = pair.scores[name]
            mark = "*" if score.matches else " "
            cells.append(
                Text(f"{number(score.value)}{mark}", style="bold" if score.matches else "")
            )
        table.add_row(Text(f"gold {pair.gold}"), *cells)
    return table


def _print_near(found: Explanation, out: Console) -> None:
    if any(pair.scores for pair in found.pairs):
        out.print(Text("\n*: a match of that matcher, by its usual threshold"))
    for name, problem in _problems(found).items():
        out.print(Text(f"{name}: {problem}", style="dim"), soft_wrap=True)
    for pair in found.pairs:
        if pair.near:
            kind = "a near match" if pair.matched else "a near miss"
            close = [leaf for leaf in pair.reason.deciding() if leaf.distance is not None]
            nearest = min(close, key=lambda leaf: abs(leaf.distance or 0.0))
            limit = (nearest.score or 0.0) - (nearest.distance or 0.0)
            out.print(
                Text(
                    f"{kind}: rank {pair.rank}, gold {pair.gold}: {nearest.method} "
                    f"{number(nearest.score)}, limit {limit:g}",
                    style="yellow",
                ),
                soft_wrap=True,
            )


def _problems(found: Explanation) -> dict[str, str]:
    """Why other matchers have no score here, each once."""
    return {
        name: score.problem
        for pair in found.pairs
        for name, score in pair.scores.items()
        if score.problem is not None
    }


def _merged(spans: Sequence[tuple[int, int]]) -> Spans:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return tuple(merged)


def _marked(text: str, spans: Spans, *, colour: bool, full: bool) -> Text:
    """The text with its spans marked; of a long one what is around them, or its beginning."""
    first, last = 0, len(text)
    if not full and len(text) > _LONGEST:
        first = max(0, spans[0][0] - _AROUND) if spans else 0
        last = min(len(text), first + _LONGEST)
    shown = Text()
    shown.append("" if not first else "... ")
    at = first
    for start, end in spans:
        start, end = max(start, first), min(end, last)  # noqa: PLW2901  # cut to what is shown
        if start >= end:
            continue
        shown.append(_flat(text[at:start]))
        inside = _flat(text[start:end])
        shown.append(inside if colour else f"«{inside}»", style=_MARK if colour else "")
        at = end
    shown.append(_flat(text[at:last]))
    shown.append("" if last == len(text) else " ...")
    return shown


def _indented(what: Text | Table) -> Padding:
    return Padding(what, (0, 0, 0, 3), expand=False)


def _flat(text: str) -> str:
    return "".join(" " if letter.isspace() else letter for letter in text)
