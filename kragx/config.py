"""The config file of `kragx run`: its models, and errors that name the YAML path and the remedy."""

from __future__ import annotations

import copy
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from kragx.comparison import Gate, Settings, gate_problems, parse_gates
from kragx.environment import load_env
from kragx.errors import ConfigError, DataError, KragxError, UsageError, nearest, shorten
from kragx.facts import FACTS_HAVE_NO_IDS
from kragx.matchers import METHODS, label, matcher, needed
from kragx.measurement import wanted
from kragx.measures import parse, parse_lists
from kragx.metrics import KRAGX, Profile, profile_for
from kragx.statistics import CONFIDENCE, RESAMPLES, SEED
from kragx.tokenizers import tokenizer
from kragx.validation import target_problems

_IMPORT_PATH = re.compile(r"[^\W\d][\w.]*:[^\W\d][\w.]*")


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class DatasetConfig(_Model):
    """The gold set: a file of any format that `kragx.read_dataset` knows."""

    path: Path = Field(description="JSON Lines, JSON, CSV, TSV, Excel, Parquet or qrels")
    name: str | None = Field(default=None, description="in results; default: the file's")
    version: str | None = Field(default=None, description="recorded in results")
    format: (
        Literal["gold", "goldset", "autorag", "ragas", "science-qa", "llamaindex", "qrels"] | None
    ) = Field(default=None, description="default: recognised by the fields")
    columns: dict[str, str] | None = Field(
        default=None, description="of tables: for each field the column that holds it"
    )
    encoding: str | None = Field(default=None, description="of CSV; default: utf-8, then cp949")
    corpus: Path | None = Field(
        default=None, description="for 'kragx validate': where gold texts and ids come from"
    )
    targets: dict[str, dict[str, float]] | None = Field(
        default=None,
        description="for 'kragx validate': shares, for example {query_type: {lookup: 0.5}}",
    )

    @model_validator(mode="before")
    @classmethod
    def _version_as_text(cls, value: Any) -> Any:
        # YAML reads 2026-01-31 as a date and 1.0 as a number.
        if isinstance(value, Mapping) and isinstance(value.get("version"), (int, float, date)):
            return {**value, "version": str(value["version"])}
        return value

    @field_validator("targets")
    @classmethod
    def _real_shares(cls, value: Any) -> Any:
        problems = "; ".join(target_problems(value or {}))
        if problems:
            raise ValueError(problems)
        return value


class CallbackConfig(_Model):
    """A LangChain callback handler with arguments."""

    factory: str = Field(alias="class", description="import path 'package.module:name'")
    args: dict[str, Any] = Field(
        default_factory=dict, description="${NAME} in them is an environment variable"
    )


ASKING = ("concurrency", "timeout", "retries", "on_error", "warmup", "repeat", "callbacks")
"""The options of a retriever that is asked, rather than read from a file."""


def _source_of(value: str) -> str:
    """Which key a retriever that is written as a mere text means."""
    return "class" if _IMPORT_PATH.fullmatch(value) else "results"


class RetrieverConfig(_Model):
    """One retriever: a class or function by import path, a results file or a TREC run."""

    factory: str | None = Field(
        default=None,
        alias="class",
        description="import path 'package.module:name' of a class, a method that makes a "
        "retriever, or a function from a question to documents",
    )
    args: dict[str, Any] | None = Field(
        default=None,
        description="arguments of the class; ${NAME} in them is an environment variable",
    )
    results: Path | None = Field(default=None, description="a results file, instead of a class")
    run: Path | None = Field(default=None, description="a TREC run (also .gz), instead of a class")
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

    @model_validator(mode="before")
    @classmethod
    def _short_form(cls, value: Any) -> Any:
        if isinstance(value, str):
            return {_source_of(value): value}
        return value

    @model_validator(mode="after")
    def _one_source(self) -> RetrieverConfig:
        sources = {"class": self.factory, "results": self.results, "run": self.run}
        given = [name for name, source in sources.items() if source is not None]
        if len(given) != 1:
            raise ValueError("give either 'class' or 'results' or 'run'")
        if self.factory is None:
            for name in ("args", *ASKING):
                # A resolved config spells out the defaults, which do no harm.
                if getattr(self, name) not in (type(self).model_fields[name].default, {}, []):
                    raise ValueError(f"{name!r} belongs to 'class'; {given[0]!r} takes none")
        return self

    def asking(self) -> dict[str, Any]:
        """How the retriever is asked, but for its callbacks."""
        return {name: getattr(self, name) for name in ASKING if name != "callbacks"}


