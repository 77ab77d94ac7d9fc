"""Databases that only grow, in an SQLite file or in PostgreSQL: judgements, and a gold set's life.

`address` says where one is, `schema` which tables it has, `connection` opens or makes it, and
`database` has the statements. The last three load SQLAlchemy.
"""

from kragx.data.databases.address import (
    Address,
    NoStoreError,
    StoreFailedError,
    answering,
    is_url,
)

__all__ = ["Address", "NoStoreError", "StoreFailedError", "answering", "is_url"]
