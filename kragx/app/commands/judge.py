"""Check a judge by people's labels, correct it, keep its store."""

from pathlib import Path
from typing import Annotated

import typer

from kragx import agreement
from kragx.app import pipeline
from kragx.app.commands import agree, options as opt, store
from kragx.app.commands.command import Commands, group
from kragx.app.commands.output import show
from kragx.app.config import RunConfig, filled, load
from kragx.app.run_summary import judging_plan
from kragx.data.writing import write_gold
from kragx.ground.errors import UsageError
from kragx.ground.printing import message, show as show_parts
from kragx.judging import Grader, read_judge
from kragx.judging.judgement_counts import check_missing
from kragx.judging.nuggets import extract
from kragx.judging.reading import adjusted

judge: Commands = group("judge", __doc__)
judge.command()(agree.corrected)
judge.add_typer(store.store)


def _judge_of(config: RunConfig, *, dry_run: bool) -> Grader:
    """The judge of a config; clients quote what a server said, so its secrets are masked."""
    options = {"secrets": config.secrets, "dry_run": dry_run or None}
    return adjusted(read_judge(filled(config.judge)), **options)


def _loaded(path: Path, settings: list[str] | None) -> RunConfig:
    config = load(path, settings or ())
    if config.judge is None:
        raise UsageError(
            "{config}: there is no 'judge' to ask; add judge: {{model: ...}}", config=path
        )
    return config


@judge.command()
def nuggets(
    config: opt.JudgingConfig,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="The gold set with its facts, JSON Lines; a new file."),
    ] = None,
    settings: opt.Settings = None,
    most: Annotated[int, typer.Option(min=1, max=100, help="The most facts of a question.")] = 20,
    dry_run: opt.DryRun = False,
    format: opt.TableOrJson = "table",  # noqa: A002
) -> None:
    """Have a model write the facts that answers need, to go over.

    Questions that have facts keep them. Interrupted, it goes on where it was.
    """
    loaded = _loaded(config, settings)
    if not dry_run:  # before anything is paid for
        _check_new(out)
    with loaded.secrets.guarding():
        writer = _judge_of(loaded, dry_run=dry_run).members[0]
        dataset = loaded.dataset.read()
        texts = pipeline.corpus_of(loaded).gold(dataset)
        result = extract(dataset, writer, most=most, texts=texts)
    if dry_run:
        show_parts(judging_plan(writer.plans))
        return
    assert out is not None  # it was checked
    write_gold(result.dataset, out)
    show(format, result.describe, result.to_dict)


def _check_new(out: Path | None) -> None:
    """Refuse to write over a file: somebody may have gone over its facts."""
    if out is None:
        raise UsageError("--out: name the file that the gold set with its facts goes to")
    if out.exists():
        raise UsageError(
            "--out: {out} exists, and somebody may have gone over its facts",
            remedy="name another file; or, for facts of further questions, make it the config's "
            "dataset: questions that have facts keep them",
            out=out,
        )


@judge.command()
def probe(
    config: opt.JudgingConfig,
    settings: opt.Settings = None,
    passages: Annotated[int, typer.Option(help="How many irrelevant passages.")] = 30,
    variant: Annotated[
        list[str] | None,
        typer.Option(
            help=f"What to try; repeat for more. Default: all, {', '.join(agreement.VARIANTS)}."
        ),
    ] = None,
    dry_run: opt.DryRun = False,
    format: opt.TableOrJson = "table",  # noqa: A002
) -> None:
    """Measure how easily a judge is misled.

    By words, orders, claims and length in irrelevant text; and whether it tells what answers a
    query from what does not.
    """
    loaded = _loaded(config, settings)
    with loaded.secrets.guarding():
        tested = _judge_of(loaded, dry_run=dry_run)
        result = agreement.probe(
            tested,
            pipeline.corpus_of(loaded).gold(loaded.dataset.read()),
            passages=passages,
            **opt.given_options(variants=variant),
        )
    if dry_run:
        show_parts(judging_plan(tested.plans))
        return
    show(format, result.describe, result.to_dict)
    check_missing(result.judging, tested, message("the lifts above are of the rest"))
