"""What is wrong with a config: every mistake with its YAML path and the remedy."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from kragx.app.config.models import RunConfig
from kragx.app.config.values import filled
from kragx.comparison import gate_problems, parse_gates
from kragx.data import tokenizer
from kragx.errors import KragxError, UsageError, nearest
from kragx.evaluation.evidence import FACTS_HAVE_NO_IDS
from kragx.matchers import matcher, method_class
from kragx.metrics import KRAGX, parse, parse_all, profile_for


def readable(error: ValidationError, raw: Any) -> Iterator[str]:
    """Pydantic's errors with the paths of the YAML."""
    for detail in error.errors():
        kind, loc, value = detail["type"], detail["loc"], detail["input"]
        path = _path(loc, raw)
        if kind == "extra_forbidden":
            yield f"{path}: unknown key; {value}"  # the models put a hint there
        elif kind == "missing":
            yield f"{path}.{loc[-1]}: missing; it is required".lstrip(".")
        elif kind == "value_error":
            yield f"{path or 'config'}: {detail['ctx']['error']}"
        elif not isinstance(value, dict) or path != _path(loc[:-1], raw):
            message = _WORDS.get(kind, detail["msg"])
            shown = "" if isinstance(value, (dict, list)) else f" ({value!r})"
            yield f"{path or 'config'}: {message[0].lower()}{message[1:]}{shown}"
        # Else a mapping, tried as the short form (html: true); the long one says what is wrong.


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


def semantic(raw: Mapping[str, Any], *, trust: bool = True) -> Iterator[str]:
    """What only kragx itself can check: names, profile, metric strings, match specs.

    Without `trust` nothing is imported or made, and what needs that is not checked.
    """
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
        profile = profile_for(raw.get("profile"), metrics.values())
    except UsageError as error:
        yield str(error)
    if not trust:
        return
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
    specs = {name: raw.get(name) for name in ("match", "facts_match", "relevance_match")}
    if isinstance(raw.get("matchers"), dict):
        specs |= {f"matchers.{name}": spec for name, spec in raw["matchers"].items()}
    for where, spec in specs.items():
        if spec is not None:
            yield from _match_problems(where, filled(spec), defaults)


def _mistakes(read: Callable[..., object], *args: Any, **options: Any) -> list[str]:
    """What is wrong with what `read` reads, if anything is."""
    try:
        read(*args, **options)
    except KragxError as error:
        return [str(error)]
    return []


def _match_problems(where: str, spec: Any, defaults: Mapping[str, Any]) -> Iterable[str]:
    """Every mistake in a match spec; each option is tried by itself, so that none hides another."""
    tries: list[Any] = [spec]
    needs: tuple[str, ...] = ()
    # What somebody's own matcher needs is not known: it is made whole.
    method = spec.get("method") if isinstance(spec, dict) else None
    if isinstance(spec, dict) and isinstance(method, str) and ":" not in method:
        needs = method_class(method).needs
        always = ("method", "args", *needs) if needs else ("method",)
        base = {key: spec[key] for key in spec if key in always}
        tries = [base, *({**base, key: spec[key]} for key in spec if key not in base), spec]
    problems: dict[str, None] = {}
    for attempt in tries:
        problems |= dict.fromkeys(_mistakes(matcher, attempt, defaults, field=where))
        if problems and not needs and attempt is tries[0]:
            break  # with an unknown method nothing more can be said
    return problems


def of_whole(config: RunConfig) -> Iterator[str]:
    """What is wrong between the parts of a config each of which is right: facts and gates."""
    named = config.named_matchers.values() if config.facts_match is None else [config.facts_match]
    methods = (spec.get("method") if isinstance(spec, dict) else spec for spec in named)
    metrics = parse_all(config.metrics, config.resolved_profile)
    if "id" in methods and any(spec.metric.reads_facts for spec in metrics):
        yield f"facts_match: {FACTS_HAVE_NO_IDS}"  # known before anything is retrieved
    yield from of_gates(config)


def of_gates(config: RunConfig) -> list[str]:
    """What is wrong with the gates of a config that is right in all else."""
    problems: list[str] = []
    gates = parse_gates(config.gates or {}, problems, config.resolved_profile)
    problems += gate_problems(
        gates,
        metrics=config.metric_names,
        retrievers=config.retrievers,
        matchers=config.named_matchers,
        slices=config.slices or (),
        baseline=config.baseline,
    )
    return list(dict.fromkeys(problems))  # a list of conditions may lack the same thing each
