"""Where the questions go that a judge would ask, if they are to be submitted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from kragx.errors import UsageError
from kragx.judging.client import Client, Request
from kragx.judging.clients.dialect import Dialect
from kragx.judging.keys import canonical_json
from kragx.judging.question import Judgement, Question

if TYPE_CHECKING:
    from openai import AsyncOpenAI

    from kragx.judging.docket import Docket
    from kragx.judging.settings import JudgeSettings
    from kragx.secrets import Secrets


@runtime_checkable
class BatchClient(Client, Protocol):
    """A client whose provider has batches."""

    @property
    def batch_endpoint(self) -> str:
        """What the requests of a batch are for."""
        ...

    @property
    def reach(self) -> Mapping[str, Any] | None:
        """How the provider is reached, without a secret; None if that cannot be said without one.

        These are the options of an `OpenAIClient` of this model.
        """
        ...

    @property
    def dialect(self) -> Dialect:
        """What such a request looks like."""
        ...

    def body(self, request: Request) -> Mapping[str, Any]:
        """The body of the request with which it is asked."""
        ...

    def connected(self) -> AsyncOpenAI:
        """What speaks to the provider in the running event loop; whoever gets it closes it."""
        ...


@dataclass
class Parcel:
    """What one judge would ask.

    Attributes:
        settings: the judge's.
        secrets: what nothing that is kept may show.
        wanted: the questions, each with its canonical JSON, by key.
        pairs: their (key, query id, document id).
        pending: the keys of those that are in a batch already.
        stored: the keys of those that the store has answers for.
    """

    settings: JudgeSettings
    secrets: Secrets
    wanted: dict[str, tuple[Question, str]] = field(default_factory=dict)
    pairs: set[tuple[str, str, str]] = field(default_factory=set)
    pending: set[str] = field(default_factory=set)
    stored: set[str] = field(default_factory=set)


class Outbox:
    """Questions that are to be submitted, by the judge that would be asked."""

    def __init__(self) -> None:
        self._parcels: dict[str, Parcel] = {}

    @property
    def parcels(self) -> list[Parcel]:
        """One for each judge."""
        return list(self._parcels.values())

    def check(self, client: Client) -> None:
        """Refuse a client whose questions cannot be submitted.

        Raises:
            UsageError: its provider's batches are not known.
        """
        if not isinstance(client, BatchClient):
            name = client.settings.get("provider", type(client).__name__)
            raise UsageError(
                f"judge: {name} cannot be asked in batches, only one question at a time",
                remedy="use kragx run; or name the model of a provider with OpenAI's batch files "
                "(judge: {model: ..., base_url: ...})",
            )

    def put(
        self,
        settings: JudgeSettings,
        docket: Docket,
        todo: Sequence[str],
        done: Iterable[Judgement],
    ) -> None:
        """Take in what a judge would ask, and what it need not ask for."""
        if not docket.wanted:
            return
        about = docket.secrets.masked(dict(settings.client.settings))
        judge = canonical_json([str(settings.store), about])
        parcel = self._parcels.setdefault(judge, Parcel(settings, docket.secrets))
        parcel.wanted |= {key: docket.wanted[key] for key in todo}
        parcel.pairs |= {pair for pair in docket.pairs() if pair[0] in parcel.wanted}
        for judgement in done:
            pending = judgement.failure == "pending"
            (parcel.pending if pending else parcel.stored).add(judgement.key)
