"""Facts: what an answer to a question needs, written by hand or by a model.

They stand in a question's metadata, each a text, or a text with its importance:

    "metadata": {"facts": ["within 14 days", {"text": "at the shop's cost", "importance": "okay"}],
                 "facts_from": {"model": "gpt-4.1-mini", "reviewed_by": null, ...}}
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kragx.data.gold import Query
from kragx.ground.errors import DataError, shorten

IMPORTANCES = ("okay", "vital")
"""How much an answer needs a fact, the least first."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One fact.

    Attributes:
        text: what it says.
        vital: whether an answer that lacks it is none; else it is worth having (``okay``).
    """

    text: str
    vital: bool = True

    def to_dict(self) -> dict[str, str]:
        """As a gold file holds it."""
        return {"text": self.text, "importance": IMPORTANCES[self.vital]}


def facts_of(query: Query) -> tuple[Fact, ...]:
    """The facts that an answer to a query needs: its ``metadata.facts``.

    Raises:
        DataError: they are no list of facts.
    """
    facts = query.metadata.get("facts")
    if facts is None:
        return ()
    if not isinstance(facts, (list, tuple)):
        raise _wrong(query, facts)
    return tuple(_fact(query, fact) for fact in facts)


def unreviewed(query: Query) -> bool:
    """Whether a model has written the facts of a query, and no person has gone over them."""
    origin = query.metadata.get("facts_from")
    return isinstance(origin, Mapping) and not origin.get("reviewed_by")


def _fact(query: Query, fact: Any) -> Fact:
    fields = {"text": fact} if isinstance(fact, str) else fact
    if isinstance(fields, Mapping) and fields.keys() <= {"text", "importance"}:
        text, importance = fields.get("text"), fields.get("importance", "vital")
        if isinstance(text, str) and text.strip() and importance in IMPORTANCES:
            return Fact(text, importance == "vital")
    raise _wrong(query, fact)


def _wrong(query: Query, value: Any) -> DataError:
    return DataError(
        "query {id!r}: metadata.facts must be a list of texts, or of "
        "{{text, importance: vital or okay}}, not {value}",
        id=query.id,
        value=shorten(value),
    )