class HtmlConfig(_Model):
    """How much of the texts report.html holds; numbers always count everything."""

    max_docs: int = Field(default=50, ge=1, description="documents of each list")
    max_chars: int | None = Field(
        default=None, ge=1, description="characters of each text; default: all"
    )


class StatisticsConfig(_Model):
    """How sure is sure: see `kragx.comparison.Settings`."""

    confidence: float = Field(default=CONFIDENCE, ge=0.5, lt=1, description="of intervals")
    resamples: int = Field(
        default=RESAMPLES, ge=100, description="bootstrap resamples, and random sign flips"
    )
    seed: int = Field(default=SEED, ge=0, description="of both")
    correction: Literal["holm", "none"] = Field(
        default="holm", description="of p, over the retrievers and metrics of a table"
    )

    @property
    def settings(self) -> Settings:
        """The same for `kragx.comparison`."""
        return Settings(self.confidence, self.resamples, self.seed, self.correction)


class RunConfig(_Model):
    """Everything that `kragx run` does. Relative paths start at the config file's folder."""

    dataset: DatasetConfig
    retrievers: dict[str, RetrieverConfig] = Field(min_length=1)
    match: Any = None
    judge: dict[str, Any] | None = Field(
        default=None, description="the LLM that judges for 'llm' (docs/judging.md)"
    )
    matchers: dict[str, Any] | None = Field(default=None, min_length=1)
    facts_match: Any = Field(
        default=None, description="how context_completeness matches facts; default: as gold"
    )
    metrics: list[str] | None = Field(default=None, min_length=1)
    budget_tokenizer: Any = Field(
        default=None, description="what a token of a budget (ndcg@500tokens) is; default: unicode"
    )
    profile: str | None = None
    no_gold: Literal["skip", "zero", "error", "abstain"] | None = None
    output: Path | None = Field(default=None, description="the folder for JSON and CSV")
    html: bool | HtmlConfig = Field(
        default=True, description="write report.html beside them; false leaves it out"
    )
    baseline: str | None = Field(
        default=None, description="the retriever that others are set against; default: the first"
    )
    slices: list[str] | None = Field(
        default=None,
        min_length=1,
        description="fields of a query to compare within: query_type, metadata.difficulty",
    )
    statistics: StatisticsConfig = Field(
        default_factory=StatisticsConfig, description="of intervals and tests"
    )
    gates: dict[str, Any] | None = Field(
        default=None, description='what numbers must be: {ndcg@10: ">= 0.75"} (docs/comparing.md)'
    )
    earlier: Path | None = Field(
        default=None, description="a result folder that this run is compared with"
    )

    @model_validator(mode="before")
    @classmethod
    def _short_forms(cls, value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        value = {key: item for key, item in value.items() if item is not None}
        if isinstance(value.get("retrievers"), Mapping):
            value["retrievers"] = {str(name): each for name, each in value["retrievers"].items()}
        if isinstance(value.get("dataset"), str):
            value["dataset"] = {"path": value["dataset"]}
        for name in ("metrics", "slices"):
            if isinstance(value.get(name), str):
                value[name] = [value[name]]
        return value

    @model_validator(mode="after")
    def _one_kind_of_match(self) -> RunConfig:
        if self.match is not None and self.matchers is not None:
            raise ValueError("give either 'match' or 'matchers'")
        return self

    @property
    def chosen_profile(self) -> Profile:
        """The profile named, else the one that the metric strings imply."""
        return profile_for(self.profile, self.metrics)

    @property
    def named_matchers(self) -> dict[str | None, Any]:
        """The match specs by name; a single `match` has no name."""
        named: dict[str | None, Any] = {}
        if self.matchers is None:
            named[None] = self.chosen_profile.match if self.match is None else self.match
        else:
            named.update(self.matchers)
        return named

    @property
    def parsed_gates(self) -> tuple[Gate, ...]:
        """The gates; the config was checked, so they hold no mistake."""
        return parse_gates(self.gates or {}, [], self.chosen_profile)

    @property
    def metric_names(self) -> list[str]:
        """The canonical names of what is computed."""
        return wanted(self.metrics, self.chosen_profile).names

    def resolved(self) -> dict[str, Any]:
        """The config as plain values with every default filled in."""
        plain: dict[str, Any] = self.model_dump(mode="json", by_alias=True, exclude_none=True)
        plain["profile"] = self.chosen_profile.name
        plain["metrics"] = self.metric_names
        if self.matchers is None:
            plain["match"] = self.named_matchers[None]
        return plain


def load(path: str | Path, overrides: Iterable[str] = (), *, needs_env: bool = True) -> RunConfig:
    """Read and check a config file.

    Args:
        path: the file; variables of a ``.env`` file beside it are set first, if they are not set.
        overrides: values that win over the file's, as ``match.threshold=0.4``.
        needs_env: whether an environment variable that is not set is a mistake; without, it is
            read as its own name, which is enough to look at a finished run.

    ``${here}`` stands for the config file's folder and ``${NAME}`` for an environment variable,
    anywhere in a value. In a retriever's ``args`` variables stay as they are until the retriever
    is made, so that a secret is never written into a result.

    Raises:
        DataError: the file cannot be read.
        ConfigError: it is not YAML, or holds mistakes; all of them are listed, each with its path.
    """
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise DataError(f"{path}: not UTF-8; save the file as UTF-8") from None
    here = Path(path).resolve().parent
    load_env(here)
    return parse_config(text, str(path), here, overrides, needs_env=needs_env)


def parse_config(
    text: str,
    name: str,
    here: Path,
    overrides: Iterable[str] = (),
    *,
    needs_env: bool = True,
) -> RunConfig:
    """`load` for a text; `name` stands for the file in messages, `here` for its folder."""
    try:
        raw = yaml.load(text, Loader=_Loader)
    except yaml.YAMLError as error:
        raise ConfigError(name, [_yaml_problem(error)]) from None
    if not isinstance(raw, dict):
        raise ConfigError(name, ["a mapping with 'dataset' and 'retrievers' is expected"])
    problems: list[str] = []
    raw = override(raw, overrides)
    filled = _fill(raw, here, "", problems)
    if not needs_env:
        problems.clear()
    config: RunConfig | None = None
    try:
        config = RunConfig.model_validate(filled)
    except ValidationError as error:
        problems += _readable(error, filled)
    problems += _semantic(filled)
    if config is not None and not problems:
        problems += _facts(config)
        problems += _gates(config)
    if problems or config is None:
        raise ConfigError(name, problems)
    return _anchored(config, here)


def override(raw: Mapping[str, Any], settings: Iterable[str]) -> dict[str, Any]:
    """A config with values of the command line: ``retrievers.bm25.args.k=5``, values as in YAML.

    Raises:
        UsageError: a setting is no ``path=value``, or its path leads through a value.
    """
    changed = copy.deepcopy(dict(raw))
    for setting in settings:
        path, equals, text = setting.partition("=")
        keys = path.strip().split(".")
        if not equals or not all(keys):
            raise UsageError(f"--set {setting}: write path=value, for example match.threshold=0.4")
        try:
            value = yaml.load(text, Loader=_Loader)
        except yaml.YAMLError as error:
            raise UsageError(f"--set {setting}: {_yaml_problem(error)}") from None
        at: Any = changed
        for depth, key in enumerate(keys[:-1]):
            if isinstance(at, dict) and isinstance(at.get(key), str):
                at[key] = _long_form(keys[:depth], key, at[key])
            at = _step(at, key, setting, ".".join(keys[: depth + 1]), make=True)
        if isinstance(at, list):
            _step(at, keys[-1], setting, path, make=False)
            at[int(keys[-1])] = value
        else:
            at[keys[-1]] = value
    return changed


def _long_form(parents: Sequence[str], key: str, value: str) -> Any:
    """A short form spelt out: ``match: overlap`` is a method, ``dataset: gold.jsonl`` a path."""
    match (*parents, key):
        case ("match" | "facts_match",) | ("matchers", _):
            return {"method": value}
        case ("dataset",):
            return {"path": value}
        case ("retrievers", _):
            return {_source_of(value): value}
    return value


def _step(at: Any, key: str, setting: str, path: str, *, make: bool) -> Any:
    if isinstance(at, list):
        if not key.isdecimal() or int(key) >= len(at):
            raise UsageError(f"--set {setting}: {path}: the list has items 0 to {len(at) - 1}")
        found = at[int(key)]
    else:
        found = (
            at.setdefault(key, {}) if at.get(key) is not None else at.update({key: {}}) or at[key]
        )
    if make and not isinstance(found, (dict, list)):
        raise UsageError(f"--set {setting}: {path} is {shorten(found)}, which has no parts")
    return found


class _Loader(yaml.SafeLoader):
    """SafeLoader, but a key that stands twice is an error instead of silently the last one."""

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        # Called before merge keys (<<) bring in keys that a mapping may well override.
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.tag != "tag:yaml.org,2002:merge":
                if key.value in seen:
                    raise yaml.constructor.ConstructorError(
                        None, None, f"the key {key.value!r} stands twice", key.start_mark
                    )
                seen.add(key.value)
        super().flatten_mapping(node)


def _yaml_problem(error: yaml.YAMLError) -> str:
    if not isinstance(error, yaml.MarkedYAMLError) or error.problem_mark is None:
        return f"not valid YAML: {error}"
    mark = error.problem_mark
    said = f"not valid YAML: line {mark.line + 1}, column {mark.column + 1}: {error.problem}"
    if error.context == "while scanning a block scalar":
        said += '; a value that begins with > or | needs quotes, for example ">= 0.75"'
    return said


# Whose ``args`` keep variables as they are until they are used, so that no result holds a secret.
_LATE = ("retrievers.", "judge", "match", "facts_match")
_VARIABLE = re.compile(r"\$\{([^}]*)\}")


def _fill(value: Any, here: Path, path: str, problems: list[str], *, late: bool = False) -> Any:
    """`value` with ``${...}`` replaced in every string; `late` leaves variables as they are."""

    def replacement(found: re.Match[str]) -> str:
        name = found[1]
        if name == "here":
            return str(here)
        if name not in os.environ:
            problems.append(f"{path}: the environment variable {name!r} is not set")
        return found[0] if late else os.environ.get(name, "")

    match value:
        case str():
            return _VARIABLE.sub(replacement, value)
        case list():
            return [
                _fill(item, here, f"{path}[{at}]", problems, late=late)
                for at, item in enumerate(value)
            ]
        case dict():
            return {
                key: _fill(
                    item,
                    here,
                    f"{path}.{key}".lstrip("."),
                    problems,
                    late=late or (key == "args" and path.startswith(_LATE)),
                )
                for key, item in value.items()
            }
    return value


def filled(value: Any) -> Any:
    """`value` with environment variables put in: what ``args`` stand for."""
    return _fill(value, Path(), "args", [])


def _readable(error: ValidationError, raw: Any) -> Iterator[str]:
    """Pydantic's errors with YAML paths; unknown keys with the nearest valid one."""
    for detail in error.errors():
        path = _path(detail["loc"])
        if detail["type"] == "extra_forbidden":
            valid = _valid_keys(detail["loc"])
            yield f"{path}: unknown key; {nearest(str(detail['loc'][-1]), valid)}"
        elif detail["type"] == "missing":
            yield f"{path}: missing; it is required"
        else:
            message = _WORDS.get(detail["type"], detail["msg"].removeprefix("Value error, "))
            shown = "" if isinstance(detail["input"], (dict, list)) else f" ({detail['input']!r})"
            yield f"{path or 'config'}: {message[0].lower()}{message[1:]}{shown}"


_WORDS = {
    "too_short": "is empty; give at least one",
    "dict_type": "a mapping is expected",
    "model_type": "a mapping is expected",
    "list_type": "a list is expected",
    "string_type": "a text is expected",
    "path_type": "a path is expected",
}


def _valid_keys(loc: tuple[int | str, ...]) -> list[str]:
    model: type[BaseModel] = RunConfig
    if loc[0] == "dataset" and len(loc) > 1:
        model = DatasetConfig
    elif loc[0] == "statistics" and len(loc) > 1:
        model = StatisticsConfig
    elif loc[0] == "html" and len(loc) > 1:
        model = HtmlConfig
    elif loc[0] == "retrievers" and len(loc) > 2:
        model = CallbackConfig if "callbacks" in loc else RetrieverConfig
    return [field.alias or name for name, field in model.model_fields.items()]


def _path(loc: tuple[int | str, ...]) -> str:
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in loc).lstrip(".")


