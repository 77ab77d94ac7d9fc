"""Which question of a gold set was asked, by its text and what was said before it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from kragx.data import GoldDataset, Query, normalise
from kragx.errors import UsageError


class KnownQuestions:
    """The questions of a gold set.

    Args:
        gold: the set.
        by_id: whether logs say the ids.
        remedy: what to do where texts do not tell questions apart.

    Raises:
        UsageError: two questions have the same text and the same history, and ids do not tell them.
    """

    def __init__(self, gold: GoldDataset, *, by_id: bool, remedy: str) -> None:
        self._ids = {query.id for query in gold}
        self._by_text: dict[str, dict[tuple[str, ...], str]] = defaultdict(dict)
        for query in () if by_id else gold:
            text = normalise(query.text or "")
            if not text:
                continue
            query_id = self._by_text[text].setdefault(_history(query), query.id)
            if query_id != query.id:
                raise UsageError(
                    f"queries {query_id!r} and {query.id!r} have the same text",
                    remedy=remedy,
                )

    def of_id(self, query_id: object) -> str | None:
        """The question with an id."""
        return str(query_id) if str(query_id) in self._ids else None

    def has_text(self, text: str) -> bool:
        """Whether a question has a text, whatever was said before."""
        return normalise(text) in self._by_text

    def of_text(self, text: str, before: Iterable[str] = ()) -> str | None:
        """The question with a text; of several the one before which a user had said the same.

        Args:
            text: white space and case of letters' forms do not matter (NFC).
            before: what was said, in order.
        """
        by_history = self._by_text.get(normalise(text), {})
        if len(by_history) == 1:
            return next(iter(by_history.values()))
        return by_history.get(tuple(map(normalise, before)))


def _history(query: Query) -> tuple[str, ...]:
    return tuple(normalise(turn.content) for turn in query.history if turn.role == "user")
