"""What a run found out: evaluations, comparisons, gates, advice, and the folder that keeps them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from kragx.app import config as configs
from kragx.app.config import RunConfig
from kragx.app.config.values import RELEVANCE
from kragx.app.run_summary import screen
from kragx.comparison import (
    Change,
    Comparison,
    Failures,
    GateResult,
    Results,
    RetrieverScores,
    changes,
    check_gates,
    compare_by_matcher,
    fields_worth_slicing,
)
from kragx.comparison.threshold_study import Sweep, sweep_of_grid
from kragx.comparison.tuning import Tuning, as_measured, costs_of, tuning_of
from kragx.data import NO_CORPUS, Corpus, GoldDataset, Run
from kragx.evaluation.evaluate_run import versions
from kragx.evaluation.evaluation import Evaluation
from kragx.evaluation.stage_losses import StageLosses
from kragx.ground.json_values import to_jsonable
from kragx.ground.printing import Line, Part, Result, as_markdown, message, speaking
from kragx.judging.budget import Plan
from kragx.matchers import BaseMatcher
from kragx.report.figures.comparison import write_figures
from kragx.report.findings import Findings, by_matcher
from kragx.report.html_page.cells import Reasons, judged
from kragx.report.html_page.page import write_html
from kragx.report.record import Past, Record, record_lines


@dataclass(frozen=True)
class RunReport(Result):
    """What `run` found out; printed, it is one screen.

    Attributes:
        config: the config, every default filled in.
        dataset: the gold set.
        runs: what each retriever returned, by its name.
        evaluations: one for each matcher and retriever, by matcher, then retriever.
        earlier: an earlier run, to compare with.
        anyway: compare with them even if they cannot be compared.
        matchers: those that decided, by the name that evaluations give them.
        record: how the run came about; None where that is not recorded.
        corpus: has the texts of ids.
        plans: of a dry run, what each judge would have to be asked.
        losses: of each matcher and retriever with stages, which of them lose the gold.
        told: what was said before the first question was asked, and need not be on the screen.
    """

    config: RunConfig
    dataset: GoldDataset
    runs: Mapping[str, Run]
    evaluations: tuple[Evaluation, ...]
    earlier: Past | None = None
    anyway: bool = False
    matchers: Mapping[str, BaseMatcher] = field(default_factory=dict, repr=False, compare=False)
    record: Record | None = None
    corpus: Corpus = field(default=NO_CORPUS, repr=False, compare=False)
    plans: Sequence[Plan] = field(default=(), repr=False, compare=False)
    losses: tuple[StageLosses, ...] = ()
    told: tuple[str, ...] = field(default=(), repr=False, compare=False)

    @property
    def slices(self) -> tuple[str, ...]:
        """The fields to compare within: the config's, or else those that are worth it.

        Slices help to find where a retriever fails.
        """
        slices = self.config.slices
        return fields_worth_slicing(self.dataset) if slices is None else tuple(slices)

    @cached_property
    def comparisons(self) -> tuple[Comparison, ...]:
        """The retrievers compared, once for each matcher; computed when first asked for.

        The verdict is that of a grid, where there is one.
        """
        if self.tunings:
            pairs = zip(self.tunings, self._compared, strict=True)
            return tuple(tuning.instead(comparison) for tuning, comparison in pairs)
        return self._compared

    # Once: verdicts, gates, tunings and figures read the same, and its bootstrap takes long.
    @cached_property
    def _compared(self) -> tuple[Comparison, ...]:
        """The retrievers compared, whatever else stands beside that."""
        return compare_by_matcher(
            map(RetrieverScores.of, self.evaluations),
            self.config.comparing,
            baseline=self.config.baseline,
            slices=self.slices,
            dataset=self.dataset,
        )

    @cached_property
    def tunings(self) -> tuple[Tuning, ...]:
        """Which setting of the config's grids to take, under each matcher; empty without a grid."""
        config = self.config
        if not config.has_grid or (metric := config.tuning_metric) is None:
            return ()
        costs = costs_of(self.runs, config.budget_tokenizer)
        return tuple(
            tuning_of(
                group,
                config.settings,
                costs,
                comparison.failures,
                metric,
                config.comparing,
                self.dataset,
                self.slices,
            )
            for comparison, group in zip(self._compared, by_matcher(self.evaluations))
        )

    @cached_property
    def matcher_grids(self) -> tuple[Sweep, ...]:
        """How the order of retrievers depends on the settings of each matcher with a grid."""
        if (metric := self.config.tuning_metric) is None:
            return ()
        of_grid: dict[str, list[tuple[str, dict[str, float]]]] = {}
        settings = {setting.name: setting for setting, _ in self.config.matcher_settings}
        for comparison, group in zip(self.comparisons, by_matcher(self.evaluations)):
            if (setting := settings[comparison.match]).values:
                measured = as_measured(metric, group[0])
                means = {
                    evaluation.name: mean
                    for evaluation in group
                    if evaluation.name not in comparison.not_comparable
                    and (mean := evaluation.mean[measured]) is not None
                }
                of_grid.setdefault(setting.of, []).append((setting.name, means))
        return tuple(sweep_of_grid(name, metric, under) for name, under in of_grid.items())

    @cached_property
    def changes(self) -> tuple[Change, ...]:
        """Each retriever against what it was in the earlier results; empty without those."""
        if self.earlier is None:
            return ()
        scores = tuple(map(RetrieverScores.of, self.evaluations))
        now = Results("these results", scores, self.dataset)
        return changes(
            self.earlier.results,
            now,
            self.config.comparing,
            slices=self.config.slices or (),
            anyway=self.anyway,
        )

    @cached_property
    def gates(self) -> tuple[GateResult, ...]:
        """The config's gates, each held against the retrievers that it concerns."""
        return check_gates(self.config.parsed_gates, self.comparisons, self.changes)

    @property
    def failures(self) -> dict[str, Failures]:
        """The retrievers that failed on more questions than is tolerated."""
        return {
            failure.retriever: failure
            for comparison in self.comparisons
            for failure in comparison.failures
            if failure.failed
        }

    def describe(self, *, full: bool = False) -> Iterator[Part]:
        """What one needs to decide what to do next; `full` is all that there is."""
        if full:
            yield from self.findings.parts(self._record_lines)
            return
        yield from screen(self.findings, self.told)
        if self.record is not None:
            yield from self.record.resumption()

    @property
    def findings(self) -> Findings:
        """All that was found out, as every report of it tells it."""
        return Findings(
            self.evaluations,
            self.comparisons,
            self.changes,
            self.gates,
            self.losses,
            self.tunings,
            self.matcher_grids,
        )

    def to_dict(self) -> dict[str, Any]:
        """What report.json holds: config, versions, numbers, comparisons, gates."""
        report: dict[str, Any] = {
            "record": self.record,
            "config": self.config.resolved(),
            "versions": versions(),
            **vars(self.findings),
            "evaluations": [
                {
                    "retriever": evaluation.name,
                    "match": evaluation.match_name,
                    "nearby": evaluation.nearby,
                    "failures": evaluation.failures,
                    **evaluation.to_dict(queries=True, intervals=False),
                }
                for evaluation in self.evaluations
            ],
        }
        # Only where questions weigh differently: a report of equal ones stays as it was.
        if (weights := self.dataset.weights) is not None:
            ids = (query.id for query in self.dataset)
            report["weights"] = dict(zip(ids, weights.tolist()))
        return {name: to_jsonable(value) for name, value in report.items()}

    def with_gates(self, gates: Mapping[str, Any]) -> RunReport:
        """The same numbers held against other gates."""
        return replace(self, config=configs.with_gates(self.config, gates))

    def to_markdown(self, *, language: str | None = None) -> str:
        """The report for people, in Markdown."""
        with speaking(language):
            return as_markdown(self.findings.parts(self._record_lines))

    def to_html(self, path: str | Path) -> None:
        """Write the report for people as one HTML file; see `kragx.report.html_page`."""
        write_html(
            path=path,
            dataset=self.dataset,
            runs=self.runs,
            **vars(self.findings),
            corpus=self.corpus.docs,
            reasons=self._reasons,
            matchers=self.matchers,
            record=to_jsonable(self.record),
        )

    def draw(self, folder: str | Path, *, language: str | None = None) -> list[Path]:
        """Draw the figures of each matcher as PNG and SVG; see `kragx.report.figures.comparison`.

        Raises:
            MissingExtraError: matplotlib is not installed.
        """
        return write_figures(
            self.comparisons,
            self.evaluations,
            folder,
            dataset=self.dataset,
            runs=self.runs,
            language=language,
        )

    @property
    def _record_lines(self) -> list[Line]:
        """How the run came about, and the earlier one that it is compared with."""
        lines = record_lines(self.record)
        if self.earlier is not None:
            earlier = message("earlier, {name}", name=self.earlier.results.name)
            lines += record_lines(self.earlier.record, earlier)
        return lines

    @property
    def _reasons(self) -> dict[str, Reasons]:
        """What judges said, by the matcher's name, from their stores."""
        profile = self.config.resolved_profile
        depths = {
            evaluation.match_name: evaluation.settings["pool"]["depth"]
            for evaluation in self.evaluations
            if "pool" in evaluation.settings
        }
        judges = {
            name: matcher.of_relevance(depths[name]) if name in depths else matcher
            for name, matcher in self.matchers.items()
        }
        reasons = {
            name: judged(judge, self.dataset, self.runs.values(), profile)
            for name, judge in judges.items()
        }
        # A judge of relevance decides under no matcher of its own: its words stand with each.
        relevance = reasons.pop(RELEVANCE, {})
        names = [name for name in self.matchers if relevance and name != RELEVANCE]
        return reasons | {name: {**relevance, **reasons.get(name, {})} for name in names}
