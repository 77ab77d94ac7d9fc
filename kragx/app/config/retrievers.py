"""What a config says of a retriever: a class, server, program or file, and how it is asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
    model_validator,
)

from kragx.app.config.sections import (
    LocalPath,
    Model,
    SourcePath,
    anchored,
    checked,
    config_fields,
    plain_defaults,
    short_form,
)
from kragx.comparison.tuning import GRID, Setting, read_grid, spread
from kragx.data import file_names, run_names
from kragx.evaluation.answers import Asking
from kragx.evaluation.remote_retrievers import CommandRetriever, HttpRetriever
from kragx.ground.entry_points import import_path
from kragx.ground.plugins import is_import_path
from kragx.ground.printing import message


def files_of(retrievers: Mapping[str, RetrieverConfig]) -> dict[str, list[str]]:
    """Of each retriever, by name, what the files of its runs are called."""
    names = {name: retriever.run_names(name) for name, retriever in retrievers.items()}
    files = iter(file_names(run for of_retriever in names.values() for run in of_retriever))
    return {name: [next(files) for _ in of_retriever] for name, of_retriever in names.items()}


def source_of(value: str) -> str:
    """Which key a retriever that is written as a mere text means."""
    return "class" if is_import_path(import_path("retrievers", value)) else "results"


SERVICES: dict[str, type] = {"http": HttpRetriever, "command": CommandRetriever}
"""What is asked by its fields, which a config gives, by its key there."""


def _service(key: str) -> Callable[[Any, ValidationInfo], Any]:
    """Reads the fields of a server or program; whether it is there shows when it is made."""

    def read(value: Any, info: ValidationInfo) -> Any:
        if key == "command" and isinstance(value, list):
            value = {"command": value}
        if not isinstance(value, Mapping):
            return value
        options = checked(SERVICES[key], value, make=False)
        if key == "command":
            folder = info.context["here"]  # type: ignore[index]  # `parse_config` gives it
            options["cwd"] = str(anchored(options.get("cwd", ""), folder))
        return {**plain_defaults(SERVICES[key]), **options}

    return read


GIVEN_BY_US = ("mask", "known", "on_answer", "callbacks")
"""Fields of `Asking` that a config does not give, or in another form."""

ASKING = tuple(config_fields(Asking, GIVEN_BY_US))
"""How a retriever is asked: each field is a key of its part of the config."""

_OF_CLASS = (
    *("args", "callbacks", "input", "stages"),
    *("documents", "text", "id", "score", "metadata"),
)
"""What only a class or function has; a server has its paths under ``http``."""

_SOURCES = ("class", "http", "command", "results", "run")


class RetrieverConfig(Model):
    """One retriever: a class or function by import path, a server, a program, or a file.

    How it is asked, the fields of `Asking`, stands beside: `options`.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="allow", frozen=True)

    factory: str | None = Field(
        default=None,
        alias="class",
        description="import path 'package.module:name' of a class or a function that makes a "
        "retriever, or of a function from a question to documents",
    )
    args: dict[str, Any] | None = Field(
        default=None,
        description="arguments of class or function; ${NAME} in them is an environment variable; "
        "grid: {name: [values]} among them makes a setting of each combination",
    )
    http: Annotated[dict[str, Any], BeforeValidator(_service("http"))] | None = Field(
        default=None, description="a server that is asked over HTTP, instead of a class"
    )
    command: Annotated[dict[str, Any], BeforeValidator(_service("command"))] | None = Field(
        default=None, description='a program, instead of a class: ["./search", "--k", "10"]'
    )
    results: SourcePath | Annotated[list[SourcePath], Field(min_length=2)] | None = Field(
        default=None,
        description="a results file, instead of a class; of Parquet also as of dataset.path; a "
        "list: of each of several runs over the same questions",
    )
    columns: dict[str, str] | None = Field(
        default=None,
        description="of a table under results: for each field the column that holds it",
    )
    run: LocalPath | None = Field(
        default=None, description="a TREC run (also .gz), instead of a class"
    )
    callbacks: list[str] | None = Field(
        default=None, description="LangChain callback handlers by import path"
    )
    fingerprint: Any = Field(
        default=None,
        description="what answers depend on and kragx cannot see, as the version of an index on a "
        "server: while it stays the same, an interrupted run goes on; ${NAME} in it is an "
        "environment variable",
    )

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, value: Any) -> Any:
        """Checks how it is asked; what stands empty is left out."""
        if not isinstance(value, Mapping):
            return value
        given = checked(Asking, value, without=GIVEN_BY_US, also=cls.keys(), make=False)
        checked(Asking, {key: entry for key, entry in given.items() if key in ASKING})
        is_asked = not {"results", "run"} & given.keys()
        return {**(_DEFAULTS if is_asked else {}), **given}

    @field_validator("args")
    @classmethod
    def _empty_is_none(cls, value: Any) -> Any:
        if GRID in (value or {}):
            read_grid(value[GRID], {key: value[key] for key in value if key != GRID})
        return value or None

    @model_validator(mode="after")
    def _one_source(self) -> RetrieverConfig:
        given = self.model_dump(by_alias=True, exclude_none=True)
        sources = [name for name in _SOURCES if name in given]
        if len(sources) != 1:
            raise ValueError(message("give either 'class', 'http', 'command', 'results' or 'run'"))
        (source,) = sources
        if self.columns and self.results is None:
            raise ValueError(message("'columns' belongs to 'results'"))
        misplaced = next((name for name in _OF_CLASS if given.get(name)), None)
        if not self.is_asked:
            # A default that is spelt out does no harm.
            beside = [name for name in given if name not in (source, "columns")]
            misplaced = next((n for n in beside if given[n] != _DEFAULTS.get(n)), None)
        if self.factory is None and misplaced is not None:
            raise ValueError(
                message(
                    "{name!r} belongs to 'class'; {source!r} takes none",
                    name=misplaced,
                    source=source,
                )
            )
        return self

    @property
    def options(self) -> dict[str, Any]:
        """How it is asked, as far as that is said or has a default: fields of `Asking`."""
        return {
            name: value for name, value in (self.model_extra or {}).items() if value is not None
        }

    @property
    def runs(self) -> int | None:
        """How often all questions are asked; None for as often as of all retrievers."""
        return self.options.get("runs")

    def run_names(self, name: str) -> list[str]:
        """What each of its runs is called, if the retriever is called by a name."""
        return run_names(name, len(self.files) if self.files else self.runs or 1)

    @property
    def files(self) -> list[str | Path]:
        """The files that say what it has answered in each of its runs; none if it is asked."""
        source = self.results if self.run is None else self.run
        return [] if source is None else source if isinstance(source, list) else [source]

    @property
    def is_asked(self) -> bool:
        """Whether it is asked; else a file says what it has answered."""
        return not self.files

    @property
    def axes(self) -> dict[str, list[Any]]:
        """The axes of its grid; none without one."""
        return read_grid(self.args[GRID]) if self.args and GRID in self.args else {}

    def settings_of(self, name: str) -> dict[str, tuple[Setting, RetrieverConfig]]:
        """What is asked: a retriever for each setting of the grid, by name; without one itself."""
        return {
            self.secrets.mask(setting.name): (
                setting,
                self.model_copy(update={"args": args}) if setting.values else self,
            )
            for setting, args in spread(self.args or {}, name)
        }

    @property
    def settings(self) -> dict[str, Any]:
        """What a result records of how its retriever was asked; variables stay names."""
        data = self.model_dump(mode="json", by_alias=True, exclude_none=True)
        args: dict[str, Any] = {} if self.factory is None else {"args": {}}
        return {**args, **self.secrets.masked(data)} if self.is_asked else data


_DEFAULTS = {
    name: default
    for name, default in plain_defaults(Asking, GIVEN_BY_US).items()
    if name not in ("stages", "runs")  # as for all retrievers
}


Retriever = Annotated[
    RetrieverConfig,
    short_form(
        lambda source: {source_of(source): source},
        RetrieverConfig,
        "an import path, or the path of a results file",
    ),
]
