"""What a config file of `kragx run` may hold."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from datetime import date
from math import prod
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar

import yaml
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    ValidationInfo,
    field_validator,
    model_validator,
)

from kragx.comparison import Gate, Settings, parse_gates
from kragx.comparison.statistics import (
    CONFIDENCE,
    MOST_CONFIDENCE,
    MOST_RESAMPLES,
    RESAMPLES,
    SEED,
)
from kragx.comparison.tuning import GRID, MAX_SETTINGS, Setting, has_grid, read_grid, size, spread
from kragx.comparison.tuning.grid import settings, value_label
from kragx.data import RUNS_OR_REPEAT, file_names, run_names
from kragx.data.formats import format_names
from kragx.data.formats.located import is_address
from kragx.data.rules import RuleSet
from kragx.data.validation import target_problems
from kragx.ground.entry_points import import_path
from kragx.ground.errors import UsageError, nearest
from kragx.ground.plugins import is_import_path
from kragx.ground.secrets import Secrets
from kragx.judging import DEFAULT_STORE
from kragx.judging.store import is_url
from kragx.matchers import label
from kragx.metrics import Profile, name_among, parse_all, profile_for


def files_of(retrievers: Mapping[str, RetrieverConfig]) -> dict[str, list[str]]:
    """Of each retriever, by name, what the files of its runs are called."""
    names = {name: retriever.run_names(name) for name, retriever in retrievers.items()}
    files = iter(file_names(run for of_retriever in names.values() for run in of_retriever))
    return {name: [next(files) for _ in of_retriever] for name, of_retriever in names.items()}


def anchored(path: str | Path, folder: Path) -> Path:
    """A path of a config file in the folder `folder`, where a relative one starts."""
    return Path(os.path.normpath(folder / Path(path).expanduser()))


def _local(path: Path, info: ValidationInfo) -> Path:
    return anchored(path, info.context["here"])  # type: ignore[index]  # `parse_config` gives it


LocalPath = Annotated[Path, AfterValidator(_local)]
"""A path; a relative one starts at the config file's folder."""


def _source(path: str | Path, info: ValidationInfo) -> str | Path:
    return path if isinstance(path, str) and is_address(path) else _local(Path(path), info)


SourcePath = Annotated[str | Path, AfterValidator(_source)]
"""The same, or the address of Parquet files (``s3://bucket/results``)."""


def source_of(value: str) -> str:
    """Which key a retriever that is written as a mere text means."""
    return "class" if is_import_path(import_path("retrievers", value)) else "results"


class _Model(BaseModel):
    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", frozen=True)
    _secrets: Secrets = PrivateAttr(default_factory=Secrets)

    def model_post_init(self, context: Any) -> None:
        """Keep what no text may show."""
        self._secrets = (context or {}).get("secrets", self._secrets)

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, value: Any) -> Any:
        """Leaves out what stands empty; an unknown key gets a hint as its value, for the error."""
        if not isinstance(value, Mapping):
            return value
        valid = [field.alias or name for name, field in cls.model_fields.items()]
        entries = {key: item for key, item in value.items() if key in valid and item is not None}
        return entries | {str(key): nearest(str(key), valid) for key in value if key not in valid}


def _short(expand: Callable[[str], object], kind: Any, description: str) -> BeforeValidator:
    """A short form, which is a text: `expand` spells it out; the schema has it beside `kind`."""
    text = Annotated[str, Field(description=description)]
    return BeforeValidator(
        lambda value: expand(value) if isinstance(value, str) else value,
        json_schema_input_type=kind | text,
    )


_NameList = Annotated[list[str], Field(min_length=1)] | None
Names = Annotated[_NameList, _short(lambda name: [name], _NameList, "one of them")]


