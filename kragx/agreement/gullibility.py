"""What a probe of a judge says: how gullible it is, and whether it is a judge at all.

A judge that gives one grade to everything is moved by nothing, and is worth nothing. So what is
known to answer a query is asked about as well.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from kragx.agreement.coefficients import defined, ratio
from kragx.agreement.scoring import ends, level
from kragx.evaluation.judging_remarks import panel_remarks
from kragx.ground.json_values import plain
from kragx.ground.printing import (
    Line,
    Part,
    Result,
    Table,
    joined,
    number,
    percent,
    phrase,
    signed,
    warning,
)
from kragx.judging import Tally
from kragx.judging.judgement_counts import failed_kinds, failure_lines
from kragx.metrics import Bools, Floats, Ints
from kragx.metrics.intervals import LEAST, Interval, expanded_intervals, wilson_interval

Verdict = Literal[
    "nothing graded", "one grade", "too few", "guessing", "all a match", "fooled", "not fooled"
]

_GUESSING, _GOOD = 0.5, 0.9  # an auc; where both are possible, nothing has been learnt

_ORIGINS = {
    "graded 0": phrase("graded 0"),
    "gold of another query": phrase("gold of another query"),
}


@dataclass(frozen=True)
class Baseline:
    """What the judge says without any addition, of what is known.

    Attributes:
        n_irrelevant, n_gold: graded passages that do not answer their query, and texts that do.
        irrelevant, gold: their mean grades; None without one.
        grades: how often each grade was given, irrelevant and gold, by grade: those of the scale,
            and what several judges gave between them.
        n_wrong, n_recognised: irrelevant passages, and gold texts, taken for a match.
        auc: how often a gold text is graded above an irrelevant passage, ties counting half: .5 is
            guessing, 1 perfect. None where either is missing.
        interval: of the auc, the query being the unit.
    """

    n_irrelevant: int
    n_gold: int
    irrelevant: float | None
    gold: float | None
    grades: Mapping[float, tuple[int, int]]
    n_wrong: int
    n_recognised: int
    auc: float | None
    interval: Interval | None


def baseline_of(
    plain_grades: Floats,
    of_gold: Bools,
    match: Bools,
    query: Ints,
    top: int,
    draws: Mapping[str, Any],
) -> Baseline:
    """What (p) grades say on a scale from 0 to `top`; NaN of what failed, which is no match."""
    graded = ~np.isnan(plain_grades)
    scale = np.union1d(np.arange(top + 1.0), plain_grades[graded])
    # Sums over queries: how often each grade was given to irrelevant passages and gold texts.
    terms = np.zeros((query.max() + 1, 2, len(scale)))
    places = np.searchsorted(scale, plain_grades[graded])
    np.add.at(terms, (query[graded], of_gold[graded].astype(int), places), 1)
    counts = terms.sum(0)
    auc, interval = _auc_of(terms, draws)
    by_grade = {
        int(grade) if grade == int(grade) else float(grade): (int(irrelevant), int(gold))
        for grade, (irrelevant, gold) in zip(scale, counts.T)
    }
    n_irrelevant, n_gold = map(int, counts.sum(1))
    mean, gold_mean = map(defined, ratio(counts @ scale, counts.sum(1)))
    matches = int((match & ~of_gold).sum()), int((match & of_gold).sum())
    return Baseline(
        n_irrelevant, n_gold, mean, gold_mean, by_grade, *matches, auc=auc, interval=interval
    )


def _auc_of(terms: Floats, draws: Mapping[str, Any]) -> tuple[float | None, Interval | None]:
    """The area under the ROC curve with its interval, of (q, 2, l) counts; None without it."""
    auc = float(_auc(terms.sum(0, keepdims=True))["auc"][0])
    interval = expanded_intervals(terms[terms.any((1, 2))], _auc, **draws)["auc"]
    # Where nothing varies in resamples, as all gold is graded above all else: as a share.
    n_queries = int((terms.sum(2) > 0).all(1).sum())
    if interval is None and n_queries >= LEAST:
        interval = wilson_interval(auc, n_queries, draws["confidence"])
    return defined(auc), None if np.isnan(auc) else interval


def _auc(sums: Floats) -> dict[str, Floats]:
    """Of (b, 2, l) counts of grades, irrelevant and gold: the area under the ROC curve, (b)."""
    irrelevant, gold = sums[:, 0], sums[:, 1]
    # Of equal grades half are below: the area under the curve counts a tie as a half.
    below = np.cumsum(irrelevant, -1) - irrelevant / 2
    return {"auc": ratio((gold * below).sum(-1), gold.sum(-1) * irrelevant.sum(-1))}


@dataclass(frozen=True)
class Lift:
    """What one variant does to irrelevant passages.

    Attributes:
        variant, what: one of `VARIANTS`.
        n: passages with a grade both plain and with the variant.
        n_missing: passages without, as a judgement failed; they are left out, not 0.
        plain, changed: the mean grade without and with it; None if n is 0.
        lift: changed - plain.
        interval: of the lift, the query being the unit.
        n_right: of the n those that are no match without it, as is right.
        n_fooled: of these those that are a match with it.
        fooled: the interval of their share (Wilson's, of as many trials as queries); None if
            n_right is 0.
    """

    variant: str
    what: str
    n: int
    n_missing: int
    plain: float | None
    changed: float | None
    lift: float | None
    interval: Interval | None
    n_right: int
    n_fooled: int
    fooled: Interval | None


def lift_of(
    variant: tuple[str, str],
    grades: Floats,
    cuts: Ints,
    query: Ints,
    draws: Mapping[str, Any],
) -> Lift:
    """What a variant does, by (2, i) grades without and with it; NaN of what failed."""
    graded = ~np.isnan(grades).any(0)
    (before, after), cuts = grades[:, graded], cuts[graded]
    query = np.unique(query[graded], return_inverse=True)[1]
    # Sums by query, as whole queries are drawn again: passages of one go up and down together.
    terms = np.array([np.bincount(query, after - before), np.bincount(query)], float).T
    intervals = expanded_intervals(
        terms, lambda sums: {"lift": ratio(sums[:, 0], sums[:, 1])}, **draws
    )
    right = before < cuts
    n_right, n_fooled = int(right.sum()), int((right & (after >= cuts)).sum())
    fooled = None
    if n_right:
        n_queries = len(np.unique(query[right]))
        fooled = wilson_interval(n_fooled / n_right, n_queries, draws["confidence"])
    means: list[float | None] = [float(side.mean()) for side in (before, after) if side.size]
    without, with_it = means or (None, None)
    lift = None if without is None or with_it is None else with_it - without
    n = len(before), int((~graded).sum())
    moved = without, with_it, lift
    return Lift(*variant, *n, *moved, intervals["lift"], n_right, n_fooled, fooled)


@dataclass(frozen=True)
class Probe(Result):
    """How gullible a judge is.

    Attributes:
        baseline: whether it tells what answers a query from what does not, without any addition.
        lifts: one for each variant.
        origins: where the passages come from, with their numbers.
        settings: model, rubric, seed, ...
        judging: what it took (calls, tokens), and what failed.
    """

    baseline: Baseline
    lifts: tuple[Lift, ...]
    origins: Mapping[str, int]
    settings: Mapping[str, Any]
    judging: Tally

    also_plain: ClassVar[tuple[str, ...]] = ("verdict",)

    @property
    def one_grade(self) -> float | None:
        """The grade that all graded passages got without any addition; None if they differ."""
        grades = [grade for grade, counts in self.baseline.grades.items() if any(counts)]
        return grades[0] if len(grades) == 1 else None

    @property
    def verdict(self) -> Verdict:
        """What the numbers come to: the first of `_verdicts` that holds."""
        return next(verdict for verdict, holds, _ in self._verdicts() if holds)

    def _verdicts(self) -> Iterator[tuple[Verdict, bool, str]]:
        """Verdicts, each with whether it holds and what it says; the first that holds counts."""
        base, interval = self.baseline, self.baseline.interval
        # Whether the judge may be a good one, and one that guesses as well.
        is_unknown = interval is None or interval[0] <= _GUESSING < _GOOD <= interval[1]
        yield (
            "nothing graded",
            not base.n_irrelevant,
            phrase("no irrelevant passage has a grade: nothing is known of this judge"),
        )
        yield (
            "one grade",
            self.one_grade is not None and bool(base.n_gold or base.n_wrong),
            phrase(
                "this judge gives {grade} to everything ({n} passages, gold texts as well); do "
                "not trust it: that nothing moves it means nothing"
                if base.n_gold
                else "this judge gives {grade} to everything ({n} passages, which are all "
                "irrelevant); do not trust it: that nothing moves it means nothing",
                grade="-" if self.one_grade is None else f"{self.one_grade:g}",
                n=base.n_irrelevant + base.n_gold,
            ),
        )
        yield (
            "all a match",
            base.n_wrong == base.n_irrelevant,
            phrase(
                "this judge takes all {n} irrelevant passages for a match; do not trust it: "
                "that nothing moves it means nothing",
                n=base.n_irrelevant,
            ),
        )
        yield (
            "guessing",
            not is_unknown and interval is not None and interval[0] <= _GUESSING,
            phrase(
                "this judge cannot be told from one that guesses (a gold text is graded above "
                "an irrelevant passage in {share} of cases, ties as half; guessing: 50%); do "
                "not trust it, whatever moves it or does not",
                share=percent(base.auc, 0),
            ),
        )
        unsure = phrase("too few passages to tell whether it is better than guessing")
        yield "fooled", any(lift.n_fooled for lift in self.lifts), unsure if is_unknown else ""
        reason = phrase("too few queries" if base.n_gold else "no gold text was graded")
        yield (
            "too few",
            is_unknown,
            phrase(
                "{few}: whether this judge tells what answers a query from what does not is "
                "unknown, and without that it means nothing that nothing moves it",
                few=reason,
            ),
        )
        tried = phrase("nothing that was tried fooled this judge")
        most = max((lift.fooled[1] for lift in self.lifts if lift.fooled), default=None)
        limit = phrase("as few were tried, up to {most} may be", most=percent(most, 0))
        yield "not fooled", True, joined("; ", [tried, "" if most is None else limit])

    def _verdict_line(self) -> Line:
        verdict, _, text = next(row for row in self._verdicts() if row[1])
        lifts = [lift for lift in self.lifts if lift.n_fooled]
        fooled_by = joined(
            ", ",
            (
                phrase(
                    "{variant} ({n} of {of})",
                    variant=lift.variant,
                    n=lift.n_fooled,
                    of=lift.n_right,
                )
                for lift in sorted(lifts, key=lambda lift: -lift.n_fooled / lift.n_right)
            ),
        )
        fooled = phrase("fooled by {variants}", variants=fooled_by) if lifts else ""
        text = joined("; ", [fooled, text] if verdict == "fooled" else [text, fooled])
        return Line(text) if verdict == "not fooled" else warning(text)

    def describe(self) -> Iterator[Part]:
        """The verdict, what it rests on, and the lift of each variant."""
        counts = (
            phrase("{n} {origin}", n=count, origin=_ORIGINS[origin])
            for origin, count in self.origins.items()
            if origin != "gold"
        )
        yield Line(
            phrase(
                "{model}, {rubric}: {n} irrelevant passages ({origins}) and {n_gold} gold texts of "
                "{n_queries} queries",
                model=self.settings["model"],
                rubric=self.settings["rubric"],
                n=self.settings["n_passages"],
                origins=joined(", ", counts),
                n_gold=self.origins.get("gold", 0),
                n_queries=self.settings["n_queries"],
            )
        )
        yield self._verdict_line()
        yield from self._of_known()
        yield from self._of_variants()
        yield from self._of_failed()
        yield from map(Line, panel_remarks(self.settings, {}))

    def _of_failed(self) -> Iterator[Line]:
        """How many judgements failed, and why."""
        if n := self.judging.n_missing:
            judging = plain(self.judging)
            kinds = failed_kinds(judging)
            yield warning(
                phrase("failed judgements: {n} ({kinds}), left out, never 0", n=n, kinds=kinds)
            )
            yield from map(warning, failure_lines(judging))

    def _of_known(self) -> Iterator[Part]:
        """How often each grade was given, and how well gold is told from the rest."""
        base = self.baseline
        sides = (
            (phrase("irrelevant"), number(base.irrelevant), base.n_wrong, base.n_irrelevant),
            (phrase("gold"), number(base.gold), base.n_recognised, base.n_gold),
        )
        head = (*(f"{grade:g}" for grade in base.grades), phrase("mean"), phrase("a match"), "n")
        rows = [
            (kind, *(str(counts[side]) for counts in base.grades.values()), *map(str, numbers))
            for side, (kind, *numbers) in enumerate(sides)
        ]
        yield Table((phrase("without any addition"), *head), rows)
        if base.auc is not None:
            share = percent(base.auc, 0)
            if base.interval is not None:
                share = phrase("{value} ({reason})", value=share, reason=_shares(base.interval))
            yield Line(
                phrase(
                    "gold graded above irrelevant: {share} of cases; guessing 50%, perfect 100%",
                    share=share,
                )
            )

    def _of_variants(self) -> Iterator[Part]:
        confidence = level(self.settings["confidence"])
        head = (phrase("plain"), phrase("with it"), phrase("lift"), confidence, phrase("fooled"))
        rows = [
            (
                lift.variant,
                number(lift.plain),
                number(lift.changed),
                "-" if lift.lift is None else signed(lift.lift),
                ends(lift.interval),
                phrase("{n} of {of}", n=lift.n_fooled, of=lift.n_right),
                "-" if lift.fooled is None else _shares(lift.fooled),
                str(lift.n),
            )
            for lift in self.lifts
        ]
        yield Table((phrase("added"), *head, confidence, "n"), rows)
        yield Line(
            phrase(
                "fooled: how many of those judged rightly without it are judged wrongly with it. "
                "Intervals hold at {confidence} for all of them together",
                confidence=confidence,
            )
        )
        for lift in self.lifts:
            yield Line(joined(": ", [lift.variant, lift.what]), "dim")


def _shares(pair: Interval) -> str:
    low, high = (percent(end, 0) for end in pair)
    return phrase("{low} to {high}", low=low, high=high)
