"""Metrics by probabilities of relevance, with intervals that know these are estimates.

Precision adds relevance up, so its mean follows from how often people find the documents of each
grade relevant, be it that documents of a query resemble each other or not (post-stratification).
What stands first or is found at all does not: relevance drawn for each document by itself would be
spread over too many queries. Such metrics are drawn all the same, and put right by whole queries
that people have labelled, each by probabilities that were fitted on others (cross-prediction).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kragx.agreement import scoring
from kragx.agreement.corrected_means import (
    LEAST_QUERIES,
    depth_of,
    labelled_whole,
    prediction_powered,
)
from kragx.agreement.grade_probabilities import LabelledPairs
from kragx.agreement.labels import Labels, Scale
from kragx.agreement.threshold_choice import LEAST_LABELS, fold_of
from kragx.comparison.statistics import Interval, score_interval
from kragx.data import Run
from kragx.evaluation.evaluation import Evaluation
from kragx.metrics import Bools, Floats, Ints, MetricSpec, compute
from kragx.printing import phrase

_LEAST = 5  # labelled documents of a grade; with fewer it is counted with its neighbour


@dataclass(frozen=True)
class CalibratedMean:
    """One mean by probabilities of relevance.

    Attributes:
        value: the estimate; None where the labels do not suffice.
        interval: of the mean over the population that the queries are a sample of.
        plain: by the judge's grades as they are; what it has not graded counts as not relevant.
        n_pairs: the labelled pairs that the estimate rests on.
        n_labelled: of how many queries these are; of metrics but precision, whole ones.
        n_queries: how many queries the mean is over.
        lacking: why there is no value.
    """

    value: float | None
    interval: Interval | None
    plain: float
    n_pairs: int
    n_labelled: int
    n_queries: int
    lacking: str | None = None


def calibrated_means(
    people: Labels,
    machine: Labels,
    scale: Scale,
    run: Run,
    metrics: Sequence[str],
    *,
    folds: int,
    confidence: float,
    seed: int,
) -> dict[str, CalibratedMean]:
    """Each metric of a run by probabilities, over the queries that the judge has labels for.

    What the judge has not graded of the run's documents is a grade of its own, below the others.

    Args:
        people: labels of a random part of the pairs.
        machine: the judge's.
        scale: of the labels.
        run: a system, each document with an id.
        metrics: metric strings with a cut.
        folds: of cross-prediction.
        confidence: of the intervals.
        seed: of folds and draws.

    Raises:
        UsageError: a metric has no cut, does not exist, or is not made of labels.
    """
    queries = list(machine.queries)
    plain = scoring.scored_by(scoring.as_gold(machine, scale, queries), run, metrics)
    depth = depth_of(plain)
    graded = {pair: grade for pair, grade in machine.grades.items() if grade in scale}
    for query in queries:
        result = run.results.get(query)
        for doc in result.documents[:depth] if result else ():
            graded.setdefault((query, str(doc.id)), scale.low - 1)
    shown = Labels({pair: max(scale.low, grade) for pair, grade in graded.items()})
    evaluation = scoring.scored_by(scoring.as_gold(shown, scale, queries), run, metrics)
    # One has no document where nothing was found, and all of the judge's grades are off the scale.
    of_query = shown.queries
    items = [(query, document) for query in queries for document in of_query.get(query, ())]
    label = np.array([people.grades.get(pair, np.nan) for pair in items])
    label[~np.isin(label, scale.labels)] = np.nan
    documents = JudgedDocuments(
        evaluation, np.array([graded[pair] for pair in items]), label, scale, confidence
    )
    others = [spec for spec in evaluation.specs if spec.name != "precision"]
    whole, _ = labelled_whole(people, scale, queries, run, depth)
    known = np.isin(queries, whole)
    cross: dict[MetricSpec, CalibratedMean] = {}
    if others and len(whole) >= LEAST_QUERIES:
        results = {query: run.results[query] for query in whole if query in run.results}
        by_people = scoring.scored_by(
            scoring.as_gold(people, scale, whole), replace(run, results=results), metrics
        )
        truth = {score.spec: score.values for score in by_people.scores}
        drawn = documents.drawn(others, known, folds, seed)
        for spec, values in zip(others, drawn, strict=True):
            mean = prediction_powered(
                truth[spec], values[known], values[~known], confidence, (0, 1)
            )
            n_pairs = documents.n_labelled_of(known)
            cross[spec] = CalibratedMean(
                mean.value, mean.interval, 0.0, n_pairs, len(whole), len(queries)
            )
    means = {}
    for score in plain.scores:
        spec = score.spec
        mean_of = cross.get(spec) or (
            documents.precision(spec)
            if spec.name == "precision"
            else CalibratedMean(
                None,
                None,
                0.0,
                documents.n_labelled_of(known),
                len(whole),
                len(queries),
                f"documents of a query resemble each other, so {LEAST_QUERIES} whole queries must "
                f"be labelled down to rank {depth}, and {len(whole)} are (kragx judge label "
                "--queries 30); precision needs no whole ones",
            )
        )
        means[str(spec)] = replace(mean_of, plain=float(score.values.mean()))
    return means


@dataclass(frozen=True)
class JudgedDocuments:
    """What judge and people say of the documents of a run, and of others of its queries.

    Attributes:
        evaluation: in which every document that anybody may have labelled is a gold item.
        grade: (g) the judge's of each gold item; one below the scale where it gave none.
        label: (g) people's; NaN without one.
        scale: of the labels.
        confidence: of the intervals.
        draws: of labels for each fold.
    """

    evaluation: Evaluation
    grade: Floats
    label: Floats
    scale: Scale
    confidence: float
    draws: int = 10

    def n_labelled_of(self, queries: Bools) -> int:
        """How many labels people gave of some queries."""
        return int((~np.isnan(self.label) & queries[self.evaluation.table.gold_query]).sum())

    def precision(self, spec: MetricSpec) -> CalibratedMean:
        """Mean precision: of each grade the share that people find relevant, post-stratified.

        With A_b the weight that documents of grade b have in the mean, y what people say and p_b
        its mean over the labelled ones of this run within the cut, the estimate is sum(A_b p_b).
        A query's part in its variance is how far its own value is from the mean, and A_b (y - p_b)
        / n_b of its labelled documents. Of grades where all labels are the same the variance of
        p_b is that of half a hit and half a miss more. Degrees of freedom are Satterthwaite's.

        Source: W. Cochran, Sampling Techniques, 1977, chapter 5A.9; linearised with the query as
        unit.
        """
        table, k = self.evaluation.table, spec.k
        assert isinstance(k, int)  # `depth_of` has seen to that
        n_queries, n_docs = table.n_queries, table.n_docs
        docs, items = table.pair_doc[table.matched], table.pair_gold[table.matched]
        query = table.gold_query[items]
        seen = (docs - table.doc_start[query] < k) & ~table.repeated[docs]
        query, items = query[seen], items[seen]
        over = np.minimum(k, n_docs) if spec["over"] == "retrieved" else np.full(n_queries, k)
        weight = 1 / np.maximum(over[query], 1) / n_queries
        label = self.label[items]
        known = ~np.isnan(label)
        n_labelled = len(np.unique(query[known]))
        nothing = CalibratedMean(None, None, 0.0, int(known.sum()), n_labelled, n_queries)
        if n_labelled < LEAST_QUERIES or known.sum() < LEAST_LABELS:
            return replace(
                nothing,
                lacking=phrase(
                    "{least} labelled pairs of {least_queries} queries within the cut are needed, "
                    "and there are {n} of {n_queries}",
                    least=LEAST_LABELS,
                    least_queries=LEAST_QUERIES,
                    n=int(known.sum()),
                    n_queries=n_labelled,
                ),
            )
        _, at = np.unique(self.grade[items], return_inverse=True)
        group = _together(np.bincount(at[known], minlength=at.max() + 1))[at]
        shift, rel = max(0, self.scale.low), spec["rel"]
        truth = label[known] - shift >= rel if rel is not None else label[known] > shift
        n = np.bincount(group[known], minlength=group.max() + 1)
        hits = np.bincount(group[known], truth, len(n))
        share, mass = hits / n, np.bincount(group, weight, len(n))
        value = float((mass * share).sum())
        own = np.bincount(query, weight * share[group], n_queries) - value / n_queries
        residual = (mass / n)[group[known]] * (truth - share[group[known]])
        freedom = max(1, n_labelled - len(n))
        by_labels = (n_labelled / freedom) ** 0.5 * np.bincount(query[known], residual, n_queries)
        alike = (hits == 0) | (hits == n)
        smoothed = (hits + 0.5) / (n + 1)
        variance = n_queries / (n_queries - 1) * float(((own + by_labels) ** 2).sum())
        variance += float((mass**2 * smoothed * (1 - smoothed) / n)[alike].sum())
        # What the few labelled queries do not add to the variance is known as well as all are.
        squares = np.array([(by_labels**2).sum(), (own**2).sum()])
        parts = squares / squares.sum() if squares.any() else np.ones(2)
        worth = 1 / float(parts[0] ** 2 / freedom + parts[1] ** 2 / (n_queries - 1))
        seldom = min(len(np.unique(query[known][truth == kind])) for kind in (True, False))
        ends = score_interval(value, variance, round(worth) + 1, seldom, self.confidence)
        return replace(nothing, value=value, interval=ends)

    def drawn(
        self, specs: Sequence[MetricSpec], known: Bools, folds: int, seed: int
    ) -> list[Floats]:
        """(q) of each metric, the mean value of each query by labels that are drawn.

        A document gets a label at random, as people gave them to documents of its grade. Queries
        that are labelled whole are divided into folds; the values of one's own fold rest on
        probabilities of the others, those of queries that are not labelled on all in turn.
        """
        evaluation, scale = self.evaluation, self.scale
        table = evaluation.table
        query = table.gold_query
        fold = np.full(table.n_queries, -1)
        fold[known] = fold_of(np.arange(known.sum()), folds, seed)
        labelled = np.flatnonzero(~np.isnan(self.label))
        pairs = LabelledPairs.of(
            self.grade[labelled],
            self.label[labelled].astype(np.int64),
            query[labelled],
            scale.low,
            scale.high,
        )
        grades, at = np.unique(self.grade, return_inverse=True)
        sums = np.zeros((len(specs), table.n_queries))
        n = np.zeros(table.n_queries)
        rng = np.random.default_rng(seed)
        for number in range(folds):
            chances = pairs.chances(fold[query[labelled]] != number, grades)
            counts = (fold == number) | ~known
            for _ in range(self.draws):
                # Of one number for all labels: who reaches a label has reached those below it.
                reached = rng.random(len(at)) < chances[:, at]
                grade = reached.sum(0) + float(scale.low - max(0, scale.low))
                scores = compute(replace(table, grade=grade), specs, evaluation.profile)
                sums[:, counts] += np.array([score.values for score in scores])[:, counts]
            n[counts] += self.draws
        return list(sums / n)


def _together(n_labels: Ints) -> Ints:
    """(grades) the group of each: neighbours together until each has labels enough."""
    groups = [[position] for position in range(len(n_labels))]

    def size(group: Sequence[int]) -> int:
        return int(n_labels[group].sum())

    while len(groups) > 1 and size(smallest := min(groups, key=size)) < _LEAST:
        place = groups.index(smallest)
        beside = min(_beside(place, len(groups)), key=lambda other: size(groups[other]))
        first = min(place, beside)
        groups[first : first + 2] = [groups[first] + groups[first + 1]]
    return np.repeat(np.arange(len(groups)), [len(group) for group in groups])


def _beside(place: int, length: int) -> Iterator[int]:
    return (other for other in (place - 1, place + 1) if 0 <= other < length)
