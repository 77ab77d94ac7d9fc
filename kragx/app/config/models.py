"""What a config file of `kragx run` may hold."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal

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
from kragx.data.validation import target_problems
from kragx.errors import nearest
from kragx.judging import DEFAULT_STORE
from kragx.judging.store import is_url
from kragx.matchers import label
from kragx.metrics import Profile, parse_all, profile_for
from kragx.plugins import is_import_path
from kragx.secrets import Secrets


def anchored(path: str | Path, here: Path) -> Path:
    """A path of a config file in the folder `here`, where a relative one starts."""
    return Path(os.path.normpath(here / Path(path).expanduser()))


def _local(path: Path, info: ValidationInfo) -> Path:
    return anchored(path, info.context["here"])  # type: ignore[index]  # `parse_config` gives it


LocalPath = Annotated[Path, AfterValidator(_local)]
"""A path; a relative one starts at the config file's folder."""


def source_of(value: str) -> str:
    """Which key a retriever that is written as a mere text means."""
    return "class" if is_import_path(value) else "results"


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
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
        known = {key: item for key, item in value.items() if key in valid and item is not None}
        return known | {str(key): nearest(str(key), valid) for key in value if key not in valid}


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

    path: LocalPath = Field(description="JSON Lines, JSON, CSV, TSV, Excel, Parquet or qrels")
    name: str | None = Field(default=None, description="in results; default: the file's")
    version: Annotated[
        str | None,
        # YAML reads 2026-01-31 as a date and 1.0 as a number.
        BeforeValidator(
            lambda value: str(value) if isinstance(value, (int, float, date)) else value,
            json_schema_input_type=str | float | None,
        ),
    ] = Field(default=None, description="recorded in results")
    format: (
        Literal["gold", "goldset", "autorag", "ragas", "science-qa", "llamaindex", "qrels"] | None
    ) = Field(default=None, description="default: recognised by the fields")
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


_SOURCES = {"factory", "results", "run"}


