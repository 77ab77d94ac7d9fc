"""`kragx judge label`: people label a sample of pairs in the browser, blind to the judge."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, cast, get_args

import typer

from kragx.agreement import Labels, PairToLabel, Sample, draw, read_labels
from kragx.agreement.label_files import asked_in
from kragx.agreement.labels import read_scale
from kragx.agreement.sample import from_run, from_store, read_sample, with_grades
from kragx.app.commands import options as opt
from kragx.data import Doc, GoldDataset, Query, Run, read_dataset, read_rows
from kragx.ground.errors import DataError, UsageError, check_whole
from kragx.ground.printing import joined, message, say
from kragx.judging.examples import sample_path
from kragx.judging.rubric import RUBRICS, Rubric, is_file, read_rubric, wording_of
from kragx.judging.store import Address, Store
from kragx.judging.store.qrels import Choice
from kragx.workshop.commands.workshop import serve

if TYPE_CHECKING:
    from kragx.workshop.folder.folder import Workshop

Ask = Literal["relevance", "support"]


def label(
    file: Annotated[
        Path,
        opt.argument(
            metavar="LABELS.qrels",
            help="Where labels go; the sample is kept beside it, and the same command goes on.",
        ),
    ],
    results: Annotated[
        list[Path] | None,
        typer.Option(help="Results file (.jsonl) with texts to draw from; may be repeated."),
    ] = None,
    store: Annotated[
        str | None,
        typer.Option(help="Judgement store: its grades stratify the sample and are not shown."),
    ] = None,
    pairs: Annotated[int, typer.Option(help="How many pairs to draw.")] = 50,
    queries: Annotated[
        int | None,
        typer.Option(help="Draw so many whole queries instead, by weight, for corrected metrics."),
    ] = None,
    questions: Annotated[
        Path | None,
        typer.Option(
            help="Of --queries: gold or results file with weight and inclusion (default: what is "
            "drawn from)."
        ),
    ] = None,
    depth: Annotated[int, typer.Option(help="How far down the lists to draw from.")] = 10,
    scale: Annotated[
        str | None,
        typer.Option(help="The labels there are (default: 0-3); kept with the sample."),
    ] = None,
    asks: opt.Asks = None,
    model: opt.Model = None,
    rubric: opt.RubricId = None,
    examples: opt.ExamplesName = None,
    port: opt.Port = None,
    browser: opt.Browser = True,
    seed: opt.Seed = 0,
) -> None:
    """Label a sample of pairs in a workshop, blind to the judge.

    With a rubric's file (--rubric FILE.yaml) its words are shown, and its scale is the default.
    """
    from kragx.workshop.folder.folder import FILE, Workshop

    if str(file) == "-" or file.suffix == ".gz":
        raise UsageError(
            "{file}: labels go into a file, as they are kept while you work; name one, without .gz",
            file=file,
        )
    sample_file = sample_path(file)
    sample = read_sample(sample_file) if sample_file.exists() else None
    kept_scale = sample and sample.settings.get("scale")
    named = read_rubric(rubric) if rubric is not None and is_file(rubric) else None
    scale_text = scale or kept_scale or ("0-3" if named is None else f"0-{named.top}")
    grades = read_scale(scale_text, Labels({}))
    if kept_scale is not None and grades != read_scale(kept_scale, Labels({})):
        raise UsageError(
            "--scale: {scale!r}, but the sample in {sample_file} is being labelled {kept_scale}; "
            "remove it to draw anew",
            scale=scale,
            sample_file=sample_file,
            kept_scale=kept_scale,
        )
    folder = file.with_name(f"{file.name}.workshop")
    is_made = (folder / FILE).exists()
    if is_made and sample is None:
        problem = message("is the workshop of a sample that is gone")
        raise UsageError(problem, field=str(folder), remedy="remove it to draw anew")
    if not is_made and file.exists() and file.stat().st_size:
        problem = message("holds labels, and the workshop that they were given in is not beside it")
        raise UsageError(problem, field=str(file), remedy="name another file for new ones")
    if sample is not None:
        say(message("going on with the sample in {path}; remove it to draw anew", path=sample_file))
    else:
        question = asks or _asked(named, store)
        sources = [read_rows(path) for path in results or ()]
        of_judge = Choice(asks=question, model=model, rubric=rubric, examples=examples)
        candidates = _candidates(sources, store, depth, of_judge, graded_alone=queries is None)
        weights = _weights(questions, queries, sources, candidates)
        sample = draw(
            candidates,
            pairs,
            queries=queries,
            asks=question,
            seed=seed,
            weights=weights,
        )
        wording = _wording(named, grades.high, store)
        sample = replace(sample, settings={**sample.settings, "scale": scale_text, **wording})
        # What no workshop can be made of is said before the sample is written.
        scale_of(sample, "en")
        documents_of(sample)
        sample.write(sample_file)
    if not is_made:
        start_labelling(folder, sample)
    opened = Workshop.open(folder)
    _write(file, sample, opened, is_first=True)
    try:
        serve(opened, port, browser=browser)
    finally:
        n, n_items = _write(file, sample, opened), len(sample.items)
        labelled = message("{n} of {of} labelled, in {path}", n=n, of=n_items, path=file)
        say(joined("; ", [labelled, "" if n >= n_items else message("run again to go on")]))


def start_labelling(folder: Path, sample: Sample) -> None:
    """Make the workshop of a sample: its questions, documents and pairs, in its order.

    Raises:
        DataError: an id has two texts.
        UsageError: the labels do not begin with 0.
    """
    from kragx.workshop.folder.starting import language_of, start
    from kragx.workshop.state.records import SuggestedDocument

    documents = documents_of(sample)
    texts = {pair.query_id: pair.query for pair in sample.items}
    pairs = [
        SuggestedDocument(question=query_id, document=document, origin="source")
        for query_id, document in (pair.ids for pair in sample.items)
    ]
    start(
        folder,
        corpus=documents,
        questions=GoldDataset(tuple(Query(*pair) for pair in texts.items()), name="sample"),
        suggested=pairs,
        scale=scale_of(sample, language_of(documents)),
    )


def documents_of(sample: Sample) -> dict[str, Doc]:
    """The documents of a sample by id; a `DataError` if an id has two texts."""
    documents: dict[str, Doc] = {}
    for pair in sample.items:
        doc = documents.setdefault(pair.document_id, Doc(pair.document_id, pair.document))
        if doc.text != pair.document:
            problem = message("the document {document_id!r} has two texts", document_id=doc.id)
            raise DataError(problem, field="--results", remedy="draw from one corpus alone")
    return documents


def scale_of(sample: Sample, language: str) -> dict[int, str]:
    """What the labels mean; a `UsageError` if they do not begin with 0, as a workshop's do."""
    scale = read_scale(sample.settings.get("scale", "0-3"), Labels({}))
    if scale.low != 0:
        problem = message("{scale}: a workshop's grades begin with 0", scale=scale)
        raise UsageError(problem, field="scale", remedy="draw a sample with --scale 0-3")
    words = sample.settings.get("grades")
    if words is not None:  # of a rubric of the judge's own
        return {grade: words.get(str(grade), str(grade)) for grade in scale.labels}
    words = RUBRICS[f"{sample.settings.get('asks', 'relevance')}-{language}-1"].grades
    # A scale of another length than the rubric's has no words: nobody knows which would fit.
    same = len(words) == len(scale.labels)
    return {grade: words[grade] if same else str(grade) for grade in scale.labels}


