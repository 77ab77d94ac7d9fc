"""Every metric, by name; metric strings, ``name@k(option=value)``, as specs; plain functions.

A function ``def mine(relevances, gold_grades)`` is a metric, too: it is called once a question.
``relevances[i]`` is the largest grade of what rank i + 1 matches first, 0 if that is nothing new,
for the whole list; ``gold_grades`` are those of all gold, descending. None is no value.
"""

import inspect
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from functools import partial
from math import inf, isfinite
from numbers import Real
from typing import Any, Literal, TypeVar

import numpy as np

from kragx.data.lists import Floats
from kragx.ground import plugins
from kragx.ground.entry_points import plugins as added
from kragx.ground.errors import UsageError, nearest, shorten
from kragx.ground.messages import Message
from kragx.ground.printing import message
from kragx.metrics import (
    abstention,
    evidence_metrics,
    leaks,
    ranking_metrics,
    searches,
    trec_metrics,
)
from kragx.metrics.evidence import Cut, TextBudget
from kragx.metrics.match_table import RowPlace, TableView
from kragx.metrics.profiles import KRAGX, TREC, Profile, profile
from kragx.metrics.spec import Metric, MetricSpec
from kragx.metrics.tool_names import in_kragx_words, remedy_for, trec_words

MetricLike = str | MetricSpec | Callable[..., Any]
"""What stands for a metric: a metric string, another tool's name for one, an import path, a spec, a
function of relevances and gold grades, a measure of ir_measures."""