class RetrieverConfig(_Model):
    """One retriever: a class or function by import path, a results file or a TREC run."""

    factory: str | None = Field(
        default=None,
        alias="class",
        description="import path 'package.module:name' of a class or a function that makes a "
        "retriever, or of a function from a question to documents",
    )
    args: dict[str, Any] | None = Field(
        default=None,
        description="arguments of class or function; ${NAME} in them is an environment variable",
    )
    results: LocalPath | None = Field(
        default=None, description="a results file, instead of a class"
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
        default=1, ge=1, description="how often each question is asked; its time is the median"
    )
    callbacks: list[str | CallbackConfig] | None = Field(
        default=None, description="LangChain callback handlers by import path"
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
        return value or None

    @model_validator(mode="after")
    def _one_source(self) -> RetrieverConfig:
        sources = self.model_dump(include=_SOURCES, by_alias=True, exclude_none=True)
        if len(sources) != 1:
            raise ValueError("give either 'class' or 'results' or 'run'")
        # A resolved config spells out the defaults, which do no harm; nor does what is empty.
        (source,) = sources
        options = self.model_dump(exclude=_SOURCES, exclude_defaults=True)
        misplaced = next((name for name, option in options.items() if option), None)
        if self.factory is None and misplaced is not None:
            raise ValueError(f"{misplaced!r} belongs to 'class'; {source!r} takes none")
        return self

    @property
    def settings(self) -> dict[str, Any]:
        """What a result records of how its retriever was asked; variables stay names."""
        if self.factory is None:
            return self.model_dump(mode="json", include=_SOURCES, exclude_none=True)
        plain = self.model_dump(mode="json", by_alias=True, exclude_none=True)
        return {"args": {}, **self._secrets.masked(plain)}

    def asking(self) -> dict[str, Any]:
        """How the retriever is asked, but for its callbacks."""
        options = self.model_dump(exclude={*_SOURCES, "args", "callbacks", "fingerprint"})
        return {**options, "mask": self._secrets.mask}


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


def _caches(spec: Any) -> Iterator[str]:
    """The files of vectors that match specs name, members of combinations too."""
    match spec:
        case {"cache": str(path)}:
            yield path
        case dict():
            yield from _caches(list(spec.values()))
        case list():
            for item in spec:
                yield from _caches(item)


class RunConfig(_Model):
    """Everything that `kragx run` does. Relative paths start at the config file's folder."""

    dataset: Dataset
    retrievers: dict[Annotated[str, BeforeValidator(str)], Retriever] = Field(min_length=1)
    match: Any = None
    judge: dict[str, Any] | None = Field(
        default=None, description="the LLM that judges for 'llm' (docs/judging.md)"
    )
    matchers: dict[str, Any] | None = Field(default=None, min_length=1)
    facts_match: Any = Field(
        default=None, description="how context_completeness matches facts; default: as gold"
    )
    relevance_match: Any = Field(
        default=None, description="the judge of precision_judged; default: match's, else llm"
    )
    metrics: Names = None
    budget_tokenizer: Any = Field(
        default=None, description="what a token of a budget (ndcg@500tokens) is; default: unicode"
    )
    profile: str | None = None
    no_gold: Literal["skip", "zero", "error", "abstain"] | None = None
    output: LocalPath | None = Field(default=None, description="the folder for JSON and CSV")
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
    max_failed: float = Field(
        default=0.0,
        ge=0,
        le=1,
        description="share of questions that a retriever may fail on and be compared",
    )
    gates: dict[str, Any] | None = Field(
        default=None, description='what numbers must be: {ndcg@10: ">= 0.75"} (docs/comparison.md)'
    )
    earlier: LocalPath | None = Field(
        default=None, description="a result folder that this run is compared with"
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

    @model_validator(mode="after")
    def _one_kind_of_match(self) -> RunConfig:
        if self.match is not None and self.matchers is not None:
            raise ValueError("give either 'match' or 'matchers'")
        return self

    @property
    def resolved_profile(self) -> Profile:
        """The profile named, else the one that the metric strings imply."""
        return profile_for(self.profile, self.metrics)

    @property
    def comparing(self) -> Settings:
        """How `kragx.comparison` compares."""
        return Settings(**self.statistics.model_dump(), max_failed=self.max_failed)

    @property
    def named_matchers(self) -> dict[str, Any]:
        """The match specs by the names that results give them; a single one is called as it is."""
        if self.matchers is not None:
            return self.matchers
        spec = self.resolved_profile.match if self.match is None else self.match
        return {label(spec): spec}

    @property
    def stores(self) -> tuple[Path, ...]:
        """The files, as SQLite's, that keep judgements and vectors from run to run."""
        judged = [] if self.judge is None else [self.judge.get("store", DEFAULT_STORE)]
        of_judges = [path for path in judged if not is_url(path)]
        others = (self.facts_match, self.relevance_match)
        paths = [*of_judges, *_caches([*self.named_matchers.values(), *others])]
        return tuple(Path(path).resolve() for path in paths)

    @property
    def parsed_gates(self) -> tuple[Gate, ...]:
        """The gates; the config was checked, so they hold no mistake."""
        return parse_gates(self.gates or {}, [], self.resolved_profile)

    @property
    def metric_names(self) -> list[str]:
        """The canonical names of what is computed."""
        return list(map(str, parse_all(self.metrics, self.resolved_profile)))

    def resolved(self) -> dict[str, Any]:
        """The config as plain values with every default filled in."""
        plain: dict[str, Any] = self.model_dump(mode="json", by_alias=True, exclude_none=True)
        plain["profile"] = self.resolved_profile.name
        plain["metrics"] = self.metric_names
        if self.matchers is None:
            (plain["match"],) = self.named_matchers.values()
        masked: dict[str, Any] = self._secrets.masked(plain)
        return masked

    def to_yaml(self) -> str:
        """The same as a config file; variables in ``args`` stay names."""
        text: str = yaml.safe_dump(
            self.resolved(), allow_unicode=True, sort_keys=False, default_flow_style=None, width=100
        )
        return text
