"""MLflow: metrics, figures and files of a result, in one of its runs."""

from __future__ import annotations

import math
import re
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from kragx.api.evaluations import Evaluations
from kragx.comparison import Comparison, compare
from kragx.data.formats.jsonl import to_json
from kragx.evaluation.evaluation import Evaluation
from kragx.ground.errors import UsageError, needing
from kragx.ground.printing import as_markdown
from kragx.report.csv_files import write_text
from kragx.report.figures.comparison import write_figures
from kragx.report.findings import Findings

__all__ = ["log"]

_NOT_ALLOWED = re.compile(r"[^\w\-. /]", re.ASCII)
"""What names of metrics may not hold in every store of MLflow."""


def log(
    result: Evaluation | Evaluations,
    *,
    run_name: str | None = None,
    step: int | None = None,
    figures: bool | None = None,
    folder: str = "kragx",
) -> str:
    """Log a result to the active run of MLflow, or to one of its own that ends with the call.

    - metrics: each mean (``ndcg@10`` is ``ndcg_at_10``, as MLflow calls such a metric itself), its
      interval as ``ndcg_at_10.low`` and ``.high``, and the counts (``n_scored``, ``n_failed``,
      ...); of several retrievers below their names: ``bm25/ndcg_at_10``. What has no value is left
      out. A retriever that failed on more than is tolerated has its counts alone.
    - files in `folder`: ``result.json`` with the settings and every question's values,
      ``report.md``, and figures.

    Args:
        result: of one retriever, or of several.
        run_name: of a run of its own.
        step: of the metrics, if the same is logged again and again.
        figures: whether to draw them; None for where matplotlib is installed.
        folder: of the files.

    Returns:
        The id of MLflow's run.

    Raises:
        MissingExtraError: mlflow is not installed.
        UsageError: two retrievers or metrics have one name in MLflow.
    """
    with needing("mlflow", "kragx.adapters.mlflow"):
        import mlflow
    of_several = getattr(result, "evaluations", None)
    evaluations: list[Any] = [result] if of_several is None else [*of_several.values()]
    # Of a single one with itself alone.
    comparison = getattr(result, "comparison", None) or compare(evaluations)
    several = len(evaluations) > 1
    metrics = _renamed(
        (f"{evaluation.name}/{name}" if several else name, value)
        for evaluation in evaluations
        for name, value in _metrics(
            evaluation, has_failed=evaluation.name in comparison.not_comparable
        )
    )
    # All names are settled by now: a name that is refused leaves no run behind that is half full.
    active = mlflow.active_run()
    # A run that somebody else has begun is theirs to end, too.
    with nullcontext(active) if active else mlflow.start_run(run_name=run_name) as run:
        run_id = str(run.info.run_id)
        mlflow.log_metrics(metrics, step=step)
        with tempfile.TemporaryDirectory() as place:
            _write(evaluations, comparison, Path(place), figures=figures)
            mlflow.log_artifacts(place, folder)
    return run_id


def _metrics(evaluation: Evaluation, *, has_failed: bool) -> Iterator[tuple[str, float]]:
    for name, value in evaluation.counts.items():
        # Others are no metrics, or infinite, of which its databases make the largest float.
        if isinstance(value, int | float) and math.isfinite(value):
            yield name, value
    for name, value in {} if has_failed else evaluation.mean.items():
        if value is not None:
            yield name, value
            ends = evaluation.intervals.get(name) or ()
            yield from zip((f"{name}.low", f"{name}.high"), ends)


def _renamed(entries: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Entries by names that MLflow takes.

    Raises:
        UsageError: two have one.
    """
    named: dict[str, Any] = {}
    names: dict[str, str] = {}
    for name, value in entries:
        key = _NOT_ALLOWED.sub("_", name.replace("@", "_at_"))
        # Else the later would be written over the earlier one, and no table would show it.
        if names.setdefault(key, name) != name:
            raise UsageError(
                "{names!r} and {name!r} are both {key!r} in MLflow",
                remedy="name retrievers apart in letters, digits, '_', '-' and '.'",
                names=names[key],
                name=name,
                key=key,
            )
        named[key] = value
    return named


def _write(
    evaluations: list[Evaluation], comparison: Comparison, place: Path, *, figures: bool | None
) -> None:
    """Write the files of a result."""
    value = {
        "evaluations": [
            {"retriever": evaluation.name, **evaluation.to_dict(queries=True)}
            for evaluation in evaluations
        ],
        "comparison": comparison.to_dict(),
    }
    write_text(place / "result.json", to_json(value, indent=1))
    write_text(place / "report.md", as_markdown(Findings(evaluations, [comparison]).parts()))
    # Looked for and not imported, as importing takes long and figures may not be wanted.
    if find_spec("matplotlib") is not None if figures is None else figures:
        write_figures([comparison], evaluations, place / "figures")
