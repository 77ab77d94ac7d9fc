"""Markdown: the report of a run, and the summary that a CI job shows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from kragx.comparison import Change, Comparison, Difference, GateResult, Recommendation, View
from kragx.comparison import failed as failing
from kragx.evaluation.evaluation import Evaluation
from kragx.report.comparison import SHOWN, changed_values, differences_legend
from kragx.report.rows import (
    MARKS,
    STANDING,
    interval,
    match_label,
    mean_cell,
    number,
    probability,
    profile_label,
    remarks,
    signed,
    standing,
    visible,
)

_SPECIAL = re.compile(r"([\\`*_\[\]|~$]|(?<!\w)@|(?<=:)//|^[#+=-]+(?=\s|$)|^\d+(?=[.)](?:\s|$)))")


_MARKDOWN = {"*": "\\*"}


def escaped(text: str) -> str:
    """A text from data as Markdown shows it to the letter.

    White space and line ends become one space, controls visible; what Markdown, HTML in it, or
    GitHub's mentions, links and formulas would read is escaped.
    """
    plain = visible(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _SPECIAL.sub(lambda found: _escape(found[0]), plain)


def _escape(found: str) -> str:
    # A backslash before a digit is a backslash; a number that begins a list is written otherwise.
    return f"&#{ord(found[0])};{found[1:]}" if found[0].isdecimal() else f"\\{found}"


def _code(metric: str) -> str:
    """A metric's name, which is no text from data, as it is written in a config."""
    return f"`{metric}`"


def report_markdown(
    dataset: Mapping[str, Any],
    evaluations: Sequence[Evaluation],
    comparisons: Sequence[Comparison],
    advice: Sequence[Sequence[Recommendation]],
    changes: Sequence[Change],
    gates: Sequence[GateResult],
) -> str:
    """The whole report of a run, with a section for each matcher.

    Recommendations, metrics by retriever, against the baseline, by each slice, what changed since
    the earlier results, and gates.

    Args:
        dataset: settings of the gold set.
        evaluations: by matcher.
        comparisons: one for each matcher.
        advice: what follows from each.
        changes: from the earlier results.
        gates: held against the numbers.
    """
    name = escaped(str(dataset["name"]))
    version = "" if dataset["version"] is None else f" version {escaped(str(dataset['version']))}"
    groups = [list(group) for _, group in groupby(evaluations, lambda each: each.match_name)]
    counts = evaluations[0].counts
    lines = [
        f"# {name}",
        "",
        f"Gold set {name}{version}, sha256 `{str(dataset['hash'])[:12]}`; {counts['n_scored']} of "
        f"{counts['n_queries']} queries scored.",
    ]
    several = len(groups) > 1
    for comparison, said, same in zip(comparisons, advice, groups):
        if several:
            lines += ["", f"## Match: {escaped(comparison.match)}"]
        lines += _comparison(comparison, said, same, "###" if several else "##")
    if changes:
        lines += ["", "## Compared with the earlier results"]
        for change in changes:
            lines += _change(change, several=several)
    if gates:
        lines += ["", "## Gates", "", *gates_table(gates)]
    return "\n".join(lines) + "\n"


def changes_markdown(changes: Sequence[Change], gates: Sequence[GateResult] = ()) -> str:
    """What became of retrievers."""
    several = len({each.comparison.match for each in changes}) > 1
    lines = ["# Changes"]
    for each in changes:
        lines += _change(each, several=several)
    if gates:
        lines += ["", "## Gates", "", *gates_table(gates)]
    return "\n".join(lines) + "\n"


def summary_markdown(
    comparisons: Sequence[Comparison],
    advice: Sequence[Sequence[Recommendation]],
    changes: Sequence[Change],
    gates: Sequence[GateResult],
) -> str:
    """The gates, the numbers and what changed, short enough for the page of a CI job."""
    bad = failing(gates)
    if gates:
        verdict = f"❌ {len(bad)} of {len(gates)} gates failed" if bad else "✅ every gate passed"
        lines = [f"## kragx: {verdict}", "", *gates_table(bad or gates)]
    else:
        lines = ["## kragx"]
    for comparison, said in zip(comparisons, advice):
        if len(comparisons) > 1:
            lines += ["", f"### Match: {escaped(comparison.match)}"]
        lines += ["", *_means(comparison, comparison.overall, ())]
        lines += ["", *_advice(said[:1])]
    for change in changes:
        lines += _change(change, several=len(comparisons) > 1, level="###")
    return "\n".join(lines) + "\n"


def _comparison(
    comparison: Comparison,
    advice: Sequence[Recommendation],
    same: Sequence[Evaluation],
    level: str,
) -> Iterator[str]:
    settings = comparison.settings
    yield ""
    yield (
        f"Match {escaped(match_label(same[0]))}; profile {escaped(profile_label(same[0]))}; "
        f"intervals of {settings.confidence:.0%} from {settings.resamples:,} resamples of the "
        f"queries, seed {settings.seed}."
    )
    yield from ("", f"{level} Recommendations", "", *_advice(advice))
    yield from ("", f"{level} Metrics by retriever", "")
    yield from _means(comparison, comparison.overall, same)
    notes = [f"{each.name}: {line}" for each in same for line in remarks(each)]
    if notes or comparison.cautions:
        yield from ("", *(f"- {escaped(line)}" for line in [*notes, *comparison.cautions]))
    if len(comparison.retrievers) > 1:
        yield from ("", f"{level} Compared with {escaped(comparison.baseline)}", "")
        yield from _differences(comparison, comparison.overall)
    for field in comparison.fields:
        yield from ("", f"{level} By {escaped(field)}")
        for part in comparison.by(field):
            yield from ("", f"{level}# {escaped(part.label)}: {part.view.n} queries", "")
            yield from _means(comparison, part.view, ())
            yield from ("", *_leaders(comparison, part.view))


