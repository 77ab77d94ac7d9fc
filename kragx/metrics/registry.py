"""Every metric, by name; and metric strings, ``name@k(option=value)``, as specs."""

import inspect
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from kragx import plugins
from kragx.errors import UsageError, nearest, shorten
from kragx.metrics import (
    abstention,
    evidence_metrics,
    leaks,
    ranking_metrics,
    relevance_metrics,
    retrieval_metrics,
    searches,
    tool_names,
)
from kragx.metrics.evidence import Cut, TextBudget
from kragx.metrics.functions import function_metric
from kragx.metrics.of_ragas import remedy_for
from kragx.metrics.profiles import KRAGX, Profile, profile
from kragx.metrics.spec import Metric, MetricSpec
from kragx.metrics.tool_names import in_kragx_words
from kragx.printing import phrase

MetricLike = str | MetricSpec | Callable[..., Any]
"""What stands for a metric: a metric string, another tool's name for one, an import path, a spec, a
function of relevances and gold grades, a measure of ir_measures."""

METRICS: Mapping[str, Metric] = {
    metric.name: metric
    for file in (
        *(ranking_metrics, retrieval_metrics, evidence_metrics, relevance_metrics),
        *(abstention, leaks, searches),
    )
    for metric in vars(file).values()
    if isinstance(metric, Metric)
}
"""Every metric that these files define, by name; one's own is named by its import path."""

DEFAULT_METRICS = (
    "ndcg@10",
    "hit_rate@10",
    "mrr@10",
    "precision@10",
    "recall@10",
    "f1@10",
    "map@10",
)
"""What is computed when nothing is asked for. Verdicts speak of the first, which sees order, grades
and how much of the gold there is; a hit rate is soon 1 for every retriever."""

_ALIASES = {alias: metric.name for metric in METRICS.values() for alias in metric.aliases}

_GIVEN: dict[str, Metric] = {}
"""Functions and metrics that were given as such, by name: of a result only their names are read."""

_PATTERN = re.compile(
    r"""\s* (?P<name> [^\W\d][\w.]*:[^\W\d][\w.]* | [A-Za-z_][\w-]*) \s*
        (?: @ \s* (?P<k> [^()\s]* (?: \s+ [A-Za-z]+ )?) \s* )?
        (?: \( (?P<options> [^()]*) \) \s* )?""",
    re.VERBOSE,
)
_NUMBER_AND_UNIT = re.compile(r"(?P<n>0*[1-9][0-9]{0,8})(?P<unit>[A-Za-z]*)")


def metric(text: str) -> Metric:
    """The metric of a name, a metric string or an import path, whatever options follow it.

    Raises:
        UsageError: there is none, or what was imported is no metric.
    """
    return _named(split(in_kragx_words(text))[0])


def _named(name: str) -> Metric:
    if ":" in name:
        imported = plugins.build(name, None)
        if (metric := _by_path(imported, name)) is None:
            raise UsageError(f"{name!r} is no kragx.metrics.Metric, and no function of two")
        return metric
    name = _ALIASES.get(name, name)
    there = {tool_names.GRADED_RBP.name: tool_names.GRADED_RBP, **_GIVEN, **METRICS}
    if name not in there:
        problem = phrase("unknown name {name!r}", name=name)
        raise UsageError(problem, remedy=tool_names.meant_by(name, [*METRICS, *_ALIASES]))
    return there[name]


def _by_path(value: object, path: str) -> Metric | None:
    """The metric that an import path names; None where it is none."""
    if isinstance(value, Metric):
        return replace(value, name=path)
    if not inspect.isfunction(value) or len(inspect.signature(value).parameters) != 2:
        return None
    return replace(function_metric(value), name=path)


def _given(metric: Metric) -> Metric:
    """A metric that somebody gives as such, which is known by its name from now on.

    Raises:
        UsageError: a function has a name that is kragx's, or another tool's.
    """
    name = metric.name.lower()
    is_taken = name in {*METRICS, *_ALIASES} or in_kragx_words(metric.name) != metric.name
    if metric.function and is_taken:
        raise UsageError(f"metric {metric.name!r}: a metric has that name; call the function other")
    if name not in METRICS and ":" not in name:
        _GIVEN[name] = metric
    return metric


def known_metric(text: str) -> Metric | None:
    """The same; None for one that is not known here, which results from elsewhere may hold.

    Nothing is imported for it.
    """
    try:
        name = split(in_kragx_words(text))[0]
        if ":" not in name:
            return _named(name)
    except UsageError:
        return None
    return _by_path(plugins.imported(name), name)


