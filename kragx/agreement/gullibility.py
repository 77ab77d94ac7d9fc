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
    grades: Floats, of_gold: Bools, match: Bools, query: Ints, top: int, draws: Mapping[str, Any]
) -> Baseline:
    """What (p) grades say on a scale from 0 to `top`; NaN of what failed, which is no match."""
    graded = ~np.isnan(grades)
    scale = np.union1d(np.arange(top + 1.0), grades[graded])
    # Sums over queries: how often each grade was given to irrelevant passages and gold texts.
    terms = np.zeros((query.max() + 1, 2, len(scale)))
    places = query[graded], of_gold[graded].astype(int), np.searchsorted(scale, grades[graded])
    np.add.at(terms, places, 1)
    counts = terms.sum(0)
    auc = defined(_auc(counts[None])["auc"][0])
    interval = expanded_intervals(terms[terms.any((1, 2))], _auc, **draws)["auc"]
    # Where nothing varies in resamples, as all gold is graded above all else: as a share.
    n_queries = int((terms.sum(2) > 0).all(1).sum())
    if interval is None and auc is not None and n_queries >= LEAST:
        interval = wilson_interval(auc, n_queries, draws["confidence"])
    n_irrelevant, n_gold = map(int, counts.sum(1))
    mean, gold_mean = map(defined, ratio(counts @ scale, counts.sum(1)))
    by_grade = {
        int(grade) if grade == int(grade) else float(grade): (int(irrelevant), int(gold))
        for grade, (irrelevant, gold) in zip(scale, counts.T)
    }
    n_wrong, n_recognised = (int((match & side).sum()) for side in (~of_gold, of_gold))
    matches = n_wrong, n_recognised, auc, None if auc is None else interval
    return Baseline(n_irrelevant, n_gold, mean, gold_mean, by_grade, *matches)


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
        variant: one of `VARIANTS`.
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
    variant: str, grades: Floats, cuts: Ints, query: Ints, draws: Mapping[str, Any]
) -> Lift:
    """What a variant does, by (2, i) grades without and with it; NaN of what failed."""
    graded = np.flatnonzero(~np.isnan(grades).any(0))
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
    plain, changed = (float(side.mean()) if side.size else None for side in (before, after))
    lift = None if plain is None or changed is None else changed - plain
    counts = len(graded), grades.shape[1] - len(graded)
    return Lift(
        variant, *counts, plain, changed, lift, intervals["lift"], n_right, n_fooled, fooled
    )


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
    def _is_unknown(self) -> bool:
        """Whether the judge may be a good one, and one that guesses as well."""
        interval = self.baseline.interval
        return interval is None or interval[0] <= _GUESSING < _GOOD <= interval[1]

    @property
    def verdict(self) -> Verdict:
        """What the numbers come to."""
        base = self.baseline
        if not base.n_irrelevant:
            return "nothing graded"
        if self.one_grade is not None and (base.n_gold or base.n_wrong):
            return "one grade"
        if base.n_wrong == base.n_irrelevant:
            return "all a match"
        if base.interval and not self._is_unknown and base.interval[0] <= _GUESSING:
            return "guessing"
        if any(lift.n_fooled for lift in self.lifts):
            return "fooled"
        return "too few" if self._is_unknown else "not fooled"

    def _sentence(self) -> str:
        """What the verdict says of the judge."""
        base, verdict = self.baseline, self.verdict
        if verdict == "fooled" and not self._is_unknown:
            return ""
        return phrase(
            "no irrelevant passage has a grade: nothing is known of this judge"
            if verdict == "nothing graded"
            else "this judge gives {grade:g} to everything ({n} passages); do not trust it: that "
            "nothing moves it means nothing"
            if verdict == "one grade"
            else "this judge takes all {n_wrong} irrelevant passages for a match; do not trust it: "
            "that nothing moves it means nothing"
            if verdict == "all a match"
            else "this judge cannot be told from one that guesses (a gold text is graded above an "
            "irrelevant passage in {share} of cases, ties as half; guessing: 50%); do not trust "
            "it, whatever moves it or does not"
            if verdict == "guessing"
            else "too few passages to tell whether it is better than guessing"
            if verdict == "fooled"
            else "too few queries or gold texts were graded: whether this judge tells what answers "
            "a query from what does not is unknown, and without that it means nothing that nothing "
            "moves it"
            if verdict == "too few"
            else "nothing that was tried fooled this judge; as few were tried, up to {most} may be",
            grade=self.one_grade or 0,
            n=base.n_irrelevant + base.n_gold,
            n_wrong=base.n_wrong,
            share=percent(base.auc, 0),
            most=percent(max((lift.fooled[1] for lift in self.lifts if lift.fooled), default=1), 0),
        )

    def _verdict_line(self) -> Line:
        """Its sentence, and what fooled the judge, the worst first."""
        fooled = [
            phrase("{name} ({n} of {of})", name=lift.variant, n=lift.n_fooled, of=lift.n_right)
            for lift in sorted(self.lifts, key=lambda lift: -lift.n_fooled / (lift.n_right or 1))
            if lift.n_fooled
        ]
        fooled_by = phrase("fooled by {variants}", variants=joined(", ", fooled)) if fooled else ""
        texts = [fooled_by, self._sentence()]
        text = joined("; ", texts if self.verdict == "fooled" else texts[::-1])
        return Line(text) if self.verdict == "not fooled" else warning(text)

    def describe(self) -> Iterator[Part]:
        """The verdict, what it rests on, and the lift of each variant."""
        yield Line(
            phrase(
                "{model}, {rubric}: {n} irrelevant passages and {n_gold} gold texts of {n_queries} "
                "queries",
                n=self.settings["n_passages"],
                n_gold=self.origins.get("gold", 0),
                **{name: self.settings[name] for name in ("model", "rubric", "n_queries")},
            )
        )
        yield self._verdict_line()
        yield from self._of_known()
        yield from self._of_variants()
        if n := self.judging.n_missing:
            judging = plain(self.judging)
            kinds = failed_kinds(judging)
            yield warning(
                phrase("failed judgements: {n} ({kinds}), left out, never 0", n=n, kinds=kinds)
            )
            yield from map(warning, failure_lines(judging))
        yield from map(Line, panel_remarks(self.settings, {}))

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
            yield Line(
                phrase(
                    "gold graded above irrelevant: {share} ({between}) of cases; guessing 50%, "
                    "perfect 100%",
                    share=percent(base.auc, 0),
                    between=_shares(base.interval),
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
                _shares(lift.fooled),
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


def _shares(pair: Interval | None) -> str:
    if pair is None:
        return "-"
    return phrase("{low} to {high}", low=percent(pair[0], 0), high=percent(pair[1], 0))