class DatasetConfig(_Model):
    """The gold set: a file of any format that `kragx.read_dataset` knows."""

    path: SourcePath = Field(
        description="JSON Lines, JSON, CSV, TSV, Excel, Parquet or qrels; of Parquet "
        "also a folder, a pattern of files or an address"
    )
    name: str | None = Field(default=None, description="in results; default: the file's")
    version: Annotated[
        str | None,
        # YAML reads 2026-01-31 as a date and 1.0 as a number.
        BeforeValidator(
            lambda value: str(value) if isinstance(value, (int, float, date)) else value,
            json_schema_input_type=str | float | None,
        ),
    ] = Field(default=None, description="recorded in results")
    format: Annotated[str, Field(json_schema_extra={"enum": format_names()})] | None = Field(
        default=None, description="default: recognised by the fields"
    )
    columns: dict[str, str] | None = Field(
        default=None, description="of tables: for each field the column that holds it"
    )
    encoding: str | None = Field(default=None, description="of CSV; default: utf-8, then cp949")
    corpus: LocalPath | None = Field(
        default=None,
        description="file or folder with the texts of ids, for gold and documents without one; "
        "'kragx gold validate' checks that gold comes from it",
    )
    targets: dict[str, dict[str, float]] | None = Field(
        default=None,
        description="for 'kragx gold validate': shares, for example {query_type: {lookup: 0.5}}",
    )

    @field_validator("format")
    @classmethod
    def _real_format(cls, value: Any) -> Any:
        if value is not None and value not in format_names():
            raise ValueError(f"unknown value {value!r}; {nearest(value, format_names())}")
        return value

    @field_validator("targets")
    @classmethod
    def _real_shares(cls, value: Any) -> Any:
        problems = "; ".join(target_problems(value or {}))
        if problems:
            raise ValueError(problems)
        return value


Dataset = Annotated[
    DatasetConfig, _short(lambda path: {"path": path}, DatasetConfig, "the path of a gold set")
]


class GoldConfig(_Model):
    """The part of a config that says what the gold set is."""

    dataset: Dataset


class CallbackConfig(_Model):
    """A LangChain callback handler with arguments."""

    factory: str = Field(alias="class", description="import path 'package.module:name'")
    args: dict[str, Any] = Field(
        default_factory=dict, description="${NAME} in them is an environment variable"
    )


_RESERVED = ("query", "history")
"""What stands in braces for what a server or program is asked."""


class _ServiceConfig(_Model):
    """What is asked by its fields; a grid varies what stands in braces in them."""

    varied: ClassVar[tuple[str, ...]]

    grid: dict[str, list[Any]] | None = Field(
        default=None,
        description="{k: [5, 10]} makes a setting of each combination: {k} in the fields is the "
        "value, of its own type where nothing else stands in the text",
    )

    @model_validator(mode="after")
    def _axes_stand_somewhere(self) -> Self:
        for axis in {} if self.grid is None else read_grid(self.grid):
            fields = [getattr(self, name) for name in self.varied]
            if axis in _RESERVED or fields == [_placed(field, {axis: None}) for field in fields]:
                names = ", ".join("json" if name == "body" else name for name in self.varied)
                raise ValueError(
                    f"{GRID}.{axis}: {{{axis}}} is what the question gets; take another name"
                    if axis in _RESERVED
                    else f"{GRID}.{axis}: {{{axis}}} stands nowhere in {names}; write it where its "
                    "value belongs"
                )
        return self

    def at(self, values: Mapping[str, Any]) -> Self:
        """The same at one setting of its grid."""
        placed = {name: _placed(getattr(self, name), values) for name in self.varied}
        return self.model_copy(update={**placed, GRID: None})


def _placed(value: Any, values: Mapping[str, Any]) -> Any:
    """A value with each axis's in the place of its name in braces."""
    if isinstance(value, Mapping):
        return {key: _placed(entry, values) for key, entry in value.items()}
    if isinstance(value, list):
        return [_placed(entry, values) for entry in value]
    if not isinstance(value, str):
        return value
    for axis, option in values.items():
        if value == f"{{{axis}}}":
            return option
        value = value.replace(f"{{{axis}}}", value_label(option))
    return value


class HttpConfig(_ServiceConfig):
    """A server that is asked over HTTP: see `kragx.retrievers.HttpRetriever`."""

    varied: ClassVar[tuple[str, ...]] = ("url", "params", "body")

    url: str = Field(description="http:// or https://; {query} in it stands for the question")
    method: Literal["GET", "POST", "PUT"] | None = Field(
        default=None, description="default: POST with a body, else GET"
    )
    body: Any = Field(
        default=None, alias="json", description='the body; "{query}" in its texts is the question'
    )
    params: dict[str, Any] | None = Field(
        default=None, description='behind ? in the address: {q: "{query}"}'
    )
    headers: dict[str, str] | None = Field(
        default=None, description='{Authorization: "Bearer ${TOKEN}"}; kept out of all results'
    )
    documents: str = Field(
        default="$", description="path to the list of documents: $.hits.hits[*]; $ is the answer"
    )
    text: str | None = Field(default=None, description="path to a document's text: _source.body")
    id: str | None = Field(default=None, description="path to a document's id: _id")
    score: str | None = Field(default=None, description="path to a document's score: _score")
    metadata: str | dict[str, str] | None = Field(
        default=None, description="path to a mapping, or a path for each field of the metadata"
    )
    timeout: float = Field(default=30.0, gt=0, description="seconds for each request")
    retries: int = Field(
        default=3, ge=0, le=20, description="of 429, 5xx and broken connections, with pauses"
    )
    most_bytes: int = Field(default=32 << 20, ge=1, description="of an answer")


