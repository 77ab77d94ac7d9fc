"""What searching costs: until the evidence came, and per gold item that was found.

Tokens and seconds that nobody says are not known, nor is then what the question cost. What was not
found is censored: it took longer than anything, and never cheap. So there are percentiles alone of
what it took, and of costs a sum over a sum.
"""

from collections.abc import Callable, Mapping
from math import ceil
from typing import Literal

import numpy as np

from kragx.metrics.intervals import Ratio
from kragx.metrics.match_table import Bools, Floats
from kragx.metrics.ranking_metrics import NEED, REL
from kragx.metrics.search_view import NEVER, SearchView
from kragx.metrics.spec import Metric, MetricSpec, of_sums

Cost = Literal["tokens", "seconds"]
"""What a search takes."""


def _total(view: SearchView, steps: Floats) -> Floats:
    """(q) what all steps of each question cost; NaN where that is not known.

    Of a question that failed these are the searches before that; without any nobody knows.
    """
    is_lost = ~view.searches.table.answered & (view.searches.n_searches == 0)
    return np.where(is_lost, np.nan, view.until(steps))


def _steps(view: SearchView, cost: Cost) -> Floats:
    return view.step_tokens if cost == "tokens" else view.step_seconds


def _measured(view: SearchView) -> Bools:
    return (view.n_gold > 0) & view.is_known()


def _until_evidence(cost: Cost) -> Callable[[SearchView, MetricSpec], Floats]:
    def values(view: SearchView, spec: MetricSpec) -> Floats:
        last, steps = view.first_step(spec["need"]), _steps(view, cost)
        taken = np.where(last == NEVER, np.inf, view.until(steps, last))
        # Were those alone left out whose last steps say nothing, more would seem found.
        is_counted = ~np.isnan(_total(view, steps)) | ~view.searches.table.answered
        return np.where(_measured(view) & is_counted, taken, np.nan)

    return values


def _counts_until(cost: Cost) -> Callable[[SearchView, MetricSpec], Mapping[str, int]]:
    def counts(view: SearchView, spec: MetricSpec) -> Mapping[str, int]:
        values = _until_evidence(cost)(view, spec)
        return {
            "n_never": int(np.isinf(values).sum()),
            "n_uncounted": int((_measured(view) & np.isnan(values)).sum()),
            "n_unmeasured": int(((view.n_gold > 0) & ~view.is_known()).sum()),
        }

    return counts


def percentile(percent: int) -> Callable[..., float]:
    """The least value that so many of 100 asks do not exceed; infinity where they are too few."""

    def number(values: Floats, weights: Floats | None = None) -> float:
        if weights is None:
            return float(np.sort(values)[max(ceil(percent / 100 * len(values)) - 1, 0)])
        order = np.argsort(values, kind="stable")
        asks = np.cumsum(weights[order])
        return float(values[order][np.searchsorted(asks, percent / 100 * asks[-1])])

    return number


def _to_evidence(cost: Cost, percent: int, *, en: str, ko: str) -> Metric:
    """`en` and `ko` are the beginnings of the sentence that says its meaning."""
    what = {"tokens": ("many tokens", "토큰으로"), "seconds": ("many seconds", "초 안에")}[cost]
    return Metric(
        name=f"{cost}_to_evidence" + ("" if percent == 50 else f"_p{percent}"),
        question=f"Within how {what[0]} do {percent} of 100 questions have evidence?",
        formula=f"percentile {percent} of the {cost} up to and including the step that brings the "
        "first gold (need=all: that completes it); never where fewer find it",
        meaning={
            "en": f"{en} gold within this {'time' if cost == 'seconds' else 'many tokens'}; never: "
            "fewer do.",
            "ko": f"{ko} 이 {'시간' if cost == 'seconds' else '토큰 수'} 안에 정답을 찾습니다. "
            "그보다 적으면 '없음'입니다.",
        },
        from_searches=_until_evidence(cost),
        search_counts=_counts_until(cost),
        number=percentile(percent),
        options={"need": NEED, "rel": REL},
        range=(0.0, None),
        unit=cost,
        better="lower",
        cuts=False,
        reads_tokens=cost == "tokens",
    )


_HALF = {"en": "Half of the questions have", "ko": "질문의 절반이"}
_MOST = {"en": "90 of 100 questions have", "ko": "질문 100개 중 90개가"}
TOKENS_TO_EVIDENCE = _to_evidence("tokens", 50, **_HALF)
TOKENS_TO_EVIDENCE_P90 = _to_evidence("tokens", 90, **_MOST)
SECONDS_TO_EVIDENCE = _to_evidence("seconds", 50, **_HALF)
SECONDS_TO_EVIDENCE_P90 = _to_evidence("seconds", 90, **_MOST)


# -- per gold item that was found -----------------------------------------------------------------


def _cost(view: SearchView, cost: Cost | Literal["searches"]) -> Floats:
    if cost == "searches":
        return _total(view, view.step_lanes)
    return _total(view, _steps(view, cost))


def _per_gold(cost: Cost | Literal["searches"], *, en: str, ko: str) -> Metric:
    def ratio(view: SearchView, spec: MetricSpec) -> Ratio:
        return Ratio(_cost(view, cost), view.n_found.astype(np.float64)).of(_measured(view))

    def counts(view: SearchView, spec: MetricSpec) -> Mapping[str, int]:
        uncounted = _measured(view) & np.isnan(_cost(view, cost))
        return {
            "n_uncounted": int(uncounted.sum()),
            "n_unmeasured": int(((view.n_gold > 0) & ~view.is_known()).sum()),
        }

    return Metric(
        name=f"{cost}_per_gold",
        question=f"How many {cost} does a found gold item cost?",
        formula=f"{cost} of all questions / gold items found in them, all over all",
        meaning={"en": en, "ko": ko},
        from_searches=ratio,
        search_counts=counts,
        number=of_sums,
        apart=False,
        options={"rel": REL},
        range=(0.0, None),
        unit=cost,
        better="lower",
        cuts=False,
        reads_tokens=cost == "tokens",
    )


TOKENS_PER_GOLD = _per_gold(
    "tokens",
    en="All tokens of all searches, per gold item found.",
    ko="찾은 정답 항목 하나당 모든 검색에 든 토큰 수입니다.",
)
SECONDS_PER_GOLD = _per_gold(
    "seconds",
    en="All seconds of all searches, per gold item found.",
    ko="찾은 정답 항목 하나당 모든 검색에 걸린 초 단위 시간입니다.",
)
SEARCHES_PER_GOLD = _per_gold(
    "searches",
    en="All searches, per gold item found; one tried again counts once.",
    ko="찾은 정답 항목 하나당 검색 수입니다. 다시 시도한 검색은 한 번으로 셉니다.",
)
