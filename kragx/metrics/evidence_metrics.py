"""Diversity, seconds, facts, coverage and others that look at documents, texts or times."""

from collections import Counter
from collections.abc import Callable
from functools import partial
from math import log2
from typing import Any

import numpy as np

from kragx.data import tokenizer, value_at
from kragx.data.lists import Floats, Ints
from kragx.ground.printing import message
from kragx.metrics.evidence import Evidence, HeldFacts
from kragx.metrics.match_table import ratio
from kragx.metrics.ranking_metrics import LISTS, OVER, PRECISION, REL
from kragx.metrics.spans.cover import Spread
from kragx.metrics.spans.reading import SpanOptions
from kragx.metrics.spec import WHERE, Metric, MetricSpec, Option, Value, number
from kragx.metrics.weights import counting, weighted_mean


def _doc_type_coverage(evidence: Evidence, spec: MetricSpec) -> Floats:
    shares = []
    for ranked in evidence.lists:
        expected = set(ranked.query.expected_doc_types)
        types: set[str] = set()
        for doc in ranked.top(spec.k):
            value = value_at(doc.metadata, spec["key"])
            types.update(map(str, value if isinstance(value, (list, tuple)) else [value]))
        shares.append(len(expected & types) / len(expected) if expected else np.nan)
    return np.array(shares, np.float64)


def _sources(evidence: Evidence, spec: MetricSpec) -> list[Counter[str]]:
    """For each query how many of the top k come from each source that is known."""
    return [
        Counter(
            str(source)
            for doc in ranked.top(spec.k)
            if (source := value_at(doc.metadata, spec["key"])) is not None
        )
        for ranked in evidence.lists
    ]


def _diversity(evidence: Evidence, spec: MetricSpec) -> Floats:
    return np.array([_entropy(counts) for counts in _sources(evidence, spec)], np.float64)


def _greatest_diversity(evidence: Evidence, spec: MetricSpec) -> Floats:
    totals = [counts.total() for counts in _sources(evidence, spec)]
    return np.array([log2(total) if total else np.nan for total in totals], np.float64)


def _entropy(counts: Counter[str]) -> float:
    total = counts.total()
    if not total:
        return np.nan
    # One source alone: 0, not the -0.0 that the sum would give.
    return abs(-sum(n / total * log2(n / total) for n in counts.values()))


DOC_TYPE_COVERAGE = Metric(
    name="doc_type_coverage",
    question="Are the expected types of document among the top k?",
    formula="expected types retrieved / expected types; undefined where none is expected",
    meaning=message(
        "The share of the expected types of document that stand in {where}.", where=WHERE
    ),
    from_evidence=_doc_type_coverage,
    options={"key": Option("doc_type"), **LISTS},
)
SOURCE_DIVERSITY = Metric(
    name="source_diversity",
    question="From how many different sources does the top k come, and how evenly?",
    formula="Shannon entropy in bits of a metadata key over the top k; its maximum is log2 of "
    "their number; undefined where no document has the key",
    meaning=message(
        "From how many sources {where} come, and how evenly, in bits: 0 if all are from one.",
        where=WHERE,
    ),
    from_evidence=_diversity,
    maximum=_greatest_diversity,
    options={"key": Option("source"), **LISTS},
    range=(0.0, None),
    unit="bits",
    better="neither",
)


def _seconds(evidence: Evidence, spec: MetricSpec | None = None) -> Floats:
    """(q) the time of each query that was answered, or waited for until it was too late."""
    return np.array([ranked.waited for ranked in evidence.lists], np.float64)  # None becomes NaN


def _throughput(evidence: Evidence) -> float | None:
    weights = evidence.table.weights
    seconds, seconds_weights = counting(_seconds(evidence), weights)
    total = float((seconds if seconds_weights is None else seconds_weights * seconds).sum())
    # A timeout took its time and answered nothing: it stands below the line alone.
    answered = np.array(
        [r.status == "answered" and r.seconds is not None for r in evidence.lists], np.float64
    )
    n_answered = float((answered if weights is None else weights * answered).sum())
    return evidence.concurrency * n_answered / total if total > 0 else None


def _percentile_of(percent: int, seconds: Floats, weights: Floats | None = None) -> float | None:
    """The percentile as if each question stood there as often as it is asked."""
    seconds, weights = counting(seconds, weights)
    if not seconds.size:
        return None
    if weights is None:
        return float(np.percentile(seconds, percent))
    order = np.argsort(seconds, kind="stable")
    ends = np.cumsum(weights[order])
    starts = ends - weights[order]
    # A question holds the places from its first ask to its last; between two lies a straight line.
    places = np.stack([starts, np.maximum(ends - 1, starts)], axis=1).ravel()
    place = percent / 100 * (ends[-1] - 1)
    return float(np.interp(place, places, np.repeat(seconds[order], 2)))


