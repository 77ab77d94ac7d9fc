"""What came though it must not: which documents for which questions, and what reports say of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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

Evaluation = Any
"""`kragx.evaluation.evaluation.Evaluation`, whose module imports this one."""

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


def leaks_of(evaluation: Evaluation) -> tuple[Leak, ...]:
    """The leaks that the metrics see, question by question, by rank; of runs those of any."""
    if evaluation.runs:
        leaks = chain.from_iterable(run.leaks for run in evaluation.runs)
        row_of = {query_id: row for row, query_id in enumerate(evaluation.query_ids)}
        distinct = {(leak.query_id, leak.rank, leak.document): leak for leak in leaks}.values()
        return tuple(sorted(distinct, key=lambda leak: (row_of[leak.query_id], leak.rank)))
    if (marks := evaluation.forbidden) is None:
        return ()
    rules = evaluation.settings.get("forbidden", {}).get("rules", {})
    lists = evaluation.table if evaluation.searches is None else evaluation.searches.of("all")
    return tuple(_leaks(marks, lists.doc_start, evaluation.specs, evaluation.query_ids, rules))


def _leaks(
    marks: ForbiddenMarks,
    doc_start: Ints,
    specs: Sequence[MetricSpec],
    query_ids: Sequence[str],
    rules: Mapping[str, Any],
) -> Iterator[Leak]:
    """The leaks of one run.

    Args:
        marks: of the documents.
        doc_start: (q + 1) where the list of each question begins among them.
        specs: the metrics, which say how far down they look.
        query_ids: (q) the questions.
        rules: by the kinds that they are of.
    """
    deep, deep_stale = _depth(specs, LEAK.name, LEAKED.name), _depth(specs, STALE_FIRST.name)
    docs = np.flatnonzero((marks.mark > 0).any(axis=1) | (marks.stale > 0))
    # The last list to begin there or before; `right` passes over empty ones that do, too.
    queries = np.searchsorted(doc_start, docs, side="right") - 1
    for doc, query, rank in zip(
        docs.tolist(), queries.tolist(), (docs - doc_start[queries]).tolist()
    ):
        marked = zip(marks.kinds, marks.mark[doc].tolist())
        kinds = [kind for kind, mark in marked if mark > 0 and rank < deep]
        stale = [STALE_FIRST.name] * bool(marks.stale[doc] > 0 and rank < deep_stale)
        if kinds or stale:
            by_rule = {kind: rules[kind] for kind in kinds if kind in rules}
            name = marks.names.get(doc)
            yield Leak(query_ids[query], rank + 1, name, (*kinds, *stale), by_rule)


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


def leak_parts(evaluations: Sequence[Evaluation], most: int = EXAMPLES) -> Iterator[Line]:
    """How many questions leak, a line for each retriever, and the first leaks.

    Those that leak come first. Nothing where nothing is forbidden.

    Args:
        evaluations: of one matcher.
        most: how many leaks are named.
    """
    for metric in (LEAK, STALE_FIRST):
        yield from _summaries(evaluations, metric)
    leaks = _in_turn(evaluations)
    for name, leak in leaks[:most]:
        text = joined(": ", [visible(name), leak.text]) if len(evaluations) > 1 else leak.text
        yield Line(text, item="-")
    if len(leaks) > most > 0:
        yield Line(message("and {n} more", n=len(leaks) - most), item="-")
    if n_probes := max((e.counts.get("n_probes", 0) for e in evaluations), default=0):
        yield Line(message("probes, which no other metric counts: {n}", n=n_probes), "dim")


def leak_texts(evaluations: Sequence[Evaluation]) -> dict[str, list[str]]:
    """The same by retriever, under whichever matcher; empty where nothing is forbidden."""
    texts: dict[str, list[str]] = {}
    for evaluation in evaluations:
        if lines := [line.text for line in leak_parts([evaluation])]:
            texts.setdefault(evaluation.name, []).extend(lines)
    return texts


def leaks_table(evaluations: Sequence[Evaluation], most: int = MOST) -> Iterator[Part]:
    """The same with the leaks as a table, and the rules that forbid them."""
    yield from leak_parts(evaluations, most=0)
    leaks = _in_turn(evaluations)
    several = len(evaluations) > 1
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


def _in_turn(evaluations: Sequence[Evaluation]) -> list[tuple[str, Leak]]:
    """The first leak of each retriever, before the second of any."""
    places = (
        (place, evaluation.name, leak)
        for evaluation in evaluations
        for place, leak in enumerate(evaluation.leaks)
    )
    return [(name, leak) for _, name, leak in sorted(places, key=lambda place: place[0])]


def _summaries(evaluations: Sequence[Evaluation], metric: Metric) -> list[Line]:
    """What a metric says of each retriever where it looks deepest, those that leak first."""
    lines = []
    for evaluation in evaluations:
        scores = [
            score
            for score in evaluation.scores
            if score.spec.metric == metric and score.spec["kind"] is None and score.counts
            # Of whoever met no two versions nothing is said of them.
            if metric != STALE_FIRST or score.counts["n_could"]
        ]
        # Only the deepest is told: whatever leaks within 5 leaks within 10, too.
        scores.sort(key=lambda score: _depth([score.spec], metric.name))
        lines += [_summary(evaluation, score) for score in scores[-1:]]
    # False sorts first, and sorting is stable: leaks, then the others, each by retriever as given.
    return sorted(lines, key=lambda line: line.style != LEAKING)


def _summary(evaluation: Evaluation, scores: MetricScores) -> Line:
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
        retriever=visible(evaluation.name),
        n=leaks,
        of=counts["n_could"],
        metric=name,
        ends=evaluation.ends[name],
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
