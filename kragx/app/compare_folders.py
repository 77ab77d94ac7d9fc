"""Two result folders, or two retrievers of one, compared by the numbers that stand there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kragx.app import config as configs
from kragx.app.config import RunConfig
from kragx.comparison import (
    Change,
    Gate,
    GateResult,
    changes,
    check_gates,
    compare_by_matcher,
    parse_gates,
    read_results_folder,
)
from kragx.errors import UsageError


@dataclass(frozen=True)
class Compared:
    """What `compare_folders` found: what became of each retriever, and gates."""

    changes: tuple[Change, ...]
    gates: tuple[GateResult, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "changes": [each.to_dict() for each in self.changes],
            "gates": [each.to_dict() for each in self.gates],
        }


def compare_folders(
    old: Path,
    new: Path | None = None,
    *,
    retrievers: Sequence[str] = (),
    gates: Sequence[str] = (),
    slices: Sequence[str] | None = None,
    anyway: bool = False,
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

    Raises:
        DataError: a folder lacks a file, or one is broken.
        UsageError: nothing corresponds, or the results cannot be compared.
    """
    before = read_results_folder(old)
    after = before if new is None else read_results_folder(new)
    config = configs.load((new or old) / "config.yaml", needs_env=False)
    settings = config.statistics.settings
    fields = (config.slices or ()) if slices is None else slices
    found = changes(before, after, settings, retrievers=retrievers, slices=fields, anyway=anyway)
    chosen = (*(() if new is None else config.parsed_gates), *_gates_of(gates, config))
    if not chosen:
        return Compared(found, ())
    comparisons = compare_by_matcher(
        after.scores,
        settings,
        baseline=config.baseline,
        slices=fields,
        dataset=after.dataset,
        anyway=anyway,
    )
    looked_at = {each.retriever for each in found} if retrievers else set(after.retrievers)
    results = check_gates(chosen, comparisons, found)
    return Compared(found, tuple(each for each in results if each.retriever in looked_at))


def _gates_of(given: Sequence[str], config: RunConfig) -> tuple[Gate, ...]:
    """Gates of a command line, read as the config's are."""
    problems: list[str] = []
    found: list[Gate] = []
    for text in given:
        metric, colon, condition = text.partition(":")
        if not colon:
            raise UsageError(
                f"--gate {text!r}: write metric: condition, for example ndcg@10: >= 0.75"
            )
        block = {metric.strip(): condition.strip()}
        found += parse_gates(block, problems, config.chosen_profile, path="--gate")
    if problems:
        raise UsageError("\n".join(problems))
    return tuple(found)
