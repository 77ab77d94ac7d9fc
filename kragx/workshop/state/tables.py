"""The tables of a workshop; their rows are only added to, and the newest of a thing counts."""

import re
from typing import Any

from sqlalchemy import CheckConstraint, Column, Double, Index, MetaData, Table, Text

from kragx.data.databases.schema import WHOLE, Schema, id_column, text_column
from kragx.errors import UsageError

_tables = MetaData()


def _own() -> list[Column[Any]]:
    """Its number, the id that it was given before it was stored, and when it came."""
    return [id_column(), text_column("uid"), text_column("at")]


people: Table = Table("people", _tables, *_own(), *map(text_column, ("name", "role", "state")))

questions: Table = Table(
    "questions",
    _tables,
    *_own(),
    *map(text_column, ("person", "text", "origin", "state", "note")),
    *(Column(name, Text) for name in ("query_type", "difficulty", "reference")),
    Column("answerable", WHOLE),
    # JSON: ids of documents, gold items of a file that was imported, whatever else is known, and
    # what that file forbids.
    *map(text_column, ("sources", "gold", "metadata")),
    text_column("forbidden", server_default="null"),
)

candidates: Table = Table(
    "candidates",
    _tables,
    *_own(),
    *map(text_column, ("question", "document", "origin", "detail")),
    Column("rank", WHOLE),
    Column("score", Double),
)

judgements: Table = Table(
    "judgements",
    _tables,
    *_own(),
    *map(text_column, ("question", "document", "person", "kind", "note", "purpose")),
    text_column("why", server_default=""),
    Column("grade", WHOLE),
    Column("is_decision", WHOLE, nullable=False),
    text_column("spans"),  # JSON: pairs of characters
    Column("seconds", Double),
    CheckConstraint("(kind = 'grade') = (grade IS NOT NULL)"),
    Index("judgements_once", "uid", unique=True),
)

releases: Table = Table(
    "releases",
    _tables,
    *_own(),
    *map(text_column, ("person", "hash", "file")),
    Column("version", WHOLE, nullable=False),
    Index("releases_once", "version", unique=True),
)

USUAL = "kragx_workshop"


def schema(name: str = USUAL) -> Schema:
    """The tables of a workshop.

    Args:
        name: of the schema of a PostgreSQL database, which may hold several workshops.

    Raises:
        UsageError: it is no name of a schema.
    """
    if not re.fullmatch(r"[a-z_][a-z0-9_]{0,62}", name):
        raise UsageError(
            f"{name!r}: no name of a schema; write small letters, digits and _", field="schema"
        )
    first = "judgements"
    return Schema(name, "workshop", _tables, version=2, first=first, lock=5707241102)
