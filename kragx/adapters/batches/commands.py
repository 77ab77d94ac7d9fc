"""`kragx judge submit`, `status` and `collect`: judgements from a provider's batches."""

from contextlib import nullcontext
from itertools import chain
from pathlib import Path

import typer

from kragx.adapters.batches import Submission, look_after
from kragx.app import pipeline
from kragx.app.commands import options as opt
from kragx.app.config import load
from kragx.app.result_folder.written import claimed
from kragx.ground.errors import JudgingError, RetrieverError
from kragx.ground.printing import Line, joined, message, say, show


def submit(
    config: opt.JudgingConfig, settings: opt.Settings = None, fresh: opt.Fresh = False
) -> None:
    """Submit a run's judgements as a batch, for less money.

    Asks the retrievers, whose answers kragx run takes over if the config has an output. Answers
    come within a day: kragx judge status, then collect.
    """
    loaded = load(config, settings or ())
    # In the config's folder, so that kragx run takes the answers over and asks nobody twice.
    folder = loaded.output
    with loaded.secrets.guarding(), nullcontext() if folder is None else claimed(folder, loaded):
        # Before retrievers are asked, which takes time and may cost.
        outbox = Submission(pipeline.judges(loaded), loaded.secrets)
        outcome = pipeline.run(
            loaded,
            folder=folder,
            fresh=fresh,
            say=lambda problem: say(joined(": ", ["kragx", problem])),
            outbox=outbox,
        )
        outbox.send()
    if outcome.failures:
        names = ", ".join(outcome.failures)
        say(message("failed, so that not all is asked: {names}", names=names))
        raise typer.Exit(RetrieverError.exit_code)


def status(config: opt.JudgingConfig, settings: opt.Settings = None) -> None:
    """Say how far the submitted batches are."""
    _show_batches(config, settings)


def collect(config: opt.JudgingConfig, settings: opt.Settings = None) -> None:
    """Store the answers of the batches that have ended.

    Ends with 4 while anything is pending. Nothing is lost or stored twice if it is interrupted.
    """
    if _show_batches(config, settings, collect=True):
        raise typer.Exit(JudgingError.exit_code)


def _show_batches(config: Path, settings: list[str] | None, *, collect: bool = False) -> int:
    """Look after a config's batches, and show them; how many questions are pending yet."""
    loaded = load(config, settings or ())
    with loaded.secrets.guarding():
        statuses = look_after(pipeline.judges(loaded), loaded.secrets, collect=collect)
    n_pending = sum(entry.n_questions for entry in statuses if entry.batch.is_open)
    text = message("nothing is pending; kragx run finds the grades in the store")
    if n_pending:
        text = message(
            "{n} questions are pending; kragx judge collect stores what has been answered",
            n=n_pending,
        )
    show([*chain.from_iterable(entry.describe() for entry in statuses), Line(text)])
    return n_pending
