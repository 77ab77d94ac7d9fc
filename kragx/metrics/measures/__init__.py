"""Measures: numbers of a run beyond its match table, in the same tables as the metrics.

| name                   | what it says                                                     |
|------------------------|------------------------------------------------------------------|
| `doc_type_coverage`    | retrieved among the expected document types                      |
| `source_diversity`     | Shannon entropy of the sources, in bits, beside its maximum      |
| `seconds_mean`, `_p50`, `_p95`, `_p99` | the time of an answer                            |
| `throughput`           | answers a second                                                 |
| `context_relevance`    | the relevant share of what context expansion added               |
| `context_completeness` | the share of required facts that the context holds               |
| `judged`               | the share of documents that the gold set has an opinion about    |
| `coverage`             | the share of the gold text that the top k hold together          |
| `density`              | the share of what was retrieved that is gold                     |
| `iou`                  | both at once: what is shared, over all gold and all retrieved    |

`parse` reads metric strings of both kinds, and so is the one parser of a list of metrics.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from kragx import plugins
from kragx.errors import UsageError, nearest
from kragx.metrics import KRAGX, METRICS, Budget, MetricSpec, Profile
from kragx.metrics import parse as parse_metric
from kragx.metrics.measures.base import (
    Answer,
    Described,
    Evidence,
    Measure,
    MeasureScores,
    MeasureSpec,
)
from kragx.metrics.measures.context import CONTEXT_COMPLETENESS, CONTEXT_RELEVANCE
from kragx.metrics.measures.coverage import DOC_TYPE_COVERAGE
from kragx.metrics.measures.diversity import SOURCE_DIVERSITY
from kragx.metrics.measures.judged import JUDGED
from kragx.metrics.measures.spans import COVERAGE, DENSITY, IOU
from kragx.metrics.measures.timing import (
    SECONDS_MEAN,
    SECONDS_P50,
    SECONDS_P95,
    SECONDS_P99,
    THROUGHPUT,
)
from kragx.metrics.spec import Cut, split
from kragx.metrics.table import Floats

__all__ = [
    "MEASURES",
    "Answer",
    "Described",
    "Evidence",
    "Measure",
    "MeasureScores",
    "MeasureSpec",
    "compute",
    "higher_is_better",
    "measure",
    "parse",
    "parse_lists",
    "summary_of",
]

MEASURES: Mapping[str, Measure] = {
    each.name: each
    for each in (
        DOC_TYPE_COVERAGE,
        SOURCE_DIVERSITY,
        SECONDS_MEAN,
        SECONDS_P50,
        SECONDS_P95,
        SECONDS_P99,
        THROUGHPUT,
        CONTEXT_RELEVANCE,
        CONTEXT_COMPLETENESS,
        JUDGED,
        COVERAGE,
        DENSITY,
        IOU,
    )
}
"""Every measure of kragx by name; one's own is named by its import path."""

_ALSO = {
    "mean_seconds": "seconds_mean",
    "p50_seconds": "seconds_p50",
    "p95_seconds": "seconds_p95",
    "p99_seconds": "seconds_p99",
}
"""Other ways to say a name; results have the canonical one."""

_IMPORTED = re.compile(r"\s*(?P<path>[^\W\d][\w.]*:[^\W\d][\w.]*)(?P<rest>.*)", re.DOTALL)


