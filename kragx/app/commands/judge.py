"""`kragx judge`: label a sample, correct a judge's means, fill holes, probe it, and its store."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from kragx.app.commands import options as opt, store
from kragx.app.commands.agree import read_systems
from kragx.app.commands.label import label
from kragx.app.commands.output import show
from kragx.errors import JudgingError, UsageError

if TYPE_CHECKING:
    from kragx.agreement import Filled
    from kragx.app.config import RunConfig
    from kragx.data import Run

group = opt.group("judge", "The LLM judge: label, corrected, fill, probe, store.")
group.command(cls=opt.Command)(label)
group.add_typer(store.group)


@group.command(cls=opt.Command)
def corrected(
    human: opt.HumanLabels,
    judge: opt.JudgeLabels,
    more: opt.MoreRuns = None,
    runs: opt.Runs = None,
    metric: opt.Metrics = None,
    scale: opt.ScaleOfLabels = None,
    least: Annotated[int, typer.Option(help="Fewer labelled queries than this are refused.")] = 20,
    asks: opt.Asks = None,
    model: opt.Model = None,
    rubric: opt.RubricId = None,
    confidence: opt.Confidence = 0.95,
    format: opt.TableOrJson = "table",  # noqa: A002
) -> None:
    """Correct a judge's means by people's labels of some queries."""
    from kragx import agreement

    result = agreement.correct(
        human,
        judge,
        _systems(runs, more),
        metrics=metric or ["ndcg@10"],
        scale=scale,
        least=least,
        confidence=confidence,
        asks=asks,
        model=model,
        rubric=rubric,
    )
    show(format, result.describe, result.to_dict)


@group.command(cls=opt.Command)
def fill(
    human: opt.HumanLabels,
    judge: opt.JudgeLabels,
    more: opt.MoreRuns = None,
    runs: opt.Runs = None,
    metric: opt.Metrics = None,
    scale: opt.ScaleOfLabels = None,
    asks: opt.Asks = None,
    model: opt.Model = None,
    rubric: opt.RubricId = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="Write every label and whose it is: .jsonl, .csv, or qrels."
        ),
    ] = None,
    per_label: Annotated[
        bool, typer.Option("--per-label", help="Also each label and whose it is.")
    ] = False,
    format: opt.TableOrJson = "table",  # noqa: A002
) -> None:
    """Score by people's labels, and the judge's in the holes."""
    from kragx import agreement

    filled = agreement.fill(
        human,
        judge,
        _systems(runs, more),
        metrics=metric or ["ndcg@10"],
        scale=scale,
        asks=asks,
        model=model,
        rubric=rubric,
    )
    if out is not None:
        _write_labels(filled, out)
    show(
        format,
        lambda: filled.describe(labels=per_label),
        lambda: filled.to_dict(labels=per_label),
    )


def _systems(runs: list[Path] | None, more: list[Path] | None) -> list[Run]:
    systems = read_systems(runs, more)
    if not systems:
        raise UsageError("--runs: name at least one run to score")
    return systems


def _write_labels(filled: Filled, path: Path) -> None:
    from kragx.data.formats.jsonl import open_text, write_records
    from kragx.report.csv_files import csv_text, write_text

    if path.suffix == ".jsonl":
        write_records(filled.rows(), path)
    elif path.suffix == ".csv":
        rows = list(filled.rows())
        write_text(path, csv_text(rows, list(rows[0])))
    else:
        # The second column, which no reader of qrels looks at, says whose label it is.
        with open_text(path) as file:
            for row in filled.rows():
                file.write(
                    f"{row['query_id']} {row['source']} {row['document_id']} {row['grade']}\n"
                )


@group.command(cls=opt.Command)
def probe(
    config: Annotated[
        Path,
        typer.Argument(
            metavar="CONFIG.yaml",
            help="Config file with 'dataset' and 'judge', as for kragx run.",
            show_default=False,
        ),
    ],
    settings: opt.Settings = None,
    passages: Annotated[int, typer.Option(help="How many irrelevant passages.")] = 30,
    asks: Annotated[
        Literal["relevance", "support"] | None, typer.Option(help="Default: as the rubric.")
    ] = None,
    reranker: Annotated[
        str | None, typer.Option(help="The reranker's model; warns if it is the judge's kin.")
    ] = None,
    generator: Annotated[
        str | None, typer.Option(help="The generator's model; warns if it is the judge's kin.")
    ] = None,
    dry_run: opt.DryRun = False,
    max_calls: opt.MaxCalls = None,
    confidence: opt.Confidence = 0.95,
    resamples: opt.Resamples = 10_000,
    seed: opt.Seed = 0,
    format: opt.TableOrJson = "table",  # noqa: A002
) -> None:
    """Measure how easily a judge is misled.

    By the query's words, and by orders, in irrelevant text.
    """
    from kragx import agreement
    from kragx.app import pipeline
    from kragx.app.config import filled, load
    from kragx.judging import read_judge
    from kragx.judging.judge import adjusted

    loaded = load(config, settings or ())
    if loaded.judge is None:
        raise UsageError(f"{config}: there is no 'judge' to probe; add judge: {{model: ...}}")
    judge = adjusted(
        read_judge(filled(loaded.judge)),
        dry_run=dry_run or None,
        budget=None if max_calls is None else {"calls": max_calls},
    )
    named = {"reranker": reranker, "generator": generator}
    models = {
        **_models_of(loaded),
        **{part: name for part, name in named.items() if name is not None},
    }
    result = agreement.probe(
        judge,
        pipeline.load_dataset(loaded),
        passages=passages,
        asks=asks,
        models=models,
        confidence=confidence,
        resamples=resamples,
        seed=seed,
    )
    if dry_run:
        plan = result.judging.planned
        typer.echo(
            f"{plan.n_calls} calls to make, {result.judging.n_stored} judgements stored; about "
            f"{plan.prompt_tokens} tokens to send; a dry run: nothing was asked"
        )
        return
    show(format, result.describe, result.to_dict)
    total, n_missing = result.judging.n_judgements, result.judging.n_missing
    if n_missing > judge.max_missing * total:
        raise JudgingError(
            f"{n_missing} of {total} judgements are missing, more than max_missing "
            f"{judge.max_missing:g} allows; the lifts above are of the rest"
        )


_PARTS = {"rerank": "reranker", "generat": "generator"}


def _models_of(config: RunConfig) -> dict[str, str]:
    """Models that a config names as a reranker's or generator's, anywhere in retrievers' args."""
    models: dict[str, str] = {}

    def look(value: Any, part: str | None, key: str) -> None:
        if isinstance(value, dict):
            for name, inner in value.items():
                lowered = str(name).lower()
                within = next((_PARTS[word] for word in _PARTS if word in lowered), part)
                look(inner, within, lowered)
        elif isinstance(value, str) and part is not None and _is_model(key, value):
            models.setdefault(part, value)

    for retriever in config.retrievers.values():
        look(retriever.args or {}, None, "")
    return models


def _is_model(key: str, value: str) -> bool:
    return "model" in key or (key.startswith(tuple(_PARTS)) and ":" not in value)
