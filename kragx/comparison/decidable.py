"""What so many questions can decide at all, and how many it takes; known before any is asked."""

from kragx.comparison.comparison import Settings
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


def undecidable_differences(n: int, settings: Settings) -> str | None:
    """Why no difference between retrievers can be decided with n questions; None if one can.

    Args:
        n: how many questions have a value; of 0 nothing is said.
        settings: of the statistics.
    """
    least = least_p(n, settings.resamples)
    if n < 1 or least <= settings.alpha:
        return None
    needed = deciding(settings.alpha, settings.resamples)
    if needed is None:
        remedy = f"no p of {settings.resamples} resamples is small enough, so raise 'resamples'"
    else:
        remedy = f"{needed} questions can"
    return (
        f"differences between retrievers cannot be decided with {n:,} question{'s' * (n != 1)}: "
        f"the least p that they can reach is {probability(least)}; {remedy}"
    )
