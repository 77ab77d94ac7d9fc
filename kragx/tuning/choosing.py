"""From the values of settings to what is said of them: `tuned`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from kragx.comparison.statistics import LEAST, TOLERANCE, Rows, deciding, sign_flip_p
from kragx.metrics import Bools, Floats
from kragx.tuning.curves import curves_of
from kragx.tuning.grid import Setting
from kragx.tuning.halves import drawn, halved
from kragx.tuning.rules import Rules
from kragx.tuning.shrinkage import excess
from kragx.tuning.tuning import HeldAgainst, HeldOut, SettingResult, Tuning, Verdict

_ALIKE = 0.05
"""Sizes and times that differ by less, as a share of the smaller, are equal."""

_LEAST_SECONDS = 0.001
"""Times that differ by less are equal."""


@dataclass(frozen=True)
class Tried:
    """A setting and what it came to.

    Attributes:
        setting: which.
        name: as results call it.
        values: (q) the metric of each question; NaN where there is none.
        tokens: of the retrieved texts of a question, their mean; None where texts are not known.
        seconds: the median of what a question took; None where that was not measured.
        failed: why it is not compared; empty where it is.
    """

    setting: Setting
    name: str
    values: Floats
    tokens: float | None = None
    seconds: float | None = None
    failed: str = ""


def tuned(
    tried: Sequence[Tried],
    rules: Rules,
    *,
    halves: tuple[Rows, Rows] | None = None,
) -> Tuning:
    """Which setting to take, and how sure that is.

    On half of the questions, drawn by lot, the settings that cannot be told from the best are found
    (`kragx.comparison.statistics.behind_best`), and the simplest of them is chosen: that with the
    fewest tokens of context, then the least time, then the earliest values on the grid's axes;
    sizes and times within 5 % (times within 1 ms) are equal. The other half says what the chosen
    one is worth, and tests it once against the one that was best: where it is told to be worse,
    that one is taken instead, and in either case the mean there is shrunk by what the test adds to
    it (`kragx.tuning.shrinkage`). Questions without a value under some setting are left out.

    Args:
        tried: the settings; those that failed are named and not compared: nothing is told of them.
        rules: how they are compared.
        halves: the questions that choose and those that are held out; None to draw them.
    """
    compared = [own for own in tried if not own.failed and not np.isnan(own.values).all()]
    failed = [own for own in tried if own not in compared]
    n = max((len(own.values) for own in tried), default=0)
    if halves is None:
        halves = halved(drawn([None] * n, rules.seed), [None] * n)
    values = np.stack([own.values for own in compared], axis=1) if compared else np.empty((n, 0))
    whole: Bools = np.asarray(~np.isnan(values).any(axis=1))
    choosing, held = (rows[whole[rows]] for rows in halves)
    known = values[whole]
    base = Tuning(
        match=rules.match,
        metric=rules.metric,
        better=rules.better,
        confidence=rules.confidence,
        seed=rules.seed,
        n_choosing=len(choosing) if compared else 0,
        n_held_out=len(held) if compared else 0,
        verdict="none",
        take=None,
        best=None,
        settings=tuple(map(_unvalued, failed)),
        held_out=None,
        curves=(),
    )
    if not compared or not len(choosing):
        return base
    behind = rules.behind(values[choosing])
    told = behind.p <= rules.alpha
    means = (rules.sign * values[choosing]).mean(axis=0)
    best = int(np.argmax(means))
    front = _front((rules.sign * known).mean(axis=0), compared)
    shown = [
        SettingResult(
            name=own.name,
            of=own.setting.of,
            values=dict(own.setting.values),
            mean=mean,
            low=low,
            high=high,
            held_out=float(values[held, place].mean()) if len(held) else None,
            p=float(behind.p[place]) if len(compared) > 1 else None,
            at_most=float(behind.most[place]) if np.isfinite(behind.most[place]) else None,
            told_apart=bool(told[place]),
            tokens=own.tokens,
            seconds=own.seconds,
            on_front=front[place],
        )
        for place, (own, (mean, low, high)) in enumerate(
            zip(compared, rules.means(values[choosing]))
        )
    ]
    ranked = sorted(range(len(shown)), key=lambda place: -means[place])
    base = replace(
        base,
        settings=(*(shown[place] for place in ranked), *base.settings),
        best=compared[best].name,
        curves=curves_of(compared, known, rules),
    )
    needed = deciding(rules.alpha, rules.resamples)
    if len(compared) > 1 and (len(choosing) < max(needed or 0, LEAST) or not len(held)):
        return replace(base, verdict="too_few")
    alike = [place for place in range(len(compared)) if not told[place]]
    chosen = _simplest(alike, compared, means)
    verdict: Verdict = "best" if chosen == best else "simplest"
    test = None
    if chosen != best:
        test = _held_against(values[held], chosen, best, compared, rules)
        if test.refutes(rules.confidence, rules.better):
            verdict, chosen = "refuted", best
    if len(compared) == 1:
        verdict = "only"
    elif len(alike) == len(compared) and verdict != "refuted":
        verdict = "open"
    outcome = None
    if len(held):
        outcome = _held_out(values[held], chosen, best, test, compared, rules)
    return replace(base, verdict=verdict, take=compared[chosen].name, held_out=outcome)


def _unvalued(own: Tried) -> SettingResult:
    values = dict(own.setting.values)
    failed = own.failed or "no question has a value"
    nothing = dict.fromkeys(("mean", "low", "high", "held_out", "p", "at_most"))
    return SettingResult(
        own.name,
        own.setting.of,
        values,
        **nothing,
        told_apart=False,
        tokens=own.tokens,
        seconds=own.seconds,
        on_front=False,
        failed=failed,
    )


def _held_out(
    values: Floats,
    chosen: int,
    best: int,
    test: HeldAgainst | None,
    compared: Sequence[Tried],
    rules: Rules,
) -> HeldOut:
    """What a setting is worth by questions that had a say in the choice by that test alone."""
    ((mean, low, high),) = rules.means(values[:, [chosen]])
    if test is None:
        return HeldOut(mean, low, high, None)
    simpler = next(place for place, own in enumerate(compared) if own.name == test.name)
    better = rules.sign * values
    lead = better[:, simpler] - better[:, best]
    shrunk_by = excess(better[:, chosen], lead, rules.confidence, kept=chosen == simpler)
    # The end on the flattering side stays, so that both means lie between.
    if rules.better == "higher":
        low = None if low is None else low - shrunk_by
    else:
        high = None if high is None else high + shrunk_by
    if rules.range is not None:
        low, high = (
            None if end is None else float(np.clip(end, *rules.range)) for end in (low, high)
        )
    return HeldOut(mean - rules.sign * shrunk_by, low, high, test, shrunk_by)


def _held_against(
    values: Floats, chosen: int, best: int, compared: Sequence[Tried], rules: Rules
) -> HeldAgainst:
    """One setting against another, on questions that had no part in choosing the two."""
    differences = values[:, [chosen]] - values[:, [best]]
    (p,) = sign_flip_p(differences, rules.resamples, rules.seed).tolist()
    return HeldAgainst(compared[chosen].name, float(differences.mean()), p)


def _simplest(alike: Sequence[int], compared: Sequence[Tried], means: Floats) -> int:
    """Which of some settings is the simplest; of what is equal in all, the better one."""
    places = list(alike)
    for of, slack in (
        ([own.tokens for own in compared], 0.0),
        ([own.seconds for own in compared], _LEAST_SECONDS),
    ):
        known = {place: size for place in places if (size := of[place]) is not None}
        if len(known) < len(places):
            continue  # of what is known of some alone nothing follows
        least = min(known.values())
        most = max(least * (1 + _ALIKE), least + slack)
        places = [place for place in places if known[place] <= most]
    return min(places, key=lambda place: (compared[place].setting.places, -means[place]))


def _front(quality: Floats, compared: Sequence[Tried]) -> list[bool]:
    """Which settings no other is at least as good as in all, and better in something.

    What is not known of all counts for nothing; times within a millisecond are equal.
    """
    costs = []
    for of, slack in (
        ([own.tokens for own in compared], TOLERANCE),
        ([own.seconds for own in compared], _LEAST_SECONDS),
    ):
        known = [size for size in of if size is not None]
        if len(known) == len(compared):
            costs.append((np.array(known), slack))
    good = [(quality, TOLERANCE), *((-cost, slack) for cost, slack in costs)]

    def dominates(one: int, other: int) -> bool:
        leads = [(float(of[one] - of[other]), slack) for of, slack in good]
        return all(lead >= -slack for lead, slack in leads) and any(
            lead > slack for lead, slack in leads
        )

    every = range(len(compared))
    return [not any(dominates(other, own) for other in every) for own in every]
