"""What a run found out, as a person reads it in a terminal: what fits one screen."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from kragx.comparison import Change, Comparison, GateResult, failed, gates_parts
from kragx.comparison.changes import gold_of
from kragx.comparison.failures import MARKED
from kragx.comparison.view import FEW, STANDING
from kragx.evaluation.evaluation import Evaluation
from kragx.judging.budget import Plan
from kragx.metrics import parse
from kragx.printing import Line, Part, Table, number, visible, warning

METRICS = 8
"""How many metrics the screen shows, the first ones; of many retrievers fewer."""

SIDE_BY_SIDE = 4
"""So many retrievers stand side by side with their intervals; more stand below one another."""

LINES = 4
"""How many lines of each kind the screen shows: gates, remarks, advice, slices."""


def screen(
    evaluations: Sequence[Evaluation],
    comparisons: Sequence[Comparison],
    changes: Sequence[Change],
    gates: Sequence[GateResult],
) -> Iterator[Part]:
    """What one needs to decide what to do next.

    What failed, who is best and whether that is decided, the means, the gates that failed, what to
    look at. Slices, times and each pair stand in the report's files.

    Args:
        evaluations: by matcher, then retriever.
        comparisons: one for each matcher.
        changes: what became of each retriever since an earlier run.
        gates: what the numbers were held against.
    """
    comparison, group = comparisons[0], by_matcher(evaluations)[0]
    verdict, *advice = comparison.recommendations
    yield dataset_line(group[0])
    yield Line(f"match: {group[0].match_label}; profile: {group[0].profile_label}", "dim")
    # Which questions fail is the same under each matcher.
    yield from (line for own in comparison.failures for line in own.describe())
    yield from (replace(line, style="bold") for line in verdict.describe())
    yield _means(comparison, group)
    if len(comparisons) > 1:
        yield _first_metric(comparisons)
    yield from (part for part in gates_parts(gates) if isinstance(part, Line))
    broken = [line.text for result in failed(gates) for line in result.describe()]
    supported = [visible(line.text) for line in advice if line.supported]
    fields = comparison.fields[:LINES] if comparison.retrievers else ()
    slices = [_slices(comparison, field) for field in fields]
    yield from _items(_first(broken))
    yield from (line for own in gold_of(changes) for line in own.describe())
    yield from map(Line, _first([*map(_change, changes)]))
    yield from _items([*_first(supported), *slices])
    compared = [comparison, *(change.comparison for change in changes)]
    cautions = dict.fromkeys(caution for comparison in compared for caution in comparison.cautions)
    yield from map(warning, _first([*cautions, *_remarks(evaluations)]))


def dataset_line(evaluation: Evaluation) -> Line:
    """Which gold set was used: name, version and the beginning of its hash."""
    settings, counts = evaluation.settings["dataset"], evaluation.counts
    version = "" if settings["version"] is None else f" version {settings['version']}"
    return Line(
        f"dataset: {settings['name']}{version}, {counts['n_scored']} of {counts['n_queries']} "
        f"queries scored, sha256 {settings['hash'][:12]}"
    )


def _items(texts: Iterable[str]) -> Iterator[Line]:
    return (Line(text, item="-") for text in texts)


def by_matcher(evaluations: Iterable[Evaluation]) -> list[list[Evaluation]]:
    """The evaluations of each matcher."""
    return [
        list(group) for _, group in groupby(evaluations, lambda evaluation: evaluation.match_name)
    ]


def _first(lines: Sequence[str]) -> list[str]:
    """The first lines, and how many more there are."""
    more = len(lines) - LINES
    return [*lines[:LINES], *([f"and {more} more: --full"] if more > 0 else [])]


def _remarks(evaluations: Sequence[Evaluation]) -> list[str]:
    """What was left out, each remark once, with the retrievers that it is about."""
    names: dict[str, dict[str, None]] = {}
    for evaluation in evaluations:
        for remark in evaluation.further_remarks:
            names.setdefault(remark, {})[evaluation.name] = None
    return [f"{', '.join(retrievers)}: {remark}" for remark, retrievers in names.items()]


def _means(comparison: Comparison, evaluations: Sequence[Evaluation]) -> Table:
    """The first metrics: of a few retrievers with intervals, of many a row for each retriever."""
    few = len(comparison.every_retriever) <= SIDE_BY_SIDE
    names, profile = comparison.metrics, evaluations[0].profile
    untimed = [
        name
        for name in names
        if name == comparison.primary or "second" not in parse(name, profile).metric.unit
    ]
    shown = untimed[: METRICS if few else METRICS // 2]
    more = len(names) - len(shown)
    note = f"; {more} more metric{'s' * (more > 1)}: --full" if more else ""
    table = replace(comparison, metrics=tuple(shown)).means_table(evaluations)
    narrow = table.narrow or table
    if few:
        narrow = replace(narrow, note=narrow.note + note)
        return replace(table, narrow=narrow, note=table.note + note)
    names, *turned = zip(narrow.columns, *narrow.rows)  # the same cells, turned about
    heads = ["retriever", *(cell if isinstance(cell, str) else cell.text for cell in names[1:])]
    marks = "; ".join([STANDING, *([MARKED] if comparison.not_comparable else [])])
    return Table(heads, turned, note=f"{marks}{note}")


def _first_metric(comparisons: Sequence[Comparison]) -> Table:
    """The first metric under each matcher."""
    tables = [replace(own, metrics=(own.primary,)).means_table() for own in comparisons]
    rows = [
        [comparison.match, *(table.narrow or table).rows[-1][1:]]
        for comparison, table in zip(comparisons, tables)
    ]
    return Table([f"{comparisons[0].primary} by match", *comparisons[0].every_retriever], rows)


def _change(change: Change) -> str:
    """What became of a retriever in the first metric, and of how many queries."""
    lost = [own for own in change.comparison.failures if not own.tolerated]
    if lost:
        why = "; ".join(f"{own.retriever} it {own.text}" for own in lost)
        return f"{change.retriever}: not comparable: {why}"
    first = change.comparison.overall.differences[0]
    return (
        f"{change.retriever}: {' '.join(line.text for line in first.describe())}; queries: "
        f"{len(change.better)} better, {len(change.worse)} worse"
    )


def _slices(comparison: Comparison, field: str) -> str:
    """How the leading retriever does in each slice by a field, the worst first."""
    metric, name = comparison.primary, comparison.best
    sign = -1 if comparison.better[metric] == "lower" else 1
    slices = [
        (sign * value, f"{visible(part.label)} {number(value)} (n = {part.n})")
        for part in comparison.by(field)
        if part.n >= FEW and (value := part.means[name][metric].value) is not None
    ]
    shown = [text for _, text in sorted(slices)[:LINES]]
    if len(slices) > LINES:
        shown.append(f"{len(slices) - LINES} more")
    if small := len(comparison.by(field)) - len(slices):
        shown.append(f"{small} slice{'s' * (small > 1)} of fewer than {FEW} queries")
    return f"{metric} of {name} by {field}: {', '.join(shown)}"


def _plans(evaluation: Evaluation) -> Iterator[tuple[Mapping[str, Any], str, bool]]:
    """What a dry run counted of gold, facts and relevance: it, its name, whether it is a pool's."""
    pooled = "pool" in evaluation.settings
    for name, what, shared in (
        ("judging", "", pooled),
        ("judging_facts", "facts of ", pooled),
        ("judging_relevance", "relevance of ", True),
    ):
        judging = evaluation.counts.get(name, {})
        if "plan" in judging:
            yield judging, what, shared


