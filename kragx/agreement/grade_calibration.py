"""`calibrate_grades`: what a judge's grades are worth, by people's labels of some pairs.

A grade of 2 means what people say of pairs that were graded 2. So labels give the cut from which a
grade should count, and for each grade the probability of relevance, which no grade may have less
of than a lower one. A metric by probabilities counts a document as relevant by that much, whatever
the judge makes of the grade; its interval knows that the probabilities are estimates.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from kragx.agreement import scoring
from kragx.agreement.calibrated_means import CalibratedMean, calibrated_means
from kragx.agreement.corrected_means import LEAST_QUERIES
from kragx.agreement.grade_probabilities import LabelledPairs, isotonic
from kragx.agreement.label_agreement import held_out_half
from kragx.agreement.labels import Scale, examples_shown, other_forms, read_sides
from kragx.agreement.sample import read_sample, sample_path
from kragx.agreement.threshold_choice import LEAST_LABELS, Candidate, Chooser, Trial, fold_of
from kragx.comparison import Estimate
from kragx.comparison.statistics import (
    CONFIDENCE,
    RESAMPLES,
    SEED,
    Interval,
    check_confidence,
    expanded_intervals,
    wilson_interval,
)
from kragx.data import Run
from kragx.errors import DataError, UsageError, check_whole
from kragx.judging.rubric import read_rubric
from kragx.judging.store.qrels import NO_EXAMPLES
from kragx.judging.store.wordings import is_file
from kragx.metrics import Bools, Floats, parse
from kragx.printing import (
    Line,
    Part,
    Result,
    Table,
    interval,
    joined,
    number,
    percent,
    phrase,
    warning,
)

FOLDS = 5
_CUT = 2  # of a judge's grades, unless a shorter scale ends before


@dataclass(frozen=True)
class Level:
    """What people say of the pairs of one grade.

    Attributes:
        grade: the judge's.
        n: how many pairs of it people labelled.
        n_relevant: how many of these they found relevant.
        probability: of relevance, not less than that of a lower grade; None where there are too few
            labels for probabilities.
        interval: of the share of relevant pairs, as sure as so many queries make it.
    """

    grade: float
    n: int
    n_relevant: int
    probability: float | None
    interval: Interval | None


@dataclass(frozen=True)
class GradeCalibration(Result):
    """What a judge's grades are worth.

    Attributes:
        scale: of people's labels.
        relevant: the least label that is relevant.
        n_pairs, n_queries: pairs with a label from both sides, and their queries.
        levels: what people say of each grade.
        cut: the grade from which pairs should count: the usual one, 2, unless another is surely
            better; None where the judge gave one grade throughout.
        cuts: the agreement of each cut, on queries that it was not chosen on.
        skill: 1 - (mean squared error of the probabilities) / (that of one probability for all
            pairs), on queries that they were not fitted on: 1 is perfect, 0 or less tells nothing.
        systems: of each run, its metrics by probabilities.
        notes: what a reader must know.
        settings: names, folds, confidence, seed.
    """

    scale: Scale
    relevant: int
    n_pairs: int
    n_queries: int
    levels: tuple[Level, ...]
    cut: float | None
    cuts: tuple[Candidate, ...]
    skill: Estimate
    systems: Mapping[str, Mapping[str, CalibratedMean]]
    notes: tuple[str, ...]
    settings: Mapping[str, Any]

    also_plain: ClassVar[tuple[str, ...]] = ("match",)

    def __getitem__(self, system: str) -> Mapping[str, CalibratedMean]:
        return self.systems[system]

    @property
    def match(self) -> dict[str, Any] | None:
        """The spec of the judge with this cut, for `evaluate(..., match=...)`; None without one."""
        return None if self.cut is None else {"method": "llm", "threshold": self.cut}

    def probability(self, grade: float) -> float | None:
        """Of relevance of a pair with this grade; between two grades on the line between them."""
        known = [level.probability for level in self.levels if level.probability is not None]
        grades = [own.grade for own in self.levels]
        return float(np.interp(grade, grades, known)) if known else None

    def describe(self) -> Iterator[Part]:
        """Each grade's probability, the cut, and metrics by probabilities."""
        settings = self.settings
        confidence = scoring.level(settings["confidence"])
        yield Line(
            phrase(
                "{judge} by {human}: {n} labelled pairs of {n_queries} held-out queries; a label "
                "of {least} or more is relevant"
                if settings["held_out"]
                else "{judge} by {human}: {n} labelled pairs of {n_queries} queries; a label of "
                "{least} or more is relevant",
                judge=settings["judge"],
                human=settings["human"],
                n=self.n_pairs,
                n_queries=self.n_queries,
                least=self.relevant,
            )
        )
        yield Table(
            (
                phrase("judge's grade"),
                phrase("pairs"),
                phrase("relevant"),
                phrase("share"),
                confidence,
                phrase("probability"),
            ),
            [
                (
                    f"{level.grade:g}",
                    str(level.n),
                    str(level.n_relevant),
                    percent(level.n_relevant / level.n),
                    scoring.ends(level.interval),
                    number(level.probability),
                )
                for level in self.levels
            ],
        )
        yield Line(
            phrase(
                "skill of the probabilities on other queries (1 perfect, 0 or less none): {skill}",
                skill=_with_ends(self.skill),
            )
        )
        if self.cuts:
            yield Table(
                (phrase("relevant from"), f"kappa [{confidence}]", "precision", "recall"),
                [
                    (
                        f"{cut.match['threshold']:g}{self._mark(cut)}",
                        _with_ends(cut.agreement),
                        number(cut.precision),
                        number(cut.recall),
                    )
                    for cut in sorted(self.cuts, key=lambda own: float(own.match["threshold"]))
                ],
            )
            yield Line(
                phrase(
                    "<: the cut to use, match: {match}; =: cannot be told from the best",
                    match=f"{{method: llm, threshold: {self.cut:g}}}",
                )
            )
        if self.systems:
            yield Table(
                (
                    phrase("system"),
                    phrase("metric"),
                    phrase("judge alone"),
                    phrase("by probabilities"),
                    confidence,
                    phrase("labelled"),
                ),
                [
                    (
                        name,
                        metric,
                        number(mean.plain),
                        number(mean.value),
                        scoring.ends(mean.interval),
                        phrase("{n} of {of}", n=mean.n_labelled, of=mean.n_queries),
                    )
                    for name, metrics in self.systems.items()
                    for metric, mean in metrics.items()
                ],
                words=2,
            )
        yield from map(warning, self.notes)
        yield Line(phrase("The labelled pairs must be a random part of all that was retrieved."))

    def _mark(self, cut: Candidate) -> str:
        return " <" if cut.match["threshold"] == self.cut else " =" if cut.tied else ""


