"""What a run found out, as a person reads it in a terminal: what fits one screen."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from kragx.comparison import Change, Comparison, failed, gates_parts
from kragx.comparison.advice import marked
from kragx.comparison.changes import gold_lines, unchanged
from kragx.comparison.comparison import STANDING
from kragx.comparison.tuning import SHOWN
from kragx.evaluation.evaluation import Evaluation
from kragx.evaluation.leaks import leak_parts
from kragx.evaluation.presenting import profile_label
from kragx.evaluation.wording import asks_label, basis_label, routine_remarks
from kragx.ground.printing import Line, Part, Table, joined, message, plural, visible, warning
from kragx.judging import Spent
from kragx.judging.budget import Plan
from kragx.metrics import parse
from kragx.report.findings import Findings

METRICS = 8
"""How many metrics the screen shows, the first ones; of many retrievers fewer."""

SIDE_BY_SIDE = 4
"""So many retrievers stand side by side with their intervals; more stand below one another."""

LINES = 4
"""How many lines of each kind the screen shows: gates, changes, remarks."""

ADVICE = 3
"""How many lines of advice."""


def screen(findings: Findings, notices: Sequence[str] = ()) -> Iterator[Part]:
    """What one needs to decide what to do next.

    What failed, who is best and whether that is decided, the means, the gates that failed, what to
    look at. Slices, times and each pair stand in the report's files. Of a grid the setting to take
    stands in the place of verdict and means, which of so many are too long to read.

    Args:
        findings: what a run found out.
        notices: what was said already.
    """
    comparison, group = findings.comparisons[0], findings.groups[0]
    evaluation = group[0]
    yield dataset_line(evaluation)
    match, profile = evaluation.match_label, profile_label(evaluation.settings)
    yield Line(message("match: {match}; profile: {profile}", match=match, profile=profile), "dim")
    if (basis := basis_label(evaluation.settings)) is not None:
        yield Line(message("list: {basis}", basis=basis), "dim")
    if (asks := asks_label(evaluation.counts)) is not None:
        yield Line(asks, "dim")
    # Which questions fail is the same under each matcher.
    yield from (line for failure in comparison.failures for line in failure.describe())
    yield from leak_parts([evaluation.leak_report for evaluation in group])
    yield from _who_is_best(findings)
    yield from (part for part in gates_parts(findings.gates) if isinstance(part, Line))
    for text in _first([result.text for result in failed(findings.gates)]):
        yield Line(text, item="-")
    yield from gold_lines(findings.changes)
    yield from unchanged(findings.changes)
    changed = [_change(change) for change in findings.changes if not change.is_none]
    yield from map(Line, _first(changed))
    _, *advice = comparison.recommendations
    for text in _first([line.text for line in advice if line.supported], ADVICE):
        yield Line(text, item="-")
    losses = findings.losses_under(evaluation.match_name)
    lost = [joined(": ", [visible(of_one.retriever), of_one.summary]) for of_one in losses]
    yield from map(Line, _first(lost))
    yield from map(warning, _first(_to_look_at(findings, notices)))


def _who_is_best(findings: Findings) -> Iterator[Part]:
    """The verdict with the means, or which setting of a grid to take; and other matchers'."""
    comparison, verdict = findings.comparisons[0], findings.comparisons[0].recommendations[0]
    for tuning in findings.tunings[:1]:
        yield from tuning.describe(SHOWN)
    for tuning in findings.tunings[1:]:
        text = message("under {match}: {said}", match=visible(tuning.match), said=tuning.sentence)
        yield Line(text)
    if findings.tunings:
        yield from verdict.leak_lines()
        yield from verdict.caution_lines()
    else:
        line, *cautions = verdict.describe()
        # A single one that is set against earlier results has its verdict there.
        if not findings.changes or verdict.kind != "one_retriever" or comparison.failures:
            yield replace(line, style="bold")
        yield from cautions
        yield _means(comparison, findings.groups[0])
    for of_grid in findings.matcher_grids:
        yield from of_grid.describe()
    if len(findings.comparisons) > 1 and not findings.matcher_grids:
        yield _first_metric(findings.comparisons)
        # What other matchers than the first have to say, and that one has not.
        texts = {line.text for line in verdict.caution_lines()}
        for other in findings.comparisons[1:]:
            for line in other.recommendations[0].caution_lines():
                if line.text not in texts:
                    about = {"match": visible(other.match), "said": line.text}
                    yield replace(line, text=message("under {match}: {said}", **about))


def _to_look_at(findings: Findings, notices: Sequence[str]) -> list[str]:
    """Cautions and remarks that stand neither in the verdict nor among what was said already."""
    comparison = findings.comparisons[0]
    further = [*comparison.further_cautions]
    for change in findings.changes:
        # How often the earlier ones leaked stands in the difference of that metric.
        turning = change.comparison.recommendations[0].cautions
        further += [caution.text for caution in turning if caution.code != "leaks"]
        further += change.comparison.further_cautions
    cautions = comparison.recommendations[0].cautions
    beside = {*notices, *(caution.text for caution in cautions)}
    remarks = [text for text in dict.fromkeys(further) if text not in beside]
    return [*remarks, *_remarks(findings.evaluations)]


