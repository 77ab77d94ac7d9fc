"""`calibrate`: from results and labels to a way to match."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import get_args

import numpy as np

from kragx.agreement.calibration.choosing import Chooser
from kragx.agreement.calibration.model import By, Calibration, Candidate
from kragx.agreement.calibration.pairs import of_metadata, resolved
from kragx.agreement.calibration.trying import TOKENIZERS, as_mapping, candidates, scored
from kragx.agreement.labels import read_labels
from kragx.comparison.statistics import SEED
from kragx.errors import DataError, UsageError, nearest
from kragx.evaluation.source import arranged, source_of
from kragx.metrics import KRAGX
from kragx.metrics.table import Bools, Ints

FOLDS = 5

_FEW = 20  # labelled queries; of fewer a bootstrap's interval holds the truth too seldom


def calibrate(
    results: object,
    labels: object = None,
    run: object = None,
    *,
    by: By = "kappa",
    positive: float | None = None,
    folds: int = FOLDS,
    tokenizers: Iterable[object] = TOKENIZERS,
    more: Iterable[object] = (),
    only: Iterable[object] | None = None,
    seed: int = SEED,
) -> Calibration:
    """Choose how to match by agreement with labelled pairs.

    Args:
        results: the path of a results file; or a gold set, as `evaluate` takes it, with `run`.
        labels: of pairs of a retrieved document and a gold item: what `read_labels` takes or gives.
            None takes the places in sources that metadata name (``source``, ``start_index``, maybe
            ``end_index``, of documents and gold): a match shares at least half of the characters
            of either.
        run: what was retrieved.
        by: what is to be greatest, ``kappa`` or ``f1``.
        positive: the least grade of a label that is a match; None for 1, or 2 of a store.
        folds: of cross-validation; fewer where there are fewer labelled queries.
        tokenizers: of ROUGE.
        more: further candidates (specs), for example of `embedding`; their thresholds are chosen.
        only: candidates instead of the usual ones, simplest first.
        seed: of folds and resamples.

    Raises:
        UsageError: an argument is wrong.
        DataError: the labels fit no pair of the results, are all the same, or are of one query.
    """
    if by not in get_args(By):
        raise UsageError(f"by: unknown value {by!r}; {nearest(str(by), get_args(By))}")
    if isinstance(folds, bool) or not isinstance(folds, int) or folds < 2:
        raise UsageError(f"folds: {folds!r} is not a whole number from 2 on")
    source, _ = source_of(results, run, KRAGX)
    items = list(map(arranged(KRAGX), source.items()))
    if labels is None:
        labels = tuple(of_metadata(items))
        if not labels:
            raise UsageError(
                "labels: none are given, and no document and gold item of a query say in metadata "
                "'source' and 'start_index' where they were taken from; name a file with --labels"
            )
    known = read_labels(labels)
    least = known.positive if positive is None else positive
    places, truth, unused = resolved(items, tuple(known), least)
    specs = candidates(tokenizers, more) if only is None else [as_mapping(each) for each in only]
    tried = scored(items, specs, places)
    queries, of_query = np.unique(places[:, 0], return_inverse=True)
    if len(queries) < 2:
        raise DataError("labels: all are of one query; at least two are needed, to choose on some")
    if truth.all() or not truth.any():
        what = "a match" if truth.all() else "no match"
        raise DataError(f"labels: every pair is labelled {what}; both kinds are needed")
    folds = min(folds, len(queries))
    chooser = Chooser(tried, truth, of_query, by, folds, seed)
    everything = np.ones(len(truth), bool)
    choice = chooser.choose(everything)
    own = chooser.estimates(choice)
    rows = [
        Candidate(
            match=each.at(chooser.threshold(at, everything)),
            tied=at in choice.tied,
            **own[at],
        )
        for at, each in enumerate(tried)
    ]
    order = sorted(range(len(rows)), key=lambda at: (-_or_least(rows[at].agreement.value), at))
    return Calibration(
        by=by,
        chosen=rows[choice.chosen],
        honest=chooser.honest(),
        candidates=tuple(rows[at] for at in order),
        folds=folds,
        n_queries=len(queries),
        n_pairs=len(truth),
        n_matches=int(truth.sum()),
        n_unused=unused,
        cautions=tuple(_cautions(truth, of_query)),
    )


def _or_least(value: float | None) -> float:
    return -np.inf if value is None else value


def _cautions(truth: Bools, query: Ints) -> Iterator[str]:
    matches, others = (len(np.unique(query[kind])) for kind in (truth, ~truth))
    if min(matches, others) < _FEW:
        yield (
            f"queries with a pair labelled a match: {matches}, with one labelled no match: "
            f"{others}; figures and intervals of fewer than {_FEW} hold for little else"
        )