def _with_ends(estimate: Estimate) -> str:
    return " ".join(filter(None, (number(estimate.value), interval(estimate.low, estimate.high))))


def calibrate_grades(
    human: object,
    judge: object,
    runs: Sequence[Run] = (),
    *,
    metrics: Sequence[str] = (),
    relevant: int | None = None,
    scale: object = None,
    folds: int = FOLDS,
    confidence: float = CONFIDENCE,
    seed: int = SEED,
    asks: str | None = None,
    model: str | None = None,
    rubric: str | None = None,
    examples: str | None = None,
    held_out: bool | None = None,
) -> GradeCalibration:
    """Say from which grade on a judge's word should count, and how probable relevance is at each.

    Args:
        human: labels of a random part of the pairs, as for `read_labels`.
        judge: labels of all pairs.
        runs: systems to score by probabilities.
        metrics: metric strings; each needs a cut (``@10``). Precision is estimated from any pairs
            that were drawn at random, any other metric from whole queries. Without any, precision
            at 10 of what is relevant.
        relevant: the least of people's labels that is relevant; None for the cut of the rubric
            whose file is named, else 2 above the lowest.
        scale: of people's labels; None for that of the labels there are.
        folds: of cross-validation, by query.
        confidence: of the intervals.
        seed: of folds, draws and resamples.
        asks: of a judge's store, as for `agree`.
        model: the same.
        rubric: the same.
        examples: the same.
        held_out: as for `agree`: whether to count only the queries whose labels are never examples.

    Raises:
        DataError: no pair has a label from both sides, or people found all or none relevant; or the
            labels were not drawn at random, and there are runs.
        UsageError: an argument is wrong.
    """
    check_confidence(confidence)
    check_whole("folds", folds, least=2)
    check_whole("seed", seed, least=0)
    which = {"asks": asks, "model": model, "rubric": rubric}
    shown = examples_shown(judge, **which) - {NO_EXAMPLES}
    if examples is None and len(shown) == 1:
        (examples,) = shown
    people, machine, labels = read_sides(human, judge, scale, examples=examples, **which)
    if held_out is None:
        held_out = examples not in (None, NO_EXAMPLES)
    if held_out:
        people, machine = map(held_out_half, (people, machine))
    if relevant is None and rubric is not None and is_file(rubric):
        relevant = read_rubric(rubric).match_from
    least = min(labels.low + 2, labels.high) if relevant is None else relevant
    if least not in range(labels.low + 1, labels.high + 1):
        raise UsageError(f"relevant: {least!r} is no label of the scale {labels} above its lowest")
    rel = least - max(0, labels.low)
    design = _design(human)
    if design == "stratified" and runs:
        raise DataError(
            f"{people.name}: a stratified sample, with as many pairs of rare grades as of frequent "
            "ones, says nothing of a retriever's lists as they are",
            remedy="label a random one (kragx judge label --simple, or --queries 30), or leave the "
            "runs out",
        )
    pairs = [
        pair for pair, label in people.grades.items() if label in labels and pair in machine.grades
    ]
    alike = tuple(other_forms(people.grades, machine.grades))
    if not pairs:
        raise DataError(
            "no pair has a label from both sides; pairs are joined by their ids",
            remedy="; ".join(alike),
        )
    data = LabelledPairs.of(
        np.array([machine.grades[pair] for pair in pairs]),
        np.array([people.grades[pair] for pair in pairs], np.int64),
        np.unique([query for query, _ in pairs], return_inverse=True)[1],
        labels.low,
        labels.high,
    )
    truth = data.label >= least
    if truth.all() or not truth.any():
        what = "relevant" if truth.all() else "not relevant"
        raise DataError(f"labels: every pair is labelled {what}; both kinds are needed")
    folds = min(folds, data.n_queries)
    suffices = data.n_queries >= LEAST_QUERIES and len(pairs) >= LEAST_LABELS
    skill = _skill(data, truth, folds, confidence, seed)
    cut, cuts = _cuts(data, truth, folds, seed)
    names = metrics or [f"precision@10(rel={rel})"]
    systems = {
        run.name: calibrated_means(
            people, machine, labels, run, names, folds=folds, confidence=confidence, seed=seed
        )
        for run in (scoring.systems(runs) if runs else ())
    }
    calibration = GradeCalibration(
        scale=labels,
        relevant=least,
        n_pairs=len(pairs),
        n_queries=data.n_queries,
        levels=tuple(_levels(data, truth, confidence, suffices=suffices)),
        cut=cut,
        cuts=cuts,
        skill=skill,
        systems=systems,
        notes=(),
        settings={
            "human": people.name,
            "judge": machine.name,
            "design": design,
            "examples": examples,
            "held_out": held_out,
            "folds": folds,
            "confidence": confidence,
            "seed": seed,
            "unit": "query",
        },
    )
    return replace(calibration, notes=(*_notes(calibration), *alike))


