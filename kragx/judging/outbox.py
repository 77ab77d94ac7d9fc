"""What judges would ask, kept to be submitted in batches instead of asked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kragx.errors import UsageError
from kragx.judging.client import Client, Request
from kragx.judging.keys import canonical_json
from kragx.judging.prompt import request_for
from kragx.judging.question import Judgement, Question

if TYPE_CHECKING:
    from kragx.judging.pending import PendingQuestions
    from kragx.judging.settings import JudgeSettings
    from kragx.secrets import Secrets


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

    def request(self, key: str) -> Request:
        """With which a question is asked."""
        return request_for(self.wanted[key][0], key, self.settings.timeout)


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
        if not hasattr(client, "batch_endpoint"):
            name = client.settings.get("provider", type(client).__name__)
            raise UsageError(
                f"judge: {name} cannot be asked in batches, only one question at a time",
                remedy="use kragx run; or name the model of a provider with OpenAI's batch files "
                "(judge: {model: ..., base_url: ...})",
            )

    def put(
        self,
        settings: JudgeSettings,
        questions: PendingQuestions,
        todo: Sequence[str],
        judgements: Iterable[Judgement],
    ) -> None:
        """Take in what a judge would ask, and what it need not ask for."""
        if not questions.wanted:
            return
        about = questions.secrets.masked(dict(settings.client.settings))
        judge = canonical_json([str(settings.store), about])
        parcel = self._parcels.setdefault(judge, Parcel(settings, questions.secrets))
        parcel.wanted |= {key: questions.wanted[key] for key in todo}
        parcel.pairs |= {pair for pair in questions.pairs() if pair[0] in parcel.wanted}
        for judgement in judgements:
            pending = judgement.failure == "pending"
            (parcel.pending if pending else parcel.stored).add(judgement.key)