class CommandConfig(_ServiceConfig):
    """A program that answers lines of JSON: see `kragx.retrievers.CommandRetriever`."""

    varied: ClassVar[tuple[str, ...]] = ("command", "env")

    command: list[str] = Field(
        min_length=1, description="the program and its arguments; no shell reads them"
    )
    cwd: LocalPath = Field(
        default=Path(), validate_default=True, description="where it starts: the config's folder"
    )
    env: dict[str, str] | None = Field(
        default=None, description="environment variables beside those that are set"
    )
    timeout: float = Field(
        default=300.0, gt=0, description="seconds for each answer, its start included"
    )

    def at(self, values: Mapping[str, Any]) -> Self:
        """The same at one setting of its grid; a program gets texts alone."""
        return super().at({axis: value_label(value) for axis, value in values.items()})


Command = Annotated[
    CommandConfig,
    BeforeValidator(
        lambda value: {"command": value} if isinstance(value, list) else value,
        json_schema_input_type=CommandConfig
        | Annotated[list[str], Field(description="the program and its arguments")],
    ),
]

_GRIDS = {
    "http": 'http: {url: ..., json: {query: "{query}", k: "{k}"}, grid: {k: [5, 10]}}',
    "command": 'command: {command: ["./search", "--k", "{k}"], grid: {k: [5, 10]}}',
}
"""How a grid of each is written."""

_OF_CLASS = (
    *("args", "callbacks", "input", "stages"),
    *("documents", "text", "id", "score", "metadata"),
)
"""What only a class or function has; a server has its paths under ``http``."""

_READ = {"results", "columns", "run"}
_SOURCES = {"factory", "http", "command", "results", "run"}


