"""From a config file to a checked `RunConfig`."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from kragx.app.config.models import RunConfig, named_in
from kragx.app.config.parts import anchored
from kragx.app.config.problems import match_specs, of_gates, of_whole, readable, semantic
from kragx.app.config.values import fill, filled, override
from kragx.app.environment import load_env
from kragx.data.formats.jsonl import read_text
from kragx.data.gold_source import GoldSource
from kragx.data.yaml_text import Loader, yaml_problem
from kragx.ground.caller_warnings import warn
from kragx.ground.errors import ConfigError, DataError, UsageError
from kragx.ground.printing import joined, message
from kragx.ground.secrets import Secrets
from kragx.judging.store import is_url


class ConfigWarning(UserWarning):
    """Something in a config is read as something else."""


def load(
    path: str | Path,
    overrides: Iterable[str] = (),
    *,
    needs_env: bool = True,
    trust: bool = True,
    lacking: Mapping[str, Any] | None = None,
) -> RunConfig:
    """Read and check a config file.

    Args:
        path: the file; variables of a ``.env`` file beside it are set first, if they are not set.
        overrides: values that win over the file's, as ``match.threshold=0.4``.
        needs_env: whether an environment variable that is not set is a mistake; without, it is
            read as its own name, which is enough to look at a finished run.
        trust: whether its author's code may run. Without, the config is data: nothing is imported,
            no ``.env`` is read, variables stay as they stand, and what only code can tell (import
            paths, matchers, gates) is not checked.
        lacking: what stands for the parts that the file does not have, where a command needs none.

    ``${here}`` stands for the config file's folder and ``${NAME}`` for an environment variable,
    anywhere in a value. In a retriever's ``args`` variables stay as they are until the retriever
    is made, so that a secret is never written into a result.

    Raises:
        DataError: the file cannot be read.
        ConfigError: it is not YAML, or holds mistakes; all of them are listed, each with its path.
    """
    try:
        text, file = read_text(path), Path(path).resolve()
    except DataError as error:
        if Path(path).exists():
            raise
        raise DataError(
            error.problem, path=str(path), remedy="kragx init writes a config to start from"
        ) from None
    if trust:
        load_env(file.parent)
    return parse_config(
        text,
        str(path),
        file.parent,
        overrides,
        needs_env=needs_env,
        file=file,
        trust=trust,
        lacking=lacking,
    )


def load_dataset_config(path: str | Path, lacking: Mapping[str, Any] | None = None) -> GoldSource:
    """The ``dataset`` of a config file, read as data: no ``.env`` is read, no variable put in.

    Args:
        path: the file.
        lacking: as of `load`.

    Raises:
        DataError: the file cannot be read.
        ConfigError: it is not YAML, or holds mistakes.
    """
    dataset = load(path, trust=False, lacking=lacking).dataset
    for name, source in {"path": dataset.path, "corpus": dataset.corpus}.items():
        place = None if source is None else Path(source)
        if place is not None and place.exists() and not (place.is_file() or place.is_dir()):
            # A pipe or a device, at which a reader may wait for ever.
            raise DataError("no plain file", path=str(source), field=f"dataset.{name}")
    return dataset


def _mapping(text: str, name: str) -> dict[str, Any]:
    try:
        raw = yaml.load(text, Loader=Loader)
    except yaml.YAMLError as error:
        raise ConfigError(name, [yaml_problem(error)]) from None
    if not isinstance(raw, dict):
        problem = message("a mapping with 'dataset' and 'retrievers' is expected")
        raise ConfigError(
            name, [joined("; ", [problem, message("kragx init writes a config to start from")])]
        )
    return raw


def _completed(raw: Mapping[str, Any], lacking: Mapping[str, Any] | None) -> dict[str, Any]:
    """A config with what it lacks; of ``dataset`` each part by itself."""
    whole = {**(lacking or {}), **raw}
    if lacking and isinstance(dataset := whole.get("dataset"), dict):
        whole["dataset"] = {**lacking["dataset"], **dataset}
    return whole


def parse_config(
    text: str,
    name: str,
    folder: Path,
    overrides: Iterable[str] = (),
    *,
    needs_env: bool = True,
    file: Path | None = None,
    trust: bool = True,
    lacking: Mapping[str, Any] | None = None,
) -> RunConfig:
    """`load` for a text; `name` stands for the file in messages, `folder` for its folder."""
    raw = _mapping(text, name)
    unset: list[UsageError] = []
    raw = _completed(override(raw, overrides), lacking)
    secrets = Secrets.of(raw) if trust else Secrets()
    must_be_set = needs_env and trust
    # What is not set is said, and stays as it is written: empty texts would break other rules.
    raw = fill(raw, folder, "", unset, late=not trust, keep=must_be_set)
    # Before `semantic`, which makes matchers and judges of these specs to check them.
    specs = [*match_specs(raw).values(), raw.get("facts_match"), raw.get("relevance_match")]
    for judge in named_in([{"judge": raw.get("judge")}, *specs], "judge", dict):
        judge.update(_judge_paths(judge, raw.get("dataset"), folder))
    # Both kinds of mistakes are collected, and only then said: mending one by one takes long.
    problems = [*map(str, [*(unset if must_be_set else ()), *semantic(raw, trust=trust)])]
    try:
        context = {"here": folder, "file": file, "secrets": secrets}
        config = RunConfig.model_validate(raw, context=context)
    except ValidationError as error:
        raise ConfigError(name, secrets.masked([*readable(error, raw), *problems])) from None
    if problems := problems or (list(of_whole(config)) if trust else []):
        raise ConfigError(name, secrets.masked(problems))
    if must_be_set and secrets.literal:
        _warn_of_literals(name, secrets)
    return config


def _warn_of_literals(name: str, secrets: Secrets) -> None:
    text = message(
        "{config}: {fields}: a secret in so many letters; write ${{NAME}} instead and set the "
        "variable, in the environment or in a .env file beside the config",
        config=name,
        fields=", ".join(secrets.literal),
    )
    warn(text, ConfigWarning)


def _judge_paths(judge: Mapping[str, Any], dataset: Any, folder: Path) -> dict[str, Any]:
    """The paths that a judge names, from the config's folder on."""
    texts = {name: judge.get(name) for name in ("store", "rubric")}
    paths: dict[str, Any] = {
        name: str(anchored(text, folder))
        for name, text in texts.items()
        if isinstance(text, str) and not is_url(text)
    }
    if judge.get("examples"):
        paths["examples"] = _examples(judge["examples"], dataset, folder)
    return paths


