"""What is wrong with a config: every mistake with its YAML path and the remedy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel, ValidationError

from kragx.app.config.models import (
    CallbackConfig,
    DatasetConfig,
    HtmlConfig,
    RetrieverConfig,
    RunConfig,
    StatisticsConfig,
)
from kragx.app.config.values import filled
from kragx.comparison import gate_problems, parse_gates
from kragx.data.tokenizers import tokenizer
from kragx.errors import KragxError, UsageError, nearest
from kragx.evaluation.facts import FACTS_HAVE_NO_IDS
from kragx.matchers import METHODS, label, matcher, needed
from kragx.metrics import KRAGX, profile_for
from kragx.metrics.measures import parse, parse_lists


def readable(error: ValidationError, raw: Any) -> Iterator[str]:
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


def semantic(raw: Mapping[str, Any]) -> Iterator[str]:
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


def of_gates(config: RunConfig) -> list[str]:
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


def of_facts(config: RunConfig) -> list[str]:
    """What is wrong with how facts are matched, known before anything is retrieved."""
    measured = parse_lists(config.metrics, config.chosen_profile)[1]
    if all(each.name != "context_completeness" for each in measured):
        return []
    named = config.named_matchers.values() if config.facts_match is None else [config.facts_match]
    methods = (each.get("method") if isinstance(each, dict) else each for each in named)
    return [f"facts_match: {FACTS_HAVE_NO_IDS}"] if "id" in methods else []


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