METRICS: Mapping[str, Metric] = {
    metric.name: metric
    for file in (
        *(ranking_metrics, trec_metrics, evidence_metrics),
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

_OWN = re.compile(rf"(?:{'|'.join(METRICS)})(?:@[0-9]+)?")
"""A metric as kragx writes it, for which nobody else's names are looked at."""

_PATTERN = re.compile(
    r"""\s* (?P<name> [^\W\d][\w.]*:[^\W\d][\w.]* | [A-Za-z_][\w-]*) \s*
        (?: @ \s* (?P<k> [^()\s]* (?: \s+ [A-Za-z]+ )?) \s* )?
        (?: \( (?P<options> [^()]*) \) \s* )?""",
    re.VERBOSE,
)
_NAME_WITH_CUT = re.compile(rf"({'|'.join(METRICS)})_?(?:at)?_?([0-9]+)")
_SEVERAL = re.compile(r"[^(]*,\s*[^\W\d]")
_KS = frozenset((int, list, tuple))  # as other tools take them
_CUT = re.compile(r"(?P<n>0*[1-9][0-9]{0,8})(?P<unit>tokens|chars|)", re.IGNORECASE)


def metric(text: str) -> Metric:
    """The metric of a name, a metric string or an import path, whatever options follow it.

    Raises:
        UsageError: there is none, or what was imported is no metric.
    """
    return _KNOWN[split(in_kragx_words(text))[0]]


class _Known(dict[str, Metric]):
    """What names stand for: kragx's, and what others are looked up as."""

    def __missing__(self, name: str) -> Metric:
        if ":" in name:
            return _imported(name, name)
        if name in _ALIASES:
            return self[_ALIASES[name]]
        if name in added("metrics"):
            return _imported(added("metrics")[name].path, name)
        remedy = (
            _with_cut(name)
            or remedy_for(name)
            or nearest(name, [*METRICS, *_ALIASES, *added("metrics")])
        )
        raise UsageError(message("unknown name {name!r}", name=name), remedy=remedy)


def _with_cut(name: str) -> Message | None:
    """A hint for a name that ends in what seems its k, as ``ndcg_10``: without k it is another."""
    cut = _NAME_WITH_CUT.fullmatch(name)
    if cut is None or not METRICS[cut[1]].cuts:
        return None
    return message("perhaps you meant {name!r}?", name=f"{cut[1]}@{cut[2]}")


_KNOWN = _Known(METRICS)
"""With functions and metrics that were given as such, as of a result only their names are read."""


def _imported(path: str, name: str) -> Metric:
    """What stands at an import path, as a metric that is called so."""
    metric = _by_path(plugins.build(path, None), name)
    if metric is None:
        raise UsageError("{place!r} is no kragx.metrics.Metric, and no function of two", place=path)
    return metric


def added_metrics() -> list[Metric]:
    """What installed packages add, which is imported for it."""
    return [_KNOWN[name] for name in added("metrics") if name not in METRICS]


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
        raise UsageError(
            "metric {name!r}: a metric has that name; call the function other", name=metric.name
        )
    if name not in METRICS and ":" not in name:
        _KNOWN[name] = metric
    return metric


def known_metric(text: str) -> Metric | None:
    """The same; None for one that is not known here, which results from elsewhere may hold.

    Nothing is imported for it.
    """
    try:
        name = split(in_kragx_words(text))[0]
        if ":" not in name:
            return _KNOWN[name]
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
    if not isinstance(text, str):
        raise UsageError(
            "a string such as 'ndcg@10' is expected",
            field=f"metric {shorten(text)}",
            remedy=remedy_for(type(text).__name__) or "",  # of an object of ragas
        )
    words = text if _OWN.fullmatch(text) else in_kragx_words(text)
    try:
        name, k, options = split(words)
        if words == text:
            return _KNOWN[name].spec(k, within, **options)
        return replace(_KNOWN[name].spec(k, **options), label=text.strip())
    except UsageError as error:
        raise error.within(f"metric {shorten(text)}") from None


def name_among(text: MetricLike, names: Collection[str], within: Profile = KRAGX) -> str:
    """The name among some that means what is asked for, however that is written.

    Without one it is the name of what is asked for.

    Raises:
        UsageError: as `parse`.
    """
    spec = parse(text, within)
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
    specs = [*map(partial(parse, within=within), listed(texts))]
    if not specs:
        raise UsageError("metrics: the list is empty; name at least one, for example 'ndcg@10'")
    with_beside: dict[str, MetricSpec] = {}  # by name, each of which always means the same
    for spec in specs:
        with_beside.setdefault(str(spec), spec)
        if spec.metric.beside:
            beside = replace(spec, metric=METRICS[spec.metric.beside], label="")
            with_beside.setdefault(str(beside), beside)
    return tuple(with_beside.values())


def listed(metrics: MetricLike | Iterable[MetricLike]) -> list[Any]:
    """Metrics as a list, whether it is one or several; whoever reads them refuses what is none.

    Raises:
        UsageError: it is a mapping to ks, of which nobody would see but the keys.
    """
    if isinstance(metrics, Mapping) and not _KS.isdisjoint(map(type, metrics.values())):
        problem = message("a list is expected ({value})", value=shorten(metrics))
        raise UsageError(problem, field="metrics")
    is_one = isinstance(metrics, (str, MetricSpec)) or callable(metrics)
    return [metrics] if is_one or not isinstance(metrics, Iterable) else [*metrics]


def profile_for(
    named: str | Profile | None, metrics: MetricLike | Iterable[MetricLike] | None
) -> Profile:
    """The profile that is asked for; without one trec if trec_eval's names are used, else kragx.

    Raises:
        UsageError: no profile has that name, or trec_eval's names stand beside another one.
    """
    # ``map`` and ``ndcg`` are kragx's as well, and choose nothing.
    trec_only = None
    for text in [] if metrics is None else listed(metrics):
        is_other = isinstance(text, str) and not _OWN.fullmatch(text)
        if trec_only is None and is_other and trec_words(text.strip()):
            trec_only = text
    usual = TREC if trec_only else KRAGX
    resolved = usual if named is None else profile(named)
    if trec_only and resolved.name != "trec":
        raise UsageError(
            "metric {trec_only!r} is trec_eval's name and means the number of the profile trec, "
            "not {name}; use profile trec, or write {in_kragx_words!r}",
            trec_only=trec_only,
            name=resolved.name,
            in_kragx_words=in_kragx_words(trec_only),
        )
    return resolved


def split(text: str) -> tuple[str, Cut, dict[str, str]]:
    """The name, cut-off and options of a metric string; the name as kragx writes it, or a path.

    >>> split("Hit-Rate@5(need = all)")
    ('hit_rate', 5, {'need': 'all'})

    Raises:
        UsageError: it is not of the form ``name@k(option=value, ...)``, or k is neither a whole
            number above 0 nor a budget.
    """
    match = _PATTERN.fullmatch(text)
    if match is None or _SEVERAL.match(text):
        raise UsageError(
            "not of the form name@k(option=value); several metrics are a list: [ndcg@10, mrr@10]"
            if "," in text.partition("(")[0]
            else "not of the form name@k(option=value), for example 'ndcg@10(gain=exp2)'"
        )
    options: dict[str, str] = {}
    for part in filter(str.strip, (match["options"] or "").split(",")):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not (key and equals and value):
            raise UsageError("{value!r} is not of the form option=value", value=part.strip())
        if key in options:
            raise UsageError("the option {key!r} stands twice", key=key)
        options[key] = value
    name, k = match["name"], match["k"]
    if ":" not in name:
        name = name.lower().replace("-", "_")
    if k is None:
        return name, None, options
    cut = _CUT.fullmatch(k)
    if cut is None:
        raise UsageError(
            "k must be a whole number from 1 to 999999999, or a budget such as 500tokens or "
            "2000chars, not {k}",
            remedy="leave '@k' out for the whole list",
            k=shorten(k),
        )
    n, unit = int(cut["n"]), cut["unit"].lower()
    return name, TextBudget(n, unit) if unit else n, options  # type: ignore[arg-type]


_HAIR = 1e-9
_FORM = message("write def mine(relevances, gold_grades): ...")

Measured = TypeVar("Measured", bound=Callable[..., float | None])


def measure(
    *,
    range: tuple[float, float | None] | None = None,  # noqa: A002  # as of `Metric`
    better: Literal["higher", "lower", "neither"] = "higher",
) -> Callable[[Measured], Measured]:
    """Say of a function that is a metric what it can give, and what is good; it stays as it is.

    Without it a higher value is better, and nothing is known to bound it: where judgements are
    missing there is then no mean.

    Args:
        range: its least and greatest value; None for the latter where nothing bounds it.
        better: its direction; ``neither`` where it depends on the purpose.
    """
    lowest, greatest = range or (-inf, None)

    def described(function: Measured) -> Measured:
        bounds = float(lowest), greatest
        metric = replace(function_metric(function), range=bounds, better=better)
        function.metric = metric  # type: ignore[attr-defined]
        return function

    return described


def function_metric(function: Callable[..., Any]) -> Metric:
    """The metric that a function is, as `measure` describes it.

    Raises:
        UsageError: it has no name that could stand in a table.
    """
    if isinstance(described := getattr(function, "metric", None), Metric):
        return described
    name = getattr(function, "__name__", "")
    if not name.isidentifier():
        problem = message(
            "metric {function}: a function without a name", function=shorten(function)
        )
        raise UsageError(problem, remedy=_FORM)
    about = (function.__doc__ or "").strip().partition("\n")[0]
    return Metric(
        name=name,
        question=about or f"What does {name} say?",
        formula=f"{name}(relevances, gold_grades)",
        from_matches=_values,
        range=(-inf, None),
        cuts=False,
        function=function,
    )


def _values(view: TableView, spec: MetricSpec) -> Floats:
    table, values = view.table, np.zeros(view.table.n_queries)
    queries, ranks, grades_at = view.new_grades
    starts = np.searchsorted(queries, np.arange(table.n_queries + 1))
    # Without gold there is nothing to tell a function; what such a query scores is the profile's.
    for query in np.flatnonzero(~view.empty).tolist():
        relevances = np.zeros(table.n_docs[query])
        part = slice(starts[query], starts[query + 1])
        relevances[ranks[part] - 1] = grades_at[part]
        items = slice(table.gold_start[query], table.gold_start[query + 1])
        grades = np.sort(table.grade[items][view.is_gold[items]])[::-1]
        place = RowPlace(query, f"metric {spec.name!r}, ")
        values[query] = _value(spec.metric, relevances.tolist(), grades.tolist(), place)
    return view.at_every_cut(values)


def _value(metric: Metric, relevances: list[float], gold_grades: list[float], place: str) -> float:
    """What a metric's function gives, NaN for None.

    Raises:
        UsageError: it raises an error, or gives no number.
    """
    assert metric.function is not None
    try:
        value = metric.function(relevances, gold_grades)
    except Exception as error:  # whatever it raises, one must learn where
        # Outside of it: it was never entered, as it takes other arguments.
        is_outside = error.__traceback__ is None or error.__traceback__.tb_next is None
        raise UsageError(
            "{kind}: {error}",
            field=place,
            remedy=_FORM if is_outside else "",
            kind=type(error).__name__,
            error=error,
        ) from error
    if value is None:
        return float("nan")
    if not isinstance(value, (Real, np.bool_)) or not isfinite(number := float(value)):
        raise UsageError("{value} is neither a number nor None", field=place, value=shorten(value))
    lowest, greatest = metric.range
    # Bounds of what is not known are made of the range; sums of floats may pass it by a hair.
    if not lowest - _HAIR <= number <= (inf if greatest is None else greatest) + _HAIR:
        raise UsageError(
            "{value} is outside of the range that it names, {lowest:g} to {greatest:g}",
            field=place,
            value=number,
            lowest=lowest,
            greatest=inf if greatest is None else greatest,
        )
    return number