def _semantic(raw: Mapping[str, Any]) -> Iterator[str]:
    """What only kragx itself can check: names, profile, metric strings, match specs."""
    baseline, retrievers = raw.get("baseline"), raw.get("retrievers")
    if isinstance(baseline, str) and isinstance(retrievers, dict):
        names = list(map(str, retrievers))
        if baseline not in names:
            yield f"baseline: {baseline!r} is no retriever; {nearest(baseline, names)}"
    metrics = raw.get("metrics")
    listed = metrics if isinstance(metrics, list) else [metrics]
    chosen = KRAGX
    try:
        chosen = profile_for(raw.get("profile"), [each for each in listed if isinstance(each, str)])
    except UsageError as error:
        yield str(error)
    for at, text in enumerate(listed):
        if isinstance(text, str):
            try:
                parse(text, chosen)
            except UsageError as error:
                yield f"metrics[{at}]: {error}"
    defaults: dict[str, Any] = {}
    if isinstance(raw.get("judge"), dict):
        from kragx.judging import read_judge

        try:
            defaults["judge"] = read_judge(filled(raw["judge"]))
        except KragxError as error:
            yield str(error)
            return  # without a judge every 'llm' would complain once more
    yield from _tokenizer_problems(raw.get("budget_tokenizer"))
    specs = {"match": raw.get("match"), "facts_match": raw.get("facts_match")}
    if isinstance(raw.get("matchers"), dict):
        specs |= {f"matchers.{name}": spec for name, spec in raw["matchers"].items()}
    for where, spec in specs.items():
        if spec is not None:
            yield from _match_problems(where, spec, defaults)


