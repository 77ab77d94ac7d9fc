"""Several results side by side: the best retriever first, and every other one set against it."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import inf

from kragx.comparison.compare_retrievers import Draft, settled
from kragx.comparison.comparison import Comparison, Settings
from kragx.comparison.scores import Results, RetrieverScores
from kragx.errors import UsageError


def best_first(
    results: Sequence[Results],
    settings: Settings,
    *,
    retrievers: Sequence[str] = (),
    slices: Sequence[str] = (),
    anyway: bool = False,
) -> tuple[Comparison, ...]:
    """Compare the retrievers of several results, matcher by matcher, the best one first.

    By the first metric that all have. The baseline is the best one, so that each other one is set
    against it; who that is was picked by its values, and so every two retrievers are in the family
    that p is corrected over. A name that several results have is followed by that of the result.

    Args:
        results: two at least.
        settings: of the statistics.
        retrievers: the names of those to look at alone; none for all.
        slices: fields to compare within.
        anyway: compare what cannot be compared, and say so.

    Raises:
        UsageError: no result has a retriever of a name, no matcher is in several results, or they
            cannot be compared.
    """
    scores = _named(results, retrievers)
    matchers = list(dict.fromkeys(own.match for own in scores))
    if all(len({own.match for own in result.scores}) == 1 for result in results):
        # Of one matcher each they correspond, whatever it is called.
        scores, matchers = [replace(own, match=matchers[0]) for own in scores], matchers[:1]
    dataset = next((own.dataset for own in results if own.dataset is not None), None)
    drafts = []
    for match in matchers:
        own = [score for score in scores if score.match == match]
        if len(own) < 2:
            continue
        ordered = _ordered(own)
        drafts.append(
            Draft.of(
                ordered,
                settings,
                baseline=ordered[0].name,
                slices=slices,
                dataset=dataset,
                anyway=anyway,
            )
        )
    if not drafts:
        raise UsageError("no matcher is in several results; run them with the same 'matchers'")
    return settled(drafts)


def _named(results: Sequence[Results], retrievers: Sequence[str]) -> list[RetrieverScores]:
    """The scores to compare, each retriever with a name of its own."""
    known = dict.fromkeys(name for result in results for name in result.retrievers)
    for name in retrievers:
        if name not in known:
            results[0].of(name)  # which says what there is
    chosen = [
        (result, score)
        for result in results
        for score in result.scores
        if not retrievers or score.name in retrievers
    ]
    times = Counter(name for result in results for name in result.retrievers)
    return [
        own if times[own.name] == 1 else replace(own, name=f"{own.name} ({result.name})")
        for result, own in chosen
    ]


def _ordered(scores: Sequence[RetrieverScores]) -> list[RetrieverScores]:
    """The best first, by the first metric that all have; whoever has no value last."""
    metric = next((name for name in scores[0].means if _all_have(name, scores)), None)
    if metric is None or scores[0].better[metric] == "neither":
        return [*scores]
    sign = -1.0 if scores[0].better[metric] == "higher" else 1.0

    def place(own: RetrieverScores) -> float:
        mean = own.means[metric]
        return inf if mean is None else sign * mean

    return sorted(scores, key=place)


def _all_have(metric: str, scores: Iterable[RetrieverScores]) -> bool:
    return all(metric in score.means for score in scores)
