"""`run`: from a config to evaluations, and the folder that keeps them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from kragx import plugins
from kragx.config import RetrieverConfig, RunConfig, filled
from kragx.dataset import GoldDataset
from kragx.errors import DataError, UsageError
from kragx.evaluation import Evaluation, evaluate, pooled, versions
from kragx.formats.jsonl import make_folder, read_gold, read_results, to_json, write_results
from kragx.judging import read_judge
from kragx.judging.setup import adjusted
from kragx.matchers import JudgeMatcher, MatchItem, label, matcher
from kragx.report.files import means_csv, queries_csv, write_text
from kragx.results import Run
from kragx.retrieval import is_retriever, retrieve


@dataclass(frozen=True)
class RunReport:
    """What `run` found out.

    Attributes:
        config: the config, every default filled in.
        dataset: the gold set.
        runs: what each retriever returned, by its name.
        evaluations: one for each matcher and retriever, by matcher, then retriever.
    """

    config: RunConfig
    dataset: GoldDataset
    runs: Mapping[str, Run]
    evaluations: tuple[Evaluation, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON: config, versions, and each evaluation with its queries."""
        return {
            "config": self.config.resolved(),
            "versions": versions(),
            "evaluations": [
                {"retriever": each.name, "match": each.match_name, **each.to_dict(queries=True)}
                for each in self.evaluations
            ],
        }

    def write(self, folder: Path) -> None:
        """Write report.json, means.csv, queries.csv, config.yaml and results/<retriever>.jsonl."""
        make_folder(folder / "results")
        for name, found in zip(_file_names(self.runs), self.runs.values(), strict=True):
            write_results(self.dataset, found, folder / "results" / f"{name}.jsonl")
        write_text(folder / "report.json", to_json(self.to_dict(), indent=2))
        write_text(folder / "means.csv", means_csv(self.evaluations))
        write_text(folder / "queries.csv", queries_csv(self.evaluations))
        config = yaml.safe_dump(self.config.resolved(), allow_unicode=True, sort_keys=False)
        write_text(folder / "config.yaml", config)


def run(
    config: RunConfig,
    *,
    progress: bool | None = None,
    judging: Mapping[str, Any] | None = None,
) -> RunReport:
    """Ask every retriever, match, and compute the metrics.

    Args:
        config: from `kragx.config.load`.
        progress: whether to show progress on standard error; None for only on a terminal.
        judging: options of the judge that win over the config's (``budget``, ``dry_run``, ...).

    Raises:
        UsageError: a retriever cannot be loaded or does not take its arguments.
        DataError: the gold set or a results file is bad.
        JudgingError: judgements are missing, or the budget is used up; what was judged is stored.
    """
    if judging and config.judge is None:
        raise UsageError(
            f"{', '.join(judging)}: the config has no 'judge' that this could belong to"
        )
    dataset = read_gold(config.dataset.path)
    if config.dataset.name:
        dataset = replace(dataset, name=config.dataset.name)
    runs = {
        name: _retrieved(name, retriever, dataset, progress)
        for name, retriever in config.retrievers.items()
    }
    evaluations = []
    options = dict(config.chosen_profile.match_options)
    if config.judge is not None:
        options["judge"] = adjusted(read_judge(filled(config.judge)), **(judging or {}))
    for name, spec in config.named_matchers.items():
        # One for all retrievers: each distinct text is tokenised, or judged, once.
        chosen = matcher(spec, options)
        if isinstance(chosen, JudgeMatcher) and chosen.needs_pool(
            MatchItem(query, ()) for query in dataset
        ):
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
                )
            except DataError as error:
                raise DataError(f"retrievers.{found.name}: {error}") from None
            evaluations.append(replace(evaluation, match_name=name or label(spec)))
    return RunReport(config, dataset, runs, tuple(evaluations))


def _retrieved(
    name: str, config: RetrieverConfig, dataset: GoldDataset, progress: bool | None
) -> Run:
    if config.results is not None:
        found = read_results(config.results)[1]
        if not len(found):
            raise DataError(
                f"retrievers.{name}.results: {config.results}: no query has 'retrieved'; this is a "
                "gold file, not a results file"
            )
        return replace(found, name=name, settings={"results": str(config.results)})
    assert config.factory is not None  # the config's own check
    where = f"retrievers.{name}"
    try:
        retriever = plugins.build(config.factory, filled(config.args))
    except UsageError as error:
        raise UsageError(f"{where}: {error}") from error
    if not is_retriever(retriever):
        raise UsageError(
            f"{where}: {config.factory} made a {type(retriever).__name__}, which cannot be asked; "
            "it must be a LangChain retriever or runnable, or a function"
        )
    try:
        answered = retrieve(
            retriever, dataset, name=name, concurrency=config.concurrency, progress=progress
        )
    except (ImportError, UsageError) as error:
        raise UsageError(f"{where}: {error}") from error
    return replace(answered, settings={"class": config.factory, "args": config.args or {}})


def _file_names(names: Iterable[str]) -> list[str]:
    """Retrievers' names as file names: what file systems refuse replaced, none twice."""
    taken: dict[str, None] = {}  # in lower case, as some file systems do not tell cases apart
    files = []
    for name in names:
        plain = re.sub(r'[<>:"/\\|?*\x00-\x1f]', "_", name).strip(". ")[:60] or "_"
        file, number = plain, 1
        while file.lower() in taken:
            number += 1
            file = f"{plain}-{number}"
        taken[file.lower()] = None
        files.append(file)
    return files
