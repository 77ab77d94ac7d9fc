"""Look at a result folder again: by other matchers and metrics, or at one query of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kragx.app.config import filled
from kragx.app.folder import read_folder
from kragx.app.pipeline import evaluated
from kragx.errors import UsageError, nearest
from kragx.evaluation.evaluation import Evaluation
from kragx.evaluation.explain import explain, standard_panel
from kragx.evaluation.explanation import Explanation
from kragx.judging import read_judge
from kragx.matchers import label, matcher


def evaluations_of(
    folder: Path, *, match: object = None, metrics: Sequence[str] | None = None
) -> tuple[Evaluation, ...]:
    """The evaluations of a result folder; nothing is retrieved.

    Args:
        folder: that `RunReport.write` has written.
        match: a match spec instead of the config's.
        metrics: metric strings instead of the config's.

    Raises:
        UsageError: the spec or a metric is wrong.
        DataError: the folder lacks a file, or one is broken.
    """
    config, dataset, runs = read_folder(folder)
    changed: dict[str, Any] = {} if match is None else {"match": match, "matchers": None}
    if metrics:
        changed["metrics"] = list(metrics)
    return evaluated(config.model_copy(update=changed), dataset, runs)


def explain_folder(
    folder: Path, query_id: str, *, match: object = None, retriever: str | None = None
) -> list[Explanation]:
    """Why each retriever of a result folder did or did not find a query's gold.

    Args:
        folder: that `RunReport.write` has written.
        query_id: which query.
        match: a match spec instead of the config's; of several `matchers` the first decides, and
            the scores of all of them are shown.
        retriever: only this one.

    Raises:
        UsageError: there is no such query or retriever.
        DataError: the folder lacks a file, or one is broken.
    """
    config, dataset, runs = read_folder(folder)
    if retriever is not None and retriever not in runs:
        raise UsageError(f"--retriever: {folder} has no {retriever!r}; {nearest(retriever, runs)}")
    options: dict[str, Any] = {}
    if config.judge is not None:
        options["judge"] = read_judge(filled(config.judge))
    defaults = {**config.chosen_profile.match_options, **options}
    named = {
        name or label(spec): matcher(filled(spec), defaults)
        for name, spec in config.named_matchers.items()
    }
    chosen = next(iter(named.values())) if match is None else matcher(match, defaults)
    panel = {**(named if len(named) > 1 else {}), **standard_panel(chosen)}
    return [
        explain(
            dataset, found, query_id=query_id, match=chosen, panel=panel, profile=config.profile
        )
        for name, found in runs.items()
        if retriever in (None, name)
    ]
