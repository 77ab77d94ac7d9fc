"""The tables of a workshop; their rows are only added to, and the newest of a thing counts."""

from sqlalchemy import CheckConstraint, Column, Double, Index, MetaData, Table, Text

from kragx.data.databases.schema import WHOLE, Schema, id_column, text_column

_tables = MetaData()


def _table(name: str, *columns: Column[str] | Column[int] | Column[float], **own: object) -> Table:
    """A table whose rows say when they came, with an id that is given before they are stored."""
    every = (id_column(), text_column("uid"), text_column("at"))
    return Table(name, _tables, *every, *columns, *own.values())  # type: ignore[arg-type]


people = _table(
    "people",
    *map(text_column, ("name", "role", "state")),
)

questions = _table(
    "questions",
    *map(text_column, ("person", "text", "origin", "state")),
    *(Column(name, Text) for name in ("query_type", "difficulty", "reference", "note")),
    Column("answerable", WHOLE),
    text_column("sources"),  # JSON: ids of documents
    text_column("gold"),  # JSON: gold items of a file that was imported
    text_column("metadata"),  # JSON
)

candidates = _table(
    "candidates",
    *map(text_column, ("question", "document", "origin", "detail")),
    Column("rank", WHOLE),
    Column("score", Double),
    once=Index("candidates_by_question", "question"),
)

judgements = _table(
    "judgements",
    *map(text_column, ("question", "document", "person", "kind")),
    Column("grade", WHOLE),
    Column("is_decision", WHOLE, nullable=False),
    text_column("spans"),  # JSON: pairs of characters
    text_column("note"),
    text_column("purpose"),
    Column("seconds", Double),
    check=CheckConstraint("(kind = 'grade') = (grade IS NOT NULL)"),
    once=Index("judgements_once", "uid", unique=True),
)

releases = _table(
    "releases",
    *map(text_column, ("person", "hash", "file")),
    Column("version", WHOLE, nullable=False),
    once=Index("releases_once", "version", unique=True),
)

TABLES = ("judgements", "questions", "candidates", "people", "releases")
SCHEMA = Schema(
    "kragx_workshop",
    "workshop",
    _tables,
    version=1,
    grow=TABLES,
    lock=5707241102,
)
