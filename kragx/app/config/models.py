"""What a config file of `kragx run` may hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from math import prod
from pathlib import Path
from typing import Annotated, Any, ClassVar

import yaml

from kragx.app.config.retrievers import RetrieverConfig
from kragx.app.config.sections import PartOf, as_config, config_fields, source_at
from kragx.comparison import Gate, Settings, parse_gates
from kragx.comparison.tuning import Setting, first_that_chooses, has_grid, size, spread
from kragx.comparison.tuning.grid import GridSettings
from kragx.data.gold_source import GoldSource
from kragx.data.rules import RuleSet
from kragx.ground.entry_points import plugins
from kragx.ground.errors import KragxError, UsageError, inside, nearest
from kragx.ground.options import (
    OneOf,
    Read,
    a_bool,
    a_mapping,
    a_path,
    a_text,
    check_options,
    filled_mapping,
    mistakes_of,
    number,
    one_of,
    optional,
    refusal,
    texts,
    what_is_said,
    whole,
)
from kragx.ground.printing import message
from kragx.ground.secrets import Secrets
from kragx.matchers import label
from kragx.metrics import (
    NO_GOLD,
    MetricSpec,
    Profile,
    name_among,
    parse_all,
    profile_for,
)
from kragx.metrics.profiles import NoGold

_WHO = {"workers", "engine"}
"""Who does the work, on which no number depends: a result folder does not have it."""

BESIDE = ("file", "secrets")
"""Fields that are no keys of a config."""


def _retrievers(value: Any) -> dict[str, RetrieverConfig]:
    """The retrievers by name."""
    retrievers, errors = {}, list[KragxError]()
    for name, entry in filled_mapping(value).items():
        try:
            retrievers[name] = RetrieverConfig.read(entry)
        except KragxError as error:
            errors += mistakes_of(error.within(name))
    if errors:
        raise refusal(errors)
    return retrievers


def _as_text(read: Read) -> Read:
    """What `read` takes; a text, as a variable's is, means what it would mean in YAML."""

    def plain(value: Any) -> Any:
        if isinstance(value, str):
            with suppress(yaml.YAMLError):
                value = yaml.safe_load(value)
        return read(value)

    return plain


_number = _as_text(number(lambda share: 0 <= share <= 1, "{value!r} is not a number from 0 to 1"))


def _share(value: Any) -> float:
    return float(_number(value))


def _rules(value: Any) -> Any:
    return RuleSet.of(value).source if a_mapping(value) else value


def _engine(value: Any) -> Any:
    for name, options in filled_mapping(value).items():
        with inside(name):
            OneOf(lambda: plugins("engines"))(name)
            a_mapping(options)
    return value


