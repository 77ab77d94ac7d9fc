"""What a config file of `kragx run` may hold."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    field_validator,
    model_validator,
)

from kragx.app.config.retrievers import Retriever, RetrieverConfig
from kragx.app.config.sections import Dataset, LocalPath, Model, Names, PartOf
from kragx.comparison import Gate, Settings, parse_gates
from kragx.comparison.tuning import Setting, first_that_chooses, has_grid, size, spread
from kragx.comparison.tuning.grid import GridSettings
from kragx.data.rules import RuleSet
from kragx.ground.entry_points import plugins
from kragx.ground.errors import UsageError, nearest
from kragx.ground.options import OneOf
from kragx.ground.printing import message
from kragx.matchers import label
from kragx.metrics import MetricSpec, Profile, name_among, parse_all, profile_for
from kragx.metrics.profiles import NoGold

_WHO = {"workers", "engine"}
"""Who does the work, on which no number depends: a result folder does not have it."""


class RunConfig(Model):
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
    no_gold: NoGold | None = Field(
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
    html: bool = Field(
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
    statistics: Annotated[Settings, PartOf(Settings, without=["max_failed"])] = Field(
        default_factory=Settings, description="of intervals and tests"
    )
    tuning: Annotated[GridSettings, PartOf(GridSettings)] = Field(
        default_factory=GridSettings, description="of grids: docs/comparing.md"
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
    engine: (
        dict[Annotated[str, AfterValidator(OneOf(lambda: plugins("engines")))], dict[str, Any]]
        | None
    ) = Field(
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

    @property
    def file(self) -> Path | None:
        """The config file; None for a config that is none."""
        return self._context.get("file")

    @field_validator("forbidden")
    @classmethod
    def _real_rules(cls, value: Any) -> Any:
        try:
            return value and RuleSet.of(value).source
        except UsageError as error:
            raise ValueError(str(error)) from None

    @model_validator(mode="after")
    def _options_of_all(self) -> RunConfig:
        """What is said of all retrievers, for those that say nothing else."""
        if self.match is not None and self.matchers is not None:
            raise ValueError("give either 'match' or 'matchers'")
        if self.workers is not None and self.engine is not None:
            raise ValueError(
                "give either 'workers' or 'engine' (of ray, 'n' says how many at once)"
            )
        for name, retriever in self.retrievers.items():
            # Only where the retriever says nothing itself: the narrower place wins.
            changes: dict[str, Any] = {}
            options = retriever.options
            if self.stages and retriever.factory is not None and "stages" not in options:
                changes["stages"] = True
            if self.runs and retriever.is_asked and retriever.runs is None:
                changes["runs"] = self.runs
            # The model is frozen and its mapping is not, so the entry is replaced where it stands.
            self.retrievers[name] = retriever.model_copy(update=changes) if changes else retriever
        return self

    @model_validator(mode="after")
    def _few_and_named_apart(self) -> RunConfig:
        # Before any setting is made: a grid of a million would fill the memory by its names.
        axes = {name: config.axes for name, config in self.retrievers.items() if config.axes}
        limit = self.tuning.max_settings
        count = sum(prod(map(len, of_retriever.values())) for of_retriever in axes.values())
        if count > limit:
            listed = "; ".join(f"{name}: {size(grid)}" for name, grid in axes.items())
            raise ValueError(
                message(
                    "the grids make {n} settings, more than max_settings ({limit}): {listed}; "
                    "leave values out, or raise tuning.max_settings",
                    n=count,
                    limit=limit,
                    listed=listed,
                )
            )
        # Of runs and not of retrievers: a grid or `runs` may make a name that another one has.
        names = [
            run
            for label, retriever in self.retrievers.items()
            for name in retriever.settings_of(label)
            for run in retriever.run_names(name)
        ]
        repeated = next((name for name in names if names.count(name) > 1), None)
        if repeated is not None:
            raise ValueError(
                message(
                    "retrievers: {name!r} would be there twice; give one another name",
                    name=repeated,
                )
            )
        if self.has_grid and self.baseline is not None and self.baseline not in self.asked:
            raise ValueError(
                message(
                    "baseline: {name!r} is no setting; {hint}",
                    name=self.baseline,
                    hint=nearest(self.baseline, self.asked),
                )
            )
        return self

    @property
    def settings(self) -> dict[str, Setting]:
        """Every setting by name: one for each point of a grid, one for a retriever without."""
        return {name: setting for name, (setting, _) in self._settings_of_all().items()}

    @property
    def asked(self) -> dict[str, RetrieverConfig]:
        """The retrievers that are asked, with a grid's settings in its place."""
        return {name: retriever for name, (_, retriever) in self._settings_of_all().items()}

    def _settings_of_all(self) -> dict[str, tuple[Setting, RetrieverConfig]]:
        return {
            name: pair
            for label, retriever in self.retrievers.items()
            for name, pair in retriever.settings_of(label).items()
        }

    @property
    def has_grid(self) -> bool:
        """Whether a retriever has a grid."""
        return any(retriever.axes for retriever in self.retrievers.values())

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
        return replace(self.statistics, max_failed=self.max_failed)

    @property
    def named_matchers(self) -> dict[str, Any]:
        """The match specs by the names that results give them; a single one is called as it is."""
        return {setting.name: spec for setting, spec in self.matcher_settings}

    @property
    def matcher_settings(self) -> list[tuple[Setting, Any]]:
        """Each match spec, with the settings of its grid in its place."""
        return [
            setting
            for name, spec in (self.matchers or {label(self._match): self._match}).items()
            for setting in (spread(spec, name) if has_grid(spec) else [(Setting(name), spec)])
        ]

    @property
    def _match(self) -> Any:
        return self.resolved_profile.match if self.match is None else self.match

    @property
    def specs(self) -> tuple[MetricSpec, ...]:
        """What is computed."""
        return parse_all(self.metrics, self.resolved_profile)

    @property
    def tuning_metric(self) -> str | None:
        """The canonical name of the metric by which settings are compared, else the first such."""
        if self.tuning.metric is not None:
            return name_among(self.tuning.metric, self.metric_names, self.resolved_profile)
        spec = first_that_chooses(self.specs)
        return None if spec is None else str(spec)

    @property
    def parsed_gates(self) -> tuple[Gate, ...]:
        """The gates; the config was checked, so they hold no mistake."""
        # Anew each time: a config is copied with other gates, and a cache would be copied with it.
        return parse_gates(self.gates or {}, [], self.resolved_profile, metrics=self.metric_names)

    @property
    def metric_names(self) -> list[str]:
        """The canonical names of what is computed."""
        return list(map(str, self.specs))

    def resolved(self) -> dict[str, Any]:
        """The config as plain values with every default filled in."""
        data: dict[str, Any] = self.model_dump(
            mode="json", by_alias=True, exclude_none=True, exclude=_WHO
        )
        # What another version would resolve otherwise is written out, lest old folders change.
        data["profile"] = self.resolved_profile.name
        data["metrics"] = self.metric_names
        # The profile's own where none is named, so that the folder says what decided.
        if self.matchers is None:
            data["match"] = self._match
        if self.tuning == GridSettings() and not self.has_grid:
            del data["tuning"]
        masked: dict[str, Any] = self.secrets.masked(data)
        return masked

    def to_yaml(self) -> str:
        """The same as a config file; variables in ``args`` stay names."""
        text: str = yaml.safe_dump(
            self.resolved(), allow_unicode=True, sort_keys=False, default_flow_style=None, width=100
        )
        return text
