"""From a config file to a checked `RunConfig`."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from kragx.app.config.models import BESIDE, KEYS, RunConfig
from kragx.app.config.sections import anchored
from kragx.app.config.values import fill, filled, override
from kragx.app.environment import load_env
from kragx.comparison import gate_problems, parse_gates
from kragx.comparison.tuning import GRID, has_grid, spread
from kragx.data import tokenizer
from kragx.data.formats.jsonl import read_text
from kragx.data.gold_source import GoldSource
from kragx.data.yaml_text import Loader, yaml_problem
from kragx.evaluation.evidence import FACTS_HAVE_NO_IDS
from kragx.ground.caller_warnings import warn
from kragx.ground.errors import ConfigError, DataError, KragxError, UsageError, nearest
from kragx.ground.options import made_of, mistakes_of
from kragx.ground.printing import joined, message
from kragx.ground.secrets import Secrets
from kragx.judging.store import is_url
from kragx.matchers import matcher
from kragx.metrics import KRAGX, Profile, name_among, parse, profile_for


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
    raw, name, file = _mapping(path), str(path), Path(path).resolve()
    folder = file.parent
    if trust:
        load_env(folder)
    unset: list[UsageError] = []
    raw = {**(lacking or {}), **override(raw, overrides)}
    if lacking and isinstance(raw["dataset"], dict):
        raw["dataset"] = {**lacking["dataset"], **raw["dataset"]}
    secrets = Secrets.of(raw) if trust else Secrets()
    must_be_set = needs_env and trust
    # What is not set is said, and stays as it is written: empty texts would break other rules.
    raw = fill(raw, folder, "", unset, late=not trust, keep=must_be_set)
    # Before `semantic`, which makes matchers and judges of these specs to check them.
    if isinstance(model := raw.get("judge"), str):
        raw["judge"] = {"model": model}
    for judge in _judges_in([{"judge": raw.get("judge")}, *_match_specs(raw).values()]):
        judge.update(_with_paths(judge, raw.get("dataset"), folder))
    # Both kinds of mistakes are collected, and only then said: mending one by one takes long.
    problems = [*map(str, [*(unset if must_be_set else ()), *semantic(raw, trust=trust)])]
    try:
        # What stands empty is the default, if there is something of that name.
        said = {k: v for k, v in raw.items() if v is not None or k not in KEYS}
        config = made_of(RunConfig, said, BESIDE).placed(folder, file, secrets)
    except KragxError as error:
        mistakes = map(str, mistakes_of(error))
        raise ConfigError(name, secrets.masked([*mistakes, *problems])) from None
    if problems := problems or (list(of_whole(config)) if trust else []):
        raise ConfigError(name, secrets.masked(problems))
    if must_be_set and secrets.literal:
        text = message(
            "{config}: {fields}: a secret in so many letters; write ${{NAME}} instead and set the "
            "variable, in the environment or in a .env file beside the config",
            config=name,
            fields=", ".join(secrets.literal),
        )
        warn(text, ConfigWarning)
    return config


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


def _mapping(path: str | Path) -> dict[str, Any]:
    """What stands in a config file."""
    start = message("kragx init writes a config to start from")
    try:
        raw = yaml.load(read_text(path), Loader=Loader)
    except DataError as error:
        if Path(path).exists():
            raise
        raise DataError(error.problem, path=str(path), remedy=start) from None
    except yaml.YAMLError as error:
        raise ConfigError(str(path), [yaml_problem(error)]) from None
    if not isinstance(raw, dict):
        problem = message("a mapping with 'dataset' and 'retrievers' is expected")
        raise ConfigError(str(path), [joined("; ", [problem, start])])
    return raw


def _judges_in(spec: Any) -> Iterator[dict[str, Any]]:
    """The judges that match specs name, members of combinations too."""
    if isinstance(spec, dict) and isinstance(judge := spec.get("judge"), dict):
        yield judge
    elif isinstance(spec, (dict, list)):
        for part in spec.values() if isinstance(spec, dict) else spec:
            yield from _judges_in(part)


def _with_paths(judge: Mapping[str, Any], dataset: Any, folder: Path) -> dict[str, Any]:
    """A judge with paths from the config's folder on; texts of examples are the dataset's."""
    examples = judge.get("examples")
    if isinstance(examples, str):
        examples = {"labels": examples}
    if isinstance(examples, dict):
        source = dataset if isinstance(dataset, dict) else {"path": dataset}
        # The reader of examples takes no format and no columns.
        if not source.keys() & {"format", "columns", "encoding"}:
            texts = {"dataset": source.get("path"), "corpus": source.get("corpus")}
            examples = {name: path for name, path in texts.items() if path is not None} | examples
        examples = _anchored(examples, ("labels", "dataset", "corpus"), folder)
    paths = [name for name in ("store", "rubric") if not is_url(str(judge.get(name)))]
    return {**_anchored(judge, paths, folder), **({"examples": examples} if examples else {})}


def _anchored(options: Mapping[str, Any], names: Collection[str], folder: Path) -> dict[str, Any]:
    """Options with the paths under some names, or lists of paths, from the config's folder on."""

    def anchor(value: Any) -> Any:
        if isinstance(value, list):
            return [*map(anchor, value)]
        return str(anchored(value, folder)) if isinstance(value, str) else value

    return {name: anchor(value) if name in names else value for name, value in options.items()}


