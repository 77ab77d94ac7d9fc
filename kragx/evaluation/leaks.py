"""What came though it must not: which documents for which questions, and what reports say of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from kragx.data import Query
from kragx.data.formats.jsonl import to_json
from kragx.data.rules import RuleSet
from kragx.ground.json_values import to_jsonable
from kragx.ground.printing import Line, Part, Table, joined, message, visible
from kragx.metrics import Ints, Metric, MetricScores, MetricSpec
from kragx.metrics.evidence import ForbiddenMarks
from kragx.metrics.leaks import LEAK, LEAKED, STALE_FIRST

EXAMPLES = 3
"""How many leaks the screen names."""

LEAKING = "bold red"
"""The style of a line that says so."""

MOST = 100
"""How many the report in Markdown does."""


@dataclass(frozen=True)
class Leak:
    """One document that came though it must not.

    Attributes:
        query_id: for which question.
        rank: where it stands, from 1 on.
        document: its id, or without one the beginning of its text; None where that is not known.
        kinds: as what it is forbidden; ``stale_first``: it is an old version, and no newer one
            stands above it.
        rules: the rules of these names.
    """

    query_id: str
    rank: int
    document: str | None
    kinds: tuple[str, ...]
    rules: Mapping[str, Any]

    @property
    def text(self) -> str:
        """Where it stands, and why it must not."""
        return message(
            "{query}: {document} at rank {rank} ({kinds})",
            query=visible(self.query_id),
            document=visible(self.document or "?"),
            rank=self.rank,
            kinds=visible(", ".join(self.kinds)),
        )


@dataclass(frozen=True)
class LeakReport:
    """What a retriever let through, as reports tell it.

    Attributes:
        name: the retriever's.
        scores: of its metrics.
        ends: the interval of each mean, as people read it.
        leaks: question by question, by rank.
        n_probes: how many questions only ask for what must not be found.
    """

    name: str
    scores: Sequence[MetricScores]
    ends: Mapping[str, str]
    leaks: Sequence[Leak]
    n_probes: int


def joined_leaks(several: Iterable[Sequence[Leak]], query_ids: Sequence[str]) -> tuple[Leak, ...]:
    """The leaks of several runs, those of any of them, question by question, by rank."""
    leaks = chain.from_iterable(several)
    row_of = {query_id: row for row, query_id in enumerate(query_ids)}
    distinct = {(leak.query_id, leak.rank, leak.document): leak for leak in leaks}.values()
    return tuple(sorted(distinct, key=lambda leak: (row_of[leak.query_id], leak.rank)))


def leaks_of(
    marks: ForbiddenMarks,
    doc_start: Ints,
    specs: Sequence[MetricSpec],
    query_ids: Sequence[str],
    rules: Mapping[str, Any],
) -> Iterator[Leak]:
    """The leaks of one run that its metrics see.

    Args:
        marks: of the documents.
        doc_start: (q + 1) where the list of each question begins among them.
        specs: the metrics, which say how far down they look.
        query_ids: (q) the questions.
        rules: by the kinds that they are of.
    """
    names = (*marks.kinds, STALE_FIRST.name)
    deep = _depth(specs, LEAK.name, LEAKED.name)
    depths = [*(deep for _ in marks.kinds), _depth(specs, STALE_FIRST.name)]
    docs = np.flatnonzero((marks.mark > 0).any(axis=1))
    # The last list to begin there or before; `right` passes over empty ones that do, too.
    queries = np.searchsorted(doc_start, docs, side="right") - 1
    for doc, query, rank in zip(
        docs.tolist(), queries.tolist(), (docs - doc_start[queries]).tolist()
    ):
        marked = zip(names, marks.mark[doc].tolist(), depths)
        if kinds := tuple(name for name, mark, depth in marked if mark > 0 and rank < depth):
            by_rule = {kind: rules[kind] for kind in kinds if kind in rules}
            yield Leak(query_ids[query], rank + 1, marks.names.get(doc), kinds, by_rule)


def may_leak(query: Query, rules: RuleSet, spec: MetricSpec | None = None) -> bool:
    """Whether a metric of what must not be found is of a question, as is known before it is asked.

    It is where something of the metric's kind is listed, or where a rule of that kind finds all
    that it asks of the question; without a metric of any kind. Which questions meet two versions
    only the answers can say.
    """
    if spec is not None and spec.metric == STALE_FIRST:
        return True
    kind = None if spec is None else spec["kind"]
    return any(kind in (None, item.why) for item in query.forbidden or ()) or any(
        rule.asker(query.metadata) is not None for rule in rules.rules if kind in (None, rule.name)
    )


def _depth(specs: Sequence[MetricSpec], *names: str) -> float:
    """How far down the metrics of these names look; a budget may hold any number of documents."""
    cuts = [spec.k for spec in specs if spec.name in names]
    return max((k if isinstance(k, int) else np.inf for k in cuts), default=0)


def leak_parts(reports: Sequence[LeakReport], most: int = EXAMPLES) -> Iterator[Line]:
    """How many questions leak, a line for each retriever, and the first leaks.

    Those that leak come first. Nothing where nothing is forbidden.

    Args:
        reports: under one matcher.
        most: how many leaks are named.
    """
    for metric in (LEAK, STALE_FIRST):
        yield from _summaries(reports, metric)
    leaks = _in_turn(reports)
    for name, leak in leaks[:most]:
        text = joined(": ", [visible(name), leak.text]) if len(reports) > 1 else leak.text
        yield Line(text, item="-")
    if len(leaks) > most > 0:
        yield Line(message("and {n} more", n=len(leaks) - most), item="-")
    if n_probes := max((report.n_probes for report in reports), default=0):
        yield Line(message("probes, which no other metric counts: {n}", n=n_probes), "dim")


def leak_texts(reports: Sequence[LeakReport]) -> dict[str, list[str]]:
    """The same by retriever, under whichever matcher; empty where nothing is forbidden."""
    texts: dict[str, list[str]] = {}
    for report in reports:
        if lines := [line.text for line in leak_parts([report])]:
            texts.setdefault(report.name, []).extend(lines)
    return texts


def leaks_table(reports: Sequence[LeakReport], most: int = MOST) -> Iterator[Part]:
    """The same with the leaks as a table, and the rules that forbid them."""
    yield from leak_parts(reports, most=0)
    leaks = _in_turn(reports)
    several = len(reports) > 1
    heads = [message("question"), message("document"), message("rank"), message("kind")]
    heads = [message("retriever"), *heads] if several else heads
    rows = [
        [
            *[visible(name)] * several,
            visible(leak.query_id),
            visible(leak.document or "?"),
            str(leak.rank),
            visible(", ".join(leak.kinds)),
        ]
        for name, leak in leaks[:most]
    ]
    if rows:
        n_more = len(leaks) - most
        note = message("and {n} more", n=n_more) if n_more > 0 else ""
        yield Table(heads, rows, words=len(heads), note=note)
    rules = {kind: rule for _, leak in leaks for kind, rule in leak.rules.items()}
    for kind, rule in sorted(rules.items()):
        text = visible(to_json(to_jsonable(rule)))
        yield Line(message("rule {kind}: {rule}", kind=visible(kind), rule=text), item="-")


def _in_turn(reports: Sequence[LeakReport]) -> list[tuple[str, Leak]]:
    """The first leak of each retriever, before the second of any."""
    places = (
        (place, report.name, leak) for report in reports for place, leak in enumerate(report.leaks)
    )
    return [(name, leak) for _, name, leak in sorted(places, key=lambda place: place[0])]


def _summaries(reports: Sequence[LeakReport], metric: Metric) -> list[Line]:
    """What a metric says of each retriever where it looks deepest, those that leak first."""
    lines = []
    for report in reports:
        scores = [
            score
            for score in report.scores
            if score.spec.metric == metric and score.spec["kind"] is None and score.counts
            # Of whoever met no two versions nothing is said of them.
            if metric != STALE_FIRST or score.counts["n_could"]
        ]
        # Only the deepest is told: whatever leaks within 5 leaks within 10, too.
        scores.sort(key=lambda score: _depth([score.spec], metric.name))
        lines += [_summary(report, score) for score in scores[-1:]]
    # False sorts first, and sorting is stable: leaks, then the others, each by retriever as given.
    return sorted(lines, key=lambda line: line.style != LEAKING)


def _summary(report: LeakReport, scores: MetricScores) -> Line:
    counts, name = scores.counts, str(scores.spec)
    leaks = counts["n_leaked"]
    text = message(
        "{retriever}: an old version comes first for {n} of {of} questions ({metric}: {ends})"
        if leaks and scores.spec.metric == STALE_FIRST
        else "{retriever}: leaks for {n} of {of} questions that could leak ({metric}: {ends})"
        if leaks
        else "{retriever}: no leak is known for {of} questions that could leak ({metric}: {ends})"
        if counts["n_could"]
        else "{retriever}: no question could leak ({metric})",
        retriever=visible(report.name),
        n=leaks,
        of=counts["n_could"],
        metric=name,
        ends=report.ends[name],
    )
    return Line(joined("; ", [text, *_notes(counts)]), LEAKING if leaks else "")


def _notes(counts: Mapping[str, int]) -> list[str]:
    """What a number of leaks does not rest on; of why it is not known one of several counts."""
    unanswered, lost, lacking = (counts[f"n_{why}"] for why in ("unanswered", "lost", "lacking"))
    reasons = (
        (unanswered, message("failed or missing: {n}", n=unanswered)),
        (lost, message("items that no document can match: {n}", n=lost)),
        (lacking, message("documents that lack a field that would tell: {n}", n=lacking)),
    )
    why = joined(", ", [text for n, text in reasons if n])
    n_open, n_empty, n_short = counts["n_open"], counts["n_empty"], counts["n_short"]
    notes = (
        (n_open, message("not known for {n} ({reasons})", n=n_open, reasons=why)),
        (n_empty, message("answered with an empty list: {n}", n=n_empty)),
        (n_short, message("lists that end before k: {n}", n=n_short)),
    )
    return [text for n, text in notes if n]