class RetrieverConfig(_Model):
    """One retriever: a class or function by import path, a server, a program, or a file."""

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
    cut: str | None = Field(
        default=None,
        description="the argument of a grid that only cuts the same ranked list, as k does: of "
        "settings that differ in nothing else the longest is asked, and cut",
    )
    http: HttpConfig | None = Field(
        default=None, description="a server that is asked over HTTP, instead of a class"
    )
    command: Command | None = Field(
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
    concurrency: int = Field(default=1, ge=1, description="questions asked at once")
    timeout: float | None = Field(
        default=None, gt=0, description="seconds after which an attempt has failed"
    )
    retries: int = Field(default=0, ge=0, description="how often to ask again after an error")
    on_error: Literal["record", "stop"] = Field(
        default="record", description="count a query that failed, or end the run"
    )
    warmup: int = Field(default=0, ge=0, description="questions asked first, not counted")
    repeat: int = Field(
        default=1,
        ge=1,
        description="how often each question is asked to take its time, the median; the first "
        "answer counts",
    )
    runs: int | None = Field(
        default=None,
        ge=1,
        description="how often all questions are asked: every answer counts, a question's value is "
        "its mean over the runs; for agents, which search otherwise each time; default: as for all",
    )
    callbacks: list[str | CallbackConfig] | None = Field(
        default=None, description="LangChain callback handlers by import path"
    )
    input: dict[str, Literal["query", "history"]] | None = Field(
        default=None,
        min_length=1,
        description="of a runnable that takes a mapping, what its fields get: "
        "{input: query, chat_history: history}",
    )
    stages: bool | None = Field(
        default=None,
        description="keep what each step of a LangChain chain returned; default: as for all",
    )
    documents: str | None = Field(
        default=None, description="path to the list of documents in an answer, as for http"
    )
    text: str | None = Field(default=None, description="path to a document's text: content")
    id: str | None = Field(default=None, description="path to a document's id: doc.id")
    score: str | None = Field(default=None, description="path to a document's score")
    metadata: str | dict[str, str] | None = Field(
        default=None, description="path to a mapping, or a path for each field of the metadata"
    )
    fingerprint: Any = Field(
        default=None,
        description="what answers depend on and kragx cannot see, as the version of an index on a "
        "server: while it stays the same, an interrupted run goes on; ${NAME} in it is an "
        "environment variable",
    )

    @field_validator("args")
    @classmethod
    def _empty_is_none(cls, value: Any) -> Any:
        if GRID in (value or {}):
            read_grid(value[GRID], {key: value[key] for key in value if key != GRID})
        return value or None

    @model_validator(mode="after")
    def _cut_is_an_axis(self) -> RetrieverConfig:
        if self.cut is not None:
            lengths = self.axes.get(self.cut)
            if lengths is None:
                path = f"args.{GRID}" if self.http is None and self.command is None else GRID
                raise ValueError(
                    f"cut: {self.cut!r} is no axis of {path}; {nearest(self.cut, self.axes)}"
                )
            if not all(type(length) is int and length > 0 for length in lengths):
                raise ValueError(
                    f"cut: grid.{self.cut} must be lengths of lists, whole numbers above 0, not "
                    f"{lengths}"
                )
        return self

    @model_validator(mode="after")
    def _one_source(self) -> RetrieverConfig:
        sources = self.model_dump(include=_SOURCES, by_alias=True, exclude_none=True)
        if len(sources) != 1:
            raise ValueError("give either 'class', 'http', 'command', 'results' or 'run'")
        # A resolved config spells out the defaults, which do no harm; nor does what is empty.
        (source,) = sources
        if self.columns and self.results is None:
            raise ValueError("'columns' belongs to 'results'")
        options = self.model_dump(exclude=_SOURCES | _READ, exclude_defaults=True)
        misplaced = next((name for name, option in options.items() if option), None)
        is_service = self.is_asked and self.factory is None
        if is_service:
            misplaced = next(
                (name for name in _OF_CLASS if options.get(name)),
                None,
            )
        if is_service and misplaced == "args" and GRID in (self.args or {}):
            raise ValueError(
                f"args.{GRID} belongs to 'class'; of {source!r} it stands under {source}, and its "
                f"values where their names stand in braces: {_GRIDS[source]}"
            )
        if self.factory is None and misplaced is not None:
            raise ValueError(f"{misplaced!r} belongs to 'class'; {source!r} takes none")
        return self

    @model_validator(mode="after")
    def _runs_or_repeat(self) -> RetrieverConfig:
        if (self.runs or 1) > 1 and self.repeat > 1:
            raise ValueError(f"repeat: {RUNS_OR_REPEAT}; give runs or repeat")
        return self

    def run_names(self, name: str) -> list[str]:
        """What each of its runs is called, if the retriever is called by a name."""
        return run_names(name, len(self.files) if self.files else self.runs or 1)

    @property
    def files(self) -> list[str | Path]:
        """The files that say what it has answered in each of its runs; none if it is asked."""
        if self.run is not None:
            return [self.run]
        if self.results is None:
            return []
        return self.results if isinstance(self.results, list) else [self.results]

    @property
    def is_asked(self) -> bool:
        """Whether it is asked; else a file says what it has answered."""
        return self.results is None and self.run is None

    @property
    def axes(self) -> dict[str, list[Any]]:
        """The axes of its grid; none without one."""
        service = self.http or self.command
        grid = (self.args or {}).get(GRID) if service is None else service.grid
        return {} if grid is None else read_grid(grid)

    def settings_of(self, name: str) -> dict[str, tuple[Setting, RetrieverConfig]]:
        """What is asked: a retriever for each setting of the grid, by name; without one itself."""
        if (service := self.http or self.command) is not None:
            field = "command" if self.http is None else "http"
            changed: list[tuple[Setting, dict[str, Any]]] = [
                (setting, {field: service.at(setting.values)})
                for setting in settings(name, self.axes)
            ]
        else:
            changed = [(setting, {"args": args}) for setting, args in spread(self.args or {}, name)]
        return {
            self._secrets.mask(setting.name): (
                setting,
                self.model_copy(update={**change, "cut": None}) if setting.values else self,
            )
            for setting, change in changed
        }

    @property
    def settings(self) -> dict[str, Any]:
        """What a result records of how its retriever was asked; variables stay names."""
        if not self.is_asked:
            return self.model_dump(mode="json", include=_READ, exclude_none=True)
        data = self.model_dump(mode="json", by_alias=True, exclude_none=True)
        args: dict[str, Any] = {} if self.factory is None else {"args": {}}
        return {**args, **self._secrets.masked(data)}

    def asking(self) -> dict[str, Any]:
        """How the retriever is asked, but for its callbacks."""
        options = self.model_dump(
            exclude={*_SOURCES, *_READ, "args", "callbacks", "cut", "fingerprint"}
        )
        of_all = {"stages": bool(self.stages), "runs": self.runs or 1}
        return {**options, **of_all, "mask": self._secrets.mask}


Retriever = Annotated[
    RetrieverConfig,
    _short(
        lambda source: {source_of(source): source},
        RetrieverConfig,
        "an import path, or the path of a results file",
    ),
]


class HtmlConfig(_Model):
    """How much of the texts report.html holds; numbers always count everything."""

    max_docs: int = Field(default=50, ge=1, description="documents of each list")
    max_chars: int | None = Field(
        default=None, ge=1, description="characters of each text; default: all"
    )


class StatisticsConfig(_Model):
    """How sure is sure: see `kragx.comparison.Settings`."""

    confidence: float = Field(
        default=CONFIDENCE, ge=0.5, le=MOST_CONFIDENCE, description="of intervals"
    )
    resamples: int = Field(
        default=RESAMPLES,
        ge=100,
        le=MOST_RESAMPLES,
        description="bootstrap resamples, and random sign flips",
    )
    seed: int = Field(default=SEED, ge=0, description="of both")
    correction: Literal["family", "none"] = Field(
        default="family",
        description="of p, over every two retrievers in every metric and slice of the report",
    )


class TuningConfig(_Model):
    """What becomes of grids: `kragx.comparison.tuning`."""

    metric: str | None = Field(
        default=None, description="by which settings are compared; default: the first of metrics"
    )
    max_settings: int = Field(
        default=MAX_SETTINGS, ge=1, description="of all grids together; more are an error"
    )


Named = TypeVar("Named")


def named_in(spec: Any, key: str, kind: type[Named]) -> Iterator[Named]:
    """What match specs have under a key, if it is of that kind; members of combinations too."""
    match spec:
        case dict() if isinstance(specification := spec.get(key), kind):
            yield specification
        case dict():
            yield from named_in(list(spec.values()), key, kind)
        case list():
            for item in spec:
                yield from named_in(item, key, kind)


_WHO = {"workers", "engine"}
"""Who does the work, on which no number depends: a result folder does not have it."""


class RunConfig(_Model):
    """Everything that `kragx run` does. Relative paths start at the config file's folder."""

    dataset: Dataset = Field(description="the gold set: a path, or a mapping")
    retrievers: dict[Annotated[str, BeforeValidator(str)], Retriever] = Field(
        min_length=1, description="what is compared, by name"
    )
    stages: bool = Field(
        default=False,
        description="keep what each step of the retrievers' chains returned, and say which one "
        "loses the gold (docs/retriever.md)",
    )
    runs: int | None = Field(
        default=None,
        ge=1,
        description="how often each retriever that is asked gets all questions; a question's value "
        "is its mean over the runs (docs/comparing.md)",
    )
    match: Any = Field(
        default=None,
        description="whether a document holds a gold passage: a method's name, a mapping with "
        "method, an import path, or any, all or cascade of several; default: the profile's",
    )
    judge: dict[str, Any] | None = Field(
        default=None, description="the LLM that judges for 'llm' (docs/judge.md)"
    )
    matchers: dict[str, Any] | None = Field(
        default=None, min_length=1, description="several by name side by side, instead of match"
    )
    facts_match: Any = Field(
        default=None, description="how context_completeness matches facts; default: as gold"
    )
    relevance_match: Any = Field(
        default=None, description="the judge of precision_judged; default: match's, else llm"
    )
    metrics: Names = Field(
        default=None,
        description="such as ndcg@10 ('kragx metrics' lists them); the first decides the verdict; "
        "default: the profile's",
    )
    budget_tokenizer: Any = Field(
        default=None, description="what a token of a budget (ndcg@500tokens) is; default: unicode"
    )
    profile: str | None = Field(
        default=None, description="whose definitions: kragx, trec, krag, science-qa; default: kragx"
    )
    no_gold: Literal["skip", "zero", "error", "abstain"] | None = Field(
        default=None, description="what becomes of questions without gold; default: the profile's"
    )
    forbidden: dict[str, Any] | None = Field(
        default=None,
        description="rules by name that forbid documents by their metadata, beside the gold set's: "
        "{tenant: {metadata.tenant: {not: {query: metadata.tenant}}}}; timezone is that of times "
        "that say none",
    )
    output: LocalPath | None = Field(
        default=None, description="the result folder; without it nothing is written"
    )
    html: bool | HtmlConfig = Field(
        default=True, description="write report.html beside them; false leaves it out"
    )
    baseline: str | None = Field(
        default=None, description="the retriever that others are set against; default: the first"
    )
    slices: Names = Field(
        default=None,
        description="fields of a query to compare within: query_type, metadata.difficulty; "
        "default: those with a few values that repeat",
    )
    statistics: StatisticsConfig = Field(
        default_factory=StatisticsConfig, description="of intervals and tests"
    )
    tuning: TuningConfig = Field(
        default_factory=TuningConfig, description="of grids: docs/comparing.md"
    )
    max_failed: float = Field(
        default=0.0,
        ge=0,
        le=1,
        description="share of questions that a retriever may fail on and be compared",
    )
    workers: int | None = Field(
        default=None,
        ge=1,
        description="processes that share matching; default: this one alone. A judge asks from it",
    )
    engine: dict[Literal["ray"], dict[str, Any]] | None = Field(
        default=None,
        min_length=1,
        description="a cluster that shares matching instead: {ray: {address: auto}}",
    )
    gates: dict[str, Any] | None = Field(
        default=None, description='what numbers must be: {ndcg@10: ">= 0.75"} (docs/comparing.md)'
    )
    earlier: LocalPath | None = Field(
        default=None,
        description="a result folder, or a file of --save-baseline, that this run is compared with",
    )
    _file: Path | None = PrivateAttr(default=None)

    def model_post_init(self, context: Any) -> None:
        """Keep which file this was read from."""
        super().model_post_init(context)
        self._file = (context or {}).get("file")

    @property
    def file(self) -> Path | None:
        """The config file; None for a config that is none."""
        return self._file

    @property
    def secrets(self) -> Secrets:
        """What no text may show that comes of this config."""
        return self._secrets

    @field_validator("forbidden")
    @classmethod
    def _real_rules(cls, value: Any) -> Any:
        try:
            return value and RuleSet.of(value).source
        except UsageError as error:
            raise ValueError(str(error)) from None

    @model_validator(mode="after")
    def _stages_of_all(self) -> RunConfig:
        for name, retriever in self.retrievers.items() if self.stages else ():
            if retriever.factory is not None and retriever.stages is None:
                self.retrievers[name] = retriever.model_copy(update={"stages": True})
        return self

    @model_validator(mode="after")
    def _runs_of_all(self) -> RunConfig:
        for name, retriever in self.retrievers.items() if self.runs else ():
            if retriever.is_asked and retriever.runs is None:
                if self.runs != 1 and retriever.repeat > 1:
                    raise ValueError(
                        f"retrievers.{name}.repeat: {RUNS_OR_REPEAT}; leave it out, or give this "
                        "retriever runs: 1"
                    )
                self.retrievers[name] = retriever.model_copy(update={"runs": self.runs})
        return self

    @model_validator(mode="after")
    def _one_kind_of_match(self) -> RunConfig:
        if self.match is not None and self.matchers is not None:
            raise ValueError("give either 'match' or 'matchers'")
        return self

    @model_validator(mode="after")
    def _not_too_many(self) -> RunConfig:
        sizes = {
            name: size(retriever.axes)
            for name, retriever in self.retrievers.items()
            if retriever.axes
        }
        limit = self.tuning.max_settings
        count = sum(
            prod(map(len, retriever.axes.values()))
            for retriever in self.retrievers.values()
            if retriever.axes
        )
        if count > limit:
            listed = "; ".join(f"{name}: {text}" for name, text in sizes.items())
            raise ValueError(
                f"the grids make {count} settings, more than max_settings ({limit}): {listed}; "
                "leave values out, or raise tuning.max_settings"
            )
        names = [
            run
            for label, retriever in self.retrievers.items()
            for name in retriever.settings_of(label)
            for run in retriever.run_names(name)
        ]
        repeated = next((name for name in names if names.count(name) > 1), None)
        if repeated is not None:
            raise ValueError(
                f"retrievers: {repeated!r} would be there twice; give one another name"
            )
        if sizes and self.baseline is not None and self.baseline not in names:
            raise ValueError(
                f"baseline: {self.baseline!r} is no setting; {nearest(self.baseline, names)}"
            )
        return self

    @property
    def settings(self) -> dict[str, Setting]:
        """Every setting by name: one for each point of a grid, one for a retriever without."""
        return {
            name: setting
            for label, retriever in self.retrievers.items()
            for name, (setting, _) in retriever.settings_of(label).items()
        }

    @property
    def asked(self) -> dict[str, RetrieverConfig]:
        """The retrievers that are asked, with a grid's settings in its place."""
        return {
            name: config
            for label, retriever in self.retrievers.items()
            for name, (_, config) in retriever.settings_of(label).items()
        }

    @property
    def has_grid(self) -> bool:
        """Whether a retriever has a grid."""
        return any(retriever.axes for retriever in self.retrievers.values())

    @model_validator(mode="after")
    def _one_engine(self) -> RunConfig:
        if self.workers is not None and self.engine is not None:
            raise ValueError(
                "give either 'workers' or 'engine' (of ray, 'n' says how many at once)"
            )
        return self

    @property
    def resolved_profile(self) -> Profile:
        """The profile named, else the one that the metric strings imply."""
        return profile_for(self.profile, self.metrics)

    @property
    def sharing(self) -> object:
        """Who shares the work, as `kragx.evaluate` takes it."""
        return self.engine or self.workers

    @property
    def comparing(self) -> Settings:
        """How `kragx.comparison` compares."""
        return Settings(**self.statistics.model_dump(), max_failed=self.max_failed)

    @property
    def named_matchers(self) -> dict[str, Any]:
        """The match specs by the names that results give them; a single one is called as it is."""
        return {setting.name: spec for setting, spec in self.matcher_settings}

    @property
    def matcher_settings(self) -> list[tuple[Setting, Any]]:
        """Each match spec, with the settings of its grid in its place."""
        specs = self.matchers
        if specs is None:
            spec = self._match
            specs = {label(spec): spec}
        return [
            setting
            for name, spec in specs.items()
            for setting in (spread(spec, name) if has_grid(spec) else [(Setting(name), spec)])
        ]

    @property
    def _match(self) -> Any:
        return self.resolved_profile.match if self.match is None else self.match

    @property
    def tuning_metric(self) -> str | None:
        """The canonical name of the metric by which settings are compared; None for the first."""
        text = self.tuning.metric
        if text is None:
            return None
        return name_among(text, self.metric_names, self.resolved_profile)

    @property
    def stores(self) -> tuple[Path, ...]:
        """The files, as SQLite's, that keep judgements and vectors from run to run."""
        specs = [*self.named_matchers.values(), self.facts_match, self.relevance_match]
        judges = [*([] if self.judge is None else [self.judge]), *named_in(specs, "judge", dict)]
        judged = [judge.get("store", DEFAULT_STORE) for judge in judges]
        paths = [*(path for path in judged if not is_url(path)), *named_in(specs, "cache", str)]
        return tuple(Path(path).resolve() for path in paths)

    @property
    def parsed_gates(self) -> tuple[Gate, ...]:
        """The gates; the config was checked, so they hold no mistake."""
        gates = self.gates or {}
        return parse_gates(gates, [], self.resolved_profile, metrics=self.metric_names)

    @property
    def metric_names(self) -> list[str]:
        """The canonical names of what is computed."""
        return list(map(str, parse_all(self.metrics, self.resolved_profile)))

    def resolved(self) -> dict[str, Any]:
        """The config as plain values with every default filled in."""
        data: dict[str, Any] = self.model_dump(
            mode="json", by_alias=True, exclude_none=True, exclude=_WHO
        )
        data["profile"] = self.resolved_profile.name
        data["metrics"] = self.metric_names
        if self.matchers is None:
            data["match"] = self._match
        if self.tuning == TuningConfig() and not self.has_grid:
            del data["tuning"]
        masked: dict[str, Any] = self._secrets.masked(data)
        return masked

    def to_yaml(self) -> str:
        """The same as a config file; variables in ``args`` stay names."""
        text: str = yaml.safe_dump(
            self.resolved(), allow_unicode=True, sort_keys=False, default_flow_style=None, width=100
        )
        return text
