"""What a probe of a judge says: how gullible it is, and whether it is a judge at all.

A judge that gives one grade to everything is moved by nothing, and is worth nothing. So what is
known to answer a query is asked about as well.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from kragx.agreement.coefficients import defined, ratio
from kragx.agreement.scoring import LEVEL, ends
from kragx.ground.json_values import to_jsonable
from kragx.ground.printing import (
    Line,
    Part,
    Result,
    Table,
    joined,
    message,
    number,
    percent,
    signed,
    warning,
)
from kragx.judging import Tally
from kragx.judging.judgement_counts import failed_kinds, failure_lines
from kragx.metrics import Bools, Floats, Ints
from kragx.metrics.intervals import LEAST, Interval, expanded_intervals, wilson_interval

_NAMES = ("model", "rubric", "n_gold", "n_queries")
_GUESSING, _GOOD = 0.5, 0.9  # an auc; where both are possible, nothing has been learnt

Verdict = Literal[
    "nothing graded", "one grade", "too few", "guessing", "all a match", "fooled", "not fooled"
]
_SENTENCES: Mapping[Verdict, str] = {
    "nothing graded": message("no irrelevant passage has a grade: nothing is known of this judge"),
    "one grade": message(
        "this judge gives one grade to everything; do not trust it: that nothing moves it means "
        "nothing"
    ),
    "all a match": message(
        "this judge takes all irrelevant passages for a match; do not trust it: that nothing moves "
        "it means nothing"
    ),
    "guessing": message(
        "this judge cannot be told from one that guesses; do not trust it, whatever moves it or "
        "does not"
    ),
    "too few": message(
        "too few queries or gold texts were graded to tell whether this judge is better than "
        "guessing"
    ),
    "not fooled": message("nothing that was tried fooled this judge"),
}


@dataclass(frozen=True)
class Baseline:
    """What the judge says without any addition, of what is known.

    Attributes:
        n_irrelevant, n_gold: graded passages that do not answer their query, and texts that do.
        irrelevant, gold: their mean grades; None without one.
        n_wrong, n_recognised: irrelevant passages, and gold texts, taken for a match.
        n_grades: how many different grades it gave.
        auc: how often a gold text is graded above an irrelevant passage, ties counting half: .5 is
            guessing, 1 perfect. None where either is missing.
        interval: of the auc, the query being the unit.
    """

    n_irrelevant: int
    n_gold: int
    irrelevant: float | None
    gold: float | None
    n_wrong: int
    n_recognised: int
    n_grades: int
    auc: float | None
    interval: Interval | None


def baseline_of(
    grades: Floats, of_gold: Bools, match: Bools, query: Ints, draws: Mapping[str, Any]
) -> Baseline:
    """What (p) grades say; NaN of what failed, which is no match."""
    graded = ~np.isnan(grades)
    scale = np.unique(grades[graded])
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
    n_wrong, n_recognised = (int((match & side).sum()) for side in (~of_gold, of_gold))
    matches = n_wrong, n_recognised, len(scale), auc, None if auc is None else interval
    return Baseline(n_irrelevant, n_gold, mean, gold_mean, *matches)


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
        lift: how far it moves the mean grade; None if n is 0.
        interval: of the lift, the query being the unit.
        n_right: of the n those that are no match without it, as is right.
        n_fooled: of these those that are a match with it.
        fooled: the interval of their share (Wilson's, of as many trials as queries); None if
            n_right is 0.
    """

    variant: str
    n: int
    n_missing: int
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
    # Of means, as of grades that are no whole numbers the sum of differences may be another one.
    lift = float(after.mean()) - float(before.mean()) if graded.size else None
    counts = len(graded), grades.shape[1] - len(graded)
    return Lift(variant, *counts, lift, intervals["lift"], n_right, n_fooled, fooled)