def dataset_line(evaluation: Evaluation) -> Line:
    """Which gold set was used: name, version and the beginning of its hash."""
    settings, counts = evaluation.settings["dataset"], evaluation.counts
    n_unanswerable = counts.get("unanswerable", {}).get("n_queries", 0)
    scored = message(
        "{n} of {of} queries scored, {n_unanswerable} unanswerable"
        if n_unanswerable
        else "{n} of {of} queries scored",
        n=counts["n_scored"],
        of=counts["n_queries"],
        n_unanswerable=n_unanswerable,
    )
    return Line(
        message(
            "dataset: {name}, {scored}, sha256 {hash}"
            if settings["version"] is None
            else "dataset: {name} version {version}, {scored}, sha256 {hash}",
            name=settings["name"],
            version=settings["version"],
            scored=scored,
            hash=settings["hash"][:12],
        )
    )


def _first(lines: Sequence[str], most: int = LINES) -> list[str]:
    """The first lines, and how many more there are."""
    n_more = len(lines) - most
    return [*lines[:most], *([message("and {n} more: --full", n=n_more)] if n_more > 0 else [])]


def _remarks(evaluations: Sequence[Evaluation]) -> list[str]:
    """What was left out, each remark once, with the retrievers that it is about.

    But for what asks for nothing: that stands in the report.
    """
    # A mapping as an ordered set: under several matchers a retriever has a remark again.
    names: dict[str, dict[str, None]] = {}
    for evaluation in evaluations:
        routine = {*routine_remarks(evaluation.counts, evaluation.profile)}
        for remark in evaluation.further_remarks:
            if remark not in routine:
                names.setdefault(remark, {})[evaluation.name] = None
    return [
        message("{names}: {remark}", names=", ".join(retrievers), remark=remark)
        for remark, retrievers in names.items()
    ]


def _means(comparison: Comparison, evaluations: Sequence[Evaluation]) -> Table:
    """The first metrics: of a few retrievers with intervals, of many a row for each retriever."""
    # Side by side the eye compares; more than four do not fit eighty columns with intervals.
    are_few = len(comparison.every_retriever) <= SIDE_BY_SIDE
    names, profile = comparison.metrics, evaluations[0].profile
    # Times differ from run to run, and stand in the report.
    untimed = [
        name
        for name in names
        if name == comparison.primary or "second" not in parse(name, profile).metric.unit
    ]
    listed_names = untimed[: METRICS if are_few else METRICS // 2]
    n_more = len(names) - len(listed_names)
    note = plural(n_more, "1 more metric: --full", "{n} more metrics: --full")
    notes = [note] if n_more else []
    table = replace(comparison, metrics=tuple(listed_names)).means_table(evaluations)
    narrow = table.narrow or table
    if are_few:
        narrow = replace(narrow, note=joined("; ", [narrow.note, *notes]))
        return replace(table, narrow=narrow, note=joined("; ", [table.note, *notes]))
    names, *turned = zip(narrow.columns, *narrow.rows)  # the same cells, turned about
    heads = [
        message("retriever"),
        *(cell if isinstance(cell, str) else cell.text for cell in names[1:]),
    ]
    marks = [STANDING, marked(comparison.failures)]
    return Table(heads, turned, note=joined("; ", [*marks, *notes]))


def _first_metric(comparisons: Sequence[Comparison]) -> Table:
    """The first metric under each matcher."""
    tables = [
        replace(comparison, metrics=(comparison.primary,)).means_table()
        for comparison in comparisons
    ]
    rows = [
        [comparison.match, *(table.narrow or table).rows[-1][1:]]
        for comparison, table in zip(comparisons, tables)
    ]
    head = message("{metric} by match", metric=comparisons[0].primary)
    return Table([head, *comparisons[0].every_retriever], rows)


def _change(change: Change) -> str:
    """What became of a retriever in the first metric, and of how many queries."""
    serious = [failure for failure in change.comparison.failures if not failure.tolerated]
    if serious:
        why = (
            message("{when} it {failed}", when=failure.retriever, failed=failure.text)
            for failure in serious
        )
        return message(
            "{retriever}: not comparable: {why}", retriever=change.retriever, why=joined("; ", why)
        )
    first = change.comparison.overall.differences[0]
    return message(
        "{retriever}: {difference}; queries: {n_better} better, {n_worse} worse",
        retriever=change.retriever,
        difference=first.sentence,
        n_better=change.n_better,
        n_worse=change.n_worse,
    )


def judging_plan(plans: Sequence[Plan]) -> Iterator[Line]:
    """What a dry run found, a line for each model; a question is counted once in each repeat."""
    totals: dict[tuple[object, ...], Plan] = {}
    for plan in plans:
        unasked = replace(plan, about=Spent(), most=Spent())
        total = totals.setdefault((plan.model, plan.price, plan.at_most), unasked)
        total.about.add(plan.about)
        total.most.add(plan.most)
    for plan in totals.values():
        about, upper = plan.about, plan.most
        cost = message(
            "what it costs is unknown, as no price of {model!r} is given", model=plan.model
        )
        if plan.price:
            low, high = plan.price.of(about), plan.price.of(upper)
            bounds = {"low": low, "high": high, "currency": plan.currency}
            cost = message("{low:.4f} to {high:.4f} {currency}", **bounds)
        yield Line(
            message(
                "in all at most {n} calls to {model}: about {sent} tokens to send and {got} to "
                "get, at most {most_sent} and {most_got}; {cost}; without retries"
                if plan.at_most
                else "in all {n} calls to {model}: about {sent} tokens to send and {got} to get, "
                "at most {most_sent} and {most_got}; {cost}; without retries",
                n=about.n_calls,
                model=visible(plan.model),
                sent=about.prompt_tokens,
                got=about.completion_tokens,
                most_sent=upper.prompt_tokens,
                most_got=upper.completion_tokens,
                cost=cost,
            )
        )
    yield Line(
        message("a dry run: nothing was asked; what several retrievers need is counted once")
    )
