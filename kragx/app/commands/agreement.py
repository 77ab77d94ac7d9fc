"""`kragx agree`, `label`, `corrected`, `fill` and `probe`: can the judge be trusted?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kragx.errors import DataError, JudgingError, UsageError

if TYPE_CHECKING:
    from kragx.app.config import RunConfig
    from kragx.data.gold import GoldDataset
    from kragx.data.runs import Run


def register(app: typer.Typer) -> None:
    """Add these commands to the command."""
    for command in (agree, label, corrected, fill, probe):
        app.command()(command)


Human = Annotated[
    Path,
    typer.Argument(
        metavar="HUMAN",
        help="People's labels: TREC qrels (also .gz), a gold or results file with grades, or a "
        "judgement store with imported labels.",
        show_default=False,
    ),
]
Judge = Annotated[
    Path,
    typer.Argument(
        metavar="JUDGE",
        help="The judge's: the same kinds of file, or the judgement store (.sqlite).",
        show_default=False,
    ),
]
RunFiles = Annotated[
    list[Path] | None,
    typer.Option(help="TREC run (also .gz) or results file (.jsonl) of a system; may be repeated."),
]
MoreRuns = Annotated[
    list[Path] | None,
    typer.Argument(metavar="RUN", help="More runs, after --runs.", show_default=False),
]
ScaleOption = Annotated[
    str | None, typer.Option(help="The labels there are, as 0-3 (default: those people used).")
]
Asks = Annotated[
    str | None,
    typer.Option(help="Of a store: relevance, or support (the best gold text's grade)."),
]
Model = Annotated[str | None, typer.Option(help="Of a store: only this model's grades.")]
RubricId = Annotated[str | None, typer.Option(help="Of a store: only this rubric's grades.")]
Metrics = Annotated[
    list[str] | None, typer.Option("--metric", "-m", help="Repeat for more (default: ndcg@10).")
]
Confidence = Annotated[float, typer.Option(help="Of the intervals.")]
Resamples = Annotated[int, typer.Option(help="Of the bootstrap over queries.")]
Seed = Annotated[int, typer.Option(help="Of what is random.")]
Format = Annotated[str, typer.Option(help="table or json.")]


def agree(
    human: Human,
    judge: Judge,
    more: MoreRuns = None,
    runs: RunFiles = None,
    scale: ScaleOption = None,
    metric: Annotated[
        str, typer.Option("--metric", "-m", help="What systems are ranked by.")
    ] = "ndcg@10",
    top: Annotated[
        int | None, typer.Option(help="How many systems are the top (default: half, at most 10).")
    ] = None,
    asks: Asks = None,
    model: Model = None,
    rubric: RubricId = None,
    confidence: Confidence = 0.95,
    resamples: Resamples = 10_000,
    seed: Seed = 0,
    format: Format = "table",  # noqa: A002
) -> None:
    """Say how far a judge's labels are from people's."""
    from kragx import agreement

    _check(format)
    systems = _runs(runs, more)
    if top is not None and not systems:
        raise UsageError("--top: there are no systems to rank; name their runs with --runs")
    found = agreement.agree(
        human,
        judge,
        runs=systems,
        scale=scale,
        metric=metric,
        top=top,
        asks=asks,
        model=model,
        rubric=rubric,
        confidence=confidence,
        resamples=resamples,
        seed=seed,
    )
    _print(found, format)


def corrected(
    human: Human,
    judge: Judge,
    more: MoreRuns = None,
    runs: RunFiles = None,
    metric: Metrics = None,
    scale: ScaleOption = None,
    least: Annotated[int, typer.Option(help="Fewer labelled queries than this are refused.")] = 20,
    asks: Asks = None,
    model: Model = None,
    rubric: RubricId = None,
    confidence: Confidence = 0.95,
    format: Format = "table",  # noqa: A002
) -> None:
    """Correct a judge's means by people's labels of some queries."""
    from kragx import agreement

    _check(format)
    found = agreement.correct(
        human,
        judge,
        _needed(_runs(runs, more)),
        metrics=metric or ["ndcg@10"],
        scale=scale,
        least=least,
        confidence=confidence,
        asks=asks,
        model=model,
        rubric=rubric,
    )
    _print(found, format)


def fill(
    human: Human,
    judge: Judge,
    more: MoreRuns = None,
    runs: RunFiles = None,
    metric: Metrics = None,
    scale: ScaleOption = None,
    asks: Asks = None,
    model: Model = None,
    rubric: RubricId = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="Write every label and whose it is: .jsonl, .csv, or qrels."
        ),
    ] = None,
    per_label: Annotated[
        bool, typer.Option("--per-label", help="Also each label and whose it is.")
    ] = False,
    format: Format = "table",  # noqa: A002
) -> None:
    """Score by people's labels, and the judge's in the holes."""
    from kragx import agreement

    _check(format)
    found = agreement.fill(
        human,
        judge,
        _needed(_runs(runs, more)),
        metrics=metric or ["ndcg@10"],
        scale=scale,
        asks=asks,
        model=model,
        rubric=rubric,
    )
    if out is not None:
        _write_labels(found, out)
    if format == "json":
        from kragx.data.formats.jsonl import to_json

        typer.echo(to_json(found.to_dict(labels=per_label), indent=2))
    else:
        from kragx.report.agreement import print_filled

        print_filled(found, labels=per_label)


def label(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="LABELS.qrels",
            help="Where labels go; the sample is kept beside it, and the same command goes on.",
            show_default=False,
        ),
    ],
    results: Annotated[
        list[Path] | None,
        typer.Option(help="Results file (.jsonl) with texts to draw from; may be repeated."),
    ] = None,
    store: Annotated[
        Path | None,
        typer.Option(help="Judgement store: its grades stratify the sample and are not shown."),
    ] = None,
    run: Annotated[
        Path | None,
        typer.Option(help="TREC run to draw from, with the texts of --dataset and --corpus."),
    ] = None,
    dataset: Annotated[Path | None, typer.Option(help="Of --run: the questions.")] = None,
    corpus: Annotated[
        Path | None, typer.Option(help="Of --run: the texts (JSON Lines of id, text).")
    ] = None,
    pairs: Annotated[int, typer.Option(help="How many pairs to draw.")] = 50,
    queries: Annotated[
        int | None,
        typer.Option(help="Draw so many whole queries instead, for corrected metrics."),
    ] = None,
    depth: Annotated[int, typer.Option(help="How far down the lists to draw from.")] = 10,
    simple: Annotated[
        bool, typer.Option("--simple", help="Draw with equal chances, not stratified.")
    ] = False,
    scale: Annotated[
        str | None,
        typer.Option(help="The labels there are (default: 0-3); kept with the sample."),
    ] = None,
    asks: Asks = None,
    model: Model = None,
    rubric: RubricId = None,
    seed: Seed = 0,
) -> None:
    """Label a sample of pairs, blind to the judge's grades."""
    from dataclasses import replace

    from rich.text import Text

    from kragx.agreement import LabelFile, Labels, labelling
    from kragx.agreement.keys import keyboard
    from kragx.agreement.labels import read_scale
    from kragx.agreement.sampling import draw, read_sample, sample_path
    from kragx.report.text import console

    if str(file) == "-":
        raise UsageError("-: labels go into a file, as they are kept while you work; name one")
    kept = sample_path(file)
    drawn = read_sample(kept) if kept.exists() else None
    its_scale = None if drawn is None else drawn.settings.get("scale")
    wanted = scale or its_scale or "0-3"
    chosen = read_scale(wanted, Labels({}))
    if its_scale is not None and chosen != read_scale(its_scale, Labels({})):
        raise UsageError(
            f"--scale: {scale!r}, but the sample in {kept} is being labelled {its_scale}; remove "
            "it to draw anew"
        )
    labelling.keys_of(chosen)
    labels = LabelFile(file, chosen)
    if drawn is not None:
        sample = drawn
        console(stderr=True).print(
            Text(f"going on with the sample in {kept}; remove it to draw anew"), soft_wrap=True
        )
    else:
        asked = _asked(asks, store)
        sources = _with_texts(results, run, dataset, corpus)
        found = _candidates(sources, store, depth, asks=asked, model=model, rubric=rubric)
        if store is not None and queries is None:
            # A label of what the judge has not graded says nothing about the judge.
            found = _graded(found, store)
        sample = draw(
            found,
            pairs,
            queries=queries,
            stratified=not simple,
            asks=asked,
            seed=seed,
        )
        sample = replace(sample, settings={**sample.settings, "scale": wanted})
        sample.write(kept)
    try:
        with keyboard() as read_key:
            asked = str(sample.settings.get("asks", "relevance"))
            meanings = _meanings(sample.items[0].query, asked, chosen.low, chosen.high)
            done = labelling.label(sample, labels, read_key, console(), rubric=meanings)
    except KeyboardInterrupt:
        count = sum(each.pair in labels.grades for each in sample.items)
        more = "; run again to go on" if count < len(sample.items) else ""
        _say(f"{count} of {len(sample.items)} labelled, all of it in {file}{more}")
        raise
    _say(
        f"{done.done} of {done.total} labelled, in {file}"
        + (f"; {done.skipped} skipped" if done.skipped else "")
        + ("; run again to go on" if done.done < done.total else "")
    )


