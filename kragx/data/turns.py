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
    """The earlier turns of a question: mappings with role and content; a text is the user's.

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
        if isinstance(value, str):
            return Turn("user", _turn_text(value, mender))
        if not isinstance(value, Mapping):
            raise DataError(
                "must be a text, or have role and content, not {value}", value=shorten(value)
            )
        refuse_unknown(value, _FIELDS)
        role, content = value.get("role"), value.get("content")
        if not isinstance(role, str) or not role.strip():
            raise DataError(
                "must say who spoke (user, assistant), not {role}", field="role", role=shorten(role)
            )
        if content is None:
            raise DataError("missing; it is what was said", field="content")
        with inside("content"):
            return Turn(_ROLES.get(role, role), _turn_text(content, mender))

    return clean_each(values, turn)


def _turn_text(value: object, mender: Mender) -> str:
    text = clean_text(value, mender)
    if not text.strip():
        raise DataError("nothing was said", remedy="leave the turn out")
    return text
