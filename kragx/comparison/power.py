"""What so many questions can decide at all, and how many it takes; known before any is asked."""

from collections.abc import Callable
from math import ceil

from kragx.comparison.comparison import Comparison, Settings
from kragx.comparison.estimates import definition_of
from kragx.comparison.gate_conditions import Gate, Limit
from kragx.comparison.scores import interval_kind
from kragx.comparison.statistics import deciding, enough, least_p, unseen
from kragx.ground.printing import at_most, message, number, probability, signed


def undecidable(
    gate: Gate, limit: Limit, n: int, confidence: float, effective: float | None = None
) -> str | None:
    """Why a gate with ``surely`` cannot pass with n questions; None if it can.

    The most favourable answers are looked at; for ``no worse than`` those of two retrievers that
    are equal at each question, as with fewer questions than that only a better one can pass.

    Args:
        gate: of one without ``surely`` None is returned.
        limit: `Gate.limit`.
        n: how many questions have a value.
        confidence: of intervals.
        effective: Kish's n of these; None where all weigh alike.
    """
    metric = definition_of(gate.metric)
    lowest, greatest = metric.range
    if not gate.surely or greatest is None:
        return None
    width, sign = greatest - lowest, 1 if limit.upwards else -1
    best = 0.0 if gate.than else greatest if limit.upwards else lowest
    exact = metric.interval != "score" and not gate.than
    n_needed = enough(sign * (best - limit.bound) / width, confidence, exact=exact)
    if n_needed is None:
        return message(
            "cannot be decided with any number of questions unless it is better; leave room: "
            "'by 0.02'"
            if gate.than
            else "cannot be decided with any number of questions: {best} is the best there is",
            best=number(best),
        )
    trials = n if effective is None else effective
    if n_needed <= trials:
        return None
    form = signed if gate.than else limit_form(gate.metric, limit)
    reached = form(best - sign * unseen(trials, confidence, exact=exact) * width)
    surely = message(
        "surely at least {value}" if limit.upwards else "surely at most {value}", value=reached
    )
    questions = message("1 question") if n == 1 else message("{n:,} questions", n=n)
    return message(
        "cannot be decided with {questions} unless it is better: even no difference on any would "
        "only be {surely}; {needed:,} questions can"
        if gate.than
        else "cannot be decided with {questions}: even {best} on each would only be {surely}; "
        "{needed:,} questions can",
        questions=questions,
        best=number(best),
        surely=surely,
        # As many of weights like these as are as sure.
        needed=ceil(n_needed * n / effective) if effective else n_needed,
    )


def limit_form(metric: str, limit: Limit) -> Callable[[float], str]:
    """How a bound is written that a gate on a metric looks at."""
    is_exact = interval_kind(metric) != "score"
    return at_most if is_exact and not limit.upwards else number


def undecidable_differences(n: int, settings: Settings) -> str | None:
    """Why no difference between retrievers can be decided with n questions; None if one can.

    Args:
        n: how many questions have a value; of 0 nothing is said.
        settings: of the statistics.
    """
    smallest = least_p(n, settings.resamples)
    if n < 1 or smallest <= settings.alpha:
        return None
    n_needed = deciding(settings.alpha, settings.resamples)
    remedy = message(
        "no p of {n} resamples is small enough, so raise 'resamples'"
        if n_needed is None
        else "{n} questions can, if all of them agree; some fifty are a start",
        n=settings.resamples if n_needed is None else n_needed,
    )
    return message(
        "differences between retrievers cannot be decided with 1 question: the least p that "
        "they can reach is {p}; {remedy}"
        if n == 1
        else "differences between retrievers cannot be decided with {n:,} questions: the least "
        "p that they can reach is {p}; {remedy}",
        n=n,
        p=probability(smallest),
        remedy=remedy,
    )


def too_few_questions(comparison: Comparison) -> str | None:
    """The same of a comparison: the metric with the most questions is looked at."""
    tested = (
        difference.n for difference in comparison.overall.differences if difference.p is not None
    )
    return undecidable_differences(max(tested, default=0), comparison.statistics)