def _gates(config: RunConfig) -> list[str]:
    """What is wrong with the gates of a config that is right in all else."""
    problems: list[str] = []
    gates = parse_gates(config.gates or {}, problems, config.chosen_profile)
    problems += gate_problems(
        gates,
        metrics=config.metric_names,
        retrievers=config.retrievers,
        matchers=[name or label(spec) for name, spec in config.named_matchers.items()],
        slices=config.slices or (),
        baseline=config.baseline,
    )
    return problems


def _facts(config: RunConfig) -> list[str]:
    """What is wrong with how facts are matched, known before anything is retrieved."""
    measured = parse_lists(config.metrics, config.chosen_profile)[1]
    if all(each.name != "context_completeness" for each in measured):
        return []
    named = config.named_matchers.values() if config.facts_match is None else [config.facts_match]
    methods = (each.get("method") if isinstance(each, dict) else each for each in named)
    return [f"facts_match: {FACTS_HAVE_NO_IDS}"] if "id" in methods else []


def with_earlier(config: RunConfig, earlier: Path) -> RunConfig:
    """The config with other earlier results; a relative path starts at the current folder."""
    return config.model_copy(update={"earlier": earlier.absolute()})


def with_gates(config: RunConfig, gates: Mapping[str, Any]) -> RunConfig:
    """The config with other gates.

    Raises:
        ConfigError: they hold mistakes.
    """
    changed = config.model_copy(update={"gates": dict(gates)})
    problems = _gates(changed)
    if problems:
        raise ConfigError("gates", problems)
    return changed


