"""What so many questions can decide at all, and how many it takes; known before any is asked."""

from dataclasses import dataclass

from kragx.comparison.comparison import Comparison, Settings
from kragx.comparison.gate_conditions import Gate, Limit
from kragx.comparison.statistics import deciding, enough, least_p, unseen
from kragx.metrics import known_metric
from kragx.printing import number, probability, signed

_NEVER = "cannot be decided with any number of questions"


def undecidable(gate: Gate, limit: Limit, n: int, confidence: float) -> str | None:
    """Why a gate with ``surely`` cannot pass with n questions; None if it can.

    The most favourable answers are looked at; for ``no worse than`` those of two retrievers that
    are equal at each question, as with fewer questions than that only a better one can pass.

    Args:
        gate: of one without ``surely`` None is returned.
        limit: `Gate.limit`.
        n: how many questions have a value.
        confidence: of intervals.
    """
    metric = known_metric(gate.metric)
    if not gate.surely or metric is None:
        return None
    if not metric.is_mean:
        return "cannot be decided with any number of questions: a run's own number has no interval"
    least, greatest = metric.range
    if greatest is None:
        return None
    width, sign = greatest - least, 1 if limit.upwards else -1
    best = 0.0 if gate.than else greatest if limit.upwards else least
    needed = enough(sign * (best - limit.bound) / width, confidence)
    unless = " unless it is better" if gate.than else ""
    if needed is None:
        why = "; leave room: 'by 0.02'" if gate.than else f": {number(best)} is the best there is"
        return f"cannot be decided with any number of questions{unless}{why}"
    if needed <= n:
        return None
    form = signed if gate.than else number
    at_best = "no difference on any" if gate.than else f"{number(best)} on each"
    reached = form(best - sign * unseen(n, confidence) * width)
    return (
        f"cannot be decided with {n:,} question{'s' * (n != 1)}{unless}: even {at_best} "
        f"would only be surely {'at least' if limit.upwards else 'at most'} {reached}; {needed:,} "
        "questions can"
    )


@dataclass(frozen=True)
class TooFew:
    """So few questions, or resamples, that no difference between retrievers can be decided.

    Attributes:
        n: how many questions have a value.
        least_p: the least p that they can reach.
        needed: how many questions would do; None where so few resamples never do.
        resamples: how many there are.
    """

    n: int
    least_p: float
    needed: int | None
    resamples: int

    def __str__(self) -> str:
        if self.needed is None:
            remedy = f"no p of {self.resamples} resamples is small enough, so raise 'resamples'"
        else:
            remedy = f"{self.needed} questions can"
        return (
            f"differences between retrievers cannot be decided with {self.n:,} "
            f"question{'s' * (self.n != 1)}: the least p that they can reach is "
            f"{probability(self.least_p)}; {remedy}"
        )


def undecidable_differences(n: int, settings: Settings) -> TooFew | None:
    """Why no difference between retrievers can be decided with n questions; None if one can.

    Args:
        n: how many questions have a value; of 0 nothing is said.
        settings: of the statistics.
    """
    least = least_p(n, settings.resamples)
    if n < 1 or least <= settings.alpha:
        return None
    needed = deciding(settings.alpha, settings.resamples)
    return TooFew(n, least, needed, settings.resamples)


def too_few_questions(comparison: Comparison) -> TooFew | None:
    """The same of a comparison: the metric with the most questions is looked at."""
    tested = (own.n for own in comparison.overall.differences if own.p is not None)
    return undecidable_differences(max(tested, default=0), comparison.statistics)
