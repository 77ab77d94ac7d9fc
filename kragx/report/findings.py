"""What evaluations came to, in one value that screen, Markdown and page tell each in its way."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, islice
from typing import Any

from kragx.comparison import Change, Comparison, Difference, GateResult, failed, gates_table
from kragx.comparison.changes import changes_parts
from kragx.comparison.side_by_side import remarks_on
from kragx.comparison.threshold_study import Sweep
from kragx.comparison.tuning import SHOWN, Tuning
from kragx.data.gold_diff import gold_name
from kragx.evaluation.curves import StepCurve
from kragx.evaluation.evaluation import Evaluation
from kragx.evaluation.judging_remarks import missing_remarks, panel_remarks, votes_on
from kragx.evaluation.leaks import leak_parts, leaks_table
from kragx.evaluation.presenting import metric_names, profile_label
from kragx.evaluation.stage_losses import StageLosses, losses_parts, reasons
from kragx.evaluation.wording import asks_label
from kragx.ground.printing import (
    Cell,
    Heading,
    Line,
    Name,
    Part,
    Table,
    as_markdown,
    between,
    joined,
    message,
    number,
    percent,
    plural,
    probability,
    signed,
    warning,
)


@dataclass(frozen=True)
class Findings:
    """What evaluations came to.

    Attributes:
        evaluations: by matcher, then retriever.
        comparisons: one for each matcher.
        changes: what became of each retriever since earlier results.
        gates: held against the numbers.
        losses: of each matcher and retriever with stages, which of them lose the gold.
        tunings: which setting of a grid to take, one for each matcher.
        matcher_grids: how the order of retrievers depends on a matcher's settings.
    """

    evaluations: Sequence[Evaluation]
    comparisons: Sequence[Comparison]
    changes: Sequence[Change] = ()
    gates: Sequence[GateResult] = ()
    losses: Sequence[StageLosses] = ()
    tunings: Sequence[Tuning] = ()
    matcher_grids: Sequence[Sweep] = ()

    @property
    def groups(self) -> list[list[Evaluation]]:
        """The evaluations of each matcher."""
        return by_matcher(self.evaluations)

    def losses_under(self, match: str) -> list[StageLosses]:
        """Which stages lose the gold under one matcher."""
        return [losses for losses in self.losses if losses.match == match]

    def parts(self, record: Sequence[Line] = ()) -> Iterator[Part]:
        """All of it, with a section for each matcher.

        Recommendations, metrics by retriever, against the baseline, by each slice, what changed
        since the earlier results, and gates.

        Args:
            record: how the run came about.
        """
        dataset, counts = self.evaluations[0].settings["dataset"], self.evaluations[0].counts
        yield Heading(str(dataset["name"]), level=1)
        yield Line(
            message(
                "Gold set {name}; {n} of {of} queries scored.",
                name=gold_name(dataset),
                n=counts["n_scored"],
                of=counts["n_queries"],
            )
        )
        yield from record
        several = len(self.groups) > 1
        for group in self.groups:
            if leaks := [*leaks_table([evaluation.leak_report for evaluation in group])]:
                match = group[0].match_name
                heading = message("Leaks, match {match}", match=match)
                yield Heading(heading if several else message("Leaks"))
                yield from leaks
        for tuning in self.tunings:
            yield from tuning.full()
        for of_grid in self.matcher_grids:
            yield Heading(message("Under the settings of {of}", of=of_grid.match_name))
            yield from of_grid.describe()
        for comparison, group in zip(self.comparisons, self.groups):
            if several:
                yield Heading(message("Match: {match}", match=comparison.match))
            level = 3 if several else 2
            yield from _of_matcher(comparison, group, level)
            yield from losses_parts(self.losses_under(comparison.match), level)
        if self.changes:
            yield Heading(message("Compared with the earlier results"))
            yield from changes_parts(self.changes)
        yield from gates_section(self.gates)


def reasons_tables(losses: Sequence[StageLosses]) -> Iterator[Table]:
    """Retrievers with stages below one another, why they lose gold across; a table for each k."""
    # Chains are looked at to some k, and searches as a whole: their shares do not compare.
    for k in dict.fromkeys(of_one.k for of_one in losses if of_one.stages):
        rows = [of_one for of_one in losses if of_one.stages and of_one.k == k]
        counts = [Counter[str](item.reason for item in of_one.items) for of_one in rows]
        # A reason that nobody has would be a column of zeros.
        words = {
            reason: text
            for reason, text in reasons(k).items()
            if any(reason in count for count in counts)
        }
        found = message("read") if k is None else message("within {k}", k=k)
        yield Table(
            [message("retriever"), found, *words.values(), message("gold items")],
            [
                [
                    Name(of_one.retriever, "retriever"),
                    *(
                        Cell(f"{n:,}", below=percent(n / of_one.n_gold if of_one.n_gold else None))
                        for n in (of_one.n_found, *map(count.__getitem__, words))
                    ),
                    f"{of_one.n_gold:,}",
                ]
                for of_one, count in zip(rows, counts)
            ],
        )


def lead_parts(comparison: Comparison, rival: Difference) -> dict[str, Any]:
    """How far the best is ahead of the next: both means, their difference, and how sure it is."""
    metric, statistics = rival.metric, comparison.statistics
    spans_0 = rival.low is not None and rival.high is not None and rival.low <= 0 <= rival.high
    interval = joined(
        ": ",
        [
            message("{share:.0%} interval", share=statistics.confidence),
            message("includes 0" if spans_0 else "leaves out 0"),
        ],
    )
    counts = message(
        "questions: {better:,} better, {equal:,} equal, {worse:,} worse",
        better=rival.wins,
        equal=rival.ties,
        worse=rival.losses,
    )
    p = "" if rival.p_adjusted is None else f"p {probability(rival.p_adjusted, equals='= ')}"
    lines = [joined(" · ", ["" if rival.low is None else interval, p, counts])]
    if rival.low is not None and not spans_0 and rival.verdict == "undecided":
        why = message(
            "The interval leaves out 0, but the paired test is not convinced: p is above {alpha}. "
            "There are too few questions."
            if rival.p is not None and rival.p > statistics.alpha
            else "The interval of this one comparison leaves out 0; but it is one of several tests "
            "that are corrected together, and with that p is above {alpha}.",
            alpha=f"{statistics.alpha:.2f}".removeprefix("0"),
        )
        lines.append(why)
    chance = message(
        "How often a lead at least this large would come about by chance if both were equally "
        "good, from the paired test, corrected together with others. 0.05 or less is usually taken "
        "for more than chance."
        if comparison.n_tests_of(metric) > 1 and comparison.corrected
        else "How often a lead at least this large would come about by chance if both were equally "
        "good, from the paired test. 0.05 or less is usually taken for more than chance."
    )
    return {
        "title": message("Lead over {name}", name=Name(rival.against, "retriever")),
        "difference": signed(rival.value),
        "ends": rival.ends,
        "means": [
            comparison.overall.means[name][metric].number
            for name in (rival.retriever, rival.against)
        ],
        "lines": lines,
        "help": chance if p else "",
    }


OUTCOMES = {
    "rescued": message("rescued"),
    "in_vain": message("in vain"),
    "wasted": message("wasted"),
    "unread": message("found but unread"),
}
"""What a question's searches can come to."""

