"""A system's values by a judge's labels and by people's, and what the questions stand for.

The labels are those of `kragx.agreement.labels.Sides`; asks and chances come from how questions and
labels were drawn.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from kragx.agreement import scoring
from kragx.agreement.label_files import label_format
from kragx.agreement.labels import Sides
from kragx.agreement.prediction_powered import CorrectedMean, prediction_powered
from kragx.agreement.sample import drawing_of
from kragx.comparison.statistics import Interval
from kragx.data import GoldDataset, Run, read_dataset
from kragx.data.source import kind_of_file
from kragx.evaluation.evaluation import Evaluation
from kragx.ground.errors import DataError, UsageError
from kragx.ground.printing import message
from kragx.judging.store import is_url
from kragx.metrics import Bools, Floats


@dataclass(frozen=True)
class Drawing:
    """How labelled questions were drawn of all.

    Attributes:
        asks: how many asks each question stands for; None where all are alike.
        chances: of each drawn question its chance to be; None where all had the same.
    """

    asks: Mapping[str, float] | None = None
    chances: Mapping[str, float] | None = None

    @classmethod
    def of(cls, human: object, questions: object) -> Self:
        """From the sample beside people's labels, or from how they and all questions were drawn.

        Args:
            human: people's labels, as for `read_labels`.
            questions: a `GoldDataset` or its path, with ``weight`` and ``inclusion``; or None.
                Where it says no weights, those count by which the sample was drawn.

        Raises:
            DataError: the labels were drawn as stratified pairs, or a question's chance to be
                labelled is greater than that to be there.
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
        chances = sample.get("chances")
        if chances is None and of_people is not None:
            inclusion = {query.id: query.inclusion for query in of_all or ()}
            chances = {q.id: q.inclusion / inclusion.get(q.id, 1.0) for q in of_people}
        # Of a label, given that the question is there: inclusion counts once, as a weight.
        unequal = _unequal(chances or {})
        if of_all is not None and (weights := of_all.weights) is not None:
            return cls(dict(zip([query.id for query in of_all], weights.tolist())), unequal)
        return cls(sample.get("weights"), unequal)

    def weights(self, queries: Sequence[str]) -> Floats | None:
        """(q) how many asks each query stands for.

        Raises:
            DataError: the questions lack one.
        """
        return None if self.asks is None else _values_of(self.asks, queries)

    def options(self, queries: Sequence[str], labelled: Bools) -> dict[str, Any]:
        """Weights and chances as `prediction_powered` takes them, the labelled queries first."""
        weights, chances = self.weights(queries), None
        if self.chances is not None:
            names = [query for query, is_labelled in zip(queries, labelled) if is_labelled]
            drawn = _values_of(self.chances, names, is_labelled=True)
            # Where people have labelled fewer than were drawn, each had so much less of a chance.
            chances = np.minimum(drawn, 1) * min(1, len(names) / len(self.chances))
        order = np.argsort(~labelled, kind="stable")
        return {"weights": None if weights is None else weights[order], "chances": chances}


def _unequal(chances: Mapping[str, float]) -> Mapping[str, float] | None:
    """The chances of questions, where they differ; a `DataError` where one is above 1."""
    if max(chances.values(), default=0) > 1 + 1e-9:
        name = max(chances, key=chances.__getitem__)
        raise DataError(
            "question {name!r}: people's labels have a greater chance of having been drawn "
            "than the question itself",
            field="inclusion",
            remedy="give both files the questions of one drawing",
            name=name,
        )
    return chances if len({*chances.values()}) > 1 else None


