"""Two result folders, or two retrievers of one, compared by the numbers that stand there."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kragx.app.folder.opened import opened
from kragx.app.record import Record, record_lines
from kragx.comparison import (
    Change,
    Gate,
    GateResult,
    changes,
    check_gates,
    compare_by_matcher,
    gates_parts,
    parse_gates,
)
from kragx.comparison.changes import EARLIER, NOW, changes_parts
from kragx.errors import UsageError
from kragx.metrics import Profile
from kragx.plugins import data_alone
from kragx.printing import Line, Part, Result


@dataclass(frozen=True)
class Compared(Result):
    """What `compare_folders` found: what became of each retriever, and gates.

    Attributes:
        changes: of each retriever.
        gates: what the numbers were held against.
        records: how the run of each folder came about; None where it is not recorded.
    """

    changes: tuple[Change, ...]
    gates: tuple[GateResult, ...]
    records: Mapping[str, Record | None] = field(default_factory=dict)

    @property
    def origins(self) -> list[Line]:
        """How the folders came about."""
        return [line for name, of in self.records.items() for line in record_lines(of, name)]

    @property
    def failures(self) -> list[str]:
        """Who failed, now or before, so that nothing can be said of it."""
        return [
            f"{change.retriever} {name}" if name in (EARLIER, NOW) else name
            for change in self.changes
            for name in change.comparison.not_comparable
        ]

    def describe(self) -> Iterator[Part]:
        """Every change, metric by metric, and the gates."""
        yield from self.origins
        yield from changes_parts(self.changes)
        yield from gates_parts(self.gates)


def compare_folders(
    old: Path,
    new: Path | None = None,
    *,
    retrievers: Sequence[str] = (),
    gates: Sequence[str] = (),
    slices: Sequence[str] | None = None,
    anyway: bool = False,
    settings: Sequence[str] = (),
    trust: bool = False,
) -> Compared:
    """Compare the numbers of two result folders, or of two retrievers in one, as they stand there.

    Args:
        old: the earlier folder.
        new: the later one; None for the same, and then two retrievers must be named.
        retrievers: as for `kragx.comparison.changes`.
        gates: conditions on the later one, besides those of its config: ``"ndcg@10: >= 0.75"``.
            Within one folder these alone, and ``earlier`` is the first retriever.
        slices: fields to compare within; None for those of the later one's config.
        anyway: compare what cannot be compared, and say so.
        settings: values that win over the config's, as ``max_failed=0.1``.
        trust: read what the folders link to, and import metrics that they name, which say more of
            themselves than what stands in the folders.

    Raises:
        DataError: a folder lacks a file, or one is broken.
        UsageError: nothing corresponds, or the results cannot be compared.
        UntrustedError: a gate needs code that may not run.
    """
    with data_alone(gates, trust=trust):
        return _compared(old, new, retrievers, gates, slices, anyway, settings, trust)


def _compared(
    old: Path,
    new: Path | None,
    retrievers: Sequence[str],
    gates: Sequence[str],
    slices: Sequence[str] | None,
    anyway: bool,
    settings: Sequence[str],
    trust: bool,
) -> Compared:
    sides, records = [], {}
    for folder in (old,) if new is None else (old, new):
        with opened(folder, trust=trust) as content:
            sides.append(content.results)
            config = content.config(settings)
            records[str(folder)] = content.record
    before, after = sides[0], sides[-1]
    statistics = config.comparing
    fields = (config.slices or ()) if slices is None else slices
    changed = changes(
        before, after, statistics, retrievers=retrievers, slices=fields, anyway=anyway
    )
    named = read_gates(_conditions(gates), config.resolved_profile, "--gate")
    own = {} if new is None else config.gates or {}
    conditions = (*read_gates(own, config.resolved_profile), *named)
    if not conditions:
        return Compared(changed, (), records)
    comparisons = compare_by_matcher(
        after.scores,
        statistics,
        baseline=config.baseline,
        slices=fields,
        dataset=after.dataset,
        anyway=anyway,
    )
    looked_at = {change.retriever for change in changed} if retrievers else set(after.retrievers)
    results = check_gates(conditions, comparisons, changed)
    held = tuple(result for result in results if result.retriever in looked_at)
    return Compared(changed, held, records)


def read_gates(gates: object, profile: Profile, path: str = "gates") -> tuple[Gate, ...]:
    """Gates that stand in no config; a `UsageError` lists every mistake in them."""
    problems: list[str] = []
    parsed = parse_gates(gates, problems, profile, path)
    if problems:
        raise UsageError("\n".join(problems))
    return parsed


def _conditions(options: Sequence[str]) -> dict[str, list[str]]:
    """The gates of a command line, as a config has them."""
    conditions: dict[str, list[str]] = {}
    for text in options:
        metric, colon, condition = text.partition(":")
        if not colon:
            raise UsageError(
                f"--gate {text!r}: write metric: condition, for example ndcg@10: >= 0.75"
            )
        conditions.setdefault(metric.strip(), []).append(condition.strip())
    return conditions