def _examples(options: Any, dataset: Any, folder: Path) -> Any:
    """Examples with paths from the config's folder on; texts that they lack are the dataset's."""
    if isinstance(options, str):
        options = {"labels": options}
    if not isinstance(options, dict):
        return options
    dataset_config = dataset if isinstance(dataset, dict) else {"path": dataset}
    # The reader of examples takes no format and no columns.
    if not dataset_config.keys() & {"format", "columns", "encoding"}:
        texts = {"dataset": dataset_config.get("path"), "corpus": dataset_config.get("corpus")}
        options = {name: path for name, path in texts.items() if path is not None} | options
    paths = {"labels", "dataset", "corpus"}
    return {
        key: _anchor_paths(folder, value) if key in paths else value
        for key, value in options.items()
    }


def _anchor_paths(folder: Path, value: Any) -> Any:
    if isinstance(value, list):
        return [_anchor_paths(folder, entry) for entry in value]
    return str(anchored(value, folder)) if isinstance(value, str) else value


def match_spec(text: str | None, option: str = "--match") -> object:
    """What ``--match`` means: a method, a mapping as in YAML, or a file with ``match:``.

    Args:
        text: what stands behind the option; None if it is not given.
        option: its name in errors.

    Raises:
        UsageError: it is none of these, or a variable in it is not set.
    """
    is_file = (text or "").endswith((".yaml", ".yml"))
    if text is None or not (is_file or text.strip().startswith("{")):
        return text
    try:
        spec = yaml.load(read_text(text) if is_file else text, Loader=Loader)
        spec = spec["match"] if is_file else spec
    except (DataError, yaml.YAMLError, LookupError, TypeError) as error:
        raise UsageError(
            "{option} {text}: not a mapping as in YAML, nor a file with 'match:': {error}",
            option=option,
            text=text,
            error=error,
        ) from None
    unset: list[UsageError] = []
    fill(spec, Path(), option, unset)
    if unset:
        raise unset[0]
    return filled(spec)


def check_whole(config: RunConfig) -> None:
    """Check what `load` has left out of a config that was read as data.

    Raises:
        ConfigError: there are mistakes.
        UntrustedError: a metric is code.
    """
    if problems := list(of_whole(config)):
        raise ConfigError("config.yaml", problems)


def with_earlier(config: RunConfig, earlier: Path) -> RunConfig:
    """The config with other earlier results; a relative path starts at the current folder."""
    return config.model_copy(update={"earlier": earlier.absolute()})


def with_gates(config: RunConfig, gates: Mapping[str, Any]) -> RunConfig:
    """The config with other gates.

    Raises:
        ConfigError: they hold mistakes.
    """
    changed = config.model_copy(update={"gates": dict(gates)})
    if problems := of_gates(changed):
        raise ConfigError("gates", problems)
    return changed