@dataclass(frozen=True)
class Probe(Result):
    """How gullible a judge is.

    Attributes:
        baseline: whether it tells what answers a query from what does not, without any addition.
        lifts: one for each variant.
        settings: model, rubric, seed, ...
        judging: what it took (calls, tokens), and what failed.
    """

    baseline: Baseline
    lifts: tuple[Lift, ...]
    settings: Mapping[str, Any]
    judging: Tally

    also_plain: ClassVar[tuple[str, ...]] = ("verdict",)

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
        if base.n_grades == 1 and (base.n_gold or base.n_wrong):
            return "one grade"
        if base.n_wrong == base.n_irrelevant:
            return "all a match"
        if base.interval and not self._is_unknown and base.interval[0] <= _GUESSING:
            return "guessing"
        if any(lift.n_fooled for lift in self.lifts):
            return "fooled"
        return "too few" if self._is_unknown else "not fooled"

    def describe(self) -> Iterator[Part]:
        """The verdict, what it rests on, and the lift of each variant."""
        yield Line(
            message(
                "{model}, {rubric}: {n} irrelevant passages and {n_gold} gold texts of {n_queries} "
                "queries",
                n=self.settings["n_passages"],
                **{
                    name: self.settings[name] for name in ("model", "rubric", "n_gold", "n_queries")
                },
            )
        )
        verdict = self.verdict
        fooled = [
            message("{name} ({n} of {of})", name=lift.variant, n=lift.n_fooled, of=lift.n_right)
            for lift in sorted(self.lifts, key=lambda lift: -lift.n_fooled / (lift.n_right or 1))
            if lift.n_fooled
        ]
        fooled_by = message("fooled by {variants}", variants=joined(", ", fooled)) if fooled else ""
        said = "too few" if verdict == "fooled" and self._is_unknown else verdict
        text = joined("; ", [_SENTENCES.get(said, ""), fooled_by])
        yield Line(text) if verdict == "not fooled" else warning(text)
        yield from self._of_known()
        yield from self._of_variants()
        if n := self.judging.n_missing:
            judging = to_jsonable(self.judging)
            kinds = failed_kinds(judging)
            yield warning(
                message("failed judgements: {n} ({kinds}), left out, never 0", n=n, kinds=kinds)
            )
            yield from map(warning, failure_lines(judging))

    def _of_known(self) -> Iterator[Part]:
        """What irrelevant passages and gold texts got, and how well they are told apart."""
        base = self.baseline
        head = (message("without any addition"), message("mean"), message("a match"), "n")
        sides = (
            (message("irrelevant"), base.irrelevant, base.n_wrong, base.n_irrelevant),
            (message("gold"), base.gold, base.n_recognised, base.n_gold),
        )
        yield Table(head, [(kind, number(mean), str(m), str(n)) for kind, mean, m, n in sides])
        if base.auc is not None:
            yield Line(
                message(
                    "gold graded above irrelevant: {share} ({between}) of cases; guessing 50%, "
                    "perfect 100%",
                    share=percent(base.auc, 0),
                    between=_shares(base.interval),
                )
            )

    def _of_variants(self) -> Iterator[Part]:
        confidence = LEVEL
        head = (message("lift"), confidence, message("fooled"))
        rows = [
            (
                lift.variant,
                "-" if lift.lift is None else signed(lift.lift),
                ends(lift.interval),
                message("{n} of {of}", n=lift.n_fooled, of=lift.n_right),
                _shares(lift.fooled),
                str(lift.n),
            )
            for lift in self.lifts
        ]
        yield Table((message("added"), *head, confidence, "n"), rows)
        yield Line(
            message(
                "fooled: how many of those judged rightly without it are judged wrongly with it. "
                "Intervals hold at {confidence} for all of them together",
                confidence=confidence,
            )
        )


def _shares(pair: Interval | None) -> str:
    if pair is None:
        return "-"
    return message("{low} to {high}", low=percent(pair[0], 0), high=percent(pair[1], 0))
