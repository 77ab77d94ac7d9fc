"""What was computed of a metric, and the counts that go with it."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from kragx.metrics.match_table import Bools, Floats
from kragx.metrics.micro import PooledCounts
from kragx.metrics.spec import MetricSpec, defined


@dataclass(frozen=True)
class MetricScores:
    """The values of one metric.

    Attributes:
        spec: which metric.
        values: (q) one for each query; NaN where there is none (left out, or undefined).
        mean: the metric's number: the macro average over the queries that have a value, or the
            run's own number (a percentile, a throughput); None if there is nothing to take it of.
        no_gold: (q) which queries have no gold for this metric; None if it is not made of matches
            alone, and so defined without gold as well.
        pooled: the counts of its micro average, if it has one; what is not known counts as no
            match.
        micro: the micro average; None for a metric that has none.
        bounds: what `mean` can become once every score is known; None if all are.
        micro_bounds: the same for the micro average; None also where it is not known.
        maximum: the greatest value that could have been reached, if that depends on the data.
    """

    spec: MetricSpec
    values: Floats
    mean: float | None
    no_gold: Bools | None = None
    pooled: PooledCounts | None = None
    micro: float | None = None
    bounds: tuple[float, float] | None = None
    micro_bounds: tuple[float, float] | None = None
    maximum: float | None = None

    @property
    def n_scored(self) -> int:
        """How many queries have a value, and so are in the mean."""
        return len(defined(self.values))


def counted(counts: Mapping[str, Any], scores: Sequence[MetricScores]) -> dict[str, Any]:
    """Counts of a run with those of single metrics, which replace what was there of others.

    ``metrics``: how many queries have a value, of metrics that look at documents or times, and of
    those whose counts differ from the whole; ``pooled``: what micro averages are made of.
    """
    usual = {"n_scored": counts["n_scored"], "n_no_gold": counts["n_no_gold"]}
    of_metrics = {
        str(score.spec): {"n_scored": score.n_scored}
        | ({} if score.no_gold is None else {"n_no_gold": int(score.no_gold.sum())})
        for score in scores
    }
    own = {
        "metrics": {name: count for name, count in of_metrics.items() if count != usual},
        "pooled": {str(score.spec): asdict(score.pooled) for score in scores if score.pooled},
    }
    whole = {name: count for name, count in counts.items() if name not in own}
    return whole | {name: count for name, count in own.items() if count}