def match_spec(text: str | None) -> object:
    """What ``--match`` means: a method, a mapping as in YAML, or a file with ``match:``.

    Args:
        text: what stands behind the option; None if it is not given.

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
            "--match {text}: not a mapping as in YAML, nor a file with 'match:': {error}",
            text=text,
            error=error,
        ) from None
    unset: list[UsageError] = []
    fill(spec, Path(), "--match", unset)
    if unset:
        raise unset[0]
    return filled(spec)


def with_gates(config: RunConfig, gates: Mapping[str, Any]) -> RunConfig:
    """The config with other gates.

    Raises:
        ConfigError: they hold mistakes.
    """
    changed = replace(config, gates=dict(gates))
    if problems := of_gates(changed):
        raise ConfigError("gates", problems)
    return changed


# -- what is wrong ----------------------------------------------------------------------------


def semantic(raw: Mapping[str, Any], *, trust: bool = True) -> Iterator[KragxError]:
    """What only kragx itself can check: profile, metric strings, match specs.

    Args:
        raw: the config.
        trust: without it nothing is imported or made, and what needs that is not checked.
    """
    settings: dict[str, list[Any]] = {}
    for path, spec in _match_specs(raw).items():
        settings[path] = [] if spec is None or has_grid(spec) else [spec]
        if has_grid(spec) and path in _NO_GRID:
            yield UsageError(
                "a grid stands under 'match' or one of 'matchers' alone", field=f"{path}.{GRID}"
            )
        elif has_grid(spec):
            try:
                settings[path] = [setting for _, setting in spread(spec, "")]
            except UsageError as error:
                yield from (mistake.within(path) for mistake in mistakes_of(error))
    listed = raw.get("metrics")
    listed = listed if isinstance(listed, list) else [listed]
    metrics = {number: text for number, text in enumerate(listed) if isinstance(text, str)}
    profile = KRAGX
    try:
        profile = profile_for(raw.get("profile"), metrics.values())
    except UsageError as error:
        yield error
    if trust:
        yield from _made(raw, settings, metrics, profile)


def _made(
    raw: Mapping[str, Any],
    settings: Mapping[str, list[Any]],
    metrics: Mapping[int, str],
    profile: Profile,
) -> Iterator[KragxError]:
    """What shows when metrics, tokenizer, judge and matchers are made."""
    for number, text in metrics.items():
        for mistake in _mistakes(parse, text, profile):
            yield UsageError(str(mistake), field=f"metrics[{number}]")
    if (spec := raw.get("budget_tokenizer")) is not None:
        yield from _mistakes(tokenizer, spec, field="budget_tokenizer")
    defaults: dict[str, Any] = {}
    if isinstance(raw.get("judge"), dict):
        from kragx.judging import read_judge

        try:
            defaults["judge"] = read_judge(filled(raw["judge"], keep=True))
        except KragxError as error:
            yield error
            return  # without a judge every 'llm' would complain once more
    for path, of_path in settings.items():
        errors = {
            str(mistake): mistake
            for setting in of_path
            for mistake in _mistakes(matcher, filled(setting, keep=True), defaults, field=path)
        }
        yield from errors.values()


_NO_GRID = ("facts_match", "relevance_match")


def _match_specs(raw: Mapping[str, Any]) -> dict[str, Any]:
    """The specs of matchers, by where they stand."""
    named = raw.get("matchers")
    of_names = named.items() if isinstance(named, dict) else ()
    specs = {name: raw.get(name) for name in ("match", *_NO_GRID)}
    return specs | {f"matchers.{name}": spec for name, spec in of_names}


def _mistakes(read: Callable[..., object], *args: Any, **options: Any) -> list[KragxError]:
    """What is wrong with what `read` reads, if anything is."""
    try:
        read(*args, **options)
    except KragxError as error:
        return mistakes_of(error)
    return []


def of_whole(config: RunConfig) -> Iterator[str]:
    """What is wrong between the parts of a config each of which is right: facts and gates."""
    named = config.named_matchers.values() if config.facts_match is None else [config.facts_match]
    methods = (spec.get("method") if isinstance(spec, dict) else spec for spec in named)
    if "id" in methods and any(spec.metric.reads_facts for spec in config.specs):
        yield joined(": ", ["facts_match", FACTS_HAVE_NO_IDS])  # known before anything is retrieved
    n_matchers, limit = len(config.named_matchers), config.tuning.max_settings
    if n_matchers > limit and any(setting.values for setting, _ in config.matcher_settings):
        yield message(
            "match: the grid makes {n} settings, more than max_settings ({limit}); leave values "
            "out, or raise tuning.max_settings",
            n=n_matchers,
            limit=limit,
        )
    if (text := config.tuning.metric) is not None:
        problems = _of_tuning_metric(config, text)
        yield from (joined(": ", ["tuning.metric", problem]) for problem in problems)
    yield from of_gates(config)


def _of_tuning_metric(config: RunConfig, text: str) -> Iterator[str]:
    """What is wrong with the metric by which settings are compared."""
    if mistakes := _mistakes(parse, text, config.resolved_profile):
        yield from map(str, mistakes)
        return
    spec = parse(text, config.resolved_profile)
    name = name_among(spec, config.metric_names)
    if name not in config.metric_names:
        hint = nearest(name, config.metric_names)
        yield message("{text!r} is none of metrics; {hint}", text=text, hint=hint)
    elif spec.metric.better == "neither" or not spec.metric.is_mean:
        yield message("{text!r} has no value of each question that is better or worse", text=text)


def of_gates(config: RunConfig) -> list[str]:
    """What is wrong with the gates of a config that is right in all else."""
    problems: list[str] = []
    gates = parse_gates(
        config.gates or {}, problems, config.resolved_profile, metrics=config.metric_names
    )
    problems += gate_problems(
        gates,
        metrics=config.metric_names,
        retrievers=config.asked,
        matchers=config.named_matchers,
        slices=config.slices or (),
        baseline=config.baseline,
    )
    return list(dict.fromkeys(problems))  # a list of conditions may lack the same thing each
