"""Several results side by side: the best retriever first, and every other one set against it."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from math import inf

from typing_extensions import Unpack

from kragx.comparison.compare_retrievers import ComparisonDraft, Options, by_match, correct_together
from kragx.comparison.comparison import Comparison, Settings
from kragx.comparison.scores import Results, RetrieverScores
from kragx.ground.errors import UsageError


def best_first(
    results: Sequence[Results],
    settings: Settings,
    *,
    retrievers: Sequence[str] = (),
    **options: Unpack[Options],
) -> tuple[Comparison, ...]:
    """Compare the retrievers of several results, matcher by matcher, the best one first.

    By the first metric that all have. The baseline is the best one, so that each other one is set
    against it; who that is was picked by its values, and so every two retrievers are in the family
    that p is corrected over. A name that several results have is followed by that of the result.

    Args:
        results: two at least.
        settings: of the statistics.
        retrievers: the names of those to look at alone; none for all.
        options: as for `compare_scores`.

    Raises:
        UsageError: no result has a retriever of a name, no matcher is in several results, or they
            cannot be compared.
    """
    scores = _named(results, retrievers)
    if all(len({score.match for score in result.scores}) == 1 for result in results):
        # Of one matcher each they correspond, whatever it is called.
        scores = [replace(score, match=scores[0].match) for score in scores]
    options["dataset"] = next(
        (result.dataset for result in results if result.dataset is not None), None
    )
    drafts = []
    for group in map(_ordered, by_match(scores)):
        if len(group) > 1:
            options["baseline"] = group[0].name
            drafts.append(ComparisonDraft.of(group, settings, **options))
    if not drafts:
        raise UsageError("no matcher is in several results; run them with the same 'matchers'")
    return correct_together(drafts)


def _named(results: Sequence[Results], retrievers: Sequence[str]) -> list[RetrieverScores]:
    """The scores to compare, each retriever with a name of its own."""
    times = Counter(name for result in results for name in result.retrievers)
    for name in retrievers:
        if name not in times:
            results[0].of(name)  # which says what there is
    return [
        score if times[score.name] == 1 else replace(score, name=f"{score.name} ({result.name})")
        for result in results
        for score in result.scores
        if not retrievers or score.name in retrievers
    ]


def _ordered(scores: list[RetrieverScores]) -> list[RetrieverScores]:
    """The best first, by the first metric that all have; whoever has no value last."""
    metric = next(
        (name for name in scores[0].means if all(name in score.means for score in scores)), None
    )
    if metric is None or scores[0].better[metric] == "neither":
        return scores
    sign = -1.0 if scores[0].better[metric] == "higher" else 1.0
    means = (score.means[metric] for score in scores)
    # Sorting is stable, so equal ones stay in the order in which they were named.
    places = [inf if mean is None else sign * mean for mean in means]
    return [scores[row] for row in sorted(range(len(scores)), key=places.__getitem__)]
