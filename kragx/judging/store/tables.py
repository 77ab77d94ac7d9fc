"""The tables of a judgement store."""

from sqlalchemy import (
    CheckConstraint,
    Column,
    Double,
    Index,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    text,
)

from kragx.data.databases.database import WHOLE, Schema, id_column, text_column
from kragx.ground.printing import message

_tables = MetaData()

questions: Table = Table(
    "questions",
    _tables,
    text_column("key", primary_key=True),
    text_column("material"),
    sqlite_with_rowid=False,
)

attempts: Table = Table(
    "attempts",
    _tables,
    id_column(),
    text_column("uid", unique=True),
    text_column("key"),
    text_column("at"),
    text_column("source"),
    Column("grade", WHOLE),
    *(Column(name, Text) for name in ("reason", "failure", "detail", "raw")),
    *(Column(f"{kind}_tokens", WHOLE) for kind in ("prompt", "completion", "cached", "reasoning")),
    Column("seconds", Double),
    *(Column(name, Text) for name in ("model", "fingerprint", "dialect")),
    Column("output_limit", WHOLE),
    Column("counting", Text),
    *(Column(name, Text) for name in ("asked_model", "answer")),
    Column("expected", Double),
    CheckConstraint("(grade IS NULL) <> (failure IS NULL)"),
    Index("attempts_by_key", "key"),
)

_pair = ("key", "query_id", "document_id")
pairs: Table = Table(
    "pairs",
    _tables,
    *map(text_column, _pair),
    PrimaryKeyConstraint(*_pair).ddl_if(dialect="sqlite"),
    # An index of PostgreSQL takes no long texts, and somebody's ids are long.
    Index("pairs_once", "key", text("md5(query_id)"), text("md5(document_id)"), unique=True).ddl_if(
        dialect="postgresql"
    ),
    sqlite_with_rowid=False,
)

labels: Table = Table(
    "labels",
    _tables,
    id_column(),
    text_column("query_id"),
    text_column("document_id"),
    Column("grade", WHOLE, nullable=False),
    text_column("at"),
    text_column("origin"),
    Index("labels_by_query", "query_id", postgresql_using="hash"),
)

claims: Table = Table(
    "claims",
    _tables,
    text_column("key", primary_key=True),
    text_column("owner"),
    Column("until", Double, nullable=False),  # seconds since 1970, by the database's clock
    sqlite_with_rowid=False,
)
"""Who is asking what right now; the only table of which rows go again."""

batches: Table = Table(
    "batches",
    _tables,
    id_column(),
    text_column("uid", unique=True),
    *map(text_column, ("planned_at", "state", "since", "about", "detail")),
)
"""How far each batch is; a row is changed as it goes on."""

batch_questions: Table = Table(
    "batch_questions",
    _tables,
    *map(text_column, ("uid", "key")),
    PrimaryKeyConstraint("key", "uid"),
    Index("batch_questions_by_uid", "uid"),
    sqlite_with_rowid=False,
)
"""What is asked in which batch."""

SCHEMA = Schema(
    "kragx",
    message("judgement store"),
    _tables,
    version=1,
    first="attempts",
    lock=5707241101,
)