def _write(file: Path, sample: Sample, workshop: "Workshop", *, is_first: bool = False) -> int:
    """Write what the owner says by now; how many pairs of the sample have a label.

    Raises:
        UsageError: the file has labels that its workshop lacks, when it is opened.
    """
    from kragx.workshop.exchange.exporting import ExportSource, export_file
    from kragx.workshop.state.state import State

    with workshop.store() as store:
        state = State(store)
        owner = state.owner().uid
        rows = ((item.ids, state.newest(item.ids, owner)) for item in sample.items)
        labelled = {ids for ids, row in rows if row is not None and row.grade is not None}
        is_there = is_first and file.exists() and file.stat().st_size
        if extra := sorted(read_labels(file).grades.keys() - labelled) if is_there else ():
            query_id, document = extra[0]
            raise UsageError(
                "holds {n_extra} labels that its workshop lacks, the first of {query_id!r} and "
                "{document!r}",
                field=str(file),
                remedy="move them to a file of their own, as this one is written anew",
                n_extra=len(extra),
                query_id=query_id,
                document=document,
            )
        source = ExportSource(state, workshop.documents, workshop.settings.scale, owner)
        export_file(source, "qrels", file)
    return len(labelled)


def _asked(rubric: Rubric | None, store: str | None) -> Ask:
    """What is labelled: what a rubric asks, else what the store's judge was asked."""
    if rubric is not None and rubric.asks not in get_args(Ask):
        problem = message(
            "{id!r} asks for {asks}, and pairs are labelled", id=rubric.id, asks=rubric.asks
        )
        raise UsageError(problem, field="--rubric", remedy="name one of relevance or of support")
    if rubric is None and store is not None:
        with Store(store, make=False) as opened:
            return cast("Ask", asked_in(opened))
    return "relevance" if rubric is None else cast("Ask", rubric.asks)


