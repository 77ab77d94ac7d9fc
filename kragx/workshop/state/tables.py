"""The tables of a workshop, as its records say; their rows are only added to."""

import re
from dataclasses import Field, fields
from types import NoneType, UnionType
from typing import Any, get_args

from sqlalchemy import CheckConstraint, Column, Double, Index, MetaData, Table, Text

from kragx.data.databases.database import WHOLE, Schema, id_column
from kragx.ground.errors import UsageError
from kragx.workshop.state.records import AS_JSON, RECORDS

_TYPES: dict[Any, Any] = {bool: WHOLE, int: WHOLE, float: Double()}
"""What is not a text."""

USUAL = "kragx_workshop"


def _column(field: Field[Any]) -> Column[Any]:
    kinds = get_args(field.type) if isinstance(field.type, UnionType) else (field.type,)
    is_json = field.name in AS_JSON
    kind = Text() if is_json else next((_TYPES[kind] for kind in kinds if kind in _TYPES), Text())
    return Column(field.name, kind, nullable=NoneType in kinds and not is_json)


_tables = MetaData()
for _record in RECORDS:
    Table(_record.table, _tables, id_column(), *map(_column, fields(_record)))
_judgements = _tables.tables["judgements"]
_judgements.append_constraint(CheckConstraint("(kind = 'grade') = (grade IS NOT NULL)"))
# What is sent twice is stored once, and of two releases of a number the first one counts.
Index("judgements_once", _judgements.c.uid, unique=True)
Index("releases_once", _tables.tables["releases"].c.version, unique=True)


def schema(name: str = USUAL) -> Schema:
    """The tables of a workshop.

    Args:
        name: of the schema of a PostgreSQL database, which may hold several workshops.

    Raises:
        UsageError: it is no name of a schema.
    """
    if not re.fullmatch(r"[a-z_][a-z0-9_]{0,62}", name):
        raise UsageError(
            "{name!r}: no name of a schema; write small letters, digits and _",
            field="schema",
            name=name,
        )
    first = "judgements"
    return Schema(name, "workshop", _tables, version=3, first=first, lock=5707241102)