def _tokenizer_problems(spec: Any) -> Iterator[str]:
    try:
        if spec is not None:
            tokenizer(spec)
    except KragxError as error:
        yield f"budget_tokenizer: {str(error).removeprefix('tokenizer: ')}"


def _match_problems(where: str, spec: Any, defaults: Mapping[str, Any]) -> Iterator[str]:
    """Every mistake in a match spec; each option is tried by itself, so that none hides another."""
    spec = filled(spec)
    tries = [spec]
    needs: tuple[str, ...] = ()
    if isinstance(spec, dict) and "method" in spec:
        base = {"method": spec["method"]}
        if spec["method"] in METHODS:
            needs = needed(spec["method"])
            base |= {key: spec[key] for key in spec if key in (*needs, "args" if needs else "")}
        tries = [base, *({**base, key: spec[key]} for key in spec if key not in base), spec]
    said: set[str] = set()
    for each in tries:
        try:
            matcher(each, defaults)
        except KragxError as error:
            message = str(error)
            if message.startswith("match"):  # how matchers call where they stand
                line = where + message.removeprefix("match")
            elif message.startswith("tokenizer"):
                line = f"{where}.{message}"
            else:
                line = f"{where}: {message}"
            if line not in said:
                yield line
            said.add(line)
            if each is tries[0] and not needs:
                return  # with an unknown method nothing more can be said


def _anchored(config: RunConfig, here: Path) -> RunConfig:
    """The config with relative paths made to start at the config file's folder."""

    def anchor(path: Path | None) -> Path | None:
        return None if path is None else Path(os.path.normpath(here / path.expanduser()))

    return config.model_copy(
        update={
            "dataset": config.dataset.model_copy(
                update={
                    "path": anchor(config.dataset.path),
                    "corpus": anchor(config.dataset.corpus),
                }
            ),
            "retrievers": {
                name: each.model_copy(
                    update={"results": anchor(each.results), "run": anchor(each.run)}
                )
                for name, each in config.retrievers.items()
            },
            "output": anchor(config.output),
            "earlier": anchor(config.earlier),
            "judge": None
            if config.judge is None
            else {
                name: str(anchor(Path(value)))
                if name in ("store", "rubric") and isinstance(value, str)
                else value
                for name, value in config.judge.items()
            },
        }
    )
