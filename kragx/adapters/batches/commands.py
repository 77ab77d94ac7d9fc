"""`kragx judge submit`, `status` and `collect`: judgements from a provider's batches."""

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from kragx.adapters.batches.collecting import Overview, look_after
from kragx.adapters.batches.submission import MOST_REQUESTS, Submission
from kragx.app import pipeline
from kragx.app.commands import options as opt
from kragx.app.commands.output import show
from kragx.app.config import RunConfig, load
from kragx.app.result_folder.written import claimed
from kragx.ground.errors import DataError, JudgingError, RetrieverError, UsageError
from kragx.ground.printing import joined, phrase, say
from kragx.ground.secrets import Secrets
from kragx.judging import DEFAULT_STORE, Judge

_Config = Annotated[
    Path | None,
    opt.argument(
        metavar="[CONFIG.yaml]",
        help="The config that was submitted (default: the store, and the environment's server).",
    ),
]
_Store = Annotated[
    str, typer.Option("--store", help="Without a config: the judgement store, a file or a URL.")
]


def submit(
    config: Annotated[
        Path, opt.argument(metavar="CONFIG.yaml", help="Config file, as for kragx run.")
    ],
    settings: opt.Settings = None,
    dry_run: opt.DryRun = False,
    per_batch: Annotated[
        int, typer.Option(min=1, max=MOST_REQUESTS, help="The most questions in one batch.")
    ] = MOST_REQUESTS,
    fresh: opt.Fresh = False,
) -> None:
    """Submit what kragx run would ask a judge as batches of the provider, for less money.

    Asks the retrievers, whose answers kragx run takes over if the config has an output. Answers
    come within a day: kragx judge status, then collect.
    """
    loaded = load(config, settings or ())
    # In the config's folder, so that kragx run takes the answers over and asks nobody twice.
    folder = None if dry_run else loaded.output
    with loaded.secrets.guarding(), nullcontext() if folder is None else claimed(folder, loaded):
        # Before retrievers are asked, which takes time and may cost.
        outbox = Submission(_judges(loaded), loaded.secrets, dry_run=dry_run)
        outcome = pipeline.run(
            loaded,
            folder=folder,
            fresh=fresh,
            say=lambda problem: say(joined(": ", ["kragx", problem])),
            outbox=outbox,
        )
        outbox.send(per_batch)
    if outcome.failures:
        names = ", ".join(outcome.failures)
        say(phrase("failed, so that not all is asked: {names}", names=names))
        raise typer.Exit(RetrieverError.exit_code)


def status(
    config: _Config = None,
    settings: opt.Settings = None,
    store: _Store = str(DEFAULT_STORE),
    format: opt.TableOrJson = "table",  # noqa: A002
) -> None:
    """Say how far the submitted batches are; ends with 3 where there is no such store."""
    _show_batches(config, settings, store, format, collect=False)


def collect(
    config: _Config = None,
    settings: opt.Settings = None,
    store: _Store = str(DEFAULT_STORE),
    format: opt.TableOrJson = "table",  # noqa: A002
) -> None:
    """Store the answers of the batches that have ended.

    Ends with 4 while anything is pending, and with 3 where there is no such store. Nothing is
    lost or stored twice if it is interrupted.
    """
    overviews = _show_batches(config, settings, store, format, collect=True)
    if any(overview.n_pending for overview in overviews):
        raise typer.Exit(JudgingError.exit_code)


def _show_batches(
    config: Path | None, settings: list[str] | None, store: str, kind: str, *, collect: bool
) -> Sequence[Overview]:
    """Look after the batches of a config's stores, or of a store, and show them.

    Raises:
        DataError: there is none of them.
    """
    if config is None and settings:
        raise UsageError("--set: belongs to a config")
    loaded = None if config is None else load(config, settings or ())
    judges = [] if loaded is None else _judges(loaded)
    secrets = Secrets.of() if loaded is None else loaded.secrets
    stores = [judge.store for judge in judges] or [store]
    with secrets.guarding():
        overviews = look_after(stores, judges, secrets, collect=collect)
    if not overviews:
        raise DataError(
            "{names}: there is no such store",
            remedy="go to the folder of the submit, or name its config or store",
            names=", ".join(dict.fromkeys(map(str, stores))),
        )
    for overview in overviews:
        show(kind, overview.describe, overview.to_dict)
    return overviews


def _judges(config: RunConfig) -> list[Judge]:
    judges = pipeline.judges(config)
    if not judges:
        raise UsageError(
            "{file}: nothing is judged here; add 'match: llm' and a 'judge'", file=config.file
        )
    return judges