_PRICES = {
    "tokens_per_gold": message("tokens per gold item found"),
    "seconds_per_gold": message("time per gold item found"),
    "searches_per_gold": message("searches per gold item found"),
}


def searches_table(
    evaluations: Sequence[Evaluation], outcomes: Mapping[str, Mapping[str, Sequence[int]]]
) -> tuple[Table, list[str]]:
    """Retrievers that search, how often, at what price, and how many questions came to what.

    Args:
        evaluations: of such retrievers.
        outcomes: by name the questions of each of `OUTCOMES`.

    Returns:
        The table, and the outcomes that its last columns are of.
    """
    known = [name for name in OUTCOMES if any(rows[name] for rows in outcomes.values())]
    # What a found item costs, as tokens if somebody says any, or else as time, or searches.
    priced = (
        (metric, head)
        for name, head in _PRICES.items()
        for metric in evaluations[0].mean
        if metric.partition("(")[0].partition("@")[0] == name
        and any(evaluation.mean.get(metric) is not None for evaluation in evaluations)
    )
    price, rows = [*islice(priced, 1)], list[list[str | Cell]]()
    for evaluation in evaluations:
        counts = evaluation.counts["searches"]
        n, n_searches, n_steps = (counts[name] for name in ("n_questions", "n_searches", "n_steps"))
        steps = (
            message("in {n} steps", n=f"{n_steps / n:.1f}") if n and n_steps < n_searches else ""
        )
        rows.append(
            [
                Name(evaluation.name, "retriever"),
                Cell(f"{n_searches / n:.1f}" if n else "-", below=steps),
                *(number(evaluation.mean.get(metric)) for metric, _ in price),
                *(f"{len(outcomes[evaluation.name][name]):,}" for name in known),
            ]
        )
    heads = [message("Retriever"), message("searches a question"), *(head for _, head in price)]
    note = message(
        "Questions by what their searches came to; one can be several. Click a number to see its "
        "questions."
    )
    return Table([*heads, *(OUTCOMES[name] for name in known)], rows, note=note), known


