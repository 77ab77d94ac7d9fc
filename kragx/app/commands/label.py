"""`kragx judge label`: people label a sample of pairs in the terminal, blind to the judge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from kragx.app.commands import options as opt
from kragx.errors import DataError, UsageError

if TYPE_CHECKING:
    from kragx.agreement import PairToLabel, Sample
    from kragx.data import GoldDataset, Run

Ask = Literal["relevance", "support"]


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
    asks: opt.Asks = None,
    model: opt.Model = None,
    rubric: opt.RubricId = None,
    seed: opt.Seed = 0,
) -> None:
    """Label a sample of pairs, blind to the judge's grades."""
    from kragx.agreement import LabelFile, Labels, draw, labelling
    from kragx.agreement.labels import read_scale
    from kragx.agreement.sample import read_sample, sample_path
    from kragx.terminal import console

    if str(file) == "-":
        raise UsageError("-: labels go into a file, as they are kept while you work; name one")
    kept = sample_path(file)
    sample: Sample | None = read_sample(kept) if kept.exists() else None
    kept_scale = None if sample is None else sample.settings.get("scale")
    wanted = scale or kept_scale or "0-3"
    grades = read_scale(wanted, Labels({}))
    if kept_scale is not None and grades != read_scale(kept_scale, Labels({})):
        raise UsageError(
            f"--scale: {scale!r}, but the sample in {kept} is being labelled {kept_scale}; remove "
            "it to draw anew"
        )
    labelling.keys_of(grades)
    labels = LabelFile(file, grades)
    if sample is not None:
        _say(f"going on with the sample in {kept}; remove it to draw anew")
    else:
        question = _question(asks, store)
        sources = _with_texts(results, run, dataset, corpus)
        candidates = _candidates(sources, store, depth, asks=question, model=model, rubric=rubric)
        if store is not None and queries is None:
            # A label of what the judge has not graded says nothing about the judge.
            candidates = _graded(candidates, store)
        sample = draw(
            candidates,
            pairs,
            queries=queries,
            stratified=not simple,
            asks=question,
            seed=seed,
        )
        sample = replace(sample, settings={**sample.settings, "scale": wanted})
        sample.write(kept)
    try:
        with labelling.keyboard() as keys:
            question = sample.settings.get("asks", "relevance")
            meanings = _meanings(sample.items[0].query, question, grades.low, grades.high)
            labelled = labelling.label(sample, labels, keys, console(), rubric=meanings)
    except KeyboardInterrupt:
        _say(str(labelling.progress(sample, labels)))
        raise
    _say(str(labelled))


def _question(asks: Ask | None, store: Path | None) -> Ask:
    """What is to be labelled: what is named, else what the store's judge was asked."""
    from kragx.agreement.label_files import asked_in
    from kragx.judging import Store

    if store is None:
        return asks or "relevance"
    if not store.exists():
        raise DataError(f"{store}: there is no judgement store")
    with Store(store) as opened:
        return asks or asked_in(opened)  # type: ignore[return-value]


def _with_texts(
    results: Sequence[Path] | None, run: Path | None, dataset: Path | None, corpus: Path | None
) -> list[tuple[GoldDataset, Run]]:
    """What was retrieved, with texts: of results files, and of a TREC run with its corpus."""
    from kragx.data import read_corpus, read_dataset, read_rows, read_run

    sources = [read_rows(path) for path in results or ()]
    if run is None and dataset is None and corpus is None:
        return sources
    if run is None or dataset is None or corpus is None:
        raise UsageError("--run, --dataset and --corpus belong together; one is missing")
    texts = {doc.id: doc.text for doc in read_corpus(corpus)}
    ranked = read_run(run)
    with_texts = {
        query: replace(
            retrieved,
            documents=tuple(replace(doc, text=texts.get(doc.id)) for doc in retrieved.documents),
        )
        for query, retrieved in ranked.results.items()
    }
    return [*sources, (read_dataset(dataset), replace(ranked, results=with_texts))]


def _candidates(
    sources: Sequence[tuple[GoldDataset, Run]],
    store: Path | None,
    depth: int,
    asks: Ask,
    **of_store: Any,
) -> list[PairToLabel]:
    from kragx.agreement.sample import from_run, from_store, with_grades

    if not sources and store is None:
        raise UsageError(
            "name what to draw from: --results FILE.jsonl, --store FILE.sqlite or both"
        )
    if depth < 1:
        raise UsageError(f"--depth: {depth} is not above 0")
    judged = [] if store is None else from_store(store, asks=asks, **of_store)
    by_pair: dict[Any, PairToLabel] = {}
    for gold, run in sources:
        for candidate in from_run(gold, run, depth, asks=asks):
            before = by_pair.setdefault(candidate.ids, candidate)
            if (candidate.rank or 0) < (before.rank or 0):
                by_pair[candidate.ids] = replace(before, rank=candidate.rank)
    return with_grades(by_pair.values(), judged) if sources else judged


def _graded(candidates: list[PairToLabel], store: Path) -> list[PairToLabel]:
    graded = [candidate for candidate in candidates if candidate.grade is not None]
    if not graded:
        raise DataError(
            f"{store}: its judge has graded none of the {len(candidates)} pairs; check that query "
            "ids and documents are those of the results, or draw without --store"
        )
    if len(graded) < len(candidates):
        left_out = len(candidates) - len(graded)
        _say(f"drawn from {len(graded)} pairs; {left_out} that the judge has not graded left out")
    return graded


def _meanings(text: str, asks: Ask, low: int, high: int) -> dict[int, str] | None:
    """The built-in rubric's words, where the scale is its own."""
    from kragx.judging.rubric import built_in

    rubric = built_in(asks, text)
    return dict(rubric.grades) if (low, high) == (0, rubric.top) else None


def _say(line: str) -> None:
    typer.echo(line, err=True)
