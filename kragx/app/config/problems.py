"""What is wrong with a config: every mistake with its YAML path and the remedy."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from kragx.app.config.models import RunConfig
from kragx.app.config.values import filled
from kragx.comparison import gate_problems, parse_gates
from kragx.comparison.tuning import GRID, has_grid, spread
from kragx.data import tokenizer
from kragx.evaluation.evidence import FACTS_HAVE_NO_IDS
from kragx.ground.errors import KragxError, UsageError, nearest
from kragx.ground.printing import joined, message
from kragx.matchers import matcher, method_class
from kragx.metrics import KRAGX, Profile, name_among, parse, profile_for


def semantic(raw: Mapping[str, Any], *, trust: bool = True) -> Iterator[KragxError]:
    """What only kragx itself can check: names, profile, metric strings, match specs.

    Args:
        raw: the config.
        trust: without it nothing is imported or made, and what needs that is not checked.
    """
    baseline, retrievers = raw.get("baseline"), raw.get("retrievers")
    if isinstance(baseline, str) and isinstance(retrievers, dict):
        names = list(map(str, retrievers))
        args = (entry.get("args") for entry in retrievers.values() if isinstance(entry, dict))
        # The names of a grid's settings `RunConfig` knows.
        if baseline not in names and not any(map(has_grid, args)):
            yield UsageError(
                "{name!r} is no retriever",
                field="baseline",
                remedy=nearest(baseline, names),
                name=baseline,
            )
    specs = {**match_specs(raw)}
    for path, spec in specs.items():
        if has_grid(spec):
            yield from (error.within(path) for error in _mistakes(spread, spec, ""))
    for name in ("facts_match", "relevance_match"):
        specs[name] = raw.get(name)
        if has_grid(specs[name]):
            yield UsageError(
                "a grid stands under 'match' or one of 'matchers' alone", field=f"{name}.{GRID}"
            )
    listed = raw.get("metrics")
    listed = listed if isinstance(listed, list) else [listed]
    metrics = {number: text for number, text in enumerate(listed) if isinstance(text, str)}
    profile = KRAGX
    try:
        profile = profile_for(raw.get("profile"), metrics.values())
    except UsageError as error:
        yield error
    if trust:
        yield from _made(raw, specs, metrics, profile)


def _made(
    raw: Mapping[str, Any],
    specs: Mapping[str, Any],
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
    for path, spec in specs.items():
        settings = [] if spec is None else [spec]
        if has_grid(spec):
            # A grid that is wrong itself has been said to be.
            settings = []
            with suppress(UsageError):
                settings = [setting for _, setting in spread(spec, "")]
        errors: dict[str, KragxError] = {}
        for setting in settings:
            errors |= _match_problems(path, filled(setting, keep=True), defaults)
        yield from errors.values()


def match_specs(raw: Mapping[str, Any]) -> dict[str, Any]:
    """The specs of the matchers that decide, by where they stand."""
    named = raw.get("matchers")
    of_names = named.items() if isinstance(named, dict) else ()
    return {"match": raw.get("match"), **{f"matchers.{name}": spec for name, spec in of_names}}


def _mistakes(read: Callable[..., object], *args: Any, **options: Any) -> list[KragxError]:
    """What is wrong with what `read` reads, if anything is."""
    try:
        read(*args, **options)
    except KragxError as error:
        return [error]
    return []


def _match_problems(path: str, spec: Any, defaults: Mapping[str, Any]) -> Mapping[str, KragxError]:
    """Every mistake in a match spec, by what it says; each option is tried by itself."""
    tries: list[Any] = [spec]
    needs: tuple[str, ...] = ()
    # What somebody's own matcher needs is not known: it is made whole.
    method = spec.get("method") if isinstance(spec, dict) else None
    if isinstance(spec, dict) and isinstance(method, str) and ":" not in method:
        needs = method_class(method).needs
        # A judge of its own, or none would be named.
        always = ("method", "args", *needs) if needs else ("method", "judge")
        base = {key: spec[key] for key in spec if key in always}
        # So that none hides another.
        tries = [base, *({**base, key: spec[key]} for key in spec if key not in base), spec]
    errors: dict[str, KragxError] = {}
    for attempt in tries:
        errors |= {
            str(mistake): mistake for mistake in _mistakes(matcher, attempt, defaults, field=path)
        }
        if errors and not needs and attempt is tries[0]:
            break  # with an unknown method nothing more can be said
    return errors


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