def _advice(advice: Iterable[Recommendation]) -> list[str]:
    return [
        f"- {'' if each.supported else '**Not supported by the data:** '}{escaped(each.text)}"
        for each in advice
    ]


def _table(
    header: Sequence[str], rows: Iterable[Sequence[str]], others: str = "---:"
) -> Iterator[str]:
    """A table; `others` aligns the columns after the first: numbers, or ``---`` for words."""
    yield f"| {' | '.join(header)} |"
    yield f"|---|{f'{others}|' * (len(header) - 1)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def _means(comparison: Comparison, view: View, same: Sequence[Evaluation]) -> Iterator[str]:
    evaluated = {each.name: each for each in same}
    whole = view is comparison.overall

    def cell(metric: str, name: str) -> str:
        found = view.means[name][metric]
        shown = mean_cell(evaluated[name], metric) if name in evaluated else number(found.value)
        ends = interval(found.low, found.high)
        mark = standing(view, metric, name)
        shown = f"**{escaped(shown)}**" if mark in ("*", "=") else escaped(shown)
        return f"{shown} {_MARKDOWN.get(mark, mark)} {escaped(ends)}".replace("  ", " ").strip()

    metrics = [metric for metric in comparison.metrics if whole or comparison.is_in(metric, view)]
    yield from _table(
        ["metric", *map(escaped, comparison.retrievers)],
        (
            [_code(metric), *(cell(metric, name) for name in comparison.retrievers)]
            for metric in metrics
        ),
    )
    if whole and len(comparison.retrievers) > 1:
        yield ""
        yield escaped(STANDING)


def _leaders(comparison: Comparison, view: View) -> Iterator[str]:
    """One line on who is best: nothing to say with one retriever."""
    decided = [
        f"{_code(metric)} {escaped(leader.best)}"
        for metric, leader in view.leaders.items()
        if leader.decided
    ]
    tested = [each for each in view.leaders.values() if each.tested]
    if decided:
        rest = "; the others: not decided" if len(decided) < len(tested) else ""
        yield f"Best: {', '.join(decided)}{rest}."
    elif tested:
        yield "Best: not decided in any metric."


def _differences(comparison: Comparison, view: View) -> Iterator[str]:
    # Of two the numbers stand beside their difference; of more in a table of their own.
    pair = comparison.retrievers if len(comparison.retrievers) == 2 else ()
    header = [
        "metric",
        *(map(escaped, pair) if pair else ["retriever"]),
        "difference",
        "interval",
        "p",
        "d\\_z",
        "win/tie/loss",
        "n",
        "",
    ]
    yield from _table(header, (_difference(each, view, pair) for each in view.differences))
    yield ""
    yield escaped(differences_legend(comparison))


def _difference(found: Difference, view: View, pair: Sequence[str]) -> list[str]:
    tested = found.p is not None
    means = [escaped(number(view.means[name][found.metric].value)) for name in pair]
    return [
        _code(found.metric),
        *(means or [escaped(found.retriever)]),
        escaped(signed(found.value)),
        escaped(interval(found.low, found.high, plus=True) or "-"),
        escaped(probability(found.p_adjusted)),
        "-" if found.effect is None else escaped(f"{found.effect:+.2f}"),
        f"{found.wins}/{found.ties}/{found.losses}" if tested else "-",
        str(found.n),
        f"{MARKS[found.verdict]} {found.verdict}".strip(),
    ]


def _change(change: Change, *, several: bool, level: str = "###") -> Iterator[str]:
    comparison = change.comparison
    before, after = comparison.retrievers
    under = f", match {escaped(comparison.match)}" if several else ""
    title = f"{escaped(change.retriever)}: {escaped(after)} against {escaped(before)}{under}"
    yield from ("", f"{level} {title}", "")
    yield from _differences(comparison, comparison.overall)
    for line in comparison.cautions:
        yield from ("", f"- {escaped(line)}")
    yield ""
    if not change.better and not change.worse:
        yield f"No query got better or worse, of {len(comparison.query_ids)}."
        return
    yield f"{len(change.better)} queries got better, {len(change.worse)} worse."
    for title, found in (("worse", change.worse), ("better", change.better)):
        if found:
            yield ""
            yield from _table(
                [title, "question", "what changed"],
                (
                    [escaped(q.query_id), escaped(q.text or ""), escaped(changed_values(q))]
                    for q in found[:SHOWN]
                ),
                "---",
            )
            if len(found) > SHOWN:
                yield from ("", f"and {len(found) - SHOWN} more")


def gates_table(results: Sequence[GateResult]) -> Iterator[str]:
    """The gates, each with what was found."""
    yield from _table(
        ["", "gate", "retriever", "slice", "found"],
        (
            [
                "✅" if each.passed else "❌",
                escaped(f"{each.gate.metric} {each.gate.condition}"),
                escaped(
                    each.retriever
                    if len({r.match for r in results}) == 1
                    else f"{each.retriever} ({each.match})"
                ),
                escaped(each.where),
                escaped(each.said),
            ]
            for each in results
        ),
        "---",
    )
