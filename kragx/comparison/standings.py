"""What comparisons say, as the page reads it; and the fields that it slices by unasked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kragx.comparison import Comparison, RetrieverScores, Settings, compare_scores
from kragx.comparison.compare_retrievers import flips_of
from kragx.comparison.flips import flips_warning
from kragx.comparison.recommendations import recommend
from kragx.comparison.slices import sliced
from kragx.data.gold import GoldDataset
from kragx.errors import UsageError
from kragx.evaluation.evaluation import Evaluation

_MOST_VALUES = 12
_MOST_FIELDS = 6
_LEAST = 2


def fields_of(dataset: GoldDataset | None) -> tuple[str, ...]:
    """The fields worth slicing by where none are named: those with a few values that repeat.

    A field counts if it has 2 to 12 values and, on average, at least two queries a value.
    """
    if dataset is None:
        return ()
    names = ["query_type", "expected_doc_types", "answerable"]
    names += [f"metadata.{name}" for query in dataset for name in query.metadata]
    kept = []
    for name in dict.fromkeys(names):
        try:
            values = {value for _, value, _ in sliced(dataset.queries, [name])}
        except UsageError:  # no value at all, a mapping, or too many
            continue
        named = values - {None}
        if _LEAST <= len(named) <= min(_MOST_VALUES, len(dataset) / _LEAST):
            kept.append(name)
    return tuple(kept[:_MOST_FIELDS])


def compared(
    evaluations: Sequence[Evaluation],
    dataset: GoldDataset | None,
    settings: Settings,
    baseline: str | None,
) -> tuple[Comparison, ...]:
    """The retrievers compared, once for each matcher, within the fields worth slicing by."""
    names = dict.fromkeys(each.match_name for each in evaluations)
    gold = dataset or next((each.dataset for each in evaluations if each.dataset), None)
    return tuple(
        compare_scores(
            [RetrieverScores.of(each) for each in evaluations if each.match_name == name],
            settings,
            baseline=baseline,
            slices=fields_of(gold),
            dataset=gold,
        )
        for name in names
    )


def standings(
    comparisons: Sequence[Comparison],
    evaluations: Sequence[Evaluation],
    query_ids: Sequence[str],
) -> dict[str, dict[str, Any]]:
    """Each matcher's comparison as plain values: positions instead of ids, and what follows."""
    at = {query_id: position for position, query_id in enumerate(query_ids)}
    plain: dict[str, dict[str, Any]] = {}
    for comparison in comparisons:
        own = comparison.to_dict()
        for each in own["slices"]:
            each["rows"] = [at[query_id] for query_id in each.pop("query_ids")]
        scored = [
            RetrieverScores.of(each) for each in evaluations if each.match_name == comparison.match
        ]
        found = [each for each in flips_of(scored, comparison.metrics) if each]
        own["flips"] = [
            {
                "metric": each.metric,
                "chosen": each.chosen,
                "leader": each.leader,
                "swapped": [list(pair) for pair in each.swapped],
            }
            for each in found
        ]
        said = flips_warning(found)
        own["cautions"] = [each for each in own["cautions"] if each != said]
        own["advice"] = [each.to_dict() for each in recommend(comparison, scored)]
        plain[comparison.match] = _short(own)
    return plain


def _short(value: Any) -> Any:
    match value:
        case float():
            return float(f"{value:.6g}")
        case dict():
            return {key: _short(each) for key, each in value.items()}
        case list():
            return [_short(each) for each in value]
    return value
