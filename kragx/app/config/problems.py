"""What is wrong with a config: every mistake with its YAML path and the remedy."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import UnionType
from typing import Any, Union, get_args, get_origin

from pydantic import ValidationError

from kragx.app.config.models import RunConfig
from kragx.app.config.values import filled
from kragx.comparison import gate_problems, parse_gates
from kragx.data import tokenizer
from kragx.errors import KragxError, UsageError, nearest
from kragx.evaluation.evidence import FACTS_HAVE_NO_IDS
from kragx.matchers import METHODS, label, matcher, needed
from kragx.metrics import KRAGX, parse, parse_all, profile_for


def readable(error: ValidationError, raw: Any) -> Iterator[str]:
    """Pydantic's errors with the paths of the YAML; unknown keys with the nearest valid one."""
    for detail in error.errors():
        kind, loc, value = detail["type"], detail["loc"], detail["input"]
        path = _path(loc, raw)
        if kind == "extra_forbidden":
            valid = _valid_keys(loc[:-1])
            yield f"{path}: unknown key; {nearest(str(loc[-1]), valid)}"
        elif kind == "missing":
            yield f"{path}.{loc[-1]}: missing; it is required".lstrip(".")
        elif kind == "value_error":
            yield f"{path or 'config'}: {detail['ctx']['error']}"
        elif isinstance(value, dict) and path == _path(loc[:-1], raw):
            pass  # a mapping, tried as the short form (html: true); the long one says what is wrong
        else:
            message = _WORDS.get(kind, detail["msg"])
            shown = "" if isinstance(value, (dict, list)) else f" ({value!r})"
            yield f"{path or 'config'}: {message[0].lower()}{message[1:]}{shown}"


_WORDS = {
    "too_short": "is empty; give at least one",
    "dict_type": "a mapping is expected",
    "model_type": "a mapping is expected",
    "list_type": "a list is expected",
    "string_type": "a text is expected",
    "path_type": "a path is expected",
}


def _path(loc: Sequence[int | str], raw: Any) -> str:
    """Where an error is in the YAML: pydantic also names the forms of a value that it tried."""
    path = ""
    for part in loc:
        if isinstance(raw, list) and isinstance(part, int):
            path, raw = f"{path}[{part}]", raw[part]
        elif isinstance(raw, dict):
            named = {str(key): value for key, value in raw.items()}
            if part in named:
                path, raw = f"{path}.{part}", named[part]
    return path.lstrip(".")


def _valid_keys(loc: Sequence[int | str]) -> list[str]:
    """The keys that the models have at a place."""
    kind: Any = RunConfig
    for part in loc:
        kind = _inside(kind, part)
    return [
        field.alias or name
        for model in _members(kind)
        if hasattr(model, "model_fields")
        for name, field in model.model_fields.items()
    ]


def _inside(kind: Any, part: int | str) -> Any:
    """The type of a part of a value; of a form that pydantic tried, the type itself."""
    for member in _members(kind):
        if get_origin(member) in (dict, list):
            return get_args(member)[-1]
        for name, field in getattr(member, "model_fields", {}).items():
            if part in (name, field.alias):
                return field.annotation
    return kind


def _members(kind: Any) -> Sequence[Any]:
    return get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)


def semantic(raw: Mapping[str, Any]) -> Iterator[str]:
    """What only kragx itself can check: names, profile, metric strings, match specs."""
    baseline, retrievers = raw.get("baseline"), raw.get("retrievers")
    if isinstance(baseline, str) and isinstance(retrievers, dict):
        names = list(map(str, retrievers))
        if baseline not in names:
            yield f"baseline: {baseline!r} is no retriever; {nearest(baseline, names)}"
    listed = raw.get("metrics")
    listed = listed if isinstance(listed, list) else [listed]
    metrics = {number: text for number, text in enumerate(listed) if isinstance(text, str)}
    profile = KRAGX
    try:
        profile = profile_for(raw.get("profile"), list(metrics.values()))
    except UsageError as error:
        yield str(error)
    for number, text in metrics.items():
        yield from (f"metrics[{number}]: {line}" for line in _mistakes(parse, text, profile))
    if (spec := raw.get("budget_tokenizer")) is not None:
        yield from _mistakes(tokenizer, spec, field="budget_tokenizer")
    defaults: dict[str, Any] = {}
    if isinstance(raw.get("judge"), dict):
        from kragx.judging import read_judge

        try:
            defaults["judge"] = read_judge(filled(raw["judge"]))
        except KragxError as error:
            yield str(error)
            return  # without a judge every 'llm' would complain once more
    specs = {"match": raw.get("match"), "facts_match": raw.get("facts_match")}
    if isinstance(raw.get("matchers"), dict):
        specs |= {f"matchers.{name}": spec for name, spec in raw["matchers"].items()}
    for where, spec in specs.items():
        if spec is not None:
            yield from _match_problems(where, spec, defaults)


def _mistakes(read: Callable[..., object], *args: Any, **options: Any) -> list[str]:
    """What is wrong with what `read` reads, if anything is."""
    try:
        read(*args, **options)
    except KragxError as error:
        return [str(error)]
    return []


def of_gates(config: RunConfig) -> list[str]:
    """What is wrong with the gates of a config that is right in all else."""
    problems: list[str] = []
    gates = parse_gates(config.gates or {}, problems, config.resolved_profile)
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
    metrics = parse_all(config.metrics, config.resolved_profile)
    if not any(spec.metric.reads_facts for spec in metrics):
        return []
    named = config.named_matchers.values() if config.facts_match is None else [config.facts_match]
    methods = (spec.get("method") if isinstance(spec, dict) else spec for spec in named)
    return [f"facts_match: {FACTS_HAVE_NO_IDS}"] if "id" in methods else []


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
    lines: set[str] = set()
    for attempt in tries:
        try:
            matcher(attempt, defaults, field=where)
        except KragxError as error:
            line = str(error)
            if line not in lines:
                yield line
            lines.add(line)
            if attempt is tries[0] and not needs:
                return  # with an unknown method nothing more can be said
