"""How often intervals hold the truth, in simulated data whose truth is known.

python -m tests.agreement.simulation        # the tables of docs/evidence/agreement.md, in minutes
python -m tests.agreement.simulation grades         # the one of judges and panels
"""

from __future__ import annotations

import sys
import warnings
from itertools import product

import numpy as np

from kragx.agreement import prediction_powered
from kragx.agreement.coefficients import statistics
from kragx.agreement.labels import Scale
from kragx.agreement.threshold_choice import AGREEMENTS, Chooser, Trial
from kragx.metrics.intervals import expanded, resampled

SIMULATED = 10_000
SCALE = Scale(0, 3)
_AT_ONCE = 250


def simulated(rng, count, queries, pairs=(5, 15)):
    """(count, queries, 4, 4) confusions of a judge that leans by query, 5 to 15 pairs a query."""
    size = rng.integers(pairs[0], pairs[1] + 1, (count, queries, 1))
    lean = rng.normal(0, 0.7, (count, queries, 1))
    latent = rng.normal(0, 1, (count, queries, 15)) + lean
    judged = 0.8 * latent + 0.6 * rng.normal(0, 1, latent.shape)
    judged += rng.normal(0, 0.35, (count, queries, 1))
    cuts = (0.2, 0.9, 1.6)
    cell = 4 * np.searchsorted(cuts, latent) + np.searchsorted(cuts, judged)
    inside = np.arange(15) < size
    found = np.stack([((cell == each) & inside).sum(-1) for each in range(16)], axis=-1)
    return found.reshape(count, queries, 4, 4).astype(float)


SEVEN = (
    *("kappa", "kappa_linear", "kappa_quadratic", "alpha_ordinal", "accuracy", "bias"),
    "kappa_binary.2",
)
RARE = ("kappa_binary.3", "bias.3")
"""Statistics that rest on the label 3, which a tenth of the pairs have."""


def every(confusion, names=SEVEN):
    """The statistics that are simulated."""
    found = statistics(confusion, SCALE.labels)
    return {name: found[name] for name in names}


def true_values(names=SEVEN):
    """The statistics of 400,000 queries."""
    rng = np.random.default_rng(0)
    total = sum(simulated(rng, 20, 1000).sum((0, 1)) for _ in range(20))
    return {name: float(value) for name, value in every(total, names).items()}


