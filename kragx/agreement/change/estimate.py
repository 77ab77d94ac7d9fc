"""The difference over all traffic from the labels that there are, and whether to go on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from kragx.agreement.change.betting import Drawn
from kragx.agreement.change.draw import Lot, Relevance
from kragx.comparison.statistics import CONFIDENCE
from kragx.data.lists import Bools
from kragx.ground.printing import (
    Line,
    Part,
    Result,
    interval,
    message,
    percent,
    signed,
    visible,
    warning,
)
from kragx.judging.rubric import canonical_json, key_of

Verdict = Literal["better", "worse", "same", "hopeless", "open"]

FEW = 30
"""After so many questions it is said where hope is lost."""

_LEAST = 5  # settled questions from which anything is said of how many more it takes
_FUTURES = 100
_ROUNDING = 1e-12  # of sums, in means of what lies between -1 and 1
_FAR = 10  # times as many as are labelled: beyond it is "many more"


@dataclass(frozen=True)
class LabelledDifference(Result):
    """How much better the new version is over all questions, by labels of what differs.

    Attributes:
        old, new: what the versions are called.
        metric: whose difference it is.
        difference: new minus old over all asks; None before the first label.
        low, high: its interval, which may be looked at after every label.
        verdict: ``better`` or ``worse`` where the interval leaves out 0; ``same`` where it lies
            within `margin` of 0; ``hopeless`` where far more labels than there are would decide
            it, else ``open``.
        margin: within which versions are the same; None where it was not named.
        more: how many questions more would probably decide: nine in ten times more than the first,
            one in ten more than the second; None for "many more".
        counts: ``n_questions`` with two lists; ``n_left_out``, those without;
            ``n_open``, those whose difference needs labels; of these ``n_labelled``, whose
            difference is known by now, and ``n_put_off``, which count at their worst;
            ``n_labels``, the pairs labelled.
        open_share: how many of the asks of questions with two lists those stand for that need
            labels.
        left_out_share: how many of all asks the questions without two lists stand for.
        pool: a hash of what is known to be relevant, of metrics that divide by it; else None.
        relevant_from: the grade from which a document is relevant; None where nobody graded.
        is_sample: whether the questions were drawn from more, which the interval leaves aside.
        confidence: of the interval.
    """

    old: str
    new: str
    metric: str
    difference: float | None
    low: float
    high: float
    verdict: Verdict
    margin: float | None
    more: tuple[int | None, int | None] | None
    counts: dict[str, int]
    open_share: float
    left_out_share: float
    pool: str | None
    relevant_from: int | None
    is_sample: bool
    confidence: float = CONFIDENCE

    @property
    def is_over(self) -> bool:
        """Whether no further label is asked for."""
        return self.verdict != "open"

    def describe(self) -> Iterator[Part]:
        """What is known, from how much, and how many labels more would decide."""
        counts = self.counts
        n_all = counts["n_questions"] + counts["n_left_out"]
        yield Line(
            message(
                "{metric} over {questions}, {new} minus {old}: {value} {interval} ({level})",
                metric=self.metric,
                questions=message("all questions")
                if not counts["n_left_out"]
                else message("{n} of {of} questions", n=counts["n_questions"], of=n_all),
                new=visible(self.new),
                old=visible(self.old),
                value=message("not known,") if self.difference is None else signed(self.difference),
                interval=interval(self.low, self.high, plus=True),
                level=message("{n}%, whenever one looks", n=f"{100 * self.confidence:g}"),
            ),
            "bold",
        )
        yield Line(self.text)
        yield from self._remarks()

    def _remarks(self) -> Iterator[Part]:
        counts = self.counts
        if counts["n_open"]:
            yield Line(
                message(
                    "{labelled} of the {open} questions whose lists need labels are settled, by "
                    "{labels} labels; they are {share} of what is asked, and the rest needs none",
                    labelled=counts["n_labelled"],
                    open=counts["n_open"],
                    labels=counts["n_labels"],
                    share=percent(self.open_share),
                )
            )
        if self.relevant_from is not None:
            yield Line(message("relevant is a grade of {cut} or more", cut=self.relevant_from))
        if counts["n_put_off"]:
            yield Line(
                message(
                    "questions put off, which count at their worst on either side: {n}",
                    n=counts["n_put_off"],
                )
            )
        if self.pool is not None:
            yield Line(
                message(
                    "{metric} is relative to what is known to be relevant (pool {pool})",
                    metric=self.metric,
                    pool=self.pool,
                )
            )
        if counts["n_left_out"]:
            yield warning(
                message(
                    "questions left out, as they do not have two lists: {n}, {share} of all that "
                    "is asked",
                    n=counts["n_left_out"],
                    share=percent(self.left_out_share),
                )
            )
        if self.is_sample:
            yield warning(
                message(
                    "these questions were drawn from more, of which this interval knows nothing; "
                    "lists need no labels, so compare all that were asked"
                )
            )

    @property
    def text(self) -> str:
        """What it comes to, in a sentence."""
        if not self.counts["n_open"]:
            return message("no label can change the difference, so it is known exactly")
        if self.low == self.high:
            return message(
                "whatever differs is labelled, so of these questions it is known exactly"
            )
        new, (low, high) = visible(self.new), self.more or (None, None)
        sentences: dict[Verdict, str] = {
            "better": message("decided: {new} is better on these questions", new=new),
            "worse": message("decided: {new} is worse on these questions", new=new),
            "same": message("decided: the same within {margin}", margin=self.margin),
            "hopeless": message(
                "many more labels would decide it; the same command goes on anyway"
            ),
            "open": message("not decided yet")
            if low is None
            else message("not decided yet: {low} questions more may do, or many more", low=low)
            if high is None
            else message(
                "not decided yet: about {low} to {high} questions more would do", low=low, high=high
            ),
        }
        return sentences[self.verdict]


class Ledger:
    """What is known of each question of a lot, as labels come.

    Args:
        lot: the questions in the order drawn.
    """

    def __init__(self, lot: Lot) -> None:
        self.lot = lot
        self._credits = [
            lot.metric.credits(question.old, question.new) for question in lot.questions
        ]
        self._labels: list[Relevance] = [{} for _ in lot.questions]
        self._low, self._high = -lot.most, lot.most.copy()
        for place in range(len(lot.questions)):
            self.take(place, {})

    def take(self, place: int, labels: Relevance) -> None:
        """Note all labels of the question at a place of the order."""
        weight = self.lot.questions[place].weight
        bounds = self.lot.metric.bounds(self._credits[place], labels)
        self._labels[place] = labels
        self._low[place], self._high[place] = (weight * bound for bound in bounds)

    def wanted(self, place: int) -> tuple[str, ...]:
        """The documents of a question that are to be labelled next."""
        return self.lot.metric.wanted(self._credits[place], self._labels[place])

    @property
    def is_settled(self) -> Bools:
        """(n) which questions' differences are known."""
        is_equal: Bools = self._low == self._high
        return is_equal

    def difference(
        self,
        margin: float | None = None,
        n_put_off: int = 0,
        relevant_from: int | None = None,
        *,
        forecast: bool = True,
    ) -> LabelledDifference:
        """What is known of the difference over all.

        Args:
            margin: within which versions are the same.
            n_put_off: how many questions wait for somebody who has put them off.
            relevant_from: the grade from which a document is relevant.
            forecast: whether it is said how many more would decide, and whether hope is lost.
        """
        lot, is_settled = self.lot, self.is_settled
        low, high, value = self._over_all()
        verdict: Verdict = "open"
        if low > 0 or high < 0:
            verdict = "better" if low > 0 else "worse"
        elif low == high or (
            margin is not None and -margin - _ROUNDING <= low and high <= margin + _ROUNDING
        ):
            verdict = "same"
        predicts = forecast and verdict == "open" and is_settled.sum() >= _LEAST
        more = self._more(margin) if predicts else None
        if more is not None and more[0] is None and is_settled.sum() >= FEW:
            verdict = "hopeless"
        return LabelledDifference(
            lot.old,
            lot.new,
            str(lot.metric),
            value,
            low,
            high,
            verdict,
            margin,
            more,
            {
                "n_questions": lot.n_questions,
                "n_left_out": lot.n_left_out,
                "n_open": len(is_settled),
                "n_labelled": int(is_settled.sum()),
                "n_labels": sum(map(len, self._labels)),
                "n_put_off": n_put_off,
            },
            sum(question.weight for question in lot.questions) / lot.asks,
            lot.left_out_share,
            self._pool() if lot.metric.is_pooled else None,
            relevant_from,
            lot.is_sample,
        )

    def _over_all(self) -> tuple[float, float, float | None]:
        """The interval of the difference over all, and its estimate within."""
        lot, done = self.lot, np.flatnonzero(self.is_settled)
        if not lot.questions:
            return 0.0, 0.0, 0.0
        # Up to the last question of which any label is known: the rest is as it was drawn.
        is_touched = (self._low > -lot.most) | (self._high < lot.most)
        n = int(np.max(np.flatnonzero(is_touched), initial=-1)) + 1
        sizes, rest = lot.most[:n], float(lot.most[n:].sum())
        drawn = Drawn(self._low[:n], self._high[:n], sizes, rest)
        low, high = (end / lot.asks for end in drawn.interval())
        low, high = (0.0 if abs(end) <= _ROUNDING else end for end in (low, high))
        if not done.size:
            return low, high, None
        terms = (drawn.low + drawn.high) / 2  # of who was put off, the middle
        # Each draw alone, with the terms before it, estimates the total without bias (D. Raj, Some
        # estimators in sampling with varying probabilities without replacement, JASA 51, 1956).
        totals = np.cumsum(terms) - terms + drawn.left * terms / sizes
        value = float(totals[: done[-1] + 1].mean()) / lot.asks
        return low, high, min(max(value, low), high)

    def _more(self, margin: float | None) -> tuple[int | None, int | None]:
        """How many questions more would decide in the best tenth of futures and in nine of ten.

        A future draws what comes from what came, and once from either extreme.
        """
        lot = self.lot
        done, open_rows = np.flatnonzero(self.is_settled), np.flatnonzero(~self.is_settled)
        far = open_rows[: _FAR * len(done)]
        sizes = lot.most[[*done, *far]]
        rest = float(lot.most[open_rows[len(far) :]].sum())
        gains = self._low[done] / lot.most[done]
        rng = np.random.default_rng(lot.seed)
        shares = rng.choice([*gains, -1.0, 1.0], (_FUTURES, len(far)))
        terms = np.hstack([np.tile(gains, (_FUTURES, 1)), shares]) * sizes
        up = Drawn(terms, terms, sizes, rest)
        down, edge = up.mirrored(), (margin or 0.0) * lot.asks
        steps = np.minimum(up.first_above(0.0), down.first_above(0.0))
        if margin is not None:
            within = up.first_above(-edge), down.first_above(-edge)
            steps = np.minimum(steps, np.maximum(*within))
        n_low, n_high = np.quantile(steps - len(done), (0.1, 0.9), method="nearest")
        n_low, n_high = max(1, int(n_low)), int(n_high)
        if not rest:  # whoever labels all that is left knows
            return min(n_low, len(far)), min(n_high, len(far))
        return None if n_low > len(far) else n_low, None if n_high > len(far) else n_high

    def _pool(self) -> str:
        """A hash of the documents that are known to be relevant, question by question."""
        pool = [
            [question.query_id, sorted(doc for doc in labels if labels[doc])]
            for question, labels in zip(self.lot.questions, self._labels)
        ]
        return key_of(canonical_json(pool))[:16]