def parse(text: MetricLike, within: Profile = KRAGX) -> MetricSpec:
    """A metric string as a spec; options it does not name are the profile's.

    Names of other tools mean what these say, whatever the profile, and keep their spelling:
    ``ndcg_cut_10`` and ``nDCG@10`` are kragx's ``ndcg@10``. A function is a metric, too.

    Raises:
        UsageError: an unknown metric, option or value; what is valid and nearest is named.

    Examples:
        >>> str(parse("nDCG@10(gain = exp2)"))
        'ndcg@10(gain=exp2)'
        >>> str(parse("Source-Diversity@5(key = url)"))
        'source_diversity@5(key=url)'
    """
    if isinstance(text, MetricSpec):
        _given(text.metric)
        return text
    if hasattr(text, "SUPPORTED_PARAMS"):  # a measure of ir_measures
        text = str(text)
    elif callable(text):
        return _given(function_metric(text)).spec()
    label = f"metric {shorten(text)}"
    if not isinstance(text, str):
        raise UsageError(
            "a string such as 'ndcg@10' is expected",
            field=label,
            remedy=remedy_for(type(text).__name__.lower()) or "",  # of an object of ragas
        )
    words = in_kragx_words(text)
    try:
        name, k, options = split(words)
        if words == text:
            return _named(name).spec(k, within, **options)
        return replace(_named(name).spec(k, **options), label=text.strip())
    except UsageError as error:
        raise error.within(label) from None


def name_among(asked: MetricLike, names: Collection[str], within: Profile = KRAGX) -> str:
    """The name among some that means what is asked for, however that is written.

    Without one it is the name of what is asked for.

    Raises:
        UsageError: as `parse`.
    """
    spec = parse(asked, within)
    bare = replace(spec, label="")
    same = (n for n in names if known_metric(n) and replace(parse(n), label="") == bare)
    return str(spec) if str(spec) in names else next(same, str(spec))


def parse_all(
    texts: MetricLike | Iterable[MetricLike] | None, within: Profile = KRAGX
) -> tuple[MetricSpec, ...]:
    """Several metrics, or the profile's usual ones for None; one named twice counts once.

    What says how far to trust one comes with it, as the residual does with ``rbp``.

    Raises:
        UsageError: as `parse`; or there is none.
    """
    if texts is None:
        texts = within.metrics or DEFAULT_METRICS
    specs = [parse(text, within) for text in listed(texts)]
    if not specs:
        raise UsageError("metrics: the list is empty; name at least one, for example 'ndcg@10'")
    return tuple(dict.fromkeys(spec for named in specs for spec in _with_beside(named)))


def _with_beside(spec: MetricSpec) -> Iterator[MetricSpec]:
    yield spec
    if spec.metric.beside:
        yield replace(spec, metric=METRICS[spec.metric.beside], label="")


def listed(metrics: MetricLike | Iterable[MetricLike]) -> list[Any]:
    """Metrics as a list, whether it is one or several."""
    if isinstance(metrics, (str, MetricSpec)) or callable(metrics):
        metrics = [metrics]
    return [name for metric in metrics for name in tool_names.expanded(metric)]


def profile_for(
    named: str | Profile | None, metrics: MetricLike | Iterable[MetricLike] | None
) -> Profile:
    """The profile that is asked for; without one trec if trec_eval's names are used, else kragx.

    Raises:
        UsageError: no profile has that name, or trec_eval's names stand beside another one.
    """
    # ``map`` and ``ndcg`` are kragx's as well, and choose nothing.
    trec_only = [
        text
        for text in ([] if metrics is None else listed(metrics))
        if isinstance(text, str) and tool_names.trec_words(text.strip())
    ]
    resolved = profile(named if named is not None else "trec" if trec_only else "kragx")
    if trec_only and resolved.name != "trec":
        raise UsageError(
            f"metric {trec_only[0]!r} is trec_eval's name and means the number of the profile "
            f"trec, not {resolved.name}; use profile trec, or write "
            f"{in_kragx_words(trec_only[0])!r}"
        )
    return resolved


# -- the parts of a metric string -----------------------------------------------------------------


def split(text: str) -> tuple[str, Cut, dict[str, str]]:
    """The name, cut-off and options of a metric string; the name as kragx writes it, or a path.

    >>> split("Hit-Rate@5(need = all)")
    ('hit_rate', 5, {'need': 'all'})

    Raises:
        UsageError: it is not of the form ``name@k(option=value, ...)``, or k is neither a whole
            number above 0 nor a budget.
    """
    match = _PATTERN.fullmatch(text)
    if match is None:
        raise UsageError("not of the form name@k(option=value), for example 'ndcg@10(gain=exp2)'")
    options: dict[str, str] = {}
    for part in filter(str.strip, (match["options"] or "").split(",")):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not (key and equals and value):
            raise UsageError(f"{part.strip()!r} is not of the form option=value")
        if key in options:
            raise UsageError(f"the option {key!r} stands twice")
        options[key] = value
    name = match["name"]
    if ":" not in name:
        name = name.lower().replace("-", "_")
    return name, _cut(match["k"]), options


def _cut(k: str | None) -> Cut:
    if k is None:
        return None
    number = _NUMBER_AND_UNIT.fullmatch(k)
    if number is None:
        raise UsageError(
            "k must be a whole number from 1 to 999999999, or a budget such as 500tokens or "
            f"2000chars, not {shorten(k)}",
            remedy="leave '@k' out for the whole list",
        )
    match number["unit"].lower():
        case "":
            return int(number["n"])
        case "tokens" | "chars" as unit:
            return TextBudget(int(number["n"]), unit)
    raise UsageError(
        f"a budget counts tokens or chars, not {number['unit']!r}",
        remedy=nearest(number["unit"], ("tokens", "chars")),
    )
