"""When a run should stop since nothing succeeds any more."""

from kragx.errors import JudgingError
from kragx.judging.client import Failure, FailureKind
from kragx.judging.queue import WorkQueue
from kragx.judging.remedies import remedy
from kragx.judging.settings import JudgeSettings
from kragx.printing import phrase
from kragx.secrets import Secrets

_FIRST = 5  # calls in a row without any answer, before anything was answered
_IN_A_ROW = 20  # failed judgements of one kind in a row, beside those that were under way
_CLUSTER = 10  # failures in a row after which questions are taken from elsewhere
_AWAY = 3  # refused connections, before anything was answered

SERVICE: frozenset[FailureKind] = frozenset({"api_error", "connection", "timeout", "rate_limit"})
"""Kinds of failure that are no answer."""


class Breaker:
    """Counts what fails in a row, over one run, and ends the run where that is no accident.

    * What the client calls fatal (a wrong key, a used-up quota) ends it at once.
    * Until a first answer has come, questions are asked one after the other, and five calls in a
      row without an answer end it, as do three refused connections.
    * Later, failed judgements of the same kind end it: 20 in a row and as many as two rounds of
      `concurrency`. Texts that a gateway blocks may stand side by side, so after ten the next
      questions are taken from elsewhere.
    * So does a server that has answered nobody for `patience`.

    Where nothing more waits to be asked, only the first holds.
    """

    def __init__(self, settings: JudgeSettings, queue: WorkQueue, secrets: Secrets) -> None:
        self._settings, self._queue, self._secrets = settings, queue, secrets
        self._begun = settings.clock()
        self._group: str | None = None
        self._in_a_row = self._n_away = 0

    @property
    def unproven(self) -> bool:
        """Whether the service has answered nothing yet: one question at a time is enough."""
        return self._settings.limits.answered is None

    @property
    def in_a_cluster(self) -> bool:
        """Whether so much has failed in a row that other questions should be tried."""
        return self._in_a_row >= _CLUSTER

    def success(self) -> None:
        """A grade came."""
        self._in_a_row = 0

    def failure(self, failure: Failure, *, is_last: bool, since: float | None = None) -> None:
        """An attempt failed.

        Args:
            failure: of the attempt.
            is_last: whether it was the last one at its question.
            since: when the question began to wait, if it has waited in vain.

        Raises:
            JudgingError: no other one can be expected to succeed.
        """
        if failure.fatal:
            raise self._stop(failure, "Every further question would fail the same way")
        if not is_last and not self.unproven:
            return
        settings, is_service = self._settings, failure.kind in SERVICE
        group = "service" if is_service else failure.kind
        self._in_a_row = self._in_a_row + 1 if group == self._group else 1
        self._group = group
        first = is_service and self.unproven
        limit = _FIRST if first else _IN_A_ROW + 2 * settings.concurrency
        if not self._queue:  # there is nothing to save
            return
        if self._in_a_row >= limit:
            calls = "calls, the first ones," if first else "questions"
            raise self._stop(failure, f"{self._in_a_row} {calls} in a row failed")
        answered = max(self._begun, settings.limits.answered or self._begun)
        silent = settings.clock() - answered
        is_vain = since is not None and answered <= since
        if is_vain or (is_service and silent > max(settings.patience, 3 * settings.timeout)):
            raise self._stop(failure, f"Nothing was answered for {silent:.0f} s")

    def away(self, failure: Failure) -> None:
        """No server took a question.

        Raises:
            JudgingError: none has answered before that could be coming back.
        """
        self._n_away += self.unproven
        if self._n_away >= _AWAY:
            raise self._stop(failure, phrase("No server answers there"))

    def _stop(self, failure: Failure, why: str) -> JudgingError:
        self._queue.closed = True
        words = self._secrets.masked(failure.detail) or failure.kind
        if failure.kind not in SERVICE and failure.detail:
            words = f"{failure.kind}: {words}"  # a model's own words do not say so
        is_spent = failure.fatal and failure.kind == "rate_limit"
        advice = remedy(failure.kind, 402 if is_spent else failure.status)
        return JudgingError(
            phrase(
                "judge: {words}. {why}, so judging stopped; what was judged is in {store}",
                words=words,
                why=why,
                store=self._settings.store,
            ),
            remedy=phrase("{remedy}; a new run goes on from there", remedy=advice),
        )
