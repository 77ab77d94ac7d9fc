"""What a config says of a retriever: a class, server, program or file, and how it is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

from kragx.app.config.sections import (
    anchored,
    as_config,
    config_fields,
    plain_defaults,
    source_at,
)
from kragx.comparison.tuning import GRID, Setting, read_grid, spread
from kragx.data import file_names, run_names
from kragx.evaluation.answers import Asking
from kragx.evaluation.remote_retrievers import CommandRetriever, HttpRetriever
from kragx.ground.entry_points import import_path
from kragx.ground.errors import KragxError, UsageError, inside, near, nearest
from kragx.ground.options import (
    MistakesError,
    a_mapping,
    a_path,
    a_text,
    check_options,
    made_of,
    mistakes_in,
    mistakes_of,
    optional,
    refusal,
    texts,
    texts_by_name,
    what_is_said,
)
from kragx.ground.plugins import is_import_path
from kragx.ground.printing import message
from kragx.ground.secrets import Secrets


def files_of(retrievers: Mapping[str, RetrieverConfig]) -> dict[str, list[str]]:
    """Of each retriever, by name, what the files of its runs are called."""
    names = {name: retriever.run_names(name) for name, retriever in retrievers.items()}
    files = iter(file_names(run for of_retriever in names.values() for run in of_retriever))
    return {name: [next(files) for _ in of_retriever] for name, of_retriever in names.items()}


def source_of(value: str) -> str:
    """Which key a retriever that is written as a mere text means."""
    if value.startswith(("http://", "https://")):
        return "http"
    path = import_path("retrievers", value)
    return "class" if is_import_path(path) or path.endswith(".py") else "results"


SERVICES: dict[str, type] = {"http": HttpRetriever, "command": CommandRetriever}
"""What is asked by its fields, which a config gives, by its key there."""

SHORT = {"http": "url", "command": "command"}
"""The field of each that may stand there alone."""


def _service(key: str) -> Any:
    """Reads the fields of a server or program; whether it is there shows when it is made."""

    def read(value: Any) -> dict[str, Any]:
        options = what_is_said(value if isinstance(value, Mapping) else {SHORT[key]: value})
        if errors := mistakes_in(SERVICES[key], options):
            raise MistakesError(errors)  # by its path: a single one may be of `command`
        return {**plain_defaults(SERVICES[key]), **options}

    return optional(read)


def _args(value: Any) -> Any:
    if GRID in (args := a_mapping(value)):
        read_grid(args[GRID], {name: option for name, option in args.items() if name != GRID})
    return args or None


def _results(value: Any) -> Any:
    """The file of one run, or those of several."""
    if not isinstance(value, list):
        return a_path(value)
    if len(value) < 2:
        raise UsageError("a path, or a list of those of several runs is expected")
    for place, path in enumerate(value):
        with inside(f"[{place}]"):
            a_path(path)
    return value


GIVEN_BY_US = ("mask", "known", "on_answer", "callbacks")
"""Fields of `Asking` that a config does not give, or in another form."""

ASKING = tuple(config_fields(Asking, GIVEN_BY_US))
"""How a retriever is asked: each field is a key of its part of the config."""

_DEFAULTS = {
    name: default
    for name, default in plain_defaults(Asking, GIVEN_BY_US).items()
    if name not in ("stages", "runs")  # as for all retrievers
}

_OF_CLASS = (
    *("args", "callbacks", "input", "stages"),
    *("documents", "text", "id", "score", "metadata"),
)
"""What only a class or function has; a server has its paths under ``http``."""

_SOURCES = ("class", "http", "command", "results", "run")

BESIDE = ("options", "secrets")
"""Fields of `RetrieverConfig` that are no keys of a config."""


@dataclass(frozen=True)
class RetrieverConfig:
    """One retriever: a class or function by import path, a server, a program, or a file.

    Attributes:
        class_: import path 'package.module:name' of a class or a function that makes a retriever,
            or of a function from a question to documents
        args: arguments of class or function; ${NAME} in them is an environment variable; grid:
            {name: [values]} among them makes a setting of each combination
        http: a server that is asked over HTTP, instead of a class
        command: a program, instead of a class: ["./search", "--k", "10"]
        results: a results file, instead of a class; of Parquet also as of dataset.path; a list: of
            each of several runs over the same questions
        columns: of a table under results: for each field the column that holds it
        run: a TREC run (also .gz), instead of a class
        callbacks: LangChain callback handlers by import path
        fingerprint: what answers depend on and kragx cannot see, as the version of an index on a
            server: while it stays the same, an interrupted run goes on; ${NAME} in it is an
            environment variable
        options: how it is asked, as far as that is said or has a default: fields of `Asking`.
        secrets: what no text may show that comes of its config.
    """

    class_: Annotated[str | None, optional(a_text)] = None
    args: Annotated[Mapping[str, Any] | None, optional(_args)] = None
    http: Annotated[Mapping[str, Any] | None, _service("http")] = None
    command: Annotated[Mapping[str, Any] | None, _service("command")] = None
    results: Annotated[str | Path | Sequence[str | Path] | None, optional(_results)] = None
    columns: Annotated[Mapping[str, str] | None, optional(texts_by_name)] = None
    run: Annotated[Path | None, optional(a_path)] = None
    callbacks: Annotated[Sequence[str] | None, optional(texts)] = None
    fingerprint: Any = None
    options: Mapping[str, Any] = field(default_factory=dict)
    secrets: Secrets = field(default_factory=Secrets)

    @classmethod
    def read(cls, value: Any) -> RetrieverConfig:
        """Of what stands in a config: a mapping, an import path, or the path of a results file.

        Raises:
            UsageError: naming each mistake.
        """
        if isinstance(value, cls):
            return value
        if isinstance(value, str):
            value = {source_of(value): value}
        entries = what_is_said(value)
        keys = {name: entry for name, entry in entries.items() if name in KEYS}
        errors = mistakes_in(cls, keys, BESIDE)
        valid = (*KEYS, *ASKING)
        for name in [key for key in entries if key not in valid and near(key, valid) is None]:
            part = next((key for key, kind in SERVICES.items() if name in config_fields(kind)), "")
            remedy = message(
                "write it under {part!r}"
                if part
                else "what the class takes stands under 'args'; {valid}",
                part=part,
                valid=nearest(name, valid),
            )
            errors.append(UsageError("unknown key", field=name, remedy=remedy))
            del entries[name]
        try:
            made_of(Asking, entries, GIVEN_BY_US, also=KEYS)
        except KragxError as error:
            errors = [*mistakes_of(error), *errors]
        if errors:
            raise refusal(errors)
        options = {name: entry for name, entry in entries.items() if name in ASKING}
        is_asked = not {"results", "run"} & keys.keys()
        keys = {KEYS[name]: entry for name, entry in keys.items()}
        return cls(**keys, options={**(_DEFAULTS if is_asked else {}), **options})

    def __post_init__(self) -> None:
        check_options(self)
        said = what_is_said({key: getattr(self, name) for key, name in KEYS.items()})
        said |= self.options
        sources = [name for name in _SOURCES if name in said]
        if len(sources) != 1:
            raise UsageError("give either 'class', 'http', 'command', 'results' or 'run'")
        (source,) = sources
        if self.columns and self.results is None:
            raise UsageError("'columns' belongs to 'results'")
        misplaced = next((name for name in _OF_CLASS if said.get(name)), None)
        if not self.is_asked:
            # A default that is spelt out does no harm.
            others = {k: v for k, v in said.items() if k not in (source, "columns")}
            misplaced = next((k for k, v in others.items() if v != _DEFAULTS.get(k)), None)
        if self.class_ is None and misplaced is not None:
            raise UsageError(
                "{name!r} belongs to 'class'; {source!r} takes none", name=misplaced, source=source
            )

    def placed(self, here: Path, secrets: Secrets) -> RetrieverConfig:
        """With paths from the folder on where its config lies, and what no text may show."""
        command = self.command
        if command is not None:
            command = {**command, "cwd": str(anchored(command.get("cwd", ""), here))}
        files = {"results": source_at(self.results, here), "run": source_at(self.run, here)}
        return replace(self, **files, command=command, secrets=secrets)

    @property
    def as_config(self) -> dict[str, Any]:
        """What its part of a config says, as plain values."""
        return {**as_config(self, BESIDE), **self.options}

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
        source: Any = self.results if self.run is None else self.run
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
                replace(self, args=args) if setting.values else self,
            )
            for setting, args in spread(self.args or {}, name)
        }

    @property
    def settings(self) -> dict[str, Any]:
        """What a result records of how its retriever was asked; variables stay names."""
        args: dict[str, Any] = {} if self.class_ is None else {"args": {}}
        data = self.as_config
        return {**args, **self.secrets.masked(data)} if self.is_asked else data


KEYS = {name.removesuffix("_"): name for name in config_fields(RetrieverConfig, BESIDE)}
"""By key of a config the field that it is, of all but `ASKING`."""
