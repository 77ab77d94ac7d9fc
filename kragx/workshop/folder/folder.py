"""The folder of a workshop: its settings (workshop.yaml), its corpus, its database."""

import os
import re
import secrets
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from kragx.data import as_corpus
from kragx.data.corpus import Corpus
from kragx.data.databases import Address
from kragx.data.documents import Doc
from kragx.data.formats.jsonl import read_text
from kragx.data.gold_source import read_targets
from kragx.data.rules import RuleSet
from kragx.data.yaml_text import yaml_mapping
from kragx.ground.errors import ConfigError, DataError, UsageError, shorten
from kragx.ground.options import (
    a_mapping,
    a_path,
    a_text,
    check_options,
    made_of,
    mistakes_of,
    number,
    optional,
    texts_by_name,
    what_is_said,
    whole,
)
from kragx.ground.plugins import with_variables
from kragx.ground.printing import message
from kragx.workshop.folder.places import place_of
from kragx.workshop.state.store import USUAL, RecordStore


class Documents(Mapping[str, Doc]):
    """The documents of a corpus by id; a stretch of one, ``document:start-end``, is there as well.

    Gold sets and retrievers may name stretches (as `Corpus.text` reads them); to go through all is
    to go through the documents alone.

    Args:
        corpus: has them, and has read them.

    Raises:
        DataError: it cannot be read.
    """

    def __init__(self, corpus: Corpus) -> None:
        self.corpus: Corpus = corpus
        self._docs = corpus.docs
        # Judges see the same stretches again and again, and cutting one looks its document up.
        self._stretch: Callable[[str], Doc | None] = lru_cache(len(self) + 100_000)(self._cut)

    def __getitem__(self, doc_id: str) -> Doc:
        doc = self._docs.get(doc_id) or self._stretch(doc_id)
        if doc is None:
            raise KeyError(doc_id)
        return doc

    def _cut(self, doc_id: str) -> Doc | None:
        text = self.corpus.text(doc_id)
        if text is None:
            return None
        whole_id, _, span = doc_id.rpartition(":")
        whole = self._docs.get(whole_id)
        if whole is None:
            return Doc(doc_id, text)
        source, first = place_of(whole)
        start, end = (first + int(place) for place in span.split("-"))
        position = {"source": source, "start": start, "end": end}
        # `start_index` is read before `start`, and would be the place of the whole document.
        of_whole = {"start_index", "end_index"}
        metadata = {key: value for key, value in whole.metadata.items() if key not in of_whole}
        return Doc(doc_id, text, metadata | position)

    def __iter__(self) -> Iterator[str]:
        return iter(self._docs)

    def __len__(self) -> int:
        return len(self._docs)


Language = Literal["ko", "en"]


def _name(value: Any) -> Any:
    if not 1 <= len(a_text(value)) <= 200:
        raise UsageError("1 to 200 characters are expected ({value})", value=shorten(value))
    return value


def _schema(value: Any) -> Any:
    if not re.fullmatch(r"[a-z_][a-z0-9_]{0,62}", a_text(value)):
        raise UsageError("{value!r} is no name of a schema", value=value)
    return value


def _rules(value: Any) -> dict[str, Any]:
    return dict(RuleSet.of(value).source or {}) if a_mapping(value) else {}


def _scale(value: Any) -> Any:
    words = {str(grade): text for grade, text in texts_by_name(value).items()}
    if {*words} != {*map(str, range(len(words)))} or not 2 <= len(words) <= 10:
        raise UsageError("grades are 0, 1, 2, ..., 2 to 10 of them, each with its words")
    return {int(grade): text for grade, text in words.items()}


_share = number(lambda share: 0 <= share <= 1, "{value!r} is not a number from 0 to 1")


@dataclass(frozen=True, kw_only=True)
class WorkshopSettings:
    """What stands in workshop.yaml; relative paths start at its folder.

    Attributes:
        name: of the gold set.
        language: of the guidelines' sample, and of the page in a browser of another language.
        corpus: file or folder with the documents.
        config: of `kragx run`, whose retrievers suggest documents; None for none.
        database: the URL of a PostgreSQL database; None for the file beside it.
        schema: of that database.
        scale: what each grade means.
        targets: shares to be reached, by query_type and difficulty.
        leak_target: the most that the set's mean word leak should be.
        k: how many documents each retriever suggests.
        twice: the share of pairs that go to a second person as well; 1 for all.
        forbidden: the rules of the gold set; releases have them.
    """

    name: Annotated[str, _name]
    language: Language = "en"
    corpus: Annotated[Path, a_path]
    config: Annotated[Path | None, optional(a_path)] = None
    database: Annotated[str | None, optional(a_text)] = None
    schema: Annotated[str, _schema] = USUAL
    scale: Annotated[Mapping[int, str], _scale]
    targets: Annotated[Mapping[str, Mapping[str, float]], read_targets] = field(
        default_factory=dict
    )
    leak_target: Annotated[float | None, optional(_share)] = None
    k: Annotated[int, whole(1, 1000)] = 10
    twice: Annotated[float, _share] = 0.2
    forbidden: Annotated[Mapping[str, Any], _rules] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_options(self)


def settings_of(text: str, name: str, folder: Path) -> WorkshopSettings:
    """The settings in a YAML text.

    Raises:
        ConfigError: all that is wrong with it.
    """
    raw = yaml_mapping(text, name, "a mapping with 'name', 'corpus' and 'scale' is expected")
    problems: list[str] = []
    if isinstance(database := raw.get("database"), str):
        raw["database"] = with_variables(database, lambda match: _variable(match[1], problems))
    try:
        settings = made_of(WorkshopSettings, what_is_said(raw))
    except UsageError as error:
        raise ConfigError(name, [*problems, *map(str, mistakes_of(error))]) from None
    if problems:
        raise ConfigError(name, problems)
    named = {"corpus": settings.corpus, "config": settings.config}
    paths: dict[str, Any] = {
        option: Path(os.path.normpath(folder / Path(path).expanduser()))
        for option, path in named.items()
        if path is not None
    }
    return replace(settings, **paths)


def _variable(name: str, problems: list[str]) -> str:
    if name not in os.environ:
        problems.append(f"database: the environment variable {name!r} is not set")
    return os.environ.get(name, "")


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
            remedy = message(
                "kragx gold start {folder} --corpus corpus.jsonl makes one", folder=folder
            )
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
        return RecordStore(self.address, self.settings.schema)

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
            remedy = message("remove it, and all links are made anew")
            raise DataError("no secret of a workshop", path=str(file), remedy=remedy)
        return secret.encode()
