"""What a grid says: which setting to take, how sure that is, and what each axis does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

from kragx.comparison import Comparison, Settings, direction
from kragx.comparison.advice import Recommendation
from kragx.comparison.statistics import TOLERANCE
from kragx.comparison.tuning.grid import Setting
from kragx.ground.json_values import HIDDEN
from kragx.ground.printing import (
    Cell,
    Heading,
    Line,
    Part,
    Result,
    Table,
    duration,
    joined,
    message,
    number,
    plural,
    visible,
)
from kragx.metrics import Floats


@dataclass(frozen=True)
class Point:
    """The mean over all settings with one value on an axis.

    Attributes:
        value: on the axis, as it is written.
        mean, low, high: over all questions.
        n_settings: over how many settings of each question the mean is.
    """

    value: str
    mean: float
    low: float | None
    high: float | None
    n_settings: int


@dataclass(frozen=True)
class Curve:
    """How a metric responds to an axis.

    Attributes:
        of: whose grid.
        axis: which.
        points: in the grid's order.
    """

    of: str
    axis: str
    points: tuple[Point, ...]

    @property
    def label(self) -> str:
        """Whose axis it is."""
        return f"{self.of}: {self.axis}"

    def table(self, metric: str) -> Table:
        """The axis across, the metric's mean below it."""
        cells = [
            Cell(number(point.mean), below=interval_text(point.low, point.high))
            for point in self.points
        ]
        n = self.points[0].n_settings
        return Table(
            [self.label, *(visible(point.value) for point in self.points)],
            [[metric, *cells]],
            note=message(
                "over all questions"
                if n == 1
                else "each the mean of {n} settings, over all questions",
                n=n,
            ),
        )


def interval_text(low: float | None, high: float | None) -> str:
    """The ends of an interval below its mean; nothing without one."""
    return "" if low is None or high is None else f"{low:.3f} {high:.3f}"


SHOWN = 12
"""So many settings are shown where there is little room, the best first and the one to take."""

_SEEN = 0.0001
"""A mean that is shrunk by less is not said to be."""

Verdict = Literal["simplest", "best", "refuted", "open", "too_few", "only", "none"]
"""What the choice rests on.

simplest  cannot be told from the best, and is simpler
best      the best itself, and nothing that cannot be told from it is simpler
refuted   the best: a simpler one, chosen before, was told apart on the questions held out
open      no setting was told from the best, so the questions choose nothing; the simplest is named
too_few   so few questions that no difference could be told; nothing is named
only      there is one setting
none      no setting has values that can be compared
"""


@dataclass(frozen=True)
class SettingResult:
    """One setting, and what it came to.

    Attributes:
        setting: which.
        name: as the retriever is called in all results.
        scores: (q) the metric of each question; NaN where there is none.
        tokens: of the retrieved texts of a question, their mean; None where texts are not known.
        seconds: the median of what a question took; None where that was not measured.
        failed: why it is not compared; empty where it is.
        mean, low, high: over the questions that choose; None where there is none.
        held_out: the mean over the questions held out; None where there is none.
        p: of the hypothesis that no other setting is better, on the questions that choose.
        told_apart: whether it was told from the best.
        on_front: whether no other is at least as good in quality, context and time and better in
            one of them.
    """

    setting: Setting = field(repr=False, metadata=HIDDEN)
    name: str
    scores: Floats = field(repr=False, compare=False, metadata=HIDDEN)
    tokens: float | None = None
    seconds: float | None = None
    failed: str = ""
    mean: float | None = None
    low: float | None = None
    high: float | None = None
    held_out: float | None = None
    p: float | None = None
    told_apart: bool = False
    on_front: bool = False

    also_plain: ClassVar[tuple[str, ...]] = ("of", "values")

    @property
    def of(self) -> str:
        """Whose grid it is of."""
        return self.setting.of

    @property
    def values(self) -> Mapping[str, Any]:
        """Its value on each axis."""
        return self.setting.values


@dataclass(frozen=True)
class HeldOut:
    """What the questions held out say of the choice.

    Attributes:
        mean, low, high: of the setting to take, shrunk where it was tested.
        simpler: the simpler setting that was chosen, and tested there against the best; None where
            the best itself was chosen.
        difference: its mean there less that of the best.
        p: of the paired test of that difference, two-sided.
        shrunk_by: by how much, as the test decides which setting is taken, and the luckier one
            passes.
    """

    mean: float
    low: float | None
    high: float | None
    simpler: str | None = None
    difference: float = 0.0
    p: float | None = None
    shrunk_by: float = 0.0


