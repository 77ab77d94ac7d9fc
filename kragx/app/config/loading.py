"""From a config file to a checked `RunConfig`."""

import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from kragx.app.config.models import RunConfig, anchored
from kragx.app.config.problems import of_gates, of_whole, readable, semantic
from kragx.app.config.values import fill, filled, override
from kragx.app.environment import load_env
from kragx.app.secrets import Secrets
from kragx.data.yaml_text import Loader, yaml_problem
from kragx.errors import ConfigError, DataError, UsageError

FORMER = {("statistics", "correction"): {"holm": "family"}}
"""Values of earlier versions, in configs and in result folders, and those that took their place."""


class ConfigWarning(UserWarning):
    """Something in a config is read as something else."""


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
    file = Path(path).resolve()
    load_env(file.parent)
    return parse_config(text, str(path), file.parent, overrides, needs_env=needs_env, file=file)


def parse_config(
    text: str,
    name: str,
    here: Path,
    overrides: Iterable[str] = (),
    *,
    needs_env: bool = True,
    file: Path | None = None,
) -> RunConfig:
    """`load` for a text; `name` stands for the file in messages, `here` for its folder."""
    try:
        raw = yaml.load(text, Loader=Loader)
    except yaml.YAMLError as error:
        raise ConfigError(name, [yaml_problem(error)]) from None
    if not isinstance(raw, dict):
        raise ConfigError(name, ["a mapping with 'dataset' and 'retrievers' is expected"])
    unset: list[str] = []
    raw = override(raw, overrides)
    secrets = Secrets.of(raw)
    raw = _renewed(fill(raw, here, "", unset), name)
    if isinstance(judge := raw.get("judge"), dict):
        for key in ("store", "rubric"):
            if isinstance(judge.get(key), str):
                judge[key] = str(anchored(judge[key], here))
    problems = [*(unset if needs_env else []), *semantic(raw)]
    try:
        context = {"here": here, "file": file, "secrets": secrets}
        config = RunConfig.model_validate(raw, context=context)
    except ValidationError as error:
        raise ConfigError(name, secrets.masked([*readable(error, raw), *problems])) from None
    if problems := problems or list(of_whole(config)):
        raise ConfigError(name, secrets.masked(problems))
    if needs_env and secrets.literal:
        text = (
            f"{name}: {', '.join(secrets.literal)}: a secret in so many letters; write ${{NAME}} "
            "instead and set the variable, in the environment or in a .env file beside the config"
        )
        warnings.warn(text, ConfigWarning, stacklevel=3)
    return config


def _renewed(raw: dict[str, Any], name: str) -> dict[str, Any]:
    """The config with `FORMER` values replaced, which a warning counts and names."""
    told = []
    for (section, key), now in FORMER.items():
        options = raw.get(section)
        if not isinstance(options, dict):
            continue
        value = options.get(key)
        if isinstance(value, str) and value in now:
            raw = {**raw, section: {**options, key: now[value]}}
            told.append(f"{section}.{key}: {value!r} as {now[value]!r}")
    if told:
        values = "1 value" if len(told) == 1 else f"{len(told)} values"
        text = f"{name}: {values} of an earlier version read anew: {', '.join(told)}"
        warnings.warn(text, ConfigWarning, stacklevel=4)
    return raw


def match_spec(text: str | None, option: str = "--match") -> object:
    """What ``--match`` means: a method, a mapping as in YAML, or a file with ``match:``.

    Args:
        text: what stands behind the option; None if it is not given.
        option: its name in errors.

    Raises:
        UsageError: the file cannot be read, or it is none of these.
    """
    if text is None:
        return None
    text = text.strip()
    is_file = text.endswith((".yaml", ".yml"))
    if not is_file and not text.startswith("{"):
        return text
    try:
        source = Path(text).read_text(encoding="utf-8-sig") if is_file else text
        spec = yaml.load(source, Loader=Loader)
    except OSError as error:
        raise UsageError(f"{option} {text}: cannot be read: {error.strerror}") from None
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        expected = "YAML" if is_file else "a mapping as in YAML"
        raise UsageError(f"{option} {text}: not {expected}: {error}") from None
    if is_file:
        if not isinstance(spec, dict) or "match" not in spec:
            raise UsageError(f"{option} {text}: the file has no 'match:'")
        spec = spec["match"]
    return filled(spec)


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
