"""Every metric, by name; and metric strings, ``name@k(option=value)``, as specs."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from kragx import plugins
from kragx.errors import UsageError, nearest, shorten
from kragx.metrics import abstention, evidence_metrics, ranking_metrics, relevance_metrics
from kragx.metrics.evidence import Cut, TextBudget
from kragx.metrics.of_ragas import remedy_for
from kragx.metrics.profiles import KRAGX, Profile, profile
from kragx.metrics.spec import Metric, MetricSpec
from kragx.printing import phrase

METRICS: Mapping[str, Metric] = {
    metric.name: metric
    for file in (ranking_metrics, evidence_metrics, relevance_metrics, abstention)
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

_TREC = {
    re.compile(trec.replace("_<k>", r"[_.](?P<k>\d+)")): (metric.name, options)
    for metric in METRICS.values()
    for trec, options in metric.trec.items()
}
"""trec_eval's names as patterns, and what they mean in the profile trec."""


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
        if not isinstance(imported, Metric):
            raise UsageError(f"{name!r} is no kragx.metrics.Metric")
        return replace(imported, name=name)
    name = _ALIASES.get(name, name)
    if name not in METRICS:
        problem = phrase("unknown name {name!r}", name=name)
        raise UsageError(problem, remedy=remedy_for(name) or nearest(name, [*METRICS, *_ALIASES]))
    return METRICS[name]


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
    value = plugins.imported(name)
    return replace(value, name=name) if isinstance(value, Metric) else None


def parse(text: str | MetricSpec, within: Profile = KRAGX) -> MetricSpec:
    """A metric string as a spec; options it does not name are the profile's.

    trec_eval's names are read as well: ``ndcg_cut_10`` is ``ndcg@10``.

    Raises:
        UsageError: an unknown metric, option or value; the nearest valid one is named.

    Examples:
        >>> str(parse("nDCG@10(gain = exp2)"))
        'ndcg@10(gain=exp2)'
        >>> str(parse("Source-Diversity@5(key = url)"))
        'source_diversity@5(key=url)'
    """
    if isinstance(text, MetricSpec):
        return text
    label = f"metric {shorten(text)}"
    if not isinstance(text, str):
        raise UsageError("a string such as 'ndcg@10' is expected", field=label)
    try:
        name, k, options = split(in_kragx_words(text))
        return _named(name).spec(k, within, **options)
    except UsageError as error:
        raise error.within(label) from None


def parse_all(
    texts: str | Iterable[str | MetricSpec] | None, within: Profile = KRAGX
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


def in_kragx_words(text: str) -> str:
    """A metric string in kragx's words: ``ndcg_cut_10`` is ``ndcg@10``; others are as they were."""
    for pattern, (name, options) in _TREC.items():
        match = pattern.fullmatch(text.strip())
        if match is not None:
            k = match.groupdict().get("k")
            return f"{name}{'' if k is None else f'@{k}'}{options}"
    return text


def profile_for(
    named: str | Profile | None, metrics: str | Iterable[str | MetricSpec] | None
) -> Profile:
    """The profile that is asked for; without one trec if trec_eval's names are used, else kragx.

    Raises:
        UsageError: no profile has that name, or trec_eval's names stand beside another one.
    """
    listed = [] if metrics is None else [metrics] if isinstance(metrics, str) else metrics
    # ``map`` and ``ndcg`` are kragx's as well, and choose nothing.
    trec_only = [
        text
        for text in listed
        if isinstance(text, str) and in_kragx_words(text) not in (text, text.strip())
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