def agreement_coverage(truth, queries, *, wider=True, count=SIMULATED):
    """How often the interval of each statistic holds the truth; plain percentiles if not `wider`.

    As `expanded_intervals` has it, of many data sets at once: 400 resamples serve them all.
    """
    rng = np.random.default_rng(1)
    weights = resampled(np.eye(queries), lambda drawn: drawn, 400, 0)
    tail = (1 - (expanded(0.95, queries) if wider else 0.95)) / 2
    held = dict.fromkeys(truth, 0)
    for _ in range(count // _AT_ONCE):
        data = simulated(rng, _AT_ONCE, queries).reshape(_AT_ONCE, queries, 16)
        sums = np.einsum("bq,sqc->sbc", weights, data, optimize=True)
        for name, sampled in every(sums.reshape(_AT_ONCE, 400, 4, 4), truth).items():
            # Where each resample has a value, the slow way around those without is not needed.
            quantile = np.nanquantile if np.isnan(sampled).any() else np.quantile
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # no pair with the label: no value
                low, high = quantile(sampled, (tail, 1 - tail), axis=1)
            held[name] += int(((low <= truth[name]) & (truth[name] <= high)).sum())
    return {name: times / count for name, times in held.items()}


def clustered(rng, count, queries, documents=10, ease=-0.5):
    """Labels of people and of a biased judge, documents of a query alike: (count, q, d) each."""
    ease = rng.normal(ease, 1.2, (count, queries, 1))
    chance = 1 / (1 + np.exp(-ease))
    human = rng.random((count, queries, documents)) < chance
    guess = rng.random(human.shape) < 0.3 + 0.6 * chance
    return human.astype(float), np.where(rng.random(human.shape) < 0.7, human, guess).astype(float)


METRICS = {
    "precision@10": lambda labels: labels.mean(-1),
    "hit rate@3": lambda labels: labels[..., :3].max(-1),
    "MRR": lambda labels: labels.max(-1) / (labels.argmax(-1) + 1),
}
"""From (..., d) labels of documents to a value a query."""

EASY, HARD = -0.5, -3.0
"""How likely documents are relevant: hit rates@3 of .70 and .20."""


def correction_coverage(labelled, queries, metric="precision@10", ease=EASY, count=SIMULATED):
    """How often a mean's interval holds the truth: corrected, of people alone, of the judge alone.

    People have labelled so many of the queries.
    """
    rng, value = np.random.default_rng(1), METRICS[metric]
    truth = value(clustered(np.random.default_rng(0), 100, 10_000, ease=ease)[0]).mean()
    held = {"corrected": 0, "people": 0, "judge": 0}
    for _ in range(count // 500):
        for people, judge in zip(*map(value, clustered(rng, 500, queries, ease=ease)), strict=True):
            mean = prediction_powered(
                people[:labelled], judge[:labelled], judge[labelled:], bounds=(0, 1)
            )
            for name, (low, high) in (
                ("corrected", mean.interval),
                ("people", mean.human_interval),
            ):
                held[name] += low <= truth <= high
            margin = 1.96 * judge.std(ddof=1) / queries**0.5
            held["judge"] += abs(mean.plain - truth) <= margin
    return {name: int(times) / count for name, times in held.items()}


def pair_coverage(labelled, queries, count=SIMULATED):
    """The same of precision@10 with each pair as an observation of its own."""
    rng = np.random.default_rng(1)
    truth = clustered(np.random.default_rng(0), 100, 10_000)[0].mean()
    held = 0
    for _ in range(count // 500):
        for people, judge in zip(*clustered(rng, 500, queries), strict=True):
            low, high = prediction_powered(
                people[:labelled].ravel(), judge[:labelled].ravel(), judge[labelled:].ravel()
            ).interval
            held += low <= truth <= high
    return held / count


CUTS = (0.2, 0.9, 1.6)
JUDGES = {
    "lenient": (1.0, 0.6, 0.8, 0.3),
    "strict": (1.0, 0.6, -0.8, 0.3),
    "noisy": (1.0, 1.5, 0.0, 0.3),
    "perfect": (1.0, 0.0, 0.0, 0.0),
    "guessing": (0.0, 1.0, 0.5, 0.3),
    "the wrong way": (-1.0, 0.6, 1.0, 0.3),
    "always 3": (0.0, 0.0, 9.0, 0.0),
}
"""Simulated judges: how much of the truth they see, their noise, and how they lean: always, and by
query."""


PANELS = {
    "median of lenient, strict, noisy": ("lenient", "strict", "noisy"),
    "median of three lenient": ("lenient", "lenient", "lenient"),
    "mean of lenient, strict, noisy": ("lenient", "strict", "noisy"),
}
"""Panels: errors of their own, and errors that all of them share in part."""

EXPECTED = "lenient, expected grades"


def graded(rng, queries, kind, documents=5):
    """(q, d) labels from 0 to 3 of people, and of a judge; deeper documents are less relevant.

    Of a panel the judge's are the medians or means of its votes.
    """
    ease = rng.normal(0.5, 0.8, (queries, 1)) - 0.08 * np.arange(documents)
    latent = ease + rng.normal(0, 1, (queries, documents))
    return np.searchsorted(CUTS, latent), judged_by(rng, latent, kind)


def judged_by(rng, latent, kind):
    """(q, d) the grades of a judge or a panel."""
    votes = [graded_by(rng, latent, own) for own in PANELS.get(kind, (kind,))]
    if kind.startswith("mean"):
        return np.mean(votes, axis=0)
    return np.sort(votes, axis=0)[(len(votes) - 1) // 2]


def graded_by(rng, latent, kind):
    """(q, d) the grades of one judge."""
    sees, noise, lean, by_query = JUDGES["lenient" if kind == EXPECTED else kind]
    judged = sees * latent + noise * rng.normal(0, 1, latent.shape)
    judged += lean + by_query * rng.normal(0, 1, (len(latent), 1))
    if kind != EXPECTED:
        return np.searchsorted(CUTS, judged)
    # Each grade as likely as a logistic model that hesitates makes it.
    return sum(1 / (1 + np.exp((cut - judged) / 0.3)) for cut in CUTS)


def ndcg(labels):
    """(q) nDCG of lists of (q, d) labels, of which each is all that there is; 0 without a gain."""
    discounts = 1 / np.log2(np.arange(2, 2 + labels.shape[-1]))
    best = (np.sort(labels, axis=-1)[..., ::-1] * discounts).sum(-1)
    return (labels * discounts).sum(-1) / np.where(best > 0, best, 1)


BY_GRADES = {
    "precision@5(rel=2)": lambda labels: (labels >= 2).mean(-1),
    "mrr@5(rel=2)": lambda labels: METRICS["MRR"]((labels >= 2).astype(float)),
    "hit_rate@1(rel=3)": lambda labels: (labels[..., 0] >= 3).astype(float),
    "ndcg@5": ndcg,
}
"""From (..., d) labels from 0 to 3 of documents to a value a query."""


def grade_coverage(kind, labelled, queries, count=2_000):
    """How often corrected means' intervals hold the truth, and the means: theirs, judge's, true.

    Args:
        kind: one of `JUDGES` or `PANELS`, or `EXPECTED`.
        labelled: how many queries people have labelled.
        queries: of how many.
        count: of data sets, each of which serves all of `BY_GRADES`.
    """

    def drawn(rng, n):
        people, judge = graded(rng, n, kind)
        return np.array([[people], [judge]])

    return held(drawn, labelled, queries, (0, 1), count)


def difference_coverage(kind, labelled, queries, better=0.4, count=2_000):
    """The same of the differences of two retrievers that answer the same queries."""

    def drawn(rng, n):
        ease = rng.normal(0.5, 0.8, (n, 1)) - 0.08 * np.arange(5)
        latents = [ease + lift + rng.normal(0, 1, ease.shape) for lift in (better, 0)]
        people = [np.searchsorted(CUTS, latent) for latent in latents]
        return np.array([people, [judged_by(rng, latent, kind) for latent in latents]])

    return held(drawn, labelled, queries, (-1, 1), count)


def held(drawn, labelled, queries, bounds, count):
    """By metric how often the interval holds the mean of people's values, and the means.

    `drawn(rng, n)` are the labels (people and judge, one or two retrievers, n, d).
    """
    many = drawn(np.random.default_rng(0), 400_000)
    rng = np.random.default_rng(1)
    parts = [
        np.stack([drawn(rng, queries) for _ in range(_AT_ONCE)]) for _ in range(count // _AT_ONCE)
    ]
    shares = {}
    for metric, value in BY_GRADES.items():
        truth = _of_retrievers(value(many[:1]))[0].mean()
        times, estimates, plain = 0, [], []
        for people, judge in (pair for part in parts for pair in _of_retrievers(value(part))):
            mean = prediction_powered(
                people[:labelled], judge[:labelled], judge[labelled:], bounds=bounds
            )
            times += mean.interval is not None and mean.interval[0] <= truth <= mean.interval[1]
            estimates.append(mean.value)
            plain.append(mean.plain)
        shares[metric] = (times / len(plain), np.mean(estimates), np.mean(plain), truth)
    return shares


def _of_retrievers(values):
    """(..., n) the values of one retriever, or how much larger those of the first of two are."""
    return values[..., 0, :] - values[..., 1, :] if values.shape[-2] == 2 else values[..., 0, :]


NOISE = {"clear": 0.15, "middling": 0.5, "poor": 1.2}
"""How far the scores of a simulated matcher are from the truth."""


def labelled(rng, queries, kind, candidates=4):
    """The query, truth and scores by each candidate of 3 to 8 pairs a query; the first is best."""
    query_of = np.repeat(np.arange(queries), rng.integers(3, 9, queries))
    latent = rng.normal(-0.3, 1, len(query_of)) + 0.4 * rng.normal(0, 1, queries)[query_of]
    trials = []
    for row in range(candidates):
        noise = NOISE[kind] * (1 + 0.15 * row)
        error = rng.normal(0, 1, len(latent)) + 0.3 * rng.normal(0, 1, queries)[query_of]
        scores = (1 / (1 + np.exp(-latent - noise * error))).round(3)
        trials.append(Trial({"method": str(row)}, scores, None))
    return query_of, latent > 0, trials


def calibration_coverage(queries, kind, by="kappa", count=200):
    """How often intervals of a calibration hold the agreement that its choice has on new queries.

    Of the candidate that was chosen, on queries that its threshold was not chosen on; and of the
    whole choice.
    """
    _, truth_of_many, many = labelled(np.random.default_rng(0), 20_000, kind)
    held = {"of the choice": 0, "of the whole choice": 0}
    for seed in range(count):
        query_of, truth, trials = labelled(np.random.default_rng(seed + 1), queries, kind)
        chooser = Chooser(trials, truth, query_of, by, 5, 0, resamples=400)
        _, chosen, honest = chooser.result()
        scores = many[int(chosen.match["method"])].scores
        new = _agreement(by, truth_of_many, scores >= chosen.match["threshold"])
        held["of the choice"] += chosen.agreement.low <= new <= chosen.agreement.high
        held["of the whole choice"] += honest.low <= new <= honest.high
    return {name: times / count for name, times in held.items()}


def _agreement(by, truth, decided):
    cells = [[(~truth & ~decided), (~truth & decided)], [(truth & ~decided), (truth & decided)]]
    return float(AGREEMENTS[by](np.array(cells).sum(-1).astype(float)))


def usual_width(queries, pairs):
    """The median width of kappa's intervals, nominal and quadratic, with so many pairs a query."""
    rng = np.random.default_rng(1)
    weights = resampled(np.eye(queries), lambda drawn: drawn, 400, 0)
    tail = (1 - expanded(0.95, queries)) / 2
    data = simulated(rng, 500, queries, (pairs, pairs)).reshape(500, queries, 16)
    sampled = every(np.einsum("bq,sqc->sbc", weights, data, optimize=True).reshape(500, 400, 4, 4))
    ends = {
        name: np.nanquantile(sampled[name], (tail, 1 - tail), axis=1)
        for name in ("kappa", "kappa_quadratic")
    }
    return {name: float(np.median(high - low)) for name, (low, high) in ends.items()}


def by_grades():
    """Print the table of judges and panels."""
    for kind in (*JUDGES, *PANELS, EXPECTED):
        shares = [*grade_coverage(kind, 50, 300).values()]
        shares.append(difference_coverage(kind, 50, 300)["ndcg@5"])
        cells = [f"{share:.1%} ({mean:.3f}; {plain:.3f})" for share, mean, plain, _ in shares]
        sys.stdout.write(f"| {' | '.join([kind, *cells])} |\n")


def main():
    """Print the tables."""
    truth = true_values()
    for queries in (10, 20, 30, 50, 100):
        for wider in (True, False):
            found = agreement_coverage(truth, queries, wider=wider)
            shares = "  ".join(f"{name} {share:.1%}" for name, share in found.items())
            sys.stdout.write(f"{queries:4} queries, {'expanded' if wider else 'plain'}: {shares}\n")
    rare = true_values(RARE)
    for queries in (10, 20, 30, 50, 100):
        found = agreement_coverage(rare, queries)
        shares = "  ".join(f"{name} {share:.1%}" for name, share in found.items())
        sys.stdout.write(f"{queries:4} queries, a rare label: {shares}\n")
    for queries, pairs in ((50, 1), (25, 2), (10, 5), (100, 1), (200, 1), (500, 1)):
        found = usual_width(queries, pairs)
        widths = "  ".join(f"{name} {width:.2f}" for name, width in found.items())
        sys.stdout.write(f"{queries:4} queries of {pairs} pairs, width: {widths}\n")
    for queries, kind, by in product((20, 30, 60), NOISE, AGREEMENTS):
        found = calibration_coverage(queries, kind, by)
        shares = "  ".join(f"{name} {share:.1%}" for name, share in found.items())
        sys.stdout.write(f"{queries:4} queries, {kind} matcher, {by}: {shares}\n")
    for known, queries in ((20, 120), (30, 180), (50, 300)):
        pairs = pair_coverage(known, queries)
        sys.stdout.write(f"{known:4} of {queries} queries labelled, by pair: {pairs:.1%}\n")
        for ease, metric in product((EASY, HARD), METRICS):
            found = correction_coverage(known, queries, metric, ease)
            shares = "  ".join(f"{name} {share:.1%}" for name, share in found.items())
            hard = "hard" if ease == HARD else "easy"
            sys.stdout.write(f"{known:4} of {queries}, {hard}, {metric}: {shares}\n")


if __name__ == "__main__":
    by_grades() if "grades" in sys.argv else main()
