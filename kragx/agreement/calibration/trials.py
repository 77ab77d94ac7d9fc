"""What is tried: the candidates, and the scores that they give labelled pairs."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kragx import matchers
from kragx.data.tokenizers import Tokenizer
from kragx.data.tokens import TokenCorpus
from kragx.errors import UsageError
from kragx.matchers import BaseMatcher, MatchItem, MatchWarning, Notes
from kragx.matchers.matching import match as match_items
from kragx.metrics.table import Floats, Ints, MatchTable

TOKENIZERS = ("unicode", "char")

_SHARES = ("gold", "chunk")  # of `span`, besides the larger of the two
_ROUGE = (
    {"method": "overlap"},  # of rouge2
    *(
        {"method": method, "measure": measure}
        for method in ("rouge2", "rouge1", "rougeL")
        for measure in ("overlap", "recall", "precision", "fmeasure")
        if (method, measure) != ("rouge2", "overlap")
    ),
)


def candidates(
    tokenizers: Iterable[object] = TOKENIZERS, more: Iterable[object] = ()
) -> list[dict[str, Any]]:
    """What is tried, simplest and cheapest first.

    Matchers that decide yes or no; ROUGE with every measure, by tokenizer; other built-in matchers
    with a threshold that ask no model; then `more`, whatever it is.
    """
    specs: list[dict[str, Any]] = [{"method": "text"}, {"method": "contains"}]
    specs += [
        spec | ({} if tokenizer == "unicode" else {"tokenizer": tokenizer})
        for tokenizer in tokenizers
        for spec in _ROUGE
    ]
    listed = {spec["method"] for spec in _ROUGE}
    for method in matchers.METHODS:
        options = matchers.option_names(method)
        if method in listed or matchers.asks(method) or "threshold" not in options:
            continue
        specs.append({"method": method})
        specs += [{"method": method, "of": of} for of in _SHARES if "of" in options]
    return specs + [as_mapping(spec) for spec in more]


def as_mapping(spec: object) -> dict[str, Any]:
    """A candidate's spec as a mapping; a threshold of its own is left to be chosen."""
    if isinstance(spec, str):
        return {"method": spec}
    if isinstance(spec, Mapping):
        return {name: value for name, value in spec.items() if name != "threshold"}
    raise UsageError(f"candidates: {spec!r} is neither a name nor a mapping")


@dataclass(frozen=True)
class Trial:
    """A candidate with the score of every labelled pair.

    Attributes:
        spec: what to match by.
        scores: (u) one for each pair.
        fixed: its threshold, where there is none to choose.
    """

    spec: dict[str, Any]
    scores: Floats
    fixed: float | None

    def spec_with(self, threshold: float) -> dict[str, Any]:
        """The spec with a threshold, unless it has its own."""
        return dict(self.spec) if self.fixed is not None else with_threshold(self.spec, threshold)


def trials(items: Sequence[MatchItem], specs: Sequence[dict[str, Any]], pairs: Ints) -> list[Trial]:
    """The scores of each candidate; pairs are those of `labelled_pairs.resolved`.

    Raises:
        UsageError: a spec is wrong, or asks a judge, or there is none.
    """
    if not specs:
        raise UsageError("candidates: there is none")
    corpora: dict[Tokenizer, TokenCorpus] = {}
    tried = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", MatchWarning)
        for spec in specs:
            matcher, fixed = _matcher(spec)
            table = match_items(items, matcher.sharing(corpora), Notes())
            tried.append(Trial(spec, _scores(items, table, pairs), fixed))
    # The same texts trouble many candidates; once is enough.
    for warning in {str(warning.message): warning for warning in caught}.values():
        warnings.warn(warning.message, warning.category, stacklevel=3)
    return tried


def _scores(items: Sequence[MatchItem], table: MatchTable, pairs: Ints) -> Floats:
    """(u) the score of each pair; of one with any gold item, the best with a relevant one."""
    dense = {row: np.nan_to_num(table.dense(row)) for row in np.unique(pairs[:, 0])}
    relevant = {row: [gold.grade > 0 for gold in items[row].query.gold] for row in dense}
    return np.array(
        [
            dense[row][doc, relevant[row]].max() if gold < 0 else dense[row][doc, gold]
            for row, doc, gold in pairs.tolist()
        ]
    )


def _matcher(spec: dict[str, Any]) -> tuple[BaseMatcher, float | None]:
    """The matcher of a candidate, and its own threshold where there is none to choose."""
    try:
        matcher = matchers.matcher(with_threshold(spec, 0.5))
        fixed = None if matcher.threshold == 0.5 else matcher.threshold
    except UsageError:  # it takes no threshold, or is wrong without one too
        matcher = matchers.matcher(spec)
        fixed = matcher.threshold
    if matcher.judges:
        raise UsageError(
            "candidates: a judge's grades are what others are compared with; name it in --labels"
        )
    return matcher, fixed


def with_threshold(spec: Mapping[str, Any], threshold: float) -> dict[str, Any]:
    """A spec with this threshold, where the kind of matcher takes it.

    Of a cascade it is the last member's, of an import path an argument.
    """
    if "cascade" in spec and isinstance(spec["cascade"], Sequence) and spec["cascade"]:
        *first, last = spec["cascade"]
        return {**spec, "cascade": [*first, with_threshold(as_mapping(last), threshold)]}
    if ":" in str(spec.get("method")):
        return {**spec, "args": {**(spec.get("args") or {}), "threshold": threshold}}
    return {**spec, "threshold": threshold}