def parse(
    text: str | MetricSpec | MeasureSpec, within: Profile = KRAGX
) -> MetricSpec | MeasureSpec:
    """A metric string of either kind as a spec.

    >>> str(parse("Source-Diversity@5(key = url)"))
    'source_diversity@5(key=url)'

    Raises:
        UsageError: an unknown name, option or value; the nearest valid one is named.
    """
    if isinstance(text, MeasureSpec):
        measure(text.name)
        return text
    if not isinstance(text, str):
        return parse_metric(text, within)
    imported = _IMPORTED.fullmatch(text)
    if imported:
        # The path keeps its colon and its case; what follows is read as for any other name.
        _, k, options = split(f"x{imported['rest']}")
        return _spec(text, imported["path"], k, options)
    try:
        name, k, options = split(text)
    except UsageError:
        return parse_metric(text, within)  # which says what is wrong
    name = _ALSO.get(name, name)
    if name in MEASURES:
        return _spec(text, name, k, options)
    try:
        return parse_metric(text, within)
    except UsageError as error:
        if "unknown name" not in str(error):
            raise
        hint = nearest(name, [*METRICS, *MEASURES, *_ALSO])
        raise UsageError(f"metric {text!r}: unknown name {name!r}; {hint}") from None


def _spec(text: str, name: str, k: Cut, given: Mapping[str, str]) -> MeasureSpec:
    chosen = measure(name)
    if k is not None and not chosen.cuts:
        raise UsageError(f"metric {text!r}: {name} concerns whole answers; leave '@{k}' out")
    for option in given:
        if option not in chosen.options:
            raise UsageError(
                f"metric {text!r}: {name} has no option {option!r}; "
                f"{nearest(option, chosen.options)}"
            )
    options = {**chosen.options, **given}
    shown = tuple(each for each in options if options[each] != chosen.options[each])
    spec = MeasureSpec(name, k, tuple(options.items()), shown)
    getattr(chosen, "check", lambda _: None)(spec)
    return spec


def measure(name: str) -> Measure:
    """The measure of a name or import path.

    Raises:
        UsageError: there is none, or what was imported is no measure.
    """
    if name in MEASURES:
        return MEASURES[name]
    if ":" not in name:
        raise UsageError(f"metric: unknown name {name!r}; {nearest(name, [*METRICS, *MEASURES])}")
    made = plugins.build(name, None)
    for needed in ("name", "question", "formula", "range", "better", "cuts", "options", "compute"):
        if not hasattr(made, needed):
            raise UsageError(f"metric {name!r}: it is no measure; it has no {needed!r}")
    return made  # type: ignore[no-any-return]


def parse_lists(
    texts: Iterable[str | MetricSpec | MeasureSpec] | None, within: Profile = KRAGX
) -> tuple[list[MetricSpec] | None, tuple[MeasureSpec, ...]]:
    """The metrics and the measures in a list of metric strings; None of metrics: the usual ones.

    Raises:
        UsageError: as `parse`.
    """
    if texts is None:
        return None, ()
    parsed = [parse(text, within) for text in texts]
    metrics = [spec for spec in parsed if isinstance(spec, MetricSpec)]
    measures = dict.fromkeys(spec for spec in parsed if isinstance(spec, MeasureSpec))
    return metrics, tuple(measures)


def compute(evidence: Evidence, specs: Sequence[MeasureSpec]) -> tuple[MeasureScores, ...]:
    """Compute each measure for every query; a list may be cut at a budget first."""
    return tuple(_one(evidence, spec) for spec in specs)


def _one(evidence: Evidence, spec: MeasureSpec) -> MeasureScores:
    chosen = measure(spec.name)
    if not isinstance(spec.k, Budget) or getattr(chosen, "budgets", False):
        return chosen.compute(evidence, spec)
    within = chosen.compute(evidence.within(spec.k), replace(spec, k=None))
    return replace(within, spec=spec)


def summary_of(name: str) -> Callable[[Floats], float] | None:
    """How the queries' values make a measure's number, where that is not their mean.

    None for a mean, and for what is not made of the queries' values at all.
    """
    plain = re.split("[@(]", name)[0]
    return getattr(MEASURES.get(plain), "summary", None)


def higher_is_better(name: str) -> bool | None:
    """The direction of a metric or measure by its canonical name; None where it has none."""
    # Not parsed: a profile may set options that metric strings cannot.
    plain = re.split("[@(]", name)[0]
    if plain in METRICS:
        return METRICS[plain].higher_is_better
    return {"higher": True, "lower": False}.get(measure(plain).better)
