"""Asking the settings of a config: all of them all questions, or fewer by halving."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from kragx.app.config import RunConfig
from kragx.app.retrieving.fingerprint import Fingerprints
from kragx.app.retrieving.grids import cuts
from kragx.app.retrieving.retrieve_all import Keeping, retrieve_all
from kragx.app.tunings import halves_of, metric_of, rules_of
from kragx.comparison import Failures
from kragx.data import GoldDataset, Run
from kragx.evaluation.evaluation import Evaluation
from kragx.evaluation.parts.engine import Engine
from kragx.metrics import Floats
from kragx.report.record import Kept
from kragx.tuning import Drop, Rules, halve

Measure = Callable[[RunConfig, GoldDataset, Mapping[str, Run]], Sequence[Evaluation]]
"""Evaluates runs under the only matcher of a config."""


@dataclass
class Asker:
    """Asks settings; what was asked in an earlier round is not asked again.

    Attributes:
        config: has the settings.
        progress, keeping, engine: as for `retrieve_all`.
        told: whether it was said what becomes of kept answers.
        asked: how many questions each setting was asked here, rounds before the last.
    """

    config: RunConfig
    progress: bool | None
    keeping: Keeping | None
    engine: Engine | None
    told: bool = False
    asked: dict[str, int] = field(default_factory=dict)

    def runs(
        self, names: Collection[str], dataset: GoldDataset
    ) -> tuple[dict[str, Run], dict[str, Kept]]:
        """What each of these settings returns to each question, and what an earlier run has kept.

        Of settings that differ in where a list is cut the longest is asked.
        """
        shorter = cuts(self.config.retrievers)
        needed = {shorter[name].of if name in shorter else name for name in names}
        asked = {name: own for name, own in self.config.asked.items() if name in needed}
        keeping = self.keeping
        if keeping is not None and self.told:
            keeping = replace(keeping, say=str)
        runs, kept = retrieve_all(
            asked, dataset, progress=self.progress, keeping=keeping, engine=self.engine
        )
        runs |= {name: shorter[name].run(name, runs) for name in names if name in shorter}
        before = {
            name: replace(own, n_answers=own.n_answers - self.asked.get(name, 0))
            for name, own in kept.items()
        }
        for name in asked:
            n_kept = kept[name].n_answers if name in kept else 0
            self.asked[name] = self.asked.get(name, 0) + len(dataset) - n_kept
        self.told = True
        ordered = {name: runs[name] for name in self.config.asked if name in names}
        return ordered, {name: own for name, own in before.items() if own.n_answers > 0}


def ask_settings(
    config: RunConfig,
    dataset: GoldDataset,
    measure: Measure,
    *,
    slices: Sequence[str] = (),
    progress: bool | None = None,
    keeping: Keeping | None = None,
    engine: Engine | None = None,
) -> tuple[dict[str, Run], dict[str, Kept], tuple[Drop, ...]]:
    """What the settings of a config return, without those that halving has dropped.

    Args:
        config: has the settings.
        dataset: the questions.
        measure: gives the values of a round.
        slices: fields of a query; each round has its share of the first one's values.
        progress: whether to show progress on standard error; None for only on a terminal.
        keeping: how answers are kept as they come; None keeps none, but from round to round.
        engine: as for `retrieve_all`.

    Returns:
        The runs, how many of their answers an interrupted run had left, and who was dropped.
    """
    metric = metric_of(config)
    if config.halving is None or metric is None:
        runs, kept = Asker(config, progress, keeping, engine).runs([*config.asked], dataset)
        return runs, kept, ()
    with ExitStack() as within:
        if keeping is None:
            folder = Path(within.enter_context(TemporaryDirectory()))
            here = None if config.file is None else config.file.parent
            keeping = Keeping(folder, Fingerprints(here, [folder]))
        asker = Asker(config, progress, keeping, engine)
        choosing, _ = halves_of(config, dataset, slices)
        rules = rules_of(config, metric, "", len(choosing))
        questions = [dataset[query_id] for query_id in choosing]

        def values(names: Sequence[str], rows: np.ndarray) -> dict[str, Floats | None]:
            part = replace(dataset, queries=tuple(questions[row] for row in rows.tolist()))
            runs, _ = asker.runs(names, part)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the whole run says them
                evaluations = measure(config, part, runs)
            return {
                evaluation.name: _values(evaluation, rules, config.max_failed)
                for evaluation in evaluations
            }

        spared = {config.baseline} if config.baseline is not None else set()
        drops = halve(
            [*config.asked],
            np.arange(len(choosing)),
            config.halving,
            values,
            rules,
            spared={name for name in spared if name},
        )
        gone = {drop.name for drop in drops}
        runs, kept = asker.runs([name for name in config.asked if name not in gone], dataset)
        return runs, kept, drops


def _values(evaluation: Evaluation, rules: Rules, max_failed: float) -> Floats | None:
    if not Failures.of(evaluation, max_failed).tolerated:
        return None
    (scores,) = (score for score in evaluation.scores if str(score.spec) == rules.metric)
    return scores.values