def _design(human: object) -> str | None:
    """How `kragx judge label` drew a file of labels; None where it did not."""
    if isinstance(human, (str, Path)) and (path := sample_path(Path(human))).is_file():
        return str(read_sample(path).settings.get("design"))
    return None


def _levels(
    data: LabelledPairs, truth: Bools, confidence: float, *, suffices: bool
) -> Iterator[Level]:
    n = np.bincount(data.at)
    relevant = np.bincount(data.at, truth)
    probabilities = isotonic(relevant / n, n)
    for position, grade in enumerate(data.grades.tolist()):
        queries = len(np.unique(data.query[data.at == position]))
        share = float(relevant[position] / n[position])
        yield Level(
            grade,
            int(n[position]),
            int(relevant[position]),
            float(probabilities[position]) if suffices else None,
            wilson_interval(share, queries, confidence),
        )


def _skill(data: LabelledPairs, truth: Bools, folds: int, confidence: float, seed: int) -> Estimate:
    """How much better the probabilities are than one for all pairs, on other queries."""
    n_queries = data.n_queries
    if n_queries < 2:
        return Estimate(None, None, None, n_queries)
    fold = fold_of(np.arange(n_queries), folds, seed)[data.query]
    errors = np.zeros((n_queries, 2))
    for number_ in range(folds):
        out = fold == number_
        n = np.bincount(data.at[~out], minlength=len(data.grades))
        shares = np.bincount(data.at[~out], truth[~out], len(n))[n > 0] / n[n > 0]
        fitted = np.interp(data.grades, data.grades[n > 0], isotonic(shares, n[n > 0]))
        guesses = np.stack([fitted[data.at[out]], np.full(out.sum(), truth[~out].mean())], axis=1)
        np.add.at(errors, data.query[out], (guesses - truth[out, None]) ** 2)

    def skill(sums: Floats) -> dict[str, Floats]:
        with np.errstate(divide="ignore", invalid="ignore"):
            return {"skill": 1 - sums[..., 0] / sums[..., 1]}

    value = float(skill(errors.sum(0))["skill"])
    ends = expanded_intervals(errors, skill, confidence=confidence, count=RESAMPLES, seed=seed)
    low, high = ends["skill"] or (None, None)
    return Estimate(value, low, high, n_queries)


