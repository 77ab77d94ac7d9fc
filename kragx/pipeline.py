"""`run`: from a config to evaluations, and the folder that keeps them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from kragx import config as configs
from kragx import plugins
from kragx.config import CallbackConfig, RetrieverConfig, RunConfig, filled
from kragx.dataset import GoldDataset
from kragx.errors import DataError, UsageError, nearest
from kragx.evaluation import Evaluation, evaluate, versions
from kragx.explanations import Explanation, explain, standard_panel
from kragx.folder import Partial, asked_hash, file_names, partial_path, write_parquet
from kragx.formats.datasets import read_dataset
from kragx.formats.jsonl import (
    file_name,
    make_folder,
    read_gold,
    read_results,
    to_json,
    write_gold,
    write_results,
)
from kragx.formats.trec import read_run
from kragx.judging import read_judge
from kragx.judging.setup import adjusted
from kragx.matchers import JudgeMatcher, MatchItem, label, matcher
from kragx.pooling import pooled
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
        """Write all that `recompute` needs and people read; see `kragx.folder`."""
        make_folder(folder / "results")
        write_gold(self.dataset, folder / "gold.jsonl")
        for name, found in zip(file_names(self.runs), self.runs.values(), strict=True):
            write_results(self.dataset, found, folder / "results" / f"{name}.jsonl")
            partial_path(folder, name).unlink(missing_ok=True)
        write_parquet(folder, self.dataset, self.runs, self.evaluations)
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
    folder: Path | None = None,
) -> RunReport:
    """Ask every retriever, match, and compute the metrics.

    Args:
        config: from `kragx.config.load`.
        progress: whether to show progress on standard error; None for only on a terminal.
        folder: where answers are kept as they come, so that an interrupted run goes on; None
            keeps none.
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
    dataset = load_dataset(config)
    files = file_names(config.retrievers)
    runs = {
        name: _retrieved(
            name,
            retriever,
            dataset,
            progress,
            None if folder is None else partial_path(folder, file),
        )
        for file, (name, retriever) in zip(files, config.retrievers.items())
    }
    return RunReport(config, dataset, runs, _evaluated(config, dataset, runs, judging))


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


def recompute(
    folder: Path, *, match: object = None, metrics: Sequence[str] | None = None
) -> RunReport:
    """Every number of a result folder once more, from what it holds; nothing is retrieved.

    Args:
        folder: what a run wrote.
        match: a match spec instead of the config's.
        metrics: metric strings instead of the config's.

    Raises:
        DataError: the folder lacks a file, or one is broken.
    """
    config, dataset, runs = _read_folder(folder)
    changed: dict[str, Any] = {} if match is None else {"match": match, "matchers": None}
    if metrics:
        changed["metrics"] = list(metrics)
    config = config.model_copy(update=changed)
    evaluations = _evaluated(config, dataset, runs, None)
    return RunReport(config, dataset, runs, tuple(map(_as_read(folder), evaluations)))


def explain_folder(
    folder: Path, query_id: str, *, match: object = None, retriever: str | None = None
) -> list[Explanation]:
    """Why each retriever of a result folder did or did not find a query's gold.

    Args:
        folder: what a run wrote.
        query_id: which query.
        match: a match spec instead of the config's; of several `matchers` the first decides, and
            the scores of all of them are shown.
        retriever: only this one.

    Raises:
        UsageError: there is no such query or retriever.
        DataError: the folder lacks a file, or one is broken.
    """
    config, dataset, runs = _read_folder(folder)
    if retriever is not None and retriever not in runs:
        raise UsageError(f"--retriever: {folder} has no {retriever!r}; {nearest(retriever, runs)}")
    options: dict[str, Any] = {}
    if config.judge is not None:
        options["judge"] = read_judge(filled(config.judge))
    named = {name or label(spec): filled(spec) for name, spec in config.named_matchers.items()}
    spec = next(iter(named.values())) if match is None else match
    defaults = {**config.chosen_profile.match_options, **options}
    panel = dict(standard_panel(matcher(spec, defaults)))
    if len(named) > 1:
        panel = {name: matcher(each, defaults) for name, each in named.items()} | panel
    return [
        explain(
            dataset,
            found,
            query_id=query_id,
            match=spec,
            panel=panel,
            profile=config.profile,
            options=options,
        )
        for name, found in runs.items()
        if retriever in (None, name)
    ]


