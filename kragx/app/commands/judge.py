"""The judge: label, corrected, probe, nuggets, store; submit, status, collect."""

from typing import Annotated

import typer

from kragx import agreement
from kragx.app import pipeline
from kragx.app.commands import agree, options as opt, store
from kragx.app.commands.command import Commands, group
from kragx.app.commands.nuggets import nuggets
from kragx.app.commands.output import show
from kragx.app.config import filled, load
from kragx.app.run_summary import judging_plan
from kragx.ground.errors import UsageError
from kragx.ground.printing import show as show_parts
from kragx.judging import read_judge
from kragx.judging.judgement_counts import check_missing
from kragx.judging.reading import adjusted

judge: Commands = group("judge", __doc__)
judge.command()(agree.corrected)
judge.command()(nuggets)
judge.add_typer(store.store)


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
    loaded = load(config, settings or ())
    if loaded.judge is None:
        raise UsageError(
            "{config}: there is no 'judge' to probe; add judge: {{model: ...}}", config=config
        )
    # Clients quote what a server said, which may hold the key that was sent.
    with loaded.secrets.guarding():
        tested = adjusted(
            read_judge(filled(loaded.judge)), secrets=loaded.secrets, dry_run=dry_run or None
        )
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
    check_missing(result.judging, tested, lambda: "the lifts above are of the rest")