def steps_table(curves: Mapping[str, StepCurve]) -> Table:
    """Which share of the gold the first steps of each retriever have found."""
    steps = max((curve.steps for curve in curves.values()), key=len)
    rows = [
        [Name(name, "retriever"), *map(number, curve.values)]
        for name, curve in curves.items()
        if any(value is not None for value in curve.values)
    ]
    return Table([message("Retriever"), *(message("step {n}", n=n) for n in steps)], rows)


def unmeasured_text(evaluation: Evaluation) -> str:
    """What of a retriever's searches nobody knows, or failed; nothing where all is known."""
    counts = evaluation.counts["searches"]
    n_read = counts["n_unread"] if counts["n_searches"] > counts["n_questions"] else 0
    questions = plural(n_read, "1 question", "{n:,} questions")
    texts = (
        (counts["n_failed"], message("{n:,} failed", n=counts["n_failed"])),
        (counts["n_unmeasured"], message("{n:,} gave no documents", n=counts["n_unmeasured"])),
        (n_read, message("what was read is not known for {questions}", questions=questions)),
    )
    return joined("; ", [text for n, text in texts if n])


def pool_note(pool: Mapping[str, Any]) -> str:
    """What numbers of a judged pool mean."""
    return message(
        "Without gold, relevant is what was graded {rel:g} or more in this pool, the first "
        "documents of every retriever. Numbers hold within it: what no retriever found is missing "
        "to none, and another pool gives other numbers.",
        rel=pool["rel"],
    )


def pool_facts(pool: Mapping[str, Any], n_relevant: int) -> Iterator[tuple[str, str]]:
    """How deep a judged pool is, and how much of it is known, each under its name."""
    labels, n, depth = pool["labels"], pool["documents"], pool["depth"]
    people = message("people: {n:,}", n=labels["human"]) if labels["human"] else ""
    judge = message("judge: {n:,}", n=labels["judge"]) if labels["judge"] else ""
    known = message("{n:,} of {of:,}", n=n - labels["missing"], of=n)
    share = f"({percent((n - labels['missing']) / n, 0)})" if n else ""
    yield (
        message("Pooled of each list"),
        message("the whole list" if depth is None else "the first {n:,}", n=depth),
    )
    yield message("Documents"), f"{n:,}"
    yield message("Judged relevant"), f"{n_relevant:,}"
    yield message("Graded by"), joined(", ", [people, judge]) if people or judge else "-"
    yield message("Judged"), joined(" ", [known, share])
    yield message("Pool"), Name(pool["hash"], "code")


def pool_table(evaluations: Sequence[Evaluation]) -> Table:
    """How much of each retriever's lists was judged, and between which values its means lie."""
    metrics = metric_names(evaluation.mean for evaluation in evaluations)

    def mean(evaluation: Evaluation, metric: str) -> Cell:
        low, high = evaluation.bounds.get(metric, (0.0, 0.0))
        below = message("possible: {range}", range=between(low, high))
        is_open = high - low > 1e-9  # bounds that rounding alone keeps apart leave nothing open
        return Cell(
            number(evaluation.mean.get(metric)), below=below if is_open else message("nothing open")
        )

    heads = [message("Retriever"), message("of its documents judged")]
    return Table(
        [*heads, *(Name(metric, "metric") for metric in metrics)],
        [
            [
                Name(evaluation.name, "retriever"),
                percent(evaluation.counts.get("judged_share")),
                *(mean(evaluation, metric) for metric in metrics),
            ]
            for evaluation in evaluations
        ],
        note=message("value, and what it can become"),
    )


def by_matcher(evaluations: Sequence[Evaluation]) -> list[list[Evaluation]]:
    """The evaluations of each matcher."""
    # They stand by matcher, so those of one are neighbours.
    groups = groupby(evaluations, lambda evaluation: evaluation.match_name)
    return [list(group) for _, group in groups]