def probe(
    config: Annotated[
        Path,
        typer.Argument(
            metavar="CONFIG.yaml",
            help="Config file with 'dataset' and 'judge', as for kragx run.",
            show_default=False,
        ),
    ],
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="A value that wins over the file's: judge.model=gpt-4.1."),
    ] = None,
    passages: Annotated[int, typer.Option(help="How many irrelevant passages.")] = 30,
    asks: Annotated[
        str | None, typer.Option(help="relevance, or support (default: as the rubric).")
    ] = None,
    reranker: Annotated[
        str | None, typer.Option(help="The reranker's model; warns if it is the judge's kin.")
    ] = None,
    generator: Annotated[
        str | None, typer.Option(help="The generator's model; warns if it is the judge's kin.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Count calls and tokens; ask nothing.")
    ] = False,
    max_calls: Annotated[int | None, typer.Option(help="The most calls that it may take.")] = None,
    confidence: Confidence = 0.95,
    resamples: Resamples = 10_000,
    seed: Seed = 0,
    format: Format = "table",  # noqa: A002
) -> None:
    """Measure how easily a judge is misled.

    By the query's words, and by orders, in irrelevant text.
    """
    from kragx import agreement
    from kragx.app import pipeline
    from kragx.app.config import filled, load
    from kragx.errors import nearest
    from kragx.judging import read_judge
    from kragx.judging.setup import adjusted

    _check(format)
    if asks not in (None, "relevance", "support"):
        raise UsageError(f"--asks: {asks!r}; {nearest(asks, ('relevance', 'support'))}")
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
        **{part: model for part, model in named.items() if model is not None},
    }
    found = agreement.probe(
        judge,
        pipeline.load_dataset(loaded),
        passages=passages,
        asks=asks,  # type: ignore[arg-type]  # checked above
        models=models,
        confidence=confidence,
        resamples=resamples,
        seed=seed,
    )
    if dry_run:
        counts = found.judging
        typer.echo(
            f"{counts.get('planned_calls', 0)} calls to make, {counts['stored']} judgements "
            f"stored; about {counts.get('planned_prompt_tokens', 0)} tokens to send; a dry run: "
            "nothing was asked"
        )
        return
    _print(found, format)
    total = found.judging["questions"]
    if found.n_missing > judge.max_missing * total:
        raise JudgingError(
            f"{found.n_missing} of {total} judgements are missing, more than max_missing "
            f"{judge.max_missing:g} allows; the lifts above are of the rest"
        )


