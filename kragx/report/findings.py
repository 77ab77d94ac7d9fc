"""What evaluations came to, in one value that screen, Markdown and page tell each in its way."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from kragx.comparison import Change, Comparison, GateResult, gates_table
from kragx.comparison.changes import changes_parts
from kragx.comparison.side_by_side import remarks_on
from kragx.comparison.threshold_study import Sweep
from kragx.comparison.tuning import Tuning
from kragx.evaluation.evaluation import Evaluation, profile_label
from kragx.evaluation.leaks import leaks_table
from kragx.evaluation.stage_losses import StageLosses, losses_parts, reasons
from kragx.evaluation.wording import asks_label
from kragx.ground.printing import (
    Cell,
    Heading,
    Line,
    Name,
    Part,
    Table,
    percent,
    phrase,
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
        yield from _gold_lines(self.evaluations[0])
        yield from record
        yield from _leaks_parts(self.groups)
        for tuning in self.tunings:
            yield from tuning.full()
        for of_grid in self.matcher_grids:
            yield Heading(phrase("Under the settings of {of}", of=of_grid.match_name))
            yield from of_grid.describe()
        several = len(self.groups) > 1
        for comparison, group in zip(self.comparisons, self.groups):
            if several:
                yield Heading(phrase("Match: {match}", match=comparison.match))
            level = 3 if several else 2
            yield from _of_matcher(comparison, group, level)
            yield from losses_parts(self.losses_under(comparison.match), level)
        if self.changes:
            yield Heading(phrase("Compared with the earlier results"))
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
        found = phrase("read") if k is None else phrase("within {k}", k=k)
        yield Table(
            [phrase("retriever"), found, *words.values(), phrase("gold items")],
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


def _gold_lines(evaluation: Evaluation) -> Iterator[Line]:
    """The gold set, and how much of it was scored."""
    dataset, counts = evaluation.settings["dataset"], evaluation.counts
    yield Heading(str(dataset["name"]), level=1)
    yield Line(
        phrase(
            "Gold set {name}, sha256 {hash}; {n} of {of} queries scored."
            if dataset["version"] is None
            else "Gold set {name} version {version}, sha256 {hash}; {n} of {of} queries scored.",
            name=dataset["name"],
            version=dataset["version"],
            hash=str(dataset["hash"])[:12],
            n=counts["n_scored"],
            of=counts["n_queries"],
        )
    )


def _leaks_parts(groups: Sequence[Sequence[Evaluation]]) -> Iterator[Part]:
    """What leaks under each matcher; nothing where nothing is forbidden."""
    for group in groups:
        if leaks := [*leaks_table(group)]:
            match = group[0].match_name
            heading = phrase("Leaks, match {match}", match=match)
            yield Heading(heading if len(groups) > 1 else phrase("Leaks"))
            yield from leaks


def by_matcher(evaluations: Sequence[Evaluation]) -> list[list[Evaluation]]:
    """The evaluations of each matcher."""
    # They stand by matcher, so those of one are neighbours.
    groups = groupby(evaluations, lambda evaluation: evaluation.match_name)
    return [list(group) for _, group in groups]


def _of_matcher(
    comparison: Comparison, evaluations: Sequence[Evaluation], level: int
) -> Iterator[Part]:
    yield _settings_line(comparison, evaluations[0])
    if (asks := asks_label(evaluations[0].counts)) is not None:
        yield Line(asks)
    for remark in (*comparison.gold, *comparison.failures):
        yield from remark.describe()
    yield Heading(phrase("Recommendations"), level=level)
    for recommendation in comparison.recommendations:
        yield from recommendation.describe()
    yield Heading(phrase("Metrics by retriever"), level=level)
    yield comparison.means_table(evaluations)
    yield from remarks_on(evaluations, failures=False)
    yield from map(warning, comparison.further_cautions)
    yield from comparison.against_baseline(level)
    yield from _slices_parts(comparison, level)


def _settings_line(comparison: Comparison, evaluation: Evaluation) -> Line:
    statistics = comparison.statistics
    return Line(
        phrase(
            "Match {match}; profile {profile}; {share:.0%} intervals: Wilson's, of differences and "
            "times from {n:,} resamples of the queries, seed {seed}; max_failed {max_failed:g}."
            if comparison.weights is None
            else "Match {match}; profile {profile}; {share:.0%} intervals: Wilson's, of "
            "differences and mean times by asks Student's of the ratio of sums, else from {n:,} "
            "resamples of the queries, seed {seed}; max_failed {max_failed:g}.",
            match=evaluation.match_label,
            profile=profile_label(evaluation),
            share=statistics.confidence,
            n=statistics.resamples,
            seed=statistics.seed,
            max_failed=statistics.max_failed,
        )
    )


def _slices_parts(comparison: Comparison, level: int) -> Iterator[Part]:
    """By each field who is best in its slices, then each slice's means."""
    for field in comparison.fields_told:
        yield Heading(phrase("By {field}", field=field), level=level)
        yield comparison.slices_table(field)
        for part in comparison.large(field):
            n = part.scored(comparison.primary)
            heading = phrase(
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
        yield Heading(phrase("Gates"))
        yield gates_table(gates)
