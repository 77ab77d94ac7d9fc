"""Databases in SQLite files or in PostgreSQL, of which rows are only added: judgements, workshops.

`address` says where one is; `database`, which loads SQLAlchemy, has its tables and statements.
"""

from kragx.data.databases.address import Address, NoStoreError, StoreFailedError, answering, is_url

__all__ = ["Address", "NoStoreError", "StoreFailedError", "answering", "is_url"]