def judging_plan(evaluations: Iterable[Evaluation], plans: Iterable[Plan]) -> Iterator[Line]:
    """What a dry run found, a line for each judged evaluation and one for each judge.

    A question is counted once, by the evaluation that needs it first; those of a pool are one.
    """
    names: dict[tuple[str, str], list[str]] = {}
    for place, evaluation in enumerate(evaluations):
        for judging, what, shared in _plans(evaluation):
            plan = judging["plan"]
            at_most = judging.get("panel", {}).get("ask") == "needed"
            text = (
                f"{'at most ' * at_most}{plan['n_calls']} calls to make, {judging['n_stored']} "
                f"judgements stored; about {plan['prompt_tokens']} tokens to send and "
                f"{plan['completion_tokens']} to get"
            )
            names.setdefault((text, "" if shared else str(place)), []).append(
                f"{what}{evaluation.match_name}, {evaluation.name}"
            )
    for (text, _), labels in names.items():
        yield Line(f"{'; '.join(labels)}: {text}")
    for plan in plans:
        about, most = plan.about, plan.most
        cost = (
            f"{plan.price.of(about):.4f} to {plan.price.of(most):.4f} {plan.currency}"
            if plan.price
            else f"what it costs is unknown, as no price of {plan.model!r} is given"
        )
        yield Line(
            f"in all {'at most ' * plan.at_most}{about.n_calls} calls to {visible(plan.model)}: "
            f"about {about.prompt_tokens} tokens to send and {about.completion_tokens} to get, at "
            f"most {most.prompt_tokens} and {most.completion_tokens}; {cost}; without retries"
        )
        yield from (Line(f"budget: {text}") for text in plan.says_of_limits())
    yield Line("a dry run: nothing was asked; what several retrievers need is counted once")
