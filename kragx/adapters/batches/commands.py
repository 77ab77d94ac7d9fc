"""`kragx judge submit`, `status` and `collect`: judgements from a provider's batches."""

from collections.abc import Iterable, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from kragx.adapters.batches.collecting import Overview, look_after
from kragx.adapters.batches.service import MOST_REQUESTS, submit as submit_parcel
from kragx.app import pipeline
from kragx.app.commands import options as opt
from kragx.app.commands.output import show
from kragx.app.config import RunConfig, load
from kragx.app.result_folder.written import claimed
from kragx.ground.errors import DataError, JudgingError, RetrieverError, UsageError
from kragx.ground.event_loop import run_sync
from kragx.ground.printing import Line, joined, phrase, say, show as show_parts
from kragx.ground.secrets import Secrets
from kragx.judging import DEFAULT_STORE, Judge, OpenAIClient
from kragx.judging.queue import Outbox
from kragx.judging.store import Address, NoStoreError

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


class Submission(Outbox):
    """What a command has judges submit."""

    def finish_interrupted(self, judges: Sequence[Judge], secrets: Secrets) -> None:
        """Find out what became of a submit that was interrupted; it comes before another one.

        Raises:
            JudgingError: that cannot be found out.
        """
        overviews = _looked_after([judge.store for judge in judges], judges, secrets)
        if problems := [problem for overview in overviews for problem in overview.problems]:
            raise JudgingError("\n".join(problems))

    def send(self, per_batch: int = MOST_REQUESTS, *, dry_run: bool) -> None:
        """Submit what is in it, and say what became of it."""
        if not self.parcels:
            show_parts([Line(phrase("nothing to submit: nothing needs a judge"))])
        for parcel in self.parcels:
            submitted = run_sync(
                lambda parcel=parcel: submit_parcel(  # type: ignore[misc]
                    parcel, most_requests=per_batch, dry_run=dry_run
                )
            )
            submitted.print()


def submit(
    config: Annotated[
        Path, opt.argument(metavar="CONFIG.yaml", help="Config file, as for kragx run.")
    ],
    settings: opt.Settings = None,
    dry_run: opt.DryRun = False,
    budget: Annotated[
        float | None,
        typer.Option(help="The most that each judge's answers may cost, in its prices' currency."),
    ] = None,
    max_calls: opt.MaxCalls = None,
    max_tokens: opt.MaxTokens = None,
    budget_per: opt.BudgetPer = None,
    per_batch: Annotated[
        int, typer.Option(min=1, max=MOST_REQUESTS, help="The most questions in one batch.")
    ] = MOST_REQUESTS,
    ask_pending: opt.AskPending = False,
    fresh: opt.Fresh = False,
) -> None:
    """Submit what kragx run would ask a judge as batches of the provider, for less money.

    Asks the retrievers, whose answers kragx run takes over if the config has an output. Answers
    come within a day: kragx judge status, then collect.
    """
    loaded = load(config, settings or ())
    limits = opt.limits(budget, max_calls, max_tokens, budget_per)
    judging = opt.given_options(budget=limits or None, ask_pending=ask_pending or None)
    # In the config's folder, so that kragx run takes the answers over and asks nobody twice.
    outbox, folder = Submission(), None if dry_run else loaded.output
    judges = _judges(loaded)
    for judge in judges:  # before retrievers are asked, which takes time and may cost
        outbox.check(judge.client)
    with loaded.secrets.guarding(), nullcontext() if folder is None else claimed(folder, loaded):
        if not dry_run:
            outbox.finish_interrupted(judges, loaded.secrets)
        outcome = pipeline.run(
            loaded,
            judging=judging,
            folder=folder,
            fresh=fresh,
            say=lambda problem: say(joined(": ", ["kragx", problem])),
            outbox=outbox,
        )
        outbox.send(per_batch, dry_run=dry_run)
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
    for overview in _each_store(config, settings, store):
        show(format, overview.describe, overview.to_dict)


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
    overviews = _each_store(config, settings, store, collect=True)
    for overview in overviews:
        show(format, overview.describe, overview.to_dict)
    if any(overview.n_pending for overview in overviews):
        raise typer.Exit(JudgingError.exit_code)


def _each_store(
    config: Path | None, settings: list[str] | None, store: str, **options: Any
) -> list[Overview]:
    """The batches of a config's stores, or of a store.

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
        overviews = _looked_after(stores, judges, secrets, **options)
    if not overviews:
        raise DataError(
            f"{', '.join(dict.fromkeys(map(str, stores)))}: there is no such store",
            remedy="go to the folder of the submit, or name its config or store",
        )
    return overviews


def _judges(config: RunConfig) -> list[Judge]:
    judges = pipeline.judges(config)
    if not judges:
        raise UsageError(f"{config.file}: nothing is judged here; add 'match: llm' and a 'judge'")
    return judges


def _looked_after(
    stores: Iterable[Any], judges: Sequence[Judge], secrets: Secrets, **options: Any
) -> list[Overview]:
    """The batches of those of these stores that there are."""
    judging_clients = [judge.client for judge in judges] or [OpenAIClient("of the environment")]
    clients = [client for client in judging_clients if hasattr(client, "connected")]

    async def looked() -> list[Overview]:
        overviews: list[Overview] = []
        for address in dict.fromkeys(map(Address.of, stores)):
            with suppress(NoStoreError):
                overviews.append(await look_after(address, clients, secrets=secrets, **options))
        return overviews

    return run_sync(looked)