def _runs(given: Sequence[Path] | None, more: Sequence[Path] | None) -> list[Run]:
    from dataclasses import replace

    from kragx.data.formats.jsonl import read_results
    from kragx.data.formats.trec import read_runs

    if more and not given:
        raise UsageError(f"{more[0]}: a third file; name systems with --runs")
    paths = [*(given or ()), *(more or ())]
    results = [path for path in paths if path.suffix == ".jsonl"]
    found: list[Run] = [read_results(path)[1] for path in results]
    for path, run in zip(results, found):
        if not len(run):
            raise DataError(f"{path}: no query has 'retrieved'; this is a gold file, not a run")
    if len({run.name for run in found}) != len(found):
        found = [replace(run, name=str(path)) for path, run in zip(results, found)]
    return [*found, *read_runs([path for path in paths if path not in results])]


def _needed(runs: list[Run]) -> list[Run]:
    if not runs:
        raise UsageError("--runs: name at least one run to score")
    return runs


def _with_texts(
    results: Sequence[Path] | None, run: Path | None, dataset: Path | None, corpus: Path | None
) -> list[tuple[GoldDataset, Run]]:
    """What was retrieved, with texts: of results files, and of a TREC run with its corpus."""
    from dataclasses import replace

    from kragx.data.formats.corpus import read_corpus
    from kragx.data.formats.jsonl import read_results
    from kragx.data.formats.trec import read_run
    from kragx.data.reading import read_dataset

    found = [read_results(path) for path in results or ()]
    if run is None and dataset is None and corpus is None:
        return found
    if run is None or dataset is None or corpus is None:
        raise UsageError("--run, --dataset and --corpus belong together; one is missing")
    texts = {doc.id: doc.text for doc in read_corpus(corpus)}
    ranked = read_run(run)
    with_texts = {
        query: replace(
            each,
            documents=tuple(replace(doc, text=texts.get(doc.id)) for doc in each.documents),
        )
        for query, each in ranked.results.items()
    }
    return [*found, (read_dataset(str(dataset)), replace(ranked, results=with_texts))]


