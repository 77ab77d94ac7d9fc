"""What somebody at the page reads when something cannot be done."""

from kragx.ground.errors import DataError, KragxError, UsageError


class ServiceError(KragxError):
    """A refusal; `code` names the page's own sentence for it."""

    def __init__(self, problem: str, *, code: str, field: str = "", remedy: str = "") -> None:
        super().__init__(problem, field=field, remedy=remedy)
        self.code = code


class UnknownError(ServiceError, DataError):
    """A question, a document or a person that does not exist."""


class RefusedError(ServiceError, UsageError):
    """What this person may not ask or do."""


class ClashError(ServiceError, UsageError):
    """What does not fit what has happened meanwhile."""


class MisfitError(ServiceError, UsageError):
    """What does not fit the set or the text."""
