"""How much of the gold text stands in what was retrieved (docs/coverage.md)."""

from collections.abc import Callable
from typing import Any

from kragx.data import tokenizer
from kragx.errors import UsageError
from kragx.metrics.evidence import Evidence
from kragx.metrics.match_table import Floats, Ints
from kragx.metrics.spans.cover import Spread
from kragx.metrics.spans.least import RUN
from kragx.metrics.spans.offsets import Keys
from kragx.metrics.spans.options import SpanOptions
from kragx.metrics.spec import Metric, MetricSpec, Option


def _whole(least: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if text.isascii() and text.isdigit() and least <= int(text) <= 1000:
            return int(text)
        raise UsageError(f"must be a whole number from {least} to 1000, not {text!r}")

    return read


def _tokenizer(text: str) -> str:
    tokenizer(text)
    return text


_KEYS = Keys()
OPTIONS = {
    "run": Option(RUN, read=_whole(2)),
    "bridge": Option(0, read=_whole(0)),
    "offsets": Option("auto", ("auto", "off", "only")),
    "wrappers": Option("removed", ("removed", "kept")),
    "tokenizer": Option("unicode", read=_tokenizer),
    "source": Option(_KEYS.source),
    "start": Option(_KEYS.start),
    "end": Option(_KEYS.end),
}
"""The options of coverage, density and iou."""


def _of_spread(
    share: Callable[[Spread, Ints], Floats],
) -> Callable[[Evidence, MetricSpec], Floats]:
    """From the share of a spread's tokens that a metric is to the metric."""

    def values(evidence: Evidence, spec: MetricSpec) -> Floats:
        options: dict[str, Any] = dict(spec.options)
        keys = Keys(*(options.pop(name) for name in ("source", "start", "end")))
        spread = evidence.spread(SpanOptions(**options, keys=keys))
        return share(spread, evidence.n_tokens(spec.k, spread))

    return values


COVERAGE = Metric(
    name="coverage",
    question="How much of the gold text do the top k hold together?",
    formula="gold tokens that stand in a run shared with the top k / gold tokens; mean over the "
    "gold items (docs/coverage.md)",
    meaning={
        "en": "The share of the gold's words that stand in {}.",
        "ko": "정답의 단어 가운데 {} 안에 있는 비율입니다.",
    },
    from_evidence=_of_spread(Spread.coverage),
    options=OPTIONS,
    cuts_budgets=True,
)
DENSITY = Metric(
    name="density",
    question="How much of what was retrieved is gold?",
    formula="covered gold tokens / those and the retrieved tokens beside the point, repetitions "
    "counted once",
    meaning={
        "en": "The share of {} that is gold text.",
        "ko": "{} 가운데 정답 글이 차지하는 비율입니다.",
    },
    from_evidence=_of_spread(Spread.density),
    options=OPTIONS,
    cuts_budgets=True,
)
IOU = Metric(
    name="iou",
    question="How closely do the top k fit the gold text?",
    formula="covered gold tokens / all gold tokens and the retrieved tokens beside the point",
    meaning={
        "en": "The words that gold and {} share, of all words of both.",
        "ko": "정답과 {}의 모든 단어 가운데 둘이 공유하는 단어의 비율입니다.",
    },
    from_evidence=_of_spread(Spread.iou),
    options=OPTIONS,
    cuts_budgets=True,
)