def _candidates(
    results: Sequence[tuple[GoldDataset, Run]],
    store: Path | None,
    depth: int,
    asks: str,
    **of_store: Any,
) -> list[Any]:
    from dataclasses import replace

    from kragx.agreement.sampling import from_run, from_store, with_grades

    if not results and store is None:
        raise UsageError(
            "name what to draw from: --results FILE.jsonl, --store FILE.sqlite or both"
        )
    if depth < 1:
        raise UsageError(f"--depth: {depth} is not above 0")
    judged = [] if store is None else from_store(store, asks=asks, **of_store)
    found: dict[Any, Any] = {}
    for gold, run in results:
        for each in from_run(gold, run, depth, asks=asks):
            before = found.setdefault(each.pair, each)
            if (each.rank or 0) < (before.rank or 0):
                found[each.pair] = replace(before, rank=each.rank)
    return with_grades(found.values(), judged) if results else judged


def _graded(candidates: list[Any], store: Path) -> list[Any]:
    graded = [each for each in candidates if each.grade is not None]
    if not graded:
        raise DataError(
            f"{store}: its judge has graded none of the {len(candidates)} pairs; check that query "
            "ids and documents are those of the results, or draw without --store"
        )
    if len(graded) < len(candidates):
        left_out = len(candidates) - len(graded)
        _say(f"drawn from {len(graded)} pairs; {left_out} that the judge has not graded left out")
    return graded


def _asked(asks: str | None, store: Path | None) -> str:
    """What is to be labelled: what is named, else what the store's judge was asked."""
    from kragx.agreement.labels import asked_in
    from kragx.errors import nearest
    from kragx.judging import Store

    if asks not in (None, "relevance", "support"):
        raise UsageError(f"--asks: {asks!r}; {nearest(asks, ('relevance', 'support'))}")
    if store is None:
        return asks or "relevance"
    if not store.exists():
        raise DataError(f"{store}: there is no judgement store")
    with Store(store) as opened:
        return asks or asked_in(opened)


def _meanings(text: str, asks: str, low: int, high: int) -> dict[int, str] | None:
    """The built-in rubric's words, where the scale is its own."""
    from kragx.judging.rubric import built_in

    rubric = built_in("support" if asks == "support" else "relevance", text)
    return dict(rubric.grades) if (low, high) == (0, rubric.top) else None


def _models_of(config: RunConfig) -> dict[str, str]:
    """Models that a config names as a reranker's or generator's, anywhere in retrievers' args."""
    found: dict[str, str] = {}

    def look(value: Any, part: str | None, where: str) -> None:
        if isinstance(value, dict):
            for key, each in value.items():
                name = str(key).lower()
                kind = next((word for word in ("rerank", "generat") if word in name), None)
                look(
                    each, {"rerank": "reranker", "generat": "generator"}.get(kind or "", part), name
                )
        elif isinstance(value, str) and part is not None and _is_model(where, value):
            found.setdefault(part, value)

    for retriever in config.retrievers.values():
        look(retriever.args or {}, None, "")
    return found


def _is_model(key: str, value: str) -> bool:
    return "model" in key or (key.startswith(("rerank", "generat")) and ":" not in value)


def _write_labels(found: Any, path: Path) -> None:
    from kragx.data.formats.jsonl import open_text, write_records
    from kragx.report.files import csv_text, write_text

    if path.suffix == ".jsonl":
        write_records(found.rows(), path)
    elif path.suffix == ".csv":
        rows = list(found.rows())
        write_text(path, csv_text(list(rows[0]), (list(row.values()) for row in rows)))
    else:
        # The second column, which no reader of qrels looks at, says whose label it is.
        with open_text(path) as file:
            for row in found.rows():
                file.write(
                    f"{row['query_id']} {row['source']} {row['document_id']} {row['grade']}\n"
                )


def _check(format: str) -> None:  # noqa: A002
    if format not in ("table", "json"):
        raise UsageError(f"--format: {format!r} is neither table nor json")


def _print(found: Any, format: str) -> None:  # noqa: A002
    from kragx.data.formats.jsonl import to_json

    if format == "json":
        typer.echo(to_json(found.to_dict(), indent=2))
    else:
        found.print()


def _say(line: str) -> None:
    typer.echo(line, err=True)
