"""Calibration: choose matcher, measure, tokenizer and threshold by agreement with labelled pairs.

Folds are made of whole queries. A candidate's threshold is chosen on the other folds and its
decisions are scored on the fold left out, so what is reported was never chosen on. Choosing among
candidates is optimistic as well: `Calibration.honest` repeats the whole choice, candidate and
threshold, inside the other folds.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import yaml

from kragx import matchers
from kragx.errors import DataError, UsageError, nearest
from kragx.formats.labels import Label
from kragx.matchers import Matcher, MatchItem, MatchWarning, RougeMatcher
from kragx.matchers.corpus import TokenCorpus
from kragx.matchers.matching import match as match_items
from kragx.metrics import KRAGX
from kragx.sources import arranged, source_of
from kragx.statistics import SEED, percentile_interval, resamples
from kragx.statistics.agreement import binary_f1, binary_kappa
from kragx.table import Bools, Floats, Ints
from kragx.tokenizers import Tokenizer

By = Literal["kappa", "f1"]
FOLDS = 5
TOKENIZERS = ("unicode", "char")
_RESAMPLES = 2_000
_MARGIN = 0.01
_MEASURES = ("overlap", "recall", "precision", "fmeasure")
_ROUGE = ("rouge2", "rouge1", "rougeL")


@dataclass(frozen=True)
class Estimate:
    """A value with its interval: 95 %, bootstrap over queries; None where it does not exist."""

    value: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Candidate:
    """How one way to match did.

    Attributes:
        match: its spec, with the threshold that suits all labelled pairs best.
        agreement: kappa or F1 of decisions on queries that its threshold was not chosen on.
        apparent: the same with the final threshold on the pairs it was chosen on: optimistic.
        kappa, f1, precision, recall: of the decisions behind `agreement`.
        thresholds: the least and greatest threshold that a fold chose; None for yes-or-no matchers.
        behind: how far it is behind the best candidate, paired over queries.
        tied: whether it cannot be told from the best: the interval of how far it is behind holds 0,
            and it is behind by no more than one standard error of that difference, or .01.
    """

    match: dict[str, Any]
    agreement: Estimate
    apparent: float | None
    kappa: float | None
    f1: float | None
    precision: float | None
    recall: float | None
    thresholds: tuple[float, float] | None
    behind: Estimate
    tied: bool

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "match": self.match,
            "agreement": vars(self.agreement),
            "apparent": self.apparent,
            "kappa": self.kappa,
            "f1": self.f1,
            "precision": self.precision,
            "recall": self.recall,
            "thresholds": None if self.thresholds is None else list(self.thresholds),
            "behind": vars(self.behind),
            "tied": self.tied,
        }


@dataclass(frozen=True)
class Calibration:
    """What was chosen, from what, and how much to believe it.

    Attributes:
        by: ``kappa`` or ``f1``.
        chosen: the first of the candidates, simplest first, that cannot be told from the best.
        honest: the agreement to expect of new queries: the whole choice repeated in each fold.
        candidates: all of them, best first.
        folds: how many.
        n_queries, n_pairs, n_matches: labelled queries, pairs, and pairs labelled a match.
        n_unused: labels of pairs that the results do not hold.
    """

    by: By
    chosen: Candidate
    honest: Estimate
    candidates: tuple[Candidate, ...]
    folds: int
    n_queries: int
    n_pairs: int
    n_matches: int
    n_unused: int

    @property
    def match(self) -> dict[str, Any]:
        """The spec of what was chosen, for `evaluate(..., match=...)`."""
        return dict(self.chosen.match)

    def to_yaml(self) -> str:
        """The `match:` block of a config, with where it comes from as comments."""
        own, honest = self.chosen.agreement, self.honest
        lines = [
            f"# Chosen by kragx calibrate from {self.n_pairs} labelled pairs of "
            f"{self.n_queries} queries.",
            f"# {self.by} on queries it was not chosen on: {_shown(own)}; of the whole choice "
            f"{_shown(honest)}.",
        ]
        plain = yaml.safe_dump({"match": self.match}, allow_unicode=True, sort_keys=False)
        return "\n".join([*lines, plain])

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "by": self.by,
            "match": self.match,
            "chosen": self.chosen.to_dict(),
            "honest": vars(self.honest),
            "folds": self.folds,
            "n_queries": self.n_queries,
            "n_pairs": self.n_pairs,
            "n_matches": self.n_matches,
            "n_unused": self.n_unused,
            "candidates": [each.to_dict() for each in self.candidates],
        }


def _shown(estimate: Estimate) -> str:
    if estimate.value is None:
        return "none"
    if estimate.low is None or estimate.high is None:
        return f"{estimate.value:.3f}"
    return f"{estimate.value:.3f} [{estimate.low:.3f}, {estimate.high:.3f}]"


def candidates(
    tokenizers: Iterable[object] = TOKENIZERS, more: Iterable[object] = ()
) -> list[dict[str, Any]]:
    """What is tried, simplest and cheapest first.

    Matchers that decide yes or no; ROUGE with every measure, by tokenizer; other built-in matchers
    with a threshold that ask no model; then `more`, whatever it is.
    """
    found: list[dict[str, Any]] = [{"method": "text"}, {"method": "contains"}]
    for tokenizer in tokenizers:
        own = {} if tokenizer == "unicode" else {"tokenizer": tokenizer}
        for method in _ROUGE:
            for measure in _MEASURES:
                if (method, measure) == ("rouge2", "overlap"):
                    found.append({"method": "overlap", **own})
                else:
                    found.append({"method": method, "measure": measure, **own})
    for method in matchers.METHODS:
        rouge = method in (*_ROUGE, "overlap")
        if not rouge and not matchers.asks(method) and "threshold" in matchers.option_names(method):
            found.append({"method": method})
    return found + [_as_mapping(each) for each in more]


def _as_mapping(spec: object) -> dict[str, Any]:
    if isinstance(spec, str):
        return {"method": spec}
    if isinstance(spec, Mapping):
        return {name: value for name, value in spec.items() if name != "threshold"}
    raise UsageError(f"candidates: {spec!r} is neither a name nor a mapping")


def calibrate(
    results: object,
    labels: Sequence[Label] | None = None,
    run: object = None,
    *,
    by: By = "kappa",
    positive: float = 1.0,
    folds: int = FOLDS,
    tokenizers: Iterable[object] = TOKENIZERS,
    more: Iterable[object] = (),
    only: Iterable[object] | None = None,
    seed: int = SEED,
) -> Calibration:
    """Choose how to match by agreement with labelled pairs.

    Args:
        results: the path of a results file; or a gold set, as `evaluate` takes it, with `run`.
        labels: of pairs of a retrieved document and a gold item (`kragx.formats.labels`); None
            takes the places in sources that metadata name (``source``, ``start_index`` and maybe
            ``end_index``, of documents and gold): a match shares at least half of the characters
            of either.
        run: what was retrieved.
        by: what is to be greatest, ``kappa`` or ``f1``.
        positive: the least grade of a label that is a match.
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
    known = list(_of_metadata(items)) if labels is None else labels
    if not known:
        raise UsageError(
            "labels: none are given, and no document and gold item of a query say in metadata "
            "'source' and 'start_index' where they were taken from; name a file with --labels"
        )
    places, truth, unused = _resolved(items, known, positive)
    specs = candidates(tokenizers, more) if only is None else [_as_mapping(each) for each in only]
    tried = _scored(items, specs, places)
    queries, of_query = np.unique(places[:, 0], return_inverse=True)
    if len(queries) < 2:
        raise DataError("labels: all are of one query; at least two are needed, to choose on some")
    if truth.all() or not truth.any():
        what = "a match" if truth.all() else "no match"
        raise DataError(f"labels: every pair is labelled {what}; both kinds are needed")
    folds = min(folds, len(queries))
    chooser = _Chooser([each.scores for each in tried], truth, of_query, by, folds, seed)
    everything = np.ones(len(truth), bool)
    choice = chooser.choose(everything)
    own = chooser.estimates(choice)
    rows = [
        Candidate(
            match=_with_threshold(each, chooser.threshold(at, everything)),
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
    )


# -- labels and scores -----------------------------------------------------------------------


def _resolved(
    items: Sequence[MatchItem], labels: Sequence[Label], positive: float
) -> tuple[Ints, Bools, int]:
    """(u, 3) query, document and gold item (-1 for any) of each labelled pair, and its label."""
    rows = {item.query.id: row for row, item in enumerate(items)}
    by_texts: dict[tuple[str | None, str | None], list[tuple[int, int, int]]] = {}
    if any(label.query_id is None for label in labels):
        for row, item in enumerate(items):
            for doc, found in enumerate(item.docs):
                for target in item.targets:
                    place = (row, doc, target.gold)
                    by_texts.setdefault((found.text, target.text), []).append(place)
    known: dict[tuple[int, int, int], bool] = {}
    unused = 0
    for label in labels:
        if label.query_id is None:
            places = by_texts.get((label.doc_text, label.gold_text), [])
        else:
            own = rows.get(label.query_id)
            places = [] if own is None else _places(items[own], own, label)
        unused += not places
        for place in places:
            match = label.grade >= positive
            if known.setdefault(place, match) != match and label.query_id is not None:
                raise DataError(
                    f"labels: query {label.query_id!r}, rank {place[1] + 1} is labelled twice, "
                    "and the labels differ; keep one"
                )
    if not known:
        raise DataError(
            f"labels: none of the {len(labels)} labels is of a retrieved document and a gold item "
            "of the results; check query ids, document ids and ranks"
        )
    ordered = sorted(known)
    return np.array(ordered, np.int64), np.array([known[place] for place in ordered]), unused


def _of_metadata(items: Iterable[MatchItem]) -> Iterator[Label]:
    """Labels of the pairs whose places in their sources are both known."""
    for item in items:
        golds = [_place(gold.text, gold.metadata) for gold in item.query.gold]
        for rank, doc in enumerate(item.docs, start=1):
            one = _place(doc.text, doc.metadata)
            for at, other in enumerate(golds, start=1):
                if one is None or other is None:
                    continue
                shared = min(one[2], other[2]) - max(one[1], other[1]) if one[0] == other[0] else 0
                least = min(one[2] - one[1], other[2] - other[1])
                match = shared > 0 and 2 * shared >= least
                yield Label(float(match), item.query.id, rank=rank, gold=at)


def _place(text: str | None, metadata: Mapping[str, Any]) -> tuple[str, int, int] | None:
    source, start = metadata.get("source"), metadata.get("start_index")
    end = metadata.get("end_index", None if text is None or start is None else start + len(text))
    if source is None or not isinstance(start, int) or not isinstance(end, int) or end <= start:
        return None
    return str(source), start, end


def _places(item: MatchItem, row: int, label: Label) -> list[tuple[int, int, int]]:
    if label.rank is not None:
        docs = [label.rank - 1] if label.rank <= len(item.docs) else []
    elif label.doc_id is not None:
        docs = [at for at, doc in enumerate(item.docs) if doc.id == label.doc_id]
    else:
        docs = [at for at, doc in enumerate(item.docs) if doc.text == label.doc_text]
    gold = item.query.gold
    if label.gold is not None:
        golds = [label.gold - 1] if label.gold <= len(gold) else []
    elif label.gold_id is not None:
        golds = [at for at, each in enumerate(gold) if each.id == label.gold_id]
    else:
        golds = [-1] if gold else []
    return [(row, doc, each) for doc in docs for each in golds]


@dataclass(frozen=True)
class _Tried:
    """A candidate with the score of every labelled pair."""

    spec: dict[str, Any]
    scores: Floats
    has_threshold: bool


def _scored(
    items: Sequence[MatchItem], specs: Sequence[dict[str, Any]], places: Ints
) -> list[_Tried]:
    corpora: dict[Tokenizer, TokenCorpus] = {}
    tried = []
    said: set[str] = set()
    for spec in specs:
        made, has_threshold = _made(spec)
        if isinstance(made, RougeMatcher):
            made = made.sharing(corpora)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", MatchWarning)
            table = match_items(items, made, Counter())
        for each in caught:  # the same texts trouble many candidates; once is enough
            if str(each.message) not in said and not said:
                warnings.warn(each.message, each.category, stacklevel=3)
            said.add(str(each.message))
        scores = np.empty(len(places))
        row, dense = -1, np.empty((0, 0))
        for at, (query, doc, gold) in enumerate(places.tolist()):
            if query != row:
                row, dense = query, np.nan_to_num(table.dense(query))
            scores[at] = dense[doc].max(initial=0.0) if gold < 0 else dense[doc, gold]
        tried.append(_Tried(spec, scores, has_threshold))
    if not tried:
        raise UsageError("candidates: there is none")
    return tried


def _made(spec: dict[str, Any]) -> tuple[Matcher, bool]:
    """The matcher of a candidate, and whether it has a threshold to choose."""
    method = spec.get("method")
    needs = isinstance(method, str) and method in matchers.METHODS and matchers.needed(method)
    made = matchers.matcher({**spec, "threshold": 0.5} if needs else spec)
    described = matchers.describe(made)
    if "top" in described:
        raise UsageError(
            "candidates: a judge's grades are what others are compared with; name it in --labels"
        )
    return made, "threshold" in described and "of" not in described


def _with_threshold(tried: _Tried, threshold: float) -> dict[str, Any]:
    return {**tried.spec, "threshold": threshold} if tried.has_threshold else dict(tried.spec)


# -- choosing --------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Choice:
    """What was chosen on some pairs.

    Attributes:
        chosen: the position of the candidate.
        tied: those that cannot be told from the best.
        decided: (candidates, pairs) decisions of each on pairs that its threshold did not see.
        spans: for each candidate the least and greatest threshold of its folds.
        sampled: (candidates, resamples) the agreement of each in every resample of the queries.
    """

    chosen: int
    tied: frozenset[int]
    best: int
    decided: Bools
    spans: list[tuple[float, float]]
    sampled: Floats


class _Chooser:
    """Cross-validated choice among candidates, on any part of the labelled pairs."""

    def __init__(
        self, scores: Sequence[Floats], truth: Bools, query: Ints, by: By, folds: int, seed: int
    ) -> None:
        self.scores = scores
        self.truth = truth
        self.query = query
        self.agreement: Callable[..., Floats] = binary_kappa if by == "kappa" else binary_f1
        self.folds = folds
        self.seed = seed

    def choose(self, part: Bools) -> _Choice:
        """The simplest candidate that cannot be told from the best, on the pairs of `part`."""
        fold = self._fold(part)
        decided = np.zeros((len(self.scores), len(self.truth)), bool)
        spans = []
        for at, scores in enumerate(self.scores):
            chosen = []
            for number in range(fold.max(initial=0) + 1):
                held_out = part & (fold == number)
                threshold = self.threshold(at, part & ~held_out)
                decided[at, held_out] = scores[held_out] >= threshold
                chosen.append(threshold)
            spans.append((min(chosen), max(chosen)))
        values = np.array([self._value(each[part], self.truth[part]) for each in decided])
        best = int(np.argmax(np.where(np.isnan(values), -np.inf, values)))
        sampled = self._sampled(decided, part)
        behind = values[best] - values
        differences = sampled[best] - sampled
        tied = frozenset({best}) | {
            at for at in range(len(values)) if _is_tied(behind[at], differences[at])
        }
        return _Choice(min(tied), tied, best, decided, spans, sampled)

    def threshold(self, candidate: int, part: Bools) -> float:
        """The threshold of greatest agreement on these pairs; of several the safest.

        It lies between two neighbouring scores; of equally good places that with the widest room,
        and in it a round number near the middle.
        """
        scores, truth = self.scores[candidate][part], self.truth[part]
        order = np.argsort(-scores, kind="stable")
        scores, hits = scores[order], np.cumsum(truth[order])
        said = np.arange(1, len(scores) + 1)
        last = np.flatnonzero(np.append(scores[1:] < scores[:-1], True) & (scores > 0))
        if not last.size:
            return 0.5
        tp, fp = hits[last], said[last] - hits[last]
        fn, tn = hits[-1] - tp, len(scores) - hits[-1] - fp
        values = self.agreement(tp, fp, fn, tn)
        values = np.where(np.isnan(values), -np.inf, values)
        high = np.minimum(scores[last], 1.0)
        low = np.append(scores, 0.0)[last + 1]
        good = np.flatnonzero(values >= values.max() - 1e-12)
        at = good[np.argmax((high - low)[good])]
        return _round_between(float(low[at]), float(high[at]))

    def estimates(self, choice: _Choice) -> list[dict[str, Any]]:
        """What is reported of each candidate."""
        everything = np.ones(len(self.truth), bool)
        found = []
        for at, decided in enumerate(choice.decided):
            counts = _counts(decided, self.truth)
            tp, fp, fn, _ = counts
            fitted = self.scores[at] >= self.threshold(at, everything)
            value = _plain(self._value(decided, self.truth))
            best = _plain(self._value(choice.decided[choice.best], self.truth))
            behind = None if value is None or best is None else best - value
            yes_or_no = set(np.unique(self.scores[at])) <= {0.0, 1.0}
            found.append(
                {
                    "agreement": _estimate(value, choice.sampled[at]),
                    "apparent": _plain(self._value(fitted, self.truth)),
                    "kappa": _plain(binary_kappa(*counts)),
                    "f1": _plain(binary_f1(*counts)),
                    "precision": float(tp / (tp + fp)) if tp + fp else None,
                    "recall": float(tp / (tp + fn)) if tp + fn else None,
                    "thresholds": None if yes_or_no else choice.spans[at],
                    "behind": _estimate(behind, choice.sampled[choice.best] - choice.sampled[at]),
                }
            )
        return found

    def honest(self) -> Estimate:
        """The agreement of the whole choice, repeated without each fold and scored on it."""
        everything = np.ones(len(self.truth), bool)
        fold = self._fold(everything)
        decided = np.zeros(len(self.truth), bool)
        for number in range(self.folds):
            held_out = fold == number
            part = ~held_out
            # Where what is left is of one query, there is nothing to choose a candidate on.
            chosen = self.choose(part).chosen if len(np.unique(self.query[part])) > 1 else 0
            threshold = self.threshold(chosen, part)
            decided[held_out] = self.scores[chosen][held_out] >= threshold
        sampled = self._sampled(decided[None, :], everything)
        return _estimate(_plain(self._value(decided, self.truth)), sampled[0])

    def _fold(self, part: Bools) -> Ints:
        """The fold of each pair; those of one query are in one, and folds are of like size."""
        queries = np.unique(self.query[part])
        shuffled = np.random.default_rng(self.seed).permutation(queries)
        fold = np.full(self.query.max() + 1, -1)
        fold[shuffled] = np.arange(len(shuffled)) % min(self.folds, len(shuffled))
        return np.where(part, fold[self.query], -1)

    def _value(self, decided: Bools, truth: Bools) -> float:
        return float(self.agreement(*_counts(decided, truth)))

    def _sampled(self, decided: Bools, part: Bools) -> Floats:
        """(candidates, resamples) the agreement in resamples of the queries."""
        queries, of_query = np.unique(self.query[part], return_inverse=True)
        truth, n = self.truth[part], len(queries)
        terms = np.empty((len(decided), 4, n))
        for at, each in enumerate(decided[:, part]):
            kinds = (each & truth, each & ~truth, ~each & truth, ~each & ~truth)
            for kind, of_kind in enumerate(kinds):
                terms[at, kind] = np.bincount(of_query, of_kind, minlength=n)
        blocks = []
        for weights in resamples(n, _RESAMPLES, self.seed):
            sums = terms.reshape(-1, n) @ weights.T
            blocks.append(self.agreement(*sums.reshape(len(decided), 4, -1).transpose(1, 0, 2)))
        return np.concatenate(blocks, axis=1)


def _is_tied(behind: float, differences: Floats) -> bool:
    # The one-standard-error rule (Breiman et al., Classification and Regression Trees, 1984,
    # section 3.4.3), of the paired difference. With many labels a standard error is next to
    # nothing, and so is a difference below the margin.
    interval = percentile_interval(differences)
    if interval is None or np.isnan(behind):
        return False
    return interval[0] <= 0 and behind <= max(float(np.nanstd(differences)), _MARGIN) + 1e-12


def _counts(decided: Bools, truth: Bools) -> tuple[int, int, int, int]:
    return (
        int((decided & truth).sum()),
        int((decided & ~truth).sum()),
        int((~decided & truth).sum()),
        int((~decided & ~truth).sum()),
    )


def _estimate(value: float | None, sampled: Floats) -> Estimate:
    interval = percentile_interval(sampled)
    low, high = (None, None) if interval is None or value is None else interval
    return Estimate(value, low, high)


def _plain(value: Floats | float) -> float | None:
    return None if np.isnan(value) else float(value)


def _or_least(value: float | None) -> float:
    return -np.inf if value is None else value


def _round_between(low: float, high: float) -> float:
    """The number of fewest decimals in (low, high], the nearest to the middle of those."""
    middle = (low + high) / 2
    for decimals in range(1, 16):
        nearby = round(middle, decimals)
        step = 10.0**-decimals
        for each in (nearby, nearby + step, nearby - step):
            number = round(each, decimals)
            if low < number <= high:
                return number
    return high


__all__ = ["Calibration", "Candidate", "Estimate", "calibrate", "candidates"]