def _wording(rubric: Rubric | None, top: int, store: str | None) -> dict[str, dict[str, str]]:
    """The words of the labels, as a sample keeps them; nothing where the usual ones hold."""
    if rubric is not None:
        words = {str(grade): text for grade, text in rubric.grades.items() if text}
        return {"grades": words if top == rubric.top else {}}
    if store is None:
        return {}
    with Store(store, make=False) as opened:
        questions = (record["question"] or {} for record in opened.records())
        # Of a judge's own rubric a store does not have the words.
        has_own = any(row and wording_of(row) not in RUBRICS for row in questions)
    return {"grades": {}} if has_own else {}


def _candidates(
    sources: Sequence[tuple[GoldDataset, Run]],
    store: str | None,
    depth: int,
    of_judge: Choice,
    *,
    graded_alone: bool,
) -> list[PairToLabel]:
    """What was retrieved or judged; of a store's judge alone what it has graded, if wanted."""
    if not sources and store is None:
        raise UsageError(
            "name what to draw from: --results FILE.jsonl, --store FILE.sqlite or both"
        )
    check_whole("--depth", depth)
    pairs = judged = [] if store is None else from_store(store, **of_judge)
    if sources:
        asks = of_judge.get("asks") or "relevance"
        retrieved = [
            pair for gold, run in sources for pair in from_run(gold, run, depth, asks=asks)
        ]
        # Of what several have retrieved the best rank counts, which comes last here.
        retrieved.sort(key=lambda pair: pair.rank or 0, reverse=True)
        pairs = with_grades({pair.ids: pair for pair in retrieved}.values(), judged)
    if store is None or not graded_alone:
        return pairs
    # A label of what the judge has not graded says nothing about the judge.
    graded = [pair for pair in pairs if pair.grade is not None]
    if not graded:
        raise DataError(
            "{of}: its judge has graded none of the {n_pairs} pairs; check "
            "that query ids and documents are those of the results, or draw without --store",
            of=Address.of(store),
            n_pairs=len(pairs),
        )
    return graded


def _weights(
    questions: Path | None,
    queries: int | None,
    sources: Sequence[tuple[GoldDataset, Run]],
    candidates: Sequence[PairToLabel],
) -> dict[str, float] | None:
    """How many asks each question stands for; None where all are alike.

    Raises:
        UsageError: `questions` are named, and pairs are drawn.
        DataError: the sources say different things of a question, or `questions` lacks one.
    """
    if questions is not None and queries is None:
        problem = message("belongs to --queries, as pairs are not drawn by what is asked")
        raise UsageError(problem, field="--questions", remedy="name both, or leave it out")
    weights: dict[str, float] = {}
    for gold in [gold for gold, _ in sources] if questions is None else [read_dataset(questions)]:
        for query in gold:
            weight = query.weight / query.inclusion
            if weights.setdefault(query.id, weight) != weight and queries is not None:
                raise DataError(
                    "query {id!r} has weight {weights:g} in a results file and "
                    "{weight:g} in {name}",
                    remedy="say what all stand for: --questions FILE",
                    id=query.id,
                    weights=weights[query.id],
                    weight=weight,
                    name=gold.name,
                )
    names = dict.fromkeys(pair.query_id for pair in candidates)
    absent = [name for name in names if name not in weights]
    if questions is not None and absent:
        raise DataError(
            "lacks {n_absent} of the {n_names} questions to draw from, the first of them "
            "{absent!r}",
            path=str(questions),
            remedy="name the file of the questions that were asked, with the same query ids",
            n_absent=len(absent),
            n_names=len(names),
            absent=absent[0],
        )
    return weights if len({*weights.values()}) > 1 else None
