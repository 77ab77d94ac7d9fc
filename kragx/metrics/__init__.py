"""Metrics: from a match table to numbers. They see arrays only: no text, file or config."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields

from kragx.errors import UsageError, nearest
from kragx.metrics.definitions import Metric
from kragx.metrics.profiles import KRAGX, PROFILES, Profile, profile
from kragx.metrics.ranking import MAP, MRR, NDCG
from kragx.metrics.sets import F1, HIT_RATE, PRECISION, RECALL, REDUNDANCY
from kragx.metrics.spec import CHOICES, PROFILE_CHOICES, Budget, MetricSpec, split
from kragx.metrics.trec_names import translated, trec_only

__all__ = [
    "DEFAULT_METRICS",
    "KRAGX",
    "METRICS",
    "PROFILES",
    "Budget",
    "Metric",
    "MetricSpec",
    "Profile",
    "parse",
    "parse_all",
    "profile",
    "profile_for",
]

METRICS: Mapping[str, Metric] = {
    metric.name: metric for metric in (HIT_RATE, MRR, PRECISION, RECALL, F1, MAP, NDCG, REDUNDANCY)
}
"""Every metric by name."""

DEFAULT_METRICS = tuple(f"{name}@10" for name in METRICS if name != "redundancy")
"""What is computed when nothing is asked for."""


def parse(text: str | MetricSpec, within: Profile = KRAGX) -> MetricSpec:
    """A metric string as a spec; options it does not name are the profile's.

    trec_eval's names are read as well: ``ndcg_cut_10`` is ``ndcg@10``.

    >>> str(parse("nDCG@10(gain = exp2)"))
    'ndcg@10(gain=exp2)'

    Raises:
        UsageError: an unknown metric, option or value; the nearest valid one is named.
    """
    if isinstance(text, MetricSpec):
        return _checked(text)
    if not isinstance(text, str):
        raise UsageError(f"metric {text!r}: a string such as 'ndcg@10' is expected")
    name, k, options = split(translated(text))
    metric = METRICS.get(name)
    if metric is None:
        raise UsageError(f"metric {text!r}: unknown name {name!r}; {nearest(name, METRICS)}")
    values: dict[str, object] = {
        option: getattr(within, option) for option in (*metric.options, *metric.fixed)
    }
    for option, value in options.items():
        if value == values.get(option):
            continue  # what the profile says anyway, as a canonical name repeats it
        if option not in metric.options:
            raise UsageError(
                f"metric {text!r}: {name} has no option {option!r}; "
                f"{nearest(option, metric.options)}"
            )
        values[option] = _value(text, option, value)
    return MetricSpec(name=name, k=k, **values)  # type: ignore[arg-type]


def _checked(spec: MetricSpec) -> MetricSpec:
    """A spec made by hand, if a metric string or profile could have made it."""
    metric = METRICS.get(spec.name)
    if metric is None:
        raise UsageError(f"metric: unknown name {spec.name!r}; {nearest(spec.name, METRICS)}")
    for option in fields(spec):
        value = getattr(spec, option.name)
        if option.name in ("name", "k") or value == option.default:
            continue
        if option.name in metric.options:
            _value(str(spec), option.name, str(value), profile_only=True)
        elif option.name not in metric.fixed:
            raise UsageError(
                f"metric {spec}: {spec.name} has no option {option.name!r}; "
                f"{nearest(option.name, metric.options)}"
            )
    return spec


def parse_all(
    texts: Iterable[str | MetricSpec] | None, within: Profile = KRAGX
) -> tuple[MetricSpec, ...]:
    """Several metric strings, or the profile's usual ones for None; one named twice counts once.

    Raises:
        UsageError: as `parse`; or there is none.
    """
    if texts is None:
        texts = within.metrics or DEFAULT_METRICS
    listed = [texts] if isinstance(texts, str) else list(texts)
    if not listed:
        raise UsageError("metrics: the list is empty; name at least one, for example 'ndcg@10'")
    return tuple(dict.fromkeys(parse(text, within) for text in listed))


def profile_for(spec: str | Profile | None, metrics: Iterable[str | MetricSpec] | None) -> Profile:
    """The profile that is asked for; without one trec if trec_eval's names are used, else kragx.

    Raises:
        UsageError: no profile has that name, or trec_eval's names stand beside another one.
    """
    names = trec_only([] if metrics is None else [metrics] if isinstance(metrics, str) else metrics)
    chosen = profile(spec if spec is not None else "trec" if names else "kragx")
    if names and chosen.name != "trec":
        raise UsageError(
            f"metric {names[0]!r} is trec_eval's name and means the number of the profile trec, "
            f"not {chosen.name}; use profile trec, or write {translated(names[0])!r}"
        )
    return chosen


def _value(text: str, option: str, value: str, *, profile_only: bool = False) -> str | float:
    choices = CHOICES.get(option)
    if choices is not None:
        if value in choices or (profile_only and value in PROFILE_CHOICES.get(option, ())):
            return value
        raise UsageError(
            f"metric {text!r}: {option} has no value {value!r}; {nearest(value, choices)}"
        )
    try:
        number = float(value)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise UsageError(f"metric {text!r}: {option} must be a number above 0, not {value!r}")
    return number


assert all(option in {field.name for field in fields(Profile)} for option in CHOICES)
