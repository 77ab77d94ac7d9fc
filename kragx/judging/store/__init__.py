"""The judgement store: every attempt, in one SQLite file or PostgreSQL database that only grows.

Several processes may use one store at once, and none of them asks what another is asking. Attempts
are committed within milliseconds of their answers, so that whatever ends a run, a killed process
too, loses only what was in flight.
"""

from kragx.data.databases import Address, NoStoreError, StoreFailedError, is_url
from kragx.judging.store.store import Store, exported, record

__all__ = [
    "Address",
    "NoStoreError",
    "Store",
    "StoreFailedError",
    "exported",
    "is_url",
    "record",
]
