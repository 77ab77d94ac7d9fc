"""`kragx judge nuggets`: the facts of a gold set's questions, by the judge's model."""

from pathlib import Path
from typing import Annotated

import typer

from kragx.app import pipeline
from kragx.app.commands import options as opt
from kragx.app.commands.output import show
from kragx.app.config import filled, load
from kragx.app.run_summary import judging_plan
from kragx.data.formats.gold import write_gold
from kragx.ground.errors import UsageError
from kragx.ground.printing import show as show_parts
from kragx.judging import read_judge
from kragx.judging.reading import adjusted
from kragx.judging.writing import extract


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
    """Have the judge's model write the facts that answers need, for a person to go over.

    Questions that have facts keep them. Interrupted, it goes on where it was.
    """
    loaded = load(config, settings or ())
    if loaded.judge is None:
        raise UsageError(
            "{config}: there is no 'judge' to ask; add judge: {{model: ...}}", config=config
        )
    if not dry_run:  # before anything is paid for
        _check_new(out)
    with loaded.secrets.guarding():
        judge = read_judge(filled(loaded.judge)).members[0]
        adjusted_judge = adjusted(
            judge,
            secrets=loaded.secrets,
            dry_run=dry_run or None,
        )
        dataset = loaded.dataset.read()
        texts = pipeline.corpus_of(loaded).gold(dataset)
        result = extract(dataset, adjusted_judge, most=most, texts=texts)
    if dry_run:
        show_parts(judging_plan(adjusted_judge.plans))
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
