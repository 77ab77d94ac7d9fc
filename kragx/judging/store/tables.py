"""The tables of a judgement store, for SQLite and PostgreSQL."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Double,
    Identity,
    Index,
    Integer,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    create_mock_engine,
    text,
)

VERSION = 1
SCHEMA = "kragx"
"""The schema of a PostgreSQL database that the tables are in."""

_WHOLE = BigInteger().with_variant(Integer(), "sqlite")
_tables = MetaData()


def _text(name: str, **options: Any) -> Column[str]:
    return Column(name, Text, nullable=False, **options)


def _id() -> Column[int]:
    return Column("id", _WHOLE, Identity(), primary_key=True)


questions = Table(
    "questions", _tables, _text("key", primary_key=True), _text("material"), sqlite_with_rowid=False
)

attempts = Table(
    "attempts",
    _tables,
    _id(),
    _text("uid", unique=True),
    _text("key"),
    _text("at"),
    _text("source"),
    Column("grade", _WHOLE),
    *(Column(name, Text) for name in ("reason", "failure", "detail", "raw")),
    *(Column(f"{kind}_tokens", _WHOLE) for kind in ("prompt", "completion", "cached", "reasoning")),
    Column("seconds", Double),
    *(Column(name, Text) for name in ("model", "fingerprint", "dialect")),
    Column("output_limit", _WHOLE),
    Column("counting", Text),
    *(Column(name, Text) for name in ("asked_model", "answer")),
    Column("expected", Double),
    CheckConstraint("(grade IS NULL) <> (failure IS NULL)"),
    Index("attempts_by_key", "key"),
)

LATER = ("dialect", "output_limit", "counting", "asked_model", "answer", "expected")
"""Columns of attempts that files of version 0.1.0 lack."""

_pair = ("key", "query_id", "document_id")
pairs = Table(
    "pairs",
    _tables,
    *map(_text, _pair),
    PrimaryKeyConstraint(*_pair).ddl_if(dialect="sqlite"),
    # An index of PostgreSQL takes no long texts, and somebody's ids are long.
    Index("pairs_once", "key", text("md5(query_id)"), text("md5(document_id)"), unique=True).ddl_if(
        dialect="postgresql"
    ),
    sqlite_with_rowid=False,
)

labels = Table(
    "labels",
    _tables,
    _id(),
    _text("query_id"),
    _text("document_id"),
    Column("grade", _WHOLE, nullable=False),
    _text("at"),
    _text("origin"),
    Index("labels_by_query", "query_id", postgresql_using="hash"),
)

claims = Table(
    "claims",
    _tables,
    _text("key", primary_key=True),
    _text("owner"),
    Column("until", Double, nullable=False),  # seconds since 1970, by the database's clock
    sqlite_with_rowid=False,
)
"""Who is asking what right now; the one table of which rows go again."""

batch_states = Table(
    "batch_states",
    _tables,
    _id(),
    *map(_text, ("uid", "at", "state", "detail")),
)
"""How far each batch is; of each uid the last row counts."""

batch_questions = Table(
    "batch_questions",
    _tables,
    *map(_text, ("uid", "key", "rubric")),
    Column("tokens", _WHOLE, nullable=False),
    PrimaryKeyConstraint("key", "uid"),
    Index("batch_questions_by_uid", "uid"),
    sqlite_with_rowid=False,
)
"""What is asked in which batch, with the digest of its rubric and about how many tokens it has."""

_versions = Table("versions", _tables, Column("version", Integer))
"""Of PostgreSQL alone; an SQLite file has a number for it."""

TABLES = _tables.tables
LATER_TABLES = frozenset({"claims", "batch_states", "batch_questions"})
"""Tables that files of version 0.1.0 lack."""
_KEPT = (questions, attempts, pairs, labels)
_BATCHES = (batch_states, batch_questions)
_UNCHANGED = (
    ("attempts", "UPDATE"),
    ("attempts", "DELETE"),
    ("questions", "UPDATE"),
    ("questions", "DELETE"),
    ("labels", "UPDATE"),
    ("labels", "DELETE"),
    *((table.name, change) for table in _BATCHES for change in ("UPDATE", "DELETE")),
)
_GROWS = "the judgement store only grows"


def of_sqlite() -> Iterator[str]:
    """The statements that make the tables of an SQLite file, where they are not there yet."""
    for statement in _made([*_KEPT, *_BATCHES, claims], "sqlite://"):
        yield re.sub(r"^CREATE (TABLE|INDEX)", r"\g<0> IF NOT EXISTS", statement)
    for table, change in _UNCHANGED:
        yield (
            f"CREATE TRIGGER IF NOT EXISTS {table}_no_{change.lower()} BEFORE {change} ON {table} "
            f"BEGIN SELECT RAISE(ABORT, '{_GROWS}'); END"
        )


def of_postgresql() -> Iterator[str]:
    """The statements that make the tables of a PostgreSQL database in an existing schema."""
    yield from _made([*_KEPT, *_BATCHES, claims, _versions], "postgresql+psycopg://")
    yield (
        f"CREATE FUNCTION {SCHEMA}.only_grows() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$BEGIN RAISE EXCEPTION '{_GROWS}'; END$$"
    )
    for table, change in _UNCHANGED:
        yield (
            f"CREATE TRIGGER {table}_no_{change.lower()} BEFORE {change} ON {SCHEMA}.{table} "
            f"FOR EACH STATEMENT EXECUTE FUNCTION {SCHEMA}.only_grows()"
        )
    yield f"INSERT INTO {SCHEMA}.versions VALUES ({VERSION})"


def _made(tables: Sequence[Table], url: str) -> list[str]:
    made: list[str] = []

    def note(element: Any, *_: Any, **__: Any) -> None:
        made.append(str(element.compile(dialect=dialect, **options)).strip())

    engine = create_mock_engine(url, note)
    dialect = engine.dialect
    translated = {"schema_translate_map": {None: SCHEMA}, "render_schema_translate": True}
    options: dict[str, Any] = translated if dialect.name == "postgresql" else {}
    _tables.create_all(engine, tables, checkfirst=False)
    return made
