"""The verdict: which retriever is best in the first metric, or that the data does not say."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Any

from kragx.comparison.advice import Recommendation
from kragx.comparison.comparison import Comparison
from kragx.comparison.estimates import Difference, Estimate, Leader, definition_of
from kragx.comparison.scores import direction
from kragx.comparison.statistics import deciding, queries_needed
from kragx.ground.printing import joined, listed, message

MANY = 10
"""Beyond so many times the sample nobody can say how many queries would decide."""

TELLING = 20
"""Fewer queries than this do not say how many would decide: their effect may be any."""


def verdict(comparison: Comparison) -> Recommendation:
    """Which retriever is best in the first metric, or that the data does not say."""
    leader, metric = comparison.leader, comparison.primary
    if not comparison.retrievers:
        return _nobody_left(comparison)
    if len(comparison.retrievers) < 2:
        return _only_one(comparison)
    if leader is None:
        return _nobody(comparison)
    if not comparison.overall.found_nothing(metric):
        return _between(comparison, leader)
    # The first metric is 0 for all, and maybe every other one too.
    nothing = not any(map(comparison.overall.finds, comparison.retrievers))
    text = message(
        "None found anything: {metric} is 0 for {every}, and so none is better. Look at the "
        "gold and the matcher first; kragx explain shows how near each document came."
        if nothing
        else "{metric} is 0 for {every}, and so none is better in it.",
        metric=metric,
        every=every(comparison),
    )
    return Recommendation("no_winner", text, False, {"metric": metric, "nothing_found": nothing})


def _nobody_left(comparison: Comparison) -> Recommendation:
    """Nobody can be compared."""
    failed = comparison.not_comparable
    text = message(
        "Every retriever failed or returned nothing, so there is nothing to compare."
        if any(failure.nothing for failure in comparison.failures)
        else "Every retriever failed, so there is nothing to compare."
        if len(failed) > 1
        else "The retriever {name} failed, so there is nothing to compare.",
        name=failed[0],
    )
    values = {"metric": comparison.primary, "failed": list(failed)}
    return Recommendation("no_winner", text, False, values)


def _only_one(comparison: Comparison) -> Recommendation:
    """There is nobody else to compare."""
    failed = comparison.not_comparable
    text = message(
        "There is one retriever, and so nothing to choose between; another, or earlier results "
        "(--earlier), can be set against it."
        if not failed
        else "Only {best} can be compared, as {lost} failed or returned nothing."
        if any(failure.nothing for failure in comparison.failures)
        else "Only {best} can be compared, as {lost} failed.",
        best=comparison.best,
        lost=listed(failed),
    )
    return Recommendation("one_retriever", text, False, {"failed": list(failed)})


def _nobody(comparison: Comparison) -> Recommendation:
    """Nobody is best: values are not known, or searches do not say what the first metric sums."""
    name, means = comparison.primary, comparison.overall.means
    directed = direction(name) != "neither"
    text = message(
        "{metric} is not known for every question, so it does not say which retriever is best."
        if any(of_retriever[name].bounds for of_retriever in means.values())
        else "{metric} has no value by which retrievers differ, so it does not say which is best: "
        "look whether the questions have gold, and whether searches say what they cost."
        if directed
        else "{metric} has no direction, so it does not say which retriever is best.",
        metric=name,
    )
    return Recommendation("no_winner", text, False, {"metric": name, "directed": directed})


def _between(comparison: Comparison, leader: Leader) -> Recommendation:
    """The best against the one that comes next."""
    metric = leader.metric
    best, rival = comparison.overall.means[leader.best][metric], nearest_rival(comparison, leader)
    values: dict[str, Any] = {
        "metric": metric,
        "best": leader.best,
        "shared": list(leader.shared),
        "value": best.value,
        "low": best.low,
        "high": best.high,
        "n": best.n,
        "tied": list(leader.tied),
        "next": rival.against,
        **_values_of(rival, "difference_"),
    }
    if leader.decided:
        opposite = _opposite(comparison, leader)
        values["opposite"] = [
            {
                "metrics": [difference.metric for difference in of_rival],
                "retriever": name,
                **_values_of(of_rival[0]),
            }
            for name, of_rival in opposite.items()
        ]
        text = joined(" ", [_use(comparison, best, rival), *map(_opposed, opposite.values())])
        return Recommendation("winner", text, True, values)
    texts = [_undecided(leader, rival, best.text)]
    beaten = [difference for difference in leader.differences if difference.verdict == "better"]
    if leader.tested and beaten:
        texts += [
            message(
                "{best} is better than {names}: the {difference}."
                if len(beaten) == 1
                else "{best} is better than {names}.",
                best=leader.best,
                names=listed([difference.against for difference in beaten]),
                difference=beaten[0].text,
            )
        ]
    if leader.tested and not leader.behind:
        n_needed, many_more = needed_queries(comparison, rival)
        values["queries_needed"], values["queries_needed_at_most"] = n_needed
        values["many_more"] = many_more
        texts += [needed_text(n_needed, rival.n, many_more=many_more)]
    return Recommendation("no_winner", joined(" ", texts), False, values)


def _use(comparison: Comparison, best: Estimate, rival: Difference) -> str:
    """That the best is to be used, and what it is better by than the one that comes next."""
    return message(
        "Use {best}, which leaks: in {metric} it is better than {every}, with {value}. The next is "
        "{next}; the {difference}."
        if leak_of(comparison, rival.retriever) is not None
        else "Use {best}: in {metric} it is better than {every}, with {value}. The next is {next}; "
        "the {difference}.",
        best=rival.retriever,
        metric=rival.metric,
        every=message(
            "every other retriever that can be compared"
            if comparison.not_comparable
            else "every other retriever"
        ),
        value=best.text,
        next=rival.against,
        difference=rival.text,
    )


def leak_of(comparison: Comparison, retriever: str) -> str | None:
    """The first metric by which a retriever finds what must not be found; None without one."""
    leaks = (
        metric
        for metric, mean in comparison.overall.means.get(retriever, {}).items()
        # What is not known may be clean, so the least that it may be is looked at.
        if definition_of(metric).reads_forbidden and (mean.least or 0) > 0
    )
    return next(leaks, None)


def _values_of(difference: Difference, prefix: str = "") -> dict[str, float | None]:
    return {
        "difference": difference.value,
        f"{prefix}low": difference.low,
        f"{prefix}high": difference.high,
        "p_adjusted": difference.p_adjusted,
    }


def by_depth(comparison: Comparison, *names: str) -> list[tuple[float, bool, str]]:
    """The metrics of these names by their k, infinite for the whole list, recall after others.

    Those with options or a budget are none of them.
    """
    return sorted(
        (float(k or "inf"), name == "recall", metric)
        for metric in comparison.metrics
        for name, _, k in [metric.partition("@")]
        if name in names and (k.isdigit() or not k)
    )


def _opposite(comparison: Comparison, leader: Leader) -> dict[str, list[Difference]]:
    """Who is better than the leader in other metrics, for sure, and how much in each.

    Times and what is made of them are another matter.
    """
    opposite: dict[str, list[Difference]] = {}
    for metric, rival in comparison.overall.leaders.items():
        is_time = "second" in definition_of(metric).unit
        for difference in () if is_time or metric == leader.metric else rival.differences:
            if difference.against == leader.best and difference.verdict == "better":
                opposite.setdefault(rival.best, []).append(difference)
    return opposite


def _opposed(differences: Sequence[Difference]) -> str:
    first = differences[0]
    return message(
        "But {retriever} is better than it in {metric}: the {difference}."
        if len(differences) == 1
        else "But {retriever} is better than it in {metrics}: in {metric} the {difference}.",
        retriever=first.retriever,
        metric=first.metric,
        metrics=listed([difference.metric for difference in differences]),
        difference=first.text,
    )


def every(comparison: Comparison) -> str:
    """All retrievers but those that failed on more than is tolerated: nothing is said of them."""
    return message(
        "every retriever that can be compared" if comparison.not_comparable else "every retriever"
    )


def _undecided(leader: Leader, rival: Difference, best: str) -> str:
    if leader.ties and not leader.behind and all(tie.never_differs for tie in leader.ties):
        return message(
            "{names} have the same value for every query in {metric}, {value} on average; the data "
            "does not say which is best.",
            names=listed([leader.best, *leader.tied]),
            metric=leader.metric,
            value=best,
        )
    # What keeps the best value from making its retriever the best.
    ties = [name for name in leader.tied if name not in leader.shared]
    reason = message(
        "it is a run's own number, which is not tested"
        if not leader.tested
        else "{rival} is better on the {n:,} queries where both have a value: the {difference}"
        if leader.behind
        else "cannot be told from each other"
        if not ties
        else "cannot be told from {ties}: the {difference}"
        if ties == [rival.against]
        else "cannot be told from {ties}; to {rival} the {difference}",
        ties=listed(ties) if ties else "",
        rival=rival.against,
        n=rival.n,
        difference=rival.text,
    )
    return message(
        "The data does not say which retriever is best in {metric}: {names} have the best value, "
        "{value}, but {reason}."
        if len(leader.shared) > 1
        else "The data does not say which retriever is best in {metric}: {names} has the best "
        "value, {value}, but {reason}.",
        metric=leader.metric,
        names=listed(leader.shared),
        value=best,
        reason=reason,
    )


def needed_queries(
    comparison: Comparison, rival: Difference
) -> tuple[tuple[int | None, int | None], bool]:
    """How many queries would decide between the leader and the one that comes next.

    The difference itself is known no better than its standard error, so the ends are those of a
    difference larger and smaller by one, in two digits.

    Returns:
        At the least: None where nothing differs, beyond `MANY` times the sample, and of fewer than
        `TELLING` queries, as one more would seem to do. At the most: None beyond `MANY` times the
        sample. And whether many more may be needed, or, without a least number, are.
    """
    n, error = rival.n, 1 / sqrt(max(rival.effective or rival.n, 1))
    if n < TELLING or rival.effect is None:
        return (None, None), n < TELLING and not rival.never_differs
    settings = comparison.statistics
    fewest = max(n + 1, deciding(settings.alpha, settings.resamples) or 0)
    fewest_needed, most_needed = (
        None if n_needed is None or n_needed > MANY * n else _two_digits(max(n_needed, fewest))
        for n_needed in (
            queries_needed(
                abs(rival.effect) + way * error, comparison.least, weigh=n / (rival.effective or n)
            )
            for way in (1, -1)
        )
    )
    return (fewest_needed, most_needed), most_needed is None


def needed_text(n_needed: tuple[int | None, int | None], n: int, *, many_more: bool) -> str:
    """The same in a sentence, of `n` queries that there are; nothing where nothing differs."""
    fewest, largest = n_needed
    if fewest is None and not many_more:
        return ""
    return message(
        "So few queries ({n}) do not say how many would decide; some fifty are a start."
        if n < TELLING
        else "Many more queries would be needed to decide (there are {n:,})."
        if fewest is None
        else "It would take about {few:,} queries at the least, perhaps many more (there are "
        "{n:,})."
        if largest is None
        else "About {few:,} queries would decide (there are {n:,})."
        if fewest == largest
        else "About {few:,} to {most:,} queries would decide (there are {n:,}).",
        few=fewest,
        most=largest,
        n=n,
    )


def _two_digits(n: int) -> int:
    """The least number of two digits and zeros that is not below."""
    # More digits would claim what the range itself denies.
    unit: int = 10 ** max(0, len(str(n)) - 2)
    return unit * -(-n // unit)


def nearest_rival(comparison: Comparison, leader: Leader) -> Difference:
    """The leader against the one that comes next: who is better first, then ties that differ."""
    means, metric = comparison.overall.means, leader.metric
    top = min if comparison.better[metric] == "lower" else max
    # Who is the same for every query is no rival: nothing would ever decide between them.
    rivals = [tie for tie in leader.ties if not tie.never_differs]
    # A leader is only compared with those that have a value.
    return top(
        leader.behind or rivals or leader.ties or leader.differences,
        key=lambda difference: means[difference.against][metric].value or 0.0,
    )
