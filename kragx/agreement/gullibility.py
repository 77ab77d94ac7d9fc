"""What a probe of a judge says: how gullible it is, and whether it is a judge at all.

A judge that gives one grade to everything is moved by nothing, and is worth nothing. So what is
known to answer a query is asked about as well.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

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
from kragx.judging.tally import failed_kinds, failure_lines
from kragx.metrics.intervals import Interval

Verdict = Literal[
    "nothing graded", "one grade", "too few", "guessing", "all a match", "fooled", "not fooled"
]


_GUESSING, _GOOD = 0.5, 0.9  # an auc; where both are possible, nothing has been learnt

_ORIGINS = {
    "graded 0": phrase("graded 0"),
    "gold of another query": phrase("gold of another query"),
}
"""What `Probe.origins` calls the passages."""


@dataclass(frozen=True)
class Baseline:
    """What the judge says without any addition, of what is known.

    Attributes:
        n_irrelevant, n_gold: graded passages that do not answer their query, and texts that do.
        irrelevant, gold: their mean grades; None without one.
        grades: how often each grade was given, irrelevant and gold, by grade: those of the scale,
            and what several judges gave between them.
        n_wrong: irrelevant passages taken for a match.
        n_recognised: gold texts taken for a match.
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

    def describe(self) -> Iterator[Part]:
        """How often each grade was given, and how well gold is told from the rest."""
        sides = (
            (phrase("irrelevant"), self.irrelevant, self.n_wrong, self.n_irrelevant),
            (phrase("gold"), self.gold, self.n_recognised, self.n_gold),
        )
        grades = (f"{grade:g}" for grade in self.grades)
        yield Table(
            (phrase("without any addition"), *grades, phrase("mean"), phrase("a match"), "n"),
            [
                (
                    kind,
                    *(str(counts[side]) for counts in self.grades.values()),
                    number(mean),
                    str(n_match),
                    str(n),
                )
                for side, (kind, mean, n_match, n) in enumerate(sides)
            ],
        )
        if self.auc is not None:
            share = percent(self.auc, 0)
            if self.interval is not None:
                share = phrase("{value} ({reason})", value=share, reason=_shares(self.interval))
            yield Line(
                phrase(
                    "gold graded above irrelevant: {share} of cases; guessing 50%, perfect 100%",
                    share=share,
                )
            )


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
        """What the numbers come to; the first that holds.

        ``nothing graded``; ``one grade`` to everything that was graded; ``all a match``: no
        irrelevant passage is left that could become one; ``guessing``: the auc may be .5, and not
        .9; ``fooled`` by a variant; ``too few`` queries, or no gold text, to tell whether the judge
        knows what answers a query; ``not fooled``.
        """
        base = self.baseline
        if not base.n_irrelevant:
            return "nothing graded"
        if self.one_grade is not None and (base.n_gold or base.n_wrong):
            return "one grade"
        if base.n_wrong == base.n_irrelevant:
            return "all a match"
        if not self._is_unknown and base.interval and base.interval[0] <= _GUESSING:
            return "guessing"
        if any(lift.n_fooled for lift in self.lifts):
            return "fooled"
        return "too few" if self._is_unknown else "not fooled"

    @property
    def _is_unknown(self) -> bool:
        """Whether the judge may be a good one, and one that guesses as well."""
        interval = self.baseline.interval
        return interval is None or interval[0] <= _GUESSING < _GOOD <= interval[1]

    def _verdict_line(self) -> Line:
        base, verdict = self.baseline, self.verdict
        highs = [lift.fooled[1] for lift in self.lifts if lift.fooled]
        unsure = phrase("too few passages to tell whether it is better than guessing")
        sentences: dict[Verdict, list[str]] = {
            "nothing graded": [
                phrase("no irrelevant passage has a grade: nothing is known of this judge")
            ],
            "one grade": [
                phrase(
                    "this judge gives {grade} to everything ({n} passages, gold texts as well); do "
                    "not trust it: that nothing moves it means nothing"
                    if base.n_gold
                    else "this judge gives {grade} to everything ({n} passages, which are all "
                    "irrelevant); do not trust it: that nothing moves it means nothing",
                    grade="-" if self.one_grade is None else f"{self.one_grade:g}",
                    n=base.n_irrelevant + base.n_gold,
                )
            ],
            "all a match": [
                phrase(
                    "this judge takes all {n} irrelevant passages for a match; do not trust it: "
                    "that nothing moves it means nothing",
                    n=base.n_irrelevant,
                )
            ],
            "too few": [
                phrase(
                    "{few}: whether this judge tells what answers a query from what does not is "
                    "unknown, and without that it means nothing that nothing moves it",
                    few=phrase("too few queries" if base.n_gold else "no gold text was graded"),
                )
            ],
            "guessing": [
                phrase(
                    "this judge cannot be told from one that guesses (a gold text is graded above "
                    "an irrelevant passage in {share} of cases, ties as half; guessing: 50%); do "
                    "not trust it, whatever moves it or does not",
                    share=percent(base.auc, 0),
                )
            ],
            "fooled": [],
            "not fooled": [
                phrase("nothing that was tried fooled this judge"),
                phrase("as few were tried, up to {most} may be", most=percent(max(highs), 0))
                if highs
                else "",
            ],
        }
        fooled_by = joined(", ", self._fooled_by())
        text = joined(
            "; ",
            [
                *sentences[verdict],
                phrase("fooled by {variants}", variants=fooled_by) if fooled_by else "",
                unsure if verdict == "fooled" and self._is_unknown else "",
            ],
        )
        return Line(text) if verdict == "not fooled" else warning(text)

    def _fooled_by(self) -> Iterator[str]:
        """What fooled it, the worst first."""
        lifts = [lift for lift in self.lifts if lift.n_fooled]
        for lift in sorted(lifts, key=lambda lift: -lift.n_fooled / lift.n_right):
            yield phrase(
                "{variant} ({n} of {of})", variant=lift.variant, n=lift.n_fooled, of=lift.n_right
            )

    def describe(self) -> Iterator[Part]:
        """The verdict, what it rests on, and the lift of each variant."""
        settings = self.settings
        origins = joined(
            ", ",
            (
                phrase("{n} {origin}", n=count, origin=_ORIGINS.get(origin, origin))
                for origin, count in self.origins.items()
                if origin != "gold"
            ),
        )
        yield Line(
            phrase(
                "{model}, {rubric}: {n} irrelevant passages ({origins}) and {n_gold} gold texts of "
                "{n_queries} queries",
                model=settings["model"],
                rubric=settings["rubric"],
                n=settings["n_passages"],
                origins=origins,
                n_gold=self.origins.get("gold", 0),
                n_queries=settings["n_queries"],
            )
        )
        yield self._verdict_line()
        yield from self.baseline.describe()
        confidence = level(settings["confidence"])
        head = (phrase("plain"), phrase("with it"), phrase("lift"), confidence, phrase("fooled"))
        yield Table((phrase("added"), *head, confidence, "n"), list(map(_row, self.lifts)))
        yield Line(
            phrase(
                "fooled: how many of those judged rightly without it are judged wrongly with it. "
                "Intervals hold at {confidence} for all of them together",
                confidence=confidence,
            )
        )
        for lift in self.lifts:
            yield Line(joined(": ", [lift.variant, lift.what]), "dim")
        if n_missing := self.judging.n_missing:
            judging = plain(self.judging)
            yield warning(
                phrase(
                    "failed judgements: {n} ({kinds}), left out, never 0",
                    n=n_missing,
                    kinds=failed_kinds(judging),
                )
            )
            yield from map(warning, failure_lines(judging))
        yield from map(Line, panel_remarks(settings, {}))


def _shares(pair: Interval) -> str:
    low, high = (percent(end, 0) for end in pair)
    return phrase("{low} to {high}", low=low, high=high)


def _row(lift: Lift) -> tuple[str, ...]:
    return (
        lift.variant,
        number(lift.plain),
        number(lift.changed),
        "-" if lift.lift is None else signed(lift.lift),
        ends(lift.interval),
        phrase("{n} of {of}", n=lift.n_fooled, of=lift.n_right),
        "-" if lift.fooled is None else _shares(lift.fooled),
        str(lift.n),
    )
