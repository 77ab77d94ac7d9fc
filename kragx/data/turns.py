"""Turns: what was said in a conversation before a question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kragx.data.documents import clean_each, clean_text, refuse_unknown
from kragx.data.text import Mender
from kragx.ground.errors import DataError, inside, shorten

_FIELDS = dict.fromkeys(("role", "content")).keys()
_ROLES = {"human": "user", "ai": "assistant"}
"""What LangChain calls them, in its own words."""


@dataclass(frozen=True, slots=True)
class Turn:
    """What one side said.

    Attributes:
        role: ``user``, ``assistant``, ``system`` or another word for who spoke.
        content: what was said.
    """

    role: str
    content: str

    def to_dict(self) -> dict[str, str]:
        """As files, chat models and LangChain's prompts have it."""
        return {"role": self.role, "content": self.content}


def as_turns(values: object, mender: Mender) -> tuple[Turn, ...]:
    """The earlier turns of a question: mappings with role and content.

    Raises:
        DataError: they are none; the error's field says which.
    """
    if not isinstance(values, (list, tuple)):
        raise DataError(
            "must be a list of earlier turns, not {values}",
            remedy='write [{{"role": "user", "content": ...}}, {{"role": "assistant", ...}}]',
            values=shorten(values),
        )

    def turn(value: object) -> Turn:
        if isinstance(value, Turn):
            return value
        if not isinstance(value, Mapping):
            raise DataError("must have role and content, not {value}", value=shorten(value))
        refuse_unknown(value, _FIELDS)
        role, content = (_said(value.get(name), name, mender) for name in _FIELDS)
        return Turn(_ROLES.get(role, role), content)

    return clean_each(values, turn)


def _said(value: object, name: str, mender: Mender) -> str:
    with inside(name):
        text = clean_text(value, mender)
    if not text.strip():
        problem = "nothing was said" if name == "content" else "must say who spoke"
        raise DataError(problem, field=name, remedy="leave the turn out")
    return text