@dataclass(frozen=True)
class Tuning(Result):
    """Which setting of a grid to take, and how sure that is.

    Half of the questions, drawn by lot, choose; the others test a simpler setting than the best
    once, and say what the choice is worth, shrunk by what that test adds. Curves and the front are
    over all questions.

    Attributes:
        match: names the matcher.
        metric: what is compared.
        statistics: confidence of all that is said, resamples, and seed of the lot.
        n_choosing, n_held_out: how many questions of each kind have a value for every setting.
        verdict: what the choice rests on.
        take: the setting to take; None where nothing can be said.
        best: the setting that is best on the questions that choose.
        settings: every one that was compared, the best first; then those that failed.
        held_out: what the questions held out say of the setting to take.
        curves: of each axis, over all settings.
    """

    match: str
    metric: str
    statistics: Settings = field(metadata=HIDDEN)
    n_choosing: int = 0
    n_held_out: int = 0
    verdict: Verdict = "none"
    take: str | None = None
    best: str | None = None
    settings: tuple[SettingResult, ...] = ()
    held_out: HeldOut | None = None
    curves: tuple[Curve, ...] = ()

    also_plain: ClassVar[tuple[str, ...]] = (
        *("better", "confidence", "seed"),
        *("sentence", "n_candidates", "n_settings", "n_failed"),
    )

    @property
    def better(self) -> Literal["higher", "lower"]:
        """The metric's direction."""
        return "lower" if direction(self.metric) == "lower" else "higher"

    @property
    def sign(self) -> float:
        """What makes higher values the better ones."""
        return -1.0 if self.better == "lower" else 1.0

    @property
    def confidence(self) -> float:
        """Of all that is said."""
        return self.statistics.confidence

    @property
    def seed(self) -> int:
        """Of the lot."""
        return self.statistics.seed

    @property
    def n_candidates(self) -> int:
        """How many settings cannot be told from the best."""
        return sum(not setting.told_apart and not setting.failed for setting in self.settings)

    @property
    def n_settings(self) -> int:
        """How many settings there are, with those that failed."""
        return len(self.settings)

    @property
    def n_failed(self) -> int:
        """How many of them failed; of these nothing is told."""
        return sum(bool(setting.failed) for setting in self.settings)

    def of(self, name: str) -> SettingResult:
        """The setting of a name; KeyError without one."""
        return {setting.name: setting for setting in self.settings}[name]

    @property
    def sentence(self) -> str:
        """Which to take, and how sure that is."""
        if self.verdict == "none":
            return message("No setting can be taken: none has values that can be compared.")
        if self.verdict == "too_few":
            return message(
                "Cannot tell: too few questions to choose by for any difference, {n}.",
                n=self.n_choosing,
            )
        failures = plural(
            self.n_failed,
            "1 setting failed, and is not compared.",
            "{n} settings failed, and are not compared.",
        )
        pieces = self._choice, self._worth, self._test, failures if self.n_failed else ""
        return joined(" ", pieces)

    @property
    def _choice(self) -> str:
        verdict, alike = self.verdict, self.n_candidates
        return message(
            "Take {take}: no other can be compared."
            if verdict == "only"
            else "Cannot tell: on {n} questions none of {alike} settings is told from the best, "
            "{best}. The simplest is {take}."
            if verdict == "open"
            else "Take {take}: the best of {all} settings."
            if verdict == "refuted"
            else "Take {take}: the best of {all} settings; told apart from every other."
            if verdict == "best" and alike == 1
            else "Take {take}: the best of {all} settings; of the others {others} cannot be told "
            "from it, and none is simpler."
            if verdict == "best"
            else "Take {take}: the simplest of the {alike} settings, of {all}, that cannot be told "
            "from the best, {best}.",
            take=visible(self.take or ""),
            best=visible(self.best or ""),
            n=self.n_choosing,
            alike=alike,
            others=alike - 1,
            all=self.n_settings - self.n_failed,
        )

    @property
    def _worth(self) -> str:
        """The number on the questions that chose, and on those that did not."""
        estimate = self.held_out
        if estimate is None or self.take is None:
            return message("{metric} has no value on questions held out.", metric=self.metric)
        return message(
            "{metric}: {mean} on the {n} questions that chose, {held}{ends} on the {rest} held "
            "out, shrunk by {by} for the test there."
            if estimate.shrunk_by >= _SEEN
            else "{metric}: {mean} on the {n} questions that chose, {held}{ends} on the {rest} "
            "held out.",
            metric=self.metric,
            mean=number(self.of(self.take).mean),
            n=self.n_choosing,
            held=number(estimate.mean),
            ends=""
            if estimate.low is None
            else f" [{number(estimate.low)}, {number(estimate.high)}]",
            rest=self.n_held_out,
            by=number(estimate.shrunk_by),
        )

    @property
    def _test(self) -> str:
        """What became of a simpler setting than the best on the questions held out."""
        estimate = self.held_out
        if estimate is None or estimate.simpler is None:
            return ""
        return message(
            "There it has the same mean as {best}."
            if abs(estimate.difference) <= TOLERANCE
            else "{simpler} is simpler and could not be told from it on the former, but was {by} "
            "behind it on the latter, told to be worse."
            if self.verdict == "refuted"
            else "There it is {by} ahead of {best}."
            if (estimate.difference > 0) == (self.better == "higher")
            else "There it is {by} behind {best}, not told to be worse.",
            simpler=visible(estimate.simpler),
            by=number(abs(estimate.difference)),
            best=visible(self.best or ""),
        )

    def instead(self, comparison: Comparison) -> Comparison:
        """A comparison of the settings whose only verdict is which to take.

        Context and time are part of that choice, so what the best one costs is no advice beside it.
        """
        before, *rest = comparison.recommendations
        is_taken = self.take is not None and self.verdict != "open"
        values = {"metric": comparison.primary, "take": self.take}
        advices = [Recommendation("setting", self.sentence, is_taken, values, before.cautions)]
        if "nothing_found" in before.values:
            advices.append(replace(before, supported=True, cautions=()))
        elif comparison.leader is not None and self.take != (best := comparison.best):
            text = message(
                "Over all questions, those that chose among them, {best} has the best {metric}. "
                "What else is said here, and the marks of tables, is about that and chooses no "
                "setting.",
                best=best,
                metric=comparison.primary,
            )
            advices.append(Recommendation("over_all", text, values={**values, "best": best}))
        # Speed is part of the choice already; to weigh it again would undo it.
        unpriced = (advice for advice in rest if advice.kind != "cost")
        return replace(comparison, recommendations=(*advices, *unpriced))

    def describe(self, most: int | None = None) -> Iterator[Part]:
        """The sentence, the settings, or at most so many, the axes."""
        yield Line(self.sentence, "bold")
        if self.settings:
            yield self.settings_table(most)
        for curve in self.curves:
            yield curve.table(self.metric)

    def full(self) -> Iterator[Part]:
        """The same under a heading."""
        yield Heading(
            message(
                "Which setting to take, by {metric} (match: {match})",
                metric=self.metric,
                match=self.match,
            )
        )
        yield from self.describe()

    def settings_table(self, most: int | None = None) -> Table:
        """The settings, the best first; at most so many, with the one to take among them."""
        shown = [
            setting
            for place, setting in enumerate(self.settings)
            if most is None or place < most or setting.name == self.take
        ]
        columns = [
            message("setting"),
            message("{metric}, choosing", metric=self.metric),
            message("held out"),
            message("tokens"),
            message("median time"),
            message("verdict"),
        ]
        note = message(
            "≈ not told from the best, ▼ told to be worse (at {confidence:.0%}, the largest "
            "difference of all settings under random signs); ◆ none better in quality, context and "
            "time at once",
            confidence=self.confidence,
        )
        n_hidden = len(self.settings) - len(shown)
        more = message("and {n} more: --full", n=n_hidden) if n_hidden else ""
        return Table(columns, [*map(self._row, shown)], note=joined("; ", (note, more)))

    def _row(self, result: SettingResult) -> list[Cell]:
        mark = message("✗ failed") if result.failed else "▼" if result.told_apart else "≈"
        mark = message("best ≈") if result.name == self.best else mark
        is_taken = result.name == self.take
        style = "bold" if is_taken else "dim" if result.failed else ""
        texts = (
            number(result.held_out),
            "-" if result.tokens is None else f"{result.tokens:.0f}",
            "-" if result.seconds is None else duration(result.seconds),
            joined(" ", (message("take") if is_taken else "", mark, "◆" * result.on_front)),
        )
        return [
            Cell(result.name, style, result.failed, code=True),
            Cell(number(result.mean), style, interval_text(result.low, result.high)),
            *(Cell(text, style) for text in texts),
        ]