def _percentile(percent: int, meaning: str) -> Metric:
    return Metric(
        name=f"seconds_p{percent}",
        question=f"Within how many seconds are {percent} of 100 questions answered?",
        formula=f"percentile {percent} of the seconds of the queries that were answered or timed "
        "out, between two of them by linear interpolation",
        meaning=meaning,
        from_evidence=_seconds,
        number=partial(_percentile_of, percent),
        range=(0.0, None),
        unit="seconds",
        better="lower",
        cuts=False,
        of="all",
        aliases=(f"p{percent}_seconds",),
    )


SECONDS_MEAN = Metric(
    name="seconds_mean",
    question="How many seconds does an answer take?",
    formula="mean of the seconds of the queries that were answered or timed out",
    meaning=message("The mean time that a question takes."),
    from_evidence=_seconds,
    range=(0.0, None),
    unit="seconds",
    better="lower",
    cuts=False,
    of="all",
    aliases=("mean_seconds",),
)
SECONDS_P50 = _percentile(50, message("Half of the questions are answered within this time."))
SECONDS_P95 = _percentile(95, message("95 of 100 questions are answered within this time."))
SECONDS_P99 = _percentile(99, message("99 of 100 questions are answered within this time."))
THROUGHPUT = Metric(
    name="throughput",
    question="How many questions are answered in a second?",
    formula="concurrency * answered queries / sum of the seconds of these and of timeouts "
    "(Little's law)",
    meaning=message("How many questions are answered in a second."),
    from_run=_throughput,
    range=(0.0, None),
    unit="queries a second",
    cuts=False,
    of="all",
)


def _relevance(evidence: Evidence, spec: MetricSpec) -> Floats:
    table = evidence.table
    has_gold = set(table.gold_query[table.is_gold(None)].tolist())
    relevant = np.split(table.relevant, table.doc_start[1:-1])
    values = np.full(table.n_queries, np.nan)
    for row, ranked in enumerate(evidence.lists):
        added = [
            rank
            for rank, doc in enumerate(ranked.top(spec.k))
            if value_at(doc.metadata, spec["key"])
        ]
        # Without gold nothing can be relevant, and 0 would say that the expansion failed.
        if added and row in has_gold:
            values[row] = relevant[row][added].mean()
    return values


def _judged(evidence: Evidence, spec: MetricSpec) -> Floats:
    table = evidence.table
    judged = np.split(table.docs_in(table.matched), table.doc_start[1:-1])
    tops = [of_list[: spec.k] for of_list in judged]
    return np.array([top.mean() if top.size else np.nan for top in tops], np.float64)


CONTEXT_RELEVANCE = Metric(
    name="context_relevance",
    question="Is what context expansion adds worth reading?",
    formula="relevant documents among those whose metadata key is true / those; undefined where "
    "there is none",
    meaning=message("The share of what context expansion adds that is relevant."),
    from_evidence=_relevance,
    options={"key": Option("expanded"), **LISTS},
)


def _fact_shares(facts: HeldFacts, spec: MetricSpec, unknown: float, n_queries: int) -> Floats:
    """(q) what each query's context holds of its facts, with what is not known taken for so much.

    TREC 2024 RAG (Pradeep et al., arXiv:2411.09607): the sum of w s over the sum of w, with s 1, .5
    or 0 of a fact that is held, in part, or not (strict: 1 or 0), and w by what counts.
    """
    support = np.where(np.isnan(facts.held), unknown, facts.held)
    if spec["strict"] == "yes":
        support = (support == 1).astype(np.float64)
    vital = facts.weight == 1
    weight = {"all": np.ones_like(support), "vital": vital, "weighted": facts.weight}[spec["facts"]]
    total = np.bincount(facts.query, weight, n_queries)
    return ratio(np.bincount(facts.query, weight * support, n_queries), total, empty=np.nan)


def _completeness_extremes(evidence: Evidence, spec: MetricSpec) -> tuple[Floats, Floats]:
    facts, n_queries = evidence.facts(spec.k), evidence.table.n_queries
    return (
        _fact_shares(facts, spec, 0.0, n_queries),
        _fact_shares(facts, spec, 1.0, n_queries),
    )


