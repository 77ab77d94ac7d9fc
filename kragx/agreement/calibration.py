"""`calibrate`: from results and labels to a way to match."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, get_args

import numpy as np
import yaml

from kragx import matchers
from kragx.agreement.labelled_pairs import labelled
from kragx.agreement.threshold_choice import By, Candidate, Chooser, as_mapping, trials
from kragx.comparison import Estimate
from kragx.comparison.statistics import SEED
from kragx.evaluation.inputs import Texts, source_of
from kragx.ground.errors import UsageError, check_whole, nearest
from kragx.ground.printing import Cell, Line, Part, Result, Table, message, warning
from kragx.metrics import KRAGX
from kragx.metrics.intervals import TOO_FEW

_ROUGE = (
    {"method": "overlap"},  # of rouge2
    *(
        {"method": method, "measure": measure}
        for method in ("rouge2", "rouge1", "rougeL")
        for measure in ("overlap", "recall", "precision", "fmeasure")
        if (method, measure) != ("rouge2", "overlap")
    ),
)

CANDIDATES: tuple[dict[str, str], ...] = (
    {"method": "text"},
    {"method": "contains"},
    *_ROUGE,
    *({**spec, "tokenizer": "char"} for spec in _ROUGE),
    *({"method": "span"}, {"method": "span", "of": "gold"}, {"method": "span", "of": "chunk"}),
)
"""What is tried, simplest and cheapest first: matchers that decide yes or no, and those that have a
threshold and ask no model."""

FOLDS = 5
"""Of cross-validation, by query; fewer where there are fewer labelled queries."""

_FEW = 20  # labelled queries; of fewer a bootstrap's interval holds the truth too seldom
_ROWS = 12


@dataclass(frozen=True)
class Calibration(Result):
    """What was chosen, from what, and how much to believe it.

    Attributes:
        by: ``kappa`` or ``f1``.
        chosen: the first of the candidates, simplest first, that cannot be told from the best.
        honest: the agreement to expect of new queries: the whole choice repeated in each fold. Its
            value is None where the labels are a candidate's own decisions.
        candidates: all of them, best first.
        n_queries, n_pairs, n_matches: labelled queries, pairs, and pairs labelled a match.
        n_unused: labels of pairs that the results do not hold.
        made_by: the simplest candidate that decides every pair as it is labelled, as it would if it
            had made the labels; None if there is none, or the labels follow from places in sources.
        cautions: what to know before trusting it.

    Examples:
        >>> from kragx import calibrate
        >>> gold = {"q1": ["red apple pie"], "q2": ["old stone bridge"], "q3": ["cold winter rain"]}
        >>> run = {
        ...     query: [{"id": "d1", "text": f"the {text} here"}, {"id": "d2", "text": "a dog"}]
        ...     for query, [text] in gold.items()
        ... }
        >>> labels = {query: {"d1": 1, "d2": 0} for query in gold}
        >>> calibration = calibrate(gold, labels, run=run, only=["text", "rouge2"])
        >>> calibration.n_pairs, calibration.n_matches
        (6, 3)
    """

    by: By
    chosen: Candidate
    honest: Estimate
    candidates: tuple[Candidate, ...]
    n_queries: int
    n_pairs: int
    n_matches: int
    n_unused: int
    made_by: str | None = None
    cautions: tuple[str, ...] = ()

    also_plain: ClassVar[tuple[str, ...]] = ("match",)

    @property
    def match(self) -> dict[str, Any]:
        """The spec of what was chosen, for `evaluate(..., match=...)`."""
        return dict(self.chosen.match)

    def to_yaml(self) -> str:
        """The `match:` block of a config, with where it comes from as comments."""
        # Comments of the YAML: whoever meets the block a year later sees what it rests on.
        lines = (
            f"# Chosen by kragx threshold calibrate from {self.n_pairs} labelled pairs of "
            f"{self.n_queries} queries.",
            f"# {self.by} on queries it was not chosen on: {self._agreement(self.chosen)}; of "
            f"the whole choice {self._expected}.",
            *(f"# Caution: {caution}." for caution in self.cautions),
            yaml.safe_dump({"match": self.match}, allow_unicode=True, sort_keys=False),
        )
        return "\n".join(lines)

    def describe(self) -> Iterator[Part]:
        """The best candidates, and what to expect of the choice."""
        numbers = {"n": self.n_pairs, "n_queries": self.n_queries, "n_matches": self.n_matches}
        yield Line(
            message(
                "{n} labelled pairs of {n_queries} queries, {n_matches} of them matches", **numbers
            )
        )
        if self.n_unused:
            yield warning(message("labels of pairs that the results lack: {n}", n=self.n_unused))
        yield from map(warning, self.cautions)
        head = (message("match"), message("threshold"), f"{self.by} [95 %]", "precision", "recall")
        yield Table(head, list(map(self._row, self.candidates[:_ROWS])))
        yield Line(
            message("<: chosen, the simplest of those that cannot be told from the best (=)")
        )
        yield Line(
            message(
                "{statistic} to expect of the whole choice: {value}",
                statistic=self.by,
                value=self._expected,
            )
        )

    @property
    def _expected(self) -> str:
        if self.made_by is None:
            return _with_ends(self.honest)
        return message("not known, as the labels are what {match} decides", match=self.made_by)

    def _agreement(self, candidate: Candidate) -> str:
        """No number where it would be that of a matcher with itself."""
        if self.made_by is not None and not candidate.mistakes:
            return message("as labelled")
        return _with_ends(candidate.agreement)

    def _row(self, candidate: Candidate) -> list[Cell]:
        is_chosen = candidate is self.chosen
        threshold = candidate.match.get("threshold")
        row = (
            candidate.name + (" <" if is_chosen else " =" if candidate.tied else ""),
            "-" if threshold is None else f"{threshold:.4g}",
            self._agreement(candidate),
            _three(candidate.precision),
            _three(candidate.recall),
        )
        return [Cell(text, "bold" if is_chosen else "") for text in row]


def _three(value: float | None) -> str:
    # Of some hundred labels a fourth digit says nothing.
    return "-" if value is None else f"{value:.3f}"


def _with_ends(estimate: Estimate) -> str:
    if estimate.value is None:
        return _three(None)
    if estimate.low is None or estimate.high is None:
        return message("{value} ({reason})", value=_three(estimate.value), reason=TOO_FEW)
    return f"{_three(estimate.value)} [{estimate.low:.3f}, {estimate.high:.3f}]"


def calibrate(
    results: object,
    labels: object = None,
    run: object = None,
    *,
    by: By = "kappa",
    positive: float | None = None,
    more: Iterable[object] = (),
    only: Iterable[object] | None = None,
    seed: int = SEED,
    corpus: object = None,
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
        positive: the least grade of a label that is a match; None for 1, or the cut of a
            store's rubric.
        more: further candidates (specs), for example of `embedding`; their thresholds are chosen.
        only: candidates instead of the usual ones, simplest first.
        seed: of folds and resamples.
        corpus: has the texts of ids, as for `evaluate`.

    Raises:
        UsageError: an argument is wrong.
        DataError: the labels fit no pair of the results, are all the same, or are of one query.

    Examples:
        >>> from kragx import calibrate
        >>> gold = {"q1": ["red apple pie"], "q2": ["old stone bridge"], "q3": ["cold winter rain"]}
        >>> run = {
        ...     query: [{"id": "d1", "text": f"the {text} here"}, {"id": "d2", "text": "a dog"}]
        ...     for query, [text] in gold.items()
        ... }
        >>> labels = {query: {"d1": 1, "d2": 0} for query in gold}
        >>> calibrate(gold, labels, run=run, only=["text", "rouge2"]).match
        {'method': 'text'}
    """
    if by not in get_args(By):
        raise UsageError(
            "by: unknown value {by!r}; {hint}", by=by, hint=nearest(str(by), get_args(By))
        )
    check_whole("seed", seed, lowest=0)
    texts = Texts.of(corpus, matchers.matcher(KRAGX.match))
    items = list(source_of(results, run, KRAGX, texts=texts).items(KRAGX))
    pairs, truth, n_unused = labelled(items, labels, positive)
    queries, query_of = np.unique(pairs[:, 0], return_inverse=True)
    specs = [as_mapping(spec) for spec in ([*CANDIDATES, *more] if only is None else only)]
    tried = trials(items, specs, pairs)
    folds = min(FOLDS, len(queries))
    tested, choice, honest = Chooser(tried, truth, query_of, by, folds, seed).result()
    # Of several the simplest, which comes first.
    closest = min(tested, key=lambda candidate: candidate.mistakes)
    made_by, threshold = None, closest.match.get("threshold")
    if labels is not None and not closest.mistakes:
        made_by = closest.name if threshold is None else f"{closest.name} >= {threshold:.4g}"
        honest = replace(honest, value=None, low=None, high=None)
    # Without an agreement, which is NaN, it comes last.
    values = np.array([candidate.agreement.value for candidate in tested], np.float64)
    n_matched, n_unmatched = (len(np.unique(query_of[kind])) for kind in (truth, ~truth))
    caution = message(
        "queries with a pair labelled a match: {matches}, with one labelled no match: "
        "{others}; figures and intervals of fewer than {few} hold for little else",
        matches=n_matched,
        others=n_unmatched,
        few=_FEW,
    )
    return Calibration(
        by=by,
        chosen=choice,
        honest=honest,
        candidates=tuple(tested[row] for row in np.argsort(-values, kind="stable")),
        n_queries=len(queries),
        n_pairs=len(truth),
        n_matches=int(truth.sum()),
        n_unused=n_unused,
        made_by=made_by,
        cautions=(caution,) if min(n_matched, n_unmatched) < _FEW else (),
    )
