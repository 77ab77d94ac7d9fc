"""The folder of a workshop, opened."""

import os
import secrets
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Self

from kragx.data import as_corpus
from kragx.data.databases import Address
from kragx.data.formats.jsonl import read_text
from kragx.ground.errors import DataError
from kragx.workshop.folder.documents import Documents
from kragx.workshop.folder.settings import WorkshopSettings, settings_of
from kragx.workshop.state.store import RecordStore

FILE, GUIDELINES, SECRET = "workshop.yaml", "guidelines.md", ".secret"
DATABASE = "workshop.sqlite"


@dataclass(frozen=True)
class Workshop:
    """The folder of a workshop, its settings read.

    Attributes:
        folder: where it is.
        settings: of its workshop.yaml.
    """

    folder: Path
    settings: WorkshopSettings

    @classmethod
    def open(cls, folder: str | Path) -> Self:
        """Read the settings of a folder.

        Raises:
            DataError: there is no workshop in it.
            ConfigError: its workshop.yaml holds mistakes; each is named with its field.
        """
        folder = Path(folder)
        file = folder / FILE
        if not file.is_file():
            remedy = f"kragx gold start {folder} --corpus corpus.jsonl makes one"
            raise DataError("there is no workshop", path=str(file), remedy=remedy)
        return cls(folder, settings_of(read_text(file), str(file), folder.resolve()))

    @cached_property
    def documents(self) -> Documents:
        """The corpus, read once.

        Raises:
            DataError: it cannot be read.
        """
        return Documents(as_corpus(self.settings.corpus))

    @property
    def address(self) -> Address:
        """Where its database is."""
        return Address.of(self.settings.database or self.folder / DATABASE)

    def store(self) -> RecordStore:
        """Its database, made where it is new."""
        return RecordStore(self.address, schema=self.settings.database_schema)

    @property
    def guidelines(self) -> str:
        """What judges go by, as it stands now; empty without such a file."""
        file = self.folder / GUIDELINES
        return read_text(file) if file.is_file() else ""

    @cached_property
    def secret(self) -> bytes:
        """What its links are made with; made when it is first asked for."""
        file = self.folder / SECRET
        try:
            # Of several processes that begin at once one makes the file, and all read what it
            # wrote; nobody else may read it.
            number = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            pass
        else:
            with os.fdopen(number, "w") as opened:
                opened.write(secrets.token_hex(32))
        secret = read_text(file).strip()
        # A file cut short, as by a full disk, would make links that can be guessed.
        if len(secret) < 64:
            remedy = "remove it, and all links are made anew"
            raise DataError("no secret of a workshop", path=str(file), remedy=remedy)
        return secret.encode()