def _cuts(
    data: LabelledPairs, truth: Bools, folds: int, seed: int
) -> tuple[float | None, tuple[Candidate, ...]]:
    """The grade from which pairs should count, and the agreement of each that could."""
    if len(data.grades) < 2 or data.n_queries < 2:
        return None, ()
    low, high = data.grades[0], data.grades[-1]
    usual = min(_CUT, high)
    # The usual cut comes first, so another one is taken only where it is surely better.
    thresholds = sorted(data.grades[1:].tolist(), key=lambda grade: (abs(grade - usual), grade))
    scores = (data.grades - low) / (high - low)
    of_pairs = scores[data.at]
    tried = [
        Trial({"threshold": grade}, of_pairs, float(scores[data.grades == grade][0]))
        for grade in thresholds
    ]
    candidates, chosen, _ = Chooser(tried, truth, data.query, "kappa", folds, seed).result()
    return float(chosen.match["threshold"]), tuple(candidates)


def _notes(calibration: GradeCalibration) -> Iterator[str]:
    """What a reader must know."""
    levels, skill, cuts = calibration.levels, calibration.skill, calibration.cuts
    few = calibration.n_queries < LEAST_QUERIES or calibration.n_pairs < LEAST_LABELS
    if few:
        yield phrase(
            "too few labels for probabilities: {least} pairs of {least_queries} queries are "
            "needed, and there are {n} of {n_queries}",
            least=LEAST_LABELS,
            least_queries=LEAST_QUERIES,
            n=calibration.n_pairs,
            n_queries=calibration.n_queries,
        )
    if len(levels) == 1:
        yield phrase(
            "the judge gave every labelled pair the grade {grade:g}: its grades tell nothing, and "
            "there is no cut to choose",
            grade=levels[0].grade,
        )
    elif skill.low is None or skill.low <= 0:
        yield phrase(
            "with these labels nobody can say that the grades tell more of relevance than one "
            "share for all pairs does: do not trust this judge before more are labelled"
        )
    chosen = next((cut for cut in cuts if cut.match["threshold"] == calibration.cut), None)
    if chosen is not None and (chosen.agreement.low is None or chosen.agreement.low <= 0):
        yield phrase("the cut at {cut:g} cannot be told from chance", cut=calibration.cut)
    for below, above in pairwise(levels):
        if above.n_relevant / above.n < below.n_relevant / below.n:
            yield phrase(
                "of grade {above:g} a smaller share is relevant than of {below:g}; their "
                "probabilities are one",
                above=above.grade,
                below=below.grade,
            )
    if calibration.settings["design"] == "stratified":
        yield phrase(
            "a stratified sample: the probabilities are of ranks that occur alike, not of a "
            "retriever's lists, and metrics need a random one (kragx judge label --simple)"
        )
    yield from _notes_of_metrics(calibration)


def _notes_of_metrics(calibration: GradeCalibration) -> Iterator[str]:
    """What a reader must know of metrics by probabilities."""
    for name, metrics in calibration.systems.items():
        for metric, mean in metrics.items():
            if mean.lacking:
                yield joined(": ", [f"{name}, {metric}", mean.lacking])
    if calibration.systems:
        yield from scoring.scale_notes(calibration.scale)
    shift = max(0, calibration.scale.low)
    rel = calibration.relevant - shift
    for metric in next(iter(calibration.systems.values()), ()):
        spec = parse(metric)
        counts = spec["rel"] or 1
        if "rel" in spec.options and counts != rel:
            yield phrase(
                "{metric} counts labels of {counted:g} or more as relevant, the probabilities "
                "above those of {relevant}: write rel={rel} for the same",
                metric=metric,
                counted=counts + shift,
                relevant=calibration.relevant,
                rel=rel,
            )