@dataclass(frozen=True)
class RunConfig:
    """Everything that `kragx run` does. Relative paths start at the config file's folder.

    Attributes:
        dataset: the gold set: a path, or a mapping
        retrievers: what is compared, by name
        stages: keep what each step of the retrievers' chains returned, and say which one loses the
            gold (docs/retriever.md)
        runs: how often each retriever that is asked gets all questions; a question's value is its
            mean over the runs (docs/comparing.md)
        match: whether a document holds a gold passage: a method's name, a mapping with method, an
            import path, or any, all or cascade of several; default: the profile's
        judge: the LLM that judges for 'llm' (docs/judge.md)
        matchers: several by name side by side, instead of match
        facts_match: how context_completeness matches facts; default: as gold
        relevance_match: the judge of precision_judged; default: match's, else llm
        metrics: such as ndcg@10 ('kragx metrics' lists them); the first decides the verdict;
            default: the profile's
        budget_tokenizer: what a token of a budget (ndcg@500tokens) is; default: unicode
        profile: whose definitions: kragx, trec, krag, science-qa; default: kragx
        no_gold: what becomes of questions without gold; default: the profile's
        forbidden: rules by name that forbid documents by their metadata, beside the gold set's:
            {tenant: {metadata.tenant: {not: {query: metadata.tenant}}}}; timezone is that of times
            that say none
        output: the result folder; without it nothing is written
        html: write report.html beside them; false leaves it out
        baseline: the retriever that others are set against; default: the first
        slices: fields of a query to compare within: query_type, metadata.difficulty; default: those
            with a few values that repeat
        statistics: of intervals and tests
        tuning: of grids: docs/comparing.md
        max_failed: share of questions that a retriever may fail on and be compared
        workers: processes that share matching; default: this one alone. A judge asks from it
        engine: a cluster that shares matching instead: {ray: {address: auto}}
        gates: what numbers must be: {ndcg@10: ">= 0.75"} (docs/comparing.md)
        earlier: a result folder, or a file of --save-baseline, that this run is compared with
        file: the config file; None for a config that is none.
        secrets: what no text may show that comes of this config.
    """

    dataset: Annotated[GoldSource, PartOf(GoldSource, short="path", said="the path of a gold set")]
    retrievers: Annotated[Mapping[str, RetrieverConfig], _retrievers]
    stages: Annotated[bool, _as_text(a_bool)] = False
    runs: Annotated[int | None, optional(_as_text(whole(1, 1000)))] = None
    match: Any = None
    judge: Annotated[Mapping[str, Any] | None, optional(a_mapping)] = None
    matchers: Annotated[Mapping[str, Any] | None, optional(filled_mapping)] = None
    facts_match: Any = None
    relevance_match: Any = None
    metrics: Annotated[Sequence[str] | None, optional(texts)] = None
    budget_tokenizer: Any = None
    profile: Annotated[str | None, optional(a_text)] = None
    no_gold: Annotated[NoGold | None, optional(one_of(*NO_GOLD))] = None
    forbidden: Annotated[Mapping[str, Any] | None, optional(_rules)] = None
    output: Annotated[Path | None, optional(a_path)] = None
    html: Annotated[bool, _as_text(a_bool)] = True
    baseline: Annotated[str | None, optional(str)] = None
    slices: Annotated[Sequence[str] | None, optional(texts)] = None
    statistics: Annotated[Settings, PartOf(Settings, without=["max_failed"])] = field(
        default_factory=Settings
    )
    tuning: Annotated[GridSettings, PartOf(GridSettings)] = field(default_factory=GridSettings)
    max_failed: Annotated[float, _share] = 0.0
    workers: Annotated[int | None, optional(_as_text(whole(1)))] = None
    engine: Annotated[Mapping[str, Mapping[str, Any]] | None, optional(_engine)] = None
    gates: Annotated[Mapping[str, Any] | None, optional(a_mapping)] = None
    earlier: Annotated[Path | None, optional(a_path)] = None
    file: Path | None = None
    secrets: Secrets = field(default_factory=Secrets)

    said_elsewhere: ClassVar[Mapping[str, str]] = {
        "gold": message("perhaps you meant {name!r}?", name="dataset"),
        **dict.fromkeys(("k", "top_k"), message("write it behind a metric: metrics: [ndcg@5]")),
        **dict.fromkeys(
            ("method", "threshold", "tokenizer", "measure"),
            message("write it under {part!r}", part="match"),
        ),
    }
    """What other calls take, and where it is said here."""

    def __post_init__(self) -> None:
        check_options(self)
        if self.match is not None and self.matchers is not None:
            raise UsageError("give either 'match' or 'matchers'")
        if self.workers is not None and self.engine is not None:
            raise UsageError(
                "give either 'workers' or 'engine' (of ray, 'n' says how many at once)"
            )
        retrievers = {name: self._with_common(config) for name, config in self.retrievers.items()}
        object.__setattr__(self, "retrievers", retrievers)
        self._check_names()

    def _with_common(self, retriever: RetrieverConfig) -> RetrieverConfig:
        """A retriever with what is said of all, where it says nothing else."""
        common = {
            "stages": (self.stages and retriever.class_ is not None) or None,
            "runs": self.runs if retriever.is_asked else None,
        }
        # The narrower place wins.
        options = {**what_is_said(common), **retriever.options}
        return replace(retriever, options=options)

    def _check_names(self) -> None:
        """Refuse too many settings, and names that are there twice."""
        # Before any setting is made: a grid of a million would fill the memory by its names.
        axes = {name: config.axes for name, config in self.retrievers.items() if config.axes}
        limit = self.tuning.max_settings
        count = sum(prod(map(len, of_retriever.values())) for of_retriever in axes.values())
        if count > limit:
            raise UsageError(
                "the grids make {n} settings, more than max_settings ({limit}): {listed}; "
                "leave values out, or raise tuning.max_settings",
                n=count,
                limit=limit,
                listed="; ".join(f"{name}: {size(grid)}" for name, grid in axes.items()),
            )
        specs = self.matchers.values() if self.matchers else [self.match]
        if self.tuning != GridSettings() and not (axes or any(map(has_grid, specs))):
            raise UsageError(
                "there is no grid to tune",
                field="tuning",
                remedy="write 'grid' under the args of a retriever or beside a matcher's options",
            )
        # Of runs and not of retrievers: a grid or `runs` may make a name that another one has.
        names = [
            run
            for label, retriever in self.retrievers.items()
            for name in retriever.settings_of(label)
            for run in retriever.run_names(name)
        ]
        repeated = next((name for name, n in Counter(names).items() if n > 1), None)
        if repeated is not None:
            raise UsageError(
                "{name!r} would be there twice; give one another name",
                field="retrievers",
                name=repeated,
            )
        if self.baseline is not None and self.baseline not in self.asked:
            raise UsageError(
                "{name!r} is no retriever",
                field="baseline",
                remedy=nearest(self.baseline, self.asked),
                name=self.baseline,
            )

    def placed(self, here: Path, file: Path | None, secrets: Secrets) -> RunConfig:
        """With paths from the folder on where its file lies, and what no text may show."""
        path, corpus = source_at(self.dataset.path, here), source_at(self.dataset.corpus, here)
        return replace(
            self,
            dataset=replace(self.dataset, path=path, corpus=corpus),
            retrievers={
                name: retriever.placed(here, secrets) for name, retriever in self.retrievers.items()
            },
            output=source_at(self.output, here),
            earlier=source_at(self.earlier, here),
            file=file,
            secrets=secrets,
        )

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
        data = as_config(self, (*BESIDE, *_WHO))
        del data["statistics"]["max_failed"]  # which stands beside them
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


KEYS = tuple(config_fields(RunConfig, BESIDE))
"""What a config may say."""