def _values_of(
    values: Mapping[str, float], queries: Sequence[str], *, is_labelled: bool = False
) -> Floats:
    if missing := next((query for query in queries if query not in values), None):
        raise DataError(
            "question {missing!r} is labelled, and nothing says how many asks it stands for or "
            "what its chance of having been drawn was"
            if is_labelled
            else "question {missing!r} is judged, and nothing says how many asks it stands for or "
            "what its chance of having been drawn was",
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


@dataclass(frozen=True)
class SystemValues:
    """Each metric's values of a system, or of the difference of two.

    Attributes:
        evaluation: of the system by the judge's labels.
        queries: (q) those that the judge has labels for.
        drawing: what they stand for.
        labelled: the queries that people have labelled whole.
        n_partly: how many they have labelled in part.
        judge: (m, q) by the judge's labels.
        human: (m, q) by people's; NaN of a query that they have not labelled whole.
    """

    evaluation: Evaluation
    queries: Sequence[str]
    drawing: Drawing
    labelled: tuple[str, ...]
    n_partly: int
    judge: Floats
    human: Floats

    @classmethod
    def of(
        cls,
        sides: Sides,
        queries: Sequence[str],
        run: Run,
        metrics: Sequence[str],
        least: int,
        drawing: Drawing,
    ) -> Self:
        """Of a system, by labels that are on the scale.

        Raises:
            DataError: people have labelled fewer than `least` queries whole.
            UsageError: a metric has no cut, or no value for some query.
        """
        graded = scoring.as_gold(sides.judge, sides.scale, queries)
        evaluation = scoring.scored_by(graded, run, metrics)
        whole, n_partly = _labelled_whole(sides, queries, run, depth_of(evaluation), least)
        results = {query: run.results[query] for query in whole if query in run.results}
        labelled = scoring.as_gold(sides.human, sides.scale, whole)
        by_people = scoring.scored_by(labelled, replace(run, results=results), metrics)
        # Only what people have labelled whole is scored by them; the rest is not known, never 0.
        judge = np.array([score.values for score in evaluation.scores])
        human = np.full(judge.shape, np.nan)
        human[:, np.isin(queries, whole)] = [score.values for score in by_people.scores]
        return cls(evaluation, queries, drawing, tuple(whole), n_partly, judge, human)

    def minus(self, base: Self) -> Self:
        """The differences to another system's values of the same queries."""
        return replace(self, judge=self.judge - base.judge, human=self.human - base.human)

    @property
    def n_labelled(self) -> int:
        """How many queries have people's values."""
        return int((~np.isnan(self.human[0])).sum())

    def means(self, bounds: Interval) -> dict[str, CorrectedMean]:
        """The corrected mean of each metric."""
        labelled = ~np.isnan(self.human[0])
        weighing = self.drawing.options(self.queries, labelled)
        return {
            str(spec): prediction_powered(
                human[labelled], judge[labelled], judge[~labelled], bounds, **weighing
            )
            for spec, human, judge in zip(
                self.evaluation.specs, self.human, self.judge, strict=True
            )
        }


def depth_of(evaluation: Evaluation) -> int:
    """The deepest cut; a `UsageError` where a metric has none, or no value for some query."""
    depth = 0
    for score in evaluation.scores:
        if not isinstance(score.spec.k, int):
            raise UsageError(
                "metric {spec!r} looks at whole lists, which people would have to "
                "label to the end; cut it, for example {name}@10",
                spec=str(score.spec),
                name=score.spec.name,
            )
        if np.isnan(score.values).any():
            raise UsageError(
                "metric {spec!r} has no value for some queries, and a corrected "
                "mean needs one for each; name another, such as ndcg@10",
                spec=str(score.spec),
            )
        depth = max(depth, score.spec.k)
    return depth


def _labelled_whole(
    sides: Sides, queries: Sequence[str], run: Run, depth: int, least: int
) -> tuple[list[str], int]:
    """The queries whose top documents all have a human label, and how many have some.

    Raises:
        DataError: there are fewer than `least`.
    """
    human = sides.human
    touched = [query for query in queries if human.queries.get(query)]
    whole = [
        query
        for query in touched
        if query not in run.results
        or human.queries[query].keys()
        >= {str(doc.id) for doc in run.results[query].documents[:depth]}
    ]
    n_partly = len(touched) - len(whole)
    if len(whole) < least:
        raise DataError(
            message(
                "{name}: people have labelled {n_whole} queries down to rank {depth} "
                "({n_partly} in part), and a correction needs at least {least}",
                name=run.name,
                n_whole=len(whole),
                depth=depth,
                n_partly=n_partly,
                least=least,
            ),
            remedy="label more (kragx judge label --queries), or take a smaller cut",
        )
    return whole, n_partly
