"""What judged questions stand for, and with which chance people got them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from pathlib import Path
from typing import Self

import numpy as np

from kragx.agreement.label_files import label_format
from kragx.agreement.prediction_powered import CorrectedMean, prediction_powered
from kragx.agreement.sample import drawing_of
from kragx.comparison.statistics import Interval
from kragx.data import GoldDataset, read_dataset
from kragx.data.source import kind_of_file
from kragx.ground.errors import DataError
from kragx.judging.store import is_url
from kragx.metrics import Floats


@dataclass(frozen=True)
class Drawing:
    """How labelled questions were drawn of all that the judge has graded.

    Attributes:
        queries: (q) all.
        asks: (q) how many asks each stands for; None where all are alike.
        chances: of each drawn one its chance to be; None where all had the same.
    """

    queries: Sequence[str]
    asks: Floats | None
    chances: Mapping[str, float] | None

    @classmethod
    def of(cls, human: object, questions: object, queries: Sequence[str]) -> Self:
        """From the sample beside people's labels, or from how they and all questions were drawn.

        Args:
            human: people's labels, as for `read_labels`.
            questions: a `GoldDataset` or its path, with ``weight`` and ``inclusion``; or None.
                Where it says no weights, those count by which the sample was drawn.
            queries: all.

        Raises:
            DataError: the labels were drawn as stratified pairs, a question's chance to be labelled
                is greater than that to be there, or nothing says what one stands for.
        """
        of_all, of_people = _dataset(questions), _dataset(human)
        sample = drawing_of(human)
        if sample.get("design") == "stratified":
            raise DataError(
                "{human}: a stratified sample, with as many pairs of rare grades as of frequent "
                "ones, says nothing of a retriever's lists as they are",
                remedy="label whole queries (kragx judge label --queries 30)",
                human=human,
            )
        chances: Mapping[str, float] = sample.get("chances", {})
        if "chances" not in sample and of_people is not None:
            inclusion = {query.id: query.inclusion for query in of_all or ()}
            chances = {q.id: q.inclusion / inclusion.get(q.id, 1.0) for q in of_people}
        # Of a label, given that the question is there: inclusion counts once, as a weight.
        if max(chances.values(), default=0) > 1 + 1e-9:
            raise DataError(
                "question {name!r}: people's labels have a greater chance of having been drawn "
                "than the question itself",
                field="inclusion",
                remedy="give both files the questions of one drawing",
                name=max(chances, key=chances.__getitem__),
            )
        asks = sample.get("weights")
        if of_all is not None and (weights := of_all.weights) is not None:
            asks = dict(zip([query.id for query in of_all], weights.tolist()))
        by_query = None if asks is None else _values_of(asks, queries)
        return cls(queries, by_query, chances if len({*chances.values()}) > 1 else None)

    def means(
        self, metrics: Iterable[str], judge: Floats, human: Floats, bounds: Interval
    ) -> dict[str, CorrectedMean]:
        """The corrected mean of each metric.

        Args:
            metrics: (m) their names.
            judge: (m, q) values by the judge's labels.
            human: (m, q) by people's; NaN of a query that they have not labelled whole.
            bounds: between what the values lie.

        Raises:
            DataError: nothing says what the chance of a labelled question was.
        """
        labelled, chances = ~np.isnan(human[0]), None
        n_labelled = int(labelled.sum())
        if self.chances is not None:
            drawn = _values_of(self.chances, [*compress(self.queries, labelled)])
            # Where people have labelled fewer than were drawn, each had so much less of a chance.
            chances = np.minimum(drawn, 1) * min(1, n_labelled / len(self.chances))
        order = np.argsort(~labelled, kind="stable")  # the labelled first
        weights = None if self.asks is None else self.asks[order]
        return {
            metric: prediction_powered(
                people[labelled],
                machine[labelled],
                machine[~labelled],
                bounds,
                weights=weights,
                chances=chances,
            )
            for metric, people, machine in zip(metrics, human, judge, strict=True)
        }


def _values_of(values: Mapping[str, float], queries: Sequence[str]) -> Floats:
    if missing := next((query for query in queries if query not in values), None):
        raise DataError(
            "question {missing!r}: nothing says how many asks it stands for, or what its chance of "
            "having been drawn was",
            remedy="name the questions (--questions FILE) that were judged, and the labels of one "
            "drawing",
            missing=missing,
        )
    return np.array([values[query] for query in queries], np.float64)


def _dataset(source: object) -> GoldDataset | None:
    """The gold set that something is, or is the path of; None for other labels."""
    if isinstance(source, GoldDataset):
        return source
    if not isinstance(source, (str, Path)) or is_url(source):
        return None
    # Qrels say nothing of how their questions were drawn.
    is_gold = label_format(Path(source)) == "gold" and kind_of_file(source) != "qrels"
    return read_dataset(source) if is_gold else None