def _of_matcher(
    comparison: Comparison, evaluations: Sequence[Evaluation], level: int
) -> Iterator[Part]:
    statistics = comparison.statistics
    yield Line(
        message(
            "Match {match}; profile {profile}; {share:.0%} intervals: Wilson's, of differences and "
            "times from {n:,} resamples of the queries, seed {seed}; max_failed {max_failed:g}."
            if comparison.weights is None
            else "Match {match}; profile {profile}; {share:.0%} intervals: Wilson's, of "
            "differences and mean times by asks Student's of the ratio of sums, else from {n:,} "
            "resamples of the queries, seed {seed}; max_failed {max_failed:g}.",
            match=evaluations[0].match_label,
            profile=profile_label(evaluations[0].settings),
            share=statistics.confidence,
            n=statistics.resamples,
            seed=statistics.seed,
            max_failed=statistics.max_failed,
        )
    )
    if (asks := asks_label(evaluations[0].counts)) is not None:
        yield Line(asks)
    for remark in (*comparison.gold, *comparison.failures):
        yield from remark.describe()
    yield Heading(message("Recommendations"), level=level)
    for recommendation in comparison.recommendations:
        yield from recommendation.describe()
    yield Heading(message("Metrics by retriever"), level=level)
    yield comparison.means_table(evaluations)
    yield from remarks_on(evaluations, failures=False)
    yield from map(warning, comparison.further_cautions)
    yield from comparison.against_baseline(level)
    yield from _slices_parts(comparison, level)


def _slices_parts(comparison: Comparison, level: int) -> Iterator[Part]:
    """By each field who is best in its slices, then each slice's means."""
    for field in comparison.fields_told:
        yield from comparison.by_field(field, level)
        for part in comparison.large(field):
            n = part.scored(comparison.primary)
            heading = message(
                "{value}: {n} queries" if n == part.n else "{value}: {n} of {of} queries scored",
                value=part.label,
                n=n,
                of=part.n,
            )
            yield Heading(heading, level=level + 1)
            yield part.means_table(
                metric for metric in comparison.metrics if comparison.is_in(metric, part)
            )


def gates_section(gates: Sequence[GateResult]) -> Iterator[Part]:
    """The gates under their head; nothing without any."""
    if gates:
        yield Heading(message("Gates"))
        yield gates_table(gates)


def summary_markdown(findings: Findings) -> str:
    """The gates, the numbers and what changed, short enough for the page of a CI job.

    Of evaluations it says which judgements are missing. Which setting of a grid to take stands in
    the place of means and verdict, as on the screen.
    """
    return as_markdown(_summary(findings))


def _summary(findings: Findings) -> Iterator[Part]:
    comparisons, gates = findings.comparisons, findings.gates
    bad, verdicts = failed(gates), list[str]()
    # Under several matchers the same retriever has failed only once.
    lost = dict.fromkeys(name for comparison in comparisons for name in comparison.not_comparable)
    if lost:
        nothing = any(
            failures.nothing for comparison in comparisons for failures in comparison.failures
        )
        sentence = message(
            "❌ not comparable, as failed or without any result: {names}"
            if nothing
            else "❌ not comparable, as failed: {names}",
            names=", ".join(lost),
        )
        verdicts.append(sentence)
    if gates:
        passed = message(
            "❌ {n} of {of} gates failed" if bad else "✅ every gate passed",
            n=len(bad),
            of=len(gates),
        )
        verdicts.append(passed)
    yield Heading(joined(": ", ["kragx", joined("; ", verdicts)]))
    if gates:
        yield gates_table(bad or gates)
    # Which questions fail is the same under each matcher.
    for failure in comparisons[0].failures if comparisons else ():
        yield from failure.describe()
    # Folders are compared by their numbers, without evaluations.
    for comparison, group in zip(comparisons, findings.groups or [[]] * len(comparisons)):
        if len(comparisons) > 1:
            yield Heading(message("Match: {match}", match=comparison.match), level=3)
        yield from leak_parts([evaluation.leak_report for evaluation in group])
        verdict = comparison.recommendations[0]
        if of_grid := [tuning for tuning in findings.tunings if tuning.match == comparison.match]:
            yield from of_grid[0].describe(SHOWN)
            yield from verdict.caution_lines()
        else:
            yield comparison.means_table(group)
            yield from verdict.describe()
        for evaluation in group:
            for name in ("judging", "judging_relevance"):
                judging = evaluation.counts.get(name, {"n_missing": 0})
                votes = panel_remarks(judging, votes_on(evaluation.vote_bounds, name))
                for line in (*map(warning, missing_remarks(judging)), *map(Line, votes)):
                    yield replace(line, text=joined(": ", [evaluation.name, line.text]))
    yield from changes_parts(findings.changes)
