"""`run`: from a config to what it finds out; `recompute`: the same from what a run has left."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from kragx.app import config as configs
from kragx.app.asking import retrieved
from kragx.app.checks import check_earlier, check_slices, earlier_results
from kragx.app.config import RunConfig, filled
from kragx.app.folder import as_read, read_folder
from kragx.app.run_report import RunReport
from kragx.data.gold import GoldDataset
from kragx.data.reading import read_dataset
from kragx.data.runs import Run
from kragx.errors import DataError, UsageError
from kragx.evaluation.evaluate import evaluate
from kragx.evaluation.evaluation import Evaluation
from kragx.evaluation.pooling import pooled
from kragx.judging import read_judge
from kragx.judging.setup import adjusted
from kragx.matchers import BaseMatcher, MatchItem, label, matcher


def run(
    config: RunConfig,
    *,
    progress: bool | None = None,
    judging: Mapping[str, Any] | None = None,
    folder: Path | None = None,
    anyway: bool = False,
) -> RunReport:
    """Ask every retriever, match, and compute the metrics.

    Args:
        config: from `kragx.app.config.load`.
        progress: whether to show progress on standard error; None for only on a terminal.
        folder: where answers are kept as they come, so that an interrupted run goes on; None
            keeps none.
        judging: options of the judge that win over the config's (``budget``, ``dry_run``, ...).
        anyway: compare with the config's earlier results even if they cannot be compared.

    Raises:
        UsageError: a retriever cannot be loaded or does not take its arguments.
        DataError: the gold set or a results file is bad.
        JudgingError: judgements are missing, or the budget is used up; what was judged is stored.
    """
    if judging and config.judge is None:
        raise UsageError(
            f"{', '.join(judging)}: the config has no 'judge' that this could belong to"
        )
    earlier = earlier_results(config, folder)
    dataset = load_dataset(config)
    # Whatever can be wrong is found before the first question is asked.
    check_slices(config, dataset)
    if earlier is not None:
        check_earlier(earlier, config, dataset, anyway=anyway)
    runs = retrieved(config.retrievers, dataset, progress=progress, folder=folder)
    chosen = _matchers(config, judging)
    evaluations = evaluated(config, dataset, runs, judging, chosen)
    return RunReport(config, dataset, runs, evaluations, earlier, anyway, chosen)


def load_dataset(config: RunConfig) -> GoldDataset:
    """The gold set of a config."""
    given = config.dataset
    return read_dataset(
        given.path,
        given.format,
        given.columns,
        encoding=given.encoding,
        name=given.name,
        version=given.version,
    )


def recompute(folder: Path, *, earlier: Path | None = None, anyway: bool = False) -> RunReport:
    """Every number of a result folder once more, from what it holds; nothing is retrieved.

    Args:
        folder: that `RunReport.write` has written.
        earlier: a folder to compare with; None for the one that the config names.
        anyway: as for `run`.

    Raises:
        DataError: the folder lacks a file, or one is broken.
    """
    config, dataset, runs = read_folder(folder)
    if earlier is not None:
        config = configs.with_earlier(config, earlier)
    before = earlier_results(config, folder)
    chosen = _matchers(config)
    found = evaluated(config, dataset, runs, matchers=chosen)
    evaluations = tuple(map(as_read(folder), found))
    return RunReport(config, dataset, runs, evaluations, before, anyway, chosen)


def evaluated(
    config: RunConfig,
    dataset: GoldDataset,
    runs: Mapping[str, Run],
    judging: Mapping[str, Any] | None = None,
    matchers: Mapping[str, BaseMatcher] | None = None,
) -> tuple[Evaluation, ...]:
    """The evaluation of each run under each matcher of a config; `matchers` are those, if made."""
    evaluations = []
    options = _match_options(config, judging)
    facts = None if config.facts_match is None else matcher(filled(config.facts_match), options)
    for name, made in (_matchers(config, judging) if matchers is None else matchers).items():
        # One for all retrievers: each distinct text is tokenised, or judged, once.
        chosen = made
        if chosen.needs_pool(MatchItem(query, ()) for query in dataset):
            chosen = pooled(dataset, runs.values(), match=chosen, profile=config.chosen_profile)
        for found in runs.values():
            try:
                evaluation = evaluate(
                    dataset,
                    found,
                    match=chosen,
                    metrics=config.metrics,
                    profile=config.profile,
                    no_gold=config.no_gold,
                    facts_match=facts,
                    budget_tokenizer=config.budget_tokenizer,
                )
            except DataError as error:
                raise DataError(f"retrievers.{found.name}: {error}") from None
            evaluations.append(replace(evaluation, match_name=name))
    return tuple(evaluations)


def _matchers(
    config: RunConfig, judging: Mapping[str, Any] | None = None
) -> dict[str, BaseMatcher]:
    """The matchers of a config, by the name that evaluations give them."""
    options = _match_options(config, judging)
    return {
        name or label(spec): matcher(filled(spec), options)
        for name, spec in config.named_matchers.items()
    }


def _match_options(config: RunConfig, judging: Mapping[str, Any] | None) -> dict[str, Any]:
    """What matchers are made with besides their own options: the profile's, and the judge."""
    options = dict(config.chosen_profile.match_options)
    if config.judge is not None:
        options["judge"] = adjusted(read_judge(filled(config.judge)), **(judging or {}))
    return options
