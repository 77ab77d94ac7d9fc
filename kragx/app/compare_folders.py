"""Result folders, or two retrievers of one, compared by the numbers that stand there."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from kragx.app.result_folder.opened import is_scored, opened, read_earlier, read_scored
from kragx.comparison import (
    Change,
    Comparison,
    Failures,
    Gate,
    GateResult,
    Settings,
    changes,
    check_gates,
    compare_by_matcher,
    gates_parts,
    parse_gates,
)
from kragx.comparison.changes import EARLIER, NOW, changes_parts
from kragx.comparison.compare_retrievers import best_first
from kragx.comparison.gate_conditions import conditions_by_metric
from kragx.data import named_twice
from kragx.ground.errors import UsageError
from kragx.ground.plugins import data_alone
from kragx.ground.printing import Heading, Line, Part, Result, as_markdown, message
from kragx.metrics import Profile, profile_for
from kragx.report.findings import Findings, gates_section
from kragx.report.record import Past, Record, record_lines


@dataclass(frozen=True)
class Compared(Result):
    """What `compare_folders` found: what became of each retriever, and gates.

    Attributes:
        changes: of each retriever, from one folder to another.
        gates: what the numbers were held against.
        records: how the run of each folder came about; None where it is not recorded.
        comparisons: of more than two folders, the best retriever first, one for each matcher.
    """

    changes: tuple[Change, ...]
    gates: tuple[GateResult, ...]
    records: Mapping[str, Record | None] = field(default_factory=dict)
    comparisons: tuple[Comparison, ...] = ()

    @property
    def origins(self) -> list[Line]:
        """How the folders came about."""
        records = self.records.items()
        return [line for name, record in records for line in record_lines(record, name)]

    @property
    def findings(self) -> Findings:
        """What a summary tells of it."""
        return Findings((), self.comparisons, self.changes, self.gates)

    @property
    def failures(self) -> dict[str, Failures]:
        """Who failed, now or before, so that nothing can be said of it."""
        compared = [(change.retriever, change.comparison) for change in self.changes]
        compared += [("", comparison) for comparison in self.comparisons]
        return {
            f"{side} {failure.retriever}"
            if failure.retriever in (EARLIER, NOW)
            else failure.retriever: failure
            for side, comparison in compared
            for failure in comparison.failures
            if failure.failed
        }

    def describe(self) -> Iterator[Part]:
        """How the folders came about, what is said of them, and the gates."""
        yield from self.origins
        yield from self.said()
        yield from gates_parts(self.gates)

    def to_markdown(self, *, language: str | None = None) -> str:
        """The same as Markdown, the gates as a table."""
        title = Heading(message("Changes"), level=1)
        parts = [title, *self.origins, *self.said(), *gates_section(self.gates)]
        return as_markdown(parts, language=language)

    def said(self) -> Iterator[Part]:
        """Every change or comparison, metric by metric."""
        yield from changes_parts(self.changes)
        for comparison in self.comparisons:
            if len(self.comparisons) > 1:
                yield Heading(f"match: {comparison.match}")
            yield from comparison.describe()


def _read(folder: Path, max_failed: float | None, *, trust: bool) -> Past:
    """A folder, or a baseline, as it is compared."""
    if folder.is_file():
        return read_earlier(folder)
    if is_scored(folder):
        return Past(read_scored(folder))
    with opened(folder, trust=trust) as content:
        return Past(content.results, content.record, content.config(max_failed))


def compare_folders(
    folders: Sequence[Path],
    *,
    retrievers: Sequence[str] = (),
    gates: Sequence[str] = (),
    slices: Sequence[str] | None = None,
    anyway: bool = False,
    max_failed: float | None = None,
    trust: bool = False,
) -> Compared:
    """Compare the numbers of result folders, or of two retrievers in one, as they stand there.

    Args:
        folders: of a run, or what `kragx score --out` has written, or baselines. Of two the first
            is the earlier one; of one two retrievers must be named; of more the best is set against
            the others.
        retrievers: as for `kragx.comparison.changes`; of more than two folders those to look at.
        gates: conditions on the last one, besides those of its config: ``"ndcg@10: >= 0.75"``.
            Within one folder these alone, and ``earlier`` is the first retriever. Of more than two
            folders they are conditions on all, and these alone; ``baseline`` is the best.
        slices: fields to compare within; None for those of the last one's config.
        anyway: compare what cannot be compared, and say so.
        max_failed: the share of questions that a retriever may fail on; None for the config's.
        trust: read what the folders link to, and import metrics that they name, which say more of
            themselves than what stands in the folders.

    Raises:
        DataError: a folder lacks a file, or one is broken.
        UsageError: nothing corresponds, or the results cannot be compared.
        UntrustedError: a gate needs code that may not run.
    """
    if len(folders) > 2 and (repeated := named_twice(folders)):
        raise UsageError("{repeated} is named twice; name each folder once", repeated=repeated)
    with data_alone(gates, trust=trust):
        sides = [_read(folder, max_failed, trust=trust) for folder in folders]
        result = _compared(
            sides, retrievers, conditions_by_metric(gates), slices, max_failed, anyway=anyway
        )
    records = {
        str(folder): side.record
        for folder, side in zip(folders, sides)
        if side.config or side.record
    }
    return replace(result, records=records)


def _compared(
    sides: Sequence[Past],
    retrievers: Sequence[str],
    gates: Mapping[str, list[str]],
    slices: Sequence[str] | None,
    max_failed: float | None,
    *,
    anyway: bool,
) -> Compared:
    """Several folders, the best retriever first; or one set against an earlier one, or itself."""
    after, config = sides[-1].results, sides[-1].config
    name = str(after.scores[0].settings["profile"].get("name", "kragx"))
    profile = profile_for(name, None) if config is None else config.resolved_profile
    statistics = Settings(max_failed=max_failed or 0.0) if config is None else config.comparing
    if slices is None:
        slices = () if config is None else config.slices or ()
    conditions = read_gates(gates, profile, "--gate")
    if len(sides) > 2:
        if any(gate.than == "earlier" for gate in conditions):
            raise UsageError(
                "--gate: of more than two folders none is the earlier one",
                remedy="name two folders, or set each against the best: no worse than baseline by "
                "0.02",
            )
        comparisons = best_first(
            [side.results for side in sides],
            statistics,
            retrievers=retrievers,
            slices=slices,
            anyway=anyway,
        )
        return Compared((), check_gates(conditions, comparisons), comparisons=comparisons)
    changed = changes(
        sides[0].results, after, statistics, retrievers=retrievers, slices=slices, anyway=anyway
    )
    if len(sides) > 1 and config is not None:
        conditions = (*read_gates(config.gates or {}, profile), *conditions)
    if not conditions:
        return Compared(changed, ())
    comparisons = compare_by_matcher(
        after.scores,
        statistics,
        baseline=None if config is None else config.baseline,
        slices=slices,
        dataset=after.dataset,
        anyway=anyway,
    )
    looked_at = [change.retriever for change in changed] if retrievers else after.retrievers
    outcomes = check_gates(conditions, comparisons, changed)
    return Compared(changed, tuple(gate for gate in outcomes if gate.retriever in looked_at))


def read_gates(gates: object, profile: Profile, path: str = "gates") -> tuple[Gate, ...]:
    """Gates that stand in no config; a `UsageError` lists every mistake in them."""
    problems: list[str] = []
    parsed = parse_gates(gates, problems, profile, path)
    if problems:
        raise UsageError("\n".join(problems))
    return parsed
