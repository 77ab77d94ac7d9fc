"""Databases in SQLite files or in PostgreSQL, of which rows are only added: judgements, workshops.

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