def _completeness(evidence: Evidence, spec: MetricSpec) -> Floats:
    """What is not known counts as held as often as the rest, as in `kragx.metrics.scores`."""
    facts, weights = evidence.facts(spec.k), evidence.table.weights
    support = facts.held
    if spec["strict"] == "yes":
        # NaN == 1 is False: what is not known would count as not held.
        support = np.where(np.isnan(support), np.nan, support == 1)
    rate = weighted_mean(support, None if weights is None else weights[facts.query])
    rate = np.nan if rate is None else rate
    low, high = _completeness_extremes(evidence, spec)
    # Where nothing is open a value is itself, also where no rate is known (NaN times 0 is NaN).
    return np.where(low == high, low, low + rate * (high - low))


CONTEXT_COMPLETENESS = Metric(
    name="context_completeness",
    question="Does the top k hold every fact that an answer needs?",
    formula="facts (metadata.facts of the query) that the top k hold, a part of one as half, / "
    "facts; of vital ones only, or with okay ones as half (facts=); strict: a part is none; "
    "undefined where the query has no such fact",
    meaning=message("The share of the facts an answer needs that stand in {where}.", where=WHERE),
    from_evidence=_completeness,
    extremes=_completeness_extremes,
    reads_facts=True,
    options={
        "facts": Option("all", ("all", "vital", "weighted")),
        "strict": Option("no", ("no", "yes")),
    },
)
JUDGED = Metric(
    name="judged",
    question="How much of the top k is known to the gold set, relevant or not?",
    formula="documents in the top k that match a gold item of any grade / min(k, n); undefined "
    "for an empty list",
    meaning=message(
        "The share of {where} that the gold set knows, as relevant or not.", where=WHERE
    ),
    from_evidence=_judged,
    options=LISTS,
    better="neither",
)


def _whole(lowest: int) -> Callable[[str], Value]:
    words = f"a whole number from {lowest} to 1000"
    return number(words, lambda value: lowest <= value <= 1000, int)


def _tokenizer(text: str) -> str:
    tokenizer(text)
    return text


OPTIONS = {
    "run": Option(SpanOptions.run, read=_whole(2)),
    "bridge": Option(SpanOptions.bridge, read=_whole(0)),
    "short": Option(SpanOptions.short, read=_whole(0)),
    "offsets": Option("auto", ("auto", "off")),
    "tokenizer": Option(SpanOptions.tokenizer, read=_tokenizer),
    "source": Option(SpanOptions.source),
    "start": Option(SpanOptions.start),
    "end": Option(SpanOptions.end),
}
"""The options of coverage, density and iou: a `SpanOptions`."""


def _of_spread(
    share: Callable[[Spread, Ints], Floats],
) -> Callable[[Evidence, MetricSpec], Floats]:
    """From the share of a spread's tokens that a metric is to the metric."""

    def values(evidence: Evidence, spec: MetricSpec) -> Floats:
        options: dict[str, Any] = {name: spec[name] for name in OPTIONS}
        spread = evidence.spread(SpanOptions(**options))
        return share(spread, evidence.n_tokens(spec.k, spread))

    return values


COVERAGE = Metric(
    name="coverage",
    question="How much of the gold text do the top k hold together?",
    formula="gold tokens that stand in a run shared with the top k / gold tokens; mean over the "
    "gold items (docs/metrics.md)",
    meaning=message("The share of the gold's words that stand in {where}.", where=WHERE),
    from_evidence=_of_spread(Spread.coverage),
    options={**OPTIONS, **LISTS},
    cuts_budgets=True,
)
DENSITY = Metric(
    name="density",
    question="How much of what was retrieved is gold?",
    formula="covered gold tokens / those and the retrieved tokens beside the point, repetitions "
    "counted once",
    meaning=message("The share of {where} that is gold text.", where=WHERE),
    from_evidence=_of_spread(Spread.density),
    options={**OPTIONS, **LISTS},
    cuts_budgets=True,
)
IOU = Metric(
    name="iou",
    question="How closely do the top k fit the gold text?",
    formula="covered gold tokens / all gold tokens and the retrieved tokens beside the point",
    meaning=message("The words that gold and {where} share, of all words of both.", where=WHERE),
    from_evidence=_of_spread(Spread.iou),
    options={**OPTIONS, **LISTS},
    cuts_budgets=True,
)


PRECISION_JUDGED = Metric(
    name="precision_judged",
    question="How much of the top k does a judge find relevant to the question?",
    formula="documents in the top k that are judged relevant / k (over=retrieved: / min(k, n)); "
    "also without gold",
    meaning=message(
        "The share of {where} that a judge finds relevant to the question.", where=WHERE
    ),
    from_relevance=PRECISION.from_matches,
    options={"over": OVER, "rel": REL},
    pooled=PRECISION.pooled,
    rises_with_matches=True,
    rises_with_gold=True,
)