def _read_folder(folder: Path) -> tuple[RunConfig, GoldDataset, dict[str, Run]]:
    """What a run left in a folder: its config, gold set, and what each retriever returned."""
    config = configs.load(folder / "config.yaml", needs_env=False)
    name = config.dataset.name or file_name(str(config.dataset.path).removesuffix(".gz"))
    gold = read_gold(folder / "gold.jsonl")
    dataset = replace(gold, name=name, version=config.dataset.version)
    runs = {}
    for file, (name, retriever) in zip(file_names(config.retrievers), config.retrievers.items()):
        found = read_results(folder / "results" / f"{file}.jsonl")[1]
        # Its queries are the gold set's; what was extra is not in the folder.
        runs[name] = replace(found, name=name, settings=_settings(retriever))
    return config, dataset, runs


def _as_read(folder: Path) -> Callable[[Evaluation], Evaluation]:
    """Adds what was counted while the sources were read, which their copies no longer show."""
    path = folder / "report.json"
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))["evaluations"]
        counted = {
            row["retriever"]: {name: row["counts"][name] for name in _READ_COUNTS} for row in rows
        }
    except FileNotFoundError:
        counted = {}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"{path}: not a report that kragx wrote: {error}") from None

    def with_counts(evaluation: Evaluation) -> Evaluation:
        counts = {**evaluation.counts, **counted.get(evaluation.name, {})}
        return replace(evaluation, counts=counts)

    return with_counts


_READ_COUNTS = ("n_extra", "n_replaced_surrogates")


def _evaluated(
    config: RunConfig,
    dataset: GoldDataset,
    runs: Mapping[str, Run],
    judging: Mapping[str, Any] | None,
) -> tuple[Evaluation, ...]:
    evaluations = []
    options = dict(config.chosen_profile.match_options)
    if config.judge is not None:
        options["judge"] = adjusted(read_judge(filled(config.judge)), **(judging or {}))
    facts = None if config.facts_match is None else matcher(filled(config.facts_match), options)
    for name, spec in config.named_matchers.items():
        # One for all retrievers: each distinct text is tokenised, or judged, once.
        chosen = matcher(filled(spec), options)
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
                    facts_match=facts,
                )
            except DataError as error:
                raise DataError(f"retrievers.{found.name}: {error}") from None
            evaluations.append(replace(evaluation, match_name=name or label(spec)))
    return tuple(evaluations)


def _retrieved(
    name: str,
    config: RetrieverConfig,
    dataset: GoldDataset,
    progress: bool | None,
    partial: Path | None,
) -> Run:
    if config.results is not None:
        found = read_results(config.results)[1]
        if not len(found):
            raise DataError(
                f"retrievers.{name}.results: {config.results}: no query has 'retrieved'; this is a "
                "gold file, not a results file"
            )
        return replace(found, name=name, settings=_settings(config))
    if config.run is not None:
        return replace(read_run(config.run), name=name, settings=_settings(config))
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
    asking = config.asking()
    try:
        asking["callbacks"] = [_callback(each, where) for each in config.callbacks or ()]
        if partial is None:
            answered = retrieve(retriever, dataset, name=name, progress=progress, **asking)
        else:
            with Partial(partial, asked_hash(config, dataset)) as kept:
                answered = retrieve(
                    retriever,
                    dataset,
                    name=name,
                    progress=progress,
                    known=kept.known,
                    on_answer=kept.add,
                    **asking,
                )
    except (ImportError, UsageError) as error:
        raise UsageError(f"{where}: {error}") from error
    except DataError as error:
        raise DataError(f"{where}: {error}") from error
    return replace(answered, settings=_settings(config))


def _callback(given: str | CallbackConfig, where: str) -> Any:
    """A callback handler: an object by import path, or what a class or function makes."""
    if isinstance(given, str):
        return plugins.build(given, None)
    return plugins.build(given.factory, filled(given.args))


def _settings(config: RetrieverConfig) -> dict[str, Any]:
    """What a result records of how its retriever was asked; variables stay names."""
    if config.factory is None:
        source = "results" if config.run is None else "run"
        return {source: str(config.results or config.run)}
    plain = config.model_dump(mode="json", by_alias=True, exclude_none=True)
    return {"args": {}, **plain}
